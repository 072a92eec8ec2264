//! How the texts of an edit may have been changed on their way. Each reading undoes one such change
//! in the old and in the new text alike.

use edt_types::text;

use super::hunk::{HunkLine, Side, between};
use super::line_anchor;
use super::table::content;

/// The two texts of an edit, as they may have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
    /// The line (0-based) where the old text must begin, because only its number shows that the
    /// text has line numbers.
    pub(super) at: Option<usize>,
}

/// Undoes a change of a text; `None` if it cannot have been made.
type Decoder = fn(&[u8]) -> Option<Vec<u8>>;

const DECODERS: [Decoder; 6] =
    [json_string, escaped_quotes, escaped_breaks, double_backslashes, entities, curly_quotes];

/// The readings that differ from the texts as they were sent. `None` if a reading whose old text is
/// in `text` would break a string of the new one: how the new text is meant is then unknown.
pub(super) fn readings(text: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<Reading>> {
    let mut readings: Vec<Reading> =
        without_numbers(old, new).into_iter().chain(without_trailing_space(old, new)).collect();
    for decode in DECODERS {
        let (Some(decoded_old), Some(decoded_new)) = (decode(old), decode(new)) else { continue };
        if decoded_old == old || decoded_old.trim_ascii().is_empty() {
            continue;
        }
        let breaks = |text: &[u8]| text.iter().filter(|byte| b"\n\t".contains(byte)).count();
        let is_old = |line: &[u8]| text::lines(&decoded_old).any(|old| old == line);
        let opens = |line: &[u8]| opens_a_string(line) && !is_old(line);
        if breaks(&decoded_new) != breaks(new) && text::lines(&decoded_new).any(opens) {
            if memchr::memmem::find(text, decoded_old.trim_ascii()).is_some() {
                return None;
            }
            continue;
        }
        let reading = Reading { old: decoded_old, new: decoded_new, at: None };
        if !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    Some(readings)
}

/// Whether a quote of the line has no partner: a break was decoded that belongs to a string.
fn opens_a_string(line: &[u8]) -> bool {
    let is_letter =
        |at: Option<usize>| at.and_then(|at| line.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    [b'"', b'\'', b'`'].iter().any(|quote| {
        let is_quote = |at: &usize| {
            let before = at.checked_sub(1);
            let is_escaped = before.is_some_and(|before| line[before] == b'\\');
            let is_apostrophe = *quote == b'\'' && is_letter(before) && is_letter(Some(at + 1));
            line[*at] == *quote && !is_escaped && !is_apostrophe
        };
        (0..line.len()).filter(is_quote).count() % 2 == 1
    })
}

/// The most changes of one edit of which some may have been made before.
const MAX_CHANGES: usize = 5;

/// The readings in which some of the changes, and not all, have been made before.
pub(super) fn partly_made(old: &[u8], new: &[u8]) -> Vec<Reading> {
    let lines = between(old, new);
    let mut changes = 0;
    // The change that each line belongs to.
    let of_line: Vec<usize> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let begins = at == 0 || lines[at - 1].side == Side::Both;
            changes += usize::from(line.side != Side::Both && begins);
            changes
        })
        .collect();
    if !(2..=MAX_CHANGES).contains(&changes) {
        return Vec::new();
    }
    let made_before = |made: usize| {
        let there = |(line, &change): (&HunkLine, &usize)| match line.side {
            Side::Both => true,
            side => (side == Side::New) == (made & (1 << (change - 1)) != 0),
        };
        let of: Vec<&[u8]> = lines
            .iter()
            .zip(&of_line)
            .filter(|pair| there(*pair))
            .map(|(line, _)| line.text.as_slice())
            .collect();
        let mut text = of.join(&b'\n');
        if old.ends_with(b"\n") {
            text.push(b'\n');
        }
        Reading { old: text, new: new.to_vec(), at: None }
    };
    // Lines that are gone cannot show that a change was made.
    let shows = |change: usize| {
        lines.iter().zip(&of_line).any(|(line, &of)| {
            of == change && line.side == Side::New && line.text.trim_ascii().len() > 2
        })
    };
    (1..(1 << changes) - 1)
        .filter(|made| (1..=changes).all(|change| made & (1 << (change - 1)) == 0 || shows(change)))
        .map(made_before)
        .collect()
}

/// The text with every escape of a JSON string decoded.
fn json_string(text: &[u8]) -> Option<Vec<u8>> {
    unescaped(text, |next| match next {
        b'"' | b'\\' | b'/' => Some(next),
        b'n' => Some(b'\n'),
        b't' => Some(b'\t'),
        b'r' => Some(b'\r'),
        _ => None,
    })
    .filter(|text| !text.contains(&b'\r'))
}

/// The text with `decode` applied to the byte after every backslash; `None` if one has no meaning.
fn unescaped(text: &[u8], decode: impl Fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let (mut out, mut bytes) = (Vec::with_capacity(text.len()), text.iter());
    while let Some(&byte) = bytes.next() {
        out.push(if byte == b'\\' { decode(*bytes.next()?)? } else { byte });
    }
    Some(out)
}

#[expect(clippy::unnecessary_wraps, reason = "a decoder")]
fn escaped_quotes(text: &[u8]) -> Option<Vec<u8>> {
    Some(replaced(text, &[(b"\\\"", b"\""), (b"\\'", b"'")]))
}

#[expect(clippy::unnecessary_wraps, reason = "a decoder")]
fn escaped_breaks(text: &[u8]) -> Option<Vec<u8>> {
    Some(replaced(text, &[(b"\\n", b"\n"), (b"\\t", b"\t")]))
}

#[expect(clippy::unnecessary_wraps, reason = "a decoder")]
fn double_backslashes(text: &[u8]) -> Option<Vec<u8>> {
    Some(replaced(text, &[(b"\\\\", b"\\")]))
}

#[expect(clippy::unnecessary_wraps, reason = "a decoder")]
fn entities(text: &[u8]) -> Option<Vec<u8>> {
    Some(replaced(text, &ENTITIES))
}

#[expect(clippy::unnecessary_wraps, reason = "a decoder")]
fn curly_quotes(text: &[u8]) -> Option<Vec<u8>> {
    Some(replaced(text, &CURLY_QUOTES))
}

/// The texts without white space at the ends of the old lines.
fn without_trailing_space(old: &[u8], new: &[u8]) -> Option<Reading> {
    let sent: Vec<&[u8]> = text::lines(old).map(content).collect();
    let bare =
        |line: &[u8]| [content(line).trim_ascii_end(), &line[content(line).len()..]].concat();
    let kept = |line: &[u8]| if sent.contains(&content(line)) { bare(line) } else { line.to_vec() };
    let reading = Reading {
        old: text::lines(old).flat_map(bare).collect(),
        new: text::lines(new).flat_map(kept).collect(),
        at: None,
    };
    (reading.old != old && !reading.old.trim_ascii().is_empty()).then_some(reading)
}

/// The character entities of HTML that are written for characters of code.
pub(super) const ENTITIES: [(&[u8], &[u8]); 6] = [
    (b"&lt;", b"<"),
    (b"&gt;", b">"),
    (b"&amp;", b"&"),
    (b"&quot;", b"\""),
    (b"&#39;", b"'"),
    (b"&apos;", b"'"),
];

pub(super) const CURLY_QUOTES: [(&[u8], &[u8]); 4] = [
    ("\u{2018}".as_bytes(), b"'"),
    ("\u{2019}".as_bytes(), b"'"),
    ("\u{201c}".as_bytes(), b"\""),
    ("\u{201d}".as_bytes(), b"\""),
];

/// The length of a space that is not of ASCII: models write a plain one for it.
pub(super) fn wide_space(text: &[u8]) -> Option<usize> {
    let is_space =
        |c: char| matches!(c, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}');
    let chunk = text.get(..text.len().min(3))?.utf8_chunks().next()?;
    chunk.valid().chars().next().filter(|c| is_space(*c)).map(char::len_utf8)
}

/// Every occurrence of the first text of a pair replaced by the second, from left to right.
fn replaced(text: &[u8], pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
    let (mut out, mut at) = (Vec::with_capacity(text.len()), 0);
    while at < text.len() {
        if let Some((from, to)) = pairs.iter().find(|(from, _)| text[at..].starts_with(from)) {
            out.extend_from_slice(to);
            at += from.len();
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

/// What programs print between the number of a line and the line, the longest first.
const SEPARATORS: [&str; 7] = [" | ", " │ ", "→", "\t", ": ", "|", ":"];

/// The texts without copied line numbers: consecutive ones on every line of the old text.
fn without_numbers(old: &[u8], new: &[u8]) -> Option<Reading> {
    SEPARATORS.iter().find_map(|separator| {
        let (mut stripped, mut first, mut count) = (Vec::new(), None, 0);
        for line in text::lines(old) {
            let (number, rest) = numbered(line, separator)?;
            if first.get_or_insert(number).checked_add(count) != Some(number) {
                return None;
            }
            count += 1;
            stripped.extend_from_slice(&rest);
        }
        let new = text::lines(new)
            .flat_map(|line| numbered(line, separator).map_or(line.to_vec(), |(_, rest)| rest))
            .collect();
        let at = first?.checked_sub(1)?;
        let at = (count == 1).then_some(at);
        (!stripped.trim_ascii().is_empty()).then_some(Reading { old: stripped, new, at })
    })
}

/// The number of a line, and the line after the separator, with its line ending.
fn numbered(line: &[u8], separator: &str) -> Option<(usize, Vec<u8>)> {
    let text = content(line);
    let from = text.len() - text.trim_ascii_start().len();
    let digits = text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[from..from + digits]).ok()?.parse().ok()?;
    let rest = line_anchor::without_digits(&text[from + digits..]);
    let separator = separator.as_bytes();
    let rest = rest
        .strip_prefix(separator)
        .or_else(|| (rest == separator.trim_ascii_end()).then_some(&[][..]))?;
    Some((number, [rest, &line[text.len()..]].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(old: &str, new: &str) -> Vec<(String, String)> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        readings(b"", old.as_bytes(), new.as_bytes())
            .unwrap_or_default()
            .into_iter()
            .map(|reading| (text(reading.old), text(reading.new)))
            .collect()
    }

    #[test]
    fn a_text_without_marks_has_no_other_reading() {
        assert_eq!(read("a = b + c\n", "a = \"&lt;\"\n"), []);
    }

    #[test]
    fn escapes_are_undone_in_both_texts() {
        assert_eq!(
            read(r#"say(\"a\")\nx"#, r#"say(\"b\")\nx"#)[0],
            ("say(\"a\")\nx".to_owned(), "say(\"b\")\nx".to_owned())
        );
        assert_eq!(read(r#"\d\""#, "x"), [(r#"\d""#.to_owned(), "x".to_owned())]);
        assert_eq!(read("a &lt; b", "a &amp;lt; b"), [("a < b".into(), "a &lt; b".into())]);
        assert_eq!(read("it\u{2019}s", "x"), [("it's".into(), "x".into())]);
    }

    #[test]
    fn some_of_several_changes_may_have_been_made() {
        let olds: Vec<Vec<u8>> = partly_made(b"aaa\nb\nc\n", b"AAA\nb\nCCC\n")
            .into_iter()
            .map(|reading| reading.old)
            .collect();
        assert_eq!(olds, [&b"AAA\nb\nc\n"[..], b"aaa\nb\nCCC\n"]);
        assert_eq!(partly_made(b"aaa\nb\nc\n", b"b\n"), []);
        assert_eq!(partly_made(b"a\n", b"b\n"), []);
    }

    #[test]
    fn consecutive_line_numbers_are_removed() {
        assert_eq!(
            read("  9\ta\n 10\t\tb\n", "  9\ta\n\tc\n"),
            [("a\n\tb\n".into(), "a\n\tc\n".into())]
        );
        assert_eq!(read("1 | a\n2 |\n", "1 | b\n"), [("a\n\n".into(), "b\n".into())]);
        assert_eq!(read("1: a\n3: b\n", ""), []);
        assert_eq!(readings(b"", b"80: a\n", b"81: a\n").unwrap()[0].at, Some(79));
    }
}
