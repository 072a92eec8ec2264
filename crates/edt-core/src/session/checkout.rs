//! Updates files, index entries and directories after a branch or HEAD moved from one tree to
//! another. Reads only the paths that differ.

use super::current::Session;
use super::path_state::PathState;
use edt_git::diff::{TreeDifference, TreeItem};
use edt_git::{
    Attributes, FileId, InHead, ObjectWriter, Oid, Repo, TouchedTrees, Tracked, TreeChange,
};
use edt_journal::entry::{DiskState, EntryMove};
use edt_journal::{FileChange, IndexView, NewFile};
use edt_types::{Code, Finding, Refusal, RepoPath, Result};

/// One path and its target state.
#[derive(Debug)]
pub struct CheckoutStep {
    /// The path as it is now.
    pub state: PathState,
    /// The target content on disk; `None` if there will be no file.
    pub disk: Option<FileId>,
    /// The target index entry; `None` if there will be no entry.
    pub entry: Option<FileId>,
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
}

/// Reads the state of every path in `paths`, relative to `tree` and `index`.
///
/// # Errors
/// One finding for each path that edt cannot change: links and submodules (`NOT_A_FILE`), and the
/// errors of [`PathState::at`].
pub fn read_states(
    repo: &Repo,
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
        match PathState::at(repo, tree, index, &differs.path) {
            Ok(state) => states.push(state),
            Err(error) => found.extend(error.into_vec()),
        }
    }
    Refusal::check(found)?;
    Ok(states)
}

/// One step for each path: disk and index both get the content of the new tree.
#[must_use]
pub fn to_new(states: Vec<PathState>, paths: &[TreeDifference]) -> Vec<CheckoutStep> {
    let wanted = paths.iter().map(|differs| differs.new.and_then(TreeItem::file));
    states
        .into_iter()
        .zip(wanted)
        .map(|(state, file)| CheckoutStep { state, disk: file, entry: file })
        .collect()
}

impl CheckoutPlan {
    /// Plans the changes for `steps`. `tree` is the tree that the index entries come from, if the
    /// index is updated. Files are written as Git checks them out with `attributes`.
    ///
    /// # Errors
    /// `OBJECT_MISSING`; errors of a filter.
    pub fn of(
        writer: &mut ObjectWriter<'_>,
        tree: Option<Oid>,
        from: Attributes,
        steps: &[CheckoutStep],
    ) -> Result<CheckoutPlan> {
        let mut all = CheckoutPlan::default();
        let mut changes = Vec::new();
        for CheckoutStep { state, disk, entry } in steps {
            changes.push(TreeChange { path: state.path.clone(), file: *entry });
            let on_disk = match &state.disk {
                _ if disk != entry => DiskState::Other,
                Some(found) if Some(found.file) == *disk => DiskState::Present(found.stat),
                _ => DiskState::Written,
            };
            all.moves.push(EntryMove {
                path: state.path.clone(),
                file: *entry,
                seen: state.staged,
                disk: on_disk,
            });
            if state.disk_file() != *disk {
                let new = disk.map(|file| written(writer, state, from, file)).transpose()?;
                let old = state.disk.as_ref().map(super::OnDisk::old);
                all.files.push(FileChange { path: state.path.clone(), old, new });
            }
        }
        if let Some(tree) = tree {
            all.touched_trees = writer.touched_trees(tree, &changes)?;
        }
        Ok(all)
    }
}

/// The attributes for a move from tree `from` to tree `to`. If the move changes attributes, the new
/// ones apply to all moved files.
#[must_use]
pub fn attributes(paths: &[TreeDifference], from: Oid, to: Oid) -> Attributes {
    let change = paths.iter().any(|differs| differs.path.is_attributes());
    if change { Attributes::Tree(to) } else { Attributes::Worktree(from) }
}

fn written(
    writer: &mut ObjectWriter<'_>,
    state: &PathState,
    from: Attributes,
    file: FileId,
) -> Result<NewFile> {
    let blob = writer.blob_content(file.oid)?;
    let forms = state.checked_out(writer.repo(), from, blob)?;
    NewFile::of(writer, file, forms)
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

/// The refusal to overwrite content that exists nowhere else.
#[must_use]
pub fn unsaved(path: &RepoPath) -> Finding {
    Finding::new(
        Code::UnsavedChanges,
        format!("{path} has unrecorded changes, and the operation must overwrite it."),
        "Record them with `edt checkpoint` on the session, or let the user commit or stash them; \
         then repeat the call.",
    )
    .nothing_changed()
    .at(path)
}

fn unsupported_kind(path: &RepoPath) -> Finding {
    Finding::new(
        Code::NotAFile,
        format!(
            "{path} is a symbolic link or a submodule before or after the move, and edt does not \
             change those."
        ),
        "The user can move the branch with `git reset --keep`, or switch with `git switch`.",
    )
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::begin::HeadSwitch;
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
        let states = read_states(&repo, repo.empty_tree(), None, &[submodule]);
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
        let states = read_states(&repo, tip, None, &paths).unwrap();
        let mut writer = ObjectWriter::new(&repo);
        let steps = to_new(states, &paths);
        let plan = CheckoutPlan::of(&mut writer, None, Attributes::Worktree(tip), &steps).unwrap();
        let files: Vec<String> = plan.files.iter().map(|file| file.path.to_string()).collect();
        let moves: Vec<String> = plan.moves.iter().map(|one| one.path.to_string()).collect();
        assert_eq!(
            (files, moves),
            (vec!["a.txt".to_owned()], vec!["a.txt".to_owned(), "b.txt".to_owned()])
        );
    }
}
