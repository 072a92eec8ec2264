//! Every kind of repository, with plain Git and edt in turn.

use std::path::Path;

use serde_json::json;

use crate::test_repo::{EDT, TestRepo, lines};

/// The bytes of the index.
fn index(workspace: &TestRepo) -> Vec<u8> {
    std::fs::read(workspace.git_dir("--git-dir").join("index")).unwrap()
}

/// The version of the index.
fn version(index: &[u8]) -> u32 {
    u32::from_be_bytes(index[4..8].try_into().unwrap())
}

/// The signatures of the index's extensions, found backwards from the entries that Git lists.
fn extensions(workspace: &TestRepo) -> Vec<String> {
    let bytes = index(workspace);
    let hash_len = if workspace.rev("HEAD").len() == 64 { 32 } else { 20 };
    let count = u32::from_be_bytes(bytes[8..12].try_into().unwrap());
    let mut at = 12;
    for _ in 0..count {
        let flags =
            u16::from_be_bytes(bytes[at + 40 + hash_len..at + 42 + hash_len].try_into().unwrap());
        let name = at + 42 + hash_len + if flags & 0x4000 == 0 { 0 } else { 2 };
        if version(&bytes) == 4 {
            let mut strip = name;
            while bytes[strip] & 0x80 != 0 {
                strip += 1;
            }
            at = strip + 1 + bytes[strip + 1..].iter().position(|&b| b == 0).unwrap() + 1;
        } else {
            let len = bytes[name..].iter().position(|&b| b == 0).unwrap();
            at += (name + len - at + 8) & !7;
        }
    }
    let mut found = Vec::new();
    while at < bytes.len() - hash_len {
        found.push(String::from_utf8_lossy(&bytes[at..at + 4]).into_owned());
        at += 8 + u32::from_be_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
    }
    assert_eq!(at, bytes.len() - hash_len, "the index ends where its extensions do");
    found
}

/// `git ls-files --stage --debug` without the entries of `paths`.
fn entries(workspace: &TestRepo, paths: &[&str]) -> Vec<String> {
    let all = workspace.git(&["ls-files", "--stage", "--debug", "-z"]);
    let mut found = Vec::new();
    // With -z the stat lines of an entry come before the next entry's mode.
    for entry in all.split("  ctime: ").collect::<Vec<_>>().windows(2) {
        let head = entry[0].rsplit('\n').next().unwrap().to_owned();
        let name = head.split('\t').nth(1).unwrap_or_default().trim_end_matches('\0').to_owned();
        let stat = entry[1].rsplit_once('\n').map_or("", |(stat, _)| stat);
        // The bit that Git keeps in memory for a split index.
        let stat = stat.replace("flags: 8000000", "flags: 0");
        if !paths.contains(&name.as_str()) {
            found.push(format!("{head} {stat}"));
        }
    }
    found
}

/// A complete small session: edit, create in a new directory, delete, rename; then undo all, redo
/// all. Git must find nothing to complain of after each step, and the index keeps its version,
/// extensions and every other entry.
pub(crate) fn works(workspace: &TestRepo) {
    works_with(workspace, Stats::Fresh);
}

/// Whether the stats of touched entries must be right without a refresh.
#[derive(PartialEq)]
enum Stats {
    Fresh,
    /// Where `git update-index` did the work: see
    /// `an_index_that_git_rewrites_needs_no_refresh_either`.
    Refreshed,
}

fn works_with(workspace: &TestRepo, stats: Stats) {
    const TOUCHED: &[&str] = &["a.txt", "dir/new.txt", "b.txt", "c.txt", "dir/c.txt"];
    let before = (entries(workspace, TOUCHED), version(&index(workspace)), extensions(workspace));
    let keeps = |step: &str| {
        eprintln!("after {step}");
        if stats == Stats::Refreshed {
            workspace.git(&["update-index", "-q", "--refresh"]);
        }
        workspace.is_clean();
        let now = (entries(workspace, TOUCHED), version(&index(workspace)), extensions(workspace));
        assert_eq!(now.0, before.0, "other entries after {step}");
        assert_eq!(now.1, before.1, "index version after {step}");
        // The extensions of resolved conflicts and of offsets may be dropped when they are empty;
        // these may not.
        let lost: Vec<&String> = before.2.iter().filter(|sign| !now.2.contains(sign)).collect();
        assert_eq!(
            lost,
            Vec::<&String>::new(),
            "extensions lost after {step}: {:?} -> {:?}",
            before.2,
            now.2
        );
    };
    let base = workspace.try_git(&["rev-parse", "HEAD"]).stdout;
    let start = workspace.files();
    let steps = [
        json!({"path": "a.txt", "mode": "append", "content": "more\n"}),
        json!({"path": "dir/new.txt", "mode": "create", "content": "new\n"}),
        json!({"path": "a.txt", "mode": "edit", "old_text": "more", "content": "less"}),
        json!({"edits": [{"path": "b.txt", "mode": "delete"}, {"path": "c.txt", "mode": "rename", "to": "dir/c.txt"}]}),
    ];
    for step in &steps {
        workspace.apply(step).landed();
        keeps(&step.to_string());
    }
    let end = workspace.files();
    workspace.edt(&["undo", "4"]).landed();
    keeps("undo");
    assert_eq!(workspace.try_git(&["rev-parse", "HEAD"]).stdout, base);
    let mut files = workspace.files();
    files.remove("dir");
    assert_eq!(files, start, "undo 4");
    workspace.edt(&["redo"]).landed();
    keeps("redo");
    assert_eq!(workspace.files(), end, "redo");
    workspace.is_sound();
    assert_eq!(workspace.locks(), Vec::<String>::new());
}

/// Files for [`works`], with others around them in the index.
pub(crate) fn files() -> Vec<(&'static str, &'static [u8])> {
    vec![
        ("0-first.txt", b"first\n"),
        ("a.txt", b"a\n"),
        ("b.txt", b"b\n"),
        ("c.txt", b"c\n"),
        ("other/x.txt", b"x\n"),
        ("z-last.txt", b"last\n"),
    ]
}

/// A repository with settings, whose index was written under them.
fn configured(settings: &[(&str, &str)]) -> TestRepo {
    let workspace = TestRepo::with(&files());
    settings.iter().for_each(|(key, value)| drop(workspace.git(&["config", key, value])));
    workspace.git(&["update-index", "--force-write-index"]);
    workspace
}

#[test]
fn an_ordinary_repository() {
    let workspace = TestRepo::with(&files());
    works(&workspace);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.git(&["merge", "--quiet", "--squash", "edt/main-1"]);
    workspace.git(&["commit", "--quiet", "-m", "the work"]);
    assert_eq!(workspace.rev("main^{tree}"), workspace.rev("edt/main-1^{tree}"));
    assert_eq!(workspace.git(&["rev-list", "--count", "main"]), "2\n");
    workspace.is_clean();
}

#[test]
fn after_git_reset_keep_edt_continues() {
    let workspace = TestRepo::with(&files());
    workspace.overwrite("a.txt", "two\n");
    workspace.overwrite("a.txt", "three\n");
    workspace.git(&["reset", "--quiet", "--keep", "HEAD~1"]);
    assert_eq!(workspace.text("a.txt"), "two\n");
    workspace.is_clean();
    let answer =
        workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "and on\n"]).landed();
    assert_eq!(
        (workspace.text("a.txt").as_str(), &answer.json["edit"]),
        ("two\nand on\n", &json!(3))
    );
    workspace.edt(&["undo", "2"]).landed();
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.rev("HEAD")),
        ("a\n", workspace.rev("main"))
    );
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn an_empty_repository_gets_its_first_files_and_loses_them_again() {
    let workspace = TestRepo::unborn(&[]);
    workspace.edt(&["apply", "dir/a.txt", "--mode", "create", "--content", "one\n"]).landed();
    workspace.edt(&["apply", "b.txt", "--mode", "create", "--content", "b\n"]).landed();
    assert_eq!(workspace.git(&["ls-files"]), "b.txt\ndir/a.txt\n");
    workspace.is_clean();
    workspace.is_sound();
    workspace.edt(&["undo", "2"]).landed();
    let left: Vec<String> = workspace.files().into_keys().filter(|path| path != "dir").collect();
    assert_eq!(left, Vec::<String>::new());
    assert_eq!((workspace.git(&["ls-files"]).as_str(), workspace.status().as_str()), ("", ""));
    workspace.edt(&["redo"]).landed();
    assert_eq!(workspace.text("dir/a.txt"), "one\n");
    workspace.is_clean();
}

#[test]
fn a_detached_head() {
    let workspace = TestRepo::with(&files());
    workspace.git(&["switch", "--quiet", "--detach"]);
    works(&workspace);
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/detached-1\n");
    workspace.git(&["switch", "--quiet", "main"]);
    assert_eq!(workspace.text("a.txt"), "a\n");
}

#[test]
fn packed_refs_between_edits() {
    let workspace = TestRepo::with(&files());
    for n in 0..4 {
        workspace
            .edt(&["apply", "a.txt", "--mode", "append", "--content", &format!("{n}\n")])
            .landed();
        workspace.git(&["pack-refs", "--all", "--prune"]);
    }
    workspace.edt(&["undo", "2"]).landed();
    workspace.git(&["pack-refs", "--all", "--prune"]);
    workspace.git(&["gc", "--quiet", "--prune=now"]);
    workspace.edt(&["redo"]).landed();
    assert_eq!(workspace.text("a.txt"), "a\n0\n1\n2\n3\n");
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn ten_thousand_packed_refs() {
    let workspace = TestRepo::with(&files());
    let oid = workspace.rev("HEAD");
    let refs: String = (0..10_000).map(|n| format!("{oid} refs/tags/t{n:05}\n")).collect();
    let text = format!("# pack-refs with: peeled fully-peeled sorted \n{refs}");
    std::fs::write(workspace.root.join(".git/packed-refs"), text).unwrap();
    works(&workspace);
    assert_eq!(workspace.git(&["tag"]).lines().count(), 10_000);
}

#[test]
fn sha256_objects() {
    let workspace = TestRepo::made(&["--object-format=sha256"], &files());
    works(&workspace);
    assert_eq!(workspace.rev("HEAD").len(), 64);
}

#[test]
fn a_bare_repository_is_refused_untouched() {
    let workspace = TestRepo::unborn(&["--bare"]);
    workspace.refuses(
        &["UNSUPPORTED_REPOSITORY"],
        5,
        &["apply", "a.txt", "--mode", "create", "--content", "x\n"],
    );
    assert!(!workspace.exists("edt"));
}

#[test]
fn a_linked_worktree_has_a_session_of_its_own() {
    let main = TestRepo::with(&files());
    let linked = main.root.with_file_name("linked");
    main.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let side = main.at(linked);
    let before = main.files();
    works(&side);
    assert_eq!(main.files(), before);
    assert_eq!(side.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/side-1\n");
    works(&main);
    assert_eq!(main.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/main-1\n");
    side.is_clean();
}

#[test]
fn without_switching_head_and_index_stay_and_edits_show_as_uncommitted() {
    let workspace = TestRepo::with(&files());
    workspace.write("b.txt", "staged\n");
    workspace.git(&["add", "b.txt"]);
    let stays = || {
        (
            index(&workspace),
            std::fs::read(workspace.root.join(".git/HEAD")).unwrap(),
            workspace.rev("main"),
        )
    };
    let before = stays();
    workspace.edt(&["begin", "other", "--no-switch"]).landed();
    workspace.overwrite("a.txt", "two\n");
    workspace
        .apply(&json!({"edits": [
            {"path": "new.txt", "mode": "create", "content": "new\n"}, {"path": "c.txt", "mode": "delete"},
        ]}))
        .landed();
    assert!(stays() == before, "HEAD, the index and main are the same");
    assert_eq!(workspace.status(), " M a.txt\nM  b.txt\n D c.txt\n?? new.txt\n");
    assert!(workspace.git(&["diff"]).contains("+two"));
    assert_eq!(
        workspace.git(&["diff", "--name-status", "main", "edt/other"]),
        "M\ta.txt\nD\tc.txt\nA\tnew.txt\n"
    );
    workspace.edt(&["undo", "2"]).landed();
    assert!(stays() == before, "HEAD, the index and main are the same after undo");
    assert_eq!(workspace.status(), "M  b.txt\n");
    workspace.is_sound();
}

#[test]
fn index_version_2() {
    let workspace = configured(&[]);
    assert_eq!(version(&index(&workspace)), 2);
    works(&workspace);
}

#[test]
fn index_version_3_with_an_entry_that_is_only_intended() {
    let workspace = TestRepo::with(&files());
    workspace.write("intended.txt", "not yet\n");
    workspace.git(&["add", "--intent-to-add", "intended.txt"]);
    assert_eq!(version(&index(&workspace)), 3);
    let before = entries(&workspace, &["a.txt", "dir/new.txt"]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    workspace.edt(&["apply", "dir/new.txt", "--mode", "create", "--content", "x\n"]).landed();
    assert_eq!(workspace.status(), " A intended.txt\n");
    assert_eq!(entries(&workspace, &["a.txt", "dir/new.txt"]), before);
    assert_eq!(version(&index(&workspace)), 3);
    // And the intended path itself stays the user's.
    workspace.overwrite("intended.txt", "an agent's\n");
    assert_eq!(workspace.status(), " A intended.txt\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("intended.txt"), "not yet\n");
    workspace.is_sound();
}

#[test]
fn index_version_4() {
    let workspace = configured(&[]);
    workspace.git(&["update-index", "--index-version", "4"]);
    assert_eq!(version(&index(&workspace)), 4);
    works_with(&workspace, Stats::Refreshed);
}

#[test]
fn a_split_index() {
    let workspace = TestRepo::with(&files());
    workspace.git(&["config", "core.splitIndex", "true"]);
    workspace.git(&["update-index", "--split-index"]);
    assert_eq!(extensions(&workspace).first().map(String::as_str), Some("link"));
    works_with(&workspace, Stats::Refreshed);
    assert!(extensions(&workspace).contains(&"link".to_owned()));
}

#[test]
fn an_index_that_git_rewrites_needs_no_refresh_either() {
    let kinds: [&[&str]; 3] =
        [&["--split-index"], &["--index-version", "4"], &["--untracked-cache"]];
    let dirty = |kind: &&[&str]| {
        let workspace = TestRepo::with(&files());
        workspace.git(&[&["update-index"], *kind].concat());
        workspace.edt(&["apply", "new.txt", "--mode", "create", "--content", "x\n"]).landed();
        workspace.try_git(&["diff-files", "--quiet"]).status.code() != Some(0)
    };
    let dirty: Vec<&&[&str]> = kinds.iter().filter(|kind| dirty(kind)).collect();
    assert_eq!(dirty, Vec::<&&[&str]>::new(), "git diff-files --quiet right after an edit");
}

#[test]
fn an_untracked_cache() {
    let workspace = configured(&[("core.untrackedCache", "true")]);
    workspace.git(&["update-index", "--untracked-cache"]);
    let mut refresh = workspace.command("git");
    refresh.args(["status", "--porcelain"]).env_remove("GIT_OPTIONAL_LOCKS").output().unwrap();
    assert!(extensions(&workspace).contains(&"UNTR".to_owned()));
    works_with(&workspace, Stats::Refreshed);
}

#[test]
fn an_index_without_a_checksum() {
    let workspace = configured(&[("index.skipHash", "true")]);
    assert_eq!(index(&workspace)[index(&workspace).len() - 20..], [0; 20]);
    works(&workspace);
}

#[test]
fn an_index_with_a_cache_tree_keeps_it() {
    let workspace = TestRepo::with(&files());
    assert!(extensions(&workspace).contains(&"TREE".to_owned()));
    works(&workspace);
}

#[test]
fn an_index_of_many_thousand_entries_with_offset_tables() {
    let workspace = TestRepo::with(&files());
    let blob = workspace.rev("HEAD:a.txt");
    workspace.git(&["config", "index.threads", "4"]);
    workspace.git(&["config", "core.checkStat", "minimal"]);
    let text = String::from_utf8(workspace.blob(&blob)).unwrap();
    for n in 0..21_000 {
        let dir = workspace.root.join(format!("many/{:03}", n / 100));
        if n % 100 == 0 {
            std::fs::create_dir_all(&dir).unwrap();
        }
        std::fs::write(dir.join(format!("{n:05}.txt")), &text).unwrap();
    }
    workspace.commit(&[]);
    let signs = extensions(&workspace);
    assert!(signs.contains(&"IEOT".to_owned()) && signs.contains(&"EOIE".to_owned()), "{signs:?}");
    works(&workspace);
}

#[test]
fn the_reflogs_are_well_formed_and_git_switch_minus_goes_back() {
    let workspace = TestRepo::with(&files());
    workspace.edt(&["begin", "work"]).landed();
    workspace.git(&["switch", "--quiet", "-"]);
    assert_eq!(workspace.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
    workspace.git(&["switch", "--quiet", "-"]);
    assert_eq!(workspace.git(&["symbolic-ref", "--short", "HEAD"]), "edt/work\n");
    workspace.overwrite("a.txt", "two\n");
    workspace
        .edt(&[
            "apply",
            "a.txt",
            "--mode",
            "append",
            "--content",
            "x\n",
            "--message",
            "why\nand more\n",
        ])
        .landed();
    workspace.edt(&["undo"]).landed();
    for log in ["HEAD", "refs/heads/edt/work"] {
        let text = std::fs::read_to_string(workspace.root.join(".git/logs").join(log)).unwrap();
        let mut last = None;
        for line in text.lines() {
            let (head, said) = line.split_once('\t').unwrap();
            let parts: Vec<&str> = head.splitn(3, ' ').collect();
            assert!(
                parts[2].starts_with("A User <user@example.com> ") && !said.is_empty(),
                "{line}"
            );
            assert_eq!((parts[0].len(), parts[1].len()), (40, 40), "{line}");
            if let Some(last) = last.replace(parts[1].to_owned()) {
                assert_eq!(last, parts[0], "{line} follows the line before it");
            }
        }
        assert_eq!(last.unwrap(), workspace.rev("HEAD"), "{log}");
        assert!(text.ends_with('\n'));
    }
    let log = workspace.git(&["reflog", "show", "--format=%gs", "edt/work"]);
    assert_eq!(log.lines().count(), 4, "{log}");
    assert!(log.lines().nth(1).unwrap().ends_with("edt apply: why"), "{log}");
}

#[test]
fn an_identity_is_not_needed() {
    let workspace = TestRepo::with(&files());
    workspace.git(&["config", "--unset", "user.name"]);
    workspace.git(&["config", "--unset", "user.email"]);
    workspace.overwrite("a.txt", "two\n");
    assert_eq!(
        workspace.git(&["log", "-1", "--format=%an <%ae> %cn <%ce>"]),
        "edt <edt@localhost> edt <edt@localhost>\n"
    );
}

#[test]
fn the_environment_names_the_author_as_it_does_for_git() {
    let workspace = TestRepo::with(&files());
    let mut edt = workspace.command(EDT);
    edt.args(["apply", "a.txt", "--mode", "append", "--content", "x\n"]);
    edt.env("GIT_AUTHOR_NAME", "Someone")
        .env("GIT_AUTHOR_EMAIL", "s@example.com")
        .env("GIT_AUTHOR_DATE", "2001-02-03T04:05:06+0100");
    assert!(edt.output().unwrap().status.success());
    assert_eq!(
        workspace.git(&["log", "-1", "--format=%an <%ae> %ad, %cn", "--date=iso"]),
        "Someone <s@example.com> 2001-02-03 04:05:06 +0100, A User\n"
    );
}

#[test]
fn edt_is_started_below_the_root_and_elsewhere() {
    let workspace = TestRepo::with(&[("a.txt", b"root\n"), ("sub/a.txt", b"sub\n")]);
    workspace
        .at(workspace.root.join("sub"))
        .edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"])
        .landed();
    let elsewhere = workspace.at(Path::new("/"));
    let root = workspace.root.to_str().unwrap();
    elsewhere.edt(&["-C", root, "apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.text("sub/a.txt").as_str()),
        ("root\nx\n", "sub\nx\n")
    );
    workspace.is_clean();
}

#[test]
fn a_file_of_many_lines_is_edited_in_place() {
    let workspace = TestRepo::with(&[("a.txt", lines(20_000).as_bytes())]);
    workspace
        .edt(&[
            "apply",
            "a.txt",
            "--mode",
            "edit",
            "--old-text",
            "line 12345 of",
            "--content",
            "LINE 12345 OF",
        ])
        .landed();
    assert_eq!(workspace.text("a.txt"), lines(20_000).replace("line 12345 of", "LINE 12345 OF"));
    workspace.is_clean();
}

#[test]
fn a_mode_bit_means_nothing_where_git_ignores_it() {
    let workspace = TestRepo::with(&files());
    workspace.git(&["config", "core.fileMode", "false"]);
    std::fs::set_permissions(
        workspace.root.join("a.txt"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    workspace.git(&["update-index", "-q", "--refresh"]);
    workspace.is_clean();
    let answer = workspace.overwrite("a.txt", "two\n");
    assert_eq!(answer.json["files"][0]["user_changes"], "none");
    assert_eq!(workspace.git(&["ls-tree", "--format=%(objectmode)", "HEAD", "a.txt"]), "100644\n");
}

#[test]
fn a_file_outside_the_sparse_checkout_is_not_taken_for_a_deleted_one() {
    let workspace = TestRepo::with(&[("in/a.txt", b"a\n"), ("out/b.txt", b"precious\n")]);
    workspace.git(&["sparse-checkout", "set", "in"]);
    assert!(!workspace.exists("out/b.txt"));
    workspace.is_clean();
    workspace.overwrite("in/a.txt", "two\n");
    workspace.is_clean();
    let kept = workspace.rev("HEAD:out/b.txt");
    // It is in HEAD, so it exists although it is not checked out; it was not deleted.
    let answer = workspace.edt(&["apply", "out/b.txt", "--mode", "create", "--content", "new\n"]);
    assert_ne!(answer.exit, 0, "{:#}", answer.json);
    assert_eq!(workspace.rev("HEAD:out/b.txt"), kept);
}

#[test]
fn names_and_contents_of_any_bytes() {
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = TestRepo::with(&files());
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9 \xf0\x9f\x98\x80.txt");
    let mut edt = workspace.command(EDT);
    edt.arg("apply").arg(name).args(["--mode", "create", "--content", "x\n", "--json"]);
    assert!(edt.output().unwrap().status.success());
    assert_eq!(std::fs::read(workspace.root.join(name)).unwrap(), b"x\n");
    workspace.is_clean();
    workspace.edt(&["undo"]).landed();
    assert!(!workspace.root.join(name).exists());
    for name in [
        "with space.txt",
        "-dash.txt",
        "quo\"te'.txt",
        "\u{fc}ml\u{e4}ut.txt",
        "star*?[x].txt",
        "$(touch x).txt",
        "a#b.txt",
    ] {
        let created = workspace.apply(&json!({"path": name, "mode": "create", "content": "x\n"}));
        if name.contains(['*', '?', '"']) {
            // Names that some system cannot hold may be refused, with the code for that.
            assert!(
                created.exit == 0 || created.codes() == ["PATH_INVALID"],
                "{name}: {:#}",
                created.json
            );
        } else {
            assert_eq!(created.exit, 0, "{name}: {:#}", created.json);
            assert_eq!(workspace.text(name), "x\n");
        }
        workspace.is_clean();
    }
    workspace.is_sound();
}
