//! The session's commits, read from Git.

use super::commit::Commit;
use super::current::Session;
use edt_git::Repo;
use edt_types::Result;

impl Session {
    /// The session's commits down to its base, newest first, along first parents.
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

    /// How many edits the session has, from the newest commit with edt's trailers.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::refs::message::{Kind, Trailers};
    use crate::tests::{Scratch, refusal};
    use edt_git::ObjectWriter;
    use edt_git::objects;
    use edt_types::Code;

    #[test]
    fn a_users_commit_has_an_author_and_no_trailers() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let (repo, oid) = (scratch.repo(), scratch.head());
        let commit = Commit::read(&repo, oid).unwrap();
        let expected = Commit {
            oid,
            tree: repo.tree_of(oid).unwrap(),
            parent: None,
            other_parents: Vec::new(),
            message: "a user's commit\n".into(),
            author: "A User".into(),
            authored_at: commit.committed_at,
            committed_at: commit.committed_at,
            trailers: None,
        };
        assert!(commit.committed_at > 1_700_000_000);
        assert_eq!(commit, expected);
        assert_eq!((commit.subject(), commit.is_edit()), ("a user's commit", false));
    }

    #[test]
    fn a_merge_has_a_first_parent_and_others() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let first = scratch.head();
        let second = scratch.user_commit("main", &[("b.txt", Some("b\n"))], "b\n");
        let third = scratch.user_commit("main", &[("c.txt", Some("c\n"))], "c\n");
        let repo = scratch.repo();
        let mut writer = ObjectWriter::new(&repo);
        let tree = repo.tree_of(first).unwrap();
        let merge = writer.write_commit_with_parents(tree, &[first, second, third], "m\n").unwrap();
        objects::write(&repo, &writer.loose_objects()).unwrap();
        let merge = Commit::read(&repo, merge).unwrap();
        assert_eq!((merge.parent, merge.other_parents), (Some(first), vec![second, third]));
    }

    #[test]
    fn a_missing_commit_is_an_error() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let repo = scratch.repo();
        assert_eq!(refusal(Commit::read(&repo, repo.null())).code, Code::ObjectMissing);
    }

    #[test]
    fn the_commits_of_a_session_end_above_its_base() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.edit("first", "a.txt", "one", "two");
        scratch.edit("second", "a.txt", "two", "three");
        let (repo, session) = (scratch.repo(), scratch.session());
        let commits: Vec<Commit> = session.commits(&repo).map(|commit| commit.unwrap()).collect();
        let subjects: Vec<&str> = commits.iter().map(Commit::subject).collect();
        assert_eq!(subjects, ["second", "first"]);
        assert_eq!(commits[1].parent, Some(session.base));
        assert!(commits.iter().all(Commit::is_edit));
    }

    #[test]
    fn a_session_counts_its_edits_from_the_newest_trailers() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        assert_eq!(scratch.session().edits(&scratch.repo()).unwrap(), 0);
        scratch.edit("first", "a.txt", "one", "two");
        scratch.edit("second", "a.txt", "two", "three");
        assert_eq!(scratch.session().edits(&scratch.repo()).unwrap(), 2);
    }

    #[test]
    fn a_users_commit_does_not_change_the_number_of_edits() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch.user_commit("edt/fix", &[("b.txt", Some("b\n"))], "by hand\n");
        assert_eq!(scratch.session().edits(&scratch.repo()).unwrap(), 1);
    }

    #[test]
    fn the_edits_of_another_session_do_not_count() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        let other = Session { name: "other".into(), ..scratch.session() };
        assert_eq!(other.edits(&scratch.repo()).unwrap(), 0);
    }

    #[test]
    fn an_edit_of_edt_has_its_trailers() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        let commit = Commit::read(&scratch.repo(), scratch.head()).unwrap();
        assert_eq!(commit.trailers, Some(Trailers::plain("fix", Kind::Edit, 1)));
    }
}
