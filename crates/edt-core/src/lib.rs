//! Guarded, atomic edits recorded as Git commits: the library behind `edt`.
//!
//! Every edit is one transaction and one commit on a shadow branch. Guards judge it before anything
//! is written; a refusal changes nothing and says what to send instead. After a crash the next call
//! finds the old state or the new one.
//!
//! ```standalone_crate
//! # fn main() -> Result<(), edt_core::Refusal> {
//! # let directory = edt_testkit::ScratchRepo::with(&[("src/calc.c", "int sub(int a, int b) { return a - b; }\n")]);
//! # std::env::set_current_dir(directory.path()).unwrap();
//! let mut ws = edt_core::Workspace::open(".", edt_core::Options::default())?;
//! let outcome = ws.apply(&edt_core::Request::new("calc: add").edit("src/calc.c", "a - b", "a + b"))?;
//! assert_eq!(outcome.status, edt_core::Status::Applied);
//! ws.undo(1)?;
//! ws.redo()?;
//! ws.land(edt_core::Land::default())?;
//! # Ok(()) }
//! ```
//!
//! The first edit begins a session: a branch `edt/NAME` at HEAD, to which HEAD switches. Policy
//! (`edt.toml`) is read from the commit that the session began from, so an edit cannot loosen it.
//! Hints name the commands of the program `edt`; an embedding program may show its own words for a
//! [`Code`]. Git itself runs only for hooks, filters and signing, where the repository asks for them.
//!
//! A refusal is a value: every finding has a stable [`Code`], a summary, what the call had changed,
//! and the next call to make.
//!
//! ```standalone_crate
//! # fn main() -> Result<(), edt_core::Refusal> {
//! # let directory = edt_testkit::ScratchRepo::with(&[("src/calc.c", "int sub(int a, int b) { return a - b; }\n")]);
//! # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
//! use edt_core::{Code, Effect, Request};
//!
//! let refusal = ws.apply(&Request::new("").edit("src/calc.c", "a * b", "a + b")).unwrap_err();
//! let finding = &refusal.as_slice()[0];
//! assert_eq!((finding.code, finding.effect), (Code::OldTextNotFound, Effect::NothingChanged));
//! println!("{} {}", finding.message(), finding.hint());
//! # Ok(()) }
//! ```
//!
//! The library takes its settings from [`Options`] alone. By default it uses no environment
//! variable and no home directory, and changes nothing of the process: Git's configuration is that
//! of the repository, and without `user.name` and `user.email` there, commits are by `edt
//! <edt@localhost>`. [`Environment::Process`] uses the variables of the process and the user's
//! configuration, as Git does. One variable always counts: a process of root regards repositories
//! of the user in `SUDO_UID` as its own, as Git does. [`Workspace`] is [`Send`]. Names outside this
//! page are not part of the interface and may change in any release.

#![warn(missing_docs)]

mod api;
#[doc(hidden)]
pub mod observe;
#[doc(hidden)]
pub mod proposal;
#[doc(hidden)]
pub mod refusals;
#[doc(hidden)]
pub mod session;
#[doc(hidden)]
pub mod txn;
pub mod types;
#[doc(hidden)]
pub mod user_decision;

pub use api::Workspace;
pub use edt_edit::Mode;
pub use edt_guard::guard::{Guard, GuardContext, GuardOutput, Subject};
pub use edt_io::Environment;
pub use edt_types::{
    Code, Durability, Effect, FileReport, Finding, GuardReport, Outcome, Recovered, Refusal,
    RepoPath, SessionReport, Status, Verdict, Warning,
};
pub use observe::Observer;
pub use session::landing::options::LandOptions as Land;
pub use session::worktree::options::Options;
pub use txn::Request;

#[cfg(test)]
mod tests;
