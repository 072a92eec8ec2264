//! Filter drivers: who may run them, what comes out, and what happens when they fail.

use std::path::PathBuf;

use serde_json::json;

use super::{as_git_would, whole_session};
use crate::trust::at_terminal;
use crate::world::World;

/// A clean and smudge pair like Git LFS: pointers in blobs, content on disk; objects are kept in the home folder. Each run leaves a line in `ran`.
fn large_files(world: &World) -> (String, String) {
    let (home, ran) = (world.home.display(), ran(world));
    let store = format!("{home}/store");
    let clean = format!(
        "f() {{ echo clean >> {0}; mkdir -p {store}; t=$(mktemp {store}/tmp.XXXXXX); cat > $t; h=$(sha256sum < $t | cut -d' ' -f1); mv $t {store}/$h; echo pointer $h; }}; f %f",
        ran.display()
    );
    let smudge =
        format!("f() {{ echo smudge >> {0}; read _ h; cat {store}/$h; }}; f %f", ran.display());
    (clean, smudge)
}

fn ran(world: &World) -> PathBuf {
    world.home.join("ran")
}

fn runs(world: &World) -> usize {
    std::fs::read_to_string(ran(world)).map_or(0, |text| text.lines().count())
}

/// A repository whose `*.big` go through the pair, defined in the repository's own configuration or in the person's.
fn world(scope: &str) -> World {
    let world = World::unborn(&[]);
    let (clean, smudge) = large_files(&world);
    world.git(&["config", scope, "filter.large.clean", &clean]);
    world.git(&["config", scope, "filter.large.smudge", &smudge]);
    world.git(&["config", scope, "filter.large.required", "true"]);
    world.commit(&[
        (".gitattributes", b"*.big filter=large -text\n"),
        ("a.big", b"one\ntwo\n"),
        ("b.txt", b"b\n"),
    ]);
    assert!(world.blob("HEAD:a.big").starts_with(b"pointer "));
    as_git_would(&world, "setting up");
    world
}

const EDIT: &[&str] = &["apply", "a.big", "--mode", "append", "--content", "three\n"];

#[test]
fn a_persons_own_filter_runs() {
    let world = world("--global");
    whole_session(&world, "a.big", "two");
    assert!(
        world.blob("HEAD:a.big").starts_with(b"pointer ")
            && world.text("a.big") == "one\ntwo and more\n"
    );
}

#[test]
fn a_filter_of_the_repositorys_own_configuration_waits_for_a_person() {
    let world = world("--local");
    std::fs::remove_file(ran(&world)).unwrap();
    let held = world.refuses(&["TRUST_REQUIRED"], 4, EDIT);
    assert!(
        held.message().contains("\"large\"") && held.message().contains("clean: f()"),
        "{:#}",
        held.json
    );
    assert!(held.hint().contains("edt trust"));
    world.refuses(
        &["TRUST_REQUIRED"],
        4,
        &["apply", "new.big", "--mode", "create", "--content", "x\n"],
    );
    world.refuses(&["TRUST_REQUIRED"], 4, &["read", "a.big"]);
    // Other files are not held up, and nothing looks at the filtered one on the way.
    world.edt(&["apply", "b.txt", "--mode", "append", "--content", "c\n"]).landed();
    world.write("a.big", "changed by hand\n");
    assert_eq!(world.edt(&["status"]).json["uncommitted"], json!(["a.big"]));
    assert_eq!(runs(&world), 0, "nothing was executed");
    world.git(&["checkout", "--", "a.big"]);

    let (exit, screen) = at_terminal(&world, "no\n");
    assert_eq!(exit, Some(4), "{screen}");
    assert!(screen.contains("filter large") && screen.contains("clean: f()"), "{screen}");
    world.refuses(&["TRUST_REQUIRED"], 4, EDIT);
    let (exit, screen) = at_terminal(&world, "yes\n");
    assert_eq!(exit, Some(0), "{screen}");
    assert_eq!(world.edt(&["trust", "--list"]).json["filters"][0]["trust"], "given");
    whole_session(&world, "a.big", "two");
    // Another command needs new trust.
    world.git(&["config", "filter.large.smudge", "cat"]);
    world.refuses(&["TRUST_REQUIRED"], 4, EDIT);
}

#[test]
fn a_script_of_the_worktree_that_a_filter_names_is_trusted_as_it_is() {
    let world = World::with(&[
        (".gitattributes", b"*.up filter=up\n"),
        ("up.sh", b"cat\n"),
        ("a.up", b"x\n"),
    ]);
    for way in ["clean", "smudge"] {
        world.git(&["config", &format!("filter.up.{way}"), "sh ./up.sh"]);
    }
    let append = ["apply", "a.up", "--mode", "append", "--content", "x\n"];
    world.refuses(&["TRUST_REQUIRED"], 4, &append);
    assert_eq!(at_terminal(&world, "yes\n").0, Some(0));
    world.edt(&append).landed();
    world.write("up.sh", "touch ran; cat\n");
    world.refuses(&["TRUST_REQUIRED"], 4, &append);
    assert!(!world.exists("ran"));
}

#[test]
fn a_filter_that_nothing_defines_does_nothing() {
    let world =
        World::with(&[(".gitattributes", b"*.big filter=nowhere\n"), ("a.big", b"one\ntwo\n")]);
    whole_session(&world, "a.big", "two");
    world.git(&["config", "--global", "filter.nowhere.required", "true"]);
    let refused = world.refuses(&["FILTER_FAILED"], 5, EDIT);
    assert!(refused.message().contains("it is required"), "{:#}", refused.json);
}

#[test]
fn a_filter_that_fails_hangs_or_is_missing_changes_nothing() {
    for (clean, code, said) in [
        ("echo sorry >&2; exit 3", "FILTER_FAILED", "exit status 3 (sorry)"),
        ("kill -9 $$", "FILTER_FAILED", "signal 9"),
        ("sleep 60 & sleep 60", "COMMAND_TIMEOUT", "within 1 s"),
        ("no-such-program-anywhere", "PROGRAM_NOT_FOUND", "not there"),
    ] {
        let world = World::with(&[(".gitattributes", b"*.big filter=bad\n"), ("a.big", b"one\n")]);
        world.git(&["config", "--global", "filter.bad.clean", clean]);
        world.git(&["config", "edt.filterTimeout", "1"]);
        let refused = world.refuses(&[code], 5, EDIT);
        assert!(refused.message().contains(said), "{:#}", refused.json);
    }
}

#[test]
fn a_filter_that_does_not_give_back_what_it_takes_is_refused() {
    let world = World::with(&[(".gitattributes", b"*.big filter=strip\n"), ("a.big", b"one\n")]);
    world.git(&["config", "--global", "filter.strip.clean", "grep -v secret || true"]);
    world.write("a.big", "one\nsecret\n");
    let refused = world.refuses(&["UNSUPPORTED_REPOSITORY"], 5, EDIT);
    assert!(refused.message().contains("does not give back"), "{:#}", refused.json);
    world.write("a.big", "one\n");
    // What comes back is what Git would check out, and the answer says so.
    let landed =
        world.edt(&["apply", "a.big", "--mode", "append", "--content", "secret\ntwo\n"]).landed();
    assert_eq!(
        (world.text("a.big").as_str(), &landed.json["files"][0]["lines_added"]),
        ("one\ntwo\n", &json!(1))
    );
    as_git_would(&world, "the edit");
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
    let world = World::unborn(&[]);
    std::fs::write(world.home.join("rot13.py"), PROCESS).unwrap();
    world.git(&[
        "config",
        "--global",
        "filter.rot.process",
        &format!("python3 {}", world.home.join("rot13.py").display()),
    ]);
    world.git(&["config", "--global", "filter.rot.required", "true"]);
    let large = "two\n".to_owned() + &"line of a long text\n".repeat(20_000);
    world.commit(&[
        (".gitattributes", b"*.rot filter=rot\n"),
        ("a.rot", b"one\ntwo\n"),
        ("large.rot", large.as_bytes()),
    ]);
    assert_eq!(world.blob("HEAD:a.rot"), b"bar\ngjb\n");
    as_git_would(&world, "setting up");
    world
        .edt(&["apply", "a.rot", "--mode", "edit", "--old-text", "two", "--content", "2"])
        .landed();
    assert_eq!(
        (world.text("a.rot").as_str(), world.blob("HEAD:a.rot")),
        ("one\n2\n", b"bar\n2\n".to_vec())
    );
    world.edt(&["undo"]).landed();
    as_git_would(&world, "undo");
    world.edt(&["apply", "large.rot", "--mode", "append", "--content", "end\n"]).landed();
    as_git_would(&world, "a large file");
}

#[test]
fn an_index_that_git_rewrites_runs_no_filter_that_nobody_trusts() {
    let world = world("--local");
    world.git(&["update-index", "--index-version", "4"]);
    std::fs::remove_file(ran(&world)).unwrap();
    world.write("a.big", "changed by hand\n");
    world.edt(&["apply", "new.txt", "--mode", "create", "--content", "x\n"]).landed();
    assert_eq!(runs(&world), 0, "nothing was executed");
}

#[test]
fn a_worktree_of_a_session_of_its_own_runs_no_filter_that_nobody_trusts() {
    let world = world("--local");
    std::fs::remove_file(ran(&world)).unwrap();
    let side = world.at(world.root.with_file_name("side"));
    assert_eq!(world.edt(&["begin", "side", "--worktree", side.root.to_str().unwrap()]).exit, 0);
    assert_eq!(runs(&world), 0, "nothing was executed");
    assert!(side.text("a.big").starts_with("pointer "), "Git checked out what it recorded");
    side.refuses(&["TRUST_REQUIRED"], 4, EDIT);
}

/// Once only the configuration of the worktree that it is made from was asked.
#[test]
fn a_filter_that_only_the_new_worktrees_branch_includes_waits_too() {
    let world = world("--local");
    world.git(&["config", "--rename-section", "filter.large", "not.large"]);
    let smudge = large_files(&world).1;
    let included = world.home.join("included");
    world.git(&["config", "--file", included.to_str().unwrap(), "filter.large.smudge", &smudge]);
    world.git(&["config", "includeIf.onbranch:edt/*.path", included.to_str().unwrap()]);
    std::fs::remove_file(ran(&world)).unwrap();
    let side = world.at(world.root.with_file_name("side"));
    assert_eq!(world.edt(&["begin", "side", "--worktree", side.root.to_str().unwrap()]).exit, 0);
    assert_eq!(runs(&world), 0, "nothing was executed");
    assert!(side.text("a.big").starts_with("pointer "), "Git checked out what it recorded");
}

#[test]
fn a_killed_edit_of_a_filtered_file_is_settled_without_its_filter() {
    // The journal carries the bytes on disk: see `crash.rs` for every point of an ordinary edit.
    let world = world("--global");
    world.edt(EDIT).landed();
    let raw = world.git(&["hash-object", "--no-filters", "a.big"]);
    assert_eq!(
        world.blob(raw.trim()),
        b"one\ntwo\nthree\n",
        "the bytes on disk are an object, too"
    );
}
