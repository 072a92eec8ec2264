//! Renders answers as text for a terminal, or as JSON.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use edt_core::proposal::propose::APPROVED_ALREADY;
use edt_edit::diff::LineDiff;
use edt_types::text::escape_controls;
use edt_types::{FileChangeKind, FileReport, Findings, Outcome, Recovered, Status, Warning};

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

/// `text` with the control characters of each line escaped, so that it cannot control the terminal.
pub(super) fn safe(text: &str) -> String {
    text.split('\n').map(|line| escape_controls(line).0).collect::<Vec<_>>().join("\n")
}

/// `value` as JSON on one line.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

/// The outcome of a refused call.
pub(super) fn refusal(findings: Findings, status: Status) -> Outcome {
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
        let _ = writeln!(out, "  {}", safe(&finding.message()).replace('\n', "\n  "));
        let _ = writeln!(out, "  {} {}", paint(NOTE, "next:"), safe(&finding.hint()));
        if let Some(patch) = finding.evidence.get("correction").and_then(|patch| patch.as_str()) {
            let _ = writeln!(out, "  {}", paint(NOTE, "evidence.correction:"));
            for line in patch.split_terminator('\n') {
                let _ = writeln!(out, "    {}", escape_controls(line).0);
            }
        }
    }
    for lesson in &outcome.lessons {
        let _ = writeln!(out, "  {} {}", paint(NOTE, "learned before:"), escape_controls(lesson).0);
    }
    out
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
        let approved = outcome.warnings.iter().any(|warning| warning.code == APPROVED_ALREADY);
        let (state, call) = if approved {
            ("was approved;", "apply --proposal")
        } else {
            ("waits for the user, who must type", "approve")
        };
        let _ = write!(out, " as {id}: it {state} {}", paint(NAME, &format!("edt {call} {id}")));
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
        "{}: {} is at edit {edit}, {}",
        paint(GOOD, verb),
        paint(NAME, branch),
        short(commit)
    );
    details(&mut out, outcome);
    out
}

pub(super) fn details(out: &mut String, outcome: &Outcome) {
    for checkpoint in &outcome.checkpoints {
        let _ = writeln!(
            out,
            "  {} unrecorded changes were committed first as {}",
            paint(NOTE, "checkpoint:"),
            short(checkpoint)
        );
    }
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
        let message = safe(&warning.message).replace('\n', "\n    ");
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
        (Some(before), Some(after)) => format!("{before} -> {after} bytes"),
        (None, Some(after)) => format!("{after} bytes"),
        (Some(before), None) => format!("{before} bytes removed"),
        (None, None) => String::new(),
    };
    let counts = format!("+{} -{}", file.lines_added, file.lines_removed);
    let _ = writeln!(
        out,
        "  {letter} {from}{} {counts} {}",
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
    recovered.left.iter().for_each(|path| {
        let _ = writeln!(out, "  {} {}", escape_controls(path).0, paint(NOTE, "(not touched)"));
    });
    out
}

/// The first 12 digits of an object id.
pub(super) fn short(oid: &str) -> &str {
    oid.get(..12).unwrap_or(oid)
}

/// The hunks of a unified diff.
pub(super) fn hunks(old: &[u8], new: &[u8]) -> String {
    let mut out = String::new();
    for hunk in LineDiff::of(old, new, edt_io::clock::in_ms(2000)).hunks() {
        let _ = writeln!(out, "{}", hunk.header);
        for (marker, line) in hunk.lines {
            let text = String::from_utf8_lossy(line);
            let _ = writeln!(out, "{marker}{}", text.strip_suffix('\n').unwrap_or(&text));
            if !line.ends_with(b"\n") {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    }
    out
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
