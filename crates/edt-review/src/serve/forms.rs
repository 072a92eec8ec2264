//! What a form of the page asks for.

use super::body::{field, values};
use crate::action::{Action, CommentAction, Part};
use crate::model::SessionReview;
use crate::page;
use crate::page::parts::Lines;

/// Why a form is no action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// The page has no such form.
    Foreign,
    /// The user left something out.
    Incomplete(&'static str),
}

/// Whether the action is about the session's newest commit, as the user saw it. What the user does
/// about a comment is about that comment alone.
pub(super) fn needs_tip(fields: &Fields) -> bool {
    let action = field(fields, "action").unwrap_or_default();
    action == "comment-add" || !action.starts_with("comment-")
}

type Fields = [(String, String)];

/// The action that `fields` ask for, about what `review` shows.
pub(super) fn action(fields: &Fields, review: &SessionReview) -> Result<Action, Unread> {
    let (edit, comment) = (|| number(fields, "edit"), || number(fields, "comment"));
    let message = field(fields, "message").filter(|message| !message.trim().is_empty());
    let message = || message.map(str::to_owned);
    Ok(match text(fields, "action")? {
        "revert" => Action::Revert(edit()?),
        "part" => part(fields, review)?,
        "undo-to" => Action::UndoTo(edit()?),
        "undo" => Action::Undo,
        "redo" => Action::Redo,
        "restore" => Action::Restore(path(fields, "all", review)?),
        "land" => Action::Land(message()),
        "land-to" => Action::LandTo(edit()?),
        "land-only" => Action::LandOnly(chosen(fields)?, message()),
        "undo-landing" => Action::UndoLanding,
        "approve" => Action::Approve(number(fields, "proposal")?),
        "reject" => Action::Reject(number(fields, "proposal")?, written(fields)?),
        "comment-add" => Action::Comment(on_article(fields, review)?),
        "comment-send" => Action::Comment(CommentAction::Send(message())),
        "comment-answer" => Action::Comment(CommentAction::Answer(comment()?, written(fields)?)),
        "comment-resolve" => Action::Comment(CommentAction::Resolve(comment()?)),
        "comment-reopen" => Action::Comment(CommentAction::Reopen(comment()?)),
        "comment-drop" => Action::Comment(CommentAction::Drop(comment()?)),
        "abandon" => Action::Abandon,
        _ => return Err(Unread::Foreign),
    })
}

/// What is done about a part of a file: it is reverted, or commented on.
fn part(fields: &Fields, review: &SessionReview) -> Result<Action, Unread> {
    let at = text(fields, "at")?;
    let edit = page::part_at(review, at).ok_or(Unread::Foreign)?;
    let path = path(fields, at, review)?;
    let named = text(fields, "lines")?;
    if let Some(named) = named.strip_prefix("comment") {
        let lines = if named.is_empty() { checked(fields)? } else { lines(named)? };
        return Ok(Action::Comment(on_part(edit, path, &lines, written(fields)?)));
    }
    let lines = match named {
        "file" => Lines::default(),
        "chosen" => some(checked(fields)?)?,
        named => some(lines(named)?)?,
    };
    Ok(Action::RevertPart(Part { edit, path, added: lines.added, removed: lines.removed }))
}

/// A comment on lines: on those after the change if there are any. It names one range, from the
/// first to the last of them.
fn on_part(edit: Option<u64>, path: String, lines: &Lines, text: String) -> CommentAction {
    let before = lines.added.is_empty();
    let ranges = if before { &lines.removed } else { &lines.added };
    let ends =
        (ranges.iter().map(|(first, _)| *first).min(), ranges.iter().map(|(_, last)| *last).max());
    let lines = ends.0.zip(ends.1);
    let before = before && lines.is_some();
    CommentAction::Add { edit, path: Some(path), lines, before, text }
}

/// A comment on the whole article.
fn on_article(fields: &Fields, review: &SessionReview) -> Result<CommentAction, Unread> {
    let edit = page::part_at(review, text(fields, "at")?).ok_or(Unread::Foreign)?;
    let text = written(fields)?;
    Ok(CommentAction::Add { edit, path: None, lines: None, before: false, text })
}

fn checked(fields: &Fields) -> Result<Lines, Unread> {
    lines(&values(fields, "line").collect::<Vec<_>>().join(" "))
}

fn lines(text: &str) -> Result<Lines, Unread> {
    Lines::parse(text).ok_or(Unread::Foreign)
}

fn some(lines: Lines) -> Result<Lines, Unread> {
    if lines.is_empty() {
        return Err(Unread::Incomplete("No line is chosen. Nothing was done."));
    }
    Ok(lines)
}

/// What the user wrote.
fn written(fields: &Fields) -> Result<String, Unread> {
    let message = field(fields, "message").filter(|message| !message.trim().is_empty());
    message.map(str::to_owned).ok_or(Unread::Incomplete("Nothing is written. Nothing was done."))
}

/// The path of the file at the place `file` of the article `at`.
fn path(fields: &Fields, at: &str, review: &SessionReview) -> Result<String, Unread> {
    let place: usize = text(fields, "file")?.parse().map_err(|_| Unread::Foreign)?;
    let file = page::files_at(review, at).get(place).ok_or(Unread::Foreign)?;
    Ok(file.path.clone())
}

/// The edits that the user chose.
fn chosen(fields: &Fields) -> Result<Vec<u64>, Unread> {
    let edits = values(fields, "edit").map(str::parse).collect::<Result<Vec<u64>, _>>();
    let edits = edits.map_err(|_| Unread::Foreign)?;
    if edits.is_empty() {
        return Err(Unread::Incomplete("No edit is chosen. Nothing was done."));
    }
    Ok(edits)
}

fn text<'f>(fields: &'f Fields, name: &str) -> Result<&'f str, Unread> {
    field(fields, name).ok_or(Unread::Foreign)
}

fn number(fields: &Fields, name: &str) -> Result<u64, Unread> {
    text(fields, name)?.parse().map_err(|_| Unread::Foreign)
}
