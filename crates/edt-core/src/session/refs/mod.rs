//! The refs of sessions, their commits, and their collection.

pub mod commit;
pub mod current;
pub mod ended;
pub mod gc;
pub(crate) mod gc_lock;
pub mod history;
pub mod landed;
pub mod leftovers;
pub mod list;
pub mod message;
pub mod moves;
pub mod names;
pub mod record;
pub mod renamed;
pub mod revision;
pub(crate) mod trailer_block;
