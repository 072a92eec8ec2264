//! A judged plan put aside: drafted as trees that a person decides on, made on what stands on disk now. No branch moves.

use super::commit::subject;
use super::digest;
use super::guard::{Cleared, Grant, Held};
use super::report;
use crate::base::{Code, Finding, Outcome, Result, Status};
use crate::git::objects::Loose;
use crate::git::{Draft, FileId, Oid, TreeChange};
use crate::session::checkpoint::Why;
use crate::session::{Checkpoints, Look, Session, World};

/// A change that may be proposed. Its objects are drafted; nothing is on disk.
#[derive(Debug)]
pub struct Aside {
    /// The session it belongs to, there or imagined.
    pub session: Session,
    /// What it is made on: the session's tip, with what stands unrecorded at its paths.
    pub parent: Oid,
    /// Its tree.
    pub tree: Oid,
    /// What it changes, as one value.
    pub digest: String,
    /// The paths it changes, in order.
    pub paths: Vec<String>,
    /// The new objects, each after what it names.
    pub objects: Vec<Loose>,
    /// Subject and body of its message.
    pub text: String,
    /// Who asks.
    pub agent: Option<String>,
    /// The overrides that the request itself may make, and needed.
    pub allowed: Vec<String>,
    /// What only a person may allow.
    pub needs: Vec<Finding>,
    /// The answer, as of a dry run.
    pub outcome: Outcome,
}

impl Aside {
    /// What a person grants by approving it.
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

/// Drafts what was judged.
///
/// # Errors
/// `NO_SESSION` on a branch without a commit; `OBJECT_MISSING`.
pub(super) fn draft(
    world: &World,
    judged: std::result::Result<Cleared<'_>, Held<'_>>,
) -> Result<Option<Aside>> {
    let (cleared, needs) = match judged {
        Ok(cleared) => (cleared, Vec::new()),
        Err(held) => (held.cleared, held.needs),
    };
    if cleared.changes_nothing() {
        return Ok(None);
    }
    let repo = &world.repo;
    let session = cleared.scene.session.clone();
    if session.tip == repo.empty_tree() {
        return Err(unborn().into());
    }
    let mut draft = Draft::new(repo);
    let edits = if cleared.scene.exists { session.edits(repo)? } else { 0 };
    let looks: Vec<&Look> =
        cleared.files.iter().filter_map(|file| cleared.scene.looks.get(&file.path)).collect();
    let below = Checkpoints::draft(
        &mut draft,
        &session,
        cleared.scene.tip_tree,
        edits,
        &looks,
        Why::Foreign,
    )?;
    let mut changes = Vec::new();
    for file in &cleared.files {
        let blob = |content: &super::plan::Content| -> Result<FileId> {
            Ok(FileId { oid: draft.blob(content.blob())?, mode: content.mode })
        };
        let new = file.after.as_ref().map(blob).transpose()?;
        changes.push(TreeChange { path: file.path.clone(), file: new });
    }
    let (tree, _) = draft.tree(below.tree, &changes)?;
    Ok(Some(Aside {
        digest: digest::of(&draft, below.tree, tree)?,
        parent: below.tip,
        tree,
        paths: cleared.files.iter().map(|file| file.path.to_string()).collect(),
        objects: draft.loose(),
        text: cleared.request.message.clone().unwrap_or_else(|| subject(&cleared)),
        agent: cleared.request.agent.clone(),
        allowed: cleared.allowed.clone(),
        outcome: report::of(world, &cleared, Status::Proposed, &[]),
        session,
        needs,
    }))
}

fn unborn() -> Finding {
    Finding::new(
        Code::NoSession,
        "There is no commit here that a proposal could be made on. Nothing was changed.",
        "`edt begin` makes the first one; then send the proposal again.",
    )
}
