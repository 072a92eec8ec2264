//! The session's commits, read from Git.

use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::names::base_ref;
use crate::session::refs::record::{RecordTip, Undone};
use crate::session::user::identity;
use crate::session::views::base;
use edt_git::{Oid, Repo};
use edt_types::Result;

/// The commits of a session, the newest first.
struct Commits<'r> {
    repo: &'r Repo,
    session: Session,
    /// The next commit of those that the newest entry of the record vouches for.
    next: Option<Oid>,
    /// What is below those, once the entry was read.
    since: Option<Oid>,
    /// All commits with what they have of edits, once one was reached that is not as edt wrote it.
    rest: Option<std::vec::IntoIter<Commit>>,
    /// How many were returned.
    returned: usize,
}

impl Commits<'_> {
    fn try_next(&mut self) -> Result<Option<Commit>> {
        if self.rest.is_none() {
            let Some(oid) = self.next.filter(|oid| *oid != self.session.base) else {
                return Ok(None);
            };
            if self.since.is_none() {
                let entry = RecordTip::of(self.repo, &self.session)?;
                let entry = entry.filter(|entry| entry.tip == oid);
                self.since = Some(entry.map_or(oid, |entry| entry.since));
            }
            if self.since != Some(oid) {
                let commit = Commit::read(self.repo, oid)?;
                self.next = commit.parent;
                self.returned += 1;
                return Ok(Some(commit));
            }
            let all = self.session.identified(self.repo, Undone::Never)?;
            let mut rest = all.into_iter();
            if let Some(skipped) = self.returned.checked_sub(1) {
                rest.nth(skipped);
            }
            self.rest = Some(rest);
        }
        Ok(self.rest.as_mut().and_then(Iterator::next))
    }
}

impl Session {
    /// The session's commits down to its base, newest first, along first parents. Those that the
    /// record does not name are compared with its edits.
    pub fn commits<'r>(&self, repo: &'r Repo) -> impl Iterator<Item = Result<Commit>> + 'r {
        let (session, next) = (self.clone(), Some(self.tip));
        let mut commits = Commits { repo, session, next, since: None, rest: None, returned: 0 };
        std::iter::from_fn(move || {
            let next = commits.try_next();
            if next.is_err() {
                commits.rest = Some(Vec::new().into_iter());
            }
            next.transpose()
        })
    }

    /// The same at once, with the edits that were undone or without.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn identified(&self, repo: &Repo, undone: Undone) -> Result<Vec<Commit>> {
        identity::identified(repo, self, self.chain(repo)?, undone)
    }

    /// The commits down to the base, or to what the target has.
    fn chain(&self, repo: &Repo) -> Result<Vec<Commit>> {
        let (base, began) = (base::viewed(repo, self)?, repo.ref_value(&base_ref(&self.name))?);
        // The first parents of a merge of the target do not lead to that base.
        let is_on_way = began.is_none_or(|began| began == base);
        let own = if is_on_way { None } else { Some(repo.commits_not_in(self.tip, &[base])?) };
        let is_own = |oid: &Oid| own.as_ref().is_none_or(|own| own.contains(oid));
        let (mut chain, mut next) = (Vec::new(), Some(self.tip));
        while let Some(oid) =
            next.filter(|oid| *oid != self.base && *oid != repo.empty_tree() && is_own(oid))
        {
            let commit = Commit::read(repo, oid)?;
            next = commit.parent;
            chain.push(commit);
        }
        Ok(chain)
    }

    /// How many edits the session has.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn edits(&self, repo: &Repo) -> Result<u64> {
        match RecordTip::of(repo, self)? {
            Some(entry) if entry.tip == self.tip => Ok(entry.count),
            _ => self.commits(repo).map(|commit| Ok(commit?.edits())).sum(),
        }
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
            rewritten: None,
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
        let modes = vec!["edit".to_owned()];
        let plain = Trailers::plain("fix", Kind::Edit, 1);
        assert_eq!(commit.trailers, Some(Trailers { modes, ..plain }));
    }
}
