//! Parsers that follow the specification of their language. They decide whether a text has an error,
//! also where the grammar of tree-sitter finds none; trees come from tree-sitter alone.

#[cfg(feature = "oxc")]
pub(crate) mod ecma;
#[cfg(feature = "lang-json")]
pub(crate) mod json;
#[cfg(feature = "lang-python")]
pub(crate) mod python;
#[cfg(feature = "lang-toml")]
pub(crate) mod toml;
