//! Updates files, index entries and directories after a branch or HEAD moved from one tree to
//! another. Reads only the paths that differ.

use std::collections::BTreeMap;

use crate::session::private::hidden::Hidden;
use crate::session::refs::current::Session;
use crate::session::user::ownership::{self, LeftOver, Version};
use crate::session::user::path_state::{PathState, unsupported_kind};
use crate::session::views::diff_report;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{
    Attributes, FileId, InHead, ObjectWriter, Oid, Repo, TouchedTrees, Tracked, TreeChange,
};
use edt_journal::entry::{DiskState, EntryMove};
use edt_journal::{
    BranchUpdate, ChangeSet, FileChange, IndexView, NewFile, PrivateFile, PrivateRecord,
};
use edt_types::{Code, FileReport, Finding, RecordedIn, Refusal, RepoPath, Result, UserChanges};

/// One path and its target state.
#[derive(Debug)]
pub struct CheckoutStep {
    /// The path as it is now.
    pub state: PathState,
    /// The target content on disk. `None` keeps the file as it is; an inner `None` removes it.
    pub disk: Option<Option<Version>>,
    /// The target index entry. `None` keeps the entry as it is; an inner `None` removes it.
    pub entry: Option<Option<Version>>,
    /// The file in the tree that HEAD goes to.
    pub target: Option<FileId>,
}

/// The changes that make all steps true.
#[derive(Debug, Default)]
pub struct CheckoutPlan {
    /// The files whose bytes change.
    pub files: Vec<FileChange>,
    /// The index entries that change.
    pub moves: Vec<EntryMove>,
    /// The trees of the affected directories, before and after.
    pub touched_trees: TouchedTrees,
    /// Bytes that no Git object has and that recovery may need.
    pub private: Vec<PrivateFile>,
    /// The changes on disk, for the answer.
    pub reports: Vec<FileReport>,
}

/// Reads the state of every path in `paths`, relative to `tree` and `index`. Private files count as
/// ignored ones.
///
/// # Errors
/// One finding for each path that edt cannot change: links and submodules (`NOT_A_FILE`), and the
/// errors of [`PathState::at`].
pub fn read_states(
    hidden: &Hidden<'_>,
    tree: Oid,
    index: Option<&IndexView>,
    paths: &[TreeDifference],
) -> Result<Vec<PathState>> {
    let (mut states, mut found) = (Vec::new(), Vec::new());
    for differs in paths {
        if !differs.is_of_files() {
            found.push(unsupported_kind(&differs.path));
            continue;
        }
        match PathState::to_record(hidden.repo, tree, index, &differs.path) {
            Ok(mut state) => {
                hidden.mark(&mut state)?;
                states.push(state);
            }
            Err(error) => found.extend(error.into_vec()),
        }
    }
    Refusal::check(found)?;
    Ok(states)
}

/// `paths` and those of `more` that are not among them. These do not differ between the trees.
#[must_use]
pub fn with_paths<'p>(
    paths: &[TreeDifference],
    more: impl Iterator<Item = &'p RepoPath>,
) -> Vec<TreeDifference> {
    let mut all: BTreeMap<RepoPath, TreeDifference> =
        paths.iter().map(|differs| (differs.path.clone(), differs.clone())).collect();
    for path in more {
        let same = || TreeDifference { path: path.clone(), old: None, new: None };
        all.entry(path.clone()).or_insert_with(same);
    }
    all.into_values().collect()
}

impl CheckoutStep {
    /// Whether the file on disk changes.
    #[must_use]
    pub fn changes_disk(&self) -> bool {
        let wanted = self.disk.as_ref().map(|disk| disk.as_ref().map(|version| version.file));
        wanted.is_some_and(|wanted| wanted != self.state.disk_file())
    }
}

impl CheckoutPlan {
    /// Plans the changes for `steps`. `tree` is the tree that the index entries come from, if the
    /// index is updated. Files are written as Git checks them out with the attributes `from`.
    ///
    /// # Errors
    /// `OBJECT_MISSING`; errors of a filter.
    pub fn of(
        writer: &mut ObjectWriter<'_>,
        tree: Option<Oid>,
        from: Attributes,
        steps: Vec<CheckoutStep>,
    ) -> Result<CheckoutPlan> {
        let mut all = CheckoutPlan::default();
        let (mut changes, mut removed) = (Vec::new(), BTreeMap::new());
        for step in steps {
            let changed = step.changes_disk();
            let CheckoutStep { state, disk, entry, target } = step;
            changes.push(TreeChange { path: state.path.clone(), file: target });
            let disk = disk.filter(|_| changed);
            let after = disk
                .as_ref()
                .map_or(state.disk_file(), |disk| disk.as_ref().map(|version| version.file));
            if let Some(entry) = entry {
                let file = ownership::write(writer, entry);
                let on_disk = match &state.disk {
                    _ if after != file => DiskState::Other,
                    Some(found) if !changed => DiskState::Present(found.stat),
                    _ => DiskState::Written,
                };
                all.moves.push(EntryMove {
                    path: state.path.clone(),
                    file,
                    seen: state.staged,
                    disk: on_disk,
                });
            }
            if let Some(disk) = disk {
                if let (None, Some(old)) = (&disk, &state.disk) {
                    removed.insert(state.path.clone(), old.exact().to_vec());
                }
                all.write(writer, state, (from, target), disk)?;
            }
        }
        all.join_renames(writer.repo(), &removed)?;
        if let Some(tree) = tree {
            all.touched_trees = writer.touched_trees(tree, &changes)?;
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
                // A replaced file keeps its permissions.
                let permissions = version.permissions.filter(|_| state.disk.is_none());
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
        let old = state.disk.as_ref().map(crate::session::OnDisk::old);
        self.files.push(FileChange { path: state.path, old, new });
        Ok(())
    }

    /// The change of `branch` with these files, index entries and directories.
    pub fn change_set(self, branch: BranchUpdate, index: Option<IndexView>) -> ChangeSet {
        let CheckoutPlan { files, moves, touched_trees, .. } = self;
        let index = index.map(|index| (index, moves));
        ChangeSet { files, index, touched_trees, ..ChangeSet::of(branch) }
    }

    /// What the private store keeps until recovery no longer needs it.
    #[must_use]
    pub fn record(&mut self, session: &Session, to: Oid) -> Option<PrivateRecord> {
        let files = std::mem::take(&mut self.private);
        // Only recovery reads it: a few names are enough.
        let name = format!("move-{}", to.to_hex_with_len(1));
        (!files.is_empty()).then(|| PrivateRecord { session: session.name.clone(), name, files })
    }
}

fn report(state: &PathState, new: Option<&NewFile>, id: Option<FileId>) -> FileReport {
    let old = state.disk.as_ref();
    let ids = (old.map(|disk| disk.file.oid), id.map(|file| file.oid));
    let texts = (old.map(crate::session::OnDisk::exact), new.map(|new| new.bytes.as_slice()));
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

/// The attributes for a move from tree `from` to tree `to`. If the move changes attributes, the new
/// ones apply to all moved files.
#[must_use]
pub fn attributes(paths: &[TreeDifference], from: Oid, to: Oid) -> Attributes {
    let change = paths.iter().any(|differs| differs.path.is_attributes());
    if change { Attributes::Tree(to) } else { Attributes::Worktree(from) }
}

/// For a session with HEAD not switched: refuses to overwrite files of another branch that HEAD
/// went to since. Such a file has HEAD's content, which is neither the session's nor its base's.
///
/// # Errors
/// `SESSION_MOVED` naming each path; `OBJECT_MISSING`.
pub fn check_not_switched(
    repo: &Repo,
    session: &Session,
    states: &[PathState],
    paths: &[TreeDifference],
) -> Result<()> {
    let Some(head) = repo.head()?.commit.filter(|_| session.head == InHead::No) else {
        return Ok(());
    };
    let (head, base) = (repo.tree_of(head)?, repo.tree_of(session.base)?);
    let mut found = Vec::new();
    for (state, differs) in states.iter().zip(paths) {
        let file_of = |tree| {
            Ok::<_, Refusal>(match repo.tracked(tree, &state.path)? {
                Tracked::File(file) => Some(file),
                _ => None,
            })
        };
        let (here, began) = (file_of(head)?, file_of(base)?);
        let known = [began, state.tip, differs.new.and_then(TreeItem::file)];
        if state.disk_file() == here && !known.contains(&here) {
            found.push(other_branch_content(&state.path, session));
        }
    }
    Refusal::check(found)
}

fn other_branch_content(path: &RepoPath, session: &Session) -> Finding {
    Finding::new(
        Code::SessionMoved,
        format!(
            "{path} has the content of HEAD's branch. That is neither the content in edt/{} \
            nor in the session's base.",
            session.name
        ),
        format!(
            "`git switch` back to the branch that the session began on, or record this \
            content in the session (`edt checkpoint {}`); then repeat the call.",
            path.for_shell()
        ),
    )
    .nothing_changed()
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::worktree::begin::HeadSwitch;
    use crate::tests::{Scratch, path, refusal};

    fn differs(named: &str) -> TreeDifference {
        TreeDifference { path: path(named), old: None, new: None }
    }

    #[test]
    fn the_attributes_of_the_worktree_apply_to_a_move_that_keeps_them() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let (repo, head) = (scratch.repo(), scratch.head());
        let (from, to) = (repo.empty_tree(), repo.tree_of(head).unwrap());
        assert_eq!(attributes(&[differs("a.txt")], from, to), Attributes::Worktree(from));
    }

    #[test]
    fn new_attributes_apply_to_the_move_that_brings_them() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let (repo, head) = (scratch.repo(), scratch.head());
        let (from, to) = (repo.empty_tree(), repo.tree_of(head).unwrap());
        let paths = [differs("a.txt"), differs("dir/.gitattributes")];
        assert_eq!(attributes(&paths, from, to), Attributes::Tree(to));
    }

    #[test]
    fn a_submodule_in_the_way_of_a_move_is_refused() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let (repo, head) = (scratch.repo(), scratch.head());
        let submodule =
            TreeDifference { new: Some(TreeItem::Other(0o160_000, head)), ..differs("sub") };
        let finding = Finding::new(
            Code::NotAFile,
            "sub is a symbolic link or a submodule before or after the move, and edt does not \
             change those.",
            "The user can move the branch with `git reset --keep`, or switch with `git switch`.",
        );
        let states = read_states(&Hidden::of(&repo, None), repo.empty_tree(), None, &[submodule]);
        assert_eq!(refusal(states), finding.at(&path("sub")));
    }

    #[test]
    fn undo_does_not_overwrite_the_files_of_another_branch() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin_with("fix", HeadSwitch::Never);
        scratch.edit("first", "a.txt", "one", "two");
        // The user switches to a branch with other content.
        let other = scratch.user_commit("side", &[("a.txt", Some("side\n"))], "side\n");
        assert_eq!(scratch.ref_value("refs/heads/side"), Some(other));
        scratch.write(".git/HEAD", "ref: refs/heads/side\n");
        scratch.write("a.txt", "side\n");
        let finding = Finding::new(
            Code::SessionMoved,
            "a.txt has the content of HEAD's branch. That is neither the content in edt/fix nor in \
             the session's base.",
            "`git switch` back to the branch that the session began on, or record this content in \
             the session (`edt checkpoint a.txt`); then repeat the call.",
        );
        assert_eq!(refusal(scratch.undo(1)), finding.nothing_changed().at(&path("a.txt")));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("side\n"));
    }

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
        let step = |(state, differs): (PathState, &TreeDifference)| {
            let target = differs.new.and_then(TreeItem::file);
            let version = target.map(Version::recorded);
            CheckoutStep { state, disk: Some(version.clone()), entry: Some(version), target }
        };
        let steps = states.into_iter().zip(&paths).map(step).collect();
        let plan = CheckoutPlan::of(&mut writer, None, Attributes::Worktree(tip), steps).unwrap();
        let files: Vec<String> = plan.files.iter().map(|file| file.path.text()).collect();
        let moves: Vec<String> = plan.moves.iter().map(|one| one.path.text()).collect();
        assert_eq!(
            (files, moves),
            (vec!["a.txt".to_owned()], vec!["a.txt".to_owned(), "b.txt".to_owned()])
        );
    }
}
