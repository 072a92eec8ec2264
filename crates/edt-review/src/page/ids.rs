//! The ids of articles.

use crate::model::ReviewStep;
use crate::refusals::ReviewRefusal;

/// The id of the article of a step.
pub(super) fn step(step: &ReviewStep, kind: &str) -> String {
    step.article(kind)
}

/// The id of the article of a refusal.
pub(super) fn refusal(one: &ReviewRefusal) -> String {
    one.article()
}

/// The id of the article of a proposal.
pub(super) fn proposal(number: u64) -> String {
    format!("proposal-{number}")
}
