//! The answer to a transaction: the changes, with enough context that nobody must read the file
//! again.

use super::guard::Cleared;
use super::plan::{Content, FilePlan};
use crate::session::user::ownership::LeftOver;
use crate::session::{LockedWorkspace, OnDisk};
use edt_edit::context::ContextDifference;
use edt_edit::diff::DiffSummary;
use edt_git::Oid;
use edt_types::text::{Endings, numbered};
use edt_types::{FileReport, Outcome, RepoPath, Status, UserChanges, Warning, WarningCode};

/// How a file was recorded.
#[derive(Debug)]
pub struct RecordedFile {
    pub(super) path: RepoPath,
    /// The blob id of the file on disk; `None` if it was removed.
    pub(super) after: Option<Oid>,
    pub(super) user_changes: UserChanges,
    pub(super) left_over: LeftOver,
}

/// The answer for `cleared`; `recorded` says how files were recorded, if they were.
#[must_use]
pub fn of(
    workspace: &LockedWorkspace,
    cleared: &Cleared<'_>,
    status: Status,
    recorded: &[RecordedFile],
) -> Outcome {
    let mut outcome = Outcome::new(status);
    if cleared.state.exists {
        outcome.session = Some(cleared.state.session.report(false));
    }
    let moved_away = |file: &FilePlan| {
        file.after.is_none()
            && cleared.files.iter().any(|other| other.from.as_ref() == Some(&file.path))
    };
    let files =
        cleared.files.iter().zip(&cleared.diff_summaries).filter(|(file, _)| !moved_away(file));
    outcome.files = files
        .map(|(file, summary)| {
            let known = recorded.iter().find(|known| known.path == file.path);
            file_report(workspace, cleared, file, summary, known)
        })
        .collect();
    outcome.guards.clone_from(&cleared.reports);
    outcome.warnings = warnings(cleared);
    outcome.recovered.clone_from(&workspace.recovered);
    outcome
}

fn file_report(
    workspace: &LockedWorkspace,
    cleared: &Cleared<'_>,
    file: &FilePlan,
    summary: &DiffSummary,
    known: Option<&RecordedFile>,
) -> FileReport {
    let old = cleared.state.before(file);
    let after = file.after.as_ref();
    let context = after.zip(summary.changed.clone());
    let context =
        context.map(|(content, at)| numbered(&content.bytes, at, cleared.request.context));
    // A dry run records nothing.
    let planned = || cleared.separated.iter().find(|one| one.edit.state.path == file.path);
    let left_over = known.map(|known| &known.left_over);
    let left_over = left_over.or_else(|| Some(&planned()?.parts.left_over));
    let left_over = left_over.unwrap_or(&LeftOver::Nothing);
    FileReport {
        path: file.path.text(),
        change: file.change,
        from: file.from.as_ref().map(RepoPath::text),
        hash_before: old.map(|disk| disk.file.oid.to_string()),
        hash_after: after
            .and_then(|content| {
                known
                    .and_then(|known| known.after)
                    .or_else(|| workspace.repo.blob_id(content.blob()).ok())
            })
            .map(|oid| oid.to_string()),
        bytes_before: old.map(OnDisk::size),
        bytes_after: file.after.as_ref().map(Content::size),
        lines_added: summary.added,
        lines_removed: summary.removed,
        context,
        matched_by: file.step.matched_by,
        user_changes: known.map_or(UserChanges::None, |known| known.user_changes),
        recorded: left_over.recorded(),
        left_over: left_over.lines(),
    }
}

fn warnings(cleared: &Cleared<'_>) -> Vec<Warning> {
    let mut warnings = cleared.warnings.clone();
    if !cleared.request.left_out.is_empty() {
        let keys = cleared.request.left_out.join("`, `");
        let message = format!("The request has keys that edt does not use: `{keys}`.");
        warnings.push(Warning { code: WarningCode::KeysLeftOut, path: None, message });
    }
    for file in &cleared.files {
        for line in &file.step.unchecked {
            let message = format!(
                "Text was inserted before line {line}; nothing confirmed that number. See \
                 `context`, or send expected_text next time."
            );
            warnings.push(Warning {
                code: WarningCode::LineNotChecked,
                path: Some(file.path.text()),
                message,
            });
        }
        warnings.extend(file.step.differences.iter().map(|difference| Warning {
            code: WarningCode::ContextDiffers,
            path: Some(file.path.text()),
            message: context_differs(difference),
        }));
        let (Some(old), Some(new)) = (cleared.state.before(file), &file.after) else { continue };
        let warn = |code, message: &str| Warning {
            code,
            path: Some(file.path.text()),
            message: message.to_owned(),
        };
        if old.bytes.ends_with(b"\n") && !new.bytes.ends_with(b"\n") && !new.bytes.is_empty() {
            warnings.push(warn(
                WarningCode::FinalNewline,
                "The file ended with a newline; now it does not.",
            ));
        }
        if Endings::of(&old.bytes) != Endings::Mixed && Endings::of(&new.bytes) == Endings::Mixed {
            warnings
                .push(warn(WarningCode::LineEndings, "The file now mixes LF and CR LF line ends."));
        }
    }
    warnings
}

/// The longest part of a line that a warning quotes, in characters.
const MAX_QUOTED: usize = 80;

fn context_differs(difference: &ContextDifference) -> String {
    let quoted = |line: &[u8]| {
        let text = String::from_utf8_lossy(line.trim_ascii()).into_owned();
        match text.char_indices().nth(MAX_QUOTED) {
            Some((end, _)) => format!("`{}…`", &text[..end]),
            None => format!("`{text}`"),
        }
    };
    let (first, end) = (difference.lines.start + 1, difference.lines.end);
    let lines = match end.saturating_sub(difference.lines.start) {
        0 => format!("before line {first}"),
        1 => format!("at line {first}: {} in the file", quoted(&difference.found)),
        _ => format!("at lines {first} to {end}: {} in the file", quoted(&difference.found)),
    };
    let sent = match difference.sent.first() {
        Some(line) => format!("{} in the patch", quoted(line)),
        None => "nothing in the patch".to_owned(),
    };
    format!(
        "The context differs {lines}, {sent}. The file's lines stay. The other lines of the hunk \
         prove its place; copy context from `edt read` next time."
    )
}

#[cfg(test)]
mod tests {
    use crate::tests::Scratch;
    use crate::txn::Request;
    use edt_edit::{Edit, Expect, LineRange, Op};
    use edt_types::{FileChangeKind, FileReport, Warning, WarningCode};

    fn scratch() -> Scratch {
        Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), ("b.txt", "b\n")])
    }

    #[test]
    fn a_changed_file_is_reported_with_the_lines_around_the_change() {
        let scratch = scratch();
        let outcome = scratch.edit("x", "a.txt", "5\n", "five\nand a half\n");
        let (before, after) = (
            scratch.committed(scratch.session().base, "a.txt").unwrap(),
            scratch.text("a.txt").unwrap(),
        );
        let hash = |text: &str| Some(scratch.repo().blob_id(text.as_bytes()).unwrap().to_string());
        let expected = FileReport {
            path: "a.txt".into(),
            change: FileChangeKind::Modified,
            from: None,
            hash_before: hash(&before),
            hash_after: hash(&after),
            bytes_before: Some(before.len() as u64),
            bytes_after: Some(after.len() as u64),
            lines_added: 2,
            lines_removed: 1,
            context: Some(
                "2 | 2\n3 | 3\n4 | 4\n5 | five\n6 | and a half\n7 | 6\n8 | 7\n9 | 8\n".into(),
            ),
            matched_by: None,
            user_changes: edt_types::UserChanges::None,
            left_over: vec![],
            recorded: edt_types::RecordedIn::Branch,
        };
        assert_eq!(outcome.files, [expected]);
    }

    #[test]
    fn the_caller_chooses_the_number_of_context_lines() {
        let request = Request { context: 0, ..Request::new("x").edit("a.txt", "5", "five") };
        let files = scratch().apply(&request).unwrap().files;
        assert_eq!(files[0].context.as_deref(), Some("5 | five\n"));
    }

    #[test]
    fn a_renamed_file_is_one_report_with_its_old_path() {
        let files = scratch().apply(&Request::new("x").rename("b.txt", "c.txt")).unwrap().files;
        assert_eq!(files.len(), 1);
        let file = &files[0];
        assert_eq!((file.path.as_str(), file.from.as_deref()), ("c.txt", Some("b.txt")));
        assert_eq!((file.lines_added, file.lines_removed), (0, 0));
        assert_eq!(file.hash_before, file.hash_after);
    }

    #[test]
    fn a_deleted_file_has_no_content_afterwards() {
        let files = scratch().apply(&Request::new("x").delete("b.txt")).unwrap().files;
        let file = &files[0];
        assert_eq!(
            (file.change, &file.hash_after, file.bytes_after),
            (FileChangeKind::Deleted, &None, None)
        );
        assert_eq!((file.bytes_before, file.lines_removed, &file.context), (Some(2), 1, &None));
    }

    fn warnings(request: &Request) -> Vec<Warning> {
        scratch().apply(request).unwrap().warnings
    }

    fn warning(code: WarningCode, message: &str) -> Warning {
        Warning { code, path: Some("b.txt".into()), message: message.into() }
    }

    #[test]
    fn a_lost_final_newline_is_reported() {
        let expected =
            warning(WarningCode::FinalNewline, "The file ended with a newline; now it does not.");
        assert_eq!(warnings(&Request::new("x").overwrite("b.txt", "b\nc")), [expected]);
    }

    #[test]
    fn mixed_line_ends_are_reported() {
        let expected =
            warning(WarningCode::LineEndings, "The file now mixes LF and CR LF line ends.");
        let scratch = Scratch::with(&[("b.txt", "b")]);
        let request = Request::new("x").overwrite("b.txt", "b\nc\r\n");
        assert_eq!(scratch.apply(&request).unwrap().warnings, [expected]);
    }

    #[test]
    fn context_that_differs_is_reported() {
        let scratch = Scratch::with(&[("b.txt", "one();\ntwo(1);\nthree();\nfour();\nfive();\n")]);
        let patch = "--- a/b.txt\n+++ b/b.txt\n@@ -1,5 +1,5 @@\n one();\n two(2);\n-three();\n\
                     +3();\n four();\n five();\n";
        let request = serde_json::json!({ "patch": patch }).to_string();
        let outcome = scratch.apply(&Request::from_json(request.as_bytes()).unwrap()).unwrap();
        assert_eq!(outcome.files[0].matched_by, Some(edt_types::MatchedBy::Context));
        let expected = warning(
            WarningCode::ContextDiffers,
            "The context differs at line 2: `two(1);` in the file, `two(2);` in the patch. The \
             file's lines stay. The other lines of the hunk prove its place; copy context from \
             `edt read` next time.",
        );
        assert_eq!(outcome.warnings, [expected]);
        assert_eq!(scratch.text("b.txt").unwrap(), "one();\ntwo(1);\n3();\nfour();\nfive();\n");
    }

    #[test]
    fn text_inserted_by_its_line_number_alone_is_reported() {
        let op =
            Op::Lines { range: LineRange::Before(1), content: b"a\n".to_vec(), expected: None };
        let edit = Edit { path: crate::tests::path("b.txt"), expect: Expect::Anything, op };
        let request = Request { edits: vec![edit], ..Request::default() };
        let expected = warning(
            WarningCode::LineNotChecked,
            "Text was inserted before line 1; nothing confirmed that number. See `context`, or \
             send expected_text next time.",
        );
        assert_eq!(warnings(&request), [expected]);
    }
}
