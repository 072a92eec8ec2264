//! What a program changed and only the user may approve: it waits as a proposal, and the rest of the
//! run is recorded.

use edt_core::proposal::propose::{self, HeldProposal};
use edt_core::session::LockedWorkspace;
use edt_core::session::recording::held::{HeldChanges, HeldState};
use edt_core::session::recording::record::{CommitInfo, RecordAction, RecordOutcome};
use edt_core::session::recording::review::{ChangesPreview, ChangesReview};
use edt_types::text::Shown as _;
use edt_types::{Effect, Finding, RepoPath, Warning};

/// What becomes of the changes of `preview`: if the user may approve each refused file, these files
/// are held; otherwise everything is put back. So it is where a held file of attributes says how
/// another changed file is stored: no commit may have that file without its rules.
pub(super) fn action(review: &ChangesReview, preview: &ChangesPreview<'_>) -> RecordAction {
    if review.refused.is_empty() {
        return RecordAction::Record;
    }
    let paths = review.held(preview).filter(|held| {
        let mut others =
            preview.paths.iter().map(|one| &one.path).filter(|path| !held.contains(*path));
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
    let answer =
        HeldAnswer { held, proposal: proposal.as_ref(), has_more: recorded.commit.is_some() };
    let findings = refused.into_iter().map(|one| answer.explained(one));
    let findings = findings.chain(failed).collect();
    (findings, proposal.map(|one| one.warnings).unwrap_or_default())
}

/// What the findings say.
struct HeldAnswer<'t> {
    held: &'t HeldChanges,
    proposal: Option<&'t HeldProposal>,
    /// Whether other changes of the program are recorded.
    has_more: bool,
}

impl HeldAnswer<'_> {
    /// The finding of a guard about a file that was to be taken out.
    fn explained(&self, finding: Finding) -> Finding {
        let HeldChanges { name, commit, .. } = self.held;
        let path = finding.path.clone().unwrap_or_default();
        let state = self.state(&path);
        let became = match state {
            HeldState::Kept => format!("It was taken out and is kept at {name}"),
            HeldState::Partly => format!(
                "It was taken out. A part of it is kept at {name}, and all of it in edt's private \
                 store: the file has text of the user's that no commit has"
            ),
            HeldState::Private => "It was taken out and is kept in edt's private store alone: the \
                                   file has text of the user's that no commit has"
                .to_owned(),
            HeldState::OnDisk => "The file stays as it is: somebody else wrote it meanwhile, too. \
                                  The change is not recorded"
                .to_owned(),
        };
        let rest = if self.has_more { "; the program's other changes are recorded." } else { "." };
        let summary =
            format!("{} The program had already made this change. {became}{rest}", finding.summary);
        let proposal = self.proposal.filter(|_| state <= HeldState::Partly);
        let remedy = match (state, proposal) {
            (HeldState::OnDisk, _) => format!(
                "Continue without it. Ask the user to look at {}: it has the program's change.",
                path.shown()
            ),
            (HeldState::Private, _) => {
                "Continue without it. If it is needed, ask the user to commit that text, or to move \
                 it elsewhere, and run the program again."
                    .to_owned()
            }
            (_, Some(proposal)) => proposal.remedy.clone(),
            (_, None) => format!(
                "Continue without it. `git show {commit}` shows it. If it is needed, ask the user \
                 to type `git cherry-pick --no-commit {commit}`."
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
        let is_kept = state <= HeldState::Partly;
        let finding = if is_kept { finding.with("refused_ref", name.as_str()) } else { finding };
        match proposal {
            Some(proposal) => finding.with("proposal", proposal.id),
            None => finding,
        }
    }

    /// What became of the changes at the paths with this text; of several, the one of which least
    /// is kept.
    fn state(&self, text: &str) -> HeldState {
        let of_path = self.held.files.iter().filter(|(path, _)| path.text() == text);
        of_path.map(|(_, state)| *state).max().unwrap_or(HeldState::OnDisk)
    }
}

/// A finding about a change that cannot be put back, after others were recorded or not.
pub(super) fn beside(finding: Finding, is_recorded: bool) -> Finding {
    if !is_recorded {
        return finding;
    }
    let summary = format!(
        "{} It stays on disk and is not recorded; the program's other changes are.",
        finding.summary
    );
    Finding { summary, effect: Effect::Unstated, ..finding }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_git::Oid;
    use edt_types::Code;

    fn answer(state: HeldState) -> Finding {
        let commit = Oid::from_hex(&[b'1'; 40]).unwrap();
        let path = RepoPath::from_tree(b".x/caf\xe9");
        let name = "refs/edt/s/refused/1".to_owned();
        let held = HeldChanges { commit, name, files: [(path.clone(), state)].into() };
        let answer = HeldAnswer { held: &held, proposal: None, has_more: true };
        answer.explained(Finding::new(Code::ApprovalRequired, "x.", "y").at(&path))
    }

    #[test]
    fn attributes_are_those_of_their_directory() {
        let at = |text: &str| RepoPath::from_tree(text.as_bytes());
        let has = |file: &str, path: &str| has_attributes_of(&at(file), &at(path));
        assert!(has(".gitattributes", "x") && has("a/.gitattributes", "a/b/x"));
        assert!(!has("a/.gitattributes", "ab/x") && !has("a/.gitattributes", "x"));
        assert!(!has("a/.gitignore", "a/x"));
    }

    #[test]
    fn a_finding_says_what_became_of_its_file() {
        for (state, said, is_kept) in [
            (HeldState::Kept, "It was taken out and is kept at refs/edt/s/refused/1;", true),
            (HeldState::Partly, "all of it in edt's private store", true),
            (HeldState::Private, "kept in edt's private store alone", false),
            (HeldState::OnDisk, "The file stays as it is: somebody else wrote it", false),
        ] {
            let found = answer(state);
            assert!(found.summary.contains(said), "{}", found.summary);
            assert!(found.summary.ends_with("; the program's other changes are recorded."));
            assert_eq!(found.evidence.contains_key("refused_ref"), is_kept, "{state:?}");
            let cherry_pick = found.remedy.contains("cherry-pick");
            assert_eq!(cherry_pick, is_kept, "{}", found.remedy);
        }
    }

    #[test]
    fn what_stays_on_disk_says_nothing_of_the_rest_that_is_recorded() {
        let finding = Finding::new(Code::ProtectedPath, "x.", "y");
        let finding = finding.with_effect(Effect::NothingRecorded);
        assert_eq!(beside(finding.clone(), false), finding);
        let found = beside(finding, true);
        assert_eq!(
            found.message(),
            "x. It stays on disk and is not recorded; the program's other changes are."
        );
    }
}
