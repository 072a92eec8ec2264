//! Noise: what the lines of a file get on their way through a model. Each kind of [`KINDS`] is
//! stripped only if the old lines have it, and from the new lines that have it, too.

use std::collections::{BTreeMap, BTreeSet};

use unicode_normalization::UnicodeNormalization as _;

use super::format;
use super::line_anchor;

/// A line that was sent, without its line ending.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentLine<'t> {
    /// Whether it must be in the file.
    pub(super) is_old: bool,
    pub(super) text: &'t [u8],
}

/// Where the old lines must be, so that what was stripped from them is noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    Anywhere,
    /// At the beginning of a line.
    LineStart,
    /// At this line (0-based): only its number shows that the text has numbers.
    Line(usize),
}

/// The sent lines without one kind of noise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stripped {
    /// `None` for a line that is nothing but noise. A decoded escape may be a break inside a line.
    pub(super) lines: Vec<Option<Vec<u8>>>,
    pub(super) place: Where,
}

/// The lines without a kind of noise, in each way in which they may have it.
type Kind = fn(&[SentLine<'_>]) -> Vec<(Vec<Vec<u8>>, Where)>;

const KINDS: &[Kind] = &[
    numbers,
    markers,
    trailing_space,
    |lines| decoded(lines, json_string),
    |lines| decoded(lines, |text| Some(replaced(text, &[(b"\\\"", b"\""), (b"\\'", b"'")]))),
    |lines| decoded(lines, |text| Some(replaced(text, &[(b"\\n", b"\n"), (b"\\t", b"\t")]))),
    |lines| decoded(lines, |text| Some(replaced(text, &[(b"\\\\", b"\\")]))),
    |lines| copied(lines, |text| Some(replaced(text, &ENTITIES))),
    |lines| copied(lines, |text| Some(replaced(text, &SIGNS))),
    |lines| copied(lines, plain_spaces),
    |lines| copied(lines, |text| in_form(text, |text| text.nfc().collect())),
    |lines| copied(lines, |text| in_form(text, |text| text.nfd().collect())),
];

/// The lines without each kind of noise that they have. A fence around them never stays.
pub(super) fn stripped(lines: &[SentLine<'_>]) -> Vec<Stripped> {
    let fences = fences(lines);
    let is_fence = |at: usize| fences.contains(&at);
    let inner: Vec<SentLine<'_>> =
        (0..lines.len()).filter(|&at| !is_fence(at)).map(|at| lines[at]).collect();
    let bare = || (inner.iter().map(|line| line.text.to_vec()).collect(), Where::LineStart);
    let fenced = (!fences.is_empty()).then(bare);
    let mut all: Vec<Stripped> = Vec::new();
    for (texts, place) in fenced.into_iter().chain(KINDS.iter().flat_map(|kind| kind(&inner))) {
        let mut old = inner.iter().zip(&texts).filter(|(line, _)| line.is_old);
        if old.all(|(_, text)| text.trim_ascii().is_empty()) {
            continue;
        }
        let mut texts = texts.into_iter();
        let lines = (0..lines.len()).map(|at| if is_fence(at) { None } else { texts.next() });
        let one = Stripped { lines: lines.collect(), place };
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// The first and the last line of the old text, if they are a Markdown fence; those of the new text
/// if they are one, too.
fn fences(lines: &[SentLine<'_>]) -> Vec<usize> {
    let of = |is_old: bool| {
        let mut own = (0..lines.len()).filter(|&at| lines[at].is_old == is_old);
        let ends = own.next().zip(own.next_back());
        ends.filter(|(first, last)| format::is_fence(lines[*first].text, lines[*last].text))
    };
    let old = of(true);
    old.into_iter()
        .chain(of(false).filter(|_| old.is_some()))
        .flat_map(<[usize; 2]>::from)
        .collect()
}

/// The lines with `decode` applied to each; none if one cannot be decoded, or no old one changes.
fn decoded(
    lines: &[SentLine<'_>],
    decode: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Vec<(Vec<Vec<u8>>, Where)> {
    let texts: Option<Vec<Vec<u8>>> = lines.iter().map(|line| decode(line.text)).collect();
    let differs = |texts: &Vec<Vec<u8>>| {
        lines.iter().zip(texts).any(|(line, text)| line.is_old && line.text != text)
    };
    texts.filter(differs).map(|texts| (texts, Where::Anywhere)).into_iter().collect()
}

/// As [`decoded`], for characters that a text may also have on purpose: none if the new lines lose
/// more of one than the old ones, unless the text has each of them in one form alone. Wide spaces do
/// not count.
fn copied(
    lines: &[SentLine<'_>],
    decode: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Vec<(Vec<Vec<u8>>, Where)> {
    let mut found = decoded(lines, decode);
    found.retain(|(texts, _)| {
        // How often each character is lost, and in which lines it comes.
        let (mut lost, mut made): (BTreeMap<char, [isize; 2]>, _) =
            (BTreeMap::new(), BTreeSet::new());
        for (line, text) in lines.iter().zip(texts) {
            let [sent, read] = [line.text, text.as_slice()].map(String::from_utf8_lossy);
            let mut own: BTreeMap<char, isize> = BTreeMap::new();
            sent.chars().for_each(|c| *own.entry(c).or_default() += 1);
            read.chars().for_each(|c| *own.entry(c).or_default() -= 1);
            for (c, count) in own {
                if count > 0 && wide_space(c.encode_utf8(&mut [0; 4]).as_bytes()).is_none() {
                    lost.entry(c).or_default()[usize::from(line.is_old)] += count;
                } else if count < 0 {
                    made.insert(c);
                }
            }
        }
        let is_mixed = || {
            let mut sent = lines.iter().flat_map(|line| line.text.utf8_chunks());
            sent.any(|chunk| chunk.valid().chars().any(|c| made.contains(&c)))
        };
        lost.values().all(|[new, old]| new <= old) || !is_mixed()
    });
    found
}

/// A line with every escape of a JSON string decoded; `None` if one has no meaning.
fn json_string(text: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut bytes) = (Vec::with_capacity(text.len()), text.iter());
    while let Some(&byte) = bytes.next() {
        out.push(match (byte, if byte == b'\\' { *bytes.next()? } else { 0 }) {
            (b'\\', b'n') => b'\n',
            (b'\\', b't') => b'\t',
            (b'\\', next @ (b'"' | b'\\' | b'/')) => next,
            (b'\\', _) => return None,
            _ => byte,
        });
    }
    Some(out)
}

/// A line with plain spaces, and without characters that have no width.
#[expect(clippy::unnecessary_wraps, reason = "a decoder")]
fn plain_spaces(text: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut at) = (Vec::with_capacity(text.len()), 0);
    while at < text.len() {
        if let Some(len) = wide_space(&text[at..]) {
            out.push(b' ');
            at += len;
        } else if let Some(mark) = NO_WIDTH.iter().find(|mark| text[at..].starts_with(mark)) {
            at += mark.len();
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    Some(out)
}

/// A line in one of Unicode's forms; `None` if it is no text.
fn in_form(text: &[u8], form: impl Fn(&str) -> String) -> Option<Vec<u8>> {
    Some(form(std::str::from_utf8(text).ok()?).into_bytes())
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

/// Typographic signs that are written for those of ASCII.
pub(super) const SIGNS: [(&[u8], &[u8]); 8] = [
    ("\u{2018}".as_bytes(), b"'"),
    ("\u{2019}".as_bytes(), b"'"),
    ("\u{201c}".as_bytes(), b"\""),
    ("\u{201d}".as_bytes(), b"\""),
    ("\u{2010}".as_bytes(), b"-"),
    ("\u{2011}".as_bytes(), b"-"),
    ("\u{2013}".as_bytes(), b"-"),
    ("\u{2212}".as_bytes(), b"-"),
];

const NO_WIDTH: [&[u8]; 3] = ["\u{200b}".as_bytes(), "\u{2060}".as_bytes(), "\u{feff}".as_bytes()];

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

/// The lines without white space at the ends of the old ones, and of the new ones that copy them.
fn trailing_space(lines: &[SentLine<'_>]) -> Vec<(Vec<Vec<u8>>, Where)> {
    let is_copy = |text: &[u8]| lines.iter().any(|line| line.is_old && line.text == text);
    let bare = |line: &SentLine<'_>| {
        let text = if is_copy(line.text) { line.text.trim_ascii_end() } else { line.text };
        text.to_vec()
    };
    let texts: Vec<Vec<u8>> = lines.iter().map(bare).collect();
    let differs = lines.iter().zip(&texts).any(|(line, text)| line.text != text);
    Vec::from_iter(differs.then_some((texts, Where::Anywhere)))
}

/// The lines without the markers of a diff: `-` or `+` before old lines or `+` before new ones, and
/// a space before the others; or none before any new one.
fn markers(lines: &[SentLine<'_>]) -> Vec<(Vec<Vec<u8>>, Where)> {
    let marked = |line: &SentLine<'_>, mark: u8| line.text.first() == Some(&mark);
    let fits = |line: &SentLine<'_>, mark: u8| {
        marked(line, mark) || marked(line, b' ') || line.text.is_empty()
    };
    let old = || lines.iter().filter(|line| line.is_old);
    let new = || lines.iter().filter(|line| !line.is_old);
    let is_marked = new().any(|line| marked(line, b'+'));
    let is_diff = |mark: u8| {
        old().all(|line| fits(line, mark)) && (is_marked || old().any(|line| marked(line, mark)))
    };
    let new_fits = if is_marked {
        new().all(|line| fits(line, b'+'))
    } else {
        // A mark that the new lines keep is part of the text.
        !new().any(|line| marked(line, b'-'))
    };
    if !(new_fits && [b'-', b'+'].into_iter().any(is_diff)) {
        return Vec::new();
    }
    let is_context = |new: &SentLine<'_>| old().any(|line| line.text == new.text);
    let strips_new = is_marked || new().all(is_context);
    let strip = |line: &SentLine<'_>| {
        line.text.get(usize::from(line.is_old || strips_new)..).unwrap_or_default().to_vec()
    };
    vec![(lines.iter().map(strip).collect(), Where::LineStart)]
}

/// What programs print between the number of a line and the line; the first that fits is it.
const SEPARATORS: [&str; 13] =
    [" | ", " │ ", " |", "│", "→", "\t", ": ", "|", ":", "] ", ". ", "  ", " "];

/// The lines without copied line numbers: consecutive ones on all old lines.
fn numbers(lines: &[SentLine<'_>]) -> Vec<(Vec<Vec<u8>>, Where)> {
    SEPARATORS.iter().find_map(|separator| numbered(lines, separator)).into_iter().collect()
}

fn numbered(lines: &[SentLine<'_>], separator: &str) -> Option<(Vec<Vec<u8>>, Where)> {
    let mut old = lines.iter().filter(|line| line.is_old).map(|line| number(line.text, separator));
    let (first, _) = old.next()??;
    let mut last = first;
    for line in old {
        last =
            last.checked_add(1).filter(|next| line.is_some_and(|(number, _)| number == *next))?;
    }
    let end = last.checked_add(lines.len())?;
    let strip = |line: &SentLine<'_>| match number(line.text, separator) {
        Some((number, rest)) if line.is_old || (first..=end).contains(&number) => rest.to_vec(),
        _ => line.text.to_vec(),
    };
    let place = if first == last { Where::Line(first.checked_sub(1)?) } else { Where::LineStart };
    Some((lines.iter().map(strip).collect(), place))
}

/// The number of a line, and the line after the separator.
fn number<'t>(line: &'t [u8], separator: &str) -> Option<(usize, &'t [u8])> {
    let text = line.trim_ascii_start();
    let text = [&b"Line "[..], b"line ", b"L", b"["]
        .into_iter()
        .find_map(|word| text.strip_prefix(word))
        .unwrap_or(text);
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    let rest = line_anchor::without_digits(&text[digits..]);
    let separator = separator.as_bytes();
    let rest = rest
        .strip_prefix(separator)
        .or_else(|| (rest == separator.trim_ascii_end()).then_some(&[][..]))?;
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The old and the new text without each kind of noise, and where the old one must be.
    fn read(old: &str, new: &str) -> Vec<(String, String, Where)> {
        let sent = |is_old: bool| move |text| SentLine { is_old, text };
        let lines = |text: &'static str| text.lines().map(str::as_bytes);
        let (old, new) = (old.to_owned().leak(), new.to_owned().leak());
        let all: Vec<SentLine<'_>> =
            lines(old).map(sent(true)).chain(lines(new).map(sent(false))).collect();
        let join = |lines: &[Option<Vec<u8>>]| {
            let texts: Vec<String> = lines
                .iter()
                .flatten()
                .map(|line| String::from_utf8(line.clone()).unwrap())
                .collect();
            texts.join("\n")
        };
        let count = old.lines().count();
        let both =
            |one: Stripped| (join(&one.lines[..count]), join(&one.lines[count..]), one.place);
        stripped(&all).into_iter().map(both).collect()
    }

    #[track_caller]
    fn reads(old: &str, new: &str, expected: (&str, &str)) {
        let all = read(old, new);
        let found = all.iter().any(|(old, new, _)| (old.as_str(), new.as_str()) == expected);
        assert!(found, "{all:?}");
    }

    #[test]
    fn lines_without_noise_have_none() {
        assert_eq!(read("a = b + c\nd", "a = \"&lt;\" \n- 1"), []);
    }

    #[test]
    fn a_fence_around_the_text_is_none_of_its_lines() {
        reads("```c\na\n```", "```c\nb\n```", ("a", "b"));
        reads("```\n3 | a\n4 | b\n```", "b", ("a\nb", "b"));
        assert_eq!(read("```\na", "b"), []);
    }

    #[test]
    fn markers_of_a_diff_are_stripped_from_all_lines_or_none() {
        reads("-a\n b", "+c\n b", ("a\nb", "c\nb"));
        reads("+a\n b", "+a\n+c\n b", ("a\nb", "a\nc\nb"));
        reads("-  a\n  b", "  b", ("  a\n b", " b"));
        reads(" a", " a\n+b", ("a", "a\nb"));
        reads("-a", "c", ("a", "c"));
        assert_eq!(read("-a\nb", "+c\nb"), []);
        assert_eq!(read("-a\n b", "+c\nb"), []);
        assert_eq!(read("-a", "+c")[0].2, Where::LineStart);
    }

    #[test]
    fn consecutive_line_numbers_are_stripped() {
        reads("  9\ta\n 10\t\tb", "  9\ta\n\tc", ("a\n\tb", "a\n\tc"));
        reads("1 | a\n2 |", "1 | b", ("a\n", "b"));
        reads("L12: a\nL13:", "L12: b", ("a\n", "b"));
        reads("12:abcdef0123 | a\n13:abcdef0123 | b", "", ("a\nb", ""));
        reads("[8] a\n[9] b", "7 c", ("a\nb", "7 c"));
        assert_eq!(read("1: a\n3: b", ""), []);
        assert!(read("80: a", "81: a").iter().all(|(.., place)| *place == Where::Line(79)));
        // It is a part of the new line.
        reads("1 a\n2 b", "500 c", ("a\nb", "500 c"));
    }

    #[test]
    fn other_ways_to_write_a_character_are_undone_in_both_texts() {
        reads(r#"say(\"a\")\nx"#, r#"say(\"b\")\nx"#, ("say(\"a\")\nx", "say(\"b\")\nx"));
        reads(r#"\d\""#, "x", (r#"\d""#, "x"));
        reads("a &lt; b", "a &amp;lt; b", ("a < b", "a &lt; b"));
        reads("it\u{2019}s", "x\u{2013}y", ("it's", "x-y"));
        reads("a\u{a0}b\u{200b}", "\u{3000}c", ("a b", " c"));
        reads("\u{e9}", "\u{e8}", ("e\u{301}", "e\u{300}"));
        reads("e\u{301}", "\u{e8}", ("\u{e9}", "\u{e8}"));
    }
}
