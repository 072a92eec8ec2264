//! Refs in tables (`extensions.refStorage=reftable`), the default of new repositories in Git 3.
//!
//! edt reads and writes the tables itself. Each worktree has tables of its own for HEAD and the refs
//! that only it has. The file `tables.list` names the tables of one stack, the newest last. It is
//! replaced under `tables.list.lock`, for whatever number of refs and log entries a transaction has.
//! No name of a table is used twice, so equal lists have equal refs.

mod record;
mod stack;
mod table;
mod transaction;
mod update;
mod write;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::refs::Target;

use super::repo::Repo;
use super::supported::unsupported;
use crate::refs::is_per_worktree;
use edt_io::{failed, fs};
use edt_types::Result;
use stack::{LIST, list};
pub(super) use stack::{NAME, Stack, head_of, is_used, operation};
pub use transaction::HeldRefs;
pub(super) use update::stored;
pub use update::{NewLogEntry, RefUpdate};

/// What the file HEAD has beside tables.
pub(super) const HEAD_FILE: &str = "ref: refs/heads/.invalid\n";

impl Repo {
    /// Refuses what `gix` reads from files although the refs are in tables.
    pub(super) fn check_tables(&self) -> Result<()> {
        let config = self.inner.config_snapshot();
        let includes = config.plumbing().sections_by_name("includeif").into_iter().flatten();
        let mut conditions = includes.filter_map(|section| section.header().subsection_name());
        if conditions.any(|condition| condition.starts_with(b"onbranch:")) {
            let why = "its configuration has includeIf.onbranch, and its refs are in tables";
            return Err(unsupported(why).into());
        }
        if !self.refs_below("refs/replace/")?.is_empty() {
            return Err(unsupported("it replaces objects, and its refs are in tables").into());
        }
        Ok(())
    }

    /// Whether refs are in tables, not in files.
    #[must_use]
    pub fn has_tables(&self) -> bool {
        self.has_tables
    }

    /// Whether the refs of this worktree are in other tables than those of all worktrees.
    #[must_use]
    pub fn has_own_tables(&self) -> bool {
        self.has_tables && self.git_dir() != self.common_dir()
    }

    /// The tables with the ref `name`; `None` if refs are files.
    pub(super) fn tables_of(&self, name: &str) -> Result<Option<Arc<Stack>>> {
        if !self.has_tables {
            return Ok(None);
        }
        let git_dir = self.stack_dir(name);
        let fail = |error: io::Error| failed("read the refs in", &git_dir.join(NAME), &error);
        let now = list(git_dir).map_err(fail)?;
        let mut known = self.tables.borrow_mut();
        if let Some(stack) = known.get(git_dir).filter(|stack| stack.has_list(&now)) {
            return Ok(Some(Arc::clone(stack)));
        }
        let stack = Arc::new(Stack::open(git_dir).map_err(fail)?);
        known.insert(git_dir.to_owned(), Arc::clone(&stack));
        Ok(Some(stack))
    }

    /// The symbolic ref `name` of the worktree with the Git directory `git_dir`.
    pub(super) fn symbolic_ref_in(&self, git_dir: &Path, name: &str) -> Option<String> {
        if !self.has_tables {
            let text = fs::read_one_block(&git_dir.join(name)).ok()?;
            return text.strip_prefix("ref: ").map(|name| name.trim_end().to_owned());
        }
        match Stack::open(git_dir).ok()?.target(name).ok()?? {
            Target::Symbolic(target) => Some(target.as_bstr().to_string()),
            Target::Object(_) => None,
        }
    }

    /// The list of the tables that have `name`. Its lock is that of the tables.
    pub(super) fn tables_list(&self, name: &str) -> PathBuf {
        self.stack_dir(name).join(NAME).join(LIST)
    }

    /// The Git directory whose tables have `name`.
    fn stack_dir(&self, name: &str) -> &Path {
        let is_own = is_per_worktree(name)
            || name.starts_with("refs/bisect/")
            || name.starts_with("refs/rewritten/");
        if is_own { self.git_dir() } else { self.common_dir() }
    }
}

/// Reads everything that the table at `path` says, and writes it as a new table to `copy`. Says
/// whether that table says the same; `None` if it has a record that does not fit.
///
/// # Errors
/// The table is damaged, or a file cannot be read or written.
#[doc(hidden)]
pub fn is_copied(path: &Path, copy: &Path) -> io::Result<Option<bool>> {
    let table = table::Table::open(path)?;
    for found in table.refs_from("", |_| true)? {
        table.refs_from(&found.name, |name| name == found.name)?;
        table.log_of(&found.name)?;
    }
    let (first, last) = table.updates();
    let mut contents = write::Contents::new(table.hash(), first, last);
    if !contents.add_older(&table)? {
        return Ok(None);
    }
    edt_io::file::File::open(copy, edt_io::file::OpenMode::PrivateTruncated)?
        .write_all_at(&contents.bytes()?, 0)?;
    let copied = table::Table::open(copy)?;
    // A damaged table may have a key twice, or in another order.
    let in_order = |all: Vec<record::RawRecord>| {
        let mut by_key = BTreeMap::new();
        for record in all {
            by_key.entry(record.key.clone()).or_insert(record);
        }
        by_key
    };
    let is_same = in_order(table.all_refs()?) == in_order(copied.all_refs()?)
        && in_order(table.all_log_entries()?) == in_order(copied.all_log_entries()?);
    Ok(Some(is_same))
}

#[cfg(test)]
mod tests;
