//! What a program changed and only the user may approve: it waits as a proposal, and the rest of the
//! run is recorded.

use edt_core::proposal::propose::{self, HeldProposal};
use edt_core::session::LockedWorkspace;
use edt_core::session::recording::held::HeldChanges;
use edt_core::session::recording::record::{CommitInfo, RecordAction, RecordOutcome};
use edt_types::{Code, Effect, Finding, RepoPath, Warning};

/// What becomes of changes with these refusals: if the user may approve each file, these files are
/// held; otherwise everything is put back.
pub(super) fn action(refused: &[Finding]) -> RecordAction {
    if refused.is_empty() {
        return RecordAction::Record;
    }
    let path = |finding: &Finding| {
        let path = finding.path.as_ref().filter(|_| finding.code == Code::ApprovalRequired)?;
        Some(RepoPath::from_tree(path.as_bytes()))
    };
    let paths: Option<_> = refused.iter().map(path).collect();
    paths.map_or(RecordAction::Restore, RecordAction::Hold)
}

/// Proposes the changes that were taken out. Returns the findings and the warnings for the answer.
pub(super) fn propose(
    workspace: &mut LockedWorkspace,
    recorded: &RecordOutcome,
    held: &HeldChanges,
    (info, refused): (&CommitInfo, Vec<Finding>),
) -> (Vec<Finding>, Vec<Warning>) {
    let session = (&recorded.session, held);
    let (proposal, failed) = match propose::propose_held(workspace, session, info, &refused) {
        Ok(proposal) => (proposal, Vec::new()),
        Err(found) => (None, found.into_vec()),
    };
    let findings = refused.into_iter().map(|one| explained(one, held, proposal.as_ref()));
    let findings = findings.chain(failed).collect();
    (findings, proposal.map(|one| one.warnings).unwrap_or_default())
}

/// The finding of a guard about a file that was taken out.
fn explained(finding: Finding, held: &HeldChanges, proposal: Option<&HeldProposal>) -> Finding {
    let HeldChanges { name, commit } = held;
    let summary = format!(
        "{} The program had already made this change. It was taken out and is kept at {name}; the \
         program's other changes are recorded.",
        finding.summary
    );
    let remedy = match proposal {
        Some(proposal) => proposal.remedy.clone(),
        None => format!(
            "Continue without it. `git show {commit}` shows it. If it is needed, ask the user to \
             type `git cherry-pick --no-commit {commit}`."
        ),
    };
    let finding = Finding {
        summary,
        remedy,
        effect: Effect::Unstated,
        override_remedy: None,
        allow: None,
        ..finding
    };
    let finding = finding.with("kept", name.as_str());
    match proposal {
        Some(proposal) => finding.with("proposal", proposal.id),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn finding(code: Code, path: Option<&str>) -> Finding {
        let finding = Finding::new(code, "x", "y");
        match path {
            Some(path) => finding.at(&RepoPath::from_tree(path.as_bytes())),
            None => finding,
        }
    }

    #[test]
    fn files_are_held_only_if_the_user_may_approve_each() {
        let held = |path: &str| RepoPath::from_tree(path.as_bytes());
        let held_code = Code::ApprovalRequired;
        let both = [finding(held_code, Some("a")), finding(held_code, Some("b"))];
        let paths = BTreeSet::from([held("a"), held("b")]);
        assert_eq!(action(&both), RecordAction::Hold(paths));
        assert_eq!(action(&[]), RecordAction::Record);
        for other in [Code::ConflictMarkers, Code::ProtectedPath] {
            let other = finding(other, Some("c"));
            assert_eq!(action(&[both[0].clone(), other]), RecordAction::Restore);
        }
        assert_eq!(action(&[finding(held_code, None)]), RecordAction::Restore);
    }
}
