//! Looks into the journals of all worktrees of a repository, without opening them for writing.

use std::path::{Path, PathBuf};

use super::beside;
use super::frame::{RECORD_HEAD, RECORD_MAGIC, record_at, u32_at, u64_at};
use super::log::{HEADER, MAGIC, PAGE};
use super::record::{Record, VERSION};
use super::sweep::staged_files;
use edt_git::{Loose, Repo, SpareObjects};
use edt_io::clock::boot_id;
use edt_io::file::{File, OpenMode};
use edt_io::fs;

/// The directories of the worktrees in which edt was used, and the names of the linked ones.
#[must_use]
pub fn state_directories(common: &Path) -> Vec<(Option<std::ffi::OsString>, PathBuf)> {
    let edt = common.join("edt");
    let linked = edt.join("linked");
    let mut all: Vec<_> = fs::names_in(&linked)
        .into_iter()
        .map(|name| (Some(name.clone()), linked.join(name)))
        .collect();
    all.push((None, edt.join("main")));
    all
}

/// Whether a call in the worktree of `state` was interrupted, or the machine was restarted since
/// its last one. A call that runs there looks the same.
#[must_use]
pub fn has_pending(state: &Path) -> bool {
    match File::open(&state.join("journal"), OpenMode::ReadOnly) {
        Ok(file) => is_pending(&file) || state.join(beside::NOTE).is_file(),
        Err(_) => !is_unused(state),
    }
}

/// Whether no call has written anything in the worktree of `state`. Its journal may be lost.
#[must_use]
pub fn is_unused(state: &Path) -> bool {
    !["journal", "ref", "head", "stage/index"].iter().any(|name| state.join(name).exists())
        && staged_files(state).is_empty()
}

/// The objects in the journals of a repository.
#[derive(Debug)]
pub struct JournalObjects;

impl SpareObjects for JournalObjects {
    fn objects(&self, repo: &Repo) -> Vec<Loose> {
        let directories = state_directories(repo.common_dir()).into_iter();
        directories.flat_map(|(_, state)| recorded_objects(&state)).collect()
    }
}

/// The objects of the records since the last checkpoint.
fn recorded_objects(state: &Path) -> Vec<Loose> {
    let mut objects = Vec::new();
    let Ok(file) = File::open(&state.join("journal"), OpenMode::ReadOnly) else { return objects };
    let size = file.len().unwrap_or(0);
    let mut at = PAGE;
    while let Ok(Some((.., record, end))) = record_at(&file, at, size) {
        if let Record::ChangeSet(record) = record {
            objects.extend(record.loose());
        }
        at = end;
    }
    objects
}

/// Whether the journal has a record that is not closed, or records of an earlier boot.
fn is_pending(file: &File) -> bool {
    let (mut head, mut record) = ([0; HEADER], [0; RECORD_HEAD]);
    if file.read_exact_at(&mut head, 0).is_err()
        || &head[..8] != MAGIC
        || u32_at(&head, 8) != VERSION
    {
        return false;
    }
    let intact = crc32fast::hash(&head[..52]) == u32_at(&head, 52);
    let same_boot = boot_id().is_none_or(|boot| boot.as_slice() == &head[36..52]);
    // The first record of an earlier boot, or the one that follows the last closed one.
    let at = if intact && same_boot { u64_at(&head, 20) } else { PAGE };
    file.read_exact_at(&mut record, at).is_ok()
        && u32_at(&record, 0) == RECORD_MAGIC
        && (!intact || u64_at(&record, 12) == u64_at(&head, 12))
        && (at == PAGE || u64_at(&record, 20) == u64_at(&head, 28))
}
