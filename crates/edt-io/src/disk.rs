//! Files beneath a root. No link and no `..` can lead out of the root.
//!
//! A directory is opened once, by the kernel's own rule where it has one (`openat2` with
//! `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`), else step by step. Every later operation on a file in it uses that descriptor, so the file
//! that was checked is the file that is changed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::effect::{self, SideEffect};
use super::led::led_elsewhere;
use super::names::{self, NameKind};
use super::new_file::finish;
pub use super::new_file::{Perms, RenameMode};
pub use super::stat::Stat;
use super::stat::{file_type, mode};
use super::{owner, platform};

/// The size of the largest file that edt edits, in bytes: GitHub's limit for one file.
pub const MAX_FILE: u64 = 100 * 1024 * 1024;

/// An open directory.
#[derive(Debug)]
pub struct Dir(pub(super) OwnedFd);

/// What a name refers to.
#[derive(Debug)]
pub enum FoundEntry {
    /// The name does not exist.
    Nothing,
    /// A regular file with its bytes.
    File(Stat, Vec<u8>),
    /// A regular file with more bytes than the requested maximum, and its size.
    TooLarge(u64),
    /// A symbolic link.
    Symlink,
    /// A directory.
    Directory,
    /// A FIFO, socket or device.
    Special,
}

/// The directory that contains a file, or why it cannot be opened.
#[derive(Debug)]
pub enum Parent {
    Open(Dir),
    /// A directory of the path does not exist.
    Missing,
    /// The path goes through a symbolic link, or through a mount that leads out of the root.
    Symlink,
    /// A component of the path is not a directory.
    NotADirectory,
}

impl Parent {
    /// The directory, if it is open.
    ///
    /// # Errors
    /// Why it is not; `path` is what was asked for.
    pub(super) fn opened(self, path: &Path) -> io::Result<Dir> {
        match self {
            Parent::Open(directory) => Ok(directory),
            Parent::Missing => Err(Errno::NOENT.into()),
            Parent::Symlink => Err(led_elsewhere(path, "behind a link")),
            Parent::NotADirectory => Err(Errno::NOTDIR.into()),
        }
    }
}

impl Dir {
    /// # Errors
    /// Any error of the operating system.
    pub fn open(path: &Path) -> io::Result<Dir> {
        Ok(Dir(sys::open(path, platform::directory(), Mode::empty())?))
    }

    /// Opens the directory `rel` beneath this one; the empty path opens this directory again.
    ///
    /// # Errors
    /// Errors of the operating system other than the cases of [`Parent`].
    pub fn beneath(&self, rel: &[u8]) -> io::Result<Parent> {
        let rel = if rel.is_empty() { b".".as_slice() } else { rel };
        let (name, flags) = (OsStr::from_bytes(rel), platform::directory());
        match platform::open_beneath(self.0.as_fd(), name, flags, Mode::empty()) {
            Ok(fd) => Ok(Parent::Open(Dir(fd))),
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => self.beneath_by_steps(rel),
            Err(error) => parent_error(error),
        }
    }

    /// The fallback without `openat2` (other systems, older kernels, some containers): one checked
    /// step for each component.
    fn beneath_by_steps(&self, rel: &[u8]) -> io::Result<Parent> {
        let mut dir = Dir(self.0.try_clone()?);
        for name in rel.split(|&b| b == b'/').filter(|name| !matches!(*name, b"" | b".")) {
            // `O_NOFOLLOW` allows `..`, which may lead out of the root. The kernel's
            // `RESOLVE_BENEATH` reports it as a link does.
            if name == b".." {
                return Ok(Parent::Symlink);
            }
            let flags = platform::directory() | OFlags::NOFOLLOW;
            match sys::openat(&dir.0, OsStr::from_bytes(name), flags, Mode::empty()) {
                Ok(fd) => dir = Dir(fd),
                Err(Errno::NOTDIR) => {
                    let is_link = dir.stat(name)?.is_some_and(|found| found.is_symlink());
                    return Ok(if is_link { Parent::Symlink } else { Parent::NotADirectory });
                }
                Err(error) => return parent_error(error),
            }
        }
        Ok(Parent::Open(dir))
    }

    /// Creates the directory `name`; an existing one is not an error.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn make(&self, name: &[u8]) -> io::Result<()> {
        self.make_with(name, 0o777)
    }

    fn make_with(&self, name: &[u8], bits: u32) -> io::Result<()> {
        step(SideEffect::MakeDirectory, name)?;
        match sys::mkdirat(&self.0, OsStr::from_bytes(name), mode(bits)) {
            Ok(()) => {
                owner::give_entry(&self.0, as_path(name));
                Ok(())
            }
            Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates the missing directories of `rel`, then opens the last one.
    ///
    /// # Errors
    /// Errors of the operating system other than the cases of [`Parent`].
    pub fn make_beneath(&self, rel: &[u8]) -> io::Result<Parent> {
        self.make_beneath_with(rel, 0o777)
    }

    pub(super) fn make_beneath_with(&self, rel: &[u8], mode: u32) -> io::Result<Parent> {
        match self.beneath(rel)? {
            Parent::Missing => {}
            found => return Ok(found),
        }
        let mut ends: Vec<usize> =
            rel.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at).collect();
        ends.push(rel.len());
        for end in ends {
            let (above, name) = split_last(&rel[..end]);
            let Parent::Open(dir) = self.beneath(above)? else { return self.beneath(rel) };
            dir.make_with(name, mode)?;
        }
        self.beneath(rel)
    }

    /// Removes the directories of `rel` while they are empty, innermost first. The current
    /// directory of the process is kept, so that the user's shell does not lose it.
    pub fn remove_empty_beneath(&self, rel: &[u8]) {
        let here = Stat::of_target(Path::new(".")).map(|found| found.inode());
        let mut rest = rel;
        while !rest.is_empty() {
            let (above, name) = split_last(rest);
            let Ok(Parent::Open(dir)) = self.beneath(above) else { return };
            let there = dir.stat(name).ok().flatten().map(|found| found.inode());
            if there.is_none() || there == here {
                return;
            }
            let removed = step(SideEffect::RemoveDirectory, name).and_then(|()| {
                Ok(sys::unlinkat(&dir.0, OsStr::from_bytes(name), AtFlags::REMOVEDIR)?)
            });
            if removed.is_err() {
                return;
            }
            rest = above;
        }
    }

    /// The stat of `name` without following a link; `None` if it does not exist.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn stat(&self, name: &[u8]) -> io::Result<Option<Stat>> {
        match sys::statat(&self.0, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(st) => Ok(Some(Stat::from(&st))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the file `name` of at most [`MAX_FILE`] bytes. Never follows a link, never blocks on a
    /// FIFO.
    ///
    /// # Errors
    /// Errors of the operating system other than the cases of [`FoundEntry`].
    pub fn read(&self, name: &[u8]) -> io::Result<FoundEntry> {
        self.read_at_most(name, MAX_FILE)
    }

    /// Reads the file `name` of at most `max_bytes` bytes, even if it grows meanwhile.
    ///
    /// # Errors
    /// As [`read`](Dir::read).
    pub fn read_at_most(&self, name: &[u8], max_bytes: u64) -> io::Result<FoundEntry> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match sys::openat(&self.0, OsStr::from_bytes(name), flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(FoundEntry::Nothing),
            Err(Errno::LOOP) => return Ok(FoundEntry::Symlink),
            // A socket: the last one on macOS.
            Err(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP) => return Ok(FoundEntry::Special),
            Err(error) => return Err(error.into()),
        };
        let stat = Stat::from(&sys::fstat(&fd)?);
        match file_type(stat.mode) {
            FileType::RegularFile if stat.size > max_bytes => Ok(FoundEntry::TooLarge(stat.size)),
            FileType::RegularFile => {
                let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0) + 1);
                while rustix::io::read(&fd, rustix::buffer::spare_capacity(&mut bytes))? > 0 {
                    if bytes.len() as u64 > max_bytes {
                        return Ok(FoundEntry::TooLarge(bytes.len() as u64));
                    }
                    // More was asked for: a regular file ends where a read ends early.
                    if bytes.len() as u64 == stat.size && bytes.len() < bytes.capacity() {
                        break;
                    }
                    bytes.reserve(1);
                }
                Ok(FoundEntry::File(stat, bytes))
            }
            FileType::Directory => Ok(FoundEntry::Directory),
            _ => Ok(FoundEntry::Special),
        }
    }

    /// Calls `each` for every name in the directory `name`, if it is one.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn each_name(&self, name: &[u8], each: impl FnMut(&[u8], NameKind)) -> io::Result<()> {
        names::read(&self.0, name, each).map(drop)
    }

    /// The target of the symbolic link `name`, as it is written.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn link_target(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    /// Creates the file `name` with `bytes` and the permissions `perms`.
    ///
    /// # Errors
    /// Any error of the operating system; a half-written file is removed.
    pub fn write_new(&self, name: &[u8], bytes: &[u8], perms: Perms) -> io::Result<()> {
        self.create(name, bytes, perms)
    }

    /// As [`write_new`](Dir::write_new), after removing what a crash may have left at `name`.
    ///
    /// # Errors
    /// As [`write_new`](Dir::write_new).
    pub fn write_staged(&self, name: &[u8], bytes: &[u8], perms: Perms) -> io::Result<()> {
        match self.create(name, bytes, perms) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.unlink(name)?;
                self.create(name, bytes, perms)
            }
            created => created,
        }
    }

    fn create(&self, name: &[u8], bytes: &[u8], perms: Perms) -> io::Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let bits = match perms {
            Perms::Usual { executable } => {
                if executable {
                    0o777
                } else {
                    0o666
                }
            }
            Perms::Of(like, ..) => like.mode & 0o7777,
            Perms::Exactly(mode) => mode,
        };
        step(SideEffect::Open, name)?;
        let fd = self.open_new(name, flags, mode(bits))?;
        let mut file = File::from(fd);
        if !matches!(perms, Perms::Of(..)) {
            owner::give_file(&self.0, &file, as_path(name));
        }
        let written = effect::write_bytes(as_path(name), bytes, |bytes| file.write_all(bytes));
        let written = written.and_then(|()| finish(&file, as_path(name), perms));
        if written.is_err() {
            let _ = self.unlink(name);
        }
        written
    }

    /// Opens the new file `name`; no directory in it may be a link.
    fn open_new(&self, name: &[u8], flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let (above, last) = split_last(name);
        if above.is_empty() {
            return Ok(sys::openat(&self.0, OsStr::from_bytes(name), flags, mode)?);
        }
        match platform::open_beneath(self.0.as_fd(), OsStr::from_bytes(name), flags, mode) {
            Ok(fd) => Ok(fd),
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::LOOP | Errno::XDEV) => {
                let above = self.beneath(above)?.opened(as_path(name))?;
                Ok(sys::openat(&above.0, OsStr::from_bytes(last), flags, mode)?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Overwrites `parts` of the existing file `name`, each at its offset.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn patch(&self, name: &[u8], parts: &[(u64, &[u8])]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        step(SideEffect::Open, name)?;
        let file = File::from(sys::openat(&self.0, OsStr::from_bytes(name), flags, Mode::empty())?);
        let mut parts = parts.iter();
        parts.try_for_each(|(at, bytes)| {
            effect::write_bytes(as_path(name), bytes, |part| file.write_all_at(part, *at))
        })
    }

    /// Sets the time of the last change of the existing file `name`, in seconds and nanoseconds since
    /// 1970.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn set_modified(&self, name: &[u8], (seconds, nanoseconds): (i64, u32)) -> io::Result<()> {
        let time = sys::Timespec { tv_sec: seconds, tv_nsec: i64::from(nanoseconds) as _ };
        let times = sys::Timestamps { last_access: time, last_modification: time };
        step(SideEffect::Mode, name)?;
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(sys::utimensat(&self.0, OsStr::from_bytes(name), &times, flags)?)
    }

    /// Removes the file `name`; a missing file is not an error.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn unlink(&self, name: &[u8]) -> io::Result<()> {
        step(SideEffect::Unlink, name)?;
        match sys::unlinkat(&self.0, OsStr::from_bytes(name), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Renames `name` to `to` in `dir`.
    ///
    /// # Errors
    /// `AlreadyExists` for [`RenameMode::NoReplace`] if `to` exists, or any other error of the
    /// operating system.
    pub fn rename(&self, name: &[u8], dir: &Dir, to: &[u8], how: RenameMode) -> io::Result<()> {
        step(SideEffect::Rename, to)?;
        match self.rename_entry(name, dir, to, how) {
            // NFS and some FUSE file systems know no other rename. For a moment the file has both names.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if how == RenameMode::NoReplace => {
                self.link(name, dir, to)?;
                self.unlink(name)
            }
            done => Ok(done?),
        }
    }

    /// Renames `name`, which any program may replace at any time, to `to` in `dir`, which only the
    /// caller uses.
    ///
    /// # Errors
    /// `AlreadyExists` if `to` exists, or any other error of the operating system.
    pub fn take(&self, name: &[u8], dir: &Dir, to: &[u8]) -> io::Result<()> {
        step(SideEffect::Rename, to)?;
        match self.rename_entry(name, dir, to, RenameMode::NoReplace) {
            // A link and the removal of `name` would lose what another program has put there between.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match dir.stat(to)? {
                Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
                None => Ok(self.rename_entry(name, dir, to, RenameMode::Replace)?),
            },
            done => Ok(done?),
        }
    }

    fn rename_entry(
        &self,
        name: &[u8],
        dir: &Dir,
        to: &[u8],
        how: RenameMode,
    ) -> rustix::io::Result<()> {
        let (name, to) = (OsStr::from_bytes(name), OsStr::from_bytes(to));
        platform::rename((self.0.as_fd(), name), (dir.0.as_fd(), to), how)
    }

    /// Whether two files of this directory can be exchanged. Two empty ones are made for that, and
    /// removed; their names begin with `name`, and only the caller uses them.
    ///
    /// # Errors
    /// Any other error of the operating system.
    pub fn can_exchange(&self, name: &[u8]) -> io::Result<bool> {
        let [one, other] = [".a", ".b"].map(|end| [name, end.as_bytes()].concat());
        self.write_staged(&one, b"", Perms::Exactly(0o600))?;
        let exchanged = self
            .write_staged(&other, b"", Perms::Exactly(0o600))
            .and_then(|()| self.rename(&one, self, &other, RenameMode::Exchange));
        self.unlink(&one)?;
        self.unlink(&other)?;
        match exchanged {
            Ok(()) => Ok(true),
            Err(error) if is_unsupported(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Creates the hard link `to` in `dir` to the file `name`.
    ///
    /// # Errors
    /// `AlreadyExists` if `to` exists, or any other error of the operating system.
    pub fn link(&self, name: &[u8], dir: &Dir, to: &[u8]) -> io::Result<()> {
        step(SideEffect::Link, to)?;
        Ok(sys::linkat(
            &self.0,
            OsStr::from_bytes(name),
            &dir.0,
            OsStr::from_bytes(to),
            AtFlags::empty(),
        )?)
    }
}

/// Whether a rename failed because the file system knows none of that kind.
#[must_use]
pub fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

pub(super) fn step(effect: SideEffect, name: &[u8]) -> io::Result<()> {
    effect::step(effect, as_path(name))
}

fn as_path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

fn parent_error(error: Errno) -> io::Result<Parent> {
    match error {
        Errno::NOENT => Ok(Parent::Missing),
        Errno::LOOP | Errno::XDEV => Ok(Parent::Symlink),
        Errno::NOTDIR => Ok(Parent::NotADirectory),
        error => Err(error.into()),
    }
}

/// Splits `a/b/c` into `a/b` and `c`; the directory of a single name is empty.
fn split_last(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter().rposition(|&b| b == b'/').map_or((&[], path), |at| (&path[..at], &path[at + 1..]))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The result of one way to open a directory beneath another, in one word.
    fn word(answer: io::Result<Parent>) -> String {
        match answer {
            Ok(Parent::Open(dir)) => {
                format!("inode {}", dir.stat(b".").unwrap().unwrap().inode().1)
            }
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("{:?}", error.kind()),
        }
    }

    #[test]
    fn a_sync_does_not_wait_for_the_writer_of_a_fifo() {
        let dir = tempfile::tempdir().unwrap();
        let open = Dir::open(dir.path()).unwrap();
        platform::make_fifo(&dir.path().join("fifo"));
        assert!(open.sync(b"fifo").is_err());
    }

    #[test]
    fn the_fallback_opens_what_openat2_opens() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        std::fs::create_dir_all(root.join("a/b/c")).unwrap();
        std::fs::create_dir_all(outside.join("in")).unwrap();
        std::fs::write(root.join("file"), "x").unwrap();
        for (target, name) in [
            (outside.as_path(), "absolute"),
            (Path::new("../outside"), "relative"),
            (Path::new("a"), "inner"),
            (Path::new("nothing"), "dangling"),
            (Path::new("loop"), "loop"),
            (Path::new("/proc/self/root"), "proc"),
            (Path::new("../../outside"), "a/up"),
            (Path::new("file"), "to-file"),
            (Path::new("."), "dot"),
        ] {
            symlink(target, root.join(name)).unwrap();
        }
        platform::make_fifo(&root.join("pipe"));
        let open = Dir::open(&root).unwrap();
        for rel in [
            ".",
            "a",
            "a/b",
            "a/b/c",
            "./a",
            "a/./b",
            "missing",
            "a/missing/b",
            "file",
            "file/x",
            "pipe",
            "pipe/x",
            "absolute",
            "absolute/in",
            "relative/in",
            "inner",
            "inner/b",
            "dangling",
            "dangling/x",
            "loop",
            "loop/x",
            "proc",
            "proc/etc",
            "a/up",
            "a/up/in",
            "to-file",
            "to-file/x",
            "dot",
            "dot/a",
            "..",
            "../outside",
            "../root",
            "a/../..",
            "a/../../outside/in",
        ] {
            let (kernel, steps) =
                (word(open.beneath(rel.as_bytes())), word(open.beneath_by_steps(rel.as_bytes())));
            assert_eq!(kernel, steps, "{rel}");
            assert!(!rel.starts_with("..") || kernel == "Symlink", "{rel}: {kernel}");
        }
        // The fallback refuses every `..`, the kernel only those that lead out. No path with `..`
        // is passed here.
        assert_eq!(word(open.beneath_by_steps(b"a/../a")), "Symlink");
    }
}
