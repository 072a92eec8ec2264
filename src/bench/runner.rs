//! Workers: each unit in a process of edt's own, with a home of its own, ended with all that it started if this one ends.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chain;
use super::check::{self, Checked};
use super::executor::chat::{secret, settings};
use super::ground::{DATE, NO_MEMORY, without_guards};
use super::plan::{Plan, Unit};
use super::record::Done;
use crate::base::{Code, Finding, Findings, Level, Result};
use crate::io::scratch::Scratch;
use crate::io::streams::{self, Follow, Followed};
use crate::io::{clock, failed, whole};
use crate::sandbox::{self, NotStarted};

/// What a worker is told, as JSON on its standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// Do a unit.
    Unit(Box<chain::Order>),
    /// Check a suite.
    Check(check::Order),
}

/// What a worker answers, as JSON on its standard output.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Worked {
    /// The unit is done.
    Unit(Box<Done>),
    /// What each task came to.
    Check(Vec<Checked>),
}

/// Does what a worker was told.
///
/// # Errors
/// What keeps the benchmark from going on.
pub fn work(work: &Work) -> Result<Worked> {
    Ok(match work {
        Work::Unit(order) => Worked::Unit(Box::new(chain::run(order)?)),
        Work::Check(order) => Worked::Check(check::run(order)?),
    })
}

/// How a run is made.
#[derive(Debug, Clone)]
pub struct Way {
    /// How many units at once.
    pub jobs: usize,
    /// The folder that the benchmark was started in.
    pub start: PathBuf,
    /// Where recordings go.
    pub record: Option<PathBuf>,
    /// Where the memories go that strategies end with.
    pub memories: PathBuf,
    /// The episodes that strategies begin with, as `edt memory export` writes them.
    pub memory: Option<String>,
}

/// The longest that a unit may take.
const A_WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// Does `units`, and gives each to `done` as it comes.
///
/// # Errors
/// The first thing that kept a unit from being done; units that were begun are finished.
pub fn run(
    plan: &Plan,
    units: Vec<Unit>,
    way: &Way,
    done: &mut dyn FnMut(Done) -> Result<()>,
) -> Result<()> {
    let queue = Mutex::new(units.into_iter());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (answers, come) = mpsc::channel();
    let mut first = Ok(());
    std::thread::scope(|scope| {
        for _ in 0..way.jobs.max(1) {
            let (answers, next) = (answers.clone(), &next);
            scope.spawn(move || {
                while let Some(unit) = next() {
                    if answers.send(one(plan, &unit, way)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(answers);
        for answer in come {
            let kept = answer.and_then(&mut *done);
            if kept.is_err() && first.is_ok() {
                first = kept;
                // Nobody begins another.
                while next().is_some() {}
            }
        }
    });
    first
}

fn one(plan: &Plan, unit: &Unit, way: &Way) -> Result<Done> {
    let guards = unit.guards.clone();
    let agent = &plan.chosen(&unit.suite)?.agent;
    let key = secret::of(agent)?;
    let keyless = settings::protocol(agent).is_some();
    let worked = worker(&guards, &way.start, keyless, |work| {
        let Way { start, record, memories, memory, .. } = way.clone();
        let (plan, unit) = (plan.clone(), unit.clone());
        Work::Unit(Box::new(chain::Order {
            plan,
            unit,
            work,
            start,
            record,
            memories,
            memory,
            key,
        }))
    })?;
    match worked {
        Worked::Unit(done) => Ok(*done),
        Worked::Check(_) => Err(lost("it answered something else").into()),
    }
}

/// Checks the suite `named`.
///
/// # Errors
/// As [`check::run`].
pub fn check(named: &str, start: &Path) -> Result<Vec<Checked>> {
    let order =
        |work| Work::Check(check::Order { suite: named.to_owned(), work, start: start.to_owned() });
    match worker("on", start, false, order)? {
        Worked::Check(checked) => Ok(checked),
        Worked::Unit(_) => Err(lost("it answered something else").into()),
    }
}

fn worker(
    guards: &str,
    start: &Path,
    keyless: bool,
    order: impl FnOnce(PathBuf) -> Work,
) -> Result<Worked> {
    let scratch = Scratch::outside(start)
        .map_err(|error| failed("make a scratch folder for", start, &error))?;
    let io = |error: std::io::Error| failed("prepare", scratch.path(), &error);
    let (home, temporary) = (scratch.path().join("home"), scratch.path().join("tmp"));
    whole::make_folder(&home.join(".config/edt")).map_err(io)?;
    whole::make_folder(&temporary).map_err(io)?;
    // Calls of edt that the agent makes itself are on the same arm.
    let policy = if guards == "off" { without_guards() } else { String::new() };
    whole::write(&home.join(".config/edt/edt.toml"), format!("{NO_MEMORY}{policy}").as_bytes())
        .map_err(io)?;
    let order = serde_json::to_vec(&order(scratch.path().to_owned())).unwrap_or_default();
    let edt = whole::own_program().map_err(|error| failed("find", Path::new("edt"), &error))?;
    let mut plan = sandbox::Plan::new(Level::Permissive, &edt, scratch.path());
    plan.args = ["bench", "unit", "--json"].map(OsString::from).into();
    start.clone_into(&mut plan.dir);
    plan.env = environment(&home, &temporary, &edt);
    // A model's key is handed over in memory: nothing that runs for its task, no judge and no test, can read it.
    plan.env.retain(|(name, _)| !(keyless && secret::is_key(name)));
    let ((out, stdout), (err, stderr)) =
        (streams::pipe().map_err(io)?, streams::pipe().map_err(io)?);
    let running = sandbox::start(&plan, streams::memory(&order).map_err(io)?, stdout, stderr)
        .map_err(not_started)?;
    let (mut readers, mut outputs) = ([out, err], Outputs::default());
    let followed =
        streams::follow(&mut readers, running.watch(), clock::now() + A_WEEK, &mut outputs)
            .map_err(io)?;
    if followed == Followed::Over { running.wait() } else { running.end() }.map_err(io)?;
    streams::rest(&mut readers, Duration::from_secs(10), |stream, bytes| {
        outputs.take(stream, bytes)
    });
    drop(scratch);
    let [answer, complaint] = outputs.0;
    serde_json::from_slice(&answer).map_err(|_| refusal(&answer, &complaint))
}

/// What a worker lives in: the caller's environment, but nothing that says who the caller is or what Git they use.
fn environment(home: &Path, temporary: &Path, edt: &Path) -> Vec<(OsString, OsString)> {
    let foreign = |name: &OsString| {
        let name = name.to_string_lossy();
        let prefixes = ["XDG_", "GIT_", "EDT_", "LC_"];
        prefixes.iter().any(|prefix| name.starts_with(prefix))
            || ["HOME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "PATH", "EMAIL"].contains(&&*name)
    };
    let mut env: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| !foreign(name)).collect();
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let own = edt.parent().filter(|_| edt.file_name() == Some("edt".as_ref())).map(Path::to_owned);
    let folders = own.into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).unwrap_or(path);
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
        set(&format!("GIT_{role}_NAME"), "edt bench".into());
        set(&format!("GIT_{role}_EMAIL"), "bench@example.com".into());
        set(&format!("GIT_{role}_DATE"), DATE.into());
    }
    env
}

/// Standard output whole, and the end of standard error.
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

fn not_started(why: NotStarted) -> Findings {
    match why {
        NotStarted::System(error) | NotStarted::Program(error) => {
            failed("start", Path::new("a worker"), &error).into()
        }
        NotStarted::Unavailable { why, .. } => lost(&why).into(),
    }
}

/// The refusal that a worker answered with, as it would have been answered here.
fn refusal(answer: &[u8], complaint: &[u8]) -> Findings {
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
    let said = String::from_utf8_lossy(complaint).trim().to_owned();
    Findings::check(all)
        .err()
        .unwrap_or_else(|| lost(&format!("it ended without an answer. {said}")).into())
}

fn lost(why: &str) -> Finding {
    let message =
        format!("A worker of the benchmark was lost: {}.", why.trim().trim_end_matches('.'));
    Finding::new(Code::IoError, message, "Repeat the call with --resume: what is done stays done.")
}
