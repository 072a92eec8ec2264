//! The marks with which edt's answers say what they leave out. In a file they stand for text that an
//! agent has not seen.

use edt_types::{Code, Finding, RepoPath};

/// The mark in a line.
const START: &[u8] = "[\u{2026} ".as_bytes();
const END: &[u8] = " bytes \u{2026}]".as_bytes();
/// The mark on a line of its own.
const MORE: &[u8] = "\u{2026} more \u{2026}".as_bytes();

/// Whether the line has a mark.
#[must_use]
pub(super) fn is_in(line: &[u8]) -> bool {
    let in_line = memchr::memmem::find_iter(line, START).any(|at| {
        let rest = &line[at + START.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && rest[digits..].starts_with(END)
    });
    in_line || line.trim_ascii() == MORE
}

pub(super) fn finding(path: &RepoPath, line: usize) -> Finding {
    let message =
        format!("Line {line} of {path} would have the mark of an answer for what it leaves out.");
    let hint = "Read that text (`edt read`) and send it completely, or send a smaller edit.";
    Finding::new(Code::ElidedCode, message, hint)
        .nothing_changed()
        .or_override("If the line belongs there, repeat with allow: [\"elided_code\"].")
        .at(path)
        .with("line", line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_of_answers_are_known() {
        assert!(is_in("+abc[\u{2026} 239002 bytes \u{2026}]d".as_bytes()));
        assert!(is_in("  \u{2026} more \u{2026}".as_bytes()));
        assert!(!is_in("[\u{2026} some bytes \u{2026}]".as_bytes()));
        assert!(!is_in("and \u{2026} more \u{2026} text".as_bytes()));
    }
}
