//! Changes that were not made through `edt apply`: of programs, of agents' own tools, and of the
//! user. A snapshot is taken before, and the difference is recorded or rolled back after.

pub(crate) mod call_text;
pub(crate) mod candidates;
pub mod checkpoint;
mod displaced;
pub(crate) mod edit_commit;
pub mod held;
pub mod ignored_before;
mod judged;
pub mod kept;
pub(crate) mod kept_directory;
pub mod known_states;
pub(crate) mod program_change;
mod program_edit;
pub mod record;
pub mod review;
pub(crate) mod roll_back;
pub mod run_store;
pub mod shell_snapshot;
pub mod snapshot;
pub mod tool_call;
pub mod touched;
