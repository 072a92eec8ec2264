//! Refs: found by name, changed only by compare-and-swap, each change with its reflog line.

use std::time::Duration;

use gix::bstr::ByteSlice as _;
use gix::lock::acquire::Fail;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};
use gix::refs::{FullName, PartialName, Target};

use super::identity::Role;
use super::repo::Repo;
use super::{Oid, causes};
use crate::base::{Code, Finding, Result};
use crate::io::disk::{Dir, Parent, Stat};

/// How long a ref's lock is waited for. Git holds one for well under a millisecond.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// One change of a ref off the hot path; [`Repo::swap_ref`] moves a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefChange {
    /// Create it; refused if it exists with another value.
    Create {
        /// The full name.
        name: String,
        /// The value.
        to: Oid,
        /// The reflog line; empty for none.
        log: String,
    },
    /// Point the symbolic ref `name` at `at`.
    Point {
        /// The full name, or `HEAD`.
        name: String,
        /// The full name it is to hold.
        at: String,
    },
    /// Remove it; refused unless it has the value `from`.
    Delete {
        /// The full name.
        name: String,
        /// The value it must have.
        from: Oid,
    },
}

impl Repo {
    /// The object that the ref `name` names; `None` if there is no such ref, or if it is unborn.
    ///
    /// # Errors
    /// `IO_ERROR` if it is there and cannot be read.
    pub fn ref_value(&self, name: &str) -> Result<Option<Oid>> {
        let found = self.inner.try_find_reference(name).map_err(|error| unreadable(name, &error))?;
        match found {
            None => Ok(None),
            Some(mut found) => match found.peel_to_id() {
                Ok(id) => Ok(Some(id.detach())),
                Err(error) if error.is_not_found() => Ok(None),
                Err(error) => Err(unreadable(name, &error).into()),
            },
        }
    }

    /// The ref that the symbolic ref `name` names; `None` if it is absent or not symbolic.
    ///
    /// # Errors
    /// `IO_ERROR` if it is there and cannot be read.
    pub fn symbolic_ref(&self, name: &str) -> Result<Option<String>> {
        let found = self.inner.try_find_reference(name).map_err(|error| unreadable(name, &error))?;
        Ok(found.and_then(|found| found.target().try_name().map(|name| name.as_bstr().to_string())))
    }

    /// Every ref whose name begins with `prefix`, which ends in `/`, with its value.
    ///
    /// # Errors
    /// `IO_ERROR` if refs cannot be read.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let platform = self.inner.references().map_err(|error| unreadable(prefix, &error))?;
        let found = platform.prefixed(prefix).map_err(|error| unreadable(prefix, &error))?;
        let mut out = Vec::new();
        for one in found {
            let one = one.map_err(|error| unreadable(prefix, &error))?;
            if let Some(id) = one.try_id() {
                out.push((one.name().as_bstr().to_string(), id.detach()));
            }
        }
        Ok(out)
    }

    /// Whether `name` can be a branch name below `refs/heads/`.
    #[must_use]
    pub fn is_branch_name(&self, name: &str) -> bool {
        gix::validate::reference::name(name.as_bytes().as_bstr()).is_ok() && PartialName::try_from(name).is_ok()
    }

    /// Makes `changes` together: all locks are taken and all values compared before the first is written.
    ///
    /// # Errors
    /// `SESSION_MOVED` if a value is not the one expected; `SESSION_BUSY` if a lock is held; `GIT_DIR_READ_ONLY`, `IO_ERROR`.
    pub fn change_refs(&self, changes: &[RefChange]) -> Result<()> {
        let edits: Vec<RefEdit> = changes.iter().map(edit_of).collect::<Result<_>>()?;
        let line = self.signature(Role::Committer)?;
        let who = gix::actor::SignatureRef::from_bytes(&line).map_err(|error| {
            Finding::new(Code::Internal, format!("The identity line is not one: {error}."), "Report this message.")
        })?;
        let wait = Fail::AfterDurationWithBackoff(LOCK_WAIT);
        let mut last = None;
        // `git pack-refs` removes empty folders while others write: try again, a bounded number of times.
        for _ in 0..8 {
            let transaction = self.inner.refs.transaction().prepare(edits.clone(), wait, wait);
            match transaction.and_then(|prepared| prepared.commit(who)) {
                Ok(_) => return Ok(()),
                Err(error) => {
                    if let Some(moved) = self.moved(changes)? {
                        return Err(moved.into());
                    }
                    let retry = error.is_not_found();
                    last = Some(error);
                    if !retry {
                        break;
                    }
                }
            }
        }
        let why = last.map_or_else(String::new, |error| causes(&error));
        Err(self.not_written(&why).into())
    }

    fn moved(&self, changes: &[RefChange]) -> Result<Option<Finding>> {
        for change in changes {
            let (name, expected) = match change {
                RefChange::Create { name, .. } => (name, None),
                RefChange::Delete { name, from } => (name, Some(*from)),
                RefChange::Point { .. } => continue,
            };
            let stands = self.ref_value(name)?;
            if stands != expected {
                return Ok(Some(moved(name, expected, stands)));
            }
        }
        Ok(None)
    }

    pub(super) fn not_written(&self, why: &str) -> Finding {
        let low = why.to_ascii_lowercase();
        if low.contains("read-only file system") || low.contains("permission denied") {
            let error = std::io::Error::other(why.to_owned());
            let mut finding = crate::io::failed("write a ref in", self.git_dir(), &error);
            finding.code = Code::GitDirReadOnly;
            return finding;
        }
        if low.contains("lock") {
            return Finding::new(
                Code::SessionBusy,
                format!("A ref's lock is held by another program: {why}. Nothing was changed."),
                "Repeat the call. If no Git program runs, a crashed one left the lock: remove the file it names.",
            );
        }
        Finding::new(
            Code::IoError,
            format!("Could not write a ref: {why}."),
            "Mend what the system reports, then repeat the call.",
        )
    }

    /// The stat of HEAD's file.
    #[must_use]
    pub fn head_stat(&self) -> Option<Stat> {
        Dir::open(self.git_dir()).ok()?.stat(b"HEAD").ok().flatten()
    }

    /// The stat of the loose file of the ref `name`; `None` if it has none (absent, or packed).
    #[must_use]
    pub fn loose_ref_stat(&self, name: &str) -> Option<Stat> {
        let below = Dir::open(self.common_dir()).ok()?;
        let (folder, file) = name.rsplit_once('/')?;
        let Ok(Parent::Open(dir)) = below.beneath(folder.as_bytes()) else { return None };
        dir.stat(file.as_bytes()).ok().flatten()
    }
}

fn edit_of(change: &RefChange) -> Result<RefEdit> {
    let update = |name: &str, expected: PreviousValue, new: Target, log: &str| {
        let log = LogChange { mode: RefLog::AndReference, force_create_reflog: false, message: log.into() };
        full(name).map(|name| RefEdit { change: Change::Update { log, expected, new }, name, deref: false })
    };
    match change {
        RefChange::Create { name, to, log } => {
            let target = Target::Object(*to);
            update(name, PreviousValue::ExistingMustMatch(target.clone()), target, log)
        }
        RefChange::Point { name, at } => update(name, PreviousValue::Any, Target::Symbolic(full(at)?), ""),
        RefChange::Delete { name, from } => {
            let expected = PreviousValue::MustExistAndMatch(Target::Object(*from));
            let change = Change::Delete { expected, log: RefLog::AndReference };
            full(name).map(|name| RefEdit { change, name, deref: false })
        }
    }
}

pub(super) fn moved(name: &str, expected: Option<Oid>, stands: Option<Oid>) -> Finding {
    let shown = |value: Option<Oid>| value.map_or_else(|| "nothing".to_owned(), |oid| oid.to_string());
    let message = format!(
        "{name} moved during the call: expected {}, found {}. Nothing was changed.",
        shown(expected),
        shown(stands)
    );
    let hint = "Repeat the call: it will start from what stands there now.";
    Finding::new(Code::SessionMoved, message, hint).with("ref", name)
}

fn full(name: &str) -> Result<FullName> {
    FullName::try_from(name).map_err(|_| {
        Finding::new(
            Code::BadRequest,
            format!("{name:?} is not a ref name."),
            "Use letters, digits, `-`, `_`, `.` and `/`.",
        )
        .into()
    })
}

fn unreadable(name: &str, error: &gix::Error) -> Finding {
    Finding::new(
        Code::IoError,
        format!("Could not read the ref {name}: {}.", causes(error)),
        "`git fsck` and `git for-each-ref` tell what is wrong; mend it and repeat the call.",
    )
}
