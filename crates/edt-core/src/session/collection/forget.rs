//! Takes edt out of a repository: its refs, the branches of its sessions, and its own files.

use std::path::PathBuf;
use std::time::Duration;

use crate::session::landing::list::{self, SessionState};
use crate::session::refs::names::{BRANCHES, REFS};
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::{Oid, Repo};
use edt_io::lock::{self, LockGuard};
use edt_io::{failed, fs};
use edt_journal::delete_refs;
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// All that edt has in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    /// Its refs and the branches of its sessions, with their objects. A branch that was renamed to
    /// a name outside of `edt/` is the user's.
    pub refs: Vec<(String, Oid)>,
    /// The sessions with work that has not landed, and how many edits each has.
    pub open: Vec<(String, u64)>,
    /// The directory of its own files in the common Git directory; `None` if there is none.
    pub directory: Option<PathBuf>,
}

/// Finds what [`forget`] would remove.
///
/// # Errors
/// `SESSION_EXISTS` if a worktree uses a session; `OBJECT_MISSING`, `IO_ERROR`.
pub fn traces(repo: &Repo) -> Result<Traces> {
    let sessions = list::sessions(repo)?;
    for session in &sessions {
        let Some(worktree) = &session.worktree else { continue };
        return Err(Finding::new(
            Code::SessionExists,
            format!("The worktree {} uses the session {}.", worktree.shown(), session.name),
            "End it there with `edt land` or `edt abandon`, or leave it with `edt switch --leave`.",
        )
        .nothing_changed()
        .into());
    }
    let mut refs = repo.refs_below(REFS)?;
    for session in sessions.iter().filter(|session| session.branch.starts_with(BRANCHES)) {
        refs.extend(repo.ref_value(&session.branch)?.map(|tip| (session.branch.clone(), tip)));
    }
    refs.sort();
    refs.dedup();
    let is_open = |state| matches!(state, SessionState::Open | SessionState::Renamed);
    let open = sessions.into_iter().filter(|session| is_open(session.state) && session.edits > 0);
    let directory = repo.common_dir().join("edt");
    Ok(Traces {
        refs,
        open: open.map(|session| (session.name, session.edits)).collect(),
        directory: Some(directory).filter(|directory| directory.exists()),
    })
}

/// Removes `seen`, which must be all that there is.
///
/// Git keeps the objects until it prunes them. Interrupted, it is finished by the next call.
///
/// # Errors
/// `SESSION_EXISTS`, `SESSION_BUSY` if another worktree uses a session or runs edt; `SESSION_MOVED`
/// if something has changed since `seen`: nothing is removed. `IO_ERROR`: some refs may be gone, and
/// the directory may be incomplete.
pub fn forget(mut workspace: LockedWorkspace, seen: &Traces) -> Result<()> {
    let LockedWorkspace { repo, journal, .. } = &mut workspace;
    // No other worktree begins anything from here on.
    let linked = repo.common_dir().join("edt/linked");
    let states = fs::names_in(&linked).into_iter().map(|name| linked.join(name).join("lock"));
    let _locks = states
        .map(|path| lock::acquire(&path, "forget", Duration::ZERO))
        .collect::<Result<Vec<LockGuard>>>()?;
    if traces(repo)? != *seen {
        let summary = "The repository's sessions have changed since they were listed.";
        let finding = Finding::new(Code::SessionMoved, summary, "Repeat the call.");
        return Err(finding.nothing_changed().into());
    }
    delete_refs(repo, journal, &seen.refs)?;
    let directory = repo.common_dir().join("edt");
    workspace.release();
    drop(workspace);
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(failed("remove", &directory, &error).into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::worktree::switch;
    use crate::tests::Scratch;
    use crate::txn::Request;

    #[test]
    fn what_was_not_listed_is_not_removed() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let request = Request::new("x").edit("a.txt", "one", "two");
        scratch.apply(&request).unwrap();
        switch::leave(&mut scratch.open(), &scratch.session()).unwrap();
        let workspace = scratch.open();
        let seen = traces(&workspace.repo).unwrap();
        let tip = seen.refs.iter().find(|(name, _)| name.starts_with(BRANCHES)).unwrap().1;
        scratch.set_ref("refs/edt/other/base", tip);
        let found = forget(workspace, &seen).unwrap_err();
        assert!(found.any(|finding| finding.code == Code::SessionMoved), "{found:?}");
        assert!(scratch.repo().common_dir().join("edt").exists());
        let workspace = scratch.open();
        let seen = traces(&workspace.repo).unwrap();
        forget(workspace, &seen).unwrap();
        assert_eq!(traces(&scratch.repo()).unwrap().refs, []);
    }
}
