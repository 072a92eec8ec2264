//! What an interrupted call left, when its journal is gone or damaged. Only identity and content
//! say then whose a file is: a lock of edt is the same inode as the staging file from which it was
//! linked.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::files::StagingArea;
use super::index_file::own_lock;
use super::{index, private};
use edt_git::Repo;
use edt_io::disk::MAX_FILE;
use edt_io::{failed, fs};
use edt_types::text::Shown as _;
use edt_types::{Recovered, Result};

/// The locks that are edt's own in this worktree. The caller holds the worktree's lock, so that no
/// running call has them.
#[must_use]
pub fn own_locks(repo: &Repo) -> Vec<PathBuf> {
    let mut locks = repo.own_ref_locks();
    locks.extend(own_lock(repo));
    locks
}

/// Removes edt's own locks, and the staged files whose bytes Git or the private store has. Other
/// staged files are kept under another name: they may have been displaced. The lock of the index
/// becomes the index if HEAD's tree has its entries, because Git would else show the commit's
/// reversal as staged.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`: the next call tries again.
pub fn release(repo: &Repo) -> Result<Option<Recovered>> {
    let locks = own_locks(repo);
    let staged = staged_files(repo.state_path());
    if repo.state_path().join("stage").is_dir() {
        index::release(repo, &StagingArea::open(repo)?)?;
    }
    repo.unlock_own_refs()?;
    let mut kept = 0;
    for path in &staged {
        let bytes = fs::read_small(path, MAX_FILE).filter(|_| !fs::is_link(path));
        let id = bytes.and_then(|bytes| repo.blob_id(&bytes).ok());
        if id.is_some_and(|id| private::bytes(repo, id).is_ok()) {
            fs::remove_file(path).map_err(|error| failed("remove", path, &error))?;
        } else {
            keep(path)?;
            kept += 1;
        }
    }
    if locks.is_empty() && kept == 0 {
        return Ok(None);
    }
    let mut detail = "The journal of an interrupted call was lost.".to_owned();
    if !locks.is_empty() {
        let names: Vec<String> = locks.iter().map(|lock| lock.shown()).collect();
        detail.push_str(&format!(" The call's locks were removed: {}.", names.join(", ")));
    }
    if kept > 0 {
        let stage = repo.state_path().join("stage");
        detail.push_str(&format!(
            " Staged files that no commit has are kept: {}.",
            stage.join("kept-*").shown()
        ));
    }
    detail.push_str(" `git status` shows which files it had changed.");
    Ok(Some(Recovered {
        action: "skipped",
        commit: None,
        files: Vec::new(),
        skipped: Vec::new(),
        detail,
    }))
}

/// The files in edt's directory `state` that have the name of a transaction's staged file. While no
/// transaction is open and the worktree's lock is held, none of them is needed.
#[must_use]
pub fn staged_files(state: &Path) -> Vec<PathBuf> {
    let stage = state.join("stage");
    let mut names = fs::names_in(&stage);
    names.retain(|name| is_staged_name(name.as_bytes()));
    names.sort();
    names.into_iter().map(|name| stage.join(name)).collect()
}

/// Whether it is `<process>-<commit>-<number>`, as a transaction names what it stages.
fn is_staged_name(name: &[u8]) -> bool {
    let parts: Vec<&[u8]> = name.split(|byte| *byte == b'-').collect();
    let is_hex = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_hexdigit);
    matches!(&parts[..], [process, commit, number] if is_hex(process)
        && commit.len() == 8
        && is_hex(commit)
        && !number.is_empty()
        && number.iter().all(u8::is_ascii_digit))
}

/// Renames a file that may have a user's only copy, as a rollback does.
fn keep(path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kept = path.with_file_name(format!("kept-{name}"));
    let mut moved = fs::rename_no_replace(path, &kept);
    for number in 1..1000 {
        if !moved.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists) {
            break;
        }
        let kept = path.with_file_name(format!("kept-{name}.{number}"));
        moved = fs::rename_no_replace(path, &kept);
    }
    moved.map_err(|error| failed("keep", path, &error).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    #[test]
    fn only_names_of_transactions_are_staged_names() {
        let is = |name: &str| is_staged_name(name.as_bytes());
        assert!(is("1f-0123abcd-0") && is("1-89abcdef-12"));
        for other in ["index", "kept-1f-0123abcd-0", "1f-0123abc-0"] {
            assert!(!is(other), "{other}");
        }
        assert!(!is("1f-0123abcd-x") && !is("1f-0123abcd-") && !is("-0123abcd-0"));
    }

    #[test]
    fn a_staged_file_whose_bytes_git_has_is_removed_and_another_one_is_kept() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        drop(scratch.journal(&repo));
        let stage = repo.state_path().join("stage");
        std::fs::create_dir_all(&stage).unwrap();
        std::fs::write(stage.join("1f-0123abcd-0"), "one\n").unwrap();
        std::fs::write(stage.join("1f-0123abcd-1"), "a user's\n").unwrap();
        std::fs::write(stage.join("kept-1f-0123abcd-1"), "an earlier one\n").unwrap();
        assert!(release(&repo).unwrap().is_some());
        assert_eq!(staged_files(repo.state_path()), Vec::<PathBuf>::new());
        let kept = std::fs::read_to_string(stage.join("kept-1f-0123abcd-1.1")).unwrap();
        assert_eq!(kept, "a user's\n");
    }
}
