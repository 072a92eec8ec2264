//! The report, made from the results alone: the same results give the same report. Pure.

mod figures;
pub mod html;
pub mod metric;
mod pairs;
pub mod stats;
mod trace;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::plan::{RunPlan, SuitePlan};
use super::results::{TaskResult, UnitResult};
use edt_types::text::shell_word;
pub use figures::Estimate;
pub use pairs::PairedDifference;
pub use trace::{CallComparison, TraceComparison};

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Always `edt.bench-report/1`.
    pub schema: &'static str,
    /// The version of edt that made the results.
    pub version: String,
    /// The seed of every order and every random choice.
    pub seed: u64,
    /// Tasks of this day and later were judged, older tasks only taught. `null`: no split.
    pub since: Option<String>,
    /// How many units have results.
    pub done: usize,
    /// How many units the run has. If it is more than `results`, the report covers a part of the run.
    pub of: usize,
    /// The suites.
    pub suites: Vec<SuiteLine>,
    /// The metrics and their meaning.
    pub metrics: Vec<MetricLine>,
    /// The figures of each suite, strategy and guard setting.
    pub groups: Vec<ReportGroup>,
    /// Differences between two groups on the same tasks.
    pub pairs: Vec<PairedDifference>,
    /// Recorded sessions, call by call, compared with their counterparts with edt.
    pub remains: Vec<TraceComparison>,
    /// The times, which differ from run to run; `null` if they were left out.
    pub times: Option<Times>,
}

/// A suite of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuiteLine {
    /// The name.
    pub name: String,
    /// The SHA-256 of its files.
    pub digest: String,
    /// The agent.
    pub agent: String,
    /// How many tasks are judged.
    pub tasks: usize,
    /// How many tasks only teach.
    pub teaching: usize,
    /// How many times all tasks are worked on.
    pub sessions: u32,
    /// The most attempts at a task.
    pub attempts: u32,
    /// The command that reproduces the results where the suite is available.
    pub command: String,
}

/// A metric of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MetricLine {
    /// The name.
    pub name: &'static str,
    /// The meaning.
    pub about: &'static str,
    /// `rate` or `mean`.
    pub kind: &'static str,
    /// `higher`, `lower` or `neither`.
    pub better: &'static str,
}

/// The figures of a suite, a strategy and a guard setting.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReportGroup {
    /// The suite.
    pub suite: String,
    /// The strategy.
    pub strategy: String,
    /// Whether guards were `on` or `off`.
    pub guards: String,
    /// How many results there are, each task counted once per session.
    pub runs: usize,
    /// Each metric for which something was measured.
    pub metrics: BTreeMap<&'static str, Estimate>,
    /// The rate of tasks that passed within one attempt, two attempts, …
    pub by_attempt: Vec<Estimate>,
    /// The mean score after at most one attempt, two attempts, …
    pub score_by_attempt: Vec<Estimate>,
    /// The figures of each session.
    pub by_session: Vec<SessionFigures>,
    /// The figures of each class of mistakes.
    pub by_class: BTreeMap<String, ClassFigures>,
    /// Each task with its sessions.
    pub by_task: BTreeMap<String, Vec<TaskCell>>,
    /// How many failed attempts had each class of error.
    pub errors: BTreeMap<&'static str, u64>,
    /// How many refusals had each code.
    pub refusals: BTreeMap<String, u64>,
    /// How many attempts ended in each way.
    pub ended: BTreeMap<&'static str, u64>,
}

/// The figures of a session.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionFigures {
    /// The number of the session, from 1.
    pub session: u32,
    /// Tasks that passed.
    pub pass: Estimate,
    /// Tasks that passed at the first attempt.
    pub pass_first: Estimate,
    /// Attempts until a task passed.
    pub attempts: Estimate,
    /// The mean score of the last attempts.
    pub avg_final_score: Estimate,
    /// The most episodes that the memory had before a task.
    pub episodes: usize,
}

/// One task in one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskCell {
    /// The session, from 1.
    pub session: u32,
    /// The attempt that passed, from 1; `null` if none did.
    pub passed_at: Option<u32>,
}

/// The figures of a class of mistakes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClassFigures {
    /// Tasks that passed.
    pub pass: Estimate,
    /// Attempts until a task passed.
    pub attempts: Estimate,
}

/// Times, which differ from run to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Times {
    /// The sum over all units, in milliseconds.
    pub units_ms: u64,
    /// The longest unit, in milliseconds.
    pub longest_ms: u64,
}

/// Whether the report has times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    Included,
    /// Without times, equal runs give equal reports.
    Omitted,
}

impl Report {
    /// The report of `plan` from the results so far.
    #[must_use]
    pub fn of(plan: &RunPlan, results: &[UnitResult], timing: Timing) -> Report {
        let mut groups = Vec::new();
        let mut pairs = Vec::new();
        for suite_plan in &plan.suites {
            let mut suite_groups = Vec::new();
            for strategy in &suite_plan.strategies {
                for guards in &suite_plan.guards {
                    let of = |result: &&UnitResult| {
                        let unit = &result.unit;
                        (&unit.suite, &unit.strategy, &unit.guards)
                            == (&suite_plan.name, strategy, guards)
                    };
                    let all = results.iter().filter(of).flat_map(|result| &result.runs);
                    let runs: Vec<&TaskResult> = all.filter(|run| !run.teaches).collect();
                    if !runs.is_empty() {
                        let key = figures::GroupKey { suite: &suite_plan.name, strategy, guards };
                        suite_groups.push((key, runs));
                    }
                }
            }
            groups.extend(
                suite_groups
                    .iter()
                    .map(|(key, runs)| figures::group(key, runs, suite_plan, plan.seed)),
            );
            pairs.extend(pairs::all(&suite_groups, suite_plan.attempts, plan.seed));
        }
        let times = Times {
            units_ms: results.iter().map(|result| result.ms).sum(),
            longest_ms: results.iter().map(|result| result.ms).max().unwrap_or(0),
        };
        Report {
            schema: "edt.bench-report/1",
            version: plan.version.clone(),
            seed: plan.seed,
            since: plan.since.clone(),
            done: results.len(),
            of: plan.units().len(),
            suites: plan.suites.iter().map(|suite_plan| suite_line(suite_plan, plan)).collect(),
            metrics: metric::METRICS.iter().map(metric_line).collect(),
            groups,
            pairs,
            remains: trace::remains(results),
            times: (timing == Timing::Included).then_some(times),
        }
    }
}

fn suite_line(suite_plan: &SuitePlan, plan: &RunPlan) -> SuiteLine {
    SuiteLine {
        command: command(suite_plan, plan),
        name: suite_plan.name.clone(),
        digest: suite_plan.digest.clone(),
        agent: suite_plan.agent.clone(),
        tasks: suite_plan.tasks.len(),
        teaching: suite_plan.teaching.len(),
        sessions: suite_plan.sessions,
        attempts: suite_plan.attempts,
    }
}

/// The command that reproduces the results of a suite.
fn command(suite_plan: &SuitePlan, plan: &RunPlan) -> String {
    let word = |text: &str| shell_word(text.as_bytes());
    let mut words = vec![
        "edt-bench run".to_owned(),
        word(&suite_plan.name),
        "--agent".to_owned(),
        word(&suite_plan.agent),
    ];
    let (strategies, guards) = (suite_plan.strategies.join(","), suite_plan.guards.join(","));
    words.push(format!("--strategy {strategies} --guards {guards}"));
    words.push(format!(
        "--sessions {} --attempts {} --limit {}",
        suite_plan.sessions, suite_plan.attempts, plan.seconds
    ));
    words.extend(plan.judge_model.as_ref().map(|line| format!("--judge-model {}", word(line))));
    words.extend(plan.since.as_ref().map(|since| format!("--since {since}")));
    words.push(format!("--seed {}", plan.seed));
    words.join(" ")
}

fn metric_line(metric: &metric::Metric) -> MetricLine {
    let kind = match metric.of {
        metric::Measurement::Rate(_) => "rate",
        metric::Measurement::Mean(_) => "mean",
    };
    let better = match metric.better {
        metric::Better::Higher => "higher",
        metric::Better::Lower => "lower",
        metric::Better::Neither => "neither",
    };
    MetricLine { name: metric.name, about: metric.about, kind, better }
}
