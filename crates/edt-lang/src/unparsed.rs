//! Why a text was not parsed.

/// The maximum number of lines, and the maximum length of a line, for a block-indented grammar. The
/// scanner of tree-sitter-yaml counts both in 16 bits.
pub const MAX_BLOCK_SPAN: usize = 32_000;
/// The maximum size of a parsed text in bytes. A parse runs at about 6 MB/s, and its tree takes 40
/// times the memory of its text.
pub const MAX_BYTES: usize = 2 << 20;

/// Why a text was not parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unparsed {
    /// The text has that many bytes, more than [`MAX_BYTES`].
    TooLarge(usize),
    /// The text nests deeper than this limit.
    TooDeep(usize),
    /// The text has more or longer lines than [`MAX_BLOCK_SPAN`].
    TooLong,
    /// The time limit is over.
    OutOfTime,
    /// The grammar and the library are incompatible: a fault of the build.
    NoGrammar,
    /// The text is a template, so its syntax errors are not its own.
    Template,
}

impl std::fmt::Display for Unparsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unparsed::TooLarge(bytes) => write!(f, "{bytes} bytes are more than {MAX_BYTES}"),
            Unparsed::TooDeep(limit) => write!(f, "it nests deeper than {limit} levels"),
            Unparsed::TooLong => {
                write!(f, "it has more than {MAX_BLOCK_SPAN} lines, or a longer line")
            }
            Unparsed::NoGrammar => f.write_str("its grammar does not fit this build"),
            Unparsed::Template => {
                f.write_str("it is a template, so its syntax errors are not its own")
            }
            Unparsed::OutOfTime => write!(f, "the time limit for one file is over"),
        }
    }
}
