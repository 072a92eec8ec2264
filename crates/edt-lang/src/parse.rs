//! Parses texts within limits. A text that a parser might not survive, or not finish in time, is
//! not parsed, and the reason is returned.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::table::Language;
use super::unparsed::{MAX_BLOCK_SPAN, MAX_BYTES, Unparsed};

/// The maximum nesting of brackets. Error recovery is worse than linear in the depth.
pub const MAX_DEPTH: usize = 1000;

/// The maximum nesting of block indentation. tree-sitter-yaml 0.7.2 keeps its stack of indents in
/// 1,024 bytes and writes past their end at the 254th level.
pub const MAX_BLOCK_DEPTH: usize = 240;

/// Ends a search in a tree when its time is over. What was found until then is not complete.
pub struct Stop<'a> {
    expired: &'a dyn Fn() -> bool,
    steps: Cell<u32>,
    over: Cell<bool>,
}

impl std::fmt::Debug for Stop<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stop").field("over", &self.over).finish_non_exhaustive()
    }
}

impl<'a> Stop<'a> {
    #[must_use]
    pub fn when(expired: &'a dyn Fn() -> bool) -> Stop<'a> {
        Stop { expired, steps: Cell::new(0), over: Cell::new(false) }
    }

    /// Whether the time is over; asks in every 64th step.
    pub(super) fn is_over(&self) -> bool {
        let step = self.steps.get();
        self.steps.set(step.wrapping_add(1));
        if step.is_multiple_of(64) && (self.expired)() {
            self.over.set(true);
        }
        self.over.get()
    }

    /// As [`Stop::is_over`], before a step that takes long.
    pub(super) fn is_over_now(&self) -> bool {
        if (self.expired)() {
            self.over.set(true);
        }
        self.over.get()
    }
}

/// A text and its tree.
#[derive(Debug)]
pub struct Parsed<'t> {
    pub(super) language: &'static Language,
    pub(super) text: &'t [u8],
    pub(super) tree: Tree,
}

/// Parses `text`. `expired` is called every few microseconds and ends the parse when it returns
/// true.
///
/// # Errors
/// Why there is no tree. A text with syntax errors has a tree with error nodes.
pub fn parse<'t>(
    language: &'static Language,
    text: &'t [u8],
    expired: &dyn Fn() -> bool,
) -> Result<Parsed<'t>, Unparsed> {
    check(language, text)?;
    parse_from(language, text, None, expired)
}

/// As [`parse`], without a check of the limits. `old` is the tree of another text, already edited
/// to match the difference between the two.
pub(super) fn parse_from<'t>(
    language: &'static Language,
    text: &'t [u8],
    old: Option<&Tree>,
    expired: &dyn Fn() -> bool,
) -> Result<Parsed<'t>, Unparsed> {
    let mut parser = Parser::new();
    // Tests check that the versions of the grammars match the library.
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

/// Checks that a parser will survive `text`.
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

/// Whether a parser will survive `text`, which nests at most `depth` deep. Does not scan the text.
pub(super) fn is_harmless(language: &Language, text: &[u8], depth: usize) -> bool {
    text.len() <= MAX_BYTES && depth <= MAX_DEPTH && language.name != "yaml"
}

/// The nesting of brackets, if strings and comments had none, whatever their kinds. Real code stays
/// far below the limit.
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

/// The maximum number of block collections open at once in a YAML text: the indents of the open
/// lines and the indicators of the current line.
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
        // A collection that begins in a line stays open only while the lines below have more
        // indentation.
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
    #[must_use]
    pub fn language(&self) -> &'static Language {
        self.language
    }

    /// Whether the tree has an error node.
    #[must_use]
    pub fn has_error(&self) -> bool {
        self.tree.root_node().has_error()
    }

    /// Whether byte `at` is in a string, a comment or raw text, where any text is allowed.
    #[must_use]
    pub fn is_prose(&self, at: usize) -> bool {
        self.prose_from(at).is_some()
    }

    /// Whether byte `at` is outside strings and comments. The body of a macro is code, but its strings.
    #[must_use]
    pub fn is_code(&self, at: usize) -> bool {
        let Some(from) = self.covering(at, &[&["preproc_arg"]]) else { return !self.is_prose(at) };
        let before = &self.text[from..at];
        let quotes = memchr::memchr_iter(b'"', before);
        let open = quotes.filter(|quote| !before[..*quote].ends_with(b"\\")).count() % 2 == 1;
        !open && [&b"//"[..], b"/*"].iter().all(|sign| memchr::memmem::find(before, sign).is_none())
    }

    /// Whether the text has comments and nothing else.
    #[must_use]
    pub fn is_only_comments(&self) -> bool {
        let root = self.tree.root_node();
        let comments = self.language.comments;
        let is_comment = |kind| comments.contains(&kind) || kind == "hash_bang_line";
        root.named_child_count() > 0
            && root.named_children(&mut root.walk()).all(|node| is_comment(node.kind()))
    }

    /// Whether byte `at` is in a string or raw text that is not a comment.
    #[must_use]
    pub fn is_text(&self, at: usize) -> bool {
        self.covering(at, &[self.language.strings]).is_some()
    }

    /// Whether byte `at` is in the text of a page, outside tags, scripts and styles.
    #[must_use]
    pub fn is_running_text(&self, at: usize) -> bool {
        self.covering(at, &[&["text"]]).is_some()
    }

    /// The start of the string, comment or raw text that contains byte `at`.
    #[must_use]
    pub fn prose_from(&self, at: usize) -> Option<usize> {
        self.covering(at, &[self.language.strings, self.language.comments])
    }

    /// The start of the outermost node of these kinds that contains byte `at`. A here-document
    /// starts with the end of the line above: no sign of its own precedes its text.
    fn covering(&self, at: usize, kinds: &[&[&str]]) -> Option<usize> {
        let mut cursor = self.tree.walk();
        while cursor.goto_first_child_for_byte(at).is_some() {
            let node = cursor.node();
            if node.start_byte() > at {
                return None;
            }
            if kinds.iter().any(|kinds| kinds.contains(&node.kind())) {
                let above = usize::from(node.kind() == "heredoc_body");
                return Some(node.start_byte() - above);
            }
        }
        None
    }

    /// Whether byte `at` is code of a script in a page: outside block comments and templates.
    #[must_use]
    pub fn is_script(&self, at: usize) -> bool {
        let mut cursor = self.tree.walk();
        while cursor.goto_first_child_for_byte(at).is_some() {
            let node = cursor.node();
            if node.kind() != "script_element" || node.start_byte() > at {
                continue;
            }
            let tag = node.child(0).map_or(&b""[..], |tag| self.text_of(tag));
            let has = |sign: &[u8]| memchr::memmem::find(tag, sign).is_some();
            let before = &self.text[node.start_byte()..at];
            let last = |sign: &[u8]| memchr::memmem::rfind(before, sign);
            return (!has(b"type=") || has(b"javascript") || has(b"\"module\""))
                && last(b"/*") <= last(b"*/")
                && memchr::memchr_iter(b'`', before).count().is_multiple_of(2);
        }
        false
    }

    /// Whether byte `at` is in a module of Rust that only tests have: `#[cfg(test)] mod a { … }`.
    #[must_use]
    pub fn is_in_tests(&self, at: usize) -> bool {
        let mut cursor = self.tree.walk();
        let is_test = |node: Node<'_>| {
            let above = std::iter::successors(node.prev_sibling(), Node::prev_sibling);
            let mut attributes = above.take_while(|node| node.kind() == "attribute_item");
            attributes.any(|attribute| self.text_of(attribute).starts_with(b"#[cfg(test)]"))
        };
        while cursor.goto_first_child_for_byte(at).is_some() {
            if cursor.node().kind() == "mod_item" && is_test(cursor.node()) {
                return true;
            }
        }
        false
    }

    /// Whether byte `at` is directly in a block of statements: the innermost list of anything around
    /// it is one of statements.
    #[must_use]
    pub fn is_in_block(&self, at: usize) -> bool {
        let mut cursor = self.tree.walk();
        let mut block = false;
        while cursor.goto_first_child_for_byte(at).is_some() {
            let node = cursor.node();
            if node.start_byte() >= at {
                break;
            }
            match node.kind() {
                "compound_statement" => block = true,
                kind if kind.ends_with("_list") => block = false,
                _ => {}
            }
        }
        block
    }

    pub(super) fn text_of(&self, node: Node<'_>) -> &[u8] {
        &self.text[node.byte_range()]
    }
}

/// The rows (0-based, end excluded) that `node` covers.
pub(super) fn rows(node: Node<'_>) -> Range<usize> {
    let (start, end) = (node.start_position(), node.end_position());
    start.row..if end.column == 0 && end.row > start.row { end.row } else { end.row + 1 }
}
