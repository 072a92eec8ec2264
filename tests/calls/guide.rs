//! `edt guide`: every statement and every example is true.

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo, run};

fn printed(workspace: &TestRepo, args: &[&str]) -> String {
    let done = workspace.command(EDT).arg("guide").args(args).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The text of the fenced blocks in `language`, in order.
fn fenced(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|part| part.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_example_of_the_guide_works() {
    let workspace = TestRepo::with(&[]);
    let text = printed(&workspace, &[]);
    let [greet] = fenced(&text, "python").try_into().unwrap();
    workspace.commit(&[("greet.py", greet.as_bytes())]);
    let [calls, programs] = fenced(&text, "json").try_into().unwrap();
    let calls: Vec<Value> = calls.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let modes: Vec<&str> = calls.iter().filter_map(|call| call["mode"].as_str()).collect();
    let all = [
        "create",
        "edit",
        "append",
        "insert",
        "replace_lines",
        "delete_lines",
        "overwrite",
        "rename",
        "delete",
    ];
    assert_eq!(modes, all, "one example of each mode");
    assert!(
        calls.iter().any(|call| call.get("patch").is_some())
            && calls.iter().any(|call| call.get("edits").is_some())
    );
    for call in &calls {
        let answer = workspace.apply(call).landed();
        for file in answer.json["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|file| !file["hash_after"].is_null())
        {
            assert!(
                file["change"] == "renamed" || !file["context"].is_null(),
                "rule 1: {answer:#?}"
            );
        }
    }
    workspace.is_clean();
    assert_eq!(
        workspace.text("greet.py"),
        "import sys\n\n\ndef greet(name):\n    return f\"Hello {name}\"\n\n\nprint(greet(sys.argv[-1]))\n"
    );
    for call in programs.lines() {
        let mut command = workspace.command(EDT);
        command.args(["run", "--request", "-", "--json"]);
        let answer = run(command, call.as_bytes(), &["run"]).json;
        assert_eq!(
            (&answer["status"], &answer["run"]["stdout"]["text"]),
            (&json!("unchanged"), &json!("Hello you\n")),
            "{answer:#}"
        );
    }
}

#[test]
fn the_guides_statements_about_refusals_and_mistakes_are_true() {
    let workspace = TestRepo::with(&[("a.txt", b"one\ntwo\n"), ("b.py", b"x = 1\ny = 2\n")]);
    let edit =
        |old: &str| json!({"path": "a.txt", "mode": "edit", "old_text": old, "content": "three"});
    let shown = workspace.refuses_request(&["OLD_TEXT_NOT_FOUND"], 1, &edit("twp"));
    assert!(
        shown.json["errors"][0]["evidence"].to_string().contains("two"),
        "the answer shows the text: {:#}",
        shown.json
    );
    let limit = workspace.refuses_request(&["INVALID_PATCH_LIMIT_EXCEEDED"], 1, &edit("twq"));
    assert!(limit.hint().contains("overwrite"), "{}", limit.hint());
    workspace.apply(&edit("two")).landed();
    workspace.apply(&json!({"path": "a.txt", "mode": "append", "content": "four\n"})).landed();
    workspace.edt(&["undo", "2"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    workspace.edt(&["redo"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\nthree\nfour\n");
    workspace.edt(&["restore", "a.txt", "--revision", "1"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    let stale = json!({"path": "b.py", "mode": "append", "content": "z = 3\n", "expected_hash": workspace.rev("HEAD:a.txt")});
    assert_eq!(workspace.refuses_request(&["HASH_MISMATCH"], 3, &stale).json["status"], "conflict");
}

#[test]
fn the_guide_names_the_tools_that_the_server_lists() {
    let workspace = TestRepo::with(&[]);
    let text = printed(&workspace, &[]);
    let named = text.split("MCP tools ").nth(1).unwrap().split(". ").next().unwrap();
    let named: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
    let refused = workspace.edt(&["mcp", "--tools", "no-such-tool"]);
    // The tools that are offered by default come first.
    let hint = refused.hint();
    let known = hint.trim_start_matches("The tools are ").split(", ").take(named.len());
    assert_eq!(named, known.collect::<Vec<_>>());
    assert_eq!(named.len(), 9);
}

#[test]
fn every_text_that_an_agent_reads_begins_with_the_preference_for_edt() {
    let workspace = TestRepo::with(&[]);
    let opening = edt_agents::guide::OPENING;
    assert!(opening.starts_with("Do not use your own edit tools or shell redirections"));
    assert!(opening.contains("search your tools for: edt apply read run undo"));
    let after_title =
        |text: String| text.split("# Editing with edt\n\n").nth(1).unwrap().to_owned();
    let texts = [
        after_title(printed(&workspace, &[])),
        after_title(printed(&workspace, &["--format", "skill"])),
        after_title(printed(&workspace, &["--format", "agents-md"])),
    ];
    for text in texts {
        assert!(text.starts_with(opening), "{text}");
    }
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(edt_agents::instructions::brief().starts_with(&words(opening)));
}

#[test]
fn a_skill_is_a_directory_with_front_matter_and_can_be_removed() {
    let workspace = TestRepo::with(&[]);
    let write = ["guide", "--format", "skill", "--write", "skills"];
    assert_eq!(workspace.edt(&write).json["change"], "written");
    assert_eq!(workspace.edt(&write).json["change"], "unchanged");
    let text = workspace.text("skills/edt/SKILL.md");
    assert_eq!(text, printed(&workspace, &["--format", "skill"]));
    let front = text.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap();
    let keys: Vec<(&str, &str)> =
        front.lines().map(|line| line.split_once(": ").unwrap()).collect();
    assert_eq!(keys.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["name", "description"]);
    assert_eq!(keys[0].1, "edt");
    assert!(
        keys[1].1.len() <= 1024 && !keys[1].1.contains([':', '#']),
        "plain YAML: {}",
        keys[1].1
    );
    assert_eq!(
        workspace.edt(&["guide", "--format", "skill", "--remove", "skills"]).json["change"],
        "removed"
    );
    assert!(!workspace.exists("skills/edt"));
    workspace.write("skills/edt/SKILL.md", "---\nname: other\n---\n");
    assert_eq!(
        workspace.edt(&["guide", "--format", "skill", "--remove", "skills"]).codes(),
        ["BAD_REQUEST"]
    );
}

#[test]
fn the_block_in_agents_md_is_brought_up_to_date_and_taken_out_again() {
    let workspace = TestRepo::with(&[("AGENTS.md", b"# Ours\r\n\r\nBe kind.\r\n")]);
    std::os::unix::fs::symlink("AGENTS.md", workspace.root.join("CLAUDE.md")).unwrap();
    let [write, remove] =
        ["--write", "--remove"].map(|flag| ["guide", "--format", "agents-md", flag, "CLAUDE.md"]);
    assert_eq!(workspace.edt(&write).json["change"], "written");
    assert!(workspace.root.join("CLAUDE.md").is_symlink());
    let text = workspace.text("AGENTS.md");
    assert!(text.starts_with("# Ours\r\n\r\nBe kind.\r\n\r\n<!-- BEGIN edt -->\r\n"), "{text}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert_eq!(workspace.edt(&write).json["change"], "unchanged");
    assert_eq!(workspace.edt(&remove).json["change"], "removed");
    assert_eq!(workspace.edt(&remove).json["change"], "unchanged");
    assert_eq!(workspace.status(), "?? CLAUDE.md\n", "AGENTS.md is what it was");
    workspace.write("AGENTS.md", "<!-- BEGIN edt -->\n");
    for call in [&write, &remove] {
        assert_eq!(workspace.edt(call).codes(), ["BAD_REQUEST"]);
    }
    assert_eq!(workspace.text("AGENTS.md"), "<!-- BEGIN edt -->\n");
    let alone = ["guide", "--format", "agents-md", "--write", "NEW.md"];
    assert_eq!(workspace.edt(&alone).json["change"], "written");
    assert_eq!(
        workspace.edt(&["guide", "--format", "agents-md", "--remove", "NEW.md"]).json["change"],
        "removed"
    );
    assert!(!workspace.exists("NEW.md"));
    assert_eq!(workspace.edt(&["guide", "--write", "x"]).codes(), ["BAD_REQUEST"]);
    assert_eq!(workspace.edt(&["guide"]).json["text"], printed(&workspace, &[]));
}
