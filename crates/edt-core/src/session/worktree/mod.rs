//! The worktree of a call: opened and locked, begun and switched; its files follow.

pub mod begin;
pub mod checkout;
pub(crate) mod elsewhere;
pub mod follow;
pub mod options;
pub(crate) mod return_target;
pub(crate) mod reviewed;
pub mod switch;
pub mod workspace;
pub mod worktree_host;
