//! Records what programs change below one directory, at the system call, so that it can be
//! distinguished from what others changed and be put back.
//!
//! ```text
//! program ─ call ─ seccomp filter ─ listener ─ recorder: resolves the paths, keeps what the call
//!                  (reads pass)                destroys, logs it, executes the call, answers
//! ```
//!
//! [`Recorder::prepare`] starts the thread that answers. [`ChildSetup::apply`] installs the filter
//! in the thread that starts the program; that thread must not be one that answers.
//! [`Recorder::finish`] ends the log and returns the [`RecordedRun`]: which paths were
//! [touched](RecordedRun::touched), what was there [before](RecordedRun::before), and who else wrote
//! them. [`restore`] replays the log backwards, also after everything was killed.
//!
//! *Content counts per inode, names per path.* The content of an inode is kept before it is opened
//! for writing for the first time, under whatever name. Removed files are linked into the store.
//! The recorder itself executes what changes names and what opens files for writing, with the
//! [rights](Rights) of the program, so that no path can change in between. Once a program reduced
//! or changed its rights, the kernel executes all further calls of the run.
//!
//! Not recorded: what is written through descriptors that were open before the run or came from
//! other programs, and what servers write for a program.
//!
//! Only Linux can record. Elsewhere [`is_supported`] is false, and no record can be read.
//!
//! # In a sandbox
//!
//! The recorder is in the process that supervises the program: in its namespaces, above it in the
//! tree of processes, and outside its Landlock rules and filters. The thread that starts the
//! program confines itself first, and calls `apply` last. [`Rights::Confined`] repeats the same
//! Landlock rules and capabilities for the thread that acts for the program. A filter that refuses
//! a call goes before this one.

#[cfg(target_os = "linux")]
mod call;
#[cfg(target_os = "linux")]
mod connect;
#[cfg(target_os = "linux")]
mod content;
#[cfg(target_os = "linux")]
mod denied;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
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
mod shared;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod store;
#[cfg(target_os = "linux")]
mod thread;
mod touched;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod walk;
#[cfg(target_os = "linux")]
mod watch;

#[cfg(target_os = "linux")]
pub use {
    hands::Rights,
    record::RecordedRun,
    recorder::{ChildSetup, Listener, Recorder, Recording, is_supported, outer_mark},
    restore::restore,
    sockets::Sockets,
    store::CopyLimits,
};

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{RecordedRun, is_supported, outer_mark, restore};

pub use touched::{Before, Restoration, TouchedPath};

use std::fs::File;
use std::io;

use event::{Attributes, Inode, NewNode};

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

/// A name that a program is about to make below the root.
#[derive(Debug, Clone, Copy)]
pub struct NewName<'a> {
    /// Its path below the root.
    pub path: &'a [u8],
    pub node: NewNode,
    pub origin: Origin<'a>,
}

/// Where what gets a name comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin<'a> {
    /// It is made, or gets a further name.
    New,
    /// It has this path below the root until now.
    Moved(&'a [u8]),
    /// It was elsewhere until now.
    Outside,
}

/// Decides which names programs may make.
pub trait Names: Send {
    /// Whether they may make this one. Else the call is answered with EPERM.
    fn may_make(&mut self, name: &NewName<'_>) -> bool;
}

impl std::fmt::Debug for dyn Names {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Names")
    }
}

/// Programs may make every name.
#[derive(Debug)]
pub struct AnyName;

impl Names for AnyName {
    fn may_make(&mut self, _: &NewName<'_>) -> bool {
        true
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
