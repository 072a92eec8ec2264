//! `edt review --tui`: the session in the user's terminal.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;

use super::context::Context;
use super::review_server;
use edt_core::session::Session;
use edt_git::Repo;
use edt_io::scratch::Scratch;
use edt_io::{Environment, environment, fs, spawn};
use edt_review::tui::{self, Options};
use edt_types::{Code, Finding, Result, Status};

/// The largest text that an editor may return, in bytes.
const MAX_TEXT: u64 = 64 * 1024;

/// Shows `session` until the user ends it.
pub(super) fn run(context: &Context, session: &Session) -> Result<Status> {
    let source = review_server::source(context, session, "edt review --tui")?;
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if context.json || !is_terminal {
        return Err(no_terminal().into());
    }
    let start = context.start.clone();
    let stdout = anstream::AutoStream::choice(&std::io::stdout());
    let options = Options {
        colours: stdout != anstream::ColorChoice::Never,
        edit: Box::new(move |text| edit(&start, text)),
    };
    tui::run(source, &options).map_err(|error| {
        Finding::new(
            Code::IoError,
            format!("The terminal could not be used: {error}."),
            "`edt review` serves a page instead, and `edt review --html FILE` writes one.",
        )
        .nothing_changed()
    })?;
    Ok(Status::Applied)
}

/// The text as the user's editor leaves it; `None` if none could be started.
fn edit(start: &Path, text: &str) -> Option<String> {
    let scratch = Scratch::outside(Environment::Process, start).ok()?;
    let file = scratch.put(b"comment.md", text.as_bytes()).ok()?;
    if !spawn::edit(&editor(start), &file).ok()? {
        return None;
    }
    String::from_utf8(fs::read_small(&file, MAX_TEXT)?).ok()
}

/// The user's editor, as a line for a shell. A repository's own configuration is not asked: it may
/// have come with the repository.
fn editor(start: &Path) -> OsString {
    let configured = || Repo::open(start).ok()?.user_config("core.editor").map(OsString::from);
    let set = |name: &str| environment::variable(name).filter(|value| !value.is_empty());
    set("GIT_EDITOR")
        .or_else(configured)
        .or_else(|| set("VISUAL"))
        .or_else(|| set("EDITOR"))
        .unwrap_or_else(|| OsString::from("vi"))
}

fn no_terminal() -> Finding {
    Finding::new(
        Code::BadRequest,
        "--tui needs a terminal for its input and its output, and prints no JSON.",
        "`edt review --json` prints the values, `edt review` serves a page.",
    )
    .nothing_changed()
}
