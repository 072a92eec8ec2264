//! Which lessons were shown in a worktree, and which edits taught one: what may still change by what
//! follows.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::episodes::Outcome;
use edt_git::{Oid, Repo};
use edt_io::fs;
use edt_journal::refusals::RefusedCall;

/// The file, below the worktree's state directory.
const FILE: &str = "lessons-shown";
/// The most lessons that are remembered; the oldest are forgotten first.
const MAX_SHOWN: usize = 64;
/// A larger file was not written by edt.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// An episode that was shown or learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shown {
    /// The refusal, by its id in the record.
    pub(crate) call: String,
    pub(crate) session: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) code: String,
    pub(crate) episode: String,
    pub(crate) state: State,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// Nothing followed yet.
    Open,
    /// The answer had the fix itself; no episode was shown.
    Answered,
    /// The next call was refused, too. The memory does not have this yet.
    Failed(i64),
    /// This commit landed, and the memory has it. It may still be undone.
    Succeeded(String),
    /// The episode was not shown, but learned from this commit.
    Learned(String),
}

impl State {
    /// The commit that may be undone.
    pub(crate) fn commit(&self) -> Option<&str> {
        match self {
            State::Succeeded(commit) | State::Learned(commit) => Some(commit),
            State::Open | State::Answered | State::Failed(_) => None,
        }
    }
}

/// The lessons that were shown in a worktree.
#[derive(Debug)]
pub(crate) struct ShownLessons {
    file: PathBuf,
    before: Vec<Shown>,
    pub(crate) all: Vec<Shown>,
}

impl ShownLessons {
    /// Reads the file; empty if that fails.
    pub(crate) fn of(repo: &Repo) -> ShownLessons {
        let file = repo.state_path().join(FILE);
        let bytes = fs::read_small(&file, MAX_FILE_BYTES).unwrap_or_default();
        let all: Vec<Shown> = serde_json::from_slice(&bytes).unwrap_or_default();
        ShownLessons { file, before: all.clone(), all }
    }

    /// Writes the file, if anything changed. Whatever fails is ignored.
    pub(crate) fn save(mut self) {
        let surplus = self.all.len().saturating_sub(MAX_SHOWN);
        self.all.drain(..surplus);
        if self.all == self.before {
            return;
        }
        let bytes = serde_json::to_vec(&self.all).unwrap_or_default();
        let _ = fs::write_atomic(&self.file, &bytes, 0o600);
    }

    pub(crate) fn add(
        &mut self,
        call: &RefusedCall,
        path: Option<String>,
        code: &str,
        episode: &str,
        state: State,
    ) {
        let (call, session) = (call.id.clone(), call.session.clone());
        let (code, episode) = (code.to_owned(), episode.to_owned());
        self.all.push(Shown { call, session, path, code, episode, state });
    }

    /// Removes the failures, which the memory does not have yet: episode, outcome, time.
    pub(crate) fn take_failures(&mut self) -> Vec<(String, Outcome, i64)> {
        let failed = self.all.extract_if(.., |one| matches!(one.state, State::Failed(_)));
        let outcome = |one: Shown| match one.state {
            State::Failed(at) => Some((one.episode, Outcome::Failed, at)),
            _ => None,
        };
        failed.filter_map(outcome).collect()
    }
}

/// Whether `commit` is in the history of `from`, and not in that of `to`.
pub(crate) fn is_between(repo: &Repo, commit: &str, from: Oid, to: Oid) -> bool {
    let Ok(commit) = Oid::from_hex(commit.as_bytes()) else { return false };
    let before = |tip| repo.is_ancestor(commit, tip).unwrap_or(false);
    before(from) && !before(to)
}
