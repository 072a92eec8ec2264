//! What is measured: the family [`METRICS`]. Each is measured per task and session, so that pairs
//! can be compared.

use crate::results::{AttemptResult, TaskResult, TokenUsage};

pub struct Metric {
    /// The key in reports.
    pub name: &'static str,
    /// The title in tables.
    pub title: &'static str,
    /// A sentence for users.
    pub about: &'static str,
    pub better: Better,
    pub of: Measurement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
    /// Neither: the metric only describes.
    Neither,
}

/// How a metric is measured on a task in a session.
pub enum Measurement {
    /// Hits and total.
    Rate(fn(&TaskResult) -> (u64, u64)),
    /// Values. The second argument is the most attempts.
    Mean(fn(&TaskResult, u32) -> Vec<f64>),
}

/// In the order of reports.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "pass",
        title: "pass",
        about: "tasks that passed within the attempts",
        better: Better::Higher,
        of: Measurement::Rate(|run| (u64::from(run.passed_at().is_some()), 1)),
    },
    Metric {
        name: "pass_first",
        title: "first try",
        about: "tasks that passed at the first attempt",
        better: Better::Higher,
        of: Measurement::Rate(|run| (u64::from(run.passed_at() == Some(1)), 1)),
    },
    Metric {
        name: "attempts",
        title: "attempts",
        about: "attempts until the task passed; the maximum plus one for a task that never passed",
        better: Better::Lower,
        of: Measurement::Mean(|run, most| vec![f64::from(run.passed_at().unwrap_or(most + 1))]),
    },
    Metric {
        name: "avg_final_score",
        title: "final score",
        about: "the judge's score of the last attempt, from 0 to 1",
        better: Better::Higher,
        of: Measurement::Mean(|run, most| run.score_within(most).into_iter().collect()),
    },
    Metric {
        name: "well_formed",
        title: "well-formed",
        about: "edits that were valid requests, of those sent",
        better: Better::Higher,
        of: Measurement::Rate(|run| {
            (sum(run, |attempt| attempt.parsed), sum(run, |attempt| attempt.sent))
        }),
    },
    Metric {
        name: "landed",
        title: "landed",
        about: "edits that landed, of those sent",
        better: Better::Higher,
        of: Measurement::Rate(|run| {
            (sum(run, |attempt| attempt.landed), sum(run, |attempt| attempt.sent))
        }),
    },
    Metric {
        name: "silently_wrong",
        title: "silently wrong",
        about: "edits that were the last to land on a file with wrong content, in an attempt that failed without a final refusal, of those that landed",
        better: Better::Lower,
        of: Measurement::Rate(|run| {
            (sum(run, |attempt| attempt.silent), sum(run, |attempt| attempt.landed))
        }),
    },
    Metric {
        name: "bytes_outside",
        title: "bytes outside",
        about: "bytes changed outside the intended region at the end of the last attempt",
        better: Better::Lower,
        of: Measurement::Mean(|run, _| {
            run.attempts.last().and_then(|attempt| attempt.outside).map(float).into_iter().collect()
        }),
    },
    Metric {
        name: "recovery_steps",
        title: "recovery",
        about: "calls from a refusal to the next edit that landed",
        better: Better::Lower,
        of: Measurement::Mean(|run, _| {
            run.attempts
                .iter()
                .flat_map(|attempt| &attempt.recoveries)
                .map(|steps| f64::from(*steps))
                .collect()
        }),
    },
    Metric {
        name: "unrecovered",
        title: "unrecovered",
        about: "tasks that ended after a refused edit and before another edit landed",
        better: Better::Lower,
        of: Measurement::Rate(|run| {
            (u64::from(run.attempts.last().is_some_and(|attempt| attempt.stuck)), 1)
        }),
    },
    Metric {
        name: "guard_harm",
        title: "guard harm",
        about: "edits refused only by guards that would have made the task pass, of those tried without guards",
        better: Better::Lower,
        of: Measurement::Rate(|run| {
            (sum(run, |attempt| attempt.harmful), sum(run, |attempt| attempt.tried_without))
        }),
    },
    Metric {
        name: "refusals",
        title: "refusals",
        about: "refusals per task, in all attempts",
        better: Better::Lower,
        of: Measurement::Mean(|run, _| {
            vec![float(
                run.attempts
                    .iter()
                    .flat_map(|attempt| attempt.refusals.values())
                    .map(|n| u64::from(*n))
                    .sum(),
            )]
        }),
    },
    Metric {
        name: "calls",
        title: "calls",
        about: "calls of the agent per task, in all attempts",
        better: Better::Lower,
        of: Measurement::Mean(|run, _| {
            vec![float(
                run.attempts
                    .iter()
                    .flat_map(|attempt| attempt.calls.values())
                    .map(|n| u64::from(*n))
                    .sum(),
            )]
        }),
    },
    Metric {
        name: "lessons",
        title: "lessons",
        about: "lessons shown per task, before attempts and in refusals",
        better: Better::Neither,
        of: Measurement::Mean(|run, _| {
            vec![float(sum(run, |attempt| attempt.priors + attempt.lessons))]
        }),
    },
    Metric {
        name: "input_tokens",
        title: "tokens in",
        about: "tokens read per task, if the agent reports them",
        better: Better::Lower,
        of: Measurement::Mean(|run, _| known(run, |attempt| attempt.usage.input_tokens.map(float))),
    },
    Metric {
        name: "output_tokens",
        title: "tokens out",
        about: "tokens written per task, if the agent reports them",
        better: Better::Lower,
        of: Measurement::Mean(|run, _| {
            known(run, |attempt| attempt.usage.output_tokens.map(float))
        }),
    },
    Metric {
        name: "cost_usd",
        title: "cost $",
        about: "cost per task in US dollars, if the agent reports it",
        better: Better::Lower,
        of: Measurement::Mean(|run, _| known(run, |attempt| attempt.usage.cost_usd)),
    },
    Metric {
        name: "judge_tokens",
        title: "judge's tokens",
        about: "tokens that a model as the judge read and wrote per task",
        better: Better::Lower,
        of: Measurement::Mean(|run, _| {
            known(run, |attempt| {
                let TokenUsage { input_tokens, output_tokens, .. } = attempt.judge_usage;
                Some(float(input_tokens? + output_tokens?))
            })
        }),
    },
    Metric {
        name: "judge_cost_usd",
        title: "judge's cost $",
        about: "cost of a model as the judge per task in US dollars",
        better: Better::Lower,
        of: Measurement::Mean(|run, _| known(run, |attempt| attempt.judge_usage.cost_usd)),
    },
];

fn sum(run: &TaskResult, of: impl Fn(&AttemptResult) -> u32) -> u64 {
    run.attempts.iter().map(|attempt| u64::from(of(attempt))).sum()
}

/// The sum over the attempts; empty if no attempt has a value.
fn known(run: &TaskResult, of: impl Fn(&AttemptResult) -> Option<f64>) -> Vec<f64> {
    let all: Vec<f64> = run.attempts.iter().filter_map(of).collect();
    if all.is_empty() { Vec::new() } else { vec![all.iter().sum()] }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn float(number: u64) -> f64 {
    number as f64
}

impl Metric {
    /// The value for one task in one session; `None` if nothing was measured.
    #[must_use]
    pub fn value(&self, run: &TaskResult, attempts: u32) -> Option<f64> {
        match self.of {
            Measurement::Rate(of) => {
                let (hits, all) = of(run);
                (all > 0).then(|| float(hits) / float(all))
            }
            Measurement::Mean(of) => super::stats::mean(&of(run, attempts)),
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
