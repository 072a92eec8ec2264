//! What two trees differ in, as an answer tells it.

use crate::base::{Change, FileReport, Result};
use crate::edit::diff::Lines;
use crate::git::Repo;
use crate::git::diff::{Differs, Item};
use crate::git::read::ObjectKind;
use crate::io::clock;

/// Each path that differs.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn files(repo: &Repo, paths: &[Differs]) -> Result<Vec<FileReport>> {
    paths.iter().map(|differs| file(repo, differs)).collect()
}

/// One path.
fn file(repo: &Repo, differs: &Differs) -> Result<FileReport> {
    let text = |item: Option<Item>| {
        item.and_then(Item::file).map(|file| repo.object(file.oid, ObjectKind::Blob)).transpose()
    };
    let (old, new) = (text(differs.old)?, text(differs.new)?);
    let lines = Lines::of(
        old.as_deref().unwrap_or_default(),
        new.as_deref().unwrap_or_default(),
        clock::in_ms(100),
    );
    let (lines_added, lines_removed) = lines.counts();
    let hash = |item: Option<Item>| item.map(|item| item.oid().to_string());
    Ok(FileReport {
        path: differs.path.to_string(),
        change: match (differs.old, differs.new) {
            (None, _) => Change::Added,
            (_, None) => Change::Deleted,
            _ => Change::Modified,
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
