//! `edt blame`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::render::{DIM, NAME, paint};
use edt_core::session::refs::commit::Commit;
use edt_core::session::views::blame::{self, LineAuthor};
use edt_git::Repo;
use edt_types::text::{self, Shown as _, escape_unexpected};
use edt_types::{Code, Finding, Result, Status};

/// Show who wrote each line of a file: an edit with its agent, model and turn, or a commit.
///
/// Lines of edits are theirs as the session's record says, whatever became of the history: amended,
/// reworded, squashed, rebased or landed.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt blame src/parse.rs\n  edt blame src/parse.rs --lines 40:80 --json"
)]
pub(super) struct Args {
    /// The file.
    #[serde(deserialize_with = "edt_types::text::os_string")]
    #[schemars(with = "String")]
    path: OsString,
    /// Only these lines, 1-based: `40:80`, `40:`, `40`.
    #[arg(long, value_name = "FIRST:LAST")]
    #[serde(default)]
    lines: Option<String>,
}

/// The answer of `edt blame`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.blame/1`.
    schema: &'static str,
    /// The file.
    path: String,
    /// The lines in order, with one author each.
    lines: Vec<Lines>,
}

/// Lines with one author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Lines {
    /// The first line, 1-based.
    pub(super) first: u64,
    /// The last line.
    pub(super) last: u64,
    /// `edit`, `commit`, or `uncommitted`.
    pub(super) kind: &'static str,
    /// The commit: of an edit the one that edt made, which a rewritten history may lack.
    commit: Option<String>,
    /// The subject of its message.
    subject: Option<String>,
    /// The author of a commit that is no edit.
    author: Option<String>,
    /// The session of an edit.
    pub(super) session: Option<String>,
    /// The number of the edit.
    pub(super) edit: Option<u64>,
    /// The agent that asked for it.
    pub(super) agent: Option<String>,
    /// The model.
    pub(super) model: Option<String>,
    /// The turn of the session.
    turn: Option<u64>,
    /// The agent's name for its conversation.
    pub(super) conversation: Option<String>,
    /// The text of the lines, if it is printed.
    #[serde(skip)]
    text: Vec<String>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let path = context.path(self.path.as_bytes())?;
        let (repo, _) = context.repo()?;
        let Some((bytes, authored)) = blame::of_disk(&repo, &path)? else {
            return Err(super::read::not_found(&repo, &path).into());
        };
        let shown = match &self.lines {
            Some(range) => super::read::parsed(range).ok_or_else(|| wrong_range(range))?,
            None => 1..=u64::MAX,
        };
        let mut lines = Vec::new();
        let all: Vec<&[u8]> = text::lines(&bytes).collect();
        for part in authored {
            let first = (part.lines.start as u64 + 1).max(*shown.start());
            let last = (part.lines.end as u64).min(*shown.end());
            if first > last {
                continue;
            }
            let at = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
            let of_lines = all.get(at(first) - 1..at(last)).unwrap_or_default();
            let text = of_lines.iter().map(|line| String::from_utf8_lossy(line).into_owned());
            lines.push(Lines {
                text: text.collect(),
                ..Lines::of(&repo, first, last, &part.author)?
            });
        }
        let answer = Answer { schema: "edt.blame/1", path: path.text(), lines };
        Ok(context.answer(&answer, render_human))
    }
}

fn wrong_range(range: &str) -> Finding {
    let message = format!("{range:?} is no range of lines.");
    Finding::new(Code::BadRequest, message, "Send two line numbers such as 40:80, or one.")
}

impl Lines {
    /// # Errors
    /// `OBJECT_MISSING`.
    pub(super) fn of(repo: &Repo, first: u64, last: u64, author: &LineAuthor) -> Result<Lines> {
        let mut lines = Lines {
            first,
            last,
            kind: "uncommitted",
            commit: None,
            subject: None,
            author: None,
            session: None,
            edit: None,
            agent: None,
            model: None,
            turn: None,
            conversation: None,
            text: Vec::new(),
        };
        let set = |lines: &mut Lines, commit: &Commit| {
            lines.commit = Some(commit.oid.to_string());
            lines.subject = Some(commit.subject().to_owned());
        };
        match author {
            LineAuthor::Uncommitted => {}
            LineAuthor::Commit(oid) => {
                let commit = Commit::read(repo, *oid)?;
                set(&mut lines, &commit);
                (lines.kind, lines.author) = ("commit", Some(commit.author));
            }
            LineAuthor::Edit { edit: commit, .. } => {
                set(&mut lines, commit);
                lines.kind = "edit";
                if let Some(trailers) = commit.trailers.clone() {
                    lines.session = Some(trailers.session);
                    lines.edit = Some(trailers.edit);
                    (lines.agent, lines.model) = (trailers.agent, trailers.model);
                    (lines.turn, lines.conversation) = (trailers.turn, trailers.conversation);
                }
            }
        }
        Ok(lines)
    }

    fn who(&self) -> String {
        match (self.kind, &self.commit) {
            ("edit", _) => {
                let name = self.session.as_deref().unwrap_or_default();
                let mut who = format!("{name} {}", self.edit.unwrap_or_default());
                let agent = [self.agent.as_deref(), self.model.as_deref()];
                let agent: Vec<&str> = agent.into_iter().flatten().collect();
                if !agent.is_empty() {
                    let _ = write!(who, " ({})", agent.join(":").shown());
                }
                who
            }
            (_, Some(commit)) => {
                let author = self.author.as_deref().unwrap_or_default();
                format!("{} {}", &commit[..commit.len().min(10)], author.shown())
            }
            _ => "not committed".to_owned(),
        }
    }
}

fn render_human(answer: &Answer) -> String {
    let width = answer.lines.iter().map(|one| one.who().chars().count()).max().unwrap_or(0);
    let digits = answer.lines.last().map_or(1, |one| one.last.to_string().len());
    let mut out = String::new();
    for one in &answer.lines {
        let who = format!("{:width$}", one.who());
        let style = if one.kind == "edit" { NAME } else { DIM };
        for (number, line) in (one.first..).zip(&one.text) {
            let (line, _) = escape_unexpected(line.trim_end_matches(['\n', '\r']));
            let _ = writeln!(out, "{} {number:>digits$} | {line}", paint(style, &who));
        }
    }
    out
}
