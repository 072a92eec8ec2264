//! The differences between two trees in an answer's form.

use edt_edit::diff::LineDiff;
use edt_git::Repo;
use edt_git::diff::{TreeDifference, TreeItem};
use edt_git::read::ObjectKind;
use edt_io::clock;
use edt_types::{FileChangeKind, FileReport, Result};

/// One report for each path that differs.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn files(repo: &Repo, paths: &[TreeDifference]) -> Result<Vec<FileReport>> {
    paths.iter().map(|differs| file(repo, differs)).collect()
}

fn file(repo: &Repo, differs: &TreeDifference) -> Result<FileReport> {
    let text = |item: Option<TreeItem>| {
        item.and_then(TreeItem::file)
            .map(|file| repo.object(file.oid, ObjectKind::Blob))
            .transpose()
    };
    let (old, new) = (text(differs.old)?, text(differs.new)?);
    let lines = LineDiff::of(
        old.as_deref().unwrap_or_default(),
        new.as_deref().unwrap_or_default(),
        clock::in_ms(100),
    );
    let (lines_added, lines_removed) = lines.counts();
    let hash = |item: Option<TreeItem>| item.map(|item| item.oid().to_string());
    Ok(FileReport {
        path: differs.path.to_string(),
        change: match (differs.old, differs.new) {
            (None, _) => FileChangeKind::Added,
            (_, None) => FileChangeKind::Deleted,
            _ => FileChangeKind::Modified,
        },
        from: None,
        hash_before: hash(differs.old),
        hash_after: hash(differs.new),
        bytes_before: old.as_ref().map(|text| text.len() as u64),
        bytes_after: new.as_ref().map(|text| text.len() as u64),
        lines_added,
        lines_removed,
        context: None,
        matched_by: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;
    use crate::txn::Request;

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
