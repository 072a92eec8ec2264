//! What a new comment is about: it must exist, and its lines are kept.

use super::store::Anchor;
use crate::session::files::diff_report;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::record::{Records, Undone};
use crate::session::refs::revision;
use edt_git::file_id::TreeItem;
use edt_git::read::ObjectKind;
use edt_git::{Oid, Repo};
use edt_types::text::{self, Shown as _, counted};
use edt_types::{Code, Finding, Result};

/// How many lines a comment keeps, and how many characters of each.
const MAX_LINES: usize = 40;
const MAX_CHARS: usize = 400;

/// What a comment is about, as the user names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommentPlace {
    /// The edit; `None` for the session as a whole.
    pub edit: Option<u64>,
    /// The file.
    pub path: Option<String>,
    /// The first and the last line, counted from 1.
    pub lines: Option<(u64, u64)>,
    /// Whether the lines are those before the change.
    pub before: bool,
}

/// The lines that a comment keeps, and what they are in.
#[derive(Debug, Default)]
pub(super) struct Quoted {
    pub(super) lines: Vec<String>,
    pub(super) anchor: Option<Anchor>,
}

/// Finds `place` in the session.
///
/// # Errors
/// `BAD_REQUEST` if the session has no such edit, or the place is not complete; `FILE_NOT_FOUND` if
/// the change does not change the file; `NOT_A_FILE` for lines of a link, a submodule or a binary
/// file; `FILE_TOO_LARGE`; `LINE_OUT_OF_RANGE`; `OBJECT_MISSING`, `IO_ERROR`.
pub(super) fn find(repo: &Repo, session: &Session, place: &CommentPlace) -> Result<Quoted> {
    if place.lines.is_some() && place.path.is_none() {
        return Err(incomplete("Lines are of a file.", "Name it with --path PATH.").into());
    }
    if place.before && place.lines.is_none() {
        return Err(incomplete("--before is about lines.", "Name them with --lines A-B.").into());
    }
    let trees = match place.edit {
        Some(number) => {
            let edit = edit(repo, session, number)?;
            (edit.parent_tree(repo)?, edit.tree)
        }
        None => (repo.tree_of(session.base)?, repo.tree_of(session.tip)?),
    };
    let Some(path) = &place.path else { return Ok(Quoted::default()) };
    let changed = diff_report::changed_paths(repo, trees.0, trees.1)?.into_iter().find(|one| {
        one.path.text() == *path || one.from.as_ref().is_some_and(|from| from.path.text() == *path)
    });
    let changed = changed.ok_or_else(|| not_changed(place, path))?;
    let Some(lines) = place.lines else { return Ok(Quoted::default()) };
    let item = if place.before { changed.old } else { changed.new };
    let item = item.ok_or_else(|| out_of_range(place, path, lines, 0))?;
    let TreeItem::File(file) = item else { return Err(without_lines(path).into()) };
    let size = repo.size_of(file.oid)? as u64;
    if size > repo.max_file_size() {
        return Err(too_large(path, size, repo.max_file_size()).into());
    }
    let content = repo.object(file.oid, ObjectKind::Blob)?;
    if content.contains(&0) {
        return Err(without_lines(path).into());
    }
    let count = text::line_count(&content);
    let (first, last) = lines;
    if first == 0 || first > last || last > count {
        return Err(out_of_range(place, path, lines, count).into());
    }
    let hex = |oid: Oid| oid.to_string();
    let anchor = Anchor { blob: hex(file.oid), trees: (hex(trees.0), hex(trees.1)) };
    Ok(Quoted { lines: quoted(&content, lines), anchor: Some(anchor) })
}

/// The lines without their line ends, as far as a comment keeps them.
fn quoted(content: &[u8], (first, last): (u64, u64)) -> Vec<String> {
    let skip = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let all = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
    let shown = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        text::cut(line.trim_end_matches(['\n', '\r']), MAX_CHARS)
    };
    let lines = text::lines(content).skip(skip).take(all.min(MAX_LINES)).map(shown);
    lines.chain((all > MAX_LINES).then(|| "…".to_owned())).collect()
}

/// The edit of that number, also one that was undone.
fn edit(repo: &Repo, session: &Session, number: u64) -> Result<Commit> {
    if let Some(commit) = revision::edit(repo, session, number)? {
        return Commit::read(repo, commit);
    }
    let records = Records::of(repo, session)?;
    let is_it = |commit: &&Commit| {
        commit.is_edit() && commit.trailers.as_ref().is_some_and(|own| own.edit == number)
    };
    records.commits(Undone::Count).filter(is_it).last().cloned().ok_or_else(|| {
        let summary = format!("The session {} has no edit {number}.", session.name);
        incomplete(&summary, "`edt log` lists the session's edits with their numbers.").into()
    })
}

fn incomplete(summary: &str, remedy: &str) -> Finding {
    Finding::new(Code::BadRequest, summary, remedy).nothing_changed()
}

/// What the comment is about, as a part of a sentence.
fn about(place: &CommentPlace) -> String {
    place.edit.map_or_else(|| "The session".to_owned(), |edit| format!("Edit {edit}"))
}

fn not_changed(place: &CommentPlace, path: &str) -> Finding {
    let shows = place.edit.map_or_else(|| "diff".to_owned(), |edit| format!("show {edit}"));
    let mut finding = Finding::new(
        Code::FileNotFound,
        format!("{} does not change {}.", about(place), path.shown()),
        format!("`edt {shows}` lists the files that it changes."),
    );
    finding.path = Some(path.to_owned());
    finding.nothing_changed()
}

fn without_lines(path: &str) -> Finding {
    let mut finding = Finding::new(
        Code::NotAFile,
        format!("{} has no lines: it is a link, a submodule or a binary file.", path.shown()),
        "Leave --lines out to comment on the file as a whole.",
    );
    finding.path = Some(path.to_owned());
    finding.nothing_changed()
}

fn too_large(path: &str, size: u64, limit: u64) -> Finding {
    let mut finding = Finding::new(
        Code::FileTooLarge,
        format!("{} has {size} bytes, more than edt reads ({limit}).", path.shown()),
        "Leave --lines out to comment on the file as a whole.",
    );
    finding.path = Some(path.to_owned());
    finding.nothing_changed().with("bytes", size).with("limit", limit)
}

fn out_of_range(place: &CommentPlace, path: &str, lines: (u64, u64), count: u64) -> Finding {
    let side = if place.before { "before" } else { "after" };
    let change = place.edit.map_or_else(|| "the session".to_owned(), |edit| format!("edit {edit}"));
    let mut finding = Finding::new(
        Code::LineOutOfRange,
        format!(
            "{} has {} {side} {change}; lines {}-{} are not among them.",
            path.shown(),
            counted(count, "line"),
            lines.0,
            lines.1
        ),
        "Lines are counted from 1. --before names lines of the content before the change.",
    );
    finding.path = Some(path.to_owned());
    finding.nothing_changed().with("total_lines", count)
}
