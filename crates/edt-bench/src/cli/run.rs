//! `edt-bench run`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};

use super::context::{Context, note};
use super::model::{JudgeArgs, ModelArgs};
use super::report::TimesArgs;
use super::table;
use crate::judge;
use crate::plan::{RunPlan, Shard, SuitePlan};
use crate::report::Report;
use crate::results::UnitResult;
use crate::results_dir::{self, ResultsDir};
use crate::runner::{self, RunOptions};
use crate::strategy::STRATEGIES;
use crate::task::is_date;
use crate::{Suite, Task};
use edt_git::Repo;
use edt_io::scratch::Scratch;
use edt_io::{Environment, failed, fs};
use edt_memory::episodes::{Episodes, MAX_BYTES, Memory};
use edt_types::{Code, Finding, Result, Status};

/// Run an agent on the tasks of suites, and report.
///
/// The seed determines everything except the agent's own randomness. Finished units are kept: an
/// interrupted run continues with --resume. A unit is a task in a session, or, for a strategy that
/// remembers, all tasks in all sessions. A shard is every N-th unit.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt-bench run calculate\n  edt-bench run my-suite --agent 'python3 agent.py' --strategy none,episodic --sessions 3 --out results\n  edt-bench run numeric --shard 2/8 --out part2   # one of eight jobs; edt-bench merge puts them together\n  edt-bench run my-suite --agent 'python3 agent.py' --since 2026-06-01   # older tasks teach, and are not judged"
)]
pub(super) struct Args {
    /// Directories or names of shipped suites (`edt-bench list`).
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<String>,
    /// The agent: a command line for sh, `openai:MODEL` or `anthropic:MODEL` for a model behind
    /// HTTP, or `replay` for the recorded session of each task; the suite's default if left out.
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// What agents receive: none, reflection, episodic, placebo (several with commas); the suite's
    /// default if left out.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = strategy)]
    strategy: Vec<String>,
    /// Guards: on, off, or both with a comma; the suite's default if left out.
    #[arg(long, value_name = "ARMS", value_delimiter = ',', value_parser = ["on", "off"])]
    guards: Vec<String>,
    /// How many times all tasks are worked on; the memory is kept between sessions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    sessions: Option<u32>,
    /// The most attempts at a task.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=5))]
    attempts: Option<u32>,
    /// The time limit of an attempt, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    limit: f64,
    /// Only this task (repeatable).
    #[arg(long = "task", value_name = "NAME")]
    tasks: Vec<String>,
    /// Judge only tasks of this day and later. Older tasks only teach, and a task learns nothing
    /// from newer ones.
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<String>,
    /// Only tasks before this day teach.
    #[arg(long, value_name = "DATE", value_parser = date)]
    before: Option<String>,
    /// The episodes that strategies begin with: the file of an export, or a repository with a
    /// memory.
    #[arg(long, value_name = "FILE|DIR")]
    memory: Option<PathBuf>,
    /// How many units run at the same time; the number of processors if left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Only part I of N.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    shard: Option<Shard>,
    /// The seed of every order and every random choice.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The directory for results; nothing is kept if left out.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the run in --out.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Record the agent's messages to DIR/SUITE/TASK/STRATEGY-GUARDS-SESSION.jsonl.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    times: TimesArgs,
}

fn strategy(name: &str) -> std::result::Result<String, String> {
    let names: Vec<&str> = STRATEGIES.iter().map(|strategy| strategy.name).collect();
    if names.contains(&name) {
        Ok(name.to_owned())
    } else {
        Err(format!("{name:?} is not one of {}", names.join(", ")))
    }
}

fn date(text: &str) -> std::result::Result<String, String> {
    if is_date(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is not a date such as 2026-01-31"))
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let start = fs::real_path(&context.start);
        let memory =
            self.memory.as_ref().map(|memory| episodes(&start.join(memory))).transpose()?;
        let plan = self.plan(&start, memory.as_deref())?;
        let scratch = match &self.out {
            Some(_) => None,
            None => Some(
                Scratch::outside(Environment::Process, &start)
                    .map_err(|error| failed("make a scratch directory for", &start, &error))?,
            ),
        };
        let out = match (&self.out, &scratch) {
            (Some(out), _) => start.join(out),
            (None, Some(scratch)) => scratch.path().join("results"),
            (None, None) => start,
        };
        let (results_dir, known) = ResultsDir::open(&out, &plan, self.resume)?;
        let units: Vec<_> = plan
            .shard_units()
            .into_iter()
            .filter(|unit| known.iter().all(|result| result.unit != *unit))
            .collect();
        let options = RunOptions {
            jobs: self.jobs.map_or_else(
                || std::thread::available_parallelism().map_or(1, usize::from),
                usize::from,
            ),
            start: fs::real_path(&context.start),
            record: self.record.as_ref().map(|dir| fs::real_path(&context.start).join(dir)),
            memories: out.join("memory"),
            memory,
        };
        let progress = Progress::new(units.len());
        runner::run(&plan, units, &options, &mut |result| {
            results_dir.append(&result)?;
            progress.unit_finished(&result);
            Ok(())
        })?;
        progress.bar.inspect(ProgressBar::finish_and_clear);
        let (plan, results) = results_dir::load(&out)?;
        Ok(context.answer(&Report::of(&plan, &results, self.times.timing()), table::report))
    }

    fn plan(&self, start: &Path, memory: Option<&str>) -> Result<RunPlan> {
        if !(self.limit > 0.0 && self.limit <= 86_400.0) {
            let summary = format!("A time limit of {} s is not valid.", self.limit);
            return Err(refusal(summary, "Give --limit a number above 0, up to 86400.").into());
        }
        let since = self.since.clone().or_else(|| self.before.clone());
        let before = self.before.clone().or_else(|| self.since.clone());
        if let (Some(since), Some(before)) = (&since, &before)
            && before > since
        {
            let summary = format!(
                "Tasks from {since} up to {before} would be judged and also teach, because --before \
                 is later than --since."
            );
            return Err(refusal(summary, "Set --before to the date of --since or earlier.").into());
        }
        if since.is_some() && memory.is_some() {
            let summary = "Imported episodes do not name the tasks that they come from, so --since \
                           cannot keep them from teaching these tasks.";
            return Err(refusal(summary, "Leave out --memory or --since.").into());
        }
        let judge_model = self.judge.complete(start)?;
        let mut suites: Vec<SuitePlan> = Vec::new();
        for name in &self.suites {
            let suite = Suite::open(name, start)?;
            if suites.iter().any(|other| other.name == suite.name) {
                let summary = format!("There are two suites with the name {}.", suite.name);
                return Err(refusal(summary, "Name each suite once, or rename one.").into());
            }
            if judge_model.is_none() {
                judge::check_models(&suite)?;
            }
            suites.push(self.suite_plan(&suite, since.as_deref(), before.as_deref())?);
        }
        Ok(RunPlan {
            schema: RunPlan::SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: self.seed,
            seconds: self.limit,
            since,
            memory: memory.map(|lines| edt_git::sha256(lines.as_bytes())).transpose()?,
            judge_model,
            suites,
            shard: self.shard.unwrap_or(Shard::WHOLE),
        })
    }

    fn suite_plan(
        &self,
        suite: &Suite,
        since: Option<&str>,
        before: Option<&str>,
    ) -> Result<SuitePlan> {
        let Some(agent) = self.agent.clone().or_else(|| suite.agent.clone()) else {
            let summary = format!("The suite {} has no default agent.", suite.name);
            return Err(refusal(summary, "Name one: --agent 'python3 agent.py'.").into());
        };
        let agent = self.model.complete(&agent)?;
        if let Some(unknown) =
            self.tasks.iter().find(|name| suite.tasks.iter().all(|task| task.id != **name))
        {
            let summary = format!("The suite {} has no task {unknown}.", suite.name);
            let remedy = format!("`edt-bench list {}` lists its tasks.", suite.location);
            return Err(refusal(summary, remedy).into());
        }
        let first_set = |flag: &[String], suite_default: &[String], default: &str| {
            let mut values: Vec<String> = match (flag, suite_default) {
                ([], []) => vec![default.to_owned()],
                ([], suite_default) => suite_default.to_vec(),
                (flag, _) => flag.to_vec(),
            };
            let mut seen = std::collections::BTreeSet::new();
            values.retain(|value| seen.insert(value.clone()));
            values
        };
        let ids = |selected: &dyn Fn(&Task) -> bool| -> Vec<String> {
            suite.tasks.iter().filter(|task| selected(task)).map(|task| task.id.clone()).collect()
        };
        let is_named = |task: &Task| self.tasks.is_empty() || self.tasks.contains(&task.id);
        let tasks =
            ids(&|task| is_named(task) && since.is_none_or(|since| task.date.as_str() >= since));
        if tasks.is_empty() {
            let since = since.unwrap_or_default();
            let summary = format!("No task of {} is of {since} or later.", suite.name);
            return Err(refusal(summary, "Give an earlier date with --since.").into());
        }
        Ok(SuitePlan {
            name: suite.name.clone(),
            location: suite.location.clone(),
            digest: suite.digest.clone(),
            agent,
            strategies: first_set(&self.strategy, &suite.strategies, "none"),
            guards: first_set(&self.guards, &suite.guards, "on"),
            sessions: self.sessions.or(suite.sessions).unwrap_or(1),
            attempts: self.attempts.or(suite.attempts).unwrap_or(5),
            tasks,
            teaching: ids(&|task| before.is_some_and(|before| task.date.as_str() < before)),
        })
    }
}

fn refusal(summary: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding::new(Code::BadRequest, summary, remedy).nothing_changed()
}

/// The episodes of an export, or of the repository at `place`.
fn episodes(place: &Path) -> Result<String> {
    if !place.is_dir() {
        let bytes = fs::read_file_limited(place, MAX_BYTES as u64)
            .map_err(|error| failed("read", place, &error))?;
        let bytes = bytes.ok_or_else(|| {
            let summary = format!(
                "{} has more than {MAX_BYTES} bytes, the limit of an export.",
                place.display()
            );
            Finding::new(Code::FileTooLarge, summary, "Give --memory a smaller export.")
                .nothing_changed()
                .with("limit", MAX_BYTES)
        })?;
        return Ok(Episodes::from_file(&bytes)?.lines());
    }
    let repo = Repo::open_in(Environment::Process, place)?;
    let memory = Memory::new(&repo);
    if memory.blob()?.is_none() {
        let summary = format!("{} has no memory: refs/edt/memory is missing.", place.display());
        let remedy = "Name a repository with a memory, or the file of an export.";
        return Err(Finding::new(Code::FileNotFound, summary, remedy).nothing_changed().into());
    }
    Ok(memory.read()?.lines())
}

/// The progress: a bar on a terminal, else one line per unit.
struct Progress {
    bar: Option<ProgressBar>,
    total: usize,
    finished: std::cell::Cell<usize>,
}

impl Progress {
    fn new(total: usize) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total as u64);
            let style = ProgressStyle::with_template(
                "{bar:32} {pos}/{len} units, {elapsed} so far, {eta} left  {msg}",
            );
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar
        });
        Progress { bar, total, finished: std::cell::Cell::new(0) }
    }

    fn unit_finished(&self, result: &UnitResult) {
        self.finished.set(self.finished.get() + 1);
        if let Some(bar) = &self.bar {
            bar.set_message(result.unit.name());
            bar.inc(1);
            return;
        }
        let judged = result.runs.iter().filter(|task| !task.teaches);
        let (passed, all) = judged.fold((0, 0), |(passed, all), task| {
            (passed + usize::from(task.passed_at().is_some()), all + 1)
        });
        let (count, total) = (self.finished.get(), self.total);
        note(&format!("{count}/{total} {}: {passed} of {all} passed\n", result.unit.name()));
    }
}
