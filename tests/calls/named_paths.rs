//! Paths: from the current directory, names that other systems lack, links, and near misses.

use serde_json::json;

use crate::test_repo::{EDT, TestRepo};

const C: &[u8] = b"int a;\n";

#[test]
fn paths_of_the_command_line_count_from_the_current_directory() {
    let workspace = TestRepo::with(&[("src/a.c", C), ("a.c", b"int root;\n"), ("b.c", C)]);
    let root = workspace.at(workspace.root.clone());
    let src = workspace.at(workspace.root.join("src"));
    src.edt(&["apply", "new.py", "--mode", "create", "--content", "x = 1\n"]).landed();
    assert_eq!(root.text("src/new.py"), "x = 1\n");
    assert!(!root.exists("new.py"));
    let path_of = |args: &[&str]| src.edt(args).json["path"].clone();
    assert_eq!(path_of(&["read", "a.c"]), "src/a.c");
    assert_eq!(path_of(&["read", "../a.c"]), "a.c");
    assert_eq!(path_of(&["read", ":/a.c"]), "a.c");
    assert_eq!(path_of(&["read", "./a.c"]), "src/a.c");
    let absolute = workspace.root.join("b.c");
    assert_eq!(path_of(&["read", absolute.to_str().unwrap()]), "b.c");
    src.edt(&["apply", "a.c", "--mode", "rename", "--to", "../c.c"]).landed();
    assert!(root.exists("c.c") && !root.exists("src/a.c") && root.exists("a.c"));
    let listed = src.edt(&["ls", "."]).json;
    let names: Vec<&str> = listed["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["src/new.py"]);
    let shown = src.edt(&["diff", "new.py"]).json;
    assert_eq!(shown["files"].as_array().unwrap().len(), 1);
    src.refuses(&["PATH_OUTSIDE_REPO"], 1, &["read", "../../x"]);
}

#[test]
fn a_path_that_was_not_found_names_the_file_that_is_meant() {
    let workspace = TestRepo::with(&[("demo/calculate.c", C), ("src/x.rs", b"\n")]);
    let edit = json!({"path": "calculate.c", "old_text": "int a;", "content": "int b;"});
    let refused = workspace.refuses_request(&["FILE_NOT_FOUND"], 1, &edit);
    assert!(
        refused.hint().starts_with("demo/calculate.c is tracked. If you mean it, send that path.")
    );
    assert_eq!(refused.errors()[0]["evidence"]["near"], json!(["demo/calculate.c"]));
    let refused = workspace.refuses(&["FILE_NOT_FOUND"], 1, &["read", "project/src/x.rs"]);
    assert!(refused.hint().contains("src/x.rs is tracked"));
    let src = workspace.at(workspace.root.join("src"));
    let refused = src.refuses(&["FILE_NOT_FOUND"], 1, &["read", "src/x.rs"]);
    assert!(refused.hint().contains("`:/` before a path"), "{}", refused.hint());
    let missed = ["apply", "x.rs", "--mode", "edit", "--old-text", "nope", "--content", "y"];
    let refused = src.refuses(&["OLD_TEXT_NOT_FOUND"], 1, &missed);
    assert!(refused.hint().contains("`edt read :/src/x.rs`"), "{}", refused.hint());
    // Git does not take it for a repository.
    std::fs::create_dir(workspace.root.join("src/.git")).unwrap();
    assert_eq!(src.edt(&["read", "x.rs"]).json["path"], "src/x.rs");
}

#[test]
fn a_tracked_file_is_edited_whatever_its_name() {
    let files: &[(&str, &[u8])] =
        &[("drivers/aux.c", C), ("Foo::Bar.3pm", C), ("a\\x2db.swap", C), ("end. ", C)];
    let workspace = TestRepo::with(files);
    for (path, _) in files {
        workspace.edt(&["read", path]);
        workspace
            .edt(&["apply", path, "--mode", "edit", "--old-text", "int a;", "--content", "int b;"])
            .landed();
    }
    for path in ["drivers/con.c", "Foo::Baz", "a\\b.c", "x."] {
        let create = json!({"path": path, "mode": "create", "content": "x\n"});
        workspace.refuses_request(&["PATH_INVALID"], 1, &create);
    }
    workspace.is_sound();
}

#[test]
fn no_file_is_made_whose_name_looks_like_another() {
    let workspace = TestRepo::with(&[("U\u{308}bersicht.md", b"eins\n")]);
    let create = json!({"path": "\u{dc}bersicht.md", "mode": "create", "content": "drei\n"});
    let refused = workspace.refuses_request(&["FILE_EXISTS"], 1, &create);
    assert_eq!(refused.hint(), "Send the name as it is on disk, in JSON \"U\\u0308bersicht.md\".");
    let rename =
        json!({"path": "U\u{308}bersicht.md", "mode": "rename", "to": "\u{dc}bersicht.md"});
    workspace.apply(&rename).landed();
    workspace.edt(&["undo"]);
    let sent = br#"{"path": "U\u0308bersicht.md", "mode": "append", "content": "zwei\n"}"#;
    workspace.edt_fed(sent, &["apply", "--request", "-"]).landed();
}

#[test]
fn a_link_names_the_file_that_it_leads_to() {
    let workspace = TestRepo::with(&[("docs/AGENTS.md", b"# rules\n")]);
    std::os::unix::fs::symlink("docs/AGENTS.md", workspace.root.join("CLAUDE.md")).unwrap();
    let append = json!({"path": "CLAUDE.md", "mode": "append", "content": "- be brief\n"});
    let refused = workspace.refuses_request(&["PATH_THROUGH_SYMLINK"], 1, &append);
    assert_eq!(refused.hint(), "Send its own path: docs/AGENTS.md.");
    assert_eq!(refused.errors()[0]["evidence"]["real_path"], "docs/AGENTS.md");
}

#[test]
fn a_worktree_whose_repository_is_gone_names_the_missing_directory() {
    let workspace = TestRepo::bare_directory();
    workspace.write(".git", "gitdir: ../gone/.git/worktrees/w\n");
    let done = workspace.command(EDT).args(["status"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(5), "{said}");
    assert!(said.contains("NOT_A_REPOSITORY") && said.contains("gone/.git/worktrees/w"), "{said}");
}
