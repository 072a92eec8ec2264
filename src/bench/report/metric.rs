//! What is measured: the family [`METRICS`]. Each is taken of one task in one session, so that pairs can be compared.

use crate::bench::record::{Attempt, TaskRun};

/// A metric.
pub struct Metric {
    /// Its name in reports.
    pub name: &'static str,
    /// Its title in tables.
    pub title: &'static str,
    /// What it says.
    pub about: &'static str,
    /// Which way is better.
    pub better: Better,
    /// How it is taken.
    pub of: Of,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More.
    Higher,
    /// Less.
    Lower,
    /// Neither: it only says how much there was.
    Neither,
}

/// How a metric is taken of a task in a session.
pub enum Of {
    /// So many of so many.
    Rate(fn(&TaskRun) -> (u64, u64)),
    /// Values; the most attempts that there could be are given.
    Mean(fn(&TaskRun, u32) -> Vec<f64>),
}

/// Every metric, in the order of reports.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "pass",
        title: "pass",
        about: "tasks that passed within the attempts",
        better: Better::Higher,
        of: Of::Rate(|run| (u64::from(run.passed_at().is_some()), 1)),
    },
    Metric {
        name: "pass_first",
        title: "first try",
        about: "tasks that passed at the first attempt",
        better: Better::Higher,
        of: Of::Rate(|run| (u64::from(run.passed_at() == Some(1)), 1)),
    },
    Metric {
        name: "attempts",
        title: "attempts",
        about: "attempts until the task passed; one more than there are for a task that never did",
        better: Better::Lower,
        of: Of::Mean(|run, most| vec![f64::from(run.passed_at().unwrap_or(most + 1))]),
    },
    Metric {
        name: "well_formed",
        title: "well-formed",
        about: "edits that could be read as what they claim to be, of those sent",
        better: Better::Higher,
        of: Of::Rate(|run| (sum(run, |one| one.parsed), sum(run, |one| one.sent))),
    },
    Metric {
        name: "landed",
        title: "landed",
        about: "edits that landed, of those sent",
        better: Better::Higher,
        of: Of::Rate(|run| (sum(run, |one| one.landed), sum(run, |one| one.sent))),
    },
    Metric {
        name: "silently_wrong",
        title: "silently wrong",
        about: "edits that landed last on a file which then was wrong, in an attempt that failed though no refusal stood, of those that landed",
        better: Better::Lower,
        of: Of::Rate(|run| (sum(run, |one| one.silent), sum(run, |one| one.landed))),
    },
    Metric {
        name: "bytes_outside",
        title: "bytes outside",
        about: "bytes changed outside the intended region, at the end of the last attempt",
        better: Better::Lower,
        of: Of::Mean(|run, _| {
            run.attempts.last().and_then(|one| one.outside).map(float).into_iter().collect()
        }),
    },
    Metric {
        name: "recovery_steps",
        title: "recovery",
        about: "calls from a refusal up to the next edit that landed",
        better: Better::Lower,
        of: Of::Mean(|run, _| {
            run.attempts
                .iter()
                .flat_map(|one| &one.recoveries)
                .map(|steps| f64::from(*steps))
                .collect()
        }),
    },
    Metric {
        name: "unrecovered",
        title: "unrecovered",
        about: "tasks that ended after a refusal of an edit and before another landed",
        better: Better::Lower,
        of: Of::Rate(|run| (u64::from(run.attempts.last().is_some_and(|one| one.stuck)), 1)),
    },
    Metric {
        name: "guard_harm",
        title: "guard harm",
        about: "edits refused by guards alone that would have made the task pass, of those tried without guards",
        better: Better::Lower,
        of: Of::Rate(|run| (sum(run, |one| one.harmful), sum(run, |one| one.tried_without))),
    },
    Metric {
        name: "refusals",
        title: "refusals",
        about: "refusals of a task, all attempts together",
        better: Better::Lower,
        of: Of::Mean(|run, _| {
            vec![float(
                run.attempts
                    .iter()
                    .flat_map(|one| one.refusals.values())
                    .map(|n| u64::from(*n))
                    .sum(),
            )]
        }),
    },
    Metric {
        name: "calls",
        title: "calls",
        about: "calls of the agent for a task, all attempts together",
        better: Better::Lower,
        of: Of::Mean(|run, _| {
            vec![float(
                run.attempts.iter().flat_map(|one| one.calls.values()).map(|n| u64::from(*n)).sum(),
            )]
        }),
    },
    Metric {
        name: "lessons",
        title: "lessons",
        about: "lessons shown for a task, before attempts and in refusals",
        better: Better::Neither,
        of: Of::Mean(|run, _| vec![float(sum(run, |one| one.priors + one.lessons))]),
    },
    Metric {
        name: "input_tokens",
        title: "tokens in",
        about: "tokens read for a task, where the agent says",
        better: Better::Lower,
        of: Of::Mean(|run, _| known(run, |one| one.usage.input_tokens.map(float))),
    },
    Metric {
        name: "output_tokens",
        title: "tokens out",
        about: "tokens written for a task, where the agent says",
        better: Better::Lower,
        of: Of::Mean(|run, _| known(run, |one| one.usage.output_tokens.map(float))),
    },
    Metric {
        name: "cost_usd",
        title: "cost $",
        about: "what a task cost in US dollars, where the agent says",
        better: Better::Lower,
        of: Of::Mean(|run, _| known(run, |one| one.usage.cost_usd)),
    },
];

fn sum(run: &TaskRun, of: impl Fn(&Attempt) -> u32) -> u64 {
    run.attempts.iter().map(|one| u64::from(of(one))).sum()
}

/// The sum over the attempts, if it is known of any.
fn known(run: &TaskRun, of: impl Fn(&Attempt) -> Option<f64>) -> Vec<f64> {
    let all: Vec<f64> = run.attempts.iter().filter_map(of).collect();
    if all.is_empty() { Vec::new() } else { vec![all.iter().sum()] }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn float(number: u64) -> f64 {
    number as f64
}

impl Metric {
    /// One value of a task in a session, to be compared with its pair; `None` if there was nothing to measure.
    #[must_use]
    pub fn value(&self, run: &TaskRun, attempts: u32) -> Option<f64> {
        match self.of {
            Of::Rate(of) => {
                let (hits, all) = of(run);
                (all > 0).then(|| float(hits) / float(all))
            }
            Of::Mean(of) => super::stats::mean(&of(run, attempts)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
    }
}
