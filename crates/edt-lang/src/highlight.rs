//! The colours of a text: what each part of a line is, by the queries of the grammars' crates.

use tree_sitter::{QueryCursor, StreamingIterator as _};

use super::parse::{Stop, parse};
use super::table::Language;
use super::unparsed::Unparsed;

/// A longer text has no colours.
pub const MAX_BYTES: usize = 512 * 1024;

/// What a part of a text is. The later one counts where a query finds two for one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenClass {
    Property,
    Constant,
    Number,
    Type,
    Function,
    Tag,
    Keyword,
    String,
    Comment,
}

/// A part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The offset of its first byte in the line.
    pub start: usize,
    /// The offset behind its last byte.
    pub end: usize,
    /// What it is.
    pub class: TokenClass,
}

impl TokenClass {
    const ALL: [TokenClass; 9] = [
        TokenClass::Property,
        TokenClass::Constant,
        TokenClass::Number,
        TokenClass::Type,
        TokenClass::Function,
        TokenClass::Tag,
        TokenClass::Keyword,
        TokenClass::String,
        TokenClass::Comment,
    ];

    /// A short name, which begins with `h`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TokenClass::Property => "hp",
            TokenClass::Constant | TokenClass::Number => "hn",
            TokenClass::Type => "ht",
            TokenClass::Function => "hf",
            TokenClass::Tag | TokenClass::Keyword => "hk",
            TokenClass::String => "hs",
            TokenClass::Comment => "hc",
        }
    }

    /// The class of a capture such as `function.method`; `None` for what has the colour of the text.
    fn of(capture: &str) -> Option<TokenClass> {
        let mut words = capture.split('.');
        let class = match words.next()? {
            "property" | "attribute" => TokenClass::Property,
            "constant" if words.next() == Some("numeric") => TokenClass::Number,
            "constant" | "boolean" | "escape" | "label" => TokenClass::Constant,
            "number" | "float" => TokenClass::Number,
            "type" | "constructor" | "module" | "namespace" => TokenClass::Type,
            "function" | "method" | "macro" => TokenClass::Function,
            "tag" => TokenClass::Tag,
            "keyword" | "conditional" | "repeat" | "include" | "preproc" | "delimiter_keyword" => {
                TokenClass::Keyword
            }
            "string" | "character" => TokenClass::String,
            "comment" => TokenClass::Comment,
            _ => return None,
        };
        Some(class)
    }
}

/// The parts of each line of `text` that have a colour, in order. `expired` ends the work.
///
/// # Errors
/// Why there are none: the text is too large or too deep, or the time is over.
pub fn highlight(
    language: &'static Language,
    text: &[u8],
    expired: &dyn Fn() -> bool,
) -> Result<Vec<Vec<Token>>, Unparsed> {
    if text.len() > MAX_BYTES {
        return Err(Unparsed::TooLarge(text.len()));
    }
    let query = language.highlights().ok_or(Unparsed::NoGrammar)?;
    let parsed = parse(language, text, expired)?;
    let classes: Vec<Option<TokenClass>> =
        query.capture_names().iter().map(|name| TokenClass::of(name)).collect();
    let stop = Stop::when(expired);
    let mut found = Vec::new();
    let mut cursor = QueryCursor::new();
    let mut matches = cursor.matches(query, parsed.tree.root_node(), text);
    while let Some(one) = matches.next() {
        if stop.is_over() {
            return Err(Unparsed::OutOfTime);
        }
        for capture in one.captures() {
            let class = classes.get(capture.index as usize).copied().flatten();
            found.extend(class.map(|class| (capture.node.byte_range(), class)));
        }
    }
    // What is inside of another node is painted over it.
    found.sort_by_key(|(range, class)| (range.start, usize::MAX - range.end, *class));
    let mut painted: Vec<u8> = vec![0; text.len()];
    for (range, class) in found {
        if let Some(bytes) = painted.get_mut(range) {
            bytes.fill(class as u8 + 1);
        }
    }
    Ok(lines(text, &painted))
}

fn lines(text: &[u8], painted: &[u8]) -> Vec<Vec<Token>> {
    let mut all = Vec::new();
    let mut from = 0;
    for line in text.split(|byte| *byte == b'\n') {
        let colours = &painted[from..from + line.len()];
        let (mut tokens, mut start) = (Vec::new(), 0);
        for run in colours.chunk_by(|one, next| one == next) {
            let end = start + run.len();
            let class = usize::from(run[0]).checked_sub(1).and_then(|at| TokenClass::ALL.get(at));
            tokens.extend(class.map(|class| Token { start, end, class: *class }));
            start = end;
        }
        all.push(tokens);
        from += line.len() + 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LANGUAGES, language_of};
    use edt_types::RepoPath;

    /// Each coloured part as `class:text`.
    fn parts(path: &str, text: &str) -> Vec<String> {
        let language = language_of(&RepoPath::parse(path.as_bytes()).unwrap(), b"").unwrap();
        let all = highlight(language, text.as_bytes(), &|| false).unwrap();
        let line = |(line, tokens): (&str, Vec<Token>)| {
            let part = |one: &Token| format!("{}:{}", one.class.name(), &line[one.start..one.end]);
            tokens.iter().map(part).collect::<Vec<_>>()
        };
        text.split('\n').zip(all).flat_map(line).collect()
    }

    #[test]
    fn the_queries_of_every_language_fit_its_grammar() {
        for language in LANGUAGES {
            assert!(language.highlights().is_some(), "{}", language.name);
        }
    }

    #[test]
    fn a_part_of_a_line_has_the_class_of_the_innermost_node() {
        assert_eq!(
            parts("a.rs", "fn f() { g(\"a\\n\", 1) } // x"),
            ["hk:fn", "hf:f", "hf:g", "hs:\"a", "hn:\\n", "hs:\"", "hn:1", "hc:// x"]
        );
        assert_eq!(parts("a.go", "package p\nfunc f() { g(x) }")[2..], ["hf:f", "hf:g"]);
    }

    #[test]
    fn a_text_over_several_lines_is_coloured_in_each() {
        assert_eq!(parts("a.py", "x = '''a\nb'''\n"), ["hs:'''a", "hs:b'''"]);
    }

    #[test]
    fn a_text_that_takes_too_long_has_no_colours() {
        let language = language_of(&RepoPath::parse(b"a.rs").unwrap(), b"").unwrap();
        let text = "fn f() {}\n".repeat(10_000);
        assert_eq!(highlight(language, text.as_bytes(), &|| true), Err(Unparsed::OutOfTime));
        let long = " ".repeat(MAX_BYTES + 1);
        let too_large = Err(Unparsed::TooLarge(MAX_BYTES + 1));
        assert_eq!(highlight(language, long.as_bytes(), &|| false), too_large);
    }
}
