//! What the session's edits changed on disk, and no commit has: it is among the user's uncommitted
//! changes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::edit_places::EditPlaces;
use super::ownership::{Version, line_numbers};
use crate::session::files::path_state::{OnDisk, PathState};
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::user::unwind;
use edt_edit::diff::LineDiff;
use edt_git::diff::Untracked;
use edt_git::{FileMode, ObjectWriter, Oid, Repo};
use edt_io::clock;
use edt_journal::{PrivateBytes, PrivateFile};
use edt_types::text::MODE;
use edt_types::{RepoPath, Result};

/// How long each comparison may search for the smallest difference, in milliseconds.
const TIME_LIMIT: u64 = 100;

/// The number of an edit, and a file before and after it.
type NumberedChange = (u64, [Option<PrivateBytes>; 2]);

/// The files on disk with changes of `commits`, which are commits of the session, that its tip does
/// not have. What the user committed or removed since does not count.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`, `INTERNAL`.
pub fn of_session(
    writer: &ObjectWriter<'_>,
    session: &Session,
    commits: &[Commit],
) -> Result<Vec<EditPlaces>> {
    let repo = writer.repo();
    let mut changes: BTreeMap<RepoPath, Vec<NumberedChange>> = BTreeMap::new();
    // Each edit of several that the user squashed has a private record of its own.
    let units = commits.iter().flat_map(Commit::units);
    let mut edits: Vec<Commit> = units.filter(Commit::is_edit).collect();
    edits.sort_by_key(|commit| commit.trailers.as_ref().map_or(0, |trailers| trailers.edit));
    for commit in &edits {
        let number = commit.trailers.as_ref().map_or(0, |trailers| trailers.edit);
        let files = unwind::private_files(repo, commit).unwrap_or_default();
        let moved = renamed(&files);
        for (from, to) in &moved {
            if let Some(earlier) = changes.remove(from) {
                changes.entry(to.clone()).or_default().extend(earlier);
            }
        }
        let is_half = |path: &RepoPath| moved.iter().any(|(from, to)| [from, to].contains(&path));
        for file in files {
            if file.is_left_over && !is_half(&file.path()) {
                let path = file.path();
                changes.entry(path).or_default().push((number, [file.before, file.after]));
            }
        }
    }
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let tree = repo.tree_of(session.tip)?;
    let mut found = Vec::new();
    for (path, edits) in changes {
        found.extend(of_path(writer, tree, path, &edits)?);
    }
    Ok(found)
}

/// The numbers of the edits among `commits` of which nobody knows what they left over: their private
/// records are missing, and something on disk is uncommitted.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn unknown(repo: &Repo, commits: &[Commit]) -> Result<Vec<u64>> {
    let units = commits.iter().flat_map(Commit::units).filter(Commit::is_edit);
    let missing = units.filter(|edit| unwind::private_files(repo, edit).is_none());
    let mut numbers: Vec<u64> =
        missing.filter_map(|edit| Some(edit.trailers.as_ref()?.edit)).collect();
    if numbers.is_empty() || repo.uncommitted(Untracked::Files)?.is_empty() {
        return Ok(Vec::new());
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The files that an edit moved without another change: from where and to where.
fn renamed(files: &[PrivateFile]) -> Vec<(RepoPath, RepoPath)> {
    let bytes = |side: &Option<PrivateBytes>| side.as_ref().map(|side| side.bytes.clone());
    let gone = files.iter().filter(|file| file.after.is_none());
    let pair = |gone: &PrivateFile| {
        let is_it = |new: &&PrivateFile| {
            new.before.is_none() && new.after.is_some() && bytes(&new.after) == bytes(&gone.before)
        };
        Some((gone.path(), files.iter().find(is_it)?.path()))
    };
    gone.filter_map(pair).collect()
}

fn of_path(
    writer: &ObjectWriter<'_>,
    tree: Oid,
    path: RepoPath,
    edits: &[NumberedChange],
) -> Result<Option<EditPlaces>> {
    let Ok(state) = PathState::at(writer.repo(), tree, None, &path) else { return Ok(None) };
    if state.disk_file() == state.tip {
        return Ok(None);
    }
    let recorded = match state.tip {
        Some(tip) => Some(Version::recorded(tip).bytes(writer)?),
        None => None,
    };
    let recorded = match recorded {
        Some(blob) => {
            let from = edt_git::Attributes::Worktree(tree);
            Some(state.checked_out(writer.repo(), from, blob)?.disk().to_vec())
        }
        None => None,
    };
    let disk = state.disk.as_ref().map(OnDisk::exact);
    let (mut numbers, mut lines, mut has_mode) = (BTreeSet::new(), BTreeSet::new(), false);
    for (number, [before, after]) in edits {
        let bytes = |side: &Option<PrivateBytes>| side.as_ref().map(|side| side.bytes.clone());
        let (old, new) = (bytes(before), bytes(after));
        if let Some(rows) = rows(recorded.as_deref(), disk, old.as_deref(), new.as_deref()) {
            numbers.insert(*number);
            lines.extend(rows.into_iter().map(|rows| (rows.start, rows.end)));
        }
        if has_mode_of(&state, before.as_ref(), after.as_ref()) {
            numbers.insert(*number);
            has_mode = true;
        }
    }
    let lines = lines.into_iter().map(|(start, end)| line_numbers(&(start..end)));
    let lines = lines.chain(has_mode.then(|| MODE.to_owned())).collect();
    let file = EditPlaces { path, edits: numbers.into_iter().collect(), lines };
    Ok((!file.edits.is_empty()).then_some(file))
}

/// Whether the mode on disk is not the recorded one, and the step from `before` to `after` set it.
fn has_mode_of(
    state: &PathState,
    before: Option<&PrivateBytes>,
    after: Option<&PrivateBytes>,
) -> bool {
    let (Some(disk), Some(tip)) = (state.disk_file(), state.tip) else { return false };
    let (Some(before), Some(after)) = (before, after) else { return false };
    let set = FileMode::of(after.executable);
    disk.mode != tip.mode && disk.mode == set && before.executable != after.executable
}

/// The rows of `disk` that differ from `recorded` and that the step from `before` to `after` wrote.
/// `None` if nothing of the step is left.
fn rows(
    recorded: Option<&[u8]>,
    disk: Option<&[u8]>,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Option<Vec<Range<usize>>> {
    let Some(disk) = disk else { return after.is_none().then(Vec::new) };
    let (recorded, before) = (recorded.unwrap_or_default(), before.unwrap_or_default());
    let after = after?;
    let deadline = || clock::in_ms(TIME_LIMIT);
    let step = LineDiff::of(before, after, deadline());
    let (old, new) = step.texts();
    let (mut added, mut removed) = (BTreeSet::new(), BTreeSet::new());
    for (rows, by) in step.changes() {
        removed.extend(old[rows].iter().copied());
        added.extend(new[by].iter().copied());
    }
    let now = LineDiff::of(recorded, disk, deadline());
    let (recorded, disk) = now.texts();
    let (mut found, mut is_left) = (Vec::new(), false);
    for (rows, by) in now.changes() {
        let own: Vec<usize> = by.filter(|row| added.contains(disk[*row])).collect();
        is_left |= !own.is_empty() || recorded[rows].iter().any(|line| removed.contains(line));
        for row in own {
            match found.last_mut() {
                Some(last) if is_next(last, row) => last.end = row + 1,
                _ => found.push(row..row + 1),
            }
        }
    }
    is_left.then_some(found)
}

fn is_next(rows: &Range<usize>, row: usize) -> bool {
    rows.end == row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::recording::record::checkpoint;
    use crate::tests::Scratch;
    use crate::txn::Request;

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    /// A file whose line 2 the user changed, and then two edits, of the lines 2 and 9.
    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        scratch.write("a.txt", &TEN.replace("2\n", "2 by hand\n"));
        scratch.apply(&Request::new("x").edit("a.txt", "2 by hand\n", "two\n2\n")).unwrap();
        scratch.apply(&Request::new("y").edit("a.txt", "9\n", "nine\n")).unwrap();
        scratch
    }

    fn found(scratch: &Scratch) -> Vec<String> {
        let (repo, session) = (scratch.repo(), scratch.session());
        let writer = ObjectWriter::new(&repo);
        let commits = session.commits(&repo).collect::<Result<Vec<Commit>>>().unwrap();
        let files = of_session(&writer, &session, &commits).unwrap();
        files.iter().map(EditPlaces::shown).collect()
    }

    #[test]
    fn lines_of_an_edit_among_the_users_are_named() {
        let scratch = scratch();
        assert_eq!(found(&scratch), ["a.txt (edit 1; line 2)"]);
        let text = scratch.text("a.txt").unwrap();
        scratch.write("a.txt", &format!("mine\n{text}"));
        assert_eq!(found(&scratch), ["a.txt (edit 1; line 3)"]);
    }

    #[test]
    fn what_the_user_committed_or_removed_is_not_left_over() {
        let scratch = scratch();
        scratch.write("a.txt", &TEN.replace("9\n", "nine\n").replace("2\n", "other\n"));
        assert_eq!(found(&scratch), [] as [&str; 0]);
        let scratch = self::scratch();
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert_eq!(found(&scratch), [] as [&str; 0]);
    }

    #[test]
    fn a_renamed_file_takes_its_left_over_lines_along() {
        let scratch = scratch();
        scratch.apply(&Request::new("z").rename("a.txt", "b.txt")).unwrap();
        assert_eq!(found(&scratch), ["b.txt (edit 1; line 2)"]);
    }

    #[test]
    fn a_renamed_untracked_file_has_no_line_of_the_edit() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        scratch.write("new.txt", "mine\n");
        scratch.apply(&Request::new("x").rename("new.txt", "other.txt")).unwrap();
        assert_eq!(found(&scratch), [] as [&str; 0]);
    }

    #[test]
    fn an_untracked_file_and_a_removed_one_are_named() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        scratch.write("new.txt", "mine\n");
        scratch.apply(&Request::new("x").append("new.txt", "ours\n")).unwrap();
        assert_eq!(found(&scratch), ["new.txt (edit 1; line 2)"]);
        scratch.apply(&Request::new("y").delete("new.txt")).unwrap();
        assert_eq!(found(&scratch), [] as [&str; 0]);
    }
}
