//! Proposals: changes or commands that wait for user approval.
//!
//! A proposal is a ref `refs/edt/proposals/<id>`. Its first commit is the proposal. For a change,
//! its tree is the proposed tree, and its parent is what the author read. For a command, the tree
//! is the parent's, with a long standard input as one more file, and the message has the command.
//!
//! Each later commit on the ref is a decision: approved, rejected, withdrawn, superseded or
//! applied. There is no other state, so `git log refs/edt/proposals/7` shows the full history. A
//! compare-and-swap of the ref makes one of two concurrent decisions fail.
//!
//! An approval is bound to the digest of what the user saw. Whatever is applied later must have
//! that digest, even if it was merged onto changed files. If the user's `edt.toml` names a key, an
//! approval also has a signature ([`signature`]).

pub mod apply;
pub mod command;
pub mod decide;
pub mod decisions;
pub mod landing;
pub mod propose;
pub mod running;
pub mod signature;
pub mod store;

pub use apply::apply;
pub use store::{Proposal, ProposalState};
