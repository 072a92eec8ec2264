//! Sessions that have ended, for commands that only show one.

use super::current::{self, Session};
use super::landed::Landing;
use super::names::{BRANCHES, REFS, base_ref};
use super::renamed;
use edt_git::{Head, InHead, Oid, Repo};
use edt_types::{Code, Finding, Result};

/// A session to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSession {
    pub session: Session,
    /// Its newest landing, if it has no commit since.
    pub landing: Option<Landing>,
}

impl ShownSession {
    /// The session of the worktree, or else the one whose landing HEAD is at.
    ///
    /// # Errors
    /// `IO_ERROR`, `OBJECT_MISSING`.
    pub fn here(repo: &Repo, head: &Head) -> Result<Option<ShownSession>> {
        if let Some(session) = current::current(repo, head)? {
            return Ok(Some(ShownSession { session, landing: None }));
        }
        let landing = head.commit.map(|commit| Landing::at(repo, commit)).transpose()?.flatten();
        let Some(landing) = landing else { return Ok(None) };
        let session = ended(repo, &landing.session, landing.tip)?;
        Ok(session.map(|session| ShownSession { session, landing: Some(landing) }))
    }

    /// As [`here`](ShownSession::here), for a command that cannot work without a session.
    ///
    /// # Errors
    /// `NO_SESSION`; `IO_ERROR`, `OBJECT_MISSING`.
    pub fn required(repo: &Repo, head: &Head) -> Result<ShownSession> {
        match ShownSession::here(repo, head)? {
            Some(shown) => Ok(shown),
            None => {
                Session::required(repo, head).map(|session| ShownSession { session, landing: None })
            }
        }
    }

    /// The session with this name, whatever its state; `None` if there is none, or if nothing has
    /// its commits.
    ///
    /// # Errors
    /// `IO_ERROR`, `OBJECT_MISSING`.
    pub fn named(repo: &Repo, name: &str) -> Result<Option<ShownSession>> {
        let name = name.strip_prefix("edt/").unwrap_or(name);
        if !repo.is_ref_name(&format!("{BRANCHES}{name}")) {
            return Ok(None);
        }
        let mut landings = Landing::all(repo, name)?;
        let mut session = Session::named(repo, name)?;
        if session.is_none()
            && let Some((branch, tip)) = renamed::outside(repo, &[name])?.remove(name)
        {
            session = ended(repo, name, tip)?.map(|session| Session { branch, ..session });
        }
        if session.is_none() {
            let abandoned = repo.ref_value(&format!("{REFS}{name}/abandoned"))?;
            let tip = abandoned.or(landings.last().map(|landing| landing.tip));
            session = tip.map(|tip| ended(repo, name, tip)).transpose()?.flatten();
        }
        Ok(session.map(|session| {
            let landing = landings.pop().filter(|landing| landing.tip == session.tip);
            ShownSession { session, landing }
        }))
    }

    /// The refusal for a name that no session has.
    #[must_use]
    pub fn unknown(name: &str) -> Finding {
        Finding::new(
            Code::NoSession,
            format!("There is no session {name:?} with commits."),
            "`edt status --ended` lists the sessions.",
        )
        .nothing_changed()
    }
}

/// The session `name` at `tip`; `None` if it has no base.
fn ended(repo: &Repo, name: &str, tip: Oid) -> Result<Option<Session>> {
    let base = repo.ref_value(&base_ref(name))?;
    Ok(base.map(|base| Session {
        name: name.to_owned(),
        branch: format!("{BRANCHES}{name}"),
        tip,
        base,
        head: InHead::No,
        planned: None,
    }))
}
