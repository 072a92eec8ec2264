//! The corrected patch or request in a refusal: the probable intent, made to fit the files.

use std::collections::BTreeMap;

use edt_edit::hunk::Hunk;
use edt_edit::locate::Occurrences;
use edt_edit::stage::{EditError, EditedFiles};
use edt_edit::{Edit, Op, suggest};
use edt_types::{Code, Finding, RepoPath};
use serde_json::Value;

use super::earlier::{EarlierTexts, carried_over};
use super::ready;
use super::request::Request;

/// The most edits of one request that are corrected.
const MAX_CORRECTED: usize = 8;

/// Adds corrections to the findings of a patch whose hunks do not fit: one for the whole patch if
/// every file of it can be corrected, else one for each file.
pub(super) fn attach_corrections(
    stage: &EditedFiles<'_>,
    edits: &[Edit],
    found: &mut [Finding],
    earlier: EarlierTexts<'_>,
) {
    let mut hunks: BTreeMap<&RepoPath, Option<Vec<&[Hunk]>>> = BTreeMap::new();
    for edit in edits {
        let of = hunks.entry(&edit.path).or_insert_with(|| Some(Vec::new()));
        match (&edit.op, of) {
            (Op::Patch { hunks, .. }, Some(list)) => list.push(hunks),
            (_, of) => *of = None,
        }
    }
    let mut patches = Vec::new();
    for (path, hunks) in &hunks {
        let mine = |finding: &Finding| finding.path.as_deref() == Some(path.to_string().as_str());
        let failed = found.iter().any(mine);
        let correctable = found.iter().filter(|finding| mine(finding)).all(is_unplaced_hunk);
        let before = stage.before(path).unwrap_or_default();
        let patch = match hunks {
            Some(hunks) if failed && correctable => {
                let own: Vec<&Edit> = edits.iter().filter(|edit| edit.path == **path).collect();
                let after = carried_over(path, before, &own, earlier);
                after
                    .map(|after| suggest::print(path.as_bytes(), before, &after))
                    .or_else(|| suggest::correction(path.as_bytes(), before, hunks))
            }
            Some(_) if !failed => Some(suggest::print(path.as_bytes(), before, stage.text(path))),
            _ => None,
        };
        patches.push((*path, failed, patch.and_then(|patch| String::from_utf8(patch).ok())));
    }
    let complete = found.iter().all(|finding| finding.path.is_some())
        && patches.iter().all(|(_, _, patch)| patch.is_some());
    if complete {
        let all: String = patches.iter().filter_map(|(_, _, patch)| patch.as_deref()).collect();
        if let Some(finding) = found.first_mut() {
            offer(finding, "correction", all, "the patch");
        }
        return;
    }
    for (path, _, patch) in patches.into_iter().filter(|(_, failed, _)| *failed) {
        let mine =
            found.iter_mut().find(|finding| finding.path.as_deref() == Some(path.text().as_str()));
        if let (Some(patch), Some(finding)) = (patch, mine) {
            offer(finding, "correction", patch, "this file's part of the patch");
        }
    }
}

/// Adds the corrected request to the first finding, if every refused edit is one whose text was not
/// found and has one likely place. Else the finding of each such edit gets the corrected edit.
/// `files` are the files before the request.
pub(super) fn attach_corrected_request(
    mut files: EditedFiles<'_>,
    request: &Request,
    found: &mut [Finding],
    earlier: EarlierTexts<'_>,
) {
    if found.len() > MAX_CORRECTED {
        return;
    }
    let mut corrected = request.edits.clone();
    let (mut likely, mut is_complete) = (Vec::new(), true);
    for (i, edit) in corrected.iter_mut().enumerate() {
        let Err(refusal) = files.apply(edit) else { continue };
        let is_absent = refusal == EditError::TextNotFound;
        match likely_edit(&files, edit, earlier)
            .filter(|other| is_absent && files.apply(other).is_ok())
        {
            Some(other) => {
                *edit = other;
                likely.push(i);
            }
            None => is_complete = false,
        }
    }
    if is_complete && found.iter().all(|finding| finding.code == Code::OldTextNotFound) {
        if let (Some(request), Some(finding)) =
            (ready::json(request, &corrected), found.first_mut())
        {
            offer(finding, ready::KEY, request, "the request");
        }
        return;
    }
    for i in likely {
        let is_of = |finding: &&mut Finding| finding.evidence.get("edit") == Some(&(i + 1).into());
        if let (Some(edit), Some(finding)) =
            (ready::edit_json(&corrected[i]), found.iter_mut().find(is_of))
        {
            offer(finding, "corrected_edit", edit, &format!("edit {} of the request", i + 1));
        }
    }
}

/// The edit with texts that fit the present file.
fn likely_edit(files: &EditedFiles<'_>, edit: &Edit, earlier: EarlierTexts<'_>) -> Option<Edit> {
    let Op::Edit { old, new, occurrences, matching } = &edit.op else { return None };
    let (path, text) = (&edit.path, files.text(&edit.path));
    let after = (*occurrences == Occurrences::One && files.origin(path) == path)
        .then(|| carried_over(path, text, &[edit], earlier));
    let (old, new) = after
        .flatten()
        .and_then(|after| suggest::edit_between(text, &after))
        .or_else(|| suggest::edit_correction(path, text, (old, new), *occurrences))?;
    let op = Op::Edit { old, new, occurrences: *occurrences, matching: *matching };
    Some(Edit { op, ..edit.clone() })
}

/// Whether a hunk did not fit, and its change was not made already.
fn is_unplaced_hunk(finding: &Finding) -> bool {
    finding.code == Code::InvalidPatch
        && finding.evidence.get("already_applied").is_none_or(|already| already == false)
}

/// Adds to a finding what the caller may send instead.
fn offer(finding: &mut Finding, key: &str, value: impl Into<Value>, what: &str) {
    finding.remedy = format!(
        "If evidence.{key} is what you mean (it makes the change to the present file), send it as \
         {what}. Else: {}",
        finding.remedy
    );
    finding.evidence.insert(key.to_owned(), value.into());
}
