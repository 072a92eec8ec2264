//! The plan of a run: suites × strategies × guards on/off × sessions, split into units. Pure.

use serde::{Deserialize, Serialize};

use super::strategy::Strategy;
use edt_types::{Code, Finding, Result};

/// A run, as `run.json` in its directory describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// Always `edt.bench-run/1`.
    pub schema: String,
    /// The version of edt.
    pub version: String,
    /// The seed of every order and every random choice.
    pub seed: u64,
    /// The time limit of an attempt, in seconds.
    pub seconds: f64,
    /// Tasks of this day and later are judged, older tasks only teach. `None`: all tasks are judged
    /// and teach.
    pub since: Option<String>,
    pub suites: Vec<SuitePlan>,
    /// The SHA-256 of the episodes that strategies begin with; `None`: there are none.
    pub memory: Option<String>,
    /// The value of `--judge-model`.
    pub judge_model: Option<String>,
    pub shard: Shard,
}

/// A suite and what the run does with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuitePlan {
    pub name: String,
    /// A directory, or the name of a shipped suite.
    #[serde(rename = "named")]
    pub location: String,
    /// The SHA-256 of its files.
    pub digest: String,
    pub agent: String,
    pub strategies: Vec<String>,
    /// `on`, `off` or both.
    pub guards: Vec<String>,
    /// How many times all tasks are worked on.
    pub sessions: u32,
    /// The most attempts at a task.
    pub attempts: u32,
    /// The judged tasks.
    pub tasks: Vec<String>,
    /// The tasks that only teach.
    pub teaching: Vec<String>,
}

/// A part of a run: every `of`-th unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// From 1.
    pub number: usize,
    pub of: usize,
}

impl Shard {
    /// All units.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Parses `I/N`.
    ///
    /// # Errors
    /// A message for the user.
    pub fn parse(text: &str) -> std::result::Result<Shard, String> {
        let parts = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if 1 <= number && number <= of => Ok(Shard { number, of }),
            _ => Err(format!("{text:?} is not a part I/N with 1 ≤ I ≤ N, such as 2/8")),
        }
    }
}

/// The smallest part of a run that is done in one piece: a task in a session, or all sessions if
/// the strategy remembers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    pub suite: String,
    pub strategy: String,
    /// `on` or `off`.
    pub guards: String,
    /// `None` means all tasks in all sessions, in order.
    pub only: Option<TaskSession>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSession {
    /// From 1.
    pub session: u32,
    pub task: String,
}

impl Unit {
    /// A name for messages.
    #[must_use]
    pub fn name(&self) -> String {
        let Unit { suite, strategy, guards, only } = self;
        let part = only.as_ref().map_or_else(
            || "all sessions".to_owned(),
            |only| format!("{} in session {}", only.task, only.session),
        );
        format!("{suite}: {part}, {strategy}, guards {guards}")
    }
}

impl RunPlan {
    /// The schema of `run.json`.
    pub const SCHEMA: &'static str = "edt.bench-run/1";

    /// Every unit of the run, in the order of reports.
    #[must_use]
    pub fn units(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for suite_plan in &self.suites {
            for (strategy, guards) in suite_plan
                .strategies
                .iter()
                .flat_map(|first| suite_plan.guards.iter().map(move |arm| (first, arm)))
            {
                let unit = |only| Unit {
                    suite: suite_plan.name.clone(),
                    strategy: strategy.clone(),
                    guards: guards.clone(),
                    only,
                };
                if Strategy::of(strategy).is_some_and(|strategy| strategy.remembers()) {
                    units.push(unit(None));
                    continue;
                }
                let each = (1..=suite_plan.sessions)
                    .flat_map(|session| suite_plan.tasks.iter().map(move |task| (session, task)));
                units.extend(each.map(|(session, task)| {
                    unit(Some(TaskSession { session, task: task.clone() }))
                }));
            }
        }
        units
    }

    /// The units of this shard.
    #[must_use]
    pub fn shard_units(&self) -> Vec<Unit> {
        let Shard { number, of } = self.shard;
        self.units().into_iter().skip(number - 1).step_by(of).collect()
    }

    /// # Errors
    /// `BENCH_MISMATCH` if the run has no such suite.
    pub fn suite(&self, suite: &str) -> Result<&SuitePlan> {
        let none = || mismatch(&format!("The run has no suite {suite}"));
        self.suites.iter().find(|first| first.name == suite).ok_or_else(|| none().into())
    }

    /// Checks that `other` is the same run. The shard and the locations of suites may differ.
    ///
    /// # Errors
    /// `BENCH_MISMATCH` with the first difference.
    pub fn check_same(&self, other: &RunPlan) -> Result<()> {
        let comparable = |plan: &RunPlan| {
            let mut plan = RunPlan { shard: Shard::WHOLE, ..plan.clone() };
            plan.suites.iter_mut().for_each(|suite| suite.location.clear());
            serde_json::to_value(plan).unwrap_or_default()
        };
        match difference("", &comparable(self), &comparable(other)) {
            None => Ok(()),
            Some((place, first, second)) => {
                Err(mismatch(&format!("{place} is {first} in one and {second} in the other"))
                    .into())
            }
        }
    }
}

/// The path of the first difference, and both values.
fn difference(
    place: &str,
    first: &serde_json::Value,
    second: &serde_json::Value,
) -> Option<(String, String, String)> {
    use serde_json::Value;
    let below =
        |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    match (first, second) {
        (Value::Object(a), Value::Object(b)) => a.iter().find_map(|(key, value)| {
            difference(&below(key), value, b.get(key).unwrap_or(&Value::Null))
        }),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(at, (first, second))| {
                difference(&below(&at.to_string()), first, second)
            })
        }
        (first, second) if first == second => None,
        (first, second) => Some((place.to_owned(), first.to_string(), second.to_string())),
    }
}

#[must_use]
pub fn mismatch(what: &str) -> Finding {
    let remedy =
        "Write each run to its own directory with --out, and merge only the shards of one run.";
    Finding::new(Code::BenchMismatch, format!("{what}."), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(shard: &str) -> RunPlan {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let suite_plan = SuitePlan {
            name: "s".into(),
            location: "/x/s".into(),
            digest: "d".into(),
            agent: "a".into(),
            strategies: words(&["none", "episodic"]),
            guards: words(&["on", "off"]),
            sessions: 2,
            attempts: 5,
            tasks: words(&["one", "two", "three"]),
            teaching: Vec::new(),
        };
        let shard = Shard::parse(shard).unwrap();
        let (schema, version) = (RunPlan::SCHEMA.to_owned(), "1".to_owned());
        RunPlan {
            schema,
            version,
            seed: 1,
            seconds: 60.0,
            since: None,
            memory: None,
            judge_model: None,
            suites: vec![suite_plan],
            shard,
        }
    }

    #[test]
    fn shards_partition_the_units() {
        let all = plan("1/1").shard_units();
        assert_eq!(
            all.len(),
            2 * (2 * 3 + 1),
            "a strategy that remembers is one unit per guard setting"
        );
        let mut parts: Vec<Unit> =
            ["1/3", "2/3", "3/3"].iter().flat_map(|shard| plan(shard).shard_units()).collect();
        parts.sort();
        let mut sorted = all;
        sorted.sort();
        assert_eq!(parts, sorted);
        assert!(
            Shard::parse("0/3").is_err()
                && Shard::parse("4/3").is_err()
                && Shard::parse("3").is_err()
        );
    }

    #[test]
    fn the_shard_and_the_location_may_differ_in_one_run() {
        let (first, mut second) = (plan("1/2"), plan("2/2"));
        second.suites[0].location = "/y/s".into();
        assert_eq!(first.check_same(&second), Ok(()));
        second.suites[0].digest = "e".into();
        let message = first.check_same(&second).unwrap_err().to_string();
        assert!(
            message.contains("suites.0.digest is \"d\" in one and \"e\" in the other"),
            "{message}"
        );
    }
}
