//! Texts into trees, within limits: a text that a parser might not survive, or not finish in time, is left unparsed and said so.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::table::Language;

/// Texts of more bytes are not parsed: a parse runs at about 6 MB/s and its tree takes 40 times the text.
pub const MAX_BYTES: usize = 2 << 20;

/// Texts that nest brackets deeper are not parsed: error recovery is worse than linear in the depth.
pub const MAX_DEPTH: usize = 1000;

/// Texts whose block indentation nests deeper are not parsed: tree-sitter-yaml 0.7.2 keeps its stack of indents in 1,024 bytes and
/// writes past their end at the 254th level.
pub const MAX_BLOCK_DEPTH: usize = 240;

/// Texts of a block-indented grammar with more lines or longer lines are not parsed: the same scanner counts both in 16 bits.
pub const MAX_BLOCK_SPAN: usize = 32_000;

/// A text and its tree.
#[derive(Debug)]
pub struct Parsed<'t> {
    pub(super) language: &'static Language,
    pub(super) text: &'t [u8],
    pub(super) tree: Tree,
}

/// Why a text has no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unparsed {
    /// More than [`MAX_BYTES`].
    TooLarge(usize),
    /// Nested deeper than the limit named.
    TooDeep(usize),
    /// More or longer lines than [`MAX_BLOCK_SPAN`].
    TooLong,
    /// The time was over.
    OutOfTime,
    /// The grammar and the library do not fit: a fault of the build.
    NoGrammar,
    /// It is a template of a text, not the text.
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
            Unparsed::Template => f.write_str("it is a template, and its errors are not its own"),
            Unparsed::OutOfTime => write!(f, "the time for one file was over"),
        }
    }
}

/// The tree of `text`, unless `expired` says that the time is over before it is done. It is asked every few microseconds.
///
/// # Errors
/// Why there is no tree. Nothing else can go wrong: a text full of errors has a tree full of errors.
pub fn parse<'t>(
    language: &'static Language,
    text: &'t [u8],
    expired: &dyn Fn() -> bool,
) -> Result<Parsed<'t>, Unparsed> {
    check(language, text)?;
    parse_from(language, text, None, expired)
}

/// The same without a look at the text first; made of the tree of another, which has been told in what they differ, if there is one.
pub(super) fn parse_from<'t>(
    language: &'static Language,
    text: &'t [u8],
    old: Option<&Tree>,
    expired: &dyn Fn() -> bool,
) -> Result<Parsed<'t>, Unparsed> {
    let mut parser = Parser::new();
    // Cannot fail: the versions of the grammars are tested against the library's.
    if parser.set_language(&language.grammar()).is_err() {
        return Err(Unparsed::NoGrammar);
    }
    let mut stop = |_: &tree_sitter::ParseState| {
        if expired() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut read = |at: usize, _| text.get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut stop);
    let tree =
        parser.parse_with_options(&mut read, old, Some(options)).ok_or(Unparsed::OutOfTime)?;
    Ok(Parsed { language, text, tree })
}

/// Whether a parser will survive `text`.
fn check(language: &Language, text: &[u8]) -> Result<(), Unparsed> {
    if text.len() > MAX_BYTES {
        return Err(Unparsed::TooLarge(text.len()));
    }
    if bracket_depth(text) > MAX_DEPTH {
        return Err(Unparsed::TooDeep(MAX_DEPTH));
    }
    if language.name != "yaml" {
        return Ok(());
    }
    let lines = || text.split(|&byte| byte == b'\n');
    if lines().count() > MAX_BLOCK_SPAN || lines().any(|line| line.len() > MAX_BLOCK_SPAN) {
        return Err(Unparsed::TooLong);
    }
    if block_depth(text) > MAX_BLOCK_DEPTH {
        Err(Unparsed::TooDeep(MAX_BLOCK_DEPTH))
    } else {
        Ok(())
    }
}

/// Whether a parser will survive `text`, which nests at most `depth` deep, as far as that can be told without a look at it.
pub(super) fn is_harmless(language: &Language, text: &[u8], depth: usize) -> bool {
    text.len() <= MAX_BYTES && depth <= MAX_DEPTH && language.name != "yaml"
}

/// How deep brackets nest if strings and comments held none, whatever their kinds: real code stays far below the limit.
pub(super) fn bracket_depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// How many block collections can be open at once in a YAML text: indents of the lines still open, and every indicator of the line.
fn block_depth(text: &[u8]) -> usize {
    let mut open: Vec<usize> = Vec::new();
    let mut deepest = 0;
    for line in text.split(|&byte| byte == b'\n') {
        let indent = line.iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
        if indent == line.len() {
            continue;
        }
        while open.last().is_some_and(|&column| column >= indent) {
            open.pop();
        }
        let indicator = |(i, byte): (usize, &u8)| {
            matches!(byte, b'-' | b'?' | b':')
                && line.get(i + 1).is_none_or(u8::is_ascii_whitespace)
        };
        open.push(indent);
        let inline: Vec<usize> = line
            .iter()
            .enumerate()
            .skip(indent)
            .filter(|&(i, byte)| indicator((i, byte)))
            .map(|(i, _)| i + 1)
            .collect();
        deepest = deepest.max(open.len() + inline.len());
        // What a line opens stays open below it only while lines are indented deeper.
        let leading = line[indent..]
            .iter()
            .take_while(|&&byte| matches!(byte, b'-' | b'?' | b' ' | b'\t'))
            .count();
        open.extend(
            inline.into_iter().filter(|&column| column <= indent + leading && column > indent),
        );
    }
    deepest
}

impl Parsed<'_> {
    /// Its language.
    #[must_use]
    pub fn language(&self) -> &'static Language {
        self.language
    }

    /// Whether the grammar could not make sense of some of it.
    #[must_use]
    pub fn has_error(&self) -> bool {
        self.tree.root_node().has_error()
    }

    /// Whether byte `at` lies in a string, a comment or raw text: where anything may stand.
    #[must_use]
    pub fn is_prose(&self, at: usize) -> bool {
        self.prose_from(at).is_some()
    }

    /// Whether byte `at` lies in a string or raw text that is no comment.
    #[must_use]
    pub fn is_text(&self, at: usize) -> bool {
        self.covering(at, &[self.language.strings]).is_some()
    }

    /// Where the string, comment or raw text that byte `at` lies in begins.
    #[must_use]
    pub fn prose_from(&self, at: usize) -> Option<usize> {
        self.covering(at, &[self.language.strings, self.language.comments])
    }

    /// Where the outermost node of one of these kinds that holds byte `at` begins.
    fn covering(&self, at: usize, kinds: &[&[&str]]) -> Option<usize> {
        let mut cursor = self.tree.walk();
        while cursor.goto_first_child_for_byte(at).is_some() {
            let node = cursor.node();
            if node.start_byte() > at {
                return None;
            }
            if kinds.iter().any(|kinds| kinds.contains(&node.kind())) {
                return Some(node.start_byte());
            }
        }
        None
    }

    /// The text of a node.
    pub(super) fn of(&self, node: Node<'_>) -> &[u8] {
        &self.text[node.byte_range()]
    }
}

/// The rows (0-based, end excluded) that `node` stands on.
pub(super) fn rows(node: Node<'_>) -> Range<usize> {
    let (start, end) = (node.start_position(), node.end_position());
    start.row..if end.column == 0 && end.row > start.row { end.row } else { end.row + 1 }
}
