//! The list on the left: the session, its turns with their steps, and what is not on the branch.

use super::text::shown;
use crate::hunks::ReviewFile;
use crate::model::{ReviewStep, ReviewTurn, SessionReview};
use edt_types::text::counted;

/// Where an entry is in the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    All,
    Uncommitted,
    Refused,
    Proposal(usize),
    /// The numbers of a turn and of a step in it.
    Step(usize, usize),
    Undone(usize),
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListLine {
    Heading(String),
    Entry(Place),
}

/// What the list says of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Label {
    /// Whether the user marked all of it as reviewed.
    pub(super) seen: bool,
    /// A number or a short id; empty if it has none.
    pub(super) name: String,
    pub(super) text: String,
    /// How many lines were added and removed.
    pub(super) counts: Option<(u64, u64)>,
    /// Whether it overrode a refusal, or was refused.
    pub(super) warns: bool,
}

/// All lines of the list, in the order of the page.
pub(super) fn list(review: &SessionReview) -> Vec<ListLine> {
    let heading = |text: &str| ListLine::Heading(text.to_owned());
    let mut all = vec![heading("Session"), ListLine::Entry(Place::All)];
    if !review.uncommitted.is_empty() {
        all.push(ListLine::Entry(Place::Uncommitted));
    }
    if !review.refusals.is_empty()
        || !review.refused_edits.is_empty()
        || !review.refused_runs.is_empty()
    {
        all.push(ListLine::Entry(Place::Refused));
    }
    if !review.proposals.is_empty() {
        all.push(heading("Waiting for you"));
        let proposals = 0..review.proposals.len();
        all.extend(proposals.map(|at| ListLine::Entry(Place::Proposal(at))));
    }
    for (number, turn) in review.turns.iter().enumerate() {
        all.push(ListLine::Heading(turn_heading(turn)));
        all.extend((0..turn.steps.len()).map(|at| ListLine::Entry(Place::Step(number, at))));
    }
    if !review.undone.is_empty() {
        all.push(heading("Undone"));
        all.extend((0..review.undone.len()).map(|at| ListLine::Entry(Place::Undone(at))));
    }
    all
}

fn turn_heading(turn: &ReviewTurn) -> String {
    let by: Vec<String> =
        [&turn.agent, &turn.model].into_iter().flatten().map(|name| shown(name)).collect();
    let name = match (turn.by_user, turn.turn) {
        (true, _) => "Your commits".to_owned(),
        (_, Some(number)) => format!("Turn {number}"),
        (_, None) => "Edits".to_owned(),
    };
    let title = turn.title.as_ref().map(|title| format!(": {}", shown(title)));
    let by =
        if turn.by_user || by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    name + &title.unwrap_or_default() + &by
}

impl Place {
    /// A text that names the entry also after the session changed.
    pub(super) fn id(self, review: &SessionReview) -> String {
        match self {
            Place::All => "all".to_owned(),
            Place::Uncommitted => "uncommitted".to_owned(),
            Place::Refused => "refused".to_owned(),
            Place::Proposal(at) => format!("p{}", review.proposals[at].proposal),
            Place::Step(turn, at) => review.turns[turn].steps[at].commit.clone(),
            Place::Undone(at) => format!("undone {}", review.undone[at].commit),
        }
    }

    /// The id of its article in the page, which has its hunks.
    pub(super) fn article(self, review: &SessionReview) -> String {
        match (self, self.step(review)) {
            (Place::Undone(_), Some(step)) => step.article("undone"),
            (_, Some(step)) => step.article("edit"),
            _ => self.id(review),
        }
    }

    pub(super) fn step(self, review: &SessionReview) -> Option<&ReviewStep> {
        match self {
            Place::Step(turn, at) => review.turns.get(turn)?.steps.get(at),
            Place::Undone(at) => review.undone.get(at),
            _ => None,
        }
    }

    /// The number of the one edit of the branch that the entry is.
    pub(super) fn edit(self, review: &SessionReview) -> Option<u64> {
        match (self, self.step(review)?.edits.as_slice()) {
            (Place::Step(..), [edit]) => Some(*edit),
            _ => None,
        }
    }

    pub(super) fn files(self, review: &SessionReview) -> &[ReviewFile] {
        match self {
            Place::All => &review.files,
            Place::Uncommitted => &review.uncommitted,
            Place::Refused | Place::Proposal(_) => &[],
            Place::Step(..) | Place::Undone(_) => {
                self.step(review).map_or(&[], |step| step.files.as_slice())
            }
        }
    }

    pub(super) fn label(self, review: &SessionReview) -> Label {
        let files = self.files(review);
        let seen = !files.is_empty() && files.iter().all(|file| file.reviewed);
        let counts = Some(totals(files)).filter(|_| !files.is_empty());
        let named = |text: &str| Label { text: text.to_owned(), counts, seen, ..Label::default() };
        match self {
            Place::All => named("All changes"),
            Place::Uncommitted => {
                Label { warns: !review.left_over.is_empty(), ..named("Uncommitted") }
            }
            Place::Refused => {
                let text = match review.refusals.len() as u64 {
                    0 => "Refused".to_owned(),
                    count => counted(count, "refusal"),
                };
                Label { warns: true, ..named(&text) }
            }
            Place::Proposal(at) => {
                let one = &review.proposals[at];
                Label { name: format!("p{}", one.proposal), ..named(&shown(&one.subject)) }
            }
            Place::Step(..) | Place::Undone(_) => {
                let Some(step) = self.step(review) else { return Label::default() };
                let warns = !step.allowed.is_empty();
                Label { name: step.name(), warns, ..named(&shown(&step.subject)) }
            }
        }
    }
}

/// All lines added and removed.
pub(super) fn totals(files: &[ReviewFile]) -> (u64, u64) {
    let sum = |of: fn(&ReviewFile) -> u64| files.iter().map(of).sum();
    (sum(|file| file.lines_added), sum(|file| file.lines_removed))
}
