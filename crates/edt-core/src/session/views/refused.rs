//! What was refused, allowed or interrupted, and is still there to look at.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::session::recording::kept;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::names::{REFS, numbered_tips};
use edt_git::Repo;
use edt_io::fs;
use edt_types::Result;
use edt_types::text::Shown as _;

/// A run whose changes were refused and rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusedRun {
    /// The ref that keeps it.
    #[serde(rename = "ref")]
    pub name: String,
    /// Its commit, as a hex object id.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// Its time, in seconds since 1970.
    pub time: i64,
}

/// A commit of the session that needed overrides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Overridden {
    /// The number of the edit.
    pub edit: u64,
    /// The commit, as a hex object id.
    pub commit: String,
    /// The overrides.
    pub allowed: Vec<String>,
}

/// Copies of files as they were before a program that was interrupted or changed what no commit has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BackupDirectory {
    /// The directory of the copies.
    pub directory: String,
    /// A file that lists every path that differed; null if the warning listed all.
    pub list: Option<String>,
}

/// The refused runs of the session `name`, oldest first.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn runs(repo: &Repo, name: &str) -> Result<Vec<RefusedRun>> {
    let run = |(number, oid)| {
        let commit = Commit::read(repo, oid)?;
        Ok(RefusedRun {
            name: format!("{REFS}{name}/refused/{number}"),
            commit: oid.to_string(),
            subject: commit.subject().to_owned(),
            time: commit.authored_at,
        })
    };
    numbered_tips(repo, name, "refused")?.into_iter().map(run).collect()
}

/// The commits of the session that needed overrides, newest first.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn overridden(repo: &Repo, session: &Session) -> Result<Vec<Overridden>> {
    let mut found = Vec::new();
    for commit in session.commits(repo) {
        let Commit { oid, trailers: Some(trailers), .. } = commit? else { continue };
        if !trailers.allowed.is_empty() {
            let (edit, allowed) = (trailers.edit, trailers.allowed);
            found.push(Overridden { edit, commit: oid.to_string(), allowed });
        }
    }
    Ok(found)
}

/// The copies that are kept in this worktree, oldest first.
#[must_use]
pub fn copies(repo: &Repo) -> Vec<BackupDirectory> {
    let copies = |directory: PathBuf| {
        let list = directory.with_extension("list");
        let list = fs::size(&list).map(|_| list.shown());
        BackupDirectory { directory: directory.shown(), list }
    };
    kept::directories(repo).into_iter().map(copies).collect()
}
