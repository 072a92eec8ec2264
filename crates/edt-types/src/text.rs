//! Bytes as lines: line ends, counts, positions and display.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use crate::unseen::{disguised_letters, is_invisible, shapes_neighbours};

/// The UTF-8 byte-order mark.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

/// The line ends of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endings {
    /// No line end at all.
    None,
    /// Every line ends in LF.
    Lf,
    /// Every line ends in CR LF.
    Crlf,
    /// Both kinds occur.
    Mixed,
}

impl Endings {
    /// The line ends of `text`; [`Endings::None`] for binary content, so that its bytes are never
    /// converted.
    #[must_use]
    pub fn of(text: &[u8]) -> Endings {
        if is_binary(text) { Endings::None } else { Endings::detect_in(text) }
    }

    /// The line ends that occur in `text`, binary or not. For display only, not for conversion.
    #[must_use]
    pub fn detect_in(text: &[u8]) -> Endings {
        if memchr::memchr(b'\r', text).is_none() {
            return if memchr::memchr(b'\n', text).is_some() { Endings::Lf } else { Endings::None };
        }
        let (mut lf, mut crlf) = (false, false);
        for at in memchr::memchr_iter(b'\n', text) {
            if at > 0 && text[at - 1] == b'\r' {
                crlf = true;
            } else {
                lf = true;
            }
            if lf && crlf {
                return Endings::Mixed;
            }
        }
        match (lf, crlf) {
            (false, false) => Endings::None,
            (true, false) => Endings::Lf,
            (false, true) => Endings::Crlf,
            (true, true) => Endings::Mixed,
        }
    }

    /// Converts `text` to these line ends. [`Endings::None`] and [`Endings::Mixed`] name no single
    /// line end and change nothing.
    #[must_use]
    pub fn convert(self, text: &[u8]) -> Vec<u8> {
        match self {
            Endings::None | Endings::Mixed => text.to_vec(),
            Endings::Lf | Endings::Crlf if is_binary(text) => text.to_vec(),
            Endings::Lf => to_lf(text),
            Endings::Crlf => {
                let lf = to_lf(text);
                let mut out = Vec::with_capacity(lf.len() + lf.len() / 32);
                for line in lf.split_inclusive(|&b| b == b'\n') {
                    match line.strip_suffix(b"\n") {
                        Some(rest) => {
                            out.extend_from_slice(rest);
                            out.extend_from_slice(b"\r\n");
                        }
                        None => out.extend_from_slice(line),
                    }
                }
                out
            }
        }
    }
}

/// Whether `text` has a NUL byte or is not valid UTF-8.
#[must_use]
pub fn is_binary(text: &[u8]) -> bool {
    memchr::memchr(0, text).is_some() || std::str::from_utf8(text).is_err()
}

/// Converts every CR LF to LF. A CR without LF is kept.
#[must_use]
pub fn to_lf(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in memchr::memmem::find_iter(text, b"\r\n") {
        out.extend_from_slice(&text[from..at]);
        from = at + 1;
    }
    out.extend_from_slice(&text[from..]);
    out
}

/// The number of lines. A last line without a line end counts.
#[must_use]
pub fn line_count(text: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', text).count() as u64;
    ends + u64::from(!text.is_empty() && !text.ends_with(b"\n"))
}

/// The 1-based number of the line that contains byte `at`.
#[must_use]
pub fn line_of(text: &[u8], at: usize) -> u64 {
    memchr::memchr_iter(b'\n', &text[..at.min(text.len())]).count() as u64 + 1
}

/// The lines of `text`, each with its line end.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut from = 0;
    let ends = memchr::memchr_iter(b'\n', text).map(|end| end + 1);
    // Bytes after the last line end are a line of their own.
    let last = Some(text.len()).filter(|_| !text.is_empty() && !text.ends_with(b"\n"));
    ends.chain(last).map(move |end| &text[std::mem::replace(&mut from, end)..end])
}

/// A line with visible white space, for display. It is cut at 200 characters, with a note of the
/// cut.
#[must_use]
pub fn visible(line: &[u8]) -> String {
    const MAX: usize = 200;
    let text = String::from_utf8_lossy(line);
    let body = text.strip_suffix('\n').unwrap_or(&text);
    let disguised = disguised_letters(body);
    let mut out = String::new();
    for (at, c) in body.char_indices().take(MAX) {
        match c {
            ' ' => out.push('·'),
            '\t' => out.push('→'),
            '\r' => out.push('␍'),
            '\u{a0}' => out.push('⍽'),
            c if is_invisible(c) || disguised.binary_search(&at).is_ok() => {
                push_escaped(&mut out, c);
            }
            c => out.push(c),
        }
    }
    out + &cut_note(body, MAX)
}

/// The first `max` characters of a line, with a note of the cut if there are more.
#[must_use]
pub fn cut(line: &str, max: usize) -> String {
    let end = line.char_indices().nth(max).map_or(line.len(), |(at, _)| at);
    format!("{}{}", &line[..end], cut_note(line, max))
}

/// The note of a cut after `max` characters; empty if nothing is cut.
fn cut_note(line: &str, max: usize) -> String {
    // A character has at least one byte.
    if line.len() <= max {
        return String::new();
    }
    match line.chars().count() {
        all if all > max => format!("… (cut at {max} of {all} characters)"),
        _ => String::new(),
    }
}

fn push_escaped(out: &mut String, c: char) {
    let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
}

/// Quotes a word for a shell: unchanged, in single quotes, or as `$'…'` for bytes that are not
/// printable text, so that nothing in it is invisible.
#[must_use]
pub fn shell_word(bytes: &[u8]) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"._-/+,%@:".contains(b);
    let escaped = |byte: &u8| match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
        b'\n' => r"\n".to_owned(),
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.is_empty() && bytes.iter().all(plain) => text.to_owned(),
        Ok(text) if !has_unexpected(text) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        _ => format!("$'{}'", bytes.iter().map(escaped).collect::<String>()),
    }
}

/// A name or path of somebody else in a sentence.
pub trait Shown {
    /// The text on one line: line ends and other controls become `\u{…}`, so that a name forges no
    /// line of an answer. Where the sentence is rendered, [`escape_controls`] does the rest.
    #[must_use]
    fn shown(&self) -> String;
}

impl Shown for str {
    fn shown(&self) -> String {
        let mut out = String::with_capacity(self.len());
        for c in self.chars() {
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                push_escaped(&mut out, c);
            } else {
                out.push(c);
            }
        }
        out
    }
}

impl Shown for OsStr {
    fn shown(&self) -> String {
        self.to_string_lossy().shown()
    }
}

impl Shown for Path {
    fn shown(&self) -> String {
        self.as_os_str().shown()
    }
}

/// Escapes a line, given without its line end, for users: what is shown is what is there. Tabs are
/// kept. Invisible characters, and letters in Latin words that only look Latin, become `\u{…}`.
/// Returns the text and the number of escaped characters.
#[must_use]
pub fn escape_controls(line: &str) -> (String, usize) {
    let disguised = disguised_letters(line);
    escaped(line, |at, c| is_invisible(c) || disguised.binary_search(&at).is_ok())
}

/// As [`escape_controls`] for a text that is copied back: invisible characters that shape their
/// neighbours, as in an emoji, and every letter are kept.
#[must_use]
pub fn escape_unexpected(line: &str) -> (String, usize) {
    escaped(line, |at, c| is_invisible(c) && !shapes_neighbours(line, at, c))
}

/// [`escape_controls`] of each line.
#[must_use]
pub fn escape_lines(text: &str) -> String {
    text.split('\n').map(|line| escape_controls(line).0).collect::<Vec<_>>().join("\n")
}

/// Serializes a text for users, with [`escape_lines`], for `#[serde(serialize_with)]`.
///
/// # Errors
/// The serializer's error.
pub fn for_users<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&escape_lines(text))
}

/// As [`for_users`], for a text that may be missing.
///
/// # Errors
/// The serializer's error.
pub fn optional_for_users<S: serde::Serializer>(
    text: &Option<String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&text.as_deref().map(escape_lines), serializer)
}

fn escaped(line: &str, hides: impl Fn(usize, char) -> bool) -> (String, usize) {
    let mut out = String::with_capacity(line.len());
    let mut changed = 0;
    for (at, c) in line.char_indices() {
        if c != '\t' && hides(at, c) {
            push_escaped(&mut out, c);
            changed += 1;
        } else {
            out.push(c);
        }
    }
    (out, changed)
}

/// Whether `text` has an invisible character that shapes none of its neighbours.
fn has_unexpected(text: &str) -> bool {
    text.char_indices().any(|(at, c)| is_invisible(c) && !shapes_neighbours(text, at, c))
}

/// The lines `range` (0-based, end excluded) of `text`, with `context` lines of context on both
/// sides, numbered. Long lines and long ranges are cut, with a note of the cut.
#[must_use]
pub fn numbered(text: &[u8], range: Range<usize>, context: usize) -> String {
    const MAX_LINES: usize = 60;
    const MAX_CHARS: usize = 400;
    let total = usize::try_from(line_count(text)).unwrap_or(usize::MAX);
    let first = range.start.saturating_sub(context).min(total);
    let last = range.end.saturating_add(context).min(total);
    let width = last.to_string().len();
    let mut out = String::new();
    for (i, line) in lines(text).enumerate().skip(first).take((last - first).min(MAX_LINES)) {
        let shown = String::from_utf8_lossy(line);
        let shown = shown.trim_end_matches(['\n', '\r']);
        let _ = writeln!(out, "{:>width$} | {}", i + 1, cut(shown, MAX_CHARS));
    }
    if last - first > MAX_LINES {
        let _ = writeln!(out, "… (cut at {MAX_LINES} of {} lines)", last - first);
    }
    out
}

/// `count` with its noun: `1 file`, `2 files`. The plural of `noun` is `noun` with an `s`.
#[must_use]
pub fn counted<N: std::fmt::Display + Copy + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let end = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// What stands for the mode of a file among its lines.
pub const MODE: &str = "mode";

/// Lines such as `7` and `7-9`, and [`MODE`], as words: `line 7`, `lines 7-9, 12 and the mode`. Empty
/// without any.
#[must_use]
pub fn places(places: &[String]) -> String {
    let lines: Vec<&str> = places.iter().map(String::as_str).filter(|one| *one != MODE).collect();
    let shown = match lines.as_slice() {
        [] => String::new(),
        [one] if !one.contains('-') => format!("line {one}"),
        many => format!("lines {}", many.join(", ")),
    };
    match (lines.len() < places.len(), shown.as_str()) {
        (false, _) => shown,
        (true, "") => "the mode".to_owned(),
        (true, _) => format!("{shown} and the mode"),
    }
}

/// The numbers of edits as words: `edit 3`, `edits 3, 5`.
#[must_use]
pub fn edits(numbers: &[u64]) -> String {
    let all: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("edit{} {}", if all.len() == 1 { "" } else { "s" }, all.join(", "))
}

/// Deserializes a string as an `OsString`, for `#[serde(deserialize_with)]`.
///
/// # Errors
/// The deserializer's error if the value is not a string.
pub fn os_string<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<std::ffi::OsString, D::Error> {
    <String as serde::Deserialize>::deserialize(deserializer).map(Into::into)
}

/// As [`os_string`], for a value that may be null.
///
/// # Errors
/// The deserializer's error if the value is neither null nor a string.
pub fn optional_os_string<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<std::ffi::OsString>, D::Error> {
    let text = <Option<String> as serde::Deserialize>::deserialize(deserializer)?;
    Ok(text.map(Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_a_mode_are_words() {
        let shown = |all: &[&str]| {
            places(&all.iter().map(|one| (*one).to_owned()).collect::<Vec<String>>())
        };
        let cases = [&[][..], &["3"], &["3-4"], &["3", "7-9"], &["mode"], &["3", "mode"]];
        let wanted = ["", "line 3", "lines 3-4", "lines 3, 7-9", "the mode", "line 3 and the mode"];
        assert_eq!(cases.map(shown), wanted);
        assert_eq!([edits(&[3]), edits(&[3, 5])], ["edit 3", "edits 3, 5"]);
    }

    #[test]
    fn a_name_is_shown_on_one_line() {
        let name = "a\nnext: b\r\u{85}\u{2028}\u{1b}\tc";
        assert_eq!(name.shown(), "a\\u{a}next: b\\u{d}\\u{85}\\u{2028}\\u{1b}\\u{9}c");
        assert_eq!(Path::new("ä b/p\u{430}y").shown(), "ä b/p\u{430}y");
    }

    #[test]
    fn endings_are_detected_and_converted() {
        assert_eq!(Endings::of(b"a"), Endings::None);
        assert_eq!(Endings::of(b"a\nb\n"), Endings::Lf);
        assert_eq!(Endings::of(b"a\r\nb\r\n"), Endings::Crlf);
        assert_eq!(Endings::of(b"a\r\nb\n"), Endings::Mixed);
        assert_eq!(Endings::Crlf.convert(b"a\nb\r\nc"), b"a\r\nb\r\nc");
        assert_eq!(Endings::Lf.convert(b"a\r\nb\rc"), b"a\nb\rc");
    }

    #[test]
    fn a_last_line_without_an_end_counts() {
        assert_eq!(line_count(b""), 0);
        assert_eq!(line_count(b"a\nb"), 2);
        assert_eq!(line_count(b"a\nb\n"), 2);
        assert_eq!(line_of(b"a\nb\n", 2), 2);
    }

    #[test]
    fn only_one_thing_is_counted_in_the_singular() {
        let shown = [0_u64, 1, 2].map(|count| counted(count, "file"));
        assert_eq!(shown, ["0 files", "1 file", "2 files"]);
    }

    #[test]
    fn numbered_text_includes_its_context() {
        assert_eq!(numbered(b"a\nb\nc\nd\n", 1..2, 1), "1 | a\n2 | b\n3 | c\n");
        assert_eq!(numbered(b"", 0..0, 3), "");
    }

    #[test]
    fn control_characters_are_escaped_for_a_terminal() {
        let line = "\ta\u{1b}[31m\u{7}\r b\u{202e}c\u{9b}\u{feff}é\u{200d}";
        let shown = "\ta\\u{1b}[31m\\u{7}\\u{d} b\\u{202e}c\\u{9b}\\u{feff}é\\u{200d}";
        assert_eq!(escape_controls(line), (shown.to_owned(), 7));
    }

    #[test]
    fn users_see_every_invisible_character_and_disguised_letter() {
        let line = "r\u{3164}=1 \u{e0041}👩\u{200d}💻 p\u{430}ypal";
        let shown = "r\\u{3164}=1 \\u{e0041}👩\\u{200d}💻 p\\u{430}ypal";
        assert_eq!(escape_controls(line), (shown.to_owned(), 4));
        assert_eq!(visible(line.as_bytes()), shown.replace(' ', "·"));
    }

    #[test]
    fn a_text_to_copy_keeps_what_its_writing_needs() {
        let line = "👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم p\u{430}ypal";
        assert_eq!(escape_unexpected(line), (line.to_owned(), 0));
        assert_eq!(escape_unexpected("a\u{200d}"), ("a\\u{200d}".to_owned(), 1));
    }

    #[test]
    fn a_cut_line_says_so_with_its_length() {
        assert_eq!(
            (cut("äöü", 3), cut("äöü", 2)),
            ("äöü".to_owned(), "äö… (cut at 2 of 3 characters)".to_owned())
        );
        let long = "x".repeat(201);
        assert!(visible(long.as_bytes()).ends_with("x… (cut at 200 of 201 characters)"));
    }

    #[test]
    fn a_shell_word_hides_nothing() {
        assert_eq!(shell_word("a\u{200b}".as_bytes()), r"$'a\xe2\x80\x8b'");
        assert_eq!(shell_word("❤\u{fe0f}".as_bytes()), "'❤\u{fe0f}'");
    }

    #[test]
    fn line_ends_are_detected_in_binary_content() {
        assert_eq!(
            (Endings::of(b"\xff\r\n"), Endings::detect_in(b"\xff\r\n")),
            (Endings::None, Endings::Crlf)
        );
    }

    #[test]
    fn white_space_becomes_visible() {
        assert_eq!(visible(b"\ta b\r\n"), "→a·b␍");
    }
}
