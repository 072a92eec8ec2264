//! Paired differences: two groups on the same tasks and sessions. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::figures::GroupKey;
use super::metric::{METRICS, Measurement, Metric};
use super::stats;
use crate::results::TaskResult;

/// The difference between two groups on the tasks and sessions that both have.
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
    /// The number of pairs.
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
    let both: Vec<(f64, f64)> =
        a.iter().filter_map(|(key, one)| Some((*one, *b.get(key)?))).collect();
    let differences: Vec<f64> = both.iter().map(|(one, other)| other - one).collect();
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
        && both.iter().all(|(one, other)| binary(*one) && binary(*other));
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
