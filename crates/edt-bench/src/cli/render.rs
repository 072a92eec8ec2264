//! Answers as JSON, and the styles of their text form.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use edt_types::text::escape_controls;
use edt_types::{Outcome, Refusal, Status};

/// Passed, better.
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Refused, failed.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Notes and remedies.
pub(super) const NOTE: Style = AnsiColor::Yellow.on_default();
/// Names of suites.
pub(super) const NAME: Style = AnsiColor::Cyan.on_default();
/// Details.
pub(super) const DIM: Style = Style::new().dimmed();

pub(super) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Foreign text of several lines with its terminal control sequences made visible.
pub(super) fn safe(text: &str) -> String {
    text.split('\n').map(|line| escape_controls(line).0).collect::<Vec<_>>().join("\n")
}

/// One JSON object on one line.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

pub(super) fn refusal(findings: Refusal, status: Status) -> Outcome {
    let mut outcome = Outcome::new(status);
    outcome.errors = findings.into_vec();
    outcome
}

pub(super) fn refusal_human(outcome: &Outcome) -> String {
    let mut out = String::new();
    for finding in &outcome.errors {
        let path = finding
            .path
            .as_ref()
            .map(|path| format!(" {}", escape_controls(path).0))
            .unwrap_or_default();
        let _ = writeln!(out, "{}{path}", paint(BAD, finding.code.name()));
        let _ = writeln!(out, "  {}", safe(&finding.message()).replace('\n', "\n  "));
        let _ = writeln!(out, "  {} {}", paint(NOTE, "next:"), safe(&finding.hint()));
    }
    out
}
