//! What a program changed and only the user may approve: it is taken out, kept at a ref, and can be
//! proposed, while the rest is recorded.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::program_change::ProgramChange;
use super::snapshot::Snapshot;
use crate::session::user::ownership::{LeftOver, Version};
use edt_git::diff::TreeDifference;
use edt_git::{ObjectWriter, Oid};
use edt_types::{RepoPath, Result, Warning, WarningCode};

/// What to do with the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordAction {
    /// Record them.
    Record,
    /// Put the files back as they were. The changes stay at `refs/edt/<name>/refused/<n>`.
    Restore,
    /// Put these files back, whose changes stay at such a ref, and record the others. A file that
    /// the program moved to one of them is put back, too. Where this is not possible, everything is
    /// put back.
    Hold(BTreeSet<RepoPath>),
}

/// Changes that were taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldChanges {
    /// The commit that has them, and nothing else, on top of the session's tip before the program.
    pub commit: Oid,
    /// The ref that keeps the commit.
    pub name: String,
    /// What became of each change.
    pub files: BTreeMap<RepoPath, HeldState>,
}

/// What became of a change that was to be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeldState {
    /// The file was put back. The commit has the change.
    Kept,
    /// The file was put back. The commit has a part of the change, and the private store all of it:
    /// the rest is in text of the user's that no commit has.
    Partly,
    /// The file was put back. The private store alone has the change.
    Private,
    /// The file stays as it is: somebody else wrote it while the program ran, too.
    OnDisk,
}

impl RecordAction {
    /// What can be done with `changed`, whose differences are `paths`. The sources of moves are
    /// held with their targets: the file would be at neither path. A source is a removed file with
    /// the content of a held one, or one that Git takes for renamed to it.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub(super) fn possible(
        self,
        writer: &ObjectWriter<'_>,
        paths: &[TreeDifference],
        changed: &[ProgramChange],
    ) -> Result<RecordAction> {
        let RecordAction::Hold(mut held) = self else { return Ok(self) };
        let known: BTreeSet<&RepoPath> = changed.iter().map(|one| &one.state.path).collect();
        if !held.iter().all(|path| known.contains(path)) {
            return Ok(RecordAction::Restore);
        }
        let sources = sources(writer, paths, changed, &held)?;
        held.extend(sources.into_iter().filter(|path| known.contains(path)));
        // A file and a directory cannot have the same path.
        let is_below = |path: &RepoPath, all: &dyn Fn(&RepoPath) -> bool| {
            path.parents().any(|above| all(&RepoPath::from_tree(above)))
        };
        let recorded: BTreeSet<&RepoPath> =
            known.into_iter().filter(|path| !held.contains(path)).collect();
        let is_in_the_way = recorded.iter().any(|path| is_below(path, &|one| held.contains(one)))
            || held.iter().any(|path| is_below(path, &|one| recorded.contains(one)));
        Ok(if is_in_the_way { RecordAction::Restore } else { RecordAction::Hold(held) })
    }

    /// Whether a change of `path` is put back.
    pub(super) fn puts_back(&self, path: &RepoPath) -> bool {
        match self {
            RecordAction::Record => false,
            RecordAction::Restore => true,
            RecordAction::Hold(paths) => paths.contains(path),
        }
    }

    /// The changes to put back, and those to record.
    pub(super) fn split(
        &self,
        changed: Vec<ProgramChange>,
    ) -> (Vec<ProgramChange>, Vec<ProgramChange>) {
        changed.into_iter().partition(|one| self.puts_back(&one.state.path))
    }
}

/// The removed files of which the content is at a path of `held` now.
fn sources(
    writer: &ObjectWriter<'_>,
    paths: &[TreeDifference],
    changed: &[ProgramChange],
    held: &BTreeSet<RepoPath>,
) -> Result<Vec<RepoPath>> {
    let id = |side: &Option<Version>| side.as_ref().map(|version| version.file.oid);
    let is_held = |one: &&ProgramChange| held.contains(&one.state.path);
    let new: HashSet<Oid> =
        changed.iter().filter(is_held).filter_map(|one| id(&one.after)).collect();
    let same = |one: &&ProgramChange| {
        one.after.is_none() && id(&one.version).is_some_and(|id| new.contains(&id))
    };
    let mut all: Vec<RepoPath> =
        changed.iter().filter(same).map(|one| one.state.path.clone()).collect();
    let joined = writer.repo().with_renames(paths.to_vec(), |oid| writer.blob_content(oid))?;
    let renamed = joined.into_iter().filter(|one| held.contains(&one.path));
    all.extend(renamed.filter_map(|one| one.from.map(|from| from.path)));
    Ok(all)
}

/// What becomes of each of these changes.
pub(super) fn states(
    before: &Snapshot,
    changed: &[ProgramChange],
) -> BTreeMap<RepoPath, HeldState> {
    let state = |one: &ProgramChange| {
        let branch = one.separated.branch.as_ref().map(|version| version.file);
        let is_in_commit = !one.state.ignored && branch != one.state.tip;
        match (before.proves(&one.state.path), &one.separated.left_over, is_in_commit) {
            (false, ..) => HeldState::OnDisk,
            (true, LeftOver::Nothing, true) => HeldState::Kept,
            (true, _, true) => HeldState::Partly,
            (true, _, false) => HeldState::Private,
        }
    };
    changed.iter().map(|one| (one.state.path.clone(), state(one))).collect()
}

/// The warnings about files that were put back and that no finding is about: a program moved them
/// to a path of `asked`.
pub(super) fn moved_to_held<'p>(
    held: &'p HeldChanges,
    asked: &'p RecordAction,
) -> impl Iterator<Item = Warning> + 'p {
    let moved = held
        .files
        .iter()
        .filter(|(path, state)| **state != HeldState::OnDisk && !asked.puts_back(path));
    moved.map(|(path, _)| {
        let message = "The program moved this file to a path that only the user may change. It was \
                       put back, and its removal is not recorded.";
        Warning { code: WarningCode::LeftOut, path: Some(path.text()), message: message.to_owned() }
    })
}

/// What the program changed for certain, and the rest.
pub(super) fn provable(
    before: &Snapshot,
    changed: Vec<ProgramChange>,
) -> (Vec<ProgramChange>, Vec<ProgramChange>) {
    changed.into_iter().partition(|one| before.proves(&one.state.path))
}

pub(super) fn not_put_back(path: &RepoPath) -> Warning {
    let message = "Somebody else wrote this file while the program ran, too: it stays as it is.";
    Warning {
        code: WarningCode::NotRestorable,
        path: Some(path.text()),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::recording::record::{CommitInfo, RecordOutcome, record_changes};
    use crate::session::recording::review::{ChangesPreview, ChangesReview};
    use crate::session::refs::commit::Commit;
    use crate::session::refs::message::Kind;
    use crate::session::user::unwind::private_files;
    use crate::tests::{Scratch, path, refusal};
    use edt_types::{Code, Finding};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch
    }

    /// A program does `change`, and the user may approve what it made at `held`.
    fn ran(scratch: &Scratch, held: &[RepoPath], change: impl Fn()) -> Result<RecordOutcome> {
        let before = scratch.snapshot();
        change();
        let finding = |path| Finding::new(Code::ApprovalRequired, "x", "y").at(path);
        let review =
            ChangesReview { refused: held.iter().map(finding).collect(), ..Default::default() };
        let decide = &mut move |preview: &ChangesPreview<'_>| {
            Ok(review.held(preview).map_or(RecordAction::Restore, RecordAction::Hold))
        };
        let info = CommitInfo { message: "run".into(), agent: None, kind: Kind::Run };
        let recorded = record_changes(&mut scratch.open(), &before, &info, None, decide);
        before.finish();
        recorded
    }

    fn reported(outcome: &RecordOutcome) -> Vec<&str> {
        outcome.files.iter().map(|file| file.path.as_str()).collect()
    }

    fn states(outcome: &RecordOutcome) -> Vec<HeldState> {
        outcome.held.as_ref().unwrap().files.values().copied().collect()
    }

    fn rename(scratch: &Scratch, from: &str, to: &str) {
        std::fs::rename(scratch.root().join(from), scratch.root().join(to)).unwrap();
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_held() {
        let scratch = scratch();
        let name = b".unknown/caf\xe9.yml";
        let place = scratch.root().join(OsStr::from_bytes(name));
        let outcome = ran(&scratch, &[RepoPath::from_tree(name)], || {
            scratch.write("b.txt", "two\n");
            std::fs::create_dir(place.parent().unwrap()).unwrap();
            std::fs::write(&place, "x\n").unwrap();
        });
        let outcome = outcome.unwrap();
        assert_eq!((reported(&outcome), place.exists()), (vec!["b.txt"], false));
        assert_eq!(states(&outcome), [HeldState::Kept]);
        let (from, to) = (outcome.parent, scratch.head());
        let repo = scratch.repo();
        let trees = [from, to].map(|commit| repo.tree_of(commit).unwrap());
        let recorded = repo.tree_diff(trees[0], trees[1]).unwrap();
        assert_eq!(recorded.iter().map(|one| &one.path).collect::<Vec<_>>(), [&path("b.txt")]);
    }

    #[test]
    fn a_path_without_a_change_puts_everything_back() {
        let scratch = scratch();
        let before = scratch.snapshot();
        scratch.write("b.txt", "two\n");
        let info = CommitInfo { message: "run".into(), agent: None, kind: Kind::Run };
        let hold = RecordAction::Hold([path("other.txt")].into());
        let decide = &mut move |_: &ChangesPreview<'_>| Ok(hold.clone());
        let recorded = record_changes(&mut scratch.open(), &before, &info, None, decide).unwrap();
        assert!(recorded.refused.is_some() && recorded.held.is_none());
        assert_eq!(scratch.text("b.txt").as_deref(), Some("b\n"));
    }

    #[test]
    fn a_file_that_a_program_moves_to_a_held_path_comes_back() {
        for changed in [false, true] {
            let scratch = scratch();
            let notes = "notes of the user\n".repeat(9);
            scratch.write("notes.txt", &notes);
            let outcome = ran(&scratch, &[path(".notes"), path(".a")], || {
                rename(&scratch, "notes.txt", ".notes");
                rename(&scratch, "a.txt", ".a");
                if changed {
                    scratch.write(".notes", &format!("{notes}more\n"));
                }
                scratch.write("b.txt", "two\n");
            });
            let outcome = outcome.unwrap();
            assert_eq!(reported(&outcome), ["b.txt"]);
            assert_eq!(scratch.text("notes.txt").as_ref(), Some(&notes));
            assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
            assert_eq!([".notes", ".a"].map(|name| scratch.text(name)), [None, None]);
            let mut said: Vec<_> =
                outcome.warnings.iter().filter_map(|one| one.path.as_deref()).collect();
            said.sort_unstable();
            assert_eq!(said, ["a.txt", "notes.txt"], "{:?}", outcome.warnings);
        }
    }

    #[test]
    fn held_files_are_put_back_only_if_the_others_are_recorded() {
        let scratch = scratch();
        let head = scratch.head();
        scratch.write(".mine", "by hand\n");
        let recorded = ran(&scratch, &[path(".new"), path(".mine")], || {
            scratch.write("b.txt", "two\n");
            scratch.write(".new", "n\n");
            scratch.write(".mine", "by program\n");
            scratch.write(".git/index.lock", "");
        });
        assert_eq!(refusal(recorded).code, Code::RepositoryBusy);
        let disk = ["b.txt", ".new", ".mine"].map(|name| scratch.text(name).unwrap());
        assert_eq!(disk, ["two\n", "n\n", "by program\n"]);
        assert_eq!((scratch.head(), scratch.ref_value("refs/edt/fix/refused/1")), (head, None));
    }

    #[test]
    fn the_private_store_keeps_a_held_change_of_the_users_text() {
        let scratch = scratch();
        let (held, other) = (".x/held.json", "mine.txt");
        for name in [held, other] {
            scratch.write(name, "by hand\n");
        }
        let outcome = ran(&scratch, &[path(held)], || {
            for name in [held, other] {
                scratch.write(name, "by program\n");
            }
        });
        let outcome = outcome.unwrap();
        assert_eq!((reported(&outcome), states(&outcome)), (vec![other], vec![HeldState::Private]));
        assert_eq!(scratch.text(held).as_deref(), Some("by hand\n"));
        let repo = scratch.repo();
        let kept = |commit| {
            let files = private_files(&repo, &Commit::read(&repo, commit).unwrap()).unwrap();
            let text = |file: &edt_journal::PrivateFile| {
                (file.path().text(), file.after.as_ref().unwrap().bytes.clone())
            };
            files.iter().map(text).collect::<BTreeMap<_, _>>()
        };
        let bytes = b"by program\n".to_vec();
        let commit = outcome.held.as_ref().unwrap().commit;
        assert_eq!(kept(commit)[held], bytes);
        assert_eq!(kept(scratch.head()), [(other.to_owned(), bytes)].into());
        scratch.undo(1).unwrap();
        assert_eq!([held, other].map(|name| scratch.text(name).unwrap()), ["by hand\n"; 2]);
    }
}
