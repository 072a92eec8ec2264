//! The findings of an edit by line numbers that is refused.

use edt_edit::LineRange;
use edt_edit::line_anchor::{self, AnchoredLines, LineAnchor};
use edt_edit::range::RangeError;
use edt_edit::table::content;
use edt_types::text::{BOM, counted, lines, numbered, visible};
use edt_types::{Code, Finding, RepoPath};

/// The most anchors that a finding has.
const MAX_ANCHORS: usize = 60;
/// Longest text that a finding includes for the next request, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// `LINE_OUT_OF_RANGE`, `TEXT_MISMATCH` or `HASH_REQUIRED`, with the present text of the lines.
/// `disk` is the present name of the file.
pub(super) fn refused(
    (path, disk): (&RepoPath, &RepoPath),
    text: &[u8],
    range: LineRange,
    expected: Option<&[u8]>,
    fault: &RangeError,
    hash: Option<&str>,
) -> Finding {
    // The byte order mark is not part of the first line.
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let (first, last, what) = match range {
        LineRange::Before(line) => (line, line, format!("line {line}")),
        LineRange::Of(first, last) if first == last => (first, last, format!("line {first}")),
        LineRange::Of(first, last) => (first, last, format!("lines {first} to {last}")),
    };
    let from = first.saturating_sub(1);
    let found: Vec<&[u8]> = lines(text).skip(from).take(last.saturating_sub(from)).collect();
    let shown = found.concat();
    let sendable = std::str::from_utf8(&shown).ok().filter(|shown| shown.len() <= MAX_TEXT);
    let finding = match fault {
        RangeError::OutOfRange(total) => {
            let missing = match range {
                LineRange::Before(_) => {
                    format!("text goes before line 1 to {}, not {first}", total.saturating_add(1))
                }
                LineRange::Of(..) if first == last => format!("there is no {what}"),
                LineRange::Of(..) => format!("{what} are not all in it"),
            };
            let message = format!("{path} has {}; {missing}.", counted(*total, "line"));
            let hint = format!(
                "Read the file (`edt read {}`) and send the numbers that it has now.",
                disk.for_shell()
            );
            return Finding::new(Code::LineOutOfRange, message, hint)
                .nothing_changed()
                .at(path)
                .with("total_lines", *total);
        }
        RangeError::NotVerified => {
            blind(path, disk, &what, (from + 1, last), sendable.is_some(), hash)
        }
        RangeError::Shifted => moved(path, &what, sendable.is_some()),
        RangeError::Mismatch => mismatch(path, &what, first, &found, expected.unwrap_or_default()),
    };
    let finding = finding.at(path).with("context", numbered(text, from..from + found.len(), 2));
    match sendable {
        Some(shown) => finding.with("text", shown).with("truncated", false),
        None => finding
            .with("text", serde_json::Value::Null)
            .with("truncated", shown.len() > MAX_TEXT)
            .with("text_bytes", shown.len()),
    }
}

fn blind(
    path: &RepoPath,
    disk: &RepoPath,
    what: &str,
    (first, last): (usize, usize),
    sendable: bool,
    hash: Option<&str>,
) -> Finding {
    let message =
        format!("The edit changes {what} of {path} without the text that it expects there.");
    let by_hash = hash.map(|hash| format!("with expected_hash {hash:?}"));
    let hint = if sendable {
        let or = by_hash.map_or_else(String::new, |by_hash| format!(", or {by_hash}"));
        format!(
            "If evidence.text is the text to change, repeat the edit with it as \
             `expected_text`{or}."
        )
    } else {
        let by_hash = by_hash.unwrap_or_else(|| "with the file's hash as expected_hash".to_owned());
        format!(
            "Read the lines (`edt read --lines {first}:{last} {}`); if they are the lines to \
             change, repeat the edit {by_hash}.",
            disk.for_shell()
        )
    };
    Finding::new(Code::HashRequired, message, hint).nothing_changed()
}

fn moved(path: &RepoPath, what: &str, sendable: bool) -> Finding {
    let message = format!(
        "An earlier edit of the request changes or moves {what} of {path}, so that `expected_hash` \
         does not determine their text."
    );
    let before = "send this edit before the ones that change or move its lines, or join them";
    let hint = if sendable {
        format!(
            "If evidence.text is the text to change, repeat the edit with it as `expected_text`; \
             else {before}."
        )
    } else {
        format!("{}{}.", before[..1].to_uppercase(), &before[1..])
    };
    Finding::new(Code::HashRequired, message, hint).nothing_changed()
}

fn mismatch(
    path: &RepoPath,
    what: &str,
    first: usize,
    found: &[&[u8]],
    expected: &[u8],
) -> Finding {
    let expected = expected.strip_prefix(BOM).filter(|_| first == 1).unwrap_or(expected);
    let expected: Vec<&[u8]> = lines(expected).collect();
    let differs = (0..found.len().max(expected.len())).find(|&i| {
        found.get(i).map(|line| content(line)) != expected.get(i).map(|line| content(line))
    });
    let i = differs.unwrap_or(0);
    let show = |line: Option<&&[u8]>| {
        line.map_or_else(|| "nothing".to_owned(), |line| format!("{:?}", visible(content(line))))
    };
    let message = format!(
        "The text of {path} at {what} differs from `expected_text` ({}, expected {}); line \
         {} differs first: expected {}, found {}.",
        counted(found.len(), "line"),
        expected.len(),
        first + i,
        show(expected.get(i)),
        show(found.get(i)),
    );
    let hint = "Find the text (evidence.context, or `edt read`) and send its present line numbers \
                and text, or use mode \"edit\" with `old_text`.";
    Finding::new(Code::TextMismatch, message, hint).nothing_changed().with("differs_at", first + i)
}

/// `TEXT_MISMATCH` or `LINE_OUT_OF_RANGE` for lines that are not those of the anchors, with the
/// present lines and their anchors.
pub(super) fn anchors_differ(
    (path, disk): (&RepoPath, &RepoPath),
    text: &[u8],
    (first, last): (LineAnchor, LineAnchor),
    found: AnchoredLines,
) -> Finding {
    let read = format!("`edt read {} --anchors` prints the present ones.", disk.for_shell());
    if let AnchoredLines::OutOfRange(total) = found {
        let message =
            format!("{path} has {}; {first} and {last} are not all in it.", counted(total, "line"));
        return Finding::new(Code::LineOutOfRange, message, format!("Read the file again: {read}"))
            .nothing_changed()
            .at(path)
            .with("total_lines", total);
    }
    if let AnchoredLines::Moved(start, end) = found {
        let shown = line_anchor::anchors(text, &[start..=start, end..=end]);
        let [start_anchor, end_anchor] = [shown.first(), shown.last()]
            .map(|one| one.map_or_else(String::new, ToString::to_string));
        let message = format!(
            "The lines of the anchors {first} and {last} of {path} are not at these numbers. Such lines \
             are now {start} to {end}."
        );
        let remedy = format!(
            "If they are meant, send start_anchor \"{start_anchor}\" and end_anchor \
             \"{end_anchor}\". {read}"
        );
        return Finding::new(Code::TextMismatch, message, remedy)
            .nothing_changed()
            .at(path)
            .with("start_anchor", start_anchor)
            .with("end_anchor", end_anchor);
    }
    let (lines, are) = if first == last {
        (format!("Line {}", first.line), "is not the one")
    } else {
        (format!("The lines {} to {}", first.line, last.line), "are not those")
    };
    let end = last.line.max(first.line);
    let shown =
        line_anchor::anchors(text, &[first.line..=end.min(first.line.saturating_add(MAX_ANCHORS))]);
    let anchors: Vec<String> = shown.iter().map(ToString::to_string).collect();
    let body = text.strip_prefix(BOM).unwrap_or(text);
    Finding::new(
        Code::TextMismatch,
        format!("{lines} of {path} {are} of the anchors {first} and {last}: the file changed."),
        format!(
            "Send the edit for the present lines with their anchors (evidence.anchors). {read}"
        ),
    )
    .nothing_changed()
    .at(path)
    .with("context", numbered(body, first.line - 1..end, 2))
    .with("anchors", anchors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::path;
    use serde_json::json;

    const TEXT: &[u8] = b"one\ntwo\nthree\n";

    fn found(
        range: LineRange,
        expected: Option<&str>,
        fault: &RangeError,
        hash: Option<&str>,
    ) -> Finding {
        let file = path("a.txt");
        refused((&file, &file), TEXT, range, expected.map(str::as_bytes), fault, hash)
    }

    fn out_of_range(range: LineRange) -> String {
        found(range, None, &RangeError::OutOfRange(3), None).summary
    }

    #[test]
    fn a_line_that_does_not_exist_is_out_of_range() {
        let finding = Finding::new(
            Code::LineOutOfRange,
            "a.txt has 3 lines; there is no line 9.",
            "Read the file (`edt read a.txt`) and send the numbers that it has now.",
        );
        let finding = finding.nothing_changed().at(&path("a.txt")).with("total_lines", 3);
        assert_eq!(found(LineRange::Of(9, 9), None, &RangeError::OutOfRange(3), None), finding);
    }

    #[test]
    fn lines_that_end_after_the_file_are_not_all_in_it() {
        assert_eq!(
            out_of_range(LineRange::Of(2, 9)),
            "a.txt has 3 lines; lines 2 to 9 are not all in it."
        );
    }

    #[test]
    fn text_goes_at_most_after_the_last_line() {
        assert_eq!(
            out_of_range(LineRange::Before(9)),
            "a.txt has 3 lines; text goes before line 1 to 4, not 9."
        );
    }

    #[test]
    fn lines_without_their_text_are_shown_to_be_confirmed() {
        let finding = Finding::new(
            Code::HashRequired,
            "The edit changes lines 2 to 3 of a.txt without the text that it expects there.",
            "If evidence.text is the text to change, repeat the edit with it as `expected_text`, \
             or with expected_hash \"abcdef1\".",
        );
        let finding = finding
            .nothing_changed()
            .at(&path("a.txt"))
            .with("context", "1 | one\n2 | two\n3 | three\n")
            .with("text", "two\nthree\n")
            .with("truncated", false);
        assert_eq!(
            found(LineRange::Of(2, 3), None, &RangeError::NotVerified, Some("abcdef1")),
            finding
        );
    }

    #[test]
    fn without_a_hash_only_the_text_confirms_lines() {
        assert_eq!(
            found(LineRange::Of(2, 2), None, &RangeError::NotVerified, None).remedy,
            "If evidence.text is the text to change, repeat the edit with it as `expected_text`."
        );
    }

    #[test]
    fn lines_that_json_cannot_have_are_confirmed_by_the_hash() {
        let file = path("a.bin");
        let (range, fault) = (LineRange::Of(1, 1), RangeError::NotVerified);
        let finding = refused((&file, &file), b"\xff\n", range, None, &fault, Some("abcdef1"));
        assert_eq!(
            finding.remedy,
            "Read the lines (`edt read --lines 1:1 a.bin`); if they are the lines to change, \
             repeat the edit with expected_hash \"abcdef1\"."
        );
        assert_eq!(
            (&finding.evidence["text"], &finding.evidence["text_bytes"]),
            (&json!(null), &json!(2))
        );
    }

    #[test]
    fn lines_that_an_earlier_edit_moved_are_not_determined_by_the_hash() {
        let finding = found(LineRange::Of(2, 2), None, &RangeError::Shifted, Some("abcdef1"));
        assert_eq!(
            (finding.summary.as_str(), finding.remedy.as_str()),
            (
                "An earlier edit of the request changes or moves line 2 of a.txt, so that \
                 `expected_hash` does not determine their text.",
                "If evidence.text is the text to change, repeat the edit with it as \
                 `expected_text`; else send this edit before the ones that change or move its \
                 lines, or join them."
            )
        );
    }

    #[test]
    fn lines_with_another_text_show_the_first_difference() {
        let range = LineRange::Of(1, 2);
        let finding = found(range, Some("one\ntoo\n"), &RangeError::Mismatch, None);
        assert_eq!(
            finding.summary,
            "The text of a.txt at lines 1 to 2 differs from `expected_text` (2 lines, expected \
             2); line 2 differs first: expected \"too\", found \"two\"."
        );
        assert_eq!(
            (finding.code, &finding.evidence["differs_at"]),
            (Code::TextMismatch, &json!(2))
        );
    }

    #[test]
    fn fewer_lines_than_expected_differ_where_they_end() {
        let range = LineRange::Of(3, 3);
        let finding = found(range, Some("three\nfour\n"), &RangeError::Mismatch, None);
        assert!(finding.summary.ends_with(
            "(1 line, expected 2); line 4 differs first: expected \"four\", found nothing."
        ));
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_first_line() {
        let file = path("a.txt");
        let (range, fault) = (LineRange::Of(1, 1), RangeError::NotVerified);
        let finding = refused((&file, &file), b"\xef\xbb\xbfone\n", range, None, &fault, None);
        assert_eq!(finding.evidence["text"], "one\n");
    }
}
