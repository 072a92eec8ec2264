//! How an edit of a request changes a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of a mode in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Creates a file; refused if the file exists.
    Create,
    /// Replaces the one occurrence of `old_text`.
    Edit,
    /// Adds to the end of an existing file.
    Append,
    /// Replaces the content of an existing file.
    Overwrite,
    /// Inserts before a line.
    Insert,
    /// Replaces a range of lines.
    ReplaceLines,
    /// Removes a range of lines.
    DeleteLines,
    /// Removes the file.
    Delete,
    /// Moves the file; its content and mode bit stay.
    Rename,
    /// Replaces a definition; the comments and attributes above it stay, unless `content` has some.
    ReplaceSymbol,
    /// Inserts before a definition and what is directly above it.
    InsertBeforeSymbol,
    /// Inserts after a definition.
    InsertAfterSymbol,
    /// Renames a definition and its uses in the file.
    RenameSymbol,
}

impl Mode {
    /// Every mode, in the order of the documentation.
    pub const ALL: &'static [Mode] = &[
        Mode::Create,
        Mode::Edit,
        Mode::Append,
        Mode::Overwrite,
        Mode::Insert,
        Mode::ReplaceLines,
        Mode::DeleteLines,
        Mode::Delete,
        Mode::Rename,
        Mode::ReplaceSymbol,
        Mode::InsertBeforeSymbol,
        Mode::InsertAfterSymbol,
        Mode::RenameSymbol,
    ];

    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Create => "create",
            Mode::Edit => "edit",
            Mode::Append => "append",
            Mode::Overwrite => "overwrite",
            Mode::Insert => "insert",
            Mode::ReplaceLines => "replace_lines",
            Mode::DeleteLines => "delete_lines",
            Mode::Delete => "delete",
            Mode::Rename => "rename",
            Mode::ReplaceSymbol => "replace_symbol",
            Mode::InsertBeforeSymbol => "insert_before_symbol",
            Mode::InsertAfterSymbol => "insert_after_symbol",
            Mode::RenameSymbol => "rename_symbol",
        }
    }

    /// The keys it takes besides `path`, `mode` and `expected_hash`: first the required keys, then
    /// the optional ones.
    #[must_use]
    pub const fn keys(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Mode::Create => (&["content"], &["executable"]),
            Mode::Edit => (&["old_text", "content"], &["replace_all"]),
            Mode::Append | Mode::Overwrite => (&["content"], &[]),
            Mode::Insert => (&["start_line", "content"], &["expected_text", "start_anchor"]),
            Mode::ReplaceLines => (
                &["start_line", "end_line", "content"],
                &["expected_text", "start_anchor", "end_anchor"],
            ),
            Mode::DeleteLines => {
                (&["start_line", "end_line"], &["expected_text", "start_anchor", "end_anchor"])
            }
            Mode::Delete => (&[], &[]),
            Mode::Rename => (&["to"], &[]),
            Mode::ReplaceSymbol | Mode::InsertBeforeSymbol | Mode::InsertAfterSymbol => {
                (&["symbol", "content"], &["start_line"])
            }
            Mode::RenameSymbol => (&["symbol", "to"], &["start_line"]),
        }
    }
}
