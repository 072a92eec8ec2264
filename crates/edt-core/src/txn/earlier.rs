//! What edits that were made for an earlier text of a file mean in the present one.

use edt_edit::Edit;
use edt_edit::stage::EditedFiles;
use edt_git::Tracked;
use edt_git::merge::{MergedText, merge_text};
use edt_git::read::ObjectKind;
use edt_types::RepoPath;
use edt_types::text::{self, Endings};

use super::resolve::TransactionState;
use crate::session::LockedWorkspace;
use crate::session::refs::commit::Commit;

/// The texts that a file had before, the newest first.
pub(super) type EarlierTexts<'a> = &'a dyn Fn(&RepoPath) -> Vec<Vec<u8>>;

/// The most commits whose files are read.
const MAX_COMMITS: usize = 16;
/// A larger file is not read.
const MAX_BYTES: usize = 1 << 20;

/// The texts that `path` had in the session's latest commits, and in those before it. Nothing if
/// Git converts the file, or an object is missing: they only serve for an offer.
pub(super) fn committed_texts(
    workspace: &LockedWorkspace,
    state: &TransactionState,
    path: &RepoPath,
) -> Vec<Vec<u8>> {
    let repo = &workspace.repo;
    let disk = state.paths.get(path).and_then(|path_state| path_state.disk.as_ref());
    let Some(disk) = disk.filter(|disk| disk.stored.is_none()) else { return Vec::new() };
    let (mut texts, mut last, mut next) = (Vec::new(), disk.file.oid, Some(state.session.tip));
    for _ in 0..MAX_COMMITS {
        let Some(commit) = next.and_then(|oid| Commit::read(repo, oid).ok()) else { break };
        if let Ok(Tracked::File(file)) = repo.tracked(commit.tree, path)
            && file.oid != last
        {
            last = file.oid;
            texts.extend(repo.object(file.oid, ObjectKind::Blob).ok());
        }
        next = commit.parent;
    }
    texts
}

/// The text `now` of `path` with the change that `edits` make to the newest of the earlier texts to
/// which they apply, merged as `git merge-file` does. `None` if the two conflict, or if the change
/// was made already.
pub(super) fn carried_over(
    path: &RepoPath,
    now: &[u8],
    edits: &[&Edit],
    earlier: EarlierTexts<'_>,
) -> Option<Vec<u8>> {
    let endings = Endings::of(now);
    if endings == Endings::Mixed || now.len() > MAX_BYTES {
        return None;
    }
    let now = text::to_lf(now);
    let merged = earlier(path).iter().find_map(|before| {
        let before = text::to_lf(before);
        let mut files = EditedFiles::default().with(path.clone(), Some((&before, false)));
        let applies = edits.iter().all(|edit| files.apply(edit).is_ok());
        applies.then(|| merge_text(&before, files.text(path), &now))
    });
    match merged? {
        MergedText::Clean(merged) if merged != now => Some(endings.convert(&merged)),
        _ => None,
    }
}
