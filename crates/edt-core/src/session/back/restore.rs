//! Finds a file's content before one of its edits.

use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::user::edit_change::FileStep;
use crate::session::user::unwind;
use edt_git::{FileId, Repo, Tracked};
use edt_types::text::counted;
use edt_types::{Code, Finding, RepoPath, Result};

/// A file before one of its edits.
#[derive(Debug)]
pub struct Earlier {
    /// `None` if it did not exist.
    pub file: Option<FileId>,
    /// The commits since, newest first, with that edit.
    pub since: Vec<Commit>,
    /// The number of that edit.
    pub edit: u64,
    /// Whether no commit has what that edit changed.
    pub private: bool,
}

/// The file at `path` before its latest edit (`revision` 0), before the previous one (1), and so
/// on; `None` if it did not exist. Commits of the user do not count.
///
/// # Errors
/// `NOTHING_TO_UNDO` if the session has fewer edits of it; `OBJECT_MISSING`.
pub fn before(repo: &Repo, session: &Session, path: &RepoPath, revision: u64) -> Result<Earlier> {
    let (mut seen, mut since) = (0, Vec::new());
    for commit in session.commits(repo) {
        let commit = commit?;
        let changes =
            if commit.is_edit() { unwind::recorded_changes(repo, &commit)? } else { Vec::new() };
        let edit = commit.trailers.as_ref().map_or(0, |trailers| trailers.edit);
        since.push(commit);
        let is_it = |(changed, before, after): &FileStep| changed == path && before != after;
        let step = changes.into_iter().find(is_it);
        let private = step.is_none() && is_private(repo, since.last(), path);
        let file = match (step, since.last()) {
            (Some((_, before, _)), _) => before.map(|version| version.file),
            (None, Some(commit)) if private => match repo.tracked(commit.tree, path)? {
                Tracked::File(file) => Some(file),
                _ => None,
            },
            _ => continue,
        };
        if seen == revision {
            return Ok(Earlier { file, since, edit, private });
        }
        seen += 1;
    }
    Err(Finding::new(
        Code::NothingToUndo,
        format!(
            "The session {} has {} of {path}; revision {revision} does not exist.",
            session.name,
            counted(seen, "edit")
        ),
        format!(
            "Revisions count from 0, the state before the latest edit. `edt log {}` lists them.",
            path.for_shell()
        ),
    )
    .at(path)
    .with("edit_count", seen)
    .into())
}

/// Whether the edit changed a file at `path` that is in no commit.
fn is_private(repo: &Repo, commit: Option<&Commit>, path: &RepoPath) -> bool {
    let edit = commit.filter(|commit| commit.is_edit());
    let files = edit.and_then(|edit| unwind::private_files(repo, edit)).unwrap_or_default();
    files.iter().any(|file| file.path() == *path && file.before != file.after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::recording::record::checkpoint;
    use crate::tests::{Scratch, path, refusal};
    use edt_git::read::ObjectKind;

    fn three_texts() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch.edit("second", "a.txt", "two", "three");
        scratch
    }

    fn text_before(scratch: &Scratch, named: &str, revision: u64) -> Result<Option<String>> {
        let repo = scratch.repo();
        let file = before(&repo, &scratch.session(), &path(named), revision)?.file;
        let text = |file: FileId| repo.object(file.oid, ObjectKind::Blob).unwrap();
        Ok(file.map(|file| String::from_utf8(text(file)).unwrap()))
    }

    #[test]
    fn revisions_count_back_from_the_latest_edit() {
        let scratch = three_texts();
        assert_eq!(text_before(&scratch, "a.txt", 0).unwrap().as_deref(), Some("two\n"));
        assert_eq!(text_before(&scratch, "a.txt", 1).unwrap().as_deref(), Some("one\n"));
    }

    #[test]
    fn edits_of_other_files_are_not_revisions() {
        let scratch = three_texts();
        scratch.edit("other", "b.txt", "b", "c");
        assert_eq!(text_before(&scratch, "a.txt", 0).unwrap().as_deref(), Some("two\n"));
    }

    #[test]
    fn a_checkpoint_is_not_a_revision() {
        let scratch = three_texts();
        scratch.write("a.txt", "by hand\n");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert_eq!(text_before(&scratch, "a.txt", 0).unwrap().as_deref(), Some("two\n"));
    }

    #[test]
    fn a_users_commit_is_not_a_revision() {
        let scratch = three_texts();
        scratch.user_commit("edt/fix", &[("a.txt", Some("by hand\n"))], "by hand\n");
        assert_eq!(text_before(&scratch, "a.txt", 0).unwrap().as_deref(), Some("two\n"));
    }

    #[test]
    fn a_file_did_not_exist_before_it_was_created() {
        let scratch = three_texts();
        scratch.apply(&crate::Request::new("new").create("c.txt", "c\n")).unwrap();
        assert_eq!(text_before(&scratch, "c.txt", 0).unwrap(), None);
    }

    #[test]
    fn a_revision_that_does_not_exist_is_refused_with_the_number_of_edits() {
        let finding = Finding::new(
            Code::NothingToUndo,
            "The session fix has 2 edits of a.txt; revision 2 does not exist.",
            "Revisions count from 0, the state before the latest edit. `edt log a.txt` lists them.",
        );
        let finding = finding.at(&path("a.txt")).with("edit_count", 2);
        assert_eq!(refusal(text_before(&three_texts(), "a.txt", 2)), finding);
    }
}
