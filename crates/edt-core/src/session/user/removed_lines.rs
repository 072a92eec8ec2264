//! What edits changed and the user threw away by hand: the file on disk has the text before the
//! edit again, and no later edit did that. Lines that the user merely changed do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::edit_change::{self, FileStep};
use super::edit_places::EditPlaces;
use super::ownership::{MergedFile, Version, line_numbers, merge3};
use super::user_changes::{self, ReadLimits};
use crate::session::files::path_state::PathState;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::user::unwind;
use edt_edit::diff::LineDiff;
use edt_git::diff::{TreeDifference, Untracked};
use edt_git::{FileId, ObjectWriter, Repo, TreeItem};
use edt_io::clock;
use edt_types::{RepoPath, Result};

/// How long each comparison may search for the smallest difference, in milliseconds.
const TIME_LIMIT: u64 = 100;
/// How much is read to find the new name of a file.
const RENAMES: ReadLimits = ReadLimits { file: 1024 * 1024, total: 16 * 1024 * 1024 };

/// What one commit of edits made of one file.
#[derive(Debug)]
struct Step {
    numbers: Vec<u64>,
    before: Option<Version>,
    after: Option<Version>,
    /// What it changed on disk alone.
    left_over: Vec<Place>,
}

/// The files on disk that have again what edits of `landing` replaced, with these edits and the lines
/// on disk. `landing` are commits of the session.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub fn of_session(
    writer: &ObjectWriter<'_>,
    session: &Session,
    landing: &[Commit],
) -> Result<Vec<EditPlaces>> {
    let repo = writer.repo();
    let mut paths = BTreeSet::new();
    for commit in landing.iter().filter(|commit| commit.is_edit()) {
        paths.extend(steps(writer, commit)?.into_iter().map(|(path, ..)| path));
    }
    let (tree, mut open) = (repo.tree_of(session.tip)?, BTreeMap::new());
    for path in paths {
        // What cannot be read is refused where it is in the way.
        let Ok(state) = PathState::at(repo, tree, None, &path) else { continue };
        if state.disk_file() != state.tip {
            open.insert(path, (state, Vec::new()));
        }
    }
    if open.values().any(|(state, _)| state.disk.is_none()) {
        for path in renamed_on_disk(repo, session)? {
            open.remove(&path);
        }
    }
    if open.is_empty() {
        return Ok(Vec::new());
    }
    for commit in session.commits(repo) {
        add_steps(writer, &commit?, &mut open)?;
    }
    let lands: BTreeSet<u64> = landing.iter().flat_map(numbers).collect();
    let mut found = Vec::new();
    for (state, steps) in open.into_values() {
        found.extend(of_path(writer, &state, &steps, &lands)?);
    }
    Ok(found)
}

/// The files that the user gave another name and did not commit.
fn renamed_on_disk(repo: &Repo, session: &Session) -> Result<Vec<RepoPath>> {
    let named = repo.uncommitted(Untracked::Files)?;
    let changes = user_changes::of_worktree(repo, Some(session), &named, RENAMES)?.changes;
    Ok(changes.into_iter().filter_map(|change| Some(change.from?.path)).collect())
}

/// What the edits of `commit` changed in its tree.
fn steps(writer: &ObjectWriter<'_>, commit: &Commit) -> Result<Vec<FileStep>> {
    let repo = writer.repo();
    if let Some(steps) = edit_change::of_rewritten(repo, commit)? {
        return Ok(steps);
    }
    let differs = writer.tree_diff(commit.parent_tree(repo)?, commit.tree)?;
    let side = |item: Option<TreeItem>| item.and_then(TreeItem::file).map(Version::recorded);
    let of_files = differs.into_iter().filter(TreeDifference::is_of_files);
    Ok(of_files.map(|one| (one.path, side(one.old), side(one.new))).collect())
}

/// Adds what `commit` changed in the `open` files.
fn add_steps(
    writer: &ObjectWriter<'_>,
    commit: &Commit,
    open: &mut BTreeMap<RepoPath, (PathState, Vec<Step>)>,
) -> Result<()> {
    if !commit.is_edit() {
        return Ok(());
    }
    let step =
        |before, after, left_over| Step { numbers: numbers(commit), before, after, left_over };
    for (path, before, after) in steps(writer, commit)? {
        if let Some((_, steps)) = open.get_mut(&path) {
            steps.push(step(before, after, Vec::new()));
        }
    }
    let units = commit.units().into_iter().rev().filter(Commit::is_edit);
    let private = units.filter_map(|unit| unwind::private_files(writer.repo(), &unit));
    for file in private.flatten() {
        if !file.is_left_over {
            continue;
        }
        let Some((_, steps)) = open.get_mut(&file.path()) else { continue };
        let bytes = [file.before.as_ref(), file.after.as_ref()];
        let [before, after] = bytes.map(|side| side.map_or(&[][..], |side| side.bytes.as_slice()));
        steps.push(step(None, None, places(before, after)));
    }
    Ok(())
}

/// The numbers of the edits that `commit` has.
fn numbers(commit: &Commit) -> Vec<u64> {
    let edits = match &commit.rewritten {
        Some(rewritten) => rewritten.edits.as_slice(),
        None => std::slice::from_ref(commit),
    };
    let edits = edits.iter().filter(|edit| edit.is_edit());
    edits.filter_map(|edit| Some(edit.trailers.as_ref()?.edit)).collect()
}

/// `steps`: what edits made of the file, the newest first. Where taking them back one after the other
/// makes what the user made, the user threw them away.
fn of_path(
    writer: &ObjectWriter<'_>,
    state: &PathState,
    steps: &[Step],
    lands: &BTreeSet<u64>,
) -> Result<Option<EditPlaces>> {
    let (tip, disk) = (state.tip.map(Version::recorded), Version::on_disk(state));
    let changes = version_places(writer, tip.as_ref(), disk.as_ref())?;
    let (mut edits, mut rows) = (BTreeSet::new(), BTreeSet::new());
    let (mut at, mut seen, mut by_edits) = (tip.clone(), Vec::<(&Step, Vec<Place>)>::new(), vec![]);
    for step in steps {
        by_edits.extend(&step.left_over);
        if id(step.before.as_ref()) == id(step.after.as_ref()) {
            continue;
        }
        let back = |from: &Option<Version>| {
            merge3(writer, step.after.as_ref(), from.as_ref(), step.before.as_ref())
        };
        at = match back(&at)? {
            MergedFile::Clean(back) => back,
            MergedFile::Conflict(_) => {
                // A commit of the user is in between.
                seen.clear();
                match back(&tip)? {
                    MergedFile::Clean(back) => back,
                    MergedFile::Conflict(_) => tip.clone(),
                }
            }
        };
        // A file without lines to compare.
        if changes.is_empty() && by_edits.is_empty() && id(at.as_ref()) == id(disk.as_ref()) {
            edits.extend(seen.iter().flat_map(|(step, _)| &step.numbers).chain(&step.numbers));
        }
        let taken_back = version_places(writer, tip.as_ref(), at.as_ref())?;
        let known = |place: &Place| seen.iter().any(|(_, places)| places.contains(place));
        let own: Vec<Place> = taken_back.into_iter().filter(|place| !known(place)).collect();
        // Next to another edit's lines, the text alone says which place it is.
        let mut texts = version_places(writer, step.after.as_ref(), step.before.as_ref())?;
        texts.retain(|text| {
            !text.removed.is_empty() && !own.iter().any(|place| place.has_same_text(text))
        });
        for change in &changes {
            let is_one = |place: &Place| {
                place.says_something() && !by_edits.iter().any(|by| by.has_text_of(place))
            };
            let is_text = |text: &&Place| change.has_text_of(text);
            let met: Vec<&Place> = own.iter().filter(|place| change.has(place)).collect();
            if !met.iter().copied().chain(texts.iter().filter(is_text)).any(is_one) {
                continue;
            }
            edits.extend(&step.numbers);
            rows.insert((change.new.start, change.new.end));
            // Later edits changed what the user brought back.
            for (later, places) in &seen {
                if places.iter().any(|one| met.iter().any(|place| place.meets(one))) {
                    edits.extend(&later.numbers);
                }
            }
        }
        seen.push((step, own));
    }
    edits.retain(|edit| lands.contains(edit));
    let lines = rows.into_iter().filter(|(start, end)| start < end);
    let lines = lines.map(|(start, end)| line_numbers(&(start..end))).collect();
    let file = EditPlaces { path: state.path.clone(), edits: edits.into_iter().collect(), lines };
    Ok((!file.edits.is_empty()).then_some(file))
}

fn id(version: Option<&Version>) -> Option<FileId> {
    version.map(|version| version.file)
}

/// One place where a text differs from an older one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// Its rows in the older text.
    old: Range<usize>,
    /// Its rows in the newer text.
    new: Range<usize>,
    removed: Vec<Vec<u8>>,
    added: Vec<Vec<u8>>,
}

impl Place {
    /// Whether `part`, a place of the same older text, is in this one.
    fn has(&self, part: &Place) -> bool {
        self.old.start <= part.old.start && part.old.end <= self.old.end && self.has_text_of(part)
    }

    /// Whether this removes and adds all that `part` does. Where `part` only removes lines, nothing
    /// may be in their place.
    fn has_text_of(&self, part: &Place) -> bool {
        let is_added = if part.added.is_empty() {
            self.added.is_empty()
        } else {
            contains(&self.added, &part.added)
        };
        is_added && contains(&self.removed, &part.removed)
    }

    fn has_same_text(&self, other: &Place) -> bool {
        self.removed == other.removed && self.added == other.added
    }

    /// Whether the places of the same older text overlap or are next to each other.
    fn meets(&self, other: &Place) -> bool {
        self.old.start <= other.old.end && other.old.start <= self.old.end
    }

    /// Whether it differs in more than white space.
    fn says_something(&self) -> bool {
        let text = |lines: &[Vec<u8>]| -> Vec<u8> {
            lines.iter().flatten().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
        };
        text(&self.removed) != text(&self.added)
    }
}

fn contains(lines: &[Vec<u8>], part: &[Vec<u8>]) -> bool {
    part.is_empty() || lines.windows(part.len()).any(|lines| lines == part)
}

/// The places where `new` differs from `old`; none if one of them is missing or is no text.
fn version_places(
    writer: &ObjectWriter<'_>,
    old: Option<&Version>,
    new: Option<&Version>,
) -> Result<Vec<Place>> {
    let (Some(old), Some(new)) = (old, new) else { return Ok(Vec::new()) };
    let (old, new) = (old.bytes(writer)?, new.bytes(writer)?);
    let is_text = !old.contains(&0) && !new.contains(&0);
    Ok(if is_text { places(&old, &new) } else { Vec::new() })
}

fn places(old: &[u8], new: &[u8]) -> Vec<Place> {
    let diff = LineDiff::of(old, new, clock::in_ms(TIME_LIMIT));
    let (old, new) = diff.texts();
    let lines = |lines: &[&[u8]]| lines.iter().map(|line| line.to_vec()).collect();
    let place = |(from, to): (Range<usize>, Range<usize>)| Place {
        removed: lines(&old[from.clone()]),
        added: lines(&new[to.clone()]),
        old: from,
        new: to,
    };
    diff.changes().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;
    use crate::txn::Request;

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    /// Edits of the lines 2 and 9.
    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", TEN), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "2\n", "two\n");
        scratch.edit("second", "a.txt", "9\n", "nine\n");
        scratch
    }

    fn found(scratch: &Scratch) -> Vec<String> {
        let (repo, session) = (scratch.repo(), scratch.session());
        let writer = ObjectWriter::new(&repo);
        let commits = session.commits(&repo).collect::<Result<Vec<Commit>>>().unwrap();
        let files = of_session(&writer, &session, &commits).unwrap();
        files.iter().map(EditPlaces::shown).collect()
    }

    /// Replaces text on disk, as the user does.
    fn types(scratch: &Scratch, old: &str, new: &str) {
        let text = scratch.text("a.txt").unwrap();
        assert!(text.contains(old), "{text}");
        scratch.write("a.txt", &text.replace(old, new));
    }

    #[test]
    fn a_line_that_is_back_is_named_with_its_edit() {
        let scratch = scratch();
        assert_eq!(found(&scratch), [] as [&str; 0]);
        types(&scratch, "nine\n", "9\n");
        assert_eq!(found(&scratch), ["a.txt (edit 2; line 9)"]);
        types(&scratch, "1\n", "mine\n1\n");
        types(&scratch, "two\n", "2\n");
        assert_eq!(found(&scratch), ["a.txt (edits 1, 2; lines 3, 10)"]);
    }

    #[test]
    fn changed_and_formatted_lines_do_not_count() {
        let scratch = scratch();
        types(&scratch, "two\n", "2 by hand\n");
        types(&scratch, "nine\n", "  nine\n");
        assert_eq!(found(&scratch), [] as [&str; 0]);
        scratch.edit("indent", "a.txt", "4\n", "  4\n");
        types(&scratch, "  4\n", "4\n");
        assert_eq!(found(&scratch), [] as [&str; 0]);
    }

    #[test]
    fn an_inserted_line_that_is_gone_and_a_removed_one_that_is_back_are_named() {
        let scratch = scratch();
        scratch.edit("third", "a.txt", "5\n", "5\nfive\n");
        scratch.edit("fourth", "a.txt", "7\n", "");
        types(&scratch, "five\n", "");
        assert_eq!(found(&scratch), ["a.txt (edit 3)"]);
        types(&scratch, "8\n", "7\n8\n");
        assert_eq!(found(&scratch), ["a.txt (edits 3, 4; line 7)"]);
    }

    #[test]
    fn a_line_next_to_one_of_another_edit_is_kept_apart_from_it() {
        let scratch = scratch();
        scratch.edit("third", "a.txt", "3\n", "three\n");
        types(&scratch, "two\n", "2\n");
        assert_eq!(found(&scratch), ["a.txt (edit 1; line 2)"]);
    }

    #[test]
    fn a_line_of_two_edits_is_back_before_both_or_before_the_later() {
        let scratch = scratch();
        scratch.edit("third", "a.txt", "two\n", "zwei\n");
        types(&scratch, "zwei\n", "two\n");
        assert_eq!(found(&scratch), ["a.txt (edit 3; line 2)"]);
        types(&scratch, "two\n", "2\n");
        assert_eq!(found(&scratch), ["a.txt (edits 1, 3; line 2)"]);
    }

    #[test]
    fn restored_and_deleted_files_are_named() {
        let scratch = scratch();
        scratch.apply(&Request::new("x").create("new.txt", "new\n")).unwrap();
        scratch.apply(&Request::new("y").append("new.txt", "more\n")).unwrap();
        scratch.apply(&Request::new("z").delete("b.txt")).unwrap();
        scratch.remove("new.txt");
        scratch.write("b.txt", "b\n");
        assert_eq!(found(&scratch), ["b.txt (edit 5)", "new.txt (edits 3, 4)"]);
    }

    #[test]
    fn a_renamed_file_does_not_count() {
        let scratch = scratch();
        scratch.apply(&Request::new("x").create("new.txt", TEN)).unwrap();
        scratch.remove("new.txt");
        assert_eq!(found(&scratch), ["new.txt (edit 3)"]);
        scratch.write("newer.txt", TEN);
        assert_eq!(found(&scratch), [] as [&str; 0]);
    }

    #[test]
    fn a_binary_file_that_is_gone_is_named() {
        let scratch = scratch();
        let request = Request::new("x").create("c.bin", b"\0one".to_vec()).allow("binary_content");
        scratch.apply(&request).unwrap();
        scratch.write("c.bin", "\0two");
        assert_eq!(found(&scratch), [] as [&str; 0]);
        scratch.remove("c.bin");
        assert_eq!(found(&scratch), ["c.bin (edit 3)"]);
    }

    #[test]
    fn what_a_later_edit_did_on_disk_is_not_the_users() {
        let scratch = scratch();
        // The user's text is next to it, so that the edit is left over.
        types(&scratch, "10\n", "10 by hand\n");
        scratch.apply(&Request::new("z").edit("a.txt", "nine\n", "9\n")).unwrap();
        assert_eq!(found(&scratch), [] as [&str; 0]);
    }
}
