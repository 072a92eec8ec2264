//! Observers of a workspace: what a program around the library wants to know of its calls.
//!
//! The memory of failures and the telemetry of `edt` are observers. Nothing in this crate knows
//! them, and an answer differs by an observer in its lessons alone.

use std::fmt::Debug;

use edt_git::{Oid, Repo};
use edt_journal::Journal;
use edt_journal::refusals::{RefusedCall, TriedEdit};
use edt_types::{Landing, Refusal};

use crate::txn::request::Request;
use edt_guard::policy::Policy;

/// Observes the calls of the workspaces whose [`Options`](crate::Options) name it.
///
/// Every method does nothing by default. A failure inside an observer stays there: no method can
/// refuse a call.
pub trait Observer: Debug + Send + Sync {
    /// The repository of a call was opened. Its journal has not been recovered yet.
    fn opened(&self, _repo: &Repo) {}

    /// The call belongs to the session `name`.
    fn session(&self, _name: &str) {}

    /// `call` was refused with `findings`, and is recorded. The answer has the findings that this
    /// returns, in which only the lessons may differ. `policy` is the worktree's; `None` if it
    /// cannot be read. `request` is `None` if the call could not be read as one.
    fn refused(
        &self,
        _repo: &Repo,
        _policy: Option<&Policy>,
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
        _repo: &Repo,
        _policy: Option<&Policy>,
        _refused: &RefusedCall,
        _edits: &[TriedEdit],
        _landing: &Landing<'_>,
    ) -> Option<String> {
        None
    }

    /// An edit was recorded; `request` is `None` if it did not come as one.
    fn landed(
        &self,
        _repo: &Repo,
        _journal: &mut Journal,
        _request: Option<&Request>,
        _landing: &Landing<'_>,
    ) {
    }

    /// The session's tip moved back from `from` to `to`.
    fn undone(&self, _repo: &Repo, _from: Oid, _to: Oid) {}

    /// The call found something with these codes and answers without a refusal.
    fn found(&self, _codes: &[&str]) {}

    /// Environment variables for the programs that the call starts.
    fn environment(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}
