//! The parts of a shell script, as far as it can be parsed.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellScript {
    /// In order; the commands of a substitution come before the command that contains it.
    pub(super) commands: Vec<SimpleCommand>,
    /// Why it cannot be parsed completely.
    pub(super) unparsed: Vec<&'static str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// Leading assignments included.
    pub(super) words: Vec<ShellWord>,
    /// The files that its redirections write.
    pub(super) redirections: Vec<ShellWord>,
    /// The text of its here-document.
    pub(super) input: Option<String>,
    /// The variable of a `for` loop.
    pub(super) assigns: Option<String>,
}

/// One word without its quotes.
#[expect(clippy::struct_excessive_bools, reason = "independent properties of a word")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    pub(super) text: String,
    /// It has an expansion, so its final text is unknown.
    pub(super) unknown: bool,
    /// It has a quoted substitution, which some builtins evaluate nevertheless.
    pub(super) hidden: bool,
    /// It is a pattern that expands to file names.
    pub(super) pattern: bool,
    /// Braces expand it to several words.
    pub(super) braces: bool,
    /// A part of it is quoted, so it is not a keyword.
    pub(super) quoted: bool,
}
