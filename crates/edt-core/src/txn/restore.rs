//! Restores one file to an earlier state, as a new commit. Guards do not check it: the file had
//! that state before.

use std::collections::BTreeSet;

use crate::refusals;
use crate::session::back::restore::{self as history, Earlier};
use crate::session::back::rewrite::{Rewrite, path_change};
use crate::session::back::saved::{OverlappingFiles, Overlaps};
use crate::session::back::undo::MoveOptions;
use crate::session::engine::PathChange;
use crate::session::private::hidden::Hidden;
use crate::session::refs::commit::Commit;
use crate::session::refs::message::Kind;
use crate::session::refs::revision;
use crate::session::user::ownership::Version;
use crate::session::user::unwind::{self, Direction, FileSteps};
use crate::session::{LockedWorkspace, PathState, Session};
use edt_git::index::IndexState;
use edt_git::{FileId, InHead, ObjectWriter, Repo, Tracked};
use edt_guard::guard::protected;
use edt_journal::IndexView;
use edt_types::{Code, Finding, Outcome, RepoPath, Result, Status};

/// The command, for messages.
const VERB: &str = "edt restore";

/// The state that a file is restored to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreTarget {
    /// Before its latest edit. If the session has not changed the file: the session's version,
    /// without the user's uncommitted changes.
    Latest,
    /// Before its latest edit (0), the one before (1), and so on.
    Revision(u64),
    /// As of a commit: after the edit with this number, or a revision.
    To(String),
}

/// Sets the file at `path` to an earlier state. The user's other lines stay.
///
/// # Errors
/// `NO_SESSION`; `NOTHING_TO_UNDO` if there is no such revision; `BAD_REQUEST` for a commit that
/// does not exist; `FILE_NOT_FOUND` if the file exists neither there nor now; `UNSAVED_CHANGES`;
/// the findings of reading the path and of publishing.
pub fn restore(
    workspace: &mut LockedWorkspace,
    path: &RepoPath,
    target: &RestoreTarget,
    options: MoveOptions,
) -> Result<Outcome> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    let head = repo.head()?;
    let session = Session::required(repo, &head)?;
    session.check_not_shared(repo)?;
    let index = if session.head == InHead::Yes { Some(IndexView::read(repo)?) } else { None };
    let tree = repo.tree_of(session.tip)?;
    let mut state = PathState::at(repo, tree, index.as_ref(), path)?;
    Hidden::of(repo, Some(&session)).mark(&mut state)?;
    let Wanted { file, text, since } = Wanted::of(repo, &session, &state, target)?;
    if let Some(finding) = super::resolve::read_only(&state) {
        return Err(finding.into());
    }
    let policy = workspace.policy(repo.tree_of(session.base)?)?;
    if policy.protects(path) {
        return Err(protected::finding(&policy, path).into());
    }
    let writer = ObjectWriter::new(repo);
    let mut overlapping = OverlappingFiles::new(options.overlaps, VERB);
    let (tip, wanted) = (state.tip.map(Version::recorded), file.map(Version::recorded));
    let mut warnings = Vec::new();
    let left_over = left_over_after(repo, &session, &state, target)?;
    let rewrite = if left_over.is_some() {
        Some(PathChange { seen: state, branch: tip, index: None, disk: Some(left_over) })
    } else if file == state.tip && !is_on_disk_alone(repo, &state, since.as_deref()) {
        // Only the user has changed the file since.
        let is_staged = match state.staged {
            IndexState::File(staged) => Some(staged) != state.tip,
            _ => state.tip.is_some(),
        };
        if state.disk_file() == file && !is_staged {
            None
        } else if options.overlaps == Overlaps::Refuse {
            return Err(users_changes(path).into());
        } else {
            overlapping.add(&state, &[]);
            let entry = index.as_ref().map(|_| wanted.clone());
            Some(PathChange { seen: state, branch: tip, index: entry, disk: Some(wanted) })
        }
    } else {
        // The user's lines stay, also those that the session had to commit: only what the edits
        // changed goes away.
        let (steps, branch) = match since {
            Some(since) => {
                let (on_disk, on_branch) = steps_back(repo, &since, path)?;
                (on_disk, on_branch.follow_from(&writer, path, tip)?.0)
            }
            None => (FileSteps::of_file(path, vec![(tip, wanted.clone())]), wanted),
        };
        warnings.clone_from(&steps.warnings);
        let followed = steps.follow(&writer, std::slice::from_ref(&state))?;
        let disk = overlapping.disk(&followed, &state);
        if disk.as_ref().map(|version| version.file) == state.disk_file() {
            None
        } else {
            let head = session.head;
            let versions = (branch, disk);
            Some(path_change(&writer, &followed, state, versions, &mut overlapping, head)?)
        }
    };
    let Some(file) = rewrite else {
        let mut outcome = Outcome::new(Status::Unchanged);
        outcome.session = Some(session.report(false));
        outcome.recovered.clone_from(&workspace.recovered);
        outcome.warnings = warnings;
        return Ok(outcome);
    };
    let rewrite = Rewrite {
        session: &session,
        index,
        tree,
        paths: vec![file],
        text,
        kind: Kind::Restore,
        verb: VERB,
        more: Vec::new(),
        overlapping,
        restored: BTreeSet::new(),
        dry_run: options.dry_run,
    };
    let mut outcome = rewrite.publish(workspace)?;
    if outcome.status == Status::Applied {
        refusals::changed(workspace, &session.name, outcome.commit.as_deref(), &outcome.files);
    }
    outcome.warnings.extend(warnings);
    Ok(outcome)
}

/// The exact file after the edit that `target` names, if no commit has a part of it, and the disk has
/// nothing of the user's that it would replace.
fn left_over_after(
    repo: &Repo,
    session: &Session,
    state: &PathState,
    target: &RestoreTarget,
) -> Result<Option<Version>> {
    let RestoreTarget::To(spec) = target else { return Ok(None) };
    let Some(number) = revision::edit_number(spec) else { return Ok(None) };
    if state.disk_file() != state.tip {
        return Ok(None);
    }
    let Some(commit) = revision::edit(repo, session, number)? else { return Ok(None) };
    let files = unwind::private_files(repo, &Commit::read(repo, commit)?).unwrap_or_default();
    let file = files.into_iter().find(|file| file.is_left_over && file.path() == state.path);
    let after = file.and_then(|file| file.after);
    let tree = repo.tree_of(session.tip)?;
    after.map(|bytes| unwind::version_of(repo, tree, &state.path, bytes)).transpose()
}

/// Whether one of the commits `since` changed the file on disk, and not on the branch.
fn is_on_disk_alone(repo: &Repo, state: &PathState, since: Option<&[Commit]>) -> bool {
    let is_of = |commit: &Commit| {
        let files = unwind::private_files(repo, commit).unwrap_or_default();
        files.iter().any(|file| file.is_left_over && file.path() == state.path)
    };
    since.is_some_and(|since| state.ignored || since.iter().any(is_of))
}

/// What the file becomes.
struct Wanted {
    /// `None` removes it.
    file: Option<FileId>,
    /// The subject of the commit.
    text: String,
    /// The commits of the session since then, newest first; `None` if it is another history.
    since: Option<Vec<Commit>>,
}

impl Wanted {
    fn of(
        repo: &Repo,
        session: &Session,
        state: &PathState,
        target: &RestoreTarget,
    ) -> Result<Wanted> {
        let path = &state.path;
        let revision = match target {
            RestoreTarget::Latest => 0,
            RestoreTarget::Revision(revision) => *revision,
            RestoreTarget::To(spec) => {
                let commit = revision::resolve(repo, Some(session), spec)?;
                let file = match repo.tracked(repo.tree_of(commit)?, path)? {
                    Tracked::File(file) => Some(file),
                    _ => None,
                };
                if file.is_none() && state.tip.is_none() && !state.ignored {
                    return Err(not_found(path, spec).into());
                }
                let name = match revision::edit_number(spec) {
                    Some(number) => format!("edit {number}"),
                    None => spec.clone(),
                };
                let mut since = Vec::new();
                let mut known = commit == session.base;
                for newer in session.commits(repo) {
                    let newer = newer?;
                    known |= newer.oid == commit;
                    if newer.oid == commit {
                        break;
                    }
                    since.push(newer);
                }
                let text = format!("restore {path} to {name}");
                return Ok(Wanted { file, text, since: known.then_some(since) });
            }
        };
        match history::before(repo, session, path, revision) {
            Ok(Earlier { file, since, edit, .. }) => {
                let text = format!("restore {path} to before edit {edit}");
                Ok(Wanted { file, text, since: Some(since) })
            }
            Err(found)
                if *target == RestoreTarget::Latest
                    && state.tip.is_some()
                    && found.any(|finding| finding.code == Code::NothingToUndo) =>
            {
                let text = format!("restore {path} without uncommitted changes");
                Ok(Wanted { file: state.tip, text, since: None })
            }
            Err(found) => Err(found),
        }
    }
}

/// The steps that take the commits `since`, newest first, off the file at `path`: on disk, and on
/// the branch. Commits of the user have none: their lines stay.
fn steps_back(repo: &Repo, since: &[Commit], path: &RepoPath) -> Result<(FileSteps, FileSteps)> {
    let (mut on_disk, mut on_branch) = (FileSteps::default(), Vec::new());
    let units = since.iter().flat_map(|commit| commit.units().into_iter().rev());
    for commit in &units.filter(Commit::is_edit).collect::<Vec<Commit>>() {
        on_disk.add(repo, commit, Direction::Back, |changed| changed == path)?;
        let recorded = unwind::recorded_changes(repo, commit)?.into_iter();
        let own = recorded.filter(|(changed, ..)| changed == path);
        on_branch.extend(own.map(|(_, before, after)| (after, before)));
    }
    Ok((on_disk, FileSteps::of_file(path, on_branch)))
}

fn not_found(path: &RepoPath, spec: &str) -> Finding {
    Finding::new(
        Code::FileNotFound,
        format!("{path} is neither in {spec} nor in the session."),
        "`edt log` lists the session's edits; name one in which the file exists.",
    )
    .nothing_changed()
    .at(path)
}

fn users_changes(path: &RepoPath) -> Finding {
    Finding::new(
        Code::UnsavedChanges,
        format!("Only the user has changed {path} since; a restore would remove those changes."),
        format!(
            "Leave the file as it is. If the user wants it restored, repeat the call with \
             `--save`: it keeps the user's version as a commit at a ref. Or let the user commit or \
             stash {}.",
            path.quoted()
        ),
    )
    .nothing_changed()
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, path, refusal};
    use crate::txn::Request;
    use edt_types::{DryRun, FileChangeKind, UserChanges};

    fn edited() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch.edit("second", "a.txt", "two", "three");
        scratch
    }

    fn restored(scratch: &Scratch, named: &str, revision: u64) -> Result<Outcome> {
        let target = RestoreTarget::Revision(revision);
        restore(&mut scratch.open(), &path(named), &target, MoveOptions::default())
    }

    fn latest(scratch: &Scratch, named: &str, overlaps: Overlaps) -> Result<Outcome> {
        let options = MoveOptions { overlaps, ..MoveOptions::default() };
        restore(&mut scratch.open(), &path(named), &RestoreTarget::Latest, options)
    }

    #[test]
    fn a_file_gets_its_text_as_of_an_edit() {
        let scratch = edited();
        let target = RestoreTarget::To("1".to_owned());
        let restored = |target: &RestoreTarget, dry_run| {
            let options = MoveOptions { dry_run, ..MoveOptions::default() };
            restore(&mut scratch.open(), &path("a.txt"), target, options)
        };
        assert_eq!(restored(&target, DryRun::Yes).unwrap().status, Status::WouldApply);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("three\n"));
        restored(&target, DryRun::No).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        let commit = Commit::read(&scratch.repo(), scratch.head()).unwrap();
        assert_eq!(commit.subject(), "restore a.txt to edit 1");
        let finding = refusal(restored(&RestoreTarget::To("9".to_owned()), DryRun::No));
        assert_eq!(finding.summary, "The session fix has no edit 9.");
    }

    #[test]
    fn the_users_changes_of_a_file_without_an_edit_are_saved_on_request() {
        let scratch = edited();
        assert_eq!(latest(&scratch, "b.txt", Overlaps::Refuse).unwrap().status, Status::Unchanged);
        scratch.write("b.txt", "by hand\n");
        assert_eq!(
            refusal(latest(&scratch, "b.txt", Overlaps::Refuse)),
            users_changes(&path("b.txt"))
        );
        let outcome = latest(&scratch, "b.txt", Overlaps::Save).unwrap();
        assert_eq!((outcome.status, outcome.edit), (Status::Applied, Some(3)));
        assert_eq!(scratch.text("b.txt").as_deref(), Some("b\n"));
        let saved = scratch.ref_value("refs/edt/fix/saved/1").unwrap();
        assert_eq!(scratch.committed(saved, "b.txt").as_deref(), Some("by hand\n"));
        // Nothing of it is in the session.
        assert_eq!(scratch.committed(scratch.head(), "b.txt").as_deref(), Some("b\n"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("b.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn a_file_that_never_existed_is_not_restored() {
        let scratch = edited();
        scratch.write("notes.txt", "by hand\n");
        let finding = refusal(latest(&scratch, "notes.txt", Overlaps::Save));
        assert_eq!(finding.code, Code::NothingToUndo);
        let target = RestoreTarget::To("1".to_owned());
        let options = MoveOptions::default();
        let answer = restore(&mut scratch.open(), &path("notes.txt"), &target, options);
        assert_eq!(refusal(answer), not_found(&path("notes.txt"), "1"));
        assert_eq!(scratch.text("notes.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn a_file_gets_its_earlier_text_in_a_new_commit() {
        let scratch = edited();
        let before = scratch.head();
        let outcome = restored(&scratch, "a.txt", 1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
        assert_eq!(
            (outcome.status, outcome.parent, outcome.edit),
            (Status::Applied, Some(before.to_string()), Some(3))
        );
        let commit = Commit::read(&scratch.repo(), scratch.head()).unwrap();
        assert_eq!(commit.subject(), "restore a.txt to before edit 1");
        assert_eq!(commit.trailers.unwrap().kind, Kind::Restore);
    }

    #[test]
    fn a_line_that_the_user_committed_since_stays() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "6", "six");
        let text = "1\n2 by hand\n3\n4\n5\nsix\n7\n";
        scratch.user_commit("edt/fix", &[("a.txt", Some(text))], "by hand\n");
        scratch.write("a.txt", text);
        latest(&scratch, "a.txt", Overlaps::Refuse).unwrap();
        let restored = text.replace("six", "6");
        assert_eq!(scratch.text("a.txt"), Some(restored.clone()));
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(restored));
        assert!(scratch.message(scratch.head()).starts_with("restore a.txt to before edit 1\n"));
    }

    #[test]
    fn a_file_as_of_an_edit_keeps_what_the_user_committed_since() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "6", "six");
        let text = "1\n2 by hand\n3\n4\n5\nsix\n7\n";
        scratch.user_commit("edt/fix", &[("a.txt", Some(text))], "by hand\n");
        scratch.write("a.txt", text);
        scratch.edit("second", "a.txt", "4", "four");
        let target = RestoreTarget::To("1".to_owned());
        restore(&mut scratch.open(), &path("a.txt"), &target, MoveOptions::default()).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some(text));
    }

    #[test]
    fn an_ignored_file_is_restored_from_the_private_store() {
        let scratch = Scratch::with_rules(&[("a.txt", "one\n")], ".env\n");
        scratch.write(".env", "KEY=1\n\n\nMODE=a\n");
        scratch.begin("fix");
        scratch.edit("first", ".env", "KEY=1", "KEY=2");
        scratch.edit("second", ".env", "KEY=2", "KEY=3");
        scratch.write(".env", "KEY=3\n\n\nMODE=b\n");
        let restored = latest(&scratch, ".env", Overlaps::Refuse).unwrap();
        assert_eq!(restored.files[0].recorded, edt_types::RecordedIn::Private);
        let text = |key: &str| Some(format!("KEY={key}\n\n\nMODE=b\n"));
        assert_eq!(scratch.text(".env"), text("2"));
        let target = RestoreTarget::To("1".to_owned());
        scratch.edit("more", ".env", "KEY=2", "KEY=4");
        restore(&mut scratch.open(), &path(".env"), &target, MoveOptions::default()).unwrap();
        assert_eq!(scratch.text(".env"), text("2"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text(".env"), text("4"));
    }

    #[test]
    fn a_created_file_is_removed() {
        let scratch = edited();
        scratch.apply(&Request::new("new").create("c.txt", "c\n")).unwrap();
        let outcome = restored(&scratch, "c.txt", 0).unwrap();
        assert_eq!(
            (scratch.text("c.txt"), outcome.files[0].change),
            (None, FileChangeKind::Deleted)
        );
    }

    #[test]
    fn a_deleted_file_is_restored() {
        let scratch = edited();
        scratch.apply(&Request::new("gone").delete("b.txt")).unwrap();
        let outcome = restored(&scratch, "b.txt", 0).unwrap();
        assert_eq!(scratch.text("b.txt").as_deref(), Some("b\n"));
        assert_eq!(outcome.files[0].change, FileChangeKind::Added);
    }

    #[test]
    fn a_file_that_has_the_text_already_is_unchanged() {
        let scratch = edited();
        scratch.write("a.txt", "two\n");
        let head = scratch.head();
        assert_eq!(restored(&scratch, "a.txt", 0).unwrap().status, Status::Unchanged);
        assert_eq!(scratch.head(), head);
    }

    #[test]
    fn a_line_that_the_user_changed_is_not_restored() {
        let scratch = edited();
        let head = scratch.head();
        scratch.write("a.txt", "by hand\n");
        let finding = unwind::overlap(&path("a.txt"), &[0..1], "`edt restore`");
        assert_eq!(refusal(restored(&scratch, "a.txt", 0)), finding);
        assert_eq!((scratch.text("a.txt").as_deref(), scratch.head()), (Some("by hand\n"), head));
    }

    #[test]
    fn other_lines_of_the_user_stay_uncommitted() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "1", "one");
        scratch.write("a.txt", "one\n2\n3\n4\n5\nmine\n");
        let outcome = restored(&scratch, "a.txt", 0).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\n3\n4\n5\nmine\n"));
        assert_eq!(scratch.committed(scratch.head(), "a.txt").as_deref(), Some("1\n2\n3\n4\n5\n"));
        assert_eq!(outcome.files[0].user_changes, UserChanges::Separate);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n2\n3\n4\n5\nmine\n"));
    }

    #[test]
    fn a_restore_is_undone_as_one_edit() {
        let scratch = edited();
        restored(&scratch, "a.txt", 1).unwrap();
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("three\n"));
    }

    #[test]
    fn a_protected_path_is_not_restored() {
        let policy = "[[protect]]\npaths = [\"a.txt\"]\n";
        let scratch = Scratch::with(&[("edt.toml", policy), ("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.user_commit("edt/fix", &[("a.txt", Some("two\n"))], "by hand\n");
        scratch.write("a.txt", "two\n");
        let (target, options) = (RestoreTarget::To("0".to_owned()), MoveOptions::default());
        let answer = restore(&mut scratch.open(), &path("a.txt"), &target, options);
        let policy = edt_guard::policy::Policy::of(None, Some(policy)).unwrap();
        assert_eq!(refusal(answer), protected::finding(&policy, &path("a.txt")));
    }

    #[test]
    fn a_read_only_file_is_not_restored() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = edited();
        let file = scratch.root().join("a.txt");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(refusal(restored(&scratch, "a.txt", 0)).code, Code::ProtectedPath);
    }

    #[test]
    fn without_a_session_nothing_is_restored() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        assert_eq!(refusal(restored(&scratch, "a.txt", 0)).code, Code::NoSession);
    }
}
