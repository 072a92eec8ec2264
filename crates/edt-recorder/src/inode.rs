//! What is known of a file by its inode.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, makedev, statx};
use rustix::io::Errno;

use crate::event::{Attributes, Inode};

/// One look at a file, a directory or a link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight {
    pub(crate) inode: Inode,
    pub(crate) kind: FileType,
    pub(crate) attributes: Attributes,
    /// The identifier of its mount.
    pub(crate) mount: u64,
    /// Its names.
    pub(crate) names: u32,
    /// What its data occupies, in bytes.
    pub(crate) occupied: u64,
}

impl Sight {
    /// What `name` in `directory` is; a symbolic link is not followed.
    pub(crate) fn at(directory: impl AsFd, name: &[u8]) -> rustix::io::Result<Sight> {
        let found = statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, wanted())?;
        Ok(Sight::of_statx(&found))
    }

    /// What a symbolic link `name` in `directory` leads to.
    pub(crate) fn of_target(directory: impl AsFd, name: &[u8]) -> rustix::io::Result<Sight> {
        let found = statx(directory, name, AtFlags::empty(), wanted())?;
        Ok(Sight::of_statx(&found))
    }

    pub(crate) fn of(file: impl AsFd) -> rustix::io::Result<Sight> {
        let found = statx(file, c"", AtFlags::EMPTY_PATH, wanted())?;
        Ok(Sight::of_statx(&found))
    }

    fn of_statx(found: &Statx) -> Sight {
        let time = |time: &rustix::fs::StatxTimestamp| (time.tv_sec, time.tv_nsec);
        Sight {
            inode: Inode {
                device: makedev(found.stx_dev_major, found.stx_dev_minor),
                number: found.stx_ino,
                born: time(&found.stx_btime),
            },
            kind: FileType::from_raw_mode(u32::from(found.stx_mode)),
            attributes: Attributes {
                mode: u32::from(found.stx_mode) & 0o7777,
                user: found.stx_uid,
                group: found.stx_gid,
                size: found.stx_size,
                accessed: time(&found.stx_atime),
                modified: time(&found.stx_mtime),
            },
            mount: found.stx_mnt_id,
            names: found.stx_nlink,
            occupied: found.stx_blocks * 512,
        }
    }

    pub(crate) fn is_file(&self) -> bool {
        self.kind == FileType::RegularFile
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }

    pub(crate) fn is_link(&self) -> bool {
        self.kind == FileType::Symlink
    }
}

fn wanted() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID
}

/// `None` if nothing is there.
pub(crate) fn existing<T>(found: rustix::io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
