//! A branch as the user left it: without the newest landings by others than the user. The branch's
//! reflog says who landed.

use super::history::Commit;
use super::land_plan::LandTarget;
use edt_git::{Oid, Repo};
use edt_types::Result;

/// The start of the lines of a reflog for landings by others, and for their reversal.
const LANDINGS: [&str; 2] = ["edt land: ", "edt land --undo: "];

/// The line of a reflog for a landing of `what` with `command`.
#[must_use]
pub(super) fn log(command: &str, by_user: bool, what: &str) -> String {
    let by = if by_user { " by the user" } else { "" };
    format!("{command}{by}: {what}")
}

/// The tree of `target` as the user left it. Without a reflog it is the tree of its tip.
///
/// # Errors
/// `OBJECT_MISSING`.
pub(super) fn tree(repo: &Repo, target: &LandTarget) -> Result<Oid> {
    commit(repo, target).map_or_else(|| Ok(repo.empty_tree()), |commit| repo.tree_of(commit))
}

fn commit(repo: &Repo, target: &LandTarget) -> Option<Oid> {
    let is_landing = |message: &str| LANDINGS.iter().any(|start| message.starts_with(start));
    target.tip.map(|tip| repo.logged_before(&target.branch, tip, is_landing))
}

/// The most commits between a branch and its state as the user left it that are looked at.
const MAX_COMMITS: usize = 1000;

/// The commits of `target` since the user left it, oldest first; none if they are too many or do not
/// lead there.
///
/// # Errors
/// `OBJECT_MISSING`.
pub(super) fn commits_since(repo: &Repo, target: &LandTarget) -> Result<Vec<Commit>> {
    let (mut all, mut at, left) = (Vec::new(), target.tip, commit(repo, target));
    while at != left {
        let Some(oid) = at.filter(|_| all.len() < MAX_COMMITS) else { return Ok(Vec::new()) };
        let commit = Commit::read(repo, oid)?;
        at = commit.parent;
        all.push(commit);
    }
    all.reverse();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_landings_by_others_count() {
        let counts = |log: &str| LANDINGS.iter().any(|start| log.starts_with(start));
        for command in ["edt land", "edt land --undo"] {
            assert!(counts(&log(command, false, "edt/fix")));
            assert!(!counts(&log(command, true, "edt/fix")));
        }
        assert!(!counts("commit: edt land: fix"));
    }
}
