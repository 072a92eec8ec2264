//! Which changes the reviewer has seen.
//!
//! A mark is about one file with its content before and after, so that a change that was made again
//! is to be reviewed again. Marks are kept in one private file in edt's part of the Git directory. It
//! may be deleted at any time: everything is then to be reviewed again.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::hunks::ReviewFile;
use crate::model::SessionReview;
use edt_git::Repo;
use edt_io::{failed, fs};
use edt_types::Result;

/// The most sessions with marks; the one that was marked longest ago is dropped first.
const MAX_SESSIONS: usize = 32;
/// The most marks of one session.
const MAX_MARKS: usize = 10_000;
/// A larger file was not written by edt.
const MAX_FILE: u64 = 64 << 20;

/// One file with its content before and after, as hex object ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    path: String,
    before: Option<String>,
    after: Option<String>,
}

/// Whether a change was reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reviewed {
    Yes,
    No,
}

/// The marks of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marks {
    session: String,
    marks: BTreeSet<Mark>,
}

impl Mark {
    #[must_use]
    pub fn of(file: &ReviewFile) -> Mark {
        Mark {
            path: file.path.clone(),
            before: file.hash_before.clone(),
            after: file.hash_after.clone(),
        }
    }
}

impl Marks {
    /// The marks of the session; none if they cannot be read.
    #[must_use]
    pub fn of(repo: &Repo, session: &str) -> Marks {
        let found = all(repo).into_iter().find(|marks| marks.session == session);
        found.unwrap_or_else(|| Marks { session: session.to_owned(), ..Marks::default() })
    }

    /// Sets `reviewed` of every file of the review.
    pub fn apply(&self, review: &mut SessionReview) {
        let steps = review.turns.iter_mut().flat_map(|turn| &mut turn.steps);
        let steps = steps.chain(&mut review.undone).flat_map(|step| &mut step.files);
        for file in steps.chain(&mut review.files) {
            file.reviewed = self.marks.contains(&Mark::of(file));
        }
    }

    /// Stores that `mark` of the session was reviewed, or was not.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn set(repo: &Repo, session: &str, mark: Mark, reviewed: Reviewed) -> Result<()> {
        let mut own = Marks::of(repo, session);
        let mut stored = all(repo);
        stored.retain(|marks| marks.session != session);
        match reviewed {
            Reviewed::Yes if own.marks.len() < MAX_MARKS => own.marks.insert(mark),
            Reviewed::Yes => false,
            Reviewed::No => own.marks.remove(&mark),
        };
        stored.push(own);
        let surplus = stored.len().saturating_sub(MAX_SESSIONS);
        stored.drain(..surplus);
        let (file, above) = (place(repo), repo.common_dir().join("edt"));
        if !above.is_dir() {
            fs::make_dir(&above).map_err(|error| failed("make", &above, &error))?;
            repo.share(&above)?;
        }
        let bytes = serde_json::to_vec(&stored).unwrap_or_default();
        fs::write_atomic_unique(&file, &bytes, 0o600)
            .map_err(|error| failed("write", &file, &error).into())
    }
}

fn all(repo: &Repo) -> Vec<Marks> {
    let bytes = fs::read_small(&place(repo), MAX_FILE).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn place(repo: &Repo) -> PathBuf {
    repo.common_dir().join("edt/reviewed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    fn mark(path: &str) -> Mark {
        Mark { path: path.to_owned(), before: None, after: Some("1".to_owned()) }
    }

    fn paths(repo: &Repo, session: &str) -> Vec<String> {
        Marks::of(repo, session).marks.into_iter().map(|mark| mark.path).collect()
    }

    #[test]
    fn marks_are_kept_per_session_and_can_be_removed() {
        let scratch = ScratchRepo::with(&[("a", "1\n")]);
        let repo = Repo::open(scratch.path()).unwrap();
        for (session, path) in [("s", "a"), ("s", "b"), ("t", "c")] {
            Marks::set(&repo, session, mark(path), Reviewed::Yes).unwrap();
        }
        Marks::set(&repo, "s", mark("a"), Reviewed::No).unwrap();
        assert_eq!((paths(&repo, "s"), paths(&repo, "t")), (vec!["b".into()], vec!["c".into()]));
    }

    #[test]
    fn the_session_that_was_marked_longest_ago_is_dropped() {
        let scratch = ScratchRepo::with(&[("a", "1\n")]);
        let repo = Repo::open(scratch.path()).unwrap();
        for number in 0..=MAX_SESSIONS {
            Marks::set(&repo, &number.to_string(), mark("a"), Reviewed::Yes).unwrap();
        }
        assert_eq!((paths(&repo, "0").len(), paths(&repo, "1").len()), (0, 1));
    }

    #[test]
    fn a_damaged_file_has_no_marks() {
        let scratch = ScratchRepo::with(&[("a", "1\n")]);
        let repo = Repo::open(scratch.path()).unwrap();
        Marks::set(&repo, "s", mark("a"), Reviewed::Yes).unwrap();
        std::fs::write(place(&repo), "[{").unwrap();
        assert_eq!(paths(&repo, "s"), [""; 0]);
        Marks::set(&repo, "s", mark("b"), Reviewed::Yes).unwrap();
        assert_eq!(paths(&repo, "s"), ["b"]);
    }
}
