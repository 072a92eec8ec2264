//! What edt promises, checked from outside with real `git` in scratch repositories.
#![expect(clippy::disallowed_methods, reason = "tests start programs")]
#![allow(missing_docs, reason = "a test is a sentence")]

mod bad_input;
mod checkpoints;
mod codes;
mod crash;
mod incidents;
mod layers;
mod repositories;
mod restart;
mod stories;
mod transcripts;
mod world;
