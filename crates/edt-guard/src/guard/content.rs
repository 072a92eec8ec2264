//! A text file must stay text: without NUL bytes, valid UTF-8, and without what a wrong decoding
//! leaves. A file that is not text already may be edited as bytes.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use edt_types::text::{line_of, visible};
use edt_types::{Code, Finding};

/// The guard `binary_content`.
#[derive(Debug)]
pub struct BinaryContent;

/// The guard `encoding`.
#[derive(Debug)]
pub struct Encoding;

impl Guard for BinaryContent {
    fn name(&self) -> &'static str {
        "binary_content"
    }

    fn rule(&self) -> &'static str {
        "A text file would get NUL bytes."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        let found = first_new(file, |text| memchr::memchr(0, text)).map(|at| {
            let line = line_of(file.after.unwrap_or_default(), at);
            Finding::new(
                Code::BinaryContent,
                format!("This would put a NUL byte into {} at line {line}.", file.path),
                "Send text.",
            )
            .nothing_changed()
            .or_override("If the file really is binary, repeat with allow: [\"binary_content\"].")
            .at(file.path)
            .with("line", line)
            .with("byte", at)
        });
        GuardOutput::of(self.name(), found)
    }
}

impl Guard for Encoding {
    fn name(&self) -> &'static str {
        "encoding"
    }

    fn rule(&self) -> &'static str {
        "A file that is valid UTF-8, or a new one, would hold bytes that are not. Or added lines \
         have what a wrong decoding leaves, and the file had none: the character U+FFFD, or pairs \
         such as \u{c3}\u{a9} in place of one letter. In a new file this is a warning. Or added \
         lines are UTF-8 with other characters than ASCII, and the file has another encoding."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        let invalid =
            |text: &[u8]| std::str::from_utf8(text).err().map(|error| error.valid_up_to());
        let found = first_new(file, invalid).map(|at| {
            let line = line_of(file.after.unwrap_or_default(), at);
            Finding::new(
                Code::Encoding,
                format!("{} would not be valid UTF-8 at line {line}.", file.path),
                "Send UTF-8.",
            )
            .nothing_changed()
            .or_override(
                "If the file really has another encoding, repeat with allow: [\"encoding\"].",
            )
            .at(file.path)
            .with("line", line)
            .with("byte", at)
        });
        if let Some(row) = mixes(file) {
            return GuardOutput::of(self.name(), Some(mixed(file, row)));
        }
        match decoded_wrongly(file).filter(|_| found.is_none()) {
            // A new file may be a test of such text.
            Some((row, damage)) if file.before.is_none() => {
                let message = explain(file, row, damage).summary;
                vec![GuardOutput::Noted { word: self.name(), message }]
            }
            Some((row, damage)) => GuardOutput::of(self.name(), Some(explain(file, row, damage))),
            None => GuardOutput::of(self.name(), found),
        }
    }
}

/// The first fresh line of UTF-8 in a file of another encoding, which would then have two.
#[must_use]
pub fn mixes(subject: &Subject<'_>) -> Option<usize> {
    let (before, after) = (subject.before?, subject.after?);
    if std::str::from_utf8(before).is_ok() || std::str::from_utf8(after).is_ok() {
        return None;
    }
    let wide = [&b"\xff\xfe"[..], b"\xfe\xff"].iter().any(|mark| before.starts_with(mark));
    // UTF-16 has NUL bytes in plain text, too.
    let utf_8 = |line: &[u8]| match std::str::from_utf8(line) {
        Ok(line) if wide => {
            let line = line.trim_start_matches('\0').trim_end();
            !line.contains('\0') && line.len() > 1
        }
        Ok(line) => !line.is_ascii(),
        Err(_) => false,
    };
    // A file of UTF-8 may have a few other bytes, and a line of another encoding may look like UTF-8.
    let lines = &subject.lines().texts().0;
    let others = lines.iter().filter(|line| std::str::from_utf8(line).is_err()).count();
    let is_other = wide || others > lines.iter().filter(|line| utf_8(line)).count();
    let fresh = || subject.fresh_lines().find(|(_, line)| utf_8(line));
    is_other.then(fresh)?.map(|(row, _)| row)
}

fn mixed(file: &Subject<'_>, row: usize) -> Finding {
    let (line, path) = (row + 1, file.path);
    let text = file.lines().texts().1.get(row).copied().unwrap_or_default();
    Finding::new(
        Code::Encoding,
        format!(
            "{path} is not UTF-8, and line {line} would be: \"{}\".",
            visible(text.trim_ascii())
        ),
        "Send ASCII only (as escapes of the language, such as \\u00e9), or send the file's own \
         bytes with --content-file.",
    )
    .nothing_changed()
    .or_override("If it may have two encodings, repeat with allow: [\"encoding\"].")
    .at(path)
    .with("line", line)
}

/// What a wrong decoding leaves in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// U+FFFD, in place of bytes that could not be decoded.
    Replaced,
    /// Several characters in place of one, because its bytes were read one by one.
    Split,
}

/// The first fresh line with damage of a kind that the old text has nowhere.
#[must_use]
pub fn decoded_wrongly(subject: &Subject<'_>) -> Option<(usize, Damage)> {
    // A text that only loses such characters costs one comparison.
    if subject.text()?.is_ascii() {
        return None;
    }
    let known = std::cell::OnceCell::new();
    let known = |damage| {
        known
            .get_or_init(|| {
                let old = String::from_utf8_lossy(subject.old_text());
                old.lines().filter_map(damage_in).collect::<Vec<_>>()
            })
            .contains(&damage)
    };
    let moved = |line: &[u8]| subject.has_had_line(line);
    subject.fresh_lines().find_map(|(row, line)| {
        let damage = damage_in(std::str::from_utf8(line).ok()?)?;
        (!known(damage) && !moved(line)).then_some((row, damage))
    })
}

fn damage_in(line: &str) -> Option<Damage> {
    if line.is_ascii() {
        return None;
    }
    if line.contains('\u{fffd}') {
        return Some(Damage::Replaced);
    }
    line.char_indices().any(|(at, c)| is_split(c, &line[at..])).then_some(Damage::Split)
}

/// Whether the characters at the start of `rest` are the bytes of one character, read as
/// Windows-1252.
fn is_split(first: char, rest: &str) -> bool {
    let follow = match first {
        '\u{c2}' | '\u{c3}' => 1,
        '\u{e2}'..='\u{ef}' => 2,
        '\u{f0}' => 3,
        _ => return false,
    };
    // Quotes, dashes and dots may follow a letter.
    let after_letter = |c: char| matches!(c, '\u{2010}'..='\u{2026}' | '\u{ab}' | '\u{bb}');
    let mut after = rest.chars().skip(1);
    if follow == 1 && after.clone().next().is_some_and(after_letter) {
        return false;
    }
    let bytes: Option<Vec<u8>> = (0..follow).map(|_| continuation(after.next()?)).collect();
    let lead = u8::try_from(u32::from(first)).unwrap_or_default();
    bytes.is_some_and(|bytes| std::str::from_utf8(&[&[lead], &bytes[..]].concat()).is_ok())
}

/// The byte that Windows-1252 or Latin-1 reads as `c`, if it is one that continues a character of
/// UTF-8.
fn continuation(c: char) -> Option<u8> {
    const HIGH: [char; 27] = [
        '€', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 'Ž', '‘', '’', '“', '”', '•',
        '–', '—', '˜', '™', 'š', '›', 'œ', 'ž', 'Ÿ',
    ];
    const BYTES: [u8; 27] = [
        0x80, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8e, 0x91, 0x92,
        0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c, 0x9e, 0x9f,
    ];
    match c {
        '\u{80}'..='\u{bf}' => u8::try_from(u32::from(c)).ok(),
        _ => HIGH.iter().position(|high| *high == c).map(|at| BYTES[at]),
    }
}

fn explain(file: &Subject<'_>, row: usize, damage: Damage) -> Finding {
    let (line, path) = (row + 1, file.path);
    let text = file.lines().texts().1.get(row).copied().unwrap_or_default();
    let what = match damage {
        Damage::Replaced => "U+FFFD, which stands for a character that could not be read,",
        Damage::Split => "characters that a wrong decoding has split",
    };
    Finding::new(
        Code::Encoding,
        format!("{path} would get {what} at line {line}: \"{}\".", visible(text.trim_ascii())),
        "Send the characters themselves, as UTF-8.",
    )
    .nothing_changed()
    .or_override("If they belong there, repeat with allow: [\"encoding\"].")
    .at(path)
    .with("line", line)
}

/// The first match of `find` in the new text, if the old text has none.
fn first_new(file: &Subject<'_>, find: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    let at = find(file.after?)?;
    match file.before {
        Some(before) if find(before).is_some() => None,
        _ => Some(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use edt_types::RepoPath;

    fn codes(before: Option<&[u8]>, after: &[u8]) -> Vec<Code> {
        let path = RepoPath::parse(b"a.txt").unwrap();
        let policy = Policy::of(None, None).unwrap();
        let file = Subject::new(&path, None, before, Some(after), Vec::new(), policy.time_limit);
        let context = GuardContext { policy: &policy, site: None };
        let guards: [&dyn Guard; 2] = [&BinaryContent, &Encoding];
        let outputs = guards.iter().flat_map(|guard| guard.check(&file, &context));
        outputs.flat_map(GuardOutput::into_findings).map(|finding| finding.code).collect()
    }

    #[test]
    fn text_must_stay_text() {
        assert_eq!(codes(Some(b"a\n"), b"a\0\n"), [Code::BinaryContent]);
        assert_eq!(codes(None, b"a\xff\n"), [Code::Encoding]);
        assert_eq!(codes(Some(b"a\n"), "ü\n".as_bytes()), []);
    }

    #[test]
    fn a_file_that_is_not_text_may_be_edited_as_bytes() {
        assert_eq!(codes(Some(b"a\xff\n"), b"b\xff\n"), []);
        assert_eq!(codes(Some(b"a\0\n"), b"b\0\n"), []);
    }

    fn finding(guard: &dyn Guard, after: &[u8]) -> Finding {
        let path = RepoPath::parse(b"a.txt").unwrap();
        let policy = Policy::of(None, None).unwrap();
        let file = Subject::new(&path, None, None, Some(after), Vec::new(), policy.time_limit);
        let mut outputs = guard.check(&file, &GuardContext { policy: &policy, site: None });
        outputs.remove(0).into_findings().remove(0)
    }

    #[test]
    fn a_nul_byte_is_named_with_its_line_and_its_offset() {
        let expected = Finding::new(
            Code::BinaryContent,
            "This would put a NUL byte into a.txt at line 2.",
            "Send text.",
        );
        let expected = expected
            .nothing_changed()
            .or_override("If the file really is binary, repeat with allow: [\"binary_content\"].")
            .at(&RepoPath::parse(b"a.txt").unwrap())
            .with("line", 2)
            .with("byte", 3);
        assert_eq!(finding(&BinaryContent, b"a\nb\0"), expected);
    }

    #[test]
    fn an_invalid_byte_is_named_with_its_line_and_its_offset() {
        let found = finding(&Encoding, b"a\n\n\xc3(");
        assert_eq!(found.summary, "a.txt would not be valid UTF-8 at line 3.");
        assert_eq!((&found.evidence["line"], &found.evidence["byte"]), (&3.into(), &3.into()));
    }

    #[test]
    fn what_a_wrong_decoding_leaves_is_found_in_added_lines() {
        for damaged in
            ["caf\u{fffd}", "cafÃ©", "itâ€™s", "Â© 2026", "a â†’ b", "ðŸ˜€", "ï»¿x", "5Â\u{a0}km"]
        {
            let after = format!("a\n{damaged}\n");
            assert_eq!(codes(Some(b"a\n"), after.as_bytes()), [Code::Encoding], "{damaged}");
            let more = format!("{after}b\n{damaged} again\n");
            assert_eq!(codes(Some(after.as_bytes()), more.as_bytes()), [], "{damaged}");
        }
    }

    #[test]
    fn letters_with_accents_quotes_and_other_scripts_are_not_damage() {
        for text in ["café", "it’s", "© 2026", "IRMÃ”", "NÃO", "中文", "😀", "„Ä“", "âge", "naïve…"]
        {
            assert_eq!(codes(Some(b"a\n"), format!("a\n{text}\n").as_bytes()), [], "{text}");
        }
    }

    #[test]
    fn a_file_keeps_its_one_encoding() {
        let latin = b"s = \"caf\xe9\"\nx = 1\n";
        let gbk = b"a = \"\xd6\xd0\xce\xc4\"\nb = \"\xc1\xaa\xcd\xa8\"\n";
        let added = |before: &[u8], text: &[u8]| codes(Some(before), &[before, text].concat());
        for before in [&latin[..], gbk, b"\x93quoted\x94\n"] {
            assert_eq!(added(before, "y = \"na\u{ef}ve\"\n".as_bytes()), [Code::Encoding]);
            assert_eq!(added(before, b"y = \"plain\"\n"), []);
            assert_eq!(added(before, b"y = \"na\xefve\"\n"), []);
            assert_eq!(codes(Some(before), "y = \"na\u{ef}ve\"\n".as_bytes()), [], "as a whole");
        }
        let wide: Vec<u8> = "\u{feff}a = 1\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(added(&wide, b"b = 2\r\n"), [Code::Encoding]);
        assert_eq!(added(&wide, b"b\0=\x002\0\r\0\n\0"), []);
        let stray = "a = \"\u{e9}\"\nb = \"\u{fc}\"\n".as_bytes();
        assert_eq!(added(&[stray, b"c = \"\xe9\"\n"].concat(), "d = \"\u{f6}\"\n".as_bytes()), []);
    }

    #[test]
    fn a_removed_file_has_no_content() {
        let path = RepoPath::parse(b"a.txt").unwrap();
        let policy = Policy::of(None, None).unwrap();
        let file = Subject::new(&path, None, Some(b"\0"), None, Vec::new(), policy.time_limit);
        let context = GuardContext { policy: &policy, site: None };
        assert_eq!(BinaryContent.check(&file, &context), [GuardOutput::Pass]);
    }
}
