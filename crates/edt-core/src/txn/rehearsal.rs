//! The plan of a request for one file in memory, for benchmarks and fuzzing.

use super::correction::{attach_corrected_request, attach_corrections};
use super::messages;
use super::request::Request;
use edt_edit::Op;
use edt_edit::stage::{EditOutcome, EditedFiles};
use edt_types::{Refusal, RepoPath, Result};

/// Applies `request` to one file in memory: the new text (`None` if the file is deleted) and how its
/// edits were placed. `earlier` are texts that the file had before. Without a repository and
/// without guards.
///
/// # Errors
/// The findings with which the same request would be refused.
pub fn rehearse_request(
    request: &Request,
    path: &RepoPath,
    text: &[u8],
    earlier: &[Vec<u8>],
) -> Result<(Option<Vec<u8>>, EditOutcome)> {
    let request = request.with_parsed_patch()?;
    let files = || {
        let mut files = EditedFiles::default().with(path.clone(), Some((text, false)));
        for edit in &request.edits {
            let target = if let Op::Rename { to } = &edit.op { to } else { &edit.path };
            for named in [&edit.path, target] {
                if !files.contains(named) {
                    files = files.with(named.clone(), None);
                }
            }
        }
        files
    };
    let mut stage = files();
    let (mut step, mut found) = (EditOutcome::default(), Vec::new());
    for edit in &request.edits {
        match stage.apply(edit) {
            Ok(next) => step = step.merge(next),
            Err(refusal) => found.extend(messages::refused(&stage, edit, refusal, None)),
        }
    }
    let earlier = |_: &RepoPath| earlier.to_vec();
    if request.patch.is_some() {
        attach_corrections(&stage, &request.edits, &mut found, &earlier);
    } else if !found.is_empty() {
        attach_corrected_request(files(), &request, &mut found, &earlier);
    }
    Refusal::check(found)?;
    let after = stage.into_files().find(|(named, _)| named == path).and_then(|(_, file)| file);
    Ok((after.map(|file| file.text.into_owned()), step))
}
