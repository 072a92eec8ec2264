//! Texts of others in the page, and how much of them.

use maud::Markup;

use super::comments::Threads;
use crate::contents::Palette;
use edt_types::text::escape_controls;

/// How many bytes of diffs a page may still get, and the values of its forms. A file that does not
/// fit is folded.
#[derive(Debug, Default)]
pub(super) struct Sheet<'a> {
    pub(super) room: usize,
    /// `None` if the page has no server.
    pub(super) values: Option<FormValues<'a>>,
    /// The place of the file of which the user chooses lines.
    pub(super) chosen: Option<usize>,
    /// What colours the texts; without it they have none.
    pub(super) palette: Option<Palette<'a>>,
    /// Whether a file did not fit.
    pub(super) folded: bool,
    /// The comments of the article.
    pub(super) threads: Option<Threads<'a>>,
}

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

impl Sheet<'_> {
    /// What `whole` returns, or what `folded` returns if there is no room for it.
    pub(super) fn take(
        &mut self,
        whole: impl FnOnce() -> Markup,
        folded: impl FnOnce() -> Markup,
    ) -> Markup {
        if self.room > 0 {
            let markup = whole();
            if let Some(left) = self.room.checked_sub(markup.0.len()) {
                self.room = left;
                return markup;
            }
        }
        self.folded = true;
        folded()
    }
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
