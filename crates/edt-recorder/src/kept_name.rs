//! The names of stored files.

use crate::event::Kept;
use crate::record::RecordedRun;
use crate::store::{copy_name, name};

impl RecordedRun {
    /// The name in the store of the file with the kept bytes; `None` if they are not there.
    #[must_use]
    pub fn kept_name(&self, kept: &Kept) -> Option<String> {
        let bytes = match kept {
            Kept::Linked(number) if self.modified_at_end(*number).is_some() => copy_name(*number),
            Kept::Linked(number) | Kept::Copied(number) => name(*number),
            Kept::Made | Kept::Clean(_) | Kept::Lost(_) => return None,
        };
        String::from_utf8(bytes).ok()
    }
}
