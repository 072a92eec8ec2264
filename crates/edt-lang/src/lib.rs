//! Parse trees of source files: syntax faults, brackets, statements and definitions.
//!
//! This crate does no I/O, and only this crate uses `tree_sitter`. Everything specific to a
//! language is in `grammars/`: node kinds and comment forms in `languages.toml`, definitions and
//! blocks in queries.

pub mod bodies;
pub mod brackets;
#[allow(dead_code, reason = "a build without a language does not use its part")]
mod checkers;
pub mod distant;
pub mod families;
pub mod fault;
pub mod faults;
#[cfg(feature = "highlight")]
pub mod highlight;
#[allow(dead_code, reason = "a build without a language does not use its part")]
mod idioms;
pub mod judgement;
mod misplaced;
pub mod outline;
pub mod pairs;
pub mod parse;
mod parsers;
pub mod parts;
pub mod preprocessor;
mod rust_signs;
pub mod symbols;
pub mod table;
pub mod trees;
pub mod unparsed;
pub mod uses;
mod visit;

pub use parse::{Parsed, Stop, parse};
pub use table::{LANGUAGES, Language, language_of};
pub use trees::TreeCache;
pub use unparsed::Unparsed;
