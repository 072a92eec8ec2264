//! What is evaluated: a program, on a machine.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use edt_types::Level;

/// A program that a caller wants to run.
#[derive(Debug, Clone, Copy)]
pub struct CommandQuery<'a> {
    /// A name to look up on `PATH`, or a path relative to `dir`.
    pub program: &'a OsStr,
    pub args: &'a [OsString],
    /// The working directory, absolute.
    pub dir: &'a Path,
    /// The worktree's root, absolute and without symbolic links.
    pub root: &'a Path,
    /// Variables that the caller adds to the environment.
    pub env: &'a [(OsString, OsString)],
    pub level: Level,
}

/// What the policy needs to know about the machine.
pub trait Host {
    /// The directories of the `PATH` with which the program will be looked up.
    fn path_directories(&self) -> Vec<PathBuf>;
    /// Whether `path` is an executable regular file.
    fn is_executable(&self, path: &Path) -> bool;
    /// The path without symbolic links, if it exists.
    fn real_path(&self, path: &Path) -> Option<PathBuf>;
    /// Empty if the directory cannot be read.
    fn directory_entries(&self, directory: &Path) -> Vec<String>;
    fn home_directory(&self) -> Option<PathBuf>;
    /// Receives a path that the command names and may write or remove.
    fn is_named(&self, path: &Path) {
        let _ = path;
    }
    /// What `edt undo` can restore of `path` in the worktree after a program removed it.
    fn restorable(&self, path: &Path) -> Restorable {
        let _ = path;
        Restorable::All
    }
}

/// What `edt undo` can restore of a removed file or directory; later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Restorable {
    All,
    /// All but ignored directories with very many files, which are taken for build output.
    NotBuildOutput,
    /// A file is too large for a copy, or the copies are too large together.
    NotAll,
}
