//! Ignored files: no commit ever has their bytes, and the private store brings them back.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::test_repo::{Answer, EDT, TestRepo, lines};

/// The user's policy that lets every program run.
const FREE: &str = "[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\ntimeout = 600\n";

const SECRET: &str = "KEY=a-secret-of-the-user\n";

fn workspace() -> TestRepo {
    let rules: &[u8] = b".env\n*.log\n";
    let workspace = TestRepo::with(&[("a.txt", lines(30).as_bytes()), (".gitignore", rules)]);
    let directory = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("edt.toml"), FREE).unwrap();
    workspace.write(".env", SECRET);
    workspace
}

#[track_caller]
fn applied(answer: Answer) -> Answer {
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    answer
}

/// The warning codes of an answer.
fn warnings(answer: &Answer) -> Vec<&str> {
    let all = answer.json["warnings"].as_array().unwrap();
    all.iter().filter_map(|warning| warning["code"].as_str()).collect()
}

/// Whether any commit of any ref has a file with the secret.
fn is_committed(workspace: &TestRepo) -> bool {
    let commits = workspace.git(&["rev-list", "--all"]);
    commits.lines().any(|commit| {
        workspace.git(&["ls-tree", "-r", commit]).lines().any(|entry| {
            let blob = entry.split_whitespace().nth(2).unwrap();
            workspace.git(&["cat-file", "blob", blob]).contains("a-secret-of-the-user")
        })
    })
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_rebase_keeps_what_undo_needs() {
    let workspace = workspace();
    workspace.git(&["branch", "side"]);
    applied(workspace.edt(&["apply", ".env", "--mode", "overwrite", "--content", "KEY=agent\n"]));
    applied(workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "agent\n"]));
    workspace.git(&["switch", "--quiet", "side"]);
    workspace.commit(&[("q.txt", b"q\n")]);
    workspace.git(&["switch", "--quiet", "edt/main-1"]);
    workspace.git(&["rebase", "--quiet", "side"]);
    let answer = applied(workspace.edt(&["undo", "-n", "2"]));
    assert_eq!(warnings(&answer), Vec::<&str>::new());
    assert_eq!(workspace.text(".env"), SECRET);
    assert_eq!(workspace.text("a.txt"), lines(30));
}

#[test]
fn a_lost_record_is_reported() {
    let workspace = workspace();
    applied(workspace.edt(&["apply", ".env", "--mode", "overwrite", "--content", "KEY=agent\n"]));
    std::fs::remove_dir_all(workspace.root.join(".git/edt/private")).unwrap();
    let answer = applied(workspace.edt(&["undo"]));
    assert_eq!(warnings(&answer), ["private_record_missing"]);
    assert_eq!(workspace.text(".env"), "KEY=agent\n");
}

#[test]
fn no_way_leads_from_an_ignored_file_into_a_commit() {
    let workspace = workspace();
    let moved = workspace.edt(&["apply", ".env", "--mode", "rename", "--to", "env.txt"]);
    assert_eq!(moved.codes(), ["PROTECTED_PATH"]);
    let script = "mv .env env.txt; cp env.txt copy.txt; echo x >>a.txt";
    let answer = applied(workspace.runs(&[], &["sh", "-c", script]));
    assert_eq!(warnings(&answer), ["stays_private", "stays_private"]);
    assert!(!is_committed(&workspace));
    applied(workspace.edt(&["undo"]));
    assert_eq!(workspace.text(".env"), SECRET);
    assert!(!workspace.exists("env.txt") && !workspace.exists("copy.txt"));
    let script = ": >.gitignore; echo more >>.env";
    let answer = applied(workspace.runs(&[], &["sh", "-c", script]));
    // One about the changed file, one about all files that the rules ignored, one about the rules.
    assert_eq!(warnings(&answer), ["stays_private", "stays_private", "lost_content"]);
    applied(workspace.edt(&["apply", ".env", "--mode", "append", "--content", "agent\n"]));
    applied(workspace.edt(&["checkpoint"]));
    assert!(!is_committed(&workspace));
    applied(workspace.edt(&["undo", "-n", "2"]));
    assert_eq!(workspace.text(".env"), SECRET);
    assert!(!is_committed(&workspace));
}

#[test]
fn a_file_that_the_user_adds_is_committed_after_its_rule_is_gone() {
    let workspace = workspace();
    applied(workspace.runs(&[], &["sh", "-c", ": >.gitignore"]));
    workspace.git(&["add", ".env"]);
    applied(workspace.edt(&["checkpoint"]));
    assert!(is_committed(&workspace));
}

#[test]
fn a_private_file_stays_so_until_the_user_adds_it() {
    let workspace = workspace();
    applied(workspace.runs(&[], &["mv", ".env", "env.txt"]));
    applied(workspace.runs(&[], &["sh", "-c", "echo more >>env.txt; echo x >>a.txt"]));
    assert_eq!(applied(workspace.edt(&["status"])).json["private"], serde_json::json!(["env.txt"]));
    let landed = applied(workspace.edt(&["land"]));
    assert_eq!(warnings(&landed), ["stays_private"]);
    assert!(landed.json["warnings"][0]["message"].as_str().unwrap().contains("env.txt"));
    applied(workspace.edt(&["apply", "env.txt", "--mode", "append", "--content", "agent\n"]));
    applied(workspace.edt(&["checkpoint"]));
    assert!(!is_committed(&workspace));
    workspace.git(&["add", "env.txt"]);
    assert_eq!(applied(workspace.edt(&["status"])).json["private"], serde_json::json!([]));
    applied(workspace.edt(&["checkpoint"]));
    assert!(is_committed(&workspace));
}

#[test]
fn a_landing_of_private_files_alone_names_them() {
    let workspace = workspace();
    applied(workspace.runs(&[], &["mv", ".env", "env.txt"]));
    let refused = workspace.edt(&["land"]);
    assert_eq!(refused.codes(), ["NOTHING_TO_LAND"]);
    let message = refused.json["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("1 private file") && message.contains("env.txt"), "{message}");
}

#[test]
fn a_file_of_build_output_that_a_command_names_comes_back() {
    let workspace = workspace();
    workspace.write(".git/info/exclude", "data/\n");
    (0..250).for_each(|at| workspace.write(&format!("data/{at}"), format!("{at}\n")));
    for argv in [
        &["rm", "data/7"][..],
        &["sh", "-c", "cd data && rm 7"],
        &["sh", "-c", "echo x >data/7"],
        &["cp", "a.txt", "data/7"],
        &["truncate", "-s", "0", "data/7"],
    ] {
        let answer = applied(workspace.runs(&[], argv));
        assert_eq!(warnings(&answer), [""; 0], "{argv:?}");
        assert_ne!(std::fs::read(workspace.root.join("data/7")).ok(), Some(b"7\n".to_vec()));
        applied(workspace.edt(&["undo"]));
        assert_eq!(workspace.text("data/7"), "7\n", "{argv:?}");
    }
    let check = |target: &str| {
        let mut command = workspace.command(EDT);
        let done = command.args(["policy", "check", "--", "rm", "-rf", target]).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    assert!(check("data/7").contains("`edt undo` restores them."), "{}", check("data/7"));
    assert!(check("data").contains("`edt undo` cannot restore it."), "{}", check("data"));
    let answer = applied(workspace.runs(&[], &["rm", "-rf", "data"]));
    assert_eq!(warnings(&answer), [""; 0]);
    applied(workspace.edt(&["undo"]));
    assert_eq!(workspace.text("data/249"), "249\n");
}

#[test]
fn other_users_cannot_read_what_undo_needs() {
    let workspace = workspace();
    let env = workspace.root.join(".env");
    std::fs::set_permissions(&env, PermissionsExt::from_mode(0o600)).unwrap();
    applied(workspace.edt(&["apply", ".env", "--mode", "rename", "--to", "x.log"]));
    let state = workspace.root.join(".git/edt/main");
    assert_eq!((mode(&state.join("journal")), mode(&state.join("stage"))), (0o600, 0o700));
    assert_eq!(mode(&workspace.root.join("x.log")), 0o600);
    applied(workspace.edt(&["undo"]));
    assert_eq!(mode(&env), 0o600);
}

#[test]
fn the_views_of_a_session_show_private_edits() {
    let workspace = workspace();
    applied(workspace.edt(&["apply", ".env", "--mode", "append", "--content", "A=1\n"]));
    let log = applied(workspace.edt(&["log", ".env"])).json;
    assert_eq!(log["commits"][0]["file"]["private"], true);
    assert_eq!(log["commits"][0]["file"]["bytes"], SECRET.len() + 4);
    let shown = applied(workspace.edt(&["show", "1"])).json;
    assert_eq!(shown["private"], serde_json::json!([".env"]));
    assert!(!shown.to_string().contains("a-secret"));
    applied(workspace.edt(&["restore", ".env"]));
    assert_eq!(workspace.text(".env"), SECRET);
    let far = workspace.edt(&["restore", ".env", "--revision", "7"]);
    assert_eq!(far.codes(), ["NOTHING_TO_UNDO"]);
}
