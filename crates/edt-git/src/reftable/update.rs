//! The changes of refs in tables: checks the old values, makes the records of the new table.

use std::collections::HashMap;

use gix::refs::Target;

use super::record::LogEntry;
use super::stack::Stack;
use super::write::{Contents, NewValue};
use crate::Oid;
use crate::identity::Role;
use crate::refs::{self, ref_moved};
use crate::repo::Repo;
use edt_types::{Code, Finding, Result};

/// The longest message of a log entry in bytes. Git cannot merge a table with an entry that is
/// longer than a block.
const MAX_MESSAGE: usize = 1024;

/// One change of a ref in tables.
#[derive(Debug, Clone, Copy)]
pub enum RefUpdate<'a> {
    /// The ref does not exist, or has the value already.
    Create {
        name: &'a str,
        to: Oid,
    },
    Move {
        name: &'a str,
        from: Oid,
        to: Oid,
    },
    /// Deletes the ref with its log; nothing if it does not exist.
    Delete {
        name: &'a str,
        from: Oid,
    },
    /// As `Delete`; nothing if it has another value.
    Drop {
        name: &'a str,
        from: Oid,
    },
    /// `to` is the full name of a ref, or the id of a commit.
    Point {
        name: &'a str,
        to: &'a str,
    },
    /// Deletes a symbolic ref to `at`; nothing if it names another ref.
    Unpoint {
        name: &'a str,
        at: &'a str,
    },
}

/// A new entry of the log of `name`. Written if Git would write one.
#[derive(Debug, Clone, Copy)]
pub struct NewLogEntry<'a> {
    pub name: &'a str,
    pub from: Oid,
    pub to: Oid,
    pub message: &'a str,
}

impl RefUpdate<'_> {
    pub(crate) fn name(&self) -> &str {
        match self {
            RefUpdate::Create { name, .. }
            | RefUpdate::Move { name, .. }
            | RefUpdate::Delete { name, .. }
            | RefUpdate::Drop { name, .. }
            | RefUpdate::Point { name, .. }
            | RefUpdate::Unpoint { name, .. } => name,
        }
    }

    /// What the ref gets, which has `now`; `None` if it stays.
    fn value(&self, now: Option<&Target>) -> Result<Option<NewValue<'_>>> {
        let symbolic = || match now {
            Some(Target::Symbolic(target)) => Some(target.as_bstr().to_string()),
            _ => None,
        };
        let object = match now {
            Some(Target::Object(oid)) => Some(*oid),
            _ => None,
        };
        let moved = |name, expected| Err(ref_moved(name, expected, object).into());
        match *self {
            RefUpdate::Create { to, .. } if object == Some(to) => Ok(None),
            RefUpdate::Create { to, .. } if now.is_none() => Ok(Some(NewValue::Object(to))),
            RefUpdate::Create { name, .. } => moved(name, None),
            RefUpdate::Move { name, from, .. } if object != Some(from) => moved(name, Some(from)),
            RefUpdate::Move { from, to, .. } => Ok((from != to).then_some(NewValue::Object(to))),
            RefUpdate::Delete { .. } | RefUpdate::Drop { .. } if now.is_none() => Ok(None),
            RefUpdate::Drop { from, .. } if object != Some(from) => Ok(None),
            RefUpdate::Delete { name, from } if object != Some(from) => moved(name, Some(from)),
            RefUpdate::Delete { .. } | RefUpdate::Drop { .. } => Ok(Some(NewValue::Deleted)),
            RefUpdate::Point { to, .. } => {
                let value =
                    Oid::from_hex(to.as_bytes()).map_or(NewValue::Symbolic(to), NewValue::Object);
                let is_there = match value {
                    NewValue::Object(oid) => object == Some(oid),
                    _ => symbolic().as_deref() == Some(to),
                };
                Ok((!is_there).then_some(value))
            }
            RefUpdate::Unpoint { at, .. } => {
                Ok((symbolic().as_deref() == Some(at)).then_some(NewValue::Deleted))
            }
        }
    }
}

/// The records of the table that makes `updates` and has `logs`; `None` if it would have none.
/// The caller holds the lock of the tables.
pub(super) fn plan(
    repo: &Repo,
    stack: &Stack,
    updates: &[RefUpdate<'_>],
    logs: &[NewLogEntry<'_>],
) -> Result<Option<Contents>> {
    let first = stack.last_update() + 1;
    // Entries of one log differ in their number.
    let mut count: HashMap<&str, u64> = HashMap::new();
    logs.iter().for_each(|log| *count.entry(log.name).or_default() += 1);
    let most = count.values().max().copied().unwrap_or(0).max(1);
    let mut contents = Contents::new(repo.null().as_slice().len(), first, first + most - 1);
    for update in updates {
        let name = update.name();
        let unreadable = |error: std::io::Error| refs::not_read(name, &error.to_string());
        let mut now = stack.target(name).map_err(unreadable)?;
        // What only checks a value follows symbolic refs. Git reads five refs at most.
        if matches!(update, RefUpdate::Move { from, to, .. } if from == to) {
            for _ in 0..4 {
                let Some(Target::Symbolic(next)) = &now else { break };
                now = stack.target(&next.as_bstr().to_string()).map_err(unreadable)?;
            }
        }
        let Some(value) = update.value(now.as_ref())? else { continue };
        if let RefUpdate::Create { .. } = update
            && let Some(other) = stack.conflict(name).map_err(unreadable)?
        {
            return Err(conflicting(name, &other).into());
        }
        contents.set(name, value);
        if value == NewValue::Deleted {
            for (update, _) in stack.log_entries(name).map_err(unreadable)? {
                contents.delete_log(name, update);
            }
        }
    }
    let mut next: HashMap<&str, u64> = HashMap::new();
    for log in logs {
        let unreadable = |error: std::io::Error| refs::not_read(log.name, &error.to_string());
        let is_logged =
            repo.creates_logs() || !stack.log_entries(log.name).map_err(unreadable)?.is_empty();
        if is_logged {
            let number = next.entry(log.name).or_insert(first);
            contents.log(log.name, *number, &entry(repo, log)?);
            *number += 1;
        }
    }
    Ok((!contents.is_empty()).then_some(contents))
}

fn entry(repo: &Repo, log: &NewLogEntry<'_>) -> Result<LogEntry> {
    let signature = String::from_utf8_lossy(&repo.signature(Role::Committer)?).into_owned();
    let (name, rest) = signature.split_once(" <").unwrap_or((&signature, ""));
    let (mail, date) = rest.split_once("> ").unwrap_or((rest, ""));
    let (seconds, zone) = date.split_once(' ').unwrap_or((date, ""));
    Ok(LogEntry {
        from: log.from,
        to: log.to,
        name: name.to_owned(),
        mail: mail.to_owned(),
        seconds: seconds.parse().unwrap_or(0),
        zone: zone.parse().unwrap_or(0),
        message: stored(log.message) + "\n",
    })
}

/// What an entry has of `message`: one line, and no more than fits.
pub(crate) fn stored(message: &str) -> String {
    let mut message = message.replace('\n', " ");
    while message.len() > MAX_MESSAGE {
        message.pop();
    }
    message
}

fn conflicting(name: &str, other: &str) -> Finding {
    Finding::new(
        Code::IoError,
        format!("The ref {name} cannot be created: {other} exists."),
        "Rename one of them (`git branch -m`), then repeat the call.",
    )
    .nothing_changed()
}
