//! Compares the marked calls of a recorded session: as recorded, through `edt run`, and by an agent
//! with edt. Pure.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::results::{MarkedCall, UnitResult};

/// A recorded session compared with its counterpart with edt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TraceComparison {
    /// The suite.
    pub suite: String,
    /// The task with the session as it was recorded.
    pub was: String,
    /// The task with the counterpart with edt.
    pub with_edt: String,
    /// Each call of the recorded session.
    pub rows: Vec<CallComparison>,
    /// The number of calls of each kind, without and with edt.
    pub kinds: BTreeMap<String, KindCounts>,
    /// Calls of the recorded session.
    pub calls_were: usize,
    /// Calls with edt.
    pub calls_are: usize,
    /// Bytes that the watched file lost: as recorded; the same calls with guards; with edt.
    pub bytes_lost: [Option<u64>; 3],
}

/// The number of calls of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KindCounts {
    /// Calls of the recorded session.
    pub were: usize,
    /// Calls with edt.
    pub are: usize,
}

/// A call of the recorded session and the calls with edt that replace it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallComparison {
    /// The number of the call.
    pub call: u32,
    /// The kind of the call.
    pub kind: String,
    /// The call.
    pub called: String,
    /// The answer without guards and rules, as recorded.
    pub was: String,
    /// The answer of `edt run` with guards; `null` if it was not run.
    pub guarded: Option<String>,
    /// The calls with edt that replace it and their answers; empty if none is needed.
    pub with_edt: Vec<String>,
    /// Whether no call is needed in its place, or an earlier row has it.
    pub not_needed: bool,
}

/// Every recorded session that has a counterpart: a task `NAME-with-edt` for a task `NAME`.
pub(super) fn remains(done: &[UnitResult]) -> Vec<TraceComparison> {
    let mut found: BTreeMap<(String, String, String), &[MarkedCall]> = BTreeMap::new();
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
    (was, guarded, edt): (&[MarkedCall], Option<&[MarkedCall]>, &[MarkedCall]),
) -> TraceComparison {
    let mut kinds: BTreeMap<String, KindCounts> = BTreeMap::new();
    for call in was {
        kinds.entry(call.kind.clone()).or_default().were += 1;
    }
    for call in edt {
        kinds.entry(call.kind.clone()).or_default().are += 1;
    }
    let rows = was.iter().map(|call| {
        let replacements: Vec<&MarkedCall> =
            edt.iter().filter(|other| other.instead_of.contains(&call.call)).collect();
        // A call that replaces several is shown in the row of the first.
        let first = |other: &&&MarkedCall| other.instead_of.iter().min() == Some(&call.call);
        let with_edt_calls: Vec<String> = replacements
            .iter()
            .filter(first)
            .map(|other| format!("{}: {}", other.called, other.answer))
            .collect();
        let guarded_call = guarded.and_then(|all| all.iter().find(|other| other.call == call.call));
        CallComparison {
            call: call.call,
            kind: call.kind.clone(),
            called: call.called.clone(),
            was: call.answer.clone(),
            guarded: guarded_call.map(|other| other.answer.clone()),
            not_needed: with_edt_calls.is_empty(),
            with_edt: with_edt_calls,
        }
    });
    let lost = |calls: &[MarkedCall]| {
        let sizes: Vec<u64> = calls.iter().filter_map(|call| call.bytes).collect();
        sizes.first().zip(sizes.last()).map(|(first, last)| first.saturating_sub(*last))
    };
    TraceComparison {
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
