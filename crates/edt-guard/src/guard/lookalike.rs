//! Added code should not have characters that look like others: a compiler takes them for something
//! else than a reader does.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use edt_types::text::visible;
use edt_types::unseen::disguised_letters;
use edt_types::{Code, Finding};

/// The guard `lookalike_characters`.
#[derive(Debug)]
pub struct LookalikeCharacters;

/// A character that looks like another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookalike {
    /// Its row in the new text.
    pub row: usize,
    /// The character.
    pub character: char,
    /// What it looks like.
    pub like: Like,
}

/// What a character looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Like {
    /// A space.
    Space,
    /// A quote of code.
    Quote,
    /// A Latin letter.
    Letter,
}

/// At least this many lines must be indented in one way, and all of them, before another way is
/// worth a warning.
const MIN_INDENTED: usize = 5;

/// A line with so many letters beyond the usual scripts plays with them.
const MANY_STRANGE: usize = 4;

impl Guard for LookalikeCharacters {
    fn name(&self) -> &'static str {
        "lookalike_characters"
    }

    fn rule(&self) -> &'static str {
        "Added lines have a character that looks like another, and the file had none of its kind: \
         in code, outside strings and comments, a no-break space or curly quotes; anywhere, a \
         Cyrillic or Greek letter in a Latin word. Tabs where the file indents by spaces, or the \
         reverse, are a warning."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        match file.within_limit(|| detect(file)) {
            Ok(None) => {}
            Ok(Some(found)) => {
                return GuardOutput::of(self.name(), Some(explain(file, found)));
            }
            Err(why) => {
                return vec![GuardOutput::Unchecked {
                    word: self.name(),
                    reason: format!("The characters of {} were not checked: {why}.", file.path),
                }];
            }
        }
        match flipped_indentation(file) {
            Some(row) => vec![GuardOutput::Noted { word: self.name(), message: warn(file, row) }],
            None => vec![GuardOutput::Pass],
        }
    }
}

/// The first lookalike in an added line, of a kind that the old text has nowhere.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> Option<Lookalike> {
    if subject.text()?.is_ascii() {
        return None;
    }
    let had = std::cell::OnceCell::new();
    let had = |like| {
        had.get_or_init(|| {
            let old = String::from_utf8_lossy(subject.old_text());
            old.lines()
                .flat_map(|line| lookalikes(line).into_iter().map(|(_, _, like)| like))
                .collect::<Vec<_>>()
        })
        .contains(&like)
    };
    for (row, line) in subject.fresh_lines().filter(|(_, line)| !line.is_ascii()) {
        let Ok(text) = std::str::from_utf8(line) else { continue };
        for (at, character, like) in lookalikes(text) {
            if is_apostrophe(subject, text, at) {
                continue;
            }
            if (like == Like::Letter || is_code(subject, row, line, at))
                && !had(like)
                && !subject.has_had_line(line)
            {
                return Some(Lookalike { row, character, like });
            }
        }
    }
    None
}

/// Whether the character is an apostrophe within a word of a shell script, whose arguments need no
/// quotes: `echo It’s done`.
fn is_apostrophe(subject: &Subject<'_>, line: &str, at: usize) -> bool {
    let shell = subject.language().is_some_and(|language| language.name == "bash");
    let Some(rest) = line[at..].strip_prefix('\u{2019}').filter(|_| shell) else { return false };
    rest.starts_with(char::is_alphabetic) && line[..at].ends_with(char::is_alphabetic)
}

/// The characters of a line that look like others, with their bytes.
fn lookalikes(line: &str) -> Vec<(usize, char, Like)> {
    if line.is_ascii() {
        return Vec::new();
    }
    let mut found: Vec<(usize, char, Like)> = { line.char_indices() }
        .filter_map(|(at, c)| {
            let like = match c {
                '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
                    Like::Space
                }
                '\u{2018}'..='\u{201f}' => Like::Quote,
                _ => return None,
            };
            Some((at, c, like))
        })
        .collect();
    // Many letters from elsewhere (`𝛊𝓽·ⅆ𝕚𝐝`) are there on purpose.
    let is_strange = |c: &char| *c >= '\u{2000}' && c.is_alphabetic();
    if line.chars().filter(is_strange).count() >= MANY_STRANGE {
        return found;
    }
    let letters = disguised_letters(line).into_iter();
    found.extend(letters.filter_map(|at| Some((at, line[at..].chars().next()?, Like::Letter))));
    found
}

/// Whether byte `at` of a row is code: outside strings and comments of a language with a grammar.
fn is_code(subject: &Subject<'_>, row: usize, line: &[u8], at: usize) -> bool {
    // These languages have bare words.
    const BARE: [&str; 3] = ["html", "make", "yaml"];
    if subject.language().is_none_or(|language| BARE.contains(&language.name)) {
        return false;
    }
    if subject.is_over() {
        return false;
    }
    let blank = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let at = (subject.start_of(row) + at).saturating_sub(blank);
    matches!(subject.new_tree(), Some(Ok(tree)) if tree.is_code(at))
}

/// The first added row that is indented by tabs where the old text uses only spaces, or the
/// reverse.
#[must_use]
pub fn flipped_indentation(subject: &Subject<'_>) -> Option<usize> {
    // In a Makefile both have their meaning.
    subject.language().filter(|language| language.name != "make")?;
    subject.text()?;
    let by = |line: &[u8]| {
        let indent = &line[..line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()];
        match line.get(indent.len()) {
            // A lone space continues a comment.
            None | Some(b'\n' | b'\r' | b'*') => None,
            _ if indent.contains(&b'\t') => Some(b'\t'),
            _ => (indent.len() > 1).then_some(b' '),
        }
    };
    let added: Vec<(usize, u8)> =
        subject.added_lines().filter_map(|(row, line)| Some((row, by(line)?))).collect();
    if added.is_empty() {
        return None;
    }
    let mut old = subject.lines().texts().0.iter().filter_map(|line| by(line));
    let way = old.next()?;
    let (row, _) = added.into_iter().find(|(_, other)| *other != way)?;
    let mut count = 1;
    let uniform = old.all(|other| {
        count += 1;
        other == way
    });
    (uniform && count >= MIN_INDENTED && !subject.is_prose(row)).then_some(row)
}

fn warn(subject: &Subject<'_>, row: usize) -> String {
    let text = subject.lines().texts().1.get(row).copied().unwrap_or_default();
    let (new, old) = if text.trim_ascii_start().len() < text.len() && text.starts_with(b"\t") {
        ("tabs", "spaces")
    } else {
        ("spaces", "tabs")
    };
    format!(
        "Line {} of {} would be indented by {new}. The rest of the file is indented by {old}.",
        row + 1,
        subject.path
    )
}

fn explain(subject: &Subject<'_>, found: Lookalike) -> Finding {
    let (line, path) = (found.row + 1, subject.path);
    let text = subject.lines().texts().1.get(found.row).copied().unwrap_or_default();
    let code_point = format!("U+{:04X}", u32::from(found.character));
    let (what, plain) = match found.like {
        Like::Space => ("looks like a space", "a space"),
        Like::Quote => ("looks like a quote", "a plain quote, ' or \""),
        Like::Letter => ("looks like a Latin letter", "the Latin letter"),
    };
    Finding::new(
        Code::LookalikeCharacters,
        format!(
            "{path} would get {code_point}, which {what}, at line {line}: \"{}\".",
            visible(text.trim_ascii())
        ),
        format!("Send {plain} in its place."),
    )
    .nothing_changed()
    .or_override("If it belongs there, repeat with allow: [\"lookalike_characters\"].")
    .at(path)
    .with("line", line)
    .with("code_point", code_point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::RepoPath;
    use std::time::Duration;

    fn with<T>(path: &str, before: &str, after: &str, test: impl Fn(&Subject<'_>) -> T) -> T {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        test(&Subject::new(&path, None, before, after, Vec::new(), Duration::from_secs(5)))
    }

    fn found(path: &str, before: &str, after: &str) -> Option<(usize, char)> {
        with(path, before, after, |file| detect(file).map(|found| (found.row, found.character)))
    }

    #[test]
    fn an_apostrophe_in_a_word_of_a_shell_script_is_text() {
        assert_eq!(found("a.sh", "a\n", "a\necho It\u{2019}s done\n"), None);
        assert_eq!(found("a.sh", "a\n", "a\necho \u{2019}b\u{2019}\n"), Some((1, '\u{2019}')));
        assert_eq!(found("a.c", "a\n", "a\nint It\u{2019}s;\n"), Some((1, '\u{2019}')));
    }

    #[test]
    fn the_body_of_a_macro_is_code() {
        let body = |text: &str| format!("#define A(b) {text}\n");
        let added = |text: &str| found("a.c", &body("b"), &body(text));
        assert_eq!(added("(b\u{a0}> 1)"), Some((0, '\u{a0}')));
        assert_eq!(added("f(\"b\u{a0}> 1\")"), None);
    }

    #[test]
    fn a_line_that_plays_with_letters_has_them_on_purpose() {
        assert!(!lookalikes("\"\u{455}pell\"").is_empty());
        let line = "\"\u{1d6ca}\u{1d4fd}\u{2146}\u{1d55a} \u{455}pell\"";
        assert!(lookalikes(line).is_empty());
    }

    #[test]
    fn spaces_and_quotes_of_prose_are_found_in_code() {
        for (path, line) in [
            ("a.c", "int\u{a0}x;"),
            ("a.py", "x\u{a0}= 1"),
            ("a.js", "f(“a”);"),
            ("a.ts", "let x = ‘a’;"),
            ("a.sh", "echo “a b”"),
            ("a.rs", "const A: u8 =\u{3000}1;"),
        ] {
            let character = line.chars().find(|c| !c.is_ascii()).unwrap();
            assert_eq!(found(path, "\n", &format!("\n{line}\n")), Some((1, character)), "{line}");
        }
    }

    #[test]
    fn strings_comments_prose_and_known_characters_are_not() {
        for (path, before, after) in [
            ("a.py", "\n", "x = '“a”\u{a0}b'\n# it’s\u{a0}so\n"),
            ("a.c", "\n", "/* “a”\u{a0}b */\nchar *s = \"‘a’\";\n"),
            ("a.md", "\n", "“a”\u{a0}b\n"),
            ("a.txt", "\n", "“a”\u{a0}b\n"),
            ("a.html", "\n", "<p>“a”\u{a0}b</p>\n"),
            ("a.yaml", "\n", "a: it’s\u{a0}so\n"),
            ("a.js", "f(“a”);\n", "f(“a”);\ng(“b”);\n"),
        ] {
            assert_eq!(found(path, before, after), None, "{path}: {after}");
        }
    }

    #[test]
    fn a_letter_of_another_script_in_a_word_is_found_everywhere() {
        for path in ["a.py", "a.md", "a"] {
            assert_eq!(found(path, "x\n", "x\npassw\u{43e}rd\n"), Some((1, '\u{43e}')), "{path}");
            assert_eq!(found(path, "x\n", "x\nпароль αβ\n"), None, "{path}");
        }
    }

    #[test]
    fn indentation_by_other_white_space_is_found() {
        let flipped =
            |path: &str, before: &str, after: &str| with(path, before, after, flipped_indentation);
        let c = "void f(void)\n{\n\ta();\n\tb();\n\tc();\n\td();\n\te();\n}\n";
        assert_eq!(flipped("a.c", c, &c.replace("\tc", "    c")), Some(4));
        assert_eq!(flipped("a.c", &c.replace('\t', "  "), c), Some(2));
        assert_eq!(flipped("a.c", c, &c.replace("\tc();", "\tx();")), None);
        let mixed = c.replace("\td", "    d");
        assert_eq!(flipped("a.c", &mixed, &mixed.replace("\tc", "    c")), None);
        assert_eq!(flipped("a.txt", c, &c.replace("\tc", "    c")), None);
    }

    #[test]
    fn the_character_and_its_line_are_named() {
        let said = with("a.js", "\n", "\nf(“a”);\n", |file| {
            explain(file, detect(file).unwrap()).summary
        });
        assert_eq!(
            said,
            "a.js would get U+201C, which looks like a quote, at line 2: \"f(“a”);\"."
        );
    }
}
