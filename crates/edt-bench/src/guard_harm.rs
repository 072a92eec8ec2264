//! Guard harm: edits that guards refused and that would have made the task pass. Each is applied to
//! a copy and judged.

use std::path::Path;

use serde_json::Value;

use super::judge::{JudgeInput, judge};
use super::results::TokenUsage;
use super::scratch_repo::{ScratchRepo, without_guards};
use edt_core::proposal::propose;
use edt_core::txn::Request;
use edt_io::directory::FileTree;
use edt_types::{DryRun, Result};

/// Whether `request`, applied to `files` without guards, makes the task of `input` pass, and what
/// the judge used.
pub(super) fn would_pass(
    input: &JudgeInput<'_>,
    (files, request): &(FileTree, Value),
    place: &Path,
) -> Result<(bool, TokenUsage)> {
    let Ok(copy) = ScratchRepo::create(&place.join("tried"), files, Some(&without_guards())) else {
        return Ok((false, TokenUsage::default()));
    };
    let read = Request::from_json(request.to_string().as_bytes())?;
    let landed = propose::apply_or_propose(&mut copy.workspace("apply")?, &read, DryRun::No);
    let after = copy.files();
    copy.remove();
    if landed.is_err() {
        return Ok((false, TokenUsage::default()));
    }
    let verdict = judge(&JudgeInput { files: &after?, explain: false, ..*input })?;
    Ok((verdict.pass, verdict.usage))
}
