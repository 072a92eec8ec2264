//! What an edit by line numbers is refused with.

use crate::base::text::{line_count, lines, numbered, visible};
use crate::base::{Code, Finding, RepoPath};
use crate::edit::LineRange;
use crate::edit::range::RangeFault;
use crate::edit::table::content;

/// Longest text that is sent along to be sent back, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// `LINE_OUT_OF_RANGE`, `TEXT_MISMATCH` or `HASH_REQUIRED`, with what stands there.
pub(super) fn refused(
    path: &RepoPath,
    text: &[u8],
    range: LineRange,
    expected: Option<&[u8]>,
    fault: &RangeFault,
    hash: Option<&str>,
) -> Finding {
    let (first, last, what) = match range {
        LineRange::Before(line) => (line, line, format!("line {line}")),
        LineRange::Of(first, last) if first == last => (first, last, format!("line {first}")),
        LineRange::Of(first, last) => (first, last, format!("lines {first} to {last}")),
    };
    let stands: Vec<&[u8]> = lines(text).skip(first.saturating_sub(1)).take((last + 1).saturating_sub(first)).collect();
    let finding = match fault {
        RangeFault::OutOfRange(total) => {
            let missing = match range {
                LineRange::Before(_) => format!("text goes before line 1 to {}, not {first}", total + 1),
                LineRange::Of(..) if first == last => format!("there is no {what}"),
                LineRange::Of(..) => format!("{what} are not all there"),
            };
            let message = format!("{path} has {total} lines; {missing}. Nothing was changed.");
            let hint = format!("Read the file (`edt read {path}`) and send the numbers that it has now.");
            return Finding::new(Code::LineOutOfRange, message, hint).at(path).with("lines", *total);
        }
        RangeFault::Blind => blind(path, &what, hash),
        RangeFault::Mismatch => mismatch(path, &what, first, &stands, expected.unwrap_or_default()),
    };
    let shown = stands.concat();
    let context =
        numbered(text, first.saturating_sub(1)..last.min(usize::try_from(line_count(text)).unwrap_or(last)), 2);
    let finding = finding.at(path).with("context", context);
    match std::str::from_utf8(&shown) {
        Ok(shown) if shown.len() <= MAX_TEXT => finding.with("text", shown).with("truncated", false),
        _ => finding.with("text", serde_json::Value::Null).with("truncated", true).with("text_bytes", shown.len()),
    }
}

fn blind(path: &RepoPath, what: &str, hash: Option<&str>) -> Finding {
    let message = format!(
        "The edit changes {what} of {path} without saying what stands there (or an earlier edit of the request moved those lines). Nothing was changed."
    );
    let hash = hash.map_or_else(String::new, |hash| {
        format!(", or with expected_hash {hash:?} if no earlier edit of the request moves them")
    });
    let hint =
        format!("If evidence.text is what you mean to change, repeat the edit with it as `expected_text`{hash}.");
    Finding::new(Code::HashRequired, message, hint)
}

fn mismatch(path: &RepoPath, what: &str, first: usize, stands: &[&[u8]], expected: &[u8]) -> Finding {
    let expected: Vec<&[u8]> = lines(expected).collect();
    let differs = (0..stands.len().max(expected.len()))
        .find(|&i| stands.get(i).map(|line| content(line)) != expected.get(i).map(|line| content(line)));
    let i = differs.unwrap_or(0);
    let show = |line: Option<&&[u8]>| {
        line.map_or_else(|| "nothing".to_owned(), |line| format!("{:?}", visible(content(line))))
    };
    let message = format!(
        "{path} holds other text at {what} than `expected_text` ({} lines, expected {}); line {} differs first: expected {}, found {}. Nothing was changed.",
        stands.len(),
        expected.len(),
        first + i,
        show(expected.get(i)),
        show(stands.get(i)),
    );
    let hint = "Look where the text stands now (evidence.context, or `edt read`) and send its numbers and its text, or use mode \"edit\" with `old_text`.";
    Finding::new(Code::TextMismatch, message, hint).with("differs_at", first + i)
}
