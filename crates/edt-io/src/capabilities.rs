//! Tests of what the file system and the kernel support.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use rustix::fs::{CWD, FlockOperation, Mode, flock};

use super::disk::Dir;
use super::effect::{self, Errno, SideEffect};
use super::file::{File, OpenMode};
use super::new_file::RenameMode;
use super::{fs, platform};

/// What edt does where the system lacks a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// Another way that promises the same.
    Equal,
    /// Another way that promises less, in words for the user.
    Weaker(&'static str),
    /// edt does not work.
    Missing,
}

/// The result of one test.
#[derive(Debug)]
pub struct Capability {
    /// The tested feature.
    pub name: &'static str,
    /// What edt does without the feature.
    pub fallback: Fallback,
    /// The error if the feature does not work.
    pub failed: Option<io::Error>,
}

/// Which system call that edt cannot work without is missing: filters of system calls (containers,
/// other kernels) answer before they look for the file, which does not exist. Nothing is created.
#[must_use]
pub fn missing_call(directory: &Path) -> Option<(&'static str, Errno)> {
    let none = directory.join("edt/no-such-file");
    let exchange = exchange(&none, &none);
    let link = rustix::fs::link(&none, &none);
    let is_missing = |(name, done): (&'static str, rustix::io::Result<()>)| {
        let error = done.err()?;
        [Errno::NOSYS, Errno::PERM].contains(&error).then_some((name, error))
    };
    [("renameat2", exchange), ("linkat", link)].into_iter().find_map(is_missing)
}

/// Tests the features that edt needs, in a new directory inside `directory` that is removed
/// afterwards.
///
/// # Errors
/// Any error of the operating system if `directory` is not writable.
pub fn probe(directory: &Path) -> io::Result<Vec<Capability>> {
    let scratch = directory.join(format!("probe-{}", super::process::process_id()));
    fs::make_dir(&scratch)?;
    let capabilities = probe_in(&scratch);
    let _ = fs::remove_dir_all(&scratch);
    capabilities
}

fn probe_in(scratch: &Path) -> io::Result<Vec<Capability>> {
    let (a, b) = (scratch.join("a"), scratch.join("b"));
    fs::write_in_place(&a, b"a")?;
    fs::write_in_place(&b, b"b")?;
    effect::step(SideEffect::Rename, &a)?;
    let exchange = exchange(&a, &b);
    let linked = fs::link(&a, &scratch.join("c"));
    let locked =
        flock(&File::open(&a, OpenMode::Existing)?, FlockOperation::NonBlockingLockExclusive);
    let here = Dir::open(scratch)?;
    let name = OsStr::new(".");
    let opened = platform::open_beneath(here.0.as_fd(), name, platform::directory(), Mode::empty());
    let one = |name, fallback, failed| Capability { name, fallback, failed };
    Ok(vec![
        one("RENAME_EXCHANGE", Fallback::Weaker(WITHOUT_EXCHANGE), exchange.err().map(Into::into)),
        one("hard links", Fallback::Missing, linked.err()),
        one("flock", Fallback::Missing, locked.err().map(Into::into)),
        // edt opens each directory of a path in turn.
        one("openat2", Fallback::Equal, opened.err().map(Into::into)),
    ])
}

const WITHOUT_EXCHANGE: &str =
    "a file that another program saves at the very moment of an edit may be overwritten";

fn exchange(a: &Path, b: &Path) -> rustix::io::Result<()> {
    platform::rename((CWD, a.as_os_str()), (CWD, b.as_os_str()), RenameMode::Exchange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probing_leaves_no_files() {
        let dir = tempfile::tempdir().unwrap();
        let all = probe(dir.path()).unwrap();
        assert_eq!(
            all.iter().map(|one| one.name).collect::<Vec<_>>(),
            ["RENAME_EXCHANGE", "hard links", "flock", "openat2"]
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
