//! How `syntax` reports an error: where it is, what it is, and the lines around it.

use std::fmt::Write as _;

use super::subject::Subject;
use super::syntax_break::row_of;
use super::syntax_break::{BreakKind, SyntaxBreak};
use edt_lang::brackets;
use edt_types::text::{cut, escape_controls, lines, visible};
use edt_types::{Code, Finding};

pub(super) fn explain(subject: &Subject<'_>, found: &SyntaxBreak) -> Finding {
    let text = subject.after.unwrap_or_default();
    let reported = found.cause.unwrap_or(found.at);
    let (line, column) = place(text, reported);
    let what = match &found.what {
        BreakKind::Unexpected => format!("unexpected {}", quoted(text, found.at)),
        BreakKind::Misaligned => {
            "a statement that is indented differently from its neighbours".to_owned()
        }
        BreakKind::Missing(kind) if kind.chars().all(char::is_alphanumeric) => {
            format!("missing {kind}")
        }
        BreakKind::Missing(kind) => format!("missing `{kind}`"),
        BreakKind::Rule(problem) => (*problem).to_owned(),
        BreakKind::Said(message) => cut(&escape_controls(message).0, 200),
        BreakKind::Region(rows) => {
            format!("lines {} to {} do not parse together", rows.start + 1, rows.end)
        }
        BreakKind::WrongPlace => "a line that does not fit what is above it".to_owned(),
        BreakKind::Unmatched(byte) => {
            format!(
                "`{}` has no partner `{}`",
                char::from(*byte),
                char::from(brackets::partner(*byte))
            )
        }
    };
    let what = match found.cause {
        Some(_) if matches!(found.what, BreakKind::Region(_)) => {
            format!("the change here leads to an error: {what}")
        }
        Some(_) => {
            let (line, column) = place(text, found.at);
            format!("the change here leads to an error at {line}:{column}: {what}")
        }
        None => what,
    };
    let bracket = found.bracket.filter(|bracket| bracket.at != found.at);
    let also = bracket.map_or_else(String::new, |bracket| {
        let (line, column) = place(text, bracket.at);
        format!(
            "; the `{}` at {line}:{column} may be the one without a partner",
            char::from(bracket.byte)
        )
    });
    let path = subject.path;
    let remedy = if found.bracket.is_some() || matches!(found.what, BreakKind::Missing(_)) {
        "If other edits open or close what has no partner here, send all edits that belong together \
         in one request (`edits`). Else correct the content and send it again."
    } else {
        "Correct the content and send it again. Send all edits that belong together in one request."
    };
    let frame = frame(text, reported);
    let mut finding = Finding::new(
        Code::SyntaxError,
        format!("{path}:{line}:{column}: SYNTAX_ERROR {what}{also}.\n{frame}\n"),
        remedy,
    )
    .nothing_changed()
    .or_override("If the text is right, repeat with allow: [\"syntax_error\"].")
    .at(path)
    .with("line", line)
    .with("column", column)
    .with("frame", frame);
    if found.cause.is_some() {
        let (line, column) = place(text, found.at);
        finding = finding.with("error", serde_json::json!({"line": line, "column": column}));
    }
    if let Some(bracket) = found.bracket {
        let (line, column) = place(text, bracket.at);
        let text = char::from(bracket.byte).to_string();
        finding = finding
            .with("bracket", serde_json::json!({"text": text, "line": line, "column": column}));
    }
    finding
}

/// The 1-based line, and the 1-based column in characters.
fn place(text: &[u8], at: usize) -> (u64, u64) {
    let start = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let column = String::from_utf8_lossy(&text[start..at]).chars().count() as u64 + 1;
    (row_of(text, at) as u64 + 1, column)
}

/// The word or sign at a place, quoted.
fn quoted(text: &[u8], at: usize) -> String {
    let rest = &text[at..];
    let word =
        rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let end = if word > 0 {
        word
    } else {
        std::str::from_utf8(rest).map_or(1, |s| s.chars().next().map_or(0, char::len_utf8))
    };
    match rest.get(..end) {
        None | Some([]) => "end of the file".to_owned(),
        Some(b"\n" | b"\r") => "end of the line".to_owned(),
        Some(word) => format!("`{}`", cut(&visible(word), 40)),
    }
}

/// The numbered lines around a place, with a caret below it. Long lines are cut to a window around
/// the place, marked with `…`.
fn frame(text: &[u8], at: usize) -> String {
    const WIDTH: usize = 120;
    let row = row_of(text, at);
    let (_, column) = place(text, at);
    let column = usize::try_from(column).unwrap_or(1) - 1;
    let from = if column < WIDTH { 0 } else { column - WIDTH / 2 };
    let first = row.saturating_sub(2);
    let number = (row + 2).to_string().len();
    let mut out = Vec::new();
    for (i, line) in lines(text).enumerate().skip(first).take(row + 2 - first) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        let window = |count: usize| {
            escape_controls(&line.chars().skip(from).take(count).collect::<String>()).0
        };
        let mut shown = window(WIDTH);
        let left = if from > 0 && !shown.is_empty() { "…" } else { "" };
        let count = line.chars().count();
        if count > from + WIDTH {
            let _ = write!(shown, "… ({WIDTH} of {count} characters)");
        } else if !left.is_empty() {
            let _ = write!(shown, " (the last {} of {count} characters)", count - from);
        }
        out.push(format!("{:>number$} | {left}{shown}", i + 1).trim_end().to_owned());
        if i == row {
            let before = window(column - from);
            let pad: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            let left = if from > 0 { " " } else { "" };
            out.push(format!("{:>number$} | {left}{pad}^", ""));
        }
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let text = "ä\nöü x".as_bytes();
        assert_eq!(place(text, 0), (1, 1));
        assert_eq!(place(text, text.len() - 1), (2, 4));
    }

    #[test]
    fn a_word_is_quoted_whole_and_a_sign_alone() {
        assert_eq!(quoted(b"let my_name = 1;", 4), "`my_name`");
        assert_eq!(quoted(b"a) {", 1), "`)`");
        assert_eq!(quoted("→x".as_bytes(), 0), "`→`");
    }

    #[test]
    fn the_end_of_a_line_and_of_a_file_are_named() {
        assert_eq!(quoted(b"a\nb", 1), "end of the line");
        assert_eq!(quoted(b"a", 1), "end of the file");
    }

    #[test]
    fn a_frame_has_two_lines_above_and_one_below() {
        let text = b"1\n2\n3\n4 x\n5\n6\n";
        assert_eq!(frame(text, 8), "2 | 2\n3 | 3\n4 | 4 x\n  |   ^\n5 | 5");
    }

    #[test]
    fn a_caret_stays_below_its_sign_behind_tabs() {
        assert_eq!(frame(b"\tx)\n", 2), "1 | \tx)\n  | \t ^");
    }

    #[test]
    fn a_caret_stays_below_its_sign_behind_invisible_characters() {
        let text = "a\u{200b})\n".as_bytes();
        assert_eq!(frame(text, 4), format!("1 | a\\u{{200b}})\n  | {}^", " ".repeat(9)));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}!{}", "a".repeat(200), "b".repeat(200));
        let frame = frame(text.as_bytes(), 200);
        let shown = format!("1 | …{}!{}… (120 of 401 characters)", "a".repeat(60), "b".repeat(59));
        assert_eq!(frame, format!("{shown}\n  | {}^", " ".repeat(61)));
    }
}
