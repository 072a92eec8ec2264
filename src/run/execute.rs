//! The program's life: started in its sandbox, its outputs followed, ended with all that it started.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Watch;
use super::answer::{Ran, Sandbox};
use super::kept::Kept;
use super::permit::Permitted;
use super::store::{Store, Stream};
use crate::base::{Code, Finding, Findings, Level, Result, Warning};
use crate::git::Repo;
use crate::io::streams::{self, Follow as _, Followed, Reader};
use crate::io::{clock, failed};
use crate::sandbox::{self, How, Limit, Limits, Means, NotStarted, Plan, Running};
use crate::telemetry;

/// A program that was run.
#[derive(Debug)]
pub(super) struct Executed {
    pub(super) ran: Ran,
    /// Its command line, for people.
    pub(super) line: String,
    pub(super) took: Duration,
    /// The longest that it might have taken.
    pub(super) limit: Duration,
    pub(super) warnings: Vec<Warning>,
    /// Why its end was not seen. It was started: what it changed is judged all the same.
    pub(super) lost: Option<Finding>,
}

/// Runs it. When this returns, nothing that it started is left.
///
/// # Errors
/// Why it was not started: `SANDBOX_UNAVAILABLE`, `PROGRAM_NOT_FOUND` if it cannot be executed, `IO_ERROR`.
pub(super) fn execute(
    repo: &Repo,
    permitted: &Permitted<'_>,
    live: &mut dyn Watch,
) -> Result<Executed> {
    let request = permitted.request;
    let mut store = Store::new(repo.state_path())?;
    let io =
        |what: &'static str| move |error: std::io::Error| failed(what, &permitted.program, &error);
    let ((out, stdout), (err, stderr)) =
        (streams::pipe().map_err(io("run"))?, streams::pipe().map_err(io("run"))?);
    let (plan, withheld) = plan(repo, permitted)?;
    let started = clock::now();
    let running = sandbox::start(&plan, input(permitted.input.as_deref())?, stdout, stderr)
        .map_err(|why| not_started(permitted, why))?;
    let (level, by) = (running.level(), running.by());
    let mut outputs = Outputs { kept: [Kept::default(), Kept::default()], store: &mut store, live };
    let (ended, timed_out, lost) =
        match follow(running, [out, err], started + permitted.limit, &mut outputs) {
            Ok((ended, timed_out)) => (ended, timed_out, None),
            Err(error) => (
                sandbox::Ended::unknown(),
                false,
                Some(failed("watch", &permitted.program, &error)),
            ),
        };
    let took = started.elapsed();
    let Outputs { kept: [out, err], .. } = outputs;
    let shown = |kept: &Kept, stream: Stream| kept.output(|from, to| store.tells(stream, from, to));
    let (exit_code, signal) = match ended.how {
        How::Exit(code) => (Some(code), None),
        How::Signal(signal) => (None, Some(signal)),
        How::Lost => (None, None),
    };
    let lossy = |text: &OsString| text.to_string_lossy().into_owned();
    let ran = Ran {
        id: store.id(),
        program: permitted.program.display().to_string(),
        args: request.args.iter().map(lossy).collect(),
        cwd: permitted.dir.display().to_string(),
        exit_code: exit_code.filter(|_| !timed_out),
        signal: if timed_out { Some(9) } else { signal },
        timed_out,
        limit: ended.limit.map(limit_name),
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        sandbox: Sandbox { level, by, withheld: withheld.iter().map(lossy).collect() },
        stdout: shown(&out, Stream::Stdout),
        stderr: shown(&err, Stream::Stderr),
    };
    let warnings =
        store.failed().map(super::not_stored).into_iter().chain(left_alive(ended.left)).collect();
    Ok(Executed { ran, line: request.line(), took, limit: permitted.limit, warnings, lost })
}

/// A warning of processes that live on.
fn left_alive(count: u32) -> Option<Warning> {
    let message = format!(
        "{count} processes that the program started could not be ended: they belong to another user, or wait in the kernel."
    );
    (count > 0).then_some(Warning { code: "processes_left", path: None, message })
}

/// What is to be started, and the variables that it does not get.
fn plan(repo: &Repo, permitted: &Permitted<'_>) -> Result<(Plan, Vec<OsString>)> {
    let request = permitted.request;
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let parent = telemetry::for_children();
    if !parent.is_empty() {
        // Its spans stand in this call's, not beside it.
        env.retain(|(known, _)| known != "TRACEPARENT" && known != "TRACESTATE");
        env.extend(parent.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    for (name, value) in &request.env {
        env.retain(|(known, _)| known != name);
        env.push((name.clone(), value.clone()));
    }
    let confined = permitted.level > Level::Permissive;
    let withheld = if confined { sandbox::withheld(&env) } else { Vec::new() };
    let root = repo.real_root()?;
    let git = [root.join(".git"), repo.git_dir().to_owned(), repo.common_dir().to_owned()];
    let plan = Plan {
        level: permitted.level,
        program: permitted.program.clone(),
        args: request.args.clone(),
        dir: permitted.dir.clone(),
        env,
        root,
        git: git.into(),
        writable: permitted.writable.clone(),
        // Who can open a lock can hold it.
        secrets: [repo.state_path(), &repo.common_dir().join("edt")]
            .map(Path::to_owned)
            .into_iter()
            .chain(permitted.secrets.iter().cloned())
            .collect(),
        limits: Limits::of(permitted.level),
        means: Means::Any,
        edt: crate::io::whole::own_program()
            .map_err(|error| failed("find", Path::new("edt"), &error))?,
    };
    Ok((plan, withheld))
}

fn input(bytes: Option<&[u8]>) -> Result<OwnedFd> {
    match bytes {
        None => streams::open(Path::new("/dev/null"))
            .map_err(|error| failed("read", Path::new("/dev/null"), &error).into()),
        Some(bytes) => streams::memory(bytes)
            .map_err(|error| failed("hold", Path::new("the program's input"), &error).into()),
    }
}

const fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Memory => "memory",
        Limit::Processes => "processes",
        Limit::Cpu => "cpu",
    }
}

/// Where the outputs go.
struct Outputs<'a> {
    kept: [Kept; 2],
    store: &'a mut Store,
    live: &'a mut dyn Watch,
}

impl streams::Follow for Outputs<'_> {
    fn take(&mut self, stream: usize, bytes: &[u8]) {
        self.kept[stream].push(bytes);
        self.store.push(stream, bytes);
        self.live.output(Stream::ALL[stream], bytes);
    }

    fn stop(&self) -> Option<bool> {
        self.live.stop()
    }
}

fn follow(
    running: Running,
    mut readers: [Reader; 2],
    until: Instant,
    outputs: &mut Outputs<'_>,
) -> std::io::Result<(sandbox::Ended, bool)> {
    let followed = streams::follow(&mut readers, running.watch(), until, outputs)?;
    let ended = if followed == Followed::Over { running.wait()? } else { running.end()? };
    streams::rest(&mut readers, Duration::from_secs(10), |stream, bytes| {
        outputs.take(stream, bytes)
    });
    Ok((ended, followed == Followed::Late))
}

fn not_started(permitted: &Permitted<'_>, why: NotStarted) -> Findings {
    let program = permitted.program.display();
    let finding = match why {
        NotStarted::Unavailable { level, why } => Finding::new(
            Code::SandboxUnavailable,
            format!("The sandbox level {level} cannot be had here: {why} Nothing was run."),
            "`edt doctor` says what this system offers; a person may allow a lower level with `sandbox` below [run] in their own edt.toml.",
        )
        .with("level", level.name()),
        NotStarted::Program(error) => Finding::new(
            Code::ProgramNotFound,
            format!("{program} could not be executed: {error}. Nothing was run."),
            "Check that it is a program for this machine (`edt run -- file PATH`), executable, and that its interpreter is there.",
        ),
        NotStarted::System(error) => failed("start", &permitted.program, &error),
    };
    finding.into()
}
