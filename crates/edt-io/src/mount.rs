//! The mount that a directory lies on.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{self as sys, AtFlags, StatxFlags};
use rustix::io::Errno;

use super::disk::Dir;
use super::stat::Stat;

/// A mount of a file system. A file can be renamed within one only: two mounts of one file system
/// have the same device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of the mount; `None` before Linux 5.8.
    id: Option<u64>,
    device: u64,
}

impl Dir {
    /// The mount that has the directory `rel`; the empty path is this directory. `None` if it does
    /// not exist. Follows no link at its end.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn mount(&self, rel: &[u8]) -> io::Result<Option<Mount>> {
        let name = OsStr::from_bytes(rel);
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
        match sys::statx(&self.0, name, flags, StatxFlags::MNT_ID) {
            Ok(found) => {
                let known = StatxFlags::from_bits_retain(found.stx_mask);
                let id = known.contains(StatxFlags::MNT_ID).then_some(found.stx_mnt_id);
                let device = sys::makedev(found.stx_dev_major, found.stx_dev_minor);
                Ok(Some(Mount { id, device }))
            }
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            // A container may know no such call.
            Err(Errno::NOSYS | Errno::PERM) => match sys::statat(&self.0, name, flags) {
                Ok(found) => Ok(Some(Mount { id: None, device: Stat::from(&found).dev })),
                Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
                Err(error) => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }
}
