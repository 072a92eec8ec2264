//! Makes the beginning of a session durable without waiting for the writes of other programs.
//!
//! `syncfs` waits for everything on the file system. A new session needs only its names: recovery
//! rewrites the objects, files and index entries from the journal, as for any edit.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use edt_git::{Repo, is_per_worktree};
use edt_io::file;

use super::index;
use super::pointers::BranchOrigin;
use super::publish::ChangeSet;

/// Syncs the refs that `change` created, HEAD and all their directories. Returns false if `change`
/// does more than begin a session, or if a ref was packed meanwhile: everything must be synced.
///
/// The index is synced before the refs, because btrfs syncs each file without those that were
/// written before it.
pub(super) fn sync(repo: &Repo, change: &ChangeSet) -> bool {
    let branch = &change.branch;
    let begins = matches!(branch.from, BranchOrigin::Created(_))
        && change.drop.is_empty()
        && change.replace.is_empty()
        && change.head_to.is_none();
    let created = change.create.iter().map(|(name, _)| name.as_str());
    let head = branch.head_from.as_ref().map(|_| "HEAD");
    let names = created.chain([branch.name.as_str()]).chain(branch.point.as_deref()).chain(head);
    begins && (head.is_none() || index::sync(repo).is_ok()) && sync_names(repo, names).is_ok()
}

fn sync_names<'n>(repo: &Repo, names: impl Iterator<Item = &'n str>) -> io::Result<()> {
    let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
    for name in names {
        if repo.has_tables() {
            directories.insert(repo.tables_dir(name));
            continue;
        }
        let below = if is_per_worktree(name) { repo.git_dir() } else { repo.common_dir() };
        let path = repo.ref_path(name);
        file::sync(&path)?;
        let above = path.ancestors().skip(1).take_while(|above| *above != Path::new(below));
        directories.extend(above.chain([below]).map(Path::to_owned));
    }
    // A directory is synced before the one that names it.
    directories.iter().rev().try_for_each(|directory| file::sync(directory))
}
