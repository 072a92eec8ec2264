//! Where a landing goes: its branch, the worktree that has it checked out, and the queue.

use std::path::PathBuf;
use std::time::Duration;

use super::options::LandOptions;
use super::plan::LandTarget;
use crate::session::refs::current::Session;
use crate::session::refs::names::{POINTER, origin};
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::Repo;
use edt_types::text::Shown as _;
use edt_types::{Code, Effect, Finding, Result};

/// The longest wait for the landings of other worktrees, with their hooks.
pub(crate) const LANDING_QUEUE_WAIT: Duration = Duration::from_secs(120);

/// The branch to land on.
pub(crate) fn target(repo: &Repo, session: &Session, options: &LandOptions) -> Result<LandTarget> {
    let unknown = |why: String| {
        Finding::new(
            Code::BadRequest,
            why.clone(),
            "Name a branch to land on: `edt land --into BRANCH` (`git branch` lists them).",
        )
        .nothing_changed()
    };
    let origin = origin(repo, &session.name)?;
    let branch = match (&options.into, &origin) {
        (Some(into), _) if into.starts_with("refs/heads/") => into.clone(),
        (Some(into), _) => format!("refs/heads/{into}"),
        (None, Some(origin)) if origin.starts_with("refs/heads/") => origin.clone(),
        (None, _) => {
            let name = session.short_branch();
            return Err(unknown(format!("{name} did not begin on a branch.")).into());
        }
    };
    if !repo.is_ref_name(&branch) || branch == session.branch() {
        return Err(unknown(format!(
            "{branch} is not a branch that {} can land on.",
            session.short_branch()
        ))
        .into());
    }
    let tip = repo.ref_value(&branch)?;
    let unborn = session.base == repo.empty_tree() && origin.as_ref() == Some(&branch);
    if tip.is_none() && !unborn {
        return Err(unknown(format!(
            "There is no branch {}.",
            branch.trim_start_matches("refs/heads/")
        ))
        .into());
    }
    let referent = repo.referent(&branch)?;
    let alias = (referent != branch).then_some(branch);
    Ok(LandTarget { branch: referent, alias, tip })
}

/// The file that landings lock, one after the other.
pub(crate) fn landing_lock(repo: &Repo) -> Result<PathBuf> {
    let state = repo.common_dir().join("edt");
    edt_io::fs::make_dir(&state).map_err(|error| edt_io::failed("make", &state, &error))?;
    Ok(state.join("landing"))
}

/// The other worktree that has the target checked out, opened for changes. The session's own
/// branch does not count.
pub(crate) fn other_worktree(
    workspace: &LockedWorkspace,
    session: Option<&Session>,
    target: &LandTarget,
) -> Result<Option<(LockedWorkspace, PathBuf)>> {
    for other in workspace.repo.other_worktrees(POINTER) {
        let busy = |why: &str, hint: &str| {
            let message = format!("{} {why} ({}).", target.short(), other.git_dir.shown());
            Finding::new(Code::RepositoryBusy, message, hint.to_owned())
                .with_effect(Effect::NothingLanded)
        };
        if other.is_rebasing_or_bisecting(&target.branch) {
            return Err(busy(
                "is being rebased or bisected in another worktree",
                "The user must finish that there first; then repeat `edt land`.",
            )
            .into());
        }
        let is_own = session.is_some_and(|session| other.head == Some(session.branch()));
        let Some(head) = other.head.as_ref().filter(|_| !is_own) else { continue };
        if workspace.repo.referent(head)? != target.branch {
            continue;
        }
        if let Some(root) = workspace.repo.worktree_root(&other) {
            return Ok(Some((workspace.neighbour(&root)?, root)));
        }
        if !other.is_main() {
            let hint = "Restore that worktree, or remove its entry with `git worktree prune`; \
                then repeat `edt land`.";
            return Err(busy("is checked out in a worktree that is missing", hint).into());
        }
    }
    Ok(None)
}
