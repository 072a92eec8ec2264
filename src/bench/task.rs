//! A task: files before, an instruction, and how the files after are judged. Read strictly: a task that is not understood is refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::{Code, Finding, Level, RepoPath, Result};
use crate::io::folder::{Content, Files};

/// A task, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its name: unique in its suite.
    pub id: String,
    /// What the agent is told.
    pub instruction: String,
    /// The day that it is from, `YYYY-MM-DD`: what the split by time goes by.
    pub date: String,
    /// A class of mistakes that it provokes.
    pub class: Option<String>,
    /// How its result is judged.
    pub judge: JudgeSpec,
    /// Where changes are meant to be; what `expected` changes, if there is none.
    pub regions: Vec<Region>,
    /// The files before.
    pub before: Files,
    /// The files as they should be; `None` if the task does not say.
    pub expected: Option<Files>,
    /// A recorded session: what an agent said, a JSON object a line.
    pub replay: Vec<String>,
}

/// How a result is judged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JudgeSpec {
    /// The files are those of `expected/`, byte for byte.
    Exact {
        /// Only these; every file of the worktree if left out.
        #[serde(default)]
        files: Vec<String>,
    },
    /// A file has the numbers that `expected/` has, and the same words between them.
    Numeric {
        /// The file.
        file: String,
        /// How far a number may be off.
        tolerance: f64,
        /// How far as a share of the expected number.
        #[serde(default)]
        relative: f64,
    },
    /// A program ends well, run by `edt run` in a copy of the worktree.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The longest it may take, in seconds.
        #[serde(default = "a_minute")]
        timeout: f64,
        /// The sandbox.
        #[serde(default = "standard")]
        sandbox: Level,
    },
    /// A program reads a JSON object and answers with one.
    Program {
        /// The program and its arguments; `{task}` is the task's folder.
        argv: Vec<String>,
        /// The longest it may take, in seconds.
        #[serde(default = "a_minute")]
        timeout: f64,
    },
}

const fn a_minute() -> f64 {
    60.0
}

const fn standard() -> Level {
    Level::Standard
}

impl JudgeSpec {
    /// The word that `kind` has.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            JudgeSpec::Exact { .. } => "exact",
            JudgeSpec::Numeric { .. } => "numeric",
            JudgeSpec::Command { .. } => "command",
            JudgeSpec::Program { .. } => "program",
        }
    }
}

/// Lines of a file before, where changes are meant to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// The file.
    pub path: String,
    /// The first line, 1-based.
    pub start_line: u64,
    /// The last line, included; one less than the first stands for the place before it.
    pub end_line: u64,
}

/// `task.toml`, and an entry of `[[task]]` in `suite.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    schema: Option<String>,
    id: Option<String>,
    instruction: Option<String>,
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

/// The schema that a `task.toml` names.
pub const SCHEMA: &str = "edt.task/1";

/// A refusal of what stands in `file` under `key`.
#[must_use]
pub fn bad(file: &str, key: &str, why: &str) -> Finding {
    let message = format!("{file}: {key}: {why}.");
    let hint =
        format!("Correct `{key}` in {file}; docs/bench.md has every key of a task and of a suite.");
    Finding::new(Code::BadTask, message, hint).with("file", file).with("key", key)
}

/// What `toml` says of a text that it cannot read, as a refusal that names the key where one is to blame.
#[must_use]
pub fn unreadable(file: &str, error: &toml::de::Error) -> Finding {
    let said = error.message().to_owned();
    let key = said.split('`').nth(1).unwrap_or("the whole").to_owned();
    let line = error.span().map_or_else(String::new, |span| format!(" (byte {})", span.start));
    bad(file, &key, &format!("{said}{line}"))
}

impl Task {
    /// The task in the folder `folder` of a suite, whose files are `files`, named from that folder.
    ///
    /// # Errors
    /// `BAD_TASK`.
    pub fn of_folder(name: &str, files: &Files, shown: &str) -> Result<Task> {
        let place = format!("{shown}/task.toml");
        let text = text_of(files, "task.toml", &place)?.unwrap_or_default();
        let wire: Wire = toml::from_str(&text).map_err(|error| unreadable(&place, &error))?;
        match wire.schema.as_deref() {
            Some(SCHEMA) => {}
            Some(other) => {
                return Err(bad(&place, "schema", &format!("{other:?} is not {SCHEMA:?}")).into());
            }
            None => {
                return Err(
                    bad(&place, "schema", &format!("it is missing; it is {SCHEMA:?}")).into()
                );
            }
        }
        if wire.id.as_ref().is_some_and(|id| id != name) {
            return Err(bad(&place, "id", &format!("it is not the folder's name {name:?}")).into());
        }
        let instruction = text_of(files, "instruction.md", &format!("{shown}/instruction.md"))?;
        let replay = text_of(files, "replay.jsonl", &format!("{shown}/replay.jsonl"))?;
        let below = |folder: &str| -> Files {
            let of = files
                .iter()
                .filter_map(|(path, content)| Some((path.strip_prefix(folder)?, content)));
            of.map(|(path, content)| (path.to_owned(), content.clone())).collect()
        };
        let (before, expected) = (below("repo/"), below("expected/"));
        Task::of(wire, name, &place, Beside { instruction, replay, before, expected })
    }

    /// The task of an entry of `[[task]]`.
    ///
    /// # Errors
    /// `BAD_TASK`.
    pub fn of_entry(wire: Wire, place: &str) -> Result<Task> {
        let Some(id) = wire.id.clone() else {
            return Err(bad(place, "id", "a [[task]] has no id").into());
        };
        Task::of(wire, &id, &format!("{place}, task {id}"), Beside::default())
    }

    fn of(wire: Wire, id: &str, place: &str, beside: Beside) -> Result<Task> {
        let wrong = |key: &str, why: &str| -> Result<Task> { Err(bad(place, key, why).into()) };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if id.is_empty() || !id.chars().all(plain) || id.starts_with('.') {
            return wrong("id", "a name has letters, digits, `-`, `_` and `.`");
        }
        let Some(instruction) = wire.instruction.or(beside.instruction) else {
            return wrong("instruction", "it is missing, and there is no instruction.md");
        };
        if !is_date(&wire.date) {
            return wrong("date", &format!("{:?} is not a day such as 2026-01-31", wire.date));
        }
        let before = joined(beside.before, wire.repo, place, "repo")?;
        let said = wire.expected.is_some() || !beside.expected.is_empty();
        let expected =
            joined(beside.expected, wire.expected.unwrap_or_default(), place, "expected")?;
        let expected = said.then_some(expected);
        let missing =
            |file: &String| !expected.as_ref().is_some_and(|files| files.contains_key(file));
        match &wire.judge {
            JudgeSpec::Exact { .. } if expected.is_none() => {
                return wrong(
                    "judge",
                    "kind \"exact\" compares with expected/, which is not there",
                );
            }
            // A file that is to be gone stands in repo/ alone.
            JudgeSpec::Exact { files } => {
                if let Some(file) =
                    files.iter().find(|file| missing(file) && !before.contains_key(*file))
                {
                    return wrong(
                        "judge.files",
                        &format!("{file} stands neither in expected/ nor in repo/"),
                    );
                }
            }
            JudgeSpec::Numeric { file, tolerance, relative } => {
                if missing(file) {
                    return wrong("judge.file", &format!("{file} does not stand in expected/"));
                }
                if !(*tolerance >= 0.0
                    && *relative >= 0.0
                    && tolerance.is_finite()
                    && relative.is_finite())
                {
                    return wrong("judge.tolerance", "it is not a number from 0 on");
                }
            }
            JudgeSpec::Command { argv, timeout, .. } | JudgeSpec::Program { argv, timeout } => {
                if argv.is_empty() {
                    return wrong("judge.argv", "it is empty: the first word is the program");
                }
                if !(*timeout > 0.0 && *timeout <= 3600.0) {
                    return wrong("judge.timeout", "it is not a number of seconds up to 3600");
                }
            }
        }
        if let Some(region) =
            wire.region.iter().find(|one| one.start_line == 0 || one.end_line + 1 < one.start_line)
        {
            return wrong(
                "region",
                &format!("{} has no lines {}:{}", region.path, region.start_line, region.end_line),
            );
        }
        let mut replay = wire.replay;
        replay.extend(beside.replay.iter().flat_map(|text| text.lines()).map(str::to_owned));
        replay.retain(|line| !line.trim().is_empty());
        Ok(Task {
            id: id.to_owned(),
            instruction,
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
    /// All files as they should be, if the task says so: `expected` as it is where everything is compared, else put over those before.
    #[must_use]
    pub fn wanted(&self) -> Option<Files> {
        let expected = self.expected.as_ref()?;
        let named = match &self.judge {
            JudgeSpec::Exact { files } if files.is_empty() => return Some(expected.clone()),
            JudgeSpec::Exact { files } => files.as_slice(),
            _ => &[],
        };
        let mut wanted = self.before.clone();
        wanted.retain(|path, _| !named.contains(path));
        wanted.extend(expected.iter().map(|(path, content)| (path.clone(), content.clone())));
        Some(wanted)
    }

    /// Whether the task says what `path` should hold, if only that it should not be there.
    #[must_use]
    pub fn speaks_of(&self, path: &str) -> bool {
        let whole = matches!(&self.judge, JudgeSpec::Exact { files } if files.is_empty());
        self.expected.as_ref().is_some_and(|files| whole || files.contains_key(path))
    }
}

/// What stands beside a `task.toml`.
#[derive(Debug, Default)]
struct Beside {
    instruction: Option<String>,
    replay: Option<String>,
    before: Files,
    expected: Files,
}

/// Files of a folder and those that stand in the table itself; the same name in both is a mistake.
fn joined(
    mut files: Files,
    table: BTreeMap<String, String>,
    place: &str,
    key: &str,
) -> Result<Files> {
    for (path, text) in table {
        let content = Content { bytes: text.into_bytes(), executable: false };
        if files.insert(path.clone(), content).is_some() {
            return Err(
                bad(place, key, &format!("{path} stands in the table and in the folder")).into()
            );
        }
    }
    for path in files.keys() {
        if let Err(problem) = RepoPath::parse(path.as_bytes()) {
            let said = problem.finding(path.as_bytes()).message;
            return Err(bad(place, key, said.trim_end_matches('.')).into());
        }
    }
    Ok(files)
}

fn text_of(files: &Files, name: &str, place: &str) -> Result<Option<String>> {
    let Some(content) = files.get(name) else { return Ok(None) };
    let text = String::from_utf8(content.bytes.clone());
    text.map(Some).map_err(|_| bad(place, "the whole", "it is not UTF-8").into())
}

/// Whether `text` is a day as `2026-01-31`: such days compare as texts.
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
            (path.to_owned(), Content { bytes: text.as_bytes().to_vec(), executable: false })
        };
        let mut files: Files = [file(("task.toml", toml))].into();
        files.extend(more.iter().map(|path| file((path, "x\n"))));
        match Task::of_folder("t", &files, "suite/t") {
            Ok(task) => format!("{}: {} files", task.id, task.before.len()),
            Err(found) => found.to_string(),
        }
    }

    #[test]
    fn a_task_that_cannot_be_read_names_its_file_and_the_key() {
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
            ("schema =", "id = \"u\"\nschema =", "id: it is not the folder's name \"t\""),
        ];
        for (from, to, said) in cases {
            let refused = refused(&good.replace(from, to), &["repo/a", "expected/a"]);
            assert!(
                refused.starts_with("BAD_TASK: suite/t/task.toml: ") && refused.contains(said),
                "{refused}"
            );
        }
    }

    #[test]
    fn days_compare_as_texts() {
        assert!(
            is_date("2026-01-31")
                && !is_date("2026-1-31")
                && !is_date("2026-13-01")
                && !is_date("2026-01-31T00")
        );
    }
}
