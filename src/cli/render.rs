//! Answers as text for people and JSON for machines.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::base::text::harmless;
use crate::base::{Change, FileReport, Findings, Outcome, Settled, Status, Warning};
use crate::edit::diff::Lines;
use crate::proposal::make::APPROVED_ALREADY;

/// Green: done.
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Red: refused, removed.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Yellow: look here.
pub(super) const NOTE: Style = AnsiColor::Yellow.on_default();
/// Cyan: names.
pub(super) const NAME: Style = AnsiColor::Cyan.on_default();
/// Dim: details.
pub(super) const DIM: Style = Style::new().dimmed();

/// `text` in `style`.
pub(super) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A text of several lines as a terminal may get it: what others wrote steers nothing, and stands in lines of its own.
pub(super) fn safe(text: &str) -> String {
    text.split('\n').map(|line| harmless(line).0).collect::<Vec<_>>().join("\n")
}

/// One JSON object on one line.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

/// The answer that carries a refusal.
pub(super) fn refusal(findings: Findings, status: Status) -> Outcome {
    let mut outcome = Outcome::new(status);
    outcome.lessons = findings.lessons().to_vec();
    outcome.errors = findings.into_vec();
    outcome
}

/// A refusal for people.
pub(super) fn refused(outcome: &Outcome) -> String {
    let mut out = settled(outcome.settled.as_ref());
    for finding in &outcome.errors {
        let path =
            finding.path.as_ref().map(|path| format!(" {}", harmless(path).0)).unwrap_or_default();
        let _ = writeln!(out, "{}{path}", paint(BAD, finding.code.name()));
        let _ = writeln!(out, "  {}", safe(&finding.message).replace('\n', "\n  "));
        let _ = writeln!(out, "  {} {}", paint(NOTE, "next:"), safe(&finding.hint));
        if let Some(patch) = finding.evidence.get("correction").and_then(|patch| patch.as_str()) {
            let _ = writeln!(out, "  {}", paint(NOTE, "evidence.correction:"));
            for line in patch.split_terminator('\n') {
                let _ = writeln!(out, "    {}", harmless(line).0);
            }
        }
    }
    for lesson in &outcome.lessons {
        let _ = writeln!(out, "  {} {}", paint(NOTE, "learned before:"), harmless(lesson).0);
    }
    out
}

/// What was done, for people.
pub(super) fn applied(outcome: &Outcome) -> String {
    let mut out = settled(outcome.settled.as_ref());
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
            ("waits for a person, who types", "approve")
        };
        let _ = write!(out, " as {id}: it {state} {}", paint(NAME, &format!("edt {call} {id}")));
    } else if outcome.status == Status::Unchanged {
        let _ = write!(out, ": the edits change nothing, so nothing was recorded");
    }
    out.push('\n');
    details(&mut out, outcome);
    out
}

/// What an undo or redo did, for people.
pub(super) fn moved(outcome: &Outcome, verb: &str) -> String {
    let mut out = settled(outcome.settled.as_ref());
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
            "  {} unrecorded changes were first recorded as {}",
            paint(NOTE, "checkpoint:"),
            short(checkpoint)
        );
    }
    files_and_warnings(out, outcome);
}

/// Each changed file, then each warning.
pub(super) fn files_and_warnings(out: &mut String, outcome: &Outcome) {
    outcome.files.iter().for_each(|file| file_line(out, file));
    warnings(out, &outcome.warnings);
}

/// Each warning.
pub(super) fn warnings(out: &mut String, warnings: &[Warning]) {
    for warning in warnings {
        let path =
            warning.path.as_ref().map(|path| format!("{}: ", harmless(path).0)).unwrap_or_default();
        let message = safe(&warning.message).replace('\n', "\n    ");
        let _ = writeln!(out, "  {} {path}{message}", paint(NOTE, "warning:"));
    }
}

/// One changed file and the text around the change.
pub(super) fn file_line(out: &mut String, file: &FileReport) {
    let letter = match file.change {
        Change::Added => "A",
        Change::Modified => "M",
        Change::Deleted => "D",
        Change::Renamed => "R",
    };
    let from =
        file.from.as_ref().map(|from| format!("{} -> ", harmless(from).0)).unwrap_or_default();
    let sizes = match (file.bytes_before, file.bytes_after) {
        (Some(before), Some(after)) => format!("{before} -> {after} bytes"),
        (None, Some(after)) => format!("{after} bytes"),
        (Some(before), None) => format!("{before} bytes gone"),
        (None, None) => String::new(),
    };
    let counts = format!("+{} -{}", file.lines_added, file.lines_removed);
    let _ = writeln!(
        out,
        "  {letter} {from}{} {counts} {}",
        harmless(&file.path).0,
        paint(DIM, &sizes)
    );
    if let Some(context) = &file.context {
        context.split_terminator('\n').for_each(|line| {
            let _ = writeln!(out, "    {}", paint(DIM, &harmless(line).0));
        });
    }
}

/// An interrupted transaction that was settled on the way in.
pub(super) fn settled(settled: Option<&Settled>) -> String {
    let Some(settled) = settled else { return String::new() };
    let mut out = format!("{} {}\n", paint(NOTE, "settled:"), settled.detail);
    settled.files.iter().for_each(|path| {
        let _ = writeln!(out, "  {}", harmless(path).0);
    });
    settled.left.iter().for_each(|path| {
        let _ = writeln!(out, "  {} {}", harmless(path).0, paint(NOTE, "(left alone)"));
    });
    out
}

/// The first twelve digits of an object id.
pub(super) fn short(oid: &str) -> &str {
    oid.get(..12).unwrap_or(oid)
}

/// The hunks of a unified diff.
pub(super) fn hunks(old: &[u8], new: &[u8]) -> String {
    let mut out = String::new();
    for hunk in Lines::of(old, new, crate::io::clock::in_ms(2000)).hunks() {
        let _ = writeln!(out, "{}", hunk.head);
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

/// The same for people: each line in the colour of its marker, and nothing in it that steers their terminal.
pub(super) fn coloured(hunks: &str) -> String {
    let style = |line: &str| match line.as_bytes().first() {
        Some(b'+') => AnsiColor::Green.on_default(),
        Some(b'-') => AnsiColor::Red.on_default(),
        Some(b'@') => NAME,
        _ => Style::new(),
    };
    hunks.split_terminator('\n').map(|line| paint(style(line), &harmless(line).0) + "\n").collect()
}
