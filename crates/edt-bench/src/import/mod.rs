//! Imports public benchmarks from their own file formats into a suite: the family [`FORMATS`]. An
//! import is complete or leaves nothing behind.

mod exercism;
mod lines;
mod swe;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::suite::Suite;
use super::task::bad_task;
use edt_io::directory::{self, FileContent, FileTree};
use edt_io::{failed, fs, process};
use edt_types::{Code, Finding, Refusal, RepoPath, Result};

#[derive(Debug, Clone)]
pub struct ImportSource {
    /// The file or directory.
    pub path: PathBuf,
    /// The date of the tasks, for formats without dates.
    pub date: Option<String>,
    /// The directory with clones, for formats that need them.
    pub repos: Option<PathBuf>,
    /// The test command, if it replaces the format's.
    pub test: Vec<String>,
}

pub struct ImportFormat {
    pub name: &'static str,
    /// A sentence for users.
    pub about: &'static str,
    /// Reads all tasks, or returns a finding for each that cannot be read.
    read: fn(&ImportSource) -> Result<Vec<ImportedTask>>,
}

pub const FORMATS: &[ImportFormat] = &[
    ImportFormat {
        name: "exercism",
        about: "directories LANGUAGE/exercises/practice/NAME, as in Exercism's tracks and aider's polyglot benchmark",
        read: exercism::read,
    },
    ImportFormat {
        name: "canitedit",
        about: "JSON lines with before, after, tests, instruction_descriptive, instruction_lazy",
        read: lines::canitedit,
    },
    ImportFormat {
        name: "humanevalfix",
        about: "JSON lines of HumanEvalPack with buggy_solution and canonical_solution; Python",
        read: lines::humanevalfix,
    },
    ImportFormat {
        name: "swe-bench",
        about: "JSON lines with repo, base_commit, patch, test_patch, problem_statement; needs --repos",
        read: swe::read,
    },
];

#[derive(Debug, Default)]
struct ImportedTask {
    id: String,
    instruction: String,
    date: String,
    class: Option<String>,
    before: FileTree,
    expected: Option<FileTree>,
    /// Files that are added before the tests run; the agent never sees them.
    tests: FileTree,
    /// The test commands: each must exit with status 0.
    commands: Vec<Vec<String>>,
}

/// Imports `source` as the suite `to`, a directory that must not exist. Returns the number of
/// tasks.
///
/// # Errors
/// `BAD_TASK` for each task that cannot be read, with its line or directory; `FILE_EXISTS`;
/// `IO_ERROR`. Nothing is left in `to`.
pub fn import(format: &ImportFormat, source: &ImportSource, to: &Path) -> Result<usize> {
    if to.symlink_metadata().is_ok() {
        let summary = format!("{} already exists.", to.display());
        let remedy = "Name a directory that does not exist yet.";
        return Err(Finding::new(Code::FileExists, summary, remedy).nothing_changed().into());
    }
    let tasks = (format.read)(source)?;
    let mut ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    ids.sort_unstable();
    if let Some([twice, _]) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(bad_task(
            &source.path.display().to_string(),
            "id",
            &format!("there are two tasks {twice:?}"),
        )
        .into());
    }
    let description = format!("Imported: {}.", format.name);
    let mut files: FileTree =
        [file("suite.toml", &format!("schema = \"edt.suite/1\"\ndescription = {description:?}\n"))]
            .into();
    for task in &tasks {
        task.add_to(&mut files);
    }
    let name = to.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let temporary = to.with_file_name(format!(".{name}.{}.importing", process::process_id()));
    let written = directory::write_tree(&temporary, &files)
        .map_err(|error| Refusal::from(failed("write", &temporary, &error)));
    // A suite that cannot be read again is not installed.
    let read = written.and_then(|()| Suite::open(&temporary.display().to_string(), Path::new("/")));
    let moved = read.and_then(|_| {
        fs::rename(&temporary, to).map_err(|error| failed("create", to, &error).into())
    });
    if moved.is_err() {
        let _ = fs::remove_dir_all(&temporary);
    }
    moved.map(|()| tasks.len())
}

impl ImportedTask {
    fn add_to(&self, files: &mut FileTree) {
        let id = &self.id;
        let class = self
            .class
            .as_ref()
            .map_or_else(String::new, |class| format!("class = {}\n", Value::from(class.as_str())));
        let judge = "[judge]\nkind = \"program\"\nargv = [\"python3\", \"-S\", \"{task}/judge.py\"]\ntimeout = 600\n";
        let toml = format!("schema = \"edt.task/1\"\ndate = {:?}\n{class}{judge}", self.date);
        files.extend([
            file(&format!("{id}/task.toml"), &toml),
            file(&format!("{id}/instruction.md"), &self.instruction),
            file(&format!("{id}/judge.py"), include_str!("judge.py")),
            file(
                &format!("{id}/judge.json"),
                &serde_json::to_string(&self.commands).unwrap_or_default(),
            ),
        ]);
        let mut add_dir = |dir: &str, own: &FileTree| {
            files.extend(
                own.iter().map(|(path, content)| (format!("{id}/{dir}/{path}"), content.clone())),
            );
        };
        add_dir("repo", &self.before);
        add_dir("tests", &self.tests);
        if let Some(expected) = &self.expected {
            add_dir("expected", expected);
        }
    }
}

fn file(path: &str, text: &str) -> (String, FileContent) {
    (path.to_owned(), FileContent { bytes: text.as_bytes().to_vec(), executable: false })
}

/// A task's id, made from the benchmark's name for it.
fn id_of(name: &str) -> std::result::Result<String, String> {
    let id: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .collect();
    let valid = !id.is_empty()
        && !name.starts_with(['.', '/'])
        && !name.split('/').any(|part| part == "..")
        && id.len() <= 200;
    valid.then_some(id).ok_or_else(|| format!("{name:?} cannot become the name of a task"))
}

/// A path that a task may have: inside the worktree.
fn valid_path(path: &str) -> std::result::Result<String, String> {
    match RepoPath::parse(path.as_bytes()) {
        Ok(_) => Ok(path.to_owned()),
        Err(problem) => {
            Err(problem.finding(path.as_bytes()).summary.trim_end_matches('.').to_owned())
        }
    }
}

/// The date for a format without dates.
fn date_of(source: &ImportSource) -> Result<String> {
    source.date.clone().ok_or_else(|| {
        let summary = "This format has no dates, but every task needs one for the split by time.";
        let remedy = "Give the date of the tasks with --date, such as --date 2024-12-20.";
        Finding::new(Code::BadRequest, summary, remedy).nothing_changed().into()
    })
}

/// All tasks, or the findings of those that cannot be read.
fn all_or_findings(
    read: impl Iterator<Item = std::result::Result<Vec<ImportedTask>, Finding>>,
) -> Result<Vec<ImportedTask>> {
    let (mut all, mut findings) = (Vec::new(), Vec::new());
    for result in read {
        match result {
            Ok(tasks) => all.extend(tasks),
            Err(finding) => findings.push(finding),
        }
    }
    Refusal::check(findings)?;
    Ok(all)
}

/// Parses each line of a file of JSON lines with `understand`; a finding names the line and the
/// key.
fn each_line(
    source: &ImportSource,
    understand: impl Fn(&Value) -> std::result::Result<Vec<ImportedTask>, (&'static str, String)>,
) -> Result<Vec<ImportedTask>> {
    const MAX_BYTES: u64 = 1024 * 1024 * 1024;
    let shown = source.path.display().to_string();
    let read = fs::read_file_limited(&source.path, MAX_BYTES)
        .map_err(|error| failed("read", &source.path, &error))?;
    let Some(bytes) = read else {
        return Err(bad_task(&shown, "content", "it has more than 1 GiB").into());
    };
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.trim_ascii().is_empty());
    all_or_findings(lines.map(|(at, line)| {
        let place = format!("{shown}, line {}", at + 1);
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| bad_task(&place, "content", &error.to_string()))?;
        understand(&value).map_err(|(key, why)| bad_task(&place, key, &why))
    }))
}

fn text(value: &Value, key: &'static str) -> std::result::Result<String, (&'static str, String)> {
    value[key]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| (key, "it is missing or not a string".to_owned()))
}
