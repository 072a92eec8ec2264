//! The corrected patch or request in a refusal: the probable intent, made to fit the files.

use std::collections::BTreeMap;

use edt_edit::hunk::Hunk;
use edt_edit::stage::{EditError, EditedFiles};
use edt_edit::{Edit, Op, suggest};
use edt_types::{Code, Finding, RepoPath};

use super::ready;
use super::request::Request;

/// The most edits of one request that are corrected.
const MAX_CORRECTED: usize = 8;

/// Adds corrections to the findings of a patch whose hunks do not fit: one for the whole patch if
/// every file of it can be corrected, else one for each file.
pub(super) fn attach_corrections(stage: &EditedFiles<'_>, edits: &[Edit], found: &mut [Finding]) {
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
                suggest::correction(path.as_bytes(), before, hunks)
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
        attach(found.first_mut(), all, "the patch");
        return;
    }
    for (path, _, patch) in patches.into_iter().filter(|(_, failed, _)| *failed) {
        let mine =
            found.iter_mut().find(|finding| finding.path.as_deref() == Some(path.text().as_str()));
        if let Some(patch) = patch {
            attach(mine, patch, "this file's part of the patch");
        }
    }
}

/// Adds the corrected request to the first finding, if every refused edit is one whose text was not
/// found and has one likely place. `files` are the files before the request.
pub(super) fn attach_corrected_request(
    mut files: EditedFiles<'_>,
    request: &Request,
    found: &mut [Finding],
) {
    let not_found = |finding: &Finding| finding.code == Code::OldTextNotFound;
    if found.len() > MAX_CORRECTED || !found.iter().all(not_found) {
        return;
    }
    let mut corrected = request.edits.clone();
    for edit in &mut corrected {
        match files.apply(edit) {
            Ok(_) => {}
            Err(EditError::TextNotFound) => {
                let Some(likely) = likely_edit(&files, edit) else { return };
                *edit = likely;
                if files.apply(edit).is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
    if let (Some(request), Some(finding)) = (ready::json(request, &corrected), found.first_mut()) {
        finding.remedy = format!(
            "If evidence.request is what you mean (it makes the change to the present file), send \
             it as the request. Else: {}",
            finding.remedy
        );
        finding.evidence.insert(ready::KEY.to_owned(), request);
    }
}

/// The edit with texts that fit the present file.
fn likely_edit(files: &EditedFiles<'_>, edit: &Edit) -> Option<Edit> {
    let Op::Edit { old, new, occurrences, matching } = &edit.op else { return None };
    let (old, new) =
        suggest::edit_correction(&edit.path, files.text(&edit.path), (old, new), *occurrences)?;
    let op = Op::Edit { old, new, occurrences: *occurrences, matching: *matching };
    Some(Edit { op, ..edit.clone() })
}

/// Whether a hunk did not fit, and its change was not made already.
fn is_unplaced_hunk(finding: &Finding) -> bool {
    finding.code == Code::InvalidPatch
        && finding.evidence.get("already_applied").is_none_or(|already| already == false)
}

fn attach(finding: Option<&mut Finding>, patch: String, what: &str) {
    let Some(finding) = finding else { return };
    finding.remedy = format!(
        "If evidence.correction is what you mean (it makes the change to the present file), send \
         it as {what}. Else: {}",
        finding.remedy
    );
    finding.evidence.insert("correction".to_owned(), patch.into());
}
