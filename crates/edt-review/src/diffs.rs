//! The differences of pairs of trees. They cannot change, so that they are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::hunks::ReviewFile;
use edt_core::session::views::file_diff::{self, FileDiff};
use edt_git::{Oid, Repo};
use edt_types::Result;

/// How many differences are kept with their hunks.
const MAX_WHOLE: usize = 8;

/// Two trees.
type Trees = (Oid, Oid);
type Files = Arc<Vec<ReviewFile>>;

/// What is known of the differences of pairs of trees. Threads may share it.
#[derive(Debug, Default)]
pub(crate) struct Diffs {
    /// The files without their hunks.
    listed: Mutex<HashMap<Trees, Files>>,
    /// The latest ones with their hunks, which are large.
    whole: Mutex<VecDeque<(Trees, Files)>>,
}

impl Diffs {
    /// The files that differ, without their hunks, if that is known.
    pub(crate) fn known(&self, trees: Trees) -> Option<Vec<ReviewFile>> {
        locked(&self.listed).get(&trees).map(|files| files.to_vec())
    }

    /// The files that differ, without their hunks.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub(crate) fn listed(&self, repo: &Repo, trees: Trees) -> Result<Vec<ReviewFile>> {
        if let Some(known) = self.known(trees) {
            return Ok(known);
        }
        let files = read(repo, trees, ReviewFile::listed)?;
        locked(&self.listed).insert(trees, Arc::new(files.clone()));
        Ok(files)
    }

    /// The files that differ with their hunks.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub(crate) fn whole(&self, repo: &Repo, trees: Trees) -> Result<Vec<ReviewFile>> {
        let known = locked(&self.whole).iter().find(|(of, _)| *of == trees).cloned();
        if let Some((_, files)) = known {
            return Ok(files.to_vec());
        }
        let files = read(repo, trees, ReviewFile::of)?;
        let mut whole = locked(&self.whole);
        whole.push_back((trees, Arc::new(files.clone())));
        if whole.len() > MAX_WHOLE {
            whole.pop_front();
        }
        Ok(files)
    }
}

fn read(repo: &Repo, (from, to): Trees, of: fn(FileDiff) -> ReviewFile) -> Result<Vec<ReviewFile>> {
    Ok(file_diff::between(repo, from, to)?.into_iter().map(of).collect())
}

/// A value is whole after every statement, so a panic elsewhere does not matter.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
