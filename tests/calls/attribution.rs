//! Who wrote each line: `edt blame`, the trailers of a landing, exports.

use serde_json::{Value, json};

use crate::test_repo::TestRepo;

const TEXT: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A session with two edits of an agent.
fn session() -> TestRepo {
    edited(|_| ())
}

/// As [`session`], with what the user does between the edits.
fn edited(meanwhile: impl Fn(&TestRepo)) -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", TEXT.as_bytes()), ("b.txt", b"b\n")]);
    let edit = |old: &str, new: &str| {
        json!({"agent": "robot", "message": format!("write {new:?}"),
        "edits": [{"path": "a.txt", "old_text": format!("{old}\n"), "content": new}]})
    };
    workspace.apply(&edit("2", "two\n")).landed();
    meanwhile(&workspace);
    workspace.apply(&edit("8", "eight\nnine lives\n")).landed();
    workspace
}

fn with_commit() -> TestRepo {
    edited(|workspace| {
        workspace.write("b.txt", "mine\n");
        workspace.git(&["commit", "-qam", "by hand"]);
    })
}

/// For each line of `a.txt`: the number of the edit, `c` for a commit, `-` if it is not committed.
fn who(workspace: &TestRepo) -> String {
    let answer = workspace.edt(&["blame", "a.txt"]).json;
    let lines = answer["lines"].as_array().unwrap().iter().map(|one| {
        let sign = match one["kind"].as_str().unwrap() {
            "edit" => one["edit"].to_string(),
            "commit" => "c".to_owned(),
            _ => "-".to_owned(),
        };
        let count = one["last"].as_u64().unwrap() + 1 - one["first"].as_u64().unwrap();
        sign.repeat(usize::try_from(count).unwrap())
    });
    lines.collect()
}

#[test]
fn each_line_is_its_edits_whatever_becomes_of_the_history() {
    const WHO: &str = "c1ccccc22c";
    let rewrites: [(&str, &[&[&str]]); 5] = [
        ("reword", &[&["commit", "-q", "--amend", "-m", "better words"]]),
        ("squash", &[&["reset", "-q", "--soft", "HEAD~3"], &["commit", "-qm", "all in one"]]),
        (
            "fixup",
            &[
                &["commit", "-q", "--allow-empty", "--fixup=HEAD"],
                &[
                    "-c",
                    "sequence.editor=true",
                    "rebase",
                    "-qi",
                    "--autosquash",
                    "--keep-empty",
                    "HEAD~2",
                ],
            ],
        ),
        ("rebase", &[&["rebase", "-q", "--onto", "side", "HEAD~3"]]),
        ("nothing", &[]),
    ];
    for (name, calls) in rewrites {
        let workspace = with_commit();
        workspace.git(&["branch", "side", "HEAD~3"]);
        calls.iter().for_each(|call| drop(workspace.git(call)));
        assert_eq!(who(&workspace), WHO, "{name}");
        let text = workspace.text("a.txt").replace("5\n", "five\n");
        workspace.write("a.txt", &text);
        assert_eq!(who(&workspace), "c1cc-cc22c", "{name}");
    }
    let workspace = with_commit();
    let more = workspace.text("a.txt").replace("5\n", "five\n");
    workspace.write("a.txt", &more);
    workspace.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert_eq!(who(&workspace), "c1ccccc22c", "amend");
}

#[test]
fn a_line_of_the_users_is_theirs_although_it_is_equal() {
    let workspace = TestRepo::with(&[("a.txt", b"1\n2\n")]);
    let append = json!({"agent": "robot", "path": "a.txt", "mode": "append", "content": "same\n"});
    workspace.apply(&append).landed();
    workspace.write("a.txt", workspace.text("a.txt") + "same\n");
    workspace.git(&["commit", "-qam", "by hand"]);
    assert_eq!(who(&workspace), "cc1c");
    let text = workspace.text("a.txt");
    workspace.write("a.txt", "top\n".to_owned() + &text);
    workspace.git(&["commit", "-qam", "top"]);
    assert_eq!(who(&workspace), "ccc1c");
    workspace.git(&["mv", "a.txt", "b.txt"]);
    workspace.git(&["commit", "-qm", "moved"]);
    let moved = workspace.edt(&["blame", "b.txt"]).json;
    assert_eq!(
        (&moved["lines"][2]["kind"], &moved["lines"][2]["first"]),
        (&json!("edit"), &json!(4))
    );
}

#[test]
fn a_shallow_clone_has_lines_of_its_oldest_commit() {
    let workspace = session();
    let url = format!("file://{}", workspace.root.display());
    let directory = workspace.root.with_file_name("shallow");
    workspace.git(&["clone", "-q", "--depth", "1", &url, directory.to_str().unwrap()]);
    let answer = workspace.at(directory).edt(&["blame", "a.txt"]).json;
    assert_eq!(answer["lines"].as_array().map(Vec::len), Some(1), "{answer:#}");
}

#[test]
fn a_landed_line_is_still_the_edits() {
    let workspace = session();
    workspace.edt(&["land", "-m", "numbers: as words\n\nFixes: #7"]);
    assert_eq!(workspace.git(&["branch", "--show-current"]).trim(), "main");
    assert_eq!(who(&workspace), "c1ccccc22c");
    let message = workspace.git(&["log", "-1", "--format=%B"]);
    let trailers = parsed_trailers(&workspace, &message);
    for trailer in ["Fixes: #7", "Assisted-by: robot", "Edt-Agent: robot", "Edt-Edit: 2"] {
        assert!(trailers.lines().any(|line| line == trailer), "{trailer}: {message}");
    }
    workspace.git(&["commit", "-q", "--amend", "-m", &format!("other words\n\n{trailers}")]);
    assert_eq!(who(&workspace), "c1ccccc22c");
    let lines = workspace.edt(&["blame", "a.txt", "--lines", "2"]).json["lines"][0].clone();
    assert_eq!((&lines["agent"], &lines["subject"]), (&json!("robot"), &json!("write \"two\\n\"")));
}

/// The trailers as Git reads them.
fn parsed_trailers(workspace: &TestRepo, message: &str) -> String {
    workspace.write("message", message);
    let read = workspace.git(&["interpret-trailers", "--parse", "message"]);
    std::fs::remove_file(workspace.root.join("message")).unwrap();
    read
}

#[test]
fn the_policy_leaves_the_trailers_out() {
    let policy = b"[attribution]\nassisted_by = false\n";
    let workspace = TestRepo::with(&[("a.txt", b"1\n"), ("edt.toml", policy)]);
    let edit = json!({"agent": "robot", "path": "a.txt", "old_text": "1", "content": "one"});
    workspace.apply(&edit).landed();
    workspace.edt(&["land", "-m", "x"]);
    assert!(!workspace.git(&["log", "-1", "--format=%B"]).contains("Assisted-by"));
}

#[test]
fn other_tools_get_the_lines_of_a_commit() {
    let workspace = session();
    workspace.edt(&["land", "-m", "x"]);
    let export = |format: &str| {
        let mut edt = workspace.command(crate::test_repo::EDT);
        let done =
            edt.args(["attribution", "export", "--format", format, "HEAD"]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let trace: Value = serde_json::from_str(&export("agent-trace")).unwrap();
    assert_eq!(trace["vcs"]["revision"], json!(workspace.rev("HEAD")));
    let conversation = &trace["files"][0]["conversations"][0];
    assert_eq!(trace["files"].as_array().unwrap().len(), 1);
    assert_eq!(
        conversation["ranges"],
        json!([{"start_line": 2, "end_line": 2}, {"start_line": 8, "end_line": 9}])
    );
    assert_eq!(conversation["contributor"], json!({"type": "ai"}));
    let log = export("git-ai");
    let (lines, metadata) = log.split_once("---\n").unwrap();
    assert!(lines.starts_with("a.txt\n  ") && lines.ends_with(" 2,8-9\n"), "{lines}");
    let metadata: Value = serde_json::from_str(metadata).unwrap();
    let prompts = metadata["prompts"].as_object().unwrap();
    let id = lines.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    assert_eq!(prompts[id]["agent_id"]["tool"], "robot");
}
