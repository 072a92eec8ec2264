//! `edt-bench import`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use crate::import::{self, FORMATS, ImportSource};
use crate::task::is_date;
use edt_io::fs;
use edt_types::text::counted;
use edt_types::{Result, Status};

/// Import a public benchmark of edits as a suite.
///
/// All tasks are imported or none: each task that cannot be read is refused with its line or
/// directory. `edt-bench check` shows which imported tasks can be used on this machine.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt-bench import exercism polyglot-benchmark my-suite --date 2024-12-20\n  edt-bench import canitedit test.jsonl my-suite --date 2023-12-19\n  edt-bench import swe-bench test.jsonl my-suite --repos clones"
)]
pub(super) struct Args {
    /// The format: exercism, canitedit, humanevalfix or swe-bench.
    #[arg(value_name = "FORMAT", value_parser = FORMATS.iter().map(|format| format.name).collect::<Vec<_>>())]
    format: String,
    /// The benchmark's file or directory.
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The suite: a directory that does not exist yet.
    #[arg(value_name = "DEST")]
    dest: PathBuf,
    /// The date of the tasks, for formats without dates.
    #[arg(long, value_name = "DATE", value_parser = date)]
    date: Option<String>,
    /// A directory with clones, as OWNER/NAME or `OWNER__NAME`, for swe-bench.
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// The test command in place of the format's own, with words separated by spaces; for exercism,
    /// `{test}` is the first test file.
    #[arg(long, value_name = "COMMAND")]
    test: Option<String>,
}

/// The answer of `edt-bench import`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ImportAnswer {
    /// Always `edt.bench-import/1`.
    schema: &'static str,
    /// The format.
    format: String,
    /// The suite's directory.
    suite: String,
    /// How many tasks it has.
    tasks: usize,
}

fn date(text: &str) -> std::result::Result<String, String> {
    if is_date(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is not a date such as 2026-01-31"))
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let start = fs::real_path(&context.start);
        let source = ImportSource {
            path: start.join(&self.source),
            date: self.date.clone(),
            repos: self.repos.as_ref().map(|dir| start.join(dir)),
            test: self
                .test
                .iter()
                .flat_map(|words| words.split_whitespace())
                .map(str::to_owned)
                .collect(),
        };
        let dest = start.join(&self.dest);
        let format =
            FORMATS.iter().find(|format| format.name == self.format).unwrap_or(&FORMATS[0]);
        let tasks = import::import(format, &source, &dest)?;
        let suite = dest.display().to_string();
        let answer = ImportAnswer {
            schema: "edt.bench-import/1",
            format: self.format.clone(),
            suite,
            tasks,
        };
        let render_human = |answer: &ImportAnswer| {
            let (tasks, suite) = (answer.tasks, &answer.suite);
            format!("{} in {suite}; `edt-bench check` checks each\n", counted(tasks, "task"))
        };
        Ok(context.answer(&answer, render_human))
    }
}
