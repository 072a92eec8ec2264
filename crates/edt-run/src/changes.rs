//! What happened to the session while a program ran.

use edt_core::proposal::landing;
use edt_core::session::{LockedWorkspace, Session};
use edt_git::Oid;
use edt_guard::policy::Policy;
use edt_types::{Effect, Finding, Result};

/// Protected paths that another process recorded without user approval while the program ran. The
/// program may have started that process.
///
/// # Errors
/// `OBJECT_MISSING`.
pub(super) fn foreign_protected_changes(
    workspace: &LockedWorkspace,
    policy: &Policy,
    session: &Session,
    before: Oid,
    after: Oid,
) -> Result<Vec<Finding>> {
    let seen = Session { base: before, tip: after, ..session.clone() };
    let found = landing::unapproved_paths(&workspace.repo, workspace.options(), policy, &seen)?;
    Ok(found
        .into_iter()
        .map(|finding| Finding {
            summary: format!(
                "{} It was recorded while the program ran. The session keeps it; `edt land` waits for \
                 user approval.",
                finding.summary
            ),
            effect: Effect::Unstated,
            ..finding
        })
        .collect())
}
