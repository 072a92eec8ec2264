//! Added text should not bring characters into a file that nobody sees. They can reverse what a
//! reviewer reads, hide instructions, or split a name.

use std::cell::OnceCell;
use std::collections::HashSet;

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
    /// Whether it may hide something: not in a line that a program made, not as an entire string,
    /// not in a pattern, and not as a soft hyphen in a word of a page.
    pub hides: bool,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A longer line is the work of a program.
const LONG_LINE: usize = 1000;

/// Whether the text has only a byte-order mark at its start, or control characters.
fn is_harmless(text: &[u8]) -> bool {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut chars = text.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    !chars.any(|c| is_invisible(c) && !c.is_control())
}

impl Guard for InvisibleCharacters {
    fn name(&self) -> &'static str {
        "invisible_characters"
    }

    fn rule(&self) -> &'static str {
        "Added lines have an invisible character that the file did not have: a control character, \
         a bidirectional control, a tag, a filler or one of no width. Emoji, and scripts that need \
         such characters, may have them. Control characters and a byte-order mark of a new file are a \
         warning, and so is every such character in a line that a program made, one without width \
         that is an entire string, an escape in a pattern that finds it, and a soft hyphen in a word \
         of a page."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        let found = detect(file);
        match &found {
            // A new file may have them on purpose. A file that had none gets them by mistake.
            Some(first)
                if !first.hides
                    || file.before.is_none() && file.text().is_some_and(is_harmless) =>
            {
                let message = explain(file, first).summary;
                vec![GuardOutput::Noted { word: self.name(), message }]
            }
            _ => GuardOutput::of(self.name(), found.map(|found| explain(file, &found))),
        }
    }
}

/// Whether the character at `at` is an entire string and has no width, `content: "…"`: it splits no
/// name, and nothing is hidden by it.
fn is_entire_string(line: &str, at: usize, c: char) -> bool {
    let quote = line[..at].chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`'));
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
        && quote.is_some()
        && line[at + c.len_utf8()..].chars().next() == quote
}

/// Whether the character at `at` is in a pattern that finds the escapes of a terminal: `\x1b\[…`. A
/// terminal shows the backslash.
fn is_in_pattern(line: &str, at: usize, c: char) -> bool {
    c == '\u{1b}' && line[at + 1..].starts_with("\\[")
}

/// Whether the character at `at` of a line is a soft hyphen in a word of a page's text, where it says
/// how the word may be divided.
fn divides_word(file: &Subject<'_>, row: usize, line: &str, at: usize, c: char) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let is_in_word = c == '\u{ad}'
        && is_letter(line[..at].chars().next_back())
        && is_letter(line[at + c.len_utf8()..].chars().next());
    if !is_in_word {
        return false;
    }
    let path = file.path.as_bytes();
    match file.new_tree() {
        Some(Ok(tree)) => {
            file.language().is_some_and(|language| language.name == "html")
                && tree.is_running_text(file.start_of(row) + at)
        }
        Some(Err(_)) => false,
        None => {
            [&b".md"[..], b".markdown"].iter().any(|end| path.ends_with(end))
                && memchr::memchr_iter(b'`', &line.as_bytes()[..at]).count().is_multiple_of(2)
        }
    }
}

/// Whether the character at `at` is what a heading leaves of an emoji in the anchor to it, `#\u{fe0f}-a`.
fn is_in_anchor(line: &str, at: usize, c: char) -> bool {
    let next = line[at + c.len_utf8()..].chars().next();
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
        && ["=\"#", "='#", "(#"].iter().any(|sign| line[..at].ends_with(sign))
        && next.is_some_and(|next| next == '-' || next.is_alphanumeric())
}

/// Whether no human and no model writes such a line.
pub(super) fn is_minified(file: &Subject<'_>, row: usize) -> bool {
    file.lines().texts().1.get(row).is_some_and(|line| line.len() > LONG_LINE)
}

/// The invisible characters that the edit brings into the file.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> Option<Invisible> {
    if is_plain(subject.text()?) {
        return None;
    }
    let known = OnceCell::new();
    // Where lines end with CR and LF, a lone CR is what is left of a line end.
    let returns = OnceCell::new();
    let has_returns = |text| memchr::memmem::find(text, b"\r\n").is_some();
    let returns = || *returns.get_or_init(|| has_returns(subject.after.unwrap_or_default()));
    let generated = OnceCell::new();
    let generated = || *generated.get_or_init(|| subject.is_generated());
    let mut found: Option<Invisible> = None;
    for (row, line) in subject.fresh_lines() {
        let Ok(text) = std::str::from_utf8(line) else { continue };
        let writing = Writing::of(text);
        let minified = is_minified(subject, row);
        // A tool that makes a file brings no terminal's escapes and no mark into one that has none.
        let is_made = |at: usize, c: char| {
            let mark = row == 0 && at == 0 && c == '\u{feff}';
            minified && (subject.before.is_none() || !matches!(c, '\u{1b}' | '\u{9b}') && !mark)
        };
        let mut brought = { text.char_indices() }
            .filter(|&(at, c)| writing.is_unexpected(at, c))
            .filter(|(_, c)| !known.get_or_init(|| invisible_in(subject.old_text())).contains(c))
            .map(|(at, c)| {
                let plain = is_made(at, c)
                    || is_entire_string(text, at, c)
                    || divides_word(subject, row, text, at, c)
                    || c == '\r' && returns()
                    || c.is_control() && generated();
                (c, !plain && !is_in_pattern(text, at, c) && !is_in_anchor(text, at, c))
            })
            .peekable();
        if brought.peek().is_none() || subject.has_had_line(line) {
            continue;
        }
        for (character, hides) in brought {
            let count = found.as_ref().map_or(0, |found| found.count);
            if found.as_ref().is_none_or(|found| hides && !found.hides) {
                found = Some(Invisible { row, character, count, hides });
            }
            found.iter_mut().for_each(|found| found.count += 1);
        }
    }
    found
}

/// Whether every byte is printable ASCII or white space.
fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | b'\x0c'))
        && memchr::memchr_iter(b'\r', text).all(|at| text.get(at + 1) == Some(&b'\n'))
}

/// A line, with what decides which invisible characters its writing needs.
struct Writing<'a> {
    line: &'a str,
    /// Where its line end begins. CRs before it belong to it.
    end: usize,
    has_right_to_left: bool,
    has_matching_isolates: bool,
}

impl Writing<'_> {
    fn of(line: &str) -> Writing<'_> {
        Writing {
            line,
            end: line.trim_end_matches('\n').trim_end_matches('\r').len(),
            has_right_to_left: line.chars().any(is_right_to_left),
            has_matching_isolates: has_matching_isolates(line),
        }
    }

    /// Whether the character at byte `at` is invisible and the writing does not need it.
    fn is_unexpected(&self, at: usize, c: char) -> bool {
        if c.is_ascii() {
            // A form feed separates pages of a source.
            return c.is_ascii_control()
                && !matches!(c, '\t' | '\n' | '\x0c')
                && !(c == '\r' && at >= self.end);
        }
        let is_direction = match c {
            '\u{200e}' | '\u{200f}' | '\u{61c}' => self.has_right_to_left,
            '\u{2066}'..='\u{2069}' => self.has_right_to_left && self.has_matching_isolates,
            _ => false,
        };
        is_invisible(c) && !is_direction && !shapes_neighbours(self.line, at, c)
    }
}

/// Whether each isolate of the line is closed in it, and none is closed that was not opened.
fn has_matching_isolates(line: &str) -> bool {
    let open = line.chars().try_fold(0_usize, |open, c| match c {
        '\u{2066}'..='\u{2068}' => Some(open + 1),
        '\u{2069}' => open.checked_sub(1),
        _ => Some(open),
    });
    open == Some(0)
}

fn invisible_in(text: &[u8]) -> HashSet<char> {
    let valid = text.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    valid.filter(|&c| is_invisible(c)).collect()
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
    use crate::guard::{Transaction, TransactionFile};
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

    fn refuses_in(path: &str, before: Option<&str>, text: &str) -> Option<bool> {
        let policy = crate::policy::Policy::of(None, None).unwrap();
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (before.map(str::as_bytes), Some(text.as_bytes()));
        let file = Subject::new(&path, None, before, after, Vec::new(), policy.time_limit);
        let context = GuardContext { policy: &policy, site: None };
        match InvisibleCharacters.check(&file, &context).remove(0) {
            GuardOutput::Found { .. } => Some(true),
            GuardOutput::Noted { .. } => Some(false),
            _ => None,
        }
    }

    #[test]
    fn a_new_file_may_have_controls_and_a_byte_order_mark_with_a_warning() {
        let refuses = |before: Option<&str>, text: &str| refuses_in("a", before, text);
        for text in ["\u{feff}a\n", "a\u{1b}[0m\n", "\u{feff}a\u{8}\n"] {
            assert_eq!(refuses(None, text), Some(false), "{text:?}");
            assert_eq!(refuses(Some("a\n"), text), Some(true), "{text:?}");
        }
        // A lone CR is one of many, or hides what is before it.
        assert_eq!(refuses(Some("a\n"), "a\r\nb\rc\r\n"), Some(false));
        assert_eq!(refuses(Some("a\n"), "a\nb\rc\n"), Some(true));
        let made = "# DO NOT EDIT: generated from a.in\nb\u{1b}[0m\n";
        assert_eq!(refuses(Some("a\n"), made), Some(false));
        assert_eq!(refuses(Some("a\n"), &made.replace('\u{1b}', "\u{202e}")), Some(true));
        for text in ["a\u{202e}\n", "a\u{1b}\u{200b}\n", "a\u{feff}\n", "a\u{e0041}\n"] {
            assert_eq!(refuses(None, text), Some(true), "{text:?}");
        }
        assert_eq!(refuses(None, "a\n"), None);
    }

    #[test]
    fn what_a_program_made_and_a_value_of_no_width_are_a_warning() {
        let long = format!("a=\"\u{180e}\";{}\n", "b();".repeat(300));
        for (path, text) in [
            ("a.js", long.as_str()),
            ("a.css", "a { content: \"\u{200b}\"; }\n"),
            ("a.js", "a.replace('\u{feff}', '')\n"),
            ("a.sh", "sed 's/\u{1b}\\[[ -?]*m//g'\n"),
        ] {
            assert_eq!(refuses_in(path, Some("x\n"), text), Some(false), "{text:?}");
        }
        for text in [
            &format!("\u{feff}{}", long.replace('\u{180e}', "")),
            &long.replace('\u{180e}', "\u{1b}[0m"),
            &format!("{long}a\u{200b}b\n"),
            &format!("a\u{200b}b\n{long}"),
            "a { content: \"a\u{200b}\"; }\n",
            "a = \"\u{202e}\"\n",
            "a = \"\u{e0041}\"\n",
            "a\u{200b} = \"\u{200b}\"\n",
        ] {
            assert_eq!(refuses_in("a.js", Some("x\n"), text), Some(true), "{text:?}");
        }
    }

    #[test]
    fn an_anchor_may_have_what_a_heading_leaves_of_an_emoji() {
        let text = "<a href=\"#\u{fe0f}-b\">\u{2195}\u{fe0f} B</a>\n";
        assert_eq!(refuses_in("a.html", Some("x\n"), text), Some(false));
        for text in ["<a href=\"b\u{fe0f}\">\n", "<a href=\"#\u{fe0f}\">\n"] {
            assert_eq!(refuses_in("a.html", Some("x\n"), text), Some(true), "{text:?}");
        }
    }

    #[test]
    fn a_soft_hyphen_in_a_word_of_a_page_is_a_warning() {
        for (path, text, refuses) in [
            ("a.html", "<p>off\u{ad}er <b>b</b></p>\n", false),
            ("a.md", "off\u{ad}er\n", false),
            ("a.html", "<p a=\"off\u{ad}er\">\n", true),
            ("a.html", "<script>\nof\u{ad}er();\n</script>\n", true),
            ("a.html", "<p>off\u{ad} \u{ad}er</p>\n", true),
            ("a.html", "<p>off\u{200b}er</p>\n", true),
            ("a.md", "`off\u{ad}er`\n", true),
            ("a.c", "off\u{ad}er();\n", true),
        ] {
            for before in [None, Some("x\n")] {
                assert_eq!(refuses_in(path, before, text), Some(refuses), "{path} {text:?}");
            }
        }
    }

    #[test]
    fn writing_that_needs_invisible_characters_passes() {
        for text in [
            "👩\u{200d}💻 ❤\u{fe0f}\n",
            "می\u{200c}خواهم\n",
            "שלום\u{200f}!\n",
            "ภาษา\u{200b}ไทย\n",
            "אמר \u{2066}edt\u{2069} ו\u{2067}\u{2068}a\u{2069}\u{2069}\n",
            "\u{c}\n\ta\r\nb\n",
            "a\r\n",
        ] {
            assert_eq!(found(None, text), None, "{text:?}");
        }
    }

    #[test]
    fn isolates_that_do_not_match_or_have_no_right_to_left_letters_are_found() {
        assert_eq!(found(None, "שלום \u{2066}a\n"), Some((0, '\u{2066}', 1)));
        assert_eq!(found(None, "שלום a\u{2069}\u{2066}\n"), Some((0, '\u{2069}', 2)));
        assert_eq!(found(None, "a\u{2066}b\u{2069}\n"), Some((0, '\u{2066}', 2)));
        assert_eq!(found(None, "שלום\n\u{2066}b\u{2069}\n"), Some((1, '\u{2066}', 2)));
        assert_eq!(found(None, "\u{202e}ש\u{2066}b\u{2069}\n"), Some((0, '\u{202e}', 1)));
    }

    #[test]
    fn the_time_is_linear_in_the_length() {
        let many = |unit: &str| unit.repeat(200_000);
        let marks = many("\u{200e}");
        let old = format!("{}\u{200b}\u{200c}\n", many("é"));
        for (before, after) in [
            (None, format!("{marks}x\n")),
            (None, format!("{}x\n", many("\r"))),
            (None, format!("{}x\n", many("\u{e0041}"))),
            (None, format!("{}x\n", many("\u{2066}"))),
            (Some(old.as_str()), format!("{marks}x\n")),
            (Some(old.as_str()), format!("{}x\n", many("\u{200b}\u{200c}"))),
        ] {
            let limit = edt_io::clock::CpuLimit::new(std::time::Duration::from_secs(2));
            let _ = found(before, &after);
            assert!(!limit.is_over(), "{:?}", after.chars().next());
        }
    }

    #[test]
    fn a_line_that_moves_from_another_file_is_not_found() {
        let (path, other) = (RepoPath::parse(b"a").unwrap(), RepoPath::parse(b"b").unwrap());
        let line = "x\u{200b}\n".as_bytes();
        let files = Transaction::new(vec![
            TransactionFile { path: &path, before: b"", after: line },
            TransactionFile { path: &other, before: line, after: b"" },
        ]);
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
