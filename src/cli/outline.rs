//! `edt outline`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::render::{DIM, NAME, paint};
use edt_core::session::PathState;
use edt_core::txn::outline::outline;
use edt_types::text::{Shown as _, counted};
use edt_types::{Result, Status};

/// List the definitions of a file, which the modes `replace_symbol`, `insert_before_symbol`,
/// `insert_after_symbol` and `rename_symbol` take as `symbol`.
///
/// For C, C++, Go, Java, JavaScript, Python, Rust and TypeScript. Definitions inside functions are
/// not listed.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt outline src/parse.rs\n  edt apply src/parse.rs --mode replace_symbol --symbol Parser.next --content-file new.rs"
)]
pub(super) struct Args {
    /// The file.
    #[serde(deserialize_with = "edt_types::text::os_string")]
    #[schemars(with = "String")]
    path: OsString,
    /// Only definitions whose name has this text.
    #[arg(long, value_name = "TEXT")]
    #[serde(default)]
    name: Option<String>,
}

/// The answer of `edt outline`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.outline/1`.
    schema: &'static str,
    /// The file.
    path: String,
    /// Its blob id, as hex.
    hash: String,
    /// The definitions in order.
    symbols: Vec<Entry>,
}

/// A definition.
#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    /// Its name, with those of the definitions around it, joined by dots.
    name: String,
    /// What the language calls it: `function`, `class`.
    kind: &'static str,
    /// Its first line, 1-based, with the comments and attributes directly above it.
    first_line: u64,
    /// Its last line.
    last_line: u64,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let path = context.path(self.path.as_bytes())?;
        let (repo, _) = context.repo()?;
        let state = PathState::on_disk(&repo, &path)?;
        let disk = state.disk.ok_or_else(|| super::read::not_found(&repo, &path))?;
        let has_name = |name: &str| self.name.as_ref().is_none_or(|part| name.contains(part));
        let symbols = outline(&path, &disk.bytes)?
            .into_iter()
            .filter(|one| has_name(&one.name))
            .map(|one| Entry {
                name: one.name,
                kind: one.kind,
                first_line: one.lines.0 as u64,
                last_line: one.lines.1 as u64,
            })
            .collect();
        let hash = disk.file.oid.to_string();
        let answer = Answer { schema: "edt.outline/1", path: path.text(), hash, symbols };
        Ok(context.answer(&answer, render_human))
    }
}

fn render_human(answer: &Answer) -> String {
    let count = counted(answer.symbols.len(), "definition");
    let head = format!("{} {count}, blob {}", answer.path.shown(), answer.hash);
    let mut out = format!("{}\n", paint(DIM, &head));
    let lines = |one: &Entry| format!("{}-{}", one.first_line, one.last_line);
    let width = answer.symbols.iter().map(|one| lines(one).len()).max().unwrap_or(0);
    for one in &answer.symbols {
        let name = paint(NAME, &one.name.shown());
        let _ = writeln!(out, "{:>width$}  {:11} {name}", lines(one), one.kind);
    }
    out
}
