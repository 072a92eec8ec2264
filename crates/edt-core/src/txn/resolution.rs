//! Edits of files with merge conflicts. The result stays in the worktree, uncommitted: the user
//! finishes the merge.

use super::guard::Cleared;
use super::report;
use crate::session::message::{self, Kind, Trailers};
use crate::session::{LockedWorkspace, OnDisk, ownership};
use edt_git::{FileId, InHead, NewCommit, ObjectWriter, Repo, TreeChange};
use edt_journal::{
    BranchOrigin, BranchUpdate, ChangeSet, FileChange, NewFile, PrivateRecord, publish as install,
};
use edt_types::{Durability, Outcome, RecordedIn, Result, Status, Warning};

/// The refs that keep each resolution.
const REFS: &str = "refs/edt/resolution/";

/// Writes the files, and keeps the result as a commit at `refs/edt/resolution/<n>`.
///
/// # Errors
/// The findings of publishing; then nothing has changed.
pub(super) fn publish(workspace: &mut LockedWorkspace, cleared: &Cleared<'_>) -> Result<Outcome> {
    let repo = &workspace.repo;
    let mut writer = ObjectWriter::new(repo);
    let (mut changes, mut files, mut private) = (Vec::new(), Vec::new(), Vec::new());
    for file in &cleared.files {
        let Some(state) = cleared.state.paths.get(&file.path) else { continue };
        let after = file.after.as_ref();
        private.push(ownership::private_file(state, after.map(|new| (new.disk(), new.mode))));
        let mut new = None;
        let mut recorded = None;
        if let Some(after) = after {
            let file = FileId { oid: writer.write_blob(after.blob())?, mode: after.mode };
            let bytes = after.disk().to_vec();
            let disk = FileId { oid: repo.blob_id(&bytes)?, mode: after.mode };
            (recorded, new) = (Some(file), Some(NewFile { file: disk, bytes, permissions: None }));
        }
        changes.push(TreeChange { path: file.path.clone(), file: recorded });
        let old = state.disk.as_ref().map(OnDisk::old);
        files.push(FileChange { path: file.path.clone(), old, new });
    }
    let (tree, _) = writer.write_tree(cleared.state.head_tree, &changes)?;
    let text = cleared.request.message.clone();
    let text = text.unwrap_or_else(|| "resolve merge conflicts".to_owned());
    let trailers = Trailers {
        agent: cleared.request.agent.clone(),
        ..Trailers::plain("resolution", Kind::Resolution, 0)
    };
    let message = message::compose(&text, &trailers);
    let parent = cleared.state.head.commit;
    let commit = writer.write_commit(&NewCommit { tree, parent, message: &message })?;
    let branch = BranchUpdate {
        name: next_ref(repo)?,
        from: BranchOrigin::Created(commit),
        new: commit,
        log: "edt apply: resolve merge conflicts".to_owned(),
        head: InHead::No,
        head_from: None,
        point: None,
    };
    let (session, name) = ("resolution".to_owned(), commit.to_string());
    let private = Some(PrivateRecord { session, name, files: private });
    let objects = writer.loose_objects();
    let change = ChangeSet { objects, files, private, ..ChangeSet::of(branch) };
    let level = cleared.state.policy.durability.unwrap_or(Durability::Off);
    workspace.journal.require_durability(level);
    let warnings = install(&workspace.repo, &mut workspace.journal, change)?;
    let mut outcome = report::of(workspace, cleared, Status::Applied, &[]);
    for file in &mut outcome.files {
        file.recorded = RecordedIn::Worktree;
    }
    outcome.warnings.extend(warnings);
    outcome.warnings.push(Warning {
        code: "resolution_uncommitted",
        path: None,
        message: "The files are written and not committed. The user finishes the merge: `git add` \
            for each file, then `git merge --continue` (or `git rebase --continue`)."
            .to_owned(),
    });
    Ok(outcome)
}

fn next_ref(repo: &Repo) -> Result<String> {
    let taken = repo.refs_below(REFS)?;
    let number = |name: &String| name.strip_prefix(REFS)?.parse::<u64>().ok();
    let last = taken.iter().filter_map(|(name, _)| number(name)).max();
    Ok(format!("{REFS}{}", last.map_or(1, |last| last + 1)))
}
