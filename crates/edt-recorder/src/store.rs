//! The private store: what programs removed or overwrote.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, SeekFrom as Seek, copy_file_range, ioctl_ficlone, linkat, open,
    openat, unlinkat,
};
use rustix::io::Errno;

use crate::event::{Kept, Place};
use crate::inode::Sight;

/// How much may be copied. Links are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyLimits {
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of one run.
    pub run: u64,
}

impl Default for CopyLimits {
    fn default() -> CopyLimits {
        CopyLimits { file: 64 << 20, run: 1 << 30 }
    }
}

#[derive(Debug)]
pub(crate) struct Store {
    directory: OwnedFd,
    /// The root on the mount of the store.
    outer_root: Option<OwnedFd>,
    next: u64,
    limits: CopyLimits,
    copied: u64,
}

impl Store {
    pub(crate) fn open(
        directory: &Path,
        outer_root: Option<&Path>,
        limits: CopyLimits,
    ) -> io::Result<Store> {
        let directory = open_directory(directory)?;
        let outer_root = outer_root.map(open_directory).transpose()?;
        Ok(Store { directory, outer_root, next: 0, limits, copied: 0 })
    }

    /// Adds a name of the inode that `name` in `parent` is, at `place`. Also returns what was
    /// linked, which is what counts if the name was just replaced.
    pub(crate) fn link(
        &mut self,
        parent: &OwnedFd,
        name: &[u8],
        place: &Place,
    ) -> io::Result<(u64, Sight)> {
        let (number, stored) = self.number();
        let link = |from: &OwnedFd, name: &[u8]| {
            linkat(from, name, &self.directory, &stored[..], AtFlags::empty())
        };
        match (link(parent, name), &self.outer_root, place) {
            // The same file, through the mount of the store.
            (Err(Errno::XDEV), Some(root), Place::Tree(path)) => {
                let wanted = Sight::at(parent, name)?;
                link(root, path)?;
                let sight = Sight::at(&self.directory, &stored)?;
                if sight.inode != wanted.inode {
                    unlinkat(&self.directory, &stored[..], AtFlags::empty())?;
                    return Err(Errno::XDEV.into());
                }
            }
            (linked, ..) => linked?,
        }
        Ok((number, Sight::at(&self.directory, &stored)?))
    }

    /// Copies the content of the file that `path`, an `O_PATH` descriptor, is.
    pub(crate) fn copy(&mut self, path: &OwnedFd, sight: &Sight) -> io::Result<Kept> {
        let size = sight.occupied.min(sight.attributes.size);
        if size > self.limits.file || self.copied + size > self.limits.run {
            return Ok(Kept::Lost(format!("{size} bytes are more than the limit for copies")));
        }
        let from = match reopen(path, OFlags::RDONLY) {
            Ok(from) => from,
            Err(error) => return Ok(Kept::Lost(format!("it cannot be read: {error}"))),
        };
        let (number, stored) = self.number();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let to = openat(&self.directory, &stored[..], flags, Mode::RUSR | Mode::WUSR)?;
        if let Err(error) = copy_content(&from, &to) {
            let _ = unlinkat(&self.directory, &stored[..], AtFlags::empty());
            return Ok(Kept::Lost(format!("it cannot be copied: {error}")));
        }
        self.copied += size;
        Ok(Kept::Copied(number))
    }

    /// Whether somebody else may still change the stored link: it has other names, or a writer.
    pub(crate) fn lives_on(&self, number: u64) -> Option<Sight> {
        let stored = name(number);
        let sight = Sight::at(&self.directory, &stored).ok().filter(Sight::is_file)?;
        if sight.names > 1 {
            return Some(sight);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = openat(&self.directory, &stored[..], flags, Mode::empty()).ok()?;
        crate::kernel::has_writer(&file).then_some(sight)
    }

    /// Copies a stored link beside it. False if that is too much.
    pub(crate) fn copy_link(&mut self, number: u64, sight: &Sight) -> io::Result<bool> {
        let size = sight.occupied.min(sight.attributes.size);
        if size > self.limits.file || self.copied + size > self.limits.run {
            return Ok(false);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let from = openat(&self.directory, &name(number)[..], flags, Mode::empty())?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let to = openat(&self.directory, &copy_name(number)[..], flags, Mode::RUSR | Mode::WUSR)?;
        copy_content(&from, &to)?;
        self.copied += size;
        Ok(true)
    }

    fn number(&mut self) -> (u64, Vec<u8>) {
        self.next += 1;
        (self.next, name(self.next))
    }
}

pub(crate) fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The name of the stored file `number`.
pub(crate) fn name(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// The name of the copy of a stored link whose inode lives on.
pub(crate) fn copy_name(number: u64) -> Vec<u8> {
    format!("{number}.copy").into_bytes()
}

/// Opens the file of an `O_PATH` descriptor.
pub(crate) fn reopen(path: impl AsFd, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK;
    openat(CWD, own_path(path), flags, Mode::empty())
}

/// The path through which this process reaches a descriptor.
pub(crate) fn own_path(file: impl AsFd) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

/// Makes the content of `to`, which is empty or is emptied, that of `from`; holes stay holes.
pub(crate) fn copy_content(from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    if ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    let size = Sight::of(from)?.attributes.size;
    rustix::fs::ftruncate(to, 0)?;
    let mut at = 0;
    while at < size {
        let data = match rustix::fs::seek(from, Seek::Data(at)) {
            Ok(data) => data,
            // Only a hole follows.
            Err(Errno::NXIO) => break,
            Err(_) => at,
        };
        let end = rustix::fs::seek(from, Seek::Hole(data)).unwrap_or(size).max(data + 1);
        copy_range(from, to, data, end)?;
        at = end;
    }
    rustix::fs::ftruncate(to, size)?;
    Ok(())
}

fn copy_range(from: &OwnedFd, to: &OwnedFd, start: u64, end: u64) -> io::Result<()> {
    let (mut at, mut out) = (start, start);
    while at < end {
        let length = usize::try_from(end - at).unwrap_or(usize::MAX).min(1 << 30);
        match copy_file_range(from, Some(&mut at), to, Some(&mut out), length) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            // Between file systems, or one that does not know the call.
            Err(_) => return copy_by_reading(from, to, at, end),
        }
    }
    Ok(())
}

fn copy_by_reading(from: &OwnedFd, to: &OwnedFd, start: u64, end: u64) -> io::Result<()> {
    let (mut from, mut to) = (File::from(from.try_clone()?), File::from(to.try_clone()?));
    from.seek(SeekFrom::Start(start))?;
    to.seek(SeekFrom::Start(start))?;
    io::copy(&mut io::Read::take(&mut from, end - start), &mut to)?;
    Ok(())
}
