//! `edt bench run`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};

use super::TimesArgs;
use super::model::ModelArgs;
use super::table;
use crate::base::{Code, Finding, Result, Status};
use crate::bench::plan::{Chosen, Plan, Shard};
use crate::bench::record::Done;
use crate::bench::report::Report;
use crate::bench::runner::{self, Way};
use crate::bench::store::{self, Store};
use crate::bench::strategy::STRATEGIES;
use crate::bench::task::is_date;
use crate::bench::{Suite, Task};
use crate::cli::apply::bytes_of;
use crate::cli::context::Context;
use crate::git::Repo;
use crate::io::failed;
use crate::io::scratch::Scratch;
use crate::io::whole;
use crate::memory::{Memory, exchange};

/// Work on the tasks of suites with an agent, and report.
///
/// A seed fixes everything but what the agent itself leaves to chance. What is done stays done: a run that was ended goes on with --resume.
/// A shard is every N-th unit; a unit is a task in a session, or, for a strategy that remembers, all tasks of all sessions.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt bench run calculate\n  edt bench run my-suite --agent 'python3 agent.py' --strategy none,episodic --sessions 3 --out results\n  edt bench run repeats --shard 2/8 --out part2   # one of eight jobs; edt bench merge puts them together\n  edt bench run my-suite --agent 'python3 agent.py' --since 2026-06-01   # older tasks teach, and are not judged"
)]
pub(super) struct Args {
    /// Folders of suites, or names of edt's own (`edt bench list`).
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<String>,
    /// The agent: a command line for sh, `openai:MODEL` or `anthropic:MODEL` for a model behind HTTP, or `replay` for the recorded session of each task; the suite's own if left out.
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// What agents are given: none, reflection, episodic, placebo (several with commas); the suite's own if left out.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = strategy)]
    strategy: Vec<String>,
    /// Guards: on, off, or both with a comma; the suite's own if left out.
    #[arg(long, value_name = "ARMS", value_delimiter = ',', value_parser = ["on", "off"])]
    guards: Vec<String>,
    /// How often all tasks are gone through, what was learned carried along.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    sessions: Option<u32>,
    /// The most attempts at a task.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=5))]
    attempts: Option<u32>,
    /// The longest that an attempt may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    limit: f64,
    /// Only this task (repeatable).
    #[arg(long = "task", value_name = "NAME")]
    tasks: Vec<String>,
    /// Judge only tasks of this day and later; older ones only teach, and nothing that is newer is taught to them.
    #[arg(long, value_name = "DATE", value_parser = day)]
    since: Option<String>,
    /// Only tasks before this day teach.
    #[arg(long, value_name = "DATE", value_parser = day)]
    before: Option<String>,
    /// Episodes that strategies begin with: the file of an export, or a repository with a memory.
    #[arg(long, value_name = "FILE|DIR")]
    memory: Option<PathBuf>,
    /// How many units at once; as many as there are processors if left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Only part I of N.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    shard: Option<Shard>,
    /// What fixes every order and every choice.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where results go; nowhere if left out.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the run in --out.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Write down what the agent says: DIR/SUITE/TASK/STRATEGY-GUARDS-SESSION.jsonl.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    times: TimesArgs,
}

fn strategy(name: &str) -> std::result::Result<String, String> {
    let names: Vec<&str> = STRATEGIES.iter().map(|one| one.name).collect();
    if names.contains(&name) {
        Ok(name.to_owned())
    } else {
        Err(format!("{name:?} is none of {}", names.join(", ")))
    }
}

fn day(text: &str) -> std::result::Result<String, String> {
    if is_date(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is not a day such as 2026-01-31"))
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let start = whole::real(&context.start);
        let memory =
            self.memory.as_ref().map(|memory| episodes(&start.join(memory))).transpose()?;
        let plan = self.plan(&start, memory.as_deref())?;
        let scratch = match &self.out {
            Some(_) => None,
            None => Some(
                Scratch::outside(&start)
                    .map_err(|error| failed("make a scratch folder for", &start, &error))?,
            ),
        };
        let out = match (&self.out, &scratch) {
            (Some(out), _) => start.join(out),
            (None, Some(scratch)) => scratch.path().join("results"),
            (None, None) => start,
        };
        let (store, done) = Store::open(&out, &plan, self.resume)?;
        let units: Vec<_> = plan
            .own_units()
            .into_iter()
            .filter(|unit| done.iter().all(|one| one.unit != *unit))
            .collect();
        let way = Way {
            jobs: self.jobs.map_or_else(
                || std::thread::available_parallelism().map_or(1, usize::from),
                usize::from,
            ),
            start: whole::real(&context.start),
            record: self.record.as_ref().map(|dir| whole::real(&context.start).join(dir)),
            memories: out.join("memory"),
            memory,
        };
        let progress = Progress::new(context, units.len());
        runner::run(&plan, units, &way, &mut |done| {
            store.add(&done)?;
            progress.done(&done);
            Ok(())
        })?;
        progress.bar.inspect(ProgressBar::finish_and_clear);
        let (plan, done) = store::load(&out)?;
        Ok(context.answer(&Report::of(&plan, &done, self.times.timing()), table::report))
    }

    fn plan(&self, start: &Path, memory: Option<&str>) -> Result<Plan> {
        let bad = |message: String, hint: &str| {
            Finding::new(Code::BadRequest, format!("{message} Nothing was run."), hint)
        };
        if !(self.limit > 0.0 && self.limit <= 86_400.0) {
            return Err(bad(
                format!("A limit of {} s cannot be kept.", self.limit),
                "Give --limit from above 0 to 86400 s.",
            )
            .into());
        }
        let since = self.since.clone().or_else(|| self.before.clone());
        let before = self.before.clone().or_else(|| self.since.clone());
        if let (Some(since), Some(before)) = (&since, &before)
            && before > since
        {
            let message = format!(
                "Tasks before {before} would teach and those since {since} be judged: some would do both."
            );
            return Err(bad(message, "Let --before be no later than --since.").into());
        }
        if since.is_some() && memory.is_some() {
            let message = "Episodes that are brought along do not say which tasks they were learned on: --since cannot keep them from \
                being taught to those.";
            return Err(bad(message.to_owned(), "Leave out --memory, or --since.").into());
        }
        let mut suites: Vec<Chosen> = Vec::new();
        for named in &self.suites {
            let suite = Suite::named(named, start)?;
            if suites.iter().any(|other| other.name == suite.name) {
                let message = format!("There are two suites {}.", suite.name);
                return Err(
                    bad(message, "Name each suite once; one of them may be renamed.").into()
                );
            }
            suites.push(self.chosen(&suite, since.as_deref(), before.as_deref())?);
        }
        Ok(Plan {
            schema: Plan::SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: self.seed,
            seconds: self.limit,
            since,
            memory: memory.map(|lines| crate::git::sha256(lines.as_bytes())).transpose()?,
            suites,
            shard: self.shard.unwrap_or(Shard::WHOLE),
        })
    }

    fn chosen(&self, suite: &Suite, since: Option<&str>, before: Option<&str>) -> Result<Chosen> {
        let bad = |message: String, hint: &str| {
            Finding::new(Code::BadRequest, format!("{message} Nothing was run."), hint)
        };
        let Some(agent) = self.agent.clone().or_else(|| suite.agent.clone()) else {
            let message = format!("The suite {} names no agent.", suite.name);
            return Err(bad(message, "Name one: --agent 'python3 agent.py'.").into());
        };
        let agent = self.model.complete(&agent)?;
        if let Some(unknown) =
            self.tasks.iter().find(|name| suite.tasks.iter().all(|task| task.id != **name))
        {
            return Err(bad(
                format!("The suite {} has no task {unknown}.", suite.name),
                "`edt bench list` lists them.",
            )
            .into());
        }
        let or = |given: &[String], own: &[String], else_: &str| {
            let mut chosen: Vec<String> = match (given, own) {
                ([], []) => vec![else_.to_owned()],
                ([], own) => own.to_vec(),
                (given, _) => given.to_vec(),
            };
            let mut seen = std::collections::BTreeSet::new();
            chosen.retain(|one| seen.insert(one.clone()));
            chosen
        };
        let names = |keep: &dyn Fn(&Task) -> bool| -> Vec<String> {
            suite.tasks.iter().filter(|task| keep(task)).map(|task| task.id.clone()).collect()
        };
        let wanted = |task: &Task| self.tasks.is_empty() || self.tasks.contains(&task.id);
        let tasks =
            names(&|task| wanted(task) && since.is_none_or(|since| task.date.as_str() >= since));
        if tasks.is_empty() {
            let message =
                format!("No task of {} is of {} or later.", suite.name, since.unwrap_or_default());
            return Err(bad(message, "Name an earlier day with --since.").into());
        }
        Ok(Chosen {
            name: suite.name.clone(),
            named: suite.named.clone(),
            digest: suite.digest.clone(),
            agent,
            strategies: or(&self.strategy, &suite.strategies, "none"),
            guards: or(&self.guards, &suite.guards, "on"),
            sessions: self.sessions.or(suite.sessions).unwrap_or(1),
            attempts: self.attempts.or(suite.attempts).unwrap_or(5),
            tasks,
            teaching: names(&|task| before.is_some_and(|before| task.date.as_str() < before)),
        })
    }
}

/// The episodes of an export, or of the repository at `place`.
fn episodes(place: &Path) -> Result<String> {
    if !place.is_dir() {
        let bytes = bytes_of(place, exchange::MOST_FILE)?;
        exchange::from_lines(&bytes)?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let repo = Repo::open(place)?;
    let memory = Memory::of(&repo, None);
    let tip = memory.tip()?.ok_or_else(|| {
        let message = format!(
            "{} remembers nothing: it has no refs/edt/memory. Nothing was run.",
            place.display()
        );
        Finding::new(
            Code::FileNotFound,
            message,
            "Name a repository with a memory, or the file of an export.",
        )
    })?;
    Ok(exchange::lines(&memory.all(tip)?.0))
}

/// How far it is: a bar at a terminal, else a line a unit.
struct Progress<'c> {
    context: &'c Context,
    bar: Option<ProgressBar>,
    of: usize,
    count: std::cell::Cell<usize>,
}

impl<'c> Progress<'c> {
    fn new(context: &'c Context, of: usize) -> Progress<'c> {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(of as u64);
            let style = ProgressStyle::with_template(
                "{bar:32} {pos}/{len} units, {elapsed} so far, {eta} left  {msg}",
            );
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar
        });
        Progress { context, bar, of, count: std::cell::Cell::new(0) }
    }

    fn done(&self, done: &Done) {
        self.count.set(self.count.get() + 1);
        if let Some(bar) = &self.bar {
            bar.set_message(done.unit.name());
            bar.inc(1);
            return;
        }
        let judged = done.runs.iter().filter(|run| !run.teaches);
        let (passed, all) = judged.fold((0, 0), |(passed, all), run| {
            (passed + usize::from(run.passed_at().is_some()), all + 1)
        });
        let (count, of) = (self.count.get(), self.of);
        self.context
            .note(&format!("{count}/{of} {}: {passed} of {all} passed\n", done.unit.name()));
    }
}
