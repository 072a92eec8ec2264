//! What no reader of CSS accepts: brackets, strings and comments without an end, items that are
//! neither a declaration nor a rule, and a declaration that swallows the next one.
//!
//! Follows the tokens and blocks of CSS Syntax Level 3 and CSS Nesting. Properties, values and
//! selectors are not judged: browsers skip those that they do not know, and new ones appear.

use super::{BOM, Found, into_faults};
use crate::fault::SyntaxFault;

const COMMENT: &str = "a comment without `*/`";
const STRING: &str = "a string that its line does not close";
const CLOSING: &str = "a closing bracket without its partner";
const OPENING: &str = "an opening bracket without its partner";
const NO_SEMICOLON: &str = "a declaration without `;` before the next one";
const NO_ITEM: &str = "neither a declaration nor a rule";
const COMMAS: &str = "a comma with nothing beside it";

/// What a selector begins with, besides letters.
const SELECTOR: &[u8] = b"#[:*&%-_\\|";

/// The faults of a style sheet. A template (`{{ x }}`, `{% if %}`, `<%`, front matter) is not read.
pub(crate) fn faults(text: &[u8], expired: &dyn Fn() -> bool) -> Option<Vec<SyntaxFault>> {
    // A doubled brace alone is damage.
    let template = [&b"}}"[..], b"{%", b"<%", b"<?php"];
    let has = |sign: &[u8]| memchr::memmem::find(text, sign).is_some();
    if text.starts_with(b"---")
        || template.iter().any(|sign| has(sign) && (*sign != b"}}" || has(b"{{")))
    {
        return Some(Vec::new());
    }
    let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let mut reader = Reader { text, at: start, open: Vec::new(), item: None, found: Vec::new() };
    for step in 0_usize.. {
        if reader.at >= text.len() {
            break;
        }
        if step % 1024 == 0 && expired() {
            return None;
        }
        reader.step();
    }
    reader.end_item(text.len(), false);
    let open = reader.open.iter().map(|open| (open.at..open.at + 1, OPENING));
    reader.found.extend(open.collect::<Vec<_>>());
    Some(into_faults(text, reader.found))
}

struct Open {
    at: usize,
    byte: u8,
}

/// A declaration or the beginning of a rule.
struct Item {
    start: usize,
    /// The place of the first colon outside brackets.
    colon: Option<usize>,
    /// Whether the last sign was a comma, and where.
    comma: Option<usize>,
    /// Where the last line with text outside brackets began within the item.
    line: usize,
    /// How many brackets were open when the item began.
    depth: usize,
    /// Where a line of the value begins that looks like another declaration.
    swallowed: Option<usize>,
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    open: Vec<Open>,
    item: Option<Item>,
    found: Vec<Found>,
}

impl Reader<'_> {
    fn step(&mut self) {
        let (at, byte) = (self.at, self.text[self.at]);
        let rest = &self.text[at..];
        match byte {
            b'/' if rest.starts_with(b"/*") => self.skip_comment(),
            // Preprocessors know such comments, and style sheets have them, too.
            b'/' if rest.starts_with(b"//") && self.item.is_none() && self.begins_line() => {
                self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            }
            b'<' if rest.starts_with(b"<!--") => self.at += 4,
            b'-' if rest.starts_with(b"-->") => self.at += 3,
            b'\n' => {
                if let Some(item) = &mut self.item
                    && item.depth == self.open.len()
                {
                    item.line = at + 1;
                }
                self.at += 1;
            }
            byte if byte.is_ascii_whitespace() => self.at += 1,
            b'"' | b'\'' => {
                self.begin_item();
                self.skip_string(byte);
            }
            b';' if self.is_at_item() => {
                self.end_item(at, false);
                self.at += 1;
            }
            b'{' | b'(' | b'[' => self.open_bracket(byte),
            b'}' | b')' | b']' => self.close_bracket(byte),
            b',' => {
                self.begin_item();
                self.note_comma();
                self.at += 1;
            }
            b':' => {
                self.begin_item();
                self.note_colon();
                self.at += 1;
            }
            _ => {
                self.begin_item();
                if self.is_url() {
                    return self.skip_url();
                }
                self.at += if byte == b'\\' { 2 } else { 1 };
            }
        }
    }

    fn begins_line(&self) -> bool {
        let before = self.text[..self.at].rsplit(|&byte| byte == b'\n').next();
        before.is_none_or(|before| before.trim_ascii().is_empty())
    }

    /// Whether the innermost open bracket is the block, so that `;` ends an item.
    fn is_at_item(&self) -> bool {
        self.open.last().is_none_or(|open| open.byte == b'{')
            && self.item.as_ref().is_none_or(|item| item.depth == self.open.len())
    }

    fn begin_item(&mut self) {
        let depth = self.open.len();
        let start = self.at;
        let item = self.item.get_or_insert(Item {
            start,
            colon: None,
            comma: None,
            line: start,
            depth,
            swallowed: None,
        });
        item.comma = None;
    }

    fn note_comma(&mut self) {
        let at = self.at;
        let text = self.text;
        let before = text[..at].trim_ascii_end();
        // The value of a custom property may have any commas: `var(--x,,)` and `--x: a,;`.
        let in_function = self.open.last().is_some_and(|open| {
            let name = &text[open.at.saturating_sub(3)..open.at];
            name.eq_ignore_ascii_case(b"var") || name.eq_ignore_ascii_case(b"env")
        });
        let custom = self.item.as_ref().is_some_and(|item| text[item.start..].starts_with(b"--"));
        if !in_function && !custom && before.ends_with(b",") {
            self.found.push((at..at + 1, COMMAS));
        }
        if let Some(item) = &mut self.item {
            item.comma = Some(at);
        }
    }

    fn note_colon(&mut self) {
        let (at, depth) = (self.at, self.open.len());
        let text = self.text;
        let Some(item) = &mut self.item else { return };
        if item.depth != depth {
            return;
        }
        let Some(first) = item.colon else {
            item.colon = Some(at);
            return;
        };
        // A second colon at the start of a line of the value: `color: red` NEWLINE `margin: 0`.
        if item.swallowed.is_some()
            || item.line <= first
            || text[item.start] == b'@'
            || !is_property(text[item.line..at].trim_ascii())
            || text[item.line..at].trim_ascii().eq_ignore_ascii_case(b"progid")
        {
            return;
        }
        let value = text[first + 1..item.line].trim_ascii();
        if !value.is_empty() && !value.ends_with(b",") && !value.ends_with(b"}") {
            item.swallowed.get_or_insert(item.line);
        }
    }

    fn open_bracket(&mut self, byte: u8) {
        let at = self.at;
        if byte != b'{' {
            self.begin_item();
        } else if self.is_at_item() {
            let custom = |item: &Item| self.text[item.start..].starts_with(b"--");
            if !self.item.as_ref().is_some_and(custom) {
                self.end_item(at, true);
            }
        }
        self.open.push(Open { at, byte });
        self.at += 1;
    }

    fn close_bracket(&mut self, byte: u8) {
        let at = self.at;
        let partner = match byte {
            b'}' => b'{',
            b')' => b'(',
            _ => b'[',
        };
        // A `}` ends what was left open within its block.
        if byte == b'}' {
            while let Some(inner) = self.open.pop_if(|open| open.byte != b'{') {
                self.found.push((inner.at..inner.at + 1, OPENING));
            }
        }
        // The last argument may be empty: `var(--x,)`.
        if byte != b'}'
            && let Some(item) = &mut self.item
        {
            item.comma = None;
        }
        if self.open.last().is_some_and(|open| open.byte == partner) {
            let in_value = self.item.as_ref().is_some_and(|item| item.depth < self.open.len());
            if byte == b'}' && !in_value {
                self.end_item(at, false);
            }
            self.open.pop();
        } else {
            self.found.push((at..at + 1, CLOSING));
            if byte == b'}' {
                self.item = None;
            }
        }
        self.at += 1;
    }

    /// The item ends before `end`: with a block, or as a declaration.
    fn end_item(&mut self, end: usize, block: bool) {
        let Some(item) = self.item.take() else { return };
        let whole = self.text[item.start..end].trim_ascii_end();
        let place = item.start..item.start + memchr::memchr(b'\n', whole).unwrap_or(whole.len());
        if let Some(comma) = item.comma.filter(|_| !whole.starts_with(b"--")) {
            self.found.push((comma..comma + 1, COMMAS));
        }
        if whole.starts_with(b"@") {
            return;
        }
        let custom = whole.starts_with(b"--");
        let good = if block {
            is_selector(whole, item.depth)
        } else {
            custom || self.is_declaration(&item)
        };
        if !good {
            self.found.push((place, NO_ITEM));
        } else if let Some(line) = item.swallowed.filter(|_| !block) {
            let rest = self.text[line..end].trim_ascii_start();
            let start = end - rest.len();
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.trim_ascii_end().len());
            self.found.push((start..start + length, NO_SEMICOLON));
        }
    }

    /// Whether an item is `name: value` in a block. Old browsers' hacks have a sign before the name.
    fn is_declaration(&self, item: &Item) -> bool {
        let Some(colon) = item.colon else { return false };
        let name = self.text[item.start..colon].trim_ascii_end();
        let name = match name {
            [b'*' | b'!' | b'#' | b'$' | b'/', rest @ ..] => rest,
            name => name,
        };
        item.depth > 0 && is_property(name)
    }

    fn skip_comment(&mut self) {
        if let Some(end) = memchr::memmem::find(&self.text[self.at + 2..], b"*/") {
            self.at += end + 4;
        } else {
            self.found.push((self.at..self.at + 2, COMMENT));
            self.at = self.text.len();
        }
    }

    fn skip_string(&mut self, quote: u8) {
        let start = self.at;
        self.at += 1;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\\' if self.text[self.at..].starts_with(b"\\\r\n") => self.at += 3,
                b'\\' => self.at += 2,
                b'\n' => break,
                byte if byte == quote => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.text.len());
        self.found.push((start..self.at, STRING));
    }

    /// Whether an unquoted `url(` begins here.
    fn is_url(&self) -> bool {
        let rest = &self.text[self.at..];
        rest.len() > 4
            && rest[..4].eq_ignore_ascii_case(b"url(")
            && !matches!(rest[4..].trim_ascii_start().first(), Some(b'"' | b'\''))
    }

    fn skip_url(&mut self) {
        let rest = &self.text[self.at..];
        if let Some(end) = url_end(rest) {
            self.at += end + 1;
        } else {
            self.found.push((self.at + 3..self.at + 4, OPENING));
            self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        }
    }
}

/// Where the `url(` at the start of a text closes. White space around the address may have line
/// ends.
fn url_end(text: &[u8]) -> Option<usize> {
    let spaces =
        |at: usize| text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut at = 4 + spaces(4);
    loop {
        match text.get(at)? {
            b')' => return Some(at),
            b'\n' => {
                let end = at + spaces(at);
                return (text.get(end) == Some(&b')')).then_some(end);
            }
            b'\\' if text.get(at + 1).is_some_and(|byte| !b"\r\n".contains(byte)) => at += 2,
            _ => at += 1,
        }
    }
}

/// Whether a word is the name of a property.
fn is_property(name: &[u8]) -> bool {
    let letter =
        |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'\\' | 0x80..);
    name.first().is_some_and(letter)
        && name.iter().all(|byte| letter(byte) || byte.is_ascii_digit())
}

/// Whether the text before a block can be a selector, or a stop of a keyframe rule.
fn is_selector(text: &[u8], depth: usize) -> bool {
    let number = text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    match text.first() {
        Some(b'.') => true,
        Some(byte) if byte.is_ascii_digit() => text.get(number) == Some(&b'%'),
        Some(b'>' | b'+' | b'~') => depth > 0,
        Some(byte) => byte.is_ascii_alphabetic() || SELECTOR.contains(byte) || !byte.is_ascii(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkers::tests::problems_of;

    fn problems(text: &str) -> Vec<(usize, &'static str)> {
        problems_of(faults, text)
    }

    #[test]
    fn everyday_css_has_no_fault() {
        let text = "@charset \"utf-8\";\na { background: url(../a.png); color: red;; *zoom: 1 }\n\
                    @media (width >= 1px) { b:hover, c > d { margin: 0 auto; } }\n\
                    @keyframes k { 50.5% { top: 0 } }\n@page :first { margin: 1in }\n\
                    [data-x=\"a\" i] { --x: { a: b }; --y: ; filter: progid:X.Y(a='b') }\n\
                    @container name (max-width: 1px) { li:nth-child(3n-1) { color: var(--z,) } }\n\
                    .a { &:hover { top: 0 } > b { left: 0 } }\n<!-- .b { } -->\n\
                    p { background: url(data:image/svg+xml;charset=utf-8,%3Csvg%20x%3D%22%22) }\n";
        assert_eq!(problems(text), []);
    }

    #[test]
    fn brackets_strings_and_comments_must_end() {
        assert_eq!(problems("a {\n  color: red;\n"), [(1, OPENING)]);
        assert_eq!(problems("a { }\n}\n"), [(2, CLOSING)]);
        assert_eq!(problems("a { width: calc(1px; }\n"), [(1, OPENING)]);
        assert_eq!(problems("a { content: \"x; }\n").len(), 2);
        assert_eq!(problems("a { }\n/* b\n"), [(2, COMMENT)]);
    }

    #[test]
    fn an_address_ends_with_its_line_or_after_white_space() {
        assert_eq!(problems("a { b: url(\n  ../a.png\n) }\n"), []);
        assert_eq!(problems("a { b: url(\r\n\ta\\)b.png \r\n\t) }\n"), []);
        for text in ["a { b: url(a.png;\n}\n", "a { b: url(\n}\n", "a { b: url(a\n b) }\n"] {
            assert!(problems(text).contains(&(1, OPENING)), "{text}");
        }
    }

    #[test]
    fn a_lost_semicolon_swallows_the_next_declaration() {
        assert_eq!(problems("a {\n  color: red\n  margin: 0;\n}\n"), [(3, NO_SEMICOLON)]);
        assert_eq!(problems("a {\n  --b: 1\n  --c: 0;\n}\n"), [(3, NO_SEMICOLON)]);
        assert_eq!(problems("a {\n  --b: {\n    c: d;\n    e: f\n  }\n  g: h;\n}\n"), []);
    }

    #[test]
    fn comments_may_begin_with_slashes() {
        assert_eq!(problems("// a (b\nc {\n  // f\n  g: url(//h) }\n"), []);
    }

    #[test]
    fn a_selector_may_take_several_lines() {
        assert_eq!(problems("a:hover,\nb:focus {\n  top: 0;\n}\n"), []);
    }

    #[test]
    fn prose_and_numbered_lines_are_no_items() {
        assert_eq!(problems("Done;\na { }\n"), [(1, NO_ITEM)]);
        assert_eq!(problems("a {\n  12 | top: 0;\n}\n"), [(2, NO_ITEM)]);
        assert_eq!(problems("a {\n  color red;\n}\n"), [(2, NO_ITEM)]);
    }

    #[test]
    fn a_comma_has_something_on_both_sides() {
        assert_eq!(problems("a,, b { }\n"), [(1, COMMAS)]);
        assert_eq!(problems("a, { }\n"), [(1, COMMAS)]);
        assert_eq!(problems("a { color: rgb(1,,2) }\n"), [(1, COMMAS)]);
        assert_eq!(problems("a { b: c, }\n"), [(1, COMMAS)]);
        assert_eq!(problems("a { --b: c,; --d: e,, f; g: var(--h,,) }\n"), []);
    }
}
