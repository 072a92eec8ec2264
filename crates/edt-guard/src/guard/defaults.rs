//! The policy over edt's own guards. The module `policy` is below `guard` and cannot name them, so
//! their names and default modes come from here.

use super::GUARDS;
use crate::policy::{KnownGuard, Policy, file};
use edt_types::Result;

impl Policy {
    /// The policy of the user's file and the repository's file, either of which may be absent.
    ///
    /// # Errors
    /// `BAD_REQUEST` naming the file, the line and the key. An invalid policy is never ignored.
    pub fn of(user: Option<&str>, repository: Option<&str>) -> Result<Policy> {
        let known =
            |guard: &&dyn super::Guard| -> KnownGuard { (guard.name(), guard.default_mode()) };
        Policy::of_guards(GUARDS.iter().map(known).collect(), user, repository)
    }

    /// The policy of the user's file and the bytes of the repository's file.
    ///
    /// # Errors
    /// As [`Policy::of`]; also `BAD_REQUEST` for a file that is larger than
    /// [`file::MAX_BYTES`] or not UTF-8.
    pub fn of_recorded(user: Option<&str>, repository: Option<&[u8]>) -> Result<Policy> {
        Policy::of(user, repository.map(file::text_of).transpose()?)
    }
}
