//! Long texts for the user at a terminal, in the pager that Git would use.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::Path;

use super::interrupt::Interrupt;
use edt_agents::hook::who::Who;
use edt_git::Repo;
use edt_io::{environment, spawn};

/// The commands whose text is shown in a pager.
const PAGED: [&str; 4] = ["blame", "diff", "log", "show"];

/// Shows `text` in the user's pager; false if it must be printed: the command is another one, this
/// is no terminal of the user's, or the pager cannot be started.
pub(super) fn show(command: &str, start: &Path, text: impl FnOnce() -> String) -> bool {
    let is_terminal = || std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    // An agent at a terminal of its own would wait for a key.
    if !PAGED.contains(&command) || !is_terminal() || Who::here() != Who::User {
        return false;
    }
    let Some(pager) = pager(start) else { return false };
    // Of several lines less shows what fits, and ends; Git sets the same.
    let usual = [("LESS", OsStr::new("FRX")), ("LV", OsStr::new("-c"))];
    let unset = usual.into_iter().filter(|(name, _)| environment::variable(name).is_none());
    // The pager reads the terminal's keys: Ctrl-C is for it.
    let _keys = Interrupt::watch();
    spawn::page(&pager, &unset.collect::<Vec<_>>(), text().as_bytes()).unwrap_or(false)
}

/// The user's pager, as a line for a shell; `None` if they want none. A repository's own
/// configuration is not asked: it may have come with the repository.
fn pager(start: &Path) -> Option<OsString> {
    let configured = || Repo::open(start).ok()?.user_config("core.pager").map(OsString::from);
    let pager = environment::variable("GIT_PAGER")
        .or_else(configured)
        .or_else(|| environment::variable("PAGER"))
        .unwrap_or_else(|| OsString::from("less"));
    Some(pager).filter(|pager| !pager.is_empty() && pager != "cat")
}
