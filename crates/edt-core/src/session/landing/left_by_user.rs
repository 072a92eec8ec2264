//! A branch as the user left it: without the newest landings by others than the user. The branch's
//! reflog says who landed.

use super::plan::LandTarget;
use edt_git::{Oid, Repo};
use edt_types::Result;

/// The start of the lines of a reflog for landings by others, and for their reversal.
const LANDINGS: [&str; 2] = ["edt land: ", "edt land --undo: "];

/// The line of a reflog for a landing of `what` with `command`.
#[must_use]
pub(crate) fn log(command: &str, by_user: bool, what: &str) -> String {
    let by = if by_user { " by the user" } else { "" };
    format!("{command}{by}: {what}")
}

/// The tree of `target` as the user left it. Without a reflog it is the tree of its tip.
///
/// # Errors
/// `OBJECT_MISSING`.
pub(crate) fn tree(repo: &Repo, target: &LandTarget) -> Result<Oid> {
    let Some(tip) = target.tip else { return Ok(repo.empty_tree()) };
    let is_landing = |message: &str| LANDINGS.iter().any(|start| message.starts_with(start));
    repo.tree_of(repo.logged_before(&target.branch, tip, is_landing))
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
