//! The report: made from the results alone, so that the same results are the same report. Pure.

mod facts;
pub mod html;
pub mod metric;
mod pairs;
pub mod stats;
mod trace;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::plan::{Chosen, Plan};
use super::record::{Done, TaskRun};
use crate::base::text::shell_word;
pub use facts::Estimate;
pub use pairs::Pair;
pub use trace::{Remains, Row};

/// A report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Always `edt.bench-report/1`.
    pub schema: &'static str,
    /// The version of edt that made the results.
    pub version: String,
    /// What fixed every order and every choice.
    pub seed: u64,
    /// Tasks of this day and later were judged, those before only taught; `null`: no split.
    pub since: Option<String>,
    /// How many units there are results of.
    pub done: usize,
    /// How many the whole run has. Where it is more, this report is of a part.
    pub of: usize,
    /// The suites.
    pub suites: Vec<SuiteLine>,
    /// What is measured, and what it says.
    pub metrics: Vec<MetricLine>,
    /// The figures of each suite, strategy and arm.
    pub groups: Vec<Group>,
    /// The same tasks in the same sessions, two ways.
    pub pairs: Vec<Pair>,
    /// What remains of recorded sessions.
    pub remains: Vec<Remains>,
    /// What differs from run to run; `null` if it was left out.
    pub times: Option<Times>,
}

/// A suite of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuiteLine {
    /// Its name.
    pub name: String,
    /// The SHA-256 of its files.
    pub digest: String,
    /// The agent.
    pub agent: String,
    /// How many tasks are judged.
    pub tasks: usize,
    /// How many only teach.
    pub teaching: usize,
    /// How often they are gone through.
    pub sessions: u32,
    /// The most attempts at a task.
    pub attempts: u32,
    /// The command that makes these results again, where the suite is at hand.
    pub command: String,
}

/// A metric of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MetricLine {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    /// `rate` or `mean`.
    pub kind: &'static str,
    /// `higher`, `lower` or `neither`.
    pub better: &'static str,
}

/// The figures of a suite, a strategy and an arm.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Group {
    /// The suite.
    pub suite: String,
    /// The strategy.
    pub strategy: String,
    /// Whether guards were `on` or `off`.
    pub guards: String,
    /// How many tasks there are results of, each session counted.
    pub runs: usize,
    /// Each metric that there was something to measure of.
    pub metrics: BTreeMap<&'static str, Estimate>,
    /// Tasks that passed within so many attempts: within one, two, …
    pub by_attempt: Vec<Estimate>,
    /// Session by session.
    pub by_session: Vec<Session>,
    /// Class by class of mistakes.
    pub by_class: BTreeMap<String, Class>,
    /// Task by task: each session of it.
    pub by_task: BTreeMap<String, Vec<Cell>>,
    /// Refusals by their codes.
    pub refusals: BTreeMap<String, u64>,
    /// How the agent's part ended, by attempts.
    pub ended: BTreeMap<&'static str, u64>,
}

/// A session of a group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Session {
    /// Which, from 1.
    pub session: u32,
    /// Tasks that passed.
    pub pass: Estimate,
    /// Tasks that passed at the first attempt.
    pub pass_first: Estimate,
    /// Attempts until a task passed.
    pub attempts: Estimate,
    /// The most episodes that were known before a task.
    pub episodes: usize,
}

/// One task in one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cell {
    /// The session, from 1.
    pub session: u32,
    /// The attempt that passed, from 1; `null` if none did.
    pub passed_at: Option<u32>,
}

/// A class of mistakes in a group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Class {
    /// Tasks that passed.
    pub pass: Estimate,
    /// Attempts until a task passed.
    pub attempts: Estimate,
}

/// What differs from run to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Times {
    /// The time of all units together, in milliseconds.
    pub units_ms: u64,
    /// That of the longest.
    pub longest_ms: u64,
}

/// What the report has of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// They are told.
    Told,
    /// They are left out: what is left is the same whenever the run was made.
    LeftOut,
}

impl Report {
    /// The report of `plan` from what is done of it.
    #[must_use]
    pub fn of(plan: &Plan, done: &[Done], timing: Timing) -> Report {
        let mut groups = Vec::new();
        let mut pairs = Vec::new();
        for chosen in &plan.suites {
            let mut own = Vec::new();
            for strategy in &chosen.strategies {
                for guards in &chosen.guards {
                    let of = |one: &&Done| {
                        let unit = &one.unit;
                        (&unit.suite, &unit.strategy, &unit.guards)
                            == (&chosen.name, strategy, guards)
                    };
                    let all = done.iter().filter(of).flat_map(|one| &one.runs);
                    let runs: Vec<&TaskRun> = all.filter(|run| !run.teaches).collect();
                    if !runs.is_empty() {
                        let key = facts::Key { suite: &chosen.name, strategy, guards };
                        own.push((key, runs));
                    }
                }
            }
            groups.extend(own.iter().map(|(key, runs)| facts::group(key, runs, chosen, plan.seed)));
            pairs.extend(pairs::all(&own, chosen.attempts, plan.seed));
        }
        let times = Times {
            units_ms: done.iter().map(|one| one.ms).sum(),
            longest_ms: done.iter().map(|one| one.ms).max().unwrap_or(0),
        };
        Report {
            schema: "edt.bench-report/1",
            version: plan.version.clone(),
            seed: plan.seed,
            since: plan.since.clone(),
            done: done.len(),
            of: plan.units().len(),
            suites: plan.suites.iter().map(|chosen| suite_line(chosen, plan)).collect(),
            metrics: metric::METRICS.iter().map(metric_line).collect(),
            groups,
            pairs,
            remains: trace::remains(done),
            times: (timing == Timing::Told).then_some(times),
        }
    }
}

fn suite_line(chosen: &Chosen, plan: &Plan) -> SuiteLine {
    SuiteLine {
        command: command(chosen, plan),
        name: chosen.name.clone(),
        digest: chosen.digest.clone(),
        agent: chosen.agent.clone(),
        tasks: chosen.tasks.len(),
        teaching: chosen.teaching.len(),
        sessions: chosen.sessions,
        attempts: chosen.attempts,
    }
}

/// The call that makes the results of a suite again.
fn command(chosen: &Chosen, plan: &Plan) -> String {
    let word = |text: &str| shell_word(text.as_bytes());
    let mut words = vec![
        "edt bench run".to_owned(),
        word(&chosen.name),
        "--agent".to_owned(),
        word(&chosen.agent),
    ];
    let (strategies, guards) = (chosen.strategies.join(","), chosen.guards.join(","));
    words.push(format!("--strategy {strategies} --guards {guards}"));
    words.push(format!(
        "--sessions {} --attempts {} --limit {}",
        chosen.sessions, chosen.attempts, plan.seconds
    ));
    words.extend(plan.since.as_ref().map(|since| format!("--since {since}")));
    words.push(format!("--seed {}", plan.seed));
    words.join(" ")
}

fn metric_line(metric: &metric::Metric) -> MetricLine {
    let kind = match metric.of {
        metric::Of::Rate(_) => "rate",
        metric::Of::Mean(_) => "mean",
    };
    let better = match metric.better {
        metric::Better::Higher => "higher",
        metric::Better::Lower => "lower",
        metric::Better::Neither => "neither",
    };
    MetricLine { name: metric.name, about: metric.about, kind, better }
}
