//! The patch formats. Each is recognised by its text, and is parsed into the same [`FilePatch`]es.
//!
//! To add a format: write its file, add it to [`MARKED_FORMATS`], add its directory of scenarios.

mod apply_patch;
mod body;
mod fence;
mod header;
mod marked;
mod name;
mod patch;
mod problem;
mod search_replace;
mod section;
mod unified_diff;
mod unparsed;
mod whole_file;

pub(crate) use fence::is_fence;
pub use marked::MARKED_FORMATS;
pub use patch::{FileAction, FilePatch, ParsedPatch, PatchFormat, PatchSource};
pub use problem::{PatchParseError, PatchProblem};

use edt_types::text;

/// Every format. If two begin at the same line, the earlier one is tried.
pub fn formats() -> impl Iterator<Item = &'static dyn PatchFormat> {
    MARKED_FORMATS.into_iter().chain([&whole_file::WholeFile as &dyn PatchFormat])
}

/// Parses a patch of any format; `path` is the file to change if the patch names none.
///
/// # Errors
/// The first problem. No part of a patch is ever ignored silently.
pub fn read(
    patch: &[u8],
    path: Option<&[u8]>,
) -> Result<(&'static str, Vec<FilePatch>), PatchParseError> {
    // A byte-order mark is not part of the first line.
    let patch = patch.strip_prefix(text::BOM).unwrap_or(patch);
    let source = PatchSource { lines: text::lines(patch).collect(), path };
    let error_at = |line: usize, problem| PatchParseError { line: line + 1, path: None, problem };
    let begin = |format: &&'static dyn PatchFormat| format.begins(&source.lines);
    let found = formats().filter_map(|format| Some((begin(&format)?, format)));
    let (_, format) = found
        .min_by_key(|(line, _)| *line)
        .ok_or_else(|| error_at(0, PatchProblem::UnknownFormat))?;
    let parsed = format.read(&source)?;
    if let Some((line, problem)) = unparsed::first_part(&source.lines, &parsed.used) {
        return Err(error_at(line, problem));
    }
    if parsed.files.is_empty() {
        return Err(error_at(0, PatchProblem::NoChange));
    }
    Ok((format.name(), parsed.files))
}
