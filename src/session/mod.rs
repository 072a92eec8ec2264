//! A session: one piece of agent work as a shadow branch with a base.
//!
//! | ref | holds |
//! | --- | --- |
//! | `refs/heads/edt/<name>` | the shadow branch: one commit per edit |
//! | `refs/edt/<name>/base` | the commit it began from; the empty tree if HEAD was unborn |
//! | `refs/edt/<name>/origin` | a blob: the branch it began on, or the commit if HEAD was detached |
//! | `refs/edt/<name>/undone/<n>` | a tip that `undo` moved away from |
//! | `refs/edt/<name>/refused/<n>` | what a program had changed and policy put back |
//! | `refs/edt/<name>/aside/<n>` | bytes that the session cannot hold, kept before a program ran |
//! | `refs/edt/<name>/landed/<n>` | the tip that landed |
//! | `refs/edt/<name>/landing/<n>` | the commit that it landed as |
//! | `refs/edt/<name>/abandoned` | the tip that was abandoned |
//! | `refs/worktree/edt/session` | symbolic: this worktree's session while HEAD stays elsewhere (`--no-switch`) |

pub mod abandon;
pub mod aside;
pub mod begin;
pub mod changed;
pub mod checkpoint;
pub mod current;
pub mod gc;
pub mod history;
pub mod land;
pub mod list;
pub mod look;
pub mod message;
pub mod moving;
pub mod record;
pub mod restore;
pub mod squash;
pub mod stats;
pub mod undo;
pub mod work;
pub mod world;

pub use checkpoint::Checkpoints;
pub use current::Session;
pub use look::{Look, OnDisk};
pub use world::World;
