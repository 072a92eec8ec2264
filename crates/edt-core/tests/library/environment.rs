//! With default options the library reads nothing from the environment of its process.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use edt_core::session::LockedWorkspace;
use edt_core::session::collection::gc::{GcOptions, gc};
use edt_core::{Environment, Land, Options, Request, Workspace};
use edt_git::Repo;
use edt_git::read::ObjectKind;
use edt_testkit::ScratchRepo;

/// The variables that name the repository and the environment for the test below.
const REPOSITORY: &str = "EDT_TEST_REPOSITORY";
const ENVIRONMENT: &str = "EDT_TEST_ENVIRONMENT";

/// A validator that accepts if it has no variable of the user.
const POLICY: &str = r#"
[[validator]]
name = "environment"
paths = ["*.txt"]
only_new = false
command = ["sh", "-c", 'test -z "$HOME$LANG$GIT_DIR" && command -v git', "{file}"]
"#;

/// A configuration under which every commit and every index would be different.
const USER_CONFIG: &str = "[user]\n\tname = Wrong\n\temail = wrong@example.com\n\
    [core]\n\tautocrlf = true\n\thooksPath = /absent\n[commit]\n\tgpgSign = true\n";

#[test]
#[ignore = "runs in a process with a wrong environment, started by the next test"]
fn in_a_wrong_environment() {
    let root = PathBuf::from(std::env::var_os(REPOSITORY).unwrap());
    let mut options = Options::default();
    options.user_policy = Some(POLICY.to_owned());
    if std::env::var_os(ENVIRONMENT).is_some() {
        options.environment = Environment::Process;
    }
    let mut ws = Workspace::open(&root, options).unwrap();
    let outcome = ws.apply(&Request::new("edit").edit("a.txt", "one", "two")).unwrap();
    assert_eq!(outcome.warnings, [], "the validator accepts");
    ws.undo(1).unwrap();
    ws.redo().unwrap();
    let landed = ws.land(Land::default()).unwrap();
    let repo = Repo::open(&root).unwrap();
    assert_eq!(landed.commit, repo.head().unwrap().commit.map(|commit| commit.to_string()));
    // `git` itself works in the same environment.
    let workspace = LockedWorkspace::open(&root, Options::default()).unwrap();
    gc(workspace, GcOptions { before: i64::MAX, dry_run: false }).unwrap();
}

#[test]
fn default_options_read_nothing_of_the_process() {
    let home = edt_testkit::tempdir().unwrap();
    fs::create_dir_all(home.path().join(".config/git")).unwrap();
    for file in [".gitconfig", ".config/git/config"] {
        fs::write(home.path().join(file), USER_CONFIG).unwrap();
    }
    fs::write(home.path().join(".config/git/attributes"), "* text eol=crlf filter=absent\n")
        .unwrap();
    let scratch = ScratchRepo::with(&[("a.txt", "one\n")]);
    let run = |environment: Option<&str>| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "environment::in_a_wrong_environment", "--ignored"]);
        command.env(REPOSITORY, scratch.path()).env_remove(ENVIRONMENT);
        command.env("HOME", home.path()).env("XDG_CONFIG_HOME", home.path().join(".config"));
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
            command.env(name, "/absent");
        }
        for name in ["GIT_CEILING_DIRECTORIES", "TMPDIR", "XDG_RUNTIME_DIR", "PATH"] {
            command.env(name, "/absent");
        }
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Wrong");
            command.env(format!("GIT_{role}_DATE"), "not a date");
        }
        command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.bare");
        command.env("GIT_CONFIG_VALUE_0", "true").env("LANG", "C").env("TZ", "UTC-11");
        command.envs(environment.map(|value| (ENVIRONMENT, value)));
        command.output().unwrap()
    };
    let refused = run(Some("process"));
    assert!(String::from_utf8_lossy(&refused.stdout).contains("NotARepository"), "{refused:?}");
    let done = run(None);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    let repo = Repo::open(scratch.path()).unwrap();
    let commit = repo.head().unwrap().commit.unwrap();
    let commit = String::from_utf8(repo.object(commit, ObjectKind::Commit).unwrap()).unwrap();
    assert_eq!(commit.matches(" A User <user@example.com> ").count(), 2, "{commit}");
    assert!(!commit.contains("+1100"), "{commit}");
    assert_eq!(fs::read(scratch.path().join("a.txt")).unwrap(), b"two\n");
}
