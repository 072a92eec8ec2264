//! The names in a directory, for walks that need nothing else.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::effect::{self, SideEffect};
use super::platform;
use super::stat::{Stat, file_type};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    Directory,
    Link,
    /// A file, or something special.
    Other,
}

/// The directory below which names are read.
#[derive(Debug)]
pub struct NamesBelow(OwnedFd);

impl NamesBelow {
    /// # Errors
    /// Any error of the operating system.
    pub fn open(root: &Path) -> io::Result<NamesBelow> {
        Ok(NamesBelow(sys::open(root, platform::directory(), Mode::empty())?))
    }

    /// The stat of whatever is at `path`, without following a link; `None` if nothing is.
    #[must_use]
    pub fn stat(&self, path: &[u8]) -> Option<Stat> {
        let found = sys::statat(&self.0, below(path), AtFlags::SYMLINK_NOFOLLOW);
        found.ok().map(|stat| Stat::from(&stat))
    }

    /// Calls `each` for every name in the directory `path`, and returns the directory's stat from
    /// before it was read; `None` if there is nothing to read.
    ///
    /// # Errors
    /// Any other error of the operating system.
    pub fn read(&self, path: &[u8], each: impl FnMut(&[u8], NameKind)) -> io::Result<Option<Stat>> {
        read(&self.0, path, each)
    }

    /// Gives the owner all rights in the directory `path`.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn open_up(&self, path: &[u8]) -> io::Result<()> {
        effect::step(SideEffect::Mode, Path::new(OsStr::from_bytes(path)))?;
        Ok(platform::open_up(self.0.as_fd(), below(path))?)
    }
}

/// As [`NamesBelow::read`], below the open `directory`.
pub(super) fn read(
    directory: &OwnedFd,
    path: &[u8],
    mut each: impl FnMut(&[u8], NameKind),
) -> io::Result<Option<Stat>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = match sys::openat(directory, below(path), flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let stat = Stat::from(&sys::fstat(&fd)?);
    platform::each_entry(&fd, |entry, kind| {
        let name = entry.to_bytes();
        if matches!(name, b"." | b"..") {
            return;
        }
        let kind = match kind {
            FileType::Unknown => sys::statat(&fd, entry, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| file_type(Stat::from(&stat).mode)),
            known => known,
        };
        each(
            name,
            match kind {
                FileType::Directory => NameKind::Directory,
                FileType::Symlink => NameKind::Link,
                _ => NameKind::Other,
            },
        );
    })?;
    Ok(Some(stat))
}

fn below(path: &[u8]) -> &OsStr {
    OsStr::from_bytes(if path.is_empty() { b"." } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_kind_and_links_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        std::fs::write(root.path().join("a/f"), "x").unwrap();
        std::os::unix::fs::symlink("b", root.path().join("a/l")).unwrap();
        let below = NamesBelow::open(root.path()).unwrap();
        let read = |path: &[u8]| {
            let mut found = Vec::new();
            let stat = below.read(path, |name, kind| found.push((name.to_vec(), kind))).unwrap();
            found.sort_by(|a, b| a.0.cmp(&b.0));
            stat.map(|_| found)
        };
        let expected = [
            (b"b".to_vec(), NameKind::Directory),
            (b"f".to_vec(), NameKind::Other),
            (b"l".to_vec(), NameKind::Link),
        ];
        assert_eq!(read(b"a").unwrap(), expected);
        assert_eq!(read(b"").unwrap(), [(b"a".to_vec(), NameKind::Directory)]);
        assert_eq!((read(b"a/l"), read(b"a/f"), read(b"none")), (None, None, None));
    }
}
