//! Which commits an agent may check out: protected files of others may be a proposal, or a branch of
//! someone else, that nobody reviewed.

use super::workspace::LockedWorkspace;
use crate::session::refs::current::Session;
use crate::session::refs::names::{BRANCHES, base_ref, origin};
use edt_git::Repo;
use edt_git::{Head, Oid};
use edt_types::{Code, Effect, Finding, Result};

/// Refuses to put protected files of `commit` into the worktree if they differ from those of the
/// user's branch `home`, and `commit` is neither in its history nor in that of its upstream or of a
/// local protected branch.
/// `action` is what only the user may do then.
///
/// # Errors
/// `PROTECTED_PATH`; `OBJECT_MISSING`, `IO_ERROR`.
pub(crate) fn check(
    workspace: &LockedWorkspace,
    home: &Head,
    commit: Oid,
    action: &str,
) -> Result<()> {
    let repo = &workspace.repo;
    let from = home.commit.map_or_else(|| Ok(repo.empty_tree()), |tip| repo.tree_of(tip))?;
    let policy = workspace.policy(from)?;
    let differs = repo.tree_diff(from, repo.tree_of(commit)?)?;
    let Some(changed) = differs.into_iter().find(|one| policy.protects(&one.path)) else {
        return Ok(());
    };
    // What a fetch brought may be anybody's: of those branches only the upstream counts.
    let is_protected = |name: &str| {
        name.strip_prefix("refs/heads/").is_some_and(|branch| policy.protects_branch(branch))
    };
    let local = repo.refs_below("refs/heads/")?;
    let protected = local.into_iter().filter(|(name, _)| is_protected(name)).map(|(_, tip)| tip);
    let upstream = home.branch.as_deref().and_then(|branch| repo.upstream(branch));
    let upstream = upstream.map_or(Ok(None), |name| repo.ref_value(&name))?;
    for tip in home.commit.into_iter().chain(upstream).chain(protected) {
        if tip == commit || repo.merge_bases(tip, commit)?.contains(&commit) {
            return Ok(());
        }
    }
    Err(Finding::new(
        Code::ProtectedPath,
        format!(
            "Commit {} is in no protected branch of this repository and not in the upstream, and it \
             has another {} than the user's branch. Only the user may {action}.",
            commit.to_hex_with_len(12),
            changed.path
        ),
        "Use HEAD, its upstream or a local protected branch; or ask the user to type this command in a terminal.",
    )
    .nothing_changed()
    .at(&changed.path)
    .into())
}

/// The same for the target of a landing, which the worktree follows.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_target(workspace: &LockedWorkspace, target: Option<Oid>) -> Result<()> {
    let Some(target) = target else { return Ok(()) };
    let head = workspace.repo.head()?;
    let home = match Session::current(&workspace.repo, &head)? {
        Some(running) => users_head(&workspace.repo, &running)?,
        None => head,
    };
    check(workspace, &home, target, "land there")
        .map_err(|found| found.map(|one| one.with_effect(Effect::NothingLanded)))
}

/// HEAD as it would be if the worktree were not in `running`: on the user's branch.
pub(crate) fn users_head(repo: &Repo, running: &Session) -> Result<Head> {
    let mut name = running.name.clone();
    let mut target = origin(repo, &name)?.unwrap_or_default();
    // A session of an earlier version may have begun on another session's branch.
    for _ in 0..16 {
        let Some(outer) = target.strip_prefix(BRANCHES) else { break };
        if repo.ref_value(&base_ref(outer))?.is_none() {
            break;
        }
        outer.clone_into(&mut name);
        target = origin(repo, &name)?.unwrap_or_default();
    }
    if let Ok(commit) = Oid::from_hex(target.as_bytes()) {
        return Ok(Head { branch: None, commit: Some(commit) });
    }
    if !target.starts_with("refs/heads/") {
        return Ok(Head { branch: None, commit: Some(running.base) });
    }
    let tip = repo.ref_value(&target)?;
    // The branch is gone, or it is unborn.
    let base = Some(running.base).filter(|base| *base != repo.empty_tree());
    Ok(Head { branch: Some(target), commit: tip.or(base) })
}
