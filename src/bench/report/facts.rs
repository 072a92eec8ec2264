//! The figures of one suite, strategy and arm. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::metric::{METRICS, Metric, Of};
use super::{Cell, Class, Group, Session, stats};
use crate::bench::plan::Chosen;
use crate::bench::record::TaskRun;

/// Whose figures they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key<'a> {
    pub(super) suite: &'a str,
    pub(super) strategy: &'a str,
    pub(super) guards: &'a str,
}

/// A figure, and how sure it is: a rate with Wilson's interval, a mean with a bootstrap's, both of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The figure; `null` if there was nothing to measure.
    pub value: Option<f64>,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
    /// How many were counted: the whole of a rate, the values of a mean.
    pub n: u64,
    /// How many of them, for a rate; `null` for a mean.
    pub hits: Option<u64>,
}

impl Estimate {
    /// So many of so many.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    pub fn rate(hits: u64, of: u64) -> Estimate {
        let interval = stats::wilson(hits, of);
        let value = (of > 0).then(|| hits as f64 / of as f64);
        Estimate {
            value,
            low: interval.map(|one| one.0),
            high: interval.map(|one| one.1),
            n: of,
            hits: Some(hits),
        }
    }

    /// The mean of `values`.
    #[must_use]
    pub fn mean(values: &[f64], seed: u64, label: &str) -> Estimate {
        let interval = stats::bootstrap(values, seed, label);
        let (low, high) = (interval.map(|one| one.0), interval.map(|one| one.1));
        Estimate { value: stats::mean(values), low, high, n: values.len() as u64, hits: None }
    }
}

/// The figures of `runs`.
pub(super) fn group(key: &Key<'_>, runs: &[&TaskRun], chosen: &Chosen, seed: u64) -> Group {
    let label = format!("{}/{}/{}", key.suite, key.strategy, key.guards);
    let most = chosen.attempts;
    let take = |metric: &Metric, runs: &[&TaskRun], more: &str| {
        estimate(metric, runs, most, (seed, &format!("{label}/{more}")))
    };
    let named = |name: &str, runs: &[&TaskRun], more: &str| {
        let metric = METRICS.iter().find(|metric| metric.name == name);
        metric.map_or_else(|| Estimate::rate(0, 0), |metric| take(metric, runs, more))
    };
    let metrics = METRICS.iter().map(|metric| (metric.name, take(metric, runs, metric.name)));
    let by_attempt = (1..=most).map(|attempts| {
        let within =
            runs.iter().filter(|run| run.passed_at().is_some_and(|at| at <= attempts)).count();
        Estimate::rate(within as u64, runs.len() as u64)
    });
    let by_session = (1..=chosen.sessions).filter_map(|session| {
        let own: Vec<&TaskRun> =
            runs.iter().copied().filter(|run| run.session == session).collect();
        let episodes = own.iter().map(|run| run.episodes).max()?;
        let of = |name: &str| named(name, &own, &format!("session/{session}/{name}"));
        Some(Session {
            session,
            pass: of("pass"),
            pass_first: of("pass_first"),
            attempts: of("attempts"),
            episodes,
        })
    });
    let mut classes: BTreeMap<String, Vec<&TaskRun>> = BTreeMap::new();
    for run in runs {
        if let Some(class) = &run.class {
            classes.entry(class.clone()).or_default().push(run);
        }
    }
    let by_class = classes.into_iter().map(|(class, own)| {
        let of = |name: &str| named(name, &own, &format!("class/{class}/{name}"));
        let figures = Class { pass: of("pass"), attempts: of("attempts") };
        (class, figures)
    });
    let (mut refusals, mut ended) = (BTreeMap::new(), BTreeMap::new());
    for attempt in runs.iter().flat_map(|run| &run.attempts) {
        *ended.entry(attempt.ended.name()).or_default() += 1;
        for (code, count) in &attempt.refusals {
            *refusals.entry(code.clone()).or_default() += u64::from(*count);
        }
    }
    let mut by_task: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
    for run in runs {
        let cell = Cell { session: run.session, passed_at: run.passed_at() };
        by_task.entry(run.task.clone()).or_default().push(cell);
    }
    for cells in by_task.values_mut() {
        cells.sort_by_key(|cell| cell.session);
    }
    Group {
        suite: key.suite.to_owned(),
        strategy: key.strategy.to_owned(),
        guards: key.guards.to_owned(),
        runs: runs.len(),
        metrics: metrics.filter(|(_, estimate)| estimate.n > 0).collect(),
        by_attempt: by_attempt.collect(),
        by_session: by_session.collect(),
        by_class: by_class.collect(),
        by_task,
        refusals,
        ended,
    }
}

fn estimate(metric: &Metric, runs: &[&TaskRun], most: u32, (seed, label): (u64, &str)) -> Estimate {
    match metric.of {
        Of::Rate(of) => {
            let (hits, all) =
                runs.iter().map(|run| of(run)).fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
            Estimate::rate(hits, all)
        }
        Of::Mean(of) => {
            let values: Vec<f64> = runs.iter().flat_map(|run| of(run, most)).collect();
            Estimate::mean(&values, seed, label)
        }
    }
}
