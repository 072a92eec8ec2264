//! Changes of the memory that are not recorded yet.
//!
//! A refusal changes nothing in the repository, and an edit must not wait for a second transaction.
//! So both only write to a private file, which all worktrees share. Its changes take effect
//! immediately ([`super::retrieve`] reads it) and are recorded in batches:
//! [`super::store::LockedMemory::record_pending`].

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::change::MemoryChange;
use edt_io::{clock, fs, process};

/// A larger file was not written by edt.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// The most open failures, and the most landed edits that may still be undone. The oldest are
/// dropped first.
const MAX_OPEN: usize = 200;
/// The number of pending changes that the next edit records.
pub const BATCH: usize = 48;

/// The content of the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unrecorded {
    /// The name of the batch `pending`. The commit has it in a trailer, so that no batch is
    /// recorded twice.
    pub batch: String,
    pub pending: Vec<MemoryChange>,
    /// Files whose latest edit was refused.
    pub open: Vec<OpenFailure>,
    /// Edits that landed after a failure or a lesson.
    pub landed: Vec<LandedEdit>,
}

/// A file whose latest edit was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenFailure {
    /// The session; `None` if there was none.
    pub session: Option<String>,
    /// The worktree, by its state directory.
    pub worktree: String,
    pub path: String,
    pub refusals: usize,
    /// The ids of the episodes of the refusals.
    pub episodes: Vec<String>,
    /// The words in the refused edits.
    pub words: Vec<String>,
    /// The ids of the episodes whose lessons were shown.
    pub shown: Vec<String>,
}

/// An edit that landed after a failure or a lesson.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LandedEdit {
    /// The commit, as a hex object id.
    pub commit: String,
    /// The ids of the episodes whose lessons were shown before.
    pub shown: Vec<String>,
    /// The ids of the episodes that it fixed.
    pub fixed: Vec<String>,
}

impl Unrecorded {
    /// Empty if `file` cannot be read.
    #[must_use]
    pub fn read(file: &Path) -> Unrecorded {
        let bytes = fs::read_small(file, MAX_FILE_BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Writes to `file`, whose content is `before`. Whether that succeeded.
    #[must_use]
    pub fn write(mut self, file: &Path, before: &Unrecorded) -> bool {
        if self == *before {
            return true;
        }
        let surplus = self.open.len().saturating_sub(MAX_OPEN);
        self.open.drain(..surplus);
        let surplus = self.landed.len().saturating_sub(MAX_OPEN);
        self.landed.drain(..surplus);
        if self.pending.is_empty() {
            self.batch.clear();
        } else if self.batch.is_empty() {
            let now = clock::system().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            self.batch = format!("{:x}-{:x}", process::process_id(), now.as_nanos());
        }
        let written = if self == Unrecorded::default() {
            fs::remove_file(file)
        } else {
            fs::write_atomic(file, &serde_json::to_vec(&self).unwrap_or_default(), 0o600)
        };
        written.is_ok()
    }

    /// Adds a change. A failure of a pending episode only increments its count.
    pub fn add(&mut self, change: MemoryChange) {
        if let MemoryChange::Failed(now) = &change
            && let Some(MemoryChange::Failed(known)) =
                self.pending.iter_mut().rfind(|one| one.id() == now.id)
        {
            **known = known.clone().seen_again(now);
            return;
        }
        self.pending.push(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Episode, FailedAttempt, UseOutcome};

    fn failed(text: &str) -> MemoryChange {
        let attempt = FailedAttempt { fragment: text.to_owned(), ..FailedAttempt::default() };
        MemoryChange::Failed(Box::new(Episode::new("SYNTAX_ERROR", None, attempt, 1)))
    }

    fn open(path: &str) -> OpenFailure {
        OpenFailure {
            session: None,
            worktree: "w".into(),
            path: path.to_owned(),
            refusals: 1,
            episodes: Vec::new(),
            words: Vec::new(),
            shown: Vec::new(),
        }
    }

    #[test]
    fn the_same_failure_is_counted_in_its_pending_change() {
        let mut unrecorded = Unrecorded::default();
        unrecorded.add(failed("alpha"));
        unrecorded.add(failed("beta"));
        unrecorded.add(failed("alpha"));
        let seen: Vec<u64> = unrecorded
            .pending
            .iter()
            .map(|change| match change {
                MemoryChange::Failed(episode) => episode.seen,
                _ => 0,
            })
            .collect();
        assert_eq!(seen, [2, 1]);
    }

    #[test]
    fn a_failure_after_another_change_of_its_episode_is_a_change_of_its_own() {
        let mut unrecorded = Unrecorded::default();
        unrecorded.add(failed("alpha"));
        let id = unrecorded.pending[0].id().to_owned();
        unrecorded.add(MemoryChange::Used(id, UseOutcome::Helped, 1));
        unrecorded.add(failed("alpha"));
        assert_eq!(unrecorded.pending.len(), 3);
    }

    #[test]
    fn pending_changes_are_read_as_they_were_written_with_a_name_for_the_batch() {
        let dir = edt_testkit::tempdir().unwrap();
        let file = dir.path().join("waiting");
        let unrecorded = Unrecorded { pending: vec![failed("alpha")], ..Unrecorded::default() };
        assert!(unrecorded.clone().write(&file, &Unrecorded::default()));
        let read = Unrecorded::read(&file);
        assert_ne!(read.batch, "");
        assert_eq!(Unrecorded { batch: String::new(), ..read }, unrecorded);
    }

    #[test]
    fn a_batch_keeps_its_name_until_nothing_is_pending() {
        let dir = edt_testkit::tempdir().unwrap();
        let file = dir.path().join("waiting");
        let first = Unrecorded { pending: vec![failed("alpha")], ..Unrecorded::default() };
        assert!(first.write(&file, &Unrecorded::default()));
        let before = Unrecorded::read(&file);
        let mut second = before.clone();
        second.add(failed("beta"));
        assert!(second.write(&file, &before));
        assert_eq!(Unrecorded::read(&file).batch, before.batch);
    }

    #[test]
    fn a_file_without_content_is_removed() {
        let dir = edt_testkit::tempdir().unwrap();
        let file = dir.path().join("waiting");
        let some = Unrecorded { open: vec![open("a")], ..Unrecorded::default() };
        assert!(some.clone().write(&file, &Unrecorded::default()));
        assert!(Unrecorded::default().write(&file, &some));
        assert!(!file.exists());
    }

    #[test]
    fn only_the_newest_open_failures_are_kept() {
        let dir = edt_testkit::tempdir().unwrap();
        let file = dir.path().join("waiting");
        let all: Vec<OpenFailure> = (0..=MAX_OPEN).map(|n| open(&n.to_string())).collect();
        let some = Unrecorded { open: all.clone(), ..Unrecorded::default() };
        assert!(some.write(&file, &Unrecorded::default()));
        assert_eq!(Unrecorded::read(&file).open, all[1..]);
    }

    #[test]
    fn a_damaged_file_has_nothing() {
        let dir = edt_testkit::tempdir().unwrap();
        std::fs::write(dir.path().join("waiting"), "{").unwrap();
        assert_eq!(Unrecorded::read(&dir.path().join("waiting")), Unrecorded::default());
    }
}
