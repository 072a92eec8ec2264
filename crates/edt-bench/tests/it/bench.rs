//! `edt-bench run`, `merge`, `report`, `list` and `check`, with real kills.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use edt_memory::episodes::{Body, Episode, Origin};
use serde_json::{Value, json};

use crate::{assert_satisfies_schema, edt_bench};

/// A directory with a suite, an agent and results.
struct Bench {
    dir: tempfile::TempDir,
}

const SUITE: &str = r#"schema = "edt.suite/1"
description = "A small one."
attempts = 3

[[task]]
id = "exact"
instruction = "Replace x by y in a.txt."
date = "2026-01-01"
class = "one"
judge = { kind = "exact" }
repo = { "a.txt" = "x\nz\n", "b.txt" = "b\n" }
expected = { "a.txt" = "y\nz\n", "b.txt" = "b\n" }

[[task]]
id = "numeric"
instruction = "Replace x by y in a.txt."
date = "2026-02-01"
class = "two"
judge = { kind = "numeric", file = "a.txt", tolerance = 0.1 }
repo = { "a.txt" = "x 1\n" }
expected = { "a.txt" = "y 1.05\n" }

[[task]]
id = "command"
instruction = "Replace x by y in a.txt."
date = "2026-03-01"
class = "one"
judge = { kind = "command", argv = ["grep", "-q", "y", "a.txt"] }
repo = { "a.txt" = "x\n" }
"#;

/// An agent whose first attempt at a task sends an `old_text` that does not occur, and then a wrong
/// text, unless a lesson warns it; then it sends the right text.
const AGENT: &str = r#"
import json, sys
def say(**message):
    print(json.dumps(message), flush=True)
    return json.loads(sys.stdin.readline())
def edit(old, new):
    say(type="apply", request={"path": "a.txt", "mode": "edit", "old_text": old, "content": new})
warned = False
for line in sys.stdin:
    task = json.loads(line)
    if task["type"] == "end":
        break
    warned = warned or any("What passed then: " in lesson for lesson in task["priors"])
    if task["attempt"] == 1 and not warned:
        edit("q", "y")
        if task["task"] == "exact":
            say(type="read", path="a.txt")
        edit("x", "w")
    else:
        edit("x" if task["attempt"] == 1 else "w", "y")
    print(json.dumps({"type": "done", "usage": {"input_tokens": 10, "output_tokens": 2, "cost_usd": 0.5}}), flush=True)
"#;

impl Bench {
    fn new() -> Bench {
        Bench::made(tempfile::Builder::new().prefix("edt-bench-").tempdir().unwrap())
    }

    fn made(dir: tempfile::TempDir) -> Bench {
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let bench = Bench { dir };
        bench.write("home/.config/none", "");
        bench.write("s/suite.toml", SUITE);
        bench.write("agent.py", AGENT);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = edt_bench(self.dir.path(), &self.path("home"));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.stdin(Stdio::null()).args(args);
        command
    }

    fn try_run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs it; the answer must satisfy its schema.
    #[track_caller]
    fn run(&self, args: &[&str]) -> Value {
        let done = self.try_run(&[args, &["--json"]].concat());
        let text = format!(
            "{}\n{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        assert!(done.status.success(), "{args:?}: {text}");
        let json: Value =
            serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_satisfies_schema(&json);
        json
    }

    /// It must be refused with `code`; returns the message.
    #[track_caller]
    fn refused(&self, code: &str, args: &[&str]) -> String {
        let done = self.try_run(&[args, &["--json"]].concat());
        let json: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        assert_eq!(
            json["errors"][0]["code"],
            code,
            "{args:?}: {json:#} {}",
            String::from_utf8_lossy(&done.stderr)
        );
        json["errors"][0]["message"].as_str().unwrap().to_owned()
    }

    /// The attempts of a run with `agent` on the task `exact`.
    #[track_caller]
    fn attempts(&self, agent: &str, more: &[&str]) -> Vec<Value> {
        let out = format!("out-{}", std::fs::read_dir(self.dir.path()).unwrap().count());
        self.run(
            &[&["run", "s", "--task", "exact", "--agent", agent, "--out", &out], more].concat(),
        );
        let line: Value = serde_json::from_str(
            self.read(&format!("{out}/results.jsonl")).lines().next().unwrap(),
        )
        .unwrap();
        line["runs"][0]["attempts"].as_array().unwrap().clone()
    }
}

const PYTHON: &str = "python3 -S agent.py";

fn group<'r>(report: &'r Value, strategy: &str) -> &'r Value {
    report["groups"].as_array().unwrap().iter().find(|group| group["strategy"] == strategy).unwrap()
}

#[test]
fn a_run_reports_attempts_lessons_and_paired_differences() {
    let bench = Bench::new();
    let report = bench.run(&[
        "run",
        "s",
        "--agent",
        PYTHON,
        "--strategy",
        "none,episodic",
        "--sessions",
        "2",
        "--out",
        "r",
    ]);
    assert_eq!(
        (&report["done"], &report["of"]),
        (&json!(7), &json!(7)),
        "3 tasks in 2 sessions, and one unit that remembers"
    );
    let none = group(&report, "none");
    let metric = |group: &Value, name: &str| group["metrics"][name]["value"].as_f64().unwrap();
    assert_eq!(
        (metric(none, "pass"), metric(none, "pass_first"), metric(none, "attempts")),
        (1.0, 0.0, 2.0)
    );
    assert_eq!(
        (metric(none, "well_formed"), metric(none, "landed"), metric(none, "bytes_outside")),
        (1.0, 2.0 / 3.0, 0.0)
    );
    assert_eq!((metric(none, "input_tokens"), metric(none, "cost_usd")), (20.0, 1.0));
    assert_eq!(none["refusals"], json!({"OLD_TEXT_NOT_FOUND": 6}));
    // exact: read, then the edit that lands; the others: the edit alone.
    assert!((metric(none, "recovery_steps") - 4.0 / 3.0).abs() < 1e-9);
    assert!((metric(none, "avg_final_score") - 1.0).abs() < 1e-9);
    // The class of what landed, not of the refusal before it. `w 1` has one of two words right.
    assert_eq!(none["errors"], json!({"code": 2, "format": 2, "other": 2}));
    let first = none["score_by_attempt"][0]["value"].as_f64().unwrap();
    assert!((first - (0.5 + 0.5 + 0.0) / 3.0).abs() < 1e-9, "{first}");
    assert_eq!(none["by_attempt"][0]["hits"], 0);
    assert_eq!(none["by_attempt"][1]["hits"], 6);
    let episodic = group(&report, "episodic");
    let sessions: Vec<f64> = episodic["by_session"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["attempts"]["value"].as_f64().unwrap())
        .collect();
    assert!(
        (sessions[0] - 4.0 / 3.0).abs() < 1e-9 && (sessions[1] - 1.0).abs() < 1e-9,
        "the memory is kept between sessions: {sessions:?}"
    );
    let pair = report["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|pair| pair["metric"] == "attempts")
        .unwrap();
    assert_eq!(
        (&pair["n"], &pair["less"], &pair["more"], &pair["p"]),
        (&json!(3), &json!(3), &json!(0), &Value::Null),
        "by task, and too few for a test"
    );
    let table = bench.try_run(&["report", "r"]).stdout;
    assert!(
        String::from_utf8_lossy(&table).contains("3 pairs (0 more, 3 less), too few pairs"),
        "{}",
        String::from_utf8_lossy(&table)
    );
}

#[test]
fn the_seed_determines_the_report_and_merged_shards_equal_the_whole_run() {
    let bench = Bench::new();
    let run = |more: &[&str]| {
        let args = ["run", "s", "--agent", PYTHON, "--strategy", "none,placebo", "--no-times"];
        bench.run(&[&args, more].concat())
    };
    let whole = run(&["--jobs", "1"]);
    let again = run(&["--jobs", "4"]);
    assert_eq!(whole.to_string(), again.to_string());
    let part = run(&["--shard", "1/2", "--out", "p1"]);
    assert_eq!((&part["done"], &part["of"]), (&json!(2), &json!(4)));
    run(&["--shard", "2/2", "--out", "p2"]);
    let merged = bench.run(&["merge", "p1", "p2", "--out", "all", "--no-times"]);
    assert_eq!(merged.to_string(), whole.to_string());
    assert_eq!(bench.run(&["report", "all", "--no-times"]).to_string(), whole.to_string());
    run(&["--shard", "1/2", "--out", "p3"]);
    bench.run(&["merge", "p1", "p3", "p2", "--out", "twice"]);
    // Shards of another run and different results of one unit are refused.
    bench.run(&[
        "run",
        "s",
        "--agent",
        PYTHON,
        "--seed",
        "2",
        "--strategy",
        "none,placebo",
        "--shard",
        "2/2",
        "--out",
        "p4",
    ]);
    let text = bench.refused("BENCH_MISMATCH", &["merge", "p1", "p4", "--out", "x"]);
    assert!(text.contains("seed is 1 in one and 2 in the other"), "{text}");
    let changed = bench.read("p3/results.jsonl").replacen("\"sent\":1", "\"sent\":2", 1);
    bench.write("p3/results.jsonl", &changed);
    let text = bench.refused("BENCH_MISMATCH", &["merge", "p1", "p3", "--out", "y"]);
    assert!(text.contains("two different results"), "{text}");
}

#[test]
fn a_killed_run_resumes_to_the_same_report() {
    let bench = Bench::new();
    let slow = AGENT.replace("import json, sys", "import json, sys, time\ntime.sleep(0.2)");
    bench.write("agent.py", &slow);
    let args = [
        "run",
        "s",
        "--agent",
        PYTHON,
        "--strategy",
        "none,episodic",
        "--sessions",
        "2",
        "--jobs",
        "1",
        "--no-times",
        "--json",
    ];
    let whole = bench.run(&args[..args.len() - 1]);
    let mut killed = bench
        .command(&[&args[..], &["--out", "k"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let lines = || {
        std::fs::read_to_string(bench.path("k/results.jsonl")).unwrap_or_default().lines().count()
    };
    while lines() < 2 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = lines();
    assert!((2..7).contains(&before), "{before} units were done");
    // A kill may leave an incomplete line.
    let torn = bench.read("k/results.jsonl") + "{\"unit\":{\"suite\":\"s\",\"str";
    bench.write("k/results.jsonl", &torn);
    bench.refused("FILE_EXISTS", &["run", "s", "--agent", PYTHON, "--out", "k"]);
    bench.refused("BENCH_MISMATCH", &["run", "s", "--agent", "another", "--out", "k", "--resume"]);
    let resumed = bench.run(&[&args[..args.len() - 1], &["--out", "k", "--resume"]].concat());
    assert_eq!(resumed.to_string(), whole.to_string());
    // No process of the killed run is left: no worker and no agent.
    let marker = bench.path("agent.py").parent().unwrap().to_owned();
    assert_eq!(processes_in(&marker), Vec::<String>::new());
}

/// The command lines of the processes that run in `dir`.
fn processes_in(dir: &Path) -> Vec<String> {
    let own = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == dir));
    own.map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
        .collect()
}

#[test]
fn a_failing_agent_is_a_result_of_its_attempt() {
    let bench = Bench::new();
    let ended = |agent: &str, more: &[&str]| {
        let attempts = bench.attempts(agent, &[&["--attempts", "1"], more].concat());
        (
            attempts[0]["ended"].as_str().unwrap().to_owned(),
            attempts[0]["complaint"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let started = Instant::now();
    assert_eq!(ended("sleep 1000 & sleep 1000", &["--limit", "0.5"]).0, "timed_out");
    assert!(started.elapsed() < Duration::from_secs(20));
    let (how, complaint) = ended("echo oh no >&2; exit 3", &[]);
    assert_eq!((how.as_str(), complaint.as_str()), ("died", "exit status 3. oh no"));
    let (how, complaint) = ended("no-such-agent", &[]);
    assert!(how == "died" && complaint.contains("exit status 127"), "{how}: {complaint}");
    assert_eq!(ended("kill -9 $$", &[]).0, "died");
    assert_eq!(ended("yes | tr -d '\\n'", &["--limit", "60"]).0, "flooded");
    assert_eq!(ended("yes", &["--limit", "60"]).0, "babbled");
    // An agent that never reads does not block either.
    assert_eq!(ended("sleep 0.1; echo '{\"type\":\"done\"}'", &["--limit", "20"]).0, "done");
    assert_eq!(processes_in(bench.dir.path()), Vec::<String>::new());
}

#[test]
fn malformed_lines_are_counted_and_a_dead_agent_is_started_again() {
    let bench = Bench::new();
    let agent = r#"
import json, sys
task = json.loads(sys.stdin.readline())
print("garbage", flush=True)
error = json.loads(sys.stdin.readline())
assert error["type"] == "error" and "edt.bench/1" in error["message"], error
if task["attempt"] == 1:
    sys.exit(1)
print(json.dumps({"type": "apply", "request": {"path": "a.txt", "mode": "edit", "old_text": "x", "content": "y"}}), flush=True)
outcome = json.loads(sys.stdin.readline())["outcome"]
assert outcome["status"] == "applied" and outcome["schema"] == "edt.outcome/1", outcome
print(json.dumps({"type": "run", "argv": ["cat", "a.txt"]}), flush=True)
ran = json.loads(sys.stdin.readline())
assert ran["answer"]["run"]["stdout"]["text"] == "y\nz\n", ran
print(json.dumps({"type": "undo"}), flush=True)
assert json.loads(sys.stdin.readline())["outcome"]["status"] == "applied"
print(json.dumps({"type": "read", "path": "a.txt"}), flush=True)
file = json.loads(sys.stdin.readline())
assert file["text"] == "x\nz\n", file
print(json.dumps({"type": "apply", "request": {"path": "a.txt", "mode": "edit", "old_text": "x", "content": "y", "expected_hash": file["hash"]}}), flush=True)
sys.stdin.readline()
print(json.dumps({"type": "done"}), flush=True)
"#;
    bench.write("strict.py", agent);
    let attempts = bench.attempts("python3 -S strict.py", &[]);
    let facts = |one: &Value| (one["ended"].clone(), one["malformed"].clone(), one["pass"].clone());
    assert_eq!(facts(&attempts[0]), (json!("died"), json!(1), json!(false)), "{attempts:#?}");
    assert_eq!(facts(&attempts[1]), (json!("done"), json!(1), json!(true)), "{attempts:#?}");
    assert_eq!(attempts[1]["calls"], json!({"apply": 2, "read": 1, "run": 1, "undo": 1}));
}

#[test]
fn an_agent_sees_neither_the_users_home_nor_git_configuration() {
    let bench = Bench::new();
    bench.write("home/.gitconfig", "[user]\n\tname = A Secret User\n");
    bench.write("bin/edt", "#!/bin/sh\necho edt 0.0\n");
    std::fs::set_permissions(bench.path("bin/edt"), PermissionsExt::from_mode(0o755)).unwrap();
    let agent = "read task; git -C \"$(dirname \"$HOME\")/task-1/repo\" log -1 --format='%an %ad' >&2; env | grep -c -E '^(XDG_RUNTIME_DIR|GIT_DIR)=' >&2; echo \"$HOME\" >&2; edt --version >&2; exit 9";
    let complaint =
        bench.attempts(agent, &["--attempts", "1"])[0]["complaint"].as_str().unwrap().to_owned();
    assert!(
        complaint.contains("edt-bench Thu Jan 1") && complaint.contains("\nedt 0."),
        "{complaint}"
    );
    assert!(
        !complaint.contains("Secret") && !complaint.contains(bench.path("home").to_str().unwrap()),
        "{complaint}"
    );
}

#[test]
fn with_a_split_by_time_only_older_tasks_teach_and_they_are_not_judged() {
    let bench = Bench::new();
    let run = |since: &str, out: &str| {
        let args = [
            "run",
            "s",
            "--agent",
            PYTHON,
            "--strategy",
            "episodic",
            "--sessions",
            "2",
            "--since",
            since,
            "--out",
            out,
        ];
        let report = bench.run(&args);
        let line: Value = serde_json::from_str(
            bench.read(&format!("{out}/results.jsonl")).lines().next().unwrap(),
        )
        .unwrap();
        (report, line["runs"].as_array().unwrap().clone())
    };
    let (report, runs) = run("2026-02-01", "a");
    assert_eq!(
        (&report["suites"][0]["tasks"], &report["suites"][0]["teaching"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(report["groups"][0]["runs"], 4, "teaching tasks count in no figure");
    let lessons = |run: &Value| {
        run["attempts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["priors"].as_u64().unwrap() + one["lessons"].as_u64().unwrap())
            .sum::<u64>()
    };
    for run in &runs {
        let shown = lessons(run);
        match run["task"].as_str().unwrap() {
            // The oldest task: no lesson is older.
            "exact" => assert_eq!((shown, &run["teaches"]), (0, &json!(true)), "{run:#}"),
            // One of the evaluation, and one of the refusal.
            _ => assert!(shown > 0 && run["teaches"] == false && run["episodes"] == 2, "{run:#}"),
        }
    }
    // Without older tasks there are no lessons in any session.
    let (_, runs) = run("2026-01-01", "b");
    assert!(runs.iter().all(|run| lessons(run) == 0 && run["episodes"] == 0), "{runs:#?}");
    bench.refused(
        "BAD_REQUEST",
        &["run", "s", "--agent", PYTHON, "--since", "2026-01-01", "--before", "2026-02-01"],
    );
    bench.refused("BAD_REQUEST", &["run", "s", "--agent", PYTHON, "--since", "2027-01-01"]);
}

#[test]
fn runs_with_and_without_guards_measure_guard_harm() {
    let bench = Bench::new();
    // The expected file is much smaller, which the guard size_reduction refuses.
    let long: String = (0..100).map(|n| format!("line {n}\\n")).collect();
    let suite = format!(
        "schema = \"edt.suite/1\"\ndescription = \"Shrinks.\"\n[[task]]\nid = \"shrink\"\ninstruction = \"Keep one line.\"\ndate = \"2026-01-01\"\njudge = {{ kind = \"exact\" }}\nrepo = {{ \"a.txt\" = \"{long}\" }}\nexpected = {{ \"a.txt\" = \"line 1\\n\" }}\nreplay = ['{{\"type\":\"apply\",\"request\":{{\"path\":\"a.txt\",\"mode\":\"overwrite\",\"content\":\"line 1\\n\"}}}}', '{{\"type\":\"done\"}}']\n"
    );
    bench.write("g/suite.toml", &suite);
    let report =
        bench.run(&["run", "g", "--agent", "replay", "--guards", "on,off", "--attempts", "1"]);
    let arm = |name: &str| {
        report["groups"].as_array().unwrap().iter().find(|group| group["guards"] == name).unwrap()
    };
    assert_eq!(arm("on")["metrics"]["pass"]["hits"], 0);
    assert_eq!(arm("on")["refusals"], json!({"SIZE_REDUCTION": 1}));
    let harm = &arm("on")["metrics"]["guard_harm"];
    assert_eq!((&harm["value"], &harm["n"], &harm["hits"]), (&json!(1.0), &json!(1), &json!(1)));
    assert_eq!(
        (&arm("off")["metrics"]["pass"]["hits"], &arm("off")["refusals"]),
        (&json!(1), &json!({}))
    );
    let pair =
        report["pairs"].as_array().unwrap().iter().find(|pair| pair["metric"] == "pass").unwrap();
    assert_eq!((&pair["difference"], &pair["test"]), (&json!(1.0), &json!("mcnemar")));
}

#[test]
fn a_bad_task_is_refused_with_its_file_and_key() {
    let bench = Bench::new();
    bench
        .write("s/suite.toml", &SUITE.replace("tolerance = 0.1", "tolerance = 0.1, sloppy = true"));
    let text = bench.refused("BAD_TASK", &["run", "s", "--agent", PYTHON]);
    assert!(text.contains("s/suite.toml: sloppy: unknown field `sloppy`"), "{text}");
    bench.write("s/suite.toml", &SUITE.replace("\"y\\nz\\n\"", "\"x\\nz\\n\""));
    let done = bench.try_run(&["check", "s", "--json"]);
    let json: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_satisfies_schema(&json);
    assert_eq!((done.status.code(), &json["good"]), (Some(1), &json!(false)));
    assert_eq!(
        json["tasks"][1],
        json!({"suite": "s", "task": "exact", "good": false, "said": "repo/ passes already: there is nothing to do"})
    );
    // A judge that the policy does not allow is a mistake of the task.
    bench.write(
        "s/suite.toml",
        &SUITE.replace("[\"grep\", \"-q\", \"y\", \"a.txt\"]", "[\"git\", \"push\"]"),
    );
    let text = bench.refused("BAD_TASK", &["run", "s", "--agent", PYTHON, "--task", "command"]);
    assert!(text.contains("judge.argv: ") && text.contains("APPROVAL_REQUIRED"), "{text}");
    let text = bench.refused("FILE_NOT_FOUND", &["run", "format"]);
    assert!(text.contains("Did you mean formats?"), "{text}");
}

#[test]
fn a_judge_program_reads_json_in_a_sandbox() {
    // The sandbox replaces `/dev`: it cannot see a suite below `/dev/shm`.
    let dir = tempfile::Builder::new()
        .prefix("edt-bench-")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    let bench = Bench::made(dir);
    bench.write(
        "j/t/task.toml",
        "schema = \"edt.task/1\"\ninstruction = \"x\"\ndate = \"2026-01-01\"\n[judge]\nkind = \"program\"\nargv = [\"python3\", \"-S\", \"{task}/judge.py\"]\n",
    );
    bench.write(
        "j/suite.toml",
        "schema = \"edt.suite/1\"\ndescription = \"Judged by a program.\"\n",
    );
    bench.write("j/t/repo/a.txt", "x\n");
    bench.write("j/t/expected/a.txt", "y\n");
    let judge = "import json, os, sys\nasked = json.load(sys.stdin)\ntext = open(os.path.join(asked['worktree'], 'a.txt')).read()\ntry:\n    open(os.path.join(os.path.dirname(__file__), 'left'), 'w')\nexcept OSError as error:\n    text += 'confined'\nprint(json.dumps({'pass': text == 'y\\nconfined', 'score': 0.5 if text != 'y\\nconfined' else 1.0, 'feedback': asked['task'] + str(asked['attempt']) + repr(text)}))\n";
    bench.write("j/t/judge.py", judge);
    assert_eq!(bench.run(&["check", "j"])["good"], true);
    bench.run(&[
        "run",
        "j",
        "--agent",
        "read task; echo '{\"type\":\"done\"}'; cat",
        "--attempts",
        "1",
        "--out",
        "o",
    ]);
    let line: Value = serde_json::from_str(&bench.read("o/results.jsonl")).unwrap();
    let attempt = &line["runs"][0]["attempts"][0];
    assert_eq!(
        (&attempt["score"], &attempt["feedback"]),
        (&json!(0.5), &json!("t1'x\\nconfined'"))
    );
    assert!(!bench.path("j/t/left").exists());
    bench.write("j/t/judge.py", "raise SystemExit('no idea')\n");
    let text = bench.refused(
        "BAD_TASK",
        &["run", "j", "--agent", "read task; echo '{\"type\":\"done\"}'; cat"],
    );
    assert!(text.contains("the judge program failed: exit status 1. no idea"), "{text}");
}

#[test]
fn a_recording_can_be_replayed() {
    let bench = Bench::new();
    bench.run(&["run", "s", "--task", "exact", "--agent", PYTHON, "--record", "rec"]);
    let recorded = bench.read("rec/s/exact/none-on-1.jsonl");
    assert_eq!(recorded.lines().count(), 6, "{recorded}");
    let lines: Vec<String> = recorded.lines().map(|line| format!("'{line}'")).collect();
    let suite = SUITE.replacen(
        "judge = { kind = \"exact\" }",
        &format!("judge = {{ kind = \"exact\" }}\nreplay = [{}]", lines.join(", ")),
        1,
    );
    bench.write("s/suite.toml", &suite);
    let report = bench.run(&["run", "s", "--task", "exact", "--agent", "replay"]);
    assert_eq!(report["groups"][0]["metrics"]["attempts"]["value"], 2.0);
    let text = bench.refused("BAD_TASK", &["run", "s", "--task", "numeric", "--agent", "replay"]);
    assert!(text.contains("task numeric: replay: there is no recorded session"), "{text}");
}

#[test]
fn the_shipped_suites_pass_their_check_and_the_recorded_session_is_compared() {
    let bench = Bench::new();
    let listed = bench.run(&["list"]);
    let names: Vec<(&str, usize)> = listed["suites"]
        .as_array()
        .unwrap()
        .iter()
        .map(|suite| (suite["name"].as_str().unwrap(), suite["tasks"].as_array().unwrap().len()))
        .collect();
    assert_eq!(
        names,
        [("calculate", 2), ("collisions", 30), ("formats", 48), ("numeric", 30), ("stale", 36)]
    );
    let checked = bench.run(&["check", "calculate", "formats", "collisions", "stale", "numeric"]);
    assert_eq!((&checked["good"], checked["tasks"].as_array().unwrap().len()), (&json!(true), 146));
    let report = bench.run(&["run", "calculate"]);
    let remains = &report["remains"][0];
    assert_eq!((&remains["calls_were"], &remains["calls_are"]), (&json!(58), &json!(9)));
    assert_eq!(
        (&remains["kinds"]["quoting"], &remains["kinds"]["compile"]["were"]),
        (&json!({"were": 21, "are": 0}), &json!(7))
    );
    assert_eq!(remains["bytes_lost"], json!([3398, 0, 0]));
    let last = &remains["rows"][57];
    assert_eq!((&last["was"], &last["guarded"]), (&json!("applied"), &json!("SIZE_REDUCTION")));
    assert!(
        remains["rows"][20]["with_edt"][0].as_str().unwrap().ends_with("SYNTAX_ERROR"),
        "{:#}",
        remains["rows"][20]
    );
}

/// The numeric questions: the pass rate and the attempts in each session.
#[test]
fn failed_evaluations_raise_the_pass_rate_of_the_next_session_and_a_placebo_does_not() {
    let bench = Bench::new();
    let tasks = ["euros-1", "euros-2", "sensors-1", "sensors-2"];
    let only: Vec<&str> = tasks.iter().flat_map(|task| ["--task", task]).collect();
    let strategies = ["--strategy", "none,reflection,episodic,placebo", "--sessions", "2"];
    let args = [&["run", "numeric", "--out", "r"], strategies.as_slice(), only.as_slice()].concat();
    let report = bench.run(&args);
    let by_session = |strategy: &str, figure: &str| -> Vec<f64> {
        let sessions = group(&report, strategy)["by_session"].as_array().unwrap();
        sessions.iter().map(|one| one[figure]["value"].as_f64().unwrap()).collect()
    };
    // Without lessons nothing passes at once; told why, the second attempt passes.
    assert_eq!(by_session("none", "pass_first"), [0.0, 0.0]);
    assert_eq!(by_session("placebo", "pass_first"), [0.0, 0.0]);
    assert_eq!(by_session("reflection", "attempts"), [2.0, 2.0]);
    let (pass, none) = (by_session("episodic", "pass"), by_session("none", "pass"));
    let attempts = by_session("episodic", "attempts");
    assert!(pass[1] > none[1] && pass[1] >= pass[0], "{pass:?} {none:?}");
    assert!(attempts[1] + 1.0 < attempts[0] && attempts[1] < 2.0, "{attempts:?}");
    assert_eq!(by_session("episodic", "avg_final_score"), pass);
    let lessons = group(&report, "placebo")["metrics"]["lessons"]["value"].as_f64().unwrap();
    assert!(lessons > 0.5, "placebo lessons were shown: {lessons}");
    // The same bytes every time, also of the memory.
    let memory = bench.read("r/memory/numeric-episodic-on.jsonl");
    assert!(memory.contains("could not convert string to float") && !memory.contains("/tmp/"));
    let again = ["run", "numeric", "--out", "q", "--strategy", "episodic", "--sessions", "2"];
    bench.run(&[&again, only.as_slice()].concat());
    assert_eq!(bench.read("q/memory/numeric-episodic-on.jsonl"), memory);
    // With that memory, what was learned helps at once.
    let begin = ["--memory", "r/memory/numeric-episodic-on.jsonl", "--sessions", "1"];
    let once = ["run", "numeric", "--strategy", "episodic"];
    let report = bench.run(&[&once, begin.as_slice(), only.as_slice()].concat());
    let first = group(&report, "episodic")["metrics"]["pass_first"]["value"].as_f64().unwrap();
    assert!(first >= pass[1], "{first} {pass:?}");
}

/// An agent that always quotes a line too many, and less only in its second attempt or if a lesson
/// in the refusal says so.
const QUOTER: &str = r#"
import json, sys
def edit(extra, number):
    old, new = (extra + f"The total of the {word} row is {number}." for word in ("first", "last"))
    print(json.dumps({"type": "apply", "request": {"path": "note.txt", "mode": "edit", "old_text": old, "content": new}}), flush=True)
    return json.loads(sys.stdin.readline())["outcome"]
for line in sys.stdin:
    task = json.loads(line)
    if task["type"] != "task":
        break
    number = task["task"][1:]
    if task["attempt"] > 1:
        edit("", number)
    elif any("Quote less." in lesson for lesson in edit("This line is elsewhere.\n", number).get("lessons", [])):
        edit("", number)
    print(json.dumps({"type": "done"}), flush=True)
"#;

#[test]
fn refusals_have_the_lessons_of_edts_own_memory_which_learns_from_the_fixes() {
    let bench = Bench::new();
    bench.write("quoter.py", QUOTER);
    let mut suite = "schema = \"edt.suite/1\"\ndescription = \"Quotes.\"\n".to_owned();
    for n in 1..=3 {
        let text = |word: &str| {
            format!(
                "{{ \"note.txt\" = \"The total of the {word} row is {n}.\\nAnother line.\\n\" }}"
            )
        };
        suite += &format!(
            "[[task]]\nid = \"t{n}\"\ninstruction = \"Say last.\"\ndate = \"2026-01-0{n}\"\n\
             judge = {{ kind = \"exact\" }}\nrepo = {}\nexpected = {}\n",
            text("first"),
            text("last")
        );
    }
    bench.write("q/suite.toml", &suite);
    let agent = "python3 -S quoter.py";
    let run = |more: &[&str]| {
        let report = bench.run(&[&["run", "q", "--agent", agent], more].concat());
        ["none", "episodic", "placebo"].map(|strategy| {
            let figure = |group: &Value, name: &str| group["metrics"][name]["value"].as_f64();
            let groups = report["groups"].as_array().unwrap();
            let found = groups.iter().find(|group| group["strategy"] == strategy);
            found.map(|group| {
                (figure(group, "attempts").unwrap(), figure(group, "lessons").unwrap())
            })
        })
    };
    let body = Body::Note {
        code: "OLD_TEXT_NOT_FOUND".to_owned(),
        language: None,
        text: "Quote less.".to_owned(),
    };
    bench.write("note.jsonl", &Episode::new(body, Origin::User, 1_767_225_600).to_json());
    let strategies = ["--strategy", "none,episodic,placebo"];
    let noted = [&strategies, ["--memory", "note.jsonl", "--out", "r"].as_slice()].concat();
    let [none, episodic, placebo] = run(&noted);
    assert_eq!(none, Some((2.0, 0.0)));
    assert_eq!((episodic, placebo), (Some((1.0, 1.0)), Some((2.0, 1.0))));
    let memory = bench.read("r/memory/q-episodic-on.jsonl");
    let line = |kind: &str| -> Value {
        let all = memory.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.into_iter().find(|one| one["body"]["kind"] == kind).unwrap()
    };
    let (repair, note) = (line("repair"), line("note"));
    assert_eq!((&repair["body"]["class"], &repair["seen"]), (&json!("shorter_text"), &json!(3)));
    assert_eq!((&note["times_applied"], &note["times_succeeded"]), (&json!(3), &json!(3)));
    // With a split by time, only the two older tasks teach.
    run(&["--strategy", "episodic", "--since", "2026-01-03", "--out", "s"]);
    let memory = bench.read("s/memory/q-episodic-on.jsonl");
    assert!(memory.contains("\"seen\":2"), "{memory}");
}
