use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::*;
use crate::Oid;
use crate::swap::lock_path;
use edt_io::effect::{FaultPlan, InjectedFault, with_plan};
use edt_types::Code;

const MAIN: &str = "refs/heads/main";

struct Tables {
    root: tempfile::TempDir,
    first: Oid,
    second: Oid,
}

impl Tables {
    fn new(format: &str) -> Tables {
        let root = edt_testkit::tempdir().unwrap();
        let null = Oid::null(gix::hash::Kind::Sha1);
        let mut made = Tables { root, first: null, second: null };
        made.git(&["init", "-q", "-b", "main", "--ref-format=reftable", format], "");
        let tree = made.git(&["mktree"], "");
        let commit = |text| made.git(&["commit-tree", "-m", text, tree.trim()], "");
        let oids = ["one", "two"].map(|text| Oid::from_hex(commit(text).trim().as_bytes()));
        [made.first, made.second] = oids.map(std::result::Result::unwrap);
        made.refs(&format!("create refs/heads/main {}\n", made.first));
        made
    }

    #[expect(clippy::disallowed_methods, reason = "Git writes what is read")]
    fn git(&self, args: &[&str], input: &str) -> String {
        let mut command = Command::new("git");
        command.current_dir(self.root.path()).args(["-c", "user.name=U", "-c", "user.email=u@x"]);
        command.args(["-c", "core.logAllRefUpdates=always"]).args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{args:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    fn refs(&self, commands: &str) {
        self.git(&["update-ref", "--no-deref", "-m", "why", "--stdin"], commands);
    }

    fn repo(&self) -> Repo {
        {
            let repo = Repo::open(self.root.path()).unwrap();
            std::fs::create_dir_all(repo.state_path()).unwrap();
            repo
        }
    }

    /// The tables in the directory, sorted by name.
    fn directory(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.root.path().join(".git").join(NAME)).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("0x")).collect();
        names.sort_unstable();
        names
    }

    fn is_sound(&self) {
        assert_eq!(self.git(&["fsck", "--strict", "--no-dangling"], ""), "");
    }

    /// All refs that Git lists, with their values.
    fn listed(&self) -> Vec<(String, Oid)> {
        let text = self.git(&["for-each-ref", "--format=%(refname) %(objectname)"], "");
        let split = |line: &str| {
            let (name, oid) = line.split_once(' ').unwrap();
            (name.to_owned(), Oid::from_hex(oid.as_bytes()).unwrap())
        };
        text.lines().map(split).collect()
    }
}

#[test]
fn refs_and_logs_are_those_that_git_lists() {
    for format in ["--object-format=sha1", "--object-format=sha256"] {
        let tables = Tables::new(format);
        let (first, second) = (tables.first, tables.second);
        // Enough for indexes of refs and of log entries with several levels.
        let many: String =
            (0..9_000).map(|n| format!("create refs/heads/many/{n:05} {first}\n")).collect();
        tables.refs(&many);
        tables.refs(&format!("update refs/heads/many/04711 {second}\n"));
        tables.refs(&format!("delete refs/heads/many/00815 {first}\n"));
        tables.git(&["tag", "-a", "-m", "t", "tag", &first.to_string()], "");
        for packed in [false, true] {
            if packed {
                tables.git(&["pack-refs", "--all"], "");
            }
            let repo = tables.repo();
            let listed = tables.listed();
            assert_eq!(repo.refs_below("refs/").unwrap(), listed);
            for (name, oid) in listed.iter().step_by(97) {
                assert_eq!(repo.ref_value(name).unwrap(), Some(*oid), "{name}");
            }
            assert_eq!(repo.ref_value("refs/heads/many/00815").unwrap(), None);
            assert_eq!(repo.ref_value("refs/heads/many/").unwrap(), None);
            assert_eq!(repo.head().unwrap().branch.as_deref(), Some("refs/heads/main"));
            let name = "refs/heads/many/04711";
            let log = String::from_utf8(repo.log_text(name).unwrap()).unwrap();
            let git = tables.git(&["reflog", "show", "--format=%H %gs", name], "");
            let shown: Vec<String> = log.lines().rev().map(to_and_message).collect();
            assert_eq!(shown, git.lines().collect::<Vec<_>>());
            let last = repo.last_move(name).unwrap();
            assert_eq!((last.from, last.to), (first, second));
            assert_eq!(repo.log_text("refs/heads/none").as_deref(), Some(&b""[..]));
        }
    }
}

fn to_and_message(line: &str) -> String {
    let (head, message) = line.split_once('\t').unwrap();
    format!("{} {message}", head.split(' ').nth(1).unwrap())
}

#[test]
fn a_ref_is_created_moved_and_deleted() {
    for format in ["--object-format=sha1", "--object-format=sha256"] {
        let tables = Tables::new(format);
        let (repo, name) = (tables.repo(), "refs/heads/edt/x");
        let (first, second) = (tables.first, tables.second);
        let created = NewLogEntry { name, from: repo.null(), to: first, message: "created" };
        repo.change_refs(&[RefUpdate::Create { name, to: first }], &[created]).unwrap();
        repo.create_ref(name, first).unwrap();
        let moved = NewLogEntry { name, from: first, to: second, message: "moved\nto" };
        let swap = RefUpdate::Move { name, from: first, to: second };
        repo.change_refs(&[swap], &[moved, NewLogEntry { message: "again", ..moved }]).unwrap();
        let error = repo.change_refs(&[swap], &[]).unwrap_err();
        assert!(error.any(|finding| finding.code == Code::SessionMoved));
        let error = repo.create_ref(name, first).unwrap_err();
        assert!(error.any(|finding| finding.code == Code::SessionMoved));
        let log = tables.git(&["reflog", "show", "--format=%H %gs", name], "");
        assert_eq!(log, format!("{second} again\n{second} moved to\n{first} created\n"));
        repo.set_symbolic_ref("HEAD", name).unwrap();
        assert!(repo.head_is_on(name).unwrap());
        assert_eq!(tables.git(&["symbolic-ref", "HEAD"], ""), format!("{name}\n"));
        repo.set_symbolic_ref("refs/worktree/edt", name).unwrap();
        repo.delete_symbolic_ref("refs/worktree/edt", "refs/heads/main").unwrap();
        assert_eq!(repo.symbolic_ref("refs/worktree/edt").unwrap().as_deref(), Some(name));
        repo.delete_symbolic_ref("refs/worktree/edt", name).unwrap();
        assert_eq!(repo.symbolic_ref("refs/worktree/edt").unwrap(), None);
        repo.set_symbolic_ref("HEAD", &first.to_string()).unwrap();
        assert_eq!(repo.head_target().unwrap(), Some(first.to_string()));
        assert!(repo.delete_ref(name, first).is_err());
        repo.drop_created_ref(name, first).unwrap();
        assert_eq!(repo.ref_value(name).unwrap(), Some(second));
        repo.delete_ref(name, second).unwrap();
        repo.delete_ref(name, second).unwrap();
        assert_eq!(repo.ref_value(name).unwrap(), None);
        assert_eq!(tables.git(&["reflog", "list"], "").lines().count(), 2);
        tables.is_sound();
    }
}

#[test]
fn a_ref_below_another_one_is_refused() {
    let tables = Tables::new("--object-format=sha1");
    let repo = tables.repo();
    for name in ["refs/heads/main/x", "refs/heads"] {
        let error = repo.create_ref(name, tables.first).unwrap_err();
        assert!(error.any(|finding| finding.summary.contains("refs/heads/main exists")), "{error}");
    }
    repo.create_ref("refs/heads/main-x", tables.first).unwrap();
    repo.delete_ref("refs/heads/main", tables.first).unwrap();
    repo.create_ref("refs/heads/main/x", tables.first).unwrap();
    tables.is_sound();
}

#[test]
fn the_lock_of_another_program_is_waited_for_and_stays() {
    let tables = Tables::new("--object-format=sha1");
    let repo = tables.repo();
    let lock = lock_path(&repo.tables_list("refs/heads/x"));
    std::fs::write(&lock, "").unwrap();
    let before = tables.directory();
    let error = repo.create_ref("refs/heads/x", tables.first).unwrap_err();
    assert!(error.any(|finding| finding.code == Code::SessionBusy), "{error}");
    assert!(repo.check_unlocked("refs/heads/x").is_err());
    repo.unlock_ref("refs/heads/x").unwrap();
    assert_eq!((repo.own_ref_locks(), repo.unlock_own_refs().unwrap()), (vec![], vec![]));
    assert_eq!(tables.directory(), before);
    std::fs::remove_file(lock).unwrap();
    repo.create_ref("refs/heads/x", tables.first).unwrap();
}

/// What a killed call leaves before each of its steps, up to the rename.
#[test]
fn the_next_call_removes_what_a_killed_one_left() {
    let plan = |at, fault| FaultPlan { at, fault, torn: false };
    let change = |tables: &Tables, repo: &Repo| {
        let to = tables.second;
        repo.change_refs(&[RefUpdate::Move { name: MAIN, from: tables.first, to }], &[])
    };
    let counted = Tables::new("--object-format=sha1");
    let repo = counted.repo();
    let (done, effects) = with_plan(plan(0, InjectedFault::None), || change(&counted, &repo));
    done.unwrap();
    assert!(effects.len() > 10, "{effects:?}");
    for at in 1..=effects.len() {
        let tables = Tables::new("--object-format=sha1");
        let crash = plan(at, InjectedFault::Crash);
        let (done, _) = with_plan(crash, || change(&tables, &tables.repo()));
        let repo = tables.repo();
        let value = repo.ref_value(MAIN).unwrap();
        assert!(value == Some(tables.second) || done.is_err() && value == Some(tables.first));
        let git = tables.git(&["rev-parse", "main"], "");
        assert_eq!(value.map(|oid| format!("{oid}\n")), Some(git));
        repo.unlock_own_refs().unwrap();
        assert_eq!(repo.own_ref_locks(), Vec::<PathBuf>::new());
        assert!(!lock_path(&repo.tables_list(MAIN)).exists(), "{at}");
        repo.create_ref("refs/heads/x", tables.first).unwrap();
        let list = std::fs::read_to_string(repo.tables_list(MAIN)).unwrap();
        let mut listed: Vec<&str> = list.lines().collect();
        listed.sort_unstable();
        assert_eq!(tables.directory(), listed, "{at} {:?}", effects[at - 1]);
        tables.is_sound();
    }
}

#[test]
fn a_table_that_git_merges_is_not_merged() {
    let tables = Tables::new("--object-format=sha1");
    let repo = tables.repo();
    repo.create_ref("refs/heads/a", tables.first).unwrap();
    let [only] = tables.directory().try_into().unwrap();
    let lock = tables.root.path().join(".git/reftable").join(format!("{only}.lock"));
    std::fs::write(&lock, "").unwrap();
    repo.create_ref("refs/heads/b", tables.first).unwrap();
    repo.create_ref("refs/heads/c", tables.first).unwrap();
    let listed = std::fs::read_to_string(repo.tables_list(MAIN)).unwrap();
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.starts_with(&only));
    std::fs::remove_file(lock).unwrap();
    repo.create_ref("refs/heads/d", tables.first).unwrap();
    assert_eq!(tables.directory().len(), 1);
    tables.is_sound();
}

/// Random changes beside those of Git. Git and edt read the same, whoever wrote last.
#[test]
fn random_changes_are_those_that_git_lists() {
    for (format, seed) in [("--object-format=sha1", 1), ("--object-format=sha256", 2)] {
        let tables = Tables::new(format);
        let repo = tables.repo();
        let mut bits = seed;
        let mut random = |below: usize| {
            bits = u64::wrapping_add(u64::wrapping_mul(bits, 6_364_136_223_846_793_005), 1);
            usize::try_from(bits >> 33).unwrap() % below
        };
        let name = |n: usize| {
            format!("refs/heads/{}/{n:04}{}", n % 7, ["", "long-".repeat(40).as_str()][n % 2])
        };
        let mut expected = BTreeMap::from([(MAIN.to_owned(), tables.first)]);
        for round in 0..60 {
            // Some of them need an index of refs or of log entries.
            let count = [1, 3, 40, 400][random(4)];
            let mut names: Vec<String> = (0..count).map(|_| name(random(900))).collect();
            names.sort();
            names.dedup();
            let (mut updates, mut logs) = (Vec::new(), Vec::new());
            for name in &names {
                let to = [tables.first, tables.second][random(2)];
                let old = expected.get(name).copied();
                let message = ["one", "two"][random(2)];
                let from = old.unwrap_or(repo.null());
                match old {
                    Some(from) if random(3) == 0 => updates.push(RefUpdate::Delete { name, from }),
                    Some(from) => updates.push(RefUpdate::Move { name, from, to }),
                    None => updates.push(RefUpdate::Create { name, to }),
                }
                if let Some(RefUpdate::Delete { .. }) = updates.last() {
                    expected.remove(name);
                } else {
                    logs.push(NewLogEntry { name, from, to, message });
                    expected.insert(name.clone(), to);
                }
            }
            if random(4) > 0 {
                repo.change_refs(&updates, &logs).unwrap();
            } else {
                let line = |update: &RefUpdate<'_>| match *update {
                    RefUpdate::Create { name, to } => format!("create {name} {to}\n"),
                    RefUpdate::Move { name, from, to } => format!("update {name} {to} {from}\n"),
                    RefUpdate::Delete { name, from } => format!("delete {name} {from}\n"),
                    _ => String::new(),
                };
                tables.refs(&updates.iter().map(line).collect::<String>());
            }
            if round % 10 == 9 {
                let listed: Vec<(String, Oid)> = expected.clone().into_iter().collect();
                assert_eq!(tables.listed(), listed, "round {round}");
                assert_eq!(repo.refs_below("refs/").unwrap(), listed, "round {round}");
                for name in names.iter().take(5).map(String::as_str).chain([MAIN]) {
                    let log = String::from_utf8(repo.log_text(name).unwrap()).unwrap();
                    let shown: Vec<String> = log.lines().rev().map(to_and_message).collect();
                    let show = ["reflog", "show", "--format=%H %gs", name];
                    let is_there = expected.contains_key(name);
                    let git = if is_there { tables.git(&show, "") } else { String::new() };
                    assert_eq!(shown, git.lines().collect::<Vec<_>>(), "{name} in {round}");
                    assert_eq!(repo.ref_value(name).unwrap(), expected.get(name).copied());
                }
                assert!(tables.directory().len() < 12, "{:?}", tables.directory());
            }
        }
        tables.git(&["pack-refs", "--all"], "");
        let listed: Vec<(String, Oid)> = expected.into_iter().collect();
        assert_eq!(repo.refs_below("refs/").unwrap(), listed);
        tables.is_sound();
    }
}

/// The log of many long names has an index of several levels.
#[test]
fn a_large_table_is_read_by_git() {
    let tables = Tables::new("--object-format=sha1");
    let repo = tables.repo();
    let long = "l".repeat(180);
    let names: Vec<String> = (0..6_000).map(|n| format!("refs/heads/{n:04}{long}{n:04}")).collect();
    let to = tables.first;
    let updates: Vec<_> = names.iter().map(|name| RefUpdate::Create { name, to }).collect();
    let from = repo.null();
    let entry = |name| NewLogEntry { name, from, to, message: "why" };
    let logs: Vec<_> = names.iter().map(|name| entry(name)).collect();
    repo.change_refs(&updates, &logs).unwrap();
    assert_eq!(tables.listed(), repo.refs_below("refs/").unwrap());
    assert_eq!(tables.git(&["reflog", "list"], "").lines().count(), names.len() + 2);
    for name in names.iter().step_by(211).chain(names.last()) {
        assert_eq!(repo.ref_value(name).unwrap(), Some(to), "{name}");
        assert_eq!(repo.last_move(name).map(|last| last.to), Some(to), "{name}");
        let git = tables.git(&["reflog", "show", "--format=%H %gs", name], "");
        assert_eq!(git, format!("{to} why\n"));
        assert_eq!(tables.git(&["rev-parse", name], ""), format!("{to}\n"));
    }
    tables.is_sound();
}

#[test]
fn a_damaged_table_is_an_error() {
    let tables = Tables::new("--object-format=sha1");
    tables.git(&["pack-refs", "--all"], "");
    let directory = tables.root.path().join(".git").join(NAME);
    let table = std::fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.path());
    let table = table.into_iter().find(|path| path.extension().is_some()).unwrap();
    let table = match table.file_name().unwrap().to_str() {
        Some(LIST) => {
            let list = std::fs::read_to_string(&table).unwrap();
            directory.join(list.trim_end())
        }
        _ => table,
    };
    let whole = std::fs::read(&table).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        let _ = std::fs::remove_file(&table);
        std::fs::write(&table, &bytes).unwrap();
        // No byte makes it panic, or hang.
        if let Ok(stack) = Stack::open(&tables.root.path().join(".git")) {
            let _ = (stack.below("refs/"), stack.target("HEAD"), stack.log("refs/heads/main"));
        }
    }
    std::fs::write(&table, &whole[..whole.len() / 2]).unwrap();
    assert!(Stack::open(&tables.root.path().join(".git")).is_err());
}
