//! Trees that edt merges and compares, with Git as the judge.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use edt::base::RepoPath;
use edt::git::diff::{Differs, Item};
use edt::git::{Draft, FileId, FileMode, Oid, Repo, TreeChange};
use proptest::prelude::*;

use crate::world::World;

/// Names that sort before, at and after the `/` that a folder's has.
const NAMES: [&str; 9] = ["a", "a-", "a.", "a0", "ab", "a/b", "b", "é", "\u{7f}"];

/// Paths of up to three names, with the number of their content.
fn files() -> impl Strategy<Value = BTreeMap<String, u8>> {
    let path = prop::collection::vec(prop::sample::select(NAMES.to_vec()), 1..4)
        .prop_map(|names| names.join("/"));
    prop::collection::btree_map(path, 0..6_u8, 0..25).prop_map(apart)
}

/// Without paths that another one would be a folder of.
fn apart(files: BTreeMap<String, u8>) -> BTreeMap<String, u8> {
    let is_folder =
        |path: &String| files.keys().any(|other| other.starts_with(&format!("{path}/")));
    files
        .iter()
        .filter(|(path, _)| !is_folder(path))
        .map(|(path, content)| (path.clone(), *content))
        .collect()
}

/// Even contents are plain files, odd ones executable.
fn item(blobs: &[Oid], content: u8) -> FileId {
    FileId { oid: blobs[usize::from(content / 2)], mode: FileMode::of(content % 2 == 1) }
}

/// The tree that Git makes of these files.
fn written(world: &World, blobs: &[Oid], files: &BTreeMap<String, u8>) -> Oid {
    let lines = files.iter().fold(String::new(), |mut lines, (path, content)| {
        let file = item(blobs, *content);
        let _ = write!(lines, "{:o} {}\t{path}\0", file.mode.bits(), file.oid);
        lines
    });
    let index = world.git_dir("--git-dir").join("tried-index");
    let _ = std::fs::remove_file(&index);
    let mut fed = world.command("git");
    fed.args(["update-index", "-z", "--index-info"])
        .env("GIT_INDEX_FILE", &index)
        .stdin(Stdio::piped());
    let mut child = fed.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let done =
        world.command("git").arg("write-tree").env("GIT_INDEX_FILE", &index).output().unwrap();
    Oid::from_hex(String::from_utf8(done.stdout).unwrap().trim().as_bytes()).unwrap()
}

/// `git diff-tree`, as lines of modes, objects and path.
fn told_by_git(world: &World, old: Oid, new: Oid) -> Vec<String> {
    let raw = world.git(&[
        "diff-tree",
        "-r",
        "-z",
        "--no-renames",
        "--no-abbrev",
        &old.to_string(),
        &new.to_string(),
    ]);
    let fields: Vec<&str> = raw.split_terminator('\0').collect();
    let mut lines: Vec<String> = fields
        .chunks(2)
        .map(|pair| {
            let words: Vec<&str> = pair[0].trim_start_matches(':').split(' ').collect();
            format!("{} {} {} {} {}", words[0], words[1], words[2], words[3], pair[1])
        })
        .collect();
    lines.sort();
    lines
}

fn told_by_edt(differs: &[Differs]) -> Vec<String> {
    let mode = |item: Option<Item>| item.map_or(0, Item::bits);
    let oid =
        |item: Option<Item>| item.map_or_else(|| "0".repeat(40), |item| item.oid().to_string());
    let line = |one: &Differs| {
        format!(
            "{:06o} {:06o} {} {} {}",
            mode(one.old),
            mode(one.new),
            oid(one.old),
            oid(one.new),
            one.path
        )
    };
    let mut lines: Vec<String> = differs.iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn merged_trees_and_their_differences_are_gits_own() {
    let world = World::with(&[("0", b"0\n"), ("1", b"1\n"), ("2", b"2\n")]);
    let blobs: Vec<Oid> = ["0", "1", "2"]
        .iter()
        .map(|n| Oid::from_hex(world.rev(&format!("HEAD:{n}")).as_bytes()).unwrap())
        .collect();
    let repo = Repo::open(&world.root).unwrap();
    let config =
        ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let judged = runner.run(&(files(), files()), |(before, after)| {
        let (old, new) = (written(&world, &blobs, &before), written(&world, &blobs, &after));
        let differs = repo.tree_diff(old, new).unwrap();
        prop_assert_eq!(told_by_edt(&differs), told_by_git(&world, old, new));
        let change =
            |path: &String, file| TreeChange { path: RepoPath::from_tree(path.as_bytes()), file };
        let gone =
            before.keys().filter(|path| !after.contains_key(*path)).map(|path| change(path, None));
        let come = after.iter().map(|(path, content)| change(path, Some(item(&blobs, *content))));
        let changes: Vec<TreeChange> = gone.chain(come).collect();
        let mut draft = Draft::new(&repo);
        let (made, folders) = draft.tree(old, &changes).unwrap();
        prop_assert_eq!(made, new);
        for (folder, (was, is)) in &folders {
            let folder = std::str::from_utf8(folder).unwrap();
            let held = |tree: Oid| {
                world.try_git(&["rev-parse", "--verify", "-q", &format!("{tree}:{folder}")])
            };
            let said = |tree: Oid| String::from_utf8(held(tree).stdout).unwrap().trim().to_owned();
            let is_text = is.map_or_else(String::new, |oid| oid.to_string());
            let file = after.contains_key(folder);
            prop_assert!(file || said(new) == is_text, "{} is {}", folder, is_text);
            let was = was.map(|oid| oid.to_string());
            prop_assert!(was.is_none_or(|was| said(old) == was), "{} was", folder);
        }
        Ok(())
    });
    judged.unwrap();
}
