//! The journal file: preallocated, appended, synced once per transaction, and reused from the start
//! after a checkpoint.
//!
//! Page 0 has the header: the epoch, the offset of the next record, and the boot in which the
//! header was written. The header is a hint that is never synced on its own. Within one boot the
//! page cache makes it exact. After a restart of the machine it is not trusted, and every complete
//! record of the epoch counts.

use std::path::{Path, PathBuf};

use super::frame::{
    Found, FoundRecord, RECORD_HEAD, RECORD_MAGIC, internal, look_at, record_at, u32_at, u64_at,
};
use super::index_backup;
use super::record::{Record, VERSION};
use super::sweep;
use edt_io::clock::boot_id;
use edt_io::disk::Dir;
use edt_io::file::{self, File, OpenMode};
use edt_io::{failed, fs};
use edt_types::{Code, Durability, Finding, Result};

pub(super) const MAGIC: &[u8; 8] = b"edt-jrnl";
/// The offset of the first record.
pub(super) const PAGE: u64 = 4096;
/// The size of the header.
pub(super) const HEADER: usize = 64;
/// The offset in the header of [`Journal::program_announced`].
const PROGRAM_ANNOUNCED: usize = 56;
/// Initial size in bytes: about a thousand ordinary edits between two checkpoints.
const SIZE: u64 = 4 * 1024 * 1024;

/// An open journal. The caller holds the worktree's lock.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    epoch: u64,
    /// The offset of the next record.
    tail: u64,
    /// The number of the next record.
    next: u64,
    boot: Option<[u8; 16]>,
    size: u64,
    /// Whether a record was appended and not closed.
    open: bool,
    program_announced: bool,
    durability: Durability,
    /// The worktree's root. A checkpoint syncs its file system, which has the files that the
    /// records name.
    root: PathBuf,
    pointer: &'static str,
}

/// The unfinished records of an opened journal.
#[derive(Debug)]
pub enum Pending {
    /// Every record is closed.
    Nothing,
    /// A transaction was interrupted in this boot; with its number.
    Interrupted(u64, Record),
    /// The machine was restarted. The disk may lack what closed records describe, too. Records with
    /// a number below the second value were closed; 0 if that is not known.
    AfterRestart(Vec<(u64, Record)>, u64),
    /// The file was not a journal that this version can read. It was renamed to this path.
    Quarantined(PathBuf),
    /// There was no journal: no record names what an interrupted call left.
    Missing,
    /// The last record is damaged, so that it does not name what an interrupted call left.
    Torn,
}

impl Journal {
    /// Opens the journal in `directory` of the worktree at `root`, creating it if missing.
    /// `pointer`: see [`Journal::pointer`].
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn open(
        directory: &Path,
        root: &Path,
        pointer: &'static str,
    ) -> Result<(Journal, Pending)> {
        let path = directory.join("journal");
        let boot = boot_id();
        let file = match File::open(&path, OpenMode::Existing) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok((Journal::make(&path, root, pointer, boot)?, Pending::Missing));
            }
            Err(error) => return Err(failed("open the journal", &path, &error).into()),
        };
        let mut head = [0; HEADER];
        let read = file
            .read_at(&mut head, 0)
            .map_err(|error| failed("read the journal", &path, &error))?;
        if read < head.len() || &head[..8] != MAGIC || u32_at(&head, 8) != VERSION {
            let quarantined = quarantine(&path)?;
            return Ok((
                Journal::make(&path, root, pointer, boot)?,
                Pending::Quarantined(quarantined),
            ));
        }
        let size = file.len().map_err(|error| failed("read the journal", &path, &error))?;
        let intact = crc32fast::hash(&head[..52]) == u32_at(&head, 52);
        let mut journal = Journal {
            file,
            path,
            epoch: u64_at(&head, 12),
            tail: u64_at(&head, 20),
            next: u64_at(&head, 28),
            boot,
            size,
            open: false,
            program_announced: head[PROGRAM_ANNOUNCED] != 0,
            durability: Durability::default(),
            root: root.to_owned(),
            pointer,
        };
        // Without a boot id no restart can be detected: the header is trusted.
        let same_boot = intact && boot.as_ref().is_none_or(|boot| boot.as_slice() == &head[36..52]);
        if same_boot {
            let is_next = |epoch, number| (epoch, number) == (journal.epoch, journal.next);
            let pending = match look_at(&journal.file, journal.tail, size)? {
                Found::Record((epoch, number, record, end)) if is_next(epoch, number) => {
                    journal.tail = end;
                    journal.next += 1;
                    Pending::Interrupted(number, record)
                }
                Found::Torn(epoch, number) if is_next(epoch, number) => Pending::Torn,
                _ => Pending::Nothing,
            };
            return Ok((journal, pending));
        }
        let (all, epoch) = journal.read_all(if intact { journal.epoch } else { 0 })?;
        journal.epoch = epoch;
        let closed = if intact { journal.next } else { 0 };
        journal.next = all.last().map_or(journal.next, |(number, _)| number + 1);
        Ok((journal, Pending::AfterRestart(all, closed)))
    }

    /// Appends `record` and syncs it if durability asks for that. Returns the number of the record.
    ///
    /// # Errors
    /// `IO_ERROR`: the record then counts as torn.
    pub fn append(&mut self, record: &Record) -> Result<u64> {
        let payload = postcard::to_stdvec(record).map_err(|error| internal(&error.to_string()))?;
        let needed = (RECORD_HEAD + payload.len()) as u64;
        // A rollback needs the record of its transaction.
        let may_restart = self.tail > PAGE && !matches!(record, Record::RolledBack(_));
        if may_restart && self.tail + needed > self.size {
            self.checkpoint_before(Some(record))?;
        }
        let mut bytes = Vec::with_capacity(RECORD_HEAD + payload.len());
        bytes.extend_from_slice(&RECORD_MAGIC.to_le_bytes());
        bytes.extend_from_slice(
            &u32::try_from(payload.len())
                .map_err(|error| internal(&error.to_string()))?
                .to_le_bytes(),
        );
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        bytes.extend_from_slice(&self.next.to_le_bytes());
        bytes.extend_from_slice(&payload);
        let crc = crc32fast::hash(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        self.open = true;
        let mut written = self.file.write_all_at(&bytes, self.tail);
        if self.durability > Durability::Off {
            written = written.and_then(|()| self.file.sync_data());
        }
        written.map_err(|error| failed("write the journal", &self.path, &error))?;
        let number = self.next;
        self.tail += needed;
        self.size = self.size.max(self.tail);
        self.next += 1;
        Ok(number)
    }

    /// The inode of the journal. A record with another one was copied with its repository, so that
    /// no file is the one that it names.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn inode(&self) -> Result<u64> {
        Ok(self.file.inode().map_err(|error| failed("read the journal", &self.path, &error))?)
    }

    /// The symbolic ref of the worktree that names a branch although HEAD is on another one. It is
    /// deleted together with the branch.
    #[must_use]
    pub fn pointer(&self) -> &'static str {
        self.pointer
    }

    /// Whether a program may have been announced whose end was not handled. A hint, with which an
    /// edit needs no system call to look for interrupted programs.
    #[must_use]
    pub fn program_announced(&self) -> bool {
        self.program_announced
    }

    /// Stores the hint [`program_announced`](Journal::program_announced). A failure is ignored.
    pub fn set_program_announced(&mut self, announced: bool) {
        if announced != self.program_announced {
            self.program_announced = announced;
            let _ = self.file.write_all_at(&[u8::from(announced)], PROGRAM_ANNOUNCED as u64);
        }
    }

    /// Raises the durability to at least `level`.
    pub fn require_durability(&mut self, level: Durability) {
        self.durability = self.durability.max(level);
    }

    #[must_use]
    pub fn durability(&self) -> Durability {
        self.durability
    }

    pub fn set_durability(&mut self, level: Durability) {
        self.durability = level;
    }

    /// Marks everything appended so far as done. If `lasting` is set or durability is `full`, syncs
    /// it to disk as well.
    ///
    /// # Errors
    /// `IO_ERROR`: the next call recovers the transaction again, to the same state.
    pub fn finish(&mut self, lasting: bool) -> Result<()> {
        match self.durability {
            // Such changes are rare, and recovery could not distinguish their loss from a user's
            // change, nor an answered one from another one.
            _ if lasting => self.checkpoint().and_then(|()| self.sync_header()),
            Durability::Full => self.checkpoint(),
            Durability::Off | Durability::Journal => self.close(),
        }
    }

    /// Marks everything appended so far as done, durably. For a transaction whose new names were
    /// synced one by one. Without a synced record (durability `off`) everything is synced.
    ///
    /// # Errors
    /// As [`finish`](Journal::finish).
    pub fn finish_synced(&mut self) -> Result<()> {
        if self.durability == Durability::Journal {
            self.sweep(None)?;
            self.close()?;
        } else {
            self.checkpoint()?;
        }
        self.sync_header()
    }

    fn sync_header(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| failed("sync the journal", &self.path, &error).into())
    }

    /// Marks everything appended so far as done.
    ///
    /// # Errors
    /// `IO_ERROR`: the next call recovers the transaction again, to the same state.
    pub fn close(&mut self) -> Result<()> {
        let mut head = Vec::with_capacity(HEADER);
        head.extend_from_slice(MAGIC);
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&self.epoch.to_le_bytes());
        head.extend_from_slice(&self.tail.to_le_bytes());
        head.extend_from_slice(&self.next.to_le_bytes());
        head.extend_from_slice(&self.boot.unwrap_or_default());
        head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
        debug_assert_eq!(head.len(), PROGRAM_ANNOUNCED, "the header's parts have fixed places");
        head.push(u8::from(self.program_announced));
        head.resize(HEADER, 0);
        self.file
            .write_all_at(&head, 0)
            .map_err(|error| failed("write the journal", &self.path, &error))?;
        self.open = false;
        Ok(())
    }

    /// Checks that this process has no unfinished transaction.
    ///
    /// # Errors
    /// `SESSION_BUSY` if it has one; the next call finishes it.
    pub fn check_closed(&self) -> Result<()> {
        if !self.open {
            return Ok(());
        }
        let message = "The previous transaction is not finished yet.";
        Err(Finding::new(
            Code::SessionBusy,
            message,
            "Repeat the call: it finishes the previous transaction first.",
        )
        .nothing_changed()
        .into())
    }

    /// Makes a checkpoint if little room is left. Call it before anything is staged: a checkpoint
    /// forgets which index edt wrote.
    ///
    /// # Errors
    /// `IO_ERROR`: the journal is then unchanged.
    pub fn make_room(&mut self) -> Result<()> {
        if self.tail > self.size / 4 * 3 { self.checkpoint() } else { Ok(()) }
    }

    /// Syncs everything that older records describe, then starts again at the front.
    ///
    /// # Errors
    /// `IO_ERROR`: the journal is then unchanged.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.checkpoint_before(None)
    }

    /// As [`checkpoint`](Journal::checkpoint), before `current` is appended.
    fn checkpoint_before(&mut self, current: Option<&Record>) -> Result<()> {
        self.sweep(current)?;
        let own = self.path.parent().unwrap_or(&self.path);
        for directory in [own, &self.root] {
            let synced = Dir::open(directory).and_then(|dir| dir.sync_file_system());
            synced.map_err(|error| failed("sync", directory, &error))?;
        }
        // Until the sync, the index that replaced the saved one may still be lost.
        index_backup::remove_backups(own).map_err(|error| failed("clear", own, &error))?;
        self.epoch += 1;
        self.tail = PAGE;
        self.close()
    }

    /// Removes what killed calls staged and no record of this journal names. No transaction may be
    /// open, except `current`, which is about to be appended.
    fn sweep(&self, current: Option<&Record>) -> Result<()> {
        let own = self.path.parent().unwrap_or(&self.path);
        let records = || {
            let (mut all, mut at) = (Vec::new(), PAGE);
            while let Some((epoch, _, record, end)) = self.read(at)? {
                if epoch != self.epoch {
                    break;
                }
                all.push(record);
                at = end;
            }
            Ok(all)
        };
        sweep::sweep(own, records, current)
    }

    /// Removes a damaged or outdated record behind the last one, durably.
    ///
    /// # Errors
    /// `IO_ERROR`: it may be there.
    pub(super) fn remove_next(&mut self) -> Result<()> {
        match look_at(&self.file, self.tail, self.size)? {
            Found::Torn(epoch, number) | Found::Record((epoch, number, ..))
                if (epoch, number) == (self.epoch, self.next) => {}
            _ => return Ok(()),
        }
        let fail = |error: std::io::Error| failed("write the journal", &self.path, &error);
        self.file.write_all_at(&[0; RECORD_HEAD], self.tail).map_err(fail)?;
        self.sync_header()
    }

    /// Syncs everything that records describe, then overwrites all records with zeros: they may have
    /// bytes of files that Git ignores.
    ///
    /// # Errors
    /// `IO_ERROR`: some records may be left.
    pub fn erase(&mut self) -> Result<()> {
        self.checkpoint()?;
        let zeros = vec![0; usize::try_from(self.size.saturating_sub(PAGE)).unwrap_or(0)];
        self.file
            .write_all_at(&zeros, PAGE)
            .map_err(|error| failed("write the journal", &self.path, &error).into())
    }

    fn make(
        path: &Path,
        root: &Path,
        pointer: &'static str,
        boot: Option<[u8; 16]>,
    ) -> Result<Journal> {
        let fail = |error: std::io::Error| failed("make the journal", path, &error);
        let fresh = path.with_extension("new");
        // Records have bytes that only the user may read.
        let file = File::open(&fresh, OpenMode::PrivateTruncated).map_err(fail)?;
        // Written, not only reserved, so that later syncs write data alone.
        file.write_all_at(&vec![0; usize::try_from(SIZE).unwrap_or(0)], 0).map_err(fail)?;
        let mut journal = Journal {
            file,
            path: path.to_owned(),
            epoch: 1,
            tail: PAGE,
            next: 1,
            boot,
            size: SIZE,
            open: false,
            program_announced: false,
            durability: Durability::default(),
            root: root.to_owned(),
            pointer,
        };
        journal.close()?;
        journal.file.sync_all().map_err(fail)?;
        fs::rename(&fresh, path).map_err(fail)?;
        // Nothing in the journal is durable until the entries of its directory and of the parents
        // are.
        let above = path.ancestors().skip(1).take(4);
        above.into_iter().try_for_each(file::sync).map_err(fail)?;
        Ok(journal)
    }

    fn read(&self, at: u64) -> Result<Option<FoundRecord>> {
        record_at(&self.file, at, self.size)
    }

    /// Every record of the current epoch, which is at least `epoch`.
    fn read_all(&mut self, epoch: u64) -> Result<(Vec<(u64, Record)>, u64)> {
        let (mut all, mut running) = (Vec::new(), epoch);
        self.tail = PAGE;
        while let Some((epoch, number, record, end)) = self.read(self.tail)? {
            let follows = all.last().is_none_or(|(last, _)| number == last + 1);
            if epoch < running || (!all.is_empty() && epoch != running) || !follows {
                break;
            }
            running = epoch;
            all.push((number, record));
            self.tail = end;
        }
        Ok((all, running))
    }
}

fn quarantine(path: &Path) -> Result<PathBuf> {
    let free =
        (1..1000).map(|n| path.with_extension(format!("damaged-{n}"))).find(|path| !path.exists());
    let quarantined = free.unwrap_or_else(|| path.with_extension("damaged"));
    fs::rename(path, &quarantined)
        .map_err(|error| failed("rename the unreadable journal", path, &error))?;
    Ok(quarantined)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;
    use edt_io::effect::{FaultPlan, InjectedFault, SideEffect, with_plan};

    fn record(n: u64) -> Record {
        Record::RolledBack(n)
    }

    fn restarted(path: &Path) {
        let file = std::fs::File::options().write(true).open(path.join("journal")).unwrap();
        file.write_all_at(&[0xaa; 16], 36).unwrap();
    }

    #[test]
    fn only_the_owner_may_read_the_journal() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = edt_testkit::tempdir().unwrap();
        Journal::open(dir.path(), dir.path(), "refs/worktree/pointer").unwrap();
        let mode = dir.path().join("journal").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_open_record_is_pending_and_a_closed_one_is_not() {
        let dir = edt_testkit::tempdir().unwrap();
        let (mut journal, _) =
            Journal::open(dir.path(), dir.path(), "refs/worktree/pointer").unwrap();
        journal.append(&record(7)).unwrap();
        let (mut journal, pending) =
            Journal::open(dir.path(), dir.path(), "refs/worktree/pointer").unwrap();
        assert!(matches!(pending, Pending::Interrupted(1, Record::RolledBack(7))), "{pending:?}");
        journal.close().unwrap();
        assert!(matches!(
            Journal::open(dir.path(), dir.path(), "refs/worktree/pointer").unwrap().1,
            Pending::Nothing
        ));
    }

    #[test]
    fn after_a_restart_every_record_of_the_epoch_counts() {
        let dir = edt_testkit::tempdir().unwrap();
        let (mut journal, _) =
            Journal::open(dir.path(), dir.path(), "refs/worktree/pointer").unwrap();
        for n in 0..3 {
            journal.append(&record(n)).unwrap();
            journal.close().unwrap();
        }
        restarted(dir.path());
        let Pending::AfterRestart(all, _) =
            Journal::open(dir.path(), dir.path(), "refs/worktree/pointer").unwrap().1
        else {
            panic!("not seen")
        };
        assert_eq!(all, vec![(1, record(0)), (2, record(1)), (3, record(2))]);
    }

    #[test]
    fn a_checkpoint_discards_older_records() {
        let dir = edt_testkit::tempdir().unwrap();
        let (mut journal, _) =
            Journal::open(dir.path(), dir.path(), "refs/worktree/pointer").unwrap();
        for n in 0..3 {
            journal.append(&record(n)).unwrap();
        }
        journal.checkpoint().unwrap();
        journal.append(&record(9)).unwrap();
        restarted(dir.path());
        let Pending::AfterRestart(all, _) =
            Journal::open(dir.path(), dir.path(), "refs/worktree/pointer").unwrap().1
        else {
            panic!("not seen")
        };
        assert_eq!(all, vec![(4, record(9))]);
    }

    #[test]
    fn a_torn_record_is_noticed() {
        let dir = edt_testkit::tempdir().unwrap();
        let (mut journal, _) =
            Journal::open(dir.path(), dir.path(), "refs/worktree/pointer").unwrap();
        journal.append(&record(1)).unwrap();
        journal.file.write_all_at(&[0xff], PAGE + RECORD_HEAD as u64).unwrap();
        assert!(matches!(opened(dir.path()).1, Pending::Torn));
    }

    #[test]
    fn an_unknown_journal_is_quarantined() {
        let dir = edt_testkit::tempdir().unwrap();
        std::fs::write(dir.path().join("journal"), b"something else").unwrap();
        let Pending::Quarantined(quarantined) =
            Journal::open(dir.path(), dir.path(), "refs/worktree/pointer").unwrap().1
        else {
            panic!("not seen")
        };
        assert_eq!(std::fs::read(quarantined).unwrap(), b"something else");
    }

    fn opened(directory: &Path) -> (Journal, Pending) {
        Journal::open(directory, directory, "refs/worktree/pointer").unwrap()
    }

    #[test]
    fn a_transaction_that_is_not_closed_blocks_the_next_one_of_the_process() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        assert_eq!(journal.check_closed(), Ok(()));
        journal.append(&record(1)).unwrap();
        assert_eq!(
            journal.check_closed(),
            Err(Finding::new(
                Code::SessionBusy,
                "The previous transaction is not finished yet.",
                "Repeat the call: it finishes the previous transaction first."
            )
            .nothing_changed()
            .into())
        );
        journal.close().unwrap();
        assert_eq!(journal.check_closed(), Ok(()));
    }

    #[test]
    fn records_are_numbered_across_calls_and_checkpoints() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        assert_eq!(journal.append(&record(1)), Ok(1));
        journal.checkpoint().unwrap();
        let mut journal = opened(dir.path()).0;
        assert_eq!(journal.append(&record(2)), Ok(2));
    }

    #[test]
    fn a_full_journal_starts_again_at_the_front() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.tail = journal.size / 4 * 3 + 1;
        journal.make_room().unwrap();
        assert_eq!((journal.tail, journal.epoch), (PAGE, 2));
    }

    #[test]
    fn the_saved_index_stays_until_its_replacement_is_on_disk() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        let saved = dir.path().join("stage/index.before");
        std::fs::create_dir(dir.path().join("stage")).unwrap();
        std::fs::write(&saved, "staged by the user").unwrap();
        let plan = FaultPlan { at: 1, fault: InjectedFault::Crash, torn: false };
        let (done, effects) = with_plan(plan, || journal.checkpoint());
        assert!(done.is_err());
        assert_eq!(effects[0].0, SideEffect::Sync);
        assert!(saved.exists());
        journal.checkpoint().unwrap();
        assert!(!saved.exists());
    }

    #[test]
    fn a_journal_with_room_stays_as_it_is() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.append(&record(1)).unwrap();
        let tail = journal.tail;
        journal.make_room().unwrap();
        assert_eq!((journal.tail, journal.epoch), (tail, 1));
    }

    #[test]
    fn a_record_that_does_not_fit_makes_a_checkpoint_first() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.tail = journal.size - 8;
        journal.append(&Record::Deletion(Vec::new())).unwrap();
        assert_eq!(journal.epoch, 2);
        assert!(matches!(opened(dir.path()).1, Pending::Interrupted(1, Record::Deletion(_))));
    }

    #[test]
    fn a_rollback_is_recorded_beside_its_transaction() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.tail = journal.size - 8;
        journal.append(&record(1)).unwrap();
        assert_eq!(journal.epoch, 1);
        assert!(journal.tail > SIZE && journal.size == journal.tail);
    }

    #[test]
    fn a_damaged_header_counts_as_a_restart() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.append(&record(4)).unwrap();
        journal.close().unwrap();
        journal.file.write_all_at(&[0xff], 20).unwrap();
        let Pending::AfterRestart(all, _) = opened(dir.path()).1 else { panic!("not seen") };
        assert_eq!(all, [(1, record(4))]);
    }

    #[test]
    fn a_journal_of_another_version_is_quarantined() {
        let dir = edt_testkit::tempdir().unwrap();
        let journal = opened(dir.path()).0;
        journal.file.write_all_at(&(VERSION + 1).to_le_bytes(), 8).unwrap();
        let Pending::Quarantined(first) = opened(dir.path()).1 else { panic!("not seen") };
        std::fs::write(dir.path().join("journal"), "x").unwrap();
        let Pending::Quarantined(second) = opened(dir.path()).1 else { panic!("not seen") };
        assert_eq!(
            [first, second],
            ["journal.damaged-1", "journal.damaged-2"].map(|name| dir.path().join(name))
        );
    }

    #[test]
    fn after_a_restart_records_of_an_older_epoch_do_not_count() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        for n in 1..=3 {
            journal.append(&record(n)).unwrap();
        }
        journal.checkpoint().unwrap();
        crate::tests::restart(dir.path());
        let Pending::AfterRestart(all, _) = opened(dir.path()).1 else { panic!("not seen") };
        assert_eq!(all, []);
    }

    #[test]
    fn durability_is_only_raised() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.set_durability(Durability::Full);
        journal.require_durability(Durability::Journal);
        assert_eq!(journal.durability(), Durability::Full);
    }

    #[test]
    fn an_erased_journal_has_no_record_and_takes_new_ones() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.append(&record(7)).unwrap();
        journal.close().unwrap();
        journal.erase().unwrap();
        let bytes = std::fs::read(dir.path().join("journal")).unwrap();
        assert!(bytes[4096..].iter().all(|byte| *byte == 0));
        drop(journal);
        let (mut journal, pending) = opened(dir.path());
        assert!(matches!(pending, Pending::Nothing));
        journal.append(&record(8)).unwrap();
        drop(journal);
        assert!(matches!(opened(dir.path()).1, Pending::Interrupted(..)));
    }

    #[test]
    fn a_lasting_transaction_ends_with_a_checkpoint() {
        let epoch = |durability, lasting| {
            let dir = edt_testkit::tempdir().unwrap();
            let mut journal = opened(dir.path()).0;
            journal.set_durability(durability);
            journal.append(&record(1)).unwrap();
            journal.finish(lasting).unwrap();
            journal.epoch
        };
        assert_eq!(epoch(Durability::Journal, false), 1);
        assert_eq!(epoch(Durability::Journal, true), 2);
        assert_eq!(epoch(Durability::Full, false), 2);
    }
}
