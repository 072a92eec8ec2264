//! What a program or an agent's tool changed in one file, separated from the user's changes.

use super::known_states::ToolCall;
use super::snapshot::Snapshot;
use super::tool_call::{self, CallChange};
use crate::session::files::path_state::PathState;
use crate::session::user::hunks::TakenLines;
use crate::session::user::ownership::{
    self, Before, LeftOver, MergedFile, SeparatedEdit, Version, merge3,
};
use crate::session::user::unwind;
use edt_git::{Attributes, FileMode, ObjectWriter, Oid, Repo, Tracked};
use edt_journal::{PrivateBytes, PrivateFile};
use edt_types::{Result, UserChanges, Warning};

/// One file that a program changed.
pub(crate) struct ProgramChange {
    /// The file now.
    pub(crate) state: PathState,
    /// The exact file before, for undo.
    pub(crate) before: Option<PrivateBytes>,
    /// The exact file after, for undo.
    pub(crate) exact_after: Option<PrivateBytes>,
    /// The file before, as Git would record it.
    pub(crate) version: Option<Version>,
    pub(crate) after: Option<Version>,
    pub(crate) separated: SeparatedEdit,
    /// Whether more changed than an agent's tool says.
    has_more: bool,
    /// Whether a part of the change may be somebody else's.
    is_unproved: bool,
}

impl ProgramChange {
    /// `None` if the file is as it was.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub(crate) fn of(
        writer: &ObjectWriter<'_>,
        snapshot: &Snapshot,
        tree: Oid,
        state: PathState,
    ) -> Result<Option<ProgramChange>> {
        if let Some(call) = &snapshot.tool {
            return ProgramChange::of_call(writer, snapshot, call, tree, &state);
        }
        let repo = writer.repo();
        let stat = state.disk.as_ref().map(|disk| disk.stat);
        if snapshot.is_unchanged(&state.path, stat.as_ref()) {
            return Ok(None);
        }
        let (before, version) = match snapshot.before(&state.path)? {
            Some(before) => {
                let version = before
                    .clone()
                    .map(|bytes| unwind::version_of(repo, tree, &state.path, bytes))
                    .transpose()?;
                let recorded = recorded_meanwhile(writer, snapshot, &state, version.as_ref())?;
                recorded.unwrap_or((before, version))
            }
            // The file was the one of the session.
            None => (None, state.tip.map(Version::recorded)),
        };
        let after = Version::on_disk(&state);
        let id = |version: &Option<Version>| version.as_ref().map(|version| version.file);
        let same_bytes = before
            .as_ref()
            .zip(state.disk.as_ref())
            .is_none_or(|(before, disk)| before.bytes == disk.exact());
        let same_permissions = !changes_permissions(before.as_ref(), &state);
        if id(&version) == id(&after) && same_bytes && same_permissions {
            return Ok(None);
        }
        let exact = (before, ownership::exact(&state));
        ProgramChange::separate(writer, state, (version, after), exact).map(Some)
    }

    /// What a call of an agent's tool changed. Of several possible changes, one that can be
    /// separated from the user's.
    fn of_call(
        writer: &ObjectWriter<'_>,
        snapshot: &Snapshot,
        call: &ToolCall,
        tree: Oid,
        state: &PathState,
    ) -> Result<Option<ProgramChange>> {
        let changes = match snapshot.change_of(call, writer, tree, state)? {
            CallChange::Known(changes) => changes,
            CallChange::None | CallChange::NotMade | CallChange::Unknown => return Ok(None),
        };
        let mut first = None;
        for change in changes {
            let sides = (change.before, change.after);
            let mut one = ProgramChange::separate(writer, state.clone(), sides, change.exact)?;
            let branch = one.separated.branch.as_ref().map(|version| version.file);
            if change.may_be_recorded && branch == state.tip && !state.ignored {
                return Ok(None);
            }
            one.has_more = change.has_more && branch != state.disk_file();
            let users = one.separated.user_changes;
            let after = one.after.as_ref().map(|version| version.file);
            if users == UserChanges::None && after != state.disk_file() {
                one.separated.user_changes = UserChanges::Separate;
            }
            if one.separated.left_over == LeftOver::Nothing {
                return Ok(Some(one));
            }
            first.get_or_insert(one);
        }
        Ok(first)
    }

    /// Leaves over the new files that are copies of the user's uncommitted or untracked ones.
    ///
    /// # Errors
    /// `IO_ERROR`, `INTERNAL`.
    pub(crate) fn leave_copies(
        repo: &Repo,
        snapshot: &Snapshot,
        changed: &mut [ProgramChange],
    ) -> Result<()> {
        let is_new = |one: &&mut ProgramChange| {
            snapshot.tool.is_none() && one.version.is_none() && !one.state.ignored
        };
        let mut new = changed.iter_mut().filter(is_new).peekable();
        if new.peek().is_none() {
            return Ok(());
        }
        let users = snapshot.users_blobs(repo)?;
        for one in new {
            if let Some(exact) = &one.exact_after
                && users.contains(&repo.blob_id(&exact.bytes)?)
            {
                one.separated = SeparatedEdit::left_over(one.state.tip, UserChanges::Separate);
            }
        }
        Ok(())
    }

    /// Separates the changes of one program again, now that the lines are known that it takes from
    /// the user's text in any file.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub(crate) fn leave_moved_lines(
        writer: &ObjectWriter<'_>,
        changed: Vec<ProgramChange>,
    ) -> Result<Vec<ProgramChange>> {
        let mut taken = TakenLines::default();
        for one in &changed {
            let old = Before { tip: one.state.tip, disk: one.version.clone() };
            ownership::add_taken(writer, &mut taken, &old, one.after.as_ref())?;
        }
        if taken.is_empty() {
            return Ok(changed);
        }
        let again = |one: ProgramChange| {
            let has_more = one.has_more;
            let (sides, exact) = ((one.version, one.after), (one.before, one.exact_after));
            let one = ProgramChange::separated(writer, one.state, sides, exact, &taken)?;
            Ok(ProgramChange { has_more, ..one })
        };
        changed.into_iter().map(again).collect()
    }

    /// The same, left over as a whole: nobody knows whether the program made it.
    ///
    /// # Errors
    /// Errors of a filter; `OBJECT_MISSING`.
    pub(crate) fn unproved(self, writer: &ObjectWriter<'_>) -> Result<ProgramChange> {
        let one = ProgramChange { is_unproved: true, ..self };
        if one.state.ignored {
            return Ok(one);
        }
        let before = match (one.before, &one.version) {
            (None, Some(version)) => Some(checked_out(writer, &one.state, version)?),
            (before, _) => before,
        };
        let separated = SeparatedEdit::left_over(one.state.tip, UserChanges::Separate);
        Ok(ProgramChange { before, separated, ..one })
    }

    fn separate(
        writer: &ObjectWriter<'_>,
        state: PathState,
        sides: (Option<Version>, Option<Version>),
        exact: (Option<PrivateBytes>, Option<PrivateBytes>),
    ) -> Result<ProgramChange> {
        ProgramChange::separated(writer, state, sides, exact, &TakenLines::default())
    }

    fn separated(
        writer: &ObjectWriter<'_>,
        state: PathState,
        (version, after): (Option<Version>, Option<Version>),
        (before, exact_after): (Option<PrivateBytes>, Option<PrivateBytes>),
        taken: &TakenLines,
    ) -> Result<ProgramChange> {
        let separated = if state.ignored {
            SeparatedEdit::left_over(None, UserChanges::None)
        } else {
            let old = Before { tip: state.tip, disk: version.clone() };
            ownership::separate(writer, &state, &old, after.as_ref(), taken)?
        };
        let before = match (before, &version) {
            // A file of the session, of which there was no need for a copy.
            (None, Some(version)) if separated.left_over != LeftOver::Nothing && !state.ignored => {
                Some(checked_out(writer, &state, version)?)
            }
            (before, _) => before,
        };
        let (has_more, is_unproved) = (false, false);
        Ok(ProgramChange {
            state,
            before,
            exact_after,
            version,
            after,
            separated,
            has_more,
            is_unproved,
        })
    }

    /// The replacement or removal of the ignored file of `state`, which had these bytes.
    ///
    /// # Errors
    /// Errors of a filter; `INTERNAL`.
    pub(crate) fn replaced(
        repo: &Repo,
        tree: Oid,
        state: PathState,
        exact: PrivateBytes,
    ) -> Result<ProgramChange> {
        let version = unwind::version_of(repo, tree, &state.path, exact.clone())?;
        Ok(ProgramChange {
            before: Some(exact),
            exact_after: ownership::exact(&state),
            version: Some(version),
            after: Version::on_disk(&state),
            state,
            separated: SeparatedEdit::left_over(None, UserChanges::None),
            has_more: false,
            is_unproved: false,
        })
    }

    /// What the agent should know of the change.
    pub(crate) fn warning(&self) -> Option<Warning> {
        self.has_more.then(|| tool_call::has_more(&self.state.path))
    }

    /// Whether the private store keeps the bytes, because the commit does not have them, or not the
    /// permissions.
    pub(crate) fn is_private(&self) -> bool {
        let permissions = match (&self.before, &self.state.disk) {
            (Some(before), None) => before.permissions,
            (None, Some(disk)) if self.version.is_none() => Some(disk.stat.mode),
            _ => None,
        };
        // A new file that Git would check out with other line endings.
        let is_inexact = self.version.is_none()
            && self.state.disk.as_ref().is_some_and(|disk| disk.inexact.is_some());
        is_inexact
            || self.separated.left_over != LeftOver::Nothing
            || self.separated.user_changes == UserChanges::Separate
            || permissions.is_some_and(ownership::is_restricted)
            || changes_permissions(self.before.as_ref(), &self.state)
    }

    /// What the private store keeps of the change.
    pub(crate) fn private_file(&self) -> PrivateFile {
        let is_left_over = !self.state.ignored && self.separated.left_over != LeftOver::Nothing;
        let (before, after) = (self.before.clone(), self.exact_after.clone());
        let file = PrivateFile::new(&self.state.path, before, after).with_left_over(is_left_over);
        file.with_unproved(self.is_unproved)
    }
}

/// Whether the file of `state` had other permissions, apart from those that follow from its mode.
fn changes_permissions(before: Option<&PrivateBytes>, state: &PathState) -> bool {
    let before = before.and_then(|before| before.permissions);
    before.zip(state.disk.as_ref()).is_some_and(|(before, disk)| {
        disk.stat.mode & 0o777 != ownership::with_mode(before & 0o777, disk.file.mode)
            && disk.stat.mode & 0o777 != before & 0o777
    })
}

/// The exact file that Git would check out for `version`.
fn checked_out(
    writer: &ObjectWriter<'_>,
    state: &PathState,
    version: &Version,
) -> Result<PrivateBytes> {
    let attributes = Attributes::Worktree(writer.repo().empty_tree());
    let forms = state.checked_out(writer.repo(), attributes, version.bytes(writer)?)?;
    let executable = version.file.mode == FileMode::Executable;
    let bytes = forms.disk().to_vec();
    Ok(PrivateBytes { executable, permissions: None, bytes })
}

/// The file before, with the edits that another call recorded while the program ran. `None` if
/// there are none.
fn recorded_meanwhile(
    writer: &ObjectWriter<'_>,
    snapshot: &Snapshot,
    state: &PathState,
    before: Option<&Version>,
) -> Result<Option<(Option<PrivateBytes>, Option<Version>)>> {
    let Some(tree) = snapshot.tree else { return Ok(None) };
    let earlier = match writer.repo().tracked(tree, &state.path)? {
        Tracked::File(file) => Some(file),
        _ => None,
    };
    if earlier == state.tip {
        return Ok(None);
    }
    let (base, theirs) = (earlier.map(Version::recorded), state.tip.map(Version::recorded));
    match merge3(writer, base.as_ref(), before, theirs.as_ref())? {
        MergedFile::Conflict(_) => Ok(None),
        MergedFile::Clean(None) => Ok(Some((None, None))),
        MergedFile::Clean(Some(merged)) => {
            let executable = merged.file.mode == FileMode::Executable;
            let bytes =
                PrivateBytes { executable, permissions: None, bytes: merged.bytes(writer)? };
            Ok(Some((Some(bytes), Some(merged))))
        }
    }
}
