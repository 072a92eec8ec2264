//! The commits of a landing, with the edits that the user's commits among them have.

use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::message::Kind;
use crate::session::refs::names::base_ref;
use crate::session::refs::record::Undone;
use crate::session::user::identity;
use edt_git::{InHead, Oid, Repo};
use edt_types::Result;

/// The `commits` of a landing of the session `name`, the newest first. A squashed one is edt's.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub(super) fn identified(
    repo: &Repo,
    name: &str,
    tip: Oid,
    commits: Vec<Commit>,
) -> Result<Vec<Commit>> {
    let is_squash = |commit: &Commit| {
        commit.trailers.as_ref().is_some_and(|trailers| trailers.kind == Kind::Land)
    };
    let (squashed, users): (Vec<(usize, Commit)>, Vec<_>) =
        commits.into_iter().enumerate().partition(|(_, commit)| is_squash(commit));
    let (places, users): (Vec<usize>, Vec<Commit>) = users.into_iter().unzip();
    let users = identity::identified(repo, &session(repo, name, tip)?, users, Undone::Never)?;
    let mut all: Vec<(usize, Commit)> = places.into_iter().zip(users).chain(squashed).collect();
    all.sort_unstable_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, commit)| commit).collect())
}

/// The session `name`, which may have no branch any more, as if it were at `tip`.
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn session(repo: &Repo, name: &str, tip: Oid) -> Result<Session> {
    let base = repo.ref_value(&base_ref(name))?.unwrap_or_else(|| repo.empty_tree());
    let (name, branch) = (name.to_owned(), String::new());
    Ok(Session { name, branch, tip, base, head: InHead::No, planned: None })
}
