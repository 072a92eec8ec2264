//! `edt run`: the arguments, the output, the end of everything that was started, and what is
//! recorded.

use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::test_repo::{Answer, EDT, Snapshot, TestRepo, lines};

/// The user's policy that lets everything run, in the sandbox that a call names.
const FREE: &str = "[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\ntimeout = 3600\n";

/// A repository in which programs may run, and a program of its own that writes each argument
/// between brackets, its length first.
fn workspace() -> TestRepo {
    let workspace = TestRepo::with(&[
        ("a.txt", b"one\n"),
        ("src/b.txt", lines(40).as_bytes()),
        ("src/c.txt", b"c\n"),
    ]);
    workspace.write(".git/info/exclude", "/echo\n/job-*\n");
    std::fs::copy(echo(), workspace.root.join("echo")).unwrap();
    workspace
}

/// The same for a user who allows everything.
fn free() -> TestRepo {
    let workspace = workspace();
    policy(&workspace, FREE);
    workspace
}

fn policy(workspace: &TestRepo, text: &str) {
    let directory = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("edt.toml"), text).unwrap();
}

/// A program that writes its arguments, built once.
fn echo() -> &'static PathBuf {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let build = || {
        let dir = edt_testkit::tempdir().unwrap();
        let (source, program) = (dir.path().join("echo.c"), dir.path().join("echo"));
        let text = "#include <stdio.h>\n#include <string.h>\nint main(int n, char **a) {\n  for (int i = 1; i < n; i++) { printf(\"%zu[\", strlen(a[i])); fwrite(a[i], 1, strlen(a[i]), stdout); printf(\"]\\n\"); }\n  return 0;\n}\n";
        std::fs::write(&source, text).unwrap();
        let done = Command::new("cc").arg("-o").arg(&program).arg(&source).status().unwrap();
        assert!(done.success(), "a C compiler is needed");
        (dir, program)
    };
    &BUILT.get_or_init(build).1
}

fn text<'a>(answer: &'a Answer, stream: &str) -> &'a str {
    answer.json["run"][stream]["text"].as_str().unwrap_or_else(|| panic!("{:#}", answer.json))
}

/// A script as a program of the worktree's own: what `sh -c` would be given, policy would take
/// apart.
fn script(workspace: &TestRepo, text: &str) -> String {
    let path = workspace.root.join(format!("job-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn sh(workspace: &TestRepo, flags: &[&str], text: &str) -> Answer {
    workspace.runs(flags, &[script(workspace, text)])
}

/// All files but such scripts.
fn files(workspace: &TestRepo) -> Snapshot {
    let mut files = workspace.files();
    files.retain(|name, _| !name.starts_with("job-"));
    files
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

#[test]
fn arguments_arrive_byte_for_byte() {
    let workspace = workspace();
    let odd: [&[u8]; 14] = [
        b"5 + 3",
        b"",
        b"it's \"quoted\"",
        b"$HOME ${x} $(id) `id`",
        b"*.txt ?[a]",
        b"a\nb\n\tc",
        b"\xff\xfe\x80",
        b"-x",
        b"--",
        b"--json",
        b"a\\b\\",
        "ä€𝄞 \u{202e}".as_bytes(),
        b"; rm -rf / &",
        b"~ !! {a,b}",
    ];
    let words: Vec<OsString> = std::iter::once(&b"./echo"[..])
        .chain(odd)
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    for level in ["standard", "strict"] {
        // The very bytes, as edt keeps them: an answer shows what is not UTF-8 as U+FFFD.
        let answer = workspace.runs(&["--sandbox", level], &words);
        assert_eq!(
            (answer.exit, answer.json["run"]["sandbox"]["level"].as_str()),
            (0, Some(level)),
            "{:#}",
            answer.json
        );
        let mut wanted = Vec::new();
        for word in odd {
            wanted.extend_from_slice(format!("{}[", word.len()).as_bytes());
            wanted.extend_from_slice(word);
            wanted.extend_from_slice(b"]\n");
        }
        let id = answer.json["run"]["id"].to_string();
        let stored = workspace.command(EDT).args(["run", "--output", &id]).output().unwrap();
        assert_eq!(stored.stdout, wanted, "{level}");
        assert_eq!(answer.json["run"]["stdout"]["utf8"], json!(false));
    }
    let request = json!({"program": "./echo", "args": ["5 + 3", "", "$HOME", "\n"], "env": {"TEST": "b c"}, "timeout": 5});
    let answer = workspace.edt_fed(request.to_string().as_bytes(), &["run", "--request", "-"]);
    assert_eq!(text(&answer, "stdout"), "5[5 + 3]\n0[]\n5[$HOME]\n1[\n]\n");
    workspace.is_clean();
}

#[test]
fn arguments_with_nul_bytes_are_refused() {
    let workspace = workspace();
    for (request, says) in [
        (json!({"program": ""}), "empty"),
        (json!({"program": "echo\u{0}x"}), "NUL"),
        (json!({"program": "true", "args": ["\u{0}"]}), "NUL"),
        (json!({"program": "true", "env": {"A=B": "c"}}), "A=B"),
        (json!({"program": "true", "timeout": 1e300}), "time limit"),
        (json!({"program": "true", "timeout": 9999}), "more than the 600 s"),
        (json!({"program": "true", "arg": ["x"]}), "Did you mean args"),
        (json!({"program": {"a": 1}}), "string"),
        (json!({"program": "true", "agent": "a\nEdt-Kind: edit"}), "agent"),
    ] {
        let answer = workspace.edt_fed(request.to_string().as_bytes(), &["run", "--request", "-"]);
        assert_eq!(
            (answer.exit, answer.codes()),
            (2, vec!["BAD_REQUEST"]),
            "{request}: {:#}",
            answer.json
        );
        assert!(
            answer.message().contains(says) && answer.json["run"] == Value::Null,
            "{request}: {:#}",
            answer.json
        );
    }
    let missing = workspace.runs(&[], &["no-such-program"]);
    assert_eq!(
        (missing.exit, missing.codes()),
        (5, vec!["PROGRAM_NOT_FOUND"]),
        "{:#}",
        missing.json
    );
    // A complete command line as one word is a mistake that agents make.
    let joined = workspace.runs(&[], &["cargo test --workspace"]);
    assert_eq!(joined.codes(), ["PROGRAM_NOT_FOUND"], "{:#}", joined.json);
    assert!(joined.hint().contains("each argument is a separate word"), "{}", joined.hint());
    let away = workspace.runs(&["--cwd", "/"], &["ls"]);
    assert_eq!((away.exit, away.codes()), (1, vec!["PATH_OUTSIDE_REPO"]), "{:#}", away.json);
    let nowhere = workspace.runs(&["--cwd", "nowhere"], &["ls"]);
    assert_eq!((nowhere.exit, nowhere.codes()), (5, vec!["IO_ERROR"]), "{:#}", nowhere.json);
    workspace.is_clean();
}

#[test]
fn a_program_runs_where_and_as_it_was_asked() {
    let workspace = free();
    let answer = workspace.runs(
        &["--cwd", "src", "--env", "TEST=x y", "--env", "TESTING=", "--env", "TEST=z"],
        &[script(&workspace, "pwd; echo \"[$TEST][$TESTING]\"; cat; echo bad >&2; exit 7")],
    );
    let pwd = workspace.root.join("src").canonicalize().unwrap();
    assert_eq!(
        (answer.exit, answer.json["status"].as_str()),
        (10, Some("failed")),
        "{:#}",
        answer.json
    );
    assert_eq!(text(&answer, "stdout"), format!("{}\n[z][]\n", pwd.display()));
    assert_eq!((text(&answer, "stderr"), &answer.json["run"]["exit_code"]), ("bad\n", &json!(7)));
    let killed = sh(&workspace, &[], "kill -SEGV $$");
    assert_eq!(
        (killed.exit, &killed.json["run"]["signal"], &killed.json["run"]["exit_code"]),
        (10, &json!(11), &Value::Null)
    );
    workspace.write("input", "from a file\n");
    let fed = workspace.runs(&["--stdin", "input"], &["cat"]);
    assert_eq!(text(&fed, "stdout"), "from a file\n");
    let request = json!({"program": "cat", "stdin": "given"}).to_string();
    assert_eq!(
        text(&workspace.edt_fed(request.as_bytes(), &["run", "--request", "-"]), "stdout"),
        "given"
    );
    let mut through = workspace.command(EDT);
    through.args(["run", "--json", "--stdin", "-", "--", "cat"]);
    assert_eq!(text(&crate::test_repo::run(through, b"handed on", &[]), "stdout"), "handed on");
    // Nothing but its three streams, and no terminal.
    let open = sh(&workspace, &[], "ls /proc/self/fd; (: </dev/tty) 2>/dev/null && echo tty; :");
    assert_eq!(text(&open, "stdout"), "0\n1\n2\n3\n", "3 is ls's own");
}

#[test]
fn a_programs_changes_are_one_commit_and_can_be_undone() {
    let workspace = workspace();
    let before = files(&workspace);
    let gone = workspace.runs(&["--agent", "robot"], &["rm", "-rf", "src"]);
    assert_eq!(
        (gone.exit, gone.json["status"].as_str(), &gone.json["edit"]),
        (0, Some("applied"), &json!(1)),
        "{:#}",
        gone.json
    );
    let changed: Vec<(&str, &str)> = gone.json["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["path"].as_str().unwrap(), file["change"].as_str().unwrap()))
        .collect();
    assert_eq!(changed, [("src/b.txt", "deleted"), ("src/c.txt", "deleted")]);
    let message = workspace.git(&["log", "-1", "--format=%B"]);
    let wanted = "run: rm -rf src\n\nCommand: rm -rf src\nDirectory: ";
    assert!(
        message.starts_with(wanted) && message.contains("\nEnded: exit status 0 after "),
        "{message}"
    );
    assert!(message.contains("Edt-Kind: run\nEdt-Edit: 1\nEdt-Agent: robot\n"), "{message}");
    workspace.is_clean();
    workspace.edt(&["undo"]).landed();
    assert_eq!(files(&workspace), before);
    // Tracked, new and deleted files in one commit; ignored files are not recorded.
    let script = "echo more >> a.txt; echo new > new.txt; mkdir d; echo deep > d/deep.txt; rm src/c.txt; chmod +x src/b.txt; echo x > echo";
    policy(&workspace, FREE);
    let all = sh(&workspace, &[], script);
    assert_eq!(
        workspace.git(&["show", "--format=", "--name-status"]),
        "M\ta.txt\nA\td/deep.txt\nA\tnew.txt\nM\tsrc/b.txt\nD\tsrc/c.txt\n",
        "{:#}",
        all.json
    );
    assert_eq!(workspace.git(&["ls-files", "-s", "src/b.txt"]).split(' ').next(), Some("100755"));
    workspace.edt(&["undo"]);
    assert_eq!(workspace.text("src/c.txt"), "c\n");
    workspace.edt(&["redo"]);
    assert!(!workspace.exists("src/c.txt") && workspace.exists("d/deep.txt"));
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn what_a_program_removes_of_the_user_comes_back() {
    let workspace = free();
    workspace.write("a.txt", "a user's\n");
    workspace.write("scratch.txt", "not tracked\n");
    let answer = workspace.runs(&[], &["rm", "a.txt", "scratch.txt"]);
    assert_eq!(answer.json["session"]["began"].as_bool(), Some(true), "{:#}", answer.json);
    // A deletion cannot be separated from the user's content.
    assert_eq!(workspace.status(), " D a.txt\n");
    assert!(!workspace.git(&["log", "--all", "-p", "--format="]).contains("a user's"));
    workspace.edt(&["undo"]).landed();
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.text("scratch.txt").as_str()),
        ("a user's\n", "not tracked\n")
    );
    // A program that changes nothing leaves no commit.
    let tip = workspace.rev("HEAD");
    let looked = workspace.runs(&[], &["cat", "a.txt"]);
    assert_eq!(
        (looked.json["status"].as_str(), &looked.json["commit"], workspace.rev("HEAD")),
        (Some("unchanged"), &Value::Null, tip)
    );
}

#[test]
fn no_session_begins_for_a_program_that_changes_nothing() {
    let workspace = workspace();
    let before = workspace.snapshot();
    let looked = workspace.runs(&[], &["ls", "src"]);
    assert_eq!(
        (looked.exit, &looked.json["session"], text(&looked, "stdout")),
        (0, &Value::Null, "b.txt\nc.txt\n")
    );
    assert_eq!(workspace.snapshot(), before);
    // On a branch without a commit, too, and without switching.
    let unborn = TestRepo::unborn(&[]);
    unborn.write(".git/info/exclude", "/job-*\n");
    policy(&unborn, FREE);
    let made = sh(&unborn, &[], "echo x > x.txt");
    assert_eq!(made.json["status"], "applied", "{:#}", made.json);
    unborn.is_clean();
    let unswitched = free();
    unswitched.edt(&["begin", "--no-switch"]).landed();
    let head = unswitched.rev("HEAD");
    let made = sh(&unswitched, &[], "echo x > x.txt");
    assert_eq!((made.json["status"].as_str(), unswitched.rev("HEAD")), (Some("applied"), head));
    assert_eq!(unswitched.blob("edt/main-1:x.txt"), b"x\n");
}

#[test]
fn guards_report_a_programs_changes_and_policy_may_roll_them_back() {
    let workspace = free();
    policy(&workspace, &format!("{FREE}on_findings = \"warn\"\n"));
    let printed = sh(&workspace, &[], "printf 'one\\0\\n' > a.txt");
    let words: Vec<&str> = printed.json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert_eq!(printed.exit, 0, "{:#}", printed.json);
    assert!(words.contains(&"binary_content"), "{:#}", printed.json);
    // The loss of most of a file is refused under every policy.
    let harm = "printf '}' > src/b.txt; echo kept > kept.txt";
    let workspace = free();
    workspace.write("src/b.txt", "int main(void) { return 0; }\n".repeat(60));
    workspace.commit(&[]);
    workspace.edt(&["begin"]).landed();
    policy(&workspace, &format!("{FREE}on_findings = \"warn\"\n"));
    let (before, tip) = (files(&workspace), workspace.rev("HEAD"));
    let refused = sh(&workspace, &[], harm);
    assert_eq!((refused.exit, refused.codes()), (1, vec!["SIZE_REDUCTION"]), "{:#}", refused.json);
    assert_eq!((files(&workspace), workspace.rev("HEAD")), (before, tip), "put back");
    let kept = refused.errors()[0]["evidence"]["refused_ref"].as_str().unwrap();
    assert_eq!(workspace.blob(&format!("{kept}:src/b.txt")), b"}", "the bytes are kept");
    assert_eq!(workspace.blob(&format!("{kept}:kept.txt")), b"kept\n");
    assert_eq!(workspace.rev(kept), refused.commit());
    // What was put back by policy does not come back by a redo.
    workspace.refuses(&["NOTHING_TO_REDO"], 1, &["redo"]);
    assert_eq!(workspace.status(), "");
    workspace.is_sound();
}

#[test]
fn a_program_does_not_change_protected_paths() {
    let protect = b"[[protect]]\npaths = [\"ci/**\"]\n".as_slice();
    let workspace =
        TestRepo::with(&[("edt.toml", protect), ("ci/run", b"true\n"), ("a.txt", b"a\n")]);
    policy(&workspace, FREE);
    let before = files(&workspace);
    for script in [
        "echo x >> ci/run",
        "rm -r ci",
        "mv ci elsewhere",
        "echo x > ci/new",
        "ln -sf /etc/passwd ci/link; echo > ci/y",
    ] {
        let refused = sh(&workspace, &[], script);
        assert!(
            refused.codes().contains(&"PROTECTED_PATH") && refused.exit == 1,
            "{script}: {:#}",
            refused.json
        );
        let _ = std::fs::remove_file(workspace.root.join("ci/link"));
        assert_eq!(files(&workspace), before, "{script}");
    }
    // Nor by being one of very many.
    let many = "for i in $(seq 700); do echo $i > m$i; done; echo x > ci/z";
    let refused = sh(&workspace, &[], many);
    assert!(refused.codes().contains(&"PROTECTED_PATH"), "{:#}", refused.json["errors"]);
    assert_eq!(files(&workspace), before);
}

#[test]
fn an_output_is_stored_completely_and_shown_in_part() {
    let workspace = free();
    let answer = sh(&workspace, &[], "seq 1 200000; seq 1 10 >&2");
    let shown = &answer.json["run"]["stdout"];
    let whole: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(
        (shown["truncated"].as_bool(), shown["bytes"].as_u64()),
        (Some(true), Some(whole.len() as u64))
    );
    let (from, to) =
        (shown["left_out"][0].as_u64().unwrap(), shown["left_out"][1].as_u64().unwrap());
    let id = answer.json["run"]["id"].to_string();
    let line = format!(
        "[edt: {} bytes left out; `edt run --output {id} --stream stdout --bytes {from}:{to}` prints them, --max-bytes N prints more at once]\n",
        to - from
    );
    let part =
        |from: u64, to: u64| &whole[usize::try_from(from).unwrap()..usize::try_from(to).unwrap()];
    assert_eq!(shown["text"], json!([part(0, from), &line, part(to, whole.len() as u64)].concat()));
    assert!(
        to < whole.len() as u64 - 20_000 && from < 9000 && shown["utf8"] == true,
        "more of the tail than of the head"
    );
    let err = &answer.json["run"]["stderr"];
    assert_eq!(
        (err["truncated"].as_bool(), &err["left_out"], err["bytes"].as_u64()),
        (Some(false), &Value::Null, Some(21))
    );
    // The rest, page by page.
    let (mut at, mut read) = (from, String::new());
    while at < to {
        let page = workspace.edt(&["run", "--output", &id, "--bytes", &format!("{at}:{to}")]);
        read += page.json["text"].as_str().unwrap();
        assert_eq!(
            (page.json["from"].as_u64(), page.json["utf8"].as_bool()),
            (Some(at), Some(true))
        );
        at = page.json["to"].as_u64().unwrap();
        assert_eq!(page.json["truncated"], json!(at < to));
    }
    assert_eq!(read, part(from, to));
    let lines = |range: &str| {
        workspace.edt(&["run", "--output", &id, "--lines", range]).json["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (
            lines("1:2").as_str(),
            lines("99999:100001").as_str(),
            lines("200000:").as_str(),
            lines("300000:").as_str()
        ),
        ("1\n2\n", "99999\n100000\n100001\n", "200000\n", "")
    );
    assert_eq!(
        (
            lines(":2"),
            workspace.edt(&["run", "--output", &id, "--bytes", "0:0"]).json["text"].as_str()
        ),
        ("1\n2\n".to_owned(), Some(""))
    );
    workspace.refuses(&["FILE_NOT_FOUND"], 1, &["run", "--output", "999"]);
    for (flag, range) in [
        ("--bytes", "9:1"),
        ("--lines", "9:1"),
        ("--lines", ":0"),
        ("--lines", "0:0"),
        ("--lines", "0:3"),
    ] {
        workspace.refuses(&["BAD_REQUEST"], 2, &["run", "--output", &id, flag, range]);
    }
    workspace.is_clean();
}

#[test]
fn very_many_files_are_all_recorded_and_not_all_listed() {
    let workspace = free();
    let answer =
        sh(&workspace, &[], "mkdir many; for i in $(seq 1200); do echo $i > many/$i; done");
    let listed = |key: &str| answer.json[key].as_array().unwrap().len();
    assert_eq!((answer.exit, listed("files"), listed("guards") <= 1000), (0, 1000, true));
    assert_eq!(answer.json["total_files"], json!(1200));
    let warnings = answer.json["warnings"].as_array().unwrap();
    let said = warnings.iter().find(|one| one["code"] == "not_all_listed").unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(said.contains("the first 1000 of 1200 files"), "{said}");
    let names = workspace.git(&["diff", "--name-only", "HEAD~1", "HEAD"]);
    assert_eq!(names.lines().count(), 1200);
    workspace.is_sound();
}

#[test]
fn two_streams_that_take_turns_are_each_in_order() {
    let workspace = free();
    let script = "i=0; while [ $i -lt 3000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let answer = sh(&workspace, &["--timeout", "60"], script);
    for (stream, word) in [("stdout", "out"), ("stderr", "err")] {
        let id = answer.json["run"]["id"].to_string();
        let stored = workspace
            .command(EDT)
            .args(["run", "--output", &id, "--stream", stream, "--max-bytes", "4000000"])
            .output()
            .unwrap();
        let wanted: String = (0..3000).map(|number| format!("{word} {number}\n")).collect();
        assert_eq!(String::from_utf8(stored.stdout).unwrap(), wanted);
    }
}

#[test]
fn a_gigabyte_of_output_takes_bounded_memory() {
    let workspace = free();
    // The address space of edt and all that it starts, the libraries included.
    let mib = if std::env::var_os("EDT_RUN").is_some() { 1024 } else { 128 };
    let mut command = workspace.command("prlimit");
    let script = format!("head -c {mib}M /dev/zero | tr '\\0' 'x'; echo end");
    command.args([
        "--as=268435456",
        EDT,
        "run",
        "--json",
        "--sandbox",
        "permissive",
        "--timeout",
        "600",
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let answer = crate::test_repo::run(command, b"", &["run"]);
    let shown = &answer.json["run"]["stdout"];
    assert_eq!(
        (shown["bytes"].as_u64(), shown["truncated"].as_bool()),
        (Some(mib * 1024 * 1024 + 4), Some(true)),
        "{:#}",
        answer.json
    );
    assert!(
        shown["text"].as_str().unwrap().ends_with("xend\n") && answer.json["warnings"] == json!([])
    );
    let id = answer.json["run"]["id"].to_string();
    let at = mib * 512 * 1024;
    let page = workspace.edt(&["run", "--output", &id, "--bytes", &format!("{at}:{}", at + 5)]);
    assert_eq!(page.json["text"], "xxxxx");
    // The next runs push it out: old output does not fill the disk.
    (0..2).for_each(|_| drop(sh(&workspace, &[], "echo next")));
    if mib > 256 {
        workspace.refuses(&["FILE_NOT_FOUND"], 1, &["run", "--output", &id]);
    }
}

/// The processes whose command line has `mark`.
fn alive(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let mut line = Vec::new();
        if let Ok(mut file) = std::fs::File::open(entry.path().join("cmdline")) {
            let _ = file.read_to_end(&mut line);
        }
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(mark) && !line.contains("--exact") {
            found.push(format!("{} {line}", entry.file_name().display()));
        }
    }
    found
}

/// A script that leaves children in every way a shell can: in the background, in sessions of their
/// own, without an environment.
fn litter(mark: &str) -> String {
    format!(
        "sleep {mark} & setsid sleep {mark} & setsid sh -c 'setsid env -i /bin/sleep {mark} & exit' & (trap '' TERM INT HUP; sleep {mark}) & echo started; "
    )
}

fn a_mark(number: u32) -> String {
    format!("9{:06}.{}", std::process::id() % 1_000_000, number)
}

#[test]
fn a_hung_program_ends_with_all_that_it_started() {
    let workspace = free();
    for (number, level) in [(1, "permissive"), (2, "standard"), (3, "strict")] {
        let mark = a_mark(number);
        let began = Instant::now();
        let late = sh(
            &workspace,
            &["--sandbox", level, "--timeout", "0.7"],
            &(litter(&mark) + &format!("exec sleep {mark}")),
        );
        assert_eq!((late.exit, late.codes()), (5, vec!["COMMAND_TIMEOUT"]), "{:#}", late.json);
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
        let run = &late.json["run"];
        assert_eq!(
            (run["timed_out"].as_bool(), &run["exit_code"], text(&late, "stdout")),
            (Some(true), &Value::Null, "started\n")
        );
        assert_eq!(alive(&mark), Vec::<String>::new(), "{level}");
        assert!(
            late.message().contains("0.7 s") && late.hint().contains("--timeout"),
            "{:#}",
            late.json
        );
    }
    // What it changed before is recorded all the same.
    let late = sh(&workspace, &["--timeout", "0.5"], "echo half > half.txt; sleep 60");
    assert_eq!(
        (late.codes(), late.json["files"][0]["path"].as_str()),
        (vec!["COMMAND_TIMEOUT"], Some("half.txt"))
    );
    workspace.is_clean();
}

#[test]
fn nothing_survives_a_program_that_ends() {
    let workspace = free();
    for (number, level) in [(4, "permissive"), (5, "standard"), (6, "strict")] {
        let mark = a_mark(number);
        let done = sh(&workspace, &["--sandbox", level], &(litter(&mark) + "sleep 0.2"));
        assert_eq!((done.exit, text(&done, "stdout")), (0, "started\n"), "{:#}", done.json);
        assert_eq!(alive(&mark), Vec::<String>::new(), "{level}");
    }
}

#[test]
fn nothing_survives_edt_itself() {
    let workspace = free();
    for (number, level) in [(7, "permissive"), (8, "standard"), (9, "strict")] {
        let mark = a_mark(number);
        let mut command = workspace.command(EDT);
        let text = format!("echo was here > killed.txt; {}exec sleep {mark}", litter(&mark));
        command
            .args(["run", "--sandbox", level, "--", &script(&workspace, &text)])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let wait = |what: &dyn Fn() -> bool| {
            let until = Instant::now() + Duration::from_secs(60);
            while !what() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            what()
        };
        assert!(wait(&|| alive(&mark).len() >= 4), "{level}: {:?}", alive(&mark));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(wait(&|| alive(&mark).is_empty()), "{level}: {:?}", alive(&mark));
        // Nobody knows who changed the files since: the next call only reports them.
        // What the user wrote is none of the program's.
        workspace.write("mine.txt", "by hand\n");
        let next = workspace.runs(&["--sandbox", level], &["ls"]);
        let warning = &next.json["warnings"][0];
        assert_eq!(
            (next.exit, &next.json["commit"], warning["code"].as_str()),
            (0, &Value::Null, Some("interrupted_run")),
            "{:#}",
            next.json
        );
        let listed = warning["message"].as_str().unwrap();
        assert!(listed.ends_with("\nkilled.txt: it did not exist"), "{listed}");
        assert_eq!(workspace.read("killed.txt"), b"was here\n");
        assert_eq!(workspace.runs(&[], &["ls"]).json["warnings"], json!([]));
        std::fs::remove_file(workspace.root.join("killed.txt")).unwrap();
        std::fs::remove_file(workspace.root.join("mine.txt")).unwrap();
    }
    workspace.is_sound();
}

#[test]
fn the_files_before_a_program_that_was_killed_with_edt_are_kept() {
    let workspace = free();
    workspace.write("a.txt", "by hand\n");
    let mark = a_mark(10);
    let program = script(&workspace, &format!("echo lost > a.txt; exec sleep {mark}"));
    let mut child = workspace.command(EDT).args(["run", "--", &program]).spawn().unwrap();
    until(&|| workspace.read("a.txt") == b"lost\n" && !alive(&mark).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let status = workspace.edt(&["status"]);
    let warning = &status.json["warnings"][0];
    assert_eq!(warning["code"], "interrupted_run", "{:#}", status.json);
    let message = warning["message"].as_str().unwrap();
    let command = message.split('`').find(|part| part.starts_with("cp ")).unwrap();
    let sh = ["-c", command];
    assert!(Command::new("sh").args(sh).current_dir(&workspace.root).status().unwrap().success());
    assert_eq!(workspace.read("a.txt"), b"by hand\n");
    assert_eq!(workspace.edt(&["status"]).json["warnings"][0]["code"], "backups_exist");
    std::fs::remove_dir_all(workspace.root.join(".git/edt/main/kept/1")).unwrap();
    assert_eq!(workspace.edt(&["status"]).json["warnings"], json!([]));
}

/// Waits until `what` holds.
fn until(what: &dyn Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !what() {
        assert!(Instant::now() < end, "it did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether this process ignores the signal, as a shell lets its jobs in the background ignore SIGINT.
/// edt then ignores it, too.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(mask, 16).unwrap() & 1 << (signal.as_raw() - 1) != 0
}

#[test]
fn a_signal_to_edt_ends_the_program_and_what_it_changed_is_recorded() {
    let signals = [(11, Signal::TERM), (12, Signal::HUP), (13, Signal::INT)];
    for (number, signal) in signals.into_iter().filter(|(_, signal)| !is_ignored(*signal)) {
        let workspace = free();
        workspace.write("mine.txt", "by hand\n");
        let mark = a_mark(number);
        let text = format!("echo half > half.txt; {}exec sleep {mark}", litter(&mark));
        let program = script(&workspace, &text);
        let mut command = workspace.command(EDT);
        command.args(["--json", "run", "--", &program]).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        until(&|| alive(&mark).len() >= 4);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(alive(&mark), Vec::<String>::new());
        let answer: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(
            (ended.status.code(), answer["status"].as_str(), answer["run"]["signal"].as_i64()),
            (Some(10), Some("failed"), Some(i64::from(signal.as_raw()))),
            "{answer:#}"
        );
        assert_eq!(answer["warnings"][0]["code"], "run_stopped", "{answer:#}");
        assert_eq!(workspace.blob("HEAD:half.txt"), b"half\n");
        assert_eq!(workspace.git(&["status", "--short"]), "?? mine.txt\n");
        let next = workspace.runs(&[], &["ls"]);
        assert_eq!((next.exit, &next.json["warnings"]), (0, &json!([])), "{:#}", next.json);
    }
}

/// Starts `edt run` of a script in a process group of its own, and waits until the script wrote
/// `up.txt`.
fn started(workspace: &TestRepo, level: &str, text: &str) -> std::process::Child {
    let program = script(workspace, text);
    let mut command = workspace.command(EDT);
    command.args(["--json", "run", "--sandbox", level, "--", &program]);
    command.stdout(Stdio::piped()).process_group(0);
    let child = command.spawn().unwrap();
    until(&|| workspace.root.join("up.txt").exists());
    child
}

fn answer_of(child: std::process::Child) -> Value {
    let ended = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((ended.status.code(), answer["status"].as_str()), (Some(10), Some("failed")));
    assert_eq!(answer["warnings"][0]["code"], "run_stopped", "{answer:#}");
    answer
}

const LOOP: &str = "echo up > up.txt; while :; do sleep 0.05; done";

#[test]
fn a_program_handles_a_signal_to_edt_before_it_ends() {
    let signals =
        [("permissive", Signal::TERM), ("standard", Signal::HUP), ("strict", Signal::INT)];
    for (level, signal) in signals.into_iter().filter(|(_, signal)| !is_ignored(*signal)) {
        let workspace = free();
        let handler = "trap 'echo bye > bye.txt; exit 7' TERM INT HUP; ";
        let child = started(&workspace, level, &(handler.to_owned() + LOOP));
        // As Ctrl-C does: every process in edt's group gets it.
        kill_process_group(Pid::from_child(&child), signal).unwrap();
        let answer = answer_of(child);
        assert_eq!(answer["run"]["exit_code"], 7, "{level}: {answer:#}");
        assert_eq!(workspace.blob("HEAD:bye.txt"), b"bye\n");
    }
}

#[test]
fn what_a_shell_started_handles_a_signal_after_the_shell_ended() {
    for level in ["permissive", "standard", "strict"] {
        let workspace = free();
        let handler = "trap 'sleep 0.4; echo bye > bye.txt; exit' TERM; ";
        let child = started(&workspace, level, &format!("({handler}{LOOP}); true"));
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let answer = answer_of(child);
        assert_eq!(answer["run"]["signal"], 15, "{level}: {answer:#}");
        assert_eq!(workspace.blob("HEAD:bye.txt"), b"bye\n");
    }
}

#[test]
fn a_program_that_ignores_a_signal_is_killed_after_a_while_or_by_a_second_one() {
    for (level, twice) in [("permissive", false), ("standard", true), ("strict", true)] {
        let workspace = free();
        let child = started(&workspace, level, &format!("trap '' TERM; {LOOP}"));
        let (began, pid) = (Instant::now(), Pid::from_child(&child));
        kill_process(pid, Signal::TERM).unwrap();
        if twice {
            std::thread::sleep(Duration::from_millis(500));
            kill_process(pid, Signal::TERM).unwrap();
        }
        let answer = answer_of(child);
        let took = began.elapsed();
        assert_eq!(answer["run"]["signal"], 9, "{level}: {answer:#}");
        assert_eq!(took < Duration::from_secs(3), twice, "{level}: {took:?}");
        assert_eq!(workspace.blob("HEAD:up.txt"), b"up\n");
    }
}

#[test]
fn a_program_handles_the_time_limit_before_it_ends() {
    for level in ["permissive", "standard", "strict"] {
        let workspace = free();
        let text = format!("trap 'echo bye > bye.txt; exit 7' TERM; {LOOP}");
        let late = sh(&workspace, &["--sandbox", level, "--timeout", "0.7"], &text);
        assert_eq!((late.exit, late.codes()), (5, vec!["COMMAND_TIMEOUT"]), "{:#}", late.json);
        assert_eq!(late.json["run"]["exit_code"], Value::Null, "{:#}", late.json);
        assert_eq!(workspace.blob("HEAD:bye.txt"), b"bye\n");
    }
}

#[test]
fn an_edit_reports_a_program_that_was_killed_with_edt() {
    let workspace = free();
    let kill = |number| {
        let mark = a_mark(number);
        let program = script(&workspace, &format!("echo {number} > new.txt; exec sleep {mark}"));
        let mut child = workspace.command(EDT).args(["run", "--", &program]).spawn().unwrap();
        until(&|| !alive(&mark).is_empty() && workspace.root.join("new.txt").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        until(&|| alive(&mark).is_empty());
    };
    let append = ["apply", "a.txt", "--mode", "append", "--content", "more\n"];
    kill(14);
    let applied = workspace.edt(&append);
    let warning = &applied.json["warnings"][0];
    assert_eq!((applied.exit, &warning["code"]), (0, &json!("interrupted_run")));
    assert!(warning["message"].as_str().unwrap().contains("\nnew.txt: it did not exist"));
    assert!(!warning["message"].as_str().unwrap().contains("a.txt"), "{warning:#}");
    assert_eq!(workspace.edt(&append).json["warnings"], json!([]));
    // A refused edit reports it, too.
    std::fs::remove_file(workspace.root.join("new.txt")).unwrap();
    kill(15);
    let edit = ["apply", "a.txt", "--mode", "edit", "--old-text", "none", "--content", "x"];
    let refused = workspace.edt(&edit);
    assert_eq!(refused.json["warnings"][0]["code"], "interrupted_run", "{:#}", refused.json);
    std::fs::remove_file(workspace.root.join("new.txt")).unwrap();
    kill(16);
    let shown = workspace.command(EDT).args(append).output().unwrap();
    let shown = [shown.stdout, shown.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert!(shown.contains("new.txt: it did not exist"), "{shown}");
}

#[test]
fn an_agents_hook_reports_a_program_that_was_killed_with_edt() {
    let workspace = free();
    workspace.write(".gitignore", ".env\n");
    workspace.git(&["add", ".gitignore"]);
    workspace.git(&["commit", "--quiet", "-m", "rules"]);
    workspace.write(".env", "KEY=a-secret-of-more-than-32-bytes-0123456789\n");
    let mark = a_mark(17);
    let program = script(&workspace, &format!("mv .env env.txt; exec sleep {mark}"));
    let mut child = workspace.command(EDT).args(["run", "--", &program]).spawn().unwrap();
    until(&|| !alive(&mark).is_empty() && workspace.root.join("env.txt").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    until(&|| alive(&mark).is_empty());
    let call = |event: &str| {
        let payload = json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": event,
            "tool_name": "Edit", "tool_input": {"file_path": "env.txt",
                "old_string": "KEY", "new_string": "KEZ"}});
        let mut command = workspace.command(EDT);
        command.args(["agent-hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = command.spawn().unwrap();
        hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        String::from_utf8(hook.wait_with_output().unwrap().stdout).unwrap()
    };
    let answer: Value = serde_json::from_str(&call("PreToolUse")).unwrap();
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse", "{answer:#}");
    let text = output["additionalContext"].as_str().unwrap();
    assert!(text.starts_with("warning: ") && text.contains("env.txt"), "{text}");
    let text = std::fs::read_to_string(workspace.root.join("env.txt")).unwrap();
    workspace.write("env.txt", text.replace("KEY", "KEZ"));
    call("PostToolUse");
    assert!(!workspace.git(&["log", "--all", "-p"]).contains("a-secret"));
    assert_eq!(workspace.edt(&["status"]).json["private"], json!(["env.txt"]));
}

#[test]
fn files_without_a_copy_are_asked_about_and_reported() {
    let workspace = workspace();
    workspace.write(".git/info/exclude", "/echo\n/job-*\n*.log\n");
    workspace.write("big.log", "x".repeat(2_000_000));
    let ask = workspace.runs(&[], &["rm", "big.log"]);
    assert_eq!((ask.exit, ask.codes()), (4, vec!["APPROVAL_REQUIRED"]), "{:#}", ask.json);
    assert_eq!(ask.json["errors"][0]["evidence"]["rule"], "remove-uncopied", "{:#}", ask.json);
    policy(&workspace, FREE);
    let lost = sh(&workspace, &[], ": > big.log");
    let warning = &lost.json["warnings"][0];
    assert_eq!(
        (warning["code"].as_str(), warning["path"].as_str()),
        (Some("backed_up"), Some("big.log")),
        "{:#}",
        lost.json
    );
    let kept = workspace.root.join(".git/edt/main/kept/1/big.log");
    assert_eq!(std::fs::read(kept).unwrap().len(), 2_000_000);
    let kept = sh(&workspace, &[], "echo x > small.log");
    assert_eq!(kept.json["warnings"], json!([]), "{:#}", kept.json);
}

#[test]
fn new_files_that_may_be_build_output_are_listed() {
    let workspace = free();
    let text = "printf 'a\\0b' > out.bin; mkdir dist; echo x > dist/o.js; echo x > src/new.txt";
    let answer = sh(&workspace, &[], text);
    assert_eq!(answer.json["new_files"], json!(["dist/o.js", "out.bin"]), "{:#}", answer.json);
}

#[test]
fn during_a_merge_programs_run_and_what_changes_stays_on_disk() {
    let workspace = free();
    workspace.git(&["branch", "side"]);
    workspace.commit(&[("a.txt", b"main\n")]);
    workspace.git(&["switch", "--quiet", "side"]);
    workspace.commit(&[("a.txt", b"side\n")]);
    workspace.try_git(&["merge", "main"]);
    let conflict = workspace.read("a.txt");
    let reads = workspace.runs(&[], &["git", "status", "--short"]);
    assert_eq!((reads.exit, text(&reads, "stdout")), (0, "UU a.txt\n"), "{:#}", reads.json);
    let writes = sh(&workspace, &[], "echo both > a.txt; rm src/c.txt; echo x > new.txt");
    assert_eq!((writes.exit, writes.codes()), (3, vec!["REPOSITORY_BUSY"]), "{:#}", writes.json);
    // The user may have resolved a conflict meanwhile: nothing is taken off the disk.
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.text("new.txt").as_str()),
        ("both\n", "x\n")
    );
    let status = workspace.edt(&["status"]).json;
    let message = status["warnings"][0]["message"].as_str().unwrap_or_default().to_owned();
    let place = message.split('`').find_map(|part| part.strip_prefix("cp ")).unwrap_or_default();
    let copy = place.split(' ').next().unwrap_or_default();
    assert_eq!(std::fs::read(copy).unwrap_or_default(), conflict, "{message}");
}

#[test]
fn a_program_may_call_edt_and_git_itself() {
    let workspace = free();
    let script = format!(
        "'{EDT}' apply inner.txt --mode create --content x && git log -1 --format=%s && git status --short && echo y >> a.txt"
    );
    let answer = sh(&workspace, &["--sandbox", "permissive"], &script);
    assert_eq!((answer.exit, answer.json["edit"].as_u64()), (0, Some(2)), "{:#}", answer.json);
    assert!(text(&answer, "stdout").contains("create inner.txt"), "{:#}", answer.json);
    assert_eq!(
        workspace.git(&["log", "--format=%(trailers:key=Edt-Kind,valueonly,separator=)", "-2"]),
        "run\nedit\n"
    );
    workspace.is_clean();
    // Git reads at standard; what writes there is refused by the system.
    let reads = sh(
        &workspace,
        &["--sandbox", "standard"],
        "git status --short && git log --oneline | wc -l && git add -A; echo $?",
    );
    assert!(
        text(&reads, "stdout").starts_with("3\n") && !text(&reads, "stdout").contains("\n0\n"),
        "{:#}",
        reads.json
    );
}

#[test]
fn two_concurrent_programs_are_both_recorded() {
    let workspace = free();
    workspace.edt(&["begin"]).landed();
    let all: Vec<Answer> = std::thread::scope(|scope| {
        let one = |number: u32| {
            let workspace = &workspace;
            scope.spawn(move || {
                sh(
                    workspace,
                    &[],
                    &format!("for i in 1 2 3; do echo $i > f{number}-$i; sleep 0.05; done"),
                )
            })
        };
        (0..4)
            .map(one)
            .collect::<Vec<_>>()
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(
        all.iter().all(|answer| answer.exit == 0),
        "{:#?}",
        all.iter().map(|answer| &answer.json).collect::<Vec<_>>()
    );
    assert_eq!(
        workspace
            .git(&["ls-tree", "--name-only", "HEAD"])
            .lines()
            .filter(|name| name.starts_with('f'))
            .count(),
        12
    );
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn the_text_answer_has_a_programs_output_and_result() {
    let workspace = free();
    let done = workspace
        .command(EDT)
        .args(["run", "--", &script(&workspace, "echo out; echo err >&2; echo x > x; exit 3")])
        .output()
        .unwrap();
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(10), b"out\n".as_slice()));
    let printed = String::from_utf8(done.stderr).unwrap();
    let parts = ["err\n", "exit status 3", "recorded 1 changed on edt/main-1", "A x +1 -0"];
    assert!(parts.iter().all(|part| printed.contains(part)), "{printed}");
    let plain = OsStr::from_bytes(b"\xff");
    let named = workspace.runs(&[], &[OsStr::new("echo"), plain]);
    assert_eq!(named.json["run"]["args"], json!(["\u{fffd}"]));
}

#[test]
fn a_protected_path_does_not_land_by_way_of_a_checkpoint() {
    let protect = b"[[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n".as_slice();
    let workspace =
        TestRepo::with(&[("edt.toml", protect), ("ci/run", b"true\n"), ("a.txt", b"a\n")]);
    policy(&workspace, FREE);
    workspace.edt(&["begin"]).landed();
    // A program that runs while another call records the files.
    let first = script(&workspace, "echo evil >> ci/run; sleep 2");
    let mut running = workspace.command(EDT);
    running.args(["run", "--json", "--", &first]).stdout(Stdio::piped());
    let running = running.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(900));
    workspace.edt(&["checkpoint"]);
    let printed = running.wait_with_output().unwrap();
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(
        (printed["status"].as_str(), printed["errors"][0]["code"].as_str()),
        (Some("held"), Some("APPROVAL_REQUIRED")),
        "{printed:#}"
    );
    let land = workspace.edt(&["land"]);
    assert_eq!(
        (land.exit, land.codes(), land.errors()[0]["path"].as_str()),
        (4, vec!["APPROVAL_REQUIRED"], Some("ci/run")),
        "{:#}",
        land.json
    );
    assert_eq!(workspace.blob("main:ci/run"), b"true\n");
    // The user may land it.
    let (status, screen) = workspace.at_terminal("land", "");
    assert_eq!(
        (status, workspace.blob("main:ci/run")),
        (Some(0), b"true\nevil\n".to_vec()),
        "{screen}"
    );
}

#[test]
fn unrecordable_changes_of_protected_paths_are_refused_too() {
    let protect = b"[[protect]]\npaths = [\"ci/**\"]\n".as_slice();
    for (text, code) in [
        ("rm ci/run; ln -s ../a.txt ci/run", "PROTECTED_PATH"),
        // Everything is put back.
        ("mv ci other; ln -s other ci", "NOT_A_FILE"),
        ("printf '* text eol=lf\\n' > .gitattributes; printf 'x\\r\\n' > ci/run", "PROTECTED_PATH"),
    ] {
        let workspace =
            TestRepo::with(&[("edt.toml", protect), ("ci/run", b"true\n"), ("a.txt", b"a\n")]);
        policy(&workspace, FREE);
        let refused = sh(&workspace, &[], text);
        assert!(refused.exit == 1 && refused.codes().contains(&code), "{text}: {:#}", refused.json);
        let heads = workspace.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]);
        assert!(
            heads.lines().all(|head| workspace
                .try_git(&["cat-file", "blob", &format!("{head}:ci/run")])
                .stdout
                == b"true\n"),
            "{text}: {heads}"
        );
    }
}

#[test]
fn files_that_a_session_cannot_record_are_backed_up_before_a_program_runs() {
    let workspace = free();
    workspace.commit(&[("local.conf", b"team\n"), ("other.conf", b"team\n")]);
    workspace.git(&["update-index", "--skip-worktree", "local.conf"]);
    workspace.git(&["update-index", "--assume-unchanged", "other.conf"]);
    workspace.write("local.conf", "mine\n");
    workspace.write("other.conf", "mine, too\n");
    std::os::unix::fs::symlink("some/where", workspace.root.join("link")).unwrap();
    let gone = workspace.runs(&[], &["rm", "local.conf", "other.conf", "link"]);
    let codes: Vec<&str> = gone.json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"backed_up"), "{:#}", gone.json);
    let told = gone.json["warnings"].to_string();
    assert!(told.contains("a symbolic link to some/where"), "{told}");
    // A path outside the sparse checkout is in no commit: the warning names the copy.
    let copy = gone.json["warnings"].as_array().unwrap().iter().find_map(|one| {
        let message = one["message"].as_str()?;
        message.split_once("is now copied to ")?.1.strip_suffix('.')
    });
    let copy = workspace.root.join(copy.unwrap_or_else(|| panic!("{told}")));
    assert_eq!(std::fs::read(copy).unwrap(), b"mine\n");
    assert_eq!(workspace.edt(&["undo"]).exit, 0);
    assert_eq!(workspace.read("other.conf"), b"mine, too\n");
    workspace.is_sound();
}

#[test]
fn a_programs_input_file_is_in_the_worktree() {
    let workspace = free();
    std::fs::write(workspace.home.join("secret"), "key").unwrap();
    let secret = workspace.home.join("secret");
    let given = |file: &str| workspace.runs(&["--stdin", file], &["cat"]);
    for (file, code) in [
        (secret.to_str().unwrap(), "PATH_OUTSIDE_REPO"),
        ("/proc/self/environ", "PATH_OUTSIDE_REPO"),
        (".git/config", "PATH_IN_GIT_DIR"),
        ("src", "NOT_A_FILE"),
        ("nowhere", "FILE_NOT_FOUND"),
    ] {
        assert_eq!(given(file).codes(), [code], "{file}");
    }
    std::os::unix::fs::symlink(&secret, workspace.root.join("job-link")).unwrap();
    assert_eq!(given("job-link").codes(), ["PATH_OUTSIDE_REPO"]);
    workspace.command("mkfifo").arg("job-fifo").status().unwrap();
    assert_eq!(given("job-fifo").codes(), ["NOT_A_FILE"], "and nobody waits");
    let mut elsewhere = workspace.command(EDT);
    elsewhere.current_dir(&workspace.home).args([
        "-C",
        workspace.root.join("src").to_str().unwrap(),
        "run",
        "--json",
        "--stdin",
        "b.txt",
        "--",
        "head",
        "-n1",
    ]);
    assert_eq!(text(&crate::test_repo::run(elsewhere, b"", &[]), "stdout"), "line 1 of a text\n");
}

#[test]
fn the_commits_of_a_program_are_judged_too() {
    let protect = b"[[protect]]\npaths = [\"ci/**\"]\n".as_slice();
    let workspace =
        TestRepo::with(&[("edt.toml", protect), ("ci/run", b"true\n"), ("a.txt", b"a\n")]);
    policy(&workspace, FREE);
    workspace.edt(&["begin"]).landed();
    let printed = sh(
        &workspace,
        &[],
        "echo x >> ci/run; git add ci; git commit -qm theirs; echo more >> a.txt",
    );
    assert_eq!(
        (printed.exit, printed.codes(), printed.errors()[0]["path"].as_str()),
        (4, vec!["APPROVAL_REQUIRED"], Some("ci/run")),
        "{:#}",
        printed.json
    );
    assert!(
        printed.message().contains("while the program ran")
            && printed.json["files"][0]["path"] == "a.txt",
        "{:#}",
        printed.json
    );
    // A command that moves elsewhere is reported.
    let left = sh(&workspace, &[], "git switch -q -c other; echo z > z.txt");
    let codes: Vec<&str> = left.json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"session_left"), "{:#}", left.json);
}

#[test]
fn a_session_that_began_outside_a_container_works_inside() {
    // What a container's first process did not give a session has number 0.
    let workspace = free();
    workspace.write("job-x", "#!/no/such/interpreter\n");
    std::fs::set_permissions(workspace.root.join("job-x"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    let mut command = workspace.command("unshare");
    command.args(["-Urpf", "--mount-proc", EDT, "run", "--json", "--", "./job-x"]);
    assert_eq!(crate::test_repo::run(command, b"", &["run"]).codes(), ["PROGRAM_NOT_FOUND"]);
}

#[test]
fn a_caller_that_ignores_sigchld_still_gets_an_answer() {
    let workspace = free();
    let call = format!(
        "import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv('{EDT}', ['edt', 'run', '--json', '--', '{}'])",
        script(&workspace, "echo here; echo x > x.txt")
    );
    let mut command = workspace.command("python3");
    command.args(["-c", &call]);
    let printed = crate::test_repo::run(command, b"", &["run"]);
    // The system then keeps how the program ended to itself; what it did is seen, judged and
    // recorded all the same.
    assert_eq!(
        (text(&printed, "stdout"), printed.json["files"][0]["path"].as_str()),
        ("here\n", Some("x.txt")),
        "{:#}",
        printed.json
    );
    assert!(printed.errors().is_empty() && [0, 10].contains(&printed.exit), "{:#}", printed.json);
}

#[test]
fn large_files_hide_no_small_one_from_the_guards() {
    let workspace = free();
    policy(&workspace, &format!("{FREE}on_findings = \"refuse\"\n"));
    let text = "for i in 1 2 3 4 5; do head -c 12000000 /dev/zero | tr '\\0' 'a' > a$i; done; printf '<<<<<<< HEAD\\nx\\n=======\\ny\\n>>>>>>> b\\n' > z.c";
    let refused = sh(&workspace, &["--timeout", "60"], text);
    let codes = refused.codes();
    assert!(codes.contains(&"CONFLICT_MARKERS") && codes.contains(&"FILE_TOO_LARGE"), "{codes:?}");
    assert!(!workspace.exists("z.c") && !workspace.exists("a1"));
}

#[test]
fn an_ignored_file_that_a_program_moves_onto_another_file_is_rolled_back() {
    let workspace = free();
    workspace.write(".gitignore", ".env\n");
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "--quiet", "-m", "rules"]);
    workspace.write(".env", "KEY=a-secret-of-more-than-32-bytes-0123456789\n");
    workspace.write("notes.txt", "of the user\n");
    let before = workspace.files();
    for onto in [".gitignore", "notes.txt"] {
        let refused = sh(&workspace, &[], &format!("mv -f .env {onto} && echo more >> {onto}"));
        assert_eq!((refused.exit, refused.codes()), (1, vec!["PROTECTED_PATH"]));
        let error = &refused.errors()[0];
        assert_eq!(
            (&error["path"], &error["evidence"]["moved_from"]),
            (&json!(onto), &json!(".env"))
        );
        for path in [".env", ".gitignore", "notes.txt"] {
            assert_eq!(workspace.text(path).as_bytes(), &before[path][4..], "{path}");
        }
    }
    let objects = workspace.try_git(&["cat-file", "--batch-all-objects", "--batch"]).stdout;
    assert!(!String::from_utf8_lossy(&objects).contains("a-secret"));
}

#[test]
fn a_confined_program_cannot_hold_edts_lock() {
    let workspace = free();
    workspace.edt(&["begin"]).landed();
    for level in ["standard", "strict"] {
        let printed = sh(
            &workspace,
            &["--sandbox", level],
            "ls .git/edt/main/lock; flock -n .git/edt/main/lock true && echo held",
        );
        assert!(
            !text(&printed, "stdout").contains("held")
                && !text(&printed, "stdout").contains("lock"),
            "{:#}",
            printed.json
        );
    }
}

#[test]
fn directories_too_deep_for_a_path_disturb_no_later_call() {
    let workspace = free();
    let deep = "mkdir 'ddddd' and chdir 'ddddd' or die for 1..3000; open F, '>', 'f';";
    let program = |name: &str, text: &str| {
        workspace.write(name, text);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(workspace.root.join(name), mode).unwrap();
    };
    program("job-deep", &format!("#!/usr/bin/perl\n{deep}\n"));
    program("job-change", "#!/bin/sh\necho two > a.txt\n");
    let made = workspace.runs(&[], &["./job-deep"]);
    assert_eq!((made.exit, made.errors()), (0, &[][..]));
    let changed = workspace.runs(&[], &["./job-change"]);
    assert_eq!(changed.json["files"][0]["path"], "a.txt", "{:#}", changed.json);
    for call in [&["status"][..], &["diff"], &["ls", "--ignored"], &["checkpoint"], &["undo"]] {
        let answer = workspace.edt(call);
        assert!(answer.errors().is_empty() && answer.exit == 0, "{call:?}: {:#}", answer.json);
    }
    assert_eq!(workspace.text("a.txt"), "one\n");
    // Removing a directory of the test holds a descriptor for each level.
    let removed = workspace.command("rm").args(["-rf", "ddddd"]).status().unwrap();
    assert!(removed.success());
}

/// Git records LF, and checks out CRLF. A program writes LF all the same.
#[test]
fn what_a_program_writes_is_recorded_although_git_would_check_out_other_line_endings() {
    let workspace = free();
    workspace.commit(&[("a.txt", b"one\nmore\n"), ("b.txt", b"b\n"), ("c.txt", b"c\n")]);
    workspace.git(&["config", "core.autocrlf", "true"]);
    let script = "printf 'two\\nmore\\n' > a.txt; echo new > n.txt; rm b.txt; \
                  printf 'c\\r\\nmixed\\n' > c.txt";
    let ran = workspace.runs(&[], &["sh", "-c", script]);
    assert_eq!((ran.exit, &ran.json["warnings"]), (0, &serde_json::json!([])), "{:#}", ran.json);
    let paths: Vec<&str> =
        ran.json["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.txt", "b.txt", "c.txt", "n.txt"]);
    let state = || {
        let disk = ["a.txt", "b.txt", "n.txt"]
            .map(|path| workspace.exists(path).then(|| workspace.text(path)));
        (disk, workspace.status())
    };
    let of = |all: [Option<&str>; 3]| (all.map(|text| text.map(str::to_owned)), String::new());
    let after = of([Some("two\nmore\n"), None, Some("new\n")]);
    assert_eq!(workspace.blob("HEAD:a.txt"), b"two\nmore\n");
    assert_eq!(state(), after);
    // Nobody knows the endings of a file with both.
    assert_eq!(workspace.edt(&["undo"]).codes(), ["UNSUPPORTED_REPOSITORY"]);
    assert_eq!((state(), workspace.text("c.txt").as_str()), (after.clone(), "c\r\nmixed\n"));
    workspace.write("c.txt", "c\r\nmixed\r\n");
    workspace.edt(&["undo"]).landed();
    // Git writes a file that was gone as it checks it out.
    assert_eq!(state(), of([Some("one\nmore\n"), Some("b\r\n"), None]));
    workspace.edt(&["redo"]).landed();
    assert_eq!(state(), after);
    workspace.edt(&["land", "-m", "landed"]).landed();
    assert_eq!(state(), after);
    workspace.is_sound();
}

/// A file system without hard links answers as for a directory that is not writable.
#[test]
fn a_file_system_without_hard_links_is_named_and_nothing_changes() {
    if !crate::test_repo::has_strace() {
        return;
    }
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let before = (workspace.files(), workspace.git(&["for-each-ref"]));
    for args in [&["apply", "a.txt", "--mode", "append", "--content", "x\n"][..], &["begin", "s"]] {
        let mut command = workspace.command("strace");
        let inject = "inject=link,linkat:error=EPERM:when=2+";
        command.args(["-f", "-o", "/dev/null", "-e", "trace=link,linkat", "-e", inject, EDT]);
        command.args([args[0], "--json"]).args(&args[1..]);
        let refused = crate::test_repo::run(command, b"", args);
        assert_eq!(refused.codes(), ["UNSUPPORTED_REPOSITORY"], "{args:?} {:#}", refused.json);
        let message = refused.errors()[0]["message"].as_str().unwrap();
        assert!(message.contains("knows no hard links"), "{message}");
        assert_eq!((workspace.files(), workspace.git(&["for-each-ref"])), before, "{args:?}");
    }
    assert!(workspace.edt(&["status"]).json["recovered"].is_null());
}

/// Some containers refuse it: the end of a program is then looked for.
#[test]
fn a_program_runs_where_its_end_is_not_reported() {
    if !crate::test_repo::has_strace() {
        return;
    }
    for error in ["ENOSYS", "EPERM"] {
        let workspace = free();
        let run = |script: &str, limit: &str| {
            let args = ["run", "--timeout", limit, "--", "sh", "-c", script];
            let mut command = workspace.command("strace");
            let inject = format!("inject=pidfd_open:error={error}");
            command.args(["-f", "-o", "/dev/null", "-e", "trace=pidfd_open", "-e", &inject, EDT]);
            command.args([args[0], "--json"]).args(&args[1..]);
            crate::test_repo::run(command, b"", &args)
        };
        let ended = run("echo two > a.txt; exit 3", "60");
        assert_eq!(ended.json["run"]["exit_code"], 3, "{error} {:#}", ended.json);
        assert_eq!(workspace.text("a.txt"), "two\n");
        let slow = run("sleep 77 & sleep 77", "1");
        assert_eq!(slow.codes(), ["COMMAND_TIMEOUT"], "{error} {:#}", slow.json);
    }
}

/// Containers and other kernels refuse system calls. Nothing runs that could not be recorded.
#[test]
fn a_missing_system_call_is_refused_before_anything_changes() {
    if !crate::test_repo::has_strace() {
        return;
    }
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    for (call, error) in [("renameat2", "ENOSYS"), ("link,linkat", "EPERM")] {
        let inject = format!("inject={call}:error={error}");
        let trace = format!("trace={call}");
        for args in [
            &["run", "--", "touch", "n.txt"][..],
            &["apply", "a.txt", "--mode", "append", "--content", "x\n"],
        ] {
            let before = workspace.files();
            let mut command = workspace.command("strace");
            command.args(["-f", "-o", "/dev/null", "-e", &trace, "-e", &inject, EDT]);
            command.args([args[0], "--json"]).args(&args[1..]);
            let refused = crate::test_repo::run(command, b"", args);
            assert_eq!(refused.codes(), ["UNSUPPORTED_REPOSITORY"], "{call} {args:?}");
            assert_eq!(workspace.files(), before, "{call} {args:?}");
        }
    }
    assert!(workspace.git(&["branch", "--list", "edt/*"]).is_empty());
}

/// Runs `text` while this closure acts as the user, once `file` has been written by it.
fn meanwhile(workspace: &TestRepo, text: &str, user: impl FnOnce() + Send) -> Answer {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            until(&|| workspace.exists("begun"));
            user();
        });
        sh(workspace, &["--timeout", "60"], &format!("echo x > begun; sleep 1; {text}"))
    })
}

/// A user who saved a file while a program ran was committed and landed as the agent.
#[test]
fn what_the_user_saves_while_a_program_runs_is_the_users() {
    let workspace = free();
    workspace.commit(&[("own.txt", b"own\n"), ("renamed.txt", b"old\n")]);
    let done = meanwhile(&workspace, "echo p > prog.txt; echo more >> a.txt", || {
        workspace.write("own.txt", "saved by the user\n");
        workspace.write("new.txt", "new of the user\n");
        workspace.write("swap", "saved by a rename\n");
        let [from, to] = ["swap", "renamed.txt"].map(|name| workspace.root.join(name));
        std::fs::rename(from, to).unwrap();
    });
    assert_eq!(done.exit, 0, "{:#}", done.json);
    let changed = workspace.git(&["diff", "--name-only", "HEAD~1", "HEAD"]);
    let mut names: Vec<&str> = changed.lines().collect();
    names.retain(|name| !name.starts_with("job-"));
    assert_eq!(names, ["a.txt", "begun", "prog.txt"]);
    workspace.edt(&["undo"]);
    assert_eq!(workspace.text("own.txt"), "saved by the user\n");
    assert_eq!(workspace.text("new.txt"), "new of the user\n");
    assert_eq!(workspace.text("renamed.txt"), "saved by a rename\n");
    assert!(!workspace.exists("prog.txt"));
}

#[test]
fn a_file_that_the_user_and_a_program_write_is_on_disk_alone() {
    let workspace = free();
    let text = "echo program >> a.txt; sleep 1; echo p > prog.txt";
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            until(&|| workspace.text("a.txt").contains("program"));
            let now = workspace.text("a.txt");
            workspace.write("a.txt", format!("{now}user\n"));
        });
        sh(&workspace, &["--timeout", "60"], text)
    });
    assert_eq!(done.exit, 0, "{:#}", done.json);
    assert!(!workspace.git(&["show", "HEAD:a.txt"]).contains("user"));
    assert!(workspace.text("a.txt").ends_with("program\nuser\n"));
    assert_eq!(workspace.git(&["show", "HEAD:prog.txt"]).trim(), "p");
}

/// Files of an ignored tree, a nested repository and a link were lost with "undo restores them".
#[test]
fn what_a_program_removes_comes_back() {
    let workspace = free();
    workspace.write(".git/info/exclude", "/echo\n/job-*\nbuild/\n");
    for number in 0..500 {
        workspace.write(&format!("build/{}/{number}", number % 7), format!("{number}\n"));
    }
    let before = workspace.files();
    let done =
        sh(&workspace, &["--timeout", "60"], "rm -rf build; mkdir build; echo x > build/new");
    assert_eq!(done.exit, 0, "{:#}", done.json);
    workspace.edt(&["undo"]);
    std::fs::remove_file(workspace.root.join("build/new")).unwrap();
    let after = workspace.files();
    let names = |files: &crate::test_repo::Snapshot| -> Vec<String> {
        files.keys().filter(|name| name.contains("build/")).cloned().collect()
    };
    assert_eq!(names(&after), names(&before));
    assert_eq!(workspace.text("build/6/6"), "6\n");
}

/// A program that only reads a private file does not touch it. Its copy is private, too.
#[test]
fn a_copy_of_a_private_file_is_in_no_checkpoint() {
    let workspace = free();
    workspace.write(".git/info/exclude", "/echo\n/job-*\n/.env\nkeys/\n");
    workspace.write(".env", format!("{}\n", "secret ".repeat(9)));
    workspace.write("keys/one", format!("{}\n", "key ".repeat(16)));
    for (from, to) in [(".env", "copy.txt"), ("keys/one", "other.txt")] {
        let done = sh(&workspace, &["--timeout", "60"], &format!("cp {from} {to}"));
        assert_eq!(done.json["warnings"][0]["code"], "stays_private", "{:#}", done.json);
    }
    workspace.edt(&["checkpoint"]);
    let objects = workspace.git(&["log", "--all", "--patch"]);
    assert!(!objects.contains("secret") && !objects.contains("key key"), "{objects}");
}
