//! What a command makes of each path, and the files, index entries and trees that follow from it.

use std::collections::BTreeMap;

use crate::session::files::diff_report;
use crate::session::files::path_state::{OnDisk, PathState};
use crate::session::user::ownership::{self, LeftOver, Version};
use edt_git::{Attributes, FileId, Loose, ObjectWriter, Oid, Repo, TouchedTrees, TreeChange};
use edt_journal::entry::{DiskState, EntryMove};
use edt_journal::{FileChange, IndexView, NewFile, PrivateFile};
use edt_types::{FileReport, RecordedIn, RepoPath, Result, UserChanges};

/// What becomes of one path: on the branch, in the index and on disk.
#[derive(Debug)]
pub struct PathChange {
    /// The path as the command saw it.
    pub seen: PathState,
    /// The file on the branch that HEAD goes to; of no effect for an ignored file.
    pub branch: Option<Version>,
    /// The index entry. `None` keeps it as it is; an inner `None` removes it.
    pub index: Option<Option<Version>>,
    /// The file on disk. `None` keeps it as it is; an inner `None` removes it.
    pub disk: Option<Option<Version>>,
}

/// Everything that changes in a worktree.
#[derive(Debug, Default)]
pub struct WorktreeChange {
    /// The files whose bytes change.
    pub files: Vec<FileChange>,
    /// The index as it was read and the entries that change; `None` if the index stays.
    pub index: Option<(IndexView, Vec<EntryMove>)>,
    /// The trees of the affected directories, before and after.
    pub touched_trees: TouchedTrees,
    /// Objects that the files and the index entries need.
    pub objects: Vec<Loose>,
    /// Bytes that no Git object has and that recovery may need.
    pub private: Vec<PrivateFile>,
    /// The changes on disk, for the answer.
    pub reports: Vec<FileReport>,
}

impl PathChange {
    /// Whether the file on disk changes.
    #[must_use]
    pub fn changes_disk(&self) -> bool {
        let wanted = self.disk.as_ref().map(|disk| disk.as_ref().map(|version| version.file));
        let version = self.disk.as_ref().and_then(Option::as_ref);
        wanted.is_some_and(|wanted| wanted != self.seen.disk_file())
            || version.and_then(|version| new_permissions(&self.seen, version)).is_some()
    }
}

/// The permissions that the file of `state` gets as `version`; `None`: a file that is replaced keeps
/// its own, apart from what follows from the mode.
fn new_permissions(state: &PathState, version: &Version) -> Option<u32> {
    version.permissions.filter(|bits| {
        state.disk.as_ref().is_none_or(|disk| {
            let own = disk.stat.mode & 0o777;
            *bits != own && *bits != ownership::with_mode(own, version.file.mode)
        })
    })
}

impl WorktreeChange {
    /// The changes that make all `paths` true. `index` is the index, if it is updated, with the
    /// tree that its entries come from. Files are written as Git checks them out with the
    /// attributes `from`.
    ///
    /// # Errors
    /// `OBJECT_MISSING`; errors of a filter.
    pub fn of(
        writer: &mut ObjectWriter<'_>,
        index: Option<(IndexView, Oid)>,
        from: Attributes,
        paths: Vec<PathChange>,
    ) -> Result<WorktreeChange> {
        let mut all = WorktreeChange::default();
        let (mut changes, mut moves, mut removed) = (Vec::new(), Vec::new(), BTreeMap::new());
        for one in paths {
            let changed = one.changes_disk();
            let PathChange { seen, branch, index, disk } = one;
            let branch = ownership::write(writer, branch);
            changes.push(TreeChange { path: seen.path.clone(), file: branch });
            let disk = disk.filter(|_| changed);
            let after = disk
                .as_ref()
                .map_or(seen.disk_file(), |disk| disk.as_ref().map(|version| version.file));
            if let Some(entry) = index {
                let file = ownership::write(writer, entry);
                let on_disk = match &seen.disk {
                    _ if after != file => DiskState::Other,
                    Some(found) if !changed => DiskState::Present(found.stat),
                    _ => DiskState::Written,
                };
                moves.push(EntryMove {
                    path: seen.path.clone(),
                    file,
                    seen: seen.staged,
                    disk: on_disk,
                });
            }
            if let Some(disk) = disk {
                if let (None, Some(old)) = (&disk, &seen.disk) {
                    removed.insert(seen.path.clone(), old.exact().to_vec());
                }
                all.write(writer, seen, (from, branch), disk)?;
            }
        }
        all.join_renames(writer.repo(), &removed)?;
        if let Some((view, tree)) = index {
            all.touched_trees = writer.touched_trees(tree, &changes)?;
            all.index = Some((view, moves));
        }
        Ok(all)
    }

    /// Joins the reports of each rename. `removed` has the bytes of the removed files.
    fn join_renames(&mut self, repo: &Repo, removed: &BTreeMap<RepoPath, Vec<u8>>) -> Result<()> {
        if removed.is_empty() {
            return Ok(());
        }
        let written: BTreeMap<&RepoPath, &NewFile> = self
            .files
            .iter()
            .filter_map(|change| Some((&change.path, change.new.as_ref()?)))
            .collect();
        let read = |path: &RepoPath| {
            let new = || written.get(path).map(|new| new.bytes.clone());
            Ok(removed.get(path).cloned().or_else(new).unwrap_or_default())
        };
        self.reports = diff_report::joined(repo, std::mem::take(&mut self.reports), read)?;
        Ok(())
    }

    /// Adds the file of `state` with a new content. `target` is the file in the tree that HEAD goes
    /// to.
    fn write(
        &mut self,
        writer: &mut ObjectWriter<'_>,
        state: PathState,
        (from, target): (Attributes, Option<FileId>),
        disk: Option<Version>,
    ) -> Result<()> {
        let unrecorded = |version: &Version| {
            version.disk.is_some() || version.blob.is_some() && Some(version.file) != target
        };
        let permissions = match (&state.disk, &disk) {
            (Some(old), None) => Some(old.stat.mode),
            (None, Some(new)) => new.permissions,
            _ => None,
        };
        let is_unrecorded = disk.as_ref().is_some_and(unrecorded);
        let is_private = state.disk_file() != state.tip
            || is_unrecorded
            || permissions.is_some_and(ownership::is_restricted);
        let id = disk.as_ref().map(|version| version.file);
        let new = match disk {
            None => None,
            Some(version) => {
                let forms = |blob| state.checked_out(writer.repo(), from, blob);
                let new = match (&version.disk, is_private) {
                    (Some(bytes), _) => Some(exact(writer.repo(), version.file, bytes.clone())?),
                    (None, true) => {
                        let forms = forms(version.bytes(writer)?)?;
                        Some(exact(writer.repo(), version.file, forms.disk().to_vec())?)
                    }
                    (None, false) => {
                        let forms = forms(writer.blob_content(version.file.oid)?)?;
                        Some(NewFile::of(writer, version.file, forms)?)
                    }
                };
                let permissions = new_permissions(&state, &version);
                new.map(|new| NewFile { permissions, ..new })
            }
        };
        if is_private {
            let bytes = new.as_ref().map(|new| (new.bytes.as_slice(), new.file.mode));
            let mut file = ownership::private_file(&state, bytes, &LeftOver::Nothing);
            let permissions = new.as_ref().and_then(|new| new.permissions);
            file.after.iter_mut().for_each(|after| after.permissions = permissions);
            self.private.push(file);
        }
        // The bytes of a file that is neither here nor there are from the private store.
        let is_restored = state.disk.is_none() && state.tip.is_none() && target.is_none();
        let recorded = if state.ignored || is_restored && is_unrecorded {
            RecordedIn::Private
        } else {
            RecordedIn::Branch
        };
        self.reports.push(FileReport { recorded, ..report(&state, new.as_ref(), id) });
        let old = state.disk.as_ref().map(OnDisk::old);
        self.files.push(FileChange { path: state.path, old, new });
        Ok(())
    }
}

fn report(state: &PathState, new: Option<&NewFile>, id: Option<FileId>) -> FileReport {
    let old = state.disk.as_ref();
    let ids = (old.map(|disk| disk.file.oid), id.map(|file| file.oid));
    let texts = (old.map(OnDisk::exact), new.map(|new| new.bytes.as_slice()));
    let is_dirty = !state.ignored && state.disk_file() != state.tip;
    FileReport {
        user_changes: if is_dirty { UserChanges::Separate } else { UserChanges::None },
        ..diff_report::report(state.path.text(), ids, texts)
    }
}

/// A file to write with exactly these bytes.
fn exact(repo: &Repo, file: FileId, bytes: Vec<u8>) -> Result<NewFile> {
    let oid = repo.blob_id(&bytes)?;
    Ok(NewFile { file: FileId { oid, ..file }, bytes, permissions: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::private::hidden::Hidden;
    use crate::session::worktree::checkout::read_states;
    use crate::tests::Scratch;
    use edt_git::diff::TreeDifference;
    use edt_git::file_id::TreeItem;

    #[test]
    fn a_plan_writes_only_files_that_differ_on_disk() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        let base = scratch.begin("fix").base;
        scratch
            .apply(&crate::Request::new("x").edit("a.txt", "one", "two").edit("b.txt", "b", "c"))
            .unwrap();
        scratch.write("b.txt", "b\n");
        let (repo, head) = (scratch.repo(), scratch.head());
        let (tip, target) = (repo.tree_of(head).unwrap(), repo.tree_of(base).unwrap());
        let paths = repo.tree_diff(tip, target).unwrap();
        let states = read_states(&Hidden::of(&repo, None), tip, None, &paths).unwrap();
        let mut writer = ObjectWriter::new(&repo);
        let step = |(seen, differs): (PathState, &TreeDifference)| {
            let target = differs.new.and_then(TreeItem::file);
            let version = target.map(Version::recorded);
            PathChange {
                seen,
                branch: version.clone(),
                index: Some(version.clone()),
                disk: Some(version),
            }
        };
        let steps = states.into_iter().zip(&paths).map(step).collect();
        let index = Some((IndexView::read(&repo).unwrap(), tip));
        let plan =
            WorktreeChange::of(&mut writer, index, Attributes::Worktree(tip), steps).unwrap();
        let files: Vec<String> = plan.files.iter().map(|file| file.path.text()).collect();
        let moves: Vec<String> = plan.index.unwrap().1.iter().map(|one| one.path.text()).collect();
        assert_eq!(
            (files, moves),
            (vec!["a.txt".to_owned()], vec!["a.txt".to_owned(), "b.txt".to_owned()])
        );
    }
}
