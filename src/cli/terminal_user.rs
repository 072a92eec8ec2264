//! Questions that only the user may answer, at a terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use super::render;
use edt_agents::hook::who::Who;
use edt_types::{Code, Finding};

/// Refuses any caller but the user at a terminal. `command` is what the caller ran.
pub(super) fn require_terminal(command: &str) -> Result<(), Finding> {
    let who = Who::here();
    if who == Who::User && std::io::stdin().is_terminal() {
        return Ok(());
    }
    let why = if who == Who::User {
        "a call whose input is not a terminal".to_owned()
    } else {
        who.reason()
    };
    Err(Finding::new(
        Code::ApprovalRequired,
        format!("Only the user may run `{command}`, at a terminal; this is {why}."),
        format!("Ask the user to type `{command}` in a terminal, and continue with other work."),
    )
    .nothing_changed())
}

/// Shows `text` and reads one line; whether that line is `yes`.
pub(super) fn confirm(text: &str) -> bool {
    let mut screen = anstream::stderr().lock();
    let _ = screen.write_all(render::screen(text).as_bytes()).and_then(|()| screen.flush());
    let mut word = String::new();
    let _ = std::io::stdin().lock().read_line(&mut word);
    word.trim() == "yes"
}
