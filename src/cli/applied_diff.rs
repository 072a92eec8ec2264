//! The lines that an edit changed, below its answer at the user's terminal.

use std::io::IsTerminal as _;

use super::diff_text;
use super::render::{DIM, paint};
use edt_agents::hook::who::Who;
use edt_core::session::views::file_diff;
use edt_git::{Oid, Repo};
use edt_io::inherited;
use edt_types::Outcome;

/// The most lines that are shown.
const MAX_LINES: usize = 60;

/// The diff of the commit of `outcome`. Empty if it has no commit, or if nobody reads it: a program
/// asks `edt show`.
pub(super) fn of(repo: &Repo, outcome: &Outcome) -> String {
    let is_terminal = !inherited::is_other() && std::io::stdout().is_terminal();
    if !is_terminal || Who::here() != Who::User {
        return String::new();
    }
    // The edit has been applied: what cannot be shown is no failure of it.
    rendered(repo, outcome).unwrap_or_default()
}

fn rendered(repo: &Repo, outcome: &Outcome) -> Option<String> {
    let id = |hex: &Option<String>| Oid::from_hex(hex.as_ref()?.as_bytes()).ok();
    let after = repo.tree_of(id(&outcome.commit)?).ok()?;
    let before = match id(&outcome.parent) {
        Some(parent) => repo.tree_of(parent).ok()?,
        None => repo.empty_tree(),
    };
    let text = diff_text::render(&file_diff::between(repo, before, after).ok()?);
    Some(cut(&text, outcome.edit))
}

/// The first lines of `text`, and how many follow.
fn cut(text: &str, edit: Option<u64>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let Some(more) = lines.len().checked_sub(MAX_LINES).filter(|more| *more > 0) else {
        return text.to_owned();
    };
    let name = edit.map_or_else(String::new, |edit| format!(" {edit}"));
    let more = paint(DIM, &format!("… {more} more: `edt show{name}`"));
    format!("{}\n{more}\n", lines[..MAX_LINES].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_diff_says_how_much_is_left_out() {
        let lines = |count: usize| "+line\n".repeat(count);
        assert_eq!(cut(&lines(MAX_LINES), Some(7)), lines(MAX_LINES));
        let text = cut(&lines(MAX_LINES + 3), Some(7));
        assert_eq!(text.lines().count(), MAX_LINES + 1);
        assert!(text.contains("… 3 more: `edt show 7`"), "{text}");
    }
}
