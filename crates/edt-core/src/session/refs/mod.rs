//! The refs of sessions and their commits.

pub mod commit;
pub mod current;
pub mod ended;
pub mod landed;
pub mod message;
pub mod moves;
pub mod names;
pub mod record;
pub mod renamed;
pub mod revision;
pub(crate) mod trailer_block;
