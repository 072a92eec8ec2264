//! What is known of the worktree before a program runs.

use edt_core::session::private::not_kept::NamedPaths;
use edt_core::session::recording::run_store::RunStore;
use edt_core::session::recording::snapshot::Snapshot;
use edt_core::session::{LockedWorkspace, Session};
use edt_git::{Oid, Repo};
use edt_types::{RepoPath, Result};

use super::sandbox::{NameQuestions, RecordPlan};

/// What is known of the worktree before the program runs.
pub(super) struct StateBefore {
    pub(super) session: Option<Session>,
    pub(super) capture: Capture,
}

/// How the changes of the program are found.
pub(super) enum Capture {
    /// They are recorded at the system call. With what Git ignores, in order.
    Recorded(RunStore, Vec<RepoPath>),
    /// The worktree is compared with its state before.
    Compared(Box<Snapshot>),
}

impl StateBefore {
    /// # Errors
    /// `IO_ERROR`, `OBJECT_MISSING`, `GIT_DIR_READ_ONLY`.
    pub(super) fn of(workspace: &LockedWorkspace, named: &NamedPaths) -> Result<StateBefore> {
        let repo = &workspace.repo;
        let head = repo.head()?;
        let session = Session::current(repo, &head)?;
        let tip = session.as_ref().map(|session| session.tip).or(head.commit);
        let tree = tree_of(repo, tip)?;
        let capture = match RunStore::new(repo, tree)? {
            Some(store) if repo.operation().is_none() => {
                let mut ignored = repo.ignored().inspect_err(|_| store.remove())?;
                ignored.sort();
                Capture::Recorded(store, ignored)
            }
            other => {
                other.iter().for_each(RunStore::remove);
                Capture::Compared(Box::new(Snapshot::take(repo, tree, named)?))
            }
        };
        Ok(StateBefore { session, capture })
    }

    /// What Git ignores.
    pub(super) fn ignored(&self) -> &[RepoPath] {
        match &self.capture {
            Capture::Recorded(_, ignored) => ignored,
            Capture::Compared(snapshot) => snapshot.ignored(),
        }
    }

    /// The paths of which there is no copy.
    pub(super) fn not_kept(&self) -> Vec<String> {
        match &self.capture {
            Capture::Recorded(..) => Vec::new(),
            Capture::Compared(snapshot) => {
                snapshot.not_kept.iter().map(|one| one.path.text()).collect()
            }
        }
    }

    pub(super) fn record_plan(&self, names: Option<NameQuestions>) -> Option<RecordPlan> {
        match &self.capture {
            Capture::Recorded(store, _) => Some(RecordPlan { store: store.place.clone(), names }),
            Capture::Compared(_) => None,
        }
    }

    /// Nothing of the run is needed any more.
    pub(super) fn finish(&self) {
        match &self.capture {
            Capture::Recorded(store, _) => store.remove(),
            Capture::Compared(snapshot) => snapshot.finish(),
        }
    }
}

fn tree_of(repo: &Repo, tip: Option<Oid>) -> Result<Oid> {
    match tip {
        Some(tip) if tip != repo.empty_tree() => repo.tree_of(tip),
        _ => Ok(repo.empty_tree()),
    }
}
