//! Collects what sessions no longer need.

pub mod forget;
pub mod gc;
pub(crate) mod gc_lock;
pub mod leftovers;
