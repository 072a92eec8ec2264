//! Lessons: the memory of failures as an observer of calls.

use edt_core::observe::Observer;
use edt_core::session::{LockedWorkspace, Session};
use edt_core::txn::Request;
use edt_git::{Oid, Repo};
use edt_guard::policy::Policy;
use edt_journal::Journal;
use edt_journal::refusals::RefusedCall;
use edt_memory::observe::{self, Attempt, Origin};
use edt_memory::{IndexCache, Memory};
use edt_types::{Landing, Refusal, Result};

/// Attaches the memory to a workspace.
#[derive(Debug, Default)]
pub(crate) struct Lessons {
    index: IndexCache,
}

impl Observer for Lessons {
    fn refused(
        &self,
        repo: &Repo,
        policy: Option<&Policy>,
        request: Option<&Request>,
        _: &RefusedCall,
        findings: Refusal,
    ) -> Refusal {
        let is_enabled = policy.is_some_and(|policy| policy.memory);
        let Some(request) = request.filter(|_| observe::is_instructive(&findings) && is_enabled)
        else {
            return findings;
        };
        // What the memory has is in Git: never the content of an ignored file.
        let ignored = |edit: &edt_edit::Edit| !matches!(repo.ignores(&edit.path), Ok(false));
        if request.edits.iter().any(ignored) {
            return findings;
        }
        let memory = Memory::new(repo, Some(&self.index));
        observe::refused(&memory, &origin(repo), &attempt(request), findings)
    }

    fn landed(
        &self,
        repo: &Repo,
        journal: &mut Journal,
        request: Option<&Request>,
        landing: &Landing<'_>,
    ) {
        let at = || Origin {
            session: Some(landing.session.to_owned()),
            worktree: repo.state_path().to_string_lossy().into_owned(),
        };
        let attempt = request.map(attempt);
        let memory = Memory::new(repo, Some(&self.index));
        observe::landed(&memory, journal, at, attempt.as_ref(), landing);
    }

    fn undone(&self, repo: &Repo, from: Oid, to: Oid) {
        observe::undone(&Memory::new(repo, Some(&self.index)), from, to);
    }
}

/// Records what the memory has pending in `workspace`.
///
/// # Errors
/// As [`observe::record_pending`].
pub(crate) fn record_pending(workspace: &mut LockedWorkspace) -> Result<Option<Oid>> {
    observe::record_pending(&Memory::new(&workspace.repo, None), &mut workspace.journal)
}

fn attempt(request: &Request) -> Attempt<'_> {
    Attempt {
        edits: &request.edits,
        is_patch: request.patch.is_some(),
        agent: request.agent.as_deref(),
    }
}

fn origin(repo: &Repo) -> Origin {
    let session = repo.head().and_then(|head| Session::current(repo, &head)).ok().flatten();
    Origin {
        session: session.map(|session| session.name),
        worktree: repo.state_path().to_string_lossy().into_owned(),
    }
}
