//! A transaction: the edits of one request, all or none, as exactly one commit.
//!
//! This is the product in five lines; `pipeline` spells them. Each stage is a type that only the stage before can make, so
//! "the guards ran" needs no reviewer.

pub mod aside;
pub mod commit;
pub mod digest;
pub mod guard;
mod offer;
pub mod patch;
mod patch_words;
pub mod plan;
mod range_words;
pub mod remember;
pub mod report;
pub mod request;
pub mod resolve;
pub mod restore;
mod streak;
pub mod tried;
pub mod wire;
pub mod words;

use crate::base::{Findings, Outcome, Result, Status};
use crate::session::World;
use crate::telemetry::names::{COMMIT, GUARD, PLAN, PUBLISH, REMEMBER, RESOLVE, SESSION, STREAK};
use crate::telemetry::{self, stage};

pub use aside::Aside;
pub use request::Request;
pub use restore::restore;

/// Whether to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Do it.
    Real,
    /// Everything but the writing.
    Dry,
}

/// Applies `request` in `world`.
///
/// # Errors
/// Every finding that refuses it; nothing is then changed: no file, no index entry, no ref. `APPROVAL_REQUIRED` alone, where only a
/// person may allow it.
pub fn apply(world: &mut World, request: &Request, run: Run) -> Result<Outcome> {
    let understood = request.understood(); //                a patch is read into edits
    let answer =
        understood.as_ref().map_err(Clone::clone).and_then(|request| pipeline(world, request, run));
    if run == Run::Dry {
        return answer;
    }
    let request = understood.as_ref().map_or(request, |request| request);
    let answer = tracing::info_span!(STREAK).in_scope(|| streak::keep(world, request, answer));
    tracing::info_span!(REMEMBER).in_scope(|| remember::keep(world, request, answer))
}

/// `request` judged as [`apply`] does, and drafted for a person to decide on; `None` if it changes nothing.
///
/// # Errors
/// As [`apply`], but that what only a person may allow is in the answer.
pub fn set_aside(world: &World, request: &Request) -> Result<Option<Aside>> {
    let understood = request.understood()?;
    let resolved = stage!(RESOLVE, resolve::resolve(world, &understood))?;
    let planned = stage!(PLAN, plan::plan(world, resolved))?;
    aside::draft(world, stage!(GUARD, guard::guard(world, planned))?)
}

/// Remembers that a request was refused with `found` before it could be tried.
pub fn refused(world: &World, found: &Findings) {
    streak::refused(world, found);
}

fn pipeline(world: &mut World, request: &Request, run: Run) -> Result<Outcome> {
    let resolved = stage!(RESOLVE, resolve::resolve(world, request))?; // blobs and disk read, beliefs checked     nothing changed
    if telemetry::is_on() {
        telemetry::note(SESSION, resolved.scene.session.name.as_str());
    }
    let planned = stage!(PLAN, plan::plan(world, resolved))?; //        every new text, computed in memory      nothing changed
    let judged = stage!(GUARD, guard::guard(world, planned))?; //        all guards, all files, all findings     nothing changed
    let cleared = judged.map_err(guard::Held::findings)?;
    if run == Run::Dry || cleared.changes_nothing() {
        let status = if cleared.changes_nothing() { Status::Unchanged } else { Status::WouldApply };
        return Ok(report::of(world, &cleared, status, &[]));
    }
    let committed = stage!(COMMIT, commit::commit(world, cleared))?; //   objects drafted; no ref names them      invisible
    stage!(PUBLISH, committed.publish()) //                                journal, files, compare-and-swap, index
}
