//! Issues of real repositories in JSON lines, as SWE-bench has them. The repositories come from clones that are at hand.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Made, Source, checked, each_line, id_of, text};
use crate::base::{Code, Finding, Result};
use crate::bench::task::is_date;
use crate::io::folder::{self, Content, Files};
use crate::io::scratch::Scratch;
use crate::io::{failed, spawn};

/// The most bytes of a worktree.
const MOST: u64 = 1024 * 1024 * 1024;

/// Every issue.
pub(super) fn read(source: &Source) -> Result<Vec<Made>> {
    let Some(repos) = &source.repos else {
        let message =
            "This format names repositories and does not hold them. Nothing was imported.";
        let hint = "Clone them, and name the folder with the clones: --repos DIR, with DIR/OWNER/NAME or DIR/OWNER__NAME.";
        return Err(Finding::new(Code::BadRequest, message, hint).into());
    };
    let scratch = Scratch::outside(repos)
        .map_err(|error| failed("make a scratch folder for", repos, &error))?;
    each_line(source, |line| {
        let id = id_of(&text(line, "instance_id")?).map_err(|why| ("instance_id", why))?;
        let day: String = text(line, "created_at")?.chars().take(10).collect();
        if !is_date(&day) {
            return Err(("created_at", format!("it begins with {day:?}, which is no day")));
        }
        let clone = clone_of(repos, &text(line, "repo")?).map_err(|why| ("repo", why))?;
        let before =
            tree(&clone, &text(line, "base_commit")?).map_err(|why| ("base_commit", why))?;
        let place = scratch.path().join(&id);
        let expected = patched(&place.join("fix"), &before, &text(line, "patch")?)
            .map_err(|why| ("patch", why))?;
        let tested = patched(&place.join("test"), &expected, &text(line, "test_patch")?)
            .map_err(|why| ("test_patch", why))?;
        let tests: Files = tested
            .into_iter()
            .filter(|(path, content)| expected.get(path) != Some(content))
            .collect();
        let usual = ["python3", "-m", "pytest", "-q"].map(str::to_owned).to_vec();
        let mut command = if source.test.is_empty() { usual } else { source.test.clone() };
        command.extend(
            failing(&line["FAIL_TO_PASS"]).unwrap_or_else(|| tests.keys().cloned().collect()),
        );
        let instruction = text(line, "problem_statement")?;
        let class = line["repo"].as_str().map(str::to_owned);
        let expected = Some(expected);
        Ok(vec![Made {
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

/// The tests that are to pass: a list, or a list as text.
fn failing(value: &Value) -> Option<Vec<String>> {
    let listed = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_else(|| value.clone());
    serde_json::from_value::<Vec<String>>(listed).ok().filter(|names| !names.is_empty())
}

fn clone_of(repos: &Path, repo: &str) -> std::result::Result<PathBuf, String> {
    let name = checked(repo)?;
    let places = [repos.join(&name), repos.join(name.replace('/', "__"))];
    let found = places.iter().find(|place| place.is_dir());
    found.cloned().ok_or_else(|| format!("there is no clone of {repo} in {}", repos.display()))
}

fn git(dir: &Path, args: &[&str], input: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let ran = spawn::git(dir, args, input).map_err(|found| found.to_string())?;
    if ran.ok {
        Ok(ran.stdout)
    } else {
        Err(format!("git {} failed: {}", args[0], ran.stderr.trim()))
    }
}

/// The regular files of a commit. Links and submodules are passed over, as everywhere in tasks.
fn tree(clone: &Path, commit: &str) -> std::result::Result<Files, String> {
    if commit.len() < 7 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!("{commit:?} is no commit"));
    }
    let listed = git(clone, &["ls-tree", "-r", "-z", "--full-tree", commit], b"")?;
    let mut wanted = Vec::new();
    for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let line = std::str::from_utf8(line).map_err(|_| "a path is not UTF-8".to_owned())?;
        let (facts, path) = line.split_once('\t').unwrap_or_default();
        let words: Vec<&str> = facts.split(' ').collect();
        if let [mode @ ("100644" | "100755"), "blob", oid] = words.as_slice() {
            wanted.push((checked(path)?, *mode == "100755", (*oid).to_owned()));
        }
    }
    let asked = wanted.iter().fold(String::new(), |asked, (_, _, oid)| asked + oid + "\n");
    let given = git(clone, &["cat-file", "--batch"], asked.as_bytes())?;
    let (mut rest, mut files) = (given.as_slice(), Files::new());
    for (path, executable, oid) in wanted {
        let missing = || format!("the clone has not {oid}");
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(missing)?;
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let size: usize =
            head.rsplit(' ').next().and_then(|size| size.parse().ok()).ok_or_else(missing)?;
        let bytes = rest.get(end + 1..end + 1 + size).ok_or_else(missing)?.to_vec();
        rest = rest.get(end + 2 + size..).unwrap_or_default();
        files.insert(path, Content { bytes, executable });
    }
    Ok(files)
}

/// `files` with a patch in them, as Git applies it. Git refuses paths that lead out.
fn patched(place: &Path, files: &Files, patch: &str) -> std::result::Result<Files, String> {
    folder::plant(place, files).map_err(|error| error.to_string())?;
    git(place, &["init", "--quiet"], b"")?;
    git(place, &["apply", "--whitespace=nowarn", "-"], patch.as_bytes())?;
    folder::files(place, MOST).map_err(|error| error.to_string())
}
