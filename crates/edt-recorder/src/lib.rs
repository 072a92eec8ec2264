//! Records what programs change below one directory, at the system call, so that it can be told
//! from what others changed and be put back.

#[cfg(target_os = "linux")]
mod call;
#[cfg(target_os = "linux")]
mod content;
pub mod event;
#[cfg(target_os = "linux")]
mod expect;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod hands;
#[cfg(target_os = "linux")]
mod inode;
#[cfg(target_os = "linux")]
mod kept_name;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod locate;
#[cfg(target_os = "linux")]
mod log;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod recorder;
#[cfg(target_os = "linux")]
mod restore;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod store;
#[cfg(target_os = "linux")]
mod thread;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod walk;
#[cfg(target_os = "linux")]
mod watch;

#[cfg(target_os = "linux")]
pub use {
    hands::Rights,
    record::{Before, RecordedRun, TouchedPath},
    recorder::{ChildSetup, Listener, Recorder, Recording, is_supported},
    restore::{Restoration, restore},
    store::CopyLimits,
};

use std::fs::File;
use std::io;

use event::{Attributes, Inode};

/// Knows which files have their bytes elsewhere, such as in Git's objects.
pub trait Clean: Send {
    /// The name of the bytes of the file at `path`, below the root, whose stat is this. `None`: it
    /// has to be kept.
    fn name(&mut self, path: &[u8], inode: Inode, attributes: &Attributes) -> Option<Vec<u8>>;
}

impl std::fmt::Debug for dyn Clean {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Clean")
    }
}

/// Every file has to be kept.
#[derive(Debug)]
pub struct NothingClean;

impl Clean for NothingClean {
    fn name(&mut self, _: &[u8], _: Inode, _: &Attributes) -> Option<Vec<u8>> {
        None
    }
}

/// Has the bytes that [`Clean`] named.
pub trait CleanBytes {
    /// Writes them to `file`, which is empty.
    ///
    /// # Errors
    /// They are not there, or the file cannot be written.
    fn write(&mut self, name: &[u8], file: &mut File) -> io::Result<()>;
}

impl CleanBytes for NothingClean {
    fn write(&mut self, _: &[u8], _: &mut File) -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }
}
