//! What only the user may do, and questions that only the user may answer, at a terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use super::render;
use edt_agents::hook::who::Who;
use edt_io::fs;
use edt_types::{Code, Finding, Result};

/// Refuses any caller but the user. `command` is what the caller ran, and nothing is asked.
pub(super) fn require_user(command: &str) -> Result<()> {
    let who = Who::here();
    if who == Who::User { Ok(()) } else { Err(users_only(command, &who.reason()).into()) }
}

/// Directories of temporary files, in which every user may write. `TMPDIR` does not count: the
/// caller sets it.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Refuses to read `files` for anyone but the user if one is neither in the worktree around `start`
/// nor a temporary file: a program that may call edt, and nothing else, could read any file so.
pub(super) fn require_readable<'f>(
    start: &Path,
    files: impl IntoIterator<Item = &'f Path>,
) -> Result<()> {
    let is_read_here = |file: &Path| {
        // Reading one that is not there fails with its own message.
        let Ok(real) = file.canonicalize() else { return true };
        let start = fs::real_path(start);
        let root = start.ancestors().find(|root| root.join(".git").exists());
        let git_dir = |part: std::path::Component<'_>| part.as_os_str() == ".git";
        let is_here = root.is_some_and(|root| real.starts_with(root))
            || TEMPORARY.iter().any(|one| real.starts_with(fs::real_path(Path::new(one))));
        is_here && !real.components().any(git_dir)
    };
    let outside = files.into_iter().find(|file| *file != Path::new("-") && !is_read_here(file));
    let Some(file) = outside else { return Ok(()) };
    if Who::here() == Who::User {
        return Ok(());
    }
    Err(Finding::new(
        Code::PathOutsideRepo,
        format!(
            "{} is neither in the worktree nor a temporary file: only the user may read it so.",
            file.display()
        ),
        "Send the text on standard input (`-`), or from a file in the worktree or in /tmp.",
    )
    .nothing_changed()
    .into())
}

fn users_only(command: &str, why: &str) -> Finding {
    Finding::new(
        Code::ApprovalRequired,
        format!("Only the user may run `{command}`, at a terminal; this is {why}."),
        format!("Ask the user to type `{command}` in a terminal, and continue with other work."),
    )
    .nothing_changed()
}

/// Refuses any caller but the user at a terminal. `command` is what the caller ran.
pub(super) fn require_terminal(command: &str) -> Result<()> {
    let who = Who::here();
    if who == Who::User && std::io::stdin().is_terminal() {
        return Ok(());
    }
    let why = if who == Who::User {
        "a call whose input is not a terminal".to_owned()
    } else {
        who.reason()
    };
    Err(users_only(command, &why).into())
}

/// Shows `text` and reads one line; whether that line is `yes`.
pub(super) fn confirm(text: &str) -> bool {
    let mut screen = anstream::stderr().lock();
    let _ = screen.write_all(render::screen(text).as_bytes()).and_then(|()| screen.flush());
    let mut word = String::new();
    let _ = std::io::stdin().lock().read_line(&mut word);
    word.trim() == "yes"
}
