//! Renders answers as text for a terminal, or as JSON.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use edt_types::text::{counted, escape_controls, escape_lines, escape_unexpected, places};
use edt_types::{
    FileChangeKind, FileReport, OpenComments, Outcome, RecordedIn, Recovered, Refusal, Status,
    Warning, WarningCode,
};

/// Green: success.
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Red: failure or removal.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Yellow: attention.
pub(super) const NOTE: Style = AnsiColor::Yellow.on_default();
/// Cyan: a name.
pub(super) const NAME: Style = AnsiColor::Cyan.on_default();
/// Dimmed: details.
pub(super) const DIM: Style = Style::new().dimmed();

pub(super) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// What a terminal shows of a rendered answer: only edt's own colours control it, and nothing in it
/// is invisible. Renderers escape foreign text already; this holds where one does not.
pub(super) fn screen(rendered: &str) -> String {
    let escape = |text: &str| {
        let lines = text.split('\n').map(|line| escape_unexpected(line).0);
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut out = String::with_capacity(rendered.len());
    for (i, part) in rendered.split('\u{1b}').enumerate() {
        let colour = if i > 0 { colour(part) } else { Some("") };
        match colour {
            Some("") => {}
            Some(colour) => out.extend(["\u{1b}", colour]),
            None => out.push_str("\\u{1b}"),
        }
        out.push_str(&escape(&part[colour.map_or(0, str::len)..]));
    }
    out
}

/// The rest of the escape sequence with which `text` begins, if edt's own styles have it.
fn colour(text: &str) -> Option<&str> {
    let end = text.find('m').filter(|_| text.starts_with('['))?;
    let own = |code: &str| {
        matches!(code.parse(), Ok(0..=4 | 30..=37 | 90..=97_u8)) && !code.starts_with('+')
    };
    text[1..end].split(';').all(own).then_some(&text[..=end])
}

/// `value` as JSON on one line.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

/// The outcome of a refused call.
pub(super) fn refusal(findings: Refusal, status: Status) -> Outcome {
    let mut outcome = Outcome::new(status);
    outcome.lessons = findings.lessons().to_vec();
    outcome.errors = findings.into_vec();
    outcome
}

/// Renders a refusal.
pub(super) fn refused(outcome: &Outcome) -> String {
    let mut out = recovered(outcome.recovered.as_ref());
    for finding in &outcome.errors {
        let path = finding
            .path
            .as_ref()
            .map(|path| format!(" {}", escape_controls(path).0))
            .unwrap_or_default();
        let _ = writeln!(out, "{}{path}", paint(BAD, finding.code.name()));
        let _ = writeln!(out, "  {}", indented(&finding.message()));
        let _ = writeln!(out, "  {} {}", paint(NOTE, "next:"), indented(&finding.hint()));
        if let Some((key, offer)) = finding.offer() {
            let _ = writeln!(out, "  {}", paint(NOTE, &format!("evidence.{key}:")));
            for line in offer.split_terminator('\n') {
                let _ = writeln!(out, "    {}", escape_controls(line).0);
            }
        }
    }
    for lesson in &outcome.lessons {
        let _ = writeln!(out, "  {} {}", paint(NOTE, "learned before:"), escape_controls(lesson).0);
    }
    out
}

/// A text whose further lines are deeper than edt's own labels, so that none of them passes for one.
fn indented(text: &str) -> String {
    escape_lines(text).replace('\n', "\n    ")
}

/// Renders the user's comments in an answer to an agent.
pub(super) fn comments(comments: Option<&OpenComments>) -> String {
    comments.map(OpenComments::text).unwrap_or_default()
}

/// Renders what an edit did.
pub(super) fn applied(outcome: &Outcome) -> String {
    let mut out = recovered(outcome.recovered.as_ref());
    let status = outcome.status.name().replace('_', " ");
    let session = outcome.session.as_ref();
    let _ = write!(out, "{}", paint(GOOD, &status));
    if let (Some(edit), Some(session), Some(commit)) = (outcome.edit, session, &outcome.commit) {
        let _ =
            write!(out, " edit {edit} on {} as {}", paint(NAME, &session.branch), short(commit));
        if session.began {
            let _ = write!(out, " {}", paint(DIM, "(session begun)"));
        }
    } else if let (Status::Proposed, Some(id)) = (outcome.status, outcome.proposal) {
        let approved =
            outcome.warnings.iter().any(|warning| warning.code == WarningCode::ApprovedAlready);
        let (state, call) = if approved {
            ("was approved;", "apply --proposal")
        } else {
            ("waits for the user, who must type", "approve")
        };
        let _ = write!(out, " as p{id}: it {state} {}", paint(NAME, &format!("edt {call} p{id}")));
    } else if outcome.status == Status::Unchanged {
        let _ = write!(out, ": the edits make no difference, so no commit was made");
    }
    out.push('\n');
    details(&mut out, outcome);
    out
}

/// Renders what an undo or a redo did.
pub(super) fn moved(outcome: &Outcome, verb: &str) -> String {
    let mut out = recovered(outcome.recovered.as_ref());
    let branch =
        outcome.session.as_ref().map(|session| session.branch.as_str()).unwrap_or_default();
    let (edit, commit) = (outcome.edit.unwrap_or(0), outcome.commit.as_deref().unwrap_or_default());
    let _ = writeln!(
        out,
        "{}: {} {} at edit {edit}, {}",
        paint(GOOD, verb),
        paint(NAME, branch),
        if outcome.status == Status::WouldApply { "would be" } else { "is" },
        short(commit)
    );
    details(&mut out, outcome);
    out
}

pub(super) fn details(out: &mut String, outcome: &Outcome) {
    files_and_warnings(out, outcome);
}

pub(super) fn files_and_warnings(out: &mut String, outcome: &Outcome) {
    outcome.files.iter().for_each(|file| file_line(out, file));
    warnings(out, &outcome.warnings);
}

pub(super) fn warnings(out: &mut String, warnings: &[Warning]) {
    for warning in warnings {
        let path = warning
            .path
            .as_ref()
            .map(|path| format!("{}: ", escape_controls(path).0))
            .unwrap_or_default();
        let message = indented(&warning.message);
        let _ = writeln!(out, "  {} {path}{message}", paint(NOTE, "warning:"));
    }
}

/// Renders one changed file with the text around the change.
pub(super) fn file_line(out: &mut String, file: &FileReport) {
    let letter = match file.change {
        FileChangeKind::Added => "A",
        FileChangeKind::Modified => "M",
        FileChangeKind::Deleted => "D",
        FileChangeKind::Renamed => "R",
    };
    let from = file
        .from
        .as_ref()
        .map(|from| format!("{} -> ", escape_controls(from).0))
        .unwrap_or_default();
    let sizes = match (file.bytes_before, file.bytes_after) {
        (Some(before), Some(after)) => format!("{before} -> {}", counted(after, "byte")),
        (None, Some(after)) => counted(after, "byte"),
        (Some(before), None) => format!("{} removed", counted(before, "byte")),
        (None, None) => String::new(),
    };
    let counts = format!("+{} -{}", file.lines_added, file.lines_removed);
    let private = match file.recorded {
        RecordedIn::Private => format!(" {}", paint(NOTE, "private: in no commit")),
        RecordedIn::Partly => {
            let left_over = format!("{}: in no commit", places(&file.left_over));
            format!(" {}", paint(NOTE, &left_over))
        }
        RecordedIn::Branch | RecordedIn::Worktree => String::new(),
    };
    let _ = writeln!(
        out,
        "  {letter} {from}{} {counts} {}{private}",
        escape_controls(&file.path).0,
        paint(DIM, &sizes)
    );
    if let Some(context) = &file.context {
        context.split_terminator('\n').for_each(|line| {
            let _ = writeln!(out, "    {}", paint(DIM, &escape_controls(line).0));
        });
    }
}

/// Renders the recovery of an interrupted transaction.
pub(super) fn recovered(recovered: Option<&Recovered>) -> String {
    let Some(recovered) = recovered else { return String::new() };
    let mut out = format!("{} {}\n", paint(NOTE, "recovered:"), recovered.detail);
    recovered.files.iter().for_each(|path| {
        let _ = writeln!(out, "  {}", escape_controls(path).0);
    });
    recovered.skipped.iter().for_each(|path| {
        let _ = writeln!(out, "  {} {}", escape_controls(path).0, paint(NOTE, "(not touched)"));
    });
    out
}

/// The first 12 digits of an object id.
pub(super) fn short(oid: &str) -> &str {
    oid.get(..12).unwrap_or(oid)
}

/// `hunks` with each line in the colour of its marker, and control characters escaped.
pub(super) fn coloured(hunks: &str) -> String {
    let style = |line: &str| match line.as_bytes().first() {
        Some(b'+') => AnsiColor::Green.on_default(),
        Some(b'-') => AnsiColor::Red.on_default(),
        Some(b'@') => NAME,
        _ => Style::new(),
    };
    hunks
        .split_terminator('\n')
        .map(|line| paint(style(line), &escape_controls(line).0) + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "tests are read, not tuned")]

    use edt_types::{Code, Finding, SessionReport};

    use super::*;
    use crate::cli::tests::{file_report, plain};

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn session(began: bool) -> SessionReport {
        SessionReport {
            name: "fix".to_owned(),
            branch: "edt/fix".to_owned(),
            base: COMMIT.to_owned(),
            began,
        }
    }

    fn edited() -> Outcome {
        let mut outcome = Outcome::new(Status::Applied);
        (outcome.session, outcome.edit) = (Some(session(false)), Some(2));
        outcome.commit = Some(COMMIT.to_owned());
        outcome
    }

    #[test]
    fn an_edit_names_its_branch_and_commit() {
        assert_eq!(plain(&applied(&edited())), "applied edit 2 on edt/fix as 0123456789ab\n");
    }

    #[test]
    fn a_session_that_the_edit_began_is_named() {
        let outcome = Outcome { session: Some(session(true)), ..edited() };
        assert_eq!(
            plain(&applied(&outcome)),
            "applied edit 2 on edt/fix as 0123456789ab (session begun)\n"
        );
    }

    #[test]
    fn an_edit_without_a_difference_says_so() {
        assert_eq!(
            plain(&applied(&Outcome::new(Status::Unchanged))),
            "unchanged: the edits make no difference, so no commit was made\n"
        );
    }

    #[test]
    fn a_proposal_waits_for_the_user() {
        let outcome = Outcome { proposal: Some(7), ..Outcome::new(Status::Proposed) };
        assert_eq!(
            plain(&applied(&outcome)),
            "proposed as p7: it waits for the user, who must type edt approve p7\n"
        );
    }

    #[test]
    fn a_proposal_that_was_approved_is_applied_next() {
        let mut outcome = Outcome { proposal: Some(7), ..Outcome::new(Status::Proposed) };
        let message = "It was approved.".to_owned();
        outcome.warnings =
            vec![Warning { code: WarningCode::ApprovedAlready, path: None, message }];
        assert_eq!(
            plain(&applied(&outcome)),
            "proposed as p7: it was approved; edt apply --proposal p7\n  warning: It was approved.\n"
        );
    }

    #[test]
    fn files_come_before_warnings() {
        let mut outcome = edited();
        outcome.files = vec![file_report()];
        let (path, message) = (Some("a.txt".to_owned()), "odd\nvery".to_owned());
        outcome.warnings = vec![Warning { code: WarningCode::Guard("odd"), path, message }];
        assert_eq!(
            plain(&applied(&outcome)),
            "applied edit 2 on edt/fix as 0123456789ab\n\
         \x20 M a.txt +1 -0 4 -> 8 bytes\n\
         \x20 warning: a.txt: odd\n    very\n"
        );
    }

    #[test]
    fn an_undo_names_where_the_branch_is() {
        assert_eq!(
            plain(&moved(&edited(), "undone")),
            "undone: edt/fix is at edit 2, 0123456789ab\n"
        );
    }

    fn line(file: FileReport) -> String {
        let mut out = String::new();
        file_line(&mut out, &file);
        plain(&out)
    }

    #[test]
    fn a_new_file_has_one_size() {
        let file =
            FileReport { change: FileChangeKind::Added, bytes_before: None, ..file_report() };
        assert_eq!(line(file), "  A a.txt +1 -0 8 bytes\n");
    }

    #[test]
    fn a_deleted_file_names_the_bytes_that_are_gone() {
        let file =
            FileReport { change: FileChangeKind::Deleted, bytes_after: None, ..file_report() };
        assert_eq!(line(file), "  D a.txt +1 -0 4 bytes removed\n");
    }

    #[test]
    fn a_renamed_file_names_both_paths() {
        let from = Some("b.txt".to_owned());
        let file = FileReport { change: FileChangeKind::Renamed, from, ..file_report() };
        assert_eq!(line(file), "  R b.txt -> a.txt +1 -0 4 -> 8 bytes\n");
    }

    #[test]
    fn a_private_file_is_named_as_one() {
        let file = FileReport { recorded: RecordedIn::Private, ..file_report() };
        assert_eq!(line(file), "  M a.txt +1 -0 4 -> 8 bytes private: in no commit\n");
    }

    #[test]
    fn the_lines_around_a_change_are_indented_and_escaped() {
        let file = FileReport { context: Some("1 | a\n2 | \u{1b}\n".to_owned()), ..file_report() };
        assert_eq!(line(file), "  M a.txt +1 -0 4 -> 8 bytes\n    1 | a\n    2 | \\u{1b}\n");
    }

    #[test]
    fn a_refusal_names_code_path_reason_and_next_step() {
        let mut finding = Finding::new(Code::FileNotFound, "It is missing.", "Check the path.");
        finding.path = Some("a.txt".to_owned());
        let outcome = refusal(finding.nothing_changed().into(), Status::Refused);
        assert_eq!(
            plain(&refused(&outcome)),
            "FILE_NOT_FOUND a.txt\n  It is missing. Nothing was changed.\n  next: Check the path.\n"
        );
    }

    #[test]
    fn a_refusal_shows_a_correction_and_lessons() {
        let finding = Finding::new(Code::OldTextNotFound, "Not found.", "Read it.")
            .with("correction", "-a\n+b\u{7}\n");
        let findings = Refusal::from(finding).with_lessons(vec!["Look first.".to_owned()]);
        assert_eq!(
            plain(&refused(&refusal(findings, Status::Refused))),
            "OLD_TEXT_NOT_FOUND\n  Not found.\n  next: Read it.\n  evidence.correction:\n    -a\n    \
         +b\\u{7}\n  learned before: Look first.\n"
        );
    }

    #[test]
    fn a_path_cannot_control_the_terminal() {
        let mut finding = Finding::new(Code::FileNotFound, "a\u{1b}[2J", "b");
        finding.path = Some("\u{1b}]0;x".to_owned());
        let text = refused(&refusal(finding.into(), Status::Refused));
        assert!(!plain(&text).contains('\u{1b}'), "{text:?}");
        assert!(text.contains("\\u{1b}]0;x") && text.contains("a\\u{1b}[2J"), "{text:?}");
    }

    #[test]
    fn a_recovery_lists_what_was_not_touched() {
        let found = Recovered {
            action: "rolled_back",
            commit: None,
            files: vec!["a".to_owned()],
            skipped: vec!["b".to_owned()],
            detail: "It was rolled back.".to_owned(),
        };
        assert_eq!(
            plain(&recovered(Some(&found))),
            "recovered: It was rolled back.\n  a\n  b (not touched)\n"
        );
    }

    #[test]
    fn each_line_of_a_diff_has_the_colour_of_its_marker() {
        let green = paint(AnsiColor::Green.on_default(), "+a");
        let red = paint(AnsiColor::Red.on_default(), "-b");
        let head = paint(NAME, "@@ @@");
        let same = paint(Style::new(), " c");
        assert_eq!(coloured("@@ @@\n-b\n+a\n c\n"), format!("{head}\n{red}\n{green}\n{same}\n"));
    }

    #[test]
    fn an_object_id_is_shown_by_twelve_digits() {
        assert_eq!((short(COMMIT), short("abc")), ("0123456789ab", "abc"));
    }

    #[test]
    fn a_screen_shows_colours_and_nothing_invisible() {
        let own = paint(BAD, "a") + "\tb\n" + &paint(DIM, "c") + "❤\u{fe0f}";
        assert_eq!(screen(&own), own);
        let foreign = "\u{1b}[8mx\u{1b}]0;y\u{1b}\u{3164}\u{8}\n";
        assert_eq!(screen(foreign), "\\u{1b}[8mx\\u{1b}]0;y\\u{1b}\\u{3164}\\u{8}\n");
    }
}
