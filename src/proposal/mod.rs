//! Proposals: a change, or a command, that waits for a person's word.
//!
//! A proposal is a ref `refs/edt/proposals/<id>`. Its first commit is what is proposed: for a change, the tree that would come of it, on
//! top of what its maker read; for a command, the same tree as its parent's, with the command in the message. Each later commit on the
//! ref is a decision: approved, rejected, withdrawn, superseded, or carried out. Nothing else knows of it, so `git log refs/edt/proposals/7` tells
//! its whole story, and a compare-and-swap of the ref is all that keeps two deciders apart.
//!
//! A person's word is bound to the digest of what they saw: what is carried out later must have that digest, be it carried over to
//! other text or not.

pub mod carry;
pub mod command;
pub mod decide;
pub mod landing;
pub mod make;
pub mod store;
pub mod told;

pub use carry::apply;
pub use store::{Proposal, State};
