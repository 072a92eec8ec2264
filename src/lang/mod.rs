//! Languages: which one a file is in, and what its grammar says.
//!
//! Pure, and the only module that names `tree_sitter`. What is particular to a language stands in `grammars/`, not in Rust:
//! node kinds and comment forms in `languages.toml`, definitions and blocks in queries.

pub mod table;

pub use table::{LANGUAGES, Language, of};
