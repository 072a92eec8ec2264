//! The journal of a worktree: a header, and one record of the transaction that is open.
//!
//! The record is on stable storage before anything visible changes. The header says which number
//! comes next, so that a record with that number is open. Each record overwrites the one before it,
//! which was closed, so that nothing depends on it.

use std::path::{Path, PathBuf};

use super::record::{Record, VERSION};
use edt_io::file::{self, File, OpenMode};
use edt_io::{failed, fs};
use edt_types::{Code, Durability, Finding, Result};

const MAGIC: &[u8; 8] = b"edt-jrnl";
/// The offset of the record.
const PAGE: u64 = 4096;
/// The size of the header: magic, version, the number of the next record, CRC-32 of these, and
/// [`Journal::program_announced`].
const HEADER: usize = 32;
/// The length of what the header's checksum covers.
const CHECKED: usize = 20;
/// The offset in the header of [`Journal::program_announced`].
const PROGRAM_ANNOUNCED: usize = 24;
/// The size of the file when it is made, in bytes. A larger record makes it longer.
const SIZE: usize = 64 * 1024;
/// Zeros are written over a record that is longer than this, in bytes, by shortening the file.
const LARGE: u64 = 1024 * 1024;
const RECORD_MAGIC: u32 = 0xed7_0ec1;
/// The size of a record's head: magic, length of the payload, CRC-32 of the rest, number.
const RECORD_HEAD: usize = 4 + 4 + 4 + 8;

/// An open journal. The caller holds the worktree's lock.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// The number of the next record.
    next: u64,
    /// Whether a record was appended and not closed.
    open: bool,
    program_announced: bool,
    durability: Durability,
    pointer: &'static str,
}

/// What an opened journal says of the last call.
#[derive(Debug, PartialEq)]
pub enum Pending {
    /// It ended.
    Nothing,
    /// It was interrupted after this record was on stable storage.
    Interrupted(Record),
    /// The file was not a journal that this version can read. It was renamed to this path.
    Quarantined(PathBuf),
    /// There was no journal: no record names what an interrupted call left.
    Missing,
    /// The record is damaged. A call that was interrupted while it wrote the record has changed
    /// nothing else.
    Torn,
}

/// What is at the place of the record.
enum Found {
    Nothing,
    Torn(u64),
    Record(u64, Record),
}

impl Journal {
    /// Opens the journal in `directory`, creating it if missing. `pointer`: see
    /// [`Journal::pointer`]. `before_new` runs before a new journal has its name.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`, those of `before_new`.
    pub fn open(
        directory: &Path,
        pointer: &'static str,
        before_new: impl FnOnce() -> Result<()>,
    ) -> Result<(Journal, Pending)> {
        let path = directory.join("journal");
        let file = match File::open(&path, OpenMode::Existing) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                before_new()?;
                return Ok((Journal::make(&path, pointer)?, Pending::Missing));
            }
            Err(error) => return Err(failed("open the journal", &path, &error).into()),
        };
        let Some(head) = header(&file)? else {
            let quarantined = quarantine(&path)?;
            before_new()?;
            return Ok((Journal::make(&path, pointer)?, Pending::Quarantined(quarantined)));
        };
        let found = found(&file)?;
        // A damaged header does not say that the record is closed.
        let next = next(&head).unwrap_or(match &found {
            Found::Record(number, _) | Found::Torn(number) => *number,
            Found::Nothing => 1,
        });
        let mut journal = Journal {
            file,
            path,
            next,
            open: false,
            program_announced: head[PROGRAM_ANNOUNCED] != 0,
            durability: Durability::default(),
            pointer,
        };
        let pending = match found {
            Found::Record(number, record) if number >= next => {
                journal.next = number.saturating_add(1);
                journal.open = true;
                Pending::Interrupted(record)
            }
            Found::Torn(number) if number >= next => {
                journal.next = number.saturating_add(1);
                Pending::Torn
            }
            _ => Pending::Nothing,
        };
        Ok((journal, pending))
    }

    /// Writes `record` over the last one, on stable storage if durability asks for that.
    ///
    /// # Errors
    /// `IO_ERROR`: the record then counts as torn.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let payload = postcard::to_stdvec(record).map_err(|error| internal(&error.to_string()))?;
        let length = u32::try_from(payload.len()).map_err(|error| internal(&error.to_string()))?;
        let mut bytes = Vec::with_capacity(RECORD_HEAD + payload.len());
        bytes.extend_from_slice(&RECORD_MAGIC.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.next.to_le_bytes());
        bytes.extend_from_slice(&payload);
        let crc = crc32fast::hash(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        self.open = true;
        self.next += 1;
        let written = self.file.write_all_at(&bytes, PAGE).and_then(|()| self.sync());
        written.map_err(|error| failed("write the journal", &self.path, &error).into())
    }

    /// Marks the record as done, on stable storage if durability asks for that. What the record
    /// describes must be there before.
    ///
    /// # Errors
    /// `IO_ERROR`: the next call recovers the transaction again, to the same state.
    pub fn close(&mut self) -> Result<()> {
        self.close_later()?;
        Ok(self.sync().map_err(|error| failed("write the journal", &self.path, &error))?)
    }

    /// As [`close`](Journal::close), without waiting: a power failure may open the record again.
    ///
    /// # Errors
    /// As [`close`](Journal::close).
    pub fn close_later(&mut self) -> Result<()> {
        let fail = |error: std::io::Error| failed("write the journal", &self.path, &error);
        let head = header_bytes(self.next, self.program_announced);
        self.file.write_all_at(&head, 0).map_err(fail)?;
        self.open = false;
        if self.file.len().map_err(fail)? > LARGE {
            self.file.truncate(SIZE as u64).map_err(fail)?;
        }
        Ok(())
    }

    /// The inode of the journal. A record with another one was copied with its repository.
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

    fn sync(&self) -> std::io::Result<()> {
        if self.durability == Durability::Off { Ok(()) } else { self.file.sync_data() }
    }

    fn make(path: &Path, pointer: &'static str) -> Result<Journal> {
        let fail = |error: std::io::Error| failed("make the journal", path, &error);
        let fresh = path.with_extension("new");
        // Records have names that only the user may read.
        let file = File::open(&fresh, OpenMode::PrivateTruncated).map_err(fail)?;
        // Written, not only reserved, so that later syncs write data alone.
        let mut bytes = vec![0; SIZE];
        bytes[..HEADER].copy_from_slice(&header_bytes(1, false));
        file.write_all_at(&bytes, 0).map_err(fail)?;
        file.sync_all().map_err(fail)?;
        fs::rename(&fresh, path).map_err(fail)?;
        // Nothing in the journal is durable until the entries of its directory and of the parents
        // are.
        let above = path.ancestors().skip(1).take(4);
        above.into_iter().try_for_each(file::sync).map_err(fail)?;
        Ok(Journal {
            file,
            path: path.to_owned(),
            next: 1,
            open: false,
            program_announced: false,
            durability: Durability::default(),
            pointer,
        })
    }
}

/// Whether the journal in `directory` has an open record. `None` if there is no journal that this
/// version can read.
pub(super) fn has_open_record(directory: &Path) -> Option<bool> {
    let file = File::open(&directory.join("journal"), OpenMode::ReadOnly).ok()?;
    let head = header(&file).ok()??;
    let mut record = [0; RECORD_HEAD];
    let is_record =
        file.read_exact_at(&mut record, PAGE).is_ok() && u32_at(&record, 0) == RECORD_MAGIC;
    Some(is_record && next(&head).is_none_or(|next| u64_at(&record, 12) >= next))
}

/// The header; `None` if this is not a journal of this version.
fn header(file: &File) -> Result<Option<[u8; HEADER]>> {
    let mut head = [0; HEADER];
    let read = file
        .read_at(&mut head, 0)
        .map_err(|error| failed("read the journal", file.path(), &error))?;
    Ok((read == HEADER && &head[..8] == MAGIC && u32_at(&head, 8) == VERSION).then_some(head))
}

/// The number of the next record; `None` if the header is damaged.
fn next(head: &[u8; HEADER]) -> Option<u64> {
    (crc32fast::hash(&head[..CHECKED]) == u32_at(head, CHECKED)).then(|| u64_at(head, 12))
}

fn header_bytes(next: u64, program_announced: bool) -> [u8; HEADER] {
    let mut head = [0; HEADER];
    head[..8].copy_from_slice(MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..20].copy_from_slice(&next.to_le_bytes());
    let crc = crc32fast::hash(&head[..CHECKED]);
    head[CHECKED..CHECKED + 4].copy_from_slice(&crc.to_le_bytes());
    head[PROGRAM_ANNOUNCED] = u8::from(program_announced);
    head
}

fn found(file: &File) -> Result<Found> {
    let fail = |error: std::io::Error| failed("read the journal", file.path(), &error);
    let size = file.len().map_err(fail)?;
    let mut head = [0; RECORD_HEAD];
    if PAGE + RECORD_HEAD as u64 > size {
        return Ok(Found::Nothing);
    }
    file.read_exact_at(&mut head, PAGE).map_err(fail)?;
    if u32_at(&head, 0) != RECORD_MAGIC {
        return Ok(Found::Nothing);
    }
    let (length, number) = (u32_at(&head, 4), u64_at(&head, 12));
    let start = PAGE + RECORD_HEAD as u64;
    if start + u64::from(length) > size {
        return Ok(Found::Torn(number));
    }
    let mut payload = vec![0; length as usize];
    file.read_exact_at(&mut payload, start).map_err(fail)?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&head[12..]);
    crc.update(&payload);
    if crc.finalize() != u32_at(&head, 8) {
        return Ok(Found::Torn(number));
    }
    let record = postcard::from_bytes(&payload).map_err(|error| internal(&error.to_string()))?;
    Ok(Found::Record(number, record))
}

fn quarantine(path: &Path) -> Result<PathBuf> {
    let free =
        (1..1000).map(|n| path.with_extension(format!("damaged-{n}"))).find(|path| !path.exists());
    let quarantined = free.unwrap_or_else(|| path.with_extension("damaged"));
    fs::rename(path, &quarantined)
        .map_err(|error| failed("rename the unreadable journal", path, &error))?;
    Ok(quarantined)
}

fn internal(why: &str) -> Finding {
    Finding::new(
        Code::Internal,
        format!("A journal record could not be encoded or decoded: {why}."),
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
    use super::*;
    use crate::record::Id;
    use edt_git::Oid;

    fn record(n: u8) -> Record {
        Record::Deletion(vec![("refs/x".to_owned(), Id::from(Oid::from_bytes_or_panic(&[n; 20])))])
    }

    fn opened(directory: &Path) -> (Journal, Pending) {
        Journal::open(directory, "refs/worktree/pointer", || Ok(())).unwrap()
    }

    #[test]
    fn only_the_owner_may_read_the_journal() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = edt_testkit::tempdir().unwrap();
        opened(dir.path());
        let mode = dir.path().join("journal").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_open_record_is_pending_and_a_closed_one_is_not() {
        let dir = edt_testkit::tempdir().unwrap();
        let (mut journal, pending) = opened(dir.path());
        assert_eq!((pending, has_open_record(dir.path())), (Pending::Missing, Some(false)));
        for n in 1..3 {
            journal.append(&record(n)).unwrap();
            assert_eq!(has_open_record(dir.path()), Some(true));
            let (reopened, pending) = opened(dir.path());
            assert_eq!(pending, Pending::Interrupted(record(n)));
            journal = reopened;
            journal.close().unwrap();
            assert_eq!(has_open_record(dir.path()), Some(false));
            assert_eq!(opened(dir.path()).1, Pending::Nothing);
        }
    }

    #[test]
    fn a_torn_record_is_noticed_until_the_journal_is_closed() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.append(&record(1)).unwrap();
        journal.file.write_all_at(&[0xff], PAGE + RECORD_HEAD as u64).unwrap();
        let (mut journal, pending) = opened(dir.path());
        assert_eq!(pending, Pending::Torn);
        journal.close().unwrap();
        assert_eq!(opened(dir.path()).1, Pending::Nothing);
    }

    /// A power failure tore the record that was written over a closed one.
    #[test]
    fn a_record_that_is_torn_over_a_closed_one_is_the_torn_one() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.append(&record(1)).unwrap();
        journal.close().unwrap();
        let first = std::fs::read(dir.path().join("journal")).unwrap();
        journal.append(&record(2)).unwrap();
        let mut torn = std::fs::read(dir.path().join("journal")).unwrap();
        let payload = usize::try_from(PAGE).unwrap() + RECORD_HEAD;
        torn[payload..].copy_from_slice(&first[payload..]);
        std::fs::write(dir.path().join("journal"), torn).unwrap();
        assert_eq!(opened(dir.path()).1, Pending::Torn);
        std::fs::write(dir.path().join("journal"), first).unwrap();
        assert_eq!(opened(dir.path()).1, Pending::Nothing);
    }

    #[test]
    fn a_damaged_header_closes_no_record() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.append(&record(1)).unwrap();
        journal.close().unwrap();
        journal.file.write_all_at(&[0xff], 12).unwrap();
        let (mut journal, pending) = opened(dir.path());
        assert_eq!(pending, Pending::Interrupted(record(1)));
        journal.close().unwrap();
        assert_eq!(opened(dir.path()).1, Pending::Nothing);
    }

    #[test]
    fn another_file_and_another_version_are_quarantined() {
        for text in [&b"something else"[..], b"edt-jrnl\x01\0\0\0 and more than thirty-two bytes"] {
            let dir = edt_testkit::tempdir().unwrap();
            std::fs::write(dir.path().join("journal"), text).unwrap();
            let Pending::Quarantined(quarantined) = opened(dir.path()).1 else {
                panic!("not seen")
            };
            assert_eq!(std::fs::read(quarantined).unwrap(), text);
            assert_eq!(opened(dir.path()).1, Pending::Nothing);
        }
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
    fn a_large_record_leaves_no_large_journal() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        let refs = vec![("x".repeat(2 << 20), Id::from(Oid::from_bytes_or_panic(&[1; 20])))];
        journal.append(&Record::Deletion(refs)).unwrap();
        journal.close().unwrap();
        assert_eq!(dir.path().join("journal").metadata().unwrap().len(), SIZE as u64);
        journal.append(&record(2)).unwrap();
        assert_eq!(opened(dir.path()).1, Pending::Interrupted(record(2)));
    }

    #[test]
    fn durability_is_only_raised() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.require_durability(Durability::Off);
        assert_eq!(journal.durability(), Durability::On);
        journal.set_durability(Durability::Off);
        journal.require_durability(Durability::On);
        assert_eq!(journal.durability(), Durability::On);
    }

    #[test]
    fn the_announcement_of_a_program_outlives_the_call() {
        let dir = edt_testkit::tempdir().unwrap();
        let mut journal = opened(dir.path()).0;
        journal.set_program_announced(true);
        let mut journal = opened(dir.path()).0;
        assert!(journal.program_announced());
        journal.append(&record(1)).unwrap();
        journal.close().unwrap();
        assert!(opened(dir.path()).0.program_announced());
    }
}
