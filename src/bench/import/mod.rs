//! Public benchmarks of edits, from their own file formats into a suite: the family [`FORMATS`]. All of it or nothing.

mod exercism;
mod lines;
mod swe;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::suite::Suite;
use super::task::bad;
use crate::base::{Code, Finding, Findings, RepoPath, Result};
use crate::io::folder::{self, Content, Files};
use crate::io::{clock, failed, whole};

/// What is imported, and how.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file or folder.
    pub path: PathBuf,
    /// The day that the tasks are from, where the format has none.
    pub date: Option<String>,
    /// The folder with clones, where the format needs them.
    pub repos: Option<PathBuf>,
    /// The command that tests, where it is another than the format's.
    pub test: Vec<String>,
}

/// One format.
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Reads all tasks; what is wrong with each that cannot be read.
    read: fn(&Source) -> Result<Vec<Made>>,
}

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "exercism",
        about: "folders LANGUAGE/exercises/practice/NAME, as of Exercism's tracks and aider's polyglot benchmark",
        read: exercism::read,
    },
    Format {
        name: "canitedit",
        about: "JSON lines with before, after, tests, instruction_descriptive, instruction_lazy",
        read: lines::canitedit,
    },
    Format {
        name: "humanevalfix",
        about: "JSON lines of HumanEvalPack with buggy_solution and canonical_solution; Python",
        read: lines::humanevalfix,
    },
    Format {
        name: "swe-bench",
        about: "JSON lines with repo, base_commit, patch, test_patch, problem_statement; needs --repos",
        read: swe::read,
    },
];

/// A task that was read.
#[derive(Debug, Default)]
struct Made {
    id: String,
    instruction: String,
    date: String,
    class: Option<String>,
    before: Files,
    expected: Option<Files>,
    /// What is put over the files before they are tested: no agent sees it.
    tests: Files,
    /// What tests: each must end with status 0.
    commands: Vec<Vec<String>>,
}

/// Reads `source` and writes the suite `to`, a folder that is not there yet. How many tasks it has.
///
/// # Errors
/// `BAD_TASK` for each task that cannot be read, with its line or folder; `FILE_EXISTS`; `IO_ERROR`. Nothing is left of it then.
pub fn import(format: &Format, source: &Source, to: &Path) -> Result<usize> {
    if to.symlink_metadata().is_ok() {
        let message = format!("{} is there already. Nothing was imported.", to.display());
        return Err(Finding::new(
            Code::FileExists,
            message,
            "Name a folder that does not exist yet.",
        )
        .into());
    }
    let made = (format.read)(source)?;
    let mut ids: Vec<&str> = made.iter().map(|one| one.id.as_str()).collect();
    ids.sort_unstable();
    if let Some([twice, _]) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(bad(
            &source.path.display().to_string(),
            "id",
            &format!("there are two tasks {twice:?}"),
        )
        .into());
    }
    let description = format!("Imported: {}.", format.name);
    let mut files: Files =
        [file("suite.toml", &format!("schema = \"edt.suite/1\"\ndescription = {description:?}\n"))]
            .into();
    for one in &made {
        one.put(&mut files);
    }
    let name = to.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = to.with_file_name(format!(".{name}.{}.importing", clock::process_id()));
    let written = folder::plant(&beside, &files)
        .map_err(|error| Findings::from(failed("write", &beside, &error)));
    // What cannot be read again is no suite.
    let read = written.and_then(|()| Suite::named(&beside.display().to_string(), Path::new("/")));
    let moved = read.and_then(|_| {
        whole::rename(&beside, to).map_err(|error| failed("make", to, &error).into())
    });
    if moved.is_err() {
        let _ = whole::remove_folder(&beside);
    }
    moved.map(|()| made.len())
}

impl Made {
    fn put(&self, files: &mut Files) {
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
        let mut below = |folder: &str, own: &Files| {
            files.extend(
                own.iter()
                    .map(|(path, content)| (format!("{id}/{folder}/{path}"), content.clone())),
            );
        };
        below("repo", &self.before);
        below("tests", &self.tests);
        if let Some(expected) = &self.expected {
            below("expected", expected);
        }
    }
}

fn file(path: &str, text: &str) -> (String, Content) {
    (path.to_owned(), Content { bytes: text.as_bytes().to_vec(), executable: false })
}

/// A task's name from what a benchmark calls it.
fn id_of(name: &str) -> std::result::Result<String, String> {
    let id: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .collect();
    let good = !id.is_empty()
        && !name.starts_with(['.', '/'])
        && !name.split('/').any(|part| part == "..")
        && id.len() <= 200;
    good.then_some(id).ok_or_else(|| format!("{name:?} is no name for a task"))
}

/// A path as a task may have it: below the worktree.
fn checked(path: &str) -> std::result::Result<String, String> {
    match RepoPath::parse(path.as_bytes()) {
        Ok(_) => Ok(path.to_owned()),
        Err(problem) => {
            Err(problem.finding(path.as_bytes()).message.trim_end_matches('.').to_owned())
        }
    }
}

/// The day of a format that has none.
fn date_of(source: &Source) -> Result<String> {
    source.date.clone().ok_or_else(|| {
        let message =
            "This format has no dates, and a task has one: the split by time goes by it. Nothing was imported.";
        Finding::new(Code::BadRequest, message, "Say from when the tasks are with --date, such as --date 2024-12-20.")
            .into()
    })
}

/// The tasks, or what is wrong with each that is none.
fn all(read: impl Iterator<Item = std::result::Result<Vec<Made>, Finding>>) -> Result<Vec<Made>> {
    let (mut made, mut found) = (Vec::new(), Vec::new());
    for one in read {
        match one {
            Ok(tasks) => made.extend(tasks),
            Err(finding) => found.push(finding),
        }
    }
    Findings::check(found)?;
    Ok(made)
}

/// Each line of a file of JSON lines, understood by `understand`; what it says against one names the line and the key.
fn each_line(
    source: &Source,
    understand: impl Fn(&Value) -> std::result::Result<Vec<Made>, (&'static str, String)>,
) -> Result<Vec<Made>> {
    const MOST: u64 = 1024 * 1024 * 1024;
    let shown = source.path.display().to_string();
    let read = whole::read_at_most(&source.path, MOST)
        .map_err(|error| failed("read", &source.path, &error))?;
    let Some(bytes) = read else {
        return Err(bad(&shown, "the whole", "it has more than 1 GiB").into());
    };
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.trim_ascii().is_empty());
    all(lines.map(|(at, line)| {
        let place = format!("{shown}, line {}", at + 1);
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| bad(&place, "the whole", &error.to_string()))?;
        understand(&value).map_err(|(key, why)| bad(&place, key, &why))
    }))
}

/// The text under `key`.
fn text(value: &Value, key: &'static str) -> std::result::Result<String, (&'static str, String)> {
    value[key]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| (key, "it is missing, or no text".to_owned()))
}
