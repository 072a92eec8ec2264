//! Observers of a workspace: what a program around the library wants to know of its calls.
//!
//! The memory of failures and the telemetry of `edt` are observers. Nothing in this crate knows
//! them, and an answer differs by an observer in its lessons alone.

use std::fmt::Debug;

use edt_git::{Oid, RepositoryView};
use edt_guard::policy::Policy;
use edt_journal::refusals::{RefusedCall, TriedEdit};
use edt_types::{Landing, Refusal};

use crate::txn::request::Request;

/// Observes the calls of the workspaces whose [`Options`](crate::Options) name it.
///
/// Every method does nothing by default. A failure inside an observer stays there: no method can
/// refuse a call. The worktree's lock is held while one runs, except [`Observer::opened`],
/// [`Observer::found`] and [`Observer::environment`].
///
/// ```
/// use edt_core::types::{MemoryUse, RefusedCall, RepositoryView};
/// use edt_core::{Observer, Refusal, Request};
///
/// #[derive(Debug)]
/// struct Printer;
///
/// impl Observer for Printer {
///     fn refused(
///         &self,
///         repository: RepositoryView<'_>,
///         _: MemoryUse,
///         _: Option<&Request>,
///         call: &RefusedCall,
///         findings: Refusal,
///     ) -> Refusal {
///         println!("{}: {} refused: {}", repository.root().display(), call.call, findings);
///         findings
///     }
/// }
/// ```
pub trait Observer: Debug + Send + Sync {
    /// The repository of a call was opened. No interrupted transaction has been recovered yet.
    fn opened(&self, _repository: RepositoryView<'_>) {}

    /// The call belongs to the session `name`.
    fn session(&self, _name: &str) {}

    /// `call` was refused with `findings`, and is recorded. The answer has the findings that this
    /// returns, in which only the lessons may differ. `memory`: whether the worktree's policy lets
    /// a memory learn and advise. `request` is `None` if the call could not be read as one.
    fn refused(
        &self,
        _repository: RepositoryView<'_>,
        _memory: MemoryUse,
        _request: Option<&Request>,
        _call: &RefusedCall,
        findings: Refusal,
    ) -> Refusal {
        findings
    }

    /// `edits` landed, of which one is about the place of `refused`, which nothing had followed.
    /// Returns the class of the difference for the record, if this observer knows it. `edits` is
    /// empty if the edit did not come as a request.
    fn followed(
        &self,
        _repository: RepositoryView<'_>,
        _memory: MemoryUse,
        _refused: &RefusedCall,
        _edits: &[TriedEdit],
        _landing: &Landing<'_>,
    ) -> Option<String> {
        None
    }

    /// An edit was recorded; `request` is `None` if it did not come as one.
    fn landed(
        &self,
        _repository: RepositoryView<'_>,
        _request: Option<&Request>,
        _landing: &Landing<'_>,
    ) {
    }

    /// The session's tip moved back from `from` to `to`.
    fn undone(&self, _repository: RepositoryView<'_>, _from: Oid, _to: Oid) {}

    /// The call found something with these codes and answers without a refusal.
    fn found(&self, _codes: &[&str]) {}

    /// Environment variables for the programs that the call starts.
    fn environment(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Whether a memory may learn from the calls in a worktree, and advise in their answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryUse {
    /// The policy of the worktree has the memory on.
    On,
    /// It has it off, or it cannot be read.
    Off,
}

impl MemoryUse {
    /// What `policy` says; `None` if it cannot be read.
    pub(crate) fn of(policy: Option<&Policy>) -> MemoryUse {
        match policy {
            Some(policy) if policy.memory => MemoryUse::On,
            _ => MemoryUse::Off,
        }
    }
}
