//! A task: files before, an instruction, and a judge for the files after. Parsed strictly: unknown
//! keys are refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use super::judge_spec::{JudgeSpec, WrongAnswer};
use edt_io::directory::{FileContent, FileTree};
use edt_types::{Code, Finding, RepoPath, Result};

#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Unique in its suite.
    pub id: String,
    pub instruction: String,
    /// What the task asks for, in a sentence: lessons are found by its words.
    pub query: String,
    /// `YYYY-MM-DD`; the split by time compares it.
    pub date: String,
    /// The class of mistakes that it provokes.
    pub class: Option<String>,
    pub judge: JudgeSpec,
    /// Where changes are intended. If empty: the lines that `expected` changes.
    pub regions: Vec<Region>,
    /// The files before.
    pub before: FileTree,
    /// The files as they should be; `None` if the task does not define them.
    pub expected: Option<FileTree>,
    /// A recorded session: one JSON object per line.
    pub replay: Vec<String>,
}

/// Lines of a file before in which changes are intended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    pub path: String,
    /// From 1.
    pub start_line: u64,
    /// Inclusive. `start_line - 1` means the empty place before `start_line`.
    pub end_line: u64,
}

/// `task.toml`, or an entry of `[[task]]` in `suite.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskToml {
    schema: Option<String>,
    id: Option<String>,
    instruction: Option<String>,
    query: Option<String>,
    date: String,
    class: Option<String>,
    judge: JudgeSpec,
    #[serde(default)]
    region: Vec<Region>,
    #[serde(default)]
    repo: BTreeMap<String, String>,
    expected: Option<BTreeMap<String, String>>,
    #[serde(default)]
    replay: Vec<String>,
}

/// The schema of `task.toml`.
pub const SCHEMA: &str = "edt.task/1";

/// The refusal of `key` in `file`.
#[must_use]
pub fn bad_task(file: &str, key: &str, why: &str) -> Finding {
    let summary = format!("{file}: {key}: {why}.");
    let remedy = format!(
        "Correct `{key}` in {file}; docs/dev/bench.md lists the keys of tasks and of suites."
    );
    Finding::new(Code::BadTask, summary, remedy).with("file", file).with("key", key)
}

/// The refusal of a file that is not valid TOML, with the key if the parser names one.
#[must_use]
pub fn bad_toml(file: &str, error: &toml::de::Error) -> Finding {
    let message = error.message();
    let key = message.split('`').nth(1).unwrap_or("content");
    let position = error.span().map_or_else(String::new, |span| format!(" (byte {})", span.start));
    bad_task(file, key, &format!("{message}{position}"))
}

impl Task {
    /// A task with its own directory. The paths of `files` are relative to it; `shown` names it in
    /// messages.
    ///
    /// # Errors
    /// `BAD_TASK`.
    pub fn of_dir(name: &str, files: &FileTree, shown: &str) -> Result<Task> {
        let place = format!("{shown}/task.toml");
        let text = text_of(files, "task.toml", &place)?.unwrap_or_default();
        let wire: TaskToml = toml::from_str(&text).map_err(|error| bad_toml(&place, &error))?;
        match wire.schema.as_deref() {
            Some(SCHEMA) => {}
            Some(other) => {
                return Err(
                    bad_task(&place, "schema", &format!("{other:?} is not {SCHEMA:?}")).into()
                );
            }
            None => {
                return Err(bad_task(
                    &place,
                    "schema",
                    &format!("it is missing; it is {SCHEMA:?}"),
                )
                .into());
            }
        }
        if wire.id.as_ref().is_some_and(|id| id != name) {
            return Err(bad_task(
                &place,
                "id",
                &format!("it is not the directory's name {name:?}"),
            )
            .into());
        }
        let instruction = text_of(files, "instruction.md", &format!("{shown}/instruction.md"))?;
        let replay = text_of(files, "replay.jsonl", &format!("{shown}/replay.jsonl"))?;
        let below = |dir: &str| -> FileTree {
            let of =
                files.iter().filter_map(|(path, content)| Some((path.strip_prefix(dir)?, content)));
            of.map(|(path, content)| (path.to_owned(), content.clone())).collect()
        };
        let (before, expected) = (below("repo/"), below("expected/"));
        Task::of(wire, name, &place, TaskFiles { instruction, replay, before, expected })
    }

    /// A task of an entry of `[[task]]`.
    ///
    /// # Errors
    /// `BAD_TASK`.
    pub fn of_entry(wire: TaskToml, place: &str) -> Result<Task> {
        let Some(id) = wire.id.clone() else {
            return Err(bad_task(place, "id", "a [[task]] has no id").into());
        };
        Task::of(wire, &id, &format!("{place}, task {id}"), TaskFiles::default())
    }

    fn of(wire: TaskToml, id: &str, place: &str, beside: TaskFiles) -> Result<Task> {
        let refuse =
            |key: &str, why: &str| -> Result<Task> { Err(bad_task(place, key, why).into()) };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if id.is_empty() || !id.chars().all(plain) || id.starts_with('.') {
            return refuse(
                "id",
                "use letters, digits, `-`, `_` and `.`, and do not begin with `.`",
            );
        }
        let Some(instruction) = wire.instruction.or(beside.instruction) else {
            return refuse("instruction", "it is missing, and there is no instruction.md");
        };
        let first_line = instruction.lines().next().unwrap_or_default().to_owned();
        let query = wire.query.unwrap_or(first_line);
        if !is_date(&wire.date) {
            return refuse("date", &format!("{:?} is not a day such as 2026-01-31", wire.date));
        }
        let before = merge_files(beside.before, wire.repo, place, "repo")?;
        let has_expected = wire.expected.is_some() || !beside.expected.is_empty();
        let expected =
            merge_files(beside.expected, wire.expected.unwrap_or_default(), place, "expected")?;
        let expected = has_expected.then_some(expected);
        if let Some((key, why)) = wire.judge.fault(&before, expected.as_ref()) {
            return refuse(key, &why);
        }
        if let Some(region) = wire
            .region
            .iter()
            .find(|region| region.start_line == 0 || region.end_line + 1 < region.start_line)
        {
            return refuse(
                "region",
                &format!(
                    "{} has invalid lines {}:{}",
                    region.path, region.start_line, region.end_line
                ),
            );
        }
        let mut replay = wire.replay;
        replay.extend(beside.replay.iter().flat_map(|text| text.lines()).map(str::to_owned));
        replay.retain(|line| !line.trim().is_empty());
        Ok(Task {
            id: id.to_owned(),
            instruction,
            query,
            date: wire.date,
            class: wire.class,
            judge: wire.judge,
            regions: wire.region,
            before,
            expected,
            replay,
        })
    }
}

impl Task {
    /// All files as they should be, if the task defines them: `expected` alone if the judge
    /// compares all files, else `expected` over the files before.
    #[must_use]
    pub fn expected_files(&self) -> Option<FileTree> {
        let expected = self.expected.as_ref()?;
        let named = match &self.judge {
            JudgeSpec::Exact { files } if files.is_empty() => return Some(expected.clone()),
            JudgeSpec::Exact { files } => files.as_slice(),
            _ => &[],
        };
        let mut expected_files = self.before.clone();
        expected_files.retain(|path, _| !named.contains(path));
        expected_files
            .extend(expected.iter().map(|(path, content)| (path.clone(), content.clone())));
        Some(expected_files)
    }

    /// Whether the task defines what `path` should contain, or that it should not exist.
    #[must_use]
    pub fn specifies(&self, path: &str) -> bool {
        let all_files = matches!(&self.judge, JudgeSpec::Exact { files } if files.is_empty());
        self.expected.as_ref().is_some_and(|files| all_files || files.contains_key(path))
    }
}

/// The files in a task's directory other than `task.toml`.
#[derive(Debug, Default)]
struct TaskFiles {
    instruction: Option<String>,
    replay: Option<String>,
    before: FileTree,
    expected: FileTree,
}

/// The files of a directory and those of a table; a path in both is an error.
fn merge_files(
    mut files: FileTree,
    table: BTreeMap<String, String>,
    place: &str,
    key: &str,
) -> Result<FileTree> {
    for (path, text) in table {
        let content = FileContent { bytes: text.into_bytes(), executable: false };
        if files.insert(path.clone(), content).is_some() {
            return Err(bad_task(
                place,
                key,
                &format!("{path} is both in the table and in the directory"),
            )
            .into());
        }
    }
    for path in files.keys() {
        if let Err(problem) = RepoPath::parse(path.as_bytes()) {
            let why = problem.finding(path.as_bytes()).summary;
            return Err(bad_task(place, key, why.trim_end_matches('.')).into());
        }
    }
    Ok(files)
}

fn text_of(files: &FileTree, name: &str, place: &str) -> Result<Option<String>> {
    let Some(content) = files.get(name) else { return Ok(None) };
    let text = String::from_utf8(content.bytes.clone());
    text.map(Some).map_err(|_| bad_task(place, "content", "it is not UTF-8").into())
}

/// Whether `text` is a valid day such as `2026-01-31`. Such days compare as texts.
#[must_use]
pub fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let number = |text: &str, digits: usize| {
        (text.len() == digits && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse::<u32>().ok())
            .flatten()
    };
    number(year, 4).is_some()
        && number(month, 2).zip(number(day, 2)).is_some_and(|(month, day)| {
            let leap = number(year, 4)
                .is_some_and(|year| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
            let days = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            let last =
                usize::try_from(month).ok().and_then(|month| days.get(month.checked_sub(1)?));
            last.is_some_and(|last| (1..=*last).contains(&day))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(toml: &str, more: &[&str]) -> String {
        let file = |(path, text): (&str, &str)| {
            (path.to_owned(), FileContent { bytes: text.as_bytes().to_vec(), executable: false })
        };
        let mut files: FileTree = [file(("task.toml", toml))].into();
        files.extend(more.iter().map(|path| file((path, "x\n"))));
        match Task::of_dir("t", &files, "suite/t") {
            Ok(task) => format!("{}: {} files", task.id, task.before.len()),
            Err(found) => found.to_string(),
        }
    }

    #[test]
    fn a_bad_task_is_refused_with_its_file_and_key() {
        let good = "schema = \"edt.task/1\"\ninstruction = \"x\"\ndate = \"2026-01-31\"\njudge = { kind = \"exact\" }\n";
        assert_eq!(refused(good, &["repo/a", "repo/b/c", "expected/a"]), "t: 2 files");
        assert!(
            refused(good, &["repo/a"])
                .contains("suite/t/task.toml: judge: kind \"exact\" compares with")
        );
        let cases = [
            ("2026-01-31", "31 Jan", "date: \"31 Jan\" is not a day"),
            ("edt.task/1", "edt.task/2", "schema: \"edt.task/2\" is not \"edt.task/1\""),
            ("instruction", "instructions", "instructions: unknown field `instructions`"),
            ("exact", "exactly", "exactly: unknown variant `exactly`"),
            ("schema =", "id = \"u\"\nschema =", "id: it is not the directory's name \"t\""),
        ];
        for (from, to, reason) in cases {
            let refused = refused(&good.replace(from, to), &["repo/a", "expected/a"]);
            assert!(
                refused.starts_with("BAD_TASK: suite/t/task.toml: ") && refused.contains(reason),
                "{refused}"
            );
        }
    }

    #[test]
    fn only_valid_days_in_full_form_are_dates() {
        assert!(
            is_date("2026-01-31")
                && !is_date("2026-1-31")
                && !is_date("2026-13-01")
                && !is_date("2026-01-31T00")
        );
    }
}
