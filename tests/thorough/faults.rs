//! Every effect of a command fails in turn: the next call finds the old state or the new one.
//!
//! Each test runs one command through the library, in a child process with an empty environment,
//! once for every effect of the undisturbed run (`edt_io::effect`) and for several kinds of fault:
//! a kill, an error, a disk that stays full, a disk that is gone. Then the next call recovers, and
//! the state is checked against `docs/design/atomicity.md`. The tier `ci` takes a kill and one
//! error at a sample of the effects; `all` takes every kind of fault at each, and more second faults
//! in the recovery.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use edt_core::proposal;
use edt_core::proposal::landing::land;
use edt_core::session::back::abandon::abandon;
use edt_core::session::back::revert;
use edt_core::session::back::undo::{self, MoveOptions, UndoTarget};
use edt_core::session::collection::gc::{GcOptions, gc};
use edt_core::session::landing::options::LandOptions;
use edt_core::session::landing::unland::{UnlandOptions, unland};
use edt_core::session::private::not_kept::NamedPaths;
use edt_core::session::recording::record::{self, CommitInfo, RecordAction, record_changes};
use edt_core::session::recording::review::ChangesPreview;
use edt_core::session::recording::snapshot::Snapshot as BeforeProgram;
use edt_core::session::refs::message::Kind;
use edt_core::session::worktree::begin::{self, BeginOptions, HeadSwitch};
use edt_core::session::worktree::options::Options;
use edt_core::session::worktree::switch::switch;
use edt_core::session::{LockedWorkspace, Session};
use edt_core::txn::{self, Request};
use edt_core::types::UserDecision;
use edt_git::Repo;
use edt_git::index::Index;
use edt_io::disk::{Dir, FoundEntry, Parent};
use edt_io::effect::{self, AttemptedEffect, FaultPlan, InjectedFault, SideEffect};
use edt_testkit::{Progress, Tier, share, tier};
use edt_types::{Code, DryRun, Finding, Recovered, Refusal, RepoPath, Result};
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::test_repo::{Snapshot, TestRepo, changed, is_portable, lines, walk};

/// A command as the library has it; it answers the codes of its warnings.
type Act = fn(&Path) -> Result<Vec<&'static str>>;

/// A prepared repository and the command that meets faults in it.
struct Case {
    name: &'static str,
    template: TestRepo,
    act: Act,
}

/// What must be old or new.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// Files of the worktree, and of a second worktree next to it.
    files: Snapshot,
    /// HEAD, refs, reflogs.
    refs: Snapshot,
    /// The index: mode, object and stage of each path.
    index: Vec<String>,
    /// The private records of edits; without them an undo is not exact.
    private: Snapshot,
}

fn options() -> Options {
    let mut options = Options::default();
    "apply".clone_into(&mut options.command);
    options.lock_wait = std::time::Duration::from_millis(200);
    options.environment = edt_core::Environment::Process;
    options
}

fn open(root: &Path) -> Result<LockedWorkspace> {
    LockedWorkspace::open(root, options())
}

fn running(workspace: &LockedWorkspace) -> Result<Session> {
    Session::required(&workspace.repo, &workspace.repo.head()?)
}

fn codes(warnings: &[edt_types::Warning]) -> Vec<&'static str> {
    warnings.iter().map(|warning| warning.code.name()).collect()
}

fn apply(root: &Path, request: &Value) -> Result<Vec<&'static str>> {
    let request = Request::from_json(request.to_string().as_bytes())?;
    Ok(codes(&txn::transact(&mut open(root)?, &request, DryRun::No)?.warnings))
}

/// As `edt status` does.
fn recover(root: &Path) -> Result<Option<Recovered>> {
    Ok(LockedWorkspace::read(root, &options())?.1)
}

// --- the commands ---------------------------------------------------------------------------------------------------------

fn edit(root: &Path) -> Result<Vec<&'static str>> {
    apply(root, &json!({"path": "a.txt", "mode": "edit", "old_text": "two", "content": "three"}))
}

fn eight_files(root: &Path) -> Result<Vec<&'static str>> {
    let paths = [
        "a.txt",
        "b.txt",
        "dir/c.txt",
        "1.txt",
        "2.txt",
        "new/3.txt",
        "new/4.txt",
        "new/deep/5.txt",
    ];
    let edit = |(n, path): (usize, &&str)| {
        let mode = if n < 3 { "append" } else { "create" };
        json!({"path": path, "mode": mode, "content": format!("{path}\n")})
    };
    apply(root, &json!({"edits": paths.iter().enumerate().map(edit).collect::<Vec<_>>()}))
}

/// An append, a creation, a deletion and a rename in one transaction.
fn several_files(root: &Path) -> Result<Vec<&'static str>> {
    apply(
        root,
        &json!({"edits": [
            {"path": "a.txt", "mode": "append", "content": "three\n"},
            {"path": "new/d.txt", "mode": "create", "content": "d\n"},
            {"path": "b.txt", "mode": "delete"},
            {"path": "dir/c.txt", "mode": "rename", "to": "dir/e.txt"},
        ]}),
    )
}

fn delete(root: &Path) -> Result<Vec<&'static str>> {
    apply(root, &json!({"path": "dir/c.txt", "mode": "delete"}))
}

fn rename_far(root: &Path) -> Result<Vec<&'static str>> {
    apply(root, &json!({"path": "dir/c.txt", "mode": "rename", "to": "far/e.txt"}))
}

fn executable(root: &Path) -> Result<Vec<&'static str>> {
    apply(
        root,
        &json!({"path": "bin/run", "mode": "create", "content": "#!/bin/sh\n", "executable": true}),
    )
}

fn edit_of_an_executable(root: &Path) -> Result<Vec<&'static str>> {
    apply(root, &json!({"path": "run.sh", "mode": "append", "content": "true\n"}))
}

fn edit_of_a_changed_file(root: &Path) -> Result<Vec<&'static str>> {
    apply(root, &json!({"path": "b.txt", "mode": "append", "content": "more\n"}))
}

fn edit_between_user_lines(root: &Path) -> Result<Vec<&'static str>> {
    let edit = json!({"path": "long.txt", "mode": "edit", "old_text": "line 2 of a text",
        "content": "an agent's"});
    apply(root, &edit)
}

fn edit_of_an_ignored_file(root: &Path) -> Result<Vec<&'static str>> {
    apply(root, &json!({"path": ".env", "mode": "append", "content": "more=1\n"}))
}

fn revert_one(root: &Path) -> Result<Vec<&'static str>> {
    let mut workspace = open(root)?;
    let session = running(&workspace)?;
    let tip = session.edits(&workspace.repo)?;
    Ok(codes(
        &revert::revert(&mut workspace, &session, &[tip - 1], MoveOptions::default())?.warnings,
    ))
}

/// As `edt run` does after the program whose snapshot is left.
fn record_program(root: &Path) -> Result<Vec<&'static str>> {
    let mut workspace = open(root)?;
    let info = CommitInfo { message: "run: x".to_owned(), agent: None, kind: Kind::Run };
    let mut warnings = Vec::new();
    let left = BeforeProgram::interrupted(&workspace.repo);
    if left.is_empty() {
        // A snapshot that cannot be opened may be that of a running program.
        return Err(Finding::new(Code::IoError, "no snapshot is left", "Try again.").into());
    }
    for before in left {
        let mut decide = |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
        let recorded = record_changes(&mut workspace, &before, &info, None, &mut decide)?;
        before.finish();
        warnings.extend(codes(&recorded.warnings));
    }
    Ok(warnings)
}

fn undo(root: &Path) -> Result<Vec<&'static str>> {
    let mut workspace = open(root)?;
    let session = running(&workspace)?;
    let target = UndoTarget::Edits(1);
    Ok(codes(&undo::undo(&mut workspace, &session, &target, MoveOptions::default())?.warnings))
}

fn redo(root: &Path) -> Result<Vec<&'static str>> {
    let mut workspace = open(root)?;
    let session = running(&workspace)?;
    Ok(codes(&undo::redo(&mut workspace, &session, MoveOptions::default())?.warnings))
}

fn restore(root: &Path) -> Result<Vec<&'static str>> {
    let path = RepoPath::parse(b"a.txt").unwrap();
    let (target, options) = (txn::RestoreTarget::Latest, MoveOptions::default());
    Ok(codes(&txn::restore(&mut open(root)?, &path, &target, options)?.warnings))
}

fn checkpoint(root: &Path) -> Result<Vec<&'static str>> {
    Ok(codes(&record::checkpoint(&mut open(root)?, None, &[])?.warnings))
}

/// What a program changed, refused: files and index go back, the bytes stay behind a ref.
fn roll_back(root: &Path) -> Result<Vec<&'static str>> {
    let info = CommitInfo { message: "run: x".to_owned(), agent: None, kind: Kind::Run };
    let mut decide = |_: &ChangesPreview<'_>| Ok(RecordAction::Restore);
    // Every change of the worktree is the program's.
    let before = BeforeProgram::default();
    Ok(codes(&record_changes(&mut open(root)?, &before, &info, None, &mut decide)?.warnings))
}

fn propose(root: &Path) -> Result<Vec<&'static str>> {
    let request = json!({"path": "a.txt", "mode": "append", "content": "more\n"});
    let request = Request::from_json(request.to_string().as_bytes())?;
    Ok(codes(&proposal::propose::propose(&mut open(root)?, &request)?.warnings))
}

fn landing(root: &Path) -> Result<Vec<&'static str>> {
    let mut workspace = open(root)?;
    let session = running(&workspace)?;
    Ok(codes(&land(&mut workspace, &session, &LandOptions::default())?.warnings))
}

fn begin_with(root: &Path, switching: HeadSwitch) -> Result<Vec<&'static str>> {
    let how = BeginOptions { name: Some("s".into()), switching, ..BeginOptions::default() };
    Ok(codes(&begin::begin(&mut open(root)?, &how)?.warnings))
}

fn begin_switched(root: &Path) -> Result<Vec<&'static str>> {
    begin_with(root, HeadSwitch::AsConfigured)
}

fn begin_without_switching(root: &Path) -> Result<Vec<&'static str>> {
    begin_with(root, HeadSwitch::Never)
}

fn begin_elsewhere(root: &Path) -> Result<Vec<&'static str>> {
    let how = BeginOptions { name: Some("s".into()), ..BeginOptions::default() };
    Ok(codes(
        &begin::begin_in_worktree(&mut open(root)?, &how, &root.with_extension("beside"))?.warnings,
    ))
}

fn begin_from_a_session(root: &Path) -> Result<Vec<&'static str>> {
    let how = BeginOptions {
        name: Some("u".into()),
        by_user: true,
        from: Some("s".into()),
        ..BeginOptions::default()
    };
    let mut said = codes(&begin::begin(&mut open(root)?, &how)?.warnings);
    // It says which session the worktree was in.
    said.retain(|code| *code != "session_left");
    Ok(said)
}

fn switch_to_another(root: &Path) -> Result<Vec<&'static str>> {
    let (_, switched) = switch(&mut open(root)?, "s")?;
    Ok(codes(&switched.expect("HEAD is on another session").warnings))
}

fn landing_undone(root: &Path) -> Result<Vec<&'static str>> {
    Ok(codes(&unland(&mut open(root)?, &UnlandOptions::default())?.warnings))
}

fn landing_without_the_rest(root: &Path) -> Result<Vec<&'static str>> {
    let mut workspace = open(root)?;
    let session = running(&workspace)?;
    let decision = UserDecision::made_by_user();
    let options = LandOptions::default().by_user(decision).allow("leaves_out");
    Ok(codes(&land(&mut workspace, &session, &options)?.warnings))
}

fn leave(root: &Path) -> Result<Vec<&'static str>> {
    let mut workspace = open(root)?;
    let session = running(&workspace)?;
    Ok(codes(&abandon(&mut workspace, &session)?.warnings))
}

fn collect(root: &Path) -> Result<Vec<&'static str>> {
    gc(open(root)?, GcOptions { before: i64::MAX, dry_run: false }).map(|_| Vec::new())
}

// --- the repositories -----------------------------------------------------------------------------------------------------

const FILES: &[(&str, &[u8])] =
    &[("a.txt", b"one\n"), ("b.txt", b"b\n"), ("dir/c.txt", b"c\n"), ("z.txt", b"z\n")];

fn plain() -> TestRepo {
    plain_made(&[])
}

fn plain_in_tables() -> TestRepo {
    plain_made(&["--ref-format=reftable"])
}

fn plain_made(flags: &[&str]) -> TestRepo {
    let workspace = TestRepo::made(flags, FILES);
    workspace.write("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(
        workspace.root.join("run.sh"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "--quiet", "--amend", "-m", "all"]);
    workspace
}

fn session(switched: bool) -> TestRepo {
    session_in(plain(), switched)
}

fn session_in_tables(switched: bool) -> TestRepo {
    session_in(plain_in_tables(), switched)
}

fn session_in(workspace: TestRepo, switched: bool) -> TestRepo {
    workspace.edt(if switched { &["begin", "s"] } else { &["begin", "s", "--no-switch"] }).landed();
    workspace.overwrite("a.txt", "two\n");
    workspace
}

fn undone(switched: bool) -> TestRepo {
    let workspace = session(switched);
    workspace.edt(&["undo"]).landed();
    workspace
}

fn with_user_changes(switched: bool) -> TestRepo {
    let workspace = session(switched);
    workspace.write("b.txt", "a user's\n");
    workspace
}

/// The user changed line 12 of `long.txt` and did not commit it.
fn with_user_lines(switched: bool) -> TestRepo {
    let workspace = plain();
    workspace.commit(&[("long.txt", lines(20).as_bytes())]);
    workspace.edt(if switched { &["begin", "s"] } else { &["begin", "s", "--no-switch"] }).landed();
    workspace.write("long.txt", lines(20).replace("line 12 of", "a user's line 12 of"));
    workspace
}

/// An edit of `long.txt`, then lines that the user typed.
fn with_later_user_lines(switched: bool) -> TestRepo {
    let workspace = with_user_lines(switched);
    edit_between_user_lines(&workspace.root).unwrap();
    let text = workspace.text("long.txt");
    workspace.write("long.txt", text.replace("line 17 of", "a later line 17 of"));
    workspace
}

/// The same with an edit of another file after it.
fn with_a_later_edit(switched: bool) -> TestRepo {
    let workspace = with_later_user_lines(switched);
    workspace.overwrite("b.txt", "later\n");
    workspace
}

fn with_an_ignored_file(switched: bool) -> TestRepo {
    let workspace = session(switched);
    workspace.write(".git/info/exclude", ".env\n");
    workspace.write(".env", "secret=1\n");
    workspace
}

fn with_an_edited_ignored_file(switched: bool) -> TestRepo {
    let workspace = with_an_ignored_file(switched);
    edit_of_an_ignored_file(&workspace.root).unwrap();
    workspace
}

/// A program removed an ignored file and was interrupted together with edt.
fn with_a_removed_ignored_file() -> TestRepo {
    let workspace = with_an_ignored_file(true);
    let (repo, _) = LockedWorkspace::read(&workspace.root, &options()).unwrap();
    repo.set_max_file_size(1 << 20);
    let session = Session::required(&repo, &repo.head().unwrap()).unwrap();
    let tree = repo.tree_of(session.tip).unwrap();
    drop(BeforeProgram::take(&repo, tree, &NamedPaths::default()).unwrap());
    std::fs::remove_file(workspace.root.join(".env")).unwrap();
    workspace
}

/// A session in which Git converts line ends, keywords and encodings.
fn converted() -> TestRepo {
    let workspace = session(true);
    let attributes = "a.txt text eol=crlf\nb.txt ident\nnew/* text eol=crlf\n\
        dir/*.txt text working-tree-encoding=UTF-16LE-BOM\n";
    workspace.write(CONVERSIONS, attributes);
    ["a.txt", "b.txt", "dir/c.txt"]
        .into_iter()
        .for_each(|path| std::fs::remove_file(workspace.root.join(path)).unwrap());
    workspace.git(&["checkout", "--quiet", "--", "."]);
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.read("dir/c.txt").len()),
        ("two\r\n", 6)
    );
    workspace
}

/// Names the files that Git converts; where it exists, blobs are not the bytes on disk.
const CONVERSIONS: &str = ".git/info/attributes";

fn converted_with_edits() -> TestRepo {
    let workspace = converted();
    workspace
        .apply(&json!({"edits": [
            {"path": "a.txt", "mode": "append", "content": "three\n"},
            {"path": "new/d.txt", "mode": "create", "content": "d\n"},
            {"path": "b.txt", "mode": "delete"},
        ]}))
        .landed();
    workspace
}

fn converted_and_undone() -> TestRepo {
    let workspace = converted_with_edits();
    workspace.edt(&["undo"]).landed();
    workspace
}

/// The session began on a detached HEAD.
fn detached() -> TestRepo {
    let workspace = plain();
    workspace.git(&["switch", "--quiet", "--detach"]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    workspace
}

/// An earlier session of the same name was abandoned.
fn abandoned_before(switched: bool) -> TestRepo {
    let workspace = session(switched);
    workspace.git(&["update-ref", "refs/edt/s/abandoned", &workspace.rev("main")]);
    workspace
}

fn main_moved() -> TestRepo {
    let workspace = session(true);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("b.txt", b"moved\n")]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
    workspace
}

/// Two sessions that differ in `a.txt`; HEAD is on the second.
fn two_sessions() -> TestRepo {
    let workspace = session(true);
    assert_eq!(workspace.edt(&["begin", "t"]).exit, 0);
    workspace.overwrite("a.txt", "other\n");
    workspace
}

/// The same with lines of the user that both sessions let stay.
fn two_sessions_with_user_lines() -> TestRepo {
    let workspace = plain();
    workspace.commit(&[("long.txt", lines(20).as_bytes())]);
    workspace.edt(&["begin", "s"]).landed();
    edit_between_user_lines(&workspace.root).unwrap();
    assert_eq!(workspace.edt(&["begin", "t"]).exit, 0);
    workspace.overwrite("a.txt", "other\n");
    let text = workspace.text("long.txt");
    workspace.write("long.txt", text.replace("line 17 of", "a user's line 17 of"));
    workspace
}

fn landed(switched: bool) -> TestRepo {
    let workspace = session(switched);
    workspace.edt(&["land"]).landed();
    workspace
}

/// A landing, then lines that the user typed into its file.
fn landed_with_user_lines() -> TestRepo {
    let workspace = with_later_user_lines(true);
    workspace.edt(&["land"]).landed();
    workspace
}

/// An edit overlaps with the user's changes, and another one does not.
fn with_an_overlapping_edit(switched: bool) -> TestRepo {
    let workspace = with_user_changes(switched);
    edit_of_a_changed_file(&workspace.root).unwrap();
    workspace
}

fn with_an_old_session() -> TestRepo {
    let workspace = session(true);
    workspace.edt(&["abandon"]).landed();
    workspace.edt(&["begin", "t"]).landed();
    workspace
}

fn in_both_modes(name: [&'static str; 2], template: fn(bool) -> TestRepo, act: Act) {
    meets_faults(name[0], || template(true), act);
    meets_faults(name[1], || template(false), act);
}

#[test]
fn an_edit() {
    alone("an_edit", || {
        in_both_modes(["edit, switched", "edit, without switching"], session, edit);
    });
}

#[test]
fn an_edit_of_eight_files() {
    alone("an_edit_of_eight_files", || {
        in_both_modes(["8 files, switched", "8 files, without switching"], session, eight_files);
    });
}

#[test]
fn an_edit_of_several_files() {
    alone("an_edit_of_several_files", || {
        in_both_modes(["several, switched", "several, without switching"], session, several_files);
    });
}

#[test]
fn edits_of_files_that_git_converts() {
    alone("edits_of_files_that_git_converts", || {
        meets_faults("converted, several", converted, several_files);
        meets_faults("converted, undo", converted_with_edits, undo);
        meets_faults("converted, redo", converted_and_undone, redo);
    });
}

#[test]
fn a_deletion() {
    alone("a_deletion", || {
        in_both_modes(["delete, switched", "delete, without switching"], session, delete);
    });
}

#[test]
fn a_rename() {
    alone("a_rename", || {
        in_both_modes(["rename, switched", "rename, without switching"], session, rename_far);
    });
}

#[test]
fn an_executable_file() {
    alone("an_executable_file", || {
        in_both_modes(
            ["executable, switched", "executable, without switching"],
            session,
            executable,
        );
        meets_faults("edit of an executable", || session(true), edit_of_an_executable);
    });
}

#[test]
fn an_edit_over_user_changes() {
    alone("an_edit_over_user_changes", || {
        in_both_modes(
            ["left over, switched", "left over, without switching"],
            with_user_changes,
            edit_of_a_changed_file,
        );
    });
}

#[test]
fn an_edit_between_user_lines() {
    alone("an_edit_between_user_lines", || {
        in_both_modes(
            ["dirty edit, switched", "dirty edit, without switching"],
            with_user_lines,
            edit_between_user_lines,
        );
    });
}

#[test]
fn an_undo_and_a_revert_below_later_user_lines() {
    alone("an_undo_and_a_revert_below_later_user_lines", || {
        meets_faults("dirty undo", || with_later_user_lines(true), undo);
        meets_faults("dirty revert", || with_a_later_edit(true), revert_one);
    });
}

#[test]
fn a_landing_and_an_abandoned_session_with_user_lines() {
    alone("a_landing_and_an_abandoned_session_with_user_lines", || {
        meets_faults("dirty landing", || with_later_user_lines(true), landing);
        meets_faults("dirty abandon", || with_later_user_lines(true), leave);
    });
}

#[test]
fn ignored_files() {
    alone("ignored_files", || {
        meets_faults("ignored edit", || with_an_ignored_file(true), edit_of_an_ignored_file);
        meets_faults("ignored undo", || with_an_edited_ignored_file(true), undo);
        meets_faults("ignored removal", with_a_removed_ignored_file, record_program);
    });
}

#[test]
fn an_undo() {
    alone("an_undo", || {
        in_both_modes(["undo, switched", "undo, without switching"], session, undo);
    });
}

#[test]
fn a_redo() {
    alone("a_redo", || in_both_modes(["redo, switched", "redo, without switching"], undone, redo));
}

#[test]
fn a_restored_file() {
    alone("a_restored_file", || {
        in_both_modes(["restore, switched", "restore, without switching"], session, restore);
    });
}

#[test]
fn a_rolled_back_program_change() {
    alone("a_rolled_back_program_change", || {
        in_both_modes(
            ["recorded and put back, switched", "recorded and put back, without switching"],
            with_user_changes,
            roll_back,
        );
    });
}

#[test]
fn a_proposal() {
    alone("a_proposal", || {
        in_both_modes(["propose, switched", "propose, without switching"], session, propose);
    });
}

#[test]
fn a_checkpoint() {
    alone("a_checkpoint", || {
        in_both_modes(
            ["checkpoint, switched", "checkpoint, without switching"],
            with_user_changes,
            checkpoint,
        );
    });
}

#[test]
fn a_landing() {
    alone("a_landing", || {
        in_both_modes(["land, switched", "land, without switching"], session, landing);
        meets_faults("land, merged", main_moved, landing);
    });
}

#[test]
fn the_beginning_of_a_session() {
    alone("the_beginning_of_a_session", || {
        meets_faults("begin, switched", plain, begin_switched);
        meets_faults("begin, without switching", plain, begin_without_switching);
    });
}

#[test]
fn the_beginning_of_a_session_from_another() {
    alone("the_beginning_of_a_session_from_another", || {
        meets_faults("begin, from a session", two_sessions, begin_from_a_session);
    });
}

#[test]
fn a_switch_to_another_session() {
    alone("a_switch_to_another_session", || {
        meets_faults("switch", two_sessions, switch_to_another);
        meets_faults("dirty switch", two_sessions_with_user_lines, switch_to_another);
    });
}

#[test]
fn a_landing_that_is_undone() {
    alone("a_landing_that_is_undone", || {
        in_both_modes(
            ["land --undo, switched", "land --undo, without switching"],
            landed,
            landing_undone,
        );
        meets_faults("dirty land --undo", landed_with_user_lines, landing_undone);
    });
}

#[test]
fn a_landing_that_leaves_out_what_no_commit_has() {
    alone("a_landing_that_leaves_out_what_no_commit_has", || {
        in_both_modes(
            ["land without, switched", "land without, without switching"],
            with_an_overlapping_edit,
            landing_without_the_rest,
        );
    });
}

#[test]
fn the_beginning_of_a_session_in_its_own_worktree() {
    alone("the_beginning_of_a_session_in_its_own_worktree", || {
        meets_faults("begin, elsewhere", plain, begin_elsewhere);
    });
}

#[test]
fn an_abandoned_session() {
    alone("an_abandoned_session", || {
        in_both_modes(["abandon, switched", "abandon, without switching"], session, leave);
    });
}

#[test]
fn an_abandoned_session_with_a_special_start() {
    alone("an_abandoned_session_with_a_special_start", || {
        meets_faults("abandon, detached", detached, leave);
        in_both_modes(
            ["abandon again, switched", "abandon again, without switching"],
            abandoned_before,
            leave,
        );
    });
}

#[test]
fn refs_in_tables() {
    alone("refs_in_tables", || {
        let session = session_in_tables;
        in_both_modes(["edit, tables", "edit, tables, without switching"], session, edit);
        in_both_modes(["land, tables", "land, tables, without switching"], session, landing);
        in_both_modes(["abandon, tables", "abandon, tables, without switching"], session, leave);
        meets_faults("begin, tables", plain_in_tables, begin_switched);
    });
}

#[test]
fn housekeeping() {
    alone("housekeeping", || meets_faults("gc", with_an_old_session, collect));
}

/// Each of these left something for ever, or answered what did not come true, when it was first
/// tried.
#[test]
fn faults_that_earlier_versions_did_not_survive() {
    alone("faults_that_earlier_versions_did_not_survive", || {
        let of = |name, template, act| Trial::of(Case { name, template, act });
        let (unlink, rename) = (SideEffect::Unlink, SideEffect::Rename);
        // A lock, a file or a ref that the recovery could not remove or restore.
        of("delete, switched", session(true), delete).twice((rename, "index"), (rename, "index"));
        of("redo, switched", undone(true), redo)
            .twice((SideEffect::Link, "s.lock"), (rename, "a.txt"));
        of("begin, switched", plain(), begin_switched)
            .twice((SideEffect::Link, "edt/s"), (unlink, "refs/edt/s/base"));
        // An error that the next call made true; a lock and a pointer that stayed.
        let trial = of("abandon, switched", session(true), leave);
        trial.once(InjectedFault::Once(Errno::IO), (SideEffect::Sync, "journal"));
        trial.once(InjectedFault::Once(Errno::IO), (unlink, "refs/heads/edt/s.lock"));
        trial.once(InjectedFault::Crash, (unlink, "refs/heads/edt/s"));
        let trial = of("abandon, without switching", session(false), leave);
        trial.once(InjectedFault::Once(Errno::IO), (unlink, "refs/worktree/edt/session"));
        // A pointer that outlived its landing; a missing line of HEAD's log; a torn line;
        // directories that stayed.
        of("land, without switching", session(false), landing)
            .once(InjectedFault::Crash, (SideEffect::Open, "logs/refs/heads/main"));
        of("begin, switched", plain(), begin_switched)
            .once(InjectedFault::Crash, (SideEffect::Open, "logs/HEAD"));
        of("edit, switched", session(true), edit)
            .once(InjectedFault::Crash, (SideEffect::Write, "logs/HEAD"));
        of("rename, switched", session(true), rename_far)
            .once(InjectedFault::Once(Errno::IO), (rename, "e.txt"));
    });
}

// --- the trial ------------------------------------------------------------------------------------------------------------

/// Runs `test` in a process of its own, with a bare environment: the library reads its variables,
/// and dates make commits. Of the caller's variables it keeps those that choose what is tested.
fn alone(name: &str, test: impl FnOnce()) {
    const MARK: &str = "EDT_TESTS_CHILD";
    if std::env::var_os(MARK).is_some() {
        println!("{PORTABLE}{}", !exchanges_files());
        return test();
    }
    let progress = Progress::start();
    let home = edt_testkit::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", &format!("faults::{name}")]).env_clear().env(MARK, "1");
    for name in ["PATH", "EDT_TESTS", "EDT_TESTS_SEED", "EDT_PLATFORM", "TMPDIR"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    // On a disk where a sync costs nothing: another test checks what is on disk.
    if Path::new("/dev/shm").metadata().is_ok_and(|meta| meta.mode() & 0o1777 == 0o1777) {
        command.env("TMPDIR", "/dev/shm");
    }
    command
        .env("HOME", home.path())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    command
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000");
    let done = command.stdin(Stdio::null()).output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    println!("{}", String::from_utf8_lossy(&said));
    let text = String::from_utf8_lossy(&said);
    assert!(done.status.success(), "{name}: {}\n{text}", done.status);
    let arrived = text.contains(&format!("{PORTABLE}true"));
    assert!(arrived || !is_portable(), "{name} ran with the functions of Linux");
    let points = text.lines().filter_map(|line| line.strip_prefix(POINTS)?.parse::<usize>().ok());
    progress.done("faults", name, points.sum());
}

/// Precedes whether a child process takes the functions of other systems, on a line of its own.
const PORTABLE: &str = "portable: ";

fn exchanges_files() -> bool {
    let scratch = edt_testkit::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| scratch.path().join(name));
    [&one, &other].into_iter().for_each(|path| std::fs::write(path, "").unwrap());
    edt_io::fs::exchange(&one, &other).is_ok()
}

/// Precedes the number of points that a case of a child process had, on a line of its own.
const POINTS: &str = "points: ";

fn all_points() -> bool {
    tier() == Tier::All
}

/// Everything that is tried at one effect.
fn plans(at: usize, step: &AttemptedEffect) -> Vec<FaultPlan> {
    let plan = |fault, torn| FaultPlan { at, fault, torn };
    let write = step.0 == SideEffect::Write;
    let kill = plan(InjectedFault::Crash, write && at.is_multiple_of(2));
    let mut errors = vec![
        plan(InjectedFault::Once(Errno::IO), false),
        plan(InjectedFault::Full(Errno::NOSPC), write),
    ];
    if !all_points() {
        // A kill and one of the errors, in turn.
        return vec![kill, errors.swap_remove(at % 2)];
    }
    let mut plans = vec![kill];
    plans.extend(errors);
    plans.extend([
        plan(InjectedFault::Once(Errno::NOSPC), write),
        plan(InjectedFault::Gone(Errno::IO), false),
    ]);
    plans.extend(write.then(|| plan(InjectedFault::Crash, !at.is_multiple_of(2))));
    plans
}

/// What was found wrong, and where.
type Faults = BTreeMap<String, Vec<String>>;

fn meets_faults(name: &'static str, template: impl FnOnce() -> TestRepo, act: Act) {
    let trial = Trial::of(Case { name, template: template(), act });
    let (mut faults, mut count) = (Faults::new(), 0);
    let mut directories = 0;
    let mut steps: Vec<(usize, &AttemptedEffect)> = trial.steps.iter().enumerate().collect();
    steps.retain(|(_, step)| {
        // 256 directories for objects are made in a row: a few of them represent all.
        let makes = step.0 == SideEffect::MakeDirectory;
        directories += usize::from(makes && step.1.as_os_str().len() == 2);
        !makes || directories <= 3 || directories == 250
    });
    for (i, step) in share(steps, 4) {
        for plan in plans(i + 1, step) {
            count += 1;
            for fault in trial.fault(plan) {
                faults
                    .entry(fault)
                    .or_default()
                    .push(format!("{} {plan:?} {step:?}", trial.case.name));
            }
        }
    }
    let doubles = trial.doubles(&mut faults);
    println!("{name}: {} effects, {count} faults, {doubles} double faults", trial.steps.len());
    println!("{POINTS}{}", count + doubles);
    let printed: Vec<String> =
        faults.iter().map(|(fault, at)| format!("{fault}\n    {}", at.join("\n    "))).collect();
    assert!(
        printed.is_empty(),
        "{name}: {} kinds of faults in {count}:\n{}",
        printed.len(),
        printed.join("\n")
    );
}

/// A case, and what it is without faults.
struct Trial {
    case: Case,
    old: State,
    new: State,
    steps: Vec<AttemptedEffect>,
    dir: tempfile::TempDir,
    judged: RefCell<HashMap<u64, Option<String>>>,
}

/// Whether effect number `at` is of that kind, on a path that ends so.
fn is_step(steps: &[AttemptedEffect], at: usize, (effect, end): (SideEffect, &str)) -> bool {
    steps.get(at - 1).is_some_and(|step| step.0 == effect && step.1.ends_with(end))
}

impl Trial {
    fn of(case: Case) -> Trial {
        // Empty directories for objects cost each copy more than all the rest; Git removes them,
        // too.
        let dir_paths = std::fs::read_dir(case.template.root.join(".git/objects")).unwrap();
        dir_paths.for_each(|directory| drop(std::fs::remove_dir(directory.unwrap().path())));
        let dir = edt_testkit::tempdir().unwrap();
        let mut trial = Trial {
            old: State::empty(),
            new: State::empty(),
            steps: Vec::new(),
            dir,
            judged: RefCell::default(),
            case,
        };
        let root = trial.copy();
        trial.old = State::of(&root);
        let (answer, steps) =
            effect::with_plan(FaultPlan { at: 0, fault: InjectedFault::None, torn: false }, || {
                (trial.case.act)(&root)
            });
        assert_eq!(
            answer.map_err(|error| error.to_string()),
            Ok(Vec::new()),
            "{}",
            trial.case.name
        );
        assert!(steps.len() > 5, "{}: {steps:?}", trial.case.name);
        (trial.new, trial.steps) = (State::of(&root), steps);
        assert_ne!(trial.old, trial.new, "{}: the command does something", trial.case.name);
        let mut faults = trial.judge(&root, None, Hands::Free);
        faults.extend(trial.goes_on(&root));
        assert_eq!(faults, Vec::<String>::new(), "{}: undisturbed", trial.case.name);
        trial
    }

    /// A fresh copy of the template.
    fn copy(&self) -> PathBuf {
        let root = self.dir.path().join("repo");
        for old in [&root, &root.with_extension("beside")] {
            let _ = std::fs::remove_dir_all(old);
        }
        copy(&self.case.template.root, &root);
        refresh(&root);
        root
    }

    /// What is wrong after `plan`.
    fn fault(&self, plan: FaultPlan) -> Vec<String> {
        let root = self.copy();
        let (answer, steps) = effect::with_plan(plan, || (self.case.act)(&root));
        // The number of effects may differ by one between two runs.
        let step = steps.get(plan.at - 1).unwrap_or(&self.steps[plan.at - 1]);
        self.after(&root, plan.fault, step, &answer)
    }

    /// Has `run` fail at the first effect that is `wanted`, which was one of `steps`. Ids of objects
    /// differ between two runs, so a directory for objects is made in one of them only.
    fn at<T>(
        steps: &[AttemptedEffect],
        wanted: (SideEffect, &str),
        mut run: impl FnMut(usize) -> (T, Vec<AttemptedEffect>),
    ) -> T {
        let number =
            |steps: &[AttemptedEffect]| (1..=steps.len()).find(|at| is_step(steps, *at, wanted));
        let mut at = number(steps).unwrap_or_else(|| panic!("no {wanted:?} among {steps:#?}"));
        for _ in 0..8 {
            let (result, steps) = run(at);
            if is_step(&steps, at, wanted) {
                return result;
            }
            at = number(&steps).unwrap_or(at + 1);
        }
        panic!("{wanted:?} is never number {at}");
    }

    fn once(&self, fault: InjectedFault, wanted: (SideEffect, &str)) {
        let torn = wanted.0 == SideEffect::Write;
        let (root, answer) = Trial::at(&self.steps, wanted, |at| {
            let root = self.copy();
            let (answer, steps) =
                effect::with_plan(FaultPlan { at, fault, torn }, || (self.case.act)(&root));
            ((root, answer), steps)
        });
        let step = (wanted.0, PathBuf::from(wanted.1));
        let found = self.after(&root, fault, &step, &answer);
        assert_eq!(found, Vec::<String>::new(), "{}: {fault:?} {wanted:?}", self.case.name);
    }

    fn plan(at: usize, fault: InjectedFault) -> FaultPlan {
        FaultPlan { at, fault, torn: false }
    }

    /// A copy in which the case was killed at `death`.
    fn killed(&self, death: (SideEffect, &str)) -> PathBuf {
        Trial::at(&self.steps, death, |at| {
            let root = self.copy();
            let plan = Trial::plan(at, InjectedFault::Crash);
            let (_, steps) = effect::with_plan(plan, || (self.case.act)(&root));
            (root, steps)
        })
    }

    /// A kill, then an error in the recovery.
    fn twice(&self, death: (SideEffect, &str), error: (SideEffect, &str)) {
        let root = self.killed(death);
        let (_, recovery) =
            effect::with_plan(Trial::plan(0, InjectedFault::None), || recover(&root).map(drop));
        let (root, answer) = Trial::at(&recovery, error, |at| {
            let root = self.killed(death);
            let plan = Trial::plan(at, InjectedFault::Once(Errno::IO));
            let (answer, steps) = effect::with_plan(plan, || recover(&root).map(drop));
            ((root, answer), steps)
        });
        assert!(answer.is_err(), "{}: {death:?}, {error:?}", self.case.name);
        let mut found = self.judge(&root, None, Hands::Tied);
        found.extend(self.goes_on(&root));
        assert_eq!(found, Vec::<String>::new(), "{}: {death:?}, {error:?}", self.case.name);
    }

    fn after(
        &self,
        root: &Path,
        fault: InjectedFault,
        step: &AttemptedEffect,
        answer: &Result<Vec<&'static str>>,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        let must_be = match answer {
            _ if fault == InjectedFault::Crash => None,
            Ok(warnings) => {
                let odd: Vec<&&str> =
                    warnings.iter().filter(|code| **code != "unfinished").collect();
                faults.extend((!odd.is_empty()).then(|| format!("it warns of {odd:?}")));
                Some(&self.new)
            }
            Err(error) => {
                faults.extend(uncoded(error));
                Some(&self.old)
            }
        };
        let tied = match fault {
            InjectedFault::Crash | InjectedFault::Gone(_) => true,
            InjectedFault::Full(_) if self.case.name == "begin, elsewhere" => true,
            InjectedFault::Once(_) | InjectedFault::Full(_) => {
                matches!(step.0, SideEffect::Unlink | SideEffect::RemoveDirectory)
            }
            InjectedFault::None => false,
        };
        // The user's Git may come before the next call of edt.
        if answer.is_ok()
            && matches!(fault, InjectedFault::Once(_))
            && !step.1.ends_with("index")
            && State::of(root).index != self.new.index
        {
            faults.push(format!("answered {answer:?} with an index that reverses the change"));
        }
        faults.extend(self.judge(root, must_be, if tied { Hands::Tied } else { Hands::Free }));
        faults.extend(self.goes_on(root));
        faults
    }

    /// Recovers twice, then compares with `must_be`, or with both the old and the new state.
    fn judge(&self, root: &Path, must_be: Option<&State>, hands: Hands) -> Vec<String> {
        let mut faults = Vec::new();
        if let Err(error) = recover(root) {
            return vec![format!("it cannot be recovered: {error}")];
        }
        let left = State::of(root);
        let is = |state: &State| left.seen(hands) == state.seen(hands) && left.keeps(state, hands);
        let whole = must_be.map_or_else(|| is(&self.old) || is(&self.new), is)
            || self.is_half(&left, hands);
        if !whole {
            let which =
                must_be.map_or("old or new", |must| if *must == self.old { "old" } else { "new" });
            faults.push(format!(
                "not {which}: against the old {:?}, against the new {:?}",
                left.against(&self.old),
                left.against(&self.new)
            ));
        }
        match recover(root) {
            Ok(None) => {}
            Ok(Some(again)) => faults.push(format!("it is recovered again: {again:?}")),
            Err(error) => faults.push(format!("it cannot be recovered again: {error}")),
        }
        faults.extend(leftovers(root, hands));
        faults.extend(self.sound(root));
        faults.extend(self.clean_by_git(root));
        faults
    }

    /// Whether it is a state that the command documents as between the two: what `gc` removed stays
    /// removed; a session that was to have a worktree of its own may have none, or one that Git did
    /// not fill yet.
    fn is_half(&self, left: &State, hands: Hands) -> bool {
        match self.case.name {
            "gc" => *left == self.new,
            "begin, elsewhere" if hands == Hands::Tied => [&self.old, &self.new]
                .iter()
                .any(|state| state.without_worktrees() == left.without_worktrees()),
            _ => false,
        }
    }

    /// The errors of `git fsck`, which runs once for each set of refs and objects.
    fn sound(&self, root: &Path) -> Option<String> {
        let mut objects = Snapshot::new();
        walk(&root.join(".git/objects"), "", &mut objects);
        objects.retain(|name, bytes| bytes != b"a directory" && !name.contains("tmp_obj"));
        self.known(&(State::of(root).refs, objects), || {
            let done = self.case.template.at(root).try_git(&[
                "fsck",
                "--strict",
                "--no-dangling",
                "--no-progress",
            ]);
            let said = [done.stdout, done.stderr].concat();
            (!done.status.success())
                .then(|| format!("git fsck: {}", String::from_utf8_lossy(&said)))
        })
    }

    /// The output of `git status`, which runs once for each set of files and entries. No entry may
    /// match by its stat alone.
    fn clean_by_git(&self, root: &Path) -> Option<String> {
        let state = State::of(root);
        let lying = lying_entries(root);
        if !lying.is_empty() {
            return Some(format!("the index says that these are on disk: {lying:?}"));
        }
        self.known(&state, || {
            let done = self.case.template.at(root).try_git(&[
                "status",
                "--porcelain",
                "--untracked-files=all",
            ]);
            if !done.status.success() {
                return Some(format!("git status: {}", String::from_utf8_lossy(&done.stderr)));
            }
            let said = String::from_utf8_lossy(&done.stdout);
            (self.clean() && !said.is_empty()).then(|| format!("not clean: {said:?}"))
        })
    }

    fn known(&self, what: &impl Hash, ask: impl FnOnce() -> Option<String>) -> Option<String> {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        let key = hasher.finish();
        if let Some(known) = self.judged.borrow().get(&key) {
            return known.clone();
        }
        let answer = ask();
        self.judged.borrow_mut().insert(key, answer.clone());
        answer
    }

    /// Whether Git finds nothing uncommitted before and after.
    fn clean(&self) -> bool {
        self.case.name.ends_with("switched")
            && !["left over", "recorded", "checkpoint", "dirty", "land without"]
                .iter()
                .any(|name| self.case.name.starts_with(name))
    }

    /// A further edit works.
    fn goes_on(&self, root: &Path) -> Vec<String> {
        let answer = apply(root, &json!({"path": "z.txt", "mode": "append", "content": "more\n"}));
        let text = std::fs::read(root.join("z.txt")).unwrap_or_default();
        match answer {
            Ok(_) if text == b"z\nmore\n" => self.clean_by_git(root).into_iter().collect(),
            Ok(_) => vec!["a further edit is not on disk".to_owned()],
            Err(error) => vec![format!("a further edit: {error}")],
        }
    }

    /// A kill at some effect, then another fault at every effect of the recovery; returns how many
    /// there were.
    fn doubles(&self, faults: &mut Faults) -> usize {
        let mut count = 0;
        // Every eleventh effect, another one first for each case.
        let first = self.case.name.len() % 11;
        let all = (1..=self.steps.len()).filter(|n| n % 11 == first);
        for n in share(all.collect(), 1) {
            let crash = FaultPlan { at: n, fault: InjectedFault::Crash, torn: false };
            let crashed = || {
                let root = self.copy();
                let _ = effect::with_plan(crash, || (self.case.act)(&root));
                root
            };
            let root = crashed();
            let none = FaultPlan { at: 0, fault: InjectedFault::None, torn: false };
            let (_, recovery) = effect::with_plan(none, || recover(&root).map(drop));
            let mut dir_paths = 0;
            for (m, step) in (1..).zip(&recovery) {
                dir_paths += usize::from(
                    step.0 == SideEffect::MakeDirectory && step.1.as_os_str().len() == 2,
                );
                if dir_paths > 2 {
                    continue;
                }
                for fault in [
                    InjectedFault::Crash,
                    InjectedFault::Once(Errno::IO),
                    InjectedFault::Full(Errno::NOSPC),
                ] {
                    if !all_points() && (m * 2 + n) % 9 != fault_number(fault) {
                        continue;
                    }
                    let root = crashed();
                    let plan = FaultPlan { at: m, fault, torn: step.0 == SideEffect::Write };
                    let (answer, _) = effect::with_plan(plan, || recover(&root).map(drop));
                    let mut found = self.judge(&root, None, Hands::Tied);
                    found.extend(
                        answer
                            .err()
                            .filter(|_| fault != InjectedFault::Crash)
                            .and_then(|error| uncoded(&error)),
                    );
                    found.extend(self.goes_on(&root));
                    count += 1;
                    for fault in found {
                        let at = format!(
                            "{} {crash:?} {:?}, then {plan:?} {step:?}",
                            self.case.name,
                            self.steps[n - 1]
                        );
                        faults.entry(format!("double: {fault}")).or_default().push(at);
                    }
                }
            }
        }
        count
    }
}

fn fault_number(fault: InjectedFault) -> usize {
    match fault {
        InjectedFault::Crash => 0,
        InjectedFault::Once(_) => 1,
        _ => 2,
    }
}

/// Why an error is not one that a caller can act on.
fn uncoded(error: &Refusal) -> Option<String> {
    let found = error.clone().into_vec();
    let bad = found.is_empty()
        || found.iter().any(|finding| finding.code == Code::Internal || finding.hint().is_empty());
    bad.then(|| format!("an answer that nobody can act on: {error}"))
}

impl State {
    fn empty() -> State {
        State {
            files: Snapshot::new(),
            refs: Snapshot::new(),
            index: Vec::new(),
            private: Snapshot::new(),
        }
    }

    fn of(root: &Path) -> State {
        let (mut files, mut refs) = (Snapshot::new(), Snapshot::new());
        walk(root, "", &mut files);
        walk(&root.with_extension("beside"), "beside/", &mut files);
        files.remove("beside/.git");
        let git = root.join(".git");
        let mut below = Snapshot::new();
        for directory in ["refs", "logs", "worktrees"] {
            walk(&git.join(directory), &format!("{directory}/"), &mut below);
        }
        let kept = |name: &String, bytes: &Vec<u8>| {
            let name = Path::new(name);
            bytes.as_slice() != b"a directory"
                && !name.ends_with("index")
                && !name.ends_with("ORIG_HEAD")
        };
        refs.extend(below.into_iter().filter(|(name, bytes)| kept(name, bytes)));
        for name in ["HEAD", "packed-refs"] {
            refs.extend(std::fs::read(git.join(name)).ok().map(|bytes| (name.to_owned(), bytes)));
        }
        if git.join("reftable").exists() {
            let ask: [&[&str]; 3] = [
                &["symbolic-ref", "HEAD"],
                &["for-each-ref"],
                &["log", "--walk-reflogs", "--all", "--format=%gD %H %gs"],
            ];
            for args in ask {
                let done = std::process::Command::new("git").current_dir(root).args(args).output();
                refs.insert(args[0].to_owned(), done.unwrap().stdout);
            }
        }
        let mut private = Snapshot::new();
        walk(&git.join("edt/private"), "", &mut private);
        // Records of edits have a commit's name; only recovery reads others.
        private.retain(|name, _| {
            name.rsplit('/').next().is_some_and(|name| name.len() == 40 && !name.contains('.'))
        });
        State { files, refs, index: entries(&git.join("index")), private }
    }

    /// Whether it has all private records of `other`. A record that could not be removed may stay.
    fn keeps(&self, other: &State, hands: Hands) -> bool {
        other.private.iter().all(|(name, bytes)| self.private.get(name) == Some(bytes))
            && (hands == Hands::Tied || self.private == other.private)
    }

    /// The state without empty directories, if they could not be removed.
    fn seen(&self, hands: Hands) -> State {
        let mut seen = self.clone();
        seen.files.retain(|_, bytes| hands == Hands::Free || bytes != b"a directory");
        seen.private.clear();
        seen
    }

    fn without_worktrees(&self) -> State {
        let mut seen = self.seen(Hands::Tied);
        seen.files.retain(|name, _| !name.starts_with("beside/"));
        seen.refs.retain(|name, _| !name.starts_with("worktrees/"));
        seen
    }

    fn against(&self, other: &State) -> Vec<String> {
        let mut differs = changed(&other.files, &self.files);
        differs.extend(changed(&other.refs, &self.refs));
        differs.extend(changed(&other.private, &self.private));
        let (mine, others): (BTreeSet<_>, BTreeSet<_>) =
            (self.index.iter().collect(), other.index.iter().collect());
        differs.extend(mine.symmetric_difference(&others).map(|entry| format!("index: {entry}")));
        differs
    }
}

/// The entries of an index of version 2 or 3: mode, object, flags, path.
fn entries(index: &Path) -> Vec<String> {
    let bytes = std::fs::read(index).unwrap_or_default();
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut found = Vec::new();
    let (mut at, count) = (12, if bytes.len() > 12 { word(8) } else { 0 });
    for _ in 0..count {
        let name = at + 62 + if bytes[at + 60] & 0x40 == 0 { 0 } else { 2 };
        let end = name + bytes[name..].iter().position(|byte| *byte == 0).unwrap();
        let id: String = bytes[at + 40..at + 60].iter().map(|byte| format!("{byte:02x}")).collect();
        let path = String::from_utf8_lossy(&bytes[name..end]);
        found.push(format!("{:o} {id} {:x} {path}", word(at + 24), bytes[at + 60] & 0xf0));
        at += (end - at + 8) / 8 * 8;
    }
    found
}

/// Whether the process could remove what it had made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hands {
    Free,
    Tied,
}

/// What no recovered repository has: locks, half of a landing; and, if the process could remove
/// them, staged files.
fn leftovers(root: &Path, hands: Hands) -> Vec<String> {
    let mut git = Snapshot::new();
    walk(&root.join(".git"), "", &mut git);
    let known = [
        "edt",
        "edt/landing",
        "edt/refusals.jsonl",
        "edt/main",
        "edt/main/refusals-open",
        "edt/main/journal",
        "edt/main/lock",
        "edt/main/running",
        "edt/main/ref",
        "edt/main/head",
        "edt/main/tables",
        // Of a call that was killed while it wrote a table, or while it removed merged ones.
        "edt/main/tables.new",
        // Of a call that was killed while it wrote the packed refs again.
        "edt/main/packed",
        "edt/main/told",
        "edt/main/proposals-awaited",
        "edt/main/proposals-awaiting",
        // Of a call that was killed while it wrote that.
        "edt/main/proposals-awaited.edt-new",
        "edt/main/journal.new",
        "edt/main/stage/index.own",
        "edt/main/stage/index.before",
    ];
    // The session's own, removed with it.
    let own = |name: &str| {
        ["edt/private", "edt/main/snapshot"].iter().any(|directory| name.starts_with(directory))
    };
    let odd = |name: &&String| {
        let staged = name.starts_with("edt")
            && !own(name)
            && !known.contains(&name.as_str())
            && name.as_str() != "edt/main/stage";
        let staged = staged && (hands == Hands::Free || !name.starts_with("edt/main/stage/"));
        staged || Path::new(name).extension().is_some_and(|ext| ext == "lock")
    };
    git.keys().filter(odd).map(|name| format!("left over: {name}")).collect()
}

/// Paths whose index entry has the stat of the file but another object than its bytes.
fn lying_entries(root: &Path) -> Vec<String> {
    if root.join(CONVERSIONS).exists() {
        return Vec::new();
    }
    let index = root.join(".git/index");
    let (bytes, repo) = (std::fs::read(&index).unwrap_or_default(), Repo::open(root).unwrap());
    let mut at = 12;
    let mut lying = Vec::new();
    for entry in entries(&index) {
        let word = |n: usize| {
            i64::from(u32::from_be_bytes(bytes[at + n * 4..at + n * 4 + 4].try_into().unwrap()))
        };
        let [_, id, _, name] = entry.splitn(4, ' ').collect::<Vec<_>>().try_into().unwrap();
        let path = root.join(name);
        if let Ok(meta) = path.symlink_metadata()
            && (meta.mtime(), meta.mtime_nsec(), meta.ino() & 0xffff_ffff)
                == (word(2), word(3), u64::try_from(word(5)).unwrap())
            && repo.blob_id(&std::fs::read(&path).unwrap()).unwrap().to_string().as_str() != id
        {
            lying.push(name.to_owned());
        }
        let long = usize::from(bytes[at + 60] & 0x40 != 0) * 2;
        at += (62 + long + name.len() + 8) / 8 * 8;
    }
    lying
}

/// Copies a directory with times and permissions; holes stay holes.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            copy(&source, &target);
            continue;
        }
        let bytes = std::fs::read(&source).unwrap();
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let file = std::fs::File::create(&target).unwrap();
        std::io::Write::write_all(&mut &file, &bytes[..used]).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        file.set_permissions(meta.permissions()).unwrap();
        file.set_modified(meta.modified().unwrap()).unwrap();
    }
}

/// Puts the stats of the copied files into the index, as `git update-index --refresh` does where
/// nothing changed.
fn refresh(root: &Path) {
    let repo = Repo::open(root).unwrap();
    let path = root.join(".git/index");
    let mut index = Index::parse(std::fs::read(&path).unwrap(), 20).unwrap();
    let dir = Dir::open(root).unwrap();
    for entry in entries(&path) {
        let [_, id, _, name] = entry.splitn(4, ' ').collect::<Vec<_>>().try_into().unwrap();
        let name = RepoPath::from_tree(name.as_bytes());
        if let Ok(Parent::Open(directory)) = dir.beneath(name.split().0)
            && let Ok(FoundEntry::File(stat, bytes)) = directory.read(name.split().1)
            && repo.blob_id(&bytes).unwrap().to_string().as_str() == id
        {
            index.restat(&name, &stat);
        }
    }
    std::fs::write(&path, index.finish(|bytes| repo.checksum(bytes))).unwrap();
}
