//! A session: one piece of agent work as a shadow branch with a base.
//!
//! | ref | content |
//! | --- | --- |
//! | `refs/heads/edt/<name>` | the shadow branch: one commit per edit |
//! | `refs/edt/<name>/base` | the commit it began from; the empty tree if HEAD was unborn |
//! | `refs/edt/<name>/origin` | a blob: the branch it began on, or the commit of a detached HEAD |
//! | `refs/edt/<name>/undone/<n>` | a tip that `undo` moved away from |
//! | `refs/edt/<name>/refused/<n>` | a program's changes that policy refused and edt reverted |
//! | `refs/edt/<name>/aside/<n>` | a backup of files that the session cannot record |
//! | `refs/edt/<name>/landed/<n>` | the tip that landed |
//! | `refs/edt/<name>/landing/<n>` | the commit that it landed as |
//! | `refs/edt/<name>/abandoned` | the tip that was abandoned |
//! | `refs/worktree/edt/session` | symbolic: this worktree's session with `--no-switch` |

pub mod abandon;
pub mod backup;
pub mod begin;
pub mod checkout;
pub mod checkpoint;
pub mod current;
pub mod diff_report;
pub mod file_diff;
pub mod gc;
pub mod history;
pub mod land;
pub mod land_commits;
pub mod land_options;
pub mod land_plan;
pub mod list;
pub mod log;
pub mod message;
pub mod path_state;
pub mod record;
pub mod restore;
pub mod stats;
pub mod status;
pub mod undo;
pub mod workspace;

pub use checkpoint::Checkpoints;
pub use current::Session;
pub use path_state::{OnDisk, PathState};
pub use workspace::LockedWorkspace;
