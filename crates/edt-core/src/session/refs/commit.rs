//! A commit, with the trailers of edt.

use super::message::{self, Kind, Trailers};
use edt_git::read::ObjectKind;
use edt_git::{Oid, Repo};
use edt_types::{Code, Finding, Result};

/// A commit with edt's trailers parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub oid: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its first parent.
    pub parent: Option<Oid>,
    /// Its other parents.
    pub other_parents: Vec<Oid>,
    /// Its message.
    pub message: String,
    /// The author's name.
    pub author: String,
    /// The author's time, in seconds since 1970.
    pub authored_at: i64,
    /// The committer's time, in seconds since 1970.
    pub committed_at: i64,
    /// edt's trailers; `None` for a commit that edt did not make. Among a session's commits, those of
    /// the edit whose change the commit makes, whatever its message says.
    pub trailers: Option<Trailers>,
    /// Set if the commit makes changes of edits, but is not as edt wrote it.
    pub rewritten: Option<Box<Rewritten>>,
}

/// What a commit has that the user made of edits: reworded, rebased, squashed or amended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// The commits of the edits as edt wrote them, the oldest first; at least one.
    pub edits: Vec<Commit>,
    /// Whether it also has something that none of the edits did.
    pub has_more: bool,
}

impl Commit {
    /// The tree of the first parent; the empty tree without one.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn parent_tree(&self, repo: &Repo) -> Result<Oid> {
        self.parent.map_or_else(|| Ok(repo.empty_tree()), |parent| repo.tree_of(parent))
    }

    /// Reads the commit `oid`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if it is missing or damaged.
    pub fn read(repo: &Repo, oid: Oid) -> Result<Commit> {
        let data = repo.object(oid, ObjectKind::Commit)?;
        let text = String::from_utf8_lossy(&data);
        let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        let field = |key: &str| head.lines().find_map(|line| line.strip_prefix(key));
        let id = |hex: &str| Oid::from_hex(hex.trim().as_bytes()).ok();
        let damaged = || {
            Finding::new(
                Code::ObjectMissing,
                format!("The commit {oid} is damaged."),
                "`git fsck` shows details.",
            )
        };
        let author = field("author ").unwrap_or_default();
        let (name, rest) = author.split_once(" <").unwrap_or((author, ""));
        let seconds = |line: &str| {
            line.rsplit(' ').nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(0)
        };
        Ok(Commit {
            oid,
            tree: field("tree ").and_then(id).ok_or_else(damaged)?,
            parent: field("parent ").and_then(id),
            other_parents: head
                .lines()
                .filter_map(|line| line.strip_prefix("parent "))
                .skip(1)
                .filter_map(id)
                .collect(),
            message: message.to_owned(),
            author: name.to_owned(),
            authored_at: seconds(rest),
            committed_at: seconds(field("committer ").unwrap_or_default()),
            trailers: message::parse(message),
            rewritten: None,
        })
    }

    /// Whether it counts as an edit of a session.
    #[must_use]
    pub fn is_edit(&self) -> bool {
        self.trailers.as_ref().is_some_and(|trailers| trailers.kind.is_edit())
    }

    /// Whether it is a checkpoint of the user's uncommitted changes.
    #[must_use]
    pub fn is_checkpoint(&self) -> bool {
        self.trailers.as_ref().is_some_and(|trailers| trailers.kind == Kind::Checkpoint)
    }

    /// Whether its content is the user's.
    #[must_use]
    pub fn is_users(&self) -> bool {
        self.trailers.is_none() || self.is_checkpoint()
    }

    /// Whether it has edits, and something that none of them did.
    #[must_use]
    pub fn has_more_than_edits(&self) -> bool {
        self.rewritten.as_ref().is_some_and(|rewritten| rewritten.has_more)
    }

    /// How many edits it has.
    #[must_use]
    pub fn edits(&self) -> u64 {
        match &self.rewritten {
            Some(rewritten) => rewritten.edits.iter().map(Commit::edits).sum(),
            None => u64::from(self.is_edit()),
        }
    }

    /// The commit, or each of several edits that the user squashed to it as a commit of its own, the
    /// oldest first.
    #[must_use]
    pub fn units(&self) -> Vec<Commit> {
        let unit = |rewritten: &Rewritten, edit: &Commit| Commit {
            message: edit.message.clone(),
            trailers: edit.trailers.clone(),
            rewritten: Some(Box::new(Rewritten {
                edits: vec![edit.clone()],
                has_more: rewritten.has_more,
            })),
            ..self.clone()
        };
        match &self.rewritten {
            Some(rewritten) if rewritten.edits.len() > 1 => {
                rewritten.edits.iter().map(|edit| unit(rewritten, edit)).collect()
            }
            _ => vec![self.clone()],
        }
    }

    /// The commits of edt whose changes it makes, as edt wrote them.
    pub fn recorded(&self) -> impl Iterator<Item = Oid> {
        let own = (self.trailers.is_some() && self.rewritten.is_none()).then_some(self.oid);
        let edits = self.rewritten.iter().flat_map(|rewritten| &rewritten.edits);
        own.into_iter().chain(edits.map(|edit| edit.oid))
    }

    /// The first line of the message.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}
