//! Whose lines are whose: a commit of edt has what the edit changed and nothing else. What the user
//! has not committed stays uncommitted and on disk, before, during and after a session.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::test_repo::{Answer, Snapshot, TestRepo, changed, lines, same, walk};

/// The user's policy that lets every program run.
const FREE: &str = "[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\ntimeout = 600\n";

/// What only an ignored file has.
const SECRET: &str = "KEY=a-secret-of-the-user";

/// Two tracked texts of 30 lines, and ignored names.
fn workspace() -> TestRepo {
    let workspace = TestRepo::with(&[
        ("a.txt", lines(30).as_bytes()),
        ("b.txt", lines(30).as_bytes()),
        (".gitignore", b".env\n*.log\n"),
    ]);
    let directory = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("edt.toml"), FREE).unwrap();
    workspace
}

/// The user types `text` as a new line below line `number`.
fn types(workspace: &TestRepo, path: &str, number: usize, text: &str) {
    let old = workspace.text(path);
    let mut all: Vec<&str> = old.lines().collect();
    all.insert(number, text);
    workspace.write(path, all.join("\n") + "\n");
}

/// The text of line `number` of the files above.
fn line(number: usize) -> String {
    format!("line {number} of a text")
}

/// An agent's edit of line `number`, which must be applied.
#[track_caller]
fn edits(workspace: &TestRepo, path: &str, number: usize, new: &str) -> Answer {
    let args = ["apply", path, "--mode", "edit", "--old-text", &line(number), "--content", new];
    applied(workspace.edt(&[&args[..], &["--agent", "bot"]].concat()))
}

#[track_caller]
fn applied(answer: Answer) -> Answer {
    assert_eq!(
        (answer.exit, answer.json["status"].as_str()),
        (0, Some("applied")),
        "{:#}",
        answer.json
    );
    answer
}

/// What the answer says of a file: its user changes, and where it is recorded.
#[track_caller]
fn said<'a>(answer: &'a Answer, path: &str) -> (&'a str, &'a str) {
    let files = answer.json["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"] == path);
    let file = file.unwrap_or_else(|| panic!("no {path}: {:#}", answer.json));
    (file["user_changes"].as_str().unwrap(), file["recorded"].as_str().unwrap())
}

/// The changed lines of a commit, as `git show` has them.
fn shown(workspace: &TestRepo, rev: &str) -> Vec<String> {
    changed_lines(&workspace.git(&["show", "--format=", "--unified=0", "--no-renames", rev]))
}

/// The changed lines of `git diff ARGS`.
fn diff(workspace: &TestRepo, args: &[&str]) -> Vec<String> {
    changed_lines(&workspace.git(&[&["diff", "--unified=0"], args].concat()))
}

fn changed_lines(diff: &str) -> Vec<String> {
    let is_change = |line: &&str| {
        line.starts_with(['+', '-']) && !line.starts_with("+++ ") && !line.starts_with("--- ")
    };
    diff.lines().filter(is_change).map(str::to_owned).collect()
}

/// A replaced line, as a diff shows it.
fn replaced(number: usize, new: &str) -> Vec<String> {
    vec![format!("-{}", line(number)), format!("+{new}")]
}

fn added(new: &str) -> Vec<String> {
    vec![format!("+{new}")]
}

/// The kinds of the commits of a range, newest first; empty for the user's own.
fn kinds(workspace: &TestRepo, range: &str) -> Vec<String> {
    let format = "--format=%(trailers:key=Edt-Kind,valueonly,separator=)";
    workspace.git(&["log", "--first-parent", format, range]).lines().map(str::to_owned).collect()
}

/// Everything that any ref reaches, as one text.
fn published(workspace: &TestRepo) -> String {
    workspace.git(&["log", "--all", "--patch", "--format=%B"])
}

/// Every object that `git push --mirror` sends, as one text.
fn mirrored(workspace: &TestRepo) -> String {
    let bare = workspace.home.join("mirror.git");
    let _ = std::fs::remove_dir_all(&bare);
    let bare = bare.to_str().unwrap();
    workspace.git(&["init", "--quiet", "--bare", bare]);
    workspace.git(&["push", "--quiet", "--mirror", bare]);
    workspace.git(&["-C", bare, "cat-file", "--batch-all-objects", "--batch"])
}

/// Every file of the repository, the Git directory included, that has these bytes.
fn files_with(workspace: &TestRepo, bytes: &str) -> Snapshot {
    let mut all = workspace.files();
    let mut below = Snapshot::new();
    walk(&workspace.root.join(".git"), "", &mut below);
    all.extend(below.into_iter().map(|(path, bytes)| (format!(".git/{path}"), bytes)));
    all.retain(|_, found| memchr::memmem::find(found, bytes.as_bytes()).is_some());
    all
}

/// Runs edt as the user at a terminal.
#[track_caller]
fn the_user_runs(workspace: &TestRepo, call: &str) -> String {
    let (status, screen) = workspace.at_terminal(call, "");
    assert_eq!(status, Some(0), "edt {call}: {screen}");
    screen
}

fn branch(workspace: &TestRepo) -> String {
    workspace.git(&["symbolic-ref", "--short", "HEAD"]).trim().to_owned()
}

// ---- the stories of version 0.1.0, in the order of the design page -------------------------------

#[test]
fn a_users_line_stays_uncommitted_beside_an_edit() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "user 1");
    let answer = edits(&workspace, "a.txt", 20, "agent 1");
    assert_eq!(said(&answer, "a.txt"), ("separate", "branch"));
    assert_eq!(shown(&workspace, "HEAD"), replaced(20, "agent 1"));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    let disk = workspace.files();
    applied(workspace.edt(&["land"]));
    same(&disk, &workspace.files());
    assert_eq!(branch(&workspace), "main");
    assert_eq!(shown(&workspace, "main"), replaced(20, "agent 1"));
    assert_eq!(
        (diff(&workspace, &["HEAD"]), workspace.status()),
        (added("user 1"), " M a.txt\n".into())
    );
    assert!(!published(&workspace).contains("user 1"));
    assert!(!mirrored(&workspace).contains("user 1"));
    workspace.is_sound();
}

#[test]
fn a_program_commits_nothing_of_the_user() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "user 1");
    workspace.write("notes.txt", "user 2\n");
    let before = workspace.snapshot();
    let answer = workspace.runs(&[], &["true"]);
    assert_eq!(
        (answer.exit, &answer.json["status"], &answer.json["session"]),
        (0, &json!("unchanged"), &Value::Null)
    );
    same(&before, &workspace.snapshot());
    edits(&workspace, "b.txt", 3, "agent 1");
    applied(workspace.edt(&["land"]));
    assert_eq!(workspace.git(&["show", "--format=", "--name-only", "main"]), "b.txt\n");
    assert_eq!(workspace.status(), " M a.txt\n?? notes.txt\n");
    let all = published(&workspace);
    assert!(!all.contains("user 1") && !all.contains("user 2"), "{all}");
}

#[test]
fn a_program_sees_the_users_state_and_moves_nothing() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "user 1");
    workspace.write("b.txt", "staged\n");
    workspace.git(&["add", "b.txt"]);
    workspace.write("notes.txt", "user 2\n");
    let before = workspace.snapshot();
    for (argv, text) in [
        (&["ls"][..], "a.txt\nb.txt\nnotes.txt\n"),
        (&["git", "status", "--porcelain"], " M a.txt\nM  b.txt\n?? notes.txt\n"),
        (&["git", "branch", "--show-current"], "main\n"),
        (&["git", "stash", "list"], ""),
        (&["git", "diff", "--name-only"], "a.txt\n"),
    ] {
        let answer = workspace.runs(&["--sandbox", "standard"], argv);
        assert_eq!(answer.json["run"]["stdout"]["text"], json!(text), "{:#}", answer.json);
        assert_eq!(answer.json["session"], Value::Null);
        same(&before, &workspace.snapshot());
    }
    // In a session as well.
    edits(&workspace, "a.txt", 20, "agent 1");
    let before = workspace.snapshot();
    let answer = workspace.runs(&[], &["git", "status", "--porcelain"]);
    let text = " M a.txt\nM  b.txt\n?? notes.txt\n";
    assert_eq!(answer.json["run"]["stdout"]["text"], json!(text), "{:#}", answer.json);
    same(&before, &workspace.snapshot());
}

#[test]
fn undo_keeps_a_line_that_the_user_typed_after_the_edit() {
    let workspace = workspace();
    let before = workspace.text("a.txt");
    edits(&workspace, "a.txt", 20, "agent 1");
    types(&workspace, "a.txt", 25, "user 1");
    applied(workspace.edt(&["undo"]));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    assert_eq!(workspace.text("a.txt").replace("user 1\n", ""), before);
    assert_eq!(workspace.rev("HEAD"), workspace.rev("main"));
    assert!(!published(&workspace).contains("user 1"));
    applied(workspace.edt(&["redo"]));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    assert_eq!(shown(&workspace, "HEAD"), replaced(20, "agent 1"));
    workspace.is_sound();
}

#[test]
fn abandon_keeps_the_lines_that_the_user_typed() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "user 1");
    workspace.write("notes.txt", "user 2\n");
    let before = workspace.text("a.txt");
    edits(&workspace, "a.txt", 20, "agent 1");
    applied(workspace.edt(&["apply", "new.txt", "--mode", "create", "--content", "agent 2\n"]));
    types(&workspace, "a.txt", 28, "user 3");
    applied(workspace.edt(&["abandon"]));
    assert_eq!(branch(&workspace), "main");
    assert_eq!(workspace.text("a.txt").replace("user 3\n", ""), before);
    assert_eq!(workspace.status(), " M a.txt\n?? notes.txt\n");
    assert_eq!(diff(&workspace, &["HEAD"]), ["+user 1", "+user 3"]);
    assert!(!published(&workspace).contains("user "));
    workspace.is_sound();
}

#[test]
fn git_switch_during_a_session_keeps_the_users_work_on_disk() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "user 1");
    workspace.write("notes.txt", "user 2\n");
    edits(&workspace, "b.txt", 20, "agent 1");
    let (a, notes) = (workspace.text("a.txt"), workspace.text("notes.txt"));
    workspace.git(&["switch", "--quiet", "main"]);
    assert_eq!((workspace.text("a.txt"), workspace.text("notes.txt")), (a, notes));
    assert_eq!(workspace.text("b.txt"), lines(30));
    assert_eq!(workspace.status(), " M a.txt\n?? notes.txt\n");
    workspace.git(&["switch", "--quiet", "edt/main-1"]);
    // Git refuses to switch where the session changed the same file; nothing is lost either.
    edits(&workspace, "a.txt", 20, "agent 2");
    let before = workspace.snapshot();
    assert!(!workspace.try_git(&["switch", "--quiet", "main"]).status.success());
    same(&before, &workspace.snapshot());
    workspace.is_sound();
}

#[test]
fn an_ignored_file_is_edited_and_never_committed() {
    let workspace = workspace();
    workspace.write(".env", format!("{SECRET}\n"));
    let args = ["apply", ".env", "--mode", "append", "--content", "DEBUG=1\n"];
    let answer = applied(workspace.edt(&args));
    assert_eq!(said(&answer, ".env"), ("none", "private"));
    edits(&workspace, "a.txt", 20, "agent 1");
    applied(workspace.edt(&["land"]));
    assert_eq!(workspace.text(".env"), format!("{SECRET}\nDEBUG=1\n"));
    assert_eq!(
        workspace.git(&["ls-tree", "-r", "--name-only", "main"]),
        ".gitignore\na.txt\nb.txt\n"
    );
    assert_eq!(workspace.git(&["log", "--all", "--format=%H", "--", ".env"]), "");
    for branch in ["edt/main-1", "main"] {
        workspace.git(&["switch", "--quiet", branch]);
        assert_eq!(workspace.text(".env"), format!("{SECRET}\nDEBUG=1\n"));
    }
    assert!(!mirrored(&workspace).contains("a-secret"));
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn undo_brings_back_an_ignored_file_that_a_program_removed() {
    let workspace = workspace();
    workspace.write(".env", format!("{SECRET}\n"));
    std::fs::set_permissions(workspace.root.join(".env"), PermissionsExt::from_mode(0o600))
        .unwrap();
    let before = workspace.files();
    let answer = workspace.runs(&[], &["rm", ".env"]);
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    assert!(!workspace.exists(".env"));
    applied(workspace.edt(&["undo"]));
    same(&before, &workspace.files());
    assert!(!mirrored(&workspace).contains("a-secret"));
    workspace.is_sound();
}

#[test]
fn a_reduction_by_the_user_is_not_counted_against_the_agent() {
    let cut = |workspace: &TestRepo| workspace.write("a.txt", lines(20));
    let long = lines(100);
    let workspace = TestRepo::with(&[("a.txt", long.as_bytes())]);
    cut(&workspace);
    let answer = edits(&workspace, "a.txt", 5, "agent 1");
    assert_eq!(said(&answer, "a.txt"), ("separate", "branch"));
    assert_eq!(shown(&workspace, "HEAD"), replaced(5, "agent 1"));
    assert_eq!(workspace.text("a.txt").lines().count(), 20);
    // Next to the lines that the user removed, the edit is left over. It is applied as well.
    let workspace = TestRepo::with(&[("a.txt", long.as_bytes())]);
    cut(&workspace);
    let answer = workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "agent 1\n"]);
    assert_eq!(said(&applied(answer), "a.txt"), ("separate", "private"));
    assert_eq!(shown(&workspace, "HEAD"), Vec::<String>::new());
    assert_eq!(workspace.text("a.txt"), lines(20) + "agent 1\n");
    workspace.is_sound();
}

// ---- one edit ------------------------------------------------------------------------------------

#[test]
fn what_the_user_staged_stays_staged() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "staged by the user");
    workspace.git(&["add", "a.txt"]);
    types(&workspace, "a.txt", 28, "user 1");
    let answer = edits(&workspace, "a.txt", 15, "agent 1");
    assert_eq!(said(&answer, "a.txt"), ("separate", "branch"));
    assert_eq!(shown(&workspace, "HEAD"), replaced(15, "agent 1"));
    assert_eq!(diff(&workspace, &["--cached"]), added("staged by the user"));
    assert_eq!(diff(&workspace, &[]), added("user 1"));
    for call in ["undo", "redo", "land"] {
        applied(workspace.edt(&[call]));
        assert_eq!(diff(&workspace, &["--cached"]), added("staged by the user"), "{call}");
        assert_eq!(diff(&workspace, &[]), added("user 1"), "{call}");
    }
    assert_eq!(shown(&workspace, "main"), replaced(15, "agent 1"));
    workspace.git(&["commit", "--quiet", "-m", "mine"]);
    assert_eq!(shown(&workspace, "HEAD"), added("staged by the user"));
    workspace.is_sound();
}

#[test]
fn everything_staged_stays_staged_and_nothing_else_is() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "staged by the user");
    workspace.git(&["add", "a.txt"]);
    edits(&workspace, "a.txt", 15, "agent 1");
    assert_eq!(workspace.status(), "M  a.txt\n");
    assert_eq!(diff(&workspace, &["--cached"]), added("staged by the user"));
    applied(workspace.edt(&["abandon"]));
    assert_eq!(workspace.status(), "M  a.txt\n");
    assert_eq!(diff(&workspace, &["--cached"]), added("staged by the user"));
    workspace.is_sound();
}

#[test]
fn a_deletion_or_a_mode_bit_of_the_user_stays_the_users() {
    let workspace = workspace();
    let path = workspace.root.join("a.txt");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::remove_file(workspace.root.join("b.txt")).unwrap();
    let answer = edits(&workspace, "a.txt", 15, "agent 1");
    assert_eq!(said(&answer, "a.txt"), ("separate", "branch"));
    let listed = workspace.git(&["ls-tree", "--format=%(objectmode) %(path)", "HEAD"]);
    assert_eq!(listed, "100644 .gitignore\n100644 a.txt\n100644 b.txt\n");
    assert_eq!(workspace.status(), " M a.txt\n D b.txt\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    applied(workspace.edt(&["land"]));
    assert_eq!(workspace.status(), " M a.txt\n D b.txt\n");
    assert_eq!(diff(&workspace, &["HEAD", "--", "a.txt"]), Vec::<String>::new(), "the mode only");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_renamed_file_takes_the_users_line_along_uncommitted() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "user 1");
    let text = workspace.text("a.txt");
    let args = ["apply", "a.txt", "--mode", "rename", "--to", "dir/moved.txt"];
    let answer = applied(workspace.edt(&args));
    assert_eq!(said(&answer, "dir/moved.txt"), ("separate", "branch"));
    assert_eq!(workspace.blob("HEAD:dir/moved.txt"), lines(30).as_bytes());
    assert_eq!((workspace.text("dir/moved.txt"), workspace.exists("a.txt")), (text.clone(), false));
    assert_eq!(workspace.status(), " M dir/moved.txt\n");
    applied(workspace.edt(&["undo"]));
    assert_eq!((workspace.text("a.txt"), workspace.exists("dir/moved.txt")), (text, false));
    assert_eq!(workspace.status(), " M a.txt\n");
    workspace.is_sound();
}

#[test]
fn line_ends_that_git_converts_do_not_mix_an_edit_with_a_users_line() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let workspace = TestRepo::with(&[(".gitattributes", b"*.txt text eol=crlf\n")]);
    workspace.write("a.txt", crlf(&lines(30)));
    workspace.commit(&[]);
    let typed = lines(30).replace("line 4 of", "user 1\nline 4 of");
    workspace.write("a.txt", crlf(&typed));
    let answer = edits(&workspace, "a.txt", 20, "agent 1");
    assert_eq!(said(&answer, "a.txt"), ("separate", "branch"));
    let edited = |text: &str| text.replace(&line(20), "agent 1");
    assert_eq!(workspace.blob("HEAD:a.txt"), edited(&lines(30)).as_bytes());
    assert_eq!(workspace.text("a.txt"), crlf(&edited(&typed)));
    applied(workspace.edt(&["undo"]));
    assert_eq!(workspace.text("a.txt"), crlf(&typed));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    workspace.is_sound();
}

#[test]
fn a_session_without_switching_separates_too() {
    let workspace = workspace();
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    types(&workspace, "a.txt", 3, "user 1");
    let answer = edits(&workspace, "a.txt", 20, "agent 1");
    assert_eq!(said(&answer, "a.txt"), ("separate", "branch"));
    assert_eq!(shown(&workspace, "edt/s"), replaced(20, "agent 1"));
    types(&workspace, "a.txt", 28, "user 2");
    applied(workspace.edt(&["undo"]));
    assert_eq!(diff(&workspace, &["HEAD"]), ["+user 1", "+user 2"]);
    applied(workspace.edt(&["redo"]));
    applied(workspace.edt(&["land"]));
    assert_eq!(shown(&workspace, "main"), replaced(20, "agent 1"));
    assert_eq!(diff(&workspace, &["HEAD"]), ["+user 1", "+user 2"]);
    assert_eq!(workspace.status(), " M a.txt\n");
    workspace.is_sound();
}

#[test]
fn the_users_files_stay_untracked_on_a_branch_without_a_commit() {
    let workspace = TestRepo::unborn(&[]);
    workspace.write("mine.txt", "user 1\n");
    let args = ["apply", "a.txt", "--mode", "create", "--content", "agent 1\n"];
    applied(workspace.edt(&args));
    assert_eq!(workspace.status(), "?? mine.txt\n");
    applied(workspace.edt(&["land"]));
    assert_eq!((branch(&workspace), workspace.status()), ("main".into(), "?? mine.txt\n".into()));
    assert!(!published(&workspace).contains("user 1"));
    workspace.is_sound();
}

#[test]
fn an_edit_in_the_users_lines_is_left_over() {
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "user 1");
    types(&workspace, "a.txt", 28, "user 2");
    let before = workspace.text("a.txt");
    let args = ["apply", "a.txt", "--mode", "edit", "--agent", "bot"];
    let change = ["--old-text", "user 1\n", "--content", "user 1\nagent 1\n"];
    let answer = applied(workspace.edt(&[&args[..], &change].concat()));
    assert_eq!(said(&answer, "a.txt"), ("separate", "private"));
    assert_eq!(kinds(&workspace, "main..HEAD"), ["edit"]);
    assert_eq!(shown(&workspace, "HEAD"), Vec::<String>::new());
    assert!(!published(&workspace).contains("user "));
    let status = workspace.edt(&["status"]);
    let left_over = json!([{"path": "a.txt", "edits": [1], "lines": ["12"]}]);
    assert_eq!(status.json["left_over"], left_over);
    applied(workspace.edt(&["undo"]));
    assert_eq!(workspace.text("a.txt"), before);
    applied(workspace.edt(&["redo"]));
    applied(workspace.edt(&["abandon"]));
    assert_eq!(workspace.text("a.txt"), before, "the agent's line leaves, the user's stay");
    assert_eq!(diff(&workspace, &["HEAD"]), ["+user 1", "+user 2"]);
    workspace.is_sound();
}

#[test]
fn a_request_in_the_users_lines_and_in_others_is_recorded_partly() {
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "user 1");
    let before = workspace.text("a.txt");
    let new = before.replace("user 1\n", "agent 1\n").replace(&line(20), "agent 2");
    let edit = json!({"path": "a.txt", "mode": "overwrite", "content": new});
    let answer = applied(workspace.apply(&edit));
    assert_eq!(said(&answer, "a.txt"), ("separate", "partly"));
    assert_eq!(answer.json["files"][0]["left_over"], json!(["11"]));
    assert_eq!(shown(&workspace, "HEAD"), replaced(20, "agent 2"));
    assert_eq!(diff(&workspace, &["HEAD"]), added("agent 1"));
    // What an agent lands must be what it tested.
    workspace.refuses(&["LEAVES_OUT"], 4, &["land"]);
    workspace.refuses(&["LEAVES_OUT"], 4, &["land", "--allow", "leaves_out"]);
    applied(workspace.edt(&["undo"]));
    assert_eq!(workspace.text("a.txt"), before);
    workspace.is_sound();
}

#[test]
fn the_user_lands_without_what_is_left_over() {
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "user 1");
    edits(&workspace, "b.txt", 20, "agent 1");
    edits(&workspace, "a.txt", 10, "agent 2");
    let disk = workspace.files();
    let (status, screen) = workspace.at_terminal("land", "no\n");
    assert!(status != Some(0) && screen.contains("LEAVES_OUT"), "{screen}");
    the_user_runs(&workspace, "land --allow leaves_out");
    same(&disk, &workspace.files());
    assert_eq!(shown(&workspace, "main"), replaced(20, "agent 1"));
    assert!(!published(&workspace).contains("user 1"));
}

#[test]
fn the_user_is_asked_once_whether_what_is_left_over_lands() {
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "user 1");
    edits(&workspace, "b.txt", 20, "agent 1");
    types(&workspace, "b.txt", 28, "user 2");
    edits(&workspace, "a.txt", 10, "agent 2");
    let (disk, main) = (workspace.files(), workspace.rev("main"));
    let (status, screen) = workspace.at_terminal("land", "no\n");
    assert!(
        status != Some(0) && screen.contains("with your own lines in them: a.txt?"),
        "{screen}"
    );
    assert_eq!(workspace.rev("main"), main);
    same(&disk, &workspace.files());
    let (status, screen) = workspace.at_terminal("land", "yes\n");
    assert_eq!(status, Some(0), "{screen}");
    same(&disk, &workspace.files());
    assert!(workspace.git(&["show", "main:a.txt"]).contains("agent 2"));
    assert!(!published(&workspace).contains("user 2"), "only what edits changed");
    workspace.is_sound();
}

#[test]
fn the_user_is_asked_if_all_of_a_session_is_left_over() {
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "user 1");
    edits(&workspace, "a.txt", 10, "agent 1");
    let (status, screen) = workspace.at_terminal("land", "yes\n");
    assert_eq!(status, Some(0), "{screen}");
    assert!(workspace.git(&["show", "main:a.txt"]).contains("agent 1"));
    workspace.is_clean();
}

#[test]
fn a_checkpoint_of_what_is_left_over_lands_by_the_user() {
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "user 1");
    edits(&workspace, "a.txt", 10, "agent 1");
    workspace.refuses(&["NOTHING_TO_LAND"], 1, &["land"]);
    the_user_runs(&workspace, "checkpoint");
    assert_eq!(workspace.edt(&["status"]).json["left_over"], json!([]));
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land"]);
    the_user_runs(&workspace, "land");
    workspace.is_clean();
    assert!(published(&workspace).contains("user 1"));
}

#[test]
fn what_the_user_removed_of_an_edit_that_no_commit_has_needs_no_undo() {
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "user 1");
    edits(&workspace, "a.txt", 10, "agent 1");
    workspace.git(&["restore", "a.txt"]);
    assert_eq!(workspace.edt(&["status"]).json["left_over"], json!([]));
    applied(workspace.edt(&["undo"]));
    workspace.is_clean();
    assert_eq!(workspace.text("a.txt"), lines(30));
}

#[test]
fn an_untracked_file_of_the_user_stays_untracked() {
    let workspace = workspace();
    workspace.write("notes.txt", "user 1\n");
    types(&workspace, "a.txt", 3, "user 2");
    let args = ["apply", "notes.txt", "--mode", "append", "--content", "agent 1\n"];
    let answer = applied(workspace.edt(&args));
    assert_eq!(said(&answer, "notes.txt"), ("separate", "private"));
    assert_eq!(workspace.status(), " M a.txt\n?? notes.txt\n");
    // Git's own commands leave it where it is.
    workspace.git(&["switch", "--quiet", "main"]);
    assert_eq!(workspace.text("notes.txt"), "user 1\nagent 1\n");
    workspace.git(&["switch", "--quiet", "-"]);
    applied(workspace.edt(&["undo"]));
    assert_eq!(workspace.text("notes.txt"), "user 1\n");
    applied(workspace.edt(&["redo"]));
    applied(workspace.edt(&["abandon"]));
    assert_eq!(workspace.text("notes.txt"), "user 1\n");
    assert_eq!(workspace.status(), " M a.txt\n?? notes.txt\n");
    workspace.is_sound();
}

#[test]
fn one_request_may_have_files_with_and_without_the_users_lines() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "user 1");
    types(&workspace, "b.txt", 20, "user 2");
    let edit = |path: &str, old: &str| json!({"path": path, "mode": "edit", "old_text": old, "content": format!("agent in {path}")});
    let request = json!({"edits": [edit("a.txt", &line(20)), edit("b.txt", &line(20))]});
    let answer = applied(workspace.apply(&request));
    assert_eq!((said(&answer, "a.txt").1, said(&answer, "b.txt").1), ("branch", "private"));
    assert_eq!(shown(&workspace, "HEAD"), replaced(20, "agent in a.txt"));
    assert!(!published(&workspace).contains("user "));
    workspace.is_sound();
}

#[test]
fn a_moved_function_of_the_user_stays_uncommitted() {
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "fn of_the_user() {}");
    let request = json!({"edits": [
        {"path": "a.txt", "mode": "edit", "old_text": "fn of_the_user() {}\n", "content": ""},
        {"path": "b.txt", "mode": "append", "content": "  fn of_the_user() {}\n"},
        {"path": "new.txt", "mode": "create", "content": "agent 1\n"},
    ]});
    let answer = applied(workspace.apply(&request));
    assert_eq!(said(&answer, "b.txt").1, "private");
    assert!(!published(&workspace).contains("of_the_user"));
    assert_eq!(shown(&workspace, "HEAD"), added("agent 1"));
    workspace.is_sound();
}

/// Git compares the seconds of a file's time, and reads a file again that is as young as the index.
/// An index that edt writes later is younger; Git would not read the file again.
#[test]
fn a_change_in_the_second_of_a_commit_is_not_hidden_by_a_later_index() {
    let second = |workspace: &TestRepo, path: &str| {
        let meta = workspace.root.join(path).metadata().unwrap();
        std::os::unix::fs::MetadataExt::mtime(&meta)
    };
    let workspace = workspace();
    loop {
        workspace.commit(&[("a.txt", lines(30).as_bytes())]);
        workspace.write("a.txt", lines(30).replace("line 3 of a text", "user 000000000 1"));
        if second(&workspace, ".git/index") == second(&workspace, "a.txt") {
            break;
        }
    }
    assert_eq!(workspace.status(), " M a.txt\n");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    edits(&workspace, "b.txt", 3, "agent 1");
    assert_eq!(workspace.status(), " M a.txt\n");
    let script = "sed -i 's/line 20 of a text/agent 2/' a.txt";
    applied(workspace.runs(&[], &["sh", "-c", script]));
    assert_eq!(shown(&workspace, "HEAD"), replaced(20, "agent 2"));
}

// ---- going back ----------------------------------------------------------------------------------

/// An edit of line 17, into which the user then typed.
fn overlapping() -> TestRepo {
    let workspace = workspace();
    edits(&workspace, "a.txt", 17, "agent 1");
    let typed = workspace.text("a.txt").replace("agent 1", "agent 1, and user 1");
    workspace.write("a.txt", typed);
    workspace
}

#[test]
fn undo_of_lines_that_the_user_changed_names_them_and_changes_nothing() {
    let workspace = overlapping();
    let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &["undo"]);
    let error = &answer.errors()[0];
    assert_eq!(error["path"], json!("a.txt"), "{error:#}");
    let facts = format!("{} {}", answer.message(), error["evidence"]);
    assert!(facts.contains("17"), "the line is named: {error:#}");
    // The other file is not undone either.
    let request = json!({"edits": [
        {"path": "a.txt", "mode": "edit", "old_text": line(3), "content": "agent 2"},
        {"path": "b.txt", "mode": "edit", "old_text": line(3), "content": "agent 3"},
    ]});
    applied(workspace.apply(&request));
    workspace.write("b.txt", workspace.text("b.txt").replace("agent 3", "user 2"));
    let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &["undo"]);
    assert_eq!(answer.errors()[0]["path"], json!("b.txt"));
}

#[test]
fn undo_with_save_keeps_the_users_version_at_a_ref_and_goes_on() {
    let workspace = overlapping();
    let typed = workspace.read("a.txt");
    let answer = applied(workspace.edt(&["undo", "--save"]));
    assert_eq!(workspace.text("a.txt"), lines(30));
    let name = "refs/edt/main-1/saved/1";
    assert_eq!(workspace.blob(&format!("{name}:a.txt")), typed);
    assert!(answer.json.to_string().contains(name), "it says where: {:#}", answer.json);
    applied(workspace.edt(&["redo"]));
    workspace.write("a.txt", workspace.text("a.txt").replace("agent 1", "user 2"));
    applied(workspace.edt(&["undo", "--save"]));
    assert_eq!(workspace.text("a.txt"), lines(30));
    let second = workspace.blob("refs/edt/main-1/saved/2:a.txt");
    assert!(String::from_utf8(second).unwrap().contains("user 2\n"));
    assert_eq!(workspace.blob(&format!("{name}:a.txt")), typed);
    workspace.is_sound();
}

#[test]
fn a_dry_run_of_undo_changes_nothing() {
    let workspace = workspace();
    edits(&workspace, "a.txt", 17, "agent 1");
    types(&workspace, "a.txt", 3, "user 1");
    let before = workspace.snapshot();
    let answer = workspace.edt(&["undo", "--dry-run"]);
    assert_eq!((answer.exit, &answer.json["status"]), (0, &json!("would_apply")));
    same(&before, &workspace.snapshot());
    workspace.write("a.txt", workspace.text("a.txt").replace("agent 1", "user 2"));
    workspace.refuses(&["UNSAVED_CHANGES"], 3, &["undo", "--dry-run"]);
}

#[test]
fn undo_without_later_changes_restores_every_byte() {
    let workspace = workspace();
    let odd = b"user 1\r\nno line end, and \xff\xfe";
    workspace.write("notes.txt", odd);
    types(&workspace, "a.txt", 3, "user 2");
    workspace.write("b.txt", lines(30).trim_end());
    let before = workspace.files();
    let status = workspace.status();
    let request = json!({"allow": ["encoding", "size_reduction"], "edits": [
        {"path": "a.txt", "mode": "edit", "old_text": line(20), "content": "agent 1"},
        {"path": "b.txt", "mode": "edit", "old_text": line(2), "content": "agent 2"},
        {"path": "notes.txt", "mode": "append", "content": "agent 3\n"},
        {"path": "new/deep.txt", "mode": "create", "content": "agent 4\n"},
    ]});
    applied(workspace.apply(&request));
    applied(workspace.edt(&["undo"]));
    let mut after = workspace.files();
    after.remove("new");
    same(&before, &after);
    assert_eq!(workspace.status(), status);
    workspace.is_sound();
}

#[test]
fn several_edits_are_undone_around_lines_that_were_typed_between_them() {
    let workspace = workspace();
    edits(&workspace, "a.txt", 5, "agent 1");
    types(&workspace, "a.txt", 10, "user 1");
    edits(&workspace, "a.txt", 15, "agent 2");
    types(&workspace, "a.txt", 20, "user 2");
    edits(&workspace, "a.txt", 25, "agent 3");
    types(&workspace, "a.txt", 30, "user 3");
    let disk = workspace.text("a.txt");
    applied(workspace.edt(&["undo", "3"]));
    assert_eq!(diff(&workspace, &["HEAD"]), ["+user 1", "+user 2", "+user 3"]);
    applied(workspace.edt(&["redo"]));
    assert_eq!(workspace.text("a.txt"), disk);
    applied(workspace.edt(&["undo", "--to", "main"]));
    assert_eq!(diff(&workspace, &["HEAD"]), ["+user 1", "+user 2", "+user 3"]);
    workspace.is_sound();
}

#[test]
fn redo_keeps_what_the_user_typed_after_the_undo() {
    let workspace = workspace();
    edits(&workspace, "a.txt", 20, "agent 1");
    applied(workspace.edt(&["undo"]));
    types(&workspace, "a.txt", 3, "user 1");
    applied(workspace.edt(&["redo"]));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    assert_eq!(shown(&workspace, "HEAD"), replaced(20, "agent 1"));
    applied(workspace.edt(&["undo"]));
    workspace.write("a.txt", workspace.text("a.txt").replace(&line(20), "user 2"));
    let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &["redo"]);
    assert_eq!(answer.errors()[0]["path"], json!("a.txt"));
}

#[test]
fn restore_keeps_the_users_lines_and_commits_only_its_own() {
    let workspace = workspace();
    edits(&workspace, "a.txt", 5, "agent 1");
    edits(&workspace, "a.txt", 15, "agent 2");
    types(&workspace, "a.txt", 25, "user 1");
    applied(workspace.edt(&["restore", "a.txt"]));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    assert_eq!(shown(&workspace, "HEAD"), ["-agent 2".to_owned(), format!("+{}", line(15))]);
    applied(workspace.edt(&["restore", "a.txt", "--revision", "2"]));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    assert_eq!(workspace.blob("HEAD:a.txt"), lines(30).as_bytes());
    applied(workspace.edt(&["undo", "2"]));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    workspace.write("a.txt", workspace.text("a.txt").replace("agent 2", "user 2"));
    workspace.refuses(&["UNSAVED_CHANGES"], 3, &["restore", "a.txt"]);
}

#[test]
fn restore_keeps_a_line_of_the_user_that_an_edit_is_next_to() {
    let workspace = workspace();
    edits(&workspace, "a.txt", 20, "agent 1");
    types(&workspace, "a.txt", 10, "user 1");
    let answer = edits(&workspace, "a.txt", 10, "agent 2");
    assert_eq!(said(&answer, "a.txt").1, "private");
    applied(workspace.edt(&["restore", "a.txt", "--revision", "1"]));
    let wanted = lines(30).replace("line 11 of", "user 1\nline 11 of");
    assert_eq!(workspace.text("a.txt"), wanted);
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
}

#[test]
fn a_file_that_the_agent_created_and_the_user_continued_is_not_removed() {
    let workspace = workspace();
    let args = ["apply", "new.txt", "--mode", "create", "--content", "agent 1\n"];
    applied(workspace.edt(&args));
    workspace.write("new.txt", "agent 1\nuser 1\n");
    for call in ["undo", "abandon"] {
        let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &[call]);
        assert_eq!(answer.errors()[0]["path"], json!("new.txt"));
    }
}

#[test]
fn abandon_of_lines_that_the_user_changed_names_them_and_changes_nothing() {
    let workspace = overlapping();
    let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &["abandon"]);
    assert_eq!(answer.errors()[0]["path"], json!("a.txt"));
}

#[test]
fn abandon_carries_the_users_lines_to_a_branch_that_moved() {
    let workspace = workspace();
    edits(&workspace, "b.txt", 20, "agent 1");
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("a.txt", lines(30).replace(&line(25), "moved").as_bytes())]);
    workspace.git(&["switch", "--quiet", "edt/main-1"]);
    types(&workspace, "a.txt", 3, "user 1");
    applied(workspace.edt(&["abandon"]));
    assert_eq!((branch(&workspace), diff(&workspace, &["HEAD"])), ("main".into(), added("user 1")));
    assert!(workspace.text("a.txt").contains("moved\n"));
    workspace.is_sound();
}

// ---- landing -------------------------------------------------------------------------------------

#[test]
fn landing_changes_no_byte_on_disk_unless_the_branch_moved() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "staged by the user");
    workspace.git(&["add", "a.txt"]);
    types(&workspace, "a.txt", 28, "user 1");
    workspace.write("notes.txt", "user 2\n");
    workspace.write(".env", SECRET);
    edits(&workspace, "a.txt", 15, "agent 1");
    types(&workspace, "b.txt", 3, "user 3");
    let (disk, status) = (workspace.files(), workspace.status());
    applied(workspace.edt(&["land"]));
    same(&disk, &workspace.files());
    assert_eq!((branch(&workspace), workspace.status()), ("main".into(), status));
    assert_eq!(diff(&workspace, &["--cached"]), added("staged by the user"));
    workspace.is_sound();
}

#[test]
fn landing_on_a_branch_that_moved_merges_the_users_lines() {
    let workspace = workspace();
    edits(&workspace, "b.txt", 20, "agent 1");
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("a.txt", lines(30).replace(&line(25), "moved").as_bytes())]);
    workspace.git(&["switch", "--quiet", "edt/main-1"]);
    types(&workspace, "a.txt", 3, "user 1");
    types(&workspace, "b.txt", 3, "user 2");
    applied(workspace.edt(&["land"]));
    assert_eq!(shown(&workspace, "main"), replaced(20, "agent 1"));
    assert_eq!(diff(&workspace, &["HEAD"]), ["+user 1", "+user 2"]);
    assert!(workspace.text("a.txt").contains("moved\n"));
    assert!(!published(&workspace).contains("user 1"));
    workspace.is_sound();
}

#[test]
fn landing_over_lines_that_the_user_changed_names_them_and_changes_nothing() {
    let workspace = workspace();
    edits(&workspace, "b.txt", 20, "agent 1");
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("a.txt", lines(30).replace(&line(25), "moved").as_bytes())]);
    workspace.git(&["switch", "--quiet", "edt/main-1"]);
    workspace.write("a.txt", lines(30).replace(&line(25), "user 1"));
    let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &["land"]);
    assert_eq!(answer.errors()[0]["path"], json!("a.txt"));
}

#[test]
fn many_small_reductions_are_judged_as_a_whole_at_landing() {
    let workspace = TestRepo::with(&[("a.txt", lines(200).as_bytes())]);
    for from in (1..190).step_by(10) {
        let old: String = (from..from + 10).map(|number| line(number) + "\n").collect();
        let args = ["apply", "a.txt", "--mode", "edit", "--old-text", &old, "--content", ""];
        let answer = workspace.edt(&args);
        if answer.exit != 0 {
            // The edits are compared with the base, too.
            assert_eq!(answer.codes(), ["SIZE_REDUCTION"], "{:#}", answer.json);
            return;
        }
    }
    workspace.refuses(&["SIZE_REDUCTION"], 1, &["land"]);
    applied(workspace.edt(&["land", "--allow", "size_reduction"]));
}

// ---- ignored files -------------------------------------------------------------------------------

#[test]
fn undo_and_redo_of_an_ignored_file_are_exact() {
    let workspace = workspace();
    let odd = format!("{SECRET}\r\n\u{feff}no line end");
    workspace.write(".env", &odd);
    let (before, status) = (workspace.files(), workspace.status());
    let request = json!({"edits": [
        {"path": ".env", "mode": "overwrite", "content": "KEY=an-agents\n"},
        {"path": "a.txt", "mode": "edit", "old_text": line(5), "content": "agent 1"},
    ]});
    let answer = applied(workspace.apply(&request));
    assert_eq!((said(&answer, ".env").1, said(&answer, "a.txt").1), ("private", "branch"));
    assert_eq!(shown(&workspace, "HEAD"), replaced(5, "agent 1"));
    applied(workspace.edt(&["undo"]));
    same(&before, &workspace.files());
    assert_eq!(workspace.status(), status);
    applied(workspace.edt(&["redo"]));
    assert!(workspace.text(".env").starts_with("KEY=an-agents"));
    applied(workspace.edt(&["undo"]));
    same(&before, &workspace.files());
    // A deleted one, too, after Git has cleaned up.
    applied(workspace.edt(&["apply", ".env", "--mode", "delete"]));
    workspace.git(&["gc", "--quiet", "--prune=now"]);
    applied(workspace.edt(&["undo"]));
    same(&before, &workspace.files());
    workspace.is_sound();
}

#[test]
fn an_ignored_file_may_be_created_and_the_answer_says_so() {
    let workspace = workspace();
    let args = ["apply", "out/x.log", "--mode", "create", "--content", "agent 1\n"];
    let answer = applied(workspace.edt(&args));
    assert_eq!(said(&answer, "out/x.log"), ("none", "private"));
    assert_eq!(workspace.git(&["log", "--all", "--format=%H", "--", "out"]), "");
    applied(workspace.edt(&["undo"]));
    assert!(!workspace.exists("out/x.log"));
    workspace.is_clean();
}

#[test]
fn undo_keeps_what_the_user_typed_into_an_ignored_file() {
    let workspace = workspace();
    workspace.write(".env", lines(30));
    edits(&workspace, ".env", 20, "agent 1");
    types(&workspace, ".env", 3, "user 1");
    applied(workspace.edt(&["undo"]));
    assert_eq!(workspace.text(".env").replace("user 1\n", ""), lines(30));
    applied(workspace.edt(&["redo"]));
    workspace.write(".env", workspace.text(".env").replace("agent 1", "user 2"));
    let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &["undo"]);
    assert_eq!(answer.errors()[0]["path"], json!(".env"));
}

#[test]
fn the_private_bytes_are_readable_by_the_user_alone_and_removed_with_the_session() {
    let workspace = workspace();
    workspace.write(".env", format!("{SECRET}\n"));
    std::fs::set_permissions(workspace.root.join(".env"), PermissionsExt::from_mode(0o600))
        .unwrap();
    assert_eq!(workspace.runs(&[], &["true"]).exit, 0);
    let env = ["apply", ".env", "--mode", "overwrite", "--content", "KEY=an-agents\n"];
    applied(workspace.edt(&env));
    edits(&workspace, "a.txt", 20, "agent 1");
    let found = files_with(&workspace, "a-secret");
    assert!(!found.is_empty(), "undo needs the bytes");
    for (path, bytes) in &found {
        assert!(path.starts_with(".git/edt/"), "{path}");
        assert!(bytes.starts_with(b"600 "), "{path} is readable by others");
    }
    assert!(!mirrored(&workspace).contains("a-secret"));
    let objects = workspace.git(&["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!objects.contains("a-secret"), "no object has them, reachable or not");
    applied(workspace.edt(&["land"]));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(workspace.edt(&["gc", "--older-than", "0"]).exit, 0);
    assert_eq!(files_with(&workspace, "a-secret"), Snapshot::new());
}

#[test]
fn a_tracked_file_that_a_pattern_matches_is_an_ordinary_file() {
    let workspace = workspace();
    workspace.write("kept.log", lines(30));
    workspace.git(&["add", "--force", "kept.log"]);
    workspace.git(&["commit", "--quiet", "-m", "tracked on purpose"]);
    types(&workspace, "kept.log", 3, "user 1");
    let answer = edits(&workspace, "kept.log", 20, "agent 1");
    assert_eq!(said(&answer, "kept.log"), ("separate", "branch"));
    assert_eq!(shown(&workspace, "HEAD"), replaced(20, "agent 1"));
    workspace.is_sound();
}

#[test]
fn a_checkpoint_records_no_ignored_file() {
    let workspace = workspace();
    workspace.write(".env", SECRET);
    workspace.write("a.txt", "changed by the user\n");
    workspace.edt(&["checkpoint"]);
    workspace.edt(&["checkpoint", ".env"]);
    assert_eq!(workspace.git(&["log", "--all", "--format=%H", "--", ".env"]), "");
    assert!(!mirrored(&workspace).contains("a-secret"));
}

#[test]
fn abandon_leaves_an_ignored_file_with_the_users_bytes() {
    let workspace = workspace();
    workspace.write(".env", lines(30));
    edits(&workspace, ".env", 20, "agent 1");
    edits(&workspace, "a.txt", 20, "agent 2");
    types(&workspace, ".env", 3, "user 1");
    applied(workspace.edt(&["abandon"]));
    assert_eq!(
        workspace.text(".env").replace("user 1\n", ""),
        lines(30),
        "the agent's line leaves"
    );
    workspace.is_clean();
}

// ---- programs ------------------------------------------------------------------------------------

#[test]
fn the_commit_of_a_program_has_what_the_program_changed() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "user 1");
    types(&workspace, "b.txt", 3, "user 2");
    workspace.write("notes.txt", "user 3\n");
    let (before, status) = (workspace.files(), workspace.status());
    let script = "sed -i 's/line 20 of a text/agent 1/' a.txt; echo agent 2 > new.txt";
    let answer = workspace.runs(&["--agent", "bot"], &["sh", "-c", script]);
    let answer = applied(answer);
    assert_eq!(said(&answer, "a.txt").0, "separate");
    let changes = [replaced(20, "agent 1"), added("agent 2")].concat();
    assert_eq!(shown(&workspace, "HEAD"), changes);
    assert_eq!(workspace.status(), status);
    types(&workspace, "a.txt", 28, "user 4");
    applied(workspace.edt(&["undo"]));
    workspace.write("a.txt", workspace.text("a.txt").replace("user 4\n", ""));
    same(&before, &workspace.files());
    assert!(!published(&workspace).contains("user "));
    workspace.is_sound();
}

#[test]
fn what_a_program_removes_of_the_users_comes_back_and_is_in_no_commit() {
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "user 1");
    types(&workspace, "b.txt", 3, "user 2");
    workspace.write("notes.txt", "user 3\n");
    let before = workspace.files();
    let answer = workspace.runs(&[], &["rm", "a.txt", "notes.txt"]);
    let answer = applied(answer);
    assert_eq!(answer.json["session"]["began"].as_bool(), Some(true));
    assert_eq!(kinds(&workspace, "main..HEAD"), ["run"]);
    assert_eq!(workspace.status(), " D a.txt\n M b.txt\n");
    assert!(!published(&workspace).contains("user "));
    workspace.refuses(&["NOTHING_TO_LAND"], 1, &["land"]);
    applied(workspace.edt(&["undo"]));
    same(&before, &workspace.files());
    workspace.is_sound();
}

#[test]
fn a_program_stages_nothing_and_unstages_nothing() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "staged by the user");
    workspace.git(&["add", "a.txt"]);
    types(&workspace, "a.txt", 28, "user 1");
    let script = "sed -i 's/line 15 of a text/agent 1/' a.txt";
    applied(workspace.runs(&[], &["sh", "-c", script]));
    assert_eq!(shown(&workspace, "HEAD"), replaced(15, "agent 1"));
    assert_eq!(diff(&workspace, &["--cached"]), added("staged by the user"));
    assert_eq!(diff(&workspace, &[]), added("user 1"));
}

#[test]
fn ignored_files_that_a_program_changed_come_back() {
    let workspace = workspace();
    workspace.write(".env", format!("{SECRET}\n"));
    workspace.write("out/x.log", "made by the user\n");
    let before = workspace.files();
    let script = "echo CHANGED > .env; rm -r out; echo y > made.log; echo agent 1 > new.txt";
    applied(workspace.runs(&[], &["sh", "-c", script]));
    assert_eq!(shown(&workspace, "HEAD"), added("agent 1"));
    applied(workspace.edt(&["undo"]));
    let mut after = workspace.files();
    after.remove("made.log");
    same(&before, &after);
    assert!(!mirrored(&workspace).contains("a-secret"));
    workspace.is_sound();
}

#[test]
fn a_program_that_loses_most_of_a_file_is_rolled_back() {
    let workspace = TestRepo::with(&[("a.txt", lines(200).as_bytes())]);
    let directory = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("edt.toml"), FREE).unwrap();
    types(&workspace, "a.txt", 3, "user 1");
    let disk = workspace.files();
    let answer = workspace.runs(&[], &["sh", "-c", "echo nothing left > a.txt; echo x > x.txt"]);
    assert_eq!((answer.exit, answer.codes()), (1, vec!["SIZE_REDUCTION"]), "{:#}", answer.json);
    same(&disk, &workspace.files());
    assert_eq!((branch(&workspace), workspace.status()), ("main".into(), " M a.txt\n".into()));
    assert!(!workspace.git(&["log", "-p", "--branches"]).contains("user 1"));
    workspace.is_sound();
}

// ---- plain Git in the middle of a session --------------------------------------------------------

#[test]
fn git_stash_in_a_session_takes_and_returns_the_users_lines() {
    let workspace = workspace();
    edits(&workspace, "a.txt", 10, "agent 1");
    types(&workspace, "a.txt", 3, "user 1");
    workspace.write("notes.txt", "user 2\n");
    workspace.git(&["stash", "push", "--quiet", "--include-untracked"]);
    workspace.is_clean();
    edits(&workspace, "a.txt", 20, "agent 2");
    workspace.git(&["stash", "pop", "--quiet"]);
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    assert_eq!(workspace.status(), " M a.txt\n?? notes.txt\n");
    applied(workspace.edt(&["undo", "2"]));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    workspace.is_sound();
}

#[test]
fn git_reset_keep_in_a_session_takes_an_edit_back_around_the_users_lines() {
    let workspace = workspace();
    edits(&workspace, "a.txt", 10, "agent 1");
    edits(&workspace, "b.txt", 10, "agent 2");
    types(&workspace, "a.txt", 3, "user 1");
    workspace.write("notes.txt", "user 2\n");
    workspace.git(&["reset", "--quiet", "--keep", "HEAD~1"]);
    assert_eq!(
        (workspace.text("b.txt"), diff(&workspace, &["HEAD"])),
        (lines(30), added("user 1"))
    );
    // Git refuses where the edit and the user's lines are in one file.
    let before = workspace.snapshot();
    assert!(!workspace.try_git(&["reset", "--quiet", "--keep", "HEAD~1"]).status.success());
    same(&before, &workspace.snapshot());
    applied(workspace.edt(&["undo"]));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 1"));
    assert_eq!(workspace.rev("HEAD"), workspace.rev("main"));
    assert_eq!(workspace.status(), " M a.txt\n?? notes.txt\n");
    workspace.is_sound();
}

#[test]
fn git_merge_squash_lands_the_agents_work_alone() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "user 1");
    workspace.write("notes.txt", "user 2\n");
    edits(&workspace, "b.txt", 10, "agent 1");
    edits(&workspace, "b.txt", 20, "agent 2");
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.git(&["merge", "--quiet", "--squash", "edt/main-1"]);
    workspace.git(&["commit", "--quiet", "-m", "squashed"]);
    let all = [replaced(10, "agent 1"), replaced(20, "agent 2")].concat();
    assert_eq!(shown(&workspace, "main"), all);
    assert_eq!(workspace.status(), " M a.txt\n?? notes.txt\n");
    assert!(!published(&workspace).contains("user "));
    workspace.is_sound();
}

#[test]
#[ignore = "sessions that plain Git landed are not recognised yet"]
fn a_session_that_plain_git_landed_is_recognised() {
    let state = |workspace: &TestRepo| {
        let status = workspace.edt(&["status", "--ended"]);
        status.json["sessions"][0]["state"].as_str().unwrap().to_owned()
    };
    for how in ["squash", "cherry-pick"] {
        let workspace = workspace();
        edits(&workspace, "b.txt", 10, "agent 1");
        edits(&workspace, "b.txt", 20, "agent 2");
        workspace.git(&["switch", "--quiet", "main"]);
        assert_eq!(state(&workspace), "open");
        if how == "squash" {
            workspace.git(&["merge", "--quiet", "--squash", "edt/main-1"]);
            workspace.git(&["commit", "--quiet", "-m", "squashed"]);
        } else {
            workspace.commit(&[("c.txt", b"moved\n")]);
            workspace.git(&["cherry-pick", "main~1..edt/main-1"]);
        }
        assert_eq!(state(&workspace), "landed", "{how}");
    }
}

#[test]
fn git_commit_in_a_session_commits_the_users_lines_alone() {
    let workspace = workspace();
    edits(&workspace, "a.txt", 10, "agent 1");
    types(&workspace, "a.txt", 3, "user 1");
    workspace.git(&["commit", "--quiet", "--all", "-m", "mine"]);
    assert_eq!(shown(&workspace, "HEAD"), added("user 1"));
    let answer = edits(&workspace, "a.txt", 20, "agent 2");
    assert_eq!(said(&answer, "a.txt"), ("none", "branch"));
    types(&workspace, "a.txt", 28, "user 2");
    applied(workspace.edt(&["undo"]));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 2"));
    assert_eq!(workspace.edt(&["undo"]).codes(), ["NOTHING_TO_UNDO"]);
    applied(workspace.edt(&["redo"]));
    applied(workspace.as_user(b"", &["land"], &[]));
    assert_eq!(kinds(&workspace, "main~3..main"), ["land", "", "land"]);
    assert_eq!(shown(&workspace, "main~2"), replaced(10, "agent 1"));
    assert_eq!(shown(&workspace, "main~1"), added("user 1"));
    assert_eq!(shown(&workspace, "main"), replaced(20, "agent 2"));
    assert_eq!(diff(&workspace, &["HEAD"]), added("user 2"));
    workspace.is_sound();
}

#[test]
fn git_clean_and_gc_lose_nothing_that_undo_needs() {
    let workspace = workspace();
    types(&workspace, "a.txt", 3, "user 1");
    workspace.write("notes.txt", "user 2\n");
    workspace.write(".env", SECRET);
    let before = workspace.files();
    let request = json!({"edits": [
        {"path": "a.txt", "mode": "edit", "old_text": line(20), "content": "agent 1"},
        {"path": "notes.txt", "mode": "append", "content": "agent 2\n"},
        {"path": ".env", "mode": "append", "content": "\nDEBUG=1\n"},
    ]});
    applied(workspace.apply(&request));
    workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
    workspace.git(&["gc", "--quiet", "--prune=now"]);
    applied(workspace.edt(&["undo"]));
    let now = changed(&before, &workspace.files());
    assert_eq!(now, Vec::<String>::new());
    workspace.is_sound();
}

#[test]
fn staged_lines_of_a_renamed_file_go_back_with_it() {
    let workspace = workspace();
    let rename = ["apply", "a.txt", "--mode", "rename", "--to", "c.txt"];
    applied(workspace.edt(&rename));
    types(&workspace, "c.txt", 3, "user 1");
    workspace.git(&["add", "c.txt"]);
    types(&workspace, "c.txt", 20, "user 2");
    let (staged, unstaged) = (diff(&workspace, &["--cached"]), diff(&workspace, &[]));
    let answer = workspace.edt(&["undo"]);
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    assert_eq!(workspace.status(), "MM a.txt\n");
    assert_eq!((diff(&workspace, &["--cached"]), diff(&workspace, &[])), (staged, unstaged));
    applied(workspace.edt(&["redo"]));
    assert_eq!(workspace.status(), "MM c.txt\n");
    applied(workspace.edt(&["abandon"]));
    assert_eq!(workspace.status(), "MM a.txt\n");
    workspace.is_sound();
}

#[test]
fn a_mode_that_is_left_over_is_called_a_mode() {
    let workspace = workspace();
    types(&workspace, "a.txt", 20, "user 1");
    workspace.git(&["update-index", "--chmod=+x", "a.txt"]);
    let script = "chmod +x a.txt && sed -i 's/^line 3 .*/agent 1/' a.txt";
    let answer = applied(workspace.runs(&["--agent", "bot"], &["sh", "-c", script]));
    assert_eq!(said(&answer, "a.txt"), ("separate", "partly"), "{:#}", answer.json);
    assert_eq!(answer.json["files"][0]["left_over"], json!(["mode"]));
    let left_over = &workspace.edt(&["status"]).json["left_over"];
    assert_eq!(left_over, &json!([{"path": "a.txt", "edits": [1], "lines": ["mode"]}]));
    let screen = workspace.at_terminal("status", "").1;
    assert!(screen.contains("include changes of edit 1 (the mode)"), "{screen}");
    let held = workspace.edt(&["land"]);
    assert!(held.message().contains("a.txt (edit 1; the mode)"), "{}", held.message());
}

#[test]
fn a_landing_says_that_it_cannot_know_what_was_left_over() {
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "user 1");
    edits(&workspace, "a.txt", 10, "agent 1");
    edits(&workspace, "a.txt", 20, "agent 2");
    std::fs::remove_dir_all(workspace.root.join(".git/edt/private")).unwrap();
    let held = workspace.refuses(&["LEAVES_OUT"], 4, &["land"]);
    let said = "The private record of edits 1, 2 is missing";
    assert!(held.message().contains(said), "{}", held.message());
    assert_eq!(held.json["errors"][0]["evidence"]["unknown"], json!([1, 2]));
    // Where nothing is uncommitted, nothing is left over.
    the_user_runs(&workspace, "checkpoint");
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land"]);
    the_user_runs(&workspace, "land");
    workspace.is_clean();
}

#[test]
fn a_program_that_puts_a_directory_in_place_of_a_file_is_refused() {
    for path in ["a.txt", "b.txt", "notes.txt", ".env"] {
        let workspace = workspace();
        types(&workspace, "a.txt", 10, "user 1");
        workspace.write("notes.txt", "user 2\n");
        workspace.write(".env", SECRET);
        let before = workspace.read(path);
        let script = format!("echo x >> a.txt; rm {path} && mkdir {path} && echo x > {path}/b");
        let refused = workspace.runs(&["--agent", "bot"], &["sh", "-c", &script]);
        assert_eq!((refused.exit, refused.codes()), (1, vec!["NOT_A_FILE"]), "{path}");
        let _ = std::fs::remove_dir_all(workspace.root.join(path));
        // The hint works as it is.
        let hint = refused.hint().to_owned();
        let command = hint.rsplit_once("restore the file: `").unwrap().1.trim_end_matches("`.");
        let mut shell = workspace.command("sh");
        assert!(shell.args(["-c", command]).status().unwrap().success(), "{hint}");
        assert_eq!(workspace.read(path), before, "{path}");
        assert!(workspace.text("a.txt").contains("user 1"), "{path}");
        let mut left = workspace.status();
        left.retain(|one| one != '\n');
        assert_eq!(left, " M a.txt?? notes.txt", "{path}");
    }
}

#[test]
fn a_removal_that_the_user_staged_is_staged_after_an_undo() {
    let workspace = workspace();
    workspace.git(&["rm", "--quiet", "--cached", "a.txt", "b.txt"]);
    let before = workspace.status();
    let answer = applied(workspace.edt(&["apply", "a.txt", "--mode", "delete"]));
    assert_eq!(said(&answer, "a.txt"), ("separate", "private"));
    applied(workspace.edt(&["apply", "b.txt", "--mode", "rename", "--to", "c.txt"]));
    applied(workspace.edt(&["undo", "2"]));
    assert_eq!(workspace.status(), before);
    applied(workspace.edt(&["redo"]));
    assert_eq!(workspace.status(), "D  a.txt\nD  c.txt\n?? c.txt\n");
    applied(workspace.edt(&["undo", "2"]));
    applied(workspace.runs(&[], &["rm", "a.txt"]));
    applied(workspace.edt(&["undo"]));
    assert_eq!(workspace.status(), before);
    workspace.is_sound();
}

#[test]
fn a_revert_commits_no_line_that_the_user_did_not_commit() {
    // The edit takes the user's line away; plain Git commits what it made of it.
    let workspace = workspace();
    types(&workspace, "a.txt", 10, "user 1");
    let edit = ["apply", "a.txt", "--mode", "edit", "--old-text", "user 1", "--content"];
    applied(workspace.edt(&[&edit[..], &["agent 1"]].concat()));
    workspace.git(&["commit", "--quiet", "--all", "-m", "all"]);
    applied(workspace.edt(&["revert", "1"]));
    assert_eq!(diff(&workspace, &["HEAD"]), ["-agent 1", "+user 1"]);
    assert!(!published(&workspace).contains("user 1"));
    // Here the user committed their line, too.
    let workspace = self::workspace();
    types(&workspace, "a.txt", 10, "user 1");
    applied(workspace.edt(&[&edit[..], &["user 1\nagent 1"]].concat()));
    workspace.git(&["commit", "--quiet", "--all", "-m", "all"]);
    applied(workspace.edt(&["revert", "1"]));
    assert_eq!(workspace.status(), "");
    assert_eq!(shown(&workspace, "HEAD"), ["-agent 1"]);
}
