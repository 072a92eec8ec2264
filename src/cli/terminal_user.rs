//! What only the user may do, and questions that only the user may answer, at a terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use super::render;
use edt_agents::hook::who::Who;
use edt_io::{environment, fs, inherited};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// Whether the user makes the call: at a terminal, or on a page of edt.
pub(super) fn is_user() -> bool {
    inherited::is_reviewer() || Who::here() == Who::User
}

/// Refuses any caller but the user. `command` is what the caller ran, and nothing is asked.
pub(super) fn require_user(command: &str) -> Result<()> {
    if is_user() { Ok(()) } else { Err(users_only(command, &Who::here().reason()).into()) }
}

/// Refuses an agent. `command` is what the caller ran.
pub(super) fn refuse_agent(command: &str) -> Result<()> {
    if !Who::is_agent_here() {
        return Ok(());
    }
    Err(users_only(command, "a call of an agent").into())
}

/// Refuses an agent's call with variables that name another worktree, Git directory or index: the
/// worktree of a call is where it starts.
pub(super) fn refuse_places_of_agent() -> Result<()> {
    let is_set = |name: &&str| environment::variable(name).is_some_and(|value| !value.is_empty());
    let Some(name) = ["GIT_WORK_TREE", "GIT_DIR", "GIT_INDEX_FILE"].into_iter().find(is_set) else {
        return Ok(());
    };
    if !Who::is_agent_here() {
        return Ok(());
    }
    Err(Finding::new(
        Code::UnsupportedRepository,
        format!("The environment of this agent's call sets {name}. An agent can set that."),
        format!("Repeat the call without it (`env -u {name} edt …`), in the worktree."),
    )
    .nothing_changed()
    .into())
}

/// Refuses, to anyone but the user, a new worktree at `place` (absolute) that is neither beside the
/// repository of `root` nor below it nor among temporary files, or that has a name with a leading
/// dot: programs execute files of such directories by themselves.
pub(super) fn require_plain_place(command: &str, root: &Path, place: &Path) -> Result<()> {
    let (place, root) = (fs::real_path(place), fs::real_path(root));
    let is_beside = place.parent() == root.parent();
    let temporary = TEMPORARY.iter().map(|one| fs::real_path(Path::new(one)));
    let mut around: Vec<_> = temporary.collect();
    around.extend(root.parent().filter(|_| is_beside).map(Path::to_owned));
    around.push(root);
    let is_hidden = |part: std::path::Component<'_>| part.as_os_str().as_encoded_bytes()[0] == b'.';
    let is_plain = |around: &std::path::PathBuf| {
        let below = place.strip_prefix(around);
        below.is_ok_and(|below| !below.components().any(is_hidden))
    };
    if around.iter().any(is_plain) || Who::here() == Who::User {
        return Ok(());
    }
    let summary = format!(
        "Only the user may begin a session in {}: it is not beside the repository, or it is hidden.",
        place.shown()
    );
    let remedy = format!(
        "Choose a directory beside the repository (`--worktree ../NAME`); or ask the user to type \
         `{command}` in a terminal."
    );
    Err(Finding::new(Code::ApprovalRequired, summary, remedy).nothing_changed().into())
}

/// Directories of temporary files, in which every user may write. `TMPDIR` does not count: the
/// caller sets it.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Whether `file` means standard input, which the caller has opened.
pub(super) fn is_stdin(file: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| file == Path::new(name))
}

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
    let outside = files.into_iter().find(|file| !is_stdin(file) && !is_read_here(file));
    let Some(file) = outside else { return Ok(()) };
    if Who::here() == Who::User {
        return Ok(());
    }
    Err(Finding::new(
        Code::PathOutsideRepo,
        format!(
            "{} is neither in the worktree nor a temporary file: only the user may read it so.",
            file.shown()
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
    super::long_call::clear();
    let mut screen = anstream::stderr().lock();
    let _ = screen.write_all(render::screen(text).as_bytes()).and_then(|()| screen.flush());
    let mut word = String::new();
    let _ = std::io::stdin().lock().read_line(&mut word);
    word.trim() == "yes"
}
