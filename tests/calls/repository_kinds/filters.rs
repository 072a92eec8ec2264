//! Filter drivers: who may run them, what comes out, and what happens when they fail.

use std::path::PathBuf;

use serde_json::json;

use super::{as_git_would, complete_session};
use crate::test_repo::TestRepo;

/// A clean and smudge pair like Git LFS: pointers in blobs, content on disk; objects are in the
/// home directory. Each run adds a line to `ran`.
fn large_files(workspace: &TestRepo) -> (String, String) {
    let (home, ran) = (workspace.home.display(), ran(workspace));
    let store = format!("{home}/store");
    let clean = format!(
        "f() {{ echo clean >> {0}; mkdir -p {store}; t=$(mktemp {store}/tmp.XXXXXX); cat > $t; h=$(sha256sum < $t | cut -d' ' -f1); mv $t {store}/$h; echo pointer $h; }}; f %f",
        ran.display()
    );
    let smudge =
        format!("f() {{ echo smudge >> {0}; read _ h; cat {store}/$h; }}; f %f", ran.display());
    (clean, smudge)
}

fn ran(workspace: &TestRepo) -> PathBuf {
    workspace.home.join("ran")
}

fn runs(workspace: &TestRepo) -> usize {
    std::fs::read_to_string(ran(workspace)).map_or(0, |text| text.lines().count())
}

/// A repository whose `*.big` use the pair, configured in the repository or by the user.
fn workspace(scope: &str) -> TestRepo {
    let workspace = TestRepo::unborn(&[]);
    let (clean, smudge) = large_files(&workspace);
    workspace.git(&["config", scope, "filter.large.clean", &clean]);
    workspace.git(&["config", scope, "filter.large.smudge", &smudge]);
    workspace.git(&["config", scope, "filter.large.required", "true"]);
    workspace.commit(&[
        (".gitattributes", b"*.big filter=large -text\n"),
        ("a.big", b"one\ntwo\n"),
        ("b.txt", b"b\n"),
    ]);
    assert!(workspace.blob("HEAD:a.big").starts_with(b"pointer "));
    as_git_would(&workspace, "setting up");
    workspace
}

const EDIT: &[&str] = &["apply", "a.big", "--mode", "append", "--content", "three\n"];

#[test]
fn a_users_own_filter_runs() {
    let workspace = workspace("--global");
    complete_session(&workspace, "a.big", "two");
    assert!(
        workspace.blob("HEAD:a.big").starts_with(b"pointer ")
            && workspace.text("a.big") == "one\ntwo and more\n"
    );
}

#[test]
fn a_filter_in_the_repositorys_configuration_waits_for_trust() {
    let workspace = workspace("--local");
    workspace.programs_as_user();
    std::fs::remove_file(ran(&workspace)).unwrap();
    let held = workspace.refuses(&["TRUST_REQUIRED"], 4, EDIT);
    assert!(
        held.message().contains("\"large\"") && held.message().contains("clean: f()"),
        "{:#}",
        held.json
    );
    assert!(held.hint().contains("edt trust"));
    workspace.refuses(
        &["TRUST_REQUIRED"],
        4,
        &["apply", "new.big", "--mode", "create", "--content", "x\n"],
    );
    workspace.refuses(&["TRUST_REQUIRED"], 4, &["read", "a.big"]);
    // Other files are not held up, and nothing looks at the filtered one on the way.
    workspace.edt(&["apply", "b.txt", "--mode", "append", "--content", "c\n"]).landed();
    workspace.write("a.big", "changed by hand\n");
    assert_eq!(workspace.edt(&["status"]).json["user_changes"][0]["path"], "a.big");
    assert_eq!(runs(&workspace), 0, "nothing was executed");
    workspace.git(&["checkout", "--", "a.big"]);

    let (exit, screen) = workspace.at_terminal("trust", "no\n");
    assert_eq!(exit, Some(4), "{screen}");
    assert!(screen.contains("filter large") && screen.contains("clean: f()"), "{screen}");
    workspace.refuses(&["TRUST_REQUIRED"], 4, EDIT);
    let (exit, screen) = workspace.at_terminal("trust", "yes\n");
    assert_eq!(exit, Some(0), "{screen}");
    assert_eq!(workspace.edt(&["trust", "--list"]).json["filters"][0]["trust"], "trusted");
    complete_session(&workspace, "a.big", "two");
    // Another command needs new trust.
    workspace.git(&["config", "filter.large.smudge", "cat"]);
    workspace.refuses(&["TRUST_REQUIRED"], 4, EDIT);
}

#[test]
fn a_script_of_the_worktree_that_a_filter_names_is_trusted_as_it_is() {
    let workspace = TestRepo::with(&[
        (".gitattributes", b"*.up filter=up\n"),
        ("up.sh", b"cat\n"),
        ("a.up", b"x\n"),
    ]);
    for way in ["clean", "smudge"] {
        workspace.git(&["config", &format!("filter.up.{way}"), "sh ./up.sh"]);
    }
    let append = ["apply", "a.up", "--mode", "append", "--content", "x\n"];
    workspace.refuses(&["TRUST_REQUIRED"], 4, &append);
    assert_eq!(workspace.at_terminal("trust", "yes\n").0, Some(0));
    workspace.edt(&append).landed();
    workspace.write("up.sh", "touch ran; cat\n");
    workspace.refuses(&["TRUST_REQUIRED"], 4, &append);
    assert!(!workspace.exists("ran"));
}

/// The clean filter of Git LFS: a pointer stays, another text becomes one.
const CLEAN: &str = r#"#!/bin/sh
t=$(mktemp) && cat > "$t"
if tail -n 1 "$t" | grep -q '^size '; then cat "$t"; else
    h=$(sha256sum < "$t" | cut -d' ' -f1)
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' \
        "$h" "$(wc -c < "$t")"
fi
rm "$t"
"#;

#[test]
fn a_pointer_is_not_edited_where_git_checks_out_pointers() {
    let workspace = TestRepo::unborn(&[]);
    let clean = workspace.home.join("clean.sh");
    std::fs::write(&clean, CLEAN).unwrap();
    let clean = format!("sh {}", clean.display());
    workspace.git(&["config", "--global", "filter.lfs.clean", &clean]);
    // As with GIT_LFS_SKIP_SMUDGE.
    workspace.git(&["config", "--global", "filter.lfs.smudge", "cat"]);
    workspace.commit(&[(".gitattributes", b"*.csv filter=lfs -text\n"), ("a.csv", b"1,v\n2,v\n")]);
    std::fs::remove_file(workspace.root.join("a.csv")).unwrap();
    workspace.git(&["checkout", "a.csv"]);
    let pointer = workspace.text("a.csv");
    assert!(pointer.starts_with("version "), "{pointer}");

    let append = ["apply", "a.csv", "--mode", "append", "--content", "3,v\n"];
    let refused = workspace.refuses(&["LFS_POINTER"], 1, &append);
    assert!(refused.hint().contains("git lfs pull"), "{:#}", refused.json);
    let replace = ["apply", "a.csv", "--mode", "overwrite", "--content", "1,w\n"];
    workspace.refuses(&["LFS_POINTER"], 1, &replace);
    let other = pointer.replace("size 8", "size 9");
    workspace.edt(&["apply", "a.csv", "--mode", "overwrite", "--content", &other]).landed();
    assert_eq!(workspace.text("a.csv"), other);
    workspace.edt(&[&replace[..], &["--allow", "lfs_pointer"]].concat()).landed();
    assert!(workspace.blob("HEAD:a.csv").ends_with(b"size 4\n"));
    as_git_would(&workspace, "replaced");
}

#[test]
fn a_filter_that_nothing_defines_does_nothing() {
    let workspace =
        TestRepo::with(&[(".gitattributes", b"*.big filter=nowhere\n"), ("a.big", b"one\ntwo\n")]);
    complete_session(&workspace, "a.big", "two");
    workspace.git(&["config", "--global", "filter.nowhere.required", "true"]);
    let refused = workspace.refuses(&["FILTER_FAILED"], 5, EDIT);
    assert!(refused.message().contains("it is required"), "{:#}", refused.json);
}

#[test]
fn a_filter_that_fails_hangs_or_is_missing_changes_nothing() {
    for (clean, code, said) in [
        ("echo sorry >&2; exit 3", "FILTER_FAILED", "exit status 3 (sorry)"),
        ("kill -9 $$", "FILTER_FAILED", "signal 9"),
        ("sleep 60 & sleep 60", "COMMAND_TIMEOUT", "within 1 s"),
        ("no-such-program-anywhere", "PROGRAM_NOT_FOUND", "was not found"),
    ] {
        let workspace =
            TestRepo::with(&[(".gitattributes", b"*.big filter=bad\n"), ("a.big", b"one\n")]);
        workspace.git(&["config", "--global", "filter.bad.clean", clean]);
        workspace.git(&["config", "edt.filterTimeout", "1"]);
        let refused = workspace.refuses(&[code], 5, EDIT);
        assert!(refused.message().contains(said), "{:#}", refused.json);
    }
}

#[test]
fn a_filter_that_does_not_give_back_what_it_takes_is_refused() {
    let workspace =
        TestRepo::with(&[(".gitattributes", b"*.big filter=strip\n"), ("a.big", b"one\n")]);
    workspace.git(&["config", "--global", "filter.strip.clean", "grep -v secret || true"]);
    workspace.write("a.big", "one\nsecret\n");
    let refused = workspace.refuses(&["UNSUPPORTED_REPOSITORY"], 5, EDIT);
    assert!(refused.message().contains("does not reverse them"), "{:#}", refused.json);
    workspace.write("a.big", "one\n");
    // The restored file is what Git would check out, and the answer says so.
    let landed = workspace
        .edt(&["apply", "a.big", "--mode", "append", "--content", "secret\ntwo\n"])
        .landed();
    assert_eq!(
        (workspace.text("a.big").as_str(), &landed.json["files"][0]["lines_added"]),
        ("one\ntwo\n", &json!(1))
    );
    as_git_would(&workspace, "the edit");
}

/// A filter of the long-running kind, written in Python: it turns letters round by 13 places.
const PROCESS: &str = r#"
import sys, codecs
i, o = sys.stdin.buffer, sys.stdout.buffer
def get():
    out = []
    while True:
        n = i.read(4)
        if not n: sys.exit(0)
        n = int(n, 16)
        if n == 0: return out
        out.append(i.read(n - 4))
def put(*lines):
    for line in lines:
        o.write(b"%04x" % (len(line) + 4) + line)
    o.write(b"0000"); o.flush()
get(); put(b"git-filter-server\n", b"version=2\n")
get(); put(b"capability=clean\n", b"capability=smudge\n")
while True:
    get(); data = b"".join(get())
    data = codecs.encode(data.decode("latin-1"), "rot13").encode("latin-1")
    put(b"status=success\n")
    put(*[data[at:at + 65516] for at in range(0, len(data), 65516)])
    put()
"#;

#[test]
fn a_filter_of_the_long_running_kind() {
    let workspace = TestRepo::unborn(&[]);
    std::fs::write(workspace.home.join("rot13.py"), PROCESS).unwrap();
    workspace.git(&[
        "config",
        "--global",
        "filter.rot.process",
        &format!("python3 {}", workspace.home.join("rot13.py").display()),
    ]);
    workspace.git(&["config", "--global", "filter.rot.required", "true"]);
    let large = "two\n".to_owned() + &"line of a long text\n".repeat(20_000);
    workspace.commit(&[
        (".gitattributes", b"*.rot filter=rot\n"),
        ("a.rot", b"one\ntwo\n"),
        ("large.rot", large.as_bytes()),
    ]);
    assert_eq!(workspace.blob("HEAD:a.rot"), b"bar\ngjb\n");
    as_git_would(&workspace, "setting up");
    workspace
        .edt(&["apply", "a.rot", "--mode", "edit", "--old-text", "two", "--content", "2"])
        .landed();
    assert_eq!(
        (workspace.text("a.rot").as_str(), workspace.blob("HEAD:a.rot")),
        ("one\n2\n", b"bar\n2\n".to_vec())
    );
    workspace.edt(&["undo"]).landed();
    as_git_would(&workspace, "undo");
    workspace.edt(&["apply", "large.rot", "--mode", "append", "--content", "end\n"]).landed();
    as_git_would(&workspace, "a large file");
}

#[test]
fn an_index_that_git_rewrites_runs_no_untrusted_filter() {
    let workspace = workspace("--local");
    workspace.git(&["update-index", "--index-version", "4"]);
    std::fs::remove_file(ran(&workspace)).unwrap();
    workspace.write("a.big", "changed by hand\n");
    workspace.edt(&["apply", "new.txt", "--mode", "create", "--content", "x\n"]).landed();
    assert_eq!(runs(&workspace), 0, "nothing was executed");
}

#[test]
fn a_sessions_own_worktree_runs_no_untrusted_filter() {
    let workspace = workspace("--local");
    std::fs::remove_file(ran(&workspace)).unwrap();
    let side = workspace.at(workspace.root.with_file_name("side"));
    assert_eq!(
        workspace.edt(&["begin", "side", "--worktree", side.root.to_str().unwrap()]).exit,
        0
    );
    assert_eq!(runs(&workspace), 0, "nothing was executed");
    assert!(side.text("a.big").starts_with("pointer "), "Git checked out what it recorded");
    side.refuses(&["TRUST_REQUIRED"], 4, EDIT);
}

/// Regression: only the configuration of the worktree from which it is made was read.
#[test]
fn a_filter_that_only_the_new_worktrees_branch_includes_waits_too() {
    let workspace = workspace("--local");
    workspace.git(&["config", "--rename-section", "filter.large", "not.large"]);
    let smudge = large_files(&workspace).1;
    let included = workspace.home.join("included");
    workspace.git(&[
        "config",
        "--file",
        included.to_str().unwrap(),
        "filter.large.smudge",
        &smudge,
    ]);
    workspace.git(&["config", "includeIf.onbranch:edt/*.path", included.to_str().unwrap()]);
    std::fs::remove_file(ran(&workspace)).unwrap();
    let side = workspace.at(workspace.root.with_file_name("side"));
    assert_eq!(
        workspace.edt(&["begin", "side", "--worktree", side.root.to_str().unwrap()]).exit,
        0
    );
    assert_eq!(runs(&workspace), 0, "nothing was executed");
    assert!(side.text("a.big").starts_with("pointer "), "Git checked out what it recorded");
}

#[test]
fn a_killed_edit_of_a_filtered_file_is_recovered_without_its_filter() {
    // The journal has the bytes on disk: see `crash.rs` for every point of an ordinary edit.
    let workspace = workspace("--global");
    workspace.edt(EDIT).landed();
    let raw = workspace.git(&["hash-object", "--no-filters", "a.big"]);
    assert_eq!(
        workspace.blob(raw.trim()),
        b"one\ntwo\nthree\n",
        "the bytes on disk are an object, too"
    );
}
