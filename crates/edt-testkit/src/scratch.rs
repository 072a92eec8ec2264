//! Scratch directories where files are fast.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::{Builder, TempDir};

/// A file system in memory.
const MEMORY: &str = "/dev/shm";
/// What must be free there, in bytes: the tests of one binary leave less.
#[cfg(target_os = "linux")]
const ROOM: u64 = 3 << 30;

/// A new directory, which is removed with the value. It is in memory if there is room: a test that is
/// not about disks need not wait for one. `TMPDIR` names another place.
///
/// # Errors
/// What the file system reports.
pub fn tempdir() -> io::Result<TempDir> {
    Builder::new().prefix("edt-test-").tempdir_in(place())
}

/// The directory in which [`tempdir`] makes its own.
#[must_use]
pub fn place() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let is_named = std::env::var_os("TMPDIR").is_some_and(|named| !named.is_empty());
        if is_named || !has_room() { std::env::temp_dir() } else { MEMORY.into() }
    })
}

#[cfg(target_os = "linux")]
fn has_room() -> bool {
    use rustix::fs::{StatVfsMountFlags, statvfs};
    statvfs(MEMORY).is_ok_and(|found| {
        found.f_bavail.saturating_mul(found.f_frsize) > ROOM
            && !found.f_flag.intersects(StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY)
    })
}

#[cfg(not(target_os = "linux"))]
fn has_room() -> bool {
    false
}
