//! Repositories made to exhaust: exploding and deep trees, huge objects, long messages. Every call
//! answers with a code or does its work, within 512 MiB for edt and for each Git that it starts.

use std::io::Write as _;

use crate::content_limits::{Cost, measured};
use crate::test_repo::TestRepo;

const MIB: u64 = 512;

/// The answer of `edt args`, which may use 512 MiB of address space.
#[track_caller]
fn bounded(workspace: &TestRepo, stdin: &str, args: &[&str]) -> Cost {
    measured(workspace, stdin.as_bytes(), args, MIB).answered(&args.join(" "))
}

#[track_caller]
fn script(workspace: &TestRepo, script: &str) -> String {
    let out = workspace.command("sh").args(["-ec", script]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

/// Pushes `new` over HEAD, as far as the hook sees.
#[track_caller]
fn pushed(workspace: &TestRepo, new: &str) -> Cost {
    let input = format!("{} {new} refs/heads/main\n", workspace.rev("HEAD"));
    bounded(workspace, &input, &["hook", "pre-receive"])
}

/// Ten entries of each tree are the same subtree: 10,000,000,000 files in eleven objects.
#[test]
fn a_tree_of_equal_trees_is_refused() {
    let refusals: Vec<fn(&TestRepo, &str) -> Cost> = vec![
        |workspace, bomb| bounded(workspace, "", &["show", bomb]),
        |workspace, bomb| {
            workspace.git(&["update-ref", "HEAD", bomb]);
            bounded(workspace, "", &["status"])
        },
        |workspace, bomb| {
            workspace.git(&["branch", "deep", bomb]);
            workspace.edt(&["begin"]).landed();
            workspace.overwrite("a.txt", "two\n").landed();
            bounded(workspace, "", &["land", "--into", "deep"])
        },
        pushed,
        |workspace, bomb| {
            workspace.git(&["update-ref", "HEAD", bomb]);
            bounded(workspace, "", &["hook", "pre-commit"])
        },
    ];
    for refusal in edt_testkit::share(refusals, 1) {
        let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
        let bomb = script(
            &workspace,
            r#"t=$(git rev-parse HEAD^{tree})
            for level in 0 1 2 3 4 5 6 7 8 9; do
                t=$(for n in 0 1 2 3 4 5 6 7 8 9; do printf "040000 tree $t\td$n\n"; done | git mktree)
            done
            git commit-tree $t -p HEAD -m many"#,
        );
        assert_eq!(refusal(&workspace, &bomb).codes, ["UNSUPPORTED_REPOSITORY"]);
    }
}

#[test]
fn hooks_refuse_a_tree_of_too_many_levels() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let deep = script(
        &workspace,
        r#"t=$(git rev-parse HEAD^{tree})
        i=0; while [ $i -lt 300 ]; do
            t=$(printf "040000 tree $t\td\n" | git mktree); i=$((i + 1))
        done
        git config core.maxTreeDepth 200
        git commit-tree $t -p HEAD -m deep"#,
    );
    assert_eq!(pushed(&workspace, &deep).codes, ["UNSUPPORTED_REPOSITORY"]);
}

/// Regression: the walk for untracked files overflowed its stack.
#[test]
fn very_deep_directories_are_listed() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let deep = vec!["d"; 1500].join("/");
    script(&workspace, &format!("mkdir -p {deep}; echo x > {deep}/f"));
    for args in [&["status"][..], &["ls"], &["diff", "--worktree"], &["begin"], &["checkpoint"]] {
        assert_eq!(bounded(&workspace, "", args).codes, [""; 0], "{args:?}");
    }
}

/// Regression: a blob of any size was read, and edt crashed without memory.
#[test]
fn a_small_object_of_gigabytes_is_refused_by_its_size() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    // A loose object with the header of a blob of 3 GB: its content is never reached.
    let id = "1".repeat(40);
    let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    write!(stream, "blob {}\0", 3_u64 << 30).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..64 {
        stream.write_all(&zeros).unwrap();
    }
    let directory = workspace.root.join(".git/objects/11");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(&id[2..]), stream.finish().unwrap()).unwrap();
    let bomb = script(
        &workspace,
        &format!(
            r#"t=$( (git ls-tree HEAD; printf "100644 blob {id}\tz.txt\n") | git mktree --missing)
            git commit-tree $t -p HEAD -m huge"#
        ),
    );
    workspace.git(&["update-ref", "HEAD", &bomb]);
    workspace.write("z.txt", "small\n");
    for args in [&["status"][..], &["show", "HEAD"], &["begin"], &["diff", "--worktree"]] {
        assert_eq!(bounded(&workspace, "", args).codes, [""; 0], "{args:?}");
    }
    let cost = bounded(&workspace, "", &["apply", "z.txt", "--mode", "append", "--content", "x"]);
    assert_eq!(cost.codes, ["FILE_TOO_LARGE"]);
}

#[test]
fn a_long_message_is_shown_in_part() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let long = script(
        &workspace,
        "(echo subject; echo; yes 'a line' | head -c 20000000) | git commit-tree HEAD^{tree} -p HEAD",
    );
    let cost = bounded(&workspace, "", &["show", &long]);
    let shown = cost.json["message"].as_str().unwrap();
    assert!(shown.starts_with("subject\n") && shown.len() < 70_000, "{}", shown.len());
    assert!(shown.ends_with("prints all of it."), "{}", &shown[shown.len() - 100..]);
    assert_eq!(pushed(&workspace, &long).codes, [""; 0]);
    workspace.git(&["update-ref", "HEAD", &long]);
    for args in [&["hook", "pre-commit"][..], &["status"], &["begin"], &["log"]] {
        assert_eq!(bounded(&workspace, "", args).codes, [""; 0], "{args:?}");
    }
}

/// Regression: a hook had the texts of all changed files in memory, twice.
#[test]
fn a_hook_judges_large_changes_in_parts() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    script(
        &workspace,
        r#"yes "$(printf 'a word %.0s' $(seq 30))" | head -c 40000000 > 1.txt; for n in 2 3 4 5; do cp 1.txt $n.txt; done
        for n in 1 2 3 4 5; do echo $n >> $n.txt; done
        for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $n > small$n; done
        git -c core.compression=0 add . && git commit -qm large"#,
    );
    let changed = script(
        &workspace,
        r"git rm -q 'small*'; for n in 1 2 3 4 5; do echo more >> $n.txt; done
        git -c core.compression=0 add . && git commit -qm changed
        git rev-parse HEAD; git reset -q --soft HEAD~1",
    );
    assert_eq!(pushed(&workspace, &changed).codes, ["MASS_DELETION"]);
    workspace.git(&["reset", "-q", "HEAD", "--", "small1", "small2"]);
    assert_eq!(bounded(&workspace, "", &["hook", "pre-commit"]).codes, [""; 0]);
}
