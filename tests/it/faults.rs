//! Every effect of a command fails in turn, inside this process: the next call finds the old state or the new one, whole.
//!
//! Each test drives one command through the library, in a process of its own whose environment is bare, once for every effect that
//! the undisturbed run has (`edt::io::effect`) and every kind of fault: an error, a disk that stays full, a disk that is gone, a
//! death. Then what is left is settled and judged, by the words of `docs/design/atomicity.md`. By default a fixed share of the points is
//! taken, every one with `EDT_FAULTS=all`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use edt::base::{Code, Findings, RepoPath, Result, Settled};
use edt::git::Repo;
use edt::git::index::Index;
use edt::io::disk::{Dir, Found, Parent};
use edt::io::effect::{self, Effect, Fault, Plan, Step};
use edt::proposal;
use edt::session::abandon::abandon;
use edt::session::begin::{self, Begin, Switching};
use edt::session::checkpoint::{Ran, Why};
use edt::session::gc::{Gc, gc};
use edt::session::land::{Land, land};
use edt::session::record::{About, Fate, record, record_judged};
use edt::session::undo::{self, Back};
use edt::session::world::Caller;
use edt::session::{Session, World as Place};
use edt::txn::{self, Request, Run};
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::world::{Snapshot, World, changed, walk};

/// A command as the library has it; it answers the codes of its warnings.
type Act = fn(&Path) -> Result<Vec<&'static str>>;

/// A prepared repository and the command that meets faults in it.
struct Case {
    name: &'static str,
    template: World,
    act: Act,
}

/// What must be old or new.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// Files of the worktree, and of a second one beside it.
    files: Snapshot,
    /// HEAD, refs, reflogs.
    refs: Snapshot,
    /// The index: mode, object and stage of each path.
    index: Vec<String>,
}

fn caller() -> Caller {
    Caller {
        command: "apply".to_owned(),
        lock_wait: std::time::Duration::from_millis(200),
        person_policy: None,
        trust: None,
        durability: None,
        warm: None,
    }
}

fn open(root: &Path) -> Result<Place> {
    Place::open(root, caller())
}

fn running(world: &Place) -> Result<Session> {
    Session::needed(&world.repo, &world.repo.head()?)
}

fn codes(warnings: &[edt::base::Warning]) -> Vec<&'static str> {
    warnings.iter().map(|warning| warning.code).collect()
}

fn apply(root: &Path, request: &Value) -> Result<Vec<&'static str>> {
    let request = Request::from_json(request.to_string().as_bytes())?;
    Ok(codes(&txn::apply(&mut open(root)?, &request, Run::Real)?.warnings))
}

/// As `edt status` does.
fn settle(root: &Path) -> Result<Option<Settled>> {
    Ok(Place::read(root, &caller())?.1)
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

fn edit_of_a_persons_file(root: &Path) -> Result<Vec<&'static str>> {
    apply(root, &json!({"path": "b.txt", "mode": "append", "content": "more\n"}))
}

fn undo(root: &Path) -> Result<Vec<&'static str>> {
    let mut world = open(root)?;
    let session = running(&world)?;
    Ok(codes(&undo::undo(&mut world, &session, &Back::Edits(1))?.warnings))
}

fn redo(root: &Path) -> Result<Vec<&'static str>> {
    let mut world = open(root)?;
    let session = running(&world)?;
    Ok(codes(&undo::redo(&mut world, &session)?.warnings))
}

fn restore(root: &Path) -> Result<Vec<&'static str>> {
    let path = RepoPath::parse(b"a.txt").unwrap();
    Ok(codes(&txn::restore(&mut open(root)?, &path, 0)?.warnings))
}

fn checkpoint(root: &Path) -> Result<Vec<&'static str>> {
    Ok(codes(&record(&mut open(root)?, Why::Asked(None), &[])?.warnings))
}

/// What a program changed, refused: files and index go back, the bytes stay behind a ref.
fn put_back(root: &Path) -> Result<Vec<&'static str>> {
    let why = Ran { message: "run: x".to_owned(), agent: None };
    let mut judge = |_: &About<'_>| Ok(Fate::PutBack);
    Ok(codes(&record_judged(&mut open(root)?, Why::Run(&why), &[], &mut judge)?.warnings))
}

fn propose(root: &Path) -> Result<Vec<&'static str>> {
    let request = json!({"path": "a.txt", "mode": "append", "content": "more\n"});
    let request = Request::from_json(request.to_string().as_bytes())?;
    Ok(codes(&proposal::make::propose(&mut open(root)?, &request)?.warnings))
}

fn landing(root: &Path) -> Result<Vec<&'static str>> {
    let mut world = open(root)?;
    let session = running(&world)?;
    Ok(codes(&land(&mut world, &session, &Land::default())?.warnings))
}

fn begin_with(root: &Path, switching: Switching) -> Result<Vec<&'static str>> {
    let how = Begin { name: Some("s".into()), switching, base: None };
    Ok(codes(&begin::begin(&mut open(root)?, &how)?.1))
}

fn begin_switched(root: &Path) -> Result<Vec<&'static str>> {
    begin_with(root, Switching::AsConfigured)
}

fn begin_beside(root: &Path) -> Result<Vec<&'static str>> {
    begin_with(root, Switching::Never)
}

fn begin_elsewhere(root: &Path) -> Result<Vec<&'static str>> {
    let how = Begin { name: Some("s".into()), switching: Switching::AsConfigured, base: None };
    Ok(codes(&begin::begin_in(&mut open(root)?, &how, &root.with_extension("beside"))?.1))
}

fn leave(root: &Path) -> Result<Vec<&'static str>> {
    let mut world = open(root)?;
    let session = running(&world)?;
    Ok(codes(&abandon(&mut world, &session)?.warnings))
}

fn collect(root: &Path) -> Result<Vec<&'static str>> {
    let (repo, _) = Place::read(root, &caller())?;
    gc(&repo, Gc { before: i64::MAX, dry: false }).map(|_| Vec::new())
}

// --- the repositories -----------------------------------------------------------------------------------------------------

const FILES: &[(&str, &[u8])] =
    &[("a.txt", b"one\n"), ("b.txt", b"b\n"), ("dir/c.txt", b"c\n"), ("z.txt", b"z\n")];

fn plain() -> World {
    let world = World::with(FILES);
    world.write("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(
        world.root.join("run.sh"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "--amend", "-m", "all"]);
    world
}

fn session(switched: bool) -> World {
    let world = plain();
    world.edt(if switched { &["begin", "s"] } else { &["begin", "s", "--no-switch"] }).landed();
    world.overwrite("a.txt", "two\n");
    world
}

fn undone(switched: bool) -> World {
    let world = session(switched);
    world.edt(&["undo"]).landed();
    world
}

fn with_a_persons_bytes(switched: bool) -> World {
    let world = session(switched);
    world.write("b.txt", "a person's\n");
    world
}

fn main_moved() -> World {
    let world = session(true);
    world.git(&["switch", "--quiet", "main"]);
    world.commit(&[("b.txt", b"moved\n")]);
    world.git(&["switch", "--quiet", "edt/s"]);
    world
}

fn with_an_old_session() -> World {
    let world = session(true);
    world.edt(&["abandon"]).landed();
    world.edt(&["begin", "t"]).landed();
    world
}

fn in_both_modes(name: [&'static str; 2], template: fn(bool) -> World, act: Act) {
    meets_faults(name[0], || template(true), act);
    meets_faults(name[1], || template(false), act);
}

#[test]
fn an_edit() {
    alone("an_edit", || in_both_modes(["edit, switched", "edit, beside"], session, edit));
}

#[test]
fn an_edit_of_eight_files() {
    alone("an_edit_of_eight_files", || {
        in_both_modes(["8 files, switched", "8 files, beside"], session, eight_files)
    });
}

#[test]
fn a_deletion() {
    alone("a_deletion", || in_both_modes(["delete, switched", "delete, beside"], session, delete));
}

#[test]
fn a_rename() {
    alone("a_rename", || {
        in_both_modes(["rename, switched", "rename, beside"], session, rename_far)
    });
}

#[test]
fn an_executable_file() {
    alone("an_executable_file", || {
        in_both_modes(["executable, switched", "executable, beside"], session, executable);
        meets_faults("edit of an executable", || session(true), edit_of_an_executable);
    });
}

#[test]
fn an_edit_over_a_persons_bytes() {
    alone("an_edit_over_a_persons_bytes", || {
        in_both_modes(
            ["recorded, switched", "recorded, beside"],
            with_a_persons_bytes,
            edit_of_a_persons_file,
        );
    });
}

#[test]
fn an_undo() {
    alone("an_undo", || in_both_modes(["undo, switched", "undo, beside"], session, undo));
}

#[test]
fn a_redo() {
    alone("a_redo", || in_both_modes(["redo, switched", "redo, beside"], undone, redo));
}

#[test]
fn a_restored_file() {
    alone("a_restored_file", || {
        in_both_modes(["restore, switched", "restore, beside"], session, restore)
    });
}

#[test]
fn what_is_put_back() {
    alone("what_is_put_back", || {
        in_both_modes(
            ["recorded and put back, switched", "recorded and put back, beside"],
            with_a_persons_bytes,
            put_back,
        );
    });
}

#[test]
fn a_proposal() {
    alone("a_proposal", || {
        in_both_modes(["propose, switched", "propose, beside"], session, propose)
    });
}

#[test]
fn a_checkpoint() {
    alone("a_checkpoint", || {
        in_both_modes(
            ["checkpoint, switched", "checkpoint, beside"],
            with_a_persons_bytes,
            checkpoint,
        );
    });
}

#[test]
fn a_landing() {
    alone("a_landing", || {
        in_both_modes(["land, switched", "land, beside"], session, landing);
        meets_faults("land, merged", main_moved, landing);
    });
}

#[test]
fn a_beginning() {
    alone("a_beginning", || {
        meets_faults("begin, switched", plain, begin_switched);
        meets_faults("begin, beside", plain, begin_beside);
    });
}

#[test]
fn a_beginning_in_a_worktree_of_its_own() {
    alone("a_beginning_in_a_worktree_of_its_own", || {
        meets_faults("begin, elsewhere", plain, begin_elsewhere)
    });
}

#[test]
fn an_abandoned_session() {
    alone("an_abandoned_session", || {
        in_both_modes(["abandon, switched", "abandon, beside"], session, leave)
    });
}

#[test]
fn housekeeping() {
    alone("housekeeping", || meets_faults("gc", with_an_old_session, collect));
}

/// Each of these left something for ever, or answered what did not come true, when it was first tried.
#[test]
fn what_came_out_before() {
    alone("what_came_out_before", || {
        let of = |name, template, act| Trial::of(Case { name, template, act });
        let (unlink, rename) = (Effect::Unlink, Effect::Rename);
        // A lock, a file or a ref that settling could not remove or put back.
        of("delete, switched", session(true), delete)
            .twice((Effect::Write, "logs/HEAD"), (rename, "index"));
        of("redo, switched", undone(true), redo).twice((Effect::Link, "s.lock"), (rename, "a.txt"));
        of("begin, switched", plain(), begin_switched)
            .twice((Effect::Link, "edt/s"), (unlink, "refs/edt/s/base"));
        // An error that the next call made true; a lock and a pointer that stayed.
        let trial = of("abandon, switched", session(true), leave);
        trial.once(Fault::Once(Errno::IO), (Effect::Sync, "journal"));
        trial.once(Fault::Once(Errno::IO), (unlink, "refs/heads/edt/s.lock"));
        trial.once(Fault::Crash, (unlink, "refs/heads/edt/s"));
        let trial = of("abandon, beside", session(false), leave);
        trial.once(Fault::Once(Errno::IO), (unlink, "refs/worktree/edt/session"));
        // A pointer that outlived its landing; a missing line of HEAD's log; a torn line; folders that stayed.
        of("land, beside", session(false), landing)
            .once(Fault::Crash, (Effect::Open, "logs/refs/heads/main"));
        of("begin, switched", plain(), begin_switched)
            .once(Fault::Crash, (Effect::Open, "logs/HEAD"));
        of("edit, switched", session(true), edit).once(Fault::Crash, (Effect::Write, "logs/HEAD"));
        of("rename, switched", session(true), rename_far)
            .once(Fault::Once(Errno::IO), (rename, "e.txt"));
    });
}

// --- the trial ------------------------------------------------------------------------------------------------------------

/// Runs `test` in a process of its own, with a bare environment: the library reads its variables, and dates make commits.
fn alone(name: &str, test: impl FnOnce()) {
    const MARK: &str = "EDT_IT_ALONE";
    if std::env::var_os(MARK).is_some() {
        return test();
    }
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", &format!("faults::{name}")]).env_clear().env(MARK, "1");
    for name in ["PATH", "EDT_FAULTS", "TMPDIR"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    // Where a sync costs nothing: what the medium holds is another test's matter.
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
    assert!(done.status.success(), "{name}: {}\n{}", done.status, String::from_utf8_lossy(&said));
}

fn all_points() -> bool {
    std::env::var("EDT_FAULTS").is_ok_and(|value| value == "all")
}

/// Everything that is tried at one effect.
fn plans(at: usize, step: &Step) -> Vec<Plan> {
    let plan = |fault, torn| Plan { at, fault, torn };
    let write = step.0 == Effect::Write;
    let mut plans = vec![
        plan(Fault::Crash, write && at.is_multiple_of(2)),
        plan(Fault::Once(Errno::IO), false),
    ];
    plans.push(plan(Fault::Full(Errno::NOSPC), write));
    if !all_points() {
        // One kind at each effect, in turn.
        return vec![plans.swap_remove(at % 3)];
    }
    plans.extend([plan(Fault::Once(Errno::NOSPC), write), plan(Fault::Gone(Errno::IO), false)]);
    plans.extend(write.then(|| plan(Fault::Crash, !at.is_multiple_of(2))));
    plans
}

/// What was found wrong, and where.
type Faults = BTreeMap<String, Vec<String>>;

fn meets_faults(name: &'static str, template: impl FnOnce() -> World, act: Act) {
    let trial = Trial::of(Case { name, template: template(), act });
    let (mut faults, mut count) = (Faults::new(), 0);
    let mut folders = 0;
    for (i, step) in trial.steps.iter().enumerate() {
        // 256 folders for objects are made in a row: a few of them tell of all.
        folders += usize::from(step.0 == Effect::MakeFolder && step.1.as_os_str().len() == 2);
        if folders > 3 && folders != 250 && step.0 == Effect::MakeFolder {
            continue;
        }
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
    let told: Vec<String> =
        faults.iter().map(|(fault, at)| format!("{fault}\n    {}", at.join("\n    "))).collect();
    assert!(
        told.is_empty(),
        "{name}: {} kinds of faults in {count}:\n{}",
        told.len(),
        told.join("\n")
    );
}

/// A case, and what it is without faults.
struct Trial {
    case: Case,
    old: State,
    new: State,
    steps: Vec<Step>,
    dir: tempfile::TempDir,
    judged: RefCell<HashMap<u64, Option<String>>>,
}

impl Trial {
    fn of(case: Case) -> Trial {
        // Empty folders for objects cost each copy more than all the rest; Git removes them, too.
        let folders = std::fs::read_dir(case.template.root.join(".git/objects")).unwrap();
        folders.for_each(|folder| drop(std::fs::remove_dir(folder.unwrap().path())));
        let dir = tempfile::tempdir().unwrap();
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
            effect::under(Plan { at: 0, fault: Fault::None, torn: false }, || {
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
    fn fault(&self, plan: Plan) -> Vec<String> {
        let root = self.copy();
        let (answer, _) = effect::under(plan, || (self.case.act)(&root));
        self.after(&root, plan.fault, &self.steps[plan.at - 1], &answer)
    }

    /// The effect of `steps` that is of this kind, on a path that ends so.
    fn number(steps: &[Step], (effect, end): (Effect, &str)) -> usize {
        let at = steps.iter().position(|step| step.0 == effect && step.1.ends_with(end));
        at.unwrap_or_else(|| panic!("no {effect:?} of {end} among {steps:#?}")) + 1
    }

    fn once(&self, fault: Fault, at: (Effect, &str)) {
        let plan = Plan { at: Trial::number(&self.steps, at), fault, torn: at.0 == Effect::Write };
        assert_eq!(self.fault(plan), Vec::<String>::new(), "{}: {plan:?}", self.case.name);
    }

    /// A death, then an error in the settling.
    fn twice(&self, death: (Effect, &str), error: (Effect, &str)) {
        let plan = |at, fault| Plan { at, fault, torn: false };
        let death = plan(Trial::number(&self.steps, death), Fault::Crash);
        let root = self.copy();
        let _ = effect::under(death, || (self.case.act)(&root));
        let (_, settling) = effect::under(plan(0, Fault::None), || settle(&root).map(drop));
        let root = self.copy();
        let _ = effect::under(death, || (self.case.act)(&root));
        let error = plan(Trial::number(&settling, error), Fault::Once(Errno::IO));
        let (answer, _) = effect::under(error, || settle(&root).map(drop));
        assert!(answer.is_err(), "{}: {death:?}, {error:?}", self.case.name);
        let mut found = self.judge(&root, None, Hands::Tied);
        found.extend(self.goes_on(&root));
        assert_eq!(found, Vec::<String>::new(), "{}: {death:?}, {error:?}", self.case.name);
    }

    fn after(
        &self,
        root: &Path,
        fault: Fault,
        step: &Step,
        answer: &Result<Vec<&'static str>>,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        let must_be = match answer {
            _ if fault == Fault::Crash => None,
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
            Fault::Crash | Fault::Gone(_) => true,
            Fault::Full(_) if self.case.name == "begin, elsewhere" => true,
            Fault::Once(_) | Fault::Full(_) => {
                matches!(step.0, Effect::Unlink | Effect::RemoveFolder)
            }
            Fault::None => false,
        };
        faults.extend(self.judge(root, must_be, if tied { Hands::Tied } else { Hands::Free }));
        faults.extend(self.goes_on(root));
        faults
    }

    /// Settles twice, then compares with `must_be`, else with both the old and the new state.
    fn judge(&self, root: &Path, must_be: Option<&State>, hands: Hands) -> Vec<String> {
        let mut faults = Vec::new();
        if let Err(error) = settle(root) {
            return vec![format!("it cannot be settled: {error}")];
        }
        let left = State::of(root);
        let is = |state: &State| left.seen(hands) == state.seen(hands);
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
        match settle(root) {
            Ok(None) => {}
            Ok(Some(again)) => faults.push(format!("it is settled again: {again:?}")),
            Err(error) => faults.push(format!("it cannot be settled again: {error}")),
        }
        faults.extend(leftovers(root, hands));
        faults.extend(self.sound(root));
        faults.extend(self.clean_by_git(root));
        faults
    }

    /// Whether it is a state that the command documents as between the two: what `gc` removed stays removed; a session that was to have
    /// a worktree of its own may have none, or one that Git did not fill yet.
    fn is_half(&self, left: &State, hands: Hands) -> bool {
        match self.case.name {
            "gc" => *left == self.new,
            "begin, elsewhere" if hands == Hands::Tied => [&self.old, &self.new]
                .iter()
                .any(|state| state.without_worktrees() == left.without_worktrees()),
            _ => false,
        }
    }

    /// What `git fsck` says; asked once for each set of refs and objects.
    fn sound(&self, root: &Path) -> Option<String> {
        let mut objects = Snapshot::new();
        walk(&root.join(".git/objects"), "", &mut objects);
        objects.retain(|name, bytes| bytes != b"a folder" && !name.contains("tmp_obj"));
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

    /// What `git status` says; asked once for each set of files and entries. No entry may pass by its stat alone.
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
            && !["recorded", "checkpoint"].iter().any(|name| self.case.name.starts_with(name))
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

    /// A death at some effect, then another fault at every effect of the settling; how many there were.
    fn doubles(&self, faults: &mut Faults) -> usize {
        let mut count = 0;
        let share = if all_points() { 11 } else { 17 };
        // A fixed share, another one for each case.
        let first = self.case.name.len() % share;
        for n in (1..=self.steps.len()).filter(|n| n % share == first) {
            let crash = Plan { at: n, fault: Fault::Crash, torn: false };
            let crashed = || {
                let root = self.copy();
                let _ = effect::under(crash, || (self.case.act)(&root));
                root
            };
            let root = crashed();
            let none = Plan { at: 0, fault: Fault::None, torn: false };
            let (_, settling) = effect::under(none, || settle(&root).map(drop));
            let mut folders = 0;
            for (m, step) in (1..).zip(&settling) {
                folders +=
                    usize::from(step.0 == Effect::MakeFolder && step.1.as_os_str().len() == 2);
                if folders > 2 {
                    continue;
                }
                for fault in [Fault::Crash, Fault::Once(Errno::IO), Fault::Full(Errno::NOSPC)] {
                    if !all_points() && (m * 2 + n) % 9 != fault_number(fault) {
                        continue;
                    }
                    let root = crashed();
                    let plan = Plan { at: m, fault, torn: step.0 == Effect::Write };
                    let (answer, _) = effect::under(plan, || settle(&root).map(drop));
                    let mut found = self.judge(&root, None, Hands::Tied);
                    found.extend(
                        answer
                            .err()
                            .filter(|_| fault != Fault::Crash)
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

fn fault_number(fault: Fault) -> usize {
    match fault {
        Fault::Crash => 0,
        Fault::Once(_) => 1,
        _ => 2,
    }
}

/// Why an error is not one that a caller can act on.
fn uncoded(error: &Findings) -> Option<String> {
    let found = error.clone().into_vec();
    let bad = found.is_empty()
        || found.iter().any(|finding| finding.code == Code::Internal || finding.hint.is_empty());
    bad.then(|| format!("an answer that nobody can act on: {error}"))
}

impl State {
    fn empty() -> State {
        State { files: Snapshot::new(), refs: Snapshot::new(), index: Vec::new() }
    }

    fn of(root: &Path) -> State {
        let (mut files, mut refs) = (Snapshot::new(), Snapshot::new());
        walk(root, "", &mut files);
        walk(&root.with_extension("beside"), "beside/", &mut files);
        files.remove("beside/.git");
        let git = root.join(".git");
        let mut below = Snapshot::new();
        for folder in ["refs", "logs", "worktrees"] {
            walk(&git.join(folder), &format!("{folder}/"), &mut below);
        }
        let kept = |name: &String, bytes: &Vec<u8>| {
            let name = Path::new(name);
            bytes.as_slice() != b"a folder"
                && !name.ends_with("index")
                && !name.ends_with("ORIG_HEAD")
        };
        refs.extend(below.into_iter().filter(|(name, bytes)| kept(name, bytes)));
        for name in ["HEAD", "packed-refs"] {
            refs.extend(std::fs::read(git.join(name)).ok().map(|bytes| (name.to_owned(), bytes)));
        }
        State { files, refs, index: entries(&git.join("index")) }
    }

    /// What counts: empty folders do not, where they could not be removed.
    fn seen(&self, hands: Hands) -> State {
        let mut seen = self.clone();
        seen.files.retain(|_, bytes| hands == Hands::Free || bytes != b"a folder");
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

/// What no settled repository has: locks, half of a landing; and, if the process could remove them, staged files.
fn leftovers(root: &Path, hands: Hands) -> Vec<String> {
    let mut git = Snapshot::new();
    walk(&root.join(".git"), "", &mut git);
    let known = [
        "edt",
        "edt/main",
        "edt/main/journal",
        "edt/main/lock",
        "edt/main/ref",
        "edt/main/told",
        "edt/main/proposals-awaited",
        "edt/main/proposals-awaiting",
        // Of a call that was killed while it wrote that.
        "edt/main/proposals-awaited.edt-new",
        "edt/main/journal.new",
        "edt/main/stage/index.own",
        "edt/main/stage/index.before",
    ];
    let odd = |name: &&String| {
        let staged = name.starts_with("edt")
            && !known.contains(&name.as_str())
            && name.as_str() != "edt/main/stage";
        let staged = staged && (hands == Hands::Free || !name.starts_with("edt/main/stage/"));
        staged || Path::new(name).extension().is_some_and(|ext| ext == "lock")
    };
    git.keys().filter(odd).map(|name| format!("left over: {name}")).collect()
}

/// Paths whose entry bears the very stat of the file, and another object than its bytes.
fn lying_entries(root: &Path) -> Vec<String> {
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

/// Copies a folder with times and permissions; holes stay holes.
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

/// Puts the stats of the copied files into the index, as `git update-index --refresh` does where nothing changed.
fn refresh(root: &Path) {
    let repo = Repo::open(root).unwrap();
    let path = root.join(".git/index");
    let mut index = Index::parse(std::fs::read(&path).unwrap(), 20).unwrap();
    let dir = Dir::open(root).unwrap();
    for entry in entries(&path) {
        let [_, id, _, name] = entry.splitn(4, ' ').collect::<Vec<_>>().try_into().unwrap();
        let name = RepoPath::from_tree(name.as_bytes());
        if let Ok(Parent::Open(folder)) = dir.beneath(name.split().0)
            && let Ok(Found::File(stat, bytes)) = folder.read(name.split().1)
            && repo.blob_id(&bytes).unwrap().to_string().as_str() == id
        {
            index.restat(&name, &stat);
        }
    }
    std::fs::write(&path, index.finish(|bytes| repo.checksum(bytes))).unwrap();
}
