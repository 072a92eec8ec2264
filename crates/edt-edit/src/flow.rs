//! Finds a text in a file by its words and signs, whatever the line breaks and the indentation, and
//! carries a change of the text over to the file. For the correction that an error message suggests.
//!
//! Escapes, entities and typographic signs count as the signs that they stand for. Only what the change
//! adds is written; everything else keeps the form that it has in the file.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use similar::{Algorithm, DiffOp, DiffTag};

use super::indent::Indent;
use super::noise::{ENTITIES, SIGNS, wide_space};
use super::splice::{self, Splice};
use super::table;
use edt_io::clock;
use edt_types::text;

/// The largest file that is searched, in bytes.
const MAX_FILE: usize = 1 << 20;
/// The most words and signs of the text.
const MAX_TOKENS: usize = 5_000;

/// A file, prepared for several searches.
#[derive(Debug)]
pub(super) struct Flow<'t> {
    /// The file as it is, and without commas before a closing bracket on another line: formatters
    /// add and remove them.
    files: Vec<Tokens<'t>>,
}

/// A text as words and signs.
#[derive(Debug, Clone)]
struct Tokens<'t> {
    text: &'t [u8],
    tokens: Vec<Token<'t>>,
}

#[derive(Debug, Clone, Copy)]
struct Token<'t> {
    start: usize,
    end: usize,
    /// What the token stands for.
    sense: &'t [u8],
}

impl<'t> Flow<'t> {
    /// `None` if the file is too large.
    pub(super) fn of(text: &'t [u8]) -> Option<Flow<'t>> {
        if text.len() > MAX_FILE {
            return None;
        }
        let tokens = Tokens::of(text);
        let bare = tokens.without_last_commas();
        let differs = bare.tokens.len() < tokens.tokens.len();
        let files = std::iter::once(tokens).chain(Some(bare).filter(|_| differs)).collect();
        Some(Flow { files })
    }

    /// The change from `old` to `new` at the only place of `old`. `None` if there is no such place,
    /// if `new` is there already, or if it is unknown how to write the change there.
    pub(super) fn change(&self, old: &[u8], new: &[u8], deadline: Instant) -> Option<Vec<Splice>> {
        let (old, new) = (Tokens::of(old), Tokens::of(new));
        if old.tokens.is_empty() || old.tokens.len().max(new.tokens.len()) > MAX_TOKENS {
            return None;
        }
        for file in &self.files {
            match file.find(&old).as_slice() {
                [] => {}
                [at] => {
                    let place = Place { file, at: *at, old: &old };
                    let end = at + old.tokens.len();
                    let covers = |from: &usize| from <= at && end <= from + new.tokens.len();
                    if file.find(&new).iter().any(covers) {
                        return None;
                    }
                    // In the sent text itself the change must give the new text.
                    let sent = Place { file: &old, at: 0, old: &old };
                    let carried = splice::apply(old.text, &sent.splices(&new, deadline)?);
                    let splices = place.splices(&new, deadline)?;
                    let after = splice::apply(file.text, &splices);
                    // After the deadline the comparison may keep fewer words than there are.
                    let as_sent = carried == new.text && clock::now() < deadline;
                    let as_sent = as_sent && place.whole_lines();
                    return (as_sent && file.becomes(&after, *at..end, &new)).then_some(splices);
                }
                _ => return None,
            }
        }
        None
    }
}

impl<'t> Tokens<'t> {
    fn of(text: &'t [u8]) -> Tokens<'t> {
        let (mut tokens, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let (len, sense) = token(&text[at..]);
            if let Some(sense) = sense {
                tokens.push(Token { start: at, end: at + len, sense });
            }
            at += len;
        }
        Tokens { text, tokens }
    }

    fn without_last_commas(&self) -> Tokens<'t> {
        let last = |i: usize| {
            self.tokens[i].sense == b","
                && self.tokens.get(i + 1).is_some_and(|next| {
                    matches!(next.sense, b")" | b"]" | b"}") && self.gap(i + 1).contains(&b'\n')
                })
        };
        let tokens = (0..self.tokens.len()).filter(|&i| !last(i)).map(|i| self.tokens[i]).collect();
        Tokens { text: self.text, tokens }
    }

    /// The text before token `i`, after the token before it.
    fn gap_range(&self, i: usize) -> Range<usize> {
        let start = i.checked_sub(1).map_or(0, |before| self.tokens[before].end);
        start..self.tokens.get(i).map_or(self.text.len(), |token| token.start)
    }

    fn gap(&self, i: usize) -> &'t [u8] {
        &self.text[self.gap_range(i)]
    }

    fn raw(&self, i: usize) -> &'t [u8] {
        &self.text[self.tokens[i].start..self.tokens[i].end]
    }

    /// Whether `after` is this text with the tokens `new` in place of the tokens `at`.
    fn becomes(&self, after: &[u8], at: Range<usize>, new: &Tokens<'_>) -> bool {
        let senses = |tokens: &[Token<'_>]| -> Vec<Vec<u8>> {
            let filled = tokens.iter().filter(|token| token.sense != b",");
            filled.map(|token| token.sense.to_vec()).collect()
        };
        let wanted =
            [senses(&self.tokens[..at.start]), senses(&new.tokens), senses(&self.tokens[at.end..])];
        senses(&Tokens::of(after).tokens) == wanted.concat()
    }

    /// Where the tokens of `run` occur; at most two places are needed.
    fn find(&self, run: &Tokens<'_>) -> Vec<usize> {
        let mut numbers: HashMap<&[u8], usize> = HashMap::new();
        let wanted: Vec<usize> = run
            .tokens
            .iter()
            .map(|token| {
                let next = numbers.len();
                *numbers.entry(token.sense).or_insert(next)
            })
            .collect();
        if wanted.is_empty() || wanted.len() > self.tokens.len() {
            return Vec::new();
        }
        let lines: Vec<usize> = self
            .tokens
            .iter()
            .map(|token| numbers.get(token.sense).copied().unwrap_or(usize::MAX))
            .collect();
        table::search(&lines, &wanted, 1)
    }
}

/// The length of what `text` begins with, and what it stands for: `None` for white space.
fn token(text: &[u8]) -> (usize, Option<&[u8]>) {
    for (written, sense) in ENTITIES.iter().chain(&SIGNS) {
        if text.starts_with(written) {
            return (written.len(), Some(*sense));
        }
    }
    match text {
        [b'\\', b'n' | b't' | b'r', ..] => (2, None),
        [b'\\', b'"' | b'\'' | b'\\', ..] => (2, Some(&text[1..2])),
        [first, ..] if first.is_ascii_whitespace() => (1, None),
        [0xc2 | 0xe2 | 0xe3, ..] if let Some(len) = wide_space(text) => (len, None),
        [first, ..] if is_word(*first) => {
            let is_sign = |at: usize| SIGNS.iter().any(|(sign, _)| text[at..].starts_with(sign));
            let ends = |&at: &usize| {
                !is_word(text[at]) || is_sign(at) || wide_space(&text[at..]).is_some()
            };
            let end = (1..text.len()).find(ends);
            let end = end.unwrap_or(text.len());
            (end, Some(&text[..end]))
        }
        _ => (1, text.get(..1)),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The place of a text in a file.
struct Place<'a, 't> {
    file: &'a Tokens<'t>,
    /// The first token of the file.
    at: usize,
    old: &'a Tokens<'a>,
}

impl Place<'_, '_> {
    /// The splices that make the change from the old text to `new`.
    fn splices(&self, new: &Tokens<'_>, deadline: Instant) -> Option<Vec<Splice>> {
        let style = self.style(new)?;
        let kept = kept(self.old, new, deadline);
        let mut splices: Vec<Splice> = Vec::new();
        let (mut i, mut k) = (0, 0);
        let end = (self.old.tokens.len(), new.tokens.len());
        for (next_i, next_k) in kept.into_iter().chain([end]) {
            if (i, k) != (next_i, next_k) {
                self.carry(&style, new, i..next_i, k..next_k, &mut splices)?;
            } else if i > 0 && (i, k) != end && self.old.gap(i) != new.gap(k) {
                // White space changes between two tokens that stay.
                splices.push(self.gap_splice(&style, i, new.gap(k))?);
            }
            (i, k) = (next_i + 1, next_k + 1);
        }
        let last = (self.old.tokens.len(), new.tokens.len());
        if self.old.gap(last.0) != new.gap(last.1) || self.old.gap(0) != new.gap(0) {
            return None;
        }
        splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
        let apart = splices.windows(2).all(|pair| pair[0].at.end <= pair[1].at.start);
        (apart && !splices.is_empty()).then_some(splices)
    }

    /// Adds the splices for the old tokens `old`, which become the new tokens `new_range`.
    fn carry(
        &self,
        style: &FlowStyle,
        new: &Tokens<'_>,
        old: Range<usize>,
        new_range: Range<usize>,
        splices: &mut Vec<Splice>,
    ) -> Option<()> {
        let (i, j, k, l) = (old.start, old.end, new_range.start, new_range.end);
        let (first, last) = (i == 0, j == self.old.tokens.len());
        let (left, right) = (new.gap(k), new.gap(l));
        let between = |from: usize, to: usize| &new.text[from..to];
        // Without the signs around them, other signs may have to be written in another way.
        if old.clone().any(|i| style.changed.contains(&self.old.raw(i)[0])) {
            return None;
        }
        if old.is_empty() {
            let here = self.old.gap(i);
            let (body_start, body_end) = (new.tokens[k].start, new.tokens[l - 1].end);
            let (left_start, right_end) = (new.gap_range(k).start, new.gap_range(l).end);
            let opens = !first && matches!(self.old.tokens[i - 1].sense, b"(" | b"[" | b"{");
            let below = left == here && !last;
            let (at, with) = if right == here && !first && !(below && opens) {
                (self.end(i - 1)..self.end(i - 1), between(left_start, body_end))
            } else if below {
                (self.start(i)..self.start(i), between(body_start, right_end))
            } else if !first && !last && self.gap(i) == here {
                (self.end(i - 1)..self.start(i), between(left_start, right_end))
            } else {
                return None;
            };
            splices.push(Splice { at, with: style.convert(with)? });
        } else if new_range.is_empty() {
            let (old_left, old_right) = (self.old.gap(i), self.old.gap(j));
            let at = if left == old_left && !last {
                self.start(i)..self.start(j)
            } else if left == old_right && !first {
                self.end(i - 1)..self.end(j - 1)
            } else {
                return None;
            };
            splices.push(Splice { at, with: Vec::new() });
        } else {
            if left != self.old.gap(i) {
                splices.push(self.gap_splice(style, i, left)?);
            }
            let body = between(new.tokens[k].start, new.tokens[l - 1].end);
            splices.push(Splice { at: self.start(i)..self.end(j - 1), with: style.convert(body)? });
            if right != self.old.gap(j) {
                splices.push(self.gap_splice(style, j, right)?);
            }
        }
        Some(())
    }

    /// The splice that gives the white space before old token `i` its new form.
    fn gap_splice(&self, style: &FlowStyle, i: usize, new: &[u8]) -> Option<Splice> {
        if i == 0 || i == self.old.tokens.len() {
            return None;
        }
        let (here, old) = (self.gap(i), self.old.gap(i));
        if here == new {
            return Some(Splice { at: self.end(i - 1)..self.start(i), with: here.to_vec() });
        }
        let both_break = here.contains(&b'\n') && new.contains(&b'\n');
        let plain = here.iter().all(u8::is_ascii_whitespace);
        (here == old || (both_break && plain)).then_some(())?;
        Some(Splice { at: self.end(i - 1)..self.start(i), with: style.convert(new)? })
    }

    fn start(&self, i: usize) -> usize {
        self.file.tokens[self.at + i].start
    }

    fn end(&self, i: usize) -> usize {
        self.file.tokens[self.at + i].end
    }

    /// The file's text before old token `i`.
    fn gap(&self, i: usize) -> &[u8] {
        &self.file.text[self.end(i - 1)..self.start(i)]
    }

    /// Whether the place begins and ends a line of the file where the sent text does.
    fn whole_lines(&self) -> bool {
        let (count, file) = (self.old.tokens.len(), &self.file);
        let before = file.gap(self.at);
        let after = file.gap(self.at + count);
        let begins = self.at == 0 || before.contains(&b'\n');
        let ends = self.at + count == file.tokens.len() || after.contains(&b'\n');
        let breaks = |gap: &[u8]| memchr::memchr_iter(b'\n', gap).count();
        // Blank lines at the end are in the file, too.
        let blank = breaks(self.old.gap(count)) < 2
            || self.at + count == file.tokens.len()
            || breaks(after) >= breaks(self.old.gap(count));
        let begun = self.old.gap(0).is_empty() || begins;
        begun && blank && (!self.old.gap(count).contains(&b'\n') || ends)
    }

    /// How new text is written here; `None` if escapes differ between two signs.
    fn style(&self, new: &Tokens<'_>) -> Option<FlowStyle> {
        let mut changed = Vec::new();
        for i in 0..self.old.tokens.len() {
            if self.old.raw(i) != self.file.raw(self.at + i) {
                changed.extend_from_slice(self.old.tokens[i].sense);
                changed.push(b'\\');
            }
            if i == 0 {
                continue;
            }
            let (sent, here) = (self.old.gap(i), self.gap(i));
            let here = here.strip_prefix(b",").unwrap_or(here);
            if sent == here {
                continue;
            }
            let escaped = sent.contains(&b'\\') || here.contains(&b'\\');
            if escaped && decoded(sent) == decoded(here) {
                changed.extend_from_slice(b"\\\n\t");
            } else if escaped {
                return None;
            }
        }
        Some(FlowStyle { indent: self.indent(new), changed })
    }

    /// How the indentation of the sent lines relates to that of the file.
    fn indent(&self, new: &Tokens<'_>) -> Option<Indent> {
        let begins = |gap: &[u8]| gap.contains(&b'\n');
        let mut pairs: Vec<(&[u8], &[u8])> = Vec::new();
        for i in 0..self.old.tokens.len() {
            let before = self.file.gap_range(self.at + i);
            let file_gap = &self.file.text[before.clone()];
            let starts_line = begins(file_gap) || before.start == 0;
            let sent_gap = self.old.gap(i);
            let sent_starts = if i == 0 { !sent_gap.is_empty() } else { begins(sent_gap) };
            if starts_line && sent_starts {
                let line = |text: &[u8], end: usize| {
                    memchr::memrchr(b'\n', &text[..end]).map_or(0, |at| at + 1)
                };
                let (sent_end, file_end) =
                    (self.old.tokens[i].end, self.file.tokens[self.at + i].end);
                let sent_start = line(self.old.text, self.old.tokens[i].start);
                let file_start = line(self.file.text, self.file.tokens[self.at + i].start);
                pairs.push((
                    &self.old.text[sent_start..sent_end],
                    &self.file.text[file_start..file_end],
                ));
            }
        }
        Indent::for_lines(&pairs, text::lines(new.text).skip(1)).filter(|_| !pairs.is_empty())
    }
}

/// How new text is written at a place.
struct FlowStyle {
    indent: Option<Indent>,
    /// Characters that are written in another way in the file than they were sent.
    changed: Vec<u8>,
}

impl FlowStyle {
    /// `with` as it is written in the file; `None` if that is unknown.
    fn convert(&self, with: &[u8]) -> Option<Vec<u8>> {
        if with.iter().any(|byte| self.changed.contains(byte)) {
            return None;
        }
        let mut lines = with.split(|&b| b == b'\n');
        let mut out = lines.next().unwrap_or_default().to_vec();
        let mut lines = lines.peekable();
        while let Some(line) = lines.next() {
            out.push(b'\n');
            // The last line goes on with a token of the file.
            let goes_on = lines.peek().is_none();
            if !goes_on && line.trim_ascii().is_empty() {
                let known = self.indent.as_ref().and_then(|indent| indent.convert(line));
                out.extend_from_slice(&known.unwrap_or_else(|| line.to_vec()));
            } else {
                let probe = [line, b"x"].concat();
                let converted = self.indent.as_ref()?.convert(&probe)?;
                out.extend_from_slice(&converted[..converted.len() - 1]);
            }
        }
        Some(out)
    }
}

/// White space with its escapes decoded.
fn decoded(gap: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < gap.len() {
        let (byte, len) = match &gap[at..] {
            [b'\\', b'n', ..] => (b'\n', 2),
            [b'\\', b't', ..] => (b'\t', 2),
            [b'\\', b'r', ..] => (b'\r', 2),
            _ => (gap[at], 1),
        };
        out.push(byte);
        at += len;
    }
    out
}

/// The tokens that a change keeps: their numbers in the old and in the new text. Those of lines that
/// stay, then those that stay in the lines that change.
fn kept(old: &Tokens<'_>, new: &Tokens<'_>, deadline: Instant) -> Vec<(usize, usize)> {
    let lines = |tokens: &Tokens<'_>| -> Vec<(Vec<u8>, Range<usize>)> {
        let (mut lines, mut at, mut first) = (Vec::new(), 0, 0);
        for line in text::lines(tokens.text) {
            at += line.len();
            let end = tokens.tokens.partition_point(|token| token.start < at);
            if end > first {
                lines.push((line.trim_ascii().to_vec(), first..end));
            }
            first = end;
        }
        lines
    };
    let (old_lines, new_lines) = (lines(old), lines(new));
    let texts = |lines: &[(Vec<u8>, Range<usize>)]| -> Vec<Vec<u8>> {
        lines.iter().map(|(line, _)| line.clone()).collect()
    };
    let tokens = |lines: &[(Vec<u8>, Range<usize>)], at: Range<usize>| {
        lines[at].iter().flat_map(|(_, tokens)| tokens.clone()).collect::<Vec<usize>>()
    };
    let mut kept = Vec::new();
    for op in merged(diff(&texts(&old_lines), &texts(&new_lines), deadline)) {
        let (old_at, new_at) =
            (tokens(&old_lines, op.old_range()), tokens(&new_lines, op.new_range()));
        if op.tag() == DiffTag::Equal {
            kept.extend(old_at.into_iter().zip(new_at));
            continue;
        }
        let raw = |of: &Tokens<'_>, at: &[usize]| -> Vec<Vec<u8>> {
            at.iter().map(|&i| of.raw(i).to_vec()).collect()
        };
        let inner = diff(&raw(old, &old_at), &raw(new, &new_at), deadline);
        for op in inner.into_iter().filter(|op| op.tag() == DiffTag::Equal) {
            kept.extend(
                old_at[op.old_range()].iter().copied().zip(new_at[op.new_range()].iter().copied()),
            );
        }
    }
    kept
}

fn diff(old: &[Vec<u8>], new: &[Vec<u8>], deadline: Instant) -> Vec<DiffOp> {
    similar::capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline))
}

/// The operations with adjacent changes joined.
fn merged(ops: Vec<DiffOp>) -> Vec<DiffOp> {
    let mut out: Vec<DiffOp> = Vec::new();
    for op in ops {
        match out.last_mut() {
            Some(last) if last.tag() != DiffTag::Equal && op.tag() != DiffTag::Equal => {
                let (old, new) = (last.old_range(), last.new_range());
                *last = DiffOp::Replace {
                    old_index: old.start,
                    old_len: op.old_range().end - old.start,
                    new_index: new.start,
                    new_len: op.new_range().end - new.start,
                };
            }
            _ => out.push(op),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(file: &str, old: &str, new: &str) -> Option<String> {
        let flow = Flow::of(file.as_bytes())?;
        let splices = flow.change(old.as_bytes(), new.as_bytes(), clock::in_ms(1000))?;
        Some(String::from_utf8(splice::apply(file.as_bytes(), &splices)).unwrap())
    }

    #[test]
    fn a_change_is_carried_into_rewrapped_lines() {
        let file = "x = call(\n    alpha,\n    beta,\n)\ny = 1\n";
        assert_eq!(
            changed(file, "x = call(alpha, beta)\n", "x = call(alpha, gamma)\n").unwrap(),
            "x = call(\n    alpha,\n    gamma,\n)\ny = 1\n"
        );
        assert_eq!(
            changed("x = f(a, b)\n", "x = f(\n    a,\n    b)\n", "x = f(\n    a,\n    c)\n")
                .unwrap(),
            "x = f(a, c)\n"
        );
    }

    #[test]
    fn new_lines_get_the_indentation_of_the_file() {
        let file = "void f()\n{\n\tif (a) {\n\t\tb();\n\t}\n}\n";
        assert_eq!(
            changed(file, "(a) {\n        b();\n", "(a) {\n        b();\n        c();\n").unwrap(),
            "void f()\n{\n\tif (a) {\n\t\tb();\n\t\tc();\n\t}\n}\n"
        );
    }

    #[test]
    fn lost_escapes_stay_as_they_are_in_the_file() {
        let file = "printf(\"a\\n\", b);\n";
        assert_eq!(
            changed(file, "printf(\"a\n\", b);\n", "printf(\"a\n\", c);\n").unwrap(),
            "printf(\"a\\n\", c);\n"
        );
        // It is unknown how a new line break would be written.
        assert_eq!(changed(file, "printf(\"a\n\", b);\n", "printf(\"a\n\", c\nd);\n"), None);
    }

    #[test]
    fn another_word_another_sign_or_two_places_is_no_match() {
        assert_eq!(changed("a = b + 1\n", "a = b - 1\n", "a = c\n"), None);
        assert_eq!(changed("a = b + 1\n", "a = b + 2\n", "a = c\n"), None);
        assert_eq!(changed("f(a,\n b)\nf(a, b)\n", "f(a,  b)\n", "f(c,  b)\n"), None);
        assert_eq!(changed("ab = 1\n", "a b = 1\n", "a b = 2\n"), None);
    }

    #[test]
    fn what_was_not_compared_in_time_is_not_carried_over() {
        let flow = Flow::of(b"call(a,\n  b)\n").unwrap();
        let carried = |deadline| flow.change(b"call(a, b)", b"call(a, c)", deadline).is_some();
        assert!(carried(clock::in_ms(60_000)) && !carried(clock::now()));
    }

    #[test]
    fn a_change_that_was_made_is_not_made_again() {
        assert_eq!(changed("call(a,\n     b)\n", "call(a", "call(a, b"), None);
    }
}
