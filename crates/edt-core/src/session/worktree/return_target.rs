//! Where HEAD goes if a worktree leaves its session.

use crate::session::refs::current::Session;
use crate::session::refs::names::{POINTER, origin};
use edt_git::{InHead, Oid, Repo};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Refusal, Result, Warning, WarningCode};

/// Where HEAD goes if the worktree leaves a session.
pub(crate) struct ReturnTarget {
    /// The full name of a branch, or a commit for a detached HEAD; `None` if HEAD is not moved.
    pub(crate) onto: Option<String>,
    /// The commit there; `None` if the branch is unborn.
    pub(crate) tip: Option<Oid>,
    pub(crate) base: Oid,
    pub(crate) warning: Option<Warning>,
}

impl ReturnTarget {
    pub(crate) fn of(repo: &Repo, session: &Session) -> Result<ReturnTarget> {
        let base = session.base;
        if session.head == InHead::No {
            return Ok(ReturnTarget { onto: None, tip: None, base, warning: None });
        }
        let origin = origin(repo, &session.name)?.unwrap_or_default();
        if !origin.starts_with("refs/heads/") {
            let commit =
                Oid::from_hex(origin.as_bytes()).map_err(|_| origin_missing(session, &origin))?;
            return Ok(ReturnTarget { onto: Some(origin), tip: Some(commit), base, warning: None });
        }
        let Some(tip) = repo.ref_value(&origin)? else {
            let unborn = base == repo.empty_tree();
            let target = unborn.then_some(ReturnTarget {
                onto: Some(origin.clone()),
                tip: None,
                base,
                warning: None,
            });
            return target.ok_or_else(|| origin_missing(session, &origin).into());
        };
        let other = repo.other_worktrees(POINTER).into_iter().find(|worktree| {
            worktree.head.as_ref() == Some(&origin) || worktree.is_rebasing_or_bisecting(&origin)
        });
        let Some(other) = other else {
            return Ok(ReturnTarget { onto: Some(origin), tip: Some(tip), base, warning: None });
        };
        let why = format!(
            "{} is checked out, rebased or bisected in {}.",
            short(&origin),
            repo.worktree_path(&other).shown()
        );
        let after = "If this worktree was made for the session, remove it with `git worktree \
            remove`.";
        Ok(ReturnTarget {
            warning: Some(detached(tip, &why, after)),
            ..ReturnTarget::at(tip, base)
        })
    }

    fn at(commit: Oid, base: Oid) -> ReturnTarget {
        ReturnTarget { onto: Some(commit.to_string()), tip: Some(commit), base, warning: None }
    }

    /// The session's base, used if HEAD cannot go further because of `error`.
    pub(crate) fn to_base(&self, session: &Session, error: &Refusal) -> Option<ReturnTarget> {
        let onto = self.onto.as_deref()?;
        if self.tip == Some(self.base) || self.tip.is_none() {
            return None;
        }
        let paths: Vec<String> =
            error.clone().into_vec().into_iter().filter_map(|finding| finding.path).collect();
        let why =
            format!("edt cannot check out {} from {}.", paths.join(", ").shown(), short(onto));
        let to = if onto.starts_with("refs/heads/") {
            short(onto).to_owned()
        } else {
            format!("--detach {onto}")
        };
        let after = format!("`git switch {to}` switches to it.");
        Some(ReturnTarget {
            warning: Some(detached(session.base, &why, &after)),
            ..ReturnTarget::at(session.base, session.base)
        })
    }

    pub(crate) fn tree(&self, repo: &Repo) -> Result<Oid> {
        repo.tree_of(self.tip.unwrap_or(self.base))
    }
}

fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}

fn detached(commit: Oid, why: &str, after: &str) -> Warning {
    let message = format!("HEAD is detached at {}: {why} {after}", commit.to_hex_with_len(12));
    Warning { code: WarningCode::HeadDetached, path: None, message }
}

fn origin_missing(session: &Session, origin: &str) -> Finding {
    Finding::new(
        Code::BadRequest,
        format!(
            "{} began on {origin:?}, which is not a branch with a commit.",
            session.short_branch()
        ),
        "Switch to another branch with `git switch BRANCH`; the session's work stays on its \
         branch.",
    )
    .nothing_changed()
}
