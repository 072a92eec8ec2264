//! Installs a change, in an order that allows recovery from a crash at any step:
//!
//! 1. the record;
//! 2. private bytes, staged files and objects;
//! 3. refs that must exist;
//! 4. the staged index and its lock;
//! 5. the exchange of the files;
//! 6. the move of the branch, which is the decision;
//! 7. what follows the branch.
//!
//! Each step is on stable storage before the next one begins, if durability asks for that.

use super::change_set::{ChangeSet, RefUpdate};
use super::durable;
use super::entry::EntryMove;
use super::files::StagingArea;
use super::index::{self, IndexView, LockOutcome, PreparedIndex};
use super::journal::Journal;
use super::pointers::{BranchUpdate, HeldPointers};
use super::private;
use super::record::{BranchRecord, ChangeRecord, EntryRecord, FileRecord, HeadRecord, Id, Record};
use super::recover;
use edt_git::reflog::ReflogWrite;
use edt_git::{InHead, Oid, RefSwap, Repo, objects};
use edt_io::clock::seconds;
use edt_io::process::process_id;
use edt_io::signals::HeldSignals;
use edt_types::{Code, Durability, Finding, Refusal, Result, Warning, WarningCode};

/// Installs `change`.
///
/// # Errors
/// Any failure before the branch moves; everything is then as it was, or the next call rolls it
/// back. Nothing fails after the branch has moved: unfinished work becomes a warning, and the next
/// call finishes it.
pub fn publish(repo: &Repo, journal: &mut Journal, mut change: ChangeSet) -> Result<Vec<Warning>> {
    journal.check_closed()?;
    // Until the journal is closed, a signal would leave locks that block the user's Git.
    let signals = HeldSignals::hold();
    if repo.has_tables() {
        // Tables are synced: they must not be on disk before the objects that they name.
        journal.require_durability(Durability::On);
    }
    repo.set_durable(journal.durability() == Durability::On);
    let stage = StagingArea::open(repo)?;
    let tx = format!("{:x}-{}", process_id(), change.branch.new.to_hex_with_len(8));
    let files = change.files.iter().enumerate();
    let files: Vec<FileRecord> =
        files.map(|(i, file)| stage.record(file, &tx, i)).collect::<Result<_>>()?;
    let (view, moves) =
        change.index.take().map_or((None, Vec::new()), |(view, moves)| (Some(view), moves));
    let record = record_of(repo, journal, &change, &files, &moves)?;
    if let Err(error) = journal.append(&Record::ChangeSet(Box::new(record.clone()))) {
        // Nothing else was written.
        let _ = journal.close();
        return Err(error);
    }
    let mut install =
        Install { repo, stage: &stage, change: &change, files: &files, moves: &moves };
    let (prepared, held) = match install.until_decision(view) {
        Ok(done) => done,
        Err(error) => {
            // If this fails, the journal stays open, and the next call tries again.
            let recovered = recover::recover(repo, journal, &record);
            let is_committed = recovered.as_ref().is_ok_and(|done| done.action == "finished");
            if recovered.is_ok() {
                let _ = journal.close();
            }
            // A network file system may report an error of a rename that happened.
            return if is_committed { Ok(Vec::new()) } else { Err(error) };
        }
    };
    let done = install.after_decision(prepared.as_ref(), held, journal.pointer());
    let mut warnings = Vec::new();
    let closed = done.and_then(|()| {
        warnings.extend(files.iter().filter_map(|file| stage.discard_unless_written(file)));
        if change.is_plain(repo) { journal.close_later() } else { journal.close() }
    });
    // Git would inherit the mask, and so would a filter that it starts.
    drop(signals);
    if prepared.is_some_and(|prepared| prepared.is_delegated()) {
        index::refresh_by_git(repo);
    }
    warnings.extend(closed.err().map(|error| unfinished(&error)));
    Ok(warnings)
}

/// Moves one ref.
///
/// # Errors
/// As [`publish`].
pub fn move_ref(repo: &Repo, journal: &mut Journal, update: RefUpdate) -> Result<Vec<Warning>> {
    let RefUpdate { name, from, new, log, objects } = update;
    let (head, head_from, point) = (InHead::No, None, None);
    let branch = BranchUpdate { name, from, new, log, head, head_from, point };
    publish(repo, journal, ChangeSet { objects, ..ChangeSet::of(branch) })
}

/// A change that is being installed. Its record is on stable storage.
struct Install<'c> {
    repo: &'c Repo,
    stage: &'c StagingArea<'c>,
    change: &'c ChangeSet,
    files: &'c [FileRecord],
    moves: &'c [EntryMove],
}

impl Install<'_> {
    /// The steps up to the move of the branch. `view`: the index as it was read, if it changes.
    fn until_decision(
        &mut self,
        view: Option<IndexView>,
    ) -> Result<(Option<PreparedIndex>, HeldPointers)> {
        let Install { repo, stage, change, files, moves } = *self;
        change.private.iter().try_for_each(|record| private::write(repo, record))?;
        for (file, new) in files.iter().zip(&change.files) {
            stage.put(file, new)?;
        }
        objects::write_with(repo, &change.objects, &stage.unsynced(files)?)?;
        repo.create_refs(&change.create)?;
        durable::sync_created(repo, change.create.iter().map(|(name, _)| name.as_str()))?;
        let prepare = |view: IndexView| view.prepare(stage, moves, &change.touched_trees);
        let mut prepared = view.map(prepare).transpose()?;
        self.lock_index(&mut prepared)?;
        check_head(repo, &change.branch)?;
        let mut held = change.branch.hold(repo, change.head_to.as_deref())?;
        let later = change.replace.iter().map(|(name, ..)| name);
        later
            .chain(change.drop.iter().map(|(name, _)| name))
            .try_for_each(|name| repo.check_unlocked(name))?;
        files.iter().try_for_each(|file| stage.swap(file))?;
        stage.sync_targets(files)?;
        if let Some(prepared) = &mut prepared {
            let stats = index::stats(stage, moves, files);
            prepared.refresh(repo, stage, &stats)?;
            prepared.sync(stage)?;
        }
        change.branch.decide(repo, &mut held)?;
        Ok((prepared, held))
    }

    /// Takes `index.lock`. If Git refreshed the index meanwhile, patches the new index, provided
    /// that the touched entries are the same.
    fn lock_index(&self, prepared: &mut Option<PreparedIndex>) -> Result<()> {
        for _ in 0..20 {
            let Some(ready) = prepared else { return Ok(()) };
            if ready.lock(self.repo, self.stage)? == LockOutcome::Held {
                return Ok(());
            }
            let view = IndexView::read(self.repo)?;
            for entry in self.moves {
                if view.staged(self.repo, &entry.path)? != entry.seen {
                    return Err(index::restaged(self.repo).into());
                }
            }
            *prepared = Some(view.prepare(self.stage, self.moves, &self.change.touched_trees)?);
        }
        Err(index::restaged(self.repo).into())
    }

    /// The steps after the move of the branch.
    fn after_decision(
        &self,
        prepared: Option<&PreparedIndex>,
        mut held: HeldPointers,
        pointer: &str,
    ) -> Result<()> {
        let Install { repo, stage, change, .. } = *self;
        let (branch, head_to) = (&change.branch, change.head_to.as_deref());
        // Each step is tried, whatever becomes of the others. Above all the index: with the old one
        // Git would show the edit as a staged reversal.
        let steps = [
            durable::sync_decision(repo, branch),
            // `git gc --prune=now` may have run between the writing of the objects and that of the
            // ref.
            objects::write_missing(repo, &change.objects),
            branch.move_symbolic(repo, &mut held, head_to),
            prepared.map_or(Ok(()), |prepared| prepared.rename_in(repo, stage)),
            branch.write_logs(repo, &held, head_to, ReflogWrite::Append),
        ];
        steps.into_iter().collect::<Result<()>>()?;
        for (name, from, to) in &change.replace {
            repo.swap_ref(&RefSwap { name, from: *from, to: *to })?;
        }
        for (name, from) in &change.drop {
            repo.delete_symbolic_ref(pointer, name)?;
            repo.delete_ref(name, *from)?;
        }
        durable::sync_followers(repo, change, pointer)?;
        durable::sync_end(repo, change, prepared.is_some())
    }
}

/// Checks that HEAD is where it was when the change was planned, because the index follows HEAD.
/// `git switch` needs the lock of the index, so HEAD cannot move from here on.
fn check_head(repo: &Repo, branch: &BranchUpdate) -> Result<()> {
    let as_planned = match &branch.head_from {
        Some(from) => repo.head_target()?.as_ref() == Some(from),
        None if branch.head == InHead::Yes => repo.head_is_on(&branch.name)?,
        None => repo.head_target()?.as_ref() != Some(&branch.name),
    };
    if as_planned {
        return Ok(());
    }
    let (message, hint) = ("HEAD was switched during the call.", "Repeat the call.");
    Err(Finding::new(Code::SessionMoved, message, hint).nothing_changed().into())
}

fn record_of(
    repo: &Repo,
    journal: &Journal,
    change: &ChangeSet,
    files: &[FileRecord],
    moves: &[EntryMove],
) -> Result<ChangeRecord> {
    let ids = |refs: &[(String, Oid)]| {
        refs.iter().map(|(name, oid)| (name.clone(), Id::from(*oid))).collect()
    };
    let replace = change.replace.iter();
    let private = change.private.iter();
    Ok(ChangeRecord {
        branch: branch_record(repo, change)?,
        create: ids(&change.create),
        time: seconds(),
        journal: journal.inode()?,
        head_to: change.head_to.clone(),
        replace: replace
            .map(|(name, from, to)| (name.clone(), (*from).into(), (*to).into()))
            .collect(),
        drop: ids(&change.drop),
        files: files.to_vec(),
        entries: moves.iter().filter_map(EntryRecord::of).collect(),
        private: private.map(|record| (record.session.clone(), record.name.clone())).collect(),
    })
}

/// The record of `change`, before it.
///
/// # Errors
/// `IO_ERROR` if HEAD or its branch cannot be read.
pub(super) fn branch_record(repo: &Repo, change: &ChangeSet) -> Result<BranchRecord> {
    let branch = &change.branch;
    let last =
        |name: &str| repo.last_move(name).map(|line| (line.from.into(), line.to.into(), line.time));
    let reads_head = branch.head == InHead::Yes || branch.head_from.is_some();
    Ok(BranchRecord {
        name: branch.name.clone(),
        from: branch.from.into(),
        new: branch.new.into(),
        log: branch.log.clone(),
        logged: [last(&branch.name), if reads_head { last("HEAD") } else { None }],
        in_head: branch.head == InHead::Yes,
        head: head_record(repo, change)?,
        point: branch.point.clone(),
    })
}

/// What HEAD names before `change`; `None` if it is on the branch, or if nothing depends on it.
///
/// # Errors
/// `IO_ERROR` if HEAD or its branch cannot be read.
fn head_record(repo: &Repo, change: &ChangeSet) -> Result<Option<HeadRecord>> {
    let branch = &change.branch;
    let is_left = branch.head_from.is_some();
    let name = match &branch.head_from {
        None if branch.head == InHead::No && !change.files.is_empty() => repo.head_target()?,
        from => from.clone(),
    };
    let record = name.map(|name| -> Result<HeadRecord> {
        let tip = repo.commit_at(&name)?.map(Id::from);
        Ok(HeadRecord { is_left, name, tip })
    });
    record.transpose()
}

fn unfinished(error: &Refusal) -> Warning {
    Warning {
        code: WarningCode::Unfinished,
        path: None,
        message: format!(
            "The edit is recorded, but a later step failed: {error}. The next edt call completes it \
             (`edt status`)."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{MAIN, Scratch, path, refusal};
    use edt_git::Tracked;
    use edt_io::effect::{Errno, FaultPlan, InjectedFault, SideEffect, with_plan};
    use std::path::Path;

    const TWO: &[(&str, Option<&str>)] = &[("a.txt", Some("two\n"))];

    #[test]
    fn a_published_change_moves_branch_index_and_file() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        let after = scratch.after(&change, "two\n");
        assert_eq!(publish(&repo, &mut scratch.journal(&repo), change), Ok(vec![]));
        assert_eq!(scratch.state(), after);
    }

    /// The steps of an edit, in their order.
    fn effects(durability: Durability) -> Vec<(SideEffect, String)> {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        drop(scratch.journal(&repo));
        let mut journal = scratch.journal(&repo);
        journal.set_durability(durability);
        let plan = FaultPlan { at: 0, fault: InjectedFault::None, torn: false };
        let (done, effects) = with_plan(plan, || publish(&repo, &mut journal, change));
        assert_eq!(done, Ok(vec![]));
        let named = |path: &Path| {
            path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
        };
        effects.iter().map(|(effect, path)| (*effect, named(path))).collect()
    }

    #[test]
    fn everything_is_on_stable_storage_before_the_step_that_needs_it() {
        let effects = effects(Durability::On);
        let at = |effect: SideEffect, name: &str| -> usize {
            let is = |(one, path): &(SideEffect, String)| *one == effect && path == name;
            effects.iter().position(is).unwrap_or_else(|| panic!("{effect:?} {name}: {effects:?}"))
        };
        let first_object = effects.iter().position(|(_, path)| path.starts_with("tmp_obj"));
        // The record comes before anything else.
        assert!(at(SideEffect::Sync, "journal") < first_object.unwrap());
        // The file is exchanged once its content is on disk, and the branch moves after it.
        let (exchanged, moved) = (at(SideEffect::Rename, "a.txt"), at(SideEffect::Rename, "main"));
        let synced_to =
            |to: usize| effects[..to].iter().filter(|(one, _)| *one == SideEffect::Sync);
        assert!(synced_to(exchanged).any(|(_, path)| path.ends_with("-0")), "{effects:?}");
        assert!(synced_to(moved).any(|(_, path)| path == "a.txt"), "{effects:?}");
        assert!(synced_to(moved).any(|(_, path)| path == "index"), "{effects:?}");
        assert!(synced_to(moved).any(|(_, path)| path == "ref"), "{effects:?}");
        // The index follows the branch, then the logs.
        let indexed = at(SideEffect::Rename, "index");
        assert!(effects[moved..indexed].contains(&(SideEffect::Sync, "main".to_owned())));
        let synced: Vec<&str> = effects[indexed..]
            .iter()
            .filter(|(effect, _)| *effect == SideEffect::Sync)
            .map(|(_, path)| &**path)
            .collect();
        assert_eq!(synced, ["HEAD", "main", ".git"]);
    }

    /// Every step fails once, by an error.
    #[test]
    fn a_failed_step_leaves_the_old_state_or_the_new_one() {
        let count = effects(Durability::On).len();
        for at in 1..=count {
            let scratch = Scratch::new();
            let repo = scratch.repo();
            drop(scratch.journal(&repo));
            let mut journal = scratch.journal(&repo);
            let change = scratch.change(&repo, TWO);
            let (before, after) = (scratch.state(), scratch.after(&change, "two\n"));
            let plan = FaultPlan { at, fault: InjectedFault::Once(Errno::IO), torn: false };
            let (done, effects) = with_plan(plan, || publish(&repo, &mut journal, change));
            let failed = effects.get(at - 1);
            let state = scratch.state();
            match &done {
                Err(_) => assert_eq!(state, before, "{at}: {failed:?}"),
                // What only follows may be left to the next call.
                Ok(warnings) => {
                    let is_index = failed.is_some_and(|(_, path)| path.ends_with("index"));
                    let is_done = state == after || is_index && !warnings.is_empty();
                    assert!(is_done, "{at}: {failed:?} {state:?}");
                }
            }
            drop(journal);
            let recovered = scratch.journal(&scratch.repo());
            recovered.check_closed().unwrap();
            let expected = if done.is_ok() { after } else { before };
            assert_eq!(scratch.state(), expected, "{at}: {failed:?}");
        }
    }

    #[test]
    fn without_durability_nothing_is_waited_for() {
        let effects = effects(Durability::Off);
        assert!(!effects.iter().any(|(effect, _)| *effect == SideEffect::Sync), "{effects:?}");
    }

    #[test]
    fn a_published_change_leaves_nothing_staged() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        publish(&repo, &mut scratch.journal(&repo), scratch.change(&repo, TWO)).unwrap();
        let names: Vec<_> = std::fs::read_dir(repo.state_path().join("stage"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(!names.iter().any(|name| name.to_string_lossy().contains("-0")), "{names:?}");
        assert!(!scratch.root().join(".git/index.lock").exists());
    }

    #[test]
    fn the_branch_and_head_log_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        let new = change.branch.new;
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        for name in ["refs/heads/main", "HEAD"] {
            let log = scratch.text(&format!(".git/logs/{name}")).unwrap();
            let last = log.lines().last().unwrap();
            assert!(
                last.contains(&format!(" {new} ")) && last.ends_with("\tedt: change"),
                "{name}: {last}"
            );
        }
    }

    #[test]
    fn a_new_file_gets_its_directories() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, &[("x/y/b.txt", Some("b\n"))]);
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        assert_eq!(scratch.text("x/y/b.txt").as_deref(), Some("b\n"));
    }

    #[test]
    fn a_removed_file_takes_its_empty_directories_with_it() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut journal = scratch.journal(&repo);
        publish(&repo, &mut journal, scratch.change(&repo, &[("x/y/b.txt", Some("b\n"))])).unwrap();
        publish(&repo, &mut journal, scratch.change(&repo, &[("x/y/b.txt", None)])).unwrap();
        assert!(!scratch.root().join("x").exists());
    }

    #[test]
    fn a_file_that_someone_changed_meanwhile_refuses_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let before = scratch.state();
        let change = scratch.change(&repo, TWO);
        scratch.write("a.txt", "mine\n");
        let found = refusal(publish(&repo, &mut scratch.journal(&repo), change));
        assert_eq!(
            found.message(),
            "a.txt was changed by someone else during the call. Their content is kept. Nothing was \
         recorded."
        );
        assert_eq!(found.code, Code::HashMismatch);
        let mine = crate::tests::State { text: Some("mine\n".to_owned()), ..before };
        assert_eq!(scratch.state(), mine);
    }

    #[test]
    fn a_refused_change_restores_the_files_before_it() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, &[("b.txt", Some("b\n")), ("a.txt", Some("two\n"))]);
        scratch.write("a.txt", "mine\n");
        publish(&repo, &mut scratch.journal(&repo), change).unwrap_err();
        assert_eq!(
            (scratch.text("a.txt").as_deref(), scratch.text("b.txt")),
            (Some("mine\n"), None)
        );
    }

    #[test]
    fn a_refused_change_is_rolled_back_in_the_journal() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        scratch.write("a.txt", "mine\n");
        let mut journal = scratch.journal(&repo);
        publish(&repo, &mut journal, change).unwrap_err();
        assert_eq!(journal.check_closed(), Ok(()));
        assert_eq!(crate::open_recovered(&repo, crate::tests::POINTER).unwrap().1, None);
    }

    #[test]
    fn a_branch_that_moved_meanwhile_refuses_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stale = scratch.change(&repo, TWO);
        let mut journal = scratch.journal(&repo);
        let other = scratch.change(&repo, &[("b.txt", Some("b\n"))]);
        let winner = other.branch.new;
        publish(&repo, &mut journal, other).unwrap();
        let found = refusal(publish(&repo, &mut journal, stale));
        assert_eq!(found.code, Code::SessionMoved);
        assert_eq!(repo.ref_value(MAIN), Ok(Some(winner)));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
    }

    #[test]
    fn a_switch_of_head_meanwhile_refuses_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        repo.create_ref("refs/heads/other", change.branch.start()).unwrap();
        repo.set_symbolic_ref("HEAD", "refs/heads/other").unwrap();
        assert_eq!(
            refusal(publish(&repo, &mut scratch.journal(&repo), change)),
            Finding::new(
                Code::SessionMoved,
                "HEAD was switched during the call.",
                "Repeat the call."
            )
            .nothing_changed()
        );
    }

    #[test]
    fn an_entry_that_someone_staged_meanwhile_refuses_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stale = scratch.change(&repo, &[("a.txt", Some("three\n"))]);
        let mut other = scratch.change(&repo, TWO);
        // The other change moves the entry only.
        other.files.clear();
        let start = other.branch.start();
        let mut journal = scratch.journal(&repo);
        let new = other.branch.new;
        publish(&repo, &mut journal, other).unwrap();
        repo.swap_ref(&RefSwap { name: MAIN, from: new, to: start }).unwrap();
        let found = refusal(publish(&repo, &mut journal, stale));
        assert_eq!(found.code, Code::RepositoryBusy);
        assert!(
            found.summary.ends_with("was changed by another program during the call."),
            "{found:?}"
        );
    }

    #[test]
    fn refs_are_created_moved_and_deleted_with_the_branch() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut change = scratch.change(&repo, TWO);
        let (old, new) = (change.branch.start(), change.branch.new);
        repo.create_ref("refs/edt/moved", old).unwrap();
        repo.create_ref("refs/edt/dropped", old).unwrap();
        change.create = vec![("refs/edt/created".to_owned(), old)];
        change.replace = vec![("refs/edt/moved".to_owned(), old, new)];
        change.drop = vec![("refs/edt/dropped".to_owned(), old)];
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        let value = |name| repo.ref_value(name).unwrap();
        assert_eq!(
            ["refs/edt/created", "refs/edt/moved", "refs/edt/dropped"].map(value),
            [Some(old), Some(new), None]
        );
    }

    #[test]
    fn a_ref_that_exists_already_refuses_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let before = scratch.state();
        let mut change = scratch.change(&repo, TWO);
        let (old, new) = (change.branch.start(), change.branch.new);
        repo.create_ref("refs/edt/created", new).unwrap();
        change.create = vec![("refs/edt/created".to_owned(), old)];
        publish(&repo, &mut scratch.journal(&repo), change).unwrap_err();
        assert_eq!(repo.ref_value("refs/edt/created"), Ok(Some(new)));
        assert_eq!(scratch.state(), before);
    }

    #[test]
    fn the_objects_of_a_change_are_readable_afterwards() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        let new = change.branch.new;
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        let fresh = scratch.repo();
        let tracked = fresh.tracked(fresh.tree_of(new).unwrap(), &path("a.txt")).unwrap();
        assert!(matches!(tracked, Tracked::File(file) if Ok(file.oid) == fresh.blob_id(b"two\n")));
    }

    #[test]
    fn an_open_journal_takes_no_second_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut journal = scratch.journal(&repo);
        journal.append(&Record::Deletion(Vec::new())).unwrap();
        let found = refusal(publish(&repo, &mut journal, scratch.change(&repo, TWO)));
        assert_eq!(found.code, Code::SessionBusy);
    }
}
