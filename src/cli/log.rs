//! `edt log`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::render::{DIM, NAME, NOTE, paint, short};
use edt_core::session::Session;
use edt_core::session::history::Commit;
use edt_types::text::escape_controls;
use edt_types::{Result, SessionReport, Status};

/// List the session's edits, newest first, with the overrides they needed.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt log -n 5")]
pub(super) struct Args {
    /// The maximum number of commits.
    #[arg(short = 'n', long, value_name = "N")]
    number: Option<usize>,
}

/// The answer of `edt log`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.log/1`.
    schema: &'static str,
    /// The session.
    session: SessionReport,
    /// Its commits, newest first.
    commits: Vec<Line>,
    /// Whether `--number` cut the list.
    truncated: bool,
}

/// One commit of the session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Line {
    /// Its id, as hex.
    pub(super) commit: String,
    /// Its first parent.
    pub(super) parent: Option<String>,
    /// Its kind (`edit`, `checkpoint`, `restore`, `begin`); null for the user's own commit.
    pub(super) kind: Option<&'static str>,
    /// The edit's number.
    pub(super) edit: Option<u64>,
    /// The first line of its message.
    pub(super) subject: String,
    /// The agent that asked for it.
    pub(super) agent: Option<String>,
    /// Overrides that were needed.
    pub(super) allowed: Vec<String>,
    /// Author's name.
    pub(super) author: String,
    /// Author's time, in seconds since 1970.
    pub(super) time: i64,
}

impl Line {
    pub(super) fn of(commit: &Commit) -> Line {
        let trailers = commit.trailers.as_ref();
        Line {
            commit: commit.oid.to_string(),
            parent: commit.parent.map(|parent| parent.to_string()),
            kind: trailers.map(|trailers| trailers.kind.name()),
            edit: trailers.map(|trailers| trailers.edit),
            subject: commit.subject().to_owned(),
            agent: trailers.and_then(|trailers| trailers.agent.clone()),
            allowed: trailers.map(|trailers| trailers.allowed.clone()).unwrap_or_default(),
            author: commit.author.clone(),
            time: commit.authored_at,
        }
    }

    /// The commit on one line.
    pub(super) fn render_human(&self) -> String {
        let kind = match (self.kind, self.edit) {
            (Some("edit"), Some(edit)) => format!("{edit:>4}"),
            (Some(kind), _) => format!("   {}", kind.chars().next().unwrap_or(' ')),
            (None, _) => "   *".to_owned(),
        };
        let mut out = format!(
            "{kind} {} {}",
            paint(NAME, short(&self.commit)),
            escape_controls(&self.subject).0
        );
        if !self.allowed.is_empty() {
            let _ =
                write!(out, " {}", paint(NOTE, &format!("[allowed: {}]", self.allowed.join(", "))));
        }
        if let Some(agent) = &self.agent {
            let _ = write!(out, " {}", paint(DIM, &format!("({})", escape_controls(agent).0)));
        }
        out
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let session = Session::required(&repo, &repo.head()?)?;
        let limit = self.number.unwrap_or(usize::MAX);
        let mut commits = session.commits(&repo);
        let lines = commits
            .by_ref()
            .take(limit)
            .map(|commit| commit.map(|commit| Line::of(&commit)))
            .collect::<Result<_>>()?;
        let truncated = commits.next().is_some();
        let answer = Answer {
            schema: "edt.log/1",
            session: session.report(false),
            commits: lines,
            truncated,
        };
        Ok(context.answer(&answer, render_human))
    }
}

fn render_human(answer: &Answer) -> String {
    let mut out = String::new();
    for line in &answer.commits {
        let _ = writeln!(out, "{}", line.render_human());
    }
    if answer.truncated {
        let _ = writeln!(out, "{}", paint(DIM, "… more: raise -n"));
    }
    if answer.commits.is_empty() {
        let _ = writeln!(out, "No edits on {} yet.", answer.session.branch);
    }
    out
}

#[cfg(test)]
mod tests {
    use edt_core::Request;
    use edt_core::session::Session;

    use super::*;
    use crate::cli::tests::{Session as Scratch, plain};

    fn commits(scratch: &Scratch) -> Vec<Line> {
        let repo = scratch.repo();
        let session = Session::required(&repo, &repo.head().unwrap()).unwrap();
        session.commits(&repo).map(|commit| Line::of(&commit.unwrap())).collect()
    }

    /// The lines without the commits' ids.
    fn rendered(scratch: &Scratch) -> Vec<String> {
        let line = |line: &Line| plain(&line.render_human()).replace(short(&line.commit), "ID");
        commits(scratch).iter().map(line).collect()
    }

    #[test]
    fn an_edit_has_its_number_and_agent() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("first").edit("a.txt", "one", "two").agent("codex"));
        assert_eq!(rendered(&scratch), ["   1 ID first (codex)"]);
    }

    #[test]
    fn a_checkpoint_has_a_letter() {
        let scratch = Scratch::new();
        scratch.write("a.txt", "one\nmine\n");
        scratch.apply(&Request::new("first").edit("a.txt", "one", "two"));
        assert_eq!(
            rendered(&scratch),
            ["   1 ID first", "   c ID checkpoint: unrecorded changes of a.txt"]
        );
    }

    #[test]
    fn an_override_is_named() {
        let scratch = Scratch::new();
        let text: String = (0..200).map(|n| format!("line {n}\n")).collect();
        scratch.apply(&Request::new("long").overwrite("a.txt", text));
        scratch.apply(&Request::new("short").overwrite("a.txt", "x\n").allow("size_reduction"));
        assert_eq!(rendered(&scratch)[0], "   2 ID short [allowed: size_reduction]");
    }

    #[test]
    fn a_line_names_its_parent() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("first").edit("a.txt", "one", "two"));
        scratch.apply(&Request::new("second").edit("a.txt", "two", "three"));
        let lines = commits(&scratch);
        assert_eq!(lines[0].parent.as_ref(), Some(&lines[1].commit));
        assert_eq!((lines[0].kind, lines[0].edit), (Some("edit"), Some(2)));
    }

    fn answer(commits: Vec<Line>, truncated: bool) -> String {
        let session = SessionReport {
            name: "fix".to_owned(),
            branch: "edt/fix".to_owned(),
            base: String::new(),
            began: false,
        };
        plain(&render_human(&Answer { schema: "edt.log/1", session, commits, truncated }))
    }

    #[test]
    fn a_session_without_edits_says_so() {
        assert_eq!(answer(vec![], false), "No edits on edt/fix yet.\n");
    }

    #[test]
    fn a_cut_list_says_how_to_see_more() {
        let line = Line {
            commit: "0123456789abcdef".to_owned(),
            parent: None,
            kind: None,
            edit: None,
            subject: "a\u{1b}b".to_owned(),
            agent: None,
            allowed: vec![],
            author: String::new(),
            time: 0,
        };
        assert_eq!(answer(vec![line], true), "   * 0123456789ab a\\u{1b}b\n… more: raise -n\n");
    }
}
