//! Programs that `edt.toml` names: what they are given, what their word leads to, and what never
//! runs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::test_repo::{Answer, EDT, TestRepo, run};

/// A `[[validator]]` for `*.txt` with this command.
fn validator(name: &str, command: &[&str]) -> String {
    let command: Vec<String> = command.iter().map(|part| format!("{part:?}")).collect();
    format!(
        "[[validator]]\nname = \"{name}\"\npaths = [\"**/*.txt\"]\ncommand = [{}]\n",
        command.join(", ")
    )
}

/// One that runs `script`; `$1` is the file, `$2` the worktree's root.
fn sh(name: &str, script: &str) -> String {
    validator(name, &["sh", "-c", script, "sh", "{file}", "{root}"])
}

/// A repository whose `edt.toml` is trusted.
fn trusted(policy: &str, files: &[(&str, &[u8])]) -> TestRepo {
    let workspace = TestRepo::with(&[&[("edt.toml", policy.as_bytes())], files].concat());
    trust(&workspace);
    // They report what they see in the home directory.
    workspace.programs_as_user();
    workspace
}

/// Trusts HEAD's policy by hand, as the user could.
pub(crate) fn trust(workspace: &TestRepo) {
    let mut sum = workspace.command("sha256sum");
    let mut child = sum.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &workspace.blob("HEAD:edt.toml"))
        .unwrap();
    let sum = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let line =
        format!("{} by-hand {}\n", &sum[..64], workspace.root.canonicalize().unwrap().display());
    let directory = workspace.home.join(".local/share/edt");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("trust"), line).unwrap();
}

fn create(workspace: &TestRepo, path: &str, content: &str) -> Answer {
    workspace.edt(&["apply", path, "--mode", "create", "--content", content])
}

/// The guard's verdicts, in order.
fn verdicts(answer: &Answer) -> Vec<&str> {
    let guards = answer.json["guards"].as_array().unwrap();
    guards
        .iter()
        .filter(|one| one["guard"] == "validator")
        .map(|one| one["verdict"].as_str().unwrap())
        .collect()
}

/// The warnings: words and messages.
pub(crate) fn warnings(answer: &Answer) -> Vec<(&str, &str)> {
    let text =
        |warning: &'_ Value, key: &str| warning[key].as_str().unwrap().to_owned().leak() as &str;
    answer.json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(one, "code"), text(one, "message")))
        .collect()
}

fn home(workspace: &TestRepo, name: &str) -> String {
    std::fs::read_to_string(workspace.home.join(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_program_that_rejects_the_text_refuses_the_edit() {
    let workspace = trusted(&sh("no-bad", "grep -n bad $1 >&2 && exit 3 || exit 0"), &[]);
    let refused = workspace.refuses(
        &["VALIDATOR_FAILED"],
        1,
        &["apply", "a/b.txt", "--mode", "create", "--content", "x\nbad y\n"],
    );
    assert!(
        refused.message().contains("no-bad") && refused.message().contains("2:bad y"),
        "{}",
        refused.message()
    );
    let evidence = &refused.errors()[0]["evidence"];
    assert_eq!((&evidence["exit_status"], &evidence["truncated"]), (&json!(3), &json!(false)));
    assert_eq!((&evidence["output"], &evidence["command"][0]), (&json!("2:bad y"), &json!("sh")));
    assert_eq!(verdicts(&create(&workspace, "good.txt", "fine\n").landed()), ["pass"]);
    let other = create(&workspace, "bad.md", "bad\n").landed();
    assert_eq!(verdicts(&other), Vec::<&str>::new(), "it judges *.txt only");
    let allowed = workspace.edt(&[
        "apply",
        "bad.txt",
        "--mode",
        "create",
        "--content",
        "bad\n",
        "--allow",
        "validator_failed",
    ]);
    assert_eq!(verdicts(&allowed.landed()), ["allowed"]);
}

#[test]
fn every_failure_is_reported_in_the_order_of_the_list() {
    let policy = [sh("z", "exit 1"), sh("fine", "exit 0"), sh("a", "kill -9 $$")].concat();
    let workspace = trusted(&policy, &[]);
    let answer = create(&workspace, "a.txt", "x");
    assert_eq!(answer.codes(), ["VALIDATOR_FAILED", "VALIDATOR_FAILED"]);
    let names: Vec<&Value> =
        answer.errors().iter().map(|error| &error["evidence"]["validator"]).collect();
    assert_eq!(names, ["z", "a"]);
    assert!(answer.errors()[1]["message"].as_str().unwrap().contains("signal 9"));
}

#[test]
fn the_program_sees_the_would_be_text_and_the_worktree_stays_as_it_is() {
    let script = "cat $1 >$HOME/seen; pwd >$HOME/pwd; echo ${1#$PWD/} >$HOME/name; cp $2/a/f.txt $HOME/existing; stat -c %a . >$HOME/mode";
    let workspace = trusted(&sh("look", script), &[("a/f.txt", b"old\n")]);
    workspace.overwrite("a/f.txt", "new\n");
    let [seen, existing, name, mode] =
        ["seen", "existing", "name", "mode"].map(|file| home(&workspace, file));
    assert_eq!([seen.as_str(), &existing, &name, &mode], ["new\n", "old\n", "a/f.txt\n", "700\n"]);
    let scratch = home(&workspace, "pwd");
    assert!(
        !Path::new(scratch.trim()).exists()
            && !scratch.starts_with(workspace.root.to_str().unwrap()),
        "{scratch}"
    );
}

#[test]
fn the_scratch_directory_is_outside_the_worktree_and_removed() {
    let script = "pwd >>$HOME/pwd; mkdir -p x/y; : >x/y/z; chmod 500 x/y; case $PWD in *edt-*) sleep 9;; esac";
    let policy = sh("messy", script).replace("command", "timeout_ms = 300\ncommand");
    let workspace = trusted(&policy, &[]);
    std::fs::create_dir(workspace.root.join("tmp")).unwrap();
    let args = ["apply", "a.txt", "--mode", "create", "--content", "x"];
    let mut command = workspace.command(EDT);
    command.args(args).arg("--json").env("TMPDIR", workspace.root.join("tmp"));
    assert_eq!(run(command, b"", &args).exit, 0);
    let scratch = home(&workspace, "pwd");
    assert!(!scratch.starts_with(workspace.root.to_str().unwrap()), "{scratch}");
    assert!(!Path::new(scratch.trim()).exists(), "{scratch}");
}

#[test]
fn a_file_that_was_rejected_before_may_stay_rejected() {
    let check = sh("no-bad", "! grep -q bad $1");
    let workspace = trusted(&check, &[("old.txt", b"bad\n"), ("new.txt", b"fine\n")]);
    let answer = workspace.edt(&["apply", "old.txt", "--mode", "append", "--content", "more\n"]);
    let printed = warnings(&answer);
    assert_eq!((answer.exit, printed.len(), printed[0].0), (0, 1, "validator"));
    assert!(printed[0].1.contains("the old text, too"), "{printed:?}");
    workspace.refuses(
        &["VALIDATOR_FAILED"],
        1,
        &["apply", "new.txt", "--mode", "append", "--content", "bad\n"],
    );
    let strict =
        trusted(&check.replace("command", "only_new = false\ncommand"), &[("old.txt", b"bad\n")]);
    strict.refuses(
        &["VALIDATOR_FAILED"],
        1,
        &["apply", "old.txt", "--mode", "append", "--content", "more\n"],
    );
}

#[test]
fn a_program_that_takes_too_long_is_ended_with_all_it_started() {
    let script = "sleep 97 & echo $! >$HOME/pids; setsid sleep 98 & echo $! >>$HOME/pids; echo $$ >>$HOME/pids; wait";
    let workspace =
        trusted(&sh("slow", script).replace("command", "timeout_ms = 1500\ncommand"), &[]);
    let answer = create(&workspace, "a.txt", "x");
    let printed = warnings(&answer);
    assert_eq!((answer.exit, printed.len()), (0, 1), "{:#}", answer.json);
    assert!(printed[0].1.contains("timed out after 1500 ms"), "{printed:?}");
    let pids = home(&workspace, "pids");
    // What was ended and not yet reaped has no command line left.
    let lives = |pid: &&str| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
    };
    assert_eq!((pids.lines().count(), pids.lines().find(lives)), (3, None));
}

#[test]
fn a_missing_program_is_reported_once() {
    let workspace = trusted(&validator("lint", &["no-such-linter", "{file}"]), &[]);
    let first = create(&workspace, "a.txt", "x");
    assert_eq!((first.exit, warnings(&first).len(), verdicts(&first)), (0, 1, vec!["warn"]));
    assert!(warnings(&first)[0].1.contains("no program no-such-linter"));
    let second = create(&workspace, "b.txt", "x").landed();
    assert_eq!(verdicts(&second), Vec::<&str>::new(), "it did not pass either");
    std::fs::remove_dir_all(workspace.git_dir("--git-dir").join("edt")).unwrap();
    assert_eq!(
        warnings(&create(&workspace, "c.txt", "x")).len(),
        1,
        "the memory may be deleted at any time"
    );
}

#[test]
fn arguments_arrive_exactly() {
    let workspace = TestRepo::unborn(&[]);
    let record = workspace.home.join("record args");
    std::fs::write(&record, "#!/bin/sh\nfor arg; do printf '<%s>' \"$arg\"; done >$HOME/args\n")
        .unwrap();
    std::fs::set_permissions(&record, PermissionsExt::from_mode(0o755)).unwrap();
    let odd = ["a b", "it's \"quoted\"", "$HOME;*", "", "--in={file}:{root}", "{x}"];
    let policy = validator("record", &[&[record.to_str().unwrap()], &odd[..]].concat());
    workspace.commit(&[("edt.toml", policy.as_bytes())]);
    trust(&workspace);
    workspace.programs_as_user();
    create(&workspace, "$(touch x) 'a.txt", "x").landed();
    let args = home(&workspace, "args");
    assert!(args.starts_with("<a b><it's \"quoted\"><$HOME;*><><--in=/"), "{args}");
    let end =
        format!("/$(touch x) 'a.txt:{}><{{x}}>", workspace.root.canonicalize().unwrap().display());
    assert!(args.ends_with(&end), "{args}\n{end}");
}

#[test]
fn the_environment_is_clean_and_there_is_no_input() {
    let workspace = trusted(&sh("env", "env >$HOME/env; cat >$HOME/stdin; pwd >$HOME/pwd"), &[]);
    let args = ["apply", "a.txt", "--mode", "create", "--content", "x"];
    let mut command = workspace.command(EDT);
    command
        .args(args)
        .arg("--json")
        .env("SECRET_TOKEN", "x")
        .env("LD_LIBRARY_PATH", "/x")
        .env("LANG", "C");
    run(command, b"", &args).landed();
    let env = home(&workspace, "env");
    // A shell sets these three itself.
    let of_the_shell = |name: &&str| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name);
    let mut names: Vec<&str> =
        env.lines().filter_map(|line| line.split('=').next()).filter(of_the_shell).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LANG", "PATH", "TMPDIR"]);
    assert!(env.contains(&format!("TMPDIR={}", home(&workspace, "pwd"))), "{env}");
    assert_eq!(home(&workspace, "stdin"), "");
}

#[test]
fn a_flood_of_output_is_drained_and_cut() {
    let workspace = trusted(&sh("loud", "yes | head -c 3000000; echo the end; exit 1"), &[]);
    let answer = create(&workspace, "a.txt", "x");
    let evidence = &answer.errors()[0]["evidence"];
    let output = evidence["output"].as_str().unwrap();
    assert!(output.len() <= 2000 && output.ends_with("y\nthe end"), "{output}");
    assert_eq!((answer.codes(), &evidence["truncated"]), (vec!["VALIDATOR_FAILED"], &json!(true)));
}

#[test]
fn nothing_runs_where_the_mode_is_off_or_the_file_goes() {
    let off = "[[paths]]\nmatch = [\"gen/**\"]\n[paths.guards.validator]\nmode = \"off\"\n";
    let policy = [&sh("mark", "echo $1 >>$HOME/ran; exit 1"), off].concat();
    let workspace = trusted(&policy, &[("gone.txt", b"x\n")]);
    assert_eq!(verdicts(&create(&workspace, "gen/a.txt", "x").landed()), Vec::<&str>::new());
    workspace.edt(&["apply", "gone.txt", "--mode", "delete"]).landed();
    assert!(!workspace.home.join("ran").exists());
    workspace.refuses(
        &["VALIDATOR_FAILED"],
        1,
        &["apply", "b.txt", "--mode", "create", "--content", "x"],
    );
    let warns =
        trusted(&[&sh("no", "exit 1"), "[guards.validator]\nmode = \"warn\"\n"].concat(), &[]);
    assert_eq!(verdicts(&create(&warns, "a.txt", "x")), ["warn"]);
}

#[test]
fn only_the_user_may_override_what_needs_approval() {
    let policy = "[guards.size_reduction]\noverride = \"approval\"\n";
    let text = "a line of the text\n".repeat(100);
    let workspace = TestRepo::with(&[("edt.toml", policy.as_bytes()), ("f.txt", text.as_bytes())]);
    let args = ["apply", "f.txt", "--mode", "overwrite", "--content", "}\n"];
    let refused = workspace.refuses(&["SIZE_REDUCTION"], 1, &args);
    assert!(
        refused.hint().contains("the user") && refused.errors()[0]["allow"].is_null(),
        "{:#}",
        refused.json
    );
    let held = workspace.edt(&[&args[..], &["--allow", "size_reduction"]].concat());
    assert_eq!(
        (held.exit, held.codes(), workspace.text("f.txt") == text),
        (4, vec!["APPROVAL_REQUIRED"], true)
    );
    assert_eq!(held.json["status"], "held");
    assert_eq!(held.errors()[0]["evidence"]["code"], "SIZE_REDUCTION");
    assert!(
        held.message().contains("size_reduction") && held.message().contains("f.txt"),
        "{}",
        held.message()
    );
    // What the agent can fix comes before what waits for the user.
    let both = workspace.edt_fed(
        json!({"allow": ["size_reduction"], "edits": [
            {"path": "f.txt", "mode": "overwrite", "content": "}\n"},
            {"path": "new.txt", "mode": "create", "content": "<<<<<<< HEAD\n"}]})
        .to_string()
        .as_bytes(),
        &["apply", "--request", "-"],
    );
    assert_eq!((both.codes(), both.exit), (vec!["CONFLICT_MARKERS", "APPROVAL_REQUIRED"], 1));
    let never = TestRepo::with(&[
        ("edt.toml", policy.replace("approval", "never").as_bytes()),
        ("f.txt", text.as_bytes()),
    ]);
    never.refuses(&["SIZE_REDUCTION"], 1, &[&args[..], &["--allow", "size_reduction"]].concat());
}

#[test]
fn a_program_of_the_repository_is_refused_before_anything_runs() {
    let workspace =
        trusted(&validator("own", &["./check.sh", "{file}"]), &[("check.sh", b"#!/bin/sh\n")]);
    let refused = workspace.refuses(
        &["BAD_REQUEST"],
        2,
        &["apply", "a.txt", "--mode", "create", "--content", "x"],
    );
    assert!(
        refused.message().contains("./check.sh") && refused.message().contains("own"),
        "{}",
        refused.message()
    );
}

#[test]
fn warnings_of_an_accepted_text_are_shown_if_asked_for() {
    let script = r##"grep -n todo "$1" | sed "s#^#$2:#"; exit 0"##;
    let command = ["sh", "-c", script, "sh", "{file}", "{dir}"];
    let policy = format!("{}warnings = true\n", validator("todo", &command));
    let workspace = trusted(&policy, &[("d/old.txt", b"todo one\n")]);
    let found = |answer: &Answer| -> Vec<String> {
        warnings(answer).into_iter().map(|(_, message)| message.to_owned()).collect()
    };
    let answer = create(&workspace, "d/a.txt", "fine\ntodo\n");
    assert_eq!(answer.exit, 0);
    let place = workspace.root.canonicalize().unwrap().join("d");
    let expected = format!("todo accepts d/a.txt, and writes:\n{}:2:todo", place.display());
    assert_eq!(found(&answer), [expected]);
    // What it writes about the old text is no news, wherever it stands now.
    let edit = ["apply", "d/old.txt", "--mode", "prepend", "--content", "above\n"];
    assert_eq!(found(&workspace.edt(&edit)), [""; 0]);
    let quiet = trusted(&validator("todo", &command), &[]);
    assert_eq!(found(&create(&quiet, "a.txt", "todo\n")), [""; 0]);
}

#[test]
fn setup_adds_the_checkers_that_are_here() {
    let workspace =
        TestRepo::with(&[("a.sh", b"echo a\n"), ("b.c", b"int b;\n"), ("c.py", b"c = 1\n")]);
    let answer = workspace.edt(&["setup", "validators"]);
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    let policy = workspace.text("edt.toml");
    for (name, paths) in [("bash", "**/*.sh"), ("gcc", "**/*.c")] {
        let head = format!("name = \"{name}\"\npaths = [\"{paths}\"]");
        assert!(policy.contains(&head), "{policy}");
    }
    assert!(!policy.contains("ruby"), "no file of the project is its: {policy}");
    assert!(answer.json["notes"].to_string().contains("edt trust"), "{:#}", answer.json);
    // A second call changes nothing.
    let again = workspace.edt(&["setup", "validators"]);
    assert_eq!(again.json["files"][0]["action"], "unchanged", "{:#}", again.json);
    workspace.git(&["add", "edt.toml"]);
    workspace.git(&["commit", "-qm", "validators"]);
    trust(&workspace);
    workspace.programs_as_user();
    workspace.edt(&["begin", "s"]).landed();
    let broken = create(&workspace, "d.c", "int d(void) { return e; }\n");
    assert_eq!(broken.codes(), ["VALIDATOR_FAILED"], "{:#}", broken.json);
    let warned = create(&workspace, "d.c", "int d(void) { int e; return 1; }\n");
    assert_eq!(warned.exit, 0, "{:#}", warned.json);
    let text = warnings(&warned).into_iter().map(|(_, text)| text).collect::<String>();
    assert!(text.contains("unused variable"), "{text}");
    let removed = workspace.edt(&["setup", "validators", "--remove"]);
    assert_eq!(removed.exit, 0, "{:#}", removed.json);
    assert!(!workspace.root.join("edt.toml").exists());
}

#[test]
fn checkers_of_ones_own_file_are_added_by_the_user_alone() {
    let workspace = TestRepo::with(&[("a.sh", b"echo a\n")]);
    let own = workspace.home.join(".config/edt/edt.toml");
    let answer = workspace.edt(&["setup", "validators", "--scope", "user"]);
    assert_eq!((answer.exit, answer.codes()), (4, vec!["APPROVAL_REQUIRED"]), "{:#}", answer.json);
    let answer = workspace.edt(&["setup", "validators", "--scope", "user", "--dry-run"]);
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    assert!(!own.exists());
}
