//! What is recorded of a program at the system call, and comes back with `edt undo`.

use std::path::Path;

use crate::test_repo::{Answer, TestRepo};

/// A repository in which a user of level `level` lets everything run.
fn repo(level: &str) -> TestRepo {
    let repo = TestRepo::with(&[("a.txt", b"one\n"), (".gitignore", b"*.log\n/program\n")]);
    std::fs::create_dir_all(repo.home.join(".config/edt")).unwrap();
    let policy = format!("[run]\nsandbox = \"{level}\"\nunknown = \"allow\"\n");
    std::fs::write(repo.home.join(".config/edt/edt.toml"), policy).unwrap();
    repo
}

/// Runs `text` with sh as a program of its own.
fn runs(repo: &TestRepo, flags: &[&str], text: &str) -> Answer {
    let program = repo.root.join("program");
    std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    repo.runs(flags, &["./program"])
}

/// The message of the warning with this code.
fn warning<'a>(answer: &'a Answer, code: &str) -> &'a str {
    let warnings = answer.json["warnings"].as_array().unwrap();
    let found = warnings.iter().find(|one| one["code"] == code);
    found.unwrap_or_else(|| panic!("{:#}", answer.json))["message"].as_str().unwrap()
}

#[test]
fn a_file_with_several_names_comes_back_under_each_of_them() {
    let repo = repo("standard");
    let link = |from: &Path, to: &Path| std::fs::hard_link(from, to).unwrap();
    link(&repo.root.join("a.txt"), &repo.root.join("b.log"));
    link(&repo.root.join("a.txt"), &repo.root.join("c.txt"));
    let outside = repo.home.join("outside");
    link(&repo.root.join("a.txt"), &outside);
    let answer = runs(&repo, &[], "echo two > a.txt");
    assert!(warning(&answer, "hard_linked").contains("hard links"), "{:#}", answer.json);
    repo.edt(&["undo"]);
    for name in ["a.txt", "b.log", "c.txt"] {
        assert_eq!(repo.read(name), b"one\n", "{name}: {:#}", answer.json);
    }
    assert_eq!(std::fs::read(outside).unwrap(), b"two\n");
}

#[test]
fn a_run_in_a_run_is_recorded_by_the_outer_one() {
    for level in ["permissive", "standard"] {
        let repo = repo(level);
        let inner = format!("{} run --json -- touch inner.txt", crate::test_repo::EDT);
        let answer = runs(&repo, &[], &inner);
        assert_eq!(answer.json["run"]["exit_code"], 0, "{level}: {:#}", answer.json);
        let printed = answer.json["run"]["stdout"]["text"].as_str().unwrap();
        let inner: serde_json::Value = serde_json::from_str(printed).unwrap();
        let found = (&inner["run"]["capture"], &inner["run"]["sandbox"]["level"], &inner["commit"]);
        let expected = (&"outer".into(), &level.into(), &serde_json::Value::Null);
        assert_eq!(found, expected, "{level}: {inner:#}");
        assert_eq!(answer.json["run"]["capture"], "recorded");
        assert_eq!(answer.json["files"][0]["path"], "inner.txt", "{level}: {:#}", answer.json);
        // A stricter level than that of the outer run cannot be had.
        if level == "standard" {
            let inner = format!("{} run --sandbox strict -- true", crate::test_repo::EDT);
            let answer = runs(&repo, &[], &inner);
            assert_eq!(answer.json["run"]["exit_code"], 5, "{:#}", answer.json);
        }
    }
}

#[test]
fn a_run_that_reaches_its_time_limit_says_what_was_recorded() {
    let repo = repo("permissive");
    let answer = runs(&repo, &["--timeout", "0.5"], "echo n > n.txt; sleep 20");
    assert_eq!(answer.codes(), ["COMMAND_TIMEOUT"], "{:#}", answer.json);
    let message = answer.json["errors"][0]["message"].as_str().unwrap();
    let commit = &answer.json["commit"].as_str().unwrap()[..12];
    let recorded = format!("What it had changed until then is recorded as {commit}: 1 file.");
    assert!(message.contains(&recorded), "{message}");
    let mut edt = repo.command(crate::test_repo::EDT);
    let printed = edt.args(["run", "--timeout", "0.5", "--", "./program"]).output().unwrap();
    let text = String::from_utf8_lossy(&printed.stderr).into_owned();
    assert!(!text.contains("rolled back"), "{text}");
    let answer = runs(&repo, &["--timeout", "0.5"], "sleep 20");
    let message = answer.json["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("It had changed nothing that is recorded."), "{message}");
}

/// Makes a server and its client at each place, and prints which worked. A name that begins with
/// `=` belongs to somebody else.
const SOCKETS: &str = "import os, socket, sys
def unix(path):
    if path[0] == '=':
        socket.socket(socket.AF_UNIX).connect(path[1:]); return
    s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen()
    c = socket.socket(socket.AF_UNIX); c.connect(path); s.accept()[0].send(b'x'); c.recv(1)
def tcp(_):
    s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); socket.create_connection(s.getsockname())
def pair(path):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b'x', path[1:])
T = os.environ['TMPDIR']
for f, path in (unix, 'tree.sock'), (unix, T + '/t.sock'), (unix, '=' + sys.argv[1]), (unix, '\\0edt-' + str(os.getpid())), (tcp, ''), (pair, '=' + sys.argv[2]):
    try: f(path); print('yes', end=' ')
    except OSError: print('no', end=' ')
sys.exit(1)
";

#[test]
fn a_program_has_sockets_of_its_own_and_reaches_no_others() {
    use std::os::unix::net::{UnixDatagram, UnixListener};
    for (level, expected) in [
        // The worktree, TMPDIR, somebody else's, an abstract name, TCP, a pair of datagrams.
        ("standard", "yes yes no no no no "),
        ("strict", "yes yes no yes yes no "),
    ] {
        let repo = repo(level);
        let others = ["s", "d"].map(|name| repo.home.join(name));
        let _server = UnixListener::bind(&others[0]).unwrap();
        let _datagrams = UnixDatagram::bind(&others[1]).unwrap();
        repo.write("sockets.py", SOCKETS);
        let [server, datagrams] = others.each_ref().map(|path| path.to_str().unwrap());
        let answer = repo.runs(&[], &["python3", "sockets.py", server, datagrams]);
        let printed = answer.json["run"]["stdout"]["text"].as_str().unwrap();
        assert_eq!(printed, expected, "{level}: {:#}", answer.json);
        if level == "standard" {
            assert!(warning(&answer, "sandbox_denied").contains("--sandbox strict"));
        }
    }
}

#[test]
fn a_denied_write_outside_is_said_if_the_program_fails() {
    let repo = repo("standard");
    for (end, says) in [("exit 1", true), ("true", false)] {
        let text = format!("mkdir /usr/edt-test; {end}");
        let answer = runs(&repo, &[], &text);
        let warnings = answer.json["warnings"].as_array().unwrap();
        let said = warnings.iter().any(|one| one["code"] == "sandbox_denied");
        assert_eq!(said, says, "{:#}", answer.json);
        if says {
            let message = warning(&answer, "sandbox_denied");
            assert!(message.contains("/usr/edt-test") && message.contains("writable"), "{message}");
        }
    }
}

#[test]
fn a_file_in_place_of_a_directory_is_refused_and_every_file_comes_back() {
    for text in ["rm -rf d; echo file > d", "mv d e; ln -s e d", "mv d e; echo file > d"] {
        let repo = repo("standard");
        let all = [("d/tracked", "1\n"), ("d/deep/untracked", "2\n"), ("d/x.log", "3\n")];
        all.iter().for_each(|(path, bytes)| repo.write(path, bytes));
        repo.git(&["add", "d/tracked"]);
        repo.git(&["commit", "--quiet", "-m", "d"]);
        repo.write("a.txt", "by the user\n");
        let text = format!("{text}; echo other > a.txt; echo new > n.txt");
        let answer = runs(&repo, &[], &text);
        assert_eq!(answer.codes(), ["NOT_A_FILE"], "{text}: {:#}", answer.json);
        for (path, bytes) in all.iter().chain(&[("a.txt", "by the user\n")]) {
            assert_eq!(repo.read(path), bytes.as_bytes(), "{text}: {path}");
        }
        assert!(!repo.exists("n.txt") && !repo.exists("e"), "{text}");
        // What the program had written is kept.
        let kept = repo.root.join(".git/edt/main/kept/1");
        assert_eq!(std::fs::read(kept.join("n.txt")).unwrap(), b"new\n", "{text}");
    }
}

#[test]
fn permissions_alone_are_recorded_and_come_back() {
    use std::os::unix::fs::PermissionsExt as _;
    let repo = repo("standard");
    repo.write("x.log", "x\n");
    let set = |name: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(repo.root.join(name), mode).unwrap();
    };
    let modes = || {
        ["a.txt", "x.log"]
            .map(|name| repo.root.join(name).metadata().unwrap().permissions().mode() & 0o777)
    };
    set("a.txt", 0o644);
    set("x.log", 0o640);
    for (script, after) in [
        ("chmod 600 a.txt x.log", [0o600, 0o600]),
        ("chmod 755 a.txt x.log", [0o755, 0o755]),
        ("echo more >> x.log; chmod 604 x.log", [0o644, 0o604]),
    ] {
        let answer = runs(&repo, &[], script);
        assert_eq!(modes(), after, "{script}");
        assert_ne!(answer.json["commit"], serde_json::Value::Null, "{script}: {:#}", answer.json);
        repo.edt(&["undo"]);
        assert_eq!(modes(), [0o644, 0o640], "{script}");
        repo.edt(&["redo"]);
        assert_eq!(modes(), after, "{script}");
        repo.edt(&["undo"]);
    }
    // The user's own permissions stay.
    runs(&repo, &[], "chmod 600 a.txt x.log; echo more >> a.txt");
    set("a.txt", 0o640);
    repo.edt(&["undo"]);
    assert_eq!(modes(), [0o640, 0o640]);
}

/// The last copy of what was at `path`.
fn kept(repo: &TestRepo, path: &str) -> std::path::PathBuf {
    let place = |number: u32| repo.root.join(format!(".git/edt/main/kept/{number}/{path}"));
    (1..20).rev().map(place).find(|place| place.exists()).unwrap()
}

#[test]
fn a_file_that_a_refused_program_left_open_comes_back() {
    let repo = TestRepo::with(&[("edt.toml", b"[[protect]]\npaths = [\"ci/**\"]\n")]);
    std::fs::create_dir_all(repo.home.join(".config/edt")).unwrap();
    std::fs::write(repo.home.join(".config/edt/edt.toml"), "[run]\nunknown = \"allow\"\n").unwrap();
    repo.write("mine", "mine\n");
    let answer = runs(
        &repo,
        &[],
        "mkdir ci; echo evil > ci/run; exec 5>mine; echo evil >&5; exec tail -n 1 mine",
    );
    assert!(answer.codes().contains(&"PROTECTED_PATH"), "{:#}", answer.json);
    assert_eq!(repo.read("mine"), b"mine\n", "{:#}", answer.json);
}

/// Runs `text`, in which `WAIT` waits until `user` has run.
fn runs_with_user(repo: &TestRepo, text: &str, user: impl FnOnce() + Send) -> Answer {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !repo.root.join("ready.log").exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            user();
            std::fs::write(repo.root.join("go.log"), "").unwrap();
        });
        let wait = ": > ready.log; while ! test -e go.log; do sleep 0.01; done";
        runs(repo, &[], &text.replace("WAIT", wait))
    })
}

#[test]
fn the_earlier_bytes_of_a_file_that_somebody_else_wrote_too_are_kept() {
    let repo = repo("permissive");
    repo.write("mine", "mine\n");
    let save = || std::fs::write(repo.root.join("mine"), "saved\n").unwrap();
    let answer = runs_with_user(&repo, "echo program > mine; WAIT", save);
    assert!(warning(&answer, "backed_up").contains("mine"), "{:#}", answer.json);
    assert_eq!(repo.read("mine"), b"saved\n");
    assert_eq!(std::fs::read(kept(&repo, "mine")).unwrap(), b"mine\n");
}

#[test]
fn a_file_that_somebody_else_saved_while_the_program_had_it_open_is_named() {
    let repo = repo("permissive");
    let save = || std::fs::write(repo.root.join("a.txt"), "saved\n").unwrap();
    let answer = runs_with_user(&repo, "exec 5<>a.txt; WAIT; echo by-program >&5", save);
    assert_eq!(repo.read("a.txt"), b"by-program\n");
    assert!(warning(&answer, "written_meanwhile").contains("overwritten"), "{:#}", answer.json);
    assert_eq!(repo.git(&["log", "--all", "-p", "-S", "by-program", "--format=%h"]), "");
}

#[test]
fn a_large_file_that_is_overwritten_among_many_ignored_ones_is_kept() {
    let repo = repo("standard");
    repo.write(".git/info/exclude", "/data/\n");
    for at in 0..250 {
        repo.write(&format!("data/{at}"), "x");
    }
    for text in [
        "cp a.txt data/db",
        "mv data/1 data/db",
        "exec python3 -c 'open(\"data/db\", \"w\").write(\"y\")'",
    ] {
        repo.write("data/db", "mine".repeat(500_000));
        let answer = runs(&repo, &[], text);
        assert!(warning(&answer, "backed_up").contains("data/db"), "{text}: {:#}", answer.json);
        assert_eq!(std::fs::read(kept(&repo, "data/db")).unwrap().len(), 2_000_000, "{text}");
    }
    // What is not changed is not named.
    repo.write("data/db", "mine".repeat(500_000));
    let answer = runs(&repo, &[], "exec 5<>data/db");
    assert_eq!(answer.json["warnings"], serde_json::json!([]), "{:#}", answer.json);
}

#[test]
fn a_repository_that_is_made_anew_is_kept_whole() {
    let repo = repo("permissive");
    let git = |args: &[&str]| repo.git(&[&["-C", "nested"], args].concat());
    repo.git(&["init", "-q", "nested"]);
    repo.write("nested/f", "one\n");
    git(&["add", "f"]);
    git(&["-c", "user.name=U", "-c", "user.email=u@example.org", "commit", "-qm", "unpushed"]);
    std::os::unix::fs::symlink("nowhere", repo.root.join("nested/.git/link")).unwrap();
    let tip = git(&["rev-parse", "HEAD"]);
    let answer = runs(&repo, &[], "rm -rf nested; git init -q nested");
    let kept = kept(&repo, "nested/.git");
    let found = repo.git(&["--git-dir", kept.to_str().unwrap(), "rev-parse", "HEAD"]);
    assert_eq!(found, tip, "{:#}", answer.json);
    repo.git(&["--git-dir", kept.to_str().unwrap(), "fsck", "--strict"]);
    assert!(kept.join("refs/tags").is_dir());
    assert_eq!(std::fs::read_link(kept.join("link")).unwrap(), Path::new("nowhere"));
}
