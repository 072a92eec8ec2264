//! Guards refuse one edit and pass another, and policy for some paths. The guards themselves
//! are tested in `crates/edt-core/tests/library/guards.rs`.

use serde_json::{Value, json};

use crate::test_repo::{Answer, TestRepo, lines};

/// The verdict of a guard on a file.
fn verdict<'a>(answer: &'a Answer, guard: &str, path: &str) -> Option<&'a str> {
    let guards = answer.json["guards"].as_array().unwrap();
    guards.iter().find(|one| one["guard"] == guard && one["path"] == path)?["verdict"].as_str()
}

fn repository_of(files: &[(String, String)]) -> TestRepo {
    TestRepo::with(
        &files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect::<Vec<_>>(),
    )
}

fn deletions(count: usize) -> Value {
    json!({"edits": (0..count).map(|n| json!({"path": format!("{n}.txt"), "mode": "delete"})).collect::<Vec<_>>()})
}

/// A repository with this `edt.toml` and two files of the same text.
fn ruled(policy: &str) -> TestRepo {
    TestRepo::with(&[
        ("edt.toml", policy.as_bytes()),
        ("src/a.c", b"int x;\n"),
        ("fixtures/a.c", b"int x;\n"),
    ])
}

/// A syntax error in one of the files.
fn broken(path: &str) -> Value {
    json!({"path": path, "mode": "overwrite", "content": "int x[;\n"})
}

#[test]
fn a_guard_may_be_off_for_some_paths() {
    let workspace =
        ruled("[[paths]]\nmatch = [\"fixtures/**\"]\n[paths.guards.syntax]\nmode = \"off\"\n");
    let answer = workspace.apply(&broken("fixtures/a.c")).landed();
    assert_eq!(verdict(&answer, "syntax", "fixtures/a.c"), None, "{:#}", answer.json["guards"]);
    assert_eq!(verdict(&answer, "duplicate_code", "fixtures/a.c"), Some("pass"));
    workspace.refuses_request(&["SYNTAX_ERROR"], 1, &broken("src/a.c"));
    let said = |path: &str| {
        let guards = workspace.edt(&["guards", path]).json["guards"].as_array().unwrap().clone();
        guards.into_iter().find(|guard| guard["name"] == "syntax").unwrap()["mode"].clone()
    };
    assert_eq!((said("fixtures/a.c"), said("src/a.c")), (json!("off"), json!("refuse")));
}

#[test]
fn code_without_a_grammar_is_checked_for_pairs_and_the_answer_says_so() {
    let workspace = TestRepo::with(&[("a.kt", b"fun a() {\n    b(1)\n}\n"), ("a.pl", b"a(\n")]);
    let said = |path: &str, old: &str, new: &str| {
        let edit = json!({"path": path, "mode": "edit", "old_text": old, "content": new});
        let answer = workspace.apply(&edit).landed();
        let guards = answer.json["guards"].as_array().unwrap();
        guards.iter().find(|one| one["guard"] == "syntax").map(|one| one["detail"].clone())
    };
    let brackets = json!("only brackets and quotes (no grammar for .kt)");
    assert_eq!(said("a.kt", "b(1)", "b(2)"), Some(brackets));
    assert_eq!(said("a.pl", "a(", "a(1"), Some(json!("not checked (no grammar for .pl)")));
    let broken = json!({"path": "a.kt", "mode": "edit", "old_text": "b(2)", "content": "b(2"});
    workspace.refuses_request(&["SYNTAX_ERROR"], 1, &broken);
}

/// A guard, an edit that it refuses and one that it passes.
struct Example {
    guard: &'static str,
    refused: fn(&TestRepo) -> Answer,
    passed: fn(&TestRepo) -> Answer,
}

/// `create` of a file with bytes from standard input.
fn create(workspace: &TestRepo, path: &str, bytes: &[u8]) -> Answer {
    workspace.edt_fed(bytes, &["apply", path, "--mode", "create"])
}

fn overwrite(workspace: &TestRepo, path: &str, text: &str) -> Answer {
    workspace.edt_fed(text.as_bytes(), &["apply", path, "--mode", "overwrite"])
}

/// A file with so many tests.
fn tests(count: usize) -> String {
    (0..count).map(|n| format!("def test_{n}():\n    assert f({n})\n\n")).collect()
}

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";

/// In the repository of the test below, one after another. A new guard is tested in its own file.
const EXAMPLES: &[Example] = &[
    Example {
        guard: "protected_path",
        refused: |workspace| create(workspace, "locked/a.txt", b"a\n"),
        passed: |workspace| create(workspace, "open/a.txt", b"a\n"),
    },
    Example {
        guard: "size_reduction",
        refused: |workspace| overwrite(workspace, "0.txt", "gone\n"),
        passed: |workspace| overwrite(workspace, "0.txt", &lines(21)),
    },
    Example {
        guard: "mass_deletion",
        refused: |workspace| workspace.apply(&deletions(11)),
        passed: |workspace| workspace.apply(&deletions(10)),
    },
    Example {
        guard: "lost_content",
        refused: |workspace| overwrite(workspace, "a.c", "\n\n"),
        passed: |workspace| overwrite(workspace, "a.c", "int x;\n"),
    },
    Example {
        guard: "lfs_pointer",
        refused: |workspace| workspace.edt_fed(b"51,v\n", &["apply", "d.csv", "--mode", "append"]),
        passed: |workspace| overwrite(workspace, "d.csv", &POINTER.replace("4d7a", "00ff")),
    },
    Example {
        guard: "binary_content",
        refused: |workspace| create(workspace, "a.txt", b"a\0b\n"),
        passed: |workspace| create(workspace, "a.txt", b"a\x0cb\n"),
    },
    Example {
        guard: "encoding",
        refused: |workspace| create(workspace, "a.txt", b"caf\xe9\n"),
        passed: |workspace| create(workspace, "a.txt", "café\n".as_bytes()),
    },
    Example {
        guard: "conflict_markers",
        refused: |workspace| create(workspace, "a.txt", b"<<<<<<< HEAD\n"),
        passed: |workspace| create(workspace, "a.txt", b"<<<<<< HEAD\n"),
    },
    Example {
        guard: "chat_artifact",
        refused: |workspace| create(workspace, "a.sql", b"```\nselect 1;\n```\n"),
        passed: |workspace| create(workspace, "a.sql", b"select 1;\n"),
    },
    Example {
        guard: "invisible_characters",
        refused: |workspace| create(workspace, "seen.txt", "a\u{202e}b\n".as_bytes()),
        passed: |workspace| create(workspace, "seen.txt", "❤\u{fe0f}\n".as_bytes()),
    },
    Example {
        guard: "lookalike_characters",
        refused: |workspace| overwrite(workspace, "a.c", "int x;\nint passw\u{43e}rd;\n"),
        passed: |workspace| overwrite(workspace, "a.c", "int x;\nint y; // “y”\n"),
    },
    Example {
        guard: "elided_code",
        refused: |workspace| overwrite(workspace, "a.c", "int x;\n// ... existing code ...\n"),
        passed: |workspace| overwrite(workspace, "a.c", "int x;\nint y; // the existing one\n"),
    },
    Example {
        guard: "hollow_body",
        refused: |workspace| overwrite(workspace, "b.py", "def f(a):\n    pass\n"),
        passed: |workspace| overwrite(workspace, "b.py", "def f(a):\n    return g(a)\n"),
    },
    Example {
        guard: "weakened_tests",
        refused: |workspace| overwrite(workspace, "test_c.py", &tests(2)),
        passed: |workspace| overwrite(workspace, "test_c.py", &tests(3)),
    },
    Example {
        guard: "secret",
        refused: |workspace| create(workspace, "a.env", b"API_KEY=x8Kq2LmZ9vRt4NwPc7Yb\n"),
        passed: |workspace| create(workspace, "a.env", b"API_KEY=${API_KEY}\n"),
    },
    Example {
        guard: "syntax",
        refused: |workspace| overwrite(workspace, "a.c", "int x;\nint y[;\n"),
        passed: |workspace| overwrite(workspace, "a.c", "int x;\nint y[1];\n"),
    },
    Example {
        guard: "duplicate_code",
        refused: |workspace| {
            overwrite(workspace, "a.c", "int f(void) { return 1; }\nint f(void) { return 2; }\n")
        },
        passed: |workspace| {
            overwrite(workspace, "a.c", "int f(void) { return 1; }\nint g(void) { return 2; }\n")
        },
    },
    Example {
        guard: "validator",
        refused: |workspace| create(workspace, "a.checked", b"bad\n"),
        passed: |workspace| create(workspace, "a.checked", b"good\n"),
    },
];

#[test]
fn a_guard_refuses_one_edit_and_passes_another() {
    let long = lines(60);
    let files: Vec<(String, String)> =
        (0..12).map(|n| (format!("{n}.txt"), long.clone())).collect();
    let workspace = repository_of(&files);
    workspace.commit(&[
        ("a.c", b"int x;\nint y;\n"),
        ("b.py", b"def f(a):\n    b = a + 1\n    c = g(b, a)\n    h(c)\n    return c\n"),
        ("test_c.py", tests(4).as_bytes()),
        ("d.csv", POINTER.as_bytes()),
        ("edt.toml", b"[[protect]]\npaths = [\"locked/**\"]\n"),
    ]);
    let config = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&config).unwrap();
    let validator = "[[validator]]\nname = \"no-bad\"\npaths = [\"*.checked\"]\ncommand = [\"sh\", \"-c\", \"! grep bad $1\", \"sh\", \"{file}\"]\n";
    let secret = "[guards.secret]\nmode = \"refuse\"\n";
    std::fs::write(config.join("edt.toml"), format!("{secret}{validator}")).unwrap();
    workspace.edt(&["begin"]).landed();

    let guards = workspace.edt(&["guards"]).json["guards"].as_array().unwrap().clone();
    for example in EXAMPLES {
        let guard = guards.iter().find(|guard| guard["name"] == example.guard).unwrap();
        let code = guard["code"].as_str().unwrap();
        let answer = workspace.unchanged(&[code], 1, || (example.refused)(&workspace));
        assert_eq!(answer.errors()[0]["allow"], guard["allow"], "{}", example.guard);
        if let Some(word) = guard["allow"].as_str() {
            assert!(
                answer.hint().contains(&format!("allow: [\"{word}\"]")),
                "{}: {}",
                example.guard,
                answer.hint()
            );
        }
        let answer = (example.passed)(&workspace).landed();
        // A guard of transactions has one verdict; the other guards have one for each file.
        let verdicts: Vec<&Value> = answer.json["guards"].as_array().unwrap().iter().collect();
        let own: Vec<&&Value> =
            verdicts.iter().filter(|one| one["guard"] == example.guard).collect();
        assert!(
            !own.is_empty() && own.iter().all(|one| one["verdict"] == "pass"),
            "{}: {verdicts:#?}",
            example.guard
        );
        workspace.edt(&["undo"]).landed();
    }
}

#[test]
fn invisible_characters_are_refused_and_a_new_byte_order_mark_is_a_warning() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let text = "if (ok\u{2066}) {\u{200b}\n";
    let answer = workspace
        .unchanged(&["INVISIBLE_CHARACTERS"], 1, || create(&workspace, "b.txt", text.as_bytes()));
    assert_eq!(
        answer.errors()[0]["message"],
        "b.txt would get a bidirectional control, U+2066, at line 1 and 1 more: \
         \"if·(ok\\u{2066})·{\\u{200b}\". Nothing was changed."
    );
    let answer = create(&workspace, "c.cs", "\u{feff}class A {}\n".as_bytes());
    assert_eq!(answer.json["status"], "applied", "{:#}", answer.json);
    assert_eq!(answer.json["warnings"][0]["code"], "invisible_characters");
    let policy = b"[guards.invisible_characters]\nmode = \"warn\"\n";
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("edt.toml", policy)]);
    let answer = create(&workspace, "c.txt", "a\u{e0041}\n".as_bytes());
    assert_eq!(answer.json["status"], "applied", "{:#}", answer.json);
    assert_eq!(answer.json["warnings"][0]["code"], "invisible_characters");
}

/// A file, its text before and after an edit, and the warning that the edit has.
const WARNINGS: [(&str, &str, &str, &str, &str); 5] = [
    (
        "lookalike_characters",
        "a.c",
        "void f(void)\n{\n\ta();\n\tb();\n\tc();\n\td();\n\te();\n}\n",
        "void f(void)\n{\n\ta();\n\tb();\n    cc();\n\td();\n\te();\n}\n",
        "Line 5 of a.c would be indented by spaces. The rest of the file is indented by tabs.",
    ),
    (
        "weakened_tests",
        "a.py",
        "def test_a():\n    assert f()\n",
        "@pytest.mark.skip\ndef test_a():\n    assert f()\n",
        "A test of a.py would be skipped (line 1): \"@pytest.mark.skip\".",
    ),
    (
        "weakened_tests",
        "b.py",
        "def test_a():\n    assert f()\n",
        "def test_a():\n    assert True\n",
        "An assertion of b.py would always be true (line 2): \"assert·True\".",
    ),
    (
        "lost_content",
        "c.py",
        "import os\nx = os.getcwd()\n",
        "x = os.getcwd()\n",
        "c.py would lose the import of `os` and still use that name.",
    ),
    (
        "lost_content",
        "d.py",
        "a = 1\nb = 2\n\n\ndef f():\n    c = 1\n    d = 2\n    e = 3\n    g = 4\n    h = 5\n    \
         i = 6\n    j = 7\n    k = 8\n    l = 9\n    m = 10\n    return m\n",
        "a = 1\nb = 2\n",
        "d.py would lose its last 14 lines (from line 3 on), and nothing takes their place.",
    ),
];

#[test]
fn what_may_be_meant_is_a_warning() {
    let files: Vec<(&str, &[u8])> =
        WARNINGS.iter().map(|(_, path, before, ..)| (*path, before.as_bytes())).collect();
    let workspace = TestRepo::with(&files);
    for (guard, path, _, after, message) in WARNINGS {
        let answer = overwrite(&workspace, path, after);
        assert_eq!(answer.json["status"], "applied", "{:#}", answer.json);
        assert_eq!(answer.json["warnings"].as_array().unwrap().len(), 1, "{:#}", answer.json);
        let warning = &answer.json["warnings"][0];
        assert_eq!((&warning["code"], &warning["message"]), (&json!(guard), &json!(message)));
        assert_eq!(verdict(&answer, guard, path), Some("warn"));
    }
}

#[test]
fn a_landing_with_a_new_binary_file_is_held() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let script = "printf 'a\\0b' > out.bin; mkdir dist; echo x > dist/o.js";
    workspace.runs(&[], &["sh", "-c", script]).landed();
    let answer = workspace.refuses(&["BUILD_OUTPUT"], 1, &["land"]);
    assert_eq!(answer.errors()[0]["path"], "out.bin");
    assert!(answer.hint().contains("`--allow build_output`"), "{}", answer.hint());
    workspace.edt(&["land", "--allow", "build_output"]).landed();
    assert_eq!(workspace.blob("main:out.bin"), b"a\0b");
    assert_eq!(workspace.blob("main:dist/o.js"), b"x\n");
    assert!(workspace.git(&["log", "-1", "--format=%B"]).contains("\nEdt-Allowed: build_output\n"));
}

#[test]
fn a_credential_warns_without_being_printed_and_policy_may_refuse_or_switch_off() {
    let value = "x8Kq2LmZ9vRt4NwPc7Yb";
    let request =
        json!({"path": "a.py", "mode": "create", "content": format!("API_KEY = '{value}'\n")});
    let warned = TestRepo::with(&[("b.txt", b"one\n")]);
    let answer = warned.apply(&request);
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    assert_eq!(verdict(&answer, "secret", "a.py"), Some("warn"), "{:#}", answer.json);
    assert_eq!(answer.json["warnings"][0]["code"], "secret", "{:#}", answer.json);
    assert_eq!(
        answer.json["warnings"][0]["message"],
        "a.py would have what looks like a credential in API_KEY (20 characters) at line 1."
    );
    let refusing = TestRepo::with(&[("edt.toml", b"[guards.secret]\nmode = \"refuse\"\n")]);
    let refused = refusing.refuses_request(&["SECRET"], 1, &request);
    assert!(!refused.errors()[0].to_string().contains(value), "{:#}", refused.json);
    let mut allowed = request.clone();
    allowed["allow"] = json!(["secret"]);
    refusing.apply(&allowed).landed();
    let off = TestRepo::with(&[("edt.toml", b"[guards.secret]\nmode = \"off\"\n")]);
    let answer = off.apply(&request).landed();
    assert_eq!(verdict(&answer, "secret", "a.py"), None, "{:#}", answer.json);
}
