//! `edt show` and `edt diff`.

use std::fmt::Write as _;

use anstyle::Style;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::log::Line;
use super::proposals;
use super::render::{DIM, coloured, hunks, paint};
use crate::base::text::harmless;
use crate::base::{Result, Status};
use crate::git::diff::{Differs, Item};
use crate::git::read::ObjectKind;
use crate::git::{Oid, Repo};
use crate::session::Session;
use crate::session::history::Commit;

/// Show one edit, or one proposal: who, why, overrides, and its diff.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt show HEAD~1\n  edt show 7        # proposal 7")]
pub(super) struct ShowArgs {
    /// The commit, or the number of a proposal; the session's tip if not given.
    rev: Option<String>,
}

/// Show what changed between two commits: the session's base and tip if none is given.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt diff            # the whole session\n  edt diff HEAD~2     # from there to the tip"
)]
pub(super) struct DiffArgs {
    /// From here; the session's base if not given.
    from: Option<String>,
    /// To here; the session's tip if not given.
    to: Option<String>,
}

/// The answer of `edt show` and `edt diff`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.diff/1`.
    schema: &'static str,
    /// The commit shown, for `edt show`.
    commit: Option<Line>,
    /// Its whole message, for `edt show`.
    message: Option<String>,
    /// From this commit or tree, as a hex object id.
    from: String,
    /// To this commit.
    to: String,
    /// The paths that differ.
    files: Vec<File>,
}

/// One path that differs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct File {
    /// The path.
    path: String,
    /// Blob id before.
    hash_before: Option<String>,
    /// Blob id after.
    hash_after: Option<String>,
    /// Mode before, as Git prints it.
    mode_before: Option<String>,
    /// Mode after, as Git prints it.
    mode_after: Option<String>,
    /// Whether either side holds NUL bytes; `patch` is then empty.
    binary: bool,
    /// The hunks of a unified diff.
    patch: String,
}

impl ShowArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        if let Some(id) = self.rev.as_ref().and_then(|rev| rev.parse().ok())
            && let Some(proposal) = proposals::found(&repo, id)?
        {
            return proposals::show(context, &repo, &proposal);
        }
        let oid = match &self.rev {
            Some(rev) => repo.commit_named(rev)?,
            None => Session::needed(&repo, &repo.head()?)?.tip,
        };
        let commit = Commit::read(&repo, oid)?;
        let parent = commit.parent.unwrap_or_else(|| repo.empty_tree());
        let mut answer = answer(&repo, parent, oid)?;
        answer.commit = Some(Line::of(&commit));
        answer.message = Some(commit.message);
        Ok(context.answer(&answer, people))
    }
}

impl DiffArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let session = || Session::needed(&repo, &repo.head()?);
        let from =
            self.from.as_ref().map_or_else(|| Ok(session()?.base), |rev| repo.commit_named(rev))?;
        let to =
            self.to.as_ref().map_or_else(|| Ok(session()?.tip), |rev| repo.commit_named(rev))?;
        Ok(context.answer(&answer(&repo, from, to)?, people))
    }
}

fn answer(repo: &Repo, from: Oid, to: Oid) -> Result<Answer> {
    let files = files(repo, repo.tree_of(from)?, repo.tree_of(to)?)?;
    Ok(Answer {
        schema: "edt.diff/1",
        commit: None,
        message: None,
        from: from.to_string(),
        to: to.to_string(),
        files,
    })
}

/// Each path in which two trees differ.
pub(super) fn files(repo: &Repo, from: Oid, to: Oid) -> Result<Vec<File>> {
    repo.tree_diff(from, to)?.iter().map(|differs| file(repo, differs)).collect()
}

fn file(repo: &Repo, differs: &Differs) -> Result<File> {
    let text = |item: Option<Item>| match item {
        Some(Item::File(file)) => repo.object(file.oid, ObjectKind::Blob),
        Some(Item::Other(0o120_000, oid)) => repo.object(oid, ObjectKind::Blob),
        Some(Item::Other(_, oid)) => Ok(format!("Subproject commit {oid}\n").into_bytes()),
        None => Ok(Vec::new()),
    };
    let hash = |item: Option<Item>| {
        item.map(|item| match item {
            Item::File(file) => file.oid.to_string(),
            Item::Other(_, oid) => oid.to_string(),
        })
    };
    let mode = |item: Option<Item>| item.map(|item| format!("{:06o}", item.bits()));
    let (old, new) = (text(differs.old)?, text(differs.new)?);
    let binary = old.contains(&0) || new.contains(&0);
    Ok(File {
        path: differs.path.to_string(),
        hash_before: hash(differs.old),
        hash_after: hash(differs.new),
        mode_before: mode(differs.old),
        mode_after: mode(differs.new),
        binary,
        patch: if binary { String::new() } else { hunks(&old, &new) },
    })
}

fn people(answer: &Answer) -> String {
    let mut out = String::new();
    if let Some(line) = &answer.commit {
        let _ = writeln!(out, "{}", line.people().trim_start());
        let message = answer.message.as_deref().unwrap_or_default();
        message.lines().skip(1).filter(|line| !line.is_empty()).for_each(|line| {
            let _ = writeln!(out, "     {}", paint(DIM, &harmless(line).0));
        });
    }
    out + &people_files(&answer.files)
}

/// The diffs as Git prints them.
pub(super) fn people_files(files: &[File]) -> String {
    let mut out = String::new();
    for file in files {
        let (bold, path) = (Style::new().bold(), harmless(&file.path).0);
        let _ = writeln!(out, "{}", paint(bold, &format!("diff --git a/{path} b/{path}")));
        match (&file.mode_before, &file.mode_after) {
            (None, Some(mode)) => out.push_str(&format!("new file mode {mode}\n")),
            (Some(mode), None) => out.push_str(&format!("deleted file mode {mode}\n")),
            (Some(old), Some(new)) if old != new => {
                out.push_str(&format!("old mode {old}\nnew mode {new}\n"))
            }
            _ => {}
        }
        if file.binary {
            out.push_str("Binary files differ\n");
        } else if !file.patch.is_empty() {
            let side = |there: bool, prefix: &str| {
                if there { format!("{prefix}/{path}") } else { "/dev/null".to_owned() }
            };
            let (old, new) =
                (side(file.hash_before.is_some(), "a"), side(file.hash_after.is_some(), "b"));
            out.push_str(&format!("--- {old}\n+++ {new}\n{}", coloured(&file.patch)));
        }
    }
    out
}
