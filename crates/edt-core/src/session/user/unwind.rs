//! Takes edits off the files on disk, or puts them back, so that every line that the user typed
//! meanwhile stays. Undo, redo, revert and abandon share this.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::followed::{FollowedFile, FollowedFiles, PathStep, Sides};
use crate::session::files::path_state::PathState;
use crate::session::refs::commit::Commit;
use crate::session::refs::message::Trailers;
use crate::session::user::edit_change::{self, FileStep};
use crate::session::user::ownership::{Version, line_numbers};
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::read::ObjectKind;
use edt_git::renames::{self, RenameCandidate};
use edt_git::{Attributes, FileId, FileMode, Forms, ObjectWriter, Oid, Repo, Tracked};
use edt_journal::{PrivateBytes, PrivateFile, private};
use edt_types::text::places;
use edt_types::{Code, Finding, Refusal, RepoPath, Result, Warning, WarningCode};

/// Whether edits are taken off or put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The newest edit first.
    Back,
    /// The oldest edit first.
    Forward,
}

/// Changes of files, each from one version to another.
#[derive(Debug, Default)]
pub struct FileSteps {
    /// The changes of one edit after the other.
    edits: Vec<EditStep>,
    /// The files that no commit of the edits has.
    pub private: BTreeSet<RepoPath>,
    /// The edits whose exact bytes are unknown.
    pub warnings: Vec<Warning>,
    /// The files whose change may be somebody else's in part: taking it off needs the user's word.
    pub unproved: BTreeSet<RepoPath>,
}

/// What one edit changed, in the direction in which it is followed.
#[derive(Debug, Default)]
struct EditStep {
    files: BTreeMap<RepoPath, PathStep>,
    /// The files that no commit of the edit has.
    private: BTreeSet<RepoPath>,
}

impl FileSteps {
    /// The steps of one file.
    #[must_use]
    pub fn of_file(path: &RepoPath, steps: impl IntoIterator<Item = Sides>) -> FileSteps {
        let mut all = FileSteps::default();
        steps.into_iter().for_each(|sides| all.push([(path.clone(), sides)]));
        all
    }

    /// The steps of the edits among `commits`, which are newest first. Commits of the user and
    /// commits of the user's changes have none: their lines stay on disk.
    ///
    /// # Errors
    /// `NOT_A_FILE` for a symbolic link or a submodule; `OBJECT_MISSING`.
    pub fn of(repo: &Repo, commits: &[Commit], direction: Direction) -> Result<FileSteps> {
        let units = commits.iter().flat_map(|commit| commit.units().into_iter().rev());
        let mut edits: Vec<Commit> = units.filter(Commit::is_edit).collect();
        if direction == Direction::Forward {
            edits.reverse();
        }
        let mut steps = FileSteps::default();
        for commit in edits {
            steps.add(repo, &commit, direction, |_| true)?;
        }
        Ok(steps)
    }

    /// Adds what the edit `commit` changed of the files that are `chosen`.
    ///
    /// # Errors
    /// As [`FileSteps::of`].
    pub fn add(
        &mut self,
        repo: &Repo,
        commit: &Commit,
        direction: Direction,
        chosen: impl Fn(&RepoPath) -> bool,
    ) -> Result<()> {
        let mut changes = changes(repo, commit)?;
        changes.files.retain(|(path, ..)| chosen(path));
        self.add_changes(repo, commit.tree, changes, direction)
    }

    /// Adds `changes` of an edit, whose commit has `tree`.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn add_changes(
        &mut self,
        repo: &Repo,
        tree: Oid,
        changes: EditChanges,
        direction: Direction,
    ) -> Result<()> {
        let EditChanges { files, recorded, left_over, unproved, private, warning } = changes;
        if direction == Direction::Back {
            self.unproved.extend(unproved);
        }
        let directed = |before, after| match direction {
            Direction::Back => (after, before),
            Direction::Forward => (before, after),
        };
        let mut recorded: BTreeMap<RepoPath, Sides> = recorded
            .into_iter()
            .map(|(path, before, after)| (path, directed(before, after)))
            .collect();
        let left_over: BTreeSet<RepoPath> = left_over.into_iter().collect();
        let mut step = EditStep::default();
        for (path, before, after) in files {
            let branch = match recorded.remove(&path) {
                _ if !left_over.contains(&path) => None,
                Some(sides) => Some(sides),
                None => {
                    let same = edit_change::file_in(repo, tree, &path)?;
                    Some((same.clone(), same))
                }
            };
            step.files.insert(path, PathStep { disk: directed(before, after), branch });
        }
        step.private.extend(private);
        self.warnings.extend(warning);
        self.private.extend(step.private.iter().cloned());
        self.edits.push(step);
        Ok(())
    }

    /// Adds changes that no edit made.
    pub fn push(&mut self, files: impl IntoIterator<Item = (RepoPath, Sides)>) {
        let step = |(path, disk)| (path, PathStep { disk, branch: None });
        let files = files.into_iter().map(step).collect();
        self.edits.push(EditStep { files, private: BTreeSet::new() });
    }

    /// The paths that change, each once.
    #[must_use]
    pub fn paths(&self) -> BTreeSet<&RepoPath> {
        self.edits.iter().flat_map(|step| step.files.keys()).collect()
    }

    /// Follows the steps from the files on disk of `states`, all together: a file that gets another
    /// name takes the user's lines with it. The steps overwrite the rows that overlap.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn follow(&self, writer: &ObjectWriter<'_>, states: &[PathState]) -> Result<FollowedFiles> {
        let file = |state: &PathState| (state.path.clone(), FollowedFile::of_state(state));
        let mut followed = self.follow_files(writer, states.iter().map(file).collect())?;
        for path in &self.unproved {
            followed.overlap_if_changed(path);
        }
        Ok(followed)
    }

    /// As [`FileSteps::follow`], for one file that is not on disk.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn follow_from(
        &self,
        writer: &ObjectWriter<'_>,
        path: &RepoPath,
        current: Option<Version>,
    ) -> Result<(Option<Version>, bool)> {
        let file = FollowedFile::at(path, current);
        let mut followed = self.follow_files(writer, [(path.clone(), file)].into())?;
        let overlaps = followed.overlaps.contains_key(path);
        Ok((followed.files.remove(path).and_then(|file| file.now), overlaps))
    }

    fn follow_files(
        &self,
        writer: &ObjectWriter<'_>,
        files: BTreeMap<RepoPath, FollowedFile>,
    ) -> Result<FollowedFiles> {
        let mut all = FollowedFiles::of(files);
        for edit in &self.edits {
            let mut moved = BTreeSet::new();
            for (from, to) in edit.renamed(writer.repo(), &all)? {
                let Some(step) = edit.joined(&from, &to) else { continue };
                let exists = |path: &RepoPath| Some(all.files.get(path)?.now.is_some());
                if exists(&from) == Some(true) && exists(&to) == Some(false) {
                    all.follow(writer, (&from, &to), &step)?;
                    moved.extend([from, to]);
                }
            }
            for (path, step) in edit.files.iter().filter(|(path, _)| !moved.contains(path)) {
                all.follow(writer, (path, path), step)?;
            }
        }
        Ok(all)
    }
}

impl EditStep {
    /// The files that get another path, from where and to where, if one that would go is not as the
    /// edit left it. A file that Git ignores never gets the name of one that it does not ignore.
    fn renamed(&self, repo: &Repo, now: &FollowedFiles) -> Result<Vec<(RepoPath, RepoPath)>> {
        let goes_changed = |(path, step): (&RepoPath, &PathStep)| {
            step.disk.1.is_none() && now.has_changes(path, step.disk.0.as_ref())
        };
        if !self.files.iter().any(goes_changed) {
            return Ok(Vec::new());
        }
        let read = |one: &RenameCandidate<'_>| {
            let step = self.files.get(one.path);
            let version = step.and_then(|step| step.disk.0.as_ref().or(step.disk.1.as_ref()));
            match version.and_then(|version| version.blob.clone()) {
                Some(bytes) => Ok(bytes),
                None => repo.object(one.oid, ObjectKind::Blob),
            }
        };
        let mut found = Vec::new();
        for is_private in [false, true] {
            let (mut deleted, mut added) = (Vec::new(), Vec::new());
            let own = |path: &RepoPath| self.private.contains(path) == is_private;
            for (path, step) in self.files.iter().filter(|(path, _)| own(path)) {
                let (list, version) = match &step.disk {
                    (Some(old), None) => (&mut deleted, old),
                    (None, Some(new)) => (&mut added, new),
                    _ => continue,
                };
                list.push(RenameCandidate { path, oid: version.file.oid, regular: true });
            }
            let path = |one: RenameCandidate<'_>| one.path.clone();
            for rename in renames::detect(&deleted, &added, repo.rename_limit(), read)? {
                found.push((path(deleted[rename.deleted]), path(added[rename.added])));
            }
        }
        Ok(found)
    }

    /// The step of a file that goes from one path to another.
    fn joined(&self, from: &RepoPath, to: &RepoPath) -> Option<PathStep> {
        let (old, new) = (self.files.get(from)?, self.files.get(to)?);
        let disk = (old.disk.0.clone(), new.disk.1.clone());
        let branch = match (&old.branch, &new.branch) {
            (Some((from, None)), Some((None, to))) => Some((from.clone(), to.clone())),
            _ => None,
        };
        Some(PathStep { disk, branch })
    }
}

/// What one edit changed on disk.
#[derive(Debug)]
pub struct EditChanges {
    pub files: Vec<FileStep>,
    /// The same as the commit has it.
    pub recorded: Vec<FileStep>,
    /// The files of which the commit lacks a part, although Git does not ignore them.
    pub left_over: Vec<RepoPath>,
    /// The files whose change may be somebody else's in part.
    pub unproved: Vec<RepoPath>,
    /// The files of which neither the edit's commit nor its parent has a version.
    pub private: Vec<RepoPath>,
    /// Set if the edit's private record is missing.
    pub warning: Option<Warning>,
}

/// What one edit changed on disk: each path with its file before and after.
///
/// # Errors
/// `NOT_A_FILE`, `OBJECT_MISSING`.
pub fn changes(repo: &Repo, commit: &Commit) -> Result<EditChanges> {
    changes_of(repo, commit, |_| true)
}

/// As [`changes`], of the files that are `chosen`.
///
/// # Errors
/// As [`changes`].
pub fn changes_of(
    repo: &Repo,
    commit: &Commit,
    chosen: impl Fn(&RepoPath) -> bool,
) -> Result<EditChanges> {
    let recorded = recorded_changes_of(repo, commit, &chosen)?;
    let mut all: BTreeMap<RepoPath, _> =
        recorded.iter().cloned().map(|(path, before, after)| (path, (before, after))).collect();
    let private = private_files(repo, commit);
    let warning = private.is_none().then(|| missing_record(commit));
    let (mut unrecorded, mut left_over, mut unproved) = (Vec::new(), Vec::new(), Vec::new());
    for file in private.into_iter().flatten() {
        let path = file.path();
        if !chosen(&path) {
            continue;
        }
        if file.is_unproved {
            unproved.push(path.clone());
        }
        if file.is_left_over {
            left_over.push(path.clone());
        } else if !all.contains_key(&path) && repo.tracked(commit.tree, &path)? == Tracked::Nothing
        {
            unrecorded.push(path.clone());
        }
        let side = |bytes: Option<PrivateBytes>| {
            bytes.map(|bytes| version_of(repo, commit.tree, &path, bytes)).transpose()
        };
        let sides = (side(file.before)?, side(file.after)?);
        all.insert(path, sides);
    }
    let files = all.into_iter().map(|(path, (before, after))| (path, before, after)).collect();
    Ok(EditChanges { files, recorded, left_over, unproved, private: unrecorded, warning })
}

/// What an edit changed that no commit has; `None` if its record is missing.
#[must_use]
pub fn private_files(repo: &Repo, commit: &Commit) -> Option<Vec<PrivateFile>> {
    let Some(Trailers { session, private: Some(name), .. }) = &commit.trailers else {
        return Some(Vec::new());
    };
    Some(private::read(repo, session, name)?.files)
}

fn missing_record(commit: &Commit) -> Warning {
    let number = commit.trailers.as_ref().map_or(0, |trailers| trailers.edit);
    let message = format!(
        "Edit {number} ({}) also changed files whose exact bytes are in no commit, such as ignored \
         files. The record of these bytes is missing: such files stay as they are. Let the user \
         check the ignored files.",
        commit.subject()
    );
    Warning { code: WarningCode::PrivateRecordMissing, path: None, message }
}

/// What one commit changed on the branch: each path with its file before and after. Lines that the
/// user amended to an edit are not among them.
///
/// # Errors
/// `NOT_A_FILE`, `OBJECT_MISSING`.
pub fn recorded_changes(repo: &Repo, commit: &Commit) -> Result<Vec<FileStep>> {
    recorded_changes_of(repo, commit, |_| true)
}

fn recorded_changes_of(
    repo: &Repo,
    commit: &Commit,
    chosen: impl Fn(&RepoPath) -> bool,
) -> Result<Vec<FileStep>> {
    let parent = commit.parent_tree(repo)?;
    if commit.is_edit()
        && let Some(mut steps) = edit_change::of_rewritten(repo, commit)?
    {
        steps.retain(|(path, ..)| chosen(path));
        return Ok(steps);
    }
    let mut differs = repo.tree_diff(parent, commit.tree)?;
    differs.retain(|one| chosen(&one.path));
    let unsupported = differs.iter().filter(|one| !one.is_of_files());
    Refusal::check(
        unsupported
            .map(|one| crate::session::files::path_state::unsupported_kind(&one.path))
            .collect(),
    )?;
    let recorded = |item: Option<TreeItem>| item.and_then(TreeItem::file).map(Version::recorded);
    let step = |TreeDifference { path, old, new }| (path, recorded(old), recorded(new));
    Ok(differs.into_iter().map(step).collect())
}

/// The version with these exact bytes on disk.
///
/// # Errors
/// Errors of a filter; `INTERNAL`.
pub fn version_of(
    repo: &Repo,
    tree: Oid,
    path: &RepoPath,
    private: PrivateBytes,
) -> Result<Version> {
    let disk = private.bytes;
    let converts = repo.may_convert(path, |attributes| repo.tree_contains(tree, attributes))?;
    let (forms, inexact) = if converts {
        repo.conversion(path, Attributes::Worktree(tree))?.of_written(disk.clone())?
    } else {
        (Forms::plain(disk.clone()), None)
    };
    let mode = FileMode::of(private.executable);
    let file = FileId { oid: repo.blob_id(forms.blob())?, mode };
    let differs = forms.stored.is_some() || inexact.is_some();
    let (blob, permissions) = (Some(forms.blob().to_vec()), private.permissions);
    Ok(Version { file, blob, disk: differs.then_some(disk), permissions })
}

/// As [`overlap`], for an ignored file: no commit may keep the user's version.
#[must_use]
pub fn overlap_ignored(path: &RepoPath, rows: &[Range<usize>], operation: &str) -> Finding {
    let remedy = format!(
        "Git ignores {path}, or ignored its content before, so that no commit keeps the user's \
         version. Let the user copy the file elsewhere and undo their changes of it; then repeat \
         the call.",
    );
    Finding { remedy, ..overlap(path, rows, operation) }
}

/// The refusal to change lines that the user changed, too.
#[must_use]
pub fn overlap(path: &RepoPath, rows: &[Range<usize>], operation: &str) -> Finding {
    let lines: Vec<String> = rows.iter().map(line_numbers).collect();
    let place = match places(&lines) {
        none if none.is_empty() => none,
        places => format!(" in {places}"),
    };
    Finding::new(
        Code::UnsavedChanges,
        format!(
            "{path} has changes of the user{place} that overlap with what {operation} changes."
        ),
        format!(
            "Repeat the call with `--save`: it keeps the user's version as a commit at a ref and \
             goes on. Or let the user commit or stash {}.",
            path.quoted()
        ),
    )
    .nothing_changed()
    .at(path)
    .with("line_ranges", lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path};
    use edt_git::InHead;
    use edt_journal::IndexView;

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    /// A session with two edits of `a.txt`, between which the user typed a line.
    fn two_edits() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", TEN), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "2", "two");
        scratch.write("a.txt", &scratch.text("a.txt").unwrap().replace("5\n", "5\nmine\n"));
        scratch.edit("second", "a.txt", "9", "nine");
        scratch
    }

    fn steps(scratch: &Scratch, direction: Direction) -> FileSteps {
        let (repo, session) = (scratch.repo(), scratch.session());
        let commits = session.commits(&repo).collect::<Result<Vec<Commit>>>().unwrap();
        FileSteps::of(&repo, &commits, direction).unwrap()
    }

    /// Follows the steps of a file from its content on disk.
    /// Follows `steps` from the content `current`. The inner error has its rows that conflict.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub(crate) fn followed(
        scratch: &Scratch,
        steps: &FileSteps,
        named: &str,
    ) -> std::result::Result<Option<String>, Vec<Range<usize>>> {
        let repo = scratch.repo();
        let tree = repo.tree_of(scratch.session().tip).unwrap();
        let index = IndexView::read(&repo).unwrap();
        let state = PathState::at(&repo, tree, Some(&index), &path(named)).unwrap();
        let writer = ObjectWriter::new(&repo);
        let followed = steps.follow(&writer, std::slice::from_ref(&state)).unwrap();
        if let Some(rows) = followed.overlap(&state.path) {
            return Err(rows.to_vec());
        }
        let version = followed.disk(&state);
        Ok(version.map(|version| String::from_utf8(version.bytes(&writer).unwrap()).unwrap()))
    }

    #[test]
    fn a_line_typed_between_two_edits_survives_both_directions() {
        let scratch = two_edits();
        let after = scratch.text("a.txt").unwrap();
        let before = TEN.replace("5\n", "5\nmine\n");
        let back = steps(&scratch, Direction::Back);
        assert_eq!(followed(&scratch, &back, "a.txt"), Ok(Some(before.clone())));
        scratch.write("a.txt", &before);
        let forward = steps(&scratch, Direction::Forward);
        assert_eq!(followed(&scratch, &forward, "a.txt"), Ok(Some(after)));
    }

    #[test]
    fn a_line_typed_after_all_edits_survives() {
        let scratch = two_edits();
        let typed = |text: &str| text.replace("7\n", "7\nlater\n");
        scratch.write("a.txt", &typed(&scratch.text("a.txt").unwrap()));
        let before = typed(&TEN.replace("5\n", "5\nmine\n"));
        let back = steps(&scratch, Direction::Back);
        assert_eq!(followed(&scratch, &back, "a.txt"), Ok(Some(before)));
    }

    /// Rewrites the session's newest commit on the tip of another branch, as a rebase does.
    fn rebased(scratch: &Scratch) -> Oid {
        let other = scratch.user_commit("other", &[("c.txt", Some("c\n"))], "other\n");
        let (repo, session) = (scratch.repo(), scratch.session());
        let old = Commit::read(&repo, session.tip).unwrap();
        let mut writer = ObjectWriter::new(&repo);
        let new = edt_git::NewCommit { tree: old.tree, parent: Some(other), message: &old.message };
        let commit = writer.write_commit(&new).unwrap();
        let objects = writer.loose_objects();
        edt_git::objects::write(&repo, &objects).unwrap();
        commit
    }

    /// A session with an edit of an ignored file.
    fn private_edit() -> Scratch {
        let scratch = Scratch::with_rules(&[("a.txt", "a\n")], ".env\n");
        scratch.write(".env", "KEY=1\n");
        scratch.begin("fix");
        scratch.edit("key", ".env", "1", "2");
        scratch
    }

    #[test]
    fn a_rebased_edit_keeps_its_private_record() {
        let scratch = private_edit();
        let commit = Commit::read(&scratch.repo(), rebased(&scratch)).unwrap();
        let EditChanges { files, warning, .. } = changes(&scratch.repo(), &commit).unwrap();
        assert_eq!(warning, None);
        let text = |version: &Option<Version>| version.clone().unwrap().blob.unwrap();
        let (_, before, after) = files.iter().find(|(named, ..)| *named == path(".env")).unwrap();
        assert_eq!((text(before), text(after)), (b"KEY=1\n".to_vec(), b"KEY=2\n".to_vec()));
    }

    #[test]
    fn a_missing_private_record_is_a_warning() {
        let scratch = private_edit();
        std::fs::remove_dir_all(scratch.root().join(".git/edt/private")).unwrap();
        scratch.edit("other", "a.txt", "a", "b");
        let moved = scratch.undo(2).unwrap();
        let [warning] = &moved.warnings[..] else { panic!("{:?}", moved.warnings) };
        assert_eq!(warning.code.name(), "private_record_missing");
        assert!(warning.message.starts_with("Edit 1 (key) also"), "{}", warning.message);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("a\n"));
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=2\n"));
    }

    #[test]
    fn an_undone_edit_and_the_next_one_have_records_of_their_own() {
        let scratch = private_edit();
        scratch.undo(1).unwrap();
        scratch.edit("key", ".env", "1", "3");
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
        let undone = scratch.ref_value("refs/edt/fix/undone/1").unwrap();
        let undone = Commit::read(&scratch.repo(), undone).unwrap();
        let files = private_files(&scratch.repo(), &undone).unwrap();
        assert_eq!(files[0].after.as_ref().unwrap().bytes, b"KEY=2\n");
    }

    #[test]
    fn a_file_without_steps_stays() {
        let scratch = two_edits();
        let back = steps(&scratch, Direction::Back);
        assert_eq!(followed(&scratch, &back, "b.txt"), Ok(Some("b\n".to_owned())));
    }

    #[test]
    fn an_overlap_names_the_rows_on_disk() {
        let scratch = two_edits();
        let text = scratch.text("a.txt").unwrap();
        scratch.write("a.txt", &text.replace("nine\n", "nine by hand\n"));
        let back = steps(&scratch, Direction::Back);
        assert_eq!(followed(&scratch, &back, "a.txt"), Err(vec![9..10]));
    }

    #[test]
    fn an_overlap_with_an_earlier_edit_names_the_rows_on_disk() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "9", "nine");
        scratch.edit("second", "a.txt", "2\n", "2\n2a\n2b\n");
        let text = scratch.text("a.txt").unwrap();
        scratch.write("a.txt", &text.replace("nine\n", "nine by hand\n"));
        let back = steps(&scratch, Direction::Back);
        assert_eq!(followed(&scratch, &back, "a.txt"), Err(vec![10..11]));
    }

    #[test]
    fn overwriting_keeps_the_lines_that_do_not_overlap() {
        let scratch = two_edits();
        let text = scratch.text("a.txt").unwrap();
        scratch.write("a.txt", &text.replace("nine\n", "nine by hand\n"));
        let repo = scratch.repo();
        let tree = repo.tree_of(scratch.session().tip).unwrap();
        let state = PathState::at(&repo, tree, None, &path("a.txt")).unwrap();
        let writer = ObjectWriter::new(&repo);
        let all = std::slice::from_ref(&state);
        let followed = steps(&scratch, Direction::Back).follow(&writer, all).unwrap();
        let bytes = followed.disk(&state).unwrap().bytes(&writer).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), TEN.replace("5\n", "5\nmine\n"));
    }

    #[test]
    fn an_edit_that_no_commit_has_is_a_step_on_disk() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.write("a.txt", "one by hand\n");
        scratch.edit("mixed", "a.txt", "one by", "two by");
        let back = steps(&scratch, Direction::Back);
        assert_eq!(back.paths(), [&path("a.txt")].into());
        assert_eq!(followed(&scratch, &back, "a.txt"), Ok(Some("one by hand\n".to_owned())));
    }

    #[test]
    fn the_changes_of_a_separate_edit_have_the_users_lines_on_both_sides() {
        let scratch = two_edits();
        let (repo, session) = (scratch.repo(), scratch.session());
        assert_eq!(session.head, InHead::Yes);
        let newest = session.commits(&repo).next().unwrap().unwrap();
        let all = changes(&repo, &newest).unwrap().files;
        let [(named, before, after)] = &all[..] else { panic!("{all:?}") };
        let text = |version: &Option<Version>| version.clone().unwrap().blob.unwrap();
        let users = TEN.replace('2', "two").replace("5\n", "5\nmine\n");
        assert_eq!((named, text(before)), (&path("a.txt"), users.clone().into_bytes()));
        assert_eq!(text(after), users.replace('9', "nine").into_bytes());
    }

    #[test]
    fn a_refusal_names_lines_and_ranges_counted_from_one() {
        let named = |rows: &[Range<usize>]| overlap(&path("a.txt"), rows, "`edt undo`").summary;
        let text = |place: &str| {
            format!(
                "a.txt has changes of the user{place} that overlap with what `edt undo` changes."
            )
        };
        assert_eq!(named(&[]), text(""));
        assert_eq!(named(&[2..2]), text(" in line 3"));
        assert_eq!(named(&[2..3]), text(" in line 3"));
        assert_eq!(named(&[2..4]), text(" in lines 3-4"));
        assert_eq!(named(&[0..1, 2..4]), text(" in lines 1, 3-4"));
    }
}
