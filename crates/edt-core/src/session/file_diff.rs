//! The differences between two trees as text, as `git diff` prints them.

use std::fmt::{self, Write as _};

use schemars::JsonSchema;
use serde::Serialize;

use edt_edit::diff::LineDiff;
use edt_git::diff::{TreeDifference, TreeItem};
use edt_git::read::ObjectKind;
use edt_git::{Oid, Repo};
use edt_io::clock;
use edt_types::Result;
use edt_types::text::escape_controls;

/// One path that differs. `to_string` returns its part of a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileDiff {
    /// The path.
    pub path: String,
    /// Blob id before.
    pub hash_before: Option<String>,
    /// Blob id after.
    pub hash_after: Option<String>,
    /// Mode before, as Git prints it.
    pub mode_before: Option<String>,
    /// Mode after, as Git prints it.
    pub mode_after: Option<String>,
    /// Whether either side contains NUL bytes; `patch` is then empty.
    pub binary: bool,
    /// The hunks of a unified diff.
    pub patch: String,
}

/// The paths in which the trees `from` and `to` differ, in Git's order.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn between(repo: &Repo, from: Oid, to: Oid) -> Result<Vec<FileDiff>> {
    repo.tree_diff(from, to)?.iter().map(|differs| FileDiff::of(repo, differs)).collect()
}

impl FileDiff {
    fn of(repo: &Repo, differs: &TreeDifference) -> Result<FileDiff> {
        let text = |item: Option<TreeItem>| match item {
            Some(TreeItem::File(file)) => repo.object(file.oid, ObjectKind::Blob),
            Some(TreeItem::Other(0o120_000, oid)) => repo.object(oid, ObjectKind::Blob),
            Some(TreeItem::Other(_, oid)) => Ok(format!("Subproject commit {oid}\n").into_bytes()),
            None => Ok(Vec::new()),
        };
        let hash = |item: Option<TreeItem>| item.map(|item| item.oid().to_string());
        let mode = |item: Option<TreeItem>| item.map(|item| format!("{:06o}", item.bits()));
        let (old, new) = (text(differs.old)?, text(differs.new)?);
        let binary = old.contains(&0) || new.contains(&0);
        Ok(FileDiff {
            path: differs.path.to_string(),
            hash_before: hash(differs.old),
            hash_after: hash(differs.new),
            mode_before: mode(differs.old),
            mode_after: mode(differs.new),
            binary,
            patch: if binary { String::new() } else { hunks(&old, &new) },
        })
    }

    /// The lines above the hunks, from `diff --git` on. Control characters of the path are escaped.
    #[must_use]
    pub fn header(&self) -> String {
        let path = escape_controls(&self.path).0;
        let mut out = format!("diff --git a/{path} b/{path}\n");
        match (&self.mode_before, &self.mode_after) {
            (None, Some(mode)) => out.push_str(&format!("new file mode {mode}\n")),
            (Some(mode), None) => out.push_str(&format!("deleted file mode {mode}\n")),
            (Some(old), Some(new)) if old != new => {
                out.push_str(&format!("old mode {old}\nnew mode {new}\n"));
            }
            _ => {}
        }
        if self.binary {
            out.push_str("Binary files differ\n");
        } else if !self.patch.is_empty() {
            let side = |hash: &Option<String>, prefix: &str| match hash {
                Some(_) => format!("{prefix}/{path}"),
                None => "/dev/null".to_owned(),
            };
            let (old, new) = (side(&self.hash_before, "a"), side(&self.hash_after, "b"));
            out.push_str(&format!("--- {old}\n+++ {new}\n"));
        }
        out
    }
}

impl fmt::Display for FileDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.header(), self.patch)
    }
}

/// The hunks of a unified diff.
fn hunks(old: &[u8], new: &[u8]) -> String {
    let mut out = String::new();
    for hunk in LineDiff::of(old, new, clock::in_ms(2000)).hunks() {
        let _ = writeln!(out, "{}", hunk.header);
        for (marker, line) in hunk.lines {
            let text = String::from_utf8_lossy(line);
            let _ = writeln!(out, "{marker}{}", text.strip_suffix('\n').unwrap_or(&text));
            if !line.ends_with(b"\n") {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;
    use crate::txn::Request;

    /// The diff of a session with one request.
    fn diff(request: &Request) -> Vec<FileDiff> {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.apply(request).unwrap();
        let (repo, session) = (scratch.repo(), scratch.session());
        let tree = |commit| repo.tree_of(commit).unwrap();
        between(&repo, tree(session.base), tree(session.tip)).unwrap()
    }

    fn text(request: &Request) -> String {
        diff(request).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_changed_line_is_a_hunk() {
        assert_eq!(
            text(&Request::new("x").edit("a.txt", "one", "two")),
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
        );
    }

    #[test]
    fn a_new_file_comes_from_nothing() {
        assert_eq!(
            text(&Request::new("x").create("b.txt", "b\n")),
            "diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n\
             @@ -0,0 +1 @@\n+b\n"
        );
    }

    #[test]
    fn a_deleted_file_goes_to_nothing() {
        assert_eq!(
            text(&Request::new("x").delete("a.txt")),
            "diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n--- a/a.txt\n+++ /dev/null\n\
             @@ -1 +0,0 @@\n-one\n"
        );
    }

    fn unchanged() -> FileDiff {
        FileDiff {
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
        let file = FileDiff { mode_after: Some("100755".to_owned()), ..unchanged() };
        assert_eq!(file.to_string(), "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n");
    }

    #[test]
    fn binary_files_only_differ() {
        let file = FileDiff { binary: true, ..unchanged() };
        assert_eq!(file.to_string(), "diff --git a/a b/a\nBinary files differ\n");
    }

    #[test]
    fn a_path_cannot_control_the_terminal() {
        let file = FileDiff { path: "a\u{1b}".to_owned(), ..unchanged() };
        assert_eq!(file.header(), "diff --git a/a\\u{1b} b/a\\u{1b}\n");
    }

    #[test]
    fn hunks_mark_a_missing_final_newline() {
        assert_eq!(
            hunks(b"a\nb\n", b"a\nc"),
            "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn equal_texts_have_no_hunks() {
        assert_eq!(hunks(b"a\n", b"a\n"), "");
    }

    #[test]
    fn a_file_has_the_blobs_and_modes_of_both_sides() {
        let file = diff(&Request::new("x").edit("a.txt", "one", "two")).remove(0);
        let scratch = Scratch::unborn();
        let blob = |text: &str| Some(scratch.repo().blob_id(text.as_bytes()).unwrap().to_string());
        assert_eq!((file.hash_before, file.hash_after), (blob("one\n"), blob("two\n")));
        let mode = Some("100644".to_owned());
        assert_eq!((&file.mode_before, &file.mode_after), (&mode, &mode));
    }
}
