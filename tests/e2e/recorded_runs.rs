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
    assert!(warning(&answer, "named_elsewhere").contains("hard links"), "{:#}", answer.json);
    repo.edt(&["undo"]);
    for name in ["a.txt", "b.log", "c.txt"] {
        assert_eq!(repo.read(name), b"one\n", "{name}: {:#}", answer.json);
    }
    assert_eq!(std::fs::read(outside).unwrap(), b"two\n");
}

#[test]
fn a_run_in_a_run_is_recorded_by_the_outer_one() {
    for level in ["permissive", "standard", "strict"] {
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
