//! What edt promises, checked from outside with real `git` in scratch repositories.
#![expect(clippy::disallowed_methods, reason = "tests start programs")]
#![allow(missing_docs, reason = "a test is a sentence")]

mod layers;
mod stories;
mod world;
