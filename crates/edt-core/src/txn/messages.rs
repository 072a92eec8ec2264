//! The findings of a plan that fails: the facts, then the next call to make.

use std::ops::Range;

use serde_json::Value;

use super::nearest::{describe, nearest};
use super::patch_messages;
use super::range_messages;
use super::symbol_messages;

use edt_edit::locate::MAX_PLACES;
use edt_edit::near::{self, SearchUnit};
use edt_edit::stage::{EditError, EditedFiles};
use edt_edit::{Edit, Op};
use edt_types::text::{counted, line_count, line_of};
use edt_types::{Code, Finding, RepoPath};

/// The findings for one edit that was refused; `hash` is the file's blob id on disk.
pub(super) fn refused(
    stage: &EditedFiles<'_>,
    edit: &Edit,
    refusal: EditError,
    hash: Option<&str>,
) -> Vec<Finding> {
    let (path, text) = (&edit.path, stage.text(&edit.path));
    let disk = stage.origin(path);
    let earlier = stage.before(path) != Some(text);
    let findings = match (refusal, &edit.op) {
        (EditError::UnknownPath(path), _) => vec![lost(&path)],
        (EditError::Exists(other), _) if other != *path => return vec![exists(&other)],
        (EditError::Exists(path), _) => vec![exists(&path)],
        (EditError::NotFound, _) => return vec![not_found(path)],
        (EditError::Ambiguous(at), _) => vec![ambiguous(path, text, &at)],
        (EditError::TextNotFound, Op::Edit { old, new, .. }) => {
            vec![text_not_found((path, disk), text, old, new)]
        }
        (EditError::UnplacedHunks(missed), Op::Patch { hunks, matching }) => {
            patch_messages::misplaced((path, disk), text, (hunks, *matching), &missed)
        }
        (EditError::ContentMismatch, Op::Delete { holds: Some(hunk) }) => {
            vec![patch_messages::content_differs((path, disk), text, hunk)]
        }
        (EditError::Anchor(found), Op::Anchored { first, last, .. }) => {
            vec![range_messages::anchors_differ((path, disk), text, (*first, *last), found)]
        }
        (EditError::Symbol(fault), Op::Symbol(symbol_edit)) => {
            vec![symbol_messages::refused(path, symbol_edit, &fault)]
        }
        (EditError::Range(fault), Op::Lines { range, expected, .. }) => {
            vec![range_messages::refused(
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
    let complete = |finding: Finding| {
        let finding = finding.with("hash", hash);
        let finding = if earlier && finding.code != Code::FileExists {
            after_earlier_parts(finding, path)
        } else {
            finding
        };
        if disk == path { finding } else { finding.with("on_disk", disk.text()) }
    };
    findings.into_iter().map(complete).collect()
}

/// Says that the lines of a finding are not those on disk: earlier edits of the request have
/// changed the file in memory.
fn after_earlier_parts(mut finding: Finding, path: &RepoPath) -> Finding {
    let note =
        format!(" Line numbers are those of {path} after the earlier edits of this request.");
    finding.summary.push_str(&note);
    finding.with("after_earlier_parts", true)
}

pub(super) fn hash_mismatch(path: &RepoPath, expected: &str, found: Option<String>) -> Finding {
    let shown = found.as_deref().unwrap_or("no file");
    let hint = match &found {
        Some(hash) => format!(
            "Read it again (`edt read {}`), make the edit for the present text, and send it with \
             expected_hash \"{hash}\".",
            path.for_shell()
        ),
        None => "There is no such file now. Check the path (`git ls-files`); for a new file use \
                 mode \"create\" without expected_hash."
            .to_owned(),
    };
    Finding::new(
        Code::HashMismatch,
        format!(
            "{path} is not the file that the edit was made for: expected {expected}, found {shown}."
        ),
        hint,
    )
    .nothing_changed()
    .at(path)
    .with("expected_hash", expected)
    .with("hash", found)
}

pub(super) fn exists(path: &RepoPath) -> Finding {
    Finding::new(
        Code::FileExists,
        format!("{path} exists already."),
        "To change it use mode \"edit\"; to add to it \"append\"; to replace all of it \
         \"overwrite\". To move something there, delete or rename it first.",
    )
    .nothing_changed()
    .at(path)
}

pub(super) fn becomes_visible(from: &RepoPath, to: &RepoPath) -> Finding {
    Finding::new(
        Code::ProtectedPath,
        format!(
            "Git ignores {from} and not {to}: the rename would put the content of an ignored file \
             into a commit."
        ),
        format!(
            "Rename it to a path that Git ignores. If {to} may be public, create it (mode \
             \"create\") with exactly the content that belongs there."
        ),
    )
    .nothing_changed()
    .at(from)
    .with("to", to.text())
}

pub(super) fn not_found(path: &RepoPath) -> Finding {
    Finding::new(
        Code::FileNotFound,
        format!("There is no file {path}."),
        "Check the path (`git ls-files`); use mode \"create\" for a new file.",
    )
    .nothing_changed()
    .at(path)
}

/// `NOT_A_FILE` for a path with a file as its parent.
pub(super) fn below_a_file(path: &RepoPath) -> Finding {
    Finding::new(
        Code::NotAFile,
        format!("A parent directory of {path} is a file."),
        "Delete or rename that file first, in a separate request.",
    )
    .nothing_changed()
    .at(path)
}

/// `UNSUPPORTED_REPOSITORY` for a request that changes `.gitattributes` and a file that it may
/// convert.
pub(super) fn attributes_too(attributes: &RepoPath, path: &RepoPath) -> Finding {
    let message = format!(
        "The request changes {attributes} and {path}, which Git may convert by {attributes}."
    );
    let hint = format!("Send {attributes} first, in a separate request; then the others.");
    Finding::new(Code::UnsupportedRepository, message, hint).nothing_changed().at(path)
}

/// `OLD_TEXT_AMBIGUOUS` with the line of every match.
pub(super) fn ambiguous(path: &RepoPath, text: &[u8], at: &[Range<usize>]) -> Finding {
    let lines: Vec<u64> = at.iter().take(MAX_PLACES).map(|at| line_of(text, at.start)).collect();
    let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let many = at.len() > MAX_PLACES;
    let (count, more) = if many {
        (format!("more than {MAX_PLACES}"), " and more")
    } else {
        (at.len().to_string(), "")
    };
    Finding::new(
        Code::OldTextAmbiguous,
        format!("`old_text` occurs {count} times in {path}, at lines {}{more}.", shown.join(", ")),
        "Add lines before or after it to `old_text` until it occurs once, or set replace_all to \
         change every place.",
    )
    .nothing_changed()
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
    let near = near::nearest(text, old, SearchUnit::Text);
    let mut message = format!(
        "`old_text` ({}) was not found in {path} ({}).",
        counted(line_count(old), "line"),
        counted(line_count(text), "line")
    );
    let mut hint = format!(
        "Read the file (`edt read {}`) and send `old_text` exactly as it is there.",
        disk.for_shell()
    );
    if let Some(near) = &near {
        message.push(' ');
        message.push_str(&describe(near));
        if near.white_space_only {
            "Only white space differs there: copy the line as it is (· is a space, → a tab, ␍ a \
             carriage return)."
                .clone_into(&mut hint);
        }
    }
    if let Some(line) = already {
        message.push_str(&format!(" The new text is in the file already, at line {line}."));
        hint = format!("If that edit was made before, there is nothing to do. Else: {hint}");
    }
    let finding = Finding::new(Code::OldTextNotFound, message, hint)
        .nothing_changed()
        .at(path)
        .with("already_applied", already.is_some());
    finding.with("nearest", near.as_ref().map(|near| nearest(text, near)))
}

/// `INTERNAL`: the plan has a path that was never read.
pub(super) fn lost(path: &RepoPath) -> Finding {
    Finding::new(
        Code::Internal,
        format!("{path} was not read before the edit was planned."),
        "Report the request with this message.",
    )
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::path;
    use edt_edit::near::NearMiss;
    use serde_json::json;

    #[test]
    fn another_file_than_expected_is_shown_by_both_hashes() {
        let finding = Finding::new(
            Code::HashMismatch,
            "a.txt is not the file that the edit was made for: expected abcdef1, found 1234567.",
            "Read it again (`edt read a.txt`), make the edit for the present text, and send it \
             with expected_hash \"1234567\".",
        );
        let finding = finding
            .nothing_changed()
            .at(&path("a.txt"))
            .with("expected_hash", "abcdef1")
            .with("hash", "1234567");
        assert_eq!(hash_mismatch(&path("a.txt"), "abcdef1", Some("1234567".into())), finding);
    }

    #[test]
    fn a_missing_file_has_no_hash() {
        let finding = hash_mismatch(&path("a.txt"), "abcdef1", None);
        assert_eq!(
            (finding.summary.as_str(), finding.remedy.as_str()),
            (
                "a.txt is not the file that the edit was made for: expected abcdef1, found no \
                 file.",
                "There is no such file now. Check the path (`git ls-files`); for a new file use \
                 mode \"create\" without expected_hash."
            )
        );
        assert_eq!(finding.evidence["hash"], Value::Null);
    }

    #[test]
    fn an_existing_file_names_the_modes_that_change_it() {
        let finding = Finding::new(
            Code::FileExists,
            "a.txt exists already.",
            "To change it use mode \"edit\"; to add to it \"append\"; to replace all of it \
             \"overwrite\". To move something there, delete or rename it first.",
        );
        assert_eq!(exists(&path("a.txt")), finding.nothing_changed().at(&path("a.txt")));
    }

    #[test]
    fn an_ambiguous_text_has_the_line_of_every_place() {
        let finding = Finding::new(
            Code::OldTextAmbiguous,
            "`old_text` occurs 2 times in a.txt, at lines 1, 3.",
            "Add lines before or after it to `old_text` until it occurs once, or set replace_all \
             to change every place.",
        );
        let finding = finding
            .nothing_changed()
            .at(&path("a.txt"))
            .with("count", 2)
            .with("lines", vec![1, 3])
            .with("truncated", false);
        assert_eq!(ambiguous(&path("a.txt"), b"x\ny\nx\n", &[0..1, 4..5]), finding);
    }

    #[test]
    fn a_text_with_too_many_places_has_no_count() {
        let text = b"x\n".repeat(MAX_PLACES + 1);
        let at: Vec<Range<usize>> = (0..=MAX_PLACES).map(|n| 2 * n..2 * n + 1).collect();
        let finding = ambiguous(&path("a.txt"), &text, &at);
        let start =
            format!("`old_text` occurs more than {MAX_PLACES} times in a.txt, at lines 1, 2, ");
        assert!(finding.summary.starts_with(&start) && finding.summary.ends_with(" and more."));
        assert_eq!(
            (&finding.evidence["count"], &finding.evidence["truncated"]),
            (&Value::Null, &json!(true))
        );
    }

    fn not_found_in(text: &str, old: &str, new: &str) -> Finding {
        let file = path("a.txt");
        text_not_found((&file, &file), text.as_bytes(), old.as_bytes(), new.as_bytes())
    }

    #[test]
    fn the_nearest_place_shows_the_first_difference() {
        let finding = not_found_in("alpha one\nbeta two\n", "alpha one\nbeta too\n", "x");
        assert_eq!(
            finding.summary,
            "`old_text` (2 lines) was not found in a.txt (2 lines). The nearest place is line 1, \
             where 1 of 2 lines are equal; line 2 differs first: sent \"beta·too\", found \
             \"beta·two\"."
        );
        assert_eq!(
            finding.evidence["nearest"],
            json!({
                "line": 1, "equal_lines": 1, "lines": 2, "differs_at": 2, "sent": "beta·too",
                "found": "beta·two", "white_space_only": false,
                "context": "1 | alpha one\n2 | beta two\n",
            })
        );
    }

    #[test]
    fn a_difference_of_white_space_says_how_it_is_shown() {
        let finding = not_found_in("\tif (ready) {\n", "    if (ready) {\n", "x");
        assert_eq!(
            finding.remedy,
            "Only white space differs there: copy the line as it is (· is a space, → a tab, ␍ a \
             carriage return)."
        );
    }

    #[test]
    fn a_text_without_a_similar_place_shows_none() {
        let finding = not_found_in("alpha\n", "0123456789\n", "x");
        assert_eq!(finding.summary, "`old_text` (1 line) was not found in a.txt (1 line).");
        assert_eq!(
            (&finding.evidence["nearest"], finding.remedy.as_str()),
            (
                &Value::Null,
                "Read the file (`edt read a.txt`) and send `old_text` exactly as it is there."
            )
        );
    }

    #[test]
    fn a_change_that_was_made_already_is_named_with_its_line() {
        let finding = not_found_in("zero\nnew text\n", "0123456789", "new text");
        assert!(finding.summary.ends_with(" The new text is in the file already, at line 2."));
        assert!(
            finding
                .remedy
                .starts_with("If that edit was made before, there is nothing to do. Else: ")
        );
        assert_eq!(finding.evidence["already_applied"], true);
    }

    #[test]
    fn a_deletion_was_not_made_already() {
        let finding = not_found_in("zero\n", "0123456789", "");
        assert_eq!(finding.evidence["already_applied"], false);
    }

    #[test]
    fn a_text_beyond_the_end_of_the_file_is_described() {
        let near = NearMiss {
            first_line: 4,
            equal_lines: 1,
            lines: 3,
            differs_at: None,
            sent: b"more".to_vec(),
            found: None,
            white_space_only: false,
        };
        assert_eq!(
            describe(&near),
            "The nearest place is line 4, where 1 of 3 lines are equal; the file ends before \
             \"more\"."
        );
    }

    /// The findings of the second edit, after the first was applied.
    fn second(first: &Edit, second: &Edit) -> Vec<Finding> {
        let mut stage = EditedFiles::default()
            .with(path("a.txt"), Some((b"one\ntwo\n", false)))
            .with(path("b.txt"), None);
        stage.apply(first).unwrap();
        let refusal = stage.apply(second).unwrap_err();
        refused(&stage, second, refusal, Some("abcdef1"))
    }

    fn edit(named: &str, op: Op) -> Edit {
        Edit { path: path(named), expect: edt_edit::Expect::Anything, op }
    }

    fn replace(old: &str) -> Op {
        let occurrences = edt_edit::locate::Occurrences::One;
        let matching = edt_edit::place::Matching::Strict;
        Op::Edit { old: old.into(), new: b"x".to_vec(), occurrences, matching }
    }

    #[test]
    fn a_finding_after_another_edit_says_whose_lines_it_counts() {
        let found = second(&edit("a.txt", replace("one")), &edit("a.txt", replace("0123456789")));
        assert!(found[0].summary.ends_with(
            " Line numbers are those of a.txt after the earlier edits of this request."
        ));
        assert_eq!(
            (&found[0].evidence["after_earlier_parts"], &found[0].evidence["hash"]),
            (&json!(true), &json!("abcdef1"))
        );
    }

    #[test]
    fn a_finding_in_a_renamed_file_has_its_name_on_disk() {
        let rename = edit("a.txt", Op::Rename { to: path("b.txt") });
        let found = second(&rename, &edit("b.txt", replace("0123456789")));
        assert_eq!(
            (found[0].path.as_deref(), &found[0].evidence["on_disk"]),
            (Some("b.txt"), &json!("a.txt"))
        );
        assert!(found[0].remedy.contains("`edt read a.txt`"), "{}", found[0].remedy);
    }

    #[test]
    fn an_edit_of_a_file_that_an_earlier_one_deleted_finds_no_file() {
        let delete = edit("a.txt", Op::Delete { holds: None });
        let found = second(&delete, &edit("a.txt", replace("one")));
        assert_eq!(found, [not_found(&path("a.txt"))]);
    }
}
