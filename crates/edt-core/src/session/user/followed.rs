//! Files while steps that take edits off them, or put them back, are followed.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use crate::session::files::path_state::PathState;
use crate::session::user::ownership::{MergedFile, Version, merge3, merge3_with_theirs};
use edt_edit::diff::LineDiff;
use edt_git::index::IndexState;
use edt_git::{FileId, ObjectWriter};
use edt_io::clock;
use edt_types::{RepoPath, Result};

/// A file before and after.
pub(super) type Sides = (Option<Version>, Option<Version>);

/// One change of one file.
#[derive(Debug, Clone)]
pub(super) struct PathStep {
    pub(super) disk: Sides,
    /// The same as the branch has it, if it lacks a part.
    pub(super) branch: Option<Sides>,
}

/// The files of several paths after steps.
#[derive(Debug, Default)]
pub struct FollowedFiles {
    pub(super) files: BTreeMap<RepoPath, FollowedFile>,
    /// The rows on disk that the steps overwrite although someone else changed them.
    pub(super) overlaps: BTreeMap<RepoPath, Vec<Range<usize>>>,
    /// Each new path whose index entry comes from that of another path, which it leaves.
    entries: BTreeMap<RepoPath, PathState>,
}

/// A file while steps are followed.
#[derive(Debug, Clone)]
pub(super) struct FollowedFile {
    /// The path at which it was on disk.
    origin: RepoPath,
    start: Option<Version>,
    pub(super) now: Option<Version>,
    /// Whether nothing of it is uncommitted: what an edit left over was removed or committed.
    is_clean: bool,
    /// Whether the index has something else than the tip.
    is_staged: bool,
    committed: Committed,
}

/// Whether the steps took off what an edit had left over and the user committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Committed {
    No,
    Yes,
    /// Lines of the user came back with it. They may be in no commit.
    WithUsersLines,
}

impl FollowedFiles {
    pub(super) fn of(files: BTreeMap<RepoPath, FollowedFile>) -> FollowedFiles {
        FollowedFiles { files, ..FollowedFiles::default() }
    }

    /// The file of `state` after the steps.
    #[must_use]
    pub fn disk(&self, state: &PathState) -> Option<Version> {
        match self.files.get(&state.path) {
            Some(file) => file.now.clone(),
            None => Version::on_disk(state),
        }
    }

    /// The rows of the file at `path` on disk that the steps overwrite. Empty if the sides conflict
    /// as a whole; `None` if they overwrite nothing that someone else changed.
    #[must_use]
    pub fn overlap(&self, path: &RepoPath) -> Option<&[Range<usize>]> {
        self.overlaps.get(path).map(Vec::as_slice)
    }

    /// Whether the steps took off what an edit had left over at `path` and the user committed, so that
    /// the branch gets the file on disk. If lines of the user came back with it, `users_lines` says
    /// whether the user committed them.
    #[must_use]
    pub fn was_committed(&self, path: &RepoPath, users_lines: bool) -> bool {
        match self.files.get(path).map(|file| file.committed) {
            None | Some(Committed::No) => false,
            Some(Committed::Yes) => true,
            Some(Committed::WithUsersLines) => users_lines,
        }
    }

    /// Lets what is staged of a file that gets another path on disk and in the `targets`, the files of
    /// `states` in the tree that HEAD goes to, go with it.
    #[must_use]
    pub fn with_entries(self, states: &[PathState], targets: &[Option<FileId>]) -> FollowedFiles {
        let known: BTreeMap<&RepoPath, (&PathState, Option<FileId>)> =
            states.iter().zip(targets).map(|(state, to)| (&state.path, (state, *to))).collect();
        let mut entries = BTreeMap::new();
        for (path, file) in self.files.iter().filter(|(path, file)| file.origin != **path) {
            let (Some((new, Some(_))), Some((old, None))) =
                (known.get(path), known.get(&file.origin))
            else {
                continue;
            };
            let is_free = new.tip.is_none() && new.staged == IndexState::Nothing;
            if is_free && old.tip.is_some() && file.now.is_some() {
                entries.insert(path.clone(), (*old).clone());
            }
        }
        FollowedFiles { entries, ..self }
    }

    /// The state of the path from which the entry of `path` comes.
    #[must_use]
    pub fn entry_from(&self, path: &RepoPath) -> Option<&PathState> {
        self.entries.get(path)
    }

    /// Whether the entry of `path` goes to another path.
    #[must_use]
    pub fn entry_leaves(&self, path: &RepoPath) -> bool {
        self.entries.values().any(|state| state.path == *path)
    }
}

impl FollowedFile {
    pub(super) fn at(path: &RepoPath, file: Option<Version>) -> FollowedFile {
        let (origin, start, now) = (path.clone(), file.clone(), file);
        let (is_clean, is_staged, committed) = (false, false, Committed::No);
        FollowedFile { origin, start, now, is_clean, is_staged, committed }
    }

    /// The file of `state` on disk.
    pub(super) fn of_state(state: &PathState) -> FollowedFile {
        let is_clean = state.disk_file() == state.tip;
        let is_staged = state.staged != state.tip.map_or(IndexState::Nothing, IndexState::File);
        let file = FollowedFile::at(&state.path, Version::on_disk(state));
        FollowedFile { is_clean, is_staged, ..file }
    }
}

impl FollowedFiles {
    /// Notes that the steps overwrite the file at `path` as a whole, if they change it.
    pub(super) fn overlap_if_changed(&mut self, path: &RepoPath) {
        let id = |version: &Option<Version>| version.as_ref().map(|version| version.file);
        let changed = self.files.get(path).is_some_and(|file| id(&file.start) != id(&file.now));
        if changed {
            self.overlaps.entry(path.clone()).or_default();
        }
    }

    /// Whether the file at `path` has something else than `left` on disk, or something staged.
    pub(super) fn has_changes(&self, path: &RepoPath, left: Option<&Version>) -> bool {
        let id = |version: Option<&Version>| version.map(|version| version.file);
        let differs = |file: &FollowedFile| file.is_staged || id(file.now.as_ref()) != id(left);
        self.files.get(path).is_some_and(differs)
    }

    /// Follows one more step of a file, which may take it to another path.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub(super) fn follow(
        &mut self,
        writer: &ObjectWriter<'_>,
        (path, to): (&RepoPath, &RepoPath),
        step: &PathStep,
    ) -> Result<()> {
        let Some(file) = self.files.remove(path) else { return Ok(()) };
        if path != to {
            self.files.insert(path.clone(), FollowedFile::at(path, None));
        }
        let file = self.followed(writer, file, step)?;
        self.files.insert(to.clone(), file);
        Ok(())
    }

    /// `file` after one more step.
    fn followed(
        &mut self,
        writer: &ObjectWriter<'_>,
        file: FollowedFile,
        step: &PathStep,
    ) -> Result<FollowedFile> {
        let now = file.now.as_ref();
        let permissions = permissions_after(now, &step.disk);
        let merged = |(from, to): &Sides| merge3(writer, from.as_ref(), now, to.as_ref());
        let id = |version: &Option<Version>| version.as_ref().map(|version| version.file);
        // What no commit had after the edit, and the branch's own step.
        let left_over = step
            .branch
            .as_ref()
            .filter(|branch| file.is_clean && id(&branch.0) != id(&step.disk.0));
        let gone = match left_over {
            Some(branch) if is_gone(writer, now, step.disk.0.as_ref(), branch.0.as_ref())? => {
                Some(branch)
            }
            _ => None,
        };
        let mut overlap = match merged(&step.disk)? {
            MergedFile::Clean(next) => {
                let committed = match left_over.filter(|_| gone.is_none()) {
                    None => Committed::No,
                    Some(branch) if adds_other(writer, &step.disk, branch.1.as_ref())? => {
                        Committed::WithUsersLines
                    }
                    Some(_) => Committed::Yes,
                };
                let file = file.with(next, permissions);
                return Ok(FollowedFile { committed: file.committed.max(committed), ..file });
            }
            MergedFile::Conflict(rows) => rows,
        };
        let mut sides = &step.disk;
        if let Some(branch) = gone {
            sides = branch;
            match merged(branch)? {
                MergedFile::Clean(next) => return Ok(file.with(next, permissions)),
                MergedFile::Conflict(rows) => overlap = rows,
            }
        }
        if let (Some(start), Some(now)) = (&file.start, now) {
            overlap = rows_of_old(&start.bytes(writer)?, &now.bytes(writer)?, overlap);
        }
        self.overlaps.entry(file.origin.clone()).or_insert(overlap);
        let (from, to) = sides;
        let next = merge3_with_theirs(writer, from.as_ref(), now, to.as_ref())?;
        Ok(file.with(next, permissions))
    }
}

impl FollowedFile {
    /// `permissions`: those that a step gives it. Else a file that is there keeps its own.
    fn with(self, next: Option<Version>, permissions: Option<u32>) -> FollowedFile {
        let known = self.now.as_ref().and_then(|now| now.permissions);
        let now = next.map(|next| match permissions.or(known) {
            Some(_) if permissions.is_none() => {
                Version { permissions: None, ..next }.replacing(self.now.as_ref())
            }
            Some(_) => Version { permissions, ..next },
            None => next,
        });
        FollowedFile { now, ..self }
    }
}

/// The permissions of the file `now` after a step that changes them.
fn permissions_after(now: Option<&Version>, (from, to): &Sides) -> Option<u32> {
    let bits = |version: Option<&Version>| version.and_then(|version| version.permissions);
    let (from, to) = (bits(from.as_ref())?, bits(to.as_ref())?);
    (from != to && bits(now) == Some(from)).then_some(to)
}

/// Whether a step adds a line that `known` has not.
fn adds_other(
    writer: &ObjectWriter<'_>,
    (from, to): &Sides,
    known: Option<&Version>,
) -> Result<bool> {
    let text =
        |side: Option<&Version>| side.map_or_else(|| Ok(Vec::new()), |side| side.bytes(writer));
    let (from, to, known) = (text(from.as_ref())?, text(to.as_ref())?, text(known)?);
    let known: HashSet<&[u8]> = edt_types::text::lines(&known).collect();
    let step = LineDiff::of(&from, &to, clock::in_ms(100));
    let (_, new) = step.texts();
    Ok(step.changes().any(|(_, rows)| new[rows].iter().any(|line| !known.contains(line))))
}

/// Whether the file `now` has nothing of what `disk` has and `branch` lacks.
fn is_gone(
    writer: &ObjectWriter<'_>,
    now: Option<&Version>,
    disk: Option<&Version>,
    branch: Option<&Version>,
) -> Result<bool> {
    let id = |version: Option<&Version>| version.map(|version| version.file);
    let without = merge3(writer, disk, now, branch)?;
    Ok(matches!(without, MergedFile::Clean(without) if id(without.as_ref()) == id(now)))
}

/// The rows of `old` that became the `rows` of `new`.
fn rows_of_old(old: &[u8], new: &[u8], rows: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let diff = LineDiff::of(old, new, clock::in_ms(100));
    let changes: Vec<(Range<usize>, Range<usize>)> = diff.changes().collect();
    let place = |row: usize, is_end: bool| {
        let before =
            |(_, new): &&(Range<usize>, Range<usize>)| new.start < row + usize::from(!is_end);
        match changes.iter().rev().find(before) {
            None => row,
            Some((old, new)) if row >= new.end => row - new.end + old.end,
            Some((old, _)) if is_end => old.end,
            Some((old, _)) => old.start,
        }
    };
    rows.into_iter().map(|rows| place(rows.start, false)..place(rows.end, true)).collect()
}
