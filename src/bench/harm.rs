//! Guard harm: edits that guards refused, and that would have made the task pass. Tried, not guessed.

use std::path::Path;

use serde_json::Value;

use super::ground::{Ground, without_guards};
use super::judge::{Judging, judge};
use super::task::Task;
use crate::base::Result;
use crate::io::folder::Files;
use crate::proposal::make;
use crate::txn::{Request, Run};

/// Whether `request`, applied to `files` without guards, makes `task` pass.
pub(super) fn would_pass(
    task: &Task,
    (files, request): &(Files, Value),
    attempt: u32,
    (folder, place): (&Path, &Path),
) -> Result<bool> {
    let Ok(copy) = Ground::plant(&place.join("tried"), files, Some(&without_guards())) else {
        return Ok(false);
    };
    let read = Request::from_json(request.to_string().as_bytes())?;
    let landed = make::apply(&mut copy.world("apply")?, &read, Run::Real);
    let after = copy.files();
    copy.clear();
    if landed.is_err() {
        return Ok(false);
    }
    let verdict =
        judge(&Judging { task, files: &after?, attempt, folder, place: &place.join("judged") })?;
    Ok(verdict.pass)
}
