//! What was learned and is not recorded yet.
//!
//! A refusal changes nothing in the repository, and an edit that lands must not wait for a second transaction. So both only write to a
//! file of edt's own, which all worktrees share; what is in it counts at once ([`super::retrieve`] looks at it), and is recorded in
//! batches: see [`super::store::Locked::settle`].

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::change::Change;
use crate::io::{clock, whole};

/// A larger file is not one that edt wrote.
const MOST_BYTES: u64 = 64 << 20;
/// Most failures that wait for what fixes them, and most edits that wait for whether they stay; the oldest are forgotten first.
const MOST_OPEN: usize = 200;
/// How many changes make a batch: an edit that lands records them.
pub const BATCH: usize = 48;

/// What waits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waiting {
    /// The name of the batch that `pending` will be: it stands in the commit, so that none is recorded twice.
    pub batch: String,
    /// Changes of the memory that are not recorded yet.
    pub pending: Vec<Change>,
    /// Files whose latest edit was refused.
    pub open: Vec<Open>,
    /// Edits that landed after a failure or a lesson.
    pub landed: Vec<Landed>,
}

/// A file whose latest edit was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// The session; `None` if there was none.
    pub session: Option<String>,
    /// The worktree, by its state folder.
    pub worktree: String,
    /// The file.
    pub path: String,
    /// How many refusals there were.
    pub refusals: usize,
    /// What was refused.
    pub episodes: Vec<String>,
    /// The words that it was about.
    pub words: Vec<String>,
    /// The episodes whose lessons were told.
    pub told: Vec<String>,
}

/// An edit that landed after a failure or a lesson.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Landed {
    /// Its commit, as a hex object id.
    pub commit: String,
    /// The episodes whose lessons were told before.
    pub told: Vec<String>,
    /// The episodes that it fixed.
    pub fixed: Vec<String>,
}

impl Waiting {
    /// What `file` holds; nothing if it cannot be read.
    #[must_use]
    pub fn read(file: &Path) -> Waiting {
        let bytes = whole::small(file, MOST_BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Makes `file` hold this, where it held `before`. Whether it does now.
    #[must_use]
    pub fn write(mut self, file: &Path, before: &Waiting) -> bool {
        if self == *before {
            return true;
        }
        let surplus = self.open.len().saturating_sub(MOST_OPEN);
        self.open.drain(..surplus);
        let surplus = self.landed.len().saturating_sub(MOST_OPEN);
        self.landed.drain(..surplus);
        if self.pending.is_empty() {
            self.batch.clear();
        } else if self.batch.is_empty() {
            let now = clock::system().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            self.batch = format!("{:x}-{:x}", clock::process_id(), now.as_nanos());
        }
        let written = if self == Waiting::default() {
            whole::remove(file)
        } else {
            whole::put(file, &serde_json::to_vec(&self).unwrap_or_default(), 0o600)
        };
        written.is_ok()
    }

    /// Adds a change. A failure that waits already is counted there.
    pub fn add(&mut self, change: Change) {
        if let Change::Failed(now) = &change
            && let Some(Change::Failed(known)) =
                self.pending.iter_mut().rfind(|one| one.id() == now.id)
        {
            **known = known.clone().seen_again(now);
            return;
        }
        self.pending.push(change);
    }
}
