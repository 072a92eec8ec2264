//! Git's hooks: whether a commit, a push or a change of refs is allowed.
//!
//! [`HOOKS`] lists the hooks. Each judges a [`HookCall`] (Git's input, and who runs the command).
//! It accepts the call, perhaps with warnings, or refuses it with findings. `hooks/git/` has the
//! scripts that call them; [`install`] installs those next to present hooks; [`doctor`] proves that
//! they are live.

mod ancestors;
mod call;
pub mod changes;
pub mod configured;
mod confinement;
pub mod doctor;
mod granted;
pub mod install;
mod list;
pub mod live;
pub mod location;
mod loosened;
pub mod plumbing;
pub mod policies;
pub mod pre_commit;
pub mod pre_push;
pub mod pre_receive;
pub mod probe;
pub mod receipt;
pub mod reference_transaction;
pub mod refs;
pub mod renames;
pub mod repair;
pub mod script;
mod similar;
pub mod step;

pub mod who;

pub use call::{Hook, HookCall, Site};
pub use list::{HOOKS, named};
