//! A program that helps the benchmark: confined, with input, its output kept, ended with all that it started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::{Level, Result};
use crate::io::streams::{self, Follow, Followed};
use crate::io::{bounded, clock, failed};
use crate::sandbox::{self, How, NotStarted, Plan};

/// The most of an output that is kept, in bytes.
const MOST: usize = 1024 * 1024;

/// What a program left.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Its exit status; `None` if it did not end by itself.
    pub(super) status: Option<i32>,
    /// Whether its time was over.
    pub(super) late: bool,
    /// What it wrote: standard output, standard error.
    pub(super) output: [Vec<u8>; 2],
}

impl Done {
    /// How it ended, in words.
    pub(super) fn end(&self) -> String {
        match self.status {
            _ if self.late => "its time was over".to_owned(),
            Some(status) => format!("exit status {status}"),
            None => "a signal ended it".to_owned(),
        }
    }
}

struct Outputs([Vec<u8>; 2]);

impl Follow for Outputs {
    fn take(&mut self, reader: usize, bytes: &[u8]) {
        let room = MOST.saturating_sub(self.0[reader].len());
        self.0[reader].extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn stop(&self) -> Option<bool> {
        None
    }
}

/// Runs `argv` in `dir`, the only folder that it may change, at the level standard. A program with a `/` is taken from `from`.
///
/// # Errors
/// The reason why it was not started, in words, or what the system says.
pub(super) fn run(
    argv: &[String],
    (dir, from): (&Path, &Path),
    input: &[u8],
    limit: Duration,
) -> Result<std::result::Result<Done, String>> {
    let Some((program, args)) = argv.split_first() else {
        return Ok(Err("There is no program.".to_owned()));
    };
    let found: Option<PathBuf> =
        if program.contains('/') { Some(from.join(program)) } else { bounded::find(program) };
    let Some(found) = found.filter(|path| path.is_file()) else {
        return Ok(Err(format!("There is no program {program}.")));
    };
    let io = |error: std::io::Error| failed("run", &found, &error);
    let mut plan = Plan::new(Level::Standard, &found, &crate::io::whole::real(dir));
    plan.args = args.iter().map(OsString::from).collect();
    plan.env = std::env::vars_os().collect();
    let ((out, stdout), (err, stderr)) =
        (streams::pipe().map_err(io)?, streams::pipe().map_err(io)?);
    let running = match sandbox::start(&plan, streams::memory(input).map_err(io)?, stdout, stderr) {
        Ok(running) => running,
        Err(NotStarted::System(error)) => return Err(io(error).into()),
        Err(NotStarted::Program(error)) => {
            return Ok(Err(format!("{program} could not be executed: {error}.")));
        }
        Err(NotStarted::Unavailable { level, why }) => {
            return Ok(Err(format!("The sandbox level {level} cannot be had here: {why}")));
        }
    };
    let (mut readers, mut outputs) = ([out, err], Outputs(Default::default()));
    let followed =
        streams::follow(&mut readers, running.watch(), clock::now() + limit, &mut outputs)
            .map_err(io)?;
    let late = followed != Followed::Over;
    let ended = if late { running.end() } else { running.wait() }.map_err(io)?;
    streams::rest(&mut readers, Duration::from_secs(2), |stream, bytes| {
        outputs.take(stream, bytes)
    });
    let status = match ended.how {
        How::Exit(status) if !late => Some(status),
        _ => None,
    };
    Ok(Ok(Done { status, late, output: outputs.0 }))
}
