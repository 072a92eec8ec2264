//! The landings of a session, as their refs record them.

use super::names::{REFS, numbered_tips};
use edt_git::read::ObjectKind;
use edt_git::{Oid, Repo};
use edt_types::{Code, Finding, Result};

/// A landing, as its refs record it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The session's name.
    pub session: String,
    /// Its number.
    pub number: u64,
    /// The session's tip that landed.
    pub tip: Oid,
    /// The commit that it landed as.
    pub commit: Oid,
    /// The full name of the branch that it landed on.
    pub branch: String,
    /// The commit of that branch before; `None` if the branch was unborn.
    pub before: Option<Oid>,
    /// The blob that records the last two.
    pub(crate) onto: Oid,
}

impl Landing {
    /// The landings of the session `name` that were not undone, oldest first.
    ///
    /// # Errors
    /// `IO_ERROR`, `OBJECT_MISSING`.
    pub fn all(repo: &Repo, name: &str) -> Result<Vec<Landing>> {
        let tips = numbered_tips(repo, name, "landed")?;
        let blobs = numbered_tips(repo, name, "onto")?;
        let mut all = Vec::new();
        for (number, commit) in numbered_tips(repo, name, "landing")? {
            let of = |list: &[(u64, Oid)]| {
                list.iter().find(|(of, _)| *of == number).map(|(_, oid)| *oid)
            };
            let (Some(tip), Some(onto)) = (of(&tips), of(&blobs)) else { continue };
            let text = repo.object(onto, ObjectKind::Blob)?;
            let text = String::from_utf8_lossy(&text);
            let (branch, before) =
                text.trim_end().split_once('\n').unwrap_or((text.trim_end(), ""));
            all.push(Landing {
                session: name.to_owned(),
                number,
                tip,
                commit,
                branch: branch.to_owned(),
                before: Oid::from_hex(before.as_bytes()).ok(),
                onto,
            });
        }
        Ok(all)
    }

    /// The landing that made `commit`, of any session.
    ///
    /// # Errors
    /// `IO_ERROR`, `OBJECT_MISSING`.
    pub fn at(repo: &Repo, commit: Oid) -> Result<Option<Landing>> {
        for (name, _) in repo.refs_below(REFS)?.into_iter().filter(|(_, oid)| *oid == commit) {
            let Some((session, _)) = name.trim_start_matches(REFS).split_once("/landing/") else {
                continue;
            };
            let all = Landing::all(repo, session)?;
            if let Some(landing) = all.into_iter().rev().find(|one| one.commit == commit) {
                return Ok(Some(landing));
            }
        }
        Ok(None)
    }

    /// Whether the branch that it landed on has it no more: the user moved the branch. One that is
    /// gone may have been merged.
    ///
    /// # Errors
    /// `IO_ERROR`, `OBJECT_MISSING`.
    pub fn is_lost(&self, repo: &Repo) -> Result<bool> {
        match repo.ref_value(&self.branch)? {
            Some(tip) => Ok(!repo.is_recent_ancestor(self.commit, tip)?
                && !repo.is_ancestor(self.commit, tip)?),
            None => Ok(false),
        }
    }

    /// The ref that keeps the session's tip as it landed.
    #[must_use]
    pub fn kept(&self) -> String {
        format!("{REFS}{}/landed/{}", self.session, self.number)
    }

    /// The refusal of a call that changes an open session.
    pub(super) fn is_over(&self) -> Finding {
        let Landing { session, commit, .. } = self;
        let short = commit.to_hex_with_len(12);
        Finding::new(
            Code::SessionLanded,
            format!("The session {session} landed on {} ({short}).", self.short_branch()),
            format!(
                "`edt land --undo` takes the landing back. `edt log {session}` and `edt diff \
                 {session}` show it."
            ),
        )
        .nothing_changed()
    }

    /// The name of the branch that it landed on, without `refs/heads/`.
    #[must_use]
    pub fn short_branch(&self) -> &str {
        self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch)
    }
}
