//! The steps that recovery has in common after a crash and after a restart of the machine.

use super::files::{StagedState, StagingArea, with_bits};
use super::log::Journal;
use super::pointers::{BranchUpdate, HeldPointers};
use super::private;
use super::publish::recover_refs;
use super::record::{ChangeRecord, FileRecord, Id};
use edt_git::reflog::{LoggedMove, ReflogWrite};
use edt_git::{FileId, InHead, Oid, Repo, Tracked};
use edt_io::disk::Perms;
use edt_io::{is_denied, permanent_as_none};
use edt_types::text::Shown as _;
use edt_types::{Recovered, RepoPath, Result};
use std::path::PathBuf;

/// Exchanges the new bytes with the target.
pub(super) fn install(repo: &Repo, stage: &StagingArea<'_>, file: &FileRecord) -> Result<()> {
    prepare(repo, stage, file)?;
    stage.swap(&with_current_stat(stage, file))
}

/// Stages the new bytes. They come from their blob, or from the staged file if the blob is gone.
pub(super) fn prepare(repo: &Repo, stage: &StagingArea<'_>, file: &FileRecord) -> Result<()> {
    // A displaced file may be a user's only copy.
    stage.preserve_foreign(file)?;
    if let Some(new) = file.new_file() {
        let bytes = match private::bytes(repo, new.oid) {
            // The disk form of a file that Git converts is in no commit. `git gc --prune=now` may
            // have removed it.
            Err(_) if stage.staged(file)? == StagedState::New => {
                return Ok(());
            }
            bytes => bytes?,
        };
        let executable = new.mode.bits() & 0o100 != 0;
        let perms = match (&file.old, file.staged) {
            (Some((_, _, old)), Some(staged)) => {
                Perms::Of(with_bits(*old, staged.mode), executable)
            }
            (Some((_, _, old)), None) => Perms::Of(*old, executable),
            (None, Some(stat)) => Perms::Exactly(stat.mode & 0o777),
            (None, None) => Perms::Usual { executable },
        };
        stage.restage(file, &bytes, perms)?;
    }
    Ok(())
}

/// The record with the current stat of the target file.
fn with_current_stat(stage: &StagingArea<'_>, file: &FileRecord) -> FileRecord {
    let mut current = file.clone();
    if let (Some((_, _, seen)), Some(stat)) = (&mut current.old, stage.stat(file)) {
        *seen = stat;
    }
    current
}

/// Brings the symbolic refs, the logs and the refs that move with the branch to the state after the
/// transaction. `follows`: whether HEAD does ([`follows_head`]).
pub(super) fn follow_refs(
    repo: &Repo,
    record: &ChangeRecord,
    branch: &BranchUpdate,
    journal: &Journal,
    follows: bool,
) -> Result<()> {
    let mut branch = branch.clone();
    if !follows {
        (branch.head_from, branch.head) = (None, InHead::No);
    }
    // Only edt moves this ref, and only after it has recovered.
    branch.point = branch.point.filter(|name| repo.symbolic_ref(name).is_ok());
    let head_to = record.head_to.as_deref();
    let mut held = HeldPointers::default();
    branch.move_symbolic(repo, &mut held, head_to)?;
    // The user may have renamed or deleted the branch. A line that follows one of the user's would
    // say that the branch came back.
    if repo.ref_value(&branch.name)?.is_some() && !was_left(repo, record, &branch)? {
        unless_denied(branch.write_logs(repo, &held, head_to, ReflogWrite::AppendIfMissing))?;
    }
    recover_refs(repo, record, journal.pointer())
}

/// Whether HEAD still is the file that the transaction found, and the user has not moved it or its
/// branch since, as `git commit` does. A user who switched made another file. In a copy of the
/// repository every file is another one. `was_cut`: the last moves of the branch, and lines of the
/// log, may be lost.
pub(super) fn is_head_unmoved(
    repo: &Repo,
    record: &ChangeRecord,
    branch: &BranchUpdate,
    journal: &Journal,
    was_cut: bool,
) -> Result<bool> {
    let Some(left) = record.branch.left() else { return Ok(false) };
    let is_same_file = if record.journal == journal.inode()? {
        repo.head_stat().zip(left.stat).is_some_and(|(is, was)| is.same_content_as(&was))
    } else {
        repo.head_target()?.as_ref() == Some(&left.name)
    };
    if !is_same_file {
        return Ok(false);
    }
    let last = left.last_move();
    let since = repo.lines_since("HEAD", last, record.time);
    if since.has_user_move() {
        return Ok(false);
    }
    // Another worktree may have moved the branch.
    if since.is_complete && !was_cut {
        return Ok(true);
    }
    let now = permanent_as_none(repo.commit_at(&left.name))?.flatten();
    let was = left.tip.as_ref().and_then(Id::oid);
    Ok(now.is_none_or(|now| {
        let is_lost = |was| repo.is_ancestor(now, was).unwrap_or(false);
        [Some(branch.new), was].contains(&Some(now))
            || was_cut && (last.is_some_and(|(from, ..)| now == from) || was.is_some_and(is_lost))
    }))
}

/// Whether HEAD is where it must be after the transaction, or still may be moved there: its log
/// follows in both cases. As Git, edt does not move HEAD to a branch that another worktree has
/// checked out.
pub(super) fn follows_head(
    repo: &Repo,
    record: &ChangeRecord,
    branch: &BranchUpdate,
    journal: &Journal,
    was_cut: bool,
) -> Result<bool> {
    Ok(branch.head_from.is_none()
        || is_in_head(repo, record, branch)?
        || !repo.is_checked_out_elsewhere(record.head_to.as_ref().unwrap_or(&branch.name))
            && is_head_unmoved(repo, record, branch, journal, was_cut)?)
}

/// What is known of whether HEAD was where the transaction moves it, wherever it is now. `None` if
/// nothing is.
pub(super) fn was_in_head(
    repo: &Repo,
    record: &ChangeRecord,
    branch: &BranchUpdate,
) -> Result<Option<bool>> {
    let Some(left) = record.branch.left() else { return Ok(Some(true)) };
    let to = record.head_to.as_deref().unwrap_or(&branch.name);
    let short = to.strip_prefix("refs/heads/").unwrap_or(to);
    let since = repo.lines_since("HEAD", left.last_move(), record.time);
    if since.begins_with_switch_to(short) || is_new_in_head(repo, branch)? {
        return Ok(Some(true));
    }
    Ok(since.is_complete.then_some(false))
}

/// Whether the user moved the branch away from `old`, which an undo was to remove. The log may have
/// lost the lines of undos: a move of edt does not count.
pub(super) fn was_amended(repo: &Repo, branch: &BranchUpdate, old: Oid) -> bool {
    let moved = repo.moved_on_from(&branch.name, old);
    moved.is_some_and(|line| line.to != branch.new && !line.by_edt)
}

/// Whether a log shows that the transaction was decided: the user moved its branch on from the commit
/// that it made. If it was to move HEAD, too, HEAD must have been there.
pub(super) fn was_left(repo: &Repo, record: &ChangeRecord, branch: &BranchUpdate) -> Result<bool> {
    let has_line = |name: &str| {
        let moves = repo.logged_moves(name);
        moves.iter().any(|line| leaves(record, branch, line))
    };
    if is_unmoved(repo, record) || !has_line(&branch.name) && !has_line("HEAD") {
        return Ok(false);
    }
    Ok(record.branch.left().is_none()
        || is_in_head(repo, record, branch)?
        || was_in_head(repo, record, branch)? == Some(true))
}

/// Whether the branch is the file that the transaction found. The same commit may have been made and
/// left before.
fn is_unmoved(repo: &Repo, record: &ChangeRecord) -> bool {
    let found = record.branch.stat.zip(repo.ref_stat(&record.branch.name));
    found.is_some_and(|(was, is)| is.same_content_as(&was))
}

/// Whether the user moved a ref on from the commit that the transaction made. An undo and a redo make
/// none: the ref may have been there before.
pub(super) fn leaves(record: &ChangeRecord, branch: &BranchUpdate, line: &LoggedMove) -> bool {
    line.from == branch.new
        && line.to != branch.new
        && !line.by_edt
        && record.objects.iter().any(|(id, _)| id.oid() == Some(branch.new))
}

/// Whether HEAD has the commit that the transaction made.
pub(super) fn is_new_in_head(repo: &Repo, branch: &BranchUpdate) -> Result<bool> {
    let head = repo.head()?.commit.filter(|_| branch.new != branch.start());
    Ok(head.is_some_and(|head| repo.is_ancestor(branch.new, head).unwrap_or(false)))
}

/// Passes over a log that this user may not write: it must not block every later call.
pub(super) fn unless_denied(logged: Result<()>) -> Result<()> {
    match logged {
        Err(error) if is_denied(&error) => Ok(()),
        logged => logged,
    }
}

/// Whether HEAD names what it must name after the transaction.
pub(super) fn is_in_head(
    repo: &Repo,
    record: &ChangeRecord,
    branch: &BranchUpdate,
) -> Result<bool> {
    Ok(branch.head == InHead::Yes
        && match &record.head_to {
            Some(to) => repo.head_target()?.as_ref() == Some(to),
            None => repo.head_is_on(&branch.name)?,
        })
}

/// The commit whose content the files had before the transaction: that of the branch, or of what
/// HEAD leaves. `None` if that is an unborn branch.
pub(super) fn commit_before(
    repo: &Repo,
    record: &ChangeRecord,
    branch: &BranchUpdate,
) -> Result<Option<Oid>> {
    let Some(left) = record.branch.left() else {
        // The first commit of an unborn branch begins at itself.
        let is_first = branch.head == InHead::Yes && branch.old().is_none();
        return Ok((!is_first).then(|| branch.start()));
    };
    let was = left.tip.as_ref().and_then(Id::oid);
    // A power cut may have lost the user's last commit.
    let Some(was) = was.filter(|was| repo.tree_of(*was).is_err()) else { return Ok(was) };
    Ok(permanent_as_none(repo.commit_at(&left.name))?.flatten().or(Some(was)))
}

/// Whether the tree has exactly `wanted` at the path of `file`.
pub(super) fn has_file(repo: &Repo, tree: Oid, file: &FileRecord, wanted: Option<FileId>) -> bool {
    let found = repo.tracked(tree, &RepoPath::from_tree(&file.path));
    found.is_ok_and(|found| found == wanted.map_or(Tracked::Nothing, Tracked::File))
}

/// Adds to a report where displaced files of the user are kept.
pub(super) fn add_kept(mut report: Recovered, kept: &[PathBuf]) -> Recovered {
    if !kept.is_empty() {
        let names: Vec<String> = kept.iter().map(|path| path.shown()).collect();
        report.detail.push_str(&format!(
            " Displaced files that are not edt's are kept: {}.",
            names.join(", ")
        ));
    }
    report
}

pub(super) fn report(
    action: &'static str,
    record: &ChangeRecord,
    files: &[RepoPath],
    left: &[RepoPath],
) -> Recovered {
    let what = match action {
        "finished" => "An interrupted transaction was already recorded. It was finished.",
        "rolled_back" => "An interrupted transaction was not recorded. It was rolled back.",
        _ => {
            "The machine was restarted before everything was on disk. The recorded edits were \
             restored."
        }
    };
    let mut detail = what.to_owned();
    if !left.is_empty() {
        detail.push_str(
            " Files with neither the old nor the new content are someone else's work and were not \
             changed.",
        );
    }
    let names = |paths: &[RepoPath]| paths.iter().map(RepoPath::text).collect();
    let commit = record.branch.new.oid().map(|oid: Oid| oid.to_string());
    Recovered { action, commit, files: names(files), left: names(left), detail }
}
