//! Shared by the tests of every crate: the tier that was asked for, what tests compare with files,
//! and repositories that are written without starting Git.

#![expect(clippy::disallowed_methods, reason = "tests read the clock")]

pub mod blessed;
pub mod repository;
pub mod scratch;
mod tier;

pub use repository::ScratchRepo;
pub use scratch::tempdir;
pub use tier::{Progress, Tier, play, seed, seeds, share, tier};
