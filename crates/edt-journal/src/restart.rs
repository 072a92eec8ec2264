//! Recovery after a restart of the machine. Anything that was not synced may be complete, missing,
//! torn or zero, in any combination.
//!
//! Every transaction since the last checkpoint is finished, answered or not, except those that were
//! rolled back. Each ref, path and index entry gets its last recorded value in one step, but only
//! if the present one is edt's: the inode that a record replaced, the inode that a record wrote and
//! nobody has written to since, or a file torn by the power failure. A later change by someone else
//! makes another or a newer inode, which is not changed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use super::cut;
use super::files::{StagedState, StagingArea, TargetState};
use super::given_up::{give_up_last, give_up_put_back, was_killed};
use super::index;
use super::log::Journal;
use super::open_mark;
use super::path_history::{
    MAX_SWAP_SECONDS, PathHistory, is_half_exchanged, renumber_devices, was_removed,
};
use super::pointers::BranchUpdate;
use super::private::{self, PrivateRecord};
use super::record::{ChangeRecord, FileRecord, Id, Record};
use super::recovery_steps::{
    add_kept, commit_before, follow_refs, follows_head, has_file, install, prepare, report,
    unless_denied,
};
use super::restart_index::{self, OtherLosses};
use super::restart_refs::{
    create_missing, drop_created, in_branches, is_synced, must_follow, repair_logs, repair_refs,
    restore_branches, successor,
};
use edt_git::objects::ObjectCheck;
use edt_git::{Oid, Repo, Tracked, objects};
use edt_io::disk::Parent;
use edt_io::{failed, permanent_as_none};
use edt_types::{Recovered, RepoPath, Result};

/// A transaction, its branch and its number.
pub(super) type Recorded = (ChangeRecord, BranchUpdate, u64);

/// Recovers everything that the journal has from an earlier boot. Records with a number below
/// `closed` were closed before.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `OBJECT_MISSING`: nothing is lost, and the next call tries
/// again.
pub(super) fn recover_all(
    repo: &Repo,
    journal: &mut Journal,
    records: &[(u64, Record)],
    closed: u64,
) -> Result<Option<Recovered>> {
    let pointer = journal.pointer();
    for (_, record) in records {
        // Which of them were closed is not known, and the user may have made one again.
        if let Record::Deletion(refs) = record {
            refs.iter().try_for_each(|(name, _)| repo.unlock_ref(name))?;
        }
    }
    let (mut changes, mut rolled_back) = split_by_outcome(records);
    let stage = StagingArea::open(repo)?;
    for (record, ..) in changes.iter_mut().chain(&mut rolled_back) {
        renumber_devices(repo, &stage, record);
    }
    // Git removes no object that HEAD has.
    if repo.head_tree().is_err() || repo.has_missed_objects() {
        cut::note(repo, records)?;
    }
    for (record, ..) in changes.iter().chain(&rolled_back) {
        objects::write_missing(repo, &record.loose(), ObjectCheck::Bytes)?;
        record.private.iter().try_for_each(|record| private::recover(repo, record))?;
    }
    let was_killed = was_killed(&stage, &changes);
    unlock(repo, &stage, &changes, &rolled_back)?;
    // Repair the logs before anything is appended to them.
    for name in changes.iter().map(|(_, branch, _)| branch.name.as_str()).chain(["HEAD"]) {
        unless_denied(repo.repair_log(name, &[]))?;
    }
    // As a user found it, who may have acted since the restart.
    let found = repo.head_tree().ok();
    let mut moved = repair_refs(repo, &changes)?;
    rolled_back.iter().try_for_each(|recorded| drop_created(repo, recorded, &changes))?;
    let was_cut = cut::was_cut(repo, &stage, &changes, records, closed)?;
    let mut given_up = give_up_put_back(repo, &stage, &mut changes, closed)?;
    moved |= restore_branches(repo, &changes, journal, closed, was_cut)?;
    if given_up.is_none() {
        given_up = give_up_last(repo, &mut changes, journal, closed, was_cut, was_killed)?;
    }
    let committed = in_branches(repo, &changes)?;
    moved |= create_missing(repo, &changes, &committed, closed)?;
    let follows = committed.last().filter(|(record, branch, _)| must_follow(record, branch));
    let mut named = vec![repo.head()?.branch, repo.symbolic_ref(pointer)?];
    let head_follows = match follows {
        Some((record, branch, _)) => follows_head(repo, record, branch, journal, was_cut)?,
        None => false,
    };
    if let Some((_, branch, _)) = follows.filter(|(_, branch, _)| branch.head_from.is_some())
        && head_follows
    {
        named.push(Some(branch.name.clone()));
    }
    let found_here = Here { named: &named, was_cut };
    let undone: Vec<&Recorded> = rolled_back.iter().chain(&given_up).collect();
    let restored = restore_files(repo, &stage, found_here, &committed, &changes, &undone)?;
    if let Some(last @ (record, branch, _)) = follows {
        // The pointer of a session whose beginning was synced may have been deleted since.
        let point = branch.point.clone().filter(|_| !is_synced(last, closed));
        follow_refs(
            repo,
            record,
            &BranchUpdate { point, ..branch.clone() },
            journal,
            head_follows,
        )?;
    }
    let committed: Vec<&ChangeRecord> = committed.iter().map(|(record, ..)| record).collect();
    let all: Vec<&ChangeRecord> = changes.iter().map(|(record, ..)| record).collect();
    let anything = moved || was_cut || !restored.files.is_empty();
    let losses = if anything { OtherLosses::Some(found) } else { OtherLosses::None };
    let lost = restart_index::restore(repo, &stage, &committed, &all, losses)?;
    repair_logs(repo, &changes)?;
    // What was given up may have been answered.
    remove_private(repo, changes.iter().chain(&given_up), &rolled_back);
    journal.checkpoint()?;
    open_mark::remove_all(repo.state_path());
    cut::forget(repo)?;
    let RestoredFiles { files, left, kept } = restored;
    let anything_done =
        moved || lost.is_some() || !(files.is_empty() && left.is_empty() && kept.is_empty());
    let Some(last) = committed
        .last()
        .copied()
        .or(changes.last().or(undone.last().copied()).map(|(record, ..)| record))
        .filter(|_| anything_done)
    else {
        return Ok(None);
    };
    let mut recovered = report("recovered", last, &files, &left);
    recovered.detail.push_str(lost.unwrap_or_default());
    if given_up.is_some() {
        let given_up = " An interrupted call was given up, because the user went on without it. Its \
                        files are as before.";
        recovered.detail.push_str(given_up);
    }
    Ok(Some(add_kept(recovered, &kept)))
}

/// Removes the private records of transactions that were rolled back. A later attempt may have made
/// the same commit.
fn remove_private<'r>(
    repo: &Repo,
    needed: impl Iterator<Item = &'r Recorded>,
    rolled_back: &[Recorded],
) {
    let private = |(record, ..): &Recorded| record.private.clone();
    let needed: Vec<PrivateRecord> = needed.filter_map(private).collect();
    for record in rolled_back.iter().filter_map(private) {
        let same =
            |other: &PrivateRecord| other.session == record.session && other.name == record.name;
        if !needed.iter().any(same) {
            private::remove(repo, &record);
        }
    }
}

/// The transactions to finish, and those that were rolled back.
fn split_by_outcome(records: &[(u64, Record)]) -> (Vec<Recorded>, Vec<Recorded>) {
    let rolled_back_numbers: HashSet<u64> = records
        .iter()
        .filter_map(|(_, record)| match record {
            Record::RolledBack(number) => Some(*number),
            Record::ChangeSet(_) | Record::Deletion(_) => None,
        })
        .collect();
    let (mut changes, mut rolled_back) = (Vec::new(), Vec::new());
    for (number, record) in records {
        if let Record::ChangeSet(record) = record
            && let Some(branch) = record.branch.branch()
        {
            let list =
                if rolled_back_numbers.contains(number) { &mut rolled_back } else { &mut changes };
            list.push(((**record).clone(), branch, *number));
        }
    }
    (changes, rolled_back)
}

/// Removes the lock files that edt held in Git's directory when the machine stopped.
fn unlock(
    repo: &Repo,
    stage: &StagingArea<'_>,
    changes: &[Recorded],
    rolled_back: &[Recorded],
) -> Result<()> {
    // A lock that is newer than the last transaction belongs to a running process.
    let last = changes.iter().chain(rolled_back).map(|(record, ..)| record.time).max().unwrap_or(0);
    let before = UNIX_EPOCH + Duration::from_secs((last + MAX_SWAP_SECONDS).unsigned_abs());
    // A transaction that moves no entry, as the begin of a session, holds the index, too.
    if last > 0 {
        index::unlock_stale(repo, stage, before)?;
    }
    repo.unlock_packed_refs()?;
    // The file that the lock was linked from may be lost.
    if changes.iter().chain(rolled_back).any(|(record, ..)| !record.drop.is_empty()) {
        repo.unlock_stale_packed_refs(before)?;
    }
    for (record, branch, _) in changes.iter().chain(rolled_back) {
        let mut names: Vec<&str> = vec![&branch.name, "HEAD"];
        names.extend(branch.point.as_deref());
        names.extend(record.replace.iter().map(|(name, ..)| name.as_str()));
        names.extend(record.drop.iter().map(|(name, _)| name.as_str()));
        for name in names {
            repo.unlock_stale(name, before)?;
        }
    }
    Ok(())
}

/// The content that a path must have, and the branch and commit that require it.
struct Target<'r> {
    file: &'r FileRecord,
    new: Option<(Id, bool)>,
    /// The branch of the commit, or the one that has its content since it was deleted. `None` if
    /// HEAD was detached or unborn, or the branch is gone.
    lives_in: Option<&'r str>,
    /// The commit that has the content.
    recorded_by: Oid,
    /// The commit of a transaction that was rolled back.
    undone: Option<Oid>,
    /// Until when the transaction may have changed the directory, in seconds and nanoseconds.
    changed_until: (i64, u32),
}

impl Target<'_> {
    /// Whether the missing file may be one of which both names were lost in an exchange. On another
    /// file system, which may not be mounted, there was none.
    fn is_lost_exchange(&self) -> bool {
        self.file.old.is_some() && self.file.new.is_some() && !self.file.beside
    }

    /// Whether the path has the new content of a transaction that was rolled back, and HEAD has it
    /// not: no commit of the user does.
    fn is_uncommitted(
        &self,
        repo: &Repo,
        stage: &StagingArea<'_>,
        path: &RepoPath,
    ) -> Result<bool> {
        let Some(undone) = self.undone.filter(|_| self.file.new.is_some()) else {
            return Ok(false);
        };
        if stage.target_state(self.file)? != TargetState::New {
            return Ok(false);
        }
        let in_head = repo.tracked(repo.head_tree()?, path)?;
        // The commit has the content without the user's lines, and in Git's form.
        Ok(in_head != self.file.new_file().map_or(Tracked::Nothing, Tracked::File)
            && in_head != repo.tracked(repo.tree_of(undone)?, path)?)
    }

    /// Whether no later commit of its branch has other content.
    fn is_in_its_tip(&self, repo: &Repo, path: &RepoPath) -> Result<bool> {
        self.lives_in.map_or(Ok(true), |name| is_in_tip(repo, name, self.recorded_by, path))
    }

    /// Whether one of the branches or HEAD, which may be detached, has the content: it is the branch
    /// itself, or the session was landed on it.
    fn is_in_any(&self, repo: &Repo, names: &[Option<String>], path: &RepoPath) -> Result<bool> {
        for name in names.iter().flatten() {
            if Some(name.as_str()) == self.lives_in
                || is_in_tip(repo, name, self.recorded_by, path)?
            {
                return Ok(true);
            }
        }
        let in_head = repo.tracked(repo.head_tree()?, path)?;
        // A session that is not switched to ends with the content of HEAD.
        let is_same = match (&in_head, &self.new) {
            (Tracked::File(file), Some((id, _))) => id.oid() == Some(file.oid),
            (Tracked::Nothing, None) => true,
            _ => false,
        };
        Ok(is_same || in_head == repo.tracked(repo.tree_of(self.recorded_by)?, path)?)
    }
}

/// What the recovery found in this worktree.
#[derive(Clone, Copy)]
struct Here<'r> {
    /// Its branches.
    named: &'r [Option<String>],
    /// Whether something may be lost.
    was_cut: bool,
}

/// Restores each path to its last recorded content if the present content is edt's. Reports the
/// paths that were restored and those that could not be.
fn restore_files(
    repo: &Repo,
    stage: &StagingArea<'_>,
    here: Here<'_>,
    committed: &[&Recorded],
    changes: &[Recorded],
    rolled_back: &[&Recorded],
) -> Result<RestoredFiles> {
    let mut all: Vec<(&Recorded, bool)> = committed.iter().map(|one| (*one, true)).collect();
    all.extend(rolled_back.iter().map(|one| (*one, false)));
    all.sort_by_key(|((.., number), _)| *number);
    // The last record of a path decides. A rolled back one requires the old content.
    let mut targets: BTreeMap<&[u8], Target<'_>> = BTreeMap::new();
    for ((record, branch, _), committed) in all {
        // A move of HEAD that was rolled back requires what the branch had that HEAD was to leave.
        let (name, recorded_by) = if committed {
            (&branch.name, Some(branch.new))
        } else {
            let left = branch.head_from.as_ref();
            (left.unwrap_or(&branch.name), commit_before(repo, record, branch)?)
        };
        // A torn ref must not block every later call.
        let lives_in = permanent_as_none(successor(repo, changes, name))?.flatten();
        let recorded_by = recorded_by.unwrap_or_else(|| repo.empty_tree());
        for file in &record.files {
            let old = || file.old.as_ref().map(|(id, executable, _)| (id.clone(), *executable));
            let new = if committed { file.new.clone() } else { old() };
            let changed_until =
                file.staged.map_or((record.time + MAX_SWAP_SECONDS, 0), |staged| staged.ctime);
            let undone = (!committed).then_some(branch.new);
            let target = Target { file, new, lives_in, recorded_by, undone, changed_until };
            targets.insert(&file.path, target);
        }
    }
    let (mut histories, mut restored): (HashMap<&[u8], PathHistory>, RestoredFiles) =
        Default::default();
    for (file, rolled_back) in
        files(changes.iter(), false).chain(files(rolled_back.iter().copied(), true))
    {
        histories.entry(&file.path).or_default().add(file, rolled_back);
        // A displaced file may be a user's only copy. Preserve it under a name of its own before
        // anything else is staged.
        restored.kept.extend(permanent_as_none(stage.preserve_foreign(file))?.flatten());
    }
    // Before any file is restored, because that changes the directories.
    let mut removed: HashSet<&[u8]> = HashSet::new();
    for (path, target) in &targets {
        if stage.stat(target.file).is_some() {
            continue;
        }
        // Half an exchange changed the directory itself.
        let was_exchanged = here.was_cut && target.is_lost_exchange();
        let (seconds, nanoseconds) = target.changed_until;
        let allowance = if was_exchanged || is_half_exchanged(stage, target.file) {
            MAX_SWAP_SECONDS
        } else {
            0
        };
        let until = (seconds + allowance, nanoseconds);
        if permanent_as_none(was_removed(repo, stage, target.file, until))? == Some(true) {
            removed.insert(path);
        }
    }
    let mut planned = Vec::new();
    for (path, target) in targets.iter().filter(|(path, _)| !removed.contains(*path)) {
        match permanent_as_none(to_restore(repo, stage, target, &histories[path], here))? {
            Some(plan) => planned.extend(plan),
            None => restored.left.push(RepoPath::from_tree(path)),
        }
    }
    // A staged file shows that nobody removed it, if this recovery is killed after it changed the
    // directory.
    for file in planned.iter().filter(|file| file.old.is_none()) {
        permanent_as_none(prepare(repo, stage, file))?;
    }
    for file in planned {
        let path = RepoPath::from_tree(&file.path);
        let ended = if file.new.is_none() { stage.end_rename(&file) } else { Ok(()) };
        match permanent_as_none(ended.and_then(|()| install(repo, stage, &file)))? {
            Some(()) => restored.files.push(path),
            None => restored.left.push(path),
        }
    }
    let is_finished = |(.., number): &Recorded| committed.iter().any(|(.., other)| other == number);
    let both = changes
        .iter()
        .map(|one| (one, is_finished(one)))
        .chain(rolled_back.iter().map(|one| (*one, false)));
    for ((record, branch, _), finished) in both {
        for file in &record.files {
            // Where nothing is staged, nothing is cleaned up, because an empty directory may be the
            // user's.
            if matches!(stage.staged(file), Ok(StagedState::Nothing)) {
                continue;
            }
            // The old file of a transaction that is not in its branch may be the user's only copy.
            let has_old = || {
                let before = commit_before(repo, record, branch).ok().flatten();
                let tree = before.and_then(|commit| repo.tree_of(commit).ok());
                tree.is_some_and(|tree| has_file(repo, tree, file, file.old_file()))
            };
            let discarded = if finished || has_old() {
                stage.discard_known(file)
            } else {
                stage.discard_new(file)
            };
            // A file that cannot be read must not block every later call.
            restored.kept.extend(discarded.ok().flatten());
        }
    }
    Ok(restored)
}

/// The files of `records`, each with whether its transaction was rolled back.
fn files<'r>(
    records: impl Iterator<Item = &'r Recorded>,
    rolled_back: bool,
) -> impl Iterator<Item = (&'r FileRecord, bool)> {
    records.flat_map(move |(record, ..)| record.files.iter().map(move |file| (file, rolled_back)))
}

#[derive(Default)]
struct RestoredFiles {
    files: Vec<RepoPath>,
    /// Paths that could not be read or written.
    left: Vec<RepoPath>,
    /// The names under which displaced files of a user were preserved.
    kept: Vec<PathBuf>,
}

/// The change that restores one path, if one of the branches `named` has its content: a user may be
/// on another branch by now. `None` if the path has it, or is not edt's.
fn to_restore(
    repo: &Repo,
    stage: &StagingArea<'_>,
    target: &Target<'_>,
    history: &PathHistory,
    Here { named, was_cut }: Here<'_>,
) -> Result<Option<FileRecord>> {
    let mut file = FileRecord { new: target.new.clone(), ..target.file.clone() };
    let path = RepoPath::from_tree(&file.path);
    let here = match repo.root().beneath(path.split().0) {
        Ok(Parent::Open(dir)) => {
            dir.stat(path.split().1).map_err(|error| failed("read", repo.root_path(), &error))?
        }
        Ok(Parent::Missing) => None,
        // A link, or a file in place of a directory, is a user's work.
        Ok(Parent::Symlink | Parent::NotADirectory) => return Ok(None),
        Err(error) => return Err(failed("read", repo.root_path(), &error).into()),
    };
    let is_edt_content = match &here {
        // btrfs may lose both names of an exchange, and so the file. What is lost on another file
        // system is no sign of a cut.
        None => {
            let came_back = target.file.new.is_none();
            history.nothing && (was_cut || file.beside || came_back)
                || was_cut && target.is_lost_exchange()
                || is_half_exchanged(stage, &file)
        }
        Some(here) => history.holds(repo, stage, &file, here),
    };
    let is_wanted = target.is_uncommitted(repo, stage, &path)?
        || target.is_in_any(repo, named, &path)? && target.is_in_its_tip(repo, &path)?;
    if !is_edt_content || !is_wanted || stage.target_state(&file)? == TargetState::New {
        return Ok(None);
    }
    file.old = match (here, stage.current(&file)?) {
        (Some(stat), Some(now)) => Some((now.oid.into(), now.mode.bits() & 0o100 != 0, stat)),
        _ => None,
    };
    Ok(Some(file))
}

/// Whether the branch has the same content for `path` as the commit `recorded_by`: no later commit
/// changed or deleted it.
fn is_in_tip(repo: &Repo, branch: &str, recorded_by: Oid, path: &RepoPath) -> Result<bool> {
    let Some(tip) = repo.ref_value(branch)? else { return Ok(false) };
    Ok(repo.tracked(repo.tree_of(tip)?, path)? == repo.tracked(repo.tree_of(recorded_by)?, path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::publish;
    use crate::tests::{MAIN, POINTER, Scratch};

    const TWO: &[(&str, Option<&str>)] = &[("a.txt", Some("two\n"))];

    /// Restarts the machine and recovers.
    fn restarted(scratch: &Scratch) -> Option<Recovered> {
        scratch.restart();
        crate::open_recovered(&scratch.repo(), POINTER).unwrap().1
    }

    /// A published change of `a.txt` to `two`.
    fn published(scratch: &Scratch) -> BranchUpdate {
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        let branch = change.branch.clone();
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        branch
    }

    #[test]
    fn a_recorded_change_is_finished_after_a_restart() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        scratch.interrupt(&repo, &change);
        assert_eq!(
            restarted(&scratch),
            Some(Recovered {
                action: "recovered",
                commit: Some(change.branch.new.to_string()),
                files: vec!["a.txt".to_owned()],
                left: vec![],
                detail:
                    "The machine was restarted before everything was on disk. The recorded edits \
                     were restored."
                        .to_owned(),
            })
        );
        assert_eq!(scratch.state(), scratch.after(&change, "two\n"));
    }

    #[test]
    fn a_change_that_is_complete_on_disk_is_no_news() {
        let scratch = Scratch::new();
        published(&scratch);
        assert_eq!(restarted(&scratch), None);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
    }

    #[test]
    fn a_rolled_back_change_is_not_finished_after_a_restart() {
        let scratch = Scratch::new();
        let (repo, before) = (scratch.repo(), scratch.state());
        scratch.interrupt(&repo, &scratch.change(&repo, TWO));
        drop(scratch.journal(&repo));
        assert_eq!(restarted(&scratch), None);
        assert_eq!(scratch.state(), before);
    }

    #[test]
    fn a_torn_file_is_restored() {
        let scratch = Scratch::new();
        let branch = published(&scratch);
        let full = scratch.root().join("a.txt");
        let written = full.metadata().unwrap().modified().unwrap();
        let file = std::fs::File::options().write(true).open(&full).unwrap();
        file.set_len(2).unwrap();
        file.set_modified(written).unwrap();
        let found = restarted(&scratch).unwrap();
        assert_eq!(
            (found.files, found.commit),
            (vec!["a.txt".to_owned()], Some(branch.new.to_string()))
        );
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
    }

    #[test]
    fn a_users_later_text_is_kept() {
        let scratch = Scratch::new();
        published(&scratch);
        scratch.write("a.txt", "mine\n");
        assert_eq!(restarted(&scratch), None);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("mine\n"));
    }

    #[test]
    fn a_file_that_the_user_deleted_stays_deleted() {
        let scratch = Scratch::new();
        published(&scratch);
        std::fs::remove_file(scratch.root().join("a.txt")).unwrap();
        assert_eq!(restarted(&scratch), None);
        assert_eq!(scratch.text("a.txt"), None);
    }

    #[test]
    fn a_new_file_that_is_missing_is_restored() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        publish(
            &repo,
            &mut scratch.journal(&repo),
            scratch.change(&repo, &[("b.txt", Some("b\n"))]),
        )
        .unwrap();
        std::fs::remove_file(scratch.root().join("b.txt")).unwrap();
        // The directory is as it was before the file was staged.
        let root = std::fs::File::open(scratch.root()).unwrap();
        root.set_modified(std::time::UNIX_EPOCH).unwrap();
        scratch.lose_header();
        assert_eq!(restarted(&scratch).unwrap().files, ["b.txt"]);
        assert_eq!(scratch.text("b.txt").as_deref(), Some("b\n"));
    }

    #[test]
    fn a_new_file_that_the_user_removed_stays_removed() {
        for path in ["b.txt", "new/deep/b.txt"] {
            let scratch = Scratch::new();
            let repo = scratch.repo();
            let change = scratch.change(&repo, &[(path, Some("b\n"))]);
            publish(&repo, &mut scratch.journal(&repo), change).unwrap();
            // More than the resolution of the time of a directory.
            std::thread::sleep(Duration::from_millis(20));
            std::fs::remove_file(scratch.root().join(path)).unwrap();
            let _ = std::fs::remove_dir_all(scratch.root().join("new"));
            assert_eq!(restarted(&scratch), None);
            assert_eq!(scratch.text(path), None);
        }
    }

    #[test]
    fn a_torn_branch_gets_its_last_value() {
        let scratch = Scratch::new();
        let branch = published(&scratch);
        scratch.write(".git/refs/heads/main", "");
        restarted(&scratch).unwrap();
        assert_eq!(scratch.repo().ref_value(MAIN), Ok(Some(branch.new)));
    }

    #[test]
    fn a_missing_object_is_written_again() {
        let scratch = Scratch::new();
        published(&scratch);
        let repo = scratch.repo();
        let blob = repo.blob_id(b"two\n").unwrap().to_string();
        let object = repo.objects_dir().join(&blob[..2]).join(&blob[2..]);
        std::fs::remove_file(&object).unwrap();
        restarted(&scratch);
        assert!(object.exists());
    }

    #[test]
    fn a_torn_last_line_of_a_log_is_repaired() {
        let scratch = Scratch::new();
        let branch = published(&scratch);
        let log = scratch.text(".git/logs/refs/heads/main").unwrap();
        scratch.write(".git/logs/refs/heads/main", &log[..log.len() - 5]);
        restarted(&scratch);
        let repaired = scratch.text(".git/logs/refs/heads/main").unwrap();
        let last = repaired.lines().last().unwrap();
        assert!(
            last.contains(&format!(" {} ", branch.new)) && last.ends_with("\tedt: change"),
            "{repaired}"
        );
    }

    #[test]
    fn an_old_index_that_was_written_again_after_the_restart_follows_the_branch() {
        let scratch = Scratch::new();
        let index = scratch.repo().index_path();
        let old = std::fs::read(&index).unwrap();
        let change = scratch.change(&scratch.repo(), TWO);
        published(&scratch);
        std::fs::write(index, old).unwrap();
        // The header of the journal is not synced: it does not know of the change.
        scratch.lose_header();
        restarted(&scratch);
        assert_eq!(scratch.state(), scratch.after(&change, "two\n"));
    }

    #[test]
    fn two_changes_of_one_file_leave_the_later_text() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        published(&scratch);
        let change = scratch.change(&repo, &[("a.txt", Some("three\n"))]);
        scratch.interrupt(&repo, &change);
        restarted(&scratch).unwrap();
        assert_eq!(scratch.state(), scratch.after(&change, "three\n"));
    }
}
