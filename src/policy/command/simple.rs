//! What a script of a shell is made of, as far as it can be read.

/// What a script runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// Its simple commands, in order; those of substitutions come first.
    pub(super) commands: Vec<Simple>,
    /// Why it cannot be read wholly.
    pub(super) doubts: Vec<&'static str>,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Its words, leading assignments included.
    pub(super) words: Vec<Word>,
    /// The files that it writes by redirection.
    pub(super) writes: Vec<Word>,
    /// The text of its here-document.
    pub(super) input: Option<String>,
    /// Variables that it sets by itself: the one of `for`.
    pub(super) sets: Option<String>,
}

/// One word, its quotes taken off.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that may be true of a word, apart from the others"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether it has an expansion, so that it is not what it will be.
    pub(super) unknown: bool,
    /// Whether it has the text of a substitution in quotes, which some words of a shell run all the same.
    pub(super) hidden: bool,
    /// Whether it is a pattern: names of files take its place.
    pub(super) pattern: bool,
    /// Whether braces make several words of it.
    pub(super) braces: bool,
    /// Whether any of it is quoted: then it is no keyword.
    pub(super) quoted: bool,
}
