//! Files beneath a root, opened so that no link and no `..` can lead out of it.
//!
//! A folder is opened once, by the kernel's own rule (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`), and every later
//! step on a file in it goes through that descriptor: what was checked is what is changed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::effect::{self, Effect};
pub use super::stat::Stat;

/// Largest file edt edits, in bytes (GitHub's limit for one file).
pub const MAX_FILE: u64 = 100 * 1024 * 1024;

/// An opened folder.
#[derive(Debug)]
pub struct Dir(OwnedFd);

/// What stands at a name.
#[derive(Debug)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A regular file with its bytes.
    File(Stat, Vec<u8>),
    /// A regular file of more bytes than were asked for at most, and how many.
    TooLarge(u64),
    /// A symbolic link.
    Symlink,
    /// A folder.
    Folder,
    /// A FIFO, socket or device.
    Special,
}

/// A folder on the way to a file, or why there is none.
#[derive(Debug)]
pub enum Parent {
    /// Open.
    Open(Dir),
    /// A folder on the way does not exist.
    Missing,
    /// A symbolic link, or a mount that leads away, is on the way.
    Symlink,
    /// Something on the way is not a folder.
    NotAFolder,
}

impl Dir {
    /// Opens the folder at `path` itself.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn open(path: &Path) -> io::Result<Dir> {
        Ok(Dir(sys::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// Opens the folder `rel` beneath this one; the empty path is this folder again.
    ///
    /// # Errors
    /// What the system says beyond the cases of [`Parent`].
    pub fn beneath(&self, rel: &[u8]) -> io::Result<Parent> {
        let rel = if rel.is_empty() { b".".as_slice() } else { rel };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match sys::openat2(&self.0, OsStr::from_bytes(rel), flags, Mode::empty(), resolve) {
            Ok(fd) => Ok(Parent::Open(Dir(fd))),
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => self.beneath_by_steps(rel),
            Err(error) => parent_error(error),
        }
    }

    /// The same without `openat2` (older kernels, some containers): one checked step a component.
    fn beneath_by_steps(&self, rel: &[u8]) -> io::Result<Parent> {
        let mut dir = Dir(self.0.try_clone()?);
        for name in rel.split(|&b| b == b'/').filter(|name| !matches!(*name, b"" | b".")) {
            // `O_NOFOLLOW` says nothing about it, and it may lead out: the kernel's own rule answers as for a link.
            if name == b".." {
                return Ok(Parent::Symlink);
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match sys::openat(&dir.0, OsStr::from_bytes(name), flags, Mode::empty()) {
                Ok(fd) => dir = Dir(fd),
                Err(Errno::NOTDIR) => {
                    let link = matches!(dir.stat(name)?, Some(st) if FileType::from_raw_mode(st.mode) == FileType::Symlink);
                    return Ok(if link { Parent::Symlink } else { Parent::NotAFolder });
                }
                Err(error) => return parent_error(error),
            }
        }
        Ok(Parent::Open(dir))
    }

    /// Makes the folder `name` in this one; that it is there is no error.
    ///
    /// # Errors
    /// Whatever else the system says.
    pub fn make(&self, name: &[u8]) -> io::Result<()> {
        step(Effect::MakeFolder, name)?;
        match sys::mkdirat(&self.0, OsStr::from_bytes(name), Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the folders of `rel` that are missing, then opens the last.
    ///
    /// # Errors
    /// What the system says beyond the cases of [`Parent`].
    pub fn make_beneath(&self, rel: &[u8]) -> io::Result<Parent> {
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
            dir.make(name)?;
        }
        self.beneath(rel)
    }

    /// Removes the folders of `rel`, innermost first, as long as they are empty. The current folder of the process stays, so
    /// that no shell loses the ground under its feet.
    pub fn remove_empty_beneath(&self, rel: &[u8]) {
        let here = sys::stat(".").ok().map(|st| (st.st_dev, st.st_ino));
        let mut rest = rel;
        while !rest.is_empty() {
            let (above, name) = split_last(rest);
            let Ok(Parent::Open(dir)) = self.beneath(above) else { return };
            let there = dir.stat(name).ok().flatten().map(|st| (st.dev, st.ino));
            if there.is_none() || there == here {
                return;
            }
            let removed = step(Effect::RemoveFolder, name).and_then(|()| {
                Ok(sys::unlinkat(&dir.0, OsStr::from_bytes(name), AtFlags::REMOVEDIR)?)
            });
            if removed.is_err() {
                return;
            }
            rest = above;
        }
    }

    /// The stat of `name` itself, links not followed; `None` if there is nothing.
    ///
    /// # Errors
    /// Whatever the system says, except that nothing is there.
    pub fn stat(&self, name: &[u8]) -> io::Result<Option<Stat>> {
        match sys::statat(&self.0, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(st) => Ok(Some(Stat::from(&st))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the file `name` of at most [`MAX_FILE`] bytes; never follows a link, never waits on a FIFO.
    ///
    /// # Errors
    /// Whatever the system says beyond the cases of [`Found`].
    pub fn read(&self, name: &[u8]) -> io::Result<Found> {
        self.read_at_most(name, MAX_FILE)
    }

    /// The same with another limit. A file that grows meanwhile is no way around it.
    ///
    /// # Errors
    /// As [`read`](Dir::read).
    pub fn read_at_most(&self, name: &[u8], most: u64) -> io::Result<Found> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match sys::openat(&self.0, OsStr::from_bytes(name), flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Found::Nothing),
            Err(Errno::LOOP) => return Ok(Found::Symlink),
            Err(Errno::NXIO | Errno::NODEV) => return Ok(Found::Special),
            Err(error) => return Err(error.into()),
        };
        let stat = Stat::from(&sys::fstat(&fd)?);
        match FileType::from_raw_mode(stat.mode) {
            FileType::RegularFile if stat.size > most => Ok(Found::TooLarge(stat.size)),
            FileType::RegularFile => {
                let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0) + 1);
                while rustix::io::read(&fd, rustix::buffer::spare_capacity(&mut bytes))? > 0 {
                    if bytes.len() as u64 > most {
                        return Ok(Found::TooLarge(bytes.len() as u64));
                    }
                    bytes.reserve(1);
                }
                Ok(Found::File(stat, bytes))
            }
            FileType::Directory => Ok(Found::Folder),
            _ => Ok(Found::Special),
        }
    }

    /// Where the symbolic link `name` leads, as it is written.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn link_target(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    /// Writes a new file `name` with `bytes` and the permissions and owner of `like` (else the usual ones).
    ///
    /// # Errors
    /// Whatever the system says; a half-written file is removed again.
    pub fn write_new(&self, name: &[u8], bytes: &[u8], perms: Perms) -> io::Result<Stat> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = match perms {
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
        step(Effect::Open, name)?;
        let fd = sys::openat(&self.0, OsStr::from_bytes(name), flags, Mode::from_raw_mode(mode))?;
        let mut file = File::from(fd);
        let written = effect::written(as_path(name), bytes, |bytes| file.write_all(bytes));
        let written = written.and_then(|()| finish(&file, name, perms));
        if written.is_err() {
            let _ = self.unlink(name);
        }
        written
    }

    /// Writes `parts`, each at its offset, into the file `name`.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn patch(&self, name: &[u8], parts: &[(u64, &[u8])]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        step(Effect::Open, name)?;
        let file = File::from(sys::openat(&self.0, OsStr::from_bytes(name), flags, Mode::empty())?);
        let mut parts = parts.iter();
        parts.try_for_each(|(at, bytes)| {
            effect::written(as_path(name), bytes, |part| file.write_all_at(part, *at))
        })
    }

    /// Removes the file `name`; that it is not there is no error.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn unlink(&self, name: &[u8]) -> io::Result<()> {
        step(Effect::Unlink, name)?;
        match sys::unlinkat(&self.0, OsStr::from_bytes(name), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves `name` to `to` in `dir`, as `how` says.
    ///
    /// # Errors
    /// `AlreadyExists` for [`Move::New`] onto something; whatever else the system says.
    pub fn rename(&self, name: &[u8], dir: &Dir, to: &[u8], how: Move) -> io::Result<()> {
        let flags = match how {
            Move::New => RenameFlags::NOREPLACE,
            Move::Exchange => RenameFlags::EXCHANGE,
            Move::Replace => RenameFlags::empty(),
        };
        step(Effect::Rename, to)?;
        Ok(sys::renameat_with(
            &self.0,
            OsStr::from_bytes(name),
            &dir.0,
            OsStr::from_bytes(to),
            flags,
        )?)
    }

    /// Gives the file `name` a second name `to`.
    ///
    /// # Errors
    /// `AlreadyExists` if `to` is taken; whatever else the system says.
    pub fn link(&self, name: &[u8], dir: &Dir, to: &[u8]) -> io::Result<()> {
        step(Effect::Link, to)?;
        Ok(sys::linkat(
            &self.0,
            OsStr::from_bytes(name),
            &dir.0,
            OsStr::from_bytes(to),
            AtFlags::empty(),
        )?)
    }

    /// The folder's device number.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn device(&self) -> io::Result<u64> {
        Ok(Stat::from(&sys::fstat(&self.0)?).dev)
    }

    /// Waits until the bytes of the file `name` are on the medium.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn sync(&self, name: &[u8]) -> io::Result<()> {
        let name = OsStr::from_bytes(name);
        effect::step(Effect::Sync, Path::new(name))?;
        let file = sys::openat(
            &self.0,
            name,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(sys::fdatasync(&file)?)
    }

    /// Waits until the names in this folder are on the medium.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn sync_entries(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = sys::openat(&self.0, ".", flags, Mode::empty())?;
        step(Effect::Sync, b".")?;
        Ok(sys::fsync(&dir)?)
    }

    /// Waits until everything written to this folder's file system is on the medium.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn sync_file_system(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = sys::openat(&self.0, ".", flags, Mode::empty())?;
        step(Effect::Sync, b".")?;
        Ok(sys::syncfs(dir.as_fd())?)
    }
}

/// The permissions of a new file.
#[derive(Debug, Clone, Copy)]
pub enum Perms {
    /// What the process's umask leaves of 0666 or 0777.
    Usual {
        /// Whether it may be executed.
        executable: bool,
    },
    /// Those of a file that it replaces, owner and group too, with the mode bit as given.
    Of(Stat, bool),
    /// Exactly these bits, less the umask.
    Exactly(u32),
}

/// How a rename treats what stands at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// Nothing may stand there.
    New,
    /// The two change places.
    Exchange,
    /// Whatever stands there goes.
    Replace,
}

fn finish(file: &File, name: &[u8], perms: Perms) -> io::Result<Stat> {
    if let Perms::Of(like, executable) = perms {
        let mine = Stat::from(&sys::fstat(file)?);
        if (mine.uid, mine.gid) != (like.uid, like.gid) {
            // Without the right to give a file away it stays ours: better than no edit.
            let (uid, gid) = (sys::Uid::from_raw(like.uid), sys::Gid::from_raw(like.gid));
            let _ = step(Effect::Owner, name).map(|()| sys::fchown(file, Some(uid), Some(gid)));
        }
        let read = like.mode & 0o444;
        let bits = if executable { like.mode & 0o7777 | read >> 2 } else { like.mode & 0o7666 };
        if bits != mine.mode & 0o7777 {
            step(Effect::Mode, name)?;
            sys::fchmod(file, Mode::from_raw_mode(bits))?;
        }
    }
    Ok(Stat::from(&sys::fstat(file)?))
}

fn step(effect: Effect, name: &[u8]) -> io::Result<()> {
    effect::step(effect, as_path(name))
}

fn as_path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

fn parent_error(error: Errno) -> io::Result<Parent> {
    match error {
        Errno::NOENT => Ok(Parent::Missing),
        Errno::LOOP | Errno::XDEV => Ok(Parent::Symlink),
        Errno::NOTDIR => Ok(Parent::NotAFolder),
        error => Err(error.into()),
    }
}

/// `a/b/c` as `a/b` and `c`; a single name has the empty folder above it.
fn split_last(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter().rposition(|&b| b == b'/').map_or((&[], path), |at| (&path[..at], &path[at + 1..]))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// What each way of opening a folder beneath another answers, in one word.
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
    fn one_step_at_a_time_leads_where_the_kernel_leads() {
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
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
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
        // Steps refuse every `..`, the kernel only those that leave: no path with one comes here.
        assert_eq!(word(open.beneath_by_steps(b"a/../a")), "Symlink");
    }
}
