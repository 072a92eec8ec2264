//! `edt ls` and `edt search` compared with Git's own lists, and every cut reported.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo, lines};

/// A worktree with everything that a listing can trip over.
fn odd() -> TestRepo {
    let workspace = TestRepo::with(&[
        ("README.md", b"alpha\n"),
        ("src/a.rs", b"fn alpha() {}\nfn beta() {}\n"),
        ("src/deep/er/b.rs", b"// alpha, alphabet\n"),
        ("build/kept.txt", b"alpha, tracked though ignored\n"),
        ("gone.txt", b"alpha\n"),
        ("was-a-file", b"alpha\n"),
        ("with space \"and\" quote.txt", b"alpha\n"),
        ("gr\u{fc}n.txt", "alpha gr\u{fc}n\n".as_bytes()),
        (".hidden/x.txt", b"alpha\n"),
        ("-dash.txt", b"alpha\n"),
    ]);
    let other = TestRepo::with(&[("inner.txt", b"alpha\n")]);
    let from = other.root.to_str().unwrap();
    workspace.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        from,
        "sub",
    ]);
    workspace.git(&["commit", "--quiet", "-m", "a submodule"]);
    workspace.write(".gitignore", "build/\n*.log\n/only-here\n!keep.log\n");
    workspace.write("src/.gitignore", "*.tmp\n");
    workspace.write(".git/info/exclude", "excluded\n");
    workspace.write("../home/.globally", "*.swp\n");
    workspace.git(&[
        "config",
        "core.excludesFile",
        workspace.home.join(".globally").to_str().unwrap(),
    ]);
    for path in ["new.txt", "keep.log", "src/only-here", "new dir/x", "src/new.rs", "intended"] {
        workspace.write(path, "alpha\n");
    }
    for path in [
        "build/out.txt",
        "x.log",
        "only-here",
        "src/y.tmp",
        "excluded",
        "a.swp",
        "new dir/z.log",
        "src/deep.tmp/whole/directory",
    ] {
        workspace.write(path, "alpha, ignored\n");
    }
    workspace.git(&["add", "--intent-to-add", "intended"]);
    std::fs::remove_file(workspace.root.join("gone.txt")).unwrap();
    std::fs::remove_file(workspace.root.join("was-a-file")).unwrap();
    workspace.write("was-a-file/now-a-directory", "alpha\n");
    workspace.write("src/a.rs", "fn alpha() { changed }\n");
    std::fs::write(workspace.root.join(OsStr::from_bytes(b"raw-\xff-name")), b"alpha \xfe\n")
        .unwrap();
    symlink("README.md", workspace.root.join("link")).unwrap();
    symlink("../home", workspace.root.join("way-out")).unwrap();
    std::fs::create_dir(workspace.root.join("empty")).unwrap();
    workspace.git(&["init", "--quiet", "nested"]);
    workspace.write("nested/inside.txt", "alpha\n");
    let fifo = workspace.command("mkfifo").arg("pipe").status().unwrap();
    assert!(fifo.success());
    workspace
}

/// What `git ls-files ARGS -z` lists.
fn git_lists(workspace: &TestRepo, args: &[&str]) -> BTreeSet<String> {
    let done = workspace.try_git(&[&["ls-files", "-z"], args].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let names = done.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    // Git lists a nested repository as a directory; here it is listed by its path.
    names.map(|name| String::from_utf8_lossy(name).trim_end_matches('/').to_owned()).collect()
}

fn entries(workspace: &TestRepo, args: &[&str]) -> Vec<Value> {
    workspace.edt(&[&["ls", "--max", "100000"], args].concat()).json["entries"]
        .as_array()
        .unwrap()
        .clone()
}

fn paths(entries: &[Value]) -> BTreeSet<String> {
    let all: Vec<String> =
        entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect();
    let unique: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(all.len(), unique.len(), "each once");
    unique
}

fn of_state(entries: &[Value], states: &[&str]) -> BTreeSet<String> {
    let fits =
        |entry: &&Value| entry["state"].as_str().is_some_and(|state| states.contains(&state));
    entries.iter().filter(fits).map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn ls_lists_what_git_lists() {
    let workspace = odd();
    let all = ["--cached", "--others", "--exclude-standard"];
    assert_eq!(paths(&entries(&workspace, &[])), git_lists(&workspace, &all));
    assert_eq!(paths(&entries(&workspace, &["."])), git_lists(&workspace, &all));
    assert_eq!(paths(&entries(&workspace, &["--tracked"])), git_lists(&workspace, &["--cached"]));
    assert_eq!(
        paths(&entries(&workspace, &["--ignored"])),
        git_lists(&workspace, &["--cached", "--others"])
    );
    for below in
        ["src", "src/", "./src/deep", "new dir", "src/a.rs", "sub", "nested", "was-a-file", "build"]
    {
        let name = below.trim_end_matches('/');
        let args = [all.as_slice(), &["--", name]].concat();
        assert_eq!(paths(&entries(&workspace, &[below])), git_lists(&workspace, &args), "{below}");
    }
    assert_eq!(
        paths(
            &workspace.at(workspace.root.join("src")).edt(&["ls"]).json["entries"]
                .as_array()
                .unwrap()
                .clone()
        )
        .len(),
        git_lists(&workspace, &all).len()
    );
}

#[test]
fn the_state_of_each_file_is_gits() {
    let workspace = odd();
    let all = entries(&workspace, &["--ignored"]);
    // A directory in its place is a deletion to `git status`, and a change to `git ls-files`.
    let mut deleted = git_lists(&workspace, &["--deleted"]);
    deleted.insert("was-a-file".to_owned());
    assert_eq!(of_state(&all, &["deleted"]), deleted);
    assert_eq!(of_state(&all, &["deleted", "changed"]), git_lists(&workspace, &["--modified"]));
    assert_eq!(
        of_state(&all, &["new"]),
        git_lists(&workspace, &["--others", "--exclude-standard"])
    );
    let ignored = git_lists(&workspace, &["--others", "--ignored", "--exclude-standard"]);
    assert_eq!(of_state(&all, &["ignored"]), ignored);
    let entry = |path: &str| all.iter().find(|entry| entry["path"] == path).unwrap().clone();
    let readme = json!({
        "path": "README.md", "lossy": false, "kind": "file", "state": "tracked", "mode": "100644",
        "hash": workspace.rev("HEAD:README.md"), "bytes": 6, "files": null,
    });
    assert_eq!(entry("README.md"), readme);
    assert_eq!([&entry("link")["kind"], &entry("link")["mode"]], ["link", "120000"]);
    assert_eq!([&entry("sub")["kind"], &entry("sub")["state"]], ["repository", "tracked"]);
    assert_eq!([&entry("nested")["kind"], &entry("nested")["state"]], ["repository", "new"]);
    assert_eq!(entry("raw-\u{fffd}-name")["lossy"], true);
    assert_eq!(entry("gone.txt")["bytes"], Value::Null);
}

#[test]
fn the_hash_of_a_listed_file_is_the_one_an_edit_expects() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"one\r\ntwo\r\n")]);
    for path in ["a.txt", "b.txt"] {
        let hash = entries(&workspace, &[path])[0]["hash"].as_str().unwrap().to_owned();
        workspace
            .edt(&[
                "apply",
                path,
                "--mode",
                "append",
                "--content",
                "more\n",
                "--expected-hash",
                &hash,
            ])
            .landed();
        workspace.is_clean();
        assert_eq!(entries(&workspace, &[path])[0]["state"], "tracked");
    }
    workspace.write("a.txt", "else\n");
    let changed = &entries(&workspace, &["a.txt"])[0];
    assert_eq!([&changed["state"], &changed["hash"]], [&json!("changed"), &Value::Null]);
}

#[test]
fn pages_and_directories_add_up_to_the_complete_list() {
    let workspace = odd();
    let whole = entries(&workspace, &[]);
    let (mut pages, mut skip) = (Vec::new(), 0);
    loop {
        let page = workspace.edt(&["ls", "--max", "4", "--skip", &skip.to_string()]).json;
        pages.extend(page["entries"].as_array().unwrap().clone());
        assert_eq!(
            (&page["total_entries"], &page["total_files"]),
            (&json!(whole.len()), &json!(whole.len()))
        );
        assert_eq!(page["truncated"], !page["next_skip"].is_null());
        let Some(next) = page["next_skip"].as_u64() else { break };
        skip = next;
    }
    assert_eq!(pages, whole);
    let top = entries(&workspace, &["--depth", "0"]);
    let counted: u64 = top.iter().map(|entry| entry["files"].as_u64().unwrap_or(1)).sum();
    assert_eq!(counted, whole.len() as u64);
    let dirs = entries(&workspace, &["--dirs", "src"]);
    let printed: Vec<_> = dirs
        .iter()
        .map(|entry| (entry["path"].as_str().unwrap(), entry["files"].as_u64().unwrap()))
        .collect();
    assert_eq!(printed, [("src/", 5), ("src/deep/", 1), ("src/deep/er/", 1)]);
    assert_eq!(
        paths(&entries(&workspace, &["--dirs", "src", "--depth", "1"])),
        BTreeSet::from(["src/".to_owned()])
    );
    assert_eq!(paths(&entries(&workspace, &["--glob", "*.rs", "--glob", "!src/new.rs"])).len(), 2);
}

#[test]
fn a_path_outside_the_worktree_is_refused_by_ls_and_search() {
    let workspace = odd();
    for command in [["ls"].as_slice(), &["search", "alpha"]] {
        for (path, code) in [
            ("no-such", "FILE_NOT_FOUND"),
            ("src/no-such/x", "FILE_NOT_FOUND"),
            ("../home", "PATH_OUTSIDE_REPO"),
            ("/etc", "PATH_OUTSIDE_REPO"),
            (".git", "PATH_IN_GIT_DIR"),
            (".git/config", "PATH_IN_GIT_DIR"),
            ("way-out/.globally", "PATH_THROUGH_SYMLINK"),
            ("sub/inner.txt", "PATH_OUTSIDE_REPO"),
            ("nested/inside.txt", "PATH_OUTSIDE_REPO"),
            ("", "PATH_INVALID"),
        ] {
            let answer = workspace.edt(&[command, &[path]].concat());
            assert_eq!(answer.codes(), [code], "{command:?} {path}: {:#}", answer.json);
        }
        let ignored = workspace.edt(&[command, &["x.log", "empty", "README.md"]].concat()).json;
        assert_eq!(ignored["unlisted"], json!(["x.log", "empty"]), "{command:?}");
    }
    assert_eq!(workspace.edt(&["ls", "--glob", "a{b"]).codes(), ["BAD_REQUEST"]);
    assert_eq!(
        workspace.edt(&["search", "--ignored", "ignored", "x.log"]).json["matches"][0]["path"],
        "x.log"
    );
}

#[test]
fn listing_and_searching_work_before_the_first_commit_and_in_a_linked_worktree() {
    let unborn = TestRepo::unborn(&[]);
    unborn.write("a.txt", "alpha\n");
    assert_eq!(of_state(&entries(&unborn, &[]), &["new"]), BTreeSet::from(["a.txt".to_owned()]));
    assert_eq!(unborn.edt(&["search", "alpha"]).json["total"]["matches"], 1);
    let workspace = odd();
    let linked = workspace.home.parent().unwrap().join("linked");
    workspace.git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let linked = workspace.at(linked);
    linked.write("only in the linked one", "alpha\n");
    let all = git_lists(&linked, &["--cached", "--others", "--exclude-standard"]);
    assert_eq!(paths(&entries(&linked, &[])), all);
}

#[test]
fn an_unmerged_path_is_one_entry() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.git(&["switch", "--quiet", "-c", "other"]);
    workspace.commit(&[("a.txt", b"two\n")]);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("a.txt", b"three\n")]);
    assert!(!workspace.try_git(&["merge", "other"]).status.success());
    assert_eq!(entries(&workspace, &[])[0]["state"], "conflicted");
    assert_eq!(entries(&workspace, &[]).len(), 1);
}

#[test]
fn a_sparse_checkout_lists_what_it_leaves_out() {
    let workspace = TestRepo::with(&[("in/a.txt", b"alpha\n"), ("out/b.txt", b"alpha\n")]);
    for flags in [["--no-sparse-index"], ["--sparse-index"]] {
        workspace.git(&["sparse-checkout", "set", "--cone", flags[0], "in"]);
        let all = entries(&workspace, &[]);
        assert_eq!(
            of_state(&all, &["not_checked_out"]),
            BTreeSet::from(["out/b.txt".to_owned()]),
            "{flags:?}"
        );
        assert_eq!(of_state(&all, &["tracked"]), BTreeSet::from(["in/a.txt".to_owned()]));
        assert_eq!(workspace.edt(&["search", "alpha"]).json["total"]["searched"], 1);
    }
}

/// What `git grep` finds in tracked and in new files: path, line, column, text.
fn git_finds(workspace: &TestRepo, args: &[&str]) -> Vec<(String, u64, u64, String)> {
    // With `--untracked` it leaves out tracked files that a rule ignores.
    let grep = |which: &[&'static str]| {
        let grep =
            [&["grep", "-I", "--null", "--line-number", "--column", "--no-color", "-E"], which]
                .concat();
        String::from_utf8_lossy(&workspace.try_git(&[grep.as_slice(), args].concat()).stdout)
            .into_owned()
    };
    let text = grep(&[]) + &grep(&["--untracked"]);
    let line = |line: &str| {
        let mut parts = line.splitn(4, '\0');
        let mut part = || parts.next().unwrap().to_owned();
        let (path, number, column) = (part(), part().parse().unwrap(), part().parse().unwrap());
        (path, number, column, part().trim_end_matches('\r').to_owned())
    };
    let all: BTreeSet<_> = text.lines().map(line).collect();
    all.into_iter().collect()
}

fn found(workspace: &TestRepo, args: &[&str]) -> Vec<(String, u64, u64, String)> {
    let all = workspace.edt(&[&["search", "--max-matches", "100000"], args].concat()).json;
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let one = |one: &Value| {
        (
            text(one, "path"),
            one["line"].as_u64().unwrap(),
            one["column"].as_u64().unwrap(),
            text(one, "text"),
        )
    };
    all["matches"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn search_finds_what_git_grep_finds() {
    let workspace = odd();
    workspace.write("crlf.txt", "one alpha\r\nalpha\r\ntwo\r\n");
    workspace.write("many.txt", lines(300));
    let judged = [
        (["alpha"].as_slice(), ["alpha"].as_slice()),
        (&["-i", "ALPHA"], &["-i", "ALPHA"]),
        (&["-w", "alpha"], &["-w", "alpha"]),
        (&["-F", "fn alpha()"], &["-F", "fn alpha()"]),
        (&["al(pha|bet)"], &["al(pha|bet)"]),
        (&["^// "], &["^// "]),
        (&["a text$", "many.txt"], &["a text$", "--", "many.txt"]),
        (&["line 2.[05] "], &["line 2.[05] "]),
        (&["alpha", "src", "new dir"], &["alpha", "--", "src", "new dir"]),
    ];
    for (ours, gits) in judged {
        let expected = git_finds(&workspace, gits);
        assert!(!expected.is_empty(), "{gits:?}");
        assert_eq!(found(&workspace, ours), expected, "{ours:?}");
    }
    // Where Git looks at CR as a part of the line, edt does not.
    assert_eq!(found(&workspace, &["alpha$", "crlf.txt"]).len(), 2);
    assert_eq!(found(&workspace, &["-S", "Alpha"]), []);
    assert_eq!(workspace.edt(&["search", "nothing like this"]).exit, 0);
}

#[test]
fn skipped_files_are_counted_and_links_and_pipes_are_not_entered() {
    let workspace = odd();
    workspace.write("nul.bin", b"alpha\0beta\n");
    let printed = workspace.edt(&["search", "alpha"]).json;
    let skipped =
        json!({"binary": 1, "too_large": 0, "unreadable": 0, "links": 2, "repositories": 2});
    assert_eq!(printed["skipped"], skipped);
    let names: BTreeSet<&str> = printed["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert!(names.iter().all(|name| !name.starts_with(".git/")
        && !name.starts_with("way-out")
        && !name.starts_with("sub/")));
    let raw = printed["matches"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["path"] == "raw-\u{fffd}-name")
        .unwrap();
    assert_eq!([&raw["text"], &raw["lossy"]], [&json!("alpha \u{fffd}"), &json!(true)]);
    workspace.write(".ignore", "*.md\n/src/deep/\n");
    workspace.write("src/.ignore", "!a.rs\n");
    let left = found(&workspace, &["alpha"]);
    assert!(
        left.iter().all(|(path, ..)| path != "README.md" && !path.starts_with("src/deep")),
        "{left:?}"
    );
    assert_eq!(
        found(&workspace, &["alpha", "README.md"]).len(),
        1,
        "a file that is named is searched"
    );
}

#[test]
fn a_long_line_is_shown_around_its_match_and_the_cut_is_reported() {
    let workspace = TestRepo::with(&[]);
    let line = format!("{}\u{e4}needle\u{e4}{}\n", "x".repeat(100_000), "\u{e4}".repeat(50_000));
    workspace.write("min.js", &line);
    let one = &workspace.edt(&["search", "needle", "--max-columns", "101"]).json;
    let shown = &one["matches"][0];
    assert_eq!(
        (&shown["column"], &one["truncated"], &one["next_skip"]),
        (&json!(100_003), &json!(true), &Value::Null)
    );
    let text = shown["text"].as_str().unwrap();
    assert!(
        text.contains("needle") && text.len() <= 101 && !shown["lossy"].as_bool().unwrap(),
        "{shown:#}"
    );
    let from = usize::try_from(shown["cut"]["column"].as_u64().unwrap()).unwrap();
    assert_eq!(
        (&line[from - 1..from - 1 + text.len()], &shown["cut"]["bytes"]),
        (text, &json!(line.len() - 1))
    );
    workspace.write("bom.txt", "\u{feff}needle\n");
    assert_eq!(
        found(&workspace, &["^needle$"]),
        [("bom.txt".to_owned(), 1, 1, "needle".to_owned())]
    );
}

#[test]
fn pages_of_matches_add_up_to_all_matches() {
    let workspace = odd();
    workspace.write("many.txt", lines(700));
    let whole = found(&workspace, &["a(lpha| text)"]);
    for limit in [["--max-matches", "97"], ["--max-bytes", "1000"]] {
        let (mut pages, mut skip) = (Vec::new(), 0);
        loop {
            let page = workspace
                .edt(&["search", "a(lpha| text)", limit[0], limit[1], "--skip", &skip.to_string()])
                .json;
            assert_eq!(page["total"]["matches"], json!(whole.len()), "{limit:?}");
            pages.extend(
                page["matches"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|one| one["text"].as_str().unwrap().to_owned()),
            );
            let Some(next) = page["next_skip"].as_u64() else { break };
            assert!(page["truncated"].as_bool().unwrap() && next > skip);
            skip = next;
        }
        let texts: Vec<String> = whole.iter().map(|(.., text)| text.clone()).collect();
        assert_eq!(pages, texts, "{limit:?}");
    }
    let names =
        workspace.edt(&["search", "alpha", "--files", "--max-matches", "2", "--skip", "1"]).json;
    let all = workspace.edt(&["search", "alpha", "--files"]).json["files"].clone();
    assert_eq!([&names["files"][0], &names["files"][1]], [&all[1], &all[2]]);
    assert_eq!((&names["next_skip"], &names["matches"]), (&json!(3), &json!([])));
    assert_eq!(names["total"]["files"], json!(all.as_array().unwrap().len()));
}

#[test]
fn each_line_of_context_is_shown_once() {
    let workspace = TestRepo::with(&[("a.txt", lines(12).as_bytes())]);
    let printed = workspace.edt(&["search", "line (3|5|12) ", "--context", "2"]).json;
    let around = |one: &Value, key: &str| {
        one[key].as_array().unwrap().iter().map(|line| line["line"].as_u64().unwrap()).collect()
    };
    let shown: Vec<(Vec<u64>, u64, Vec<u64>)> = printed["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (around(one, "before"), one["line"].as_u64().unwrap(), around(one, "after")))
        .collect();
    assert_eq!(
        shown,
        [(vec![1, 2], 3, vec![4]), (vec![], 5, vec![6, 7]), (vec![10, 11], 12, vec![])]
    );
    let users = workspace
        .command(EDT)
        .args(["search", "line (3|5|12) ", "--context", "1"])
        .output()
        .unwrap();
    let users = String::from_utf8(users.stdout).unwrap();
    let body: Vec<&str> = users.lines().collect();
    assert_eq!(
        body[..3],
        ["a.txt-2- line 2 of a text", "a.txt:3:1: line 3 of a text", "a.txt-4- line 4 of a text"]
    );
    assert_eq!(body.last().unwrap(), &"… 3 matching lines in 1 of 1 file");
}

#[test]
fn a_pattern_that_cannot_be_read_is_refused_with_the_reason() {
    let workspace = TestRepo::with(&[("a.txt", b"(\n")]);
    for (pattern, why) in [
        ("(", "unclosed group"),
        ("a(?=b)", "look-around"),
        ("", "empty"),
        ("a\nb", "\\n"),
        ("[z-a]", "range"),
    ] {
        let answer = workspace.edt(&["search", pattern]);
        assert_eq!((answer.codes(), answer.exit), (vec!["BAD_REQUEST"], 2), "{pattern:?}");
        assert!(answer.message().contains(why), "{pattern:?}: {}", answer.message());
    }
    assert_eq!(found(&workspace, &["--fixed", "("]).len(), 1);
    assert_eq!(workspace.edt(&["search", "a", "--context", "51"]).codes(), ["BAD_REQUEST"]);
    let huge = "(a{1000}){1000}";
    assert_eq!(workspace.edt(&["search", huge]).codes(), ["BAD_REQUEST"]);
}
