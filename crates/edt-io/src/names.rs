//! The names in a directory, for walks that need nothing else.

use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::effect::{self, SideEffect};
use super::stat::Stat;

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
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(NamesBelow(sys::open(root, flags, Mode::empty())?))
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
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = sys::openat(&self.0, below(path), flags, Mode::empty())?;
        let mode = sys::fstat(&fd)?.st_mode & 0o7777 | 0o700;
        // The link of the kernel is to the directory that was opened, whatever is at the path now.
        let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd));
        Ok(sys::chmod(link, Mode::from_raw_mode(mode))?)
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
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(&fd, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => sys::statat(&fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
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
    }
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
