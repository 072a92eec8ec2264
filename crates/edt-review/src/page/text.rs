//! Texts of others in the page, and the values of its forms.

use maud::{Markup, html};

use edt_io::clock;
use edt_types::text::escape_controls;

/// What every form has.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormValues<'a> {
    /// The value that only the page knows.
    pub(super) form: &'a str,
    /// The article to which the answer leads.
    pub(super) at: &'a str,
    /// The session's newest commit: what the user saw.
    pub(super) tip: &'a str,
    /// Whether a part of the article's changes can be reverted.
    pub(super) takes_parts: bool,
}

/// A text of somebody else, on one line.
pub(super) fn shown(text: &str) -> String {
    let text: String = text.chars().map(|c| if c == '\n' { ' ' } else { c }).collect();
    escape_controls(&text).0
}

/// The start of an object id.
pub(super) fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

/// A time, which the script shows in the reader's time zone.
pub(super) fn time(at: i64) -> Markup {
    let utc = clock::utc_at(at);
    html! { time datetime=(utc) { (utc) } }
}
