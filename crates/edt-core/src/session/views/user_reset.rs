//! Edits that Git took out of the branch without knowing them. `git reset` and `git stash` read HEAD
//! first and move the branch last: an edit that was answered between is gone from the branch. The
//! next answer names it, and the command that brings it back.

use crate::session::files::path_state::PathState;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::{self, Session};
use edt_git::index::IndexState;
use edt_git::reflog::HeadLog;
use edt_git::{InHead, Oid, Repo};
use edt_journal::IndexView;
use edt_types::text::counted;
use edt_types::{Result, Warning, WarningCode};

/// How many edits may meet one command of Git.
const MAX_EDITS: usize = 100;

/// The warning that names the edits, until HEAD moves again. `log`: that of HEAD.
#[must_use]
pub fn warning(repo: &Repo, log: &HeadLog) -> Option<Warning> {
    let (last, spec) = log.last_reset()?;
    let session = current::current(repo, &repo.head().ok()?).ok()??;
    if session.head != InHead::Yes || last.to != session.tip {
        return None;
    }
    lost(repo, &session, last.from, &spec).ok()?
}

/// `from`: the tip that the branch left by the reset to `spec`.
fn lost(repo: &Repo, session: &Session, from: Oid, spec: &str) -> Result<Option<Warning>> {
    let Some(steps) = first_parents(spec) else { return Ok(None) };
    let (mut head, mut edits) = (from, Vec::new());
    // The commit that HEAD was when Git read it.
    while ancestor(repo, head, steps)? != Some(session.tip) {
        let commit = Commit::read(repo, head)?;
        let is_own = commit.trailers.as_ref().is_some_and(|one| one.session == session.name);
        let (true, Some(parent)) = (is_own && edits.len() < MAX_EDITS, commit.parent) else {
            return Ok(None);
        };
        edits.push(commit);
        head = parent;
    }
    let (Some(newest), Some(oldest)) = (edits.first(), edits.last()) else { return Ok(None) };
    let command = if head != session.tip {
        format!("git cherry-pick {head}..{from}")
    } else if is_left(repo, session.tip, from)? {
        format!("git reset {from}")
    } else {
        format!("git merge --ff-only {from}")
    };
    let number = |commit: &Commit| commit.trailers.as_ref().map_or(0, |trailers| trailers.edit);
    let names = if edits.len() == 1 {
        format!("edit {} ({})", number(newest), newest.subject())
    } else {
        format!("the edits {} to {}", number(oldest), number(newest))
    };
    let message = format!(
        "A `git reset` or `git stash` met {}: it had read HEAD before, so that {names} of {} left \
         the branch. Nothing is lost: `{command}` brings {} back.",
        counted(edits.len() as u64, "edit"),
        session.short_branch(),
        if edits.len() == 1 { "it" } else { "them" },
    );
    Ok(Some(Warning { code: WarningCode::EditsReset, path: None, message }))
}

/// How many first parents before HEAD the revision names: 0 for `HEAD`, 2 for `HEAD~2` and `@^^`.
/// `None` for any other one: whoever wrote it named the commit.
fn first_parents(spec: &str) -> Option<usize> {
    let mut rest = spec.strip_prefix("HEAD").or_else(|| spec.strip_prefix('@'))?;
    let mut steps = 0_usize;
    while let Some(more) = rest.strip_prefix(['~', '^']) {
        let is_caret = rest.starts_with('^');
        let end = more.find(|c: char| !c.is_ascii_digit()).unwrap_or(more.len());
        let count = if end == 0 { 1 } else { more[..end].parse().ok()? };
        if is_caret && count != 1 {
            return None;
        }
        steps = steps.checked_add(count)?;
        rest = &more[end..];
    }
    (rest.is_empty() && steps <= MAX_EDITS).then_some(steps)
}

fn ancestor(repo: &Repo, commit: Oid, steps: usize) -> Result<Option<Oid>> {
    let mut at = Some(commit);
    for _ in 0..steps {
        at = at.map(|oid| Commit::read(repo, oid)).transpose()?.and_then(|commit| commit.parent);
    }
    Ok(at)
}

/// Whether each file that differs between the two commits is on disk, or staged, as in `after`: the
/// edits came after Git wrote the files and the index.
fn is_left(repo: &Repo, before: Oid, after: Oid) -> Result<bool> {
    let (before, after) = (repo.tree_of(before)?, repo.tree_of(after)?);
    let index = IndexView::read(repo)?;
    for differs in repo.tree_diff(before, after)? {
        let Ok(state) = PathState::at(repo, after, Some(&index), &differs.path) else {
            return Ok(false);
        };
        let staged = state.tip.map_or(IndexState::Nothing, IndexState::File);
        if state.disk_file() != state.tip && state.staged != staged {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_revisions_that_begin_at_head_are_followed() {
        let all = ["HEAD", "@", "HEAD~", "HEAD^", "HEAD~2", "@^^~3", "HEAD^1"];
        assert_eq!(all.map(first_parents), [0, 0, 1, 1, 2, 5, 1].map(Some));
        for other in ["main", "HEAD^2", "HEAD@{1}", "ORIG_HEAD", "HEADS", "0123abc", "HEAD~x"] {
            assert_eq!(first_parents(other), None, "{other}");
        }
    }
}
