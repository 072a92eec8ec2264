//! `edt diff`, and diffs in the answers of other commands.

use std::fmt::Write as _;

use anstyle::Style;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::log::Line;
use super::render::{DIM, coloured, hunks, paint};
use edt_core::session::Session;
use edt_git::diff::{TreeDifference, TreeItem};
use edt_git::read::ObjectKind;
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
    /// Whether either side contains NUL bytes; `patch` is then empty.
    binary: bool,
    /// The hunks of a unified diff.
    patch: String,
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

/// The paths in which two trees differ.
pub(super) fn files(repo: &Repo, from: Oid, to: Oid) -> Result<Vec<File>> {
    repo.tree_diff(from, to)?.iter().map(|differs| file(repo, differs)).collect()
}

fn file(repo: &Repo, differs: &TreeDifference) -> Result<File> {
    let text = |item: Option<TreeItem>| match item {
        Some(TreeItem::File(file)) => repo.object(file.oid, ObjectKind::Blob),
        Some(TreeItem::Other(0o120_000, oid)) => repo.object(oid, ObjectKind::Blob),
        Some(TreeItem::Other(_, oid)) => Ok(format!("Subproject commit {oid}\n").into_bytes()),
        None => Ok(Vec::new()),
    };
    let hash = |item: Option<TreeItem>| {
        item.map(|item| match item {
            TreeItem::File(file) => file.oid.to_string(),
            TreeItem::Other(_, oid) => oid.to_string(),
        })
    };
    let mode = |item: Option<TreeItem>| item.map(|item| format!("{:06o}", item.bits()));
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

/// Renders diffs as Git prints them.
pub(super) fn render_diffs(files: &[File]) -> String {
    let mut out = String::new();
    for file in files {
        let (bold, path) = (Style::new().bold(), escape_controls(&file.path).0);
        let _ = writeln!(out, "{}", paint(bold, &format!("diff --git a/{path} b/{path}")));
        match (&file.mode_before, &file.mode_after) {
            (None, Some(mode)) => out.push_str(&format!("new file mode {mode}\n")),
            (Some(mode), None) => out.push_str(&format!("deleted file mode {mode}\n")),
            (Some(old), Some(new)) if old != new => {
                out.push_str(&format!("old mode {old}\nnew mode {new}\n"));
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

#[cfg(test)]
mod tests {
    use edt_core::Request;

    use super::*;
    use crate::cli::tests::{Session as Scratch, plain};

    /// The diff of the whole session.
    fn of(scratch: &Scratch) -> Answer {
        let repo = scratch.repo();
        let session = Session::required(&repo, &repo.head().unwrap()).unwrap();
        answer(&repo, session.base, session.tip).unwrap()
    }

    /// The diff as Git prints it, without colours.
    fn rendered(request: &Request) -> String {
        let scratch = Scratch::new();
        scratch.apply(request);
        plain(&render_human(&of(&scratch)))
    }

    #[test]
    fn a_changed_line_is_a_hunk() {
        assert_eq!(
            rendered(&Request::new("x").edit("a.txt", "one", "two")),
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
        );
    }

    #[test]
    fn a_new_file_comes_from_nothing() {
        assert_eq!(
            rendered(&Request::new("x").create("b.txt", "b\n")),
            "diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n\
         @@ -0,0 +1 @@\n+b\n"
        );
    }

    #[test]
    fn a_deleted_file_goes_to_nothing() {
        assert_eq!(
            rendered(&Request::new("x").delete("a.txt")),
            "diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n--- a/a.txt\n+++ /dev/null\n\
         @@ -1 +0,0 @@\n-one\n"
        );
    }

    fn file() -> File {
        File {
            path: "a".to_owned(),
            hash_before: Some("1".to_owned()),
            hash_after: Some("2".to_owned()),
            mode_before: Some("100644".to_owned()),
            mode_after: Some("100644".to_owned()),
            binary: false,
            patch: String::new(),
        }
    }

    #[test]
    fn a_mode_alone_is_a_change() {
        let file = File { mode_after: Some("100755".to_owned()), ..file() };
        assert_eq!(
            plain(&render_diffs(&[file])),
            "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n"
        );
    }

    #[test]
    fn binary_files_only_differ() {
        let file = File { binary: true, ..file() };
        assert_eq!(plain(&render_diffs(&[file])), "diff --git a/a b/a\nBinary files differ\n");
    }

    #[test]
    fn the_answer_has_the_blobs_and_modes_of_both_sides() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("x").edit("a.txt", "one", "two"));
        let file = of(&scratch).files.remove(0);
        let blob = |text: &str| Some(scratch.repo().blob_id(text.as_bytes()).unwrap().to_string());
        assert_eq!((file.hash_before, file.hash_after), (blob("one\n"), blob("two\n")));
        assert_eq!(
            (file.mode_before, file.mode_after),
            (Some("100644".into()), Some("100644".into()))
        );
    }
}
