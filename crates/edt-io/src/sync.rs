//! What a power cut cannot lose.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{self as sys, Mode, OFlags};
use rustix::io::Errno;

use super::disk::{Dir, step};
use super::effect::{self, SideEffect};
use super::platform;

impl Dir {
    /// Syncs the content of the file `name` to disk.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn sync(&self, name: &[u8]) -> io::Result<()> {
        let name = OsStr::from_bytes(name);
        effect::step(SideEffect::Sync, Path::new(name))?;
        let file = sys::openat(
            &self.0,
            name,
            // A FIFO would wait for a writer.
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(platform::sync_data(file.as_fd())?)
    }

    /// Syncs the whole file system of this directory to disk; false if the system can only sync
    /// files.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn sync_file_system(&self) -> io::Result<bool> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = sys::openat(&self.0, ".", flags, Mode::empty())?;
        step(SideEffect::Sync, b".")?;
        match platform::sync_file_system(dir.as_fd()) {
            Err(Errno::NOSYS) => Ok(false),
            done => Ok(done.map(|()| true)?),
        }
    }

    /// Syncs the names in this directory to disk.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn sync_entries(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = sys::openat(&self.0, ".", flags, Mode::empty())?;
        step(SideEffect::Sync, b".")?;
        Ok(platform::sync_all(dir.as_fd())?)
    }
}
