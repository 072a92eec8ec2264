//! A change may remove an ignore rule: the files that Git ignored before become private, so that no
//! later commit has them.

use std::collections::BTreeSet;
use std::path::Path;

use super::hidden;
use super::not_kept;
use super::private_list::{self, MAX_FILES};
use edt_git::Repo;
use edt_git::files::{ListScope, ListedOrigin};
use edt_git::index::IndexState;
use edt_journal::IndexView;
use edt_types::text::{Shown as _, counted};
use edt_types::{Refusal, RepoPath, Result, Warning, WarningCode};

/// The most files that a warning names.
pub(crate) const MAX_NAMED: usize = 20;

/// The ignored files and directories, before `paths` change; none if no ignore file is among them.
/// What is in directories that cannot be read is not found: no commit can have it, either.
///
/// # Errors
/// `IO_ERROR`.
pub(crate) fn ignored_before<'p>(
    repo: &Repo,
    mut paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<Vec<RepoPath>> {
    let has_rules = paths.any(RepoPath::is_ignore_file);
    if has_rules { repo.ignored_where_readable() } else { Ok(Vec::new()) }
}

/// Lists those of `earlier` that exist and that Git does not ignore now, as private files. A rule
/// that is gone may have been an uncommitted one, so that no commit shows it later.
pub(crate) fn list(repo: &Repo, earlier: Vec<RepoPath>) -> Option<Warning> {
    if earlier.is_empty() {
        return None;
    }
    let listed = uncovered(repo, earlier).and_then(|found| {
        private_list::add(repo, &found)?;
        Ok(found)
    });
    let message = match listed {
        Ok(found) if found.is_empty() => return None,
        Ok(found) => format!(
            "Git does not ignore {} any more: {}. No commit of edt has such a file, until the \
             user adds it (`git add`).",
            counted(found.len(), "path"),
            hidden::named(found.iter(), MAX_NAMED)
        ),
        Err(error) => return Some(not_listed(error)),
    };
    Some(Warning { code: WarningCode::StaysPrivate, path: None, message })
}

/// What follows a change before which `earlier` was ignored: [`list`], or why that cannot be.
pub(crate) fn after(repo: &Repo, earlier: Result<Vec<RepoPath>>) -> Option<Warning> {
    earlier.map_or_else(|error| Some(not_listed(error)), |all| list(repo, all))
}

fn not_listed(error: Refusal) -> Warning {
    let why = error.into_vec().into_iter().next().map(|finding| finding.summary);
    let message = format!(
        "The files that Git ignored before this call could not be listed. {} Let the user check \
         `git status` before the next checkpoint.",
        why.unwrap_or_default()
    );
    Warning { code: WarningCode::StaysPrivate, path: None, message }
}

fn uncovered(repo: &Repo, earlier: Vec<RepoPath>) -> Result<BTreeSet<RepoPath>> {
    let now: BTreeSet<RepoPath> = repo.ignored_where_readable()?.into_iter().collect();
    let (index, mut found) = (IndexView::read(repo)?, BTreeSet::new());
    for path in earlier {
        if private_list::includes(&now, &path) {
            continue;
        }
        let files = if has_below(&now, &path) { new_below(repo, &path) } else { None };
        for file in files.unwrap_or_else(|| vec![path]) {
            if has_files(repo, &file) && index.staged(repo, &file)? == IndexState::Nothing {
                found.insert(file);
            }
        }
    }
    Ok(found)
}

/// Whether there is a file at or below `path`.
fn has_files(repo: &Repo, path: &RepoPath) -> bool {
    not_kept::files_of(repo, path).is_none_or(|files| !files.is_empty())
}

/// Whether one of `paths` is below `directory`.
fn has_below(paths: &BTreeSet<RepoPath>, directory: &RepoPath) -> bool {
    let first = RepoPath::from_tree(&[directory.as_bytes(), b"/"].concat());
    paths.range(first..).next().is_some_and(|path| path.is_at_or_below(directory))
}

/// The files below `directory` that are neither ignored nor in the index; `None` if they are too
/// many to list, or if they cannot be found.
fn new_below(repo: &Repo, directory: &RepoPath) -> Option<Vec<RepoPath>> {
    let all = repo.files(std::slice::from_ref(directory), ListScope::NotIgnored).ok()?;
    let new = all.into_iter().filter(|file| matches!(file.origin, ListedOrigin::New));
    let new: Vec<RepoPath> = new.map(|file| file.path).take(MAX_FILES + 1).collect();
    (new.len() <= MAX_FILES).then_some(new)
}

/// The `warnings` about another worktree, whose root is `elsewhere`.
pub(crate) fn located(warnings: Vec<Warning>, elsewhere: Option<&Path>) -> Vec<Warning> {
    let Some(root) = elsewhere else { return warnings };
    let located = |warning: Warning| {
        let message = format!("In {}: {}", root.shown(), warning.message);
        Warning { message, ..warning }
    };
    warnings.into_iter().map(located).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::landing::land;
    use crate::session::back::abandon::abandon;
    use crate::session::back::revert::revert;
    use crate::session::back::undo::{MoveOptions, UndoTarget, undo};
    use crate::session::landing::options::LandOptions;
    use crate::session::landing::unland::{UnlandOptions, unland};
    use crate::session::private::hidden::private_paths;
    use crate::session::recording::record::{
        CommitInfo, RecordAction, RecordOutcome, checkpoint, record_changes,
    };
    use crate::session::recording::review::ChangesPreview;
    use crate::session::recording::snapshot::Snapshot;
    use crate::session::refs::message::Kind;
    use crate::session::worktree::begin::{BeginOptions, begin_in_worktree};
    use crate::session::worktree::options::Options;
    use crate::session::worktree::switch::{leave, switch};
    use crate::session::{LockedWorkspace, Session};
    use crate::tests::{Scratch, path};
    use crate::txn::Request;
    use edt_types::RecordedIn;
    use std::collections::BTreeMap;

    /// A session whose edit adds a rule, and a file that it matches.
    fn with_rule() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.apply(&Request::new("rule").create(".gitignore", "*.key\n")).unwrap();
        scratch.write("my.key", "secret\n");
        scratch
    }

    fn private(repo: &Repo) -> Vec<String> {
        let all = private_paths(repo, None).unwrap();
        all.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn check_private(scratch: &Scratch, named: &str, warnings: &[Warning]) {
        assert!(warnings.iter().any(|one| one.message.contains(named)), "{warnings:?}");
        assert_eq!(private(&scratch.repo()), [named]);
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert_eq!(scratch.committed(scratch.head(), named), None);
    }

    #[test]
    fn what_an_undone_rule_ignored_stays_private() {
        let scratch = with_rule();
        let moved = scratch.undo(1).unwrap();
        check_private(&scratch, "my.key", &moved.warnings);
    }

    #[test]
    fn what_a_reverted_rule_ignored_stays_private() {
        let scratch = with_rule();
        let session = scratch.session();
        let outcome = revert(&mut scratch.open(), &session, &[1], MoveOptions::default()).unwrap();
        check_private(&scratch, "my.key", &outcome.warnings);
    }

    #[test]
    fn what_the_rule_of_a_session_ignored_stays_private_outside_of_it() {
        let scratch = with_rule();
        let session = scratch.session();
        let done = abandon(&mut scratch.open(), &session).unwrap();
        scratch.begin("next");
        check_private(&scratch, "my.key", &done.warnings);
        let scratch = with_rule();
        let session = scratch.session();
        let done = leave(&mut scratch.open(), &session).unwrap();
        scratch.begin("next");
        check_private(&scratch, "my.key", &done.warnings);
    }

    #[test]
    fn what_the_rule_of_a_session_ignored_stays_private_in_another_session() {
        let scratch = with_rule();
        scratch.begin("next");
        assert_eq!(private(&scratch.repo()), ["my.key"]);
        switch(&mut scratch.open(), "fix").unwrap();
        assert_eq!(private(&scratch.repo()), [""; 0]);
        let (_, switched) = switch(&mut scratch.open(), "next").unwrap();
        check_private(&scratch, "my.key", &switched.unwrap().warnings);
    }

    #[test]
    fn what_an_undone_landing_ignored_stays_private() {
        let scratch = with_rule();
        let session = scratch.session();
        land(&mut scratch.open(), &session, &LandOptions::default()).unwrap();
        let undone = unland(&mut scratch.open(), &UnlandOptions::default()).unwrap();
        scratch.begin("next");
        check_private(&scratch, "my.key", &undone.warnings);
    }

    #[test]
    fn a_landing_keeps_the_files_of_another_worktree_private() {
        let scratch = Scratch::with_rules(&[("a.txt", "one\n")], ".env\n");
        scratch.write(".env", "KEY=1\n");
        let directory = edt_testkit::tempdir().unwrap();
        let place = directory.path().join("linked");
        let name = Some("fix".to_owned());
        let options = BeginOptions { name, ..BeginOptions::default() };
        begin_in_worktree(&mut scratch.open(), &options, &place).unwrap();
        let open = || LockedWorkspace::open(&place, Options::default()).unwrap();
        let request = Request::new("rule").edit(".gitignore", ".env\n", "");
        crate::txn::transact(&mut open(), &request, edt_types::DryRun::No).unwrap();
        let linked = Repo::open(&place).unwrap();
        let session = Session::required(&linked, &linked.head().unwrap()).unwrap();
        let landed = land(&mut open(), &session, &LandOptions::default()).unwrap();
        assert_eq!(scratch.text(".gitignore").as_deref(), Some(""));
        let [warning] = &landed.warnings[..] else { panic!("{:?}", landed.warnings) };
        let root = landed.elsewhere.unwrap();
        assert!(warning.message.starts_with(&format!("In {}: ", root.display())), "{warning:?}");
        assert_eq!(private(&open().repo), [""; 0]);
        scratch.begin("next");
        check_private(&scratch, ".env", &landed.warnings);
    }

    /// Records a call of an agent's tool that sets the ignore file to `rules`.
    fn call(scratch: &Scratch, rules: &str) -> RecordOutcome {
        let (repo, only) = (scratch.repo(), [path(".gitignore")]);
        Snapshot::of_paths(&repo, &only, &BTreeMap::new()).unwrap();
        scratch.write(".gitignore", rules);
        let before = Snapshot::taken_of_paths(&repo, &only, BTreeMap::new()).unwrap();
        let info = CommitInfo { message: "edit".into(), agent: None, kind: Kind::Edit };
        let mut decide = |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
        let mut workspace = scratch.open();
        let outcome = record_changes(&mut workspace, &before, &info, Some(&only), &mut decide);
        before.remember_recorded(&repo, &only).unwrap();
        outcome.unwrap()
    }

    #[test]
    fn what_an_uncommitted_rule_ignored_stays_private_after_a_call_that_removes_it() {
        let scratch = Scratch::with_rules(&[("a.txt", "one\n")], "*.o\n");
        scratch.begin("fix");
        scratch.write(".gitignore", "*.o\n.env\n");
        scratch.write(".env", "KEY=1\n");
        let outcome = call(&scratch, "*.o\n");
        check_private(&scratch, ".env", &outcome.warnings);
    }

    #[test]
    fn what_a_committed_rule_ignored_stays_private_after_a_call_that_removes_it() {
        let scratch = Scratch::with_rules(&[("a.txt", "one\n")], ".env\n");
        scratch.begin("fix");
        scratch.write(".env", "KEY=1\n");
        let outcome = call(&scratch, "");
        check_private(&scratch, ".env", &outcome.warnings);
    }

    #[test]
    fn a_changed_rule_that_ignores_the_same_files_lists_nothing() {
        let scratch = Scratch::with_rules(&[("a.txt", "one\n")], ".env\nbuild/\n");
        scratch.begin("fix");
        scratch.write(".env", "KEY=1\n");
        let outcome = scratch.edit("rule", ".gitignore", ".env", "*.env");
        assert_eq!((outcome.warnings, private(&scratch.repo())), (vec![], vec![]));
        assert_eq!(call(&scratch, "*.env\n").warnings, []);
    }

    #[test]
    fn of_a_directory_that_is_ignored_in_part_only_the_others_are_listed() {
        let scratch = Scratch::with_rules(&[("a.txt", "one\n")], "build/\n");
        scratch.begin("fix");
        for name in ["build/README.md", "build/a", "build/b/c"] {
            scratch.write(name, "x\n");
        }
        let rules = "build/*\n!build/README.md\n";
        let outcome = scratch.edit("rule", ".gitignore", "build/\n", rules);
        let [warning] = &outcome.warnings[..] else { panic!("{:?}", outcome.warnings) };
        assert!(warning.message.contains("1 path any more: build/README.md."), "{warning:?}");
        check_private(&scratch, "build/README.md", &outcome.warnings);
        // A directory whose name only begins in the same way is another one.
        let paths = [path("build-2/a"), path("build.o")].into();
        assert!(!has_below(&paths, &path("build")));
        assert!(has_below(&paths, &path("build-2")));
    }

    #[test]
    fn a_warning_names_few_of_many_files() {
        let scratch = Scratch::with_rules(&[("a.txt", "one\n")], "*.o\n");
        scratch.begin("fix");
        for number in 0..50 {
            scratch.write(&format!("{number}.o"), "x\n");
        }
        let outcome = scratch.edit("rule", ".gitignore", "*.o\n", "");
        let [warning] = &outcome.warnings[..] else { panic!("{:?}", outcome.warnings) };
        assert!(warning.message.contains("and 30 more"), "{warning:?}");
        let outcome = checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert_eq!(outcome.warnings.len(), MAX_NAMED + 1, "{:?}", outcome.warnings);
        assert!(outcome.warnings[MAX_NAMED].message.contains("30 more paths"));
    }

    #[test]
    fn a_program_that_removes_a_rule_says_what_stays_private() {
        for removed in [false, true] {
            let scratch = Scratch::with_rules(&[("a.txt", "one\n")], ".env\n");
            scratch.begin("fix");
            scratch.write(".env", "KEY=1\n");
            let before = scratch.snapshot();
            if removed {
                scratch.remove(".gitignore");
            } else {
                scratch.write(".gitignore", "x\n");
            }
            let info = CommitInfo { message: "run".into(), agent: None, kind: Kind::Run };
            let mut decide = |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
            let outcome =
                record_changes(&mut scratch.open(), &before, &info, None, &mut decide).unwrap();
            assert_eq!(outcome.warnings.len(), 1, "{:?}", outcome.warnings);
            check_private(&scratch, ".env", &outcome.warnings);
        }
    }

    #[test]
    fn the_answers_of_every_command_say_that_a_private_file_is_in_no_commit() {
        let change = || {
            let scratch = Scratch::with_rules(&[("a.txt", "one\n")], ".env\n");
            scratch.write(".env", "KEY=1\n");
            scratch.begin("fix");
            scratch.edit("rule", ".gitignore", ".env\n", "");
            scratch.edit("key", ".env", "1", "2");
            scratch
        };
        let recorded = |files: &[edt_types::FileReport]| {
            let file = files.iter().find(|file| file.path == ".env").unwrap();
            assert_eq!(file.user_changes, edt_types::UserChanges::None);
            file.recorded
        };
        let scratch = change();
        assert_eq!(recorded(&scratch.undo(2).unwrap().files), RecordedIn::Private);
        assert_eq!(recorded(&scratch.redo().unwrap().files), RecordedIn::Private);
        let session = scratch.session();
        let done = abandon(&mut scratch.open(), &session).unwrap();
        assert_eq!(recorded(&done.files), RecordedIn::Private);
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
        let scratch = change();
        scratch.apply(&Request::new("removed").delete(".env")).unwrap();
        let session = scratch.session();
        let options = MoveOptions::default();
        let moved = undo(&mut scratch.open(), &session, &UndoTarget::Edits(1), options).unwrap();
        assert_eq!(recorded(&moved.files), RecordedIn::Private);
    }

    #[test]
    fn an_overlap_in_a_private_file_does_not_advise_a_stash() {
        let scratch = with_rule();
        scratch.undo(1).unwrap();
        scratch.edit("key", "my.key", "secret", "agents");
        scratch.write("my.key", "users\n");
        let session = scratch.session();
        let found = crate::tests::refusal(abandon(&mut scratch.open(), &session));
        assert!(!found.hint().contains("stash"), "{}", found.hint());
        // The same for a file that comes from another branch.
        let scratch = with_rule();
        scratch.undo(1).unwrap();
        scratch.user_commit("main", &[("my.key", Some("theirs\n"))], "theirs\n");
        scratch.edit("a", "a.txt", "one", "two");
        let session = scratch.session();
        let landed = land(&mut scratch.open(), &session, &LandOptions::default());
        let found = crate::tests::refusal(landed);
        assert!(found.remedy.contains("move the file elsewhere"), "{}", found.remedy);
    }
}
