//! The base of every view of a session: what it shows are the changes since.

use crate::session::refs::current::Session;
use crate::session::refs::landed::Landing;
use crate::session::refs::names;
use crate::session::refs::record::RecordTip;
use edt_git::{Oid, Repo};
use edt_types::Result;

/// The commit that the changes of `session` are counted from. That is where it began, unless the
/// user rebased it on its target or merged the target: then it is their merge base. A target that
/// was reset does not matter, and neither does one with no or several merge bases.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn viewed(repo: &Repo, session: &Session) -> Result<Oid> {
    let began = session.base;
    let Some(target) = target(repo, session)?.filter(|_| session.tip != repo.empty_tree()) else {
        return Ok(began);
    };
    if session.tip == began {
        return Ok(began);
    }
    if target == began && RecordTip::of(repo, session)?.is_some_and(|entry| entry.is_on(session)) {
        return Ok(began);
    }
    let [shared] = repo.merge_bases(session.tip, target)?[..] else { return Ok(began) };
    if shared == began {
        return Ok(began);
    }
    let is_unborn = began == repo.empty_tree();
    let is_below = |commit| -> Result<bool> { Ok(is_unborn || repo.is_ancestor(began, commit)?) };
    Ok(if is_below(session.tip)? && !is_below(shared)? { began } else { shared })
}

/// The commit of the branch that the session began on.
fn target(repo: &Repo, session: &Session) -> Result<Option<Oid>> {
    let origin = names::origin(repo, &session.name)?;
    match origin.filter(|origin| origin.starts_with("refs/heads/") && repo.is_ref_name(origin)) {
        Some(branch) => repo.ref_value(&branch),
        None => Ok(None),
    }
}

impl Session {
    /// The session with the base of its views.
    ///
    /// # Errors
    /// As [`viewed`].
    pub fn viewed(&self, repo: &Repo) -> Result<Session> {
        Ok(Session { base: viewed(repo, self)?, ..self.clone() })
    }

    /// The session with what has not landed on its target: the base is the tip that landed last, if
    /// the session went on after it, else that of its views.
    ///
    /// # Errors
    /// As [`viewed`].
    pub fn not_landed(&self, repo: &Repo) -> Result<Session> {
        let viewed = self.viewed(repo)?;
        if self.tip == repo.empty_tree() {
            return Ok(viewed);
        }
        let origin = names::origin(repo, &self.name)?;
        for landing in Landing::all(repo, &self.name)?.into_iter().rev() {
            let goes_on = landing.tip != self.tip && repo.is_ancestor(landing.tip, self.tip)?;
            if goes_on && Some(&landing.branch) == origin.as_ref() && !landing.is_lost(repo)? {
                let is_newer = viewed.base == repo.empty_tree()
                    || !repo.is_ancestor(landing.tip, viewed.base)?;
                let base = if is_newer { landing.tip } else { viewed.base };
                return Ok(Session { base, ..viewed });
            }
        }
        Ok(viewed)
    }
}
