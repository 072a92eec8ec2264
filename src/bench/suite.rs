//! A suite: a folder of tasks, or one of those that edt brings along.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::shipped;
use super::strategy::Strategy;
use super::task::{self, Task, bad, unreadable};
use crate::base::{Code, Finding, Result};
use crate::git::sha256;
use crate::io::failed;
use crate::io::folder::{self, Files};

/// A suite, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Its name: the folder's.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// The command line of the agent that it is made for; `replay` has each task's recorded session played.
    pub agent: Option<String>,
    /// Strategies that it is made for.
    pub strategies: Vec<String>,
    /// Arms that it is made for: `on`, `off`.
    pub guards: Vec<String>,
    /// How often its tasks are gone through.
    pub sessions: Option<u32>,
    /// The most attempts at a task.
    pub attempts: Option<u32>,
    /// Its tasks, by their names.
    pub tasks: Vec<Task>,
    /// The SHA-256 of all its files, names included.
    pub digest: String,
    /// Where it was named: what a worker finds it by.
    pub named: String,
    /// All its files.
    pub files: Files,
    /// Its folder, if it is not one of edt's own.
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
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
    task: Vec<task::Wire>,
}

/// The schema that a `suite.toml` names.
pub const SCHEMA: &str = "edt.suite/1";
/// The most bytes that a suite may have.
const MOST: u64 = 256 * 1024 * 1024;

impl Suite {
    /// The suite that `named` means: a folder, seen from `start`, or the name of one of edt's own.
    ///
    /// # Errors
    /// `BAD_TASK`; `FILE_NOT_FOUND` if there is none; `IO_ERROR`.
    pub fn named(named: &str, start: &Path) -> Result<Suite> {
        let path = start.join(named);
        if path.join("suite.toml").is_file() {
            let path = crate::io::whole::real(&path);
            let files = folder::files(&path, MOST)
                .map_err(|error| failed("read the suite", &path, &error))?;
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let shown = path.display().to_string();
            return Suite::of(&name, files, &shown, Some(path));
        }
        if let Some(files) = shipped::suite(named) {
            return Suite::of(named, files, named, None);
        }
        let names = shipped::names();
        let near = similar::get_close_matches(named, &names, 1, 0.5);
        let nearest =
            near.first().map_or_else(String::new, |near| format!(" Did you mean {near}?"));
        let message =
            format!("{named} is neither a folder with a suite.toml nor a suite of edt's.{nearest}");
        let hint = format!("Name a folder, or one of {}.", names.join(", "));
        Err(Finding::new(Code::FileNotFound, message, hint).into())
    }

    fn of(name: &str, files: Files, shown: &str, path: Option<PathBuf>) -> Result<Suite> {
        let place = format!("{shown}/suite.toml");
        let bytes =
            files.get("suite.toml").map(|content| content.bytes.clone()).unwrap_or_default();
        let text =
            String::from_utf8(bytes).map_err(|_| bad(&place, "the whole", "it is not UTF-8"))?;
        let wire: Wire = toml::from_str(&text).map_err(|error| unreadable(&place, &error))?;
        if wire.schema != SCHEMA {
            return Err(
                bad(&place, "schema", &format!("{:?} is not {SCHEMA:?}", wire.schema)).into()
            );
        }
        for (key, number, most) in
            [("sessions", wire.sessions, 1000), ("attempts", wire.attempts, 5)]
        {
            if let Some(number) = number.filter(|number| !(1..=most).contains(number)) {
                return Err(bad(&place, key, &format!("{number} is not from 1 to {most}")).into());
            }
        }
        if let Some(name) = wire.strategies.iter().find(|name| Strategy::of(name).is_none()) {
            return Err(bad(&place, "strategies", &format!("there is no strategy {name:?}")).into());
        }
        if let Some(arm) = wire.guards.iter().find(|arm| !["on", "off"].contains(&arm.as_str())) {
            return Err(
                bad(&place, "guards", &format!("{arm:?} is neither \"on\" nor \"off\"")).into()
            );
        }
        let mut tasks = wire
            .task
            .into_iter()
            .map(|one| Task::of_entry(one, &place))
            .collect::<Result<Vec<_>>>()?;
        for (path, content) in &files {
            let Some((task, "task.toml")) = path.split_once('/') else { continue };
            debug_assert!(!content.executable || !task.is_empty());
            let prefix = format!("{task}/");
            let own = files
                .iter()
                .filter_map(|(path, content)| Some((path.strip_prefix(&prefix)?, content)));
            let own: Files =
                own.map(|(path, content)| (path.to_owned(), content.clone())).collect();
            tasks.push(Task::of_folder(task, &own, &format!("{shown}/{task}"))?);
        }
        tasks.sort_by(|a, b| a.id.cmp(&b.id));
        if let Some(twice) = tasks.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(
                bad(&place, "task", &format!("there are two tasks {:?}", twice[0].id)).into()
            );
        }
        if tasks.is_empty() {
            return Err(bad(
                &place,
                "task",
                "there is no folder with a task.toml, and no [[task]]",
            )
            .into());
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
            named: shown.to_owned(),
            files,
            folder: path,
        })
    }

    /// The task of that name.
    ///
    /// # Errors
    /// `BAD_TASK` if there is none: the suite is another one now.
    pub fn task(&self, id: &str) -> Result<&Task> {
        self.tasks.iter().find(|task| task.id == id).ok_or_else(|| {
            bad(&format!("{}/suite.toml", self.named), "task", &format!("there is no task {id:?}"))
                .into()
        })
    }
}
