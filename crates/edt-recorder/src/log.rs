//! The log of one run: a file to which each event is appended. A torn last event is ignored.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use crate::event::{FileEvent, VERSION};

/// The name of the log in the store.
pub(crate) const LOG: &str = "log";
/// Length and checksum before each event.
const HEADER: usize = 8;

/// A log that is written.
#[derive(Debug)]
pub(crate) struct EventLog {
    file: File,
    /// The number of the next event.
    next: u64,
    buffer: Vec<u8>,
}

impl EventLog {
    pub(crate) fn create(store: &Path) -> io::Result<EventLog> {
        let mut options = File::options();
        let file = options.append(true).create_new(true).open(store.join(LOG))?;
        Ok(EventLog { file, next: 0, buffer: Vec::new() })
    }

    /// Appends `event` with one call of the kernel. Returns its number.
    pub(crate) fn append(&mut self, event: &FileEvent) -> io::Result<u64> {
        self.buffer.clear();
        self.buffer.extend_from_slice(&[0; HEADER]);
        let mut bytes = std::mem::take(&mut self.buffer);
        bytes = postcard::to_extend(event, bytes).map_err(io::Error::other)?;
        let (header, body) = bytes.split_at_mut(HEADER);
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        header[..4].copy_from_slice(&length.to_le_bytes());
        header[4..].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
        let written = self.file.write_all(&bytes);
        self.buffer = bytes;
        written?;
        self.next += 1;
        Ok(self.next - 1)
    }
}

/// The events of the log in `store` up to the first that is torn.
pub(crate) fn read(store: &Path) -> io::Result<Vec<FileEvent>> {
    let mut bytes = Vec::new();
    File::open(store.join(LOG))?.read_to_end(&mut bytes)?;
    let events = parse(&bytes);
    match events.first() {
        Some(FileEvent::Start { version: VERSION, .. }) => Ok(events),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the log has another format")),
    }
}

fn parse(mut bytes: &[u8]) -> Vec<FileEvent> {
    let mut events = Vec::new();
    while let Some((event, rest)) = next(bytes) {
        events.push(event);
        bytes = rest;
    }
    events
}

fn next(bytes: &[u8]) -> Option<(FileEvent, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let number = |at: usize| header[at..at + 4].try_into().map(u32::from_le_bytes).ok();
    let (body, rest) = rest.split_at_checked(number(0)? as usize)?;
    if crc32fast::hash(body) != number(4)? {
        return None;
    }
    Some((postcard::from_bytes(body).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Inode, Place};

    fn events() -> Vec<FileEvent> {
        let made = |name: &str| FileEvent::Made {
            place: Place::Tree(name.into()),
            node: crate::event::NewNode::File,
            inode: Some(Inode::default()),
        };
        let start = FileEvent::Start { version: VERSION, root: Inode::default() };
        vec![start, made("a"), made("b"), FileEvent::End]
    }

    #[test]
    fn a_log_is_read_as_it_was_written() {
        let store = tempfile::tempdir().unwrap();
        let mut log = EventLog::create(store.path()).unwrap();
        let numbers: Vec<u64> = events().iter().map(|one| log.append(one).unwrap()).collect();
        assert_eq!((numbers, read(store.path()).unwrap()), (vec![0, 1, 2, 3], events()));
    }

    #[test]
    fn a_torn_event_ends_the_log() {
        let store = tempfile::tempdir().unwrap();
        let mut log = EventLog::create(store.path()).unwrap();
        for one in &events() {
            log.append(one).unwrap();
        }
        let bytes = std::fs::read(store.path().join(LOG)).unwrap();
        let mut most = 0;
        for length in 0..bytes.len() {
            let found = parse(&bytes[..length]);
            assert_eq!(found[..], events()[..found.len()], "{length}");
            most = most.max(found.len());
        }
        assert_eq!(most, events().len() - 1);
        let mut flipped = bytes;
        let last = flipped.len() - 1;
        flipped[last] ^= 1;
        assert_eq!(parse(&flipped).len(), events().len() - 1);
    }
}
