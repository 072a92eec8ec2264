//! `edt ls` and `edt search`: what Git itself lists and finds, with every cut told.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::world::{EDT, World, lines};

/// A worktree with everything that a listing can trip over.
fn odd() -> World {
    let world = World::with(&[
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
    let other = World::with(&[("inner.txt", b"alpha\n")]);
    let from = other.root.to_str().unwrap();
    world.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "sub"]);
    world.git(&["commit", "--quiet", "-m", "a submodule"]);
    world.write(".gitignore", "build/\n*.log\n/only-here\n!keep.log\n");
    world.write("src/.gitignore", "*.tmp\n");
    world.write(".git/info/exclude", "excluded\n");
    world.write("../home/.globally", "*.swp\n");
    world.git(&["config", "core.excludesFile", world.home.join(".globally").to_str().unwrap()]);
    for path in ["new.txt", "keep.log", "src/only-here", "new dir/x", "src/new.rs", "intended"] {
        world.write(path, "alpha\n");
    }
    for path in [
        "build/out.txt",
        "x.log",
        "only-here",
        "src/y.tmp",
        "excluded",
        "a.swp",
        "new dir/z.log",
        "src/deep.tmp/whole/folder",
    ] {
        world.write(path, "alpha, ignored\n");
    }
    world.git(&["add", "--intent-to-add", "intended"]);
    std::fs::remove_file(world.root.join("gone.txt")).unwrap();
    std::fs::remove_file(world.root.join("was-a-file")).unwrap();
    world.write("was-a-file/now-a-folder", "alpha\n");
    world.write("src/a.rs", "fn alpha() { changed }\n");
    std::fs::write(world.root.join(OsStr::from_bytes(b"raw-\xff-name")), b"alpha \xfe\n").unwrap();
    symlink("README.md", world.root.join("link")).unwrap();
    symlink("../home", world.root.join("way-out")).unwrap();
    std::fs::create_dir(world.root.join("empty")).unwrap();
    world.git(&["init", "--quiet", "nested"]);
    world.write("nested/inside.txt", "alpha\n");
    let fifo = world.command("mkfifo").arg("pipe").status().unwrap();
    assert!(fifo.success());
    world
}

/// What `git ls-files ARGS -z` lists.
fn git_lists(world: &World, args: &[&str]) -> BTreeSet<String> {
    let done = world.try_git(&[&["ls-files", "-z"], args].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let names = done.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    // A repository of its own is listed as a folder by Git, by its path here.
    names.map(|name| String::from_utf8_lossy(name).trim_end_matches('/').to_owned()).collect()
}

fn entries(world: &World, args: &[&str]) -> Vec<Value> {
    world.edt(&[&["ls", "--max", "100000"], args].concat()).json["entries"]
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
fn what_is_listed_is_what_git_lists() {
    let world = odd();
    let all = ["--cached", "--others", "--exclude-standard"];
    assert_eq!(paths(&entries(&world, &[])), git_lists(&world, &all));
    assert_eq!(paths(&entries(&world, &["."])), git_lists(&world, &all));
    assert_eq!(paths(&entries(&world, &["--tracked"])), git_lists(&world, &["--cached"]));
    assert_eq!(
        paths(&entries(&world, &["--ignored"])),
        git_lists(&world, &["--cached", "--others"])
    );
    for below in
        ["src", "src/", "./src/deep", "new dir", "src/a.rs", "sub", "nested", "was-a-file", "build"]
    {
        let name = below.trim_end_matches('/');
        let args = [all.as_slice(), &["--", name]].concat();
        assert_eq!(paths(&entries(&world, &[below])), git_lists(&world, &args), "{below}");
    }
    assert_eq!(
        paths(
            &world.at(world.root.join("src")).edt(&["ls"]).json["entries"]
                .as_array()
                .unwrap()
                .clone()
        )
        .len(),
        git_lists(&world, &all).len()
    );
}

#[test]
fn the_state_of_each_file_is_what_git_says_of_it() {
    let world = odd();
    let all = entries(&world, &["--ignored"]);
    // That a folder stands in its place is a deletion to `git status`, and a change to `git ls-files`.
    let mut deleted = git_lists(&world, &["--deleted"]);
    deleted.insert("was-a-file".to_owned());
    assert_eq!(of_state(&all, &["deleted"]), deleted);
    assert_eq!(of_state(&all, &["deleted", "changed"]), git_lists(&world, &["--modified"]));
    assert_eq!(of_state(&all, &["new"]), git_lists(&world, &["--others", "--exclude-standard"]));
    let ignored = git_lists(&world, &["--others", "--ignored", "--exclude-standard"]);
    assert_eq!(of_state(&all, &["ignored"]), ignored);
    let entry = |path: &str| all.iter().find(|entry| entry["path"] == path).unwrap().clone();
    let readme = json!({
        "path": "README.md", "lossy": false, "kind": "file", "state": "tracked", "mode": "100644",
        "hash": world.rev("HEAD:README.md"), "bytes": 6, "files": null,
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
    let world = World::with(&[("a.txt", b"one\n"), ("b.txt", b"one\r\ntwo\r\n")]);
    for path in ["a.txt", "b.txt"] {
        let hash = entries(&world, &[path])[0]["hash"].as_str().unwrap().to_owned();
        world
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
        world.is_clean();
        assert_eq!(entries(&world, &[path])[0]["state"], "tracked");
    }
    world.write("a.txt", "else\n");
    let changed = &entries(&world, &["a.txt"])[0];
    assert_eq!([&changed["state"], &changed["hash"]], [&json!("changed"), &Value::Null]);
}

#[test]
fn pages_and_folders_add_up_to_the_whole() {
    let world = odd();
    let whole = entries(&world, &[]);
    let (mut pages, mut skip) = (Vec::new(), 0);
    loop {
        let page = world.edt(&["ls", "--max", "4", "--skip", &skip.to_string()]).json;
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
    let top = entries(&world, &["--depth", "0"]);
    let counted: u64 = top.iter().map(|entry| entry["files"].as_u64().unwrap_or(1)).sum();
    assert_eq!(counted, whole.len() as u64);
    let dirs = entries(&world, &["--dirs", "src"]);
    let told: Vec<_> = dirs
        .iter()
        .map(|entry| (entry["path"].as_str().unwrap(), entry["files"].as_u64().unwrap()))
        .collect();
    assert_eq!(told, [("src/", 5), ("src/deep/", 1), ("src/deep/er/", 1)]);
    assert_eq!(
        paths(&entries(&world, &["--dirs", "src", "--depth", "1"])),
        BTreeSet::from(["src/".to_owned()])
    );
    assert_eq!(paths(&entries(&world, &["--glob", "*.rs", "--glob", "!src/new.rs"])).len(), 2);
}

#[test]
fn a_path_that_is_not_of_this_worktree_is_refused_by_both() {
    let world = odd();
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
            let answer = world.edt(&[command, &[path]].concat());
            assert_eq!(answer.codes(), [code], "{command:?} {path}: {:#}", answer.json);
        }
        let ignored = world.edt(&[command, &["x.log", "empty", "README.md"]].concat()).json;
        assert_eq!(ignored["unlisted"], json!(["x.log", "empty"]), "{command:?}");
    }
    assert_eq!(world.edt(&["ls", "--glob", "a{b"]).codes(), ["BAD_REQUEST"]);
    assert_eq!(
        world.edt(&["search", "--ignored", "ignored", "x.log"]).json["matches"][0]["path"],
        "x.log"
    );
}

#[test]
fn listing_and_searching_work_before_the_first_commit_and_in_a_linked_worktree() {
    let unborn = World::unborn(&[]);
    unborn.write("a.txt", "alpha\n");
    assert_eq!(of_state(&entries(&unborn, &[]), &["new"]), BTreeSet::from(["a.txt".to_owned()]));
    assert_eq!(unborn.edt(&["search", "alpha"]).json["total"]["matches"], 1);
    let world = odd();
    let linked = world.home.parent().unwrap().join("linked");
    world.git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let linked = world.at(linked);
    linked.write("only in the linked one", "alpha\n");
    let all = git_lists(&linked, &["--cached", "--others", "--exclude-standard"]);
    assert_eq!(paths(&entries(&linked, &[])), all);
}

#[test]
fn an_unmerged_path_is_one_entry() {
    let world = World::with(&[("a.txt", b"one\n")]);
    world.git(&["switch", "--quiet", "-c", "other"]);
    world.commit(&[("a.txt", b"two\n")]);
    world.git(&["switch", "--quiet", "main"]);
    world.commit(&[("a.txt", b"three\n")]);
    assert!(!world.try_git(&["merge", "other"]).status.success());
    assert_eq!(entries(&world, &[])[0]["state"], "conflicted");
    assert_eq!(entries(&world, &[]).len(), 1);
}

#[test]
fn a_sparse_checkout_lists_what_it_leaves_out() {
    let world = World::with(&[("in/a.txt", b"alpha\n"), ("out/b.txt", b"alpha\n")]);
    for flags in [["--no-sparse-index"], ["--sparse-index"]] {
        world.git(&["sparse-checkout", "set", "--cone", flags[0], "in"]);
        let all = entries(&world, &[]);
        assert_eq!(
            of_state(&all, &["not_checked_out"]),
            BTreeSet::from(["out/b.txt".to_owned()]),
            "{flags:?}"
        );
        assert_eq!(of_state(&all, &["tracked"]), BTreeSet::from(["in/a.txt".to_owned()]));
        assert_eq!(world.edt(&["search", "alpha"]).json["total"]["searched"], 1);
    }
}

/// What `git grep` finds in tracked and in new files: path, line, column, text.
fn git_finds(world: &World, args: &[&str]) -> Vec<(String, u64, u64, String)> {
    // With `--untracked` it leaves out tracked files that a rule ignores.
    let grep = |which: &[&'static str]| {
        let grep =
            [&["grep", "-I", "--null", "--line-number", "--column", "--no-color", "-E"], which]
                .concat();
        String::from_utf8_lossy(&world.try_git(&[grep.as_slice(), args].concat()).stdout)
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

fn found(world: &World, args: &[&str]) -> Vec<(String, u64, u64, String)> {
    let all = world.edt(&[&["search", "--max-matches", "100000"], args].concat()).json;
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
fn what_is_found_is_what_git_grep_finds() {
    let world = odd();
    world.write("crlf.txt", "one alpha\r\nalpha\r\ntwo\r\n");
    world.write("many.txt", lines(300));
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
        let expected = git_finds(&world, gits);
        assert!(!expected.is_empty(), "{gits:?}");
        assert_eq!(found(&world, ours), expected, "{ours:?}");
    }
    // Where Git looks at CR as a part of the line, edt does not.
    assert_eq!(found(&world, &["alpha$", "crlf.txt"]).len(), 2);
    assert_eq!(found(&world, &["-S", "Alpha"]), []);
    assert_eq!(world.edt(&["search", "nothing like this"]).exit, 0);
}

#[test]
fn what_is_not_searched_is_counted_and_links_and_pipes_are_not_entered() {
    let world = odd();
    world.write("nul.bin", b"alpha\0beta\n");
    let told = world.edt(&["search", "alpha"]).json;
    let skipped =
        json!({"binary": 1, "too_large": 0, "unreadable": 0, "links": 2, "repositories": 2});
    assert_eq!(told["skipped"], skipped);
    let names: BTreeSet<&str> = told["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert!(names.iter().all(|name| !name.starts_with(".git/")
        && !name.starts_with("way-out")
        && !name.starts_with("sub/")));
    let raw = told["matches"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["path"] == "raw-\u{fffd}-name")
        .unwrap();
    assert_eq!([&raw["text"], &raw["lossy"]], [&json!("alpha \u{fffd}"), &json!(true)]);
    world.write(".ignore", "*.md\n/src/deep/\n");
    world.write("src/.ignore", "!a.rs\n");
    let left = found(&world, &["alpha"]);
    assert!(
        left.iter().all(|(path, ..)| path != "README.md" && !path.starts_with("src/deep")),
        "{left:?}"
    );
    assert_eq!(found(&world, &["alpha", "README.md"]).len(), 1, "a file that is named is searched");
}

#[test]
fn a_long_line_is_shown_around_its_match_and_the_cut_is_told() {
    let world = World::with(&[]);
    let line = format!("{}\u{e4}needle\u{e4}{}\n", "x".repeat(100_000), "\u{e4}".repeat(50_000));
    world.write("min.js", &line);
    let one = &world.edt(&["search", "needle", "--max-columns", "101"]).json;
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
    world.write("bom.txt", "\u{feff}needle\n");
    assert_eq!(found(&world, &["^needle$"]), [("bom.txt".to_owned(), 1, 1, "needle".to_owned())]);
}

#[test]
fn pages_of_matches_add_up_to_the_whole() {
    let world = odd();
    world.write("many.txt", lines(700));
    let whole = found(&world, &["a(lpha| text)"]);
    for limit in [["--max-matches", "97"], ["--max-bytes", "1000"]] {
        let (mut pages, mut skip) = (Vec::new(), 0);
        loop {
            let page = world
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
        world.edt(&["search", "alpha", "--files", "--max-matches", "2", "--skip", "1"]).json;
    let all = world.edt(&["search", "alpha", "--files"]).json["files"].clone();
    assert_eq!([&names["files"][0], &names["files"][1]], [&all[1], &all[2]]);
    assert_eq!((&names["next_skip"], &names["matches"]), (&json!(3), &json!([])));
    assert_eq!(names["total"]["files"], json!(all.as_array().unwrap().len()));
}

#[test]
fn each_line_of_context_is_shown_once() {
    let world = World::with(&[("a.txt", lines(12).as_bytes())]);
    let told = world.edt(&["search", "line (3|5|12) ", "--context", "2"]).json;
    let around = |one: &Value, key: &str| {
        one[key].as_array().unwrap().iter().map(|line| line["line"].as_u64().unwrap()).collect()
    };
    let shown: Vec<(Vec<u64>, u64, Vec<u64>)> = told["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (around(one, "before"), one["line"].as_u64().unwrap(), around(one, "after")))
        .collect();
    assert_eq!(
        shown,
        [(vec![1, 2], 3, vec![4]), (vec![], 5, vec![6, 7]), (vec![10, 11], 12, vec![])]
    );
    let people =
        world.command(EDT).args(["search", "line (3|5|12) ", "--context", "1"]).output().unwrap();
    let people = String::from_utf8(people.stdout).unwrap();
    let body: Vec<&str> = people.lines().collect();
    assert_eq!(
        body[..3],
        ["a.txt-2- line 2 of a text", "a.txt:3:1: line 3 of a text", "a.txt-4- line 4 of a text"]
    );
    assert_eq!(body.last().unwrap(), &"… 3 matching lines in 1 of 1 files");
}

#[test]
fn a_pattern_that_cannot_be_read_is_refused_with_the_reason() {
    let world = World::with(&[("a.txt", b"(\n")]);
    for (pattern, why) in [
        ("(", "unclosed group"),
        ("a(?=b)", "look-around"),
        ("", "empty"),
        ("a\nb", "\\n"),
        ("[z-a]", "range"),
    ] {
        let answer = world.edt(&["search", pattern]);
        assert_eq!((answer.codes(), answer.exit), (vec!["BAD_REQUEST"], 2), "{pattern:?}");
        assert!(answer.message().contains(why), "{pattern:?}: {}", answer.message());
    }
    assert_eq!(found(&world, &["--fixed", "("]).len(), 1);
    assert_eq!(world.edt(&["search", "a", "--context", "51"]).codes(), ["BAD_REQUEST"]);
    let huge = "(a{1000}){1000}";
    assert_eq!(world.edt(&["search", huge]).codes(), ["BAD_REQUEST"]);
}
