//! The page of codes.

use super::{Code, WarningCode, evidence};

/// The content of `docs/reference/errors.md`: codes, warnings and evidence as Markdown.
#[must_use]
pub fn code_page() -> String {
    [Code::table(), WarningCode::table(), evidence::table()].join("\n")
}
