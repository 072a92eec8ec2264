//! The figures of one suite, strategy and guard setting. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::metric::{METRICS, Measurement, Metric};
use super::{ClassFigures, ReportGroup, SessionFigures, TaskCell, stats};
use crate::plan::SuitePlan;
use crate::results::TaskResult;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupKey<'a> {
    pub(super) suite: &'a str,
    pub(super) strategy: &'a str,
    pub(super) guards: &'a str,
}

/// A figure with its 95 % interval: Wilson's for a rate, a bootstrap's for a mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The figure; `null` if nothing was measured.
    pub value: Option<f64>,
    /// The lower end of the interval.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
    /// The size of the sample.
    pub n: u64,
    /// The numerator of a rate; `null` for a mean.
    pub hits: Option<u64>,
}

impl Estimate {
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    pub fn rate(hits: u64, of: u64) -> Estimate {
        let interval = stats::wilson(hits, of);
        let value = (of > 0).then(|| hits as f64 / of as f64);
        Estimate {
            value,
            low: interval.map(|interval| interval.0),
            high: interval.map(|interval| interval.1),
            n: of,
            hits: Some(hits),
        }
    }

    #[must_use]
    pub fn mean(values: &[f64], seed: u64, label: &str) -> Estimate {
        let interval = stats::bootstrap(values, seed, label);
        let (low, high) =
            (interval.map(|interval| interval.0), interval.map(|interval| interval.1));
        Estimate { value: stats::mean(values), low, high, n: values.len() as u64, hits: None }
    }
}

pub(super) fn group(
    key: &GroupKey<'_>,
    runs: &[&TaskResult],
    suite_plan: &SuitePlan,
    seed: u64,
) -> ReportGroup {
    let label = format!("{}/{}/{}", key.suite, key.strategy, key.guards);
    let most = suite_plan.attempts;
    let take = |metric: &Metric, runs: &[&TaskResult], more: &str| {
        estimate(metric, runs, most, (seed, &format!("{label}/{more}")))
    };
    let named = |name: &str, runs: &[&TaskResult], more: &str| {
        let metric = METRICS.iter().find(|metric| metric.name == name);
        metric.map_or_else(|| Estimate::rate(0, 0), |metric| take(metric, runs, more))
    };
    let metrics = METRICS.iter().map(|metric| (metric.name, take(metric, runs, metric.name)));
    let by_attempt = (1..=most).map(|attempts| {
        let within =
            runs.iter().filter(|run| run.passed_at().is_some_and(|at| at <= attempts)).count();
        Estimate::rate(within as u64, runs.len() as u64)
    });
    let score_by_attempt = (1..=most).map(|attempts| {
        let scores: Vec<f64> = runs.iter().filter_map(|run| run.score_within(attempts)).collect();
        Estimate::mean(&scores, seed, &format!("{label}/score/{attempts}"))
    });
    let by_session = (1..=suite_plan.sessions).filter_map(|session| {
        let selected: Vec<&TaskResult> =
            runs.iter().copied().filter(|run| run.session == session).collect();
        let episodes = selected.iter().map(|run| run.episodes).max()?;
        let of = |name: &str| named(name, &selected, &format!("session/{session}/{name}"));
        Some(SessionFigures {
            session,
            pass: of("pass"),
            pass_first: of("pass_first"),
            attempts: of("attempts"),
            avg_final_score: of("avg_final_score"),
            episodes,
        })
    });
    let mut classes: BTreeMap<String, Vec<&TaskResult>> = BTreeMap::new();
    for run in runs {
        if let Some(class) = &run.class {
            classes.entry(class.clone()).or_default().push(run);
        }
    }
    let by_class = classes.into_iter().map(|(class, selected)| {
        let of = |name: &str| named(name, &selected, &format!("class/{class}/{name}"));
        let figures = ClassFigures { pass: of("pass"), attempts: of("attempts") };
        (class, figures)
    });
    let (mut refusals, mut ended) = (BTreeMap::new(), BTreeMap::new());
    let mut errors: BTreeMap<&'static str, u64> = BTreeMap::new();
    for attempt in runs.iter().flat_map(|run| &run.attempts) {
        if let Some(class) = attempt.error_class {
            *errors.entry(class.name()).or_default() += 1;
        }
        *ended.entry(attempt.ended.name()).or_default() += 1;
        for (code, count) in &attempt.refusals {
            *refusals.entry(code.clone()).or_default() += u64::from(*count);
        }
    }
    let mut by_task: BTreeMap<String, Vec<TaskCell>> = BTreeMap::new();
    for run in runs {
        let cell = TaskCell { session: run.session, passed_at: run.passed_at() };
        by_task.entry(run.task.clone()).or_default().push(cell);
    }
    for cells in by_task.values_mut() {
        cells.sort_by_key(|cell| cell.session);
    }
    ReportGroup {
        suite: key.suite.to_owned(),
        strategy: key.strategy.to_owned(),
        guards: key.guards.to_owned(),
        runs: runs.len(),
        metrics: metrics.filter(|(_, estimate)| estimate.n > 0).collect(),
        by_attempt: by_attempt.collect(),
        score_by_attempt: score_by_attempt.collect(),
        by_session: by_session.collect(),
        by_class: by_class.collect(),
        by_task,
        errors,
        refusals,
        ended,
    }
}

fn estimate(
    metric: &Metric,
    runs: &[&TaskResult],
    most: u32,
    (seed, label): (u64, &str),
) -> Estimate {
    match metric.of {
        Measurement::Rate(of) => {
            let (hits, all) =
                runs.iter().map(|run| of(run)).fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
            Estimate::rate(hits, all)
        }
        Measurement::Mean(of) => {
            let values: Vec<f64> = runs.iter().flat_map(|run| of(run, most)).collect();
            Estimate::mean(&values, seed, label)
        }
    }
}
