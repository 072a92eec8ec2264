//! The differences between two trees in an answer's form.

use std::collections::{HashMap, HashSet};

use edt_edit::diff::LineDiff;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::read::ObjectKind;
use edt_git::renames::{self, RenameCandidate};
use edt_git::{ChangedPath, ObjectWriter, Oid, Repo};
use edt_io::clock;
use edt_types::{FileChangeKind, FileReport, RecordedIn, RepoPath, Result, UserChanges};

/// The paths that differ between the trees `from` and `to`, in order. The two paths of a rename are
/// one.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn changed_paths(repo: &Repo, from: Oid, to: Oid) -> Result<Vec<ChangedPath>> {
    repo.with_renames(repo.tree_diff(from, to)?, |oid| repo.object(oid, ObjectKind::Blob))
}

/// How a file with these sides changed.
#[must_use]
pub const fn kind(renamed: bool, before: bool, after: bool) -> FileChangeKind {
    match (renamed, before, after) {
        (true, ..) => FileChangeKind::Renamed,
        (_, false, _) => FileChangeKind::Added,
        (_, _, false) => FileChangeKind::Deleted,
        _ => FileChangeKind::Modified,
    }
}

/// One report for each path that differs. The two paths of a rename have one.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn files(repo: &Repo, paths: &[TreeDifference]) -> Result<Vec<FileReport>> {
    let read = |oid| repo.object(oid, ObjectKind::Blob);
    let changed = repo.with_renames(paths.to_vec(), read)?;
    changed.iter().map(|changed| file(read, changed)).collect()
}

/// As [`files`], for trees that are not on disk yet.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn files_in(writer: &ObjectWriter<'_>, paths: &[TreeDifference]) -> Result<Vec<FileReport>> {
    let read = |oid| writer.blob_content(oid);
    let changed = writer.repo().with_renames(paths.to_vec(), read)?;
    changed.iter().map(|changed| file(read, changed)).collect()
}

/// Joins the two reports of each rename. `read` returns the content of a deleted or an added file.
///
/// # Errors
/// Those of `read`.
pub fn joined(
    repo: &Repo,
    reports: Vec<FileReport>,
    read: impl Fn(&RepoPath) -> Result<Vec<u8>>,
) -> Result<Vec<FileReport>> {
    let paths: Vec<RepoPath> =
        reports.iter().map(|one| RepoPath::from_tree(one.path.as_bytes())).collect();
    let (mut deleted, mut added) = (Vec::new(), Vec::new());
    for (one, path) in reports.iter().zip(&paths) {
        let (list, hash) = match one.change {
            FileChangeKind::Deleted => (&mut deleted, &one.hash_before),
            FileChangeKind::Added => (&mut added, &one.hash_after),
            FileChangeKind::Modified | FileChangeKind::Renamed => continue,
        };
        let id = hash.as_ref().and_then(|hex| Oid::from_hex(hex.as_bytes()).ok());
        // A private file has no rename in a commit.
        if let Some(oid) = id.filter(|_| one.recorded == RecordedIn::Branch) {
            list.push(RenameCandidate { path, oid, regular: true });
        }
    }
    let found = renames::detect(&deleted, &added, repo.rename_limit(), |one| read(one.path))?;
    let mut sources: HashMap<String, String> = found
        .iter()
        .map(|rename| {
            let path = |one: RenameCandidate<'_>| one.path.text();
            (path(added[rename.added]), path(deleted[rename.deleted]))
        })
        .collect();
    let from: HashSet<&String> = sources.values().collect();
    let (gone, mut all): (Vec<FileReport>, Vec<FileReport>) =
        reports.into_iter().partition(|one| from.contains(&one.path));
    let gone: HashMap<String, FileReport> =
        gone.into_iter().map(|one| (one.path.clone(), one)).collect();
    for one in &mut all {
        let Some(source) = sources.remove(&one.path) else { continue };
        let Some(old) = gone.get(&source) else { continue };
        let (before, after) = (
            read(&RepoPath::from_tree(source.as_bytes()))?,
            read(&RepoPath::from_tree(one.path.as_bytes()))?,
        );
        let counts = LineDiff::of(&before, &after, clock::in_ms(100)).counts();
        (one.lines_added, one.lines_removed) = counts;
        one.change = FileChangeKind::Renamed;
        one.from = Some(source);
        one.hash_before.clone_from(&old.hash_before);
        one.bytes_before = old.bytes_before;
        one.user_changes = one.user_changes.max(old.user_changes);
    }
    Ok(all)
}

fn file(read: impl Fn(Oid) -> Result<Vec<u8>>, changed: &ChangedPath) -> Result<FileReport> {
    let text = |item: Option<TreeItem>| {
        item.and_then(TreeItem::file).map(|file| read(file.oid)).transpose()
    };
    let (old, new) = (text(changed.old)?, text(changed.new)?);
    let ids = (changed.old.map(TreeItem::oid), changed.new.map(TreeItem::oid));
    let report = report(changed.path.text(), ids, (old.as_deref(), new.as_deref()));
    Ok(match &changed.from {
        None => report,
        Some(from) => {
            FileReport { change: FileChangeKind::Renamed, from: Some(from.path.text()), ..report }
        }
    })
}

/// The report of a file with these ids and texts before and after.
#[must_use]
pub fn report(
    path: String,
    (before, after): (Option<Oid>, Option<Oid>),
    (old, new): (Option<&[u8]>, Option<&[u8]>),
) -> FileReport {
    let deadline = clock::in_ms(100);
    let lines = LineDiff::of(old.unwrap_or_default(), new.unwrap_or_default(), deadline);
    let (lines_added, lines_removed) = lines.counts();
    FileReport {
        path,
        change: kind(false, before.is_some(), after.is_some()),
        from: None,
        hash_before: before.map(|oid| oid.to_string()),
        hash_after: after.map(|oid| oid.to_string()),
        bytes_before: old.map(|text| text.len() as u64),
        bytes_after: new.map(|text| text.len() as u64),
        lines_added,
        lines_removed,
        context: None,
        matched_by: None,
        user_changes: UserChanges::None,
        left_over: Vec::new(),
        recorded: RecordedIn::Branch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;
    use crate::txn::Request;

    #[test]
    fn the_two_paths_of_a_rename_have_one_report() {
        let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
        let scratch = Scratch::with(&[("old.txt", &text), ("other.txt", "x\n")]);
        let base = scratch.head();
        let request = Request::new("move").rename("old.txt", "new.txt").edit("other.txt", "x", "y");
        scratch.apply(&request).unwrap();
        scratch.edit("change", "new.txt", "line 7\n", "line seven\n");
        let repo = scratch.repo();
        let tree = |commit| repo.tree_of(commit).unwrap();
        let paths = repo.tree_diff(tree(base), tree(scratch.head())).unwrap();
        assert_eq!(paths.len(), 3);
        let found = files(&repo, &paths).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.path.as_str(), one.from.as_deref(), one.change, one.lines_added))
            .collect();
        assert_eq!(
            shown,
            [
                ("new.txt", Some("old.txt"), FileChangeKind::Renamed, 1),
                ("other.txt", None, FileChangeKind::Modified, 1)
            ]
        );
        assert_eq!(found[0].bytes_before, Some(text.len() as u64));
    }

    #[test]
    fn each_kind_of_change_is_reported_with_its_size() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("gone.txt", "x\ny\n")]);
        let base = scratch.head();
        let request = Request::new("all")
            .edit("a.txt", "one", "two\nthree")
            .create("new.txt", "n\n")
            .delete("gone.txt");
        scratch.apply(&request).unwrap();
        let repo = scratch.repo();
        let tree = |commit| repo.tree_of(commit).unwrap();
        let paths = repo.tree_diff(tree(base), tree(scratch.head())).unwrap();
        let hash = |text: &str| Some(repo.blob_id(text.as_bytes()).unwrap().to_string());
        let report =
            |path: &str, change, before: Option<&str>, after: Option<&str>, lines: (u64, u64)| {
                FileReport {
                    path: path.into(),
                    change,
                    from: None,
                    hash_before: before.and_then(hash),
                    hash_after: after.and_then(hash),
                    bytes_before: before.map(|text| text.len() as u64),
                    bytes_after: after.map(|text| text.len() as u64),
                    lines_added: lines.0,
                    lines_removed: lines.1,
                    context: None,
                    matched_by: None,
                    user_changes: edt_types::UserChanges::None,
                    left_over: vec![],
                    recorded: edt_types::RecordedIn::Branch,
                }
            };
        assert_eq!(
            files(&repo, &paths).unwrap(),
            [
                report(
                    "a.txt",
                    FileChangeKind::Modified,
                    Some("one\n"),
                    Some("two\nthree\n"),
                    (2, 1)
                ),
                report("gone.txt", FileChangeKind::Deleted, Some("x\ny\n"), None, (0, 2)),
                report("new.txt", FileChangeKind::Added, None, Some("n\n"), (1, 0)),
            ]
        );
    }
}
