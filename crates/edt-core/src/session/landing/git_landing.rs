//! Recognises sessions whose content reached their target by plain Git: a squash merge, a
//! cherry-pick, a rebase or a merge.

use std::collections::BTreeMap;

use crate::session::refs::commit::Commit;
use crate::session::refs::names::{numbered_tips, origin};
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{Merged, ObjectWriter, Oid, Repo, Tracked};
use edt_types::Result;

/// How many commits of a target are searched, along first parents.
const MAX_COMMITS: usize = 1000;
/// How many paths are looked up in commits of a target for one session.
const MAX_LOOKUPS: usize = 20_000;

/// The histories of the targets, read when they are first needed.
#[derive(Debug, Default)]
pub struct TargetHistories(BTreeMap<Oid, Vec<Commit>>);

impl TargetHistories {
    /// Whether the branch that the session began on has all of what the session changed between
    /// `base` and `tip`. A target that merely lacks the changes does not count.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn contain(&mut self, repo: &Repo, name: &str, base: Oid, tip: Oid) -> Result<bool> {
        let origin = origin(repo, name)?.filter(|origin| origin.starts_with("refs/heads/"));
        let target = origin.map(|origin| repo.ref_value(&origin)).transpose()?.flatten();
        let Some(target) = target.filter(|_| tip != base) else { return Ok(false) };
        let (base_tree, tip_tree) = (repo.tree_of(base)?, repo.tree_of(tip)?);
        let differs = repo.tree_diff(base_tree, tip_tree)?;
        if differs.is_empty() {
            return Ok(false);
        }
        let target_tree = repo.tree_of(target)?;
        if all_in(repo, target_tree, &differs)? {
            return Ok(true);
        }
        let merged = ObjectWriter::new(repo).merge_trees(base_tree, target_tree, tip_tree)?;
        if merged == Merged::Clean(target_tree) {
            return Ok(true);
        }
        // A landing that was reverted is in the history, and its content is not on the branch.
        let reverted = numbered_tips(repo, name, "unlanded")?;
        let commits = self.of(repo, target)?;
        if commits.iter().any(|commit| reverted.iter().any(|(_, undone)| *undone == commit.oid)) {
            return Ok(false);
        }
        once_in(repo, commits, base, differs)
    }

    /// The newest commits of `target`, along first parents.
    fn of(&mut self, repo: &Repo, target: Oid) -> Result<&[Commit]> {
        if let std::collections::btree_map::Entry::Vacant(e) = self.0.entry(target) {
            let (mut commits, mut next) = (Vec::new(), Some(target));
            while let Some(oid) = next.filter(|_| commits.len() < MAX_COMMITS) {
                let commit = Commit::read(repo, oid)?;
                next = commit.parent;
                commits.push(commit);
            }
            e.insert(commits);
        }
        Ok(self.0.get(&target).map_or(&[], Vec::as_slice))
    }
}

fn has(repo: &Repo, tree: Oid, differs: &TreeDifference) -> Result<bool> {
    let wanted = differs.new;
    Ok(match repo.tracked(tree, &differs.path)? {
        Tracked::File(file) => wanted.and_then(TreeItem::file) == Some(file),
        Tracked::Symlink | Tracked::Submodule => false,
        Tracked::Nothing | Tracked::Directory | Tracked::BelowFile => wanted.is_none(),
    })
}

fn all_in(repo: &Repo, tree: Oid, differs: &[TreeDifference]) -> Result<bool> {
    for one in differs {
        if !has(repo, tree, one)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether each path had the session's version in one of `commits`, which are newest first, since
/// `base`.
fn once_in(
    repo: &Repo,
    commits: &[Commit],
    base: Oid,
    mut missing: Vec<TreeDifference>,
) -> Result<bool> {
    let mut lookups = 0;
    // Before the base, the paths had other owners.
    let Some(end) = commits.iter().position(|commit| commit.oid == base) else { return Ok(false) };
    for commit in &commits[..end] {
        lookups += missing.len();
        if lookups > MAX_LOOKUPS {
            return Ok(false);
        }
        let mut left = Vec::new();
        for one in missing {
            if !has(repo, commit.tree, &one)? {
                left.push(one);
            }
        }
        if left.is_empty() {
            return Ok(true);
        }
        missing = left;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "1", "ONE");
        scratch.edit("second", "b.txt", "b", "B");
        scratch
    }

    fn landed(scratch: &Scratch) -> bool {
        let session = scratch.session();
        TargetHistories::default()
            .contain(&scratch.repo(), "fix", session.base, session.tip)
            .unwrap()
    }

    const A: (&str, Option<&str>) = ("a.txt", Some("ONE\n2\n3\n4\n5\n"));
    const B: (&str, Option<&str>) = ("b.txt", Some("B\n"));

    #[test]
    fn a_target_that_lacks_the_changes_does_not_count() {
        let scratch = scratch();
        assert!(!landed(&scratch));
        scratch.user_commit("main", &[("c.txt", Some("c\n"))], "other\n");
        assert!(!landed(&scratch));
    }

    #[test]
    fn a_squash_merge_is_recognised() {
        let scratch = scratch();
        scratch.user_commit("main", &[A, B], "squash\n");
        assert!(landed(&scratch));
    }

    #[test]
    fn commits_that_were_picked_one_by_one_are_recognised() {
        let scratch = scratch();
        scratch.user_commit("main", &[A], "one\n");
        assert!(!landed(&scratch));
        scratch.user_commit("main", &[B], "two\n");
        assert!(landed(&scratch));
    }

    #[test]
    fn a_merge_with_other_lines_is_recognised() {
        let scratch = scratch();
        scratch.user_commit("main", &[("a.txt", Some("ONE\n2\n3\n4\nFIVE\n")), B], "squash\n");
        assert!(landed(&scratch));
    }

    #[test]
    fn later_changes_of_the_same_lines_do_not_matter() {
        let scratch = scratch();
        scratch.user_commit("main", &[A, B], "squash\n");
        scratch.user_commit("main", &[("a.txt", Some("uno\n2\n3\n4\n5\n"))], "later\n");
        assert!(landed(&scratch));
    }

    #[test]
    fn a_session_that_only_removes_a_file_counts_if_the_target_removed_it() {
        let scratch = Scratch::with(&[("a.txt", "1\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.apply(&crate::Request::new("x").delete("b.txt").allow("delete")).unwrap();
        assert!(!landed(&scratch));
        scratch.user_commit("main", &[("b.txt", None)], "squash\n");
        assert!(landed(&scratch));
    }

    #[test]
    fn a_session_without_a_change_has_not_landed() {
        let scratch = Scratch::with(&[("a.txt", "1\n")]);
        scratch.begin("fix");
        assert!(!landed(&scratch));
    }
}
