//! Added text should not bring characters into a file that nobody sees. They can reverse what a
//! reviewer reads, hide instructions, or split a name. This guard warns unless policy says more.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use edt_types::text::visible;
use edt_types::unseen::{is_invisible, is_right_to_left, shapes_neighbours};
use edt_types::{Code, Finding};

/// The guard `invisible_characters`.
#[derive(Debug)]
pub struct InvisibleCharacters;

/// Invisible characters that an edit brings into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invisible {
    /// The row of the first.
    pub row: usize,
    /// The first.
    pub character: char,
    /// How many there are in all.
    pub count: usize,
}

impl Guard for InvisibleCharacters {
    fn name(&self) -> &'static str {
        "invisible_characters"
    }

    fn rule(&self) -> &'static str {
        "Added lines have an invisible character that the file did not have: a control character, \
         a bidirectional control, a tag, a filler or one of no width. Emoji, and scripts that need \
         such characters, may have them. Warns unless `mode` is set to `refuse`."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        GuardOutput::of(self.name(), detect(file).map(|found| explain(file, &found)))
    }
}

/// The invisible characters that the edit brings into the file.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> Option<Invisible> {
    if is_plain(subject.text()?) {
        return None;
    }
    let mut found: Option<Invisible> = None;
    let mut known: Option<char> = None;
    for (row, line) in subject.fresh_lines() {
        let Ok(text) = std::str::from_utf8(line) else { continue };
        let mut moved = None;
        for (_, c) in text.char_indices().filter(|&(at, c)| is_unexpected(text, at, c)) {
            if known == Some(c) || *moved.get_or_insert_with(|| is_moved(subject, line)) {
                continue;
            }
            if has(subject.old_text(), c) {
                known = Some(c);
                continue;
            }
            let first = Invisible { row, character: c, count: 0 };
            found.get_or_insert(first).count += 1;
        }
    }
    found
}

/// Whether every byte is printable ASCII or white space.
fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | b'\x0c'))
        && memchr::memchr_iter(b'\r', text).all(|at| text.get(at + 1) == Some(&b'\n'))
}

/// Whether the character at byte `at` of a line is invisible and its writing does not need it.
fn is_unexpected(line: &str, at: usize, c: char) -> bool {
    if c.is_ascii() {
        let ends = || line[at + 1..].trim_start_matches('\r').trim_start_matches('\n').is_empty();
        // A form feed separates pages of a source.
        return c.is_ascii_control()
            && !matches!(c, '\t' | '\n' | '\x0c')
            && !(c == '\r' && ends());
    }
    let mark = matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}');
    is_invisible(c)
        && !shapes_neighbours(line, at, c)
        && !(mark && line.chars().any(is_right_to_left))
}

/// Whether a file of the transaction has had the line.
fn is_moved(subject: &Subject<'_>, line: &[u8]) -> bool {
    let line = line.trim_ascii();
    subject.transaction.iter().any(|file| memchr::memmem::find(file.before, line).is_some())
}

fn has(text: &[u8], c: char) -> bool {
    memchr::memmem::find(text, c.encode_utf8(&mut [0; 4]).as_bytes()).is_some()
}

fn explain(subject: &Subject<'_>, found: &Invisible) -> Finding {
    let (line, path) = (found.row + 1, subject.path);
    let text = subject.lines().texts().1.get(found.row).copied().unwrap_or_default();
    let kind = match found.character {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => "a bidirectional control",
        '\u{e0000}'..='\u{e007f}' => "a tag character",
        c if c.is_control() => "a control character",
        _ => "an invisible character",
    };
    let code_point = format!("U+{:04X}", u32::from(found.character));
    let more = match found.count - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Finding::new(
        Code::InvisibleCharacters,
        format!(
            "{path} would get {kind}, {code_point}, at line {line}{more}: \"{}\".",
            visible(text.trim_ascii())
        ),
        "Send the text without it. A program that needs it should name it by an escape.",
    )
    .nothing_changed()
    .or_override("If it belongs there, repeat with allow: [\"invisible_characters\"].")
    .at(path)
    .with("line", line)
    .with("code_point", code_point)
    .with("count", found.count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::TransactionFile;
    use edt_types::RepoPath;
    use std::time::Duration;

    fn found(before: Option<&str>, after: &str) -> Option<(usize, char, usize)> {
        let path = RepoPath::parse(b"a.txt").unwrap();
        let (before, after) = (before.map(str::as_bytes), Some(after.as_bytes()));
        let limit = Duration::from_secs(1);
        detect(&Subject::new(&path, None, before, after, Vec::new(), limit))
            .map(|found| (found.row, found.character, found.count))
    }

    #[test]
    fn characters_that_nobody_sees_are_found_in_added_lines() {
        assert_eq!(found(Some("a\n"), "a\nb\u{202e}\u{2066}\n"), Some((1, '\u{202e}', 2)));
        for c in ['\u{200b}', '\u{e0041}', '\u{3164}', '\u{ad}', '\u{feff}', '\u{1b}', '\u{9b}'] {
            assert_eq!(found(None, &format!("x{c}y\n")), Some((0, c, 1)), "{c:?}");
        }
        assert_eq!(found(None, "a\rb\n"), Some((0, '\r', 1)));
    }

    #[test]
    fn a_line_that_stays_and_a_character_that_the_file_has_are_not_found() {
        assert_eq!(found(Some("a\u{200b}\n"), "a\u{200b}\nb\n"), None);
        assert_eq!(found(Some("a\u{200b}\n"), "a\u{200b}\nb\u{200b}\n"), None);
        assert_eq!(found(Some("\u{feff}a\n"), "\u{feff}b\n"), None);
        assert_eq!(found(Some("a\u{200b}\n"), "a\u{200b}\nb\u{200c}\n"), Some((1, '\u{200c}', 1)));
    }

    #[test]
    fn writing_that_needs_invisible_characters_passes() {
        for text in [
            "👩\u{200d}💻 ❤\u{fe0f}\n",
            "می\u{200c}خواهم\n",
            "שלום\u{200f}!\n",
            "\u{c}\n\ta\r\nb\n",
            "a\r\n",
        ] {
            assert_eq!(found(None, text), None, "{text:?}");
        }
    }

    #[test]
    fn a_line_that_moves_from_another_file_is_not_found() {
        let (path, other) = (RepoPath::parse(b"a").unwrap(), RepoPath::parse(b"b").unwrap());
        let line = "x\u{200b}\n".as_bytes();
        let files = [
            TransactionFile { path: &path, before: b"", after: line },
            TransactionFile { path: &other, before: line, after: b"" },
        ];
        let subject =
            Subject::new(&path, None, None, Some(line), Vec::new(), Duration::from_secs(1));
        assert_eq!(detect(&subject.in_transaction(&files)), None);
    }

    #[test]
    fn the_character_is_named_and_shown() {
        let path = RepoPath::parse(b"a.c").unwrap();
        let text = "x\nif (ok\u{2066}) {\n".as_bytes();
        let subject =
            Subject::new(&path, None, None, Some(text), Vec::new(), Duration::from_secs(1));
        let finding = explain(&subject, &detect(&subject).unwrap());
        assert_eq!(
            finding.summary,
            "a.c would get a bidirectional control, U+2066, at line 2: \"if·(ok\\u{2066})·{\"."
        );
    }
}
