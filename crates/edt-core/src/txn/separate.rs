//! Separates each edit of a transaction from the user's uncommitted changes.

use std::collections::BTreeSet;

use super::plan::{Content, FilePlan};
use super::resolve::TransactionState;
use crate::session::PathState;
use crate::session::user::hunks::TakenLines;
use crate::session::user::ownership::{self, Before, LeftOver, SeparatedEdit, Version};
use edt_git::index::IndexState;
use edt_git::{FileId, ObjectWriter};
use edt_types::{FileChangeKind, RepoPath, Result, UserChanges};

/// The change of one file.
#[derive(Debug)]
pub(super) struct FileEdit {
    pub(super) state: PathState,
    /// The state of the path that a renamed file comes from.
    pub(super) source: Option<PathState>,
    /// The new content; `None` if the file is removed.
    pub(super) after: Option<Content>,
}

/// A file of the commit: its edit separated from the user's changes.
#[derive(Debug)]
pub(super) struct Separated {
    pub(super) edit: FileEdit,
    /// The new file on disk, as Git would record it.
    pub(super) after: Option<Version>,
    pub(super) parts: SeparatedEdit,
}

impl Separated {
    fn of(
        objects: &ObjectWriter<'_>,
        edit: FileEdit,
        after: Option<Version>,
        taken: &TakenLines,
    ) -> Result<Separated> {
        let FileEdit { state, source, .. } = &edit;
        let parts = if state.ignored {
            SeparatedEdit::left_over(None, UserChanges::None)
        } else if let Some(source) = source {
            separate_renamed(objects, state, source, after.as_ref(), taken)?
        } else {
            ownership::separate(objects, state, &Before::of(state), after.as_ref(), taken)?
        };
        Ok(Separated { edit, after, parts })
    }

    /// Leaves all of the edit over: the branch gets nothing.
    pub(super) fn leave_over(&mut self) {
        self.parts = SeparatedEdit::left_over(self.edit.tip(), UserChanges::Separate);
    }

    /// Whether the private store keeps the bytes, because the commit does not have them.
    pub(super) fn is_private(&self) -> bool {
        self.edit.is_onto_users()
            || self.parts.user_changes == UserChanges::Separate
            || self.parts.left_over != LeftOver::Nothing
            || self.hides_permissions()
    }

    /// Whether the file is removed or comes from another path, and fewer users may read it than a
    /// new file.
    fn hides_permissions(&self) -> bool {
        let FileEdit { state, source, after, .. } = &self.edit;
        let disk = if after.is_none() { Some(state) } else { source.as_ref() };
        let disk = disk.and_then(|state| state.disk.as_ref());
        disk.is_some_and(|disk| ownership::is_restricted(disk.stat.mode))
    }

    /// The permissions of a file that gets a new path.
    pub(super) fn permissions(&self) -> Option<u32> {
        let disk = self.edit.source.as_ref()?.disk.as_ref()?;
        Some(ownership::with_mode(disk.stat.mode & 0o777, self.edit.after.as_ref()?.mode))
    }
}

/// Separates the new half of a rename. The branch and the index move what each of them has, so that
/// the user's lines move with the file on disk.
fn separate_renamed(
    objects: &ObjectWriter<'_>,
    state: &PathState,
    source: &PathState,
    after: Option<&Version>,
    taken: &TakenLines,
) -> Result<SeparatedEdit> {
    let is_free = state.tip.is_none() && state.staged == IndexState::Nothing;
    let (tip, staged) =
        if is_free { (source.tip, source.staged) } else { (state.tip, state.staged) };
    let as_source = PathState { tip, staged, ..state.clone() };
    let parts = ownership::separate(objects, &as_source, &Before::of(source), after, taken)?;
    if parts.left_over != LeftOver::All || source.tip.is_none() {
        return Ok(parts);
    }
    // The branch moves its own version.
    let branch = source.tip.map(Version::recorded);
    let entry = match source.staged {
        IndexState::File(staged) if is_free => Some(Some(Version::recorded(staged))),
        _ => Some(branch.clone()),
    };
    Ok(SeparatedEdit { branch, entry, ..parts })
}

/// Separates the edits of a plan. The old half of a rename leaves the branch and the index with the
/// new one.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub(super) fn separate_all(
    objects: &ObjectWriter<'_>,
    state: &TransactionState,
    files: &[FilePlan],
) -> Result<Vec<Separated>> {
    let edits: Vec<FileEdit> = files.iter().filter_map(|file| FileEdit::of(state, file)).collect();
    // The old halves of renames.
    let sources: BTreeSet<RepoPath> =
        edits.iter().filter_map(|edit| Some(edit.source.as_ref()?.path.clone())).collect();
    let is_moved = |edit: &FileEdit| edit.after.is_none() && sources.contains(&edit.state.path);
    let mut taken = TakenLines::default();
    let mut afters = Vec::new();
    for edit in &edits {
        let after = edit.after.as_ref().map(|content| version(objects, content)).transpose()?;
        if !is_moved(edit) {
            let before = Before::of(edit.source.as_ref().unwrap_or(&edit.state));
            ownership::add_taken(objects, &mut taken, &before, after.as_ref())?;
        }
        afters.push(after);
    }
    // A rename onto a path that the user changed or removed: both halves.
    let halves = |edit: &FileEdit| {
        [Some(&edit.state), edit.source.as_ref()].map(|state| Some(state?.path.clone()))
    };
    let onto_users: BTreeSet<RepoPath> =
        edits.iter().filter(|edit| edit.is_onto_users()).flat_map(halves).flatten().collect();
    let mut all = Vec::new();
    for (edit, after) in edits.into_iter().zip(afters) {
        let is_moved = is_moved(&edit);
        let mut one = Separated::of(objects, edit, after, &taken)?;
        let state = &one.edit.state;
        if onto_users.contains(&state.path) {
            one.parts = SeparatedEdit::left_over(state.tip, UserChanges::Separate);
        } else if is_moved && !state.ignored && state.tip.is_some() {
            let users = one.parts.user_changes;
            let left_over = LeftOver::Nothing;
            let entry = Some(None);
            one.parts = SeparatedEdit { branch: None, entry, user_changes: users, left_over };
        }
        all.push(one);
    }
    Ok(all)
}

fn version(objects: &ObjectWriter<'_>, content: &Content) -> Result<Version> {
    let file = FileId { oid: objects.repo().blob_id(content.blob())?, mode: content.mode };
    let blob = Some(content.blob().to_vec());
    let disk = content.stored.as_ref().map(|stored| stored.disk.clone());
    Ok(Version { file, blob, disk, permissions: None })
}

impl FileEdit {
    /// The file on the branch before the edit.
    pub(super) fn tip(&self) -> Option<FileId> {
        self.source.as_ref().map_or(self.state.tip, |source| source.tip)
    }

    fn of(state: &TransactionState, file: &FilePlan) -> Option<FileEdit> {
        let renamed = file.change == FileChangeKind::Renamed;
        let source = file.from.as_ref().filter(|_| renamed);
        let source = source.and_then(|from| state.paths.get(from)).cloned();
        let state = state.paths.get(&file.path)?.clone();
        Some(FileEdit { state, source, after: file.after.clone() })
    }

    /// Whether the user changed or removed the file that was at this path.
    fn is_onto_users(&self) -> bool {
        let FileEdit { state, source, .. } = self;
        let is_staged = match state.staged {
            IndexState::File(file) => Some(file) != state.tip,
            IndexState::Nothing => false,
            _ => true,
        };
        source.is_some() && !state.ignored && (state.disk_file() != state.tip || is_staged)
    }
}
