//! The owner of what root creates. In a container or with sudo, root works in repositories of other
//! users, and what it leaves there must not lock them out. So what root creates belongs to the
//! owner of the directory that it is created in. For other users nothing changes.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{self as sys, AtFlags, CWD, Gid, Uid};

use super::effect::{self, SideEffect};

/// Gives the new `file` to the owner of the open `directory`. Where the system refuses that, as a
/// container with few users does, the file stays root's.
pub(super) fn give_file(directory: impl AsFd, file: impl AsFd, name: &Path) {
    if !is_root() {
        return;
    }
    let Ok(above) = sys::fstat(directory) else { return };
    if let Some((uid, gid)) = heir(above.st_uid, above.st_gid) {
        let _ =
            effect::step(SideEffect::Owner, name).map(|()| sys::fchown(file, Some(uid), Some(gid)));
    }
}

/// As [`give_file`], for the new directory or link `name`.
pub(super) fn give_entry(directory: impl AsFd, name: &Path) {
    if !is_root() {
        return;
    }
    let Ok(above) = sys::fstat(&directory) else { return };
    if let Some(owner) = heir(above.st_uid, above.st_gid) {
        give(directory, name, owner);
    }
}

/// As [`give_file`], for what is new at `path`. A link itself is given.
pub(super) fn give_path(path: &Path) {
    if !is_root() {
        return;
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let Ok(above) = std::fs::metadata(above.unwrap_or(Path::new("."))) else { return };
    if let Some(owner) = heir(above.uid(), above.gid()) {
        give(CWD, path, owner);
    }
}

/// As [`give_file`], for the open file that is new at `path`.
pub(super) fn give_opened(file: impl AsFd, path: &Path) {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    if let Ok(directory) = std::fs::File::open(above.unwrap_or(Path::new("."))) {
        give_file(directory, file, path);
    }
}

/// What of `path` and the directories above it does not exist, and must be given once it is
/// created; the outermost first. Empty for other users than root.
pub(super) fn missing(path: &Path) -> Vec<PathBuf> {
    if !is_root() {
        return Vec::new();
    }
    let is_missing =
        |path: &&Path| !path.as_os_str().is_empty() && std::fs::symlink_metadata(path).is_err();
    let mut missing: Vec<PathBuf> =
        path.ancestors().take_while(is_missing).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

fn give(directory: impl AsFd, name: &Path, (uid, gid): (Uid, Gid)) {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let _ = effect::step(SideEffect::Owner, name)
        .map(|()| sys::chownat(directory, name, Some(uid), Some(gid), flags));
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn heir(uid: u32, gid: u32) -> Option<(Uid, Gid)> {
    (uid != 0).then(|| (Uid::from_raw(uid), Gid::from_raw(gid)))
}
