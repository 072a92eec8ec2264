//! What a program changed and only the user may approve: it waits as a proposal, and the rest of the
//! run is recorded.

use std::collections::BTreeSet;

use edt_core::proposal::propose::{self, HeldProposal};
use edt_core::session::LockedWorkspace;
use edt_core::session::recording::held::HeldChanges;
use edt_core::session::recording::record::{CommitInfo, RecordAction, RecordOutcome};
use edt_git::diff::TreeDifference;
use edt_types::{Code, Effect, Finding, RepoPath, Warning};

/// What becomes of changes with these refusals: if the user may approve each file, these files are
/// held; otherwise everything is put back. So it is where a held file of attributes says how another
/// changed file is stored: no commit may have that file without its rules.
pub(super) fn action(refused: &[Finding], changed: &[TreeDifference]) -> RecordAction {
    if refused.is_empty() {
        return RecordAction::Record;
    }
    let path = |finding: &Finding| {
        let path = finding.path.as_ref().filter(|_| finding.code == Code::ApprovalRequired)?;
        Some(RepoPath::from_tree(path.as_bytes()))
    };
    let paths: Option<BTreeSet<RepoPath>> = refused.iter().map(path).collect();
    let paths = paths.filter(|held| {
        let mut others = changed.iter().map(|one| &one.path).filter(|path| !held.contains(*path));
        !others.any(|path| held.iter().any(|held| has_attributes_of(held, path)))
    });
    paths.map_or(RecordAction::Restore, RecordAction::Hold)
}

/// Whether `file` is a `.gitattributes` whose rules apply to `path`.
fn has_attributes_of(file: &RepoPath, path: &RepoPath) -> bool {
    let (directory, name) = file.split();
    let rest = path.as_bytes().strip_prefix(directory);
    let is_below = directory.is_empty() || rest.is_some_and(|rest| rest.starts_with(b"/"));
    is_below && name.eq_ignore_ascii_case(b".gitattributes")
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
        assert_eq!(action(&both, &[]), RecordAction::Hold(paths));
        assert_eq!(action(&[], &[]), RecordAction::Record);
        for other in [Code::ConflictMarkers, Code::ProtectedPath] {
            let other = finding(other, Some("c"));
            assert_eq!(action(&[both[0].clone(), other], &[]), RecordAction::Restore);
        }
        assert_eq!(action(&[finding(held_code, None)], &[]), RecordAction::Restore);
    }

    #[test]
    fn no_file_is_recorded_without_the_attributes_that_are_held() {
        let path = |path: &str| RepoPath::from_tree(path.as_bytes());
        let changed = |paths: &[&str]| -> Vec<TreeDifference> {
            let all = paths.iter().map(|one| path(one));
            all.map(|path| TreeDifference { path, old: None, new: None }).collect()
        };
        let held = [finding(Code::ApprovalRequired, Some("a/.gitattributes"))];
        let hold = RecordAction::Hold(BTreeSet::from([path("a/.gitattributes")]));
        assert_eq!(action(&held, &changed(&["a/.gitattributes", "ab/x", "x"])), hold);
        assert_eq!(action(&held, &changed(&["a/.gitattributes", "a/b/x"])), RecordAction::Restore);
        let held = [finding(Code::ApprovalRequired, Some(".gitattributes"))];
        assert_eq!(action(&held, &changed(&[".gitattributes", "x"])), RecordAction::Restore);
    }
}
