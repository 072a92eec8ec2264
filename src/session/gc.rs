//! Housekeeping that a person asks for: old sessions go, loose objects are packed. Nothing here runs by itself.

use super::current::{BRANCHES, REFS};
use super::history::Commit;
use super::list::{self, Listed, State};
use crate::base::{Code, Finding, Result};
use crate::git::{Oid, Repo};
use crate::io::spawn;

/// What is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gc {
    /// Sessions and undone tips whose newest commit is older than this moment, in seconds since 1970.
    pub before: i64,
    /// Whether it is only told.
    pub dry: bool,
}

/// What went, or would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freed {
    /// Sessions that ended and were removed whole, with what had become of them.
    pub sessions: Vec<(String, State)>,
    /// Refs removed, those of the sessions included, with the commits they named.
    pub refs: Vec<(String, Oid)>,
    /// The object database before.
    pub before: Store,
    /// The same after; as before for a dry run.
    pub after: Store,
}

/// How large the object database is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Store {
    /// Loose objects.
    pub loose: u64,
    /// Packs.
    pub packs: u64,
    /// Bytes of both on disk, in whole KiB.
    pub kib: u64,
}

/// Removes sessions that ended (landed, abandoned, deleted) and are old, and old undone tips of the others; then packs loose objects.
/// Their objects stay until Git prunes them (`git gc`, two weeks by default). A session that some worktree is in is left alone, and so
/// is one whose landing no other branch holds any more.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`, `PROGRAM_NOT_FOUND`. What was removed until then stays removed.
pub fn gc(repo: &Repo, how: Gc) -> Result<Freed> {
    let before = store(repo)?;
    // No lock is held: refs go by compare-and-swap, and packing leaves alone what no ref names yet.
    let mut freed = Freed { sessions: Vec::new(), refs: Vec::new(), before, after: before };
    for session in list::sessions(repo)? {
        let own = refs_of(repo, &session)?;
        if session.worktree.is_none()
            && newest(repo, &own)? < how.before
            && has_ended(repo, &session)?
        {
            freed.refs.extend(own);
            freed.sessions.push((session.name, session.state));
        } else {
            freed.refs.extend(old_undone(repo, &session, how.before)?);
        }
    }
    if how.dry {
        return Ok(freed);
    }
    repo.delete_refs(&freed.refs)?;
    git(repo, &["repack", "-d", "-l", "-q"])?;
    git(repo, &["prune-packed", "-q"])?;
    freed.after = store(repo)?;
    Ok(freed)
}

/// Whether nothing of the session is still to come: abandoned, deleted, or landed on a branch that still has it.
fn has_ended(repo: &Repo, session: &Listed) -> Result<bool> {
    let landed = list::numbered(repo, &session.name, "landed")?;
    match session.state {
        State::Open => return Ok(false),
        State::Abandoned => return Ok(true),
        State::Deleted if landed.is_empty() => return Ok(true),
        State::Deleted | State::Landed => {}
    }
    let at_tip = |number: u64| landed.contains(&(number, session.tip));
    for (_, landing) in list::numbered(repo, &session.name, "landing")?
        .into_iter()
        .filter(|(number, _)| at_tip(*number))
    {
        let (contains, format) = (format!("--contains={landing}"), "--format=%(refname)");
        let holders =
            git(repo, &["for-each-ref", format, &contains, "refs/heads", "refs/remotes"])?;
        if holders.lines().any(|name| !is_shadow(name)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the ref is a session's branch, here or on a remote.
fn is_shadow(name: &str) -> bool {
    let on_remote = |name: &str| {
        Some(name.strip_prefix("refs/remotes/")?.split_once('/')?.1.starts_with("edt/"))
    };
    name.starts_with(BRANCHES) || on_remote(name) == Some(true)
}

/// When the newest commit that one of `refs` names was made.
fn newest(repo: &Repo, refs: &[(String, Oid)]) -> Result<i64> {
    let mut newest = 0;
    let commits =
        refs.iter().filter(|(name, oid)| !name.ends_with("/origin") && *oid != repo.empty_tree());
    for (_, oid) in commits {
        newest = newest.max(Commit::read(repo, *oid)?.made);
    }
    Ok(newest)
}

/// All refs of a session, and none of another whose name goes on where its ends.
fn refs_of(repo: &Repo, session: &Listed) -> Result<Vec<(String, Oid)>> {
    let prefix = format!("{REFS}{}/", session.name);
    let own = |name: &str| match name.split_once('/') {
        None => matches!(name, "base" | "origin" | "abandoned"),
        Some((kind, number)) => {
            matches!(kind, "undone" | "refused" | "aside" | "landed" | "landing")
                && number.parse::<u64>().is_ok()
        }
    };
    let mut refs = repo.refs_below(&prefix)?;
    refs.retain(|(name, _)| name.strip_prefix(&prefix).is_some_and(own));
    let branch = format!("{BRANCHES}{}", session.name);
    refs.extend(repo.ref_value(&branch)?.map(|tip| (branch, tip)));
    Ok(refs)
}

fn old_undone(repo: &Repo, session: &Listed, before: i64) -> Result<Vec<(String, Oid)>> {
    let mut old = Vec::new();
    for (number, tip) in &session.undone {
        if Commit::read(repo, *tip)?.made < before {
            old.push((format!("{REFS}{}/undone/{number}", session.name), *tip));
        }
    }
    Ok(old)
}

/// Asks Git how large the object database is.
fn store(repo: &Repo) -> Result<Store> {
    let said = git(repo, &["count-objects", "-v"])?;
    let field = |key: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    Ok(Store {
        loose: field("count"),
        packs: field("packs"),
        kib: field("size") + field("size-pack"),
    })
}

fn git(repo: &Repo, args: &[&str]) -> Result<String> {
    let ran = spawn::git(repo.root_path(), args, b"")?;
    if ran.ok {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let message = format!("`git {}` failed: {}", args.join(" "), ran.stderr.trim());
    Err(Finding::new(
        Code::IoError,
        message,
        "Mend what Git reports, then repeat `edt gc`; what it did until now is kept.",
    )
    .into())
}
