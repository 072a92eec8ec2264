//! What every probe gets and returns.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::location::HooksLocation;
use super::plumbing::Git;
use edt_types::Recovered;

/// The result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// No problem.
    Ok,
    /// A protection is missing.
    NotLive,
    /// Something that edt needs does not work.
    Broken,
}

/// A finding of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProbeResult {
    /// The probe's name.
    pub probe: String,
    /// The result.
    pub health: Health,
    /// What was found.
    pub found: String,
    /// What to do; `null` if nothing needs to be done.
    pub next: Option<String>,
}

/// What probes examine.
#[derive(Debug)]
pub struct DoctorContext {
    /// Git, at the worktree's root or in the bare repository.
    pub git: Git,
    /// Where hooks are installed.
    pub location: HooksLocation,
    /// The worktree's own Git directory.
    pub git_dir: PathBuf,
    /// edt's directory for this worktree; `None` in a bare repository.
    pub state: Option<PathBuf>,
    /// Files that killed calls left in the Git directory.
    pub left: Vec<PathBuf>,
    /// What was recovered when the repository was opened, or why it could not be opened.
    pub opened: std::result::Result<Option<Recovered>, String>,
}

pub(super) fn probe_result(
    probe: &str,
    health: Health,
    found: &str,
    next: Option<&str>,
) -> ProbeResult {
    let next = next.map(str::to_owned);
    ProbeResult { probe: probe.to_owned(), health, found: found.to_owned(), next }
}
