//! The user's commits on a session's branch, which guards and a switch of the worktree take into
//! account: commits that edt did not make, and checkpoints.

use std::cell::OnceCell;

use super::ownership::{Version, merge3_with_theirs};
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{FileId, ObjectWriter, Oid};
use edt_types::{RepoPath, Result};

/// The user's commits since the session's base. They are read when a path is first asked for.
#[derive(Debug)]
pub struct UserCommits<'a> {
    writer: &'a ObjectWriter<'a>,
    session: &'a Session,
    unpublished: Option<(Oid, Oid)>,
    is_counted: bool,
    steps: OnceCell<Vec<Vec<TreeDifference>>>,
}

impl<'a> UserCommits<'a> {
    #[must_use]
    pub fn of(writer: &'a ObjectWriter<'a>, session: &'a Session) -> UserCommits<'a> {
        let steps = OnceCell::new();
        UserCommits { writer, session, unpublished: None, is_counted: true, steps }
    }

    /// Without any commit.
    #[must_use]
    pub fn none(writer: &'a ObjectWriter<'a>, session: &'a Session) -> UserCommits<'a> {
        UserCommits { is_counted: false, ..UserCommits::of(writer, session) }
    }

    /// The same, with a change of the user's that the branch does not have yet: its trees before
    /// and after.
    #[must_use]
    pub fn followed_by(self, before: Oid, after: Oid) -> UserCommits<'a> {
        UserCommits { unpublished: Some((before, after)), steps: OnceCell::new(), ..self }
    }

    /// `file`, which some recorded state has at `path`, with the user's commits applied in order.
    /// Where they changed the same lines as an edit, their lines count. `None` if none of them
    /// changed the path; the inner `None` if they removed the file.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn applied_to(
        &self,
        path: &RepoPath,
        file: Option<FileId>,
    ) -> Result<Option<Option<Version>>> {
        let (mut now, mut touched) = (file.map(Version::recorded), false);
        for differs in self.of_path(path)? {
            let (before, after) = (version(differs.old), version(differs.new));
            now = merge3_with_theirs(self.writer, before.as_ref(), now.as_ref(), after.as_ref())?;
            touched = true;
        }
        Ok(touched.then_some(now))
    }

    /// The user's versions of `path`, the newest first.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn versions(&self, path: &RepoPath) -> Result<Vec<Version>> {
        let changes: Vec<&TreeDifference> = self.of_path(path)?.collect();
        Ok(changes.into_iter().rev().filter_map(|differs| version(differs.new)).collect())
    }

    /// How each commit changed `path`, the oldest first.
    fn of_path(&self, path: &RepoPath) -> Result<impl Iterator<Item = &TreeDifference>> {
        if self.steps.get().is_none() {
            let _ = self.steps.set(self.read()?);
        }
        let steps = self.steps.get();
        Ok(steps.into_iter().flatten().flatten().filter(move |differs| differs.path == *path))
    }

    fn read(&self) -> Result<Vec<Vec<TreeDifference>>> {
        let (writer, mut steps) = (self.writer, Vec::new());
        let repo = writer.repo();
        if self.is_counted && self.session.tip != self.session.base {
            for commit in self.session.commits(repo) {
                let commit: Commit = commit?;
                let is_users = commit.is_users() || commit.has_more_than_edits();
                if is_users {
                    let parent = commit.parent_tree(repo)?;
                    steps.push(writer.tree_diff(parent, commit.tree)?);
                }
            }
            steps.reverse();
        }
        if let Some((before, after)) = self.unpublished {
            steps.push(writer.tree_diff(before, after)?);
        }
        Ok(steps)
    }
}

fn version(item: Option<TreeItem>) -> Option<Version> {
    item.and_then(TreeItem::file).map(Version::recorded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path};
    use edt_git::Tracked;

    /// The text of `a.txt` in the session's base, with the user's commits applied.
    fn base_with_users_commits(scratch: &Scratch) -> Option<Option<String>> {
        let (repo, session) = (scratch.repo(), scratch.session());
        let writer = ObjectWriter::new(&repo);
        let users = UserCommits::of(&writer, &session);
        let base = repo.tracked(repo.tree_of(session.base).unwrap(), &path("a.txt")).unwrap();
        let Tracked::File(base) = base else { panic!("{base:?}") };
        let applied = users.applied_to(&path("a.txt"), Some(base)).unwrap();
        applied.map(|version| {
            version.map(|version| String::from_utf8(version.bytes(&writer).unwrap()).unwrap())
        })
    }

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n")]);
        scratch.begin("fix");
        scratch
    }

    #[test]
    fn without_a_commit_of_the_user_there_is_no_other_version() {
        let scratch = scratch();
        scratch.edit("x", "a.txt", "1", "one");
        assert_eq!(base_with_users_commits(&scratch), None);
    }

    #[test]
    fn only_the_lines_of_the_users_commits_count() {
        let scratch = scratch();
        scratch.edit("x", "a.txt", "1\n", "");
        let text = "2\n3\n4\n5\n6\n";
        scratch.user_commit("edt/fix", &[("a.txt", Some(text))], "cut\n");
        scratch.write("a.txt", text);
        scratch.edit("y", "a.txt", "4", "four");
        let expected = "1\n2\n3\n4\n5\n6\n".to_owned();
        assert_eq!(base_with_users_commits(&scratch), Some(Some(expected)));
    }

    #[test]
    fn a_file_that_the_user_removed_has_no_version() {
        let scratch = scratch();
        scratch.user_commit("edt/fix", &[("a.txt", None)], "gone\n");
        assert_eq!(base_with_users_commits(&scratch), Some(None));
    }
}
