//! Recovery: finishes or rolls back the one transaction that a crash interrupted, in whatever boot.
//! Recovery itself may be killed at any point and run again.
//!
//! [`decision`] says which. Each file and each index entry is then in one of three states: as before
//! the transaction, as after it, or other. Other is the user's, and stays.

use super::decision::{self, Decision};
use super::entries::move_entries;
use super::files::{StagedState, StagingArea, TargetState, with_bits};
use super::journal::{Journal, Pending};
use super::pointers::{BranchUpdate, HeldPointers};
use super::record::{ChangeRecord, FileRecord, Id, Record};
use super::rollback::Rollback;
use super::{deletion, durable, index, lost, private};
use edt_git::reflog::ReflogWrite;
use edt_git::{FileId, InHead, Oid, RefSwap, Repo, Tracked};
use edt_io::disk::Perms;
use edt_io::{is_denied, permanent_as_none};
use edt_types::text::Shown as _;
use edt_types::{Recovered, RepoPath, Result};
use std::path::PathBuf;

/// Opens the journal and recovers what it has pending. `pointer`: see [`Journal::pointer`].
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `OBJECT_MISSING`: nothing is lost, and the next call tries
/// again.
pub fn open_recovered(repo: &Repo, pointer: &'static str) -> Result<(Journal, Option<Recovered>)> {
    let directory = repo.state_path();
    if !directory.is_dir() {
        edt_io::fs::make_dir(directory)
            .map_err(|error| edt_io::failed("make", directory, &error))?;
    }
    let is_new = repo.is_shared() && !directory.join("journal").exists();
    // What a call left without a journal is released before there is a new one: if this call is
    // killed, the next one finds none, too.
    let mut released = None;
    let (mut journal, pending) = Journal::open(directory, pointer, || {
        released = lost::release(repo)?;
        Ok(())
    })?;
    if is_new {
        repo.share(&directory.join("journal"))?;
    }
    let recovered = match pending {
        Pending::Nothing => None,
        Pending::Interrupted(record) => {
            let recovered = match &record {
                Record::Deletion(refs) => deletion::finish(repo, refs).map(|()| None),
                Record::ChangeSet(record) => recover(repo, &journal, record).map(Some),
            };
            let recovered = recovered?;
            journal.close()?;
            recovered
        }
        Pending::Missing => released,
        Pending::Torn => {
            let released = lost::release(repo)?;
            journal.close()?;
            released
        }
        Pending::Quarantined(path) => {
            let mut detail = format!(
                "The journal could not be read and was renamed to {}. No file was changed.",
                path.shown()
            );
            if let Some(released) = released {
                detail = format!("{detail} {}", released.detail);
            }
            Some(Recovered {
                action: "quarantined",
                commit: None,
                files: Vec::new(),
                skipped: Vec::new(),
                detail,
            })
        }
    };
    Ok((journal, recovered))
}

/// Finishes or rolls back the transaction of `record`.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `OBJECT_MISSING`: the next call tries again.
pub(super) fn recover(repo: &Repo, journal: &Journal, record: &ChangeRecord) -> Result<Recovered> {
    let Some(branch) = record.branch.branch() else { return Ok(unreadable()) };
    let decision = decision::of(repo, record, &branch)?;
    let follows = decision == Decision::Finish && follows_head(repo, record, &branch)?;
    let stage = StagingArea::open(repo)?;
    // In a copy without hard links a lock and the file that it was linked from are two files.
    if record.journal != journal.inode()? {
        index::relink(repo, &stage)?;
        locked_names(record, &branch).try_for_each(|name| repo.unlock_copied_ref(name))?;
    }
    let has_index = index::is_staged(repo, &stage)?;
    // The lock file has been complete since before the branch moved. If it were removed, a user
    // could commit the old index on top of the new commit.
    if follows {
        index::rename_own_in(repo, &stage)?;
    }
    index::unlock(repo)?;
    repo.unlock_packed_refs()?;
    locked_names(record, &branch).try_for_each(|name| repo.unlock_ref(name))?;
    let recovered = match decision {
        Decision::Finish => {
            let report = finish(repo, &stage, record, &branch, journal, follows)?;
            // Someone removed the lock. What is in an index that edt replaced is the user's.
            if has_index {
                move_entries(repo, &stage, record)?;
            }
            report
        }
        Decision::RollBack => roll_back(repo, &stage, record, &branch)?,
    };
    stage.sync_targets(&record.files)?;
    durable::sync_record(repo, record, journal.pointer())?;
    index::discard_staged(&stage);
    Ok(recovered)
}

/// The refs that a transaction may have locked.
fn locked_names<'r>(
    record: &'r ChangeRecord,
    branch: &'r BranchUpdate,
) -> impl Iterator<Item = &'r str> {
    let dropped = record.drop.iter().map(|(name, _)| name.as_str());
    let moved = record.replace.iter().map(|(name, ..)| name.as_str());
    // A rollback locks them to delete them.
    let created = record.create.iter().map(|(name, _)| name.as_str());
    [branch.name.as_str(), "HEAD"]
        .into_iter()
        .chain(branch.point.as_deref())
        .chain(dropped)
        .chain(moved)
        .chain(created)
}

/// Whether HEAD is where it must be after the transaction, or still where the transaction found it.
/// As Git, edt does not move HEAD to a branch that another worktree has checked out.
fn follows_head(repo: &Repo, record: &ChangeRecord, branch: &BranchUpdate) -> Result<bool> {
    let Some(left) = record.branch.left() else { return Ok(true) };
    let now = repo.head_target()?;
    let to = record.head_to.as_deref().unwrap_or(&branch.name);
    if now.as_deref() == Some(to) {
        return Ok(true);
    }
    let [_, last] = record.branch.last_moves();
    let tip = left.tip.as_ref().and_then(Id::oid);
    // The user may have taken the commit out of the branch again.
    let has_new = match repo.ref_value(&branch.name)? {
        Some(value) => value == branch.new || repo.is_ancestor(branch.new, value)?,
        None => false,
    };
    Ok(has_new
        && now.as_ref() == Some(&left.name)
        && repo.commit_at(&left.name)? == tip
        && !repo.is_checked_out_elsewhere(to)
        && repo.moves_since("HEAD", last, record.time).iter().all(|(line, text)| {
            line.by_edt || branch.is_own_checkout(line, text, record.head_to.as_deref())
        }))
}

/// Completes what follows the move of the branch. The files were exchanged before it: one that has
/// its old content was put back by the user. If HEAD does not follow, because the user moved it
/// meanwhile, a file gets its old content where HEAD has what it had before: the new content is in
/// the branch, and would be taken for the user's here.
fn finish(
    repo: &Repo,
    stage: &StagingArea<'_>,
    record: &ChangeRecord,
    branch: &BranchUpdate,
    journal: &Journal,
    follows: bool,
) -> Result<Recovered> {
    let (mut files, mut left, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let trees = if follows { None } else { Trees::of(repo, record, branch)? };
    for file in &record.files {
        let path = RepoPath::from_tree(&file.path);
        if trees.as_ref().is_some_and(|trees| trees.are_equal(repo, &path)) {
            let restored = restore_file(repo, stage, file, &mut kept)?;
            if restored { &mut files } else { &mut left }.push(path);
            continue;
        }
        // A failure that may be transient is left to the next call. Only a permanent failure must
        // not block the other files.
        let state = permanent_as_none(stage.target_state(file))?;
        let discarded = permanent_as_none(stage.discard_known(file))?;
        let is_done = state == Some(TargetState::New) && discarded.is_some();
        if is_done { &mut files } else { &mut left }.push(path);
        kept.extend(discarded.flatten());
    }
    follow_refs(repo, record, branch, journal.pointer(), follows)?;
    let mut report = report("finished", record, &files, &left);
    if !follows {
        report.detail = format!(
            "An interrupted transaction was already recorded in {}. HEAD was moved meanwhile and \
             stays; the files are as before the transaction.",
            branch.name
        );
    }
    Ok(add_kept(report, &kept))
}

/// Brings the symbolic refs, the logs and the refs that move with the branch to the state after the
/// transaction. `follows`: whether HEAD does ([`follows_head`]).
fn follow_refs(
    repo: &Repo,
    record: &ChangeRecord,
    branch: &BranchUpdate,
    pointer: &str,
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
    // After one of the user's lines it would say that the branch came back.
    if repo.ref_value(&branch.name)? == Some(branch.new) {
        match branch.write_logs(repo, &held, head_to, ReflogWrite::AppendIfMissing) {
            // A log that this user may not write must not block every later call.
            Err(error) if is_denied(&error) => {}
            logged => logged?,
        }
    }
    for (name, from, to) in &record.replace {
        if let (Some(from), Some(to)) = (from.oid(), to.oid())
            && repo.ref_value(name)? == Some(from)
        {
            repo.swap_ref(&RefSwap { name, from, to })?;
        }
    }
    drop_refs(repo, record, pointer)
}

/// Deletes the refs of `record` that still have their values.
fn drop_refs(repo: &Repo, record: &ChangeRecord, pointer: &str) -> Result<()> {
    // The values of the deleted refs must be reachable elsewhere first. Someone may have moved or
    // deleted the ref that was to hold one.
    let create = record.create.iter().map(|(name, to)| (name, to));
    let holders = create.chain(record.replace.iter().map(|(name, _, to)| (name, to)));
    for (name, to) in holders.filter(|_| !record.drop.is_empty()) {
        let Some(to) = to.oid() else { return Ok(()) };
        match repo.ref_value(name)? {
            None => repo.create_ref(name, to)?,
            Some(current) if repo.tree_of(to).is_err() || repo.is_ancestor(to, current)? => {}
            Some(_) => return Ok(()),
        }
    }
    for (name, id) in &record.drop {
        match (repo.ref_value(name)?, id.oid()) {
            (None, _) => repo.delete_symbolic_ref(pointer, name)?,
            (Some(current), Some(from)) if current == from && !repo.is_checked_out(name)? => {
                repo.delete_symbolic_ref(pointer, name)?;
                repo.delete_ref(name, from)?;
            }
            // Someone moved the ref since, or switched to it, and needs it.
            _ => {}
        }
    }
    Ok(())
}

/// Restores the old content of the files. A file whose new content the user has committed stays. The
/// refs never moved.
fn roll_back(
    repo: &Repo,
    stage: &StagingArea<'_>,
    record: &ChangeRecord,
    branch: &BranchUpdate,
) -> Result<Recovered> {
    let trees = Trees::of(repo, record, branch)?;
    let (mut files, mut left, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let mut were_committed = false;
    for file in record.files.iter().rev() {
        let path = RepoPath::from_tree(&file.path);
        if let Some(trees) = trees.as_ref().filter(|trees| trees.have_new(repo, file, &path)) {
            // The displaced file may be the user's only copy.
            let discarded = if has_file(repo, trees.before, file, file.old_file()) {
                stage.discard_known(file)
            } else {
                stage.discard_new(file)
            };
            kept.extend(permanent_as_none(discarded)?.flatten());
            left.push(path);
            were_committed = true;
            continue;
        }
        let untouched = matches!(stage.target_state(file), Ok(TargetState::Old(_)));
        match (untouched, restore_file(repo, stage, file, &mut kept)?) {
            (_, false) => left.push(path),
            (false, true) => files.push(path),
            (true, true) => {}
        }
    }
    for file in record.files.iter().filter(|file| file.old.is_none()) {
        repo.root().remove_empty_beneath(RepoPath::from_tree(&file.path).split().0);
    }
    // The branch may be another one of the user's by now, and its session needs the refs.
    let is_used = branch.old().is_none() && repo.ref_value(&branch.name)?.is_some();
    for (name, id) in record.create.iter().filter(|_| !is_used) {
        if let Some(to) = id.oid() {
            repo.drop_created_ref(name, to)?;
        }
    }
    // Only now: the old bytes of a file may be in it alone.
    for (session, name) in record.private.iter().filter(|_| !were_committed) {
        private::remove_record(repo, session, name);
    }
    Ok(add_kept(report("rolled_back", record, &files, &left), &kept))
}

/// Restores the old content of a file. Returns whether the file has it: one that cannot be restored
/// must not block the others, or every later call. A full or failing disk is different: it may be
/// repaired.
fn restore_file(
    repo: &Repo,
    stage: &StagingArea<'_>,
    file: &FileRecord,
    kept: &mut Vec<PathBuf>,
) -> Result<bool> {
    Ok(match permanent_as_none(stage.roll_back(file))? {
        Some(Rollback::Restored) => true,
        Some(Rollback::FromBlob) => {
            permanent_as_none(restore_from_blob(repo, stage, file))?.is_some()
        }
        Some(Rollback::Left(displaced)) => {
            kept.extend(displaced);
            false
        }
        None => false,
    })
}

/// The trees that show whether the user has committed what a transaction was to write.
struct Trees {
    head: Oid,
    /// That of HEAD before the transaction.
    head_before: Oid,
    /// That of the branch, or of what HEAD was to leave, before the transaction.
    before: Oid,
    after: Oid,
}

impl Trees {
    /// `None` if one of them cannot be read: the user may have pruned the commit.
    fn of(repo: &Repo, record: &ChangeRecord, branch: &BranchUpdate) -> Result<Option<Trees>> {
        let head = repo.head_tree()?;
        let tree = |id: Option<Oid>| id.and_then(|id| repo.tree_of(id).ok());
        let (before, after) = (tree(commit_before(record, branch)), tree(Some(branch.new)));
        let head_before = match &record.branch.head {
            Some(head) if branch.head == InHead::No => tree(head.tip.as_ref().and_then(Id::oid)),
            _ => before,
        };
        let trees = before.zip(after).zip(head_before);
        Ok(trees.map(|((before, after), head_before)| Trees { head, head_before, before, after }))
    }

    /// Whether HEAD has at `path` what it had before.
    fn are_equal(&self, repo: &Repo, path: &RepoPath) -> bool {
        let at = |tree: Oid| repo.tracked(tree, path).ok();
        at(self.head).is_some_and(|now| at(self.head_before) == Some(now))
    }

    /// Whether HEAD has the new content of `file`, and had not before.
    fn have_new(&self, repo: &Repo, file: &FileRecord, path: &RepoPath) -> bool {
        let at = |tree: Oid| repo.tracked(tree, path).ok();
        let Some((head, before)) = at(self.head).zip(at(self.head_before)) else { return false };
        // The commit has the content without the user's lines, and in Git's form.
        let is_new = match file.new_file() {
            Some(new) => head == Tracked::File(new) || at(self.after).as_ref() == Some(&head),
            None => head == Tracked::Nothing,
        };
        is_new && head != before
    }
}

/// The commit whose content the files had before the transaction: that of the branch, or of what
/// HEAD leaves. `None` if that is an unborn branch.
fn commit_before(record: &ChangeRecord, branch: &BranchUpdate) -> Option<Oid> {
    if let Some(left) = record.branch.left() {
        return left.tip.as_ref().and_then(Id::oid);
    }
    // The first commit of an unborn branch begins at itself.
    let is_first = branch.head == InHead::Yes && branch.old().is_none();
    (!is_first).then(|| branch.start())
}

/// Whether the tree has exactly `wanted` at the path of `file`.
fn has_file(repo: &Repo, tree: Oid, file: &FileRecord, wanted: Option<FileId>) -> bool {
    let found = repo.tracked(tree, &RepoPath::from_tree(&file.path));
    found.is_ok_and(|found| found == wanted.map_or(Tracked::Nothing, Tracked::File))
}

/// Restores the old bytes from their blob, where the file system cannot exchange files. The displaced
/// file is no longer staged.
fn restore_from_blob(repo: &Repo, stage: &StagingArea<'_>, file: &FileRecord) -> Result<()> {
    let (Some((id, executable)), Some((_, _, before)), Some(old), Some(stat)) =
        (&file.new, &file.old, file.old_file(), stage.stat(file))
    else {
        return Ok(());
    };
    let reverse = FileRecord {
        old: Some((id.clone(), *executable, stat)),
        new: file.old.as_ref().map(|(id, executable, _)| (id.clone(), *executable)),
        ..file.clone()
    };
    if stage.staged(&reverse)? != StagedState::New {
        let bytes = private::bytes(repo, old.oid)?;
        let perms = Perms::Of(with_bits(*before, before.mode), before.executable());
        stage.restage(&reverse, &bytes, perms)?;
    }
    stage.swap(&reverse)
}

/// A record without a commit was not written by this version of edt.
fn unreadable() -> Recovered {
    Recovered {
        action: "skipped",
        commit: None,
        files: Vec::new(),
        skipped: Vec::new(),
        detail: "The journal's last record could not be read. No file was changed.".to_owned(),
    }
}

/// Adds to a report where displaced files of the user are kept.
fn add_kept(mut report: Recovered, kept: &[PathBuf]) -> Recovered {
    if !kept.is_empty() {
        let names: Vec<String> = kept.iter().map(|path| path.shown()).collect();
        report.detail.push_str(&format!(
            " Displaced files that are not edt's are kept: {}.",
            names.join(", ")
        ));
    }
    report
}

fn report(
    action: &'static str,
    record: &ChangeRecord,
    files: &[RepoPath],
    left: &[RepoPath],
) -> Recovered {
    let mut detail = match action {
        "finished" => "An interrupted transaction was already recorded. It was finished.",
        _ => "An interrupted transaction was not recorded. It was rolled back.",
    }
    .to_owned();
    if !left.is_empty() {
        detail.push_str(
            " Files with neither the old nor the new content are someone else's work and were not \
             changed.",
        );
    }
    let names = |paths: &[RepoPath]| paths.iter().map(RepoPath::text).collect();
    let commit = record.branch.new.oid().map(|oid: Oid| oid.to_string());
    Recovered { action, commit, files: names(files), skipped: names(left), detail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::publish;
    use crate::tests::{MAIN, POINTER, Scratch, State};
    use edt_git::index::IndexState;
    use edt_git::reflog::Reflogs;
    use edt_git::{FileId, FileMode};
    use edt_io::effect::{FaultPlan, InjectedFault, with_plan};

    const TWO: &[(&str, Option<&str>)] = &[("a.txt", Some("two\n"))];
    const ROLLED_BACK: &str = "An interrupted transaction was not recorded. It was rolled back.";
    const FINISHED: &str = "An interrupted transaction was already recorded. It was finished.";
    const LEFT: &str = " Files with neither the old nor the new content are someone else's work and were \
                    not changed.";

    fn recovered(scratch: &Scratch) -> Option<Recovered> {
        open_recovered(&scratch.repo(), POINTER).unwrap().1
    }

    fn expected(
        action: &'static str,
        commit: edt_git::Oid,
        files: &[&str],
        left: &[&str],
        detail: &str,
    ) -> Option<Recovered> {
        let names = |paths: &[&str]| paths.iter().map(ToString::to_string).collect();
        Some(Recovered {
            action,
            commit: Some(commit.to_string()),
            files: names(files),
            skipped: names(left),
            detail: detail.to_owned(),
        })
    }

    /// Moves `main` to the commit of the change.
    fn commit(repo: &Repo, branch: &BranchUpdate) {
        let swap = RefSwap { name: MAIN, from: branch.start(), to: branch.new };
        repo.swap_ref(&swap).unwrap();
    }

    #[test]
    fn a_fresh_journal_has_nothing_to_recover() {
        assert_eq!(recovered(&Scratch::new()), None);
    }

    #[test]
    fn a_change_that_only_was_recorded_is_rolled_back() {
        let scratch = Scratch::new();
        let (repo, before) = (scratch.repo(), scratch.state());
        let change = scratch.change(&repo, TWO);
        scratch.interrupt(&repo, &change);
        assert_eq!(
            recovered(&scratch),
            expected("rolled_back", change.branch.new, &[], &[], ROLLED_BACK)
        );
        assert_eq!(scratch.state(), before);
    }

    #[test]
    fn a_file_that_was_exchanged_before_the_branch_moved_is_restored() {
        let scratch = Scratch::new();
        let (repo, before) = (scratch.repo(), scratch.state());
        let change = scratch.change(&repo, TWO);
        let files = scratch.interrupt(&repo, &change);
        StagingArea::open(&repo).unwrap().swap(&files[0]).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        assert_eq!(
            recovered(&scratch),
            expected("rolled_back", change.branch.new, &["a.txt"], &[], ROLLED_BACK)
        );
        assert_eq!(scratch.state(), before);
    }

    #[test]
    fn a_new_file_is_removed_with_its_directories_by_a_rollback() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, &[("x/b.txt", Some("b\n"))]);
        let files = scratch.interrupt(&repo, &change);
        StagingArea::open(&repo).unwrap().swap(&files[0]).unwrap();
        recovered(&scratch);
        assert!(!scratch.root().join("x").exists());
    }

    #[test]
    fn a_removed_file_is_restored_by_a_rollback() {
        let scratch = Scratch::new();
        let (repo, before) = (scratch.repo(), scratch.state());
        let change = scratch.change(&repo, &[("a.txt", None)]);
        let files = scratch.interrupt(&repo, &change);
        StagingArea::open(&repo).unwrap().swap(&files[0]).unwrap();
        assert_eq!(scratch.text("a.txt"), None);
        recovered(&scratch);
        assert_eq!(scratch.state(), before);
    }

    #[test]
    fn a_change_whose_branch_has_moved_is_finished() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        let files = scratch.interrupt(&repo, &change);
        StagingArea::open(&repo).unwrap().swap(&files[0]).unwrap();
        commit(&repo, &change.branch);
        assert_eq!(
            recovered(&scratch),
            expected("finished", change.branch.new, &["a.txt"], &[], FINISHED)
        );
        assert_eq!(scratch.state(), scratch.after(&change, "two\n"));
    }

    #[test]
    fn a_finished_change_is_logged_once() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        scratch.interrupt(&repo, &change);
        commit(&repo, &change.branch);
        recovered(&scratch);
        let log = scratch.text(".git/logs/refs/heads/main").unwrap();
        assert_eq!(log.matches("edt: change").count(), 1, "{log}");
    }

    #[test]
    fn a_users_text_is_left_by_a_rollback() {
        let scratch = Scratch::new();
        let (repo, before) = (scratch.repo(), scratch.state());
        let change = scratch.change(&repo, TWO);
        scratch.interrupt(&repo, &change);
        scratch.write("a.txt", "mine\n");
        assert_eq!(
            recovered(&scratch),
            expected(
                "rolled_back",
                change.branch.new,
                &[],
                &["a.txt"],
                &format!("{ROLLED_BACK}{LEFT}")
            )
        );
        assert_eq!(scratch.state(), State { text: Some("mine\n".to_owned()), ..before });
    }

    #[test]
    fn a_users_text_is_left_by_a_finished_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        scratch.interrupt(&repo, &change);
        commit(&repo, &change.branch);
        scratch.write("a.txt", "mine\n");
        assert_eq!(
            recovered(&scratch),
            expected("finished", change.branch.new, &[], &["a.txt"], &format!("{FINISHED}{LEFT}"))
        );
        assert_eq!(scratch.text("a.txt").as_deref(), Some("mine\n"));
    }

    #[test]
    fn refs_that_a_rolled_back_change_created_are_deleted() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut change = scratch.change(&repo, TWO);
        let pin = ("refs/edt/created".to_owned(), change.branch.start());
        change.create = vec![pin.clone()];
        scratch.interrupt(&repo, &change);
        repo.create_ref(&pin.0, pin.1).unwrap();
        recovered(&scratch);
        assert_eq!(repo.ref_value(&pin.0), Ok(None));
    }

    #[test]
    fn a_ref_that_a_finished_change_deletes_is_deleted() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut change = scratch.change(&repo, TWO);
        let dropped = ("refs/edt/dropped".to_owned(), change.branch.start());
        repo.create_ref(&dropped.0, dropped.1).unwrap();
        change.drop = vec![dropped.clone()];
        scratch.interrupt(&repo, &change);
        commit(&repo, &change.branch);
        recovered(&scratch);
        assert_eq!(repo.ref_value(&dropped.0), Ok(None));
    }

    #[test]
    fn recovery_is_done_once() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        scratch.interrupt(&repo, &scratch.change(&repo, TWO));
        assert!(recovered(&scratch).is_some());
        assert_eq!(recovered(&scratch), None);
    }

    #[test]
    fn the_next_change_follows_a_rollback() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        scratch.interrupt(&repo, &scratch.change(&repo, TWO));
        let mut journal = scratch.journal(&repo);
        let change = scratch.change(&repo, &[("a.txt", Some("three\n"))]);
        let after = scratch.after(&change, "three\n");
        publish(&repo, &mut journal, change).unwrap();
        assert_eq!(scratch.state(), after);
    }

    #[test]
    fn a_journal_that_cannot_be_read_is_renamed() {
        let scratch = Scratch::new();
        let state = scratch.repo().state_path().to_owned();
        std::fs::write(state.join("journal"), "something else").unwrap();
        let kept = state.join("journal.damaged-1");
        assert_eq!(
            recovered(&scratch),
            Some(Recovered {
                action: "quarantined",
                commit: None,
                files: vec![],
                skipped: vec![],
                detail: format!(
                    "The journal could not be read and was renamed to {}. No file was changed.",
                    kept.display()
                ),
            })
        );
        assert!(kept.exists());
    }

    /// What is at a place: as before the transaction, as after it, or the user's.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Seen {
        Old,
        New,
        Other,
    }

    /// The table of recovery: each state of the branch, the file and the index entry, and what it
    /// becomes. A file of a rolled back transaction becomes old, and nothing else changes what is
    /// other.
    #[test]
    fn each_place_is_recovered_alone() {
        use Seen::{New, Old, Other};
        let states = [Old, New, Other];
        for (branch, file, entry) in states
            .into_iter()
            .flat_map(|branch| states.map(|file| (branch, file)))
            .flat_map(|(branch, file)| states.map(|entry| (branch, file, entry)))
        {
            let scratch = Scratch::new();
            let repo = scratch.repo();
            let other = scratch.user_commit(&repo);
            let change = scratch.change(&repo, TWO);
            let files = scratch.interrupt(&repo, &change);
            let stage = StagingArea::open(&repo).unwrap();
            match file {
                Old => {}
                New => stage.swap(&files[0]).unwrap(),
                Other => scratch.write("a.txt", "mine\n"),
            }
            match branch {
                Old => {}
                New => commit(&repo, &change.branch),
                Other => {
                    let swap = RefSwap { name: MAIN, from: change.branch.start(), to: other };
                    repo.swap_ref(&swap).unwrap();
                }
            }
            let id = |text: &str| repo.blob_id(text.as_bytes()).unwrap();
            match entry {
                Old => {}
                New => scratch.stage(&repo, id("two\n")),
                Other => scratch.stage(&repo, id("staged\n")),
            }
            recovered(&scratch);
            let after = scratch.state();
            let text = match (branch, file) {
                (_, Other) => "mine\n",
                (New, New) => "two\n",
                (New | Other | Old, Old) | (Other | Old, New) => "one\n",
            };
            let staged = match (branch, entry) {
                (_, Other) => "staged\n",
                (New, Old) | (_, New) => "two\n",
                (Old | Other, Old) => "one\n",
            };
            let head = match branch {
                Old => change.branch.start(),
                New => change.branch.new,
                Other => other,
            };
            let expected = State {
                head,
                staged: IndexState::File(FileId { oid: id(staged), mode: FileMode::Plain }),
                text: Some(text.to_owned()),
            };
            assert_eq!(after, expected, "branch {branch:?}, file {file:?}, entry {entry:?}");
            assert_eq!(recovered(&scratch), None);
        }
    }

    /// The user amended the new commit before the next call: its content is in HEAD.
    #[test]
    fn a_file_that_the_user_committed_stays_although_nothing_shows_the_decision() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        let files = scratch.interrupt(&repo, &change);
        StagingArea::open(&repo).unwrap().swap(&files[0]).unwrap();
        let amended = scratch.commit_of(&repo, &[("a.txt", "two\n"), ("mine.txt", "mine\n")]);
        let swap = RefSwap { name: MAIN, from: change.branch.start(), to: amended };
        repo.swap_ref(&swap).unwrap();
        recovered(&scratch);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        assert_eq!(scratch.state().head, amended);
    }

    /// The user moved the branch back before the next call: the log shows that it had moved.
    #[test]
    fn a_branch_that_the_user_moved_back_after_the_decision_stays_there() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        let files = scratch.interrupt(&repo, &change);
        StagingArea::open(&repo).unwrap().swap(&files[0]).unwrap();
        commit(&repo, &change.branch);
        let branch = &change.branch;
        let held = HeldPointers::default();
        branch.write_logs(&repo, &held, None, ReflogWrite::Append).unwrap();
        let (from, to) = (branch.new, branch.start());
        repo.swap_ref(&RefSwap { name: MAIN, from, to }).unwrap();
        let line = (from, to, "reset: moving to HEAD~1");
        repo.log_ref(&Reflogs::default(), MAIN, &[line], ReflogWrite::Append).unwrap();
        // As after `git reset --soft`.
        assert_eq!(recovered(&scratch).unwrap().action, "finished");
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        assert_eq!(scratch.state().head, branch.start());
    }

    #[test]
    fn a_change_that_moves_no_ref_is_rolled_back() {
        let scratch = Scratch::new();
        let (repo, before) = (scratch.repo(), scratch.state());
        let mut change = scratch.change(&repo, TWO);
        change.branch.new = change.branch.start();
        let files = scratch.interrupt(&repo, &change);
        StagingArea::open(&repo).unwrap().swap(&files[0]).unwrap();
        assert_eq!(recovered(&scratch).unwrap().action, "rolled_back");
        assert_eq!(scratch.state(), before);
    }

    #[test]
    fn a_record_before_which_nothing_was_staged_changes_nothing() {
        for files in [TWO, &[("new.txt", Some("new\n"))], &[("a.txt", None)]] {
            let scratch = Scratch::new();
            let (repo, before) = (scratch.repo(), scratch.state());
            for file in scratch.interrupt(&repo, &scratch.change(&repo, files)) {
                StagingArea::open(&repo).unwrap().discard(&file);
            }
            assert_eq!(recovered(&scratch).unwrap().action, "rolled_back");
            assert_eq!(scratch.state(), before, "{files:?}");
            assert_eq!(scratch.text("new.txt"), None);
        }
    }

    /// Calls edt again and again, each time killed one effect later, until a call ends.
    fn recovered_by_killed_calls(scratch: &Scratch, at: usize) -> bool {
        let plan = FaultPlan { at, fault: InjectedFault::Crash, torn: false };
        let repo = scratch.repo();
        let (_, effects) = with_plan(plan, || open_recovered(&repo, POINTER).map(drop));
        recovered(scratch);
        effects.len() < at
    }

    /// The user removed `index.lock`: the entry alone says that the index must follow.
    #[test]
    fn the_index_follows_although_the_recovery_was_killed_after_the_user_removed_its_lock() {
        for at in 1.. {
            let scratch = Scratch::new();
            let repo = scratch.repo();
            let change = scratch.change(&repo, TWO);
            let files = scratch.interrupt(&repo, &change);
            StagingArea::open(&repo).unwrap().swap(&files[0]).unwrap();
            commit(&repo, &change.branch);
            let is_over = recovered_by_killed_calls(&scratch, at);
            assert_eq!(scratch.state(), scratch.after(&change, "two\n"), "{at}");
            assert!(!repo.state_path().join("stage/index").exists(), "{at}");
            if is_over {
                assert!(at > 8, "{at}");
                return;
            }
        }
    }

    #[test]
    fn a_call_that_was_killed_when_it_found_no_journal_leaves_no_lock() {
        for (text, at) in
            [None, Some("other")].iter().flat_map(|text| (1..8).map(move |at| (text, at)))
        {
            let scratch = Scratch::new();
            let repo = scratch.repo();
            scratch.interrupt(&repo, &scratch.change(&repo, TWO));
            let (state, lock) = (repo.state_path(), repo.git_dir().join("index.lock"));
            std::fs::hard_link(state.join("stage/index"), &lock).unwrap();
            match text {
                None => std::fs::remove_file(state.join("journal")).unwrap(),
                Some(text) => std::fs::write(state.join("journal"), text).unwrap(),
            }
            recovered_by_killed_calls(&scratch, at);
            assert!(!lock.exists(), "{text:?} {at}");
        }
    }

    #[test]
    fn a_ref_that_git_packed_is_deleted_by_a_rollback() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut change = scratch.change(&repo, TWO);
        let pin = ("refs/edt/created".to_owned(), change.branch.start());
        change.create = vec![pin.clone()];
        scratch.interrupt(&repo, &change);
        let packed =
            format!("# pack-refs with: peeled fully-peeled sorted \n{} {}\n", pin.1, pin.0);
        std::fs::write(repo.git_dir().join("packed-refs"), packed).unwrap();
        recovered(&scratch);
        assert_eq!(scratch.repo().ref_value(&pin.0), Ok(None));
    }
}
