//! What a plan's failures are called: the facts, then the next call to make.

use std::ops::Range;

use serde_json::{Value, json};

use super::patch_words;
use super::range_words;

use crate::base::text::{line_count, line_of, numbered, visible};
use crate::base::{Code, Finding, RepoPath};
use crate::edit::locate::MAX_PLACES;
use crate::edit::near::{self, NearMiss, Sent};
use crate::edit::stage::{Refusal, Stage};
use crate::edit::{Edit, Op};

/// Everything that refuses one edit of a plan; `hash` is the file's as it stood before.
pub(super) fn refused(
    stage: &Stage<'_>,
    edit: &Edit,
    refusal: Refusal,
    hash: Option<&str>,
) -> Vec<Finding> {
    let (path, text) = (&edit.path, stage.text(&edit.path));
    let disk = stage.origin(path);
    let earlier = stage.before(path) != Some(text);
    let findings = match (refusal, &edit.op) {
        (Refusal::Lost(path), _) => vec![lost(&path)],
        (Refusal::Exists(other), _) if other != *path => return vec![exists(&other)],
        (Refusal::Exists(path), _) => vec![exists(&path)],
        (Refusal::NotFound, _) => return vec![not_found(path)],
        (Refusal::Ambiguous(at), _) => vec![ambiguous(path, text, &at)],
        (Refusal::TextNotFound, Op::Edit { old, new, .. }) => {
            vec![text_not_found((path, disk), text, old, new)]
        }
        (Refusal::Misplaced(missed), Op::Patch { hunks, matching }) => {
            patch_words::misplaced((path, disk), text, (hunks, *matching), &missed)
        }
        (Refusal::HoldsOther, Op::Delete { holds: Some(hunk) }) => {
            vec![patch_words::holds_other((path, disk), text, hunk)]
        }
        (Refusal::Range(fault), Op::Lines { range, expected, .. }) => {
            vec![range_words::refused(
                (path, disk),
                text,
                *range,
                expected.as_deref(),
                &fault,
                hash.filter(|_| !earlier),
            )]
        }
        _ => vec![lost(path)],
    };
    let told = |finding: Finding| {
        let finding = finding.with("hash", hash);
        let finding = if earlier && finding.code != Code::FileExists {
            after_earlier_parts(finding, path)
        } else {
            finding
        };
        if disk == path { finding } else { finding.with("on_disk", disk.to_string()) }
    };
    findings.into_iter().map(told).collect()
}

/// The lines of a finding stand nowhere yet: parts of the request before it have changed the file in memory.
fn after_earlier_parts(mut finding: Finding, path: &RepoPath) -> Finding {
    const END: &str = " Nothing was changed.";
    let message = finding.message.strip_suffix(END).unwrap_or(&finding.message);
    finding.message = format!(
        "{message} Lines are counted in the text that the parts before it make of {path}.{END}"
    );
    finding.with("after_earlier_parts", true)
}

/// `HASH_MISMATCH` before anything was planned.
pub(super) fn hash_mismatch(path: &RepoPath, expected: &str, stands: Option<String>) -> Finding {
    let found = stands.as_deref().unwrap_or("no file");
    let hint = match &stands {
        Some(hash) => format!("Read it again (`edt read {}`), make the edit for what stands there now, and send it with expected_hash \"{hash}\".", path.for_shell()),
        None => "There is no such file now. Check the path (`git ls-files`); for a new file use mode \"create\" without expected_hash.".to_owned(),
    };
    Finding::new(
        Code::HashMismatch,
        format!("{path} is not what the edit was made for: expected {expected}, found {found}. Nothing was changed."),
        hint,
    )
    .at(path)
    .with("expected_hash", expected)
    .with("hash", stands)
}

/// `FILE_EXISTS`.
pub(super) fn exists(path: &RepoPath) -> Finding {
    Finding::new(
        Code::FileExists,
        format!("{path} exists already. Nothing was changed."),
        "To change it use mode \"edit\"; to add to it \"append\"; to replace all of it \"overwrite\". To move something there, delete or rename it first.",
    )
    .at(path)
}

/// `FILE_NOT_FOUND`.
pub(super) fn not_found(path: &RepoPath) -> Finding {
    Finding::new(
        Code::FileNotFound,
        format!("There is no file {path}. Nothing was changed."),
        "Check the path (`git ls-files`); use mode \"create\" for a new file.",
    )
    .at(path)
}

/// `NOT_A_FILE` for a path below one that is a file.
pub(super) fn below_a_file(path: &RepoPath) -> Finding {
    let hint = "Delete or rename the file that stands in the way first, in a request of its own.";
    Finding::new(
        Code::NotAFile,
        format!("{path} would lie below a file. Nothing was changed."),
        hint,
    )
    .at(path)
}

/// `UNSUPPORTED_REPOSITORY` for a request that changes attributes and a file that they may convert.
pub(super) fn attributes_too(attributes: &RepoPath, path: &RepoPath) -> Finding {
    let message = format!(
        "The request changes {attributes} and {path}, which Git may convert as {attributes} says. Nothing was changed."
    );
    let hint = format!("Send {attributes} first, in a request of its own; then the others.");
    Finding::new(Code::UnsupportedRepository, message, hint).at(path)
}

/// `OLD_TEXT_AMBIGUOUS` with every line.
pub(super) fn ambiguous(path: &RepoPath, text: &[u8], at: &[Range<usize>]) -> Finding {
    let lines: Vec<u64> = at.iter().take(MAX_PLACES).map(|at| line_of(text, at.start)).collect();
    let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let many = at.len() > MAX_PLACES;
    let (count, more) = if many {
        (format!("more than {MAX_PLACES}"), " and on")
    } else {
        (at.len().to_string(), "")
    };
    Finding::new(
        Code::OldTextAmbiguous,
        format!("`old_text` stands {count} times in {path}, at lines {}{more}. Nothing was changed.", shown.join(", ")),
        "Add lines before or after it to `old_text` until it stands there once, or set replace_all to change every place.",
    )
    .at(path)
    .with("count", if many { Value::Null } else { at.len().into() })
    .with("lines", lines)
    .with("truncated", many)
}

/// `OLD_TEXT_NOT_FOUND` with the nearest miss.
pub(super) fn text_not_found(
    (path, disk): (&RepoPath, &RepoPath),
    text: &[u8],
    old: &[u8],
    new: &[u8],
) -> Finding {
    let already = (!new.is_empty())
        .then(|| memchr::memmem::find(text, new))
        .flatten()
        .map(|at| line_of(text, at));
    let near = near::nearest(text, old, Sent::Text);
    let mut message = format!(
        "`old_text` ({} lines) does not stand in {path} ({} lines).",
        line_count(old),
        line_count(text)
    );
    let mut hint = format!(
        "Read the file (`edt read {}`) and send `old_text` exactly as it stands there.",
        disk.for_shell()
    );
    if let Some(near) = &near {
        message.push(' ');
        message.push_str(&describe(near));
        if near.white_space_only {
            "Only white space differs there: copy the line as it stands (· is a space, → a tab, ␍ a carriage return)."
                .clone_into(&mut hint);
        }
    }
    if let Some(line) = already {
        message.push_str(&format!(" The new text stands there already, at line {line}."));
        hint = format!("If that edit was made before, there is nothing to do. Else: {hint}");
    }
    message.push_str(" Nothing was changed.");
    let finding = Finding::new(Code::OldTextNotFound, message, hint)
        .at(path)
        .with("already_applied", already.is_some());
    finding.with("nearest", near.as_ref().map(|near| nearest(text, near)))
}

/// The nearest place as evidence.
pub(super) fn nearest(text: &[u8], near: &NearMiss) -> Value {
    let first = near.first_line - 1;
    let context = numbered(text, first..first + near.lines.min(20), 2);
    json!({
        "line": near.first_line,
        "equal_lines": near.equal_lines,
        "lines": near.lines,
        "differs_at": near.differs_at,
        "sent": visible(&near.sent),
        "stands": near.stands.as_deref().map(visible),
        "white_space_only": near.white_space_only,
        "context": context,
    })
}

/// The nearest place in a sentence.
pub(super) fn describe(near: &NearMiss) -> String {
    let place = format!(
        "The nearest place is line {}, where {} of {} lines are equal",
        near.first_line, near.equal_lines, near.lines
    );
    match (&near.differs_at, &near.stands) {
        (Some(line), Some(stands)) => {
            format!(
                "{place}; line {line} differs first: sent {:?}, found {:?}.",
                visible(&near.sent),
                visible(stands)
            )
        }
        _ => format!("{place}; the file ends before {:?}.", visible(&near.sent)),
    }
}

/// A path that was checked and is gone: a defect.
pub(super) fn lost(path: &RepoPath) -> Finding {
    Finding::new(
        Code::Internal,
        format!("{path} was not looked at."),
        "Report the request with this message.",
    )
    .at(path)
}
