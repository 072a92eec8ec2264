//! Which changed line leads to a syntax error, where the parser finds the error elsewhere.
//!
//! A parser finds an extra bracket or an open quote only where nothing fits any more, perhaps at the
//! end of the file. The lines that the edit changes are known, so the error is reported at the
//! change without which the text would be valid.

use std::ops::Range;

use super::subject::{LineChange, Subject};
use super::syntax_break::{BreakKind, SyntaxBreak, row_of};
use super::syntax_faults;
use edt_lang::outline::touches;
use edt_lang::{Language, TreeCache, brackets};

/// An error this close to the only change is reported where it is.
const NEAR: usize = 2;
/// A change of so few lines is reported at its first line.
const SHORT: usize = 4;
/// How many texts are parsed at most to find a line.
const MAX_PROBES: usize = 24;

/// The error with the change that leads to it, or with a better place.
pub(super) fn located(
    subject: &Subject<'_>,
    language: &'static Language,
    found: SyntaxBreak,
) -> SyntaxBreak {
    if language.name == "yaml"
        && let Some(row) = first_wrong_line(subject, language)
    {
        return SyntaxBreak { at: subject.start_of(row), what: BreakKind::WrongPlace, ..found };
    }
    let text = subject.after.unwrap_or_default();
    let row = row_of(text, found.at);
    // Of several changes, one that is near need not be the one that leads to it.
    let distance = if subject.hunks().len() > 1 { 0 } else { NEAR };
    let near = row.saturating_sub(distance)..row + distance + 1;
    let exact = !matches!(found.what, BreakKind::Region(_)) && touches(&subject.touched(), &near);
    if subject.old_code().is_none() || exact {
        return found;
    }
    let cause = change(subject, language).map(|hunk| {
        let row = suspect(subject, language, &hunk.new).min(last_row(subject));
        subject.start_of(row)
    });
    SyntaxBreak { cause, ..found }
}

fn last_row(subject: &Subject<'_>) -> usize {
    subject.lines().texts().1.len().saturating_sub(1)
}

/// The first row with which the text is not valid, in a language in which the beginning of a valid
/// text is usually valid.
fn first_wrong_line(subject: &Subject<'_>, language: &'static Language) -> Option<usize> {
    let lines = subject.lines().texts().1;
    let text = subject.after?;
    let mut left = MAX_PROBES;
    // Whether the text before `row` has an error.
    let mut fails = |row: usize| {
        left = left.checked_sub(1)?;
        let parsed = subject.parse(language, &text[..start(lines, row)]).ok()?;
        Some(!subject.faults(&parsed).ok()?.is_empty())
    };
    let (mut valid, mut broken) = (0, lines.len());
    loop {
        while broken - valid > 1 {
            let middle = valid + (broken - valid) / 2;
            if fails(middle)? { broken = middle } else { valid = middle }
        }
        // A quote or a bracket may be closed further down.
        let below = broken + MULTILINE;
        if below >= lines.len() || fails(below)? {
            return Some(valid);
        }
        (valid, broken) = (below, lines.len());
    }
}

/// A value in quotes or brackets is rarely longer, in lines.
const MULTILINE: usize = 12;

/// The byte at which a row begins.
fn start(lines: &[&[u8]], row: usize) -> usize {
    lines[..row].iter().map(|line| line.len()).sum()
}

/// The change with which the error begins, if the changes are made one by one.
fn change(subject: &Subject<'_>, language: &'static Language) -> Option<LineChange> {
    let hunks = subject.hunks();
    let trees = TreeCache::default();
    let (mut sound, mut broken) = (0, hunks.len());
    while broken - sound > 1 {
        if subject.is_over() {
            return None;
        }
        let middle = sound + (broken - sound) / 2;
        let text = with_changes(subject, &hunks[..middle]);
        let partial = subject.with_text(&text).with_trees(Some(&trees));
        let found = syntax_faults::first(&partial, language).ok()?;
        if found.is_some() { broken = middle } else { sound = middle }
    }
    hunks.get(sound).cloned()
}

/// The old text with some of the changes.
fn with_changes(subject: &Subject<'_>, hunks: &[LineChange]) -> Vec<u8> {
    let (old, new) = subject.lines().texts();
    let (mut text, mut at) = (Vec::new(), 0);
    for hunk in hunks {
        text.extend(old[at..hunk.old.start].concat());
        text.extend(new[hunk.new.clone()].concat());
        at = hunk.old.end;
    }
    text.extend(old[at..].concat());
    text
}

/// The row of a change that is probably wrong, by default its first. In a long change it is the row
/// of the first bracket that does not fit the indentation.
fn suspect(subject: &Subject<'_>, language: &'static Language, rows: &Range<usize>) -> usize {
    if rows.len() <= SHORT {
        return rows.start;
    }
    let text = subject.after.unwrap_or_default();
    let found = match subject.new_tree() {
        _ if language.preprocessor => brackets::c_brackets(text),
        Some(Ok(tree)) => tree.brackets(),
        _ => Vec::new(),
    };
    let misindented = brackets::misindented(text, &found).into_iter();
    let mut suspects =
        misindented.chain(brackets::unmatched(&found)).map(|bracket| row_of(text, bracket.at));
    suspects.find(|row| rows.contains(row)).unwrap_or(rows.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::syntax;
    use edt_types::RepoPath;
    use edt_types::text::line_of;
    use std::time::Duration;

    /// The line that is reported and the line of the error.
    fn lines(path: &str, before: &str, after: &str) -> Option<(u64, u64)> {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let (old, new) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let subject = Subject::new(&path, None, old, new, Vec::new(), Duration::from_secs(5));
        let found = syntax::detect(&subject).unwrap()?;
        let line = |at| line_of(after.as_bytes(), at);
        Some((line(found.cause.unwrap_or(found.at)), line(found.at)))
    }

    fn go(functions: usize) -> String {
        let function = |n| {
            format!(
                "func f{n}(a int) int {{\n\tif a > {n} {{\n\t\treturn a\n\t}}\n\treturn {n}\n}}\n\n"
            )
        };
        "package a\n\n".to_owned() + &(0..functions).map(function).collect::<String>()
    }

    #[test]
    fn an_error_far_below_is_reported_at_the_change_that_leads_to_it() {
        let before = go(3);
        let after = before.replace("return 1\n", "return 1 }\n");
        assert_eq!(lines("a.go", &before, &after), Some((15, 15)), "the error is next to it");
        let after = before.replace("if a > 1 {", "if a > 1 {{").replace("a > 2", "a > 4");
        let (reported, error) = lines("a.go", &before, &after).unwrap();
        assert_eq!(reported, 11, "the error is found at {error}");
    }

    #[test]
    fn a_line_of_yaml_that_does_not_fit_is_reported() {
        let before: String = (0..40)
            .map(|n| format!("k{n}:\n  - a: \"b\n      c\"\n    d: [e,\n      f]\n"))
            .collect();
        for damage in ["    @broken: x", "  d: 1", "Here is: the: file"] {
            let after = before.replacen("k20:\n", &format!("k20:\n{damage}\n  - x: y\n"), 1);
            let found = lines("a.yaml", &before, &after);
            assert!(matches!(found, Some((102..=103, _))), "{damage}: {found:?}");
        }
    }

    #[test]
    fn a_shell_without_its_last_word_is_reported_at_the_change() {
        let before: String = (0..20)
            .map(|n| format!("f{n}() {{\n  if a; then\n    b $(c {n})\n  fi\n}}\n\n"))
            .collect();
        let after = before.replace("    b $(c 9)\n  fi\n", "    b $(c 10)\n");
        let (reported, _) = lines("a.sh", &before, &after).unwrap();
        assert!((54..=58).contains(&reported), "{reported}");
    }

    #[test]
    fn a_bracket_that_has_a_partner_is_not_called_alone() {
        let path = RepoPath::parse(b"a.sh").unwrap();
        let before = "make -j$(nproc)\nif a; then\n  b ${c}\nfi\n";
        let after = before.replace("make -j$(nproc)\n", "make -j$(nproc) \\\n  'x\n");
        let (old, new) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let subject = Subject::new(&path, None, old, new, Vec::new(), Duration::from_secs(5));
        let found = syntax::detect(&subject).unwrap().unwrap();
        assert_eq!(found.bracket, None, "{found:?}");
    }

    #[test]
    fn the_search_ends_with_the_time_limit() {
        let path = RepoPath::parse(b"a.go").unwrap();
        let before = go(3);
        let after = before.replace("if a > 1 {", "if a > 1 {{").replace("a > 2", "a > 4");
        let (old, new) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let subject = Subject::new(&path, None, old, new, Vec::new(), Duration::ZERO);
        let language = subject.language().unwrap();
        assert_eq!(change(&subject, language), None);
    }
}
