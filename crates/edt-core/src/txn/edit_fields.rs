//! The keys of one edit.

use std::ops::RangeInclusive;

use edt_edit::Mode;

/// The keys of one edit, from JSON or from flags, before they are checked.
#[derive(Debug, Clone, Default)]
pub struct EditFields {
    /// The file.
    pub path: Vec<u8>,
    /// What to do.
    pub mode: Option<Mode>,
    /// The present text.
    pub old_text: Option<Vec<u8>>,
    /// The new text.
    pub content: Option<Vec<u8>>,
    /// Whether to change every place.
    pub replace_all: Option<bool>,
    /// The mode bit.
    pub executable: Option<bool>,
    /// The new path, or the new name of a definition.
    pub to: Option<Vec<u8>>,
    /// The name of a definition.
    pub symbol: Option<String>,
    /// The first line, or a line of the definition.
    pub start_line: Option<u64>,
    /// The last line.
    pub end_line: Option<u64>,
    /// The anchor of the first line.
    pub start_anchor: Option<String>,
    /// The anchor of the last line.
    pub end_anchor: Option<String>,
    /// The present lines.
    pub expected_text: Option<Vec<u8>>,
    /// The blob id that the file must have.
    pub expected_hash: Option<String>,
}

impl EditFields {
    /// The first and the last line of a range.
    pub(crate) fn of_lines(lines: &RangeInclusive<u64>) -> EditFields {
        EditFields {
            start_line: Some(*lines.start()),
            end_line: Some(*lines.end()),
            ..EditFields::default()
        }
    }
}
