//! `edt read`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{DIM, paint};
use crate::base::text::{line_count, lines};
use crate::base::{Code, Finding, RepoPath, Result, Status};
use crate::session::Look;

/// Print a file with line numbers and its blob id, which `expected_hash` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt read src/calc.c --lines 10:40")]
pub(super) struct Args {
    /// The file, relative to the worktree's root.
    path: OsString,
    /// Only the lines A to B (1-based, both included); either may be left out.
    #[arg(long, value_name = "A:B")]
    lines: Option<String>,
    /// At most so many lines; a cut is said.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    max_lines: u64,
}

/// The answer of `edt read`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.read/1`.
    schema: &'static str,
    /// The file.
    path: String,
    /// Its blob id, as hex.
    hash: String,
    /// Its size in bytes.
    bytes: u64,
    /// How many lines it has.
    lines: u64,
    /// The first line shown, 1-based.
    first_line: u64,
    /// The text of the lines shown; invalid UTF-8 is replaced.
    text: String,
    /// Whether `text` is not byte for byte what stands there.
    lossy: bool,
    /// Whether the cut was made by `--max-lines`.
    truncated: bool,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let raw = self.path.as_bytes();
        let path = RepoPath::parse(raw).map_err(|problem| problem.finding(raw))?;
        let (repo, _) = context.repo()?;
        let look = Look::at(&repo, repo.empty_tree(), None, &path)?;
        let disk = look.disk.ok_or_else(|| {
            Finding::new(
                Code::FileNotFound,
                format!("There is no file {path}."),
                "Check the path; `git ls-files` lists what is tracked.",
            )
            .at(&path)
        })?;
        let total = line_count(&disk.bytes);
        let (first, last) = self.range(total)?;
        let shown = last.saturating_sub(first - 1).min(self.max_lines);
        let picked: Vec<u8> = lines(&disk.bytes).skip(index(first - 1)).take(index(shown)).flatten().copied().collect();
        let answer = Answer {
            schema: "edt.read/1",
            path: path.to_string(),
            hash: disk.file.oid.to_string(),
            bytes: disk.size(),
            lines: total,
            first_line: first,
            lossy: std::str::from_utf8(&picked).is_err(),
            text: String::from_utf8_lossy(&picked).into_owned(),
            truncated: shown < last.saturating_sub(first - 1),
        };
        Ok(context.answer(&answer, people))
    }

    fn range(&self, total: u64) -> Result<(u64, u64)> {
        let Some(range) = &self.lines else { return Ok((1, total)) };
        let parse = |part: &str, default: u64| if part.is_empty() { Some(default) } else { part.parse::<u64>().ok() };
        let (first, last) = range.split_once(':').unwrap_or((range, range));
        match (parse(first, 1), parse(last, total)) {
            (Some(first), Some(last)) if first >= 1 && first <= last.max(1) => Ok((first, last.min(total))),
            _ => Err(Finding::new(
                Code::BadRequest,
                format!("{range:?} is not a range of lines."),
                "Write --lines A:B with 1 ≤ A ≤ B, such as 10:40.",
            )
            .into()),
        }
    }
}

fn index(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}

fn people(answer: &Answer) -> String {
    let head = format!("{} {} bytes, {} lines, blob {}", answer.path, answer.bytes, answer.lines, answer.hash);
    let mut out = format!("{}\n", paint(DIM, &head));
    let width = (answer.first_line + line_count(answer.text.as_bytes())).to_string().len();
    for (i, line) in answer.text.lines().enumerate() {
        out.push_str(&format!("{:>width$} | {line}\n", answer.first_line + i as u64));
    }
    if answer.truncated {
        let next = answer.first_line + line_count(answer.text.as_bytes());
        out.push_str(&paint(DIM, &format!("… cut before line {next}: read on with --lines {next}:\n")));
    }
    out
}
