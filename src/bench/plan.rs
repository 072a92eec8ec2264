//! What a run of the benchmark does: suites × strategies × arms × sessions, cut into units. Pure.

use serde::{Deserialize, Serialize};

use super::strategy::Strategy;
use crate::base::{Code, Finding, Result};

/// A run, as `run.json` in its folder says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Always `edt.bench-run/1`.
    pub schema: String,
    /// The version of edt.
    pub version: String,
    /// What fixes every order and every choice.
    pub seed: u64,
    /// The longest that an attempt may take, in seconds.
    pub seconds: f64,
    /// Tasks of this day and later are judged, those before only teach; `None`: all are judged and teach.
    pub since: Option<String>,
    /// The suites.
    pub suites: Vec<Chosen>,
    /// The SHA-256 of the episodes that strategies begin with; `None`: they begin with none.
    pub memory: Option<String>,
    /// Which part of it this is.
    pub shard: Shard,
}

/// A suite, and what is done with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// Its name.
    pub name: String,
    /// Where it is: a folder, or the name of one of edt's own.
    pub named: String,
    /// The SHA-256 of its files.
    pub digest: String,
    /// The agent.
    pub agent: String,
    /// The strategies.
    pub strategies: Vec<String>,
    /// The arms: `on`, `off`.
    pub guards: Vec<String>,
    /// How often its tasks are gone through.
    pub sessions: u32,
    /// The most attempts at a task.
    pub attempts: u32,
    /// The tasks that are judged.
    pub tasks: Vec<String>,
    /// The tasks that only teach.
    pub teaching: Vec<String>,
}

/// A part of a run: every `of`-th unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Which part, from 1.
    pub number: usize,
    /// Of how many.
    pub of: usize,
}

impl Shard {
    /// The whole.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Reads `i/n`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> std::result::Result<Shard, String> {
        let parts = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if 1 <= number && number <= of => Ok(Shard { number, of }),
            _ => Err(format!("{text:?} is no part I/N with 1 ≤ I ≤ N, such as 2/8")),
        }
    }
}

/// What is done in one piece, and never in parts: a task in a session, or, where something is carried from task to task, all sessions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// The suite.
    pub suite: String,
    /// The strategy.
    pub strategy: String,
    /// The arm.
    pub guards: String,
    /// The task and the session; `None` stands for all of them, in order.
    pub only: Option<Only>,
}

/// One task in one session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Only {
    /// The session, from 1.
    pub session: u32,
    /// The task.
    pub task: String,
}

impl Unit {
    /// Its name, for people.
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

impl Plan {
    /// The schema that a `run.json` names.
    pub const SCHEMA: &'static str = "edt.bench-run/1";

    /// Every unit of the whole run, in the order of reports.
    #[must_use]
    pub fn units(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for chosen in &self.suites {
            for (strategy, guards) in chosen
                .strategies
                .iter()
                .flat_map(|one| chosen.guards.iter().map(move |arm| (one, arm)))
            {
                let unit = |only| Unit {
                    suite: chosen.name.clone(),
                    strategy: strategy.clone(),
                    guards: guards.clone(),
                    only,
                };
                if Strategy::of(strategy).is_some_and(|strategy| strategy.remembers()) {
                    units.push(unit(None));
                    continue;
                }
                let each = (1..=chosen.sessions)
                    .flat_map(|session| chosen.tasks.iter().map(move |task| (session, task)));
                units.extend(
                    each.map(|(session, task)| unit(Some(Only { session, task: task.clone() }))),
                );
            }
        }
        units
    }

    /// The units of this part.
    #[must_use]
    pub fn own_units(&self) -> Vec<Unit> {
        let Shard { number, of } = self.shard;
        self.units().into_iter().skip(number - 1).step_by(of).collect()
    }

    /// The suite of that name.
    ///
    /// # Errors
    /// `BENCH_MISMATCH` if this run has none.
    pub fn chosen(&self, suite: &str) -> Result<&Chosen> {
        let none = || mismatch(&format!("The run has no suite {suite}"));
        self.suites.iter().find(|one| one.name == suite).ok_or_else(|| none().into())
    }

    /// Checks that `other` is a part of the same run: the same but for the shard, and for where suites lie.
    ///
    /// # Errors
    /// `BENCH_MISMATCH` naming the difference.
    pub fn check_same(&self, other: &Plan) -> Result<()> {
        let bare = |plan: &Plan| {
            let mut plan = Plan { shard: Shard::WHOLE, ..plan.clone() };
            plan.suites.iter_mut().for_each(|suite| suite.named.clear());
            serde_json::to_value(plan).unwrap_or_default()
        };
        match difference("", &bare(self), &bare(other)) {
            None => Ok(()),
            Some((place, one, two)) => {
                Err(mismatch(&format!("{place} is {one} in one and {two} in the other")).into())
            }
        }
    }
}

/// The first place where two values differ.
fn difference(
    place: &str,
    one: &serde_json::Value,
    two: &serde_json::Value,
) -> Option<(String, String, String)> {
    use serde_json::Value;
    let below =
        |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    match (one, two) {
        (Value::Object(a), Value::Object(b)) => a.iter().find_map(|(key, value)| {
            difference(&below(key), value, b.get(key).unwrap_or(&Value::Null))
        }),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(at, (one, two))| difference(&below(&at.to_string()), one, two)),
        (one, two) if one == two => None,
        (one, two) => Some((place.to_owned(), one.to_string(), two.to_string())),
    }
}

/// Results that do not belong together.
#[must_use]
pub fn mismatch(what: &str) -> Finding {
    let hint =
        "Write each run to a folder of its own with --out, and merge only the shards of one run.";
    Finding::new(Code::BenchMismatch, format!("{what}."), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(shard: &str) -> Plan {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let chosen = Chosen {
            name: "s".into(),
            named: "/x/s".into(),
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
        let (schema, version) = (Plan::SCHEMA.to_owned(), "1".to_owned());
        Plan {
            schema,
            version,
            seed: 1,
            seconds: 60.0,
            since: None,
            memory: None,
            suites: vec![chosen],
            shard,
        }
    }

    #[test]
    fn shards_are_all_units_once() {
        let whole = plan("1/1").own_units();
        assert_eq!(whole.len(), 2 * (2 * 3 + 1), "a strategy that remembers is one chain an arm");
        let mut parts: Vec<Unit> =
            ["1/3", "2/3", "3/3"].iter().flat_map(|shard| plan(shard).own_units()).collect();
        parts.sort();
        let mut sorted = whole;
        sorted.sort();
        assert_eq!(parts, sorted);
        assert!(
            Shard::parse("0/3").is_err()
                && Shard::parse("4/3").is_err()
                && Shard::parse("3").is_err()
        );
    }

    #[test]
    fn two_runs_are_the_same_but_for_the_shard_and_the_place() {
        let (one, mut two) = (plan("1/2"), plan("2/2"));
        two.suites[0].named = "/y/s".into();
        assert_eq!(one.check_same(&two), Ok(()));
        two.suites[0].digest = "e".into();
        let said = one.check_same(&two).unwrap_err().to_string();
        assert!(said.contains("suites.0.digest is \"d\" in one and \"e\" in the other"), "{said}");
    }
}
