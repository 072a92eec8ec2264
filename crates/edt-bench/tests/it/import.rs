//! `edt-bench import`: small benchmarks in their own formats; the imported suites pass `edt-bench
//! check`.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::{assert_satisfies_schema, edt_bench};

struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    fn new() -> Lab {
        // The sandbox replaces `/dev`: it cannot see a suite below `/dev/shm`.
        let dir = tempfile::Builder::new()
            .prefix("edt-import-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        let lab = Lab { dir };
        std::fs::create_dir_all(lab.path("home/.config")).unwrap();
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    fn lines(&self, name: &str, lines: &[Value]) {
        self.write(name, &lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    }

    fn edt(&self, args: &[&str]) -> Output {
        let mut command = edt_bench(self.dir.path(), &self.path("home"));
        command.args(args).arg("--json").output().unwrap()
    }

    /// Imports `tasks` tasks to `out`; each must pass its check.
    #[track_caller]
    fn imports(&self, tasks: usize, args: &[&str]) {
        let done = self.edt(&[&["import"], args].concat());
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_satisfies_schema(&answer);
        assert_eq!(answer["tasks"], tasks);
        let checked = self.edt(&["check", "out"]);
        let checks: Value = serde_json::from_slice(&checked.stdout).unwrap();
        assert_eq!(
            (&checks["good"], checks["tasks"].as_array().unwrap().len()),
            (&json!(true), tasks),
            "{checks:#}"
        );
        let text = |task: &Value| task["said"] == "expected/ passes, repo/ does not";
        assert!(checks["tasks"].as_array().unwrap().iter().all(text), "{checks:#}");
    }

    /// The import must be refused and leave nothing behind. Returns the messages.
    #[track_caller]
    fn refused(&self, code: &str, args: &[&str]) -> Vec<String> {
        let before = self.names();
        let done = self.edt(&[&["import"], args].concat());
        let outcome: Value = serde_json::from_slice(&done.stdout).unwrap();
        let errors = outcome["errors"].as_array().unwrap();
        assert!(errors.iter().all(|error| error["code"] == code), "{outcome:#}");
        assert_eq!(self.names(), before, "a refused import leaves nothing behind");
        errors.iter().map(|error| error["message"].as_str().unwrap().to_owned()).collect()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).unwrap().map(Result::unwrap);
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn edit(name: &str) -> Value {
    json!({"id": 1, "full_name": name, "before": "def twice(n):\n    return n\n", "after": "def twice(n):\n    return n * 2\n",
        "tests": "assert twice(4) == 8\n", "instruction_descriptive": "Have `twice` return twice its argument.",
        "instruction_lazy": "fix twice", "taxonomy": {"change_kind": "corrective"}})
}

#[test]
fn files_with_two_instructions_are_two_tasks() {
    let lab = Lab::new();
    lab.lines("in.jsonl", &[edit("1_twice"), edit("2_twice")]);
    lab.imports(4, &["canitedit", "in.jsonl", "out", "--date", "2024-01-01"]);
    let read = |name: &str| std::fs::read_to_string(lab.path(name)).unwrap();
    assert!(read("out/1_twice-lazy/instruction.md").starts_with("fix twice\n"));
    assert!(read("out/1_twice-lazy/task.toml").contains("class = \"corrective\""));
    assert!(
        !lab.path("out/1_twice-lazy/repo/.hidden_tests.py").exists(),
        "the tests are hidden from the agent"
    );
}

#[test]
fn a_bug_and_its_correction_are_a_task() {
    let lab = Lab::new();
    let bug = json!({"task_id": "Python/7", "prompt": "def less(a, b):\n    \"\"\"Whether a is less than b.\"\"\"\n", "buggy_solution": "    return a > b\n",
        "canonical_solution": "    return a < b\n", "test": "def check(less):\n    assert less(1, 2)\n    assert not less(2, 2)\n\ncheck(less)", "entry_point": "less", "bug_type": "operator misuse"});
    lab.lines("in.jsonl", &[bug]);
    lab.imports(1, &["humanevalfix", "in.jsonl", "out", "--date", "2023-08-14"]);
    assert!(lab.path("out/Python-7/repo/main.py").exists());
}

const CONFIG: &str = r#"{"authors": [], "files": {"solution": ["two.py"], "test": ["two_test.py"], "example": [".meta/example.py"]}, "blurb": "Two."}"#;

fn exercise(lab: &Lab, at: &str, config: &str) {
    lab.write(&format!("{at}/.meta/config.json"), config);
    lab.write(&format!("{at}/.meta/example.py"), "def two():\n    return 2\n");
    lab.write(&format!("{at}/.docs/instructions.md"), "# Instructions\n\nReturn two.\n");
    lab.write(&format!("{at}/two.py"), "def two():\n    pass\n");
    let test = "import unittest\nfrom two import two\n\n\nclass TwoTest(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(two(), 2)\n";
    lab.write(&format!("{at}/two_test.py"), test);
}

#[test]
fn an_exercise_is_its_stub_and_its_hidden_tests() {
    let lab = Lab::new();
    exercise(&lab, "bench/python/exercises/practice/two", CONFIG);
    lab.imports(1, &["exercism", "bench", "out", "--date", "2024-12-20"]);
    let task = lab.path("out/python-two");
    assert!(
        task.join("repo/two.py").exists()
            && !task.join("repo/two_test.py").exists()
            && !task.join("repo/.meta").exists()
    );
    assert!(
        std::fs::read_to_string(task.join("instruction.md"))
            .unwrap()
            .contains("Write the solution in two.py.")
    );
}

#[test]
fn an_issue_of_a_cloned_repository_is_a_task() {
    let lab = Lab::new();
    lab.write("clones/own__er/f.py", "X = 1\n");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(lab.path("clones/own__er")).env("HOME", lab.path("home")).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
        ]);
        let done = command.args(args).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    let commit = git(&["rev-parse", "HEAD"]);
    let issue = json!({"instance_id": "own__er-1", "repo": "own/er", "base_commit": commit, "problem_statement": "X should be 2.", "created_at": "2025-03-04T05:06:07Z",
        "patch": "diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n-X = 1\n+X = 2\n",
        "test_patch": "diff --git a/t.py b/t.py\nnew file mode 100644\n--- /dev/null\n+++ b/t.py\n@@ -0,0 +1,2 @@\n+import f\n+assert f.X == 2\n", "FAIL_TO_PASS": "[\"t.py\"]"});
    lab.lines("in.jsonl", std::slice::from_ref(&issue));
    lab.imports(1, &["swe-bench", "in.jsonl", "out", "--repos", "clones", "--test", "python3"]);
    assert!(
        std::fs::read_to_string(lab.path("out/own__er-1/task.toml"))
            .unwrap()
            .contains("date = \"2025-03-04\"")
    );
    std::fs::remove_dir_all(lab.path("out")).unwrap();
    assert!(
        lab.refused("BAD_REQUEST", &["swe-bench", "in.jsonl", "out"])[0]
            .contains("names repositories but does not contain them")
    );
    let mut outside = issue.clone();
    outside["patch"] = json!("--- a/x\n+++ b/../../../escaped.py\n@@ -0,0 +1 @@\n+x\n");
    let mut unknown_repo = issue.clone();
    unknown_repo["repo"] = json!("own/other");
    let mut escaping = issue;
    escaping["repo"] = json!("../clones/own__er");
    lab.lines("in.jsonl", &[outside, unknown_repo, escaping]);
    let text = lab.refused("BAD_TASK", &["swe-bench", "in.jsonl", "out", "--repos", "clones"]);
    assert_eq!(text.len(), 3);
    assert!(
        text[0].contains("in.jsonl, line 1: patch: ")
            && text[1].contains("line 2: repo: there is no clone of own/other"),
        "{text:?}"
    );
    assert!(text[2].contains("line 3: repo: "), "{text:?}");
}

#[test]
fn unreadable_lines_are_refused_by_number_and_nothing_is_imported() {
    let lab = Lab::new();
    let mut lazy = edit("3");
    lazy.as_object_mut().unwrap().remove("instruction_lazy");
    lab.write(
        "in.jsonl",
        &format!("{}\n{{\"full_name\": \n\n{lazy}\n{}\n", edit("1"), edit("../../up")),
    );
    let text = lab.refused("BAD_TASK", &["canitedit", "in.jsonl", "out", "--date", "2024-01-01"]);
    let known = [
        "line 2: content: ",
        "line 4: instruction_lazy: it is missing",
        "line 5: full_name: \"../../up-descriptive\" cannot become the name of a task",
    ];
    assert!(
        text.len() == 3 && known.iter().zip(&text).all(|(known, text)| text.contains(known)),
        "{text:?}"
    );
    assert!(
        lab.refused("BAD_REQUEST", &["canitedit", "in.jsonl", "out"])[0].contains("has no dates")
    );
    lab.lines("in.jsonl", &[edit("1"), edit("1")]);
    assert!(
        lab.refused("BAD_TASK", &["canitedit", "in.jsonl", "out", "--date", "2024-01-01"])[0]
            .contains("two tasks \"1-descriptive\"")
    );
    lab.lines("go.jsonl", &[json!({"task_id": "Go/1"})]);
    assert!(
        lab.refused("BAD_TASK", &["humanevalfix", "go.jsonl", "out", "--date", "2024-01-01"])[0]
            .contains("is not a Python task")
    );
    lab.write("out/mine", "");
    assert!(
        lab.refused("FILE_EXISTS", &["canitedit", "in.jsonl", "out", "--date", "2024-01-01"])[0]
            .contains("already exists")
    );
}

#[test]
fn a_path_outside_the_exercise_is_refused() {
    let lab = Lab::new();
    exercise(
        &lab,
        "bench/python/exercises/practice/two",
        &CONFIG.replace("\"two.py\"", "\"../../../../../home/two.py\""),
    );
    exercise(
        &lab,
        "bench/python/exercises/practice/untested",
        &CONFIG.replace("\"two_test.py\"", ""),
    );
    exercise(&lab, "bench/cobol/exercises/practice/two", CONFIG);
    let text = lab.refused("BAD_TASK", &["exercism", "bench", "out", "--date", "2024-01-01"]);
    assert_eq!(text.len(), 3, "{text:?}");
    assert!(
        text[0].contains("there is no test command for cobol")
            && text[1].contains("practice/two: files: "),
        "{text:?}"
    );
    assert!(text[2].contains("practice/untested: files.test: it is empty"), "{text:?}");
    assert!(
        lab.refused("BAD_TASK", &["exercism", "home", "out", "--date", "2024-01-01"])[0]
            .contains("has no directories LANGUAGE")
    );
}
