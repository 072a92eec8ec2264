//! Makes a change: the only place that hands changes to the journal.

use super::change::{Change, HeadMove};
use super::path_change::WorktreeChange;
use crate::session::private::private_list;
use crate::session::private::uncovered;
use crate::session::refs::moves::{RefMove, RefMoves};
use crate::session::refs::record;
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::Repo;
use edt_journal::{BranchOrigin, BranchUpdate, ChangeSet, PrivateRecord};
use edt_types::{FileReport, Result, Warning};

/// A change that was made.
#[derive(Debug)]
pub struct Applied {
    /// The files that changed on disk.
    pub files: Vec<FileReport>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

/// Makes `change` in the worktree of `workspace`.
///
/// # Errors
/// `SESSION_MOVED` if the branch, HEAD, the index or a file is not as the command saw it;
/// `REPOSITORY_BUSY`, `IO_ERROR`, `OBJECT_MISSING`. Then nothing is changed.
pub fn apply(workspace: &mut LockedWorkspace, change: Change) -> Result<Applied> {
    apply_in(workspace, None, change)
}

/// The same, in the worktree of `elsewhere` if there is one. Durability is that of `workspace`.
///
/// # Errors
/// As [`apply`].
pub fn apply_in(
    workspace: &mut LockedWorkspace,
    elsewhere: Option<&mut LockedWorkspace>,
    change: Change,
) -> Result<Applied> {
    if let Some(base) = change.base {
        workspace.require_durability(base);
    }
    let level = workspace.journal.durability();
    let place = elsewhere.unwrap_or(workspace);
    place.journal.require_durability(level);
    let restored = change.restored.clone();
    let (set, files) = change_set(&place.repo, change)?;
    // Without an ignore file among the changed ones, the worktree is not searched.
    let ignored = uncovered::ignored_before(&place.repo, set.files.iter().map(|file| &file.path));
    let mut warnings = edt_journal::publish(&place.repo, &mut place.journal, set)?;
    warnings.extend(uncovered::after(&place.repo, ignored));
    // The change is made, whether or not they can be listed.
    let _ = private_list::add(&place.repo, &restored);
    Ok(Applied { files, warnings })
}

/// The change as the journal takes it, and the files that change on disk.
fn change_set(repo: &Repo, change: Change) -> Result<(ChangeSet, Vec<FileReport>)> {
    let Change { session, branch, head, mut refs, mut objects, worktree, private, entry, .. } =
        change;
    let WorktreeChange { files, index, touched_trees, objects: more, private: bytes, reports } =
        worktree;
    objects.extend(more);
    if let Some((before, step)) = entry {
        let begins = matches!(branch.from, BranchOrigin::Created(_));
        let at = (&before, begins);
        record::append(repo, at, (&step, branch.new), &mut refs, &mut objects)?;
    }
    // Only recovery reads the bytes of a move: a few names are enough.
    let name = format!("move-{}", branch.new.to_hex_with_len(1));
    let of_move = (!bytes.is_empty()).then(|| PrivateRecord { session, name, files: bytes });
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
        private: private.or(of_move),
        ..ChangeSet::of(branch)
    };
    Ok((set, reports))
}
