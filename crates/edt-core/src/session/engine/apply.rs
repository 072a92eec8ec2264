//! Makes a change: the only place that hands changes to the journal.

use super::change::{Change, HeadMove};
use super::path_change::WorktreeChange;
use crate::proposal::running;
use crate::session::private::private_list;
use crate::session::private::uncovered;
use crate::session::refs::moves::{RefMove, RefMoves};
use crate::session::refs::record;
use edt_git::Repo;
use edt_journal::{BranchOrigin, BranchUpdate, ChangeSet, Journal};
use edt_types::{FileReport, Result, Warning};

/// A change that was made.
#[derive(Debug)]
pub struct Applied {
    /// The files that changed on disk.
    pub files: Vec<FileReport>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

/// Makes `change` in the worktree of `repo`, as durably as `journal` asks for.
///
/// # Errors
/// `SESSION_MOVED` if the branch, HEAD, the index or a file is not as the command saw it;
/// `SESSION_BUSY` if a running program's approval covers one; `REPOSITORY_BUSY`, `IO_ERROR`,
/// `OBJECT_MISSING`. Then nothing is changed.
pub fn apply(repo: &Repo, journal: &mut Journal, change: Change) -> Result<Applied> {
    let restored = change.restored.clone();
    let (set, files) = change_set(repo, change)?;
    running::check(repo, set.files.iter().map(|file| &file.path))?;
    // No commit has them from the moment that they exist. The list forgets a file that is gone, so
    // that they are added again afterwards.
    private_list::add(repo, &restored)?;
    // Without an ignore file among the changed ones, the worktree is not searched.
    let ignored = uncovered::ignored_before(repo, set.files.iter().map(|file| &file.path));
    let mut warnings = edt_journal::publish(repo, journal, set)?;
    warnings.extend(uncovered::after(repo, ignored));
    let _ = private_list::add(repo, &restored);
    Ok(Applied { files, warnings })
}

/// The change as the journal takes it, and the files that change on disk.
fn change_set(repo: &Repo, mut change: Change) -> Result<(ChangeSet, Vec<FileReport>)> {
    let private = change.take_private();
    let Change { branch, head, mut refs, mut objects, worktree, entry, .. } = change;
    let WorktreeChange { files, index, touched_trees, objects: more, reports, .. } = worktree;
    objects.extend(more);
    if let Some((before, step)) = entry {
        let begins = matches!(branch.from, BranchOrigin::Created(_));
        let at = (&before, begins);
        record::append(repo, at, (&step, branch.new), &mut refs, &mut objects)?;
    }
    let RefMove { name, from, new, log } = branch;
    let HeadMove { on_branch, from: head_from, to: head_to, point } = head;
    let RefMoves { create, replace, delete } = refs;
    let branch = BranchUpdate { name, from, new, log, head: on_branch, head_from, point };
    let set = ChangeSet {
        objects,
        create,
        head_to,
        replace,
        drop: delete,
        files,
        index,
        touched_trees,
        private,
        ..ChangeSet::of(branch)
    };
    Ok((set, reports))
}
