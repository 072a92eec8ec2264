//! Reads the tables of one Git directory.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use gix::refs::Target;

use super::record::{LogEntry, RefRecord};
use super::table::Table;
use crate::Oid;
use edt_io::clock::Countdown;
use edt_io::file::{File, OpenMode};

/// The value of `extensions.refStorage`.
pub(crate) const NAME: &str = "reftable";
pub(super) const LIST: &str = "tables.list";
/// The longest list that is read, in bytes. Git keeps a few dozen tables at most.
const MAX_LIST: usize = 1 << 20;
/// How long to wait for a table that is in the list and does not exist: it was just merged.
const WAIT: Duration = Duration::from_secs(2);

/// The tables of a Git directory.
#[derive(Debug)]
pub(crate) struct Stack {
    list: Vec<u8>,
    /// The newest first.
    tables: Vec<Table>,
}

impl Stack {
    /// Opens the tables of the Git directory `git_dir`.
    pub(crate) fn open(git_dir: &Path) -> io::Result<Stack> {
        let directory = git_dir.join(NAME);
        let mut countdown = Countdown::new(WAIT);
        loop {
            let list = list(git_dir)?;
            let mut tables = Vec::new();
            let names = list.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
            let opened = names.rev().try_for_each(|name| {
                let name = std::str::from_utf8(name).ok().filter(|name| !name.contains('/'));
                let name = name.ok_or(io::ErrorKind::InvalidData)?;
                tables.push(Table::open(&directory.join(name))?);
                Ok::<(), io::Error>(())
            });
            match opened {
                Ok(()) => return Ok(Stack { list, tables }),
                Err(error) if error.kind() == io::ErrorKind::NotFound && countdown.pause() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether `list` names these tables.
    pub(super) fn has_list(&self, list: &[u8]) -> bool {
        self.list == list
    }

    /// The tables, the newest first.
    pub(super) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The number of the last update.
    pub(super) fn last_update(&self) -> u64 {
        self.tables.iter().map(|table| table.updates().1).max().unwrap_or(0)
    }

    /// The newest record of the ref `name`, which may say that it was deleted.
    pub(super) fn record(&self, name: &str) -> io::Result<Option<RefRecord>> {
        for table in &self.tables {
            let found = table.refs_from(name, |found| found == name)?;
            if let Some(record) = found.into_iter().next() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// What the ref `name` itself has.
    pub(crate) fn target(&self, name: &str) -> io::Result<Option<Target>> {
        Ok(self.record(name)?.and_then(|record| record.target))
    }

    /// Every ref below `prefix`.
    pub(crate) fn below(&self, prefix: &str) -> io::Result<BTreeMap<String, Target>> {
        let mut all = BTreeMap::new();
        for table in &self.tables {
            for record in table.refs_from(prefix, |name| name.starts_with(prefix))? {
                all.entry(record.name).or_insert(record.target);
            }
        }
        Ok(all.into_iter().filter_map(|(name, target)| Some((name, target?))).collect())
    }

    /// The entries of the log of `name` with their numbers, the newest first.
    pub(super) fn log_entries(&self, name: &str) -> io::Result<Vec<(u64, LogEntry)>> {
        let mut all: BTreeMap<u64, Option<LogEntry>> = BTreeMap::new();
        for table in &self.tables {
            for (update, entry) in table.log_of(name)? {
                all.entry(update).or_insert(entry);
            }
        }
        let entries = all.into_iter().rev();
        Ok(entries.filter_map(|(update, entry)| Some((update, entry?))).collect())
    }

    /// The log of `name`, as the file of a log has it.
    pub(crate) fn log(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        for (_, entry) in self.log_entries(name)?.into_iter().rev() {
            let LogEntry { from, to, name, mail, seconds, zone, message } = entry;
            // An empty log that exists has an entry of null ids.
            if from.is_null() && to.is_null() {
                continue;
            }
            let message = message.trim_end_matches('\n');
            text.extend(
                format!("{from} {to} {name} <{mail}> {seconds} {zone:+05}\t{message}\n").bytes(),
            );
        }
        Ok(text)
    }

    /// The ref that a new ref `name` would exclude: `a` excludes `a/b`.
    pub(super) fn conflict(&self, name: &str) -> io::Result<Option<String>> {
        let below = self.below(&format!("{name}/"))?;
        if let Some((below, _)) = below.into_iter().next() {
            return Ok(Some(below));
        }
        for (at, _) in name.match_indices('/') {
            if self.target(&name[..at])?.is_some() {
                return Ok(Some(name[..at].to_owned()));
            }
        }
        Ok(None)
    }
}

/// The names of the tables of `git_dir`.
pub(super) fn list(git_dir: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(&git_dir.join(NAME).join(LIST), OpenMode::ReadOnly)?;
    let len = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    if len > MAX_LIST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut list = vec![0; len];
    file.read_exact_at(&mut list, 0)?;
    Ok(list)
}

/// Whether the refs of the repository are in tables.
pub(crate) fn is_used(repo: &gix::Repository) -> bool {
    let storage = repo.config_snapshot().string("extensions.refStorage");
    storage.is_some_and(|value| value.eq_ignore_ascii_case(NAME.as_bytes()))
}

/// The commit of HEAD in a repository whose refs are in tables; the outer `None` if they are files.
#[expect(clippy::option_option, reason = "a repository may have no commit")]
pub(crate) fn head_of(repo: &gix::Repository) -> Option<Option<Oid>> {
    if !is_used(repo) {
        return None;
    }
    let find = |git_dir: &Path, name: &str| Stack::open(git_dir).ok()?.target(name).ok()?;
    let mut target = find(repo.git_dir(), "HEAD");
    // Git follows as many symbolic refs.
    for _ in 0..5 {
        match target {
            Some(Target::Symbolic(name)) => {
                target = find(repo.common_dir(), &name.as_bstr().to_string());
            }
            Some(Target::Object(oid)) => return Some(Some(oid)),
            None => break,
        }
    }
    Some(None)
}

/// The operation whose ref Git keeps in the tables of the Git directory `git_dir`.
pub(crate) fn operation(git_dir: &Path) -> Option<&'static str> {
    let stack = Stack::open(git_dir).ok()?;
    let names = [("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert")];
    let (_, operation) =
        names.iter().find(|(name, _)| matches!(stack.target(name), Ok(Some(_))))?;
    Some(operation)
}
