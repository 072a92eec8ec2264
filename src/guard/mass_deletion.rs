//! A transaction must not take away much of a project at once.

use super::{Guard, Judgement, Subject};
use crate::base::text::line_count;
use crate::base::{Code, Finding};
use crate::policy::{DeletionLimits, Policy};

/// The guard `mass_deletion`.
#[derive(Debug)]
pub struct MassDeletion;

/// What a transaction takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Files that go, and come nowhere else.
    pub files: usize,
    /// Lines that go, those that come subtracted, over all files.
    pub lines: u64,
}

impl Guard for MassDeletion {
    fn name(&self) -> &'static str {
        "mass_deletion"
    }

    fn rule(&self) -> &'static str {
        "A transaction removes more than 10 files, or 2000 lines more than it adds. Files that are only renamed do not count."
    }

    fn source(&self) -> &'static str {
        "benches/guards"
    }

    fn judge(&self, _: &Subject<'_>, _: &Policy) -> Judgement {
        Judgement::Pass
    }

    fn judges_all(&self) -> bool {
        true
    }

    fn judge_all(&self, subjects: &[Subject<'_>], policy: &Policy) -> Judgement {
        detect(subjects, &policy.deletion_limits)
            .map(|loss| explain(&loss, &policy.deletion_limits))
            .into()
    }
}

/// What the transaction takes away, if it is too much.
#[must_use]
pub fn detect(subjects: &[Subject<'_>], limits: &DeletionLimits) -> Option<Loss> {
    let moved =
        |subject: &Subject<'_>| subjects.iter().any(|other| other.from == Some(subject.path));
    let files =
        subjects.iter().filter(|subject| subject.after.is_none() && !moved(subject)).count();
    let gone: u64 = subjects
        .iter()
        .filter(|subject| !moved(subject))
        .map(|subject| line_count(subject.old_text()))
        .sum();
    let come: u64 = subjects.iter().filter_map(|subject| subject.after).map(line_count).sum();
    let loss = Loss { files, lines: gone.saturating_sub(come) };
    (loss.files as u64 > limits.max_files || loss.lines > limits.max_lines).then_some(loss)
}

fn explain(loss: &Loss, limits: &DeletionLimits) -> Finding {
    Finding::new(
        Code::MassDeletion,
        format!(
            "This transaction would remove {} files and {} lines more than it adds (limits: {} files, {} lines). Nothing was changed.",
            loss.files, loss.lines, limits.max_files, limits.max_lines
        ),
        "Send the removals apart from the other edits, in steps a person can review. If all of it should go, repeat with allow: \
         [\"mass_deletion\"].",
    )
    .with("files", loss.files)
    .with("lines", loss.lines)
}
