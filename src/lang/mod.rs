//! Languages: texts as trees, their faults, brackets, statements and definitions.
//!
//! Pure, and the only module that names `tree_sitter`. What is particular to a language stands in `grammars/`, not in Rust:
//! node kinds and comment forms in `languages.toml`, definitions and blocks in queries.

pub mod brackets;
pub mod faults;
pub mod outline;
pub mod parse;
pub mod preprocessor;
pub mod table;
pub mod trees;

pub use parse::{Parsed, Unparsed, parse};
pub use table::{LANGUAGES, Language, of};
pub use trees::Trees;
