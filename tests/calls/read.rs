//! `edt read`: what an agent needs for its next edit, and honest cuts.

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo, lines};

/// What `edt read ARGS` prints as text.
fn users(workspace: &TestRepo, args: &[&str]) -> String {
    let done = workspace.command(EDT).arg("read").args(args).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Some keys of the answer to `edt read ARGS`.
#[track_caller]
fn printed(workspace: &TestRepo, args: &[&str], keys: &[&str]) -> Vec<Value> {
    let answer = workspace.edt(&[&["read"], args].concat()).json;
    keys.iter().map(|key| answer[key].clone()).collect()
}

#[test]
fn a_complete_file_is_shown_with_the_hash_for_the_next_edit() {
    let workspace = TestRepo::with(&[("a.txt", b"one\ntwo\n")]);
    let hash = workspace.rev("HEAD:a.txt");
    assert_eq!(
        workspace.edt(&["read", "a.txt"]).json,
        json!({
            "schema": "edt.read/1", "path": "a.txt", "hash": hash, "bytes": 8, "lines": 2, "line_endings": "lf", "bom": false,
            "final_newline": true, "first_line": 1, "last_line": 2, "text": "one\ntwo\n", "lossy": false, "further": [],
            "truncated": false, "next_line": null, "cut_line": null,
        })
    );
    assert_eq!(
        users(&workspace, &["a.txt"]),
        format!("a.txt 8 bytes, 2 lines, blob {hash}\n1 | one\n2 | two\n")
    );
    let append =
        ["apply", "a.txt", "--mode", "append", "--content", "three\n", "--expected-hash", &hash];
    workspace.edt(&append).landed();
}

#[test]
fn tracked_and_untracked_files_are_read_from_disk() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.write("a.txt", "changed\n");
    workspace.write("new.txt", "new\n");
    assert_eq!(printed(&workspace, &["a.txt"], &["text"]), ["changed\n"]);
    let hash = workspace.git(&["hash-object", "new.txt"]);
    assert_eq!(printed(&workspace, &["new.txt"], &["text", "hash"]), ["new\n", hash.trim()]);
    let missing = workspace.edt(&["read", "no.txt"]);
    assert_eq!((missing.codes(), missing.exit), (vec!["FILE_NOT_FOUND"], 1));
}

#[test]
fn ranges_are_shown_apart_and_those_that_overlap_as_one() {
    let workspace = TestRepo::with(&[("a.txt", lines(100).as_bytes())]);
    let args = [
        "a.txt", "--lines", "50:51", "--lines", "8:9", "--lines", "9:11", "--lines", "100",
        "--lines", "52:",
    ];
    let line = |n: usize| format!("line {n} of a text\n");
    let text = |from: usize, to: usize| (from..=to).map(line).collect::<String>();
    let keys = ["first_line", "last_line", "text", "further", "truncated"];
    let further =
        json!([{"first_line": 50, "last_line": 100, "text": text(50, 100), "lossy": false}]);
    assert_eq!(
        printed(&workspace, &args, &keys),
        [json!(8), json!(11), json!(text(8, 11)), further, json!(false)]
    );
    let shown = users(&workspace, &["a.txt", "--lines", ":1", "--lines", "99:200"]);
    let body: Vec<&str> = shown.lines().skip(1).collect();
    assert_eq!(
        body,
        ["  1 | line 1 of a text", "    …", " 99 | line 99 of a text", "100 | line 100 of a text"]
    );
}

#[test]
fn a_range_beyond_the_file_is_refused_with_how_many_lines_there_are() {
    let workspace = TestRepo::with(&[("a.txt", lines(15).as_bytes()), ("empty", b"")]);
    let answer = workspace.edt(&["read", "a.txt", "--lines", "3:4", "--lines", "16:20"]);
    assert_eq!((answer.codes(), answer.exit), (vec!["LINE_OUT_OF_RANGE"], 1));
    assert_eq!(
        answer.message(),
        "The range 16:20 begins beyond the end of a.txt, which has 15 lines."
    );
    assert_eq!(answer.hint(), "Ask for lines from 1 to 15, such as --lines 1:15.");
    assert_eq!(answer.errors()[0]["evidence"], json!({"first_line": 16, "total_lines": 15}));
    assert_eq!(
        workspace.edt(&["read", "a.txt", "--lines", "99", "--lines", "16:"]).codes(),
        ["LINE_OUT_OF_RANGE"; 2]
    );
    assert_eq!(workspace.edt(&["read", "empty", "--lines", "2:"]).codes(), ["LINE_OUT_OF_RANGE"]);
    for wrong in ["", "0:3", "5:4", "a:b", "1:2:3", "-1:3", "99999999999999999999:", "1-3"] {
        let answer = workspace.edt(&["read", "a.txt", &format!("--lines={wrong}")]);
        assert_eq!((answer.codes(), answer.exit), (vec!["BAD_REQUEST"], 2), "{wrong:?}");
    }
    assert_eq!(
        printed(&workspace, &["a.txt", "--lines", "15:99"], &["last_line", "truncated"]),
        [json!(15), json!(false)]
    );
}

#[test]
fn a_cut_is_reported_and_the_next_call_continues_there() {
    let workspace = TestRepo::with(&[("a.txt", lines(5000).as_bytes())]);
    let keys = ["first_line", "last_line", "lines", "truncated", "next_line"];
    assert_eq!(
        printed(&workspace, &["a.txt"], &keys),
        [json!(1), json!(2000), json!(5000), json!(true), json!(2001)]
    );
    let shown = users(&workspace, &["a.txt", "--max-lines", "2"]);
    assert!(
        shown.ends_with("2 | line 2 of a text\n… cut before line 3: read on with --lines 3:\n"),
        "{shown}"
    );
    // Over several calls, every byte is read exactly once.
    for limit in [["--max-lines", "777"], ["--max-bytes", "4000"]] {
        let (mut all, mut next) = (String::new(), json!(1));
        while let Some(line) = next.as_u64() {
            let from = format!("{line}:");
            let answer =
                workspace.edt(&["read", "a.txt", "--lines", &from, limit[0], limit[1]]).json;
            let text = answer["text"].as_str().unwrap();
            assert!(limit[0] != "--max-bytes" || text.len() <= 4000);
            all.push_str(text);
            next = answer["next_line"].clone();
        }
        assert!(all == lines(5000), "{limit:?}");
    }
    // The limits hold over all ranges together.
    let args = ["a.txt", "--lines", "1:3", "--lines", "10:12", "--max-lines", "4"];
    let further =
        json!([{"first_line": 10, "last_line": 10, "text": "line 10 of a text\n", "lossy": false}]);
    assert_eq!(
        printed(&workspace, &args, &["further", "truncated", "next_line"]),
        [further, json!(true), json!(11)]
    );
}

#[test]
fn a_line_longer_than_the_limit_is_cut_between_characters_with_its_length() {
    let long = "é".repeat(300_000);
    let workspace = TestRepo::with(&[("a.js", format!("{long}\nshort\n").as_bytes())]);
    let answer = workspace.edt(&["read", "a.js", "--max-bytes", "1001"]).json;
    assert_eq!(answer["text"], json!("é".repeat(500)));
    assert_eq!(answer["cut_line"], json!({"line": 1, "bytes_shown": 1000, "bytes": 600_001}));
    let rest = [&answer["lossy"], &answer["last_line"], &answer["truncated"], &answer["next_line"]];
    assert_eq!(rest, [&json!(false), &json!(1), &json!(true), &json!(2)]);
    let keys = ["cut_line", "next_line", "truncated"];
    let cut = json!({"line": 1, "bytes_shown": 262_144, "bytes": 600_001});
    assert_eq!(
        printed(&workspace, &["a.js", "--lines", "1"], &keys),
        [cut, json!(null), json!(true)]
    );
    let shown = users(&workspace, &["a.js", "--max-bytes", "4"]);
    let notes = "1 | éé\n… line 1 is cut: 4 of 600001 bytes are shown; --lines 1:1 --max-bytes 600001 shows all at a terminal, `edt search` a part of it around a match\n\
        … cut before line 2: read on with --lines 2:\n";
    assert!(shown.ends_with(notes), "{shown}");
    let whole = ["a.js", "--lines", "1:1", "--max-bytes", "600001"];
    assert_eq!(
        printed(&workspace, &whole, &["text", "truncated"]),
        [json!(format!("{long}\n")), json!(false)]
    );
}

#[test]
fn line_endings_byte_order_mark_and_a_missing_newline_are_reported() {
    let files: [(&str, &[u8], &str, Value); 7] = [
        ("lf", b"a\nb\n", "1 | a\n2 | b\n", json!(["lf", false, true, false])),
        ("crlf", b"a\r\nb\r\n", "1 | a\n2 | b\n", json!(["crlf", false, true, false])),
        ("mixed", b"a\r\nb\n", "1 | a␍\n2 | b\n", json!(["mixed", false, true, false])),
        ("bom", b"\xef\xbb\xbfa\nb", "1 | a\n2 | b\n", json!(["lf", true, false, false])),
        ("one", b"a", "1 | a\n", json!(["none", false, false, false])),
        ("empty", b"", "… the file has no lines\n", json!(["none", false, false, false])),
        (
            "latin",
            b"gr\xfcn\r\n",
            "1 | gr\u{fffd}n\n… not UTF-8: � replaces other bytes\n",
            json!(["crlf", false, true, true]),
        ),
    ];
    let all: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes, ..)| (*name, *bytes)).collect();
    let workspace = TestRepo::with(&all);
    for (name, _, body, facts) in &files {
        let keys = ["line_endings", "bom", "final_newline", "lossy"];
        assert_eq!(&json!(printed(&workspace, &[name], &keys)), facts, "{name}");
        let shown = users(&workspace, &[name]);
        assert_eq!(shown.split_once('\n').unwrap().1, *body, "{name}");
    }
    let head = |name: &str| {
        users(&workspace, &[name])
            .lines()
            .next()
            .unwrap()
            .split_once("; ")
            .map(|(_, odd)| odd.to_owned())
    };
    assert_eq!(head("lf"), None);
    assert_eq!(head("crlf").unwrap(), "CR LF line ends");
    assert_eq!(head("mixed").unwrap(), "mixed line ends (␍ marks CR LF)");
    assert_eq!(head("bom").unwrap(), "a byte-order mark; no newline at the end");
    // Text as it was read matches as `old_text`, with or without the mark.
    let text = workspace.edt(&["read", "bom"]).json["text"].clone();
    workspace
        .apply(&json!({"path": "bom", "mode": "edit", "old_text": text, "content": "c"}))
        .landed();
    assert_eq!(workspace.read("bom"), b"\xef\xbb\xbfc");
    assert_eq!(
        printed(&workspace, &["empty"], &["first_line", "last_line", "text"]),
        [json!(1), json!(0), json!("")]
    );
    assert_eq!(printed(&workspace, &["empty", "--lines", "1:40"], &["text"]), [""]);
}

#[test]
fn a_terminal_gets_escaped_control_characters_and_json_gets_all_bytes() {
    let text = "\x1b[2Jgone\x07\u{9b}\tif (admin\u{202e} \u{2066}) {\rover\n";
    let workspace = TestRepo::with(&[("a.c", text.as_bytes())]);
    let shown = users(&workspace, &["a.c"]);
    let line = "1 | \\u{1b}[2Jgone\\u{7}\\u{9b}\tif (admin\\u{202e} \\u{2066}) {\\u{d}over\n";
    let note =
        "… 6 invisible characters shown as \\u{…}; --json prints every character unchanged\n";
    assert_eq!(shown.split_once('\n').unwrap().1, format!("{line}{note}"));
    assert_eq!(printed(&workspace, &["a.c"], &["text"]), [text]);
}

#[test]
fn a_pointer_is_said_to_be_one() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let annex = b"/annex/objects/SHA256E-s12--4d7a.dat\n";
    let files: [(&str, &[u8]); 3] =
        [("d.csv", pointer.as_bytes()), ("e.dat", annex), ("a.txt", b"a\n")];
    let workspace = TestRepo::with(&files);
    let store = |path: &str| printed(&workspace, &[path], &["pointer_of"]).remove(0);
    assert_eq!(store("d.csv"), json!("git-lfs"));
    assert_eq!(store("e.dat"), json!("git-annex"));
    assert_eq!(store("a.txt"), Value::Null);
    let shown = users(&workspace, &["d.csv"]);
    let note = "… a pointer of Git LFS: the content is not here; `git lfs pull` gets it\n";
    assert!(shown.ends_with(note), "{shown}");
}

#[test]
fn a_binary_file_is_described_and_not_printed() {
    let png = [&b"\x89PNG\r\n\x1a\n"[..], &[0, 255, 10].repeat(9)].concat();
    let workspace = TestRepo::with(&[("a.png", &png), ("latin.txt", b"caf\xe9\n")]);
    let keys = ["binary", "bytes", "text", "last_line", "truncated"];
    let found = printed(&workspace, &["a.png", "--lines", "2:3"], &keys);
    assert_eq!(found, [json!("a PNG image"), json!(35), json!(""), json!(1), json!(false)]);
    let shown = users(&workspace, &["a.png"]);
    assert!(shown.ends_with("\n… it is a PNG image: its content is not shown\n"), "{shown}");
    let text = printed(&workspace, &["latin.txt"], &["binary", "text"]);
    assert_eq!(text, [Value::Null, json!("caf\u{fffd}\n")]);
}
