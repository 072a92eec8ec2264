//! The mount that a directory lies on.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;

use rustix::io::Errno;

use super::disk::Dir;
use super::platform;

/// A mount of a file system. A file can be renamed within one only: two mounts of one file system
/// have the same device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of the mount; `None` before Linux 5.8, and on
    /// other systems.
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
        match platform::mount(self.0.as_fd(), OsStr::from_bytes(rel)) {
            Ok((id, device)) => Ok(Some(Mount { id, device })),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
