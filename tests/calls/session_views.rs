//! What `edt status`, `log` and `diff` show: the session's work, and the user's uncommitted changes.

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo, lines};

/// The session `s` with two edits: `a.txt` renamed to `d/a.txt`, and one line of it changed.
fn session() -> TestRepo {
    let long = lines(20);
    let workspace = TestRepo::with(&[("a.txt", long.as_bytes()), ("b.txt", b"one\ntwo\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.apply(&json!({"path": "a.txt", "mode": "rename", "to": "d/a.txt"})).landed();
    let edit = json!({"path": "d/a.txt", "mode": "append", "content": "more\n"});
    workspace.apply(&edit).landed();
    workspace
}

fn text(workspace: &TestRepo, args: &[&str]) -> String {
    let done = workspace.command(EDT).args(args).output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

/// One key of each element of a list.
fn each(list: &Value, key: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|one| one[key].clone()).collect()
}

#[test]
fn the_log_of_a_file_lists_its_revisions_across_a_rename() {
    let workspace = session();
    let log = workspace.edt(&["log", "d/a.txt"]).json;
    let files: Vec<Value> = each(&log["commits"], "file");
    assert_eq!(each(&log["commits"], "edit"), [2, 1]);
    assert_eq!((&files[0]["change"], &files[0]["path"]), (&json!("modified"), &json!("d/a.txt")));
    let size = workspace.read("d/a.txt").len();
    assert_eq!(
        (&files[0]["bytes"], &files[0]["hash"]),
        (&json!(size), &json!(workspace.rev("HEAD:d/a.txt")))
    );
    assert_eq!((&files[1]["change"], &files[1]["from"]), (&json!("renamed"), &json!("a.txt")));
    assert_eq!(each(&workspace.edt(&["log", "a.txt"]).json["commits"], "edit"), [1]);
    assert_eq!(workspace.edt(&["log", "d/a.txt", "-n", "1"]).json["truncated"], true);
    assert!(text(&workspace, &["log", "d/a.txt"]).contains("[a.txt -> d/a.txt]"));
    assert_eq!(workspace.edt(&["log", "b.txt"]).json["commits"], json!([]));
    workspace.refuses(&["FILE_NOT_FOUND"], 1, &["log", "no-such-file"]);
    workspace.refuses(&["NOT_A_FILE"], 1, &["log", "d"]);
}

#[test]
fn a_diff_shows_a_rename_as_git_does() {
    let workspace = session();
    let file = &workspace.edt(&["diff"]).json["files"][0];
    assert_eq!(
        (&file["change"], &file["from"], &file["lines_added"], &file["lines_removed"]),
        (&json!("renamed"), &json!("a.txt"), &json!(1), &json!(0))
    );
    let similarity = file["similarity"].as_u64().unwrap();
    let git = workspace.git(&["diff", "-M", "main", "HEAD"]);
    assert!(git.contains(&format!("similarity index {similarity}%\n")), "{git}");
    let hunks = git.split_once(" @@").unwrap().1.split_once('\n').unwrap().1;
    assert!(text(&workspace, &["diff"]).ends_with(hunks), "{git}");
    assert_eq!(
        text(&workspace, &["diff", "--stat"]),
        " a.txt => d/a.txt |   1 +\n 1 file changed, +1 -0\n"
    );
    assert_eq!(workspace.edt(&["show", "HEAD~1"]).json["files"][0]["change"], "renamed");
    let undone = workspace.edt(&["undo", "2"]).landed();
    let files = &undone.json["files"];
    assert_eq!(
        (each(files, "change"), each(files, "from")),
        (vec![json!("renamed")], vec![json!("d/a.txt")])
    );
    workspace.edt(&["redo"]).landed();
    let landed = workspace.edt(&["land"]).landed();
    assert_eq!(each(&landed.json["files"], "from"), [json!("a.txt")]);
}

#[test]
fn a_diff_takes_edits_ranges_and_paths() {
    let workspace = session();
    workspace.overwrite("b.txt", "one\nthree\n");
    let paths = |args: &[&str]| each(&workspace.edt(args).json["files"], "path");
    assert_eq!(paths(&["diff", "2"]), ["d/a.txt"]);
    assert_eq!(paths(&["diff", "2..3"]), ["b.txt"]);
    assert_eq!(paths(&["diff", "1.."]), ["b.txt", "d/a.txt"]);
    assert_eq!(paths(&["diff", "HEAD~1"]), ["b.txt"]);
    assert_eq!(paths(&["diff", "d"]), ["d/a.txt"]);
    assert_eq!(paths(&["diff", "a.txt"]), ["d/a.txt"], "the old name of a renamed file");
    assert_eq!(paths(&["diff", "2..3", "d"]), [""; 0]);
    workspace.refuses(&["BAD_REQUEST"], 2, &["diff", "9"]);
    workspace.refuses(&["BAD_REQUEST"], 2, &["diff", "2..nowhere"]);
    workspace.refuses(&["FILE_NOT_FOUND"], 1, &["diff", "2..3", "no-such-file"]);
}

#[test]
fn the_users_changes_are_shown_apart_from_the_session() {
    let workspace = session();
    workspace.write("b.txt", "one\ntwo\nmine\n");
    workspace.write("d/a.txt", [workspace.read("d/a.txt"), b"mine\n".to_vec()].concat());
    workspace.git(&["add", "b.txt"]);
    workspace.write("b.txt", "one\ntwo\nmine\nmore\n");
    workspace.write("notes/n.txt", "mine\n");
    let status = workspace.edt(&["status"]).json;
    let changes = &status["user_changes"];
    assert_eq!(each(changes, "path"), ["b.txt", "d/a.txt"]);
    assert_eq!(each(changes, "staged"), [true, false]);
    assert_eq!(each(changes, "lines_added"), [2, 1]);
    assert_eq!((&status["staged"], &status["untracked"]), (&json!(["b.txt"]), &json!(["notes/"])));
    assert_eq!((&status["operation"], &status["conflicted"]), (&json!(null), &json!([])));
    let printed = text(&workspace, &["status"]);
    assert!(printed.ends_with("MM b.txt    +2 -0\n M d/a.txt  +1 -0\n?? notes/\n"), "{printed}");

    let worktree = workspace.edt(&["diff", "--worktree"]).json;
    assert_eq!(each(&worktree["files"], "lines_added"), [2, 1]);
    assert_eq!(worktree["to"], "worktree");
    assert_eq!(
        each(&workspace.edt(&["diff", "--worktree", "notes"]).json["files"], "change"),
        ["added"]
    );
    let staged = workspace.edt(&["diff", "--staged"]).json;
    assert_eq!(each(&staged["files"], "lines_added"), [1]);
    assert_eq!(
        staged["files"][0]["hash_after"],
        json!(workspace.rev(":b.txt")),
        "the content of the index"
    );
    workspace.refuses(&["BAD_REQUEST"], 2, &["diff", "--worktree", "--staged"]);
}

#[test]
fn without_a_session_the_users_changes_are_those_against_head() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.write("a.txt", "one\nmine\n");
    let status = workspace.edt(&["status"]).json;
    assert_eq!(each(&status["user_changes"], "path"), ["a.txt"]);
    let diff = workspace.edt(&["diff", "--worktree"]).json;
    assert!(diff.to_string().contains("+mine"), "{diff:#}");
    workspace.refuses(&["NO_SESSION"], 1, &["diff"]);
}

#[test]
fn a_merge_in_progress_and_its_conflicts_are_listed() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    workspace.git(&["switch", "--quiet", "-c", "other"]);
    workspace.commit(&[("a.txt", b"theirs\n")]);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("a.txt", b"ours\n")]);
    assert!(!workspace.try_git(&["merge", "other"]).status.success());
    let status = workspace.edt(&["status"]).json;
    assert_eq!((&status["operation"], &status["conflicted"]), (&json!("merge"), &json!(["a.txt"])));
    let change = &status["user_changes"][0];
    assert_eq!((&change["path"], &change["conflicted"]), (&json!("a.txt"), &json!(true)));
    let printed = text(&workspace, &["status"]);
    assert!(
        printed.contains("a merge is in progress\n") && printed.contains("UU a.txt"),
        "{printed}"
    );
}

/// Renames are those of `git diff -M`, with its similarity.
#[test]
fn renames_are_the_ones_that_git_finds() {
    let file = |from: usize, to: usize| {
        (from..to).map(|n| format!("line {n} of a file\n")).collect::<String>()
    };
    let workspace = TestRepo::with(&[
        ("one.txt", file(0, 40).as_bytes()),
        ("two.txt", file(100, 160).as_bytes()),
        ("x/three.txt", file(200, 230).as_bytes()),
        ("gone.txt", file(300, 310).as_bytes()),
        ("same.txt", b"same\n"),
    ]);
    workspace.edt(&["begin", "s"]).landed();
    for path in ["one.txt", "two.txt", "x/three.txt", "gone.txt", "same.txt"] {
        workspace
            .apply(&json!({"path": path, "mode": "delete", "allow": ["mass_deletion"]}))
            .landed();
    }
    let create = |path: &str, content: String| {
        workspace.apply(&json!({"path": path, "mode": "create", "content": content})).landed();
    };
    create("uno.txt", file(0, 30) + &file(500, 505));
    create("dos.txt", file(100, 131) + &file(600, 625));
    create("y/three.txt", file(200, 228));
    create("other.txt", file(304, 306) + &file(700, 720));
    create("z/same.txt", "same\n".to_owned());
    let shown = |file: &Value| match file["from"].as_str() {
        Some(from) => {
            format!(
                "R{:03}\t{from}\t{}",
                file["similarity"].as_u64().unwrap(),
                file["path"].as_str().unwrap()
            )
        }
        None => format!(
            "{}\t{}",
            file["change"].as_str().unwrap()[..1].to_uppercase(),
            file["path"].as_str().unwrap()
        ),
    };
    let diff = workspace.edt(&["diff"]).json;
    let found: Vec<String> = diff["files"].as_array().unwrap().iter().map(shown).collect();
    let git = workspace.git(&["diff", "-M", "--name-status", "main", "HEAD"]);
    assert_eq!(found, git.lines().collect::<Vec<_>>());
}

/// The session `s` with three edits.
fn three_edits() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    let both = json!({"message": "both files", "edits": [
        {"path": "a.txt", "mode": "append", "content": "three\n"},
        {"path": "b.txt", "mode": "append", "content": "c\n"}]});
    workspace.apply(&both).landed();
    workspace.overwrite("b.txt", "d\n");
    workspace
}

fn edit_numbers(answer: &Value) -> Vec<u64> {
    let commits = answer["commits"].as_array().unwrap();
    commits.iter().filter_map(|commit| commit["edit"].as_u64()).collect()
}

#[test]
fn log_lists_a_range_of_edits() {
    let workspace = three_edits();
    for (range, numbers) in [
        ("1..2", &[2][..]),
        ("1..", &[3, 2]),
        ("..2", &[2, 1]),
        ("0..3", &[3, 2, 1]),
        ("2..2", &[]),
    ] {
        assert_eq!(edit_numbers(&workspace.edt(&["log", range]).json), numbers, "{range}");
    }
    workspace.refuses(&["BAD_REQUEST"], 2, &["log", "1..9"]);
    // A file of that name comes first.
    workspace.edt(&["apply", "1..2", "--mode", "create", "--content", "x\n"]).landed();
    assert_eq!(edit_numbers(&workspace.edt(&["log", "1..2"]).json), [4]);
}

#[test]
fn the_users_terminal_gets_a_pager() {
    let workspace = three_edits();
    let paged = |set: &str, call: &str| {
        let (status, screen) =
            workspace.at_terminal(&format!("status; unset GIT_PAGER; {set} \"$EDT\" {call}"), "");
        assert_eq!(status, Some(0), "{screen}");
        screen.matches("P:").count()
    };
    assert_eq!(paged("PAGER='sed s/^/P:/'", "log --oneline"), 3);
    assert_eq!(paged("PAGER=none GIT_PAGER='sed s/^/P:/'", "log --oneline"), 3);
    assert_eq!(paged("PAGER='sed s/^/P:/'", "status"), 0);
    assert_eq!(paged("PAGER='sed s/^/P:/'", "log --oneline | cat"), 0);
    // The repository's own configuration may have come with it.
    workspace.git(&["config", "core.pager", "sed s/^/P:/"]);
    assert_eq!(paged("PAGER=cat", "log"), 0);
    // An agent waits for no key.
    assert_eq!(paged("CLAUDECODE=1 PAGER='sed s/^/P:/'", "log"), 0);
    let (_, screen) = workspace.at_terminal("status; GIT_PAGER=no-such-pager \"$EDT\" log", "");
    assert!(screen.contains("both files"), "{screen}");
}

#[test]
fn log_shows_the_files_of_each_edit_and_their_diffs() {
    let workspace = three_edits();
    let listed = workspace.edt(&["log", "--stat"]).json;
    let files = &listed["commits"][1]["files"];
    assert_eq!((&files[0]["path"], &files[0]["lines_added"]), (&json!("a.txt"), &json!(1)));
    assert_eq!((&files[1]["path"], &files[1]["patch"]), (&json!("b.txt"), &json!("")));
    let patch = workspace.edt(&["log", "1..2", "-p"]).json;
    assert_eq!(patch["commits"][0]["files"][1]["patch"], "@@ -1 +1,2 @@\n b\n+c\n");
    assert_eq!(workspace.edt(&["log"]).json["commits"][0]["files"], Value::Null);
    let text = |args: &[&str]| {
        let done = workspace.command(EDT).args(args).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    let lines = text(&["log"]);
    assert!(lines.lines().nth(1).unwrap().ends_with("  2 files +2 -0  both files"), "{lines}");
    // The subject of an edit without a message has the numbers.
    assert_eq!(lines.lines().next().unwrap().matches("+1 -2").count(), 1, "{lines}");
    assert!(text(&["log", "-p", "1..2"]).contains("\n+three\n"));
    assert!(text(&["log", "--oneline"]).lines().nth(1).unwrap().ends_with("both files"));
    assert!(!text(&["log", "--oneline"]).contains("+2"));
}

#[test]
fn a_graph_has_the_undone_edits_where_they_were() {
    let workspace = TestRepo::with(&[("a.txt", b"0\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let edit = |text: &str| {
        let content = format!("{text}\n");
        let args = ["apply", "a.txt", "--mode", "overwrite", "--content", &content, "-m", text];
        workspace.edt(&args).landed();
    };
    ["1", "2", "3"].iter().for_each(|text| edit(text));
    workspace.edt(&["undo", "--to", "1"]).landed();
    edit("4");
    workspace.edt(&["undo"]).landed();
    edit("5");
    let graph = text(&workspace, &["log", "--graph", "--oneline"]);
    let shape = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let marks = words.iter().take_while(|word| "*|o/|/".contains(*word)).copied();
        let marks = marks.collect::<Vec<_>>().join(" ");
        let subject = words.get(marks.split(' ').count() + 2).copied();
        format!("{marks} {}", subject.unwrap_or_default())
    };
    let shapes: Vec<String> = graph.lines().map(shape).collect();
    assert_eq!(
        shapes,
        ["* 5", "| * 4", "|/ ", "| * 3", "| * 2", "|/ ", "* 1", "o base"],
        "{graph}"
    );
    let undone = workspace.edt(&["log", "--graph"]).json["undone"].clone();
    assert_eq!(each(&undone, "subject"), ["2", "3", "4"]);
    assert_eq!(workspace.edt(&["log"]).json["undone"], json!([]));
}
