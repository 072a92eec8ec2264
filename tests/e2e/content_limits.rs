//! Content made to exhaust or to crash: every call answers with a code, in bounded processor time and
//! memory.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo, run};

/// What one call took.
pub(crate) struct Cost {
    pub(crate) exit: i32,
    pub(crate) codes: Vec<String>,
    pub(crate) json: Value,
}

/// The processor time that a call may take, in seconds. A busy machine does not change it much.
const SECONDS: u32 = 60;

/// edt, which may have so much memory (address space, in MiB), 60 seconds of processor time, and no
/// more: what asks for more is ended by a signal.
#[track_caller]
pub(crate) fn measured(workspace: &TestRepo, stdin: &[u8], args: &[&str], mib: u64) -> Cost {
    let mut command = workspace.command("prlimit");
    command.arg(format!("--as={}", mib << 20)).arg(format!("--cpu={SECONDS}"));
    command.arg(EDT).args(args).arg("--json");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    let feeder = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let done = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let json: Value = serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|error| panic!("{args:?}: {} {error}: {said}", done.status));
    let codes = json["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|error| error["code"].as_str().unwrap().to_owned());
    Cost { exit: done.status.code().unwrap_or(-1), codes: codes.collect(), json }
}

impl Cost {
    /// Requires that the process did not crash.
    #[track_caller]
    pub(crate) fn answered(self, what: &str) -> Cost {
        println!("{what:?}: exit {}, {:?}", self.exit, self.codes);
        assert!((0..=5).contains(&self.exit), "{what}: exit {}: {:#}", self.exit, self.json);
        self
    }
}

#[test]
fn a_file_of_a_gigabyte_is_refused_by_its_size_and_never_read() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    std::fs::File::create(workspace.root.join("huge.txt")).unwrap().set_len(1 << 30).unwrap();
    for args in [
        &["apply", "huge.txt", "--mode", "append", "--content", "x\n"][..],
        &["apply", "huge.txt", "--mode", "overwrite", "--content", "x\n"],
        &["apply", "huge.txt", "--mode", "delete"],
        &["apply", "huge.txt", "--mode", "rename", "--to", "b.txt"],
        &["read", "huge.txt"],
        &["checkpoint", "huge.txt"],
        &["apply", "new.txt", "--mode", "create", "--content-file", "huge.txt"],
        &["apply", "--patch", "huge.txt"],
        &["apply", "--request", "huge.txt"],
    ] {
        let cost = measured(&workspace, b"", args, 100).answered(&args.join(" "));
        assert_eq!((cost.codes, cost.exit), (vec!["FILE_TOO_LARGE".to_owned()], 1), "{args:?}");
    }
    // Its threads have stacks, and the program of a dev build has 80 MiB itself.
    let cost = measured(&workspace, b"", &["status"], 130).answered("status");
    assert_eq!(cost.exit, 0);
}

#[test]
fn a_gigabyte_on_standard_input_is_read_no_further_than_the_limit() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    for (args, mib) in [
        (&["apply", "a.txt", "--mode", "append"][..], 500),
        (&["apply", "--patch", "-"], 700),
        (&["apply", "--request", "-"], 700),
    ] {
        let script = format!(
            "head -c 1073741824 /dev/zero | prlimit --as={} --cpu={SECONDS} \"$0\" {} --json; true",
            mib << 20,
            args.join(" ")
        );
        let mut command = workspace.command("sh");
        command.args(["-c", &script, EDT]);
        let out = command.output().unwrap();
        let json: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(json["errors"][0]["code"], "FILE_TOO_LARGE", "{args:?} {json:#}");
    }
}

#[test]
fn policy_limits_the_size_of_a_file_and_the_repository_only_tightens_it() {
    let workspace = TestRepo::with(&[
        ("edt.toml", b"[limits]\nmax_file_bytes = 100\n"),
        ("small.txt", b"small\n"),
        ("large.txt", &[b'x'; 101]),
        ("full.txt", &[b'x'; 100]),
    ]);
    let over = |workspace: &TestRepo, args: &[&str]| {
        let answer = workspace.refuses(&["FILE_TOO_LARGE"], 1, args);
        answer.errors()[0]["evidence"]["limit"].clone()
    };
    assert_eq!(over(&workspace, &["apply", "large.txt", "--mode", "delete"]), json!(100));
    assert_eq!(
        over(&workspace, &["apply", "full.txt", "--mode", "append", "--content", "y"]),
        json!(100)
    );
    assert_eq!(
        over(&workspace, &["apply", "new.txt", "--mode", "create", "--content", &"n".repeat(101)]),
        json!(100)
    );
    assert_eq!(
        over(
            &workspace,
            &["apply", "small.txt", "--mode", "overwrite", "--content", &"n".repeat(101)]
        ),
        json!(100)
    );
    workspace
        .edt(&[
            "apply",
            "full.txt",
            "--mode",
            "edit",
            "--old-text",
            "xxxxx",
            "--content",
            "yyyyy",
            "--replace-all",
        ])
        .landed();
    assert_eq!(workspace.edt(&["read", "large.txt"]).exit, 0, "reading is not editing");
    workspace.write("large.txt", [b'y'; 102]);
    workspace.write("other.txt", "fine\n");
    let all = workspace.edt(&["checkpoint"]);
    assert_eq!(all.json["warnings"][0]["code"], "left_out", "{:#}", all.json);
    assert_eq!(workspace.edt(&["checkpoint", "large.txt"]).codes(), ["FILE_TOO_LARGE"]);
    // What the session has already is restored, whatever its size.
    workspace.edt(&["undo"]);
    // The user's own policy is the upper bound.
    std::fs::create_dir_all(workspace.home.join(".config/edt")).unwrap();
    std::fs::write(workspace.home.join(".config/edt/edt.toml"), "[limits]\nmax_file_bytes = 10\n")
        .unwrap();
    assert_eq!(
        workspace.edt(&["apply", "full.txt", "--mode", "append", "--content", "y"]).codes(),
        ["FILE_TOO_LARGE"]
    );
    workspace.edt(&["apply", "small.txt", "--mode", "append", "--content", "s\n"]).landed();
}

#[test]
fn texts_made_to_break_a_parser_do_not() {
    let deep = |open: &str, middle: &str, close: &str, n: usize| {
        [open.repeat(n), middle.to_owned(), close.repeat(n)].concat()
    };
    let bombs: Vec<(String, String)> = vec![
        ("a.c".into(), deep("(", "1", ")", 100_000)),
        ("b.c".into(), format!("int x = {};\n", "1+".repeat(200_000) + "1")),
        ("c.c".into(), "#if 1\n".repeat(300_000)),
        ("d.c".into(), deep("{", "", "}", 100_000)),
        ("e.cpp".into(), format!("{} x;\n", deep("a<", "int", ">", 50_000))),
        ("f.py".into(), deep("[", "", "]", 100_000)),
        ("g.py".into(), (0..2000).map(|n| format!("{}if x:\n", " ".repeat(n))).collect()),
        ("h.py".into(), format!("x = {}1\n", "-".repeat(200_000))),
        ("i.js".into(), format!("x = {};\n", deep("`${", "1", "}`", 50_000))),
        ("j.ts".into(), format!("type A = {};\n", deep("Array<", "1", ">", 50_000))),
        ("k.json".into(), deep("[", "", "]", 200_000)),
        ("l.json".into(), deep("{\"a\":", "1", "}", 100_000)),
        ("m.yaml".into(), format!("{}x\n", "- ".repeat(300))),
        ("n.yaml".into(), format!("{}x\n", "- ".repeat(100_000))),
        ("o.yml".into(), deep("[", "", "]", 100_000)),
        ("p.toml".into(), format!("a = {}\n", deep("[", "", "]", 100_000))),
        ("q.html".into(), deep("<div>", "x", "</div>", 50_000)),
        ("r.sh".into(), "cat <<A\n".repeat(20_000)),
        ("s.sh".into(), deep("$(", "x", ")", 50_000)),
        ("t.rs".into(), format!("fn f() {{ {} }}\n", deep("{", "", "}", 100_000))),
        ("u.rs".into(), "/*".repeat(500_000)),
        ("v.go".into(), format!("package a\nvar x = {}\n", "1+".repeat(200_000) + "1")),
        ("w.java".into(), format!("class A {{ int x = {}; }}\n", deep("(", "1", ")", 50_000))),
        ("x.rb".into(), deep("[", "", "]", 100_000)),
        ("y.css".into(), deep("a{", "", "}", 50_000)),
        ("z.md".into(), "> ".repeat(200_000)),
        ("one-line.js".into(), format!("var x=[{}];", "1,".repeat(2_500_000))),
        ("strings.c".into(), "\"".repeat(1_000_000)),
        ("Makefile".into(), "$(".repeat(200_000)),
        ("crlf.py".into(), "x=1\r".repeat(200_000)),
    ];
    let workspace = TestRepo::with(&[("README", b"x\n")]);
    for (path, text) in edt_testkit::share(bombs, 6) {
        let request = json!({"path": path, "mode": "create", "content": text}).to_string();
        measured(&workspace, request.as_bytes(), &["check", "--request", "-"], 900).answered(&path);
    }
}

#[test]
fn a_million_lines_are_placed_and_compared_in_bounded_time() {
    let same = "x\n".repeat(1_000_000);
    let unlike: String = (0..100_000).map(|n| format!("{n}\n")).collect();
    let others: String = (0..100_000).map(|n| format!("{}\n", n + 7_000_000)).collect();
    let workspace = TestRepo::with(&[
        ("same.txt", same.as_bytes()),
        ("some.txt", &same.as_bytes()[..400_000]),
        ("unlike.txt", unlike.as_bytes()),
    ]);
    let some = 'a'..='h';
    let request = |case: char| match case {
        'a' => json!({"path": "same.txt", "mode": "overwrite", "content": "y\n".repeat(1_000_000)}),
        'b' => json!({"path": "same.txt", "mode": "overwrite", "content": format!("{same}x\n")}),
        'c' => json!({"path": "same.txt", "mode": "edit", "old_text": "x\nx\n", "content": "y\n"}),
        'd' => {
            json!({"path": "some.txt", "mode": "edit", "old_text": "x", "content": "yy", "replace_all": true})
        }
        'e' => {
            json!({"path": "same.txt", "mode": "edit", "old_text": "x\n".repeat(500) + "y", "content": "z"})
        }
        'f' => json!({"path": "unlike.txt", "mode": "overwrite", "content": others}),
        'g' => {
            json!({"patch": format!("--- a/same.txt\n+++ b/same.txt\n@@ -1,500 +1,501 @@\n{}+y\n", " x\n".repeat(499) + " z\n")})
        }
        _ => {
            json!({"patch": format!("--- a/same.txt\n+++ b/same.txt\n@@\n{}+y\n", " x\n".repeat(500))})
        }
    };
    for case in edt_testkit::share(some.collect(), 1) {
        let request = request(case).to_string();
        let cost = measured(&workspace, request.as_bytes(), &["check", "--request", "-"], 1200);
        let codes = cost.answered(&format!("case {case}")).codes;
        assert!(case != 'c' || codes == ["OLD_TEXT_AMBIGUOUS"], "{codes:?}");
    }
}

#[test]
fn patches_of_very_many_parts_are_read_in_bounded_time() {
    let unlike: String = (0..300_000).map(|n| format!("{n}\n")).collect();
    let workspace = TestRepo::with(&[
        ("unlike.txt", unlike.as_bytes()),
        ("few.txt", &unlike.as_bytes()[..13_890]),
    ]);
    let hunks: String = (0..100_000)
        .map(|n| format!("@@ -{0},1 +{0},1 @@\n-{1}\n+y{1}\n", n * 3 + 1, n * 3))
        .collect();
    let patch = |what: &str| match what {
        "hunks" => format!("--- a/unlike.txt\n+++ b/unlike.txt\n{hunks}"),
        // Each text that was not found is searched for similar places and reported: a thousand of
        // them take seconds in a debug build.
        "hunks that fit nowhere" => {
            let some: String = hunks.split_inclusive("@@ -").take(1001).collect();
            let wrong = some.trim_end_matches("@@ -").replace("\n-", "\n-z");
            format!("--- a/unlike.txt\n+++ b/unlike.txt\n{wrong}")
        }
        // Each block is placed in the result of the one before: its cost is that of the file, once
        // per block.
        "blocks" => (0..1_000)
            .map(|n| {
                let (a, b) = (n * 3, n * 3 + 1);
                format!("few.txt\n<<<<<<< SEARCH\n{a}\n{b}\n=======\ny{a}\n{b}\n>>>>>>> REPLACE\n")
            })
            .collect(),
        _ => {
            let files = (0..2_000).map(|n| format!("*** Add File: f/{n}.txt\n+x\n"));
            format!("*** Begin Patch\n{}*** End Patch\n", files.collect::<String>())
        }
    };
    for what in edt_testkit::share(vec!["hunks", "hunks that fit nowhere", "blocks", "files"], 1) {
        let args = ["check", "--patch", "-", "--allow", "mass_deletion"];
        let cost = measured(&workspace, patch(what).as_bytes(), &args, 2000).answered(what);
        assert!(what != "hunks" || cost.exit == 0, "{:?}", cost.codes);
    }
}

#[test]
fn json_made_to_break_a_reader_is_a_bad_request() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let content =
        |inner: &str| format!(r#"{{"path": "a.txt", "mode": "append", "content": {inner}}}"#);
    let cases: Vec<Vec<u8>> = vec![
        "[".repeat(1_000_000).into_bytes(),
        "{\"a\":".repeat(1_000_000).into_bytes(),
        content(&"[".repeat(1_000_000)).into_bytes(),
        br#"{"path": "a.txt", "mode": "insert", "content": "x", "start_line": 1e400}"#.to_vec(),
        br#"{"path": "a.txt", "mode": "insert", "content": "x", "start_line": -1}"#.to_vec(),
        br#"{"path": "a.txt", "mode": "insert", "content": "x", "start_line": 99999999999999999999999999}"#.to_vec(),
        [
            br#"{"path": "a.txt", "mode": "insert", "content": "x", "start_line": "#.as_slice(),
            "9".repeat(1_000_000).as_bytes(),
            b"}",
        ]
        .concat(),
        br#"{"path": "a.txt", "path": "../x", "mode": "append", "content": "x"}"#.to_vec(),
        br#"{"path": "a.txt", "mode": "append", "content": "x", "content": "y"}"#.to_vec(),
        content(r#""\ud800""#).into_bytes(),
        content(r#""\udc00\ud800""#).into_bytes(),
        [content("\"").as_bytes(), b"\xff\"}"].concat(),
        b"\xff\xfe{\x00}\x00".to_vec(),
        b"\x00".to_vec(),
        content(&"\"".repeat(3)).into_bytes(),
        "{\"edits\":[".repeat(100_000).into_bytes(),
    ];
    let before = workspace.snapshot();
    for case in cases {
        let cost = measured(&workspace, &case, &["apply", "--request", "-"], 300)
            .answered(&String::from_utf8_lossy(&case[..case.len().min(60)]));
        assert_eq!((cost.codes, cost.exit), (vec!["BAD_REQUEST".to_owned()], 2));
    }
    crate::test_repo::same(&before, &workspace.snapshot());
    // The largest number there is names a line that is not there; no arithmetic overflows.
    for n in [u64::MAX, u64::MAX - 1, 1 << 63] {
        for edit in [
            json!({"path": "a.txt", "mode": "insert", "content": "x", "start_line": n}),
            json!({"path": "a.txt", "mode": "delete_lines", "start_line": 1, "end_line": n, "expected_text": "a\n"}),
            json!({"path": "a.txt", "mode": "delete_lines", "start_line": n, "end_line": n, "expected_text": "a\n"}),
        ] {
            assert_eq!(workspace.apply(&edit).codes(), ["LINE_OUT_OF_RANGE"], "{edit}");
        }
    }
    let hunk = format!("--- a/a.txt\n+++ b/a.txt\n@@ -{0},{0} +{0},{0} @@\n-a\n+b\n", u64::MAX);
    measured(&workspace, hunk.as_bytes(), &["check", "--patch", "-"], 200)
        .answered("numbers of a hunk");
    let read = format!("{0}:{0}", u64::MAX);
    assert_eq!(workspace.edt(&["read", "a.txt", "--lines", &read]).codes(), ["LINE_OUT_OF_RANGE"]);
    run(
        {
            let mut command = workspace.command(EDT);
            command.args([
                "read",
                "a.txt",
                "--max-lines",
                "18446744073709551615",
                "--max-bytes",
                "18446744073709551615",
                "--json",
            ]);
            command
        },
        b"",
        &[],
    );
}

#[test]
fn a_hostile_policy_is_refused_with_its_line_or_read_in_bounded_time() {
    let many = |n: usize, one: &str| (0..n).map(|_| one).collect::<String>();
    let refused: Vec<(&str, Vec<u8>)> = vec![
        ("long", vec![b'#'; 20 * 1024 * 1024]),
        ("a little long", vec![b'#'; 1024 * 1024 + 1]),
        ("deep", format!("a = {}{}\n", "[".repeat(200_000), "]".repeat(200_000)).into_bytes()),
        ("deep keys", format!("{}x = 1\n", "a.".repeat(200_000)).into_bytes()),
        ("not UTF-8", b"[session]\n# caf\xe9\nswitch = true\n".to_vec()),
        ("unknown", b"[sesion]\nswitch = true\n".to_vec()),
        ("negative", b"[guards.size_reduction]\nmin_bytes = -1\n".to_vec()),
        ("nan", b"[guards.size_reduction]\nmax_bytes_lost = nan\n".to_vec()),
        ("inf", b"[guards.size_reduction]\nmax_bytes_lost = inf\n".to_vec()),
        ("for ever", b"[guards.syntax]\ntime_limit_ms = 9223372036854775807\n".to_vec()),
        ("open brace", b"[[protect]]\npaths = [\"{{{{{{\"]\n".to_vec()),
        ("braces", format!("[[protect]]\npaths = [\"{}\"]\n", many(100_000, "{a,b}")).into_bytes()),
        (
            "classes",
            format!("[[protect]]\npaths = [\"{}\"]\n", many(100_000, "[a-z]*")).into_bytes(),
        ),
        ("NUL", b"[session]\nswitch = \"\0\"\n".to_vec()),
    ];
    for (what, text) in edt_testkit::share(refused, 5) {
        let workspace = TestRepo::with(&[("a.txt", b"a\n"), ("edt.toml", &text)]);
        let cost = measured(
            &workspace,
            b"",
            &["apply", "a.txt", "--mode", "append", "--content", "x\n"],
            400,
        )
        .answered(what);
        if ["braces", "classes"].contains(&what) && cost.exit == 0 {
            continue;
        }
        assert_eq!(
            (cost.codes.as_slice(), cost.exit),
            (["BAD_REQUEST".to_owned()].as_slice(), 2),
            "{what}"
        );
        let message = cost.json["errors"][0]["message"].as_str().unwrap();
        assert!(
            message.contains("edt.toml") && message.len() < 5000,
            "{what}: {}",
            &message[..message.len().min(500)]
        );
    }
    // An unoptimised program compiles few globs in a second: what doubles shows with these, too.
    let times = if edt_testkit::tier() == edt_testkit::Tier::All { 10 } else { 1 };
    let slow = vec![
        (
            "globs that double",
            format!("[[protect]]\npaths = [\"{}\"]\n", many(60 * times, "{a,b}")),
        ),
        ("stars", format!("[[protect]]\npaths = [\"{}x\"]\n", many(50 * times, "**/"))),
        ("stars in names", format!("[[protect]]\npaths = [\"{}x\"]\n", many(50 * times, "*a"))),
        ("many globs", format!("[[protect]]\npaths = [{}]\n", many(2_000 * times, "\"src/*.c\","))),
        (
            "many tables",
            many(
                500 * times,
                "[[paths]]\nmatch = [\"a*\"]\n[paths.guards.syntax]\nmode = \"off\"\n",
            ),
        ),
    ];
    for (what, text) in edt_testkit::share(slow, 2) {
        let workspace = TestRepo::with(&[
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.txt", b"a\n"),
            ("edt.toml", text.as_bytes()),
        ]);
        measured(
            &workspace,
            b"",
            &[
                "apply",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.txt",
                "--mode",
                "append",
                "--content",
                "x\n",
            ],
            1000,
        )
        .answered(what);
        measured(&workspace, b"", &["guards"], 1000).answered(what);
    }
    // On disk it is a file like any other: only the base's counts.
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.write("edt.toml", vec![b'['; 5_000_000]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    // A policy that is a link or a directory cannot be read.
    let workspace = TestRepo::with(&[("a.txt", b"a\n"), ("edt.toml/x", b"x\n")]);
    assert_eq!(
        workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).codes(),
        ["BAD_REQUEST"]
    );
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    std::os::unix::fs::symlink("a.txt", workspace.root.join("edt.toml")).unwrap();
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", "a link"]);
    assert_eq!(
        workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).codes(),
        ["BAD_REQUEST"]
    );
}

#[test]
fn bytes_that_are_not_text_are_written_as_sent() {
    let workspace = TestRepo::with(&[("p.png", b"\x80BIN\0\nabc\n")]);
    let sent = b"\x89PNG\r\n\x1a\n\0data";
    let home = workspace.home.join("sent");
    std::fs::write(&home, sent).unwrap();
    workspace.edt(&[
        "apply",
        "p.png",
        "--mode",
        "overwrite",
        "--content-file",
        home.to_str().unwrap(),
    ]);
    assert_eq!(workspace.read("p.png"), sent);
}

#[test]
fn a_request_with_very_many_lines_or_edits_is_refused_in_bounded_memory() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let lines = b"\n".repeat(30_000_000);
    let edits = vec![r#"{"path": "a", "mode": "delete"}"#; 1_000_000].join(",");
    let edits = format!(r#"{{"edits": [{edits}]}}"#);
    for (args, input, code) in [
        (&["check", "b.txt", "--mode", "create"][..], lines.as_slice(), "FILE_TOO_LARGE"),
        (&["check", "--patch", "-"], &lines, "FILE_TOO_LARGE"),
        (&["check", "--request", "-"], edits.as_bytes(), "FILE_TOO_LARGE"),
    ] {
        let cost = measured(&workspace, input, args, 512).answered(&args.join(" "));
        assert_eq!(cost.codes, [code], "{args:?}");
    }
}

#[test]
fn a_landing_of_thousands_of_files_takes_time_in_proportion_to_them() {
    let long = |n: usize| (0..100).map(|row| format!("line {row} of {n}\n")).collect::<String>();
    let cut: Vec<(String, String)> = (0..600).map(|n| (format!("cut/{n}.txt"), long(n))).collect();
    let files: Vec<(&str, &[u8])> =
        cut.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let workspace = TestRepo::with(&files);
    workspace.edt(&["begin", "big"]);
    // Each is measured against what the others gain.
    let shorter = cut.iter().enumerate().map(|(n, (path, _))| {
        json!({"path": path, "mode": "overwrite", "content": format!("line 0 of {n}\n")})
    });
    let new = (0..3000).map(|n| {
        let path = format!("new/{}/{n}.txt", n % 100);
        json!({"path": path, "mode": "create", "content": format!("{n}\n")})
    });
    let edits: Vec<Value> = shorter.chain(new).collect();
    for edits in edits.chunks(600) {
        let allow = ["size_reduction", "mass_deletion"];
        workspace.apply(&json!({"edits": edits, "allow": allow})).landed();
    }
    let land = ["land", "--allow", "size_reduction", "--allow", "mass_deletion"];
    let cost = measured(&workspace, b"", &land, 4000).answered("land");
    assert_eq!(cost.json["status"], "applied", "{:?}", cost.codes);
    assert_eq!(cost.json["files"].as_array().map(Vec::len), Some(3_600));
}
