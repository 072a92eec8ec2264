//! Where files are at the end of a run: in the store, or below the root.

use crate::event::{Kept, Place};
use crate::record::RecordedRun;
use crate::store::{copy_name, name};

impl RecordedRun {
    /// Where what was at `path` before the run is at its end, if it was moved below the root.
    #[must_use]
    pub fn moved_to(&self, path: &[u8]) -> Option<Vec<u8>> {
        match self.place_now(&Place::Tree(path.to_vec()), 0) {
            Place::Tree(now) if now != path => Some(now),
            _ => None,
        }
    }

    /// The name in the store of the file with the kept bytes; `None` if they are not there.
    #[must_use]
    pub fn kept_name(&self, kept: &Kept) -> Option<String> {
        let bytes = match kept {
            Kept::Linked(number) if self.copied_links.contains_key(number) => copy_name(*number),
            Kept::Linked(number) | Kept::Copied(number) => name(*number),
            Kept::Made | Kept::Clean(_) | Kept::Lost(_) => return None,
        };
        String::from_utf8(bytes).ok()
    }
}
