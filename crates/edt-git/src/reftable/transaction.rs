//! Changes a stack of tables: takes its lock, writes one table, replaces the list.
//!
//! The lock is a hard link to a staging file, by which the next call recognises it. It gets the new
//! list as its content and is renamed onto the list. A kill at any point leaves the old list or the
//! new one, and perhaps the lock, a table that no list names, or tables that were merged. The next
//! call removes these.
//!
//! A torn table or list would lose every ref. So the new table, those of Git that remain, their
//! names and the new list are synced before the rename, at any durability. Tables that were merged
//! are removed once the rename is synced.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io;
use std::path::{Path, PathBuf};

use super::NAME;
use super::stack::Stack;
use super::table::Table;
use super::update::{NewLogEntry, RefUpdate, plan};
use super::write::Contents;
use crate::refs;
use crate::repo::Repo;
use crate::swap::{OWN_TABLES, RefLock, TABLES, inode, lock_path};
use edt_io::file::{self, File, OpenMode};
use edt_io::{failed, fs, lock, process};
use edt_types::Result;

/// A lock is never empty, so that a copy of the repository has it beside an equal staging file.
const MARK: &str = "edt\n";
/// The length of a table at least, as a multiple of all newer ones together. Git merges as well.
const FACTOR: u64 = 2;
/// A name in the tables that all worktrees share.
const SHARED: &str = "refs/";

/// A change of refs in tables, complete but for the rename. Removed on drop.
#[must_use = "it happens with `HeldRefs::install`"]
#[derive(Debug)]
pub struct HeldRefs {
    lock: Option<RefLock>,
    list: PathBuf,
    table: PathBuf,
    staged: PathBuf,
    /// The tables whose records the new table has.
    merged: Vec<PathBuf>,
}

impl HeldRefs {
    /// Makes the change.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`. No ref is changed then.
    pub fn install(mut self) -> Result<()> {
        let Some(lock) = self.lock.take() else { return Ok(()) };
        if let Err(error) = lock.become_ref(&self.list) {
            // A network file system may report an error of a rename that happened. What cannot be
            // read is left to the next call.
            match self.is_listed() {
                Some(true) => {}
                Some(false) => {
                    self.remove_table();
                    return Err(error);
                }
                None => return Err(error),
            }
        }
        // After a power failure the old list would name tables that are gone. If this fails, the next
        // change tries again.
        if self.merged.is_empty() || sync_directory(&self.list).is_ok() {
            for table in &self.merged {
                let _ = fs::remove_file(table);
            }
            let _ = fs::remove_file(&self.staged);
        }
        Ok(())
    }

    /// Whether the list names the new table; `None` if it cannot be read.
    fn is_listed(&self) -> Option<bool> {
        let list = std::fs::read_to_string(&self.list).ok()?;
        let name = self.table.file_name()?.to_str()?;
        Some(list.lines().any(|line| line == name))
    }

    fn remove_table(&self) {
        let _ = fs::remove_file(&self.table);
        let _ = fs::remove_file(&self.staged);
    }
}

impl Drop for HeldRefs {
    fn drop(&mut self) {
        if self.lock.is_some() {
            self.remove_table();
        }
    }
}

impl Repo {
    /// Makes all of `updates` and writes `logs`, or does nothing. All are of one stack.
    ///
    /// # Errors
    /// `SESSION_MOVED` if a ref has another value; `SESSION_BUSY` if another program holds the
    /// lock; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn change_refs(&self, updates: &[RefUpdate<'_>], logs: &[NewLogEntry<'_>]) -> Result<()> {
        self.hold_refs(updates, logs)?.map_or(Ok(()), HeldRefs::install)
    }

    /// Prepares a change, and holds the lock of the tables. `None` if nothing changes.
    ///
    /// # Errors
    /// As [`change_refs`](Repo::change_refs).
    pub fn hold_refs(
        &self,
        updates: &[RefUpdate<'_>],
        logs: &[NewLogEntry<'_>],
    ) -> Result<Option<HeldRefs>> {
        let names = updates.iter().map(RefUpdate::name).chain(logs.iter().map(|log| log.name));
        let Some(name) = names.into_iter().next() else { return Ok(None) };
        let (list, staging) = (self.tables_list(name), self.staging_of(name));
        self.release_tables(name)?;
        self.release_orphaned_tables()?;
        self.stage_value(MARK, staging)?;
        let place = self.state_path().join(staging);
        // As long as it has no other name.
        let new_list = File::open(&place, OpenMode::Existing)
            .map_err(|error| failed("open", &place, &error))?;
        let lock = self.hold_lock(&list, staging)?;
        self.remove_unfinished(name)?;
        let unreadable = |error: io::Error| refs::not_read(name, &error.to_string());
        let stack = Stack::open(self.stack_dir(name)).map_err(unreadable)?;
        let Some(mut contents) = plan(self, &stack, updates, logs)? else {
            lock.release()?;
            return Ok(None);
        };
        let (bytes, merged) = merge(&stack, &mut contents).map_err(unreadable)?;
        let staged = self.staged_table(name);
        self.write_table(&staged, &bytes)?;
        let mut held =
            HeldRefs { lock: Some(lock), table: staged.clone(), staged, list, merged: Vec::new() };
        // The new list is synced: it must not name what a power failure can tear.
        stack.tables()[merged..].iter().try_for_each(Table::sync).map_err(unreadable)?;
        held.table = self.name_table(name, &held.staged, contents.updates())?;
        let kept = stack.tables()[merged..].iter().rev().map(|table| format!("{}\n", table.name()));
        let added = held.table.file_name().unwrap_or_default().to_string_lossy();
        let content: String = kept.chain([format!("{added}\n")]).collect();
        let write = || {
            new_list.truncate(0)?;
            new_list.write_all(content.as_bytes())?;
            new_list.sync_data()
        };
        write().map_err(|error| failed("write", &place, &error))?;
        held.merged =
            stack.tables()[..merged].iter().map(|table| table.path().to_owned()).collect();
        Ok(Some(held))
    }

    /// Removes the lock of the tables that have `name`, if a killed call of edt in this worktree
    /// left it, and what it had not finished. The caller holds the worktree's lock.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`: the lock is still recognised as edt's own.
    pub(crate) fn release_tables(&self, name: &str) -> Result<()> {
        let lock = lock_path(&self.tables_list(name));
        if self.is_own(&lock) {
            self.remove_unfinished(name)?;
            fs::remove_file(&lock).map_err(|error| failed("unlock", &lock, &error))?;
        }
        Ok(())
    }

    /// The state directory of another worktree, which may be gone, whose killed call left the lock
    /// of the tables that all worktrees share; with the lock of that directory, which a running call
    /// would hold.
    fn orphan(&self) -> Option<(PathBuf, File)> {
        let held = inode(&lock_path(&self.tables_list(SHARED)))?;
        let all = self.common_dir().join("edt");
        let linked = fs::names_in(&all.join("linked")).into_iter();
        let linked = linked.map(|name| all.join("linked").join(name));
        let mut others =
            linked.chain([all.join("main")]).filter(|state| state != self.state_path());
        let state = others.find(|state| inode(&state.join(TABLES)) == Some(held))?;
        let guard = File::open(&state.join("lock"), OpenMode::Existing).ok()?;
        let is_left = lock::try_exclusive(&guard)
            && inode(&lock_path(&self.tables_list(SHARED))) == Some(held);
        is_left.then_some((state, guard))
    }

    /// Removes the lock of the shared tables if a killed call in another worktree left it. It blocks
    /// every worktree, and its own may be gone.
    ///
    /// # Errors
    /// As [`release_tables`](Repo::release_tables).
    pub fn release_orphaned_tables(&self) -> Result<()> {
        if !self.has_tables() {
            return Ok(());
        }
        let Some((state, _guard)) = self.orphan() else { return Ok(()) };
        self.remove_unfinished_of(SHARED, &state.join(format!("{TABLES}.new")))?;
        let lock = lock_path(&self.tables_list(SHARED));
        fs::remove_file(&lock).map_err(|error| failed("unlock", &lock, &error).into())
    }

    /// Removes the table of a killed call if the list lacks it, else the tables that it replaces.
    /// The caller holds the lock of the tables, or found it to be edt's own.
    fn remove_unfinished(&self, name: &str) -> Result<()> {
        self.remove_unfinished_of(name, &self.staged_table(name))
    }

    fn remove_unfinished_of(&self, name: &str, staged: &Path) -> Result<()> {
        let Some(own) = inode(staged) else { return Ok(()) };
        let git_dir = self.stack_dir(name);
        let list =
            super::list(git_dir).map_err(|error| refs::not_read(name, &error.to_string()))?;
        let is_listed =
            |name: &str| list.split(|byte| *byte == b'\n').any(|n| n == name.as_bytes());
        let directory = git_dir.join(NAME);
        let names = fs::names_in(&directory).into_iter().filter_map(|name| name.into_string().ok());
        let tables: Vec<(String, (u64, u64))> =
            names.filter_map(|name| updates_of(&name).map(|updates| (name, updates))).collect();
        let is_own = |name: &str| inode(&directory.join(name)) == Some(own);
        // Before it has a name, the table may be incomplete.
        let range = Table::open(staged).map(|table| table.updates());
        let is_replacing = tables.iter().any(|(name, _)| is_listed(name) && is_own(name));
        if is_replacing {
            file::sync(&directory).map_err(|error| failed("sync", &directory, &error))?;
        }
        for (name, (first, last)) in &tables {
            let is_within = range.as_ref().is_ok_and(|range| range.0 <= *first && *last <= range.1);
            if !is_listed(name) && (is_own(name) || is_replacing && is_within) {
                let table = directory.join(name);
                fs::remove_file(&table).map_err(|error| failed("remove", &table, &error))?;
            }
        }
        fs::remove_file(staged).map_err(|error| failed("remove", staged, &error).into())
    }

    fn write_table(&self, staged: &Path, bytes: &[u8]) -> Result<()> {
        let _ = fs::remove_file(staged);
        let written = File::open(staged, OpenMode::CreateNew(0o666)).and_then(|file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written.map_err(|error| failed("write", staged, &error))?;
        self.share(staged)
    }

    /// Links the staged table among the others, under a name as Git makes them.
    fn name_table(&self, name: &str, staged: &Path, (first, last): (u64, u64)) -> Result<PathBuf> {
        let directory = self.stack_dir(name).join(NAME);
        let fail = |error: &io::Error| failed("make a table in", &directory, error);
        let random = RandomState::new();
        for attempt in 0..8 {
            let number = random.hash_one((process::process_id(), attempt, last)) >> 32;
            let table = directory.join(format!("0x{first:012x}-0x{last:012x}-{number:08x}.ref"));
            match fs::link(staged, &table) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fail(&error).into()),
                Ok(()) => {
                    // The list must not name a table that a power failure removes.
                    if let Err(error) = file::sync(&directory) {
                        let _ = fs::remove_file(&table);
                        return Err(fail(&error).into());
                    }
                    return Ok(table);
                }
            }
        }
        Err(fail(&io::ErrorKind::AlreadyExists.into()).into())
    }

    /// The staging file of the lock of the tables that have `name`.
    fn staging_of(&self, name: &str) -> &'static str {
        if self.stack_dir(name) == self.common_dir() { TABLES } else { OWN_TABLES }
    }

    fn staged_table(&self, name: &str) -> PathBuf {
        self.state_path().join(format!("{}.new", self.staging_of(name)))
    }

    /// The directory of the tables that have `name`. Once it is synced, the present list outlives a
    /// power failure.
    #[must_use]
    pub fn tables_dir(&self, name: &str) -> PathBuf {
        self.stack_dir(name).join(NAME)
    }
}

fn sync_directory(list: &Path) -> io::Result<()> {
    file::sync(list.parent().unwrap_or(list))
}

/// Adds the newest tables to `contents` while they are small. Returns the bytes of the new table,
/// and how many tables it replaces. A table with a lock is being merged by Git.
fn merge(stack: &Stack, contents: &mut Contents) -> io::Result<(Vec<u8>, usize)> {
    let bytes = contents.bytes()?;
    let (mut size, mut merged) = (bytes.len() as u64, 0);
    for table in stack.tables() {
        let is_locked = lock_path(table.path()).symlink_metadata().is_ok();
        let is_small = table.content_size() < FACTOR * size;
        if is_locked || !is_small || !contents.add_older(table)? {
            break;
        }
        size += table.content_size();
        merged += 1;
    }
    if merged == 0 {
        return Ok((bytes, 0));
    }
    if merged == stack.tables().len() {
        contents.forget_deleted();
    }
    Ok((contents.bytes()?, merged))
}

/// The first and the last number of the updates in a table, according to its name.
fn updates_of(name: &str) -> Option<(u64, u64)> {
    let mut parts = name.strip_suffix(".ref")?.split('-');
    let mut number = || u64::from_str_radix(parts.next()?.strip_prefix("0x")?, 16).ok();
    Some((number()?, number()?))
}
