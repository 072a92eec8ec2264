//! The session this worktree is in.

use crate::base::{Code, Finding, Result, SessionReport};
use crate::git::{Head, InHead, Oid, Repo, Worktree};

/// Where shadow branches live.
pub const BRANCHES: &str = "refs/heads/edt/";
/// Where a session's other refs live.
pub const REFS: &str = "refs/edt/";
/// The worktree's session while HEAD stays elsewhere.
pub use crate::journal::POINTER;

/// A session with its branch and base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name, without `edt/`.
    pub name: String,
    /// The branch's commit.
    pub tip: Oid,
    /// The commit it began from, or the empty tree.
    pub base: Oid,
    /// Whether HEAD is on the branch.
    pub head: InHead,
}

impl Session {
    /// The session of this worktree: the branch `edt/…` that HEAD is on, else the one remembered with `--no-switch`.
    ///
    /// # Errors
    /// `NO_SESSION` if HEAD is on such a branch that has no base; `IO_ERROR`.
    pub fn current(repo: &Repo, head: &Head) -> Result<Option<Session>> {
        let on_head = head.branch.as_deref().and_then(|branch| branch.strip_prefix(BRANCHES));
        if let Some(name) = on_head {
            let Some(tip) = head.commit else { return Err(without_base(name).into()) };
            let base = repo.ref_value(&base_ref(name))?.ok_or_else(|| without_base(name))?;
            return Ok(Some(Session { name: name.to_owned(), tip, base, head: InHead::Yes }));
        }
        let Some(branch) = repo.symbolic_ref(POINTER)? else { return Ok(None) };
        let Some(name) = branch.strip_prefix(BRANCHES) else { return Ok(None) };
        let (tip, base) = (repo.ref_value(&branch)?, repo.ref_value(&base_ref(name))?);
        // A branch that a person deleted takes its session with it.
        let (Some(tip), Some(base)) = (tip, base) else { return Ok(None) };
        Ok(Some(Session { name: name.to_owned(), tip, base, head: InHead::No }))
    }

    /// The same, for a command that needs one.
    ///
    /// # Errors
    /// `NO_SESSION` if there is none.
    pub fn needed(repo: &Repo, head: &Head) -> Result<Session> {
        Session::current(repo, head)?.ok_or_else(|| {
            Finding::new(
                Code::NoSession,
                "There is no edt session in this worktree.",
                "`edt begin` starts one, and so does the first `edt apply`; `git switch edt/<name>` goes back to an earlier one.",
            )
            .into()
        })
    }

    /// Refuses a session that another worktree works in: each would take the other's edits for a person's.
    ///
    /// # Errors
    /// `SESSION_BUSY` naming that worktree.
    pub fn check_alone(&self, repo: &Repo) -> Result<()> {
        let Some(other) =
            repo.worktrees(POINTER).into_iter().find(|other| !other.here && self.is_of(other))
        else {
            return Ok(());
        };
        let place = repo.root_of(&other).unwrap_or(other.git_dir);
        Err(Finding::new(
            Code::SessionBusy,
            format!("Another worktree works in edt/{}: {}. Nothing was changed.", self.name, place.display()),
            "Work there, or begin a session of your own here (`git switch` away from it, then `edt begin`).",
        )
        .into())
    }

    fn is_of(&self, worktree: &Worktree) -> bool {
        let branch = Some(self.branch());
        worktree.head == branch || worktree.pointer == branch
    }

    /// The branch's full name.
    #[must_use]
    pub fn branch(&self) -> String {
        format!("{BRANCHES}{}", self.name)
    }

    /// For an answer.
    #[must_use]
    pub fn report(&self, began: bool) -> SessionReport {
        SessionReport {
            name: self.name.clone(),
            branch: format!("edt/{}", self.name),
            base: self.base.to_string(),
            began,
        }
    }
}

/// The ref of the session's base.
#[must_use]
pub fn base_ref(name: &str) -> String {
    format!("{REFS}{name}/base")
}

fn without_base(name: &str) -> Finding {
    Finding::new(
        Code::NoSession,
        format!(
            "HEAD is on edt/{name}, but {} is missing, so the session's base is unknown.",
            base_ref(name)
        ),
        format!(
            "If a person made the branch by hand, record its base with `git update-ref {} <commit>`; else switch to another branch and `edt begin`.",
            base_ref(name)
        ),
    )
}
