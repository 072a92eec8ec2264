//! Which article an id names.

use super::ids;
use crate::hunks::ReviewFile;
use crate::model::{ReviewStep, SessionReview};
use crate::proposals::ReviewProposal;
use crate::refusals::ReviewRefusal;

/// What an article is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Article<'r> {
    /// The session as a whole.
    All,
    Step(&'r ReviewStep),
    Undone(&'r ReviewStep),
    Uncommitted,
    Proposal(&'r ReviewProposal),
    Refusal(&'r ReviewRefusal),
    Refusals,
    Comments,
}

impl<'r> Article<'r> {
    /// The article with the id `at`; that of the session if there is none.
    pub(super) fn at(review: &'r SessionReview, at: &str) -> Article<'r> {
        let all = || review.proposals.iter().chain(&review.decided_proposals);
        let step = review.steps().find(|step| ids::step(step, "edit") == at).map(Article::Step);
        let undone = || {
            let mut all = review.undone.iter();
            all.find(|step| ids::step(step, "undone") == at).map(Article::Undone)
        };
        let proposal =
            || all().find(|one| ids::proposal(one.proposal) == at).map(Article::Proposal);
        let refusal =
            || review.refusals.iter().find(|one| ids::refusal(one) == at).map(Article::Refusal);
        let other = || match at {
            "uncommitted" => Article::Uncommitted,
            "refused" => Article::Refusals,
            "comments" => Article::Comments,
            _ => Article::All,
        };
        step.or_else(undone).or_else(proposal).or_else(refusal).unwrap_or_else(other)
    }

    /// Its id.
    pub(super) fn id(self) -> String {
        match self {
            Article::All => "all".to_owned(),
            Article::Step(step) => ids::step(step, "edit"),
            Article::Undone(step) => ids::step(step, "undone"),
            Article::Uncommitted => "uncommitted".to_owned(),
            Article::Proposal(one) => ids::proposal(one.proposal),
            Article::Refusal(one) => ids::refusal(one),
            Article::Refusals => "refused".to_owned(),
            Article::Comments => "comments".to_owned(),
        }
    }

    /// Whose parts can be reverted and commented on: those of an edit, or of the session as a whole.
    pub(super) fn part(self, review: &SessionReview) -> Option<Option<u64>> {
        match self {
            _ if !review.checked_out => None,
            Article::All => review.steps().next().map(|_| None),
            Article::Step(step) => match step.edits.as_slice() {
                [edit] => Some(Some(*edit)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whose parts can be reverted in the article `at`: those of an edit, or of the session as a whole.
/// `None` if no part can be, or if there is no such article.
#[must_use]
pub fn part_at(review: &SessionReview, at: &str) -> Option<Option<u64>> {
    let article = Article::at(review, at);
    if article.id() == at { article.part(review) } else { None }
}

/// The files of the article `at` that can be marked as reviewed.
#[must_use]
pub fn files_at<'r>(review: &'r SessionReview, at: &str) -> &'r [ReviewFile] {
    match Article::at(review, at) {
        Article::Step(step) | Article::Undone(step) => &step.files,
        Article::All if at == "all" => &review.files,
        _ => &[],
    }
}

/// The files of the article `at`, whatever can be done about them.
#[must_use]
pub fn shown_files<'r>(review: &'r SessionReview, at: &str) -> &'r [ReviewFile] {
    match Article::at(review, at) {
        Article::Proposal(one) => &one.files,
        Article::Uncommitted => &review.uncommitted,
        _ => files_at(review, at),
    }
}

/// The file at `place` of the article `at`, with the commit of its step; none for the session as a
/// whole.
pub fn file_at<'r>(
    review: &'r mut SessionReview,
    at: &str,
    place: usize,
) -> Option<(Option<String>, &'r mut ReviewFile)> {
    if at == "all" {
        return Some((None, review.files.get_mut(place)?));
    }
    let steps = review.turns.iter_mut().flat_map(|turn| &mut turn.steps);
    let steps = steps.map(|step| (ids::step(step, "edit"), step));
    let undone = review.undone.iter_mut().map(|step| (ids::step(step, "undone"), step));
    let (_, step) = steps.chain(undone).find(|(id, _)| id == at)?;
    Some((Some(step.commit.clone()), step.files.get_mut(place)?))
}
