//! The paths that a move of a branch or HEAD from one tree to another concerns. No other path is
//! read.

use std::collections::BTreeMap;

use crate::session::files::path_state::{PathState, unsupported_kind};
use crate::session::private::hidden::Hidden;
use crate::session::refs::current::Session;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{Attributes, InHead, Oid, Repo, Tracked};
use edt_journal::IndexView;
use edt_types::{Code, Finding, Refusal, RepoPath, Result};

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
}
