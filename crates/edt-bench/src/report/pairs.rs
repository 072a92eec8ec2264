//! Paired differences: two groups on the same tasks. The sessions of a task are one pair, because
//! they are not independent of each other. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::figures::GroupKey;
use super::metric::{METRICS, Measurement, Metric};
use super::stats;
use crate::results::TaskResult;

/// The difference between two groups on the tasks and sessions that both have, by task.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PairedDifference {
    /// The suite.
    pub suite: String,
    /// The strategy and the guard setting of the first group.
    pub from: [String; 2],
    /// The strategy and the guard setting of the second group.
    pub to: [String; 2],
    /// The metric.
    pub metric: &'static str,
    /// The number of pairs: tasks, each with the mean of its sessions.
    pub n: u64,
    /// The mean of `to` minus `from`.
    pub difference: f64,
    /// The lower end of the bootstrap's 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Pairs in which `to` is greater.
    pub more: u64,
    /// Pairs in which `to` is less.
    pub less: u64,
    /// The two-sided p-value of the split into `more` and `less`; `null` if there are too few pairs:
    /// even if all differed in the same direction, it would be above 0.05.
    pub p: Option<f64>,
    /// `mcnemar` if every value is 0 or 1, else `sign`; both are exact.
    pub test: &'static str,
}

/// All pairs of groups that differ in either the strategy or the guards, for each metric.
pub(super) fn all(
    groups: &[(GroupKey<'_>, Vec<&TaskResult>)],
    attempts: u32,
    seed: u64,
) -> Vec<PairedDifference> {
    let mut pairs = Vec::new();
    for (at, from) in groups.iter().enumerate() {
        for to in &groups[at + 1..] {
            let one_thing = (from.0.strategy == to.0.strategy) != (from.0.guards == to.0.guards);
            if one_thing {
                pairs.extend(
                    METRICS.iter().filter_map(|metric| pair(metric, from, to, (attempts, seed))),
                );
            }
        }
    }
    pairs
}

fn pair(
    metric: &Metric,
    from: &(GroupKey<'_>, Vec<&TaskResult>),
    to: &(GroupKey<'_>, Vec<&TaskResult>),
    (attempts, seed): (u32, u64),
) -> Option<PairedDifference> {
    let values = |runs: &[&TaskResult]| -> BTreeMap<(String, u32), f64> {
        let value = |run: &&TaskResult| {
            Some(((run.task.clone(), run.session), metric.value(run, attempts)?))
        };
        runs.iter().filter_map(value).collect()
    };
    let (a, b) = (values(&from.1), values(&to.1));
    let mut by_task: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for (key, one) in &a {
        if let Some(other) = b.get(key) {
            by_task.entry(&key.0).or_default().push((*one, *other));
        }
    }
    let of_task = |both: &Vec<(f64, f64)>| {
        stats::mean(&both.iter().map(|(one, other)| other - one).collect::<Vec<f64>>())
    };
    let differences: Vec<f64> = by_task.values().filter_map(of_task).collect();
    let difference = stats::mean(&differences)?;
    let name = |key: &GroupKey<'_>| [key.strategy.to_owned(), key.guards.to_owned()];
    let (names, suite) = ([name(&from.0), name(&to.0)], from.0.suite.to_owned());
    let label =
        format!("pair/{suite}/{}/{}/{}", names[0].join("/"), names[1].join("/"), metric.name);
    let (low, high) = stats::bootstrap(&differences, seed, &label)?;
    let more = differences.iter().filter(|difference| **difference > 0.0).count() as u64;
    let less = differences.iter().filter(|difference| **difference < 0.0).count() as u64;
    let binary = |one: f64| one == 0.0 || (one - 1.0).abs() < f64::EPSILON;
    let mcnemar = matches!(metric.of, Measurement::Rate(_))
        && by_task.values().all(
            |both| matches!(both.as_slice(), [(one, other)] if binary(*one) && binary(*other)),
        );
    let [from, to] = names;
    let n = differences.len() as u64;
    let p = (n >= stats::FEWEST_PAIRS).then(|| stats::even_split(more, less));
    let test = if mcnemar { "mcnemar" } else { "sign" };
    Some(PairedDifference {
        suite,
        from,
        to,
        metric: metric.name,
        n,
        difference,
        low,
        high,
        more,
        less,
        p,
        test,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::AttemptResult;

    /// Task `t<n>` in each session, passed at the attempt that `passed_at` gives.
    fn runs(tasks: u32, sessions: u32, passed_at: impl Fn(u32, u32) -> u32) -> Vec<TaskResult> {
        let attempt = |pass| AttemptResult { pass, ..AttemptResult::default() };
        let run = |task: u32, session: u32| TaskResult {
            task: format!("t{task}"),
            class: None,
            session,
            teaches: false,
            episodes: 0,
            attempts: (1..=passed_at(task, session))
                .map(|at| attempt(at == passed_at(task, session)))
                .collect(),
            trace: Vec::new(),
        };
        (1..=sessions)
            .flat_map(|session| (1..=tasks).map(move |task| (task, session)))
            .map(|(task, session)| run(task, session))
            .collect()
    }

    fn attempts(tasks: u32, sessions: u32, later: impl Fn(u32, u32) -> u32) -> PairedDifference {
        let key = |strategy| GroupKey { suite: "s", strategy, guards: "on" };
        let (a, b) = (runs(tasks, sessions, |_, _| 3), runs(tasks, sessions, later));
        let groups =
            [(key("none"), a.iter().collect()), (key("episodic"), b.iter().collect::<Vec<_>>())];
        all(&groups, 5, 1).into_iter().find(|pair| pair.metric == "attempts").unwrap()
    }

    #[test]
    fn the_sessions_of_a_task_are_one_pair() {
        // Task 1: 3 and 1 attempts in place of 3 and 3, so −1; task 2: 4 and 4, so +1; the others
        // −2 each.
        let passed_at = |task, session| match (task, session) {
            (1, 1) => 3,
            (2, _) => 4,
            _ => 1,
        };
        let pair = attempts(6, 2, passed_at);
        assert_eq!((pair.n, pair.more, pair.less, pair.test), (6, 1, 5, "sign"));
        assert!((pair.difference - (-1.0 + 1.0 - 4.0 * 2.0) / 6.0).abs() < 1e-12);
        // 2 × (1 + 6) / 64.
        assert!((pair.p.unwrap() - 14.0 / 64.0).abs() < 1e-12);
    }

    #[test]
    fn few_tasks_have_no_p_value_in_however_many_sessions() {
        let pair = attempts(5, 40, |_, _| 1);
        assert_eq!((pair.n, pair.less, pair.p), (5, 5, None));
        assert!((attempts(6, 1, |_, _| 1).p.unwrap() - 2.0 / 64.0).abs() < 1e-12);
    }
}
