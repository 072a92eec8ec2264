//! What an edit by line numbers is refused with.

use crate::base::text::{BOM, lines, numbered, visible};
use crate::base::{Code, Finding, RepoPath};
use crate::edit::LineRange;
use crate::edit::range::RangeFault;
use crate::edit::table::content;

/// Longest text that is sent along to be sent back, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// `LINE_OUT_OF_RANGE`, `TEXT_MISMATCH` or `HASH_REQUIRED`, with what stands there. `disk` is the name that the file has now.
pub(super) fn refused(
    (path, disk): (&RepoPath, &RepoPath),
    text: &[u8],
    range: LineRange,
    expected: Option<&[u8]>,
    fault: &RangeFault,
    hash: Option<&str>,
) -> Finding {
    // The mark is no part of the first line.
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let (first, last, what) = match range {
        LineRange::Before(line) => (line, line, format!("line {line}")),
        LineRange::Of(first, last) if first == last => (first, last, format!("line {first}")),
        LineRange::Of(first, last) => (first, last, format!("lines {first} to {last}")),
    };
    let from = first.saturating_sub(1);
    let stands: Vec<&[u8]> = lines(text).skip(from).take(last.saturating_sub(from)).collect();
    let shown = stands.concat();
    let sendable = std::str::from_utf8(&shown).ok().filter(|shown| shown.len() <= MAX_TEXT);
    let finding = match fault {
        RangeFault::OutOfRange(total) => {
            let missing = match range {
                LineRange::Before(_) => {
                    format!("text goes before line 1 to {}, not {first}", total.saturating_add(1))
                }
                LineRange::Of(..) if first == last => format!("there is no {what}"),
                LineRange::Of(..) => format!("{what} are not all there"),
            };
            let message = format!("{path} has {total} lines; {missing}. Nothing was changed.");
            let hint = format!(
                "Read the file (`edt read {}`) and send the numbers that it has now.",
                disk.for_shell()
            );
            return Finding::new(Code::LineOutOfRange, message, hint)
                .at(path)
                .with("lines", *total);
        }
        RangeFault::Blind => blind(path, disk, &what, (from + 1, last), sendable.is_some(), hash),
        RangeFault::Moved => moved(path, &what, sendable.is_some()),
        RangeFault::Mismatch => mismatch(path, &what, first, &stands, expected.unwrap_or_default()),
    };
    let finding = finding.at(path).with("context", numbered(text, from..from + stands.len(), 2));
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
    let message = format!(
        "The edit changes {what} of {path} without saying what stands there. Nothing was changed."
    );
    let by_hash = hash.map(|hash| format!("with expected_hash {hash:?}"));
    let hint = if sendable {
        let or = by_hash.map_or_else(String::new, |by_hash| format!(", or {by_hash}"));
        format!(
            "If evidence.text is what you mean to change, repeat the edit with it as `expected_text`{or}."
        )
    } else {
        let by_hash = by_hash.unwrap_or_else(|| "with the file's hash as expected_hash".to_owned());
        format!(
            "Read the lines (`edt read --lines {first}:{last} {}`); if they are what you mean to change, repeat the edit {by_hash}.",
            disk.for_shell()
        )
    };
    Finding::new(Code::HashRequired, message, hint)
}

fn moved(path: &RepoPath, what: &str, sendable: bool) -> Finding {
    let message = format!(
        "An earlier edit of the request changes or moves {what} of {path}, so that `expected_hash` does not say what stands there. Nothing was changed."
    );
    let before = "send this edit before the ones that change or move its lines, or join them";
    let hint = if sendable {
        format!(
            "If evidence.text is what you mean, repeat the edit with it as `expected_text`; else {before}."
        )
    } else {
        format!("{}{}.", before[..1].to_uppercase(), &before[1..])
    };
    Finding::new(Code::HashRequired, message, hint)
}

fn mismatch(
    path: &RepoPath,
    what: &str,
    first: usize,
    stands: &[&[u8]],
    expected: &[u8],
) -> Finding {
    let expected = expected.strip_prefix(BOM).filter(|_| first == 1).unwrap_or(expected);
    let expected: Vec<&[u8]> = lines(expected).collect();
    let differs = (0..stands.len().max(expected.len())).find(|&i| {
        stands.get(i).map(|line| content(line)) != expected.get(i).map(|line| content(line))
    });
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
