//! Issues of real repositories in JSON lines, in the format of SWE-bench. The repositories come
//! from local clones.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{ImportSource, ImportedTask, each_line, id_of, text, valid_path};
use crate::task::is_date;
use edt_io::directory::{self, FileContent, FileTree};
use edt_io::scratch::Scratch;
use edt_io::{Environment, failed, spawn};
use edt_types::{Code, Finding, Result};

/// The largest worktree, in bytes.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;

pub(super) fn read(source: &ImportSource) -> Result<Vec<ImportedTask>> {
    let Some(repos) = &source.repos else {
        let summary = "This format names repositories but does not contain them.";
        let remedy = "Clone them, and name the directory with the clones: --repos DIR, with \
                      DIR/OWNER/NAME or DIR/OWNER__NAME.";
        return Err(Finding::new(Code::BadRequest, summary, remedy).nothing_changed().into());
    };
    let scratch = Scratch::outside(Environment::Process, repos)
        .map_err(|error| failed("make a scratch directory for", repos, &error))?;
    each_line(source, |line| {
        let id = id_of(&text(line, "instance_id")?).map_err(|why| ("instance_id", why))?;
        let day: String = text(line, "created_at")?.chars().take(10).collect();
        if !is_date(&day) {
            return Err(("created_at", format!("it begins with {day:?}, which is not a date")));
        }
        let clone = clone_of(repos, &text(line, "repo")?).map_err(|why| ("repo", why))?;
        let before =
            tree(&clone, &text(line, "base_commit")?).map_err(|why| ("base_commit", why))?;
        let place = scratch.path().join(&id);
        let expected = patched(&place.join("fix"), &before, &text(line, "patch")?)
            .map_err(|why| ("patch", why))?;
        let tested = patched(&place.join("test"), &expected, &text(line, "test_patch")?)
            .map_err(|why| ("test_patch", why))?;
        let tests: FileTree = tested
            .into_iter()
            .filter(|(path, content)| expected.get(path) != Some(content))
            .collect();
        let default = ["python3", "-m", "pytest", "-q"].map(str::to_owned).to_vec();
        let mut command = if source.test.is_empty() { default } else { source.test.clone() };
        command.extend(
            failing(&line["FAIL_TO_PASS"]).unwrap_or_else(|| tests.keys().cloned().collect()),
        );
        let instruction = text(line, "problem_statement")?;
        let class = line["repo"].as_str().map(str::to_owned);
        let expected = Some(expected);
        Ok(vec![ImportedTask {
            id,
            instruction,
            date: day,
            class,
            before,
            expected,
            tests,
            commands: vec![command],
        }])
    })
}

/// The tests that should pass: a list, or a list as JSON text.
fn failing(value: &Value) -> Option<Vec<String>> {
    let listed = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_else(|| value.clone());
    serde_json::from_value::<Vec<String>>(listed).ok().filter(|names| !names.is_empty())
}

fn clone_of(repos: &Path, repo: &str) -> std::result::Result<PathBuf, String> {
    let name = valid_path(repo)?;
    let places = [repos.join(&name), repos.join(name.replace('/', "__"))];
    let found = places.iter().find(|place| place.is_dir());
    found.cloned().ok_or_else(|| format!("there is no clone of {repo} in {}", repos.display()))
}

fn git(dir: &Path, args: &[&str], input: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let result =
        spawn::git(Environment::Process, dir, args, input).map_err(|found| found.to_string())?;
    if result.ok {
        Ok(result.stdout)
    } else {
        Err(format!("git {} failed: {}", args[0], result.stderr.trim()))
    }
}

/// The regular files of a commit. Symbolic links and submodules are skipped, as in all tasks.
fn tree(clone: &Path, commit: &str) -> std::result::Result<FileTree, String> {
    if commit.len() < 7 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!("{commit:?} is not a commit id"));
    }
    let listed = git(clone, &["ls-tree", "-r", "-z", "--full-tree", commit], b"")?;
    let mut wanted = Vec::new();
    for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let line = std::str::from_utf8(line).map_err(|_| "a path is not UTF-8".to_owned())?;
        let (facts, path) = line.split_once('\t').unwrap_or_default();
        let words: Vec<&str> = facts.split(' ').collect();
        if let [mode @ ("100644" | "100755"), "blob", oid] = words.as_slice() {
            wanted.push((valid_path(path)?, *mode == "100755", (*oid).to_owned()));
        }
    }
    let oids = wanted.iter().fold(String::new(), |oids, (_, _, oid)| oids + oid + "\n");
    let blobs = git(clone, &["cat-file", "--batch"], oids.as_bytes())?;
    let (mut rest, mut files) = (blobs.as_slice(), FileTree::new());
    for (path, executable, oid) in wanted {
        let missing = || format!("the clone does not have {oid}");
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(missing)?;
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let size: usize =
            head.rsplit(' ').next().and_then(|size| size.parse().ok()).ok_or_else(missing)?;
        let bytes = rest.get(end + 1..end + 1 + size).ok_or_else(missing)?.to_vec();
        rest = rest.get(end + 2 + size..).unwrap_or_default();
        files.insert(path, FileContent { bytes, executable });
    }
    Ok(files)
}

/// Applies a patch with Git, which refuses paths outside the directory.
fn patched(place: &Path, files: &FileTree, patch: &str) -> std::result::Result<FileTree, String> {
    directory::write_tree(place, files).map_err(|error| error.to_string())?;
    git(place, &["init", "--quiet"], b"")?;
    git(place, &["apply", "--whitespace=nowarn", "-"], patch.as_bytes())?;
    directory::read_tree(place, MAX_BYTES).map_err(|error| error.to_string())
}
