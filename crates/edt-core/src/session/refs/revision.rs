//! Revisions as a user names them: an edit of the session by its number, or anything Git knows.

use super::commit::Commit;
use super::current::Session;
use edt_git::{Oid, Repo};
use edt_types::{Code, Finding, Result};

/// The fewest digits of an abbreviated commit id.
const SHORTEST_ID: usize = 4;

/// The commit that `spec` names: a bare integer is the edit of `session` with that number, as
/// `edt log` prints it, and 0 is the commit before the first edit; anything else is a revision as Git reads it. A number that is no edit, with
/// at least four digits, may be an abbreviated commit id.
///
/// # Errors
/// `BAD_REQUEST` if it names no commit; `OBJECT_MISSING`.
pub fn resolve(repo: &Repo, session: Option<&Session>, spec: &str) -> Result<Oid> {
    let Some(number) = edit_number(spec) else {
        let found = repo.commit_named(spec);
        return found.map_err(|error| match proposal_number(spec) {
            Some(_) => a_proposal(spec).into(),
            None => error,
        });
    };
    if let (Some(session), "0") = (session, spec) {
        return before_edits(repo, session);
    }
    if let Some(commit) = session.map(|session| edit(repo, session, number)).transpose()?.flatten()
    {
        return Ok(commit);
    }
    if spec.len() >= SHORTEST_ID
        && let Ok(commit) = repo.commit_named(spec)
    {
        return Ok(commit);
    }
    let summary = match session {
        Some(session) => format!("The session {} has no edit {spec}.", session.name),
        None => format!("There is no edit {spec}: this worktree has no session."),
    };
    let remedy = "`edt log` lists the session's edits with their numbers.";
    Err(Finding::new(Code::BadRequest, summary, remedy).into())
}

/// The session's base, or the empty commit of a session that began on an unborn branch.
fn before_edits(repo: &Repo, session: &Session) -> Result<Oid> {
    if session.base != repo.empty_tree() {
        return Ok(session.base);
    }
    let oldest = session.commits(repo).last().transpose()?;
    Ok(oldest.map_or(session.base, |commit| commit.oid))
}

fn a_proposal(spec: &str) -> Finding {
    Finding::new(
        Code::BadRequest,
        format!("{spec} names a proposal, and not an edit."),
        format!("`edt log` lists the session's edits with their numbers. `edt show {spec}` shows the proposal."),
    )
    .nothing_changed()
}

/// The number of a proposal, if `spec` names one, such as `p7`.
#[must_use]
pub fn proposal_number(spec: &str) -> Option<u64> {
    edit_number(spec.strip_prefix('p')?)
}

/// The number, if `spec` is one.
#[must_use]
pub fn edit_number(spec: &str) -> Option<u64> {
    let digits = !spec.is_empty() && spec.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| spec.parse().ok()).flatten()
}

/// The commit of the edit `number` of the session.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn edit(repo: &Repo, session: &Session, number: u64) -> Result<Option<Oid>> {
    for commit in session.commits(repo) {
        let commit = commit?;
        let is_it = |one: &Commit| {
            let own = one.trailers.as_ref().filter(|own| own.session == session.name);
            one.is_edit() && own.is_some_and(|own| own.edit == number)
        };
        if is_it(&commit) {
            return Ok(Some(commit.oid));
        }
        // The user squashed it with later ones: only the record has it alone.
        let squashed = commit.rewritten.iter().flat_map(|rewritten| &rewritten.edits);
        if let Some(edit) = squashed.into_iter().find(|edit| is_it(edit)) {
            return Ok(Some(edit.oid));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, refusal};

    #[test]
    fn a_number_names_an_edit_of_the_session() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.edit("first", "a.txt", "one", "two");
        let first = scratch.head();
        scratch.edit("second", "a.txt", "two", "three");
        let (repo, session) = (scratch.repo(), scratch.session());
        let resolved = |spec: &str| resolve(&repo, Some(&session), spec).unwrap();
        assert_eq!((resolved("1"), resolved("2")), (first, session.tip));
        assert_eq!(resolved("0"), session.base);
        assert_eq!((resolved("HEAD~1"), resolved(&first.to_string())), (first, first));
    }

    #[test]
    fn zero_is_the_commit_before_the_first_edit() {
        let scratch = Scratch::unborn();
        scratch.apply(&crate::Request::new("new").create("a.txt", "one\n")).unwrap();
        let (repo, session) = (scratch.repo(), scratch.session());
        let oldest = session.commits(&repo).last().unwrap().unwrap().oid;
        assert_eq!(resolve(&repo, Some(&session), "0").unwrap(), oldest);
        assert_ne!(oldest, session.tip);
    }

    #[test]
    fn a_proposal_is_not_an_edit() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.edit("first", "a.txt", "one", "two");
        let (repo, session) = (scratch.repo(), scratch.session());
        assert_eq!(refusal(resolve(&repo, Some(&session), "p7")), a_proposal("p7"));
        scratch.user_commit("p7", &[("b.txt", Some("b\n"))], "b\n");
        assert!(resolve(&repo, Some(&session), "p7").is_ok());
        assert_eq!(
            (proposal_number("p7"), proposal_number("p"), proposal_number("7")),
            (Some(7), None, None)
        );
    }

    #[test]
    fn a_checkpoint_does_not_take_the_number_of_an_edit() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.edit("first", "a.txt", "one", "two");
        let first = scratch.head();
        scratch.write("a.txt", "mine\n");
        scratch.edit("second", "a.txt", "mine", "theirs");
        let (repo, session) = (scratch.repo(), scratch.session());
        assert_eq!(resolve(&repo, Some(&session), "1").unwrap(), first);
        assert_eq!(resolve(&repo, Some(&session), "2").unwrap(), session.tip);
    }

    #[test]
    fn an_unknown_number_is_refused() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        let (repo, session) = (scratch.repo(), scratch.session());
        let finding = refusal(resolve(&repo, Some(&session), "7"));
        assert_eq!(finding.summary, "The session fix has no edit 7.");
        let finding = refusal(resolve(&repo, None, "7"));
        assert_eq!(finding.summary, "There is no edit 7: this worktree has no session.");
        assert_eq!(refusal(resolve(&repo, None, "nowhere")).code, Code::BadRequest);
    }
}
