//! The place in the file that is most similar to the text of an edit, for findings.

use serde_json::{Value, json};

use edt_edit::near::NearMiss;
use edt_types::text::{counted, numbered, visible};

/// The nearest place as evidence.
pub(super) fn nearest(text: &[u8], near: &NearMiss) -> Value {
    let first = near.first_line - 1;
    let context = numbered(text, first..first + near.lines.min(20), 2);
    json!({
        "line": near.first_line,
        "equal_lines": near.equal_lines,
        "lines": near.lines,
        "differs_at": near.differs_at,
        "sent": visible(&near.sent),
        "found": near.found.as_deref().map(visible),
        "white_space_only": near.white_space_only,
        "context": context,
    })
}

pub(super) fn describe(near: &NearMiss) -> String {
    let place = format!(
        "The nearest place is line {}, where {} of {} {} equal",
        near.first_line,
        near.equal_lines,
        counted(near.lines, "line"),
        if near.lines == 1 { "is" } else { "are" }
    );
    match (&near.differs_at, &near.found) {
        (Some(line), Some(found)) => {
            format!(
                "{place}; line {line} differs first: sent {:?}, found {:?}.",
                visible(&near.sent),
                visible(found)
            )
        }
        _ => format!("{place}; the file ends before {:?}.", visible(&near.sent)),
    }
}
