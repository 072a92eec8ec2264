//! Branches that Git is renaming. Git moves the reflog, deletes the old name, and only then calls
//! the hook for the new name. A refusal stops Git at once. So edt notes each first step, and rolls
//! it back when it refuses the second.

use std::path::{Path, PathBuf};

use super::plumbing::Git;
use super::refs::is_null;
use edt_core::session::refs::names::{BRANCHES, base_ref};
use edt_core::session::refs::renamed::earlier_names;
use edt_io::failed;
use edt_io::fs::{self, PathContent};
use edt_types::Result;

/// The reflog message of a branch that was renamed from a session's branch.
const WAS_SESSION: &[u8] = b"\tBranch: renamed refs/heads/edt/";

/// The renames under way in a repository.
#[derive(Debug)]
pub struct BranchRenames<'a> {
    git: &'a Git,
    common: &'a Path,
}

impl<'a> BranchRenames<'a> {
    /// In the repository of `git`, whose common Git directory is `common`.
    #[must_use]
    pub fn of(git: &'a Git, common: &'a Path) -> BranchRenames<'a> {
        BranchRenames { git, common }
    }

    /// Whether the ref at `current` is being renamed: Git has moved its reflog, which ends at the
    /// ref's value.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn is_under_way(&self, name: &str, current: &str) -> Result<bool> {
        Ok(self.renamed_log_tip()?.as_deref() == Some(current) && read(&self.log(name))?.is_none())
    }

    /// Whether the branch was a session's under another name, according to its reflog.
    ///
    /// # Errors
    /// `IO_ERROR`, `PROGRAM_NOT_FOUND`.
    pub fn was_session(&self, name: &str) -> Result<bool> {
        // Logs in tables are not files.
        if self.common.join("reftable").symlink_metadata().is_ok() {
            let show = ["reflog", "show", "--format=%x09%gs", name, "--"];
            let log = self.git.run(&show, b"")?;
            return Ok(memchr::memmem::find(&log.stdout, WAS_SESSION).is_some());
        }
        Ok(read(&self.log(name))?
            .is_some_and(|log| memchr::memmem::find(&log, WAS_SESSION).is_some()))
    }

    /// Notes that `name`, which is at `current`, is deleted for a rename. The note is valid only
    /// while the reflog is moved.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn write_note(&self, name: &str, current: &str) -> Result<()> {
        let note_path = note_path(self.common);
        let note = format!("{current} {name}\n");
        let directory = note_path.parent().map_or(Ok(false), fs::make_dir);
        let written = directory.and_then(|_| fs::write_atomic(&note_path, note.as_bytes(), 0o666));
        written.map_err(|error| failed("write", &note_path, &error).into())
    }

    /// Moves the reflog of `name` back if Git had moved it; the deletion of `name` is refused.
    ///
    /// # Errors
    /// `IO_ERROR`; then the reflog stays where Git moved it.
    pub fn restore_log(&self, name: &str, current: &str) -> Result<()> {
        if self.is_under_way(name, current)? { self.move_log_back(name) } else { Ok(()) }
    }

    /// Rolls back the first step of a rename whose second is refused. Returns the restored branch
    /// and its value.
    ///
    /// # Errors
    /// `IO_ERROR` with Git's message; then the note stays.
    pub fn roll_back(&self) -> Result<Option<(String, String)>> {
        let note_path = note_path(self.common);
        let (Some(text), Some(tip)) = (read(&note_path)?, self.renamed_log_tip()?) else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&text).into_owned();
        let Some((current, name)) = text.trim_end().split_once(' ') else { return Ok(None) };
        if current != tip || self.git.run(&["show-ref", "--verify", "--quiet", name], b"")?.ok {
            return Ok(None);
        }
        let zeros = "0".repeat(current.len());
        let quiet = [
            "-c",
            "core.logAllRefUpdates=false",
            "update-ref",
            "-m",
            "edt: refused rename rolled back",
        ];
        self.git.output(&[&quiet, &[name, current, &zeros][..]].concat(), b"")?;
        self.move_log_back(name)?;
        fs::remove_file(&note_path).map_err(|error| failed("remove", &note_path, &error))?;
        Ok(Some((name.to_owned(), current.to_owned())))
    }

    /// The last value in the moved reflog.
    fn renamed_log_tip(&self) -> Result<Option<String>> {
        let Some(log) = read(&self.log(".tmp-renamed-log"))? else { return Ok(None) };
        let last = log.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        let value = last
            .split(|&byte| byte == b' ')
            .nth(1)
            .map(|id| String::from_utf8_lossy(id).into_owned());
        Ok(value.filter(|id| !is_null(id)))
    }

    fn move_log_back(&self, name: &str) -> Result<()> {
        let (renamed, own) = (self.log(".tmp-renamed-log"), self.log(name));
        let made = own.parent().map_or(Ok(false), fs::make_dir);
        made.and_then(|_| fs::rename_no_replace(&renamed, &own))
            .map_err(|error| failed("move", &renamed, &error).into())
    }

    fn log(&self, name: &str) -> PathBuf {
        let below = if name.starts_with("refs/") { "logs" } else { "logs/refs" };
        self.common.join(below).join(name)
    }
}

/// The session whose branch the user renamed to `branch`, a full ref name, according to its
/// reflog. Such a session keeps its base.
///
/// # Errors
/// `IO_ERROR`, `PROGRAM_NOT_FOUND`.
pub fn session_of(git: &Git, branch: &str) -> Result<Option<String>> {
    let log = git.run(&["reflog", "show", "--format=%gs", branch, "--"], b"")?;
    let messages = String::from_utf8_lossy(&log.stdout).into_owned();
    for earlier in earlier_names(branch, messages.lines()) {
        let Some(name) = earlier.strip_prefix(BRANCHES) else { continue };
        let found = git.objects(&[base_ref(name), earlier.clone()])?;
        if matches!(found.as_slice(), [Some(_), None]) {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

/// The path of the note.
#[must_use]
pub fn note_path(common: &Path) -> PathBuf {
    common.join("edt/renaming")
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read_path(path).map_err(|error| failed("read", path, &error))? {
        PathContent::File { bytes, .. } => Ok(Some(bytes)),
        PathContent::Nothing | PathContent::Other => Ok(None),
    }
}
