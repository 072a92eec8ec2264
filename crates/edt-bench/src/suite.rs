//! A suite: a directory of tasks, or one of the shipped suites.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::shipped;
use super::strategy::Strategy;
use super::task::{self, Task, bad_task, bad_toml};
use edt_git::sha256;
use edt_io::directory::{self, FileTree};
use edt_io::failed;
use edt_types::{Code, Finding, Result};

#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// The name of its directory.
    pub name: String,
    pub description: String,
    /// The default agent; `replay` plays the recorded session of each task.
    pub agent: Option<String>,
    /// The default strategies.
    pub strategies: Vec<String>,
    /// The default guards: `on`, `off` or both.
    pub guards: Vec<String>,
    /// The default number of sessions.
    pub sessions: Option<u32>,
    /// The default maximum of attempts at a task.
    pub attempts: Option<u32>,
    /// Sorted by id.
    pub tasks: Vec<Task>,
    /// The SHA-256 of all its files, names included.
    pub digest: String,
    /// The name by which a worker process finds it.
    pub location: String,
    /// All its files.
    pub files: FileTree,
    /// `None` for a shipped suite.
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteToml {
    schema: String,
    description: String,
    agent: Option<String>,
    #[serde(default)]
    strategies: Vec<String>,
    #[serde(default)]
    guards: Vec<String>,
    sessions: Option<u32>,
    attempts: Option<u32>,
    #[serde(default)]
    task: Vec<task::TaskToml>,
}

/// The schema of `suite.toml`.
pub const SCHEMA: &str = "edt.suite/1";
/// The largest suite, in bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

impl Suite {
    /// Reads a suite: a directory relative to `start`, or else a shipped suite of that name.
    ///
    /// # Errors
    /// `BAD_TASK`; `FILE_NOT_FOUND` if there is neither; `IO_ERROR`.
    pub fn open(name: &str, start: &Path) -> Result<Suite> {
        let path = start.join(name);
        if path.join("suite.toml").is_file() {
            let path = edt_io::fs::real_path(&path);
            let files = directory::read_tree(&path, MAX_BYTES)
                .map_err(|error| failed("read the suite", &path, &error))?;
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let shown = path.display().to_string();
            return Suite::of(&name, files, &shown, Some(path));
        }
        if let Some(files) = shipped::suite(name) {
            return Suite::of(name, files, name, None);
        }
        let names = shipped::names();
        let near = similar::get_close_matches(name, &names, 1, 0.5);
        let nearest =
            near.first().map_or_else(String::new, |near| format!(" Did you mean {near}?"));
        let summary = format!(
            "{name} is neither a directory with a suite.toml nor a shipped suite.{nearest}"
        );
        let remedy = format!("Name a directory, or one of {}.", names.join(", "));
        Err(Finding::new(Code::FileNotFound, summary, remedy).into())
    }

    fn of(name: &str, files: FileTree, shown: &str, path: Option<PathBuf>) -> Result<Suite> {
        let place = format!("{shown}/suite.toml");
        let bytes =
            files.get("suite.toml").map(|content| content.bytes.clone()).unwrap_or_default();
        let text =
            String::from_utf8(bytes).map_err(|_| bad_task(&place, "content", "it is not UTF-8"))?;
        let wire: SuiteToml = toml::from_str(&text).map_err(|error| bad_toml(&place, &error))?;
        if wire.schema != SCHEMA {
            return Err(bad_task(
                &place,
                "schema",
                &format!("{:?} is not {SCHEMA:?}", wire.schema),
            )
            .into());
        }
        for (key, number, most) in
            [("sessions", wire.sessions, 1000), ("attempts", wire.attempts, 5)]
        {
            if let Some(number) = number.filter(|number| !(1..=most).contains(number)) {
                return Err(
                    bad_task(&place, key, &format!("{number} is not from 1 to {most}")).into()
                );
            }
        }
        if let Some(name) = wire.strategies.iter().find(|name| Strategy::of(name).is_none()) {
            return Err(
                bad_task(&place, "strategies", &format!("there is no strategy {name:?}")).into()
            );
        }
        if let Some(arm) = wire.guards.iter().find(|arm| !["on", "off"].contains(&arm.as_str())) {
            return Err(bad_task(
                &place,
                "guards",
                &format!("{arm:?} is neither \"on\" nor \"off\""),
            )
            .into());
        }
        let mut tasks = wire
            .task
            .into_iter()
            .map(|toml| Task::of_entry(toml, &place))
            .collect::<Result<Vec<_>>>()?;
        for path in files.keys() {
            let Some((task, "task.toml")) = path.split_once('/') else { continue };
            let prefix = format!("{task}/");
            let own = files
                .iter()
                .filter_map(|(path, content)| Some((path.strip_prefix(&prefix)?, content)));
            let own: FileTree =
                own.map(|(path, content)| (path.to_owned(), content.clone())).collect();
            tasks.push(Task::of_dir(task, &own, &format!("{shown}/{task}"))?);
        }
        tasks.sort_by(|a, b| a.id.cmp(&b.id));
        if let Some(twice) = tasks.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(bad_task(
                &place,
                "task",
                &format!("there are two tasks {:?}", twice[0].id),
            )
            .into());
        }
        if tasks.is_empty() {
            return Err(
                bad_task(&place, "task", "no directory has a task.toml, and no [[task]]").into()
            );
        }
        let mut all = Vec::new();
        for (path, content) in &files {
            all.extend_from_slice(
                format!("{path}\0{}\0{}\0", content.executable, content.bytes.len()).as_bytes(),
            );
            all.extend_from_slice(&content.bytes);
        }
        Ok(Suite {
            name: name.to_owned(),
            description: wire.description,
            agent: wire.agent,
            strategies: wire.strategies,
            guards: wire.guards,
            sessions: wire.sessions,
            attempts: wire.attempts,
            tasks,
            digest: sha256(&all)?,
            location: shown.to_owned(),
            files,
            dir: path,
        })
    }

    /// # Errors
    /// `BAD_TASK` if there is no such task, because the suite has changed.
    pub fn task(&self, id: &str) -> Result<&Task> {
        self.tasks.iter().find(|task| task.id == id).ok_or_else(|| {
            bad_task(
                &format!("{}/suite.toml", self.location),
                "task",
                &format!("there is no task {id:?}"),
            )
            .into()
        })
    }
}
