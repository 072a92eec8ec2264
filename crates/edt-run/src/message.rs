//! The message of the commit that records a run.

use super::execute::Executed;
use edt_types::text::Shown as _;

/// The longest subject line of a commit, in characters.
const MAX_SUBJECT: usize = 72;
/// The longest command line in a commit message, in bytes.
const MAX_LINE: usize = 4096;

/// The commit message: subject, full command line, how the program ended.
pub(super) fn message(verb: &str, dir: &std::path::Path, executed: &Executed) -> String {
    let line = edt_types::text::escape_controls(&executed.command_line).0;
    let first = line.split("\\n").next().unwrap_or_default();
    let subject = cut(&format!("{verb}: {first}"), MAX_SUBJECT);
    let report = &executed.report;
    let end = match (report.exit_code, report.signal) {
        _ if report.timed_out => {
            format!("time limit of {} s reached", executed.limit.as_secs_f64())
        }
        _ if executed.stopped => "stopped together with edt".to_owned(),
        (Some(code), _) => format!("exit status {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    };
    let full = if line.len() > MAX_LINE {
        format!("{} [{} bytes in total]", cut(&line, MAX_LINE), line.len())
    } else {
        line
    };
    let directory = edt_types::text::escape_controls(&dir.shown()).0;
    format!(
        "{subject}\n\nCommand: {full}\nDirectory: {directory}\nEnded: {end} after {:.1} s",
        executed.took.as_secs_f64()
    )
}

/// The first characters of `text`, at most `most`, with `…` in place of the rest.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{executed, report};
    use std::path::Path;

    #[test]
    fn a_commit_message_has_the_command_the_directory_and_the_end() {
        assert_eq!(
            message("run", Path::new("/w"), &executed("make all", report(Some(2), None))),
            "run: make all\n\nCommand: make all\nDirectory: /w\nEnded: exit status 2 after 1.5 s"
        );
    }

    #[test]
    fn a_long_command_is_cut_in_the_subject_alone() {
        let line = format!("make {}", "x".repeat(100));
        let message = message("run", Path::new("/w"), &executed(&line, report(None, Some(9))));
        let subject = message.lines().next().unwrap();
        assert_eq!((subject.chars().count(), subject.ends_with('…')), (MAX_SUBJECT, true));
        assert!(message.contains(&format!("\nCommand: {line}\n")), "{message}");
        assert!(message.ends_with("\nEnded: signal 9 after 1.5 s"), "{message}");
    }

    #[test]
    fn a_command_cannot_forge_lines_of_the_message() {
        let message =
            message("run", Path::new("/w"), &executed("x\nEdt-Kind: land", report(Some(0), None)));
        assert!(!message.contains("\nEdt-Kind"), "{message}");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((cut("äöü", 3), cut("äöüß", 3)), ("äöü".to_owned(), "äö…".to_owned()));
    }
}
