//! The names of refs, and the numbered refs of a session.

use super::message;
use edt_git::read::ObjectKind;
use edt_git::{Oid, Repo};
use edt_types::Result;

/// The prefix of shadow branches.
pub const BRANCHES: &str = "refs/heads/edt/";
/// The prefix of a session's other refs.
pub const REFS: &str = "refs/edt/";
/// The refs that keep the edits of files with merge conflicts.
pub const RESOLUTIONS: &str = "refs/edt/resolution/";
/// The symbolic ref that names the worktree's session while HEAD is not switched.
pub const POINTER: &str = "refs/worktree/edt/session";

/// The full name of the ref that holds a session's base.
#[must_use]
pub fn base_ref(name: &str) -> String {
    format!("{REFS}{name}/base")
}

/// The tips at `refs/edt/<name>/<what>/<n>` with their numbers, oldest first.
///
/// # Errors
/// `IO_ERROR`.
pub fn numbered_tips(repo: &Repo, name: &str, what: &str) -> Result<Vec<(u64, Oid)>> {
    let prefix = format!("{REFS}{name}/{what}/");
    let refs = repo.refs_below(&prefix)?;
    Ok(numbered_among(refs.iter().map(|(name, oid)| (name, oid)), &prefix))
}

/// The next free ref name `refs/edt/<name>/<what>/<n>`.
///
/// # Errors
/// `IO_ERROR`.
pub fn next_numbered_ref(repo: &Repo, name: &str, what: &str) -> Result<String> {
    let number = numbered_tips(repo, name, what)?.last().map_or(1, |(number, _)| number + 1);
    Ok(format!("{REFS}{name}/{what}/{number}"))
}

pub(crate) fn numbered_among<'r>(
    refs: impl Iterator<Item = (&'r String, &'r Oid)>,
    prefix: &str,
) -> Vec<(u64, Oid)> {
    let number =
        |(name, oid): (&String, &Oid)| Some((message::number(name.strip_prefix(prefix)?)?, *oid));
    let mut all: Vec<(u64, Oid)> = refs.filter_map(number).collect();
    all.sort_unstable_by_key(|(number, _)| *number);
    all
}

/// The content of `refs/edt/<name>/origin`; `None` if it is missing or empty.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn origin(repo: &Repo, name: &str) -> Result<Option<String>> {
    origin_of(repo, repo.ref_value(&format!("{REFS}{name}/origin"))?)
}

pub(crate) fn origin_of(repo: &Repo, blob: Option<Oid>) -> Result<Option<String>> {
    let Some(blob) = blob else { return Ok(None) };
    let text = repo.object(blob, ObjectKind::Blob)?;
    let text = String::from_utf8_lossy(&text).trim_end().to_owned();
    Ok((!text.is_empty()).then_some(text))
}
