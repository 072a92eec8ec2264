//! `edt diff`, and diffs in the answers of other commands.

use std::fmt::Write as _;

use anstyle::Style;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::log::Line;
use super::render::{DIM, coloured, paint};
use edt_core::session::Session;
use edt_core::session::file_diff::{self, FileDiff};
use edt_git::{Oid, Repo};
use edt_types::text::escape_controls;
use edt_types::{Result, Status};

/// Show the changes between two commits; the session's base and tip if omitted.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt diff            # the whole session\n  edt diff HEAD~2     # from there to the tip"
)]
pub(super) struct Args {
    /// The old commit; the session's base if omitted.
    from: Option<String>,
    /// The new commit; the session's tip if omitted.
    to: Option<String>,
}

/// The answer of `edt show` and `edt diff`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.diff/1`.
    schema: &'static str,
    /// The commit shown, for `edt show`.
    pub(super) commit: Option<Line>,
    /// Its complete message, for `edt show`.
    pub(super) message: Option<String>,
    /// The old commit or tree, as a hex object id.
    from: String,
    /// The new commit, as a hex object id.
    to: String,
    /// The paths that differ.
    files: Vec<FileDiff>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let session = || Session::required(&repo, &repo.head()?);
        let from =
            self.from.as_ref().map_or_else(|| Ok(session()?.base), |rev| repo.commit_named(rev))?;
        let to =
            self.to.as_ref().map_or_else(|| Ok(session()?.tip), |rev| repo.commit_named(rev))?;
        Ok(context.answer(&answer(&repo, from, to)?, render_human))
    }
}

pub(super) fn answer(repo: &Repo, from: Oid, to: Oid) -> Result<Answer> {
    let files = file_diff::between(repo, repo.tree_of(from)?, repo.tree_of(to)?)?;
    Ok(Answer {
        schema: "edt.diff/1",
        commit: None,
        message: None,
        from: from.to_string(),
        to: to.to_string(),
        files,
    })
}

pub(super) fn render_human(answer: &Answer) -> String {
    let mut out = String::new();
    if let Some(line) = &answer.commit {
        let _ = writeln!(out, "{}", line.render_human().trim_start());
        let message = answer.message.as_deref().unwrap_or_default();
        message.lines().skip(1).filter(|line| !line.is_empty()).for_each(|line| {
            let _ = writeln!(out, "     {}", paint(DIM, &escape_controls(line).0));
        });
    }
    out + &render_diffs(&answer.files)
}

/// Renders diffs as Git prints them, in colours.
pub(super) fn render_diffs(files: &[FileDiff]) -> String {
    let mut out = String::new();
    for file in files {
        let header = file.header();
        let (first, rest) = header.split_once('\n').unwrap_or((&header, ""));
        let first = paint(Style::new().bold(), first);
        let _ = write!(out, "{first}\n{rest}{}", coloured(&file.patch));
    }
    out
}

#[cfg(test)]
mod tests {
    use edt_core::Request;

    use super::*;
    use crate::cli::tests::{Session as Scratch, plain};

    #[test]
    fn without_colours_a_diff_is_the_text_of_its_files() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("x").edit("a.txt", "one", "two").create("b.txt", "b\n"));
        let repo = scratch.repo();
        let session = Session::required(&repo, &repo.head().unwrap()).unwrap();
        let answer = answer(&repo, session.base, session.tip).unwrap();
        let text: String = answer.files.iter().map(ToString::to_string).collect();
        assert_eq!(answer.files.len(), 2);
        assert_eq!(plain(&render_human(&answer)), text);
    }
}
