//! Lets a worktree follow a branch or HEAD that moves: each file and each index entry is merged
//! three ways, so that the user's uncommitted changes stay.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::checkout;
use crate::session::engine::{PathChange, WorktreeChange};
use crate::session::files::path_state::PathState;
use crate::session::private::hidden::Hidden;
use crate::session::refs::current;
use crate::session::user::ownership::{self, MergedFile, Version, merge3};
use crate::session::user::unwind;
use crate::session::user::user_commits::UserCommits;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{ObjectWriter, Oid, Repo};
use edt_journal::IndexView;
use edt_types::text::Shown as _;
use edt_types::{Finding, Refusal, RepoPath, Result};

/// A move from one tree to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeMove {
    pub from: Oid,
    pub to: Oid,
}

/// What moves the worktree, for refusals.
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    /// Its name within a sentence, such as `the landing`.
    pub name: &'a str,
    /// The command to repeat.
    pub command: &'a str,
    /// The root of the worktree if it is another one than that of the call.
    pub elsewhere: Option<&'a Path>,
    /// The user's commits of the session that the worktree moves to, if it moves to one.
    pub users: Option<&'a UserCommits<'a>>,
}

/// One path that differs on disk, in the index, or both.
#[derive(Default)]
struct Moved {
    disk: Option<TreeDifference>,
    staged: Option<TreeDifference>,
}

/// Plans how the worktree of `place` follows: its files `disk`, its index entries `index`.
///
/// # Errors
/// `UNSAVED_CHANGES` if the user changed the same lines; `NOT_A_FILE` for links and submodules;
/// errors of reading path states.
pub fn plan(
    place: &Repo,
    disk: TreeMove,
    index: Option<TreeMove>,
    operation: &Operation<'_>,
) -> Result<WorktreeChange> {
    let mut paths: BTreeMap<RepoPath, Moved> = BTreeMap::new();
    let on_disk = place.tree_diff(disk.from, disk.to)?;
    for differs in &on_disk {
        paths.entry(differs.path.clone()).or_default().disk = Some(differs.clone());
    }
    if let Some(index) = index {
        for differs in place.tree_diff(index.from, index.to)? {
            let path = differs.path.clone();
            paths.entry(path).or_default().staged = Some(differs);
        }
    }
    // Without a change of an entry, too: its lock keeps HEAD in place while Git commits.
    let view = index.map(|_| IndexView::read(place)).transpose()?;
    if paths.is_empty() {
        let index = view.map(|view| (view, Vec::new()));
        return Ok(WorktreeChange { index, ..WorktreeChange::default() });
    }
    let tree = index.map_or(disk.from, |index| index.from);
    let states = states(place, tree, view.as_ref(), &paths)?;
    let mut writer = ObjectWriter::new(place);
    let (mut planned, mut unsaved) = (Vec::new(), Vec::new());
    for (state, moved) in states.into_iter().zip(paths.values()) {
        let mut to_disk = None;
        if let Some(differs) = &moved.disk {
            let (from, to) = (recorded(differs.old), recorded(differs.new));
            let current = Version::on_disk(&state);
            match merge3(&writer, from.as_ref(), current.as_ref(), to.as_ref())? {
                MergedFile::Clean(merged) => to_disk = Some(merged),
                MergedFile::Conflict(rows) => {
                    let sides = (from.as_ref(), current.as_ref(), to.as_ref());
                    match recorded_already(&writer, operation, &state.path, sides)? {
                        Some(merged) => to_disk = Some(merged),
                        None => unsaved.push(unsaved_file(&state, &rows, false, operation)),
                    }
                }
            }
        }
        let mut entry = None;
        let mut branch = state.tip.map(Version::recorded);
        if let Some(differs) = &moved.staged {
            branch = recorded(differs.new);
            match ownership::index_entry(&writer, &state, branch.as_ref())? {
                Ok(merged) => entry = merged,
                Err(rows) => unsaved.push(unsaved_file(&state, &rows, true, operation)),
            }
        }
        planned.push(PathChange { seen: state, branch, index: entry, disk: to_disk });
    }
    Refusal::check(unsaved)?;
    let attributes = checkout::attributes(&on_disk, disk.from, disk.to);
    let index = view.map(|view| (view, tree));
    let mut change = WorktreeChange::of(&mut writer, index, attributes, planned)?;
    change.objects = writer.loose_objects();
    Ok(change)
}

fn recorded(item: Option<TreeItem>) -> Option<Version> {
    item.and_then(TreeItem::file).map(Version::recorded)
}

/// The merge of a file on disk whose conflicting lines of the user the session has recorded, too, as
/// after `edt land --undo`. `None` if they are not the same, or if there is another conflict.
fn recorded_already(
    writer: &ObjectWriter<'_>,
    operation: &Operation<'_>,
    path: &RepoPath,
    (from, current, to): (Option<&Version>, Option<&Version>, Option<&Version>),
) -> Result<Option<Option<Version>>> {
    let Some(commits) = operation.users else { return Ok(None) };
    let file = |version: Option<&Version>| version.map(|version| version.file);
    let Some(Some(users)) = commits.applied_to(path, file(from))? else { return Ok(None) };
    let all = merge3(writer, from, current, Some(&users))?;
    if !matches!(all, MergedFile::Clean(all) if file(all.as_ref()) == file(current)) {
        return Ok(None);
    }
    match merge3(writer, Some(&users), current, to)? {
        MergedFile::Clean(merged) => Ok(Some(merged)),
        MergedFile::Conflict(_) => Ok(None),
    }
}

/// The states of `paths`, in their order.
fn states(
    place: &Repo,
    tree: Oid,
    index: Option<&IndexView>,
    paths: &BTreeMap<RepoPath, Moved>,
) -> Result<Vec<PathState>> {
    // A path with a link or submodule on either side is refused, whichever side it is.
    let differs: Vec<TreeDifference> = paths
        .values()
        .filter_map(|moved| {
            let both = [moved.staged.as_ref(), moved.disk.as_ref()];
            let special = both.into_iter().flatten().find(|differs| !differs.is_of_files());
            special.or(both[0]).or(both[1]).cloned()
        })
        .collect();
    let session = current::current(place, &place.head()?)?;
    checkout::read_states(&Hidden::of(place, session.as_ref()), tree, index, &differs)
}

/// The refusal to overwrite lines that the user changed, too.
fn unsaved_file(
    state: &PathState,
    rows: &[Range<usize>],
    staged: bool,
    operation: &Operation<'_>,
) -> Finding {
    let path = &state.path;
    let elsewhere = operation.elsewhere;
    let git = elsewhere.map_or_else(|| "git".to_owned(), |root| format!("git -C {}", root.shown()));
    let found = unwind::overlap(path, rows, operation.name);
    let place = elsewhere.map_or_else(String::new, |root| format!(" In {}.", root.shown()));
    let repeat = operation.command;
    let remedy = if staged {
        format!(
            "They are staged. The user must commit them, or unstage them with `{git} restore \
             --staged {}`; then repeat `{repeat}`.",
            path.for_shell()
        )
    } else if state.ignored {
        format!(
            "Git ignores {path}, or ignored its content before, so that neither a commit nor `git \
             stash` may have it. The user must move the file elsewhere; then repeat `{repeat}`."
        )
    } else {
        format!(
            "The user must commit or stash them (`{git} stash push --include-untracked -- {}`); \
             then repeat `{repeat}`.",
            path.quoted()
        )
    };
    Finding { summary: format!("{}{place}", found.summary), remedy, ..found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, refusal};
    use edt_types::Code;

    const OPERATION: Operation<'_> =
        Operation { name: "the switch", command: "edt switch fix", elsewhere: None, users: None };

    /// A move of `a.txt` from `1 2 3` to `1 2 THREE`, with the present text on disk.
    fn update(on_disk: &str) -> Result<WorktreeChange> {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n")]);
        let to = scratch.user_commit("main", &[("a.txt", Some("1\n2\nTHREE\n"))], "x\n");
        let repo = scratch.repo();
        let from = Commit::read(&repo, to).unwrap().parent.unwrap();
        scratch.write("a.txt", on_disk);
        let moved = TreeMove { from: repo.tree_of(from)?, to: repo.tree_of(to)? };
        plan(&repo, moved, None, &OPERATION)
    }

    use crate::session::refs::commit::Commit;

    fn text(update: &WorktreeChange) -> Option<String> {
        let new = update.files.first()?.new.as_ref()?;
        Some(String::from_utf8(new.bytes.clone()).unwrap())
    }

    #[test]
    fn a_clean_file_gets_the_new_content() {
        assert_eq!(text(&update("1\n2\n3\n").unwrap()).as_deref(), Some("1\n2\nTHREE\n"));
    }

    #[test]
    fn a_line_of_the_user_stays() {
        assert_eq!(
            text(&update("mine\n1\n2\n3\n").unwrap()).as_deref(),
            Some("mine\n1\n2\nTHREE\n")
        );
    }

    #[test]
    fn a_file_that_has_the_new_content_is_not_written() {
        assert!(update("1\n2\nTHREE\n").unwrap().files.is_empty());
    }

    #[test]
    fn an_ignored_file_in_the_way_is_moved_and_not_stashed() {
        let scratch = Scratch::with(&[("a.txt", "1\n")]);
        scratch.write(".git/info/exclude", "*.log\n");
        let to = scratch.user_commit("main", &[("x.log", Some("theirs\n"))], "x\n");
        let repo = scratch.repo();
        let from = Commit::read(&repo, to).unwrap().parent.unwrap();
        scratch.write("x.log", "mine\n");
        let moved = TreeMove { from: repo.tree_of(from).unwrap(), to: repo.tree_of(to).unwrap() };
        let finding = refusal(plan(&repo, moved, None, &OPERATION));
        assert_eq!(
            finding.remedy,
            "Git ignores x.log, or ignored its content before, so that neither a commit nor `git \
             stash` may have it. The user must move the file elsewhere; then repeat `edt switch \
             fix`."
        );
    }

    #[test]
    fn overlapping_lines_are_refused() {
        let finding = refusal(update("1\n2\nmine\n"));
        assert_eq!(finding.code, Code::UnsavedChanges);
        assert!(finding.remedy.ends_with("then repeat `edt switch fix`."), "{}", finding.remedy);
    }
}
