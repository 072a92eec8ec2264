//! Recovery: finishes or rolls back the transaction that a crash interrupted. Recovery itself may
//! be killed at any point and run again.
//!
//! In one boot there is at most one open transaction, and its branch decides: if the branch has the
//! new commit or a descendant of it, the transaction is finished, otherwise rolled back.
//! [`restart`] recovers from a restart of the machine.

use super::files::{StagingArea, TargetState};
use super::index;
use super::log::{Journal, Pending};
use super::pointers::{BranchOrigin, BranchUpdate};
use super::record::{ChangeRecord, FileRecord, Id, Record};
use super::recovery_steps::{
    add_kept, commit_before, follow_refs, follows_head, has_file, install, is_in_head,
    is_new_in_head, report, was_amended, was_in_head, was_left,
};
use super::rollback::Rollback;
use super::{beside, lost, open_mark, private, restart, restart_index};
use edt_git::objects::ObjectCheck;
use edt_git::{InHead, Oid, Repo, Tracked, objects};
use edt_io::permanent_as_none;
use edt_io::signals::HeldSignals;
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Recovered, RepoPath, Result};
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
    let (mut journal, pending) = Journal::open(directory, repo.root_path(), pointer)?;
    if is_new {
        repo.share(&directory.join("journal"))?;
    }
    beside::remove(repo, &pending);
    let recovered = match pending {
        Pending::Nothing => None,
        Pending::Interrupted(_, Record::RolledBack(_)) => {
            journal.close()?;
            None
        }
        Pending::Interrupted(_, Record::Deletion(refs)) => {
            finish_deletion(repo, &refs)?;
            journal.close()?;
            None
        }
        Pending::Interrupted(number, Record::ChangeSet(record)) => {
            Some(recover_one(repo, &mut journal, number, &record)?)
        }
        Pending::AfterRestart(records, closed) => {
            restart::recover_all(repo, &mut journal, &records, closed)?
        }
        Pending::Missing => lost::release(repo)?,
        Pending::Torn => {
            let released = lost::release(repo)?;
            journal.remove_next()?;
            released
        }
        Pending::Quarantined(path) => {
            let mut detail = format!(
                "The journal could not be read and was renamed to {}. No file was changed.",
                path.shown()
            );
            if let Some(released) = lost::release(repo)? {
                detail = format!("{detail} {}", released.detail);
            }
            Some(Recovered {
                action: "quarantined",
                commit: None,
                files: Vec::new(),
                left: Vec::new(),
                detail,
            })
        }
    };
    Ok((journal, recovered))
}

fn recover_one(
    repo: &Repo,
    journal: &mut Journal,
    number: u64,
    record: &ChangeRecord,
) -> Result<Recovered> {
    let Some(branch) = record.branch.branch() else { return Ok(unreadable()) };
    let mut is_elsewhere = false;
    let committed = match (repo.ref_value(&branch.name)?, branch.from) {
        (value, _) if branch.stays() => {
            let moved = value.is_some() && is_in_head(repo, record, &branch)?;
            is_elsewhere = !moved && repo.head_target()? != branch.head_from;
            moved
        }
        // The user may have renamed the branch since.
        (None, BranchOrigin::Created(_)) => is_new_in_head(repo, &branch)?,
        (None, _) => false,
        (Some(current), _) if current == branch.new => true,
        // The user may have amended or removed the first commit since.
        (Some(_), BranchOrigin::Created(_))
            if is_in_head(repo, record, &branch)?
                || branch.head_from.is_some()
                    && was_in_head(repo, record, &branch)? == Some(true) =>
        {
            true
        }
        // An undo moves back. A branch that still contains the undone commit has not moved.
        (Some(current), BranchOrigin::Rewound(old)) => {
            !repo.is_ancestor(old, current)?
                && repo.is_ancestor(branch.new, current)?
                && !was_amended(repo, &branch, old)
        }
        (Some(current), _) => {
            repo.is_ancestor(branch.new, current)? || was_left(repo, record, &branch)?
        }
    };
    let follows = follows_head(repo, record, &branch, journal, false)?;
    let stage = StagingArea::open(repo)?;
    // In a copy without hard links a lock and the file that it was linked from are two files.
    if record.journal != journal.inode()? {
        index::relink(repo, &stage)?;
        locked_names(record, &branch).try_for_each(|name| repo.unlock_copied_ref(name))?;
    }
    if is_elsewhere || committed && !follows {
        index::release(repo, &stage)?;
    } else if committed && branch.old() != Some(branch.new) {
        index::rename_own_in(repo, &stage)?;
    }
    unlock(repo, &stage, record, &branch)?;
    let recovered = if is_elsewhere {
        leave(repo, record)?
    } else if committed {
        finish(repo, record, &branch, journal, follows)?
    } else {
        // First: a restart of the machine may come in between. In this boot the header still names
        // the transaction, so that the next call ends the rollback.
        journal.append(&Record::RolledBack(number))?;
        roll_back(repo, record, &branch)?
    };
    open_mark::remove(&stage, branch.new);
    if committed {
        // A rollback that was killed may be recorded behind it.
        journal.remove_next()?;
    }
    // After a restart nothing may be done for a transaction that was left as it was.
    let lasting = committed && (branch.must_be_synced() || !record.drop.is_empty());
    journal.finish(is_elsewhere || lasting)?;
    Ok(recovered)
}

/// Deletes refs outside of a transaction: if each has its value or does not exist, all or none.
///
/// # Errors
/// As [`Repo::delete_refs`].
pub fn delete_refs(repo: &Repo, journal: &mut Journal, refs: &[(String, Oid)]) -> Result<()> {
    if refs.is_empty() {
        return Ok(());
    }
    journal.check_closed()?;
    let _signals = HeldSignals::hold();
    let recorded = refs.iter().map(|(name, from)| (name.clone(), Id::from(*from)));
    journal.append(&Record::Deletion(recorded.collect()))?;
    match repo.delete_refs(refs) {
        // Some refs may be deleted, and a lock may be left: the next call finishes it.
        Err(error) if !error.any(is_refused) => Err(error),
        deleted => {
            journal.close()?;
            deleted
        }
    }
}

/// Whether nothing was deleted, because a ref has another value or a lock is held.
fn is_refused(finding: &Finding) -> bool {
    matches!(finding.code, Code::SessionMoved | Code::SessionBusy)
}

/// Removes the locks of an interrupted deletion, and deletes the refs that still have their values.
pub(super) fn finish_deletion(repo: &Repo, refs: &[(String, Id)]) -> Result<()> {
    repo.unlock_packed_refs()?;
    refs.iter().try_for_each(|(name, _)| repo.unlock_ref(name))?;
    let mut left = Vec::new();
    // A session needs all of its refs.
    let mut used: Vec<String> = Vec::new();
    for (name, _) in refs {
        if let Some(session) = name.strip_prefix("refs/heads/edt/")
            && repo.is_checked_out(name)?
        {
            used.extend([name.clone(), format!("refs/edt/{session}/")]);
        }
    }
    let is_used = |name: &str| {
        used.iter().any(|used| name == used || used.ends_with('/') && name.starts_with(used))
    };
    for (name, from) in refs.iter().filter(|(name, _)| !is_used(name)) {
        if let Some(from) = from.oid()
            && repo.ref_value(name)? == Some(from)
        {
            left.push((name.clone(), from));
        }
    }
    repo.delete_refs(&left)
}

/// Removes the lock files that edt created in Git's directory to move `branch`, and no others.
fn unlock(
    repo: &Repo,
    stage: &StagingArea<'_>,
    record: &ChangeRecord,
    branch: &BranchUpdate,
) -> Result<()> {
    index::unlock(repo, stage)?;
    repo.unlock_packed_refs()?;
    locked_names(record, branch).try_for_each(|name| repo.unlock_ref(name))
}

/// The refs that a transaction may have locked.
fn locked_names<'r>(
    record: &'r ChangeRecord,
    branch: &'r BranchUpdate,
) -> impl Iterator<Item = &'r str> {
    let dropped = record.drop.iter().map(|(name, _)| name.as_str());
    let moved = record.replace.iter().map(|(name, ..)| name.as_str());
    [branch.name.as_str(), "HEAD"]
        .into_iter()
        .chain(branch.point.as_deref())
        .chain(dropped)
        .chain(moved)
}

/// Completes everything that `record` describes. If HEAD does not follow, because the user moved it
/// meanwhile, a file gets its old content where HEAD has what it had before: the new content is in
/// the branch, and would be taken for the user's here.
fn finish(
    repo: &Repo,
    record: &ChangeRecord,
    branch: &BranchUpdate,
    journal: &Journal,
    follows: bool,
) -> Result<Recovered> {
    objects::write_missing(repo, &record.loose(), ObjectCheck::Bytes)?;
    record.private.iter().try_for_each(|record| private::recover(repo, record))?;
    // If the branch does not move, the transaction counts as committed from the start. Its refs may
    // still be missing.
    for (name, id) in &record.create {
        if let Some(to) = id.oid()
            && repo.ref_value(name)?.is_none()
        {
            repo.create_ref(name, to)?;
        }
    }
    let stage = StagingArea::open(repo)?;
    // Otherwise all files were exchanged before the commit point: one that has its old content was
    // put back by the user.
    let commits_later = branch.old() == Some(branch.new) && !branch.stays();
    let (mut files, mut left, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let trees = if follows { None } else { Trees::of(repo, record, branch)? };
    for file in &record.files {
        let path = RepoPath::from_tree(&file.path);
        if trees.as_ref().is_some_and(|trees| trees.are_equal(repo, &path)) {
            let restored = put_back(repo, &stage, file, &mut kept)?;
            if restored { &mut files } else { &mut left }.push(path);
            continue;
        }
        // A failure that may be transient is left to the next call. Only a permanent failure must
        // not block the other files.
        let done = match permanent_as_none(stage.target_state(file))? {
            Some(TargetState::New) => true,
            Some(TargetState::Old(_)) if commits_later => {
                permanent_as_none(install(repo, &stage, file))?.is_some()
            }
            Some(TargetState::Old(_) | TargetState::Other) | None => false,
        };
        let discarded = permanent_as_none(stage.discard_known(file))?;
        if done && discarded.is_some() {
            files.push(path);
        } else {
            left.push(path);
        }
        kept.extend(discarded.flatten());
    }
    follow_refs(repo, record, branch, journal, follows)?;
    restart_index::move_entries(repo, &StagingArea::open(repo)?, &[record], &[record], None)?;
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

/// Ends a move of HEAD after which the user went elsewhere: how far it got is not known, and the
/// files are on the user's branch by now. No file and no ref is changed: a ref that was created may
/// keep the user's lines. Entries of the index follow if HEAD's tree has them.
fn leave(repo: &Repo, record: &ChangeRecord) -> Result<Recovered> {
    let stage = StagingArea::open(repo)?;
    let (mut left, mut kept) = (Vec::new(), Vec::new());
    for file in &record.files {
        let discarded = permanent_as_none(stage.discard_known(file))?;
        if discarded.is_none() || !matches!(stage.target_state(file), Ok(TargetState::Old(_))) {
            left.push(RepoPath::from_tree(&file.path));
        }
        kept.extend(discarded.flatten());
    }
    restart_index::move_entries(repo, &StagingArea::open(repo)?, &[record], &[record], None)?;
    let detail = "An interrupted call was to move HEAD, which is elsewhere now. Files and refs stay \
                  as they are.";
    let report =
        Recovered { detail: detail.to_owned(), ..report("rolled_back", record, &[], &left) };
    Ok(add_kept(report, &kept))
}

/// Restores the old content of the files. A file whose new content the user has committed stays. The
/// refs never moved.
fn roll_back(repo: &Repo, record: &ChangeRecord, branch: &BranchUpdate) -> Result<Recovered> {
    let stage = StagingArea::open(repo)?;
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
        match (untouched, put_back(repo, &stage, file, &mut kept)?) {
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
    if were_committed {
        restart_index::move_entries(repo, &stage, &[record], &[record], None)?;
    }
    // Only now: the old bytes of a file may be in it alone.
    if !were_committed {
        record.private.iter().for_each(|record| private::remove(repo, record));
    }
    Ok(add_kept(report("rolled_back", record, &files, &left), &kept))
}

/// Restores the old content of a file. Returns whether the file has it: one that cannot be restored
/// must not block the others, or every later call. A full or failing disk is different: it may be
/// repaired.
fn put_back(
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
        let (before, after) = (tree(commit_before(repo, record, branch)?), tree(Some(branch.new)));
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

/// Restores the old bytes from their blob. The displaced file is no longer staged.
fn restore_from_blob(repo: &Repo, stage: &StagingArea<'_>, file: &FileRecord) -> Result<()> {
    let mut reverse = file.clone();
    reverse.old = match (&file.new, stage.stat(file)) {
        (Some((id, executable)), Some(stat)) => Some((id.clone(), *executable, stat)),
        _ => None,
    };
    reverse.new = file.old.as_ref().map(|(id, executable, _)| (id.clone(), *executable));
    install(repo, stage, &reverse)
}

/// A record without a commit was not written by this version of edt.
fn unreadable() -> Recovered {
    Recovered {
        action: "left",
        commit: None,
        files: Vec::new(),
        left: Vec::new(),
        detail: "The journal's last record could not be read. No file was changed.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::publish;
    use crate::tests::{MAIN, POINTER, Scratch, State};
    use edt_git::RefSwap;

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
            left: names(left),
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
    fn a_file_is_installed_only_if_it_is_exchanged_after_the_commit_point() {
        for moves in [false, true] {
            let scratch = Scratch::new();
            let repo = scratch.repo();
            let mut change = scratch.change(&repo, TWO);
            if !moves {
                change.branch.new = change.branch.start();
            }
            scratch.interrupt(&repo, &change);
            if moves {
                commit(&repo, &change.branch);
            }
            recovered(&scratch);
            let text = if moves { "one\n" } else { "two\n" };
            assert_eq!(scratch.text("a.txt").as_deref(), Some(text));
        }
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
    fn objects_that_are_missing_are_written_from_the_journal() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        scratch.interrupt(&repo, &change);
        let blob = repo.blob_id(b"two\n").unwrap().to_string();
        let object = repo.objects_dir().join(&blob[..2]).join(&blob[2..]);
        std::fs::remove_file(&object).unwrap();
        commit(&repo, &change.branch);
        recovered(&scratch);
        assert!(object.exists());
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
                left: vec![],
                detail: format!(
                    "The journal could not be read and was renamed to {}. No file was changed.",
                    kept.display()
                ),
            })
        );
        assert!(kept.exists());
    }
}
