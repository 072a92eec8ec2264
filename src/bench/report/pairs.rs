//! Paired differences: the same task in the same session, two ways. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::facts::Key;
use super::metric::{METRICS, Metric, Of};
use super::stats;
use crate::bench::record::TaskRun;

/// A difference of two groups on the tasks that both have.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// The suite.
    pub suite: String,
    /// The strategy and the arm that the other is compared with.
    pub from: [String; 2],
    /// The other.
    pub to: [String; 2],
    /// The metric.
    pub metric: &'static str,
    /// How many pairs there are.
    pub n: u64,
    /// The mean of `to` less `from`.
    pub difference: f64,
    /// The lower end of its 95 % interval, by a bootstrap.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Pairs in which `to` is more.
    pub more: u64,
    /// Pairs in which `to` is less.
    pub less: u64,
    /// How likely a split of those two as uneven as this, or more, is by chance alone.
    pub p: f64,
    /// `mcnemar` where every value is 0 or 1, else `sign`; both exact and two-sided.
    pub test: &'static str,
}

/// All pairs of groups that differ in one thing, metric by metric.
pub(super) fn all(groups: &[(Key<'_>, Vec<&TaskRun>)], attempts: u32, seed: u64) -> Vec<Pair> {
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
    from: &(Key<'_>, Vec<&TaskRun>),
    to: &(Key<'_>, Vec<&TaskRun>),
    (attempts, seed): (u32, u64),
) -> Option<Pair> {
    let values = |runs: &[&TaskRun]| -> BTreeMap<(String, u32), f64> {
        let value =
            |run: &&TaskRun| Some(((run.task.clone(), run.session), metric.value(run, attempts)?));
        runs.iter().filter_map(value).collect()
    };
    let (a, b) = (values(&from.1), values(&to.1));
    let both: Vec<(f64, f64)> =
        a.iter().filter_map(|(key, one)| Some((*one, *b.get(key)?))).collect();
    let differences: Vec<f64> = both.iter().map(|(one, other)| other - one).collect();
    let difference = stats::mean(&differences)?;
    let name = |key: &Key<'_>| [key.strategy.to_owned(), key.guards.to_owned()];
    let (names, suite) = ([name(&from.0), name(&to.0)], from.0.suite.to_owned());
    let label =
        format!("pair/{suite}/{}/{}/{}", names[0].join("/"), names[1].join("/"), metric.name);
    let (low, high) = stats::bootstrap(&differences, seed, &label)?;
    let more = differences.iter().filter(|one| **one > 0.0).count() as u64;
    let less = differences.iter().filter(|one| **one < 0.0).count() as u64;
    let binary = |one: f64| one == 0.0 || (one - 1.0).abs() < f64::EPSILON;
    let mcnemar = matches!(metric.of, Of::Rate(_))
        && both.iter().all(|(one, other)| binary(*one) && binary(*other));
    let [from, to] = names;
    let (n, p) = (differences.len() as u64, stats::even_split(more, less));
    let test = if mcnemar { "mcnemar" } else { "sign" };
    Some(Pair {
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
