//! What the articles of a page share.

use maud::Markup;

use super::comments::Threads;
use super::text::FormValues;
use crate::contents::Palette;

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
