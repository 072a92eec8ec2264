//! Reports the user's decisions to the agent with the next answer.
//!
//! A small file in the worktree's state directory lists the watched proposals and the newest
//! decision that was reported on each. If the file is lost, `edt proposals` still shows every
//! decision.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::store::{self, Proposal, ProposalState};
use crate::session::LockedWorkspace;
use crate::session::refs::commit::Commit;
use edt_git::{Oid, Repo};
use edt_io::fs;
use edt_io::lock::{self, LockGuard};
use edt_types::{Code, Warning, WarningCode};

/// The file below the worktree's state directory: for each watched proposal its number and the
/// newest decision that was reported.
const FILE: &str = "proposals-awaited";
/// The lock file that is held while [`FILE`] is changed.
const LOCK: &str = "proposals-awaiting";
/// Longest wait for the lock. A decision that is reported twice does no harm.
const LOCK_WAIT: Duration = Duration::from_secs(1);
/// Limits: bytes read of the file, and watched proposals (the newest ones).
const MAX_BYTES: u64 = 64 * 1024;
const MAX_WATCHED: usize = 500;
/// The second field of a line whose proposal has no reported decision.
const NONE_YET: &str = "-";

/// Decisions that were not reported to the agent yet.
#[derive(Debug, Default)]
pub struct NewDecisions {
    /// One warning for each decision.
    pub warnings: Vec<Warning>,
    /// The new mark of each proposal in the file; `None` removes the proposal.
    changes: Vec<(u64, Option<String>)>,
    state: PathBuf,
}

/// Watches proposal `id`: each decision on it will be reported.
pub(super) fn watch(workspace: &LockedWorkspace, id: u64) {
    let state = workspace.repo.state_path();
    // Without the lock another call's entry may be lost, but this one must be written.
    let _lock = locked(state);
    let mut all = watched(state);
    if all.iter().all(|(known, _)| *known != id) {
        all.push((id, NONE_YET.to_owned()));
        write(state, &all);
    }
}

/// The unreported decisions on watched proposals. Costs one system call if none is watched.
#[must_use]
pub fn unreported(repo: &Repo) -> NewDecisions {
    let state = repo.state_path();
    let (mut warnings, mut changes) = (Vec::new(), Vec::new());
    for (id, reported) in watched(state) {
        let name = format!("{}{id}", store::PREFIX);
        let at = repo.ref_value(&name).ok().flatten();
        if at.is_some() && at == Oid::from_hex(reported.as_bytes()).ok() {
            continue;
        }
        match store::read(repo, id) {
            Ok(proposal) => match &proposal.state {
                ProposalState::Open => {}
                ProposalState::Approved(_) | ProposalState::Rejected(_) => {
                    warnings.extend(decision_warning(&proposal));
                    changes.push((id, Some(proposal.ref_tip.to_string())));
                }
                ProposalState::Done(_) => {
                    // `edt approve --apply` leaves no time to report the approval before.
                    let approved = Commit::read(repo, proposal.ref_tip).ok();
                    let approved = approved.and_then(|done| done.parent).map(|at| at.to_string());
                    if approved.is_some_and(|approved| approved != reported) {
                        warnings.extend(decision_warning(&proposal));
                    }
                    changes.push((id, None));
                }
                // It was reported when it happened.
                ProposalState::Withdrawn(_) | ProposalState::Superseded(_) => {
                    changes.push((id, None));
                }
            },
            Err(found) if found.any(|finding| finding.code == Code::ProposalNotFound) => {
                changes.push((id, None));
            }
            Err(_) => {}
        }
    }
    NewDecisions { warnings, changes, state: state.to_owned() }
}

fn decision_warning(proposal: &Proposal) -> Option<Warning> {
    let (id, subject) = (proposal.id, proposal.subject());
    let (code, message) = match (&proposal.state, &proposal.command) {
        (ProposalState::Approved(by), Some(command)) => (
            WarningCode::UserApproved,
            format!("Proposal p{id} was approved by {by}. Call the command again: {command}"),
        ),
        (ProposalState::Approved(by), None) => (
            WarningCode::UserApproved,
            format!(
                "Proposal p{id} ({subject}) was approved by {by}: `edt apply --proposal p{id}` \
                 applies it."
            ),
        ),
        (ProposalState::Done(commit), None) => (
            WarningCode::UserApproved,
            format!("Proposal p{id} ({subject}) was approved, and applied as {commit}."),
        ),
        (ProposalState::Rejected(why), _) => {
            (WarningCode::UserRejected, format!("Proposal p{id} ({subject}) was rejected: {why}"))
        }
        _ => return None,
    };
    Some(Warning { code, path: None, message })
}

impl NewDecisions {
    /// Whether there is nothing to report and nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Records that these decisions were reported. Entries that other calls added meanwhile stay.
    pub fn mark_reported(&self) {
        if self.changes.is_empty() {
            return;
        }
        let Some(_lock) = locked(&self.state) else { return };
        let mut all = watched(&self.state);
        for (id, mark) in &self.changes {
            match mark {
                Some(mark) => all
                    .iter_mut()
                    .filter(|entry| entry.0 == *id)
                    .for_each(|entry| entry.1.clone_from(mark)),
                None => all.retain(|entry| entry.0 != *id),
            }
        }
        write(&self.state, &all);
    }
}

fn locked(state: &Path) -> Option<LockGuard> {
    lock::acquire(&state.join(LOCK), "edt", LOCK_WAIT).ok()
}

fn watched(state: &Path) -> Vec<(u64, String)> {
    let text = fs::read_small(&state.join(FILE), MAX_BYTES).unwrap_or_default();
    let line = |line: &str| {
        let (id, reported) = line.split_once(' ')?;
        Some((id.parse().ok()?, reported.to_owned()))
    };
    String::from_utf8_lossy(&text).lines().filter_map(line).collect()
}

fn write(state: &Path, all: &[(u64, String)]) {
    let newest = &all[all.len().saturating_sub(MAX_WATCHED)..];
    let text = newest
        .iter()
        .fold(String::new(), |text, (id, reported)| text + &format!("{id} {reported}\n"));
    let _ = fs::write_atomic(&state.join(FILE), text.as_bytes(), 0o644);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::decide::{approve, reject, withdraw};
    use crate::proposal::propose::propose;
    use crate::tests::Scratch;
    use crate::txn::Request;

    fn proposed() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let request = Request::new("change it").edit("a.txt", "one", "two");
        propose(&mut scratch.open(), &request).unwrap();
        scratch
    }

    fn proposal(scratch: &Scratch) -> Proposal {
        store::read(&scratch.repo(), 1).unwrap()
    }

    fn messages(scratch: &Scratch) -> Vec<String> {
        let decisions = unreported(&scratch.repo());
        decisions.mark_reported();
        decisions.warnings.into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn an_open_proposal_has_nothing_to_report() {
        assert!(unreported(&proposed().repo()).is_empty());
    }

    #[test]
    fn an_approval_is_reported_once() {
        let scratch = proposed();
        approve(&mut scratch.open(), &proposal(&scratch)).unwrap();
        let by = scratch.repo().identity().unwrap();
        let expected = format!(
            "Proposal p1 (change it) was approved by {by}: `edt apply --proposal p1` applies it."
        );
        assert_eq!(messages(&scratch), [expected]);
        assert_eq!(messages(&scratch), [""; 0]);
    }

    #[test]
    fn an_approval_that_was_applied_at_once_is_reported_once() {
        let scratch = proposed();
        approve(&mut scratch.open(), &proposal(&scratch)).unwrap();
        crate::proposal::apply(&mut scratch.open(), 1, edt_types::DryRun::No).unwrap();
        let applied = proposal(&scratch).state;
        let commit = applied.detail().unwrap();
        let expected = format!("Proposal p1 (change it) was approved, and applied as {commit}.");
        assert_eq!(messages(&scratch), [expected]);
        assert_eq!(messages(&scratch), [""; 0]);
    }

    #[test]
    fn an_approval_that_was_reported_is_not_reported_when_it_is_applied() {
        let scratch = proposed();
        approve(&mut scratch.open(), &proposal(&scratch)).unwrap();
        assert_eq!(messages(&scratch).len(), 1);
        crate::proposal::apply(&mut scratch.open(), 1, edt_types::DryRun::No).unwrap();
        assert_eq!(messages(&scratch), [""; 0]);
    }

    #[test]
    fn a_decision_that_was_not_marked_is_reported_again() {
        let scratch = proposed();
        approve(&mut scratch.open(), &proposal(&scratch)).unwrap();
        assert_eq!(unreported(&scratch.repo()).warnings.len(), 1);
        assert_eq!(unreported(&scratch.repo()).warnings.len(), 1);
    }

    #[test]
    fn a_rejection_is_reported_with_its_reason() {
        let scratch = proposed();
        reject(&mut scratch.open(), &proposal(&scratch), "use three").unwrap();
        assert_eq!(messages(&scratch), ["Proposal p1 (change it) was rejected: use three"]);
    }

    #[test]
    fn a_later_decision_is_reported_too() {
        let scratch = proposed();
        approve(&mut scratch.open(), &proposal(&scratch)).unwrap();
        messages(&scratch);
        reject(&mut scratch.open(), &proposal(&scratch), "no").unwrap();
        assert_eq!(messages(&scratch), ["Proposal p1 (change it) was rejected: no"]);
    }

    #[test]
    fn a_withdrawal_is_not_reported_and_ends_the_watch() {
        let scratch = proposed();
        withdraw(&mut scratch.open(), &proposal(&scratch), "mistake").unwrap();
        assert_eq!(messages(&scratch), [""; 0]);
        assert_eq!(watched(scratch.repo().state_path()), []);
    }

    #[test]
    fn a_proposal_that_is_gone_ends_the_watch() {
        let scratch = proposed();
        scratch.remove(".git/refs/edt/proposals/1");
        assert_eq!(messages(&scratch), [""; 0]);
        assert_eq!(watched(scratch.repo().state_path()), []);
    }

    #[test]
    fn a_proposal_is_watched_once() {
        let scratch = proposed();
        watch(&scratch.open(), 1);
        assert_eq!(watched(scratch.repo().state_path()), [(1, "-".to_owned())]);
    }

    #[test]
    fn an_unreadable_line_of_the_file_is_skipped() {
        let state = edt_testkit::tempdir().unwrap();
        std::fs::write(state.path().join(FILE), "x -\n7 -\n8\n").unwrap();
        assert_eq!(watched(state.path()), [(7, "-".to_owned())]);
    }

    #[test]
    fn only_the_newest_proposals_are_watched() {
        let state = edt_testkit::tempdir().unwrap();
        let all: Vec<(u64, String)> = (0..501).map(|id| (id, NONE_YET.to_owned())).collect();
        write(state.path(), &all);
        assert_eq!(watched(state.path()), all[1..]);
    }
}
