//! The edit budget of a session: `[session] max_edits`.

use crate::session::views::stats;
use crate::session::{LockedWorkspace, Session};
use edt_git::Repo;
use edt_guard::policy::Policy;
use edt_types::{Code, Finding, Result};

/// How many edits `session` may still have; `None` without a budget. Undone edits count, runs and
/// restores do not. A session that does not exist yet has none.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn remaining(repo: &Repo, session: Option<&Session>, policy: &Policy) -> Result<Option<u64>> {
    let Some(most) = policy.max_edits else { return Ok(None) };
    let made = session.map_or(Ok(0), |session| stats::edits_made(repo, session))?;
    Ok(Some(most.saturating_sub(made)))
}

/// The same, for an edit.
///
/// # Errors
/// `EDIT_LIMIT_REACHED` if there is none left; as [`remaining`].
pub(super) fn for_edit(
    repo: &Repo,
    session: Option<&Session>,
    policy: &Policy,
) -> Result<Option<u64>> {
    match remaining(repo, session, policy)? {
        Some(0) => Err(used_up(session, policy.max_edits.unwrap_or_default()).into()),
        left => Ok(left),
    }
}

/// Checks that the session of this worktree may have one more edit.
///
/// # Errors
/// As [`for_edit`]; `BAD_REQUEST` for a policy that cannot be read.
pub fn check(workspace: &LockedWorkspace) -> Result<()> {
    let repo = &workspace.repo;
    let session = Session::current(repo, &repo.head()?)?;
    for_edit(repo, session.as_ref(), &workspace.current_policy()?).map(drop)
}

fn used_up(session: Option<&Session>, most: u64) -> Finding {
    let name = session.map_or("new", |session| session.name.as_str());
    Finding::new(
        Code::EditLimitReached,
        format!("The session {name} has its {most} edits (`[session] max_edits` of edt.toml)."),
        "Stop editing, and say to the user what is done and what is left. The user can raise \
         `[session] max_edits` or land the session.",
    )
    .nothing_changed()
    .with("max_edits", most)
}

#[cfg(test)]
mod tests {
    use crate::tests::{Scratch, refusal};
    use crate::txn::{Request, transact};
    use edt_types::{Code, DryRun};

    fn scratch(most: u64) -> Scratch {
        let policy = format!("[session]\nmax_edits = {most}\n");
        Scratch::with(&[("a.txt", "one\n"), ("edt.toml", &policy)])
    }

    fn edit() -> Request {
        Request::new("x").append("a.txt", "x\n")
    }

    #[test]
    fn a_session_has_exactly_its_edits_and_each_outcome_says_how_many_remain() {
        let scratch = scratch(2);
        let left = |dry_run| {
            let answer = transact(&mut scratch.open(), &edit(), dry_run);
            answer.map(|outcome| outcome.remaining_edits)
        };
        assert_eq!(left(DryRun::Yes), Ok(Some(2)));
        assert_eq!(left(DryRun::No), Ok(Some(1)));
        assert_eq!(left(DryRun::No), Ok(Some(0)));
        for dry_run in [DryRun::Yes, DryRun::No] {
            let finding = refusal(left(dry_run));
            assert_eq!(
                (finding.code, &finding.evidence["max_edits"]),
                (Code::EditLimitReached, &2.into())
            );
        }
    }

    #[test]
    fn an_undone_edit_counts_and_another_session_has_its_own() {
        let scratch = scratch(1);
        scratch.apply(&edit()).unwrap();
        scratch.undo(1).unwrap();
        assert_eq!(refusal(scratch.apply(&edit())).code, Code::EditLimitReached);
        scratch.begin("other");
        assert_eq!(scratch.apply(&edit()).unwrap().remaining_edits, Some(0));
    }

    #[test]
    fn a_proposal_needs_an_edit_that_is_left_too() {
        let scratch = scratch(1);
        let propose = || crate::proposal::propose::propose(&mut scratch.open(), &edit());
        assert!(propose().unwrap().proposal.is_some());
        scratch.apply(&edit()).unwrap();
        let finding = refusal(propose());
        assert_eq!(finding.code, Code::EditLimitReached);
        assert!(!finding.remedy.contains("edt begin"), "{}", finding.remedy);
    }

    #[test]
    fn without_a_budget_nothing_is_counted() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        assert_eq!(scratch.apply(&edit()).unwrap().remaining_edits, None);
    }
}
