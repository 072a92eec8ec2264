//! `edt guide`: what it tells agents is true, every example of it.

use serde_json::{Value, json};

use crate::world::{EDT, World, run};

fn printed(world: &World, args: &[&str]) -> String {
    let done = world.command(EDT).arg("guide").args(args).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The text of the fenced blocks in `language`, in order.
fn fenced(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|part| part.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_example_of_the_guide_does_what_it_says() {
    let world = World::with(&[]);
    let text = printed(&world, &[]);
    let [greet] = fenced(&text, "python").try_into().unwrap();
    world.commit(&[("greet.py", greet.as_bytes())]);
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
        let answer = world.apply(call).landed();
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
    world.is_clean();
    assert_eq!(
        world.text("greet.py"),
        "import sys\n\n\ndef greet(name):\n    return f\"Hello {name}\"\n\n\nprint(greet(sys.argv[-1]))\n"
    );
    for call in programs.lines() {
        let mut command = world.command(EDT);
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
fn what_the_guide_says_of_refusals_and_of_mistakes_is_true() {
    let world = World::with(&[("a.txt", b"one\ntwo\n"), ("b.py", b"x = 1\ny = 2\n")]);
    let edit =
        |old: &str| json!({"path": "a.txt", "mode": "edit", "old_text": old, "content": "three"});
    let shown = world.refuses_request(&["OLD_TEXT_NOT_FOUND"], 1, &edit("twp"));
    assert!(
        shown.json["errors"][0]["evidence"].to_string().contains("two"),
        "the answer shows the text: {:#}",
        shown.json
    );
    let limit = world.refuses_request(&["INVALID_PATCH_LIMIT_EXCEEDED"], 1, &edit("twq"));
    assert!(limit.hint().contains("overwrite"), "{}", limit.hint());
    world.apply(&edit("two")).landed();
    world.apply(&json!({"path": "a.txt", "mode": "append", "content": "four\n"})).landed();
    world.edt(&["undo", "2"]).landed();
    assert_eq!(world.text("a.txt"), "one\ntwo\n");
    world.edt(&["redo"]).landed();
    assert_eq!(world.text("a.txt"), "one\nthree\nfour\n");
    world.edt(&["restore", "a.txt", "--revision", "1"]).landed();
    assert_eq!(world.text("a.txt"), "one\ntwo\n");
    let stale = json!({"path": "b.py", "mode": "append", "content": "z = 3\n", "expected_hash": world.rev("HEAD:a.txt")});
    assert_eq!(world.refuses_request(&["HASH_MISMATCH"], 3, &stale).json["status"], "conflict");
}

#[test]
fn the_tools_the_guide_names_are_those_of_the_server() {
    let world = World::with(&[]);
    let text = printed(&world, &[]);
    let named = text.split("MCP tools ").nth(1).unwrap().split(". ").next().unwrap();
    let named: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
    let refused = world.edt(&["mcp", "--tools", "no-such-tool"]);
    let known: Vec<String> = refused
        .hint()
        .trim_start_matches("The tools are ")
        .trim_end_matches('.')
        .split(", ")
        .map(str::to_owned)
        .collect();
    let sorted = |mut all: Vec<String>| {
        all.sort();
        all
    };
    assert_eq!(sorted(named.iter().map(|&name| name.to_owned()).collect()), sorted(known));
}

#[test]
fn a_skill_is_a_folder_with_front_matter_that_comes_and_goes() {
    let world = World::with(&[]);
    let write = ["guide", "--format", "skill", "--write", "skills"];
    assert_eq!(world.edt(&write).json["change"], "written");
    assert_eq!(world.edt(&write).json["change"], "unchanged");
    let text = world.text("skills/edt/SKILL.md");
    assert_eq!(text, printed(&world, &["--format", "skill"]));
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
        world.edt(&["guide", "--format", "skill", "--remove", "skills"]).json["change"],
        "removed"
    );
    assert!(!world.exists("skills/edt"));
    world.write("skills/edt/SKILL.md", "---\nname: other\n---\n");
    assert_eq!(
        world.edt(&["guide", "--format", "skill", "--remove", "skills"]).codes(),
        ["BAD_REQUEST"]
    );
}

#[test]
fn the_block_in_agents_md_is_brought_up_to_date_and_taken_out_again() {
    let world = World::with(&[("AGENTS.md", b"# Ours\r\n\r\nBe kind.\r\n")]);
    std::os::unix::fs::symlink("AGENTS.md", world.root.join("CLAUDE.md")).unwrap();
    let [write, remove] =
        ["--write", "--remove"].map(|flag| ["guide", "--format", "agents-md", flag, "CLAUDE.md"]);
    assert_eq!(world.edt(&write).json["change"], "written");
    assert!(world.root.join("CLAUDE.md").is_symlink());
    let text = world.text("AGENTS.md");
    assert!(text.starts_with("# Ours\r\n\r\nBe kind.\r\n\r\n<!-- BEGIN edt -->\r\n"), "{text}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert_eq!(world.edt(&write).json["change"], "unchanged");
    assert_eq!(world.edt(&remove).json["change"], "removed");
    assert_eq!(world.edt(&remove).json["change"], "unchanged");
    assert_eq!(world.status(), "?? CLAUDE.md\n", "AGENTS.md is what it was");
    world.write("AGENTS.md", "<!-- BEGIN edt -->\n");
    for call in [&write, &remove] {
        assert_eq!(world.edt(call).codes(), ["BAD_REQUEST"]);
    }
    assert_eq!(world.text("AGENTS.md"), "<!-- BEGIN edt -->\n");
    let alone = ["guide", "--format", "agents-md", "--write", "NEW.md"];
    assert_eq!(world.edt(&alone).json["change"], "written");
    assert_eq!(
        world.edt(&["guide", "--format", "agents-md", "--remove", "NEW.md"]).json["change"],
        "removed"
    );
    assert!(!world.exists("NEW.md"));
    assert_eq!(world.edt(&["guide", "--write", "x"]).codes(), ["BAD_REQUEST"]);
    assert_eq!(world.edt(&["guide"]).json["text"], printed(&world, &[]));
}
