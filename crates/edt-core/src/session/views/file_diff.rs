//! The differences between two trees as text, as `git diff` prints them.

use std::fmt::{self, Write as _};

use schemars::JsonSchema;
use serde::Serialize;

use crate::session::files::diff_report;
use crate::session::refs::current::Session;
use crate::session::user::user_changes::{self, ReadLimits, UserChange};
use edt_edit::diff::LineDiff;
use edt_git::file_id::TreeItem;
use edt_git::read::ObjectKind;
use edt_git::{ChangedPath, Oid, Repo};
use edt_io::clock;
use edt_types::text::escape_controls;
use edt_types::{FileChangeKind, RepoPath, Result};

/// One path that differs. `to_string` returns its part of a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileDiff {
    /// The path.
    pub path: String,
    /// How the file changed.
    pub change: FileChangeKind,
    /// The path that the file was renamed from.
    pub from: Option<String>,
    /// For a rename: how similar the contents are, in percent.
    pub similarity: Option<u8>,
    /// Blob id before.
    pub hash_before: Option<String>,
    /// Blob id after.
    pub hash_after: Option<String>,
    /// Mode before, as Git prints it.
    pub mode_before: Option<String>,
    /// Mode after, as Git prints it.
    pub mode_after: Option<String>,
    /// Whether either side contains NUL bytes, or is too large to be shown; `patch` is then empty.
    pub binary: bool,
    /// How many lines were added.
    pub lines_added: u64,
    /// How many lines were removed.
    pub lines_removed: u64,
    /// The hunks of a unified diff.
    pub patch: String,
}

/// The paths in which the trees `from` and `to` differ, in Git's order.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn between(repo: &Repo, from: Oid, to: Oid) -> Result<Vec<FileDiff>> {
    between_at(repo, from, to, &[])
}

/// As [`between`], limited to the paths in `named` and below them, unless it is empty. A renamed
/// file is shown if its old or its new path is among them.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn between_at(repo: &Repo, from: Oid, to: Oid, named: &[RepoPath]) -> Result<Vec<FileDiff>> {
    of_changed(repo, &diff_report::changed_paths(repo, from, to)?, named)
}

/// What is staged: how the index differs from HEAD.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn staged(repo: &Repo, named: &[RepoPath]) -> Result<Vec<FileDiff>> {
    let read = |oid| repo.object(oid, ObjectKind::Blob);
    of_changed(repo, &repo.with_renames(repo.staged()?, read)?, named)
}

/// The user's uncommitted changes: how the worktree differs from the session's tip, or from HEAD
/// without a session. Untracked files are shown only if they are named.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn worktree(
    repo: &Repo,
    session: Option<&Session>,
    named: &[RepoPath],
) -> Result<Vec<FileDiff>> {
    let limits = ReadLimits { file: repo.max_file_size(), total: u64::MAX };
    let found = user_changes::of_worktree(repo, session, named, limits)?;
    let shown = |change: &&UserChange| {
        let from = change.from.as_ref().map(|from| &from.path);
        is_shown(&change.path, from, named)
    };
    found.changes.iter().filter(shown).map(|change| FileDiff::of_user(repo, change)).collect()
}

fn of_changed(repo: &Repo, all: &[ChangedPath], named: &[RepoPath]) -> Result<Vec<FileDiff>> {
    let shown = |changed: &&ChangedPath| {
        is_shown(&changed.path, changed.from.as_ref().map(|from| &from.path), named)
    };
    all.iter().filter(shown).map(|changed| FileDiff::of(repo, changed)).collect()
}

fn is_shown(path: &RepoPath, from: Option<&RepoPath>, named: &[RepoPath]) -> bool {
    let below = |path: &RepoPath| user_changes::is_below_any(path, named);
    named.is_empty() || below(path) || from.is_some_and(below)
}

/// One side of a difference.
struct DiffSide {
    mode: u32,
    oid: Option<Oid>,
    /// `None` if it cannot be shown.
    bytes: Option<Vec<u8>>,
}

impl DiffSide {
    fn recorded(repo: &Repo, item: TreeItem) -> Result<DiffSide> {
        let blob = |oid| -> Result<Option<Vec<u8>>> {
            let is_small = repo.size_of(oid)? as u64 <= repo.max_file_size();
            is_small.then(|| repo.object(oid, ObjectKind::Blob)).transpose()
        };
        let bytes = match item {
            TreeItem::File(file) => blob(file.oid)?,
            TreeItem::Other(0o120_000, oid) => blob(oid)?,
            TreeItem::Other(_, oid) => Some(format!("Subproject commit {oid}\n").into_bytes()),
        };
        Ok(DiffSide { mode: item.bits(), oid: Some(item.oid()), bytes })
    }
}

impl FileDiff {
    fn of(repo: &Repo, changed: &ChangedPath) -> Result<FileDiff> {
        let side =
            |item: Option<TreeItem>| item.map(|item| DiffSide::recorded(repo, item)).transpose();
        let from = changed.from.as_ref().map(|from| (from.path.text(), from.similarity));
        Ok(FileDiff::new(changed.path.text(), from, (side(changed.old)?, side(changed.new)?)))
    }

    fn of_user(repo: &Repo, change: &UserChange) -> Result<FileDiff> {
        let old = change.old.map(|item| DiffSide::recorded(repo, item)).transpose()?;
        let new = change.new.clone().map(|item| DiffSide {
            mode: item.mode,
            oid: item.oid,
            bytes: item.bytes,
        });
        let from = change.from.as_ref().map(|from| (from.path.text(), from.similarity));
        Ok(FileDiff::new(change.path.text(), from, (old, new)))
    }

    fn new(
        path: String,
        from: Option<(String, u8)>,
        (old, new): (Option<DiffSide>, Option<DiffSide>),
    ) -> FileDiff {
        let hash = |side: &Option<DiffSide>| side.as_ref()?.oid.map(|oid| oid.to_string());
        let mode = |side: &Option<DiffSide>| Some(format!("{:06o}", side.as_ref()?.mode));
        let is_text = |side: &Option<DiffSide>| match side {
            Some(side) => side.bytes.as_ref().is_some_and(|bytes| !bytes.contains(&0)),
            None => true,
        };
        let binary = !is_text(&old) || !is_text(&new);
        let change = diff_report::kind(from.is_some(), old.is_some(), new.is_some());
        let (hash_before, hash_after) = (hash(&old), hash(&new));
        let (mode_before, mode_after) = (mode(&old), mode(&new));
        let text = |side: Option<DiffSide>| side.and_then(|side| side.bytes).unwrap_or_default();
        let (patch, (lines_added, lines_removed)) =
            if binary { (String::new(), (0, 0)) } else { hunks(&text(old), &text(new)) };
        let (from, similarity) = from.unzip();
        FileDiff {
            path,
            change,
            from,
            similarity,
            hash_before,
            hash_after,
            mode_before,
            mode_after,
            binary,
            lines_added,
            lines_removed,
            patch,
        }
    }

    /// The lines above the hunks, from `diff --git` on. Control characters of the path are escaped.
    #[must_use]
    pub fn header(&self) -> String {
        let path = escape_controls(&self.path).0;
        let from = escape_controls(self.from.as_ref().unwrap_or(&self.path)).0;
        let mut out = format!("diff --git a/{from} b/{path}\n");
        match (&self.mode_before, &self.mode_after) {
            (None, Some(mode)) => out.push_str(&format!("new file mode {mode}\n")),
            (Some(mode), None) => out.push_str(&format!("deleted file mode {mode}\n")),
            (Some(old), Some(new)) if old != new => {
                out.push_str(&format!("old mode {old}\nnew mode {new}\n"));
            }
            _ => {}
        }
        if let Some(similarity) = self.similarity {
            out.push_str(&format!(
                "similarity index {similarity}%\nrename from {from}\nrename to {path}\n"
            ));
        }
        if self.binary && (self.hash_before.is_none() || self.hash_before != self.hash_after) {
            out.push_str("Binary files differ\n");
        } else if !self.patch.is_empty() {
            let side = |mode: &Option<String>, name: String| match mode {
                Some(_) => name,
                None => "/dev/null".to_owned(),
            };
            let old = side(&self.mode_before, format!("a/{from}"));
            let new = side(&self.mode_after, format!("b/{path}"));
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

/// The hunks of a unified diff, and how many lines they add and remove.
fn hunks(old: &[u8], new: &[u8]) -> (String, (u64, u64)) {
    let mut out = String::new();
    let diff = LineDiff::of(old, new, clock::in_ms(2000));
    for hunk in diff.hunks() {
        let _ = writeln!(out, "{}", hunk.header);
        for (marker, line) in hunk.lines {
            let text = String::from_utf8_lossy(line);
            let _ = writeln!(out, "{marker}{}", text.strip_suffix('\n').unwrap_or(&text));
            if !line.ends_with(b"\n") {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    }
    let counts = diff.counts();
    (out, counts)
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

    #[test]
    fn a_renamed_file_has_one_entry_with_both_paths() {
        let request = Request::new("x").rename("a.txt", "b.txt");
        assert_eq!(
            text(&request),
            "diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\n\
             rename to b.txt\n"
        );
        let file = diff(&request).remove(0);
        assert_eq!((file.change, file.from.as_deref()), (FileChangeKind::Renamed, Some("a.txt")));
    }

    #[test]
    fn a_renamed_and_changed_file_has_hunks_alone() {
        let text: String = (0..10).map(|n| format!("line {n}\n")).collect();
        let scratch = Scratch::with(&[("a.txt", &text)]);
        scratch.apply(&Request::new("x").rename("a.txt", "b.txt")).unwrap();
        scratch.edit("y", "b.txt", "line 0\n", "line zero\n");
        let (repo, session) = (scratch.repo(), scratch.session());
        let file = between(&repo, repo.tree_of(session.base).unwrap(), {
            repo.tree_of(session.tip).unwrap()
        });
        let file = file.unwrap().remove(0);
        assert!(file.to_string().contains("--- a/a.txt\n+++ b/b.txt\n@@ -1,4 +1,4 @@\n-line 0\n"));
        assert_eq!((file.lines_added, file.lines_removed), (1, 1));
    }

    #[test]
    fn paths_limit_a_diff_to_files_and_directories() {
        let scratch = Scratch::with(&[("d/a.txt", "one\n"), ("b.txt", "b\n")]);
        let request = Request::new("x").rename("d/a.txt", "e/a.txt").edit("b.txt", "b", "c");
        scratch.apply(&request).unwrap();
        let (repo, session) = (scratch.repo(), scratch.session());
        let tree = |commit| repo.tree_of(commit).unwrap();
        let paths = |named: &[&[u8]]| {
            let named: Vec<RepoPath> = named.iter().map(|path| RepoPath::from_tree(path)).collect();
            let found = between_at(&repo, tree(session.base), tree(session.tip), &named);
            found.unwrap().into_iter().map(|file| file.path).collect::<Vec<_>>()
        };
        assert_eq!(paths(&[]), ["b.txt", "e/a.txt"]);
        assert_eq!(
            (paths(&[b"d"]), paths(&[b"b.txt"])),
            (vec!["e/a.txt".into()], vec!["b.txt".into()])
        );
        assert_eq!(paths(&[b"b"]), [""; 0]);
    }

    #[test]
    fn the_users_changes_are_those_of_the_worktree_against_the_tip() {
        let scratch = Scratch::with(&[("a.txt", "one\nx\n"), ("b.txt", "b\n")]);
        scratch.edit("first", "a.txt", "one", "two");
        scratch.write("a.txt", "two\nx\nmine\n");
        let (repo, session) = (scratch.repo(), scratch.session());
        let text: String =
            worktree(&repo, Some(&session), &[]).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n two\n x\n\
             +mine\n"
        );
        assert_eq!(staged(&repo, &[]).unwrap(), []);
    }

    fn unchanged() -> FileDiff {
        FileDiff {
            path: "a".to_owned(),
            change: FileChangeKind::Modified,
            from: None,
            similarity: None,
            hash_before: Some("1".to_owned()),
            hash_after: Some("2".to_owned()),
            mode_before: Some("100644".to_owned()),
            mode_after: Some("100644".to_owned()),
            binary: false,
            lines_added: 0,
            lines_removed: 0,
            patch: String::new(),
        }
    }

    #[test]
    fn a_mode_alone_is_a_change() {
        let file = FileDiff { mode_after: Some("100755".to_owned()), ..unchanged() };
        assert_eq!(file.to_string(), "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n");
    }

    #[test]
    fn a_file_above_the_limit_is_not_read() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "1\n")]);
        let repo = scratch.repo();
        repo.set_max_file_size(3);
        let tree = repo.tree_of(scratch.head()).unwrap();
        let shown = between(&repo, repo.empty_tree(), tree).unwrap();
        let shown: Vec<_> = shown.iter().map(|file| (file.binary, file.lines_added)).collect();
        assert_eq!(shown, [(true, 0), (false, 1)]);
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
            hunks(b"a\nb\n", b"a\nc").0,
            "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn equal_texts_have_no_hunks() {
        assert_eq!(hunks(b"a\n", b"a\n"), (String::new(), (0, 0)));
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
