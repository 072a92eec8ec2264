//! The journal file: preallocated, appended, synced once a transaction; reused from the front after a checkpoint.
//!
//! Page 0 holds the header: which epoch runs, where the next record goes, in which boot it was written. The header is a hint
//! that is never synced on its own. Within one boot the page cache makes it exact; after a restart of the machine it is not
//! believed, and every record of the epoch counts. A record is `magic, length, crc32, epoch, number, payload`; one that is
//! torn was never answered.

use std::path::{Path, PathBuf};

use super::record::{Record, VERSION};
use super::spare;
use crate::base::{Code, Durability, Finding, Result};
use crate::io::clock::boot_id;
use crate::io::disk::Dir;
use crate::io::file::{self, File, Open};
use crate::io::{failed, whole};

const MAGIC: &[u8; 8] = b"edt-jrnl";
const RECORD_MAGIC: u32 = 0xed7_0ec0;
const PAGE: u64 = 4096;
const RECORD_HEAD: usize = 4 + 4 + 4 + 8 + 8;
/// Size it is made with, in bytes: about a thousand ordinary edits between two checkpoints.
const SIZE: u64 = 4 * 1024 * 1024;

/// An open journal, under the worktree's lock.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    epoch: u64,
    /// Where the next record goes.
    tail: u64,
    /// Its number.
    next: u64,
    boot: Option<[u8; 16]>,
    size: u64,
    /// Whether a record was appended and not closed.
    open: bool,
    /// What is waited for.
    durability: Durability,
    /// The worktree's root: its file system holds what the records speak of, too.
    root: PathBuf,
}

/// What an opened journal still holds.
#[derive(Debug)]
pub enum Pending {
    /// Everything was closed.
    Nothing,
    /// A transaction was interrupted in this boot.
    Open(u64, Record),
    /// The machine was restarted: what was closed may be lost from disk, too.
    AfterRestart(Vec<(u64, Record)>),
    /// The file was not a journal that this edt can read; it was set aside under this name.
    SetAside(PathBuf),
}

impl Journal {
    /// Opens the journal in `folder` of the worktree at `root`, making it if needed.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn open(folder: &Path, root: &Path) -> Result<(Journal, Pending)> {
        let path = folder.join("journal");
        let boot = boot_id();
        let file = match File::open(&path, Open::There) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok((Journal::make(&path, root, boot)?, Pending::Nothing));
            }
            Err(error) => return Err(failed("open the journal", &path, &error).into()),
        };
        let mut head = [0; 64];
        let read = file
            .read_at(&mut head, 0)
            .map_err(|error| failed("read the journal", &path, &error))?;
        if read < head.len() || &head[..8] != MAGIC || u32_at(&head, 8) != VERSION {
            let aside = set_aside(&path)?;
            return Ok((Journal::make(&path, root, boot)?, Pending::SetAside(aside)));
        }
        let size = file.len().map_err(|error| failed("read the journal", &path, &error))?;
        let sound = crc32fast::hash(&head[..52]) == u32_at(&head, 52);
        let mut journal = Journal {
            file,
            path,
            epoch: u64_at(&head, 12),
            tail: u64_at(&head, 20),
            next: u64_at(&head, 28),
            boot,
            size,
            open: false,
            durability: Durability::default(),
            root: root.to_owned(),
        };
        // Where the system does not tell the boot, no restart can be seen: the header is believed.
        let same_boot = sound && boot.as_ref().is_none_or(|boot| boot.as_slice() == &head[36..52]);
        if same_boot {
            let pending = match journal.read(journal.tail)? {
                Some((epoch, number, record, end))
                    if (epoch, number) == (journal.epoch, journal.next) =>
                {
                    journal.tail = end;
                    journal.next += 1;
                    Pending::Open(number, record)
                }
                _ => Pending::Nothing,
            };
            return Ok((journal, pending));
        }
        let (all, epoch) = journal.read_all(if sound { journal.epoch } else { 0 })?;
        journal.epoch = epoch;
        journal.next = all.last().map_or(journal.next, |(number, _)| number + 1);
        Ok((journal, Pending::AfterRestart(all)))
    }

    /// Appends `record` and waits until it is on the medium; returns its number.
    ///
    /// # Errors
    /// `IO_ERROR`: the record then counts as torn.
    pub fn append(&mut self, record: &Record) -> Result<u64> {
        let payload = postcard::to_stdvec(record).map_err(|error| internal(&error.to_string()))?;
        let needed = (RECORD_HEAD + payload.len()) as u64;
        if self.tail + needed > self.size && self.tail > PAGE {
            self.checkpoint()?;
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

    /// Waits from now on for at least as much as `level` says.
    pub fn heed(&mut self, level: Durability) {
        self.durability = self.durability.max(level);
    }

    /// What is waited for.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Waits from now on for as much as `level` says.
    pub fn set_durability(&mut self, level: Durability) {
        self.durability = level;
    }

    /// Says that everything appended so far is done. If `lasting`, or where that is asked for, it is on the medium then.
    ///
    /// # Errors
    /// `IO_ERROR`: the next call settles it again, to the same state.
    pub fn finish(&mut self, lasting: bool) -> Result<()> {
        match self.durability {
            Durability::Full => self.checkpoint(),
            // At every level: they are rare, and what they leave could not be told from what a person did.
            _ if lasting => self.checkpoint(),
            Durability::Off | Durability::Journal => self.close(),
        }
    }

    /// Says that everything appended so far is done.
    ///
    /// # Errors
    /// `IO_ERROR`: the next call settles it again, to the same state.
    pub fn close(&mut self) -> Result<()> {
        let mut head = Vec::with_capacity(64);
        head.extend_from_slice(MAGIC);
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&self.epoch.to_le_bytes());
        head.extend_from_slice(&self.tail.to_le_bytes());
        head.extend_from_slice(&self.next.to_le_bytes());
        head.extend_from_slice(&self.boot.unwrap_or_default());
        head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
        head.resize(64, 0);
        self.file
            .write_all_at(&head, 0)
            .map_err(|error| failed("write the journal", &self.path, &error))?;
        self.open = false;
        Ok(())
    }

    /// Checks that nothing is unfinished in this process.
    ///
    /// # Errors
    /// `SESSION_BUSY` if something is; the next call settles it.
    pub fn check_closed(&self) -> Result<()> {
        if !self.open {
            return Ok(());
        }
        let message = "The transaction before this one is not finished yet. Nothing was changed.";
        Err(Finding::new(
            Code::SessionBusy,
            message,
            "Repeat the call: it finishes the other one first.",
        )
        .into())
    }

    /// Starts again at the front if little room is left. Before anything is staged: a checkpoint forgets which index was edt's own.
    ///
    /// # Errors
    /// `IO_ERROR`: the journal is then as it was.
    pub fn make_room(&mut self) -> Result<()> {
        if self.tail > self.size / 4 * 3 { self.checkpoint() } else { Ok(()) }
    }

    /// Makes everything older durable, then starts again at the front.
    ///
    /// # Errors
    /// `IO_ERROR`: the journal is then as it was.
    pub fn checkpoint(&mut self) -> Result<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        spare::forget(folder).map_err(|error| failed("clear", folder, &error))?;
        for folder in [self.path.parent().unwrap_or(&self.path), &self.root] {
            let synced = Dir::open(folder).and_then(|dir| dir.sync_file_system());
            synced.map_err(|error| failed("sync", folder, &error))?;
        }
        self.epoch += 1;
        self.tail = PAGE;
        self.close()
    }

    fn make(path: &Path, root: &Path, boot: Option<[u8; 16]>) -> Result<Journal> {
        let fail = |error: std::io::Error| failed("make the journal", path, &error);
        let fresh = path.with_extension("new");
        let file = File::open(&fresh, Open::Emptied).map_err(fail)?;
        // Written, not only reserved: later syncs then move data alone.
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
            durability: Durability::default(),
            root: root.to_owned(),
        };
        journal.close()?;
        journal.file.sync_all().map_err(fail)?;
        whole::rename(&fresh, path).map_err(fail)?;
        // Until the entries of the folder and of those above it are durable, so is nothing the journal says.
        let above = path.ancestors().skip(1).take(4);
        above.into_iter().try_for_each(file::sync).map_err(fail)?;
        Ok(journal)
    }

    /// The whole record at `at`, and where it ends; `None` if there is none, or a torn one.
    fn read(&self, at: u64) -> Result<Option<(u64, u64, Record, u64)>> {
        let fail = |error: std::io::Error| failed("read the journal", &self.path, &error);
        if at + RECORD_HEAD as u64 > self.size {
            return Ok(None);
        }
        let mut head = [0; RECORD_HEAD];
        self.file.read_exact_at(&mut head, at).map_err(fail)?;
        let len = u32_at(&head, 4);
        let end = at + RECORD_HEAD as u64 + u64::from(len);
        if u32_at(&head, 0) != RECORD_MAGIC || end > self.size {
            return Ok(None);
        }
        let mut payload = vec![0; len as usize];
        self.file.read_exact_at(&mut payload, at + RECORD_HEAD as u64).map_err(fail)?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head[12..]);
        crc.update(&payload);
        if crc.finalize() != u32_at(&head, 8) {
            return Ok(None);
        }
        let record =
            postcard::from_bytes(&payload).map_err(|error| internal(&error.to_string()))?;
        Ok(Some((u64_at(&head, 12), u64_at(&head, 20), record, end)))
    }

    /// Every record of the running epoch, which is at least `epoch`.
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

fn set_aside(path: &Path) -> Result<PathBuf> {
    let free =
        (1..1000).map(|n| path.with_extension(format!("damaged-{n}"))).find(|path| !path.exists());
    let aside = free.unwrap_or_else(|| path.with_extension("damaged"));
    whole::rename(path, &aside).map_err(|error| failed("set aside the journal", path, &error))?;
    Ok(aside)
}

fn internal(why: &str) -> Finding {
    Finding::new(
        Code::Internal,
        format!("A journal record could not be coded: {why}."),
        "Report this message.",
    )
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |n, b| n << 8 | u32::from(*b))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    fn record(n: u64) -> Record {
        Record::TakenBack(n)
    }

    fn restarted(path: &Path) {
        let file = std::fs::File::options().write(true).open(path.join("journal")).unwrap();
        file.write_all_at(&[0xaa; 16], 36).unwrap();
    }

    #[test]
    fn what_is_open_is_found_and_what_is_closed_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(dir.path(), dir.path()).unwrap();
        journal.append(&record(7)).unwrap();
        let (mut journal, pending) = Journal::open(dir.path(), dir.path()).unwrap();
        assert!(matches!(pending, Pending::Open(1, Record::TakenBack(7))), "{pending:?}");
        journal.close().unwrap();
        assert!(matches!(Journal::open(dir.path(), dir.path()).unwrap().1, Pending::Nothing));
    }

    #[test]
    fn after_a_restart_every_record_of_the_epoch_counts() {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(dir.path(), dir.path()).unwrap();
        for n in 0..3 {
            journal.append(&record(n)).unwrap();
            journal.close().unwrap();
        }
        restarted(dir.path());
        let Pending::AfterRestart(all) = Journal::open(dir.path(), dir.path()).unwrap().1 else {
            panic!("not seen")
        };
        assert_eq!(all, vec![(1, record(0)), (2, record(1)), (3, record(2))]);
    }

    #[test]
    fn a_checkpoint_forgets_what_was_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(dir.path(), dir.path()).unwrap();
        for n in 0..3 {
            journal.append(&record(n)).unwrap();
        }
        journal.checkpoint().unwrap();
        journal.append(&record(9)).unwrap();
        restarted(dir.path());
        let Pending::AfterRestart(all) = Journal::open(dir.path(), dir.path()).unwrap().1 else {
            panic!("not seen")
        };
        assert_eq!(all, vec![(4, record(9))]);
    }

    #[test]
    fn a_torn_record_was_never_answered() {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(dir.path(), dir.path()).unwrap();
        journal.append(&record(1)).unwrap();
        journal.file.write_all_at(&[0xff], PAGE + RECORD_HEAD as u64).unwrap();
        assert!(matches!(Journal::open(dir.path(), dir.path()).unwrap().1, Pending::Nothing));
    }

    #[test]
    fn what_is_not_a_journal_is_set_aside_not_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("journal"), b"something else").unwrap();
        let Pending::SetAside(aside) = Journal::open(dir.path(), dir.path()).unwrap().1 else {
            panic!("not seen")
        };
        assert_eq!(std::fs::read(aside).unwrap(), b"something else");
    }
}
