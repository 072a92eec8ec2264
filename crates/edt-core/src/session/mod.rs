//! A session: one piece of agent work as a shadow branch with a base.
//!
//! | ref | content |
//! | --- | --- |
//! | `refs/heads/edt/<name>` | the shadow branch: one commit per edit |
//! | `refs/edt/<name>/base` | the commit it began from; the empty tree if HEAD was unborn |
//! | `refs/edt/<name>/origin` | a blob: the branch it began on, or the commit of a detached HEAD |
//! | `refs/edt/<name>/undone/<n>` | a tip that `undo` moved away from |
//! | `refs/edt/<name>/refused/<n>` | a program's changes that policy refused and edt reverted |
//! | `refs/edt/<name>/saved/<n>` | the user's version of files that `--save` overwrote |
//! | `refs/edt/<name>/landed/<n>` | the tip that landed |
//! | `refs/edt/<name>/landing/<n>` | the commit that it landed as |
//! | `refs/edt/<name>/onto/<n>` | a blob: the branch that it landed on, and its commit before |
//! | `refs/edt/<name>/unlanded/<n>` | a landing that `land --undo` undid |
//! | `refs/edt/<name>/abandoned` | the tip that was abandoned |
//! | `refs/worktree/edt/session` | symbolic: this worktree's session with `--no-switch` |

pub mod abandon;
pub mod begin;
mod call_text;
mod candidates;
pub mod checkout;
pub mod checkpoint;
pub mod current;
pub mod diff_report;
pub mod edit_change;
mod elsewhere;
pub mod file_diff;
pub mod follow;
pub mod gc;
mod gc_lock;
pub mod git_landing;
pub mod hidden;
pub mod history;
pub mod kept;
pub mod land;
pub mod land_commits;
pub mod land_options;
pub mod land_plan;
pub(crate) mod land_review;
pub mod land_target;
mod left_by_user;
pub mod leftovers;
pub mod list;
pub mod log;
pub mod message;
pub mod not_kept;
pub mod ownership;
pub mod path_state;
pub mod private_list;
mod program_change;
mod put_back;
pub mod record;
pub mod renamed;
pub mod restore;
pub mod revert;
pub mod review;
mod reviewed;
pub mod revision;
pub mod rewrite;
pub mod saved;
pub mod snapshot;
pub mod stats;
pub mod status;
pub mod switch;
pub mod tool_call;
pub mod uncovered;
pub mod undo;
pub mod unland;
pub mod unwind;
pub mod user_changes;
pub mod user_commits;
pub mod workspace;
pub mod worktree_host;

pub use checkpoint::Checkpoints;
pub use current::Session;
pub use path_state::{OnDisk, PathState};
pub use workspace::LockedWorkspace;
