//! Prepares a proposal: writes the objects of a planned change, based on the present files. No
//! branch moves.

use super::commit::subject;
use super::digest;
use super::guard::{Cleared, Unapproved};
use super::report;
use crate::session::recording::checkpoint::{CheckpointReason, UserVersion};
use crate::session::{Checkpoints, LockedWorkspace, Session};
use edt_git::deflate::Loose;
use edt_git::{FileId, ObjectWriter, Oid, TreeChange};
use edt_guard::guard::Grant;
use edt_types::{Code, Finding, Outcome, RepoPath, Result, Status};

/// A change that may be proposed. Its objects are not written to disk yet, and no file is changed.
#[derive(Debug)]
pub struct PendingChange {
    /// The session: an existing one, or the one that the change would begin.
    pub session: Session,
    /// The parent: the session's tip, or a commit of the user's changes in its paths.
    pub parent: Oid,
    /// The tree of the change.
    pub tree: Oid,
    /// The digest of the change ([`digest`]).
    pub digest: String,
    /// The paths it changes, in order.
    pub paths: Vec<String>,
    /// The new objects, in an order in which each names only earlier ones.
    pub objects: Vec<Loose>,
    /// Subject and body of the commit message.
    pub text: String,
    /// The agent.
    pub agent: Option<String>,
    /// The words of the overrides that the request itself could make.
    pub allowed: Vec<String>,
    /// The findings that only the user may override.
    pub needs: Vec<Finding>,
    /// The answer of a dry run.
    pub outcome: Outcome,
}

impl PendingChange {
    /// The overrides that the user grants by approving the proposal.
    #[must_use]
    pub fn grants(&self) -> Vec<Grant> {
        let word = |finding: &Finding| finding.evidence.get("word")?.as_str().map(str::to_owned);
        let grant =
            |finding: &Finding| Some(Grant { word: word(finding)?, path: finding.path.clone() });
        let mut grants: Vec<Grant> = self.needs.iter().filter_map(grant).collect();
        grants.sort();
        grants.dedup();
        grants
    }
}

/// Prepares the proposal of a plan; `None` if the plan changes nothing.
///
/// # Errors
/// `NO_SESSION` on a branch without a commit; `OBJECT_MISSING`.
pub(super) fn prepare(
    workspace: &LockedWorkspace,
    evaluated: std::result::Result<Cleared<'_>, Unapproved<'_>>,
) -> Result<Option<PendingChange>> {
    let (cleared, needs) = match evaluated {
        Ok(cleared) => (cleared, Vec::new()),
        Err(unapproved) => (unapproved.cleared, unapproved.needs),
    };
    if cleared.changes_nothing() {
        return Ok(None);
    }
    let repo = &workspace.repo;
    let session = cleared.state.session.clone();
    if session.tip == repo.empty_tree() {
        return Err(unborn().into());
    }
    let ignored = cleared.state.paths.values().find(|state| state.ignored);
    if let Some(state) = ignored {
        return Err(never_in_git(&state.path).into());
    }
    let mut objects = ObjectWriter::new(repo);
    let edits = if cleared.state.exists { session.last_number(repo)? } else { 0 };
    let states = cleared.files.iter().filter_map(|file| cleared.state.paths.get(&file.path));
    let versions = states.map(UserVersion::of).collect();
    let below = Checkpoints::write(
        &mut objects,
        &session,
        cleared.state.tip_tree,
        edits,
        versions,
        CheckpointReason::Saved,
    )?;
    let mut changes = Vec::new();
    for file in &cleared.files {
        let blob = |content: &super::plan::Content| -> Result<FileId> {
            Ok(FileId { oid: objects.write_blob(content.blob())?, mode: content.mode })
        };
        let new = file.after.as_ref().map(blob).transpose()?;
        changes.push(TreeChange { path: file.path.clone(), file: new });
    }
    let (tree, _) = objects.write_tree(below.tree, &changes)?;
    Ok(Some(PendingChange {
        digest: digest::of(&objects, below.tree, tree)?,
        parent: below.tip,
        tree,
        paths: cleared.files.iter().map(|file| file.path.text()).collect(),
        objects: objects.loose_objects(),
        text: cleared.request.message.clone().unwrap_or_else(|| subject(&cleared)),
        agent: cleared.request.agent.clone(),
        allowed: cleared.allowed.clone(),
        outcome: report::of(workspace, &cleared, Status::Proposed, &[]),
        session,
        needs,
    }))
}

fn never_in_git(path: &RepoPath) -> Finding {
    Finding::new(
        Code::ApprovalRequired,
        format!(
            "{path} needs the user's approval, and Git ignores it: a proposal would put its \
             content into Git's objects."
        ),
        "Ask the user to make this change.",
    )
    .nothing_changed()
    .at(path)
}

fn unborn() -> Finding {
    Finding::new(
        Code::NoSession,
        "The branch has no commit, so that a proposal has no parent.",
        "`edt begin` makes the first commit; then send the proposal again.",
    )
    .nothing_changed()
}
