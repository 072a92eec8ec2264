//! The commits of a session with the paths that each changed.

use super::current::Session;
use super::history::Commit;
use edt_git::Repo;
use edt_types::Result;

/// A commit of a session, and what it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The commit. Its `trailers` have its kind and the number of the edit; a commit of the user has
    /// none.
    pub commit: Commit,
    /// The paths that differ from the first parent. A renamed file has two: its old path and its
    /// new one.
    pub files: Vec<String>,
}

impl Session {
    /// The session's commits down to its base, newest first, with their paths.
    pub fn log<'r>(&self, repo: &'r Repo) -> impl Iterator<Item = Result<LogEntry>> + 'r {
        self.commits(repo).map(move |commit| {
            let commit = commit?;
            let before = commit.parent.unwrap_or_else(|| repo.empty_tree());
            let differs = repo.tree_diff(repo.tree_of(before)?, commit.tree)?;
            let files = differs.iter().map(|differs| differs.path.to_string()).collect();
            Ok(LogEntry { commit, files })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;
    use crate::txn::Request;

    #[test]
    fn each_commit_has_the_paths_that_it_changed() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.edit("first", "a.txt", "one", "two");
        scratch.apply(&Request::new("second").rename("b.txt", "c.txt")).unwrap();
        let repo = scratch.repo();
        let log: Vec<LogEntry> = scratch.session().log(&repo).map(|entry| entry.unwrap()).collect();
        let shown: Vec<(&str, Vec<&str>)> = log
            .iter()
            .map(|entry| (entry.commit.subject(), entry.files.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(shown, [("second", vec!["b.txt", "c.txt"]), ("first", vec!["a.txt"])]);
    }

    #[test]
    fn the_first_commit_of_an_unborn_branch_is_compared_with_nothing() {
        let scratch = Scratch::unborn();
        scratch.apply(&Request::new("first").create("a.txt", "one\n")).unwrap();
        let repo = scratch.repo();
        let log: Vec<LogEntry> = scratch.session().log(&repo).map(|entry| entry.unwrap()).collect();
        assert_eq!(log[0].files, ["a.txt"]);
        assert!(log.last().unwrap().commit.parent.is_none());
    }
}
