//! A file should not lose its content: all of it, its last part, or all but some lines. And it should
//! not lose an import of what it still uses.

use super::check::{Guard, GuardContext, GuardOutput};
use super::hollow::without_marks;
use super::imports;
use super::subject::Subject;
use super::transaction::count;
use edt_types::text::{counted, line_count};
use edt_types::{Code, Finding};

use std::collections::{HashMap, HashSet};

/// The guard `lost_content`.
#[derive(Debug)]
pub struct LostContent;

/// What a file loses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// Everything.
    Everything,
    /// All code. Comments stay.
    Code,
    /// Nearly all of its lines. Others take their place, as if they belonged to another file.
    Replaced {
        /// Lines before and how many of them are kept.
        lines: (usize, usize),
    },
    /// The last items of the file, and nothing takes their place.
    Tail {
        /// The first lost row of the old text.
        row: usize,
        /// How many rows are lost.
        rows: usize,
    },
    /// An import of names that the file still uses.
    Import {
        /// The first such name.
        name: String,
    },
}

/// A file of one line may become empty: a list that loses its last entry. A longer line is more.
const MIN_BYTES: usize = 80;
/// Fewer lines of code may become a comment.
const MIN_CODE: usize = 5;
/// A smaller file is rewritten as often as it is confused with another.
const MIN_LINES: usize = 20;
/// Of the old lines, at most this part is kept in a file that was replaced.
const MAX_KEPT: usize = 20;
/// A tail has at least this many lines with content.
const MIN_TAIL: usize = 10;
/// A tail is at least this part of the file, in percent.
const MIN_TAIL_PERCENT: usize = 15;

impl Guard for LostContent {
    fn name(&self) -> &'static str {
        "lost_content"
    }

    fn rule(&self) -> &'static str {
        "A file of two lines, or of 80 bytes, would be empty, unless these are less than five lines of \
         comments in code. Code would lose five lines or more and have \
         only comments, unless these are the lines. Warnings: of 20 lines or more, less than 5 % \
         would be kept; code would lose its last items, 15 % of its lines or more; code would \
         lose an import and still use its name. What moves to another file of the same \
         transaction is not lost."
    }

    // A file that is far too small is reported once.
    fn yields_to(&self) -> &'static [&'static str] {
        &["size_reduction"]
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        match file.within_limit(|| detect(file)) {
            Ok(Some(loss @ (Loss::Everything | Loss::Code))) => {
                GuardOutput::of(self.name(), Some(explain(file, &loss)))
            }
            Ok(Some(loss)) => {
                vec![GuardOutput::Noted { word: self.name(), message: warn(file, &loss) }]
            }
            Ok(None) => vec![GuardOutput::Pass],
            Err(why) => vec![GuardOutput::Unchecked {
                word: self.name(),
                reason: format!("What {} loses was not checked: {why}.", file.path),
            }],
        }
    }
}

/// What the file loses, if that is more than an edit usually removes.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> Option<Loss> {
    let (before, after) = (subject.before?, subject.after?);
    if is_empty(after) {
        let moved =
            || subject.lost_lines().is_empty() && before.iter().any(u8::is_ascii_alphanumeric);
        let filled = before.trim_ascii();
        let counts = filled.len() >= MIN_BYTES || memchr::memchr(b'\n', filled).is_some();
        // A few lines of comments are no code.
        let comments = || {
            subject.lines().texts().0.len() < MIN_CODE
                && matches!(subject.old_tree(), Some(Ok(tree)) if tree.is_only_comments())
        };
        return (counts && !comments() && !moved()).then_some(Loss::Everything);
    }
    subject.text()?;
    let removed: usize = subject.hunks().iter().map(|hunk| hunk.old.len()).sum();
    if removed == 0 {
        return None;
    }
    let old = subject.lines().texts().0.len();
    // Blank lines are never lost, so only half of all lines may be in the difference.
    let loss = if removed * 2 >= old {
        loses_code(subject).then_some(Loss::Code).or_else(|| replaced(subject))
    } else {
        None
    };
    loss.or_else(|| tail(subject))
        .or_else(|| imports::lost(subject).map(|name| Loss::Import { name }))
}

fn is_empty(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.iter().all(u8::is_ascii_whitespace)
}

/// Whether the file loses its code and keeps only comments. Code that is commented out is not lost,
/// and where most of it is, some may go.
fn loses_code(subject: &Subject<'_>) -> bool {
    if !matches!(subject.new_tree(), Some(Ok(tree)) if tree.is_only_comments())
        || !matches!(subject.old_tree(), Some(Ok(tree)) if !tree.is_only_comments())
    {
        return false;
    }
    let comments: HashSet<&[u8]> =
        subject.lines().texts().1.iter().map(|line| without_marks(line)).collect();
    let lost = subject.lost_lines();
    let gone = lost.iter().filter(|(line, _)| !comments.contains(without_marks(line)));
    let gone: i64 = gone.map(|(_, times)| times).sum();
    let all: i64 = lost.values().sum();
    gone * 2 > all && usize::try_from(gone).is_ok_and(|gone| gone >= MIN_CODE)
}

fn replaced(subject: &Subject<'_>) -> Option<Loss> {
    let lines = |text| {
        let mut counts = HashMap::new();
        count(&mut counts, text, 1);
        counts.values().map(|times| usize::try_from(*times).unwrap_or_default()).sum::<usize>()
    };
    let (before, after) = (lines(subject.old_text()), lines(subject.after?));
    if before < MIN_LINES || after < MIN_LINES / 4 {
        return None;
    }
    let lost: i64 = subject.lost_lines().values().sum();
    let kept = before.saturating_sub(usize::try_from(lost).unwrap_or_default());
    (kept * MAX_KEPT < before).then_some(Loss::Replaced { lines: (before, kept) })
}

fn tail(subject: &Subject<'_>) -> Option<Loss> {
    if subject.language().is_none() && subject.family().is_none() {
        return None;
    }
    let (old, new) = subject.lines().texts();
    let last = subject.hunks().last()?;
    let at_end = last.old.end == old.len() && last.new.start >= last_filled(new);
    let filled = |line: &&&[u8]| line.iter().any(u8::is_ascii_alphanumeric);
    let rows = &old[last.old.clone()];
    if !at_end || rows.len() * 100 < old.len() * MIN_TAIL_PERCENT || new.is_empty() {
        return None;
    }
    let first = rows.iter().find(filled)?;
    let begins_item =
        first.first().is_some_and(|byte| byte.is_ascii_alphabetic() || b"#@/_".contains(byte));
    if !begins_item || rows.iter().filter(filled).count() < MIN_TAIL {
        return None;
    }
    let lost = subject.lost_lines();
    let gone = rows.iter().filter(|line| lost.contains_key(line.trim_ascii())).count();
    (gone * 2 >= rows.iter().filter(filled).count())
        .then_some(Loss::Tail { row: last.old.start, rows: rows.len() })
}

/// The row behind the last one that is not blank.
fn last_filled(lines: &[&[u8]]) -> usize {
    lines.iter().rposition(|line| !line.trim_ascii().is_empty()).map_or(0, |row| row + 1)
}

fn warn(subject: &Subject<'_>, loss: &Loss) -> String {
    let path = subject.path;
    match loss {
        Loss::Everything | Loss::Code => explain(subject, loss).summary,
        Loss::Replaced { lines: (before, kept) } => format!(
            "{path} would keep {kept} of {}. Was the content meant for another file?",
            counted(*before, "line")
        ),
        Loss::Tail { row, rows } => format!(
            "{path} would lose its last {} (from line {} on), and nothing takes their place.",
            counted(*rows, "line"),
            row + 1
        ),
        Loss::Import { name } => {
            format!("{path} would lose the import of `{name}` and still use that name.")
        }
    }
}

fn explain(subject: &Subject<'_>, loss: &Loss) -> Finding {
    let state = if *loss == Loss::Code { "have only comments" } else { "be empty" };
    let path = subject.path;
    let before = subject.old_text();
    Finding::new(
        Code::LostContent,
        format!("{path} has {} and would {state}.", counted(line_count(before), "line")),
        "Send the complete content, or remove the file with mode \"delete\".",
    )
    .nothing_changed()
    .or_override(format!("If it really should {state}, repeat with allow: [\"lost_content\"]."))
    .at(path)
    .with("bytes_before", before.len())
    .with("bytes_after", subject.after.unwrap_or_default().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Transaction, TransactionFile};
    use edt_types::RepoPath;
    use std::time::Duration;

    fn found(path: &str, before: &str, after: &str) -> Option<Loss> {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        detect(&Subject::new(&path, None, before, after, Vec::new(), Duration::from_secs(5)))
    }

    fn functions(range: std::ops::Range<usize>) -> String {
        range.map(|n| format!("def f{n}():\n    x = {n}\n    return g{n}(x)\n\n")).collect()
    }

    #[test]
    fn a_file_with_content_may_not_become_empty() {
        for after in ["", "\n", " \n\n", "\u{feff}"] {
            assert_eq!(found("a.txt", "x\ny\n", after), Some(Loss::Everything), "{after:?}");
            assert_eq!(found("a.txt", &"x".repeat(80), after), Some(Loss::Everything));
            assert_eq!(found("a.txt", "x\n", after), None, "{after:?}");
            assert_eq!(found("a.txt", "\n\n", after), None, "{after:?}");
        }
        assert_eq!(found("a.txt", "x\ny\n", "y\n"), None);
        assert_eq!(found("a.js", "/* A:\n\n*/\n", "\n"), None);
        assert_eq!(found("a.js", "/* A:\n\n\n\n*/\n", "\n"), Some(Loss::Everything));
        assert_eq!(found("a.txt", "/* A:\n\n*/\n", "\n"), Some(Loss::Everything));
    }

    #[test]
    fn code_may_not_be_cut_to_its_comments() {
        for (path, comment) in [
            ("a.py", "# A.\n"),
            ("a.sh", "#!/bin/sh\n# A.\n"),
            ("a.rs", "//! A.\n"),
            ("a.js", "#!/usr/bin/env node\n/* A. */\n"),
            ("a.css", "/* A. */\n"),
            ("a.yml", "# A.\n"),
            ("a.toml", "# A.\n"),
            ("Makefile", "# A.\n"),
            ("a.c", "// A.\n"),
            ("a.html", "<!-- A. -->\n"),
        ] {
            let code = |lines: i32, mark: &str| -> String {
                let line = |n| match path {
                    "a.css" => format!("{mark}.a{n} {{ b: c{n} }}\n"),
                    "a.yml" => format!("{mark}a{n}: b{n}\n"),
                    "a.rs" => format!("{mark}fn a{n}() {{}}\n"),
                    "a.c" => format!("{mark}int a{n};\n"),
                    "a.html" => format!("{mark}<p>a{n}</p>\n"),
                    _ => format!("{mark}a{n} = {n}\n"),
                };
                comment.to_owned() + &(0..lines).map(line).collect::<String>()
            };
            assert_eq!(found(path, &code(5, ""), comment), Some(Loss::Code), "{path}");
            assert_eq!(found(path, &code(4, ""), comment), None, "{path}");
            assert_eq!(found(path, comment, comment), None, "{path}");
            if ["a.py", "a.sh", "a.yml"].contains(&path) {
                assert_eq!(found(path, &code(5, ""), &code(5, "# ")), None, "{path}");
                assert_eq!(found(path, &code(16, ""), &code(8, "# ")), None, "{path}");
                assert_eq!(found(path, &code(16, ""), &code(7, "# ")), Some(Loss::Code), "{path}");
            }
        }
    }

    #[test]
    fn content_that_moves_to_another_file_is_not_lost() {
        let (path, other) = (RepoPath::parse(b"a").unwrap(), RepoPath::parse(b"b").unwrap());
        let files = Transaction::new(vec![
            TransactionFile { path: &path, before: b"x\ny\n", after: b"" },
            TransactionFile { path: &other, before: b"", after: b"x\ny\n" },
        ]);
        let limit = Duration::from_secs(1);
        let subject = Subject::new(&path, None, Some(b"x\ny\n"), Some(b""), Vec::new(), limit);
        assert_eq!(detect(&subject.in_transaction(&files)), None);
    }

    #[test]
    fn another_text_in_place_of_a_file_is_noticed() {
        let (before, after) = (functions(0..10), functions(10..20));
        let lines = (30, 0);
        assert_eq!(found("a.py", &before, &after), Some(Loss::Replaced { lines }));
        assert_eq!(found("a.py", &before, &(functions(0..1) + &after)), None);
        assert_eq!(found("a.py", &functions(0..4), &after), None);
    }

    #[test]
    fn the_last_items_of_a_file_may_be_lost_with_a_warning() {
        let before = functions(0..10);
        let tail = Loss::Tail { row: 24, rows: 16 };
        assert_eq!(found("a.py", &before, &functions(0..6)), Some(tail));
        assert_eq!(found("a.py", &before, &functions(0..9)), None);
        assert_eq!(
            found("a.rb", &before, &functions(0..6)),
            found("a.py", &before, &functions(0..6))
        );
        assert_eq!(found("a.txt", &before, &functions(0..6)), None);
        assert_eq!(found("a.py", &before, &functions(4..10)), None);
        let moved = functions(6..10) + &functions(0..6);
        assert_eq!(found("a.py", &before, &moved), None);
    }

    #[test]
    fn the_size_of_what_is_lost_is_named() {
        let path = RepoPath::parse(b"a.txt").unwrap();
        let limit = Duration::from_secs(1);
        let file = Subject::new(&path, None, Some(b"x\ny\n"), Some(b""), Vec::new(), limit);
        let of = |loss| explain(&file, &loss).summary;
        assert_eq!(of(Loss::Everything), "a.txt has 2 lines and would be empty.");
        assert_eq!(of(Loss::Code), "a.txt has 2 lines and would have only comments.");
    }
}
