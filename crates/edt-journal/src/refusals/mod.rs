//! The record of refusals: what was refused, and what followed.
//!
//! `<common-dir>/edt/refusals.jsonl` is a private file of JSON lines, for all worktrees. It is no
//! decision: nothing waits for the disk, it may be deleted at any time, and a failure to write it
//! changes no answer. the empty file `refusals-open` in the worktree's state directory says that
//! something may be open there. So a call with nothing open costs one look for a file.

mod line;
mod log;

pub use line::{Cause, Followed, Format, How, RefusedCall, RefusedFinding, Texts, TriedEdit};
pub use log::{Place, Recorded, RefusalLog};
