//! Worker processes: each unit runs in a process with its own home directory, which is ended with
//! all its descendants when this process ends.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::{self, TaskCheck};
use super::executor::chat::{secret, settings};
use super::judge::JudgeModel;
use super::plan::{RunPlan, Unit};
use super::results::UnitResult;
use super::scratch_repo::{DATE, NO_MEMORY, without_guards};
use super::unit;
use edt_io::scratch::Scratch;
use edt_io::streams::{self, Follow, FollowEnd};
use edt_io::{Environment, clock, failed, fs};
use edt_run::sandbox::{self, StartError};
use edt_types::{Code, Finding, Level, Refusal, Result};

/// The input of a worker process, as JSON on its standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WorkerJob {
    Unit(Box<unit::UnitJob>),
    Check(check::CheckJob),
}

/// The output of a worker process, as JSON on its standard output.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WorkerResult {
    Unit(Box<UnitResult>),
    Check(Vec<TaskCheck>),
}

/// The body of a worker process.
///
/// # Errors
/// Errors that stop the benchmark.
pub fn work(job: &WorkerJob) -> Result<WorkerResult> {
    Ok(match job {
        WorkerJob::Unit(job) => WorkerResult::Unit(Box::new(unit::run(job)?)),
        WorkerJob::Check(job) => WorkerResult::Check(check::run(job)?),
    })
}

#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How many units run at the same time.
    pub jobs: usize,
    /// The directory that the benchmark was started in.
    pub start: PathBuf,
    /// The directory for recordings.
    pub record: Option<PathBuf>,
    /// The directory for the memories that strategies end with.
    pub memories: PathBuf,
    /// The episodes that strategies begin with, in the format of `edt memory export`.
    pub memory: Option<String>,
}

/// The longest time that a unit may take.
const UNIT_LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Runs `units` in worker processes and passes each result to `on_result`.
///
/// # Errors
/// The first error. Units that have begun are finished; no other begins.
pub fn run(
    plan: &RunPlan,
    units: Vec<Unit>,
    options: &RunOptions,
    on_result: &mut dyn FnMut(UnitResult) -> Result<()>,
) -> Result<()> {
    let queue = Mutex::new(units.into_iter());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (sender, receiver) = mpsc::channel();
    let mut first = Ok(());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(unit) = next() {
                    if sender.send(run_unit(plan, &unit, options)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for result in receiver {
            let handled = result.and_then(&mut *on_result);
            if handled.is_err() && first.is_ok() {
                first = handled;
                // Empty the queue: no other unit begins.
                while next().is_some() {}
            }
        }
    });
    first
}

fn run_unit(plan: &RunPlan, unit: &Unit, options: &RunOptions) -> Result<UnitResult> {
    let guards = unit.guards.clone();
    let agent = &plan.suite(&unit.suite)?.agent;
    let key = secret::api_key(agent)?;
    let judge_model = judge_model(plan.judge_model.as_deref(), plan.seed)?;
    let withhold_keys = settings::protocol(agent).is_some() || is_model(&judge_model);
    let result = run_worker(&guards, &options.start, withhold_keys, |work| {
        let RunOptions { start, record, memories, memory, .. } = options.clone();
        let (plan, unit) = (plan.clone(), unit.clone());
        WorkerJob::Unit(Box::new(unit::UnitJob {
            plan,
            unit,
            work,
            start,
            record,
            memories,
            memory,
            key,
            judge_model,
        }))
    })?;
    match result {
        WorkerResult::Unit(result) => Ok(*result),
        WorkerResult::Check(_) => Err(worker_failed("it answered another job").into()),
    }
}

/// The model of `--judge-model` with its key.
///
/// # Errors
/// `BAD_REQUEST` if its key is missing.
pub fn judge_model(line: Option<&str>, seed: u64) -> Result<JudgeModel> {
    let key = line.map_or(Ok(None), secret::judge_key)?;
    Ok(JudgeModel { line: line.map(str::to_owned), key, seed })
}

fn is_model(judge: &JudgeModel) -> bool {
    judge.line.as_deref().and_then(settings::protocol).is_some()
}

/// Checks the suite in a worker process.
///
/// # Errors
/// As [`check::run`].
pub fn check(suite: &str, start: &Path, judge_model: JudgeModel) -> Result<Vec<TaskCheck>> {
    let withhold_keys = is_model(&judge_model);
    let job = |work| {
        let (suite, start) = (suite.to_owned(), start.to_owned());
        WorkerJob::Check(check::CheckJob { suite, work, start, judge_model })
    };
    match run_worker("on", start, withhold_keys, job)? {
        WorkerResult::Check(checked) => Ok(checked),
        WorkerResult::Unit(_) => Err(worker_failed("it answered another job").into()),
    }
}

fn run_worker(
    guards: &str,
    start: &Path,
    withhold_keys: bool,
    job: impl FnOnce(PathBuf) -> WorkerJob,
) -> Result<WorkerResult> {
    let scratch = Scratch::outside(Environment::Process, start)
        .map_err(|error| failed("make a scratch directory for", start, &error))?;
    let io = |error: std::io::Error| failed("prepare", scratch.path(), &error);
    let (home, temporary) = (scratch.path().join("home"), scratch.path().join("tmp"));
    fs::make_dir(&home.join(".config/edt")).map_err(io)?;
    fs::make_dir(&temporary).map_err(io)?;
    // Guards are also off for the agent's own calls of `edt`.
    let policy = if guards == "off" { without_guards() } else { String::new() };
    fs::write_in_place(
        &home.join(".config/edt/edt.toml"),
        format!("{NO_MEMORY}{policy}").as_bytes(),
    )
    .map_err(io)?;
    let job = serde_json::to_vec(&job(scratch.path().to_owned())).unwrap_or_default();
    let program =
        fs::current_program().map_err(|error| failed("find", Path::new("edt-bench"), &error))?;
    let mut plan = sandbox::SandboxPlan::new(Level::Permissive, &program, scratch.path());
    plan.args = ["unit", "--json"].map(OsString::from).into();
    start.clone_into(&mut plan.dir);
    plan.env = environment(&home, &temporary, &program);
    // The API key goes to the worker in memory: no program, judge or test of the task can read it.
    plan.env.retain(|(name, _)| !(withhold_keys && secret::is_key_variable(name)));
    let ((out, stdout), (err, stderr)) =
        (streams::pipe().map_err(io)?, streams::pipe().map_err(io)?);
    let running = sandbox::start(&plan, streams::memory_file(&job).map_err(io)?, stdout, stderr)
        .map_err(not_started)?;
    let (mut readers, mut outputs) = ([out, err], Outputs::default());
    let followed =
        streams::follow(&mut readers, running.watch(), clock::now() + UNIT_LIMIT, &mut outputs)
            .map_err(io)?;
    if followed == FollowEnd::Ended { running.wait() } else { running.end() }.map_err(io)?;
    streams::drain(&mut readers, Duration::from_secs(10), |stream, bytes| {
        outputs.take(stream, bytes);
    });
    drop(scratch);
    let [answer, stderr] = outputs.0;
    serde_json::from_slice(&answer).map_err(|_| refusal(&answer, &stderr))
}

/// The worker's environment: the caller's without variables that identify the user or configure Git
/// and edt. An `edt` next to `program` is first on the agent's `PATH`.
fn environment(home: &Path, temporary: &Path, program: &Path) -> Vec<(OsString, OsString)> {
    let foreign = |name: &OsString| {
        let name = name.to_string_lossy();
        let prefixes = ["XDG_", "GIT_", "EDT_", "LC_"];
        prefixes.iter().any(|prefix| name.starts_with(prefix))
            || ["HOME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "PATH", "EMAIL"].contains(&&*name)
    };
    let mut env: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| !foreign(name)).collect();
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let has_edt = program.with_file_name("edt").is_file();
    let own = program.parent().filter(|_| has_edt).map(Path::to_owned);
    let dirs = own.into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(dirs).unwrap_or(path);
    let mut set = |name: &str, value: OsString| env.push((name.into(), value));
    set("PATH", path);
    set("HOME", home.into());
    set("XDG_CONFIG_HOME", home.join(".config").into());
    set("TMPDIR", temporary.into());
    set("LC_ALL", "C.UTF-8".into());
    set("TZ", "UTC".into());
    set("GIT_CONFIG_NOSYSTEM", "1".into());
    set("GIT_TERMINAL_PROMPT", "0".into());
    for role in ["AUTHOR", "COMMITTER"] {
        set(&format!("GIT_{role}_NAME"), "edt-bench".into());
        set(&format!("GIT_{role}_EMAIL"), "bench@example.com".into());
        set(&format!("GIT_{role}_DATE"), DATE.into());
    }
    env
}

/// All of standard output, and the end of standard error.
#[derive(Default)]
struct Outputs([Vec<u8>; 2]);

impl Follow for Outputs {
    fn take(&mut self, reader: usize, bytes: &[u8]) {
        self.0[reader].extend_from_slice(bytes);
        if reader == 1 {
            let surplus = self.0[1].len().saturating_sub(4096);
            self.0[1].drain(..surplus);
        }
    }

    fn stop(&self) -> Option<bool> {
        None
    }
}

fn not_started(why: StartError) -> Refusal {
    match why {
        StartError::System(error) | StartError::Program(error) => {
            failed("start", Path::new("a worker process"), &error).into()
        }
        StartError::Unavailable { why, .. } => worker_failed(&why).into(),
    }
}

/// The worker's refusal, rebuilt from its JSON answer.
fn refusal(answer: &[u8], stderr: &[u8]) -> Refusal {
    let outcome: Value = serde_json::from_slice(answer).unwrap_or_default();
    let text = |error: &Value, key: &str| error[key].as_str().unwrap_or_default().to_owned();
    let known = |error: &Value| {
        let code = Code::from_name(error["code"].as_str()?)?;
        let mut finding = Finding::new(code, text(error, "message"), text(error, "hint"));
        finding.path = error["path"].as_str().map(str::to_owned);
        finding.evidence = error["evidence"].as_object().cloned().unwrap_or_default();
        Some(finding)
    };
    let all: Vec<Finding> =
        outcome["errors"].as_array().into_iter().flatten().filter_map(known).collect();
    let stderr = String::from_utf8_lossy(stderr).trim().to_owned();
    Refusal::check(all)
        .err()
        .unwrap_or_else(|| worker_failed(&format!("it exited without an answer. {stderr}")).into())
}

fn worker_failed(why: &str) -> Finding {
    let summary =
        format!("A worker process of the benchmark failed: {}.", why.trim().trim_end_matches('.'));
    Finding::new(Code::IoError, summary, "Repeat the call with --resume; finished units are kept.")
}
