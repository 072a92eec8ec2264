//! The refs of a change: the branch that decides, what is pointed at it, and what goes with it.

use super::record::Id;
use crate::base::Result;
use crate::git::{InHead, Oid, RefChange, Repo, Swap};

/// The ref that decides, and what follows it.
#[derive(Debug, Clone)]
pub struct Branch {
    /// Its full name.
    pub name: String,
    /// Its value before; `None` to create it.
    pub old: Option<Oid>,
    /// Its value after.
    pub new: Oid,
    /// The reflog line.
    pub log: String,
    /// Whether HEAD is on it.
    pub head: InHead,
    /// What HEAD names now, if HEAD is to be pointed at the branch.
    pub head_from: Option<String>,
    /// Another symbolic ref to point at the branch.
    pub point: Option<String>,
}

impl Branch {
    pub(super) fn swap(&self, from: Oid) -> Swap<'_> {
        Swap { name: &self.name, from, to: self.new, log: &self.log, head: self.head }
    }
}

/// Points HEAD, or the worktree's own symbolic ref, at the branch.
pub(super) fn point_head(repo: &Repo, branch: &Branch) -> Result<()> {
    if let Some(from) = &branch.head_from {
        repo.change_refs(&[RefChange::Point { name: "HEAD".into(), at: branch.name.clone() }])?;
        let short = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
        let log = format!("checkout: moving from {} to {}", short(from), short(&branch.name));
        repo.log_ref("HEAD", branch.new, branch.new, &log)?;
    }
    if let Some(name) = &branch.point {
        repo.change_refs(&[RefChange::Point { name: name.clone(), at: branch.name.clone() }])?;
    }
    Ok(())
}

/// Removes those of `refs` that still have their value.
pub(super) fn drop_refs(repo: &Repo, refs: &[(String, Id)]) -> Result<()> {
    for (name, id) in refs {
        if let Some(from) = id.oid()
            && repo.ref_value(name)? == Some(from)
        {
            repo.change_refs(&[RefChange::Delete { name: name.clone(), from }])?;
        }
    }
    Ok(())
}
