#![no_main]
//! A journal with any record: it is read or refused, what is read is written as it was, and a
//! closed record is not pending.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use edt_journal::Journal;
use edt_journal::journal::Pending;
use edt_journal::record::Record;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static JOURNAL: RefCell<Option<(PathBuf, Vec<u8>)>> = const { RefCell::new(None) };
}

const PAGE: usize = 4096;

/// The directory and the first page of an empty journal.
fn empty() -> (PathBuf, Vec<u8>) {
    JOURNAL.with_borrow_mut(|known| {
        known
            .get_or_insert_with(|| {
                let directory = edt_fuzz::directory("journal");
                drop(Journal::open(&directory, "refs/x", || Ok(())).expect("a new journal"));
                let bytes = fs::read(directory.join("journal")).expect("the journal");
                (directory, bytes[..PAGE].to_vec())
            })
            .clone()
    })
}

/// Checks what a record says of itself.
fn check(record: &Record) {
    let bytes = postcard::to_stdvec(record).expect("a record is encoded");
    assert_eq!(&postcard::from_bytes::<Record>(&bytes).expect("it is decoded"), record);
    let Record::ChangeSet(change) = record else { return };
    let _ = (change.branch.branch(), change.branch.last_moves(), change.branch.left());
    for entry in change.entries.iter().filter_map(|entry| entry.entry()) {
        let again = edt_journal::record::EntryRecord::of(&entry).and_then(|again| again.entry());
        assert!(again.is_some_and(|again| (again.file, again.seen) == (entry.file, entry.seen)));
    }
    for file in &change.files {
        let _ = (file.old_file(), file.new_file());
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((mode, data)) = data.split_first() else { return };
    let (directory, mut bytes) = empty();
    let is_framed = mode % 2 == 0;
    if is_framed {
        let (number, mut crc) = (1_u64.to_le_bytes(), crc32fast::Hasher::new());
        crc.update(&number);
        crc.update(data);
        bytes.extend_from_slice(&0xed7_0ec1_u32.to_le_bytes());
        bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&crc.finalize().to_le_bytes());
        bytes.extend_from_slice(&number);
    }
    bytes.extend_from_slice(data);
    fs::write(directory.join("journal"), &bytes).expect("the journal is written");
    let Ok((mut journal, pending)) = Journal::open(&directory, "refs/x", || Ok(())) else { return };
    if let Pending::Interrupted(record) = &pending {
        check(record);
        assert_eq!(
            postcard::from_bytes::<Record>(data)
                .ok()
                .as_ref()
                .filter(|_| is_framed)
                .unwrap_or(record),
            record
        );
    }
    journal.close().expect("the journal is closed");
    drop(journal);
    let (_, again) = Journal::open(&directory, "refs/x", || Ok(())).expect("it is opened again");
    assert_eq!(again, Pending::Nothing);
});
