//! The part of a session that lands: all of it, its commits up to one edit, or chosen edits.

use super::options::LandOptions;
use super::part_numbers::{self, squashed, unknown};
use super::plan::{LandTarget, landed, nothing};
use super::reorder::{FirstEdits, Reordered};
use super::target::target;
use crate::session::refs::current::Session;
use edt_git::{InHead, Repo};
use edt_types::{Code, Effect, Finding, Result};

/// What of a session lands.
#[derive(Debug)]
pub(crate) struct Part {
    /// The session as if its branch ended with this part.
    pub(crate) session: Session,
    /// How many edits stay in the session.
    pub(crate) rest: u64,
    /// Whether it is the whole session, which ends with the landing.
    pub(crate) is_all: bool,
    /// Set if the session's branch gets another order with the landing.
    pub(super) reordered: Option<Reordered>,
}

impl Part {
    /// The part of `session` that `options` name.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the number is no edit of the session, names an edit within a squashed commit,
    /// or if HEAD is on the target; `NOTHING_TO_LAND` if the part has landed; those of
    /// [`FirstEdits::of`]; `OBJECT_MISSING`, and those of a target that does not exist.
    pub(crate) fn of(repo: &Repo, session: &Session, options: &LandOptions) -> Result<Part> {
        if !options.only.is_empty() {
            return Part::chosen(repo, session, options);
        }
        let all = Part { session: session.clone(), rest: 0, is_all: true, reordered: None };
        let Some(number) = options.to else { return Ok(all) };
        let (mut rest, mut found) = (0, None);
        for commit in session.commits(repo) {
            let commit = commit?;
            if part_numbers::numbers(&commit, session).contains(&number) {
                found = Some(commit);
                break;
            }
            rest += commit.edits();
        }
        let last = found.ok_or_else(|| unknown(session, number))?;
        let numbers = part_numbers::numbers(&last, session);
        if let Some(newest) = numbers.last().filter(|newest| **newest != number) {
            let remedy = format!("`edt land --to {newest}` lands all of that commit.");
            return Err(squashed(number, &numbers, remedy).into());
        }
        if last.oid == session.tip {
            return Ok(all);
        }
        let session_to_it = Session { tip: last.oid, ..session.clone() };
        let part = Part { session: session_to_it, rest, is_all: false, reordered: None };
        let target = target(repo, session, options)?;
        part.check_apart(repo, &target)?;
        match landed(repo, session, &target)? {
            Some(landed) if repo.is_ancestor(last.oid, landed)? => {
                Err(nothing(&part.session, &target).into())
            }
            _ => Ok(part),
        }
    }

    /// The edits that `options` choose.
    fn chosen(repo: &Repo, session: &Session, options: &LandOptions) -> Result<Part> {
        let target = target(repo, session, options)?;
        let FirstEdits { tip, rest, reordered } =
            FirstEdits::of(repo, session, &target, &options.only)?;
        let is_all = tip == session.tip;
        let planned = reordered.as_ref().map(|reordered| reordered.entry);
        let session = Session { tip, planned, ..session.clone() };
        let part = Part { session, rest, is_all, reordered };
        if !is_all {
            part.check_apart(repo, &target)?;
        }
        Ok(part)
    }

    /// With HEAD on the target, which then has a part of the session, nothing would say which edits
    /// the files have beyond it.
    fn check_apart(&self, repo: &Repo, target: &LandTarget) -> Result<()> {
        if self.session.head == InHead::Yes || !repo.head_is_on(&target.branch)? {
            return Ok(());
        }
        let (name, into) = (self.session.short_branch(), target.short());
        let summary = format!(
            "A part of {name} cannot land on {into} while this worktree has {into} checked out \
             with the files of {name}."
        );
        let remedy = "`edt land` lands the whole session.";
        let finding = Finding::new(Code::BadRequest, summary, remedy);
        Err(finding.with_effect(Effect::NothingLanded).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::landing::land;
    use crate::session::refs::commit::Commit;
    use crate::tests::{Scratch, refusal};

    fn two_edits() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch.edit("second", "a.txt", "two", "three");
        scratch
    }

    fn to(number: u64) -> LandOptions {
        LandOptions { to: Some(number), ..LandOptions::default() }
    }

    fn part(scratch: &Scratch, number: u64) -> Result<Part> {
        Part::of(&scratch.repo(), &scratch.session(), &to(number))
    }

    #[test]
    fn a_part_ends_with_its_edit() {
        let scratch = two_edits();
        let first = part(&scratch, 1).unwrap();
        let tip = Commit::read(&scratch.repo(), scratch.head()).unwrap();
        assert_eq!((Some(first.session.tip), first.rest, first.is_all), (tip.parent, 1, false));
        let all = part(&scratch, 2).unwrap();
        assert_eq!((all.session, all.rest, all.is_all), (scratch.session(), 0, true));
    }

    #[test]
    fn a_number_without_an_edit_is_refused() {
        let scratch = two_edits();
        let finding = refusal(part(&scratch, 3));
        assert_eq!(
            (finding.code, finding.summary.as_str()),
            (Code::BadRequest, "The session fix has no edit 3.")
        );
    }

    #[test]
    fn a_squashed_commit_lands_as_a_whole() {
        let scratch = two_edits();
        scratch.edit("third", "b.txt", "b", "c");
        let base = scratch.session().base;
        scratch.set_ref("refs/heads/edt/fix", base);
        scratch.user_commit("edt/fix", &[("a.txt", Some("three\n"))], "squashed\n");
        scratch.user_commit("edt/fix", &[("b.txt", Some("c\n"))], "third\n");
        let finding = refusal(part(&scratch, 1));
        assert_eq!(finding.remedy, "`edt land --to 2` lands all of that commit.");
        assert_eq!(part(&scratch, 2).unwrap().rest, 1);
    }

    #[test]
    fn what_has_landed_does_not_land_again() {
        let scratch = two_edits();
        scratch.edit("third", "b.txt", "b", "c");
        let session = scratch.session();
        let first = part(&scratch, 1).unwrap().session.tip;
        land(&mut scratch.open(), &session, &to(2)).unwrap();
        assert_ne!(scratch.ref_value("refs/edt/fix/landed/1"), Some(first));
        assert_eq!(refusal(part(&scratch, 1)).code, Code::NothingToLand);
        assert_eq!(scratch.session(), session);
        let rest = session.not_landed(&scratch.repo()).unwrap();
        assert_eq!(Some(rest.base), scratch.ref_value("refs/edt/fix/landed/1"));
    }
}
