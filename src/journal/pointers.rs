//! The refs of a change: the branch that decides, what is pointed at it, and what goes with it.

use crate::base::Result;
use crate::git::reflog::Line;
use crate::git::{InHead, Oid, Repo, Swap};

/// The ref that decides, and what follows it.
#[derive(Debug, Clone)]
pub struct Branch {
    /// Its full name.
    pub name: String,
    /// Where it comes from.
    pub from: From,
    /// Its value after.
    pub new: Oid,
    /// The reflog line; none is written if nothing moves.
    pub log: String,
    /// Whether HEAD is on it once all is done, so that index and HEAD's log follow.
    pub head: InHead,
    /// What HEAD names now, if HEAD is to be pointed at the branch.
    pub head_from: Option<String>,
    /// Another symbolic ref to point at the branch.
    pub point: Option<String>,
}

/// Where the branch comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// It has this value.
    Value(Oid),
    /// It has this value, and its new one lies before it: an undo.
    Later(Oid),
    /// It is created, at this commit.
    Nothing(Oid),
}

impl Branch {
    /// Where it stands, or begins.
    #[must_use]
    pub fn start(&self) -> Oid {
        match self.from {
            From::Value(oid) | From::Later(oid) | From::Nothing(oid) => oid,
        }
    }

    /// Its value before; `None` if it is created.
    #[must_use]
    pub fn old(&self) -> Option<Oid> {
        match self.from {
            From::Value(oid) | From::Later(oid) => Some(oid),
            From::Nothing(_) => None,
        }
    }

    /// Whether it must be on the medium before it is answered: a session that began, or HEAD that went elsewhere. After a restart
    /// a missing branch could not be told from a deleted one, nor where HEAD was to be.
    pub(super) fn must_be_synced(&self) -> bool {
        matches!(self.from, From::Nothing(_)) || self.head_from.is_some()
    }

    pub(super) fn swap(&self) -> Swap<'_> {
        Swap { name: &self.name, from: self.start(), to: self.new, log: &self.log, head: self.head }
    }

    /// Whether it stays where it is, and HEAD, which goes to it, decides.
    pub(super) fn stays(&self) -> bool {
        self.old() == Some(self.new) && self.head_from.is_some()
    }

    /// The instant that decides.
    pub(super) fn decide(&self, repo: &Repo) -> Result<()> {
        match self.from {
            From::Nothing(_) => repo.create_ref(&self.name, self.new),
            From::Value(_) | From::Later(_) => repo.swap_ref(&self.swap()),
        }?;
        if self.stays() { repo.point_ref("HEAD", &self.name) } else { Ok(()) }
    }

    /// What follows it: the symbolic refs, then the logs.
    pub(super) fn follow(&self, repo: &Repo, line: Line, head_to: Option<&str>) -> Result<()> {
        let (start, short) = (self.start(), |name: &str| {
            name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()
        });
        let from = self.head_from.as_deref().map(short).unwrap_or_default();
        if let From::Nothing(_) = self.from {
            repo.log_ref(&self.name, repo.null(), start, "branch: Created from HEAD", line)?;
        }
        if self.head_from.is_some() {
            let to = head_to.unwrap_or(&self.name);
            if repo.head_names()?.as_deref() != Some(to) {
                repo.point_ref("HEAD", to)?;
            }
            let at = head_to.and_then(|to| Oid::from_hex(to.as_bytes()).ok()).unwrap_or(start);
            repo.log_ref(
                "HEAD",
                at,
                at,
                &format!("checkout: moving from {from} to {}", short(to)),
                line,
            )?;
        }
        if let Some(name) = &self.point {
            repo.point_ref(name, &self.name)?;
        }
        let head = if head_to.is_some() { InHead::No } else { self.head };
        if start == self.new { Ok(()) } else { repo.log_swap(&Swap { head, ..self.swap() }, line) }
    }
}
