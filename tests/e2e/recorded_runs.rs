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
