//! The ids of articles.

use crate::model::ReviewStep;
use crate::refusals::ReviewRefusal;

/// The id of the article of a step.
pub(super) fn step(step: &ReviewStep, kind: &str) -> String {
    step.article(kind)
}

/// The id of the article of a refusal. A damaged record may have anything there.
pub(super) fn refusal(one: &ReviewRefusal) -> String {
    let own = one.id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-');
    format!("refusal-{}", own.collect::<String>())
}

/// The id of the article of a proposal.
pub(super) fn proposal(number: u64) -> String {
    format!("proposal-{number}")
}
