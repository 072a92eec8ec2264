//! Texts of others in the page, and how much of them.

use maud::Markup;

use edt_types::text::escape_controls;

/// How many bytes of diffs a page may still get, and the values of its forms. A file that does not
/// fit is folded.
#[derive(Debug)]
pub(super) struct Sheet<'a> {
    pub(super) room: usize,
    /// `None` if the page has no server.
    pub(super) values: Option<FormValues<'a>>,
}

/// What every form has.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormValues<'a> {
    /// The value that only the page knows.
    pub(super) form: &'a str,
    /// The article to which the answer leads.
    pub(super) at: &'a str,
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
