//! Every kind of repository, and plain Git beside edt in each.

use std::path::Path;

use serde_json::json;

use crate::world::{EDT, World, lines};

/// The bytes of the index.
fn index(world: &World) -> Vec<u8> {
    std::fs::read(world.git_dir("--git-dir").join("index")).unwrap()
}

/// The version of the index.
fn version(index: &[u8]) -> u32 {
    u32::from_be_bytes(index[4..8].try_into().unwrap())
}

/// The signatures of the index's extensions, found by walking back from what Git itself says of the entries.
fn extensions(world: &World) -> Vec<String> {
    let bytes = index(world);
    let hash_len = if world.rev("HEAD").len() == 64 { 32 } else { 20 };
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
fn entries(world: &World, paths: &[&str]) -> Vec<String> {
    let all = world.git(&["ls-files", "--stage", "--debug", "-z"]);
    let mut found = Vec::new();
    // With -z the stat lines of an entry stand before the next entry's mode.
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

/// The whole of a small session: edit, create in a new folder, delete, rename; then undo all, redo all. Git must find nothing
/// to complain of after each step, and the index keeps its version, extensions and every other entry.
fn works(world: &World) {
    works_with(world, Stats::Fresh);
}

/// Whether the stats of touched entries must be right without a refresh.
#[derive(PartialEq)]
enum Stats {
    Fresh,
    /// Where `git update-index` did the work: see `an_index_that_git_rewrites_needs_no_refresh_either`.
    Refreshed,
}

fn works_with(world: &World, stats: Stats) {
    const TOUCHED: &[&str] = &["a.txt", "dir/new.txt", "b.txt", "c.txt", "dir/c.txt"];
    let before = (entries(world, TOUCHED), version(&index(world)), extensions(world));
    let keeps = |step: &str| {
        eprintln!("after {step}");
        if stats == Stats::Refreshed {
            world.git(&["update-index", "-q", "--refresh"]);
        }
        world.is_clean();
        let now = (entries(world, TOUCHED), version(&index(world)), extensions(world));
        assert_eq!(now.0, before.0, "other entries after {step}");
        assert_eq!(now.1, before.1, "index version after {step}");
        // The extension that speaks of resolved conflicts or offsets may go where it says nothing any more; these may not.
        let lost: Vec<&String> = before.2.iter().filter(|sign| !now.2.contains(sign)).collect();
        assert_eq!(
            lost,
            Vec::<&String>::new(),
            "extensions lost after {step}: {:?} -> {:?}",
            before.2,
            now.2
        );
    };
    let base = world.try_git(&["rev-parse", "HEAD"]).stdout;
    let start = world.files();
    let steps = [
        json!({"path": "a.txt", "mode": "append", "content": "more\n"}),
        json!({"path": "dir/new.txt", "mode": "create", "content": "new\n"}),
        json!({"path": "a.txt", "mode": "edit", "old_text": "more", "content": "less"}),
        json!({"edits": [{"path": "b.txt", "mode": "delete"}, {"path": "c.txt", "mode": "rename", "to": "dir/c.txt"}]}),
    ];
    for step in &steps {
        world.apply(step).landed();
        keeps(&step.to_string());
    }
    let end = world.files();
    world.edt(&["undo", "4"]).landed();
    keeps("undo");
    assert_eq!(world.try_git(&["rev-parse", "HEAD"]).stdout, base);
    let mut files = world.files();
    files.remove("dir");
    assert_eq!(files, start, "undo 4");
    world.edt(&["redo"]).landed();
    keeps("redo");
    assert_eq!(world.files(), end, "redo");
    world.is_sound();
    assert_eq!(world.locks(), Vec::<String>::new());
}

/// Files for [`works`], with others around them in the index.
fn files() -> Vec<(&'static str, &'static [u8])> {
    vec![
        ("0-first.txt", b"first\n"),
        ("a.txt", b"a\n"),
        ("b.txt", b"b\n"),
        ("c.txt", b"c\n"),
        ("other/x.txt", b"x\n"),
        ("z-last.txt", b"last\n"),
    ]
}

/// A repository with settings, whose index was written anew under them.
fn configured(settings: &[(&str, &str)]) -> World {
    let world = World::with(&files());
    settings.iter().for_each(|(key, value)| drop(world.git(&["config", key, value])));
    world.git(&["update-index", "--force-write-index"]);
    world
}

#[test]
fn an_ordinary_repository() {
    let world = World::with(&files());
    works(&world);
    world.git(&["switch", "--quiet", "main"]);
    world.git(&["merge", "--quiet", "--squash", "edt/main-1"]);
    world.git(&["commit", "--quiet", "-m", "the work"]);
    assert_eq!(world.rev("main^{tree}"), world.rev("edt/main-1^{tree}"));
    assert_eq!(world.git(&["rev-list", "--count", "main"]), "2\n");
    world.is_clean();
}

#[test]
fn git_reset_keep_takes_back_the_last_edit_and_edt_carries_on() {
    let world = World::with(&files());
    world.overwrite("a.txt", "two\n");
    world.overwrite("a.txt", "three\n");
    world.git(&["reset", "--quiet", "--keep", "HEAD~1"]);
    assert_eq!(world.text("a.txt"), "two\n");
    world.is_clean();
    let answer =
        world.edt(&["apply", "a.txt", "--mode", "append", "--content", "and on\n"]).landed();
    assert_eq!((world.text("a.txt").as_str(), &answer.json["edit"]), ("two\nand on\n", &json!(2)));
    world.edt(&["undo", "2"]).landed();
    assert_eq!((world.text("a.txt").as_str(), world.rev("HEAD")), ("a\n", world.rev("main")));
    world.is_clean();
    world.is_sound();
}

#[test]
fn an_empty_repository_gets_its_first_files_and_loses_them_again() {
    let world = World::unborn(&[]);
    world.edt(&["apply", "dir/a.txt", "--mode", "create", "--content", "one\n"]).landed();
    world.edt(&["apply", "b.txt", "--mode", "create", "--content", "b\n"]).landed();
    assert_eq!(world.git(&["ls-files"]), "b.txt\ndir/a.txt\n");
    world.is_clean();
    world.is_sound();
    world.edt(&["undo", "2"]).landed();
    let left: Vec<String> = world.files().into_keys().filter(|path| path != "dir").collect();
    assert_eq!(left, Vec::<String>::new());
    assert_eq!((world.git(&["ls-files"]).as_str(), world.status().as_str()), ("", ""));
    world.edt(&["redo"]).landed();
    assert_eq!(world.text("dir/a.txt"), "one\n");
    world.is_clean();
}

#[test]
fn a_detached_head() {
    let world = World::with(&files());
    world.git(&["switch", "--quiet", "--detach"]);
    works(&world);
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/detached-1\n");
    world.git(&["switch", "--quiet", "main"]);
    assert_eq!(world.text("a.txt"), "a\n");
}

#[test]
fn packed_refs_between_edits() {
    let world = World::with(&files());
    for n in 0..4 {
        world.edt(&["apply", "a.txt", "--mode", "append", "--content", &format!("{n}\n")]).landed();
        world.git(&["pack-refs", "--all", "--prune"]);
    }
    world.edt(&["undo", "2"]).landed();
    world.git(&["pack-refs", "--all", "--prune"]);
    world.git(&["gc", "--quiet", "--prune=now"]);
    world.edt(&["redo"]).landed();
    assert_eq!(world.text("a.txt"), "a\n0\n1\n2\n3\n");
    world.is_clean();
    world.is_sound();
}

#[test]
fn ten_thousand_packed_refs() {
    let world = World::with(&files());
    let oid = world.rev("HEAD");
    let refs: String = (0..10_000).map(|n| format!("{oid} refs/tags/t{n:05}\n")).collect();
    let text = format!("# pack-refs with: peeled fully-peeled sorted \n{refs}");
    std::fs::write(world.root.join(".git/packed-refs"), text).unwrap();
    works(&world);
    assert_eq!(world.git(&["tag"]).lines().count(), 10_000);
}

#[test]
fn sha256_objects() {
    let world = World::made(&["--object-format=sha256"], &files());
    works(&world);
    assert_eq!(world.rev("HEAD").len(), 64);
}

#[test]
fn a_reftable_repository_is_refused_untouched() {
    let world = World::made(&["--ref-format=reftable"], &files());
    let edit = ["apply", "a.txt", "--mode", "append", "--content", "x\n"];
    world.refuses(&["UNSUPPORTED_REPOSITORY"], 5, &edit);
    world.refuses(&["UNSUPPORTED_REPOSITORY"], 5, &["begin"]);
    assert!(!world.exists(".git/edt"));
}

#[test]
fn a_bare_repository_is_refused_untouched() {
    let world = World::unborn(&["--bare"]);
    world.refuses(
        &["UNSUPPORTED_REPOSITORY"],
        5,
        &["apply", "a.txt", "--mode", "create", "--content", "x\n"],
    );
    assert!(!world.exists("edt"));
}

#[test]
fn a_linked_worktree_has_a_session_of_its_own() {
    let main = World::with(&files());
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
    let world = World::with(&files());
    world.write("b.txt", "staged\n");
    world.git(&["add", "b.txt"]);
    let stays =
        || (index(&world), std::fs::read(world.root.join(".git/HEAD")).unwrap(), world.rev("main"));
    let before = stays();
    world.edt(&["begin", "beside", "--no-switch"]).landed();
    world.overwrite("a.txt", "two\n");
    world
        .apply(&json!({"edits": [
            {"path": "new.txt", "mode": "create", "content": "new\n"}, {"path": "c.txt", "mode": "delete"},
        ]}))
        .landed();
    assert!(stays() == before, "HEAD, the index and main are the same");
    assert_eq!(world.status(), " M a.txt\nM  b.txt\n D c.txt\n?? new.txt\n");
    assert!(world.git(&["diff"]).contains("+two"));
    assert_eq!(
        world.git(&["diff", "--name-status", "main", "edt/beside"]),
        "M\ta.txt\nD\tc.txt\nA\tnew.txt\n"
    );
    world.edt(&["undo", "2"]).landed();
    assert!(stays() == before, "HEAD, the index and main are the same after undo");
    assert_eq!(world.status(), "M  b.txt\n");
    world.is_sound();
}

#[test]
fn index_version_2() {
    let world = configured(&[]);
    assert_eq!(version(&index(&world)), 2);
    works(&world);
}

#[test]
fn index_version_3_with_an_entry_that_is_only_intended() {
    let world = World::with(&files());
    world.write("intended.txt", "not yet\n");
    world.git(&["add", "--intent-to-add", "intended.txt"]);
    assert_eq!(version(&index(&world)), 3);
    let before = entries(&world, &["a.txt", "dir/new.txt"]);
    world.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    world.edt(&["apply", "dir/new.txt", "--mode", "create", "--content", "x\n"]).landed();
    assert_eq!(world.status(), " A intended.txt\n");
    assert_eq!(entries(&world, &["a.txt", "dir/new.txt"]), before);
    assert_eq!(version(&index(&world)), 3);
    // And the intended path itself is recorded before it is edited.
    assert_eq!(world.overwrite("intended.txt", "an agent's\n").checkpoints(), 1);
    world.is_clean();
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("intended.txt"), "not yet\n");
    world.is_sound();
}

#[test]
fn index_version_4() {
    let world = configured(&[]);
    world.git(&["update-index", "--index-version", "4"]);
    assert_eq!(version(&index(&world)), 4);
    works_with(&world, Stats::Refreshed);
}

#[test]
fn a_split_index() {
    let world = World::with(&files());
    world.git(&["config", "core.splitIndex", "true"]);
    world.git(&["update-index", "--split-index"]);
    assert_eq!(extensions(&world).first().map(String::as_str), Some("link"));
    works_with(&world, Stats::Refreshed);
    assert!(extensions(&world).contains(&"link".to_owned()));
}

#[test]
fn an_index_that_git_rewrites_needs_no_refresh_either() {
    let kinds: [&[&str]; 3] =
        [&["--split-index"], &["--index-version", "4"], &["--untracked-cache"]];
    let dirty = |kind: &&[&str]| {
        let world = World::with(&files());
        world.git(&[&["update-index"], *kind].concat());
        world.edt(&["apply", "new.txt", "--mode", "create", "--content", "x\n"]).landed();
        world.try_git(&["diff-files", "--quiet"]).status.code() != Some(0)
    };
    let dirty: Vec<&&[&str]> = kinds.iter().filter(|kind| dirty(kind)).collect();
    assert_eq!(dirty, Vec::<&&[&str]>::new(), "git diff-files --quiet right after an edit");
}

#[test]
fn an_untracked_cache() {
    let world = configured(&[("core.untrackedCache", "true")]);
    world.git(&["update-index", "--untracked-cache"]);
    let mut refresh = world.command("git");
    refresh.args(["status", "--porcelain"]).env_remove("GIT_OPTIONAL_LOCKS").output().unwrap();
    assert!(extensions(&world).contains(&"UNTR".to_owned()));
    works_with(&world, Stats::Refreshed);
}

#[test]
fn an_index_without_a_checksum() {
    let world = configured(&[("index.skipHash", "true")]);
    assert_eq!(index(&world)[index(&world).len() - 20..], [0; 20]);
    works(&world);
}

#[test]
fn an_index_with_a_cache_tree_keeps_it() {
    let world = World::with(&files());
    assert!(extensions(&world).contains(&"TREE".to_owned()));
    works(&world);
}

#[test]
fn an_index_of_many_thousand_entries_with_offset_tables() {
    let world = World::with(&files());
    let blob = world.rev("HEAD:a.txt");
    world.git(&["config", "index.threads", "4"]);
    world.git(&["config", "core.checkStat", "minimal"]);
    let text = String::from_utf8(world.blob(&blob)).unwrap();
    for n in 0..21_000 {
        let dir = world.root.join(format!("many/{:03}", n / 100));
        if n % 100 == 0 {
            std::fs::create_dir_all(&dir).unwrap();
        }
        std::fs::write(dir.join(format!("{n:05}.txt")), &text).unwrap();
    }
    world.commit(&[]);
    let signs = extensions(&world);
    assert!(signs.contains(&"IEOT".to_owned()) && signs.contains(&"EOIE".to_owned()), "{signs:?}");
    works(&world);
}

#[test]
fn the_reflogs_are_well_formed_and_git_switch_minus_goes_back() {
    let world = World::with(&files());
    world.edt(&["begin", "work"]).landed();
    world.git(&["switch", "--quiet", "-"]);
    assert_eq!(world.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
    world.git(&["switch", "--quiet", "-"]);
    assert_eq!(world.git(&["symbolic-ref", "--short", "HEAD"]), "edt/work\n");
    world.overwrite("a.txt", "two\n");
    world
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
    world.edt(&["undo"]).landed();
    for log in ["HEAD", "refs/heads/edt/work"] {
        let text = std::fs::read_to_string(world.root.join(".git/logs").join(log)).unwrap();
        let mut last = None;
        for line in text.lines() {
            let (head, said) = line.split_once('\t').unwrap();
            let parts: Vec<&str> = head.splitn(3, ' ').collect();
            assert!(
                parts[2].starts_with("A Person <person@example.com> ") && !said.is_empty(),
                "{line}"
            );
            assert_eq!((parts[0].len(), parts[1].len()), (40, 40), "{line}");
            if let Some(last) = last.replace(parts[1].to_owned()) {
                assert_eq!(last, parts[0], "{line} follows the line before it");
            }
        }
        assert_eq!(last.unwrap(), world.rev("HEAD"), "{log}");
        assert!(text.ends_with('\n'));
    }
    let log = world.git(&["reflog", "show", "--format=%gs", "edt/work"]);
    assert_eq!(log.lines().count(), 4, "{log}");
    assert!(log.lines().nth(1).unwrap().ends_with("edt apply: why"), "{log}");
}

#[test]
fn an_identity_is_not_needed() {
    let world = World::with(&files());
    world.git(&["config", "--unset", "user.name"]);
    world.git(&["config", "--unset", "user.email"]);
    world.overwrite("a.txt", "two\n");
    assert_eq!(
        world.git(&["log", "-1", "--format=%an <%ae> %cn <%ce>"]),
        "edt <edt@localhost> edt <edt@localhost>\n"
    );
}

#[test]
fn the_environment_names_the_author_as_it_does_for_git() {
    let world = World::with(&files());
    let mut edt = world.command(EDT);
    edt.args(["apply", "a.txt", "--mode", "append", "--content", "x\n"]);
    edt.env("GIT_AUTHOR_NAME", "Someone")
        .env("GIT_AUTHOR_EMAIL", "s@example.com")
        .env("GIT_AUTHOR_DATE", "2001-02-03T04:05:06+0100");
    assert!(edt.output().unwrap().status.success());
    assert_eq!(
        world.git(&["log", "-1", "--format=%an <%ae> %ad, %cn", "--date=iso"]),
        "Someone <s@example.com> 2001-02-03 04:05:06 +0100, A Person\n"
    );
}

#[test]
fn paths_are_relative_to_the_root_wherever_edt_is_started() {
    let world = World::with(&[("a.txt", b"root\n"), ("sub/a.txt", b"sub\n")]);
    world
        .at(world.root.join("sub"))
        .edt(&["apply", "sub/a.txt", "--mode", "append", "--content", "x\n"])
        .landed();
    let elsewhere = world.at(Path::new("/"));
    let root = world.root.to_str().unwrap();
    elsewhere.edt(&["-C", root, "apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    assert_eq!(
        (world.text("a.txt").as_str(), world.text("sub/a.txt").as_str()),
        ("root\nx\n", "sub\nx\n")
    );
    world.is_clean();
}

#[test]
fn a_file_of_many_lines_is_edited_in_place() {
    let world = World::with(&[("a.txt", lines(20_000).as_bytes())]);
    world
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
    assert_eq!(world.text("a.txt"), lines(20_000).replace("line 12345 of", "LINE 12345 OF"));
    world.is_clean();
}

#[test]
fn a_mode_bit_means_nothing_where_git_ignores_it() {
    let world = World::with(&files());
    world.git(&["config", "core.fileMode", "false"]);
    std::fs::set_permissions(
        world.root.join("a.txt"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    world.git(&["update-index", "-q", "--refresh"]);
    world.is_clean();
    let answer = world.overwrite("a.txt", "two\n");
    assert_eq!(answer.checkpoints(), 0, "nothing was unrecorded");
    assert_eq!(world.git(&["ls-tree", "--format=%(objectmode)", "HEAD", "a.txt"]), "100644\n");
}

#[test]
fn a_file_outside_the_sparse_checkout_is_not_taken_for_a_deleted_one() {
    let world = World::with(&[("in/a.txt", b"a\n"), ("out/b.txt", b"precious\n")]);
    world.git(&["sparse-checkout", "set", "in"]);
    assert!(!world.exists("out/b.txt"));
    world.is_clean();
    world.overwrite("in/a.txt", "two\n");
    world.is_clean();
    let kept = world.rev("HEAD:out/b.txt");
    // It is in HEAD, so it exists, although it is not checked out; nobody deleted it.
    let answer = world.edt(&["apply", "out/b.txt", "--mode", "create", "--content", "new\n"]);
    assert_ne!(
        (answer.exit, answer.checkpoints()),
        (0, 1),
        "a deletion that nobody made was recorded"
    );
    assert_eq!(world.rev("HEAD:out/b.txt"), kept);
}

#[test]
fn names_and_contents_of_any_bytes() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::with(&files());
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9 \xf0\x9f\x98\x80.txt");
    let mut edt = world.command(EDT);
    edt.arg("apply").arg(name).args(["--mode", "create", "--content", "x\n", "--json"]);
    assert!(edt.output().unwrap().status.success());
    assert_eq!(std::fs::read(world.root.join(name)).unwrap(), b"x\n");
    world.is_clean();
    world.edt(&["undo"]).landed();
    assert!(!world.root.join(name).exists());
    for name in [
        "with space.txt",
        "-dash.txt",
        "quo\"te'.txt",
        "\u{fc}ml\u{e4}ut.txt",
        "star*?[x].txt",
        "$(touch x).txt",
        "a#b.txt",
    ] {
        let created = world.apply(&json!({"path": name, "mode": "create", "content": "x\n"}));
        if name.contains(['*', '?', '"']) {
            // Names that some system cannot hold may be refused, with the code for that.
            assert!(
                created.exit == 0 || created.codes() == ["PATH_INVALID"],
                "{name}: {:#}",
                created.json
            );
        } else {
            assert_eq!(created.exit, 0, "{name}: {:#}", created.json);
            assert_eq!(world.text(name), "x\n");
        }
        world.is_clean();
    }
    world.is_sound();
}
