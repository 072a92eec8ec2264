//! A part of what an edit, or the session as a whole, changed: one file, or lines of it.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use super::chosen_lines::{ChangedRows, ChosenLines, NotChanged};
use crate::session::files::diff_report;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::user::edit_change::FileStep;
use crate::session::user::ownership::{MergedFile, Version, line_numbers, merge3};
use crate::session::user::unwind::{self, EditChanges};
use edt_git::{ChangedPath, FileId, ObjectWriter, Repo};
use edt_journal::PrivateFile;
use edt_types::text::{Shown as _, counted, places};
use edt_types::{Code, Finding, RepoPath, Result};

/// The most places or paths that a message lists.
const MAX_LISTED: usize = 20;

/// A part of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePart {
    /// The number of the edit; `None` for what the session changed from its base to its tip.
    pub edit: Option<u64>,
    /// The file. Both paths of a rename mean the rename.
    pub path: RepoPath,
    /// Lines of it; all of its change, with its mode and its path, if `None`.
    pub lines: Option<ChosenLines>,
}

impl FilePart {
    /// How messages name what it is a part of.
    fn whole(&self) -> String {
        self.edit.map_or_else(|| "The session".to_owned(), |edit| format!("Edit {edit}"))
    }

    /// The message of the commit that reverts it. `subject` is that of the edit.
    pub(super) fn text(&self, subject: &str) -> String {
        let path = &self.path;
        let Some(lines) = &self.lines else {
            return match self.edit {
                Some(edit) => format!("revert part of edit {edit}: {subject}\n\n{path}"),
                None => format!("revert {path} in the session"),
            };
        };
        let listed = |what: &str, all: &[RangeInclusive<u64>]| {
            let shown: Vec<String> = all.iter().take(MAX_LISTED).map(range).collect();
            let more = if all.len() > shown.len() { ", …" } else { "" };
            (!all.is_empty()).then(|| format!("{what} {}{more}", places(&shown)))
        };
        let added = listed("added", &lines.added);
        let removed = listed("removed", &lines.removed);
        let list: Vec<String> = added.into_iter().chain(removed).collect();
        let list = list.join("; ");
        match self.edit {
            Some(edit) => format!("revert part of edit {edit}: {subject}\n\n{path}: {list}"),
            None => format!("revert lines of {path} in the session\n\n{list}"),
        }
    }

    /// The trailer of that commit. The revert of a whole edit has another one.
    pub(super) fn trailer(&self) -> (&'static str, String) {
        let value = self.edit.map_or_else(|| "session".to_owned(), |edit| edit.to_string());
        ("Edt-Reverts-Part", value)
    }

    /// What `commit` changed of the part, as a change that can be reverted. The commit is the edit's,
    /// or one from the session's base to its tip.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the commit does not change the file or the lines, or if there is no text;
    /// `NOT_A_FILE`, `OBJECT_MISSING`, `INTERNAL`.
    pub(super) fn changes(
        &self,
        writer: &ObjectWriter<'_>,
        commit: &Commit,
    ) -> Result<EditChanges> {
        let repo = writer.repo();
        let shown = diff_report::changed_paths(repo, commit.parent_tree(repo)?, commit.tree)?;
        let (path, from) = self.paths(&shown);
        let all =
            unwind::changes_of(repo, commit, |one| *one == path || Some(one) == from.as_ref())?;
        if all.files.is_empty() {
            return Err(self.no_change(repo, commit, &shown).into());
        }
        match &self.lines {
            None => Ok(all),
            Some(lines) => self.narrowed(writer, commit, lines, (&path, from.as_ref()), all),
        }
    }

    /// The path of the file, and that from which it was renamed.
    fn paths(&self, shown: &[ChangedPath]) -> (RepoPath, Option<RepoPath>) {
        let of_rename = shown.iter().find_map(|changed| {
            let from = &changed.from.as_ref()?.path;
            let is_own = changed.path == self.path || *from == self.path;
            is_own.then(|| (changed.path.clone(), Some(from.clone())))
        });
        of_rename.unwrap_or_else(|| (self.path.clone(), None))
    }

    /// The change of the chosen lines alone. The mode and the path stay.
    fn narrowed(
        &self,
        writer: &ObjectWriter<'_>,
        commit: &Commit,
        lines: &ChosenLines,
        (path, from): (&RepoPath, Option<&RepoPath>),
        all: EditChanges,
    ) -> Result<EditChanges> {
        let side = |steps: &[FileStep], before: bool, path: &RepoPath| {
            let step = steps.iter().find(|(one, ..)| one == path);
            step.and_then(|(_, old, new)| if before { old.clone() } else { new.clone() })
        };
        let is_recorded = all.recorded.iter().any(|(one, ..)| one == path);
        let content = if is_recorded { &all.recorded } else { &all.files };
        let before = side(content, true, from.unwrap_or(path));
        let after = side(content, false, path);
        if is_recorded && commit.rewritten.is_some() {
            self.check_shown(writer.repo(), commit, path, (before.as_ref(), after.as_ref()))?;
        }
        let (had, disk) =
            (side(&all.files, true, from.unwrap_or(path)), side(&all.files, false, path));
        let back = match self.without(writer, lines, before.as_ref(), after.as_ref())? {
            Ok(back) => back,
            Err(found) => {
                let on_disk = self.without(writer, &found.lines, had.as_ref(), disk.as_ref())?;
                let is_left_over = is_recorded && all.left_over.contains(path) && on_disk.is_ok();
                let refused = if is_left_over {
                    self.left_over(&found.lines)
                } else {
                    self.not_changed(&found)
                };
                return Err(refused.into());
            }
        };
        let same = |one: &Option<Version>, other: &Option<Version>| {
            one.as_ref().map(|one| one.file) == other.as_ref().map(|other| other.file)
        };
        let on_disk = if same(&disk, &after) {
            back.clone()
        } else {
            // The disk has, or lacks, more than the commit.
            match merge3(writer, after.as_ref(), disk.as_ref(), back.as_ref())? {
                MergedFile::Clean(merged) => merged,
                MergedFile::Conflict(_) => return Err(self.left_over(lines).into()),
            }
        };
        let recorded = if is_recorded { vec![(path.clone(), back, after)] } else { Vec::new() };
        Ok(EditChanges { files: vec![(path.clone(), on_disk, disk)], recorded, ..all })
    }

    /// The file after the change with the chosen lines as before it.
    fn without(
        &self,
        writer: &ObjectWriter<'_>,
        lines: &ChosenLines,
        before: Option<&Version>,
        after: Option<&Version>,
    ) -> Result<std::result::Result<Option<Version>, NotChanged>> {
        let Some(file) = after.or(before) else { return Ok(Ok(None)) };
        if [before, after].into_iter().flatten().any(|version| version.disk.is_some()) {
            return Err(self.no_lines("Git stores another text of it than the disk has").into());
        }
        let text =
            |side: Option<&Version>| side.map_or_else(|| Ok(Vec::new()), |side| side.bytes(writer));
        let (old, new) = (text(before)?, text(after)?);
        if old.contains(&0) || new.contains(&0) {
            return Err(self.no_lines("it is binary").into());
        }
        let blob = match lines.taken_back(&old, &new) {
            Ok(blob) => blob,
            Err(found) => return Ok(Err(found)),
        };
        if blob.is_empty() && before.is_none() {
            return Ok(Ok(None));
        }
        let file = FileId { oid: writer.repo().blob_id(&blob)?, ..file.file };
        let permissions = after.or(before).and_then(|version| version.permissions);
        Ok(Ok(Some(Version { file, blob: Some(blob), disk: None, permissions })))
    }

    /// The lines of a commit that the user rewrote are those that its difference shows, if it shows
    /// the edit's alone.
    fn check_shown(
        &self,
        repo: &Repo,
        commit: &Commit,
        path: &RepoPath,
        (before, after): (Option<&Version>, Option<&Version>),
    ) -> Result<()> {
        let shown = unwind::recorded_changes(
            repo,
            &Commit { trailers: None, rewritten: None, ..commit.clone() },
        )?;
        let id = |version: Option<&Version>| version.map(|version| version.file);
        let is_same = |(one, old, new): &FileStep| {
            one == path && id(old.as_ref()) == id(before) && id(new.as_ref()) == id(after)
        };
        if shown.iter().any(is_same) { Ok(()) } else { Err(self.rewritten(commit).into()) }
    }
}

/// A range of lines: `7`, or `7-9`.
fn range(lines: &RangeInclusive<u64>) -> String {
    match (lines.start(), lines.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    }
}

/// The options that choose `lines`.
fn asked(lines: &ChosenLines) -> String {
    let added = lines.added.iter().map(|one| format!("--added {}", range(one)));
    let removed = lines.removed.iter().map(|one| format!("--removed {}", range(one)));
    added.chain(removed).take(MAX_LISTED).collect::<Vec<String>>().join(", ")
}

/// The refusals.
impl FilePart {
    fn refused(&self, summary: String, remedy: impl Into<String>) -> Finding {
        Finding::new(Code::BadRequest, summary, remedy).nothing_changed().at(&self.path)
    }

    fn no_change(&self, repo: &Repo, commit: &Commit, shown: &[ChangedPath]) -> Finding {
        let summary = format!("{} does not change {}.", self.whole(), self.path);
        let private = unwind::private_files(repo, commit).unwrap_or_default();
        let private = private.iter().filter(|file| file.before != file.after);
        let paths = shown.iter().map(|changed| changed.path.clone());
        let paths: BTreeSet<RepoPath> = paths.chain(private.map(PrivateFile::path)).collect();
        let names: Vec<String> =
            paths.iter().take(MAX_LISTED).map(|path| path.text().shown()).collect();
        let remedy = match paths.len() {
            0 => "It changes no file.".to_owned(),
            count if count > names.len() => {
                let count = counted(count as u64, "file");
                format!("It changes {count}, the first of them {}.", names.join(", "))
            }
            _ => format!("It changes {}.", names.join(", ")),
        };
        self.refused(summary, remedy)
    }

    fn no_lines(&self, why: &str) -> Finding {
        let summary = format!("{} has no lines to choose from: {why}.", self.path);
        self.refused(summary, "Leave out the lines: the call then reverts the whole file.")
    }

    /// The refusal of lines that only the disk has: no commit has numbers for them.
    fn left_over(&self, lines: &ChosenLines) -> Finding {
        let summary = format!(
            "{} changed lines of {} on disk alone, among the user's uncommitted changes, and the \
             chosen lines touch them: {}.",
            self.whole(),
            self.path,
            asked(lines)
        );
        let remedy = "Change them with an edit. Or leave out the lines: the call then reverts all \
                      that the edit changed of the file.";
        self.refused(summary, remedy)
    }

    fn rewritten(&self, commit: &Commit) -> Finding {
        let summary = format!(
            "The user changed the commit of the edit ({}): its lines of {} are not the edit's \
             alone.",
            commit.oid.to_hex_with_len(12),
            self.path
        );
        let remedy =
            "Leave out the lines: the call then reverts what the edit changed of the file.";
        self.refused(summary, remedy)
    }

    fn not_changed(&self, found: &NotChanged) -> Finding {
        let summary = format!(
            "{} does not change all of these lines of {}: {}.",
            self.whole(),
            self.path,
            asked(&found.lines)
        );
        let words = |place: &ChangedRows| {
            let side = |name: &str, rows: &Range<usize>| {
                (!rows.is_empty()).then(|| format!("--{name} {}", line_numbers(rows)))
            };
            let sides = [side("added", &place.new), side("removed", &place.old)];
            sides.into_iter().flatten().collect::<Vec<_>>().join(" ")
        };
        let shown: Vec<String> = found.places.iter().take(MAX_LISTED).map(words).collect();
        let remedy = match found.places.len() {
            0 => "It changes no line of it.".to_owned(),
            count if count > shown.len() => {
                let count = counted(count as u64, "place");
                format!("It changes {count}; the first are: {}.", shown.join("; "))
            }
            _ => format!("It changes: {}.", shown.join("; ")),
        };
        self.refused(summary, remedy).with("changed", shown)
    }

    /// The refusal to revert lines of a file of which the user committed changes in the session.
    fn users(&self, commit: &Commit) -> Finding {
        let id = commit.oid.to_hex_with_len(12);
        let summary = format!(
            "The user's commit {id} ({}) changed {}, too: the session's change of it is not the \
             edits' alone.",
            commit.subject().shown(),
            self.path
        );
        let remedy = format!(
            "Revert the part of an edit: `edt revert EDIT --path {}` (`edt log {}` lists them).",
            self.path.quoted(),
            self.path.for_shell()
        );
        self.refused(summary, remedy).with("commit", commit.oid.to_string())
    }

    /// The change of the session as one commit, which nothing has written.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the user committed changes of the file in the session; `OBJECT_MISSING`,
    /// `IO_ERROR`.
    pub(super) fn of_session(&self, repo: &Repo, session: &Session) -> Result<Commit> {
        let session = session.viewed(repo)?;
        let (base, tip) = (session.base, Commit::read(repo, session.tip)?);
        let parent = Some(base).filter(|base| *base != repo.empty_tree());
        let (trailers, rewritten) = (None, None);
        let whole = Commit { parent, trailers, rewritten, other_parents: Vec::new(), ..tip };
        let shown = diff_report::changed_paths(repo, whole.parent_tree(repo)?, whole.tree)?;
        let (path, from) = self.paths(&shown);
        let is_own = |one: &RepoPath| *one == path || Some(one) == from.as_ref();
        for commit in session.commits(repo) {
            let commit = commit?;
            if !commit.is_users() && !commit.has_more_than_edits() {
                continue;
            }
            let changed = repo.tree_diff(commit.parent_tree(repo)?, commit.tree)?;
            if changed.iter().any(|changed| is_own(&changed.path)) {
                return Err(self.users(&commit).into());
            }
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::back::revert::{revert, revert_part};
    use crate::session::back::undo::MoveOptions;
    use crate::tests::{Scratch, path};
    use crate::txn::Request;
    use edt_edit::diff::LineDiff;
    use edt_io::clock;

    /// The texts before and after an edit. No line occurs twice: a merge can then not take one for
    /// another.
    fn texts() -> impl Strategy<Value = (String, String)> {
        let line = (0..5_u8, 0..3_u8);
        (prop::collection::vec(line, 1..14), any::<(bool, bool)>()).prop_map(|(lines, ends)| {
            let side = |is_after: bool, end: bool| {
                let shown = lines.iter().enumerate().filter_map(|(at, (kind, blank))| {
                    let text = format!("{}{at}", " ".repeat(usize::from(*blank)));
                    match kind {
                        0 => (!is_after).then_some(text),
                        1 => is_after.then_some(text),
                        2 => Some(if is_after { format!("{text} new") } else { text }),
                        _ => Some(text),
                    }
                });
                shown.collect::<Vec<String>>().join("\n") + if end { "\n" } else { "" }
            };
            (side(false, ends.0), side(true, ends.1))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn the_places_of_an_edit_one_by_one_are_the_whole_edit(
            (before, after) in texts(),
            last_first in any::<bool>(),
        ) {
            let scratch = Scratch::with(&[("a.txt", &before)]);
            scratch.begin("fix");
            let edit = Request::new("edit").overwrite("a.txt", after.as_str());
            let edit = ["size_reduction", "mass_deletion", "lost_content"]
                .into_iter()
                .fold(edit, Request::allow);
            scratch.apply(&edit).unwrap();
            let tree = || scratch.repo().tree_of(scratch.head()).unwrap();
            let edited = (before != after).then(tree);
            prop_assume!(edited.is_some());
            let session = scratch.session();
            revert(&mut scratch.open(), &session, &[1], MoveOptions::default()).unwrap();
            let whole = tree();
            scratch.undo(1).unwrap();
            prop_assert_eq!(Some(tree()), edited);
            let diff = LineDiff::of(before.as_bytes(), after.as_bytes(), clock::in_ms(1000));
            let mut places: Vec<_> = diff.changes().collect();
            if last_first {
                places.reverse();
            }
            for (old, new) in places {
                let lines = |rows: Range<usize>| -> Vec<RangeInclusive<u64>> {
                    let all = rows.start as u64 + 1..=rows.end as u64;
                    std::iter::once(all).filter(|_| !rows.is_empty()).collect()
                };
                let lines = ChosenLines { added: lines(new), removed: lines(old) };
                let part = FilePart { edit: Some(1), path: path("a.txt"), lines: Some(lines) };
                let session = scratch.session();
                revert_part(&mut scratch.open(), &session, &part, MoveOptions::default()).unwrap();
            }
            prop_assert_eq!(tree(), whole);
            prop_assert_eq!(scratch.text("a.txt"), Some(before));
        }
    }
}
