//! Brackets outside strings and comments, and those without a partner.

use super::parse::Parsed;
use super::preprocessor::directive;
use super::rust_signs::Signs;
use super::visit::visit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bracket {
    /// The offset in bytes.
    pub at: usize,
    /// One of `()[]{}`, or a quote.
    pub byte: u8,
}

/// The brackets of a text in a language with C's strings, characters and comments, and the quotes
/// that their line does not close. Those in macro bodies are left out.
#[must_use]
pub fn c_brackets(text: &[u8]) -> Vec<Bracket> {
    let mut scan = Scan { text, at: 0, found: Vec::new() };
    let mut line_start = true;
    while let Some(&byte) = text.get(scan.at) {
        // Within a line most bytes are irrelevant.
        if !line_start && !SIGNIFICANT[usize::from(byte)] {
            scan.at +=
                text[scan.at..].iter().take_while(|byte| !SIGNIFICANT[usize::from(**byte)]).count();
            continue;
        }
        match byte {
            b'\n' => {
                line_start = true;
                scan.at += 1;
                continue;
            }
            b' ' | b'\t' | b'\r' => {
                scan.at += 1;
                continue;
            }
            b'#' if line_start => scan.skip_directive(),
            _ => scan.step(byte),
        }
        line_start = false;
    }
    scan.found
}

/// The brackets of a text in Rust, also those in macros, and the quotes directly behind a word: no
/// string, character or lifetime begins there.
#[must_use]
pub fn rust_brackets(text: &[u8]) -> Vec<Bracket> {
    Signs::of(text, b"()[]{}'").map(|at| Bracket { at, byte: text[at] }).collect()
}

/// Where a comment begins that the text does not close.
#[must_use]
pub fn unclosed_comment(text: &[u8]) -> Option<usize> {
    let last = memchr::memmem::rfind(text, b"/*")?;
    let line = memchr::memrchr(b'\n', &text[..last]).map_or(0, |end| end + 1);
    let closed = memchr::memmem::find(&text[last + 2..], b"*/").is_some();
    if closed { None } else { open_comment(&text[line..]).map(|open| line + open) }
}

/// The brackets of each macro body.
#[must_use]
pub fn c_macro_brackets(text: &[u8]) -> Vec<Vec<Bracket>> {
    let mut bodies = Vec::new();
    let mut next = 0;
    for at in memchr::memchr_iter(b'#', text) {
        if at < next {
            continue;
        }
        let own_line =
            text[..at].iter().rev().take_while(|&&byte| byte != b'\n').all(u8::is_ascii_whitespace);
        let mut scan = Scan { text, at, found: Vec::new() };
        if !own_line {
            continue;
        }
        scan.skip_directive();
        next = scan.at;
        if directive(&text[at..scan.at]).0 == b"define" {
            let mut body = Scan { text: &text[..scan.at], at: at + 1, found: Vec::new() };
            while let Some(&byte) = body.text.get(body.at) {
                body.step(byte);
            }
            if !body.found.is_empty() {
                bodies.push(body.found);
            }
        }
    }
    bodies
}

/// The bytes at which a scan stops.
const SIGNIFICANT: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"\n/\"'()[]{}";
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] = true;
        i += 1;
    }
    table
};

/// The maximum number of enclosing braces to search for one of the same indentation.
const NESTING: usize = 64;
/// The most bytes of a line on either side of a brace that is an argument.
const LONGEST_CALL: usize = 80;
/// The maximum length of a number in characters.
const LONGEST_NUMBER: usize = 80;

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
    found: Vec<Bracket>,
}

/// Whether the brace at `at` ends the only argument of a macro in capitals alone on its line:
/// `CPP(extern "C" {)`, `CPP(})`.
fn is_lone_argument(text: &[u8], at: usize) -> bool {
    let near = &text[at + 1..text.len().min(at + 1 + LONGEST_CALL)];
    let blank = near.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    if near.get(blank) != Some(&b')') {
        return false;
    }
    let end = memchr::memchr(b'\n', near).unwrap_or(near.len());
    if !near[blank + 1..end].trim_ascii().is_empty() {
        return false;
    }
    let least = at.saturating_sub(LONGEST_CALL);
    let start = memchr::memrchr(b'\n', &text[least..at]).map(|end| least + end + 1);
    let Some(start) = start.or((least == 0).then_some(0)) else { return false };
    let before = text[start..at].trim_ascii_start();
    let word = before.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
    let inner = &before[word..];
    let other = |byte: &u8| b"(){}[],".contains(byte);
    word > 1 && inner.starts_with(b"(") && !inner[1..].iter().any(other)
}

/// Where the comment begins that the end of a line leaves open.
fn open_comment(line: &[u8]) -> Option<usize> {
    let open = memchr::memmem::rfind(line, b"/*")?;
    let before = &line[..open];
    let quotes = memchr::memchr_iter(b'"', before).count();
    let closed = memchr::memmem::find(&line[open + 2..], b"*/").is_some();
    let lines = memchr::memmem::find(&line[..=open], b"//").is_some();
    (!closed && !lines && quotes.is_multiple_of(2)).then_some(open)
}

impl Scan<'_> {
    fn step(&mut self, byte: u8) {
        let next = self.text.get(self.at + 1).copied();
        match (byte, next) {
            (b'/', Some(b'/')) => self.skip_to(b"\n"),
            (b'/', Some(b'*')) => {
                self.at += 2;
                self.skip_past(b"*/");
            }
            (b'"', _) if self.is_raw() => self.skip_raw(),
            (b'"', _) => self.skip_quoted(byte),
            (b'\'', _) if !self.is_digit_separator() => self.skip_quoted(byte),
            (b'{' | b'}', _) if is_lone_argument(self.text, self.at) => self.at += 1,
            (b'(' | b')' | b'[' | b']' | b'{' | b'}', _) => {
                self.found.push(Bracket { at: self.at, byte });
                self.at += 1;
            }
            _ => self.at += 1,
        }
    }

    fn skip_to(&mut self, end: &[u8]) {
        let rest = &self.text[self.at.min(self.text.len())..];
        self.at = memchr::memmem::find(rest, end).map_or(self.text.len(), |found| self.at + found);
    }

    fn skip_past(&mut self, end: &[u8]) {
        self.skip_to(end);
        self.at = (self.at + end.len()).min(self.text.len());
    }

    /// Moves past the closing quote, or to the end of the line or the text if it is missing.
    fn skip_quoted(&mut self, quote: u8) {
        let start = self.at;
        self.at += 1;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\\' => self.at += 1 + usize::from(self.text.get(self.at + 1) == Some(&b'\r')),
                b'\n' => {
                    self.found.push(Bracket { at: start, byte: quote });
                    return;
                }
                byte if byte == quote => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.found.push(Bracket { at: start, byte: quote });
        self.at = self.at.min(self.text.len());
    }

    /// Moves past the end of a `#` line, its continuations, and a comment that goes on below.
    fn skip_directive(&mut self) {
        loop {
            let from = self.at;
            self.skip_to(b"\n");
            if let Some(open) = open_comment(&self.text[from..self.at]) {
                self.at = from + open + 2;
                self.skip_past(b"*/");
                continue;
            }
            let mut line = self.text[..self.at].iter().rev();
            let last = line.find(|byte| !b" \t\r".contains(byte));
            if self.at >= self.text.len() || last != Some(&b'\\') {
                return;
            }
            self.at += 1;
        }
    }

    fn is_raw(&self) -> bool {
        let before = &self.text[..self.at];
        before.ends_with(b"R")
            && before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count() <= 3
    }

    fn skip_raw(&mut self) {
        let rest = &self.text[self.at + 1..];
        let Some(open) = rest.iter().take(18).position(|&byte| byte == b'(') else {
            return self.skip_quoted(b'"');
        };
        let end = [b")", &rest[..open], b"\""].concat();
        self.at += 1 + open;
        self.skip_past(&end);
    }

    fn is_digit_separator(&self) -> bool {
        let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
        let word = self.text[..self.at]
            .iter()
            .rev()
            .take(LONGEST_NUMBER)
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'\'');
        digit(before)
            && digit(self.text.get(self.at + 1))
            && word.last().is_some_and(u8::is_ascii_digit)
    }
}

#[doc(hidden)]
impl Parsed<'_> {
    /// The brackets among the tree's leaves: what the grammar parses as brackets outside strings
    /// and comments.
    #[must_use]
    pub fn brackets(&self) -> Vec<Bracket> {
        let mut found = Vec::new();
        visit(&mut self.tree.walk(), |node, _| {
            if node.child_count() == 0
                && !node.is_missing()
                && node.end_byte() - node.start_byte() == 1
            {
                let byte = self.text[node.start_byte()];
                if matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}') && !node.is_named() {
                    found.push(Bracket { at: node.start_byte(), byte });
                }
            }
            let kind = node.kind();
            !self.language.strings.contains(&kind) && !self.language.comments.contains(&kind)
        });
        found
    }
}

/// The brackets without a partner. Each closing bracket closes the nearest open one of its kind.
#[must_use]
pub fn unmatched(brackets: &[Bracket]) -> Vec<Bracket> {
    let (mut open, mut alone): (Vec<Bracket>, Vec<Bracket>) = (Vec::new(), Vec::new());
    // The number of open brackets of each kind, so that a closing one without an opening one needs
    // no search.
    let mut count = [0_usize; 128];
    for &bracket in brackets {
        let Some(opening) = opening(bracket.byte) else {
            count[usize::from(bracket.byte & 127)] += 1;
            open.push(bracket);
            continue;
        };
        if count[usize::from(opening)] == 0 {
            alone.push(bracket);
            continue;
        }
        while let Some(other) = open.pop() {
            count[usize::from(other.byte & 127)] -= 1;
            if other.byte == opening {
                break;
            }
            alone.push(other);
        }
    }
    alone.extend(open);
    alone.sort_by_key(|bracket| bracket.at);
    alone
}

/// The opening brace whose partner was probably lost: the first that would be closed by a brace
/// with less indentation, although an enclosing open brace has exactly that indentation.
#[must_use]
pub fn likely_unclosed(text: &[u8], brackets: &[Bracket]) -> Option<Bracket> {
    let mut open: Vec<(Bracket, usize)> = Vec::new();
    let (mut line, mut seen) = (0, 0);
    for &bracket in brackets.iter().filter(|bracket| matches!(bracket.byte, b'{' | b'}')) {
        line = memchr::memrchr(b'\n', &text[seen..bracket.at]).map_or(line, |end| seen + end + 1);
        seen = bracket.at;
        let indent = text[line..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if bracket.byte == b'{' {
            open.push((bracket, indent));
            continue;
        }
        let first_on_line = line + indent == bracket.at;
        if let Some(&(inner, deeper)) = open.last()
            && first_on_line
            && indent < deeper
            && open.iter().rev().skip(1).take(NESTING).any(|(_, outer)| *outer == indent)
        {
            return Some(inner);
        }
        open.pop();
    }
    open.pop().map(|(bracket, _)| bracket)
}

/// The brackets that begin a line with another indentation than the line of their partner, each
/// after that partner.
#[must_use]
pub fn misindented(text: &[u8], brackets: &[Bracket]) -> Vec<Bracket> {
    let (mut open, mut found): (Vec<(Bracket, usize)>, Vec<Bracket>) = (Vec::new(), Vec::new());
    let (mut line, mut seen) = (0, 0);
    for &bracket in brackets {
        line = memchr::memrchr(b'\n', &text[seen..bracket.at]).map_or(line, |end| seen + end + 1);
        seen = bracket.at;
        let indent = text[line..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let Some(opening) = opening(bracket.byte) else {
            open.push((bracket, indent));
            continue;
        };
        // A closing bracket of another kind does not close the last one that is open.
        if open.last().is_some_and(|(other, _)| other.byte == opening)
            && let Some((other, outer)) = open.pop()
            && outer != indent
            && line + indent == bracket.at
        {
            found.extend([other, bracket]);
        }
    }
    found
}

fn opening(closing: u8) -> Option<u8> {
    match closing {
        b')' => Some(b'('),
        b']' => Some(b'['),
        b'}' => Some(b'{'),
        _ => None,
    }
}

#[must_use]
pub fn partner(byte: u8) -> u8 {
    match byte {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b')' => b'(',
        b']' => b'[',
        b'}' => b'{',
        quote => quote,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(text: &str) -> String {
        unmatched(&c_brackets(text.as_bytes()))
            .iter()
            .map(|bracket| char::from(bracket.byte))
            .collect()
    }

    #[test]
    fn strings_characters_comments_and_macros_hold_no_brackets() {
        assert_eq!(alone("f(\"(\\\"(\", '(', '\\'' /* ( */); // (\n#define BEGIN {\\\n (\nx"), "");
        assert_eq!(alone("auto s = R\"x()\")x\"; int i = 0x1'000;"), "");
        assert_eq!(alone("puts(\"unterminated ((\n);"), "\"", "a string ends with its line");
        assert_eq!(alone("char a = 0';\n#error don't\n/* don't */\n"), "'");
    }

    #[test]
    fn a_line_of_stars_in_a_comment_opens_none() {
        assert_eq!(unclosed_comment(b"//****\n// a\n//****\nint b;\n"), None);
        assert_eq!(unclosed_comment(b"//****\n/* a\nint b;\n"), Some(7));
    }

    #[test]
    fn a_comment_of_a_directive_may_go_on_below() {
        assert_eq!(alone("#define A 1 /* it doesn't\n * matter ( */\nint x;\n"), "");
        assert_eq!(alone("#define A \"/*\"\nint x[;\n"), "[");
        assert_eq!(alone("#define A 1 // a/*\nint x[;\n"), "[");
    }

    #[test]
    fn a_blank_line_ends_a_macro() {
        assert_eq!(alone("{\n#define A \\\n  B \\\n\n}\n"), "");
    }

    #[test]
    fn a_macro_in_capitals_may_open_or_close_a_block() {
        assert_eq!(alone("CPP(extern \"C\" {)\nint x;\nCPP(})\n"), "");
        assert_eq!(alone("CPP(a, {)\nf({);\nF({ }))\n"), "{{)");
    }

    #[test]
    fn one_long_line_takes_linear_time() {
        assert_eq!(alone(&"{1},".repeat(1_200_000)), "");
        assert_eq!(alone(&"{1}),({1}),(".repeat(400_000)), ")(");
    }

    #[test]
    fn a_macro_body_is_checked_separately() {
        let bodies = c_macro_brackets(b"#define A(x) do { f(x); \\\n } while (0\nint x;\n");
        assert_eq!(bodies.iter().map(|body| unmatched(body).len()).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_bracket_that_does_not_fit_the_indentation_is_found_with_its_partner() {
        let text = b"f {\n    g(\n        h }\n    )\n}\n";
        let text = [&text[..], b"k {\n    if {\n        x }\n    }\n}\n"].concat();
        let rows = |text: &[u8]| {
            let row = |bracket: &Bracket| memchr::memchr_iter(b'\n', &text[..bracket.at]).count();
            misindented(text, &c_brackets(text)).iter().map(row).collect::<Vec<_>>()
        };
        assert_eq!(rows(&text), [5, 8]);
        assert_eq!(rows(b"f(a,\n  b)\n{\n}\n"), [0_usize; 0]);
    }

    #[test]
    fn the_unclosed_brace_is_found_by_indentation() {
        let text = b"int f(int a)\n{\n    if (a) {\n        g();\n    h();\n}\nint k(void)\n{\n}\n";
        let lost = likely_unclosed(text, &c_brackets(text)).unwrap();
        assert_eq!(&text[lost.at - 7..=lost.at], b"if (a) {");
    }
}
