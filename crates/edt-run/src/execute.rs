//! Starts the program in its sandbox, follows its output, and ends it with all its processes.

use std::cell::Cell;
use std::ffi::OsString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::answer::{RunReport, Sandbox};
use super::captured::OutputBuffer;
use super::permit::Permitted;
use super::store::{OutputStore, OutputStream};
use super::{RunObserver, Signal};
use crate::sandbox::{
    self, NamespaceBackend, RecordPlan, ResourceLimit, RunningProgram, SandboxPlan, StartError,
    Termination, VariableRules,
};
use edt_git::Repo;
use edt_io::streams::{self, Follow as _, FollowEnd, PipeReader};
use edt_io::{clock, failed};
use edt_types::text::Shown as _;
use edt_types::{Code, Effect, Finding, Level, Refusal, Result, Warning, WarningCode};

/// How long a program may go on after a signal that asks it to end.
pub(super) const GRACE_PERIOD: Duration = Duration::from_secs(3);
/// Further requests in this time are the same one: some callers send a signal to edt and to its
/// process group.
const SAME_REQUEST: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Executed {
    pub(super) report: RunReport,
    /// The command line for messages.
    pub(super) command_line: String,
    pub(super) took: Duration,
    /// The time limit.
    pub(super) limit: Duration,
    pub(super) warnings: Vec<Warning>,
    /// Whether the observer ended it.
    pub(super) stopped: bool,
    /// Why its end was not observed. It was started, so its changes are evaluated nevertheless.
    pub(super) watch_error: Option<Finding>,
}

/// Runs the program, which cannot change the paths in `read_only`. When this returns, all processes
/// that it started have ended.
///
/// # Errors
/// It was not started: `SANDBOX_UNAVAILABLE`, `PROGRAM_NOT_FOUND` if it cannot be executed,
/// `IO_ERROR`.
pub(super) fn execute(
    repo: &Repo,
    permitted: &Permitted<'_>,
    (read_only, record): (Vec<PathBuf>, Option<RecordPlan>),
    environment: &[(&'static str, String)],
    observer: &mut dyn RunObserver,
) -> Result<Executed> {
    let request = permitted.request;
    let mut store = OutputStore::new(repo.state_path())?;
    let io =
        |what: &'static str| move |error: std::io::Error| failed(what, &permitted.program, &error);
    let ((out, stdout), (err, stderr)) =
        (streams::pipe().map_err(io("run"))?, streams::pipe().map_err(io("run"))?);
    let (mut plan, withheld) = plan(repo, permitted, read_only, environment)?;
    let capture = if record.is_some() { "recorded" } else { "compared" };
    plan.recorded = record;
    observer.starts();
    let started = clock::now();
    let running = sandbox::start(&plan, input(permitted)?, stdout, stderr)
        .map_err(|why| not_started(&permitted.program, why))?;
    let (level, by) = (running.level(), running.by());
    let mut outputs = Outputs {
        buffers: [OutputBuffer::default(), OutputBuffer::default()],
        store: &mut store,
        observer,
        signal: Cell::new(None),
    };
    let (ended, why, watch_error) =
        match follow(running, [out, err], started + permitted.limit, &mut outputs) {
            Ok((ended, why)) => (ended, why, None),
            Err(error) => (
                sandbox::SandboxOutcome::unknown(),
                FollowEnd::Ended,
                Some(failed("watch", &permitted.program, &error)),
            ),
        };
    let (timed_out, stopped) = (why == FollowEnd::TimedOut, why == FollowEnd::Stopped);
    let took = started.elapsed();
    let Outputs { buffers: [out, err], .. } = outputs;
    let shown = |buffer: &OutputBuffer, stream: OutputStream| {
        buffer.output(|from, to| store.page_hint(stream, from, to))
    };
    let (exit_code, signal) = match ended.how {
        Termination::Exit(code) => (Some(code), None),
        Termination::Signal(signal) => (None, Some(signal)),
        Termination::Lost => (None, None),
    };
    let lossy = |text: &OsString| text.to_string_lossy().into_owned();
    let report = RunReport {
        id: store.id(),
        program: permitted.program.to_string_lossy().into_owned(),
        args: request.args.iter().map(lossy).collect(),
        cwd: permitted.dir.to_string_lossy().into_owned(),
        exit_code: exit_code.filter(|_| !timed_out),
        signal,
        timed_out,
        limit: ended.limit.map(limit_name),
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        capture,
        sandbox: Sandbox { level, by, withheld: withheld.iter().map(lossy).collect() },
        stdout: shown(&out, OutputStream::Stdout),
        stderr: shown(&err, OutputStream::Stderr),
    };
    let warnings = store
        .failed()
        .map(super::not_stored)
        .into_iter()
        .chain(processes_left(ended.left))
        .chain(stopped.then(super::stopped))
        .collect();
    Ok(Executed {
        report,
        command_line: permitted.script.clone().unwrap_or_else(|| request.line()),
        took,
        limit: permitted.limit,
        warnings,
        stopped,
        watch_error,
    })
}

fn processes_left(count: u32) -> Option<Warning> {
    let message = format!(
        "{count} processes that the program started could not be killed: they belong to another \
         user, or are blocked in the kernel."
    );
    (count > 0).then_some(Warning { code: WarningCode::ProcessesLeft, path: None, message })
}

/// The plan for the sandbox, and the names of the variables that are withheld.
fn plan(
    repo: &Repo,
    permitted: &Permitted<'_>,
    read_only: Vec<PathBuf>,
    environment: &[(&'static str, String)],
) -> Result<(SandboxPlan, Vec<OsString>)> {
    let request = permitted.request;
    let mut env: Vec<(OsString, OsString)> = edt_io::environment::variables();
    if !environment.is_empty() {
        // Makes spans of the program children of this call's span.
        env.retain(|(known, _)| known != "TRACEPARENT" && known != "TRACESTATE");
        env.extend(environment.iter().map(|(name, value)| (name.into(), value.into())));
    }
    for (name, value) in &request.env {
        env.retain(|(known, _)| known != name);
        env.push((name.clone(), value.clone()));
    }
    let confined = permitted.level > Level::Permissive;
    let variables = VariableRules {
        allowed: permitted.variables.clone(),
        requested: request.env.iter().map(|(name, _)| name.clone()).collect(),
    };
    let withheld = if confined { variables.withheld(&env) } else { Vec::new() };
    let root = repo.real_root()?;
    let git = [root.join(".git"), repo.git_dir().to_owned(), repo.common_dir().to_owned()];
    let plan = SandboxPlan {
        recorded: None,
        level: permitted.level,
        program: permitted.program.clone(),
        args: request.args.clone(),
        dir: permitted.dir.clone(),
        env,
        variables,
        root,
        git: git.into(),
        read_only,
        writable: permitted.writable.clone(),
        readable: permitted.readable.clone(),
        shown: Vec::new(),
        // A program that can open a lock file can block edt.
        secrets: [repo.state_path(), &repo.common_dir().join("edt")]
            .map(Path::to_owned)
            .into_iter()
            .chain(permitted.secrets.iter().cloned())
            .collect(),
        limits: permitted.resources,
        backend: NamespaceBackend::Any,
        edt: edt_io::fs::current_program()
            .map_err(|error| failed("find", Path::new("edt"), &error))?,
    };
    Ok((plan, withheld))
}

fn input(permitted: &Permitted<'_>) -> Result<OwnedFd> {
    match permitted.input.as_deref() {
        None if permitted.script.is_some() => std::io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| failed("read", Path::new("standard input"), &error).into()),
        None => streams::open(Path::new("/dev/null"))
            .map_err(|error| failed("read", Path::new("/dev/null"), &error).into()),
        Some(bytes) => streams::memory_file(bytes)
            .map_err(|error| failed("store", Path::new("the program's input"), &error).into()),
    }
}

const fn limit_name(limit: ResourceLimit) -> &'static str {
    match limit {
        ResourceLimit::Memory => "memory",
        ResourceLimit::Processes => "processes",
        ResourceLimit::Cpu => "cpu",
    }
}

struct Outputs<'a> {
    buffers: [OutputBuffer; 2],
    store: &'a mut OutputStore,
    observer: &'a mut dyn RunObserver,
    /// The signal that the observer requested last.
    signal: Cell<Option<Signal>>,
}

impl streams::Follow for Outputs<'_> {
    fn take(&mut self, stream: usize, bytes: &[u8]) {
        self.buffers[stream].push(bytes);
        self.store.push(stream, bytes);
        self.observer.output(OutputStream::ALL[stream], bytes);
    }

    fn stop(&self) -> Option<bool> {
        let signal = self.observer.stop();
        self.signal.set(signal.or(self.signal.get()));
        Some(signal.is_some())
    }
}

/// Follows the program to its end. At the time limit it gets SIGTERM, on a request the requested
/// signal; after [`GRACE_PERIOD`] or another request it is killed. Returns what ended it.
fn follow(
    running: RunningProgram,
    mut readers: [PipeReader; 2],
    until: Instant,
    outputs: &mut Outputs<'_>,
) -> std::io::Result<(sandbox::SandboxOutcome, FollowEnd)> {
    let why = streams::follow(&mut readers, running.watch(), until, outputs)?;
    let mut followed = why;
    if why != FollowEnd::Ended {
        running.signal(outputs.signal.get().unwrap_or(Signal::TERM));
        let signalled = clock::now();
        let is_same = || why == FollowEnd::Stopped && signalled.elapsed() < SAME_REQUEST;
        loop {
            let until = signalled + GRACE_PERIOD;
            followed = streams::follow(&mut readers, running.watch(), until, outputs)?;
            if followed != FollowEnd::Stopped || !is_same() {
                break;
            }
        }
    }
    let ended = if followed == FollowEnd::Ended { running.wait()? } else { running.end()? };
    streams::drain(&mut readers, Duration::from_secs(10), |stream, bytes| {
        outputs.take(stream, bytes);
    });
    Ok((ended, why))
}

pub(super) fn not_started(path: &Path, why: StartError) -> Refusal {
    let program = path.shown();
    let finding = match why {
        StartError::Unavailable { level, why } => Finding::new(
            Code::SandboxUnavailable,
            format!("The sandbox level {level} is unavailable here: {why}"),
            if sandbox::IS_SUPPORTED {
                "`edt doctor` shows what this system supports. Ask the user to allow a lower level \
                 with `sandbox` below [run] in their own edt.toml."
            } else {
                "No level is available on this system. Ask the user to run the program, and to \
                 record what it changed with `edt checkpoint`."
            },
        )
        .with_effect(Effect::NothingRun)
        .with("level", level.name()),
        StartError::Program(error) => Finding::new(
            Code::ProgramNotFound,
            format!("{program} could not be executed: {error}."),
            "Check that it is an executable program for this machine (`edt run -- file PATH`), and that \
             its interpreter exists.",
        )
        .with_effect(Effect::NothingRun),
        StartError::System(error) => failed("start", path, &error),
    };
    finding.into()
}
