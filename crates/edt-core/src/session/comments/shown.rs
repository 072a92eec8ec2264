//! Comments as a reader sees them: each with where its lines are now.

use std::collections::HashMap;
use std::time::Instant;

use super::lines;
use super::store::{self, Anchor, StoredComment};
use crate::session::files::diff_report;
use crate::session::refs::current::Session;
use edt_git::read::ObjectKind;
use edt_git::{ChangedPath, Oid, Repo, Tracked};
use edt_io::clock;
use edt_types::comment::{Comment, CommentState, ReviewSummary};
use edt_types::{RepoPath, Result};

/// How long the lines of all comments are searched, in milliseconds. What is not found until then
/// is outdated.
const MAX_MS: u64 = 1_000;

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentReader {
    /// The user, who sees drafts, too.
    User,
    Agent,
}

/// The comments of `session` that `reader` may see, ordered by number, and the summaries of reviews.
///
/// # Errors
/// As [`store::read`]. An object that is missing makes a comment outdated.
pub fn comments(
    repo: &Repo,
    session: &Session,
    reader: CommentReader,
) -> Result<(Vec<Comment>, Vec<ReviewSummary>)> {
    let Some((_, all)) = store::read(repo, &session.name)? else { return Ok(Default::default()) };
    let mut places = Places::of(repo, session);
    let seen = all
        .comments
        .iter()
        .filter(|one| reader == CommentReader::User || one.state != CommentState::Draft);
    Ok((seen.map(|one| places.shown(one)).collect(), all.summaries))
}

/// Finds lines in the content of a session, and keeps what it read.
pub(super) struct Places<'r> {
    repo: &'r Repo,
    /// The trees of the base and of the tip; `None` if they cannot be read.
    trees: Option<(Oid, Oid)>,
    renames: HashMap<(Oid, Oid), Vec<ChangedPath>>,
    deadline: Instant,
}

impl<'r> Places<'r> {
    pub(super) fn of(repo: &'r Repo, session: &Session) -> Places<'r> {
        let tree = |commit| repo.tree_of(commit).ok();
        let trees = tree(session.base).zip(tree(session.tip));
        Places { repo, trees, renames: HashMap::new(), deadline: clock::in_ms(MAX_MS) }
    }

    pub(super) fn shown(&mut self, one: &StoredComment) -> Comment {
        let found = self.found(one).unwrap_or_default();
        Comment {
            id: one.id,
            edit: one.edit,
            path: one.path.clone(),
            path_now: found.path,
            lines: one.lines,
            before: one.before,
            quoted: one.quoted.clone(),
            text: one.text.clone(),
            time: one.time,
            state: one.state,
            outdated: one.lines.is_some() && !found.is_there,
            line_now: found.line,
            review: one.review,
            read: one.read.clone(),
            answers: one.answers.clone(),
        }
    }

    /// Where the comment's file and lines are now; `None` if something cannot be read.
    fn found(&mut self, one: &StoredComment) -> Option<Found> {
        let (base, tip) = self.trees?;
        let path = one.path.as_ref()?;
        let Some((anchor, (first, last))) = one.anchor.as_ref().zip(one.lines) else {
            return Some(Found {
                path: self.at(tip, None, path).map(|it| it.0),
                ..Found::default()
            });
        };
        let oid = |hex: &str| Oid::from_hex(hex.as_bytes()).ok();
        let (before, after) = (oid(&anchor.trees.0)?, oid(&anchor.trees.1)?);
        let now = self.at(tip, Some(after), path);
        let range = usize::try_from(first).ok()? - 1..usize::try_from(last).ok()?;
        let written = self.content(oid(&anchor.blob)?)?;
        let line = |this: &Self, blob: Option<Oid>| {
            let present = this.content(blob?)?;
            let at = lines::locate(&written, range.clone(), &present, this.deadline)?;
            Some(at as u64 + 1)
        };
        let path_now = now.as_ref().map(|now| now.0.clone());
        let at_tip = line(self, now.map(|now| now.1));
        if !one.before {
            return Some(Found { path: path_now, line: at_tip, is_there: at_tip.is_some() });
        }
        // Lines that the change removed are outdated if the session has them again.
        let changed = self.changed_from(before, after, path);
        let after_change = changed.or_else(|| self.at(after, None, path));
        let was_removed = line(self, after_change.map(|it| it.1)).is_none();
        let at_base = self.base_of(base, before, path, anchor);
        let at_base = line(self, at_base);
        let is_there = !(was_removed && at_tip.is_some());
        Some(Found { path: path_now, line: at_base, is_there })
    }

    /// The file in `tree` and its blob: at `path`, or else where the changes since the tree `since`
    /// renamed it to.
    fn at(&mut self, tree: Oid, since: Option<Oid>, path: &str) -> Option<(String, Oid)> {
        let named = RepoPath::from_tree(path.as_bytes());
        if let Ok(Tracked::File(file)) = self.repo.tracked(tree, &named) {
            return Some((path.to_owned(), file.oid));
        }
        self.changed_from(since?, tree, path)
    }

    /// The file that `path` was renamed to between two trees.
    fn changed_from(&mut self, from: Oid, to: Oid, path: &str) -> Option<(String, Oid)> {
        let renamed = self
            .changes(from, to)
            .iter()
            .find(|one| one.from.as_ref().is_some_and(|from| from.path.text() == path))?;
        Some((renamed.path.text(), renamed.new?.file()?.oid))
    }

    /// The blob of the file in the base: the same one, or where it came from.
    fn base_of(&mut self, base: Oid, before: Oid, path: &str, anchor: &Anchor) -> Option<Oid> {
        if base == before {
            return Oid::from_hex(anchor.blob.as_bytes()).ok();
        }
        if let Some((_, blob)) = self.at(base, None, path) {
            return Some(blob);
        }
        let renamed = self.changes(base, before).iter().find(|one| one.path.text() == path)?;
        renamed.old?.file().map(|file| file.oid)
    }

    fn changes(&mut self, from: Oid, to: Oid) -> &[ChangedPath] {
        let repo = self.repo;
        self.renames
            .entry((from, to))
            .or_insert_with(|| diff_report::changed_paths(repo, from, to).unwrap_or_default())
    }

    fn content(&self, blob: Oid) -> Option<Vec<u8>> {
        let is_small = self.repo.size_of(blob).ok()? as u64 <= self.repo.max_file_size();
        is_small.then(|| self.repo.object(blob, ObjectKind::Blob).ok()).flatten()
    }
}

/// Where a comment is now.
#[derive(Debug, Default)]
struct Found {
    path: Option<String>,
    line: Option<u64>,
    is_there: bool,
}
