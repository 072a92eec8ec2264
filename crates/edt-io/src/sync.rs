//! What a power cut cannot lose.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{self as sys, Mode, OFlags};

use super::disk::{Dir, step};
use super::effect::{self, SideEffect};

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
        Ok(sys::fdatasync(&file)?)
    }

    /// Syncs the whole file system of this directory to disk.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn sync_file_system(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = sys::openat(&self.0, ".", flags, Mode::empty())?;
        step(SideEffect::Sync, b".")?;
        Ok(sys::syncfs(&dir)?)
    }

    /// Syncs the names in this directory to disk.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn sync_entries(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = sys::openat(&self.0, ".", flags, Mode::empty())?;
        step(SideEffect::Sync, b".")?;
        Ok(sys::fsync(&dir)?)
    }
}
