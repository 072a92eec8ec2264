//! The files on disk while Git's hooks judge a landing. Many hooks read them in place of the index,
//! and formatters change them. So the files must have the text that lands, and what hooks change in
//! tracked files is recorded in the session: the next landing has it.

use std::collections::BTreeSet;

use super::plan::{LandPlan, LandTarget, PlannedCommit};
use crate::session::files::path_state::PathState;
use crate::session::recording::record::{CommitInfo, RecordAction, record_changes};
use crate::session::recording::review::ChangesPreview;
use crate::session::recording::snapshot::{Snapshot, differing};
use crate::session::refs::current::Session;
use crate::session::refs::message::Kind;
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::commit_hooks;
use edt_git::{ObjectWriter, Oid, Repo, Tracked};
use edt_types::text::Shown as _;
use edt_types::{Code, Effect, Finding, Refusal, RepoPath, Result};

/// The files of a session before Git's hooks ran.
#[derive(Debug)]
pub(super) struct HookFiles {
    /// The tree of the session's tip.
    tree: Oid,
    /// The paths that may differ from it: the user's changes and untracked files.
    differing: BTreeSet<RepoPath>,
}

impl HookFiles {
    /// `None` if no hook reads files.
    ///
    /// # Errors
    /// `IO_ERROR`, `OBJECT_MISSING`.
    pub(super) fn of(repo: &Repo, session: &Session) -> Result<Option<HookFiles>> {
        if !commit_hooks::read_files(repo) {
            return Ok(None);
        }
        let tree = repo.tree_of(session.tip)?;
        Ok(Some(HookFiles { tree, differing: differing(repo, tree)? }))
    }

    /// Checks that the files that land have on disk the text that lands. Files of a part of the
    /// session may have later edits.
    ///
    /// # Errors
    /// `HOOKS_READ_DISK` with the paths; `OBJECT_MISSING`, errors of reading path states.
    pub(super) fn check_disk(
        &self,
        writer: &ObjectWriter<'_>,
        target: &LandTarget,
        plan: &LandPlan,
        is_all: bool,
    ) -> Result<()> {
        let squashes = |one: &PlannedCommit| matches!(one, PlannedCommit::Squash { .. });
        if !plan.planned.iter().any(squashes) {
            return Ok(());
        }
        let paths = |from: Oid| -> Result<BTreeSet<RepoPath>> {
            Ok(writer.tree_diff(from, plan.tree)?.into_iter().map(|one| one.path).collect())
        };
        let (landed, merged) = (paths(target.tree(writer.repo())?)?, paths(self.tree)?);
        let merged: Vec<&RepoPath> = landed.intersection(&merged).collect();
        if !merged.is_empty() && !is_all {
            let remedy = "`edt land` lands the whole session, whose files are on disk.".to_owned();
            return Err(other_text("is not of the part that lands", &merged, remedy).into());
        }
        if !merged.is_empty() {
            let remedy = format!(
                "Merge {0} into the session (`git merge {0}` on the session's branch), then repeat \
                 `edt land`.",
                target.short()
            );
            return Err(other_text("is not merged with the branch", &merged, remedy).into());
        }
        let mut changed = Vec::new();
        for path in landed.intersection(&self.differing) {
            let state = PathState::at(writer.repo(), self.tree, None, path)?;
            if state.disk_file() != state.tip {
                changed.push(path);
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = changed.iter().map(|path| path.for_shell()).collect();
        let remedy = format!(
            "The user must commit or stash their changes (`git stash push -- {}`); then repeat \
             `edt land`.",
            names.join(" ")
        );
        Err(other_text("has uncommitted changes", &changed, remedy).into())
    }

    /// Records what the hooks changed in tracked files without changes of the user. `landed`: the
    /// target and the tree that the hooks passed, or why the landing was refused.
    ///
    /// # Errors
    /// The refusal with what was recorded; `GIT_OPERATION_BLOCKED` if hooks passed the landing and
    /// changed a file that lands, without staging it; `OBJECT_MISSING`, `IO_ERROR`.
    pub(super) fn after_hooks(
        &self,
        workspace: &mut LockedWorkspace,
        session: &Session,
        landed: std::result::Result<(&LandTarget, Oid), &Refusal>,
    ) -> Result<()> {
        let repo = &workspace.repo;
        let (mut changed, refusal) = (self.changed(repo)?, landed.err().cloned());
        if let Ok((target, to)) = landed {
            let from = target.tree(repo)?;
            let lands: BTreeSet<RepoPath> =
                repo.tree_diff(from, to)?.into_iter().map(|one| one.path).collect();
            changed.retain(|path| lands.contains(path));
            changed = differs_from(repo, to, changed)?;
        }
        if let Some(other) = refusal.as_ref().filter(|found| !found.any(is_hooks)) {
            return Err(other.clone());
        }
        let is_here = Session::current(repo, &repo.head()?)?.as_ref() == Some(session);
        if changed.is_empty() || !is_here {
            return refusal.map_or(Ok(()), Err);
        }
        let info = CommitInfo {
            message: "changes by Git's hooks".to_owned(),
            agent: None,
            kind: Kind::Run,
        };
        // The files were those of the session's tip.
        let mut before = Snapshot::empty(repo)?;
        before.tree = Some(self.tree);
        let mut record = |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
        let recorded = record_changes(workspace, &before, &info, Some(&changed), &mut record);
        // Without the record the files are uncommitted, as after a commit with Git.
        let recorded = match recorded {
            Ok(recorded) if recorded.commit.is_some() => recorded,
            recorded => return Err(refusal.or(recorded.err()).unwrap_or_else(|| moved().into())),
        };
        let names: Vec<String> = changed.iter().map(RepoPath::text).collect();
        let edit = recorded.session.last_number(&workspace.repo)?;
        let remedy = format!(
            "The hooks changed {}, and edt recorded that as edit {edit} of the session: see `edt \
             diff {edit}`. If it is right, repeat `edt land`; otherwise `edt undo`.",
            names.join(", ").shown()
        );
        let refusal = refusal.unwrap_or_else(|| {
            let summary = "Git's hooks passed the commit, and changed files on disk without \
                           staging them. So they may have passed another text than the one that \
                           would land.";
            Finding::new(Code::GitOperationBlocked, summary, "").into()
        });
        Err(refusal.map(|finding| {
            let finding = Finding { remedy: remedy.clone(), ..finding };
            finding.with_effect(Effect::NothingLanded).with("recorded", names.clone())
        }))
    }

    /// The tracked files that differ from the session's tip now and did not before.
    fn changed(&self, repo: &Repo) -> Result<Vec<RepoPath>> {
        let mut new = Vec::new();
        for path in differing(repo, self.tree)? {
            if !self.differing.contains(&path)
                && matches!(repo.tracked(self.tree, &path)?, Tracked::File(_))
            {
                new.push(path);
            }
        }
        differs_from(repo, self.tree, new)
    }
}

/// Those of `paths` whose file on disk is not that of `tree`.
fn differs_from(repo: &Repo, tree: Oid, paths: Vec<RepoPath>) -> Result<Vec<RepoPath>> {
    let mut all = Vec::new();
    for path in paths {
        let state = PathState::at(repo, tree, None, &path)?;
        if state.disk_file() != state.tip {
            all.push(path);
        }
    }
    Ok(all)
}

fn other_text(why: &str, paths: &[&RepoPath], remedy: String) -> Finding {
    let names: Vec<String> = paths.iter().map(|path| path.text()).collect();
    let code = Code::HooksReadDisk;
    let summary = format!(
        "Git's hooks may read files from disk, and what is on disk {why}: {}. So they would judge \
         another text than the one that lands.",
        names.join(", ").shown()
    );
    let finding = Finding { override_remedy: Some(
        "If the hooks read the index alone, as those of the programs pre-commit and lint-staged do, \
         `edt land --allow hooks_read_disk`."
            .to_owned(),
    ), ..Finding::new(code, summary, remedy) };
    finding.with_effect(Effect::NothingLanded).with("paths", names)
}

/// Whether it is what a hook refused.
fn is_hooks(finding: &Finding) -> bool {
    finding.evidence.contains_key("hook")
}

fn moved() -> Finding {
    let message = "Files changed while Git's hooks ran.";
    Finding::new(Code::SessionMoved, message, "Repeat the call.").with_effect(Effect::NothingLanded)
}
