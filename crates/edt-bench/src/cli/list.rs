//! `edt-bench list` and `edt-bench check`.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::model::JudgeArgs;
use super::render::{BAD, DIM, GOOD, NAME, paint, safe};
use crate::check::TaskCheck;
use crate::executor::EXECUTORS;
use crate::judge::{self, JUDGES};
use crate::runner;
use crate::shipped;
use crate::strategy::STRATEGIES;
use crate::suite::Suite;
use edt_io::fs;
use edt_types::text::counted;
use edt_types::{Result, Status};

/// List suites with their tasks, and the judges, strategies and kinds of agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  edt-bench list\n  edt-bench list numeric --json")]
pub(super) struct Args {
    /// Directories or names of shipped suites; all shipped suites if left out.
    #[arg(value_name = "SUITE")]
    suites: Vec<String>,
}

/// The answer of `edt-bench list`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListAnswer {
    /// Always `edt.bench-list/1`.
    schema: &'static str,
    /// The suites.
    suites: Vec<SuiteEntry>,
    /// The kinds of judges.
    judges: Vec<FamilyEntry>,
    /// The strategies.
    strategies: Vec<FamilyEntry>,
    /// The kinds of agents.
    executors: Vec<FamilyEntry>,
}

/// A judge, a strategy or a kind of agent.
#[derive(Debug, Serialize, JsonSchema)]
struct FamilyEntry {
    /// The name.
    name: &'static str,
    /// What it does.
    about: &'static str,
}

/// A suite.
#[derive(Debug, Serialize, JsonSchema)]
struct SuiteEntry {
    /// The name.
    name: String,
    /// The description.
    description: String,
    /// The default agent.
    agent: Option<String>,
    /// The SHA-256 of its files.
    digest: String,
    /// The tasks.
    tasks: Vec<TaskEntry>,
}

/// A task.
#[derive(Debug, Serialize, JsonSchema)]
struct TaskEntry {
    /// The id.
    id: String,
    /// The date.
    date: String,
    /// The class of mistakes that it provokes.
    class: Option<String>,
    /// The kind of judge.
    judge: &'static str,
    /// The instruction for the agent.
    instruction: String,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let names: Vec<String> = match self.suites.as_slice() {
            [] => shipped::names().into_iter().map(str::to_owned).collect(),
            names => names.to_vec(),
        };
        let suites =
            names.iter().map(|name| Ok(SuiteEntry::of(&Suite::open(name, &context.start)?)));
        let answer = ListAnswer {
            schema: "edt.bench-list/1",
            suites: suites.collect::<Result<_>>()?,
            judges: JUDGES
                .iter()
                .map(|judge| FamilyEntry { name: judge.kind(), about: judge.about() })
                .collect(),
            strategies: STRATEGIES
                .iter()
                .map(|one| FamilyEntry { name: one.name, about: one.about })
                .collect(),
            executors: EXECUTORS
                .iter()
                .map(|one| FamilyEntry { name: one.name, about: one.about })
                .collect(),
        };
        let with_tasks = !self.suites.is_empty();
        Ok(context.answer(&answer, |answer| answer.render_human(with_tasks)))
    }
}

impl SuiteEntry {
    fn of(suite: &Suite) -> SuiteEntry {
        let tasks = suite.tasks.iter().map(|task| TaskEntry {
            id: task.id.clone(),
            date: task.date.clone(),
            class: task.class.clone(),
            judge: task.judge.kind(),
            instruction: task.instruction.clone(),
        });
        SuiteEntry {
            name: suite.name.clone(),
            description: suite.description.clone(),
            agent: suite.agent.clone(),
            digest: suite.digest.clone(),
            tasks: tasks.collect(),
        }
    }
}

impl ListAnswer {
    fn render_human(&self, with_tasks: bool) -> String {
        let mut out = String::new();
        for suite in &self.suites {
            let count = suite.tasks.len();
            out += &format!(
                "{} {}\n  {}\n",
                paint(NAME, &suite.name),
                paint(DIM, &counted(count, "task")),
                safe(&suite.description)
            );
            for task in suite.tasks.iter().filter(|_| with_tasks) {
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

/// Check suites: each task is valid, its expected/ passes its own judge, and its repo/ does not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt-bench check my-suite")]
pub(super) struct CheckArgs {
    /// Directories or names of shipped suites.
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<String>,
    #[command(flatten)]
    judge: JudgeArgs,
}

/// The answer of `edt-bench check`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CheckAnswer {
    /// Always `edt.bench-check/1`.
    schema: &'static str,
    /// Whether all tasks can be used.
    good: bool,
    /// The tasks.
    tasks: Vec<TaskCheck>,
}

impl CheckArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let start = fs::real_path(&context.start);
        let line = self.judge.complete(&start)?;
        let model = runner::judge_model(line.as_deref(), 1)?;
        let mut tasks = Vec::new();
        for suite in &self.suites {
            if line.is_none() {
                judge::check_models(&Suite::open(suite, &start)?)?;
            }
            tasks.extend(runner::check(suite, &start, model.clone())?);
        }
        let good = tasks.iter().all(|task| task.good);
        let answer = CheckAnswer { schema: "edt.bench-check/1", good, tasks };
        context.answer(&answer, CheckAnswer::render_human);
        Ok(if good { Status::Applied } else { Status::Refused })
    }
}

impl CheckAnswer {
    fn render_human(&self) -> String {
        let line = |task: &TaskCheck| {
            let result = if task.good { paint(GOOD, "good") } else { paint(BAD, "bad") };
            format!("{result} {}/{}: {}\n", task.suite, task.task, safe(&task.reason))
        };
        let bad = self.tasks.iter().filter(|task| !task.good).count();
        let shown = self.tasks.iter().map(line).collect::<String>();
        format!("{shown}{}, {bad} bad\n", counted(self.tasks.len(), "task"))
    }
}
