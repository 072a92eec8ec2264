//! Trees that edt writes and compares, checked against Git.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{FileId, FileMode, ObjectWriter, Oid, Repo, TreeChange};
use edt_testkit::{Progress, Tier, tier};
use edt_types::RepoPath;
use proptest::prelude::*;

use crate::test_repo::TestRepo;

/// Names that sort before, at and after the `/` that a directory's name ends with.
const NAMES: [&str; 9] = ["a", "a-", "a.", "a0", "ab", "a/b", "b", "é", "\u{7f}"];

/// Paths of up to three names, with the number of their content.
fn files() -> impl Strategy<Value = BTreeMap<String, u8>> {
    let path = prop::collection::vec(prop::sample::select(NAMES.to_vec()), 1..4)
        .prop_map(|names| names.join("/"));
    prop::collection::btree_map(path, 0..6_u8, 0..25).prop_map(apart)
}

/// Without paths that another path would have as a directory.
fn apart(files: BTreeMap<String, u8>) -> BTreeMap<String, u8> {
    let is_directory =
        |path: &String| files.keys().any(|other| other.starts_with(&format!("{path}/")));
    files
        .iter()
        .filter(|(path, _)| !is_directory(path))
        .map(|(path, content)| (path.clone(), *content))
        .collect()
}

/// Even contents are plain files, odd ones executable.
fn item(blobs: &[Oid], content: u8) -> FileId {
    FileId { oid: blobs[usize::from(content / 2)], mode: FileMode::of(content % 2 == 1) }
}

/// The tree that Git makes of these files.
fn written(workspace: &TestRepo, blobs: &[Oid], files: &BTreeMap<String, u8>) -> Oid {
    let lines = files.iter().fold(String::new(), |mut lines, (path, content)| {
        let file = item(blobs, *content);
        let _ = write!(lines, "{:o} {}\t{path}\0", file.mode.bits(), file.oid);
        lines
    });
    let index = workspace.git_dir("--git-dir").join("tried-index");
    let _ = std::fs::remove_file(&index);
    let mut fed = workspace.command("git");
    fed.args(["update-index", "-z", "--index-info"])
        .env("GIT_INDEX_FILE", &index)
        .stdin(Stdio::piped());
    let mut child = fed.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let done =
        workspace.command("git").arg("write-tree").env("GIT_INDEX_FILE", &index).output().unwrap();
    Oid::from_hex(String::from_utf8(done.stdout).unwrap().trim().as_bytes()).unwrap()
}

/// The objects of all entries of a tree by path, subtrees included.
fn listed(workspace: &TestRepo, tree: Oid) -> BTreeMap<String, String> {
    let raw = workspace.git(&["ls-tree", "-r", "-t", "-z", &tree.to_string()]);
    let lines = raw.split_terminator('\0').map(|line| line.split_once('\t').unwrap());
    let object = |meta: &str| meta.rsplit(' ').next().unwrap().to_owned();
    lines.map(|(meta, path)| (path.to_owned(), object(meta))).collect()
}

/// `git diff-tree`, as lines of modes, objects and path.
fn diff_of_git(workspace: &TestRepo, old: Oid, new: Oid) -> Vec<String> {
    let raw = workspace.git(&[
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

fn diff_of_edt(differs: &[TreeDifference]) -> Vec<String> {
    let mode = |item: Option<TreeItem>| item.map_or(0, TreeItem::bits);
    let oid =
        |item: Option<TreeItem>| item.map_or_else(|| "0".repeat(40), |item| item.oid().to_string());
    let line = |one: &TreeDifference| {
        format!(
            "{:06o} {:06o} {} {} {}",
            mode(one.old),
            mode(one.new),
            oid(one.old),
            oid(one.new),
            one.path.text()
        )
    };
    let mut lines: Vec<String> = differs.iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn merged_trees_and_their_differences_are_gits_own() {
    let workspace = TestRepo::with(&[("0", b"0\n"), ("1", b"1\n"), ("2", b"2\n")]);
    let blobs: Vec<Oid> = ["0", "1", "2"]
        .iter()
        .map(|n| Oid::from_hex(workspace.rev(&format!("HEAD:{n}")).as_bytes()).unwrap())
        .collect();
    let repo = Repo::open(&workspace.root).unwrap();
    let progress = Progress::start();
    let cases = match tier() {
        Tier::Ci => 60,
        Tier::All => 600,
    };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let checked = runner.run(&(files(), files()), |(before, after)| {
        let (old, new) =
            (written(&workspace, &blobs, &before), written(&workspace, &blobs, &after));
        let differs = repo.tree_diff(old, new).unwrap();
        prop_assert_eq!(diff_of_edt(&differs), diff_of_git(&workspace, old, new));
        let change =
            |path: &String, file| TreeChange { path: RepoPath::from_tree(path.as_bytes()), file };
        let gone =
            before.keys().filter(|path| !after.contains_key(*path)).map(|path| change(path, None));
        let come = after.iter().map(|(path, content)| change(path, Some(item(&blobs, *content))));
        let changes: Vec<TreeChange> = gone.chain(come).collect();
        let mut writer = ObjectWriter::new(&repo);
        let (made, directories) = writer.write_tree(old, &changes).unwrap();
        prop_assert_eq!(made, new);
        let (in_old, in_new) = (listed(&workspace, old), listed(&workspace, new));
        for (directory, (was, is)) in &directories {
            let directory = std::str::from_utf8(directory).unwrap();
            let in_git = |tree: &BTreeMap<String, String>, root: Oid| match directory {
                "" => root.to_string(),
                _ => tree.get(directory).cloned().unwrap_or_default(),
            };
            let is_text = is.map_or_else(String::new, |oid| oid.to_string());
            let file = after.contains_key(directory);
            prop_assert!(file || in_git(&in_new, new) == is_text, "{} is {}", directory, is_text);
            let was = was.map(|oid| oid.to_string());
            prop_assert!(was.is_none_or(|was| in_git(&in_old, old) == was), "{} was", directory);
        }
        Ok(())
    });
    checked.unwrap();
    progress.done("tree_merges", "pairs of trees", usize::try_from(cases).unwrap());
}
