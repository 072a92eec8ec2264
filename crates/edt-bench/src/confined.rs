//! Runs a helper program in the sandbox, with input and captured output, and ends it with all its
//! descendants.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use edt_io::streams::{self, Follow, FollowEnd};
use edt_io::{Environment, bounded, clock, failed};
use edt_run::sandbox::{self, SandboxPlan, StartError, Termination};
use edt_types::{Level, Result};

/// The longest output that is kept, in bytes.
const MAX_OUTPUT: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct ProgramOutput {
    /// `None` if a signal or the time limit ended it.
    pub(super) status: Option<i32>,
    /// Whether it reached its time limit.
    pub(super) timed_out: bool,
    /// Standard output and standard error.
    pub(super) output: [Vec<u8>; 2],
}

impl ProgramOutput {
    pub(super) fn describe_end(&self) -> String {
        match self.status {
            _ if self.timed_out => "it timed out".to_owned(),
            Some(status) => format!("exit status {status}"),
            None => "a signal ended it".to_owned(),
        }
    }
}

struct Outputs([Vec<u8>; 2]);

impl Follow for Outputs {
    fn take(&mut self, reader: usize, bytes: &[u8]) {
        let room = MAX_OUTPUT.saturating_sub(self.0[reader].len());
        self.0[reader].extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn stop(&self) -> Option<bool> {
        None
    }
}

/// Runs `argv` at the level standard in `dir`, the only directory that it may change. A program
/// name with a `/` is resolved against `from`.
///
/// # Errors
/// The inner error says why the program was not started; the outer error is the system's.
pub(super) fn run(
    argv: &[String],
    (dir, from): (&Path, &Path),
    input: &[u8],
    limit: Duration,
) -> Result<std::result::Result<ProgramOutput, String>> {
    let Some((program, args)) = argv.split_first() else {
        return Ok(Err("The list of arguments is empty.".to_owned()));
    };
    let found: Option<PathBuf> = if program.contains('/') {
        Some(from.join(program))
    } else {
        bounded::find(Environment::Process, program)
    };
    let Some(found) = found.filter(|path| path.is_file()) else {
        return Ok(Err(format!("The program {program} was not found.")));
    };
    let io = |error: std::io::Error| failed("run", &found, &error);
    let mut plan = SandboxPlan::new(Level::Standard, &found, &edt_io::fs::real_path(dir));
    plan.args = args.iter().map(OsString::from).collect();
    plan.env = std::env::vars_os().collect();
    let ((out, stdout), (err, stderr)) =
        (streams::pipe().map_err(io)?, streams::pipe().map_err(io)?);
    let running =
        match sandbox::start(&plan, streams::memory_file(input).map_err(io)?, stdout, stderr) {
            Ok(running) => running,
            Err(StartError::System(error)) => return Err(io(error).into()),
            Err(StartError::Program(error)) => {
                return Ok(Err(format!("{program} could not be executed: {error}.")));
            }
            Err(StartError::Unavailable { level, why }) => {
                return Ok(Err(format!("The sandbox level {level} is unavailable here: {why}")));
            }
        };
    let (mut readers, mut outputs) = ([out, err], Outputs(Default::default()));
    let followed =
        streams::follow(&mut readers, running.watch(), clock::now() + limit, &mut outputs)
            .map_err(io)?;
    let timed_out = followed != FollowEnd::Ended;
    let ended = if timed_out { running.end() } else { running.wait() }.map_err(io)?;
    streams::drain(&mut readers, Duration::from_secs(2), |stream, bytes| {
        outputs.take(stream, bytes);
    });
    let status = match ended.how {
        Termination::Exit(status) if !timed_out => Some(status),
        _ => None,
    };
    Ok(Ok(ProgramOutput { status, timed_out, output: outputs.0 }))
}
