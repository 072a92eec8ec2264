//! Branches that Git is renaming. It puts the log aside, deletes the old name, and asks of the new one only then; a refusal
//! ends it on the spot. So edt remembers each first step, and takes it back when it refuses a later one.

use std::path::{Path, PathBuf};

use super::plumbing::Git;
use super::refs::is_null;
use crate::base::Result;
use crate::io::failed;
use crate::io::whole::{self, There};

/// What the line of a branch's log says that was a session's branch.
const WAS_SESSION: &[u8] = b"\tBranch: renamed refs/heads/edt/";

/// The Git folder, seen for renames.
#[derive(Debug)]
pub struct Renames<'a> {
    git: &'a Git,
    common: &'a Path,
}

impl<'a> Renames<'a> {
    /// In the repository of `git`, whose shared Git folder is `common`.
    #[must_use]
    pub fn of(git: &'a Git, common: &'a Path) -> Renames<'a> {
        Renames { git, common }
    }

    /// Whether the ref at `stands` is being renamed: its log was put aside, and ends at the ref's value.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn is_under_way(&self, name: &str, stands: &str) -> Result<bool> {
        Ok(self.aside()?.as_deref() == Some(stands) && read(&self.log(name))?.is_none())
    }

    /// Whether the branch was a session's under another name, as far as its log tells.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn was_session(&self, name: &str) -> Result<bool> {
        Ok(read(&self.log(name))?
            .is_some_and(|log| memchr::memmem::find(&log, WAS_SESSION).is_some()))
    }

    /// Remembers that `name`, which is at `stands`, goes for a rename. The note counts only while the log stays aside.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn remember(&self, name: &str, stands: &str) -> Result<()> {
        let note = note(self.common);
        let folder = note.parent().map_or(Ok(false), whole::make_folder);
        let written =
            folder.and_then(|_| whole::put(&note, format!("{stands} {name}\n").as_bytes(), 0o666));
        written.map_err(|error| failed("write", &note, &error).into())
    }

    /// Gives `name`, whose deletion is refused, its log back if Git had put it aside.
    ///
    /// # Errors
    /// `IO_ERROR`; the log is where Git left it then.
    pub fn keep(&self, name: &str, stands: &str) -> Result<()> {
        if self.is_under_way(name, stands)? { self.bring_back(name) } else { Ok(()) }
    }

    /// Takes back the first step of a rename whose second is refused: the branch that is there again, and its value.
    ///
    /// # Errors
    /// `IO_ERROR` with what Git said; the note stays then.
    pub fn take_back(&self) -> Result<Option<(String, String)>> {
        let note = note(self.common);
        let (Some(text), Some(aside)) = (read(&note)?, self.aside()?) else { return Ok(None) };
        let text = String::from_utf8_lossy(&text).into_owned();
        let Some((stands, name)) = text.trim_end().split_once(' ') else { return Ok(None) };
        if stands != aside || self.git.run(&["show-ref", "--verify", "--quiet", name], b"")?.ok {
            return Ok(None);
        }
        let zeros = "0".repeat(stands.len());
        let quiet = [
            "-c",
            "core.logAllRefUpdates=false",
            "update-ref",
            "-m",
            "edt: refused rename taken back",
        ];
        self.git.output(&[&quiet, &[name, stands, &zeros][..]].concat(), b"")?;
        self.bring_back(name)?;
        whole::remove(&note).map_err(|error| failed("remove", &note, &error))?;
        Ok(Some((name.to_owned(), stands.to_owned())))
    }

    /// The value that the log put aside ends at.
    fn aside(&self) -> Result<Option<String>> {
        let Some(log) = read(&self.log(".tmp-renamed-log"))? else { return Ok(None) };
        let last = log.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        let value = last
            .split(|&byte| byte == b' ')
            .nth(1)
            .map(|id| String::from_utf8_lossy(id).into_owned());
        Ok(value.filter(|id| !is_null(id)))
    }

    fn bring_back(&self, name: &str) -> Result<()> {
        let (aside, own) = (self.log(".tmp-renamed-log"), self.log(name));
        let made = own.parent().map_or(Ok(false), whole::make_folder);
        made.and_then(|_| whole::shift(&aside, &own))
            .map_err(|error| failed("move", &aside, &error).into())
    }

    fn log(&self, name: &str) -> PathBuf {
        let below = if name.starts_with("refs/") { "logs" } else { "logs/refs" };
        self.common.join(below).join(name)
    }
}

/// Where the note stands.
#[must_use]
pub fn note(common: &Path) -> PathBuf {
    common.join("edt/renaming")
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match whole::at(path).map_err(|error| failed("read", path, &error))? {
        There::File { bytes, .. } => Ok(Some(bytes)),
        There::Nothing | There::Other => Ok(None),
    }
}
