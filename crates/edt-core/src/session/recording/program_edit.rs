//! The commits of a program's changes: of those that are recorded, and of those that are put back.

use super::edit_commit::{EditCommit, WrittenEdit};
use super::held::{self, HeldChanges};
use super::program_change::ProgramChange;
use super::roll_back;
use super::snapshot::Snapshot;
use crate::session::engine::{Change, WorktreeChange};
use crate::session::files::path_state::PathState;
use crate::session::refs::current::Session;
use crate::session::refs::message::Kind;
use crate::session::refs::names::next_numbered_ref;
use crate::session::turns::Asked;
use crate::session::user::ownership;
use crate::session::worktree::begin::NewSession;
use edt_git::{FileId, InHead, ObjectWriter, Oid, TouchedTrees, TreeChange};
use edt_journal::entry::{DiskState, EntryMove};
use edt_journal::{IndexView, PrivateFile};
use edt_types::{Result, Warning};

/// Whose changes are recorded, and what their commit says.
#[derive(Debug, Clone)]
pub struct CommitInfo {
    /// Subject and body.
    pub message: String,
    /// The agent that asked for it.
    pub agent: Option<String>,
    /// [`Kind::Run`] for a program, [`Kind::Edit`] for an agent's own tool.
    pub kind: Kind,
}

/// What the commits of a program's changes have in common.
pub(super) struct ProgramEdit<'e> {
    pub(super) session: &'e Session,
    /// The tree of the session's tip.
    pub(super) tree: Oid,
    pub(super) info: &'e CommitInfo,
    pub(super) number: u64,
    pub(super) asked: Asked,
}

impl<'e> ProgramEdit<'e> {
    /// The change that records `changed` as one commit. `new`: the session, if it begins with it.
    ///
    /// # Errors
    /// `INTERNAL`; `BAD_REQUEST` if the configured identity is invalid.
    pub(super) fn commit(
        &self,
        writer: &mut ObjectWriter<'_>,
        changed: &[ProgramChange],
        (new, index): (Option<NewSession>, IndexView),
    ) -> Result<(Oid, Change)> {
        let (written, moves, touched_trees) = self.written(writer, changed, None)?;
        let commit = written.commit;
        let log = if self.info.kind == Kind::Run { "edt run" } else { "edt agent-hook" };
        let index = (self.session.head == InHead::Yes).then_some((index, moves));
        let worktree = WorktreeChange { index, touched_trees, ..WorktreeChange::default() };
        Ok((commit, written.change(writer, new, log.to_owned(), worktree)))
    }

    /// The change that puts the files back, and keeps what the program made of them at a ref.
    ///
    /// # Errors
    /// As [`ProgramEdit::commit`]; errors of a filter.
    pub(super) fn take_out(
        &self,
        mut writer: ObjectWriter<'_>,
        before: &Snapshot,
        changed: Vec<ProgramChange>,
    ) -> Result<(HeldChanges, Change, Vec<Warning>)> {
        let name = next_numbered_ref(writer.repo(), &self.session.name, "refused")?;
        let (written, ..) = self.written(&mut writer, &changed, Some(&name))?;
        let WrittenEdit { commit, private, .. } = written;
        let files = held::states(before, &changed);
        let (changed, others) = held::provable(before, changed);
        let warnings = others.iter().map(|one| held::not_put_back(&one.state.path)).collect();
        let at = (self.tree, commit);
        let change = roll_back::roll_back(writer, self.session, (&name, private), at, changed)?;
        Ok((HeldChanges { commit, name, files }, change, warnings))
    }

    fn written<'w>(
        &self,
        writer: &mut ObjectWriter<'_>,
        changed: &[ProgramChange],
        kept_at: Option<&'w str>,
    ) -> Result<(WrittenEdit<'w>, Vec<EntryMove>, TouchedTrees)>
    where
        'e: 'w,
    {
        let (changes, moves, private) = write(writer, changed);
        let (tree, touched_trees) = writer.write_tree(self.tree, &changes)?;
        let written = EditCommit {
            session: self.session,
            trees: (self.tree, tree),
            text: &self.info.message,
            kind: self.info.kind,
            number: self.number,
            agent: self.info.agent.clone(),
            asked: self.asked.clone(),
            allowed: Vec::new(),
            more: &[],
            private,
            kept_at,
        };
        Ok((written.write(writer)?, moves, touched_trees))
    }
}

/// Writes what the branch and the index get. Returns the changes of both, and the bytes that only
/// the private store has.
fn write(
    writer: &mut ObjectWriter<'_>,
    changed: &[ProgramChange],
) -> (Vec<TreeChange>, Vec<EntryMove>, Vec<PrivateFile>) {
    let (mut changes, mut moves, mut private) = (Vec::new(), Vec::new(), Vec::new());
    for one in changed {
        let ProgramChange { state, separated, .. } = one;
        if one.is_private() {
            private.push(one.private_file());
        }
        let file = ownership::write(writer, separated.branch.clone());
        if file != state.tip && !state.ignored {
            changes.push(TreeChange { path: state.path.clone(), file });
        }
        if let Some(entry) = &separated.entry {
            let file = ownership::write(writer, entry.clone());
            moves.push(entry_move(state, file));
        }
    }
    (changes, moves, private)
}

pub(super) fn entry_move(state: &PathState, file: Option<FileId>) -> EntryMove {
    let same = file.is_some() && file == state.disk_file();
    let stat = state.disk.as_ref().map(|disk| disk.stat).filter(|_| same);
    EntryMove {
        path: state.path.clone(),
        file,
        seen: state.staged,
        disk: stat.map_or(DiskState::Other, DiskState::Present),
    }
}
