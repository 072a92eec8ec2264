//! `edt bench list` and `edt bench check`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::{Result, Status};
use crate::bench::check::Checked;
use crate::bench::executor::EXECUTORS;
use crate::bench::judge::JUDGES;
use crate::bench::runner;
use crate::bench::shipped;
use crate::bench::strategy::STRATEGIES;
use crate::bench::suite::Suite;
use crate::cli::context::Context;
use crate::cli::render::{BAD, DIM, GOOD, NAME, paint, safe};
use crate::io::whole;

/// List suites with their tasks: edt's own, or those named; and the kinds of judges, strategies and executors.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  edt bench list\n  edt bench list repeats --json")]
pub(super) struct Args {
    /// Folders of suites, or names of edt's own; all of those if left out.
    #[arg(value_name = "SUITE")]
    suites: Vec<String>,
}

/// The answer of `edt bench list`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct Listed {
    /// Always `edt.bench-list/1`.
    schema: &'static str,
    /// The suites.
    suites: Vec<Line>,
    /// Kinds of judges.
    judges: Vec<Kind>,
    /// Strategies.
    strategies: Vec<Kind>,
    /// Kinds of executors.
    executors: Vec<Kind>,
}

/// One of a family.
#[derive(Debug, Serialize, JsonSchema)]
struct Kind {
    /// Its name.
    name: &'static str,
    /// What it does.
    about: &'static str,
}

/// A suite.
#[derive(Debug, Serialize, JsonSchema)]
struct Line {
    /// Its name.
    name: String,
    /// What it is for.
    description: String,
    /// The agent that it is made for.
    agent: Option<String>,
    /// The SHA-256 of its files.
    digest: String,
    /// Its tasks.
    tasks: Vec<TaskLine>,
}

/// A task.
#[derive(Debug, Serialize, JsonSchema)]
struct TaskLine {
    /// Its name.
    id: String,
    /// The day that it is from.
    date: String,
    /// Its class of mistakes.
    class: Option<String>,
    /// Its kind of judge.
    judge: &'static str,
    /// What the agent is told.
    instruction: String,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let named: Vec<String> = match self.suites.as_slice() {
            [] => shipped::names().into_iter().map(str::to_owned).collect(),
            named => named.to_vec(),
        };
        let suites = named.iter().map(|named| Ok(Line::of(&Suite::named(named, &context.start)?)));
        let listed = Listed {
            schema: "edt.bench-list/1",
            suites: suites.collect::<Result<_>>()?,
            judges: JUDGES
                .iter()
                .map(|one| Kind { name: one.kind(), about: one.about() })
                .collect(),
            strategies: STRATEGIES
                .iter()
                .map(|one| Kind { name: one.name, about: one.about })
                .collect(),
            executors: EXECUTORS
                .iter()
                .map(|one| Kind { name: one.name, about: one.about })
                .collect(),
        };
        let all = !self.suites.is_empty();
        Ok(context.answer(&listed, |listed| listed.people(all)))
    }
}

impl Line {
    fn of(suite: &Suite) -> Line {
        let tasks = suite.tasks.iter().map(|task| TaskLine {
            id: task.id.clone(),
            date: task.date.clone(),
            class: task.class.clone(),
            judge: task.judge.kind(),
            instruction: task.instruction.clone(),
        });
        Line {
            name: suite.name.clone(),
            description: suite.description.clone(),
            agent: suite.agent.clone(),
            digest: suite.digest.clone(),
            tasks: tasks.collect(),
        }
    }
}

impl Listed {
    fn people(&self, tasks: bool) -> String {
        let mut out = String::new();
        for suite in &self.suites {
            let count = suite.tasks.len();
            out += &format!(
                "{} {}\n  {}\n",
                paint(NAME, &suite.name),
                paint(DIM, &format!("{count} tasks")),
                safe(&suite.description)
            );
            for task in suite.tasks.iter().filter(|_| tasks) {
                let first = task.instruction.lines().next().unwrap_or_default();
                let facts = format!(
                    "{} {} {}",
                    task.date,
                    task.judge,
                    task.class.as_deref().unwrap_or("-")
                );
                out +=
                    &format!("  {} {}\n    {}\n", task.id, paint(DIM, &safe(&facts)), safe(first));
            }
        }
        for (title, kinds) in [
            ("judges", &self.judges),
            ("strategies", &self.strategies),
            ("agents", &self.executors),
        ] {
            out += &format!("{title}:\n");
            for kind in kinds {
                out += &format!("  {:<11} {}\n", kind.name, kind.about);
            }
        }
        out
    }
}

/// Check suites: each task can be read, its expected/ passes its own judge, and its repo/ does not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt bench check my-suite")]
pub(super) struct CheckArgs {
    /// Folders of suites, or names of edt's own.
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<String>,
}

/// The answer of `edt bench check`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct Checks {
    /// Always `edt.bench-check/1`.
    schema: &'static str,
    /// Whether all tasks can be worked with.
    good: bool,
    /// Each task.
    tasks: Vec<Checked>,
}

impl CheckArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let start = whole::real(&context.start);
        let mut tasks = Vec::new();
        for named in &self.suites {
            tasks.extend(runner::check(named, &start)?);
        }
        let good = tasks.iter().all(|task| task.good);
        let checks = Checks { schema: "edt.bench-check/1", good, tasks };
        context.answer(&checks, Checks::people);
        Ok(if good { Status::Applied } else { Status::Refused })
    }
}

impl Checks {
    fn people(&self) -> String {
        let line = |task: &Checked| {
            let word = if task.good { paint(GOOD, "good") } else { paint(BAD, "bad") };
            format!("{word} {}/{}: {}\n", task.suite, task.task, safe(&task.said))
        };
        let bad = self.tasks.iter().filter(|task| !task.good).count();
        let shown = self.tasks.iter().map(line).collect::<String>();
        format!("{shown}{} tasks, {bad} bad\n", self.tasks.len())
    }
}
