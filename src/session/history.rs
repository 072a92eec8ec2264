//! The session's commits, read from Git.

use super::current::Session;
use super::message::{self, Trailers};
use crate::base::{Code, Finding, Result};
use crate::git::read::ObjectKind;
use crate::git::{Oid, Repo};

/// A commit as the session sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub oid: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its first parent.
    pub parent: Option<Oid>,
    /// Its further parents.
    pub others: Vec<Oid>,
    /// Its message.
    pub message: String,
    /// Author's name.
    pub author: String,
    /// Author's time, in seconds since 1970.
    pub time: i64,
    /// Committer's time, in seconds since 1970: when this very commit was made.
    pub made: i64,
    /// edt's trailers; `None` for a person's own commit.
    pub trailers: Option<Trailers>,
}

impl Commit {
    /// Reads the commit `oid`.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if it is not there or damaged.
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
                "`git fsck` tells more.",
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
            others: head
                .lines()
                .filter_map(|line| line.strip_prefix("parent "))
                .skip(1)
                .filter_map(id)
                .collect(),
            message: message.to_owned(),
            author: name.to_owned(),
            time: seconds(rest),
            made: seconds(field("committer ").unwrap_or_default()),
            trailers: message::parse(message),
        })
    }

    /// Whether it counts as an edit of a session.
    #[must_use]
    pub fn is_edit(&self) -> bool {
        self.trailers.as_ref().is_some_and(|trailers| trailers.kind.is_edit())
    }

    /// The first line of the message.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

impl Session {
    /// The session's commits, newest first, down to its base.
    pub fn commits<'r>(&self, repo: &'r Repo) -> impl Iterator<Item = Result<Commit>> + 'r {
        let base = self.base;
        let mut next = Some(self.tip);
        std::iter::from_fn(move || {
            let oid = next.filter(|oid| *oid != base)?;
            let commit = Commit::read(repo, oid);
            next = commit.as_ref().ok().and_then(|commit| commit.parent);
            Some(commit)
        })
    }

    /// How many edits the session holds: the number its newest commit of edt's bears.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn edits(&self, repo: &Repo) -> Result<u64> {
        for commit in self.commits(repo) {
            if let Some(trailers) = commit?.trailers
                && trailers.session == self.name
            {
                return Ok(trailers.edit);
            }
        }
        Ok(0)
    }
}
