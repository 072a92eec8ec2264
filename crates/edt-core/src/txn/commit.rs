//! Fourth and fifth stage: writes the objects of the commit, then publishes it.

use super::guard::Cleared;
use super::plan::Content;
use super::report;
use crate::session::begin::{self, BeginOptions, HeadSwitch, NewSession};
use crate::session::checkpoint::CheckpointReason;
use crate::session::message::{self, Kind, Trailers};
use crate::session::{Checkpoints, LockedWorkspace, OnDisk, PathState, Session};
use edt_git::{FileId, Forms, InHead, NewCommit, ObjectWriter, Oid, Repo, TreeChange};
use edt_journal::entry::{DiskState, EntryMove};
use edt_journal::{ChangeSet, FileChange, IndexView, NewFile, publish};
use edt_types::{Durability, FileChangeKind, Outcome, RepoPath, Result, Status};

/// A transaction whose objects are written. No ref names them.
#[must_use = "without `publish` nothing changes"]
pub struct Committed<'w, 'q> {
    workspace: &'w mut LockedWorkspace,
    cleared: Cleared<'q>,
    session: Session,
    staged: StagedCommit,
}

/// Writes the objects of the commit, and of a new session if there is none.
///
/// # Errors
/// The findings of beginning a session; `OBJECT_MISSING`, `INTERNAL`.
pub fn commit<'w, 'q>(
    workspace: &'w mut LockedWorkspace,
    mut cleared: Cleared<'q>,
) -> Result<Committed<'w, 'q>> {
    let mut objects = ObjectWriter::new(&workspace.repo);
    let begun = if cleared.state.exists {
        None
    } else {
        Some(begin::prepare(
            workspace,
            &mut objects,
            &BeginOptions { name: None, switching: HeadSwitch::AsConfigured, base: None },
        )?)
    };
    let session =
        begun.as_ref().map_or_else(|| cleared.state.session.clone(), |begun| begun.session.clone());
    let file = |file: &'_ super::plan::FilePlan| {
        Some((cleared.state.paths.get(&file.path)?.clone(), file.after.clone()))
    };
    let plan = CommitPlan {
        session: &session,
        begun,
        index: cleared.state.index.take().filter(|_| session.head == InHead::Yes),
        tree: cleared.state.tip_tree,
        files: cleared.files.iter().filter_map(file).collect(),
        text: cleared.request.message.clone().unwrap_or_else(|| subject(&cleared)),
        kind: Kind::Edit,
        verb: "edt apply",
        agent: cleared.request.agent.clone(),
        allowed: cleared.allowed.clone(),
        more: cleared.request.proposal.iter().map(|id| ("Edt-Proposal", id.to_string())).collect(),
    };
    let staged = plan.write(&workspace.repo, objects)?;
    Ok(Committed { workspace, cleared, session, staged })
}

/// The parts of one of edt's commits.
pub(super) struct CommitPlan<'s> {
    pub(super) session: &'s Session,
    /// The new session, if it begins with this commit.
    pub(super) begun: Option<NewSession>,
    pub(super) index: Option<IndexView>,
    /// The tree to build on.
    pub(super) tree: Oid,
    pub(super) files: Vec<(PathState, Option<Content>)>,
    pub(super) text: String,
    pub(super) kind: Kind,
    pub(super) verb: &'static str,
    pub(super) agent: Option<String>,
    pub(super) allowed: Vec<String>,
    /// Further trailers.
    pub(super) more: Vec<(&'static str, String)>,
}

/// A commit whose objects are written, and the change that publishes it.
pub(super) struct StagedCommit {
    pub(super) change: ChangeSet,
    pub(super) checkpoints: Checkpoints,
    pub(super) commit: Oid,
    pub(super) edit: u64,
    /// The blob of each path in the commit.
    pub(super) ids: Vec<(RepoPath, Oid)>,
}

impl CommitPlan<'_> {
    pub(super) fn write(self, repo: &Repo, mut objects: ObjectWriter<'_>) -> Result<StagedCommit> {
        let session = self.session;
        let edit = if self.begun.is_some() { 1 } else { session.edits(repo)? + 1 };
        let paths: Vec<&PathState> = self.files.iter().map(|(path_state, _)| path_state).collect();
        let checkpoints = Checkpoints::write(
            &mut objects,
            session,
            self.tree,
            edit - 1,
            &paths,
            CheckpointReason::Foreign,
        )?;
        let (mut changes, mut files, mut moves) = (Vec::new(), Vec::new(), Vec::new());
        for (path_state, after) in self.files {
            let new = match after {
                Some(content) => {
                    let file =
                        FileId { oid: objects.write_blob(content.blob())?, mode: content.mode };
                    let forms = Forms { text: content.bytes, stored: content.stored };
                    Some((file, NewFile::of(&mut objects, file, forms)?))
                }
                None => None,
            };
            let (file, new) = new.unzip();
            changes.push(TreeChange { path: path_state.path.clone(), file });
            moves.push(EntryMove {
                path: path_state.path.clone(),
                file,
                seen: path_state.staged,
                disk: DiskState::Written,
            });
            files.push(FileChange {
                path: path_state.path,
                old: path_state.disk.as_ref().map(OnDisk::old),
                new,
            });
        }
        let (tree, touched_trees) = objects.write_tree(checkpoints.tree, &changes)?;
        let (name, kind) = (session.name.clone(), self.kind);
        let trailers = Trailers {
            session: name,
            kind,
            edit,
            agent: self.agent,
            allowed: self.allowed,
            foreign: false,
        };
        let more = self.more.iter().map(|(key, value)| format!("{key}: {value}\n"));
        let message = message::compose(&self.text, &trailers) + &more.collect::<String>();
        let commit = objects.write_commit(&NewCommit {
            tree,
            parent: Some(checkpoints.tip),
            message: &message,
        })?;
        let log = format!("{}: {}", self.verb, self.text.lines().next().unwrap_or_default());
        let (branch, create) = begin::branch(session, self.begun, commit, log);
        let index = self.index.map(|index| (index, moves));
        let change = ChangeSet {
            objects: objects.loose_objects(),
            create,
            files,
            index,
            touched_trees,
            ..ChangeSet::of(branch)
        };
        let ids = changes
            .into_iter()
            .filter_map(|change| Some((change.path, change.file?.oid)))
            .collect();
        Ok(StagedCommit { change, checkpoints, commit, edit, ids })
    }
}

impl Committed<'_, '_> {
    /// Moves the branch and writes files and index.
    ///
    /// # Errors
    /// The findings of [`publish`]; then nothing has changed.
    pub fn publish(self) -> Result<Outcome> {
        let Committed { workspace, cleared, session, staged } = self;
        let StagedCommit { change, checkpoints, commit, edit, ids } = staged;
        workspace
            .journal
            .require_durability(cleared.state.policy.durability.unwrap_or(Durability::Off));
        let warnings = publish(&workspace.repo, &mut workspace.journal, change)?;
        let mut outcome = report::of(workspace, &cleared, Status::Applied, &ids);
        outcome.session = Some(session.report(!cleared.state.exists));
        outcome.commit = Some(commit.to_string());
        outcome.parent = Some(session.tip.to_string());
        outcome.edit = Some(edit);
        outcome.checkpoints = checkpoints.commits.iter().map(ToString::to_string).collect();
        outcome.warnings.extend(warnings);
        Ok(outcome)
    }
}

/// The default subject: `edit src/calc.c (+1 -1)`.
pub(super) fn subject(cleared: &Cleared<'_>) -> String {
    let moved_away = |file: &super::plan::FilePlan| {
        file.after.is_none()
            && cleared.files.iter().any(|other| other.from.as_ref() == Some(&file.path))
    };
    let shown: Vec<_> = cleared
        .files
        .iter()
        .zip(&cleared.diff_summaries)
        .filter(|(file, _)| !moved_away(file))
        .collect();
    let added: u64 = shown.iter().map(|(_, shape)| shape.added).sum();
    let removed: u64 = shown.iter().map(|(_, shape)| shape.removed).sum();
    match shown.as_slice() {
        [(one, _)] if one.change == FileChangeKind::Renamed => {
            let from = one.from.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("rename {from} to {} (+{added} -{removed})", one.path)
        }
        [(one, _)] => format!("{} {} (+{added} -{removed})", one.change.verb(), one.path),
        many => format!("edit {} files (+{added} -{removed})", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::Scratch;
    use crate::txn::Request;

    /// The subject of a commit whose request has no message.
    fn subject(request: Request) -> String {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.apply(&Request { message: None, ..request }).unwrap();
        scratch.message(scratch.head()).lines().next().unwrap().to_owned()
    }

    #[test]
    fn an_edit_of_one_file_is_named_by_default() {
        let request = Request::new("").edit("a.txt", "one\n", "two\nthree\n");
        assert_eq!(subject(request), "edit a.txt (+2 -1)");
    }

    #[test]
    fn a_new_file_is_named_by_default() {
        assert_eq!(subject(Request::new("").create("c.txt", "c\n")), "create c.txt (+1 -0)");
    }

    #[test]
    fn a_rename_is_named_by_default() {
        let request = Request::new("").rename("a.txt", "c.txt");
        assert_eq!(subject(request), "rename a.txt to c.txt (+0 -0)");
    }

    #[test]
    fn several_files_are_counted_by_default() {
        let request = Request::new("").append("a.txt", "x\n").delete("b.txt");
        assert_eq!(subject(request), "edit 2 files (+1 -1)");
    }

    #[test]
    fn a_commit_has_the_message_the_agent_and_the_needed_overrides() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        let request = Request::new("why\n\nbody")
            .append("a.txt", b"\xff".to_vec())
            .agent("robot")
            .allow("encoding")
            .allow("mass_deletion");
        scratch.apply(&request).unwrap();
        assert_eq!(
            scratch.message(scratch.head()),
            "why\n\nbody\n\nEdt-Session: fix\nEdt-Kind: edit\nEdt-Edit: 1\nEdt-Agent: robot\n\
             Edt-Allowed: encoding\n"
        );
    }

    #[test]
    fn unrecorded_changes_of_an_edited_file_get_a_commit_of_their_own() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write("a.txt", "one by hand\n");
        let outcome = scratch.edit("x", "a.txt", "one", "two");
        let repo = scratch.repo();
        let session = scratch.session();
        let commits: Vec<_> = session.commits(&repo).map(|commit| commit.unwrap()).collect();
        assert_eq!(outcome.checkpoints, [commits[1].oid.to_string()]);
        assert_eq!(scratch.committed(commits[1].oid, "a.txt").as_deref(), Some("one by hand\n"));
        assert!(commits[1].trailers.as_ref().unwrap().foreign);
        assert_eq!(outcome.edit, Some(1));
    }
}
