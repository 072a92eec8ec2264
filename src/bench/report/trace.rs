//! What remains of a recorded session: its marked calls as they were, through `edt run`, and by an agent with edt. Pure.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::bench::record::{Done, Traced};

/// What remains of a recorded session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remains {
    /// The suite.
    pub suite: String,
    /// The task that has the session as it was.
    pub was: String,
    /// The task that has it with edt.
    pub with_edt: String,
    /// Each call of the session as it was.
    pub rows: Vec<Row>,
    /// How many calls of each kind there were, and how many calls with edt stand for them.
    pub kinds: BTreeMap<String, Left>,
    /// Calls as it was.
    pub calls_were: usize,
    /// Calls with edt.
    pub calls_are: usize,
    /// Bytes that the watched file lost at the end: as it was; the same calls with guards; with edt.
    pub bytes_lost: [Option<u64>; 3],
}

/// What is left of a kind of call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Left {
    /// Calls as it was.
    pub were: usize,
    /// Calls of the same kind with edt.
    pub are: usize,
}

/// A call of the session as it was, and what remains of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// Its number.
    pub call: u32,
    /// Its kind.
    pub kind: String,
    /// What was called.
    pub called: String,
    /// What became of it without guards and rules: as it was.
    pub was: String,
    /// What becomes of the same call through `edt run`, guards on; `null` if that was not run.
    pub guarded: Option<String>,
    /// What stands for it with edt: calls and what they were answered; empty if nothing has to.
    pub with_edt: Vec<String>,
    /// Whether another call than this one's first does its work: it is not needed any more.
    pub not_needed: bool,
}

/// Every recorded session that has a counterpart: a task `NAME-with-edt` beside a task `NAME`.
pub(super) fn remains(done: &[Done]) -> Vec<Remains> {
    let mut found: BTreeMap<(String, String, String), &[Traced]> = BTreeMap::new();
    for one in done {
        for run in one.runs.iter().filter(|run| !run.trace.is_empty()) {
            let key = (one.unit.suite.clone(), run.task.clone(), one.unit.guards.clone());
            found.entry(key).or_insert(&run.trace);
        }
    }
    let of = |suite: &str, task: &str, guards: &str| {
        found.get(&(suite.to_owned(), task.to_owned(), guards.to_owned())).copied()
    };
    let names: BTreeSet<(&String, &String)> =
        found.keys().map(|(suite, task, _)| (suite, task)).collect();
    let pairs = names.into_iter().filter_map(|(suite, task)| {
        let with_edt = format!("{task}-with-edt");
        let edt = of(suite, &with_edt, "on")?;
        let guarded = of(suite, task, "on");
        let was = of(suite, task, "off").or(guarded)?;
        Some(compare(suite, task, with_edt, (was, guarded, edt)))
    });
    pairs.collect()
}

fn compare(
    suite: &str,
    task: &str,
    with_edt: String,
    (was, guarded, edt): (&[Traced], Option<&[Traced]>, &[Traced]),
) -> Remains {
    let mut kinds: BTreeMap<String, Left> = BTreeMap::new();
    for call in was {
        kinds.entry(call.kind.clone()).or_default().were += 1;
    }
    for call in edt {
        kinds.entry(call.kind.clone()).or_default().are += 1;
    }
    let rows = was.iter().map(|call| {
        let own: Vec<&Traced> =
            edt.iter().filter(|other| other.instead_of.contains(&call.call)).collect();
        // A call with edt is told beside the first of those that it stands for.
        let first = |other: &&&Traced| other.instead_of.iter().min() == Some(&call.call);
        let told: Vec<String> = own
            .iter()
            .filter(first)
            .map(|other| format!("{}: {}", other.called, other.answer))
            .collect();
        let again = guarded.and_then(|all| all.iter().find(|other| other.call == call.call));
        Row {
            call: call.call,
            kind: call.kind.clone(),
            called: call.called.clone(),
            was: call.answer.clone(),
            guarded: again.map(|other| other.answer.clone()),
            not_needed: told.is_empty(),
            with_edt: told,
        }
    });
    let lost = |calls: &[Traced]| {
        let sizes: Vec<u64> = calls.iter().filter_map(|call| call.bytes).collect();
        sizes.first().zip(sizes.last()).map(|(first, last)| first.saturating_sub(*last))
    };
    Remains {
        suite: suite.to_owned(),
        was: task.to_owned(),
        with_edt,
        rows: rows.collect(),
        kinds,
        calls_were: was.len(),
        calls_are: edt.len(),
        bytes_lost: [lost(was), guarded.and_then(lost), lost(edt)],
    }
}
