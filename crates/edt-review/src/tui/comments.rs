//! Where comments are shown, and how.

use super::entries::Place;
use super::row::Row;
use super::text::{Tone, wrapped};
use crate::model::SessionReview;
use edt_types::{Comment, CommentState};

/// A comment at its place in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) id: u64,
    /// The number of the file; `None` for a comment about the entry.
    pub(super) file: Option<usize>,
    /// The last line that it is about; 0 for a comment about the file.
    pub(super) line: u64,
    pub(super) before: bool,
}

/// The comments that an entry shows. The session as a whole shows all of them.
pub(super) fn placed(review: &SessionReview, place: Place) -> Vec<Placed> {
    let edit = match place {
        Place::All => None,
        Place::Step(..) => match place.edit(review) {
            None => return Vec::new(),
            edit => edit,
        },
        _ => return Vec::new(),
    };
    let files = place.files(review);
    let is_here = |comment: &&Comment| place == Place::All || comment.edit == edit;
    let all = review.comments.iter().filter(is_here);
    let at = |comment: &Comment| {
        let path = comment.path.as_ref();
        let file = path.and_then(|path| {
            files.iter().position(|file| file.path == *path || file.from.as_ref() == Some(path))
        });
        Placed {
            id: comment.id,
            file,
            line: line(comment, place),
            before: is_before(comment, place),
        }
    };
    all.map(at).collect()
}

fn is_before(comment: &Comment, place: Place) -> bool {
    comment.before && (place != Place::All || comment.edit.is_none())
}

/// The last line of a comment in an entry: in the session as a whole its lines are where they are
/// now.
fn line(comment: &Comment, place: Place) -> u64 {
    let Some((first, last)) = comment.lines else { return 0 };
    if place != Place::All || is_before(comment, place) {
        return last;
    }
    comment.line_now.map_or(0, |now| now + last.saturating_sub(first))
}

/// The rows of a comment with its answers.
pub(super) fn rows(review: &SessionReview, placed: &Placed, width: usize, all: &mut Vec<Row>) {
    let Some(comment) = review.comments.iter().find(|one| one.id == placed.id) else { return };
    let state = match comment.state {
        CommentState::Draft => "draft: S sends it",
        CommentState::Open if comment.read.is_some() => "open, and an agent has read it",
        CommentState::Open => "open, and no agent has read it",
        CommentState::Resolved => "resolved",
    };
    let place = match (&comment.path, comment.lines) {
        (Some(path), Some((first, last))) if placed.file.is_none() || comment.outdated => {
            format!(" on {path}, lines {first}-{last}")
        }
        (Some(path), None) => format!(" on {path}"),
        (None, _) => comment.edit.map(|edit| format!(" on edit {edit}")).unwrap_or_default(),
        _ => String::new(),
    };
    let outdated = if comment.outdated { "; its lines changed since" } else { "" };
    let mut say = |tone: Tone, text: &str| {
        let lines = wrapped(text, width.saturating_sub(4)).into_iter();
        all.extend(lines.map(|line| Row::Comment(comment.id, placed.file, tone, line)));
    };
    say(Tone::Warning, &format!("Comment {}{place} ({state}{outdated})", comment.id));
    if comment.outdated {
        comment.quoted.iter().for_each(|line| say(Tone::Dim, &format!("> {line}")));
    }
    say(Tone::Plain, &comment.text);
    for answer in &comment.answers {
        let agent = answer.agent.as_deref().unwrap_or("you");
        say(Tone::Name, &format!("{agent}:"));
        say(Tone::Plain, &answer.text);
    }
}
