//! Edits of files with merge conflicts. The result stays in the worktree, uncommitted: the user
//! finishes the merge.

use super::guard::Cleared;
use super::report;
use crate::session::engine::{Change, RefMove, WorktreeChange};
use crate::session::refs::message::{self, Kind, Trailers};
use crate::session::refs::names::RESOLUTIONS;
use crate::session::user::ownership::{self, LeftOver, Version};
use crate::session::{LockedWorkspace, OnDisk};
use edt_git::{FileId, NewCommit, ObjectWriter, Repo, TreeChange};
use edt_journal::{BranchOrigin, FileChange, NewFile};
use edt_types::{Durability, Outcome, RecordedIn, Result, Status, Warning, WarningCode};

/// Writes the files, and keeps the result as a commit at `refs/edt/resolution/<n>`. Its parent has
/// the files as they were before: the user may have resolved a part of them.
///
/// # Errors
/// The findings of publishing; then nothing has changed.
pub(super) fn publish(workspace: &mut LockedWorkspace, cleared: &Cleared<'_>) -> Result<Outcome> {
    let repo = &workspace.repo;
    let mut writer = ObjectWriter::new(repo);
    let (mut before, mut changes, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    let (mut files, mut private) = (Vec::new(), Vec::new());
    for file in &cleared.files {
        let Some(state) = cleared.state.paths.get(&file.path) else { continue };
        let after = file.after.as_ref();
        let stored = state.disk.as_ref().is_some_and(|disk| disk.stored.is_some());
        if stored || after.is_some_and(|after| after.stored.is_some()) {
            // No commit has the exact bytes. Crash recovery may need them.
            let exact = after.map(|new| (new.disk(), new.mode));
            private.push(ownership::private_file(state, exact, &LeftOver::Nothing));
        }
        let old = state.disk.as_ref().map(OnDisk::old);
        let present = ownership::write(&mut writer, Version::on_disk(state));
        before.push(TreeChange { path: file.path.clone(), file: present });
        if present.is_some() {
            paths.push(file.path.for_shell());
        }
        let mut new = None;
        let mut recorded = None;
        if let Some(after) = after {
            let bytes = after.disk().to_vec();
            let disk = FileId { oid: repo.blob_id(&bytes)?, mode: after.mode };
            new = Some(NewFile { file: disk, bytes, permissions: None });
            recorded = Some(FileId { oid: writer.write_blob(after.blob())?, mode: after.mode });
        }
        changes.push(TreeChange { path: file.path.clone(), file: recorded });
        files.push(FileChange { path: file.path.clone(), old, new });
    }
    let (tree_before, _) = writer.write_tree(cleared.state.head_tree, &before)?;
    let (tree, _) = writer.write_tree(tree_before, &changes)?;
    let text = cleared.request.message.clone();
    let text = text.unwrap_or_else(|| "resolve merge conflicts".to_owned());
    let trailers = Trailers {
        agent: cleared.request.agent.clone(),
        ..Trailers::plain("resolution", Kind::Resolution, 0)
    };
    let users = Trailers { agent: None, ..trailers.clone() };
    let message = message::compose("before: files of an unfinished merge", &users);
    let parent = cleared.state.head.commit;
    let parent =
        Some(writer.write_commit(&NewCommit { tree: tree_before, parent, message: &message })?);
    let message = message::compose(&text, &trailers);
    let commit = writer.write_commit(&NewCommit { tree, parent, message: &message })?;
    let name = next_ref(repo)?;
    let earlier = if paths.is_empty() {
        String::new()
    } else {
        format!(
            " `git restore --source={name}~1 -- {}` restores what was there before this call.",
            paths.join(" ")
        )
    };
    let log = "edt apply: resolve merge conflicts".to_owned();
    let branch = RefMove { name, from: BranchOrigin::Created(commit), new: commit, log };
    let change = Change {
        objects: writer.loose_objects(),
        worktree: WorktreeChange { files, private, ..WorktreeChange::default() },
        ..Change::of("resolution", branch)
    };
    let level = cleared.state.policy.durability.unwrap_or(Durability::Off);
    workspace.journal.require_durability(level);
    let warnings = workspace.apply(change)?.warnings;
    let mut outcome = report::of(workspace, cleared, Status::Applied, &[]);
    for file in &mut outcome.files {
        file.recorded = RecordedIn::Worktree;
    }
    outcome.warnings.extend(warnings);
    outcome.warnings.push(Warning {
        code: WarningCode::ResolutionUncommitted,
        path: None,
        message: format!(
            "The files are written and not committed. The user finishes the merge: `git add` for \
             each file, then `git merge --continue` (or `git rebase --continue`).{earlier}"
        ),
    });
    Ok(outcome)
}

fn next_ref(repo: &Repo) -> Result<String> {
    let taken = repo.refs_below(RESOLUTIONS)?;
    let number = |name: &String| name.strip_prefix(RESOLUTIONS)?.parse::<u64>().ok();
    let last = taken.iter().filter_map(|(name, _)| number(name)).max();
    Ok(format!("{RESOLUTIONS}{}", last.map_or(1, |last| last + 1)))
}
