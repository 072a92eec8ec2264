//! Brings the names that a transaction changed to stable storage. The content of a file or ref is there
//! before it gets its name.
//!
//! On ext4 and xfs one call brings everything that came before it; on btrfs each file needs its own.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::change_set::ChangeSet;
use super::files::StagingArea;
use super::index;
use super::pointers::{BranchOrigin, BranchUpdate};
use super::record::{ChangeRecord, FileRecord};
use edt_git::{Repo, is_per_worktree};
use edt_io::disk::Parent;
use edt_io::{failed, file};
use edt_types::{RepoPath, Result};

impl StagingArea<'_> {
    /// The files that are staged for `records` in edt's directory and must be synced before they get
    /// their names. Those on another mount are synced now.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub(super) fn unsynced(&self, records: &[FileRecord]) -> Result<Vec<PathBuf>> {
        let wrap =
            |error: io::Error| failed("sync what is staged in", self.repo.state_path(), &error);
        let mut own = Vec::new();
        for record in records.iter().filter(|one| one.new.is_some() && self.repo.is_durable()) {
            if record.on_mount {
                let dir = self.staging_dir(record).map_err(wrap)?;
                dir.sync(record.stage.as_bytes()).map_err(wrap)?;
            } else {
                own.push(self.repo.state_path().join("stage").join(&record.stage));
            }
        }
        Ok(own)
    }

    /// Syncs the names at the targets of `records`, if the repository is durable. Many of them are
    /// synced together with their file system, where the system can do that.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub(super) fn sync_targets(&self, records: &[FileRecord]) -> Result<()> {
        if records.len() > file::FEW_SYNCS && self.repo.is_durable() {
            let wrap = |error: io::Error| failed("sync", self.repo.root_path(), &error);
            if let Parent::Open(root) = self.repo.root().beneath(b"").map_err(wrap)?
                && root.sync_file_system().map_err(wrap)?
            {
                // A removed file may have been on another mount.
                let mut others = records.iter().filter(|one| one.on_mount || one.new.is_none());
                return others.try_for_each(|one| self.sync_target(one));
            }
        }
        records.iter().try_for_each(|one| self.sync_target(one))
    }

    fn sync_target(&self, record: &FileRecord) -> Result<()> {
        if !self.repo.is_durable() {
            return Ok(());
        }
        let path = RepoPath::from_tree(&record.path);
        let (directory, name) = path.split();
        let wrap =
            |error: io::Error| failed("sync", &self.repo.root_path().join(path.text()), &error);
        // The directory may be gone with its last file.
        let mut above = directory;
        loop {
            if let Parent::Open(dir) = self.repo.root().beneath(above).map_err(wrap)? {
                let has_file = above == directory && dir.stat(name).map_err(wrap)?.is_some();
                // Its owner may not be able to read it.
                let is_synced = has_file && dir.sync(name).is_ok();
                return if is_synced { Ok(()) } else { Ok(dir.sync_entries().map_err(wrap)?) };
            }
            if above.is_empty() {
                return Ok(());
            }
            above = &above[..above.iter().rposition(|&b| b == b'/').unwrap_or(0)];
        }
    }
}

/// Syncs the move that commits a transaction.
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn sync_decision(repo: &Repo, branch: &BranchUpdate) -> Result<()> {
    if branch.stays() {
        sync_moved(repo, ["HEAD"].into_iter())
    } else if branch.old() == Some(branch.new) {
        Ok(())
    } else if repo.has_tables() || matches!(branch.from, BranchOrigin::Created(_)) {
        sync_created(repo, [branch.name.as_str()].into_iter())
    } else {
        sync_moved(repo, [branch.name.as_str()].into_iter())
    }
}

/// Syncs the logs, and the name of the index.
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn sync_end(repo: &Repo, change: &ChangeSet, has_index: bool) -> Result<()> {
    if !repo.is_durable() {
        return Ok(());
    }
    let branch = &change.branch;
    let mut paths: Vec<PathBuf> = Vec::new();
    if !repo.has_tables() {
        let logged = branch.logged(repo, change.head_to.as_deref());
        paths.extend(logged.iter().map(|name| repo.log_path(name)).filter(|log| log.exists()));
    }
    if has_index && let Some(directory) = repo.index_path().parent() {
        paths.push(directory.to_owned());
    }
    let synced = file::sync_together(&paths);
    synced.map_err(|error| failed("sync", repo.git_dir(), &error).into())
}

/// Syncs the refs that follow the branch. `pointer`: see [`Journal::pointer`](super::Journal::pointer).
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn sync_followers(repo: &Repo, change: &ChangeSet, pointer: &str) -> Result<()> {
    let branch = &change.branch;
    let head = branch.head_from.as_ref().filter(|_| !branch.stays()).map(|_| "HEAD");
    sync_moved(repo, head.into_iter().chain(change.replace.iter().map(|(name, ..)| &**name)))?;
    sync_created(repo, branch.point.as_deref().into_iter())?;
    sync_deleted(repo, dropped(&change.drop, pointer))
}

/// The deleted refs, and the symbolic ref that may have named one: without its branch, Git reports
/// it as damaged.
fn dropped<'n, T>(drop: &'n [(String, T)], pointer: &'n str) -> impl Iterator<Item = &'n str> {
    let pointer = drop.first().map(|_| pointer);
    drop.iter().map(|(name, _)| &**name).chain(pointer)
}

/// Syncs everything that recovery may have changed for `record`, besides its files. `pointer`: see
/// [`Journal::pointer`](super::Journal::pointer).
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn sync_record(repo: &Repo, record: &ChangeRecord, pointer: &str) -> Result<()> {
    let created = record.create.iter().map(|(name, _)| &**name);
    let names = [&*record.branch.name, "HEAD"].into_iter().chain(record.branch.point.as_deref());
    let moved = record.replace.iter().map(|(name, ..)| &**name);
    let all: Vec<&str> = created.chain(names).chain(moved).collect();
    // What was rolled back is gone.
    let (existing, gone): (Vec<&str>, Vec<&str>) =
        all.into_iter().partition(|name| repo.has_tables() || repo.ref_path(name).exists());
    sync_created(repo, existing.into_iter())?;
    sync_deleted(repo, gone.into_iter().chain(dropped(&record.drop, pointer)))?;
    if repo.is_durable() && !record.entries.is_empty() { index::sync(repo) } else { Ok(()) }
}

/// Syncs refs that exist and got another value.
fn sync_moved<'n>(repo: &Repo, names: impl Iterator<Item = &'n str>) -> Result<()> {
    if !repo.is_durable() {
        return Ok(());
    }
    for name in names {
        sync_one(repo, name)?;
    }
    Ok(())
}

/// Syncs new refs and the directories above them.
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn sync_created<'n>(repo: &Repo, names: impl Iterator<Item = &'n str>) -> Result<()> {
    if !repo.is_durable() {
        return Ok(());
    }
    let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
    for name in names {
        sync_one(repo, name)?;
        if !repo.has_tables() {
            let (path, top) = (repo.ref_path(name), top_of(repo, name));
            let above = path.ancestors().skip(1).take_while(|above| *above != top);
            directories.extend(above.chain([top]).map(Path::to_owned));
        }
    }
    // A directory is synced before the one that names it.
    directories.iter().rev().try_for_each(|directory| sync_if_there(directory).map(drop))
}

/// Syncs the directories of refs that were deleted, and the packed refs.
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn sync_deleted<'n>(repo: &Repo, names: impl Iterator<Item = &'n str>) -> Result<()> {
    if !repo.is_durable() {
        return Ok(());
    }
    let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
    for name in names {
        if repo.has_tables() {
            directories.insert(repo.tables_dir(name));
            continue;
        }
        directories.insert(top_of(repo, name).to_owned());
        // Empty directories are deleted with the ref.
        let path = repo.ref_path(name);
        directories
            .extend(path.ancestors().skip(1).find(|above| above.exists()).map(Path::to_owned));
    }
    directories.iter().rev().try_for_each(|directory| sync_if_there(directory).map(drop))
}

fn sync_one(repo: &Repo, name: &str) -> Result<()> {
    if repo.has_tables() {
        return sync_if_there(&repo.tables_dir(name)).map(drop);
    }
    // Git may have packed it meanwhile.
    if !sync_if_there(&repo.ref_path(name))? {
        sync_if_there(&repo.common_dir().join("packed-refs"))?;
        sync_if_there(repo.common_dir())?;
    }
    Ok(())
}

fn top_of<'r>(repo: &'r Repo, name: &str) -> &'r Path {
    if is_per_worktree(name) { repo.git_dir() } else { repo.common_dir() }
}

/// Syncs the file or directory at `path`; false if it does not exist.
fn sync_if_there(path: &Path) -> Result<bool> {
    match file::sync(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        synced => Ok(synced.map(|()| true).map_err(|error| failed("sync", path, &error))?),
    }
}
