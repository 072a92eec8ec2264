//! `edt bench import`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::{Result, Status};
use crate::bench::import::{self, FORMATS, Source};
use crate::bench::task::is_date;
use crate::cli::context::Context;
use crate::io::whole;

/// Make a suite of a public benchmark of edits, from its own files.
///
/// All tasks or none: what cannot be read is refused with its line or folder. `edt bench check` shows that what was imported can be worked with.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt bench import exercism polyglot-benchmark my-suite --date 2024-12-20\n  edt bench import canitedit test.jsonl my-suite --date 2023-12-19\n  edt bench import swe-bench test.jsonl my-suite --repos clones"
)]
pub(super) struct Args {
    /// The format: exercism, canitedit, humanevalfix or swe-bench.
    #[arg(value_name = "FORMAT", value_parser = FORMATS.iter().map(|format| format.name).collect::<Vec<_>>())]
    format: String,
    /// The benchmark's file or folder.
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The suite: a folder that does not exist yet.
    #[arg(value_name = "DEST")]
    dest: PathBuf,
    /// The day that the tasks are from, where the format has none.
    #[arg(long, value_name = "DATE", value_parser = day)]
    date: Option<String>,
    /// A folder with clones, as OWNER/NAME or `OWNER__NAME`: for swe-bench.
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// What tests instead of the format's own command, words apart by spaces; for exercism, `{test}` is the first test file.
    #[arg(long, value_name = "COMMAND")]
    test: Option<String>,
}

/// The answer of `edt bench import`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct Imported {
    /// Always `edt.bench-import/1`.
    schema: &'static str,
    /// The format.
    format: String,
    /// The suite's folder.
    suite: String,
    /// How many tasks it has.
    tasks: usize,
}

fn day(text: &str) -> std::result::Result<String, String> {
    if is_date(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is not a day such as 2026-01-31"))
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let start = whole::real(&context.start);
        let source = Source {
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
        let imported =
            Imported { schema: "edt.bench-import/1", format: self.format.clone(), suite, tasks };
        let said = |one: &Imported| {
            format!("{} tasks in {}; check them with `edt bench check`\n", one.tasks, one.suite)
        };
        Ok(context.answer(&imported, said))
    }
}
