//! Deletes refs outside of a transaction.

use super::durable;
use super::journal::Journal;
use super::record::{Id, Record};
use edt_git::{Oid, Repo};
use edt_io::signals::HeldSignals;
use edt_types::{Code, Finding, Result};

/// Deletes refs outside of a transaction: if each has its value or does not exist, all or none.
///
/// # Errors
/// As [`Repo::delete_refs`].
pub fn delete_refs(repo: &Repo, journal: &mut Journal, refs: &[(String, Oid)]) -> Result<()> {
    if refs.is_empty() {
        return Ok(());
    }
    journal.check_closed()?;
    let _signals = HeldSignals::hold();
    let recorded = refs.iter().map(|(name, from)| (name.clone(), Id::from(*from)));
    journal.append(&Record::Deletion(recorded.collect()))?;
    match repo.delete_refs(refs) {
        // Some refs may be deleted, and a lock may be left: the next call finishes it.
        Err(error) if !error.any(is_refused) => Err(error),
        deleted => {
            durable::sync_deleted(repo, refs.iter().map(|(name, _)| name.as_str()))?;
            journal.close()?;
            deleted
        }
    }
}

/// Whether nothing was deleted, because a ref has another value or a lock is held.
fn is_refused(finding: &Finding) -> bool {
    matches!(finding.code, Code::SessionMoved | Code::SessionBusy)
}

/// Removes the locks of an interrupted deletion, and deletes the refs that still have their values.
pub(super) fn finish(repo: &Repo, refs: &[(String, Id)]) -> Result<()> {
    repo.unlock_packed_refs()?;
    refs.iter().try_for_each(|(name, _)| repo.unlock_ref(name))?;
    let mut left = Vec::new();
    // A session needs all of its refs.
    let mut used: Vec<String> = Vec::new();
    for (name, _) in refs {
        if let Some(session) = name.strip_prefix("refs/heads/edt/")
            && repo.is_checked_out(name)?
        {
            used.extend([name.clone(), format!("refs/edt/{session}/")]);
        }
    }
    let is_used = |name: &str| {
        used.iter().any(|used| name == used || used.ends_with('/') && name.starts_with(used))
    };
    for (name, from) in refs.iter().filter(|(name, _)| !is_used(name)) {
        if let Some(from) = from.oid()
            && repo.ref_value(name)? == Some(from)
        {
            left.push((name.clone(), from));
        }
    }
    repo.delete_refs(&left)?;
    durable::sync_deleted(repo, refs.iter().map(|(name, _)| name.as_str()))
}
