//! Texts of others in the page, and how much of them.

use maud::Markup;

use edt_types::text::escape_controls;

/// How many bytes of diffs a page may still get. A file that does not fit is folded.
#[derive(Debug)]
pub(super) struct Room(pub(super) usize);

impl Room {
    /// What `whole` returns, or what `folded` returns if there is no room for it.
    pub(super) fn take(
        &mut self,
        whole: impl FnOnce() -> Markup,
        folded: impl FnOnce() -> Markup,
    ) -> Markup {
        if self.0 > 0 {
            let markup = whole();
            if let Some(left) = self.0.checked_sub(markup.0.len()) {
                self.0 = left;
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
