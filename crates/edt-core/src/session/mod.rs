//! A session: one piece of agent work as a shadow branch with a base.
//!
//! | ref | content |
//! | --- | --- |
//! | `refs/heads/edt/<name>` | the shadow branch: one commit per edit |
//! | `refs/edt/<name>/base` | the commit it began from; the empty tree if HEAD was unborn |
//! | `refs/edt/<name>/origin` | a blob: the branch it began on, or the commit of a detached HEAD |
//! | `refs/edt/<name>/record` | a chain of entries: what edt committed in the session |
//! | `refs/edt/<name>/undone/<n>` | a tip that `undo` moved away from |
//! | `refs/edt/<name>/refused/<n>` | a program's changes that policy refused and edt reverted |
//! | `refs/edt/<name>/saved/<n>` | the user's version of files that `--save` overwrote |
//! | `refs/edt/<name>/landed/<n>` | the tip that landed |
//! | `refs/edt/<name>/landing/<n>` | the commit that it landed as |
//! | `refs/edt/<name>/onto/<n>` | a blob: the branch that it landed on, and its commit before |
//! | `refs/edt/<name>/unlanded/<n>` | a landing that `land --undo` undid |
//! | `refs/edt/<name>/abandoned` | the tip that was abandoned |
//! | `refs/edt/<name>/comments` | a blob: the user's comments and their answers |
//! | `refs/worktree/edt/session` | symbolic: this worktree's session with `--no-switch` |
//!
//! Each directory knows only those above it in this table; a test holds that.
//!
//! | directory | subject |
//! | --- | --- |
//! | `refs/` | the refs above and their commits |
//! | `turns/` | who asks for an edit: the agent, its conversation and its turn |
//! | `files/` | a file on the branch, in the index and on disk |
//! | `user/` | whose bytes are whose |
//! | `private/` | files that Git ignored, which no commit may contain |
//! | `engine/` | a change as a value, and the one function that makes it |
//! | `worktree/` | a call's worktree: opened, switched, followed by its files |
//! | `recording/` | changes of programs, of agents' own tools, and of the user |
//! | `back/` | undo, redo, revert, restore, abandon |
//! | `landing/` | land, and its undo |
//! | `collection/` | removes what is no longer needed |
//! | `views/` | what a reader sees |
//! | `comments/` | what the user writes about a session, and the agent's answers |

pub mod back;
pub mod collection;
pub mod comments;
pub mod engine;
pub mod files;
pub mod landing;
pub mod private;
pub mod recording;
pub mod refs;
pub mod turns;
pub mod user;
pub mod views;
pub mod worktree;

pub use files::path_state::{OnDisk, PathState};
pub use recording::checkpoint::Checkpoints;
pub use refs::current::Session;
pub use worktree::workspace::LockedWorkspace;
