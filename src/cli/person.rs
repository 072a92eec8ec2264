//! What only a person may say, and only at a terminal of theirs.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use crate::base::{Code, Finding};
use crate::hook::who::Who;

/// Refuses whoever is no person at a terminal; `command` is what they called.
pub(super) fn at_a_terminal(command: &str) -> Result<(), Finding> {
    let who = Who::here();
    if who == Who::Person && std::io::stdin().is_terminal() {
        return Ok(());
    }
    let why = if who == Who::Person { "its input is no terminal".to_owned() } else { who.reason() };
    Err(Finding::new(
        Code::ApprovalRequired,
        format!("`{command}` is for a person at a terminal; this is {why}. Nothing was changed."),
        format!(
            "Tell the person to type `{command}` in a terminal of theirs, and go on with other work."
        ),
    ))
}

/// Shows `text` and asks; whether the answer was `yes`.
pub(super) fn says_yes(text: &str) -> bool {
    let mut screen = anstream::stderr().lock();
    let _ = screen.write_all(text.as_bytes()).and_then(|()| screen.flush());
    let mut word = String::new();
    let _ = std::io::stdin().lock().read_line(&mut word);
    word.trim() == "yes"
}
