//! A block device that remembers every write and every flush: a file in a FUSE file system of one
//! file, below a loop device.
#![allow(clippy::cast_possible_truncation, reason = "the test disk is smaller than 4 GiB")]

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::fuse::{self, LARGEST, Mount, Request, longs};
use crate::rng::Dice;

const BLOCK: usize = 4096;
/// What a disk writes in one piece.
const SECTOR: usize = 512;

/// The blocks of a disk that are not zero.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    size: u64,
    blocks: HashMap<u64, Arc<[u8; BLOCK]>>,
}

impl Blocks {
    pub(super) fn of(path: &Path) -> Blocks {
        let mut file = File::open(path).unwrap();
        let size = file.metadata().unwrap().len();
        let mut disk = Blocks { size, blocks: HashMap::new() };
        let (mut buffer, mut at) = (vec![0; LARGEST as usize], 0_u64);
        loop {
            let got = file.read(&mut buffer).unwrap();
            if got == 0 {
                return disk;
            }
            if buffer[..got].iter().any(|byte| *byte != 0) {
                disk.write(at, &buffer[..got]);
            }
            at += got as u64;
        }
    }

    fn write(&mut self, mut at: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (block, from) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
            let count = bytes.len().min(BLOCK - from);
            let zeros = bytes[..count].iter().all(|byte| *byte == 0);
            if !zeros || self.blocks.contains_key(&block) {
                let kept = self.blocks.entry(block).or_insert_with(|| Arc::new([0; BLOCK]));
                Arc::make_mut(kept)[from..from + count].copy_from_slice(&bytes[..count]);
            }
            at += count as u64;
            bytes = &bytes[count..];
        }
    }

    fn read(&self, at: u64, len: usize) -> Vec<u8> {
        let mut out = vec![0; len.min(self.size.saturating_sub(at) as usize)];
        let mut done = 0;
        while done < out.len() {
            let now = at + done as u64;
            let (block, from) = (now / BLOCK as u64, (now % BLOCK as u64) as usize);
            let count = (out.len() - done).min(BLOCK - from);
            if let Some(bytes) = self.blocks.get(&block) {
                out[done..done + count].copy_from_slice(&bytes[from..from + count]);
            }
            done += count;
        }
        out
    }

    /// Writes a sparse file with these blocks.
    pub(super) fn save(&self, path: &Path) {
        let file = File::create(path).unwrap();
        file.set_len(self.size).unwrap();
        for (block, bytes) in &self.blocks {
            file.write_all_at(&bytes[..], block * BLOCK as u64).unwrap();
        }
    }
}

#[derive(Debug)]
enum Event {
    Write(u64, Vec<u8>),
    Flush,
}

#[derive(Debug, Default)]
struct State {
    now: Blocks,
    log: Vec<Event>,
}

/// How the writes that no flush followed are treated.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keep {
    All,
    None,
    /// Each one or not, and some of them torn at a sector.
    Some,
    /// All but one.
    ButOne,
}

/// The mounted recorder. Dropping it unmounts it.
pub(super) struct Recorder {
    mount: Mount,
    before: Blocks,
    state: Arc<Mutex<State>>,
}

impl Recorder {
    /// Mounts the recorder at `directory`; its file is `disk.img`.
    pub(super) fn mount(directory: &Path, before: &Blocks) -> Option<Recorder> {
        std::fs::create_dir_all(directory).unwrap();
        let state = Arc::new(Mutex::new(State { now: before.clone(), log: Vec::new() }));
        let served = Arc::clone(&state);
        let mount = fuse::mount(directory, "max_read=131072", move |request| {
            answer(&mut served.lock().unwrap(), request)
        });
        Some(Recorder { mount: mount?, before: before.clone(), state })
    }

    pub(super) fn image(&self) -> PathBuf {
        self.mount.0.join("disk.img")
    }

    /// How many writes and flushes there were until now.
    pub(super) fn position(&self) -> usize {
        self.state.lock().unwrap().log.len()
    }

    /// What the disk holds if the power goes after `position` events.
    pub(super) fn cut(&self, position: usize, keep: Keep, dice: &mut Dice) -> Blocks {
        let state = self.state.lock().unwrap();
        let log = &state.log[..position];
        let safe = log.iter().rposition(|event| matches!(event, Event::Flush)).unwrap_or(0);
        let mut disk = self.before.clone();
        let pending = log.len() - safe;
        let lost = if pending > 0 { safe + dice.roll(pending as u64) as usize } else { position };
        for (n, event) in log.iter().enumerate() {
            let Event::Write(at, bytes) = event else { continue };
            let kept = match keep {
                _ if n < safe => bytes.len(),
                Keep::All => bytes.len(),
                Keep::None => 0,
                Keep::ButOne => {
                    if n == lost {
                        0
                    } else {
                        bytes.len()
                    }
                }
                Keep::Some => match dice.roll(8) {
                    0..4 => bytes.len(),
                    4..7 => 0,
                    _ => dice.roll((bytes.len() / SECTOR) as u64 + 1) as usize * SECTOR,
                },
            };
            disk.write(*at, &bytes[..kept]);
        }
        disk
    }

    /// Counts for the last line: writes, flushes.
    pub(super) fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for event in &self.state.lock().unwrap().log {
            let name = if matches!(event, Event::Flush) { "flushes" } else { "writes" };
            *counts.entry(name).or_default() += 1;
        }
        counts
    }
}

fn answer(state: &mut State, request: &Request<'_>) -> io::Result<Vec<u8>> {
    Ok(match request.opcode {
        1 if request.body.starts_with(b"disk.img\0") => {
            let mut out = longs(&[2, 0, 3600, 3600, 0]);
            out.extend(attributes(2, state.now.size));
            out
        }
        // ENOENT.
        1 => return Err(io::Error::from_raw_os_error(2)),
        3 | 4 => {
            let mut out = longs(&[3600, 0]);
            out.extend(attributes(request.node, state.now.size));
            out
        }
        14 | 27 => longs(&[0, 0]),
        15 => state.now.read(request.long(8), request.word(16) as usize),
        16 => {
            let (at, size) = (request.long(8), request.word(16));
            let bytes = &request.body[40..40 + size as usize];
            state.now.write(at, bytes);
            state.log.push(Event::Write(at, bytes.to_vec()));
            longs(&[u64::from(size)])
        }
        20 => {
            state.log.push(Event::Flush);
            Vec::new()
        }
        17 => longs(&[1 << 20, 1 << 19, 1 << 19, 16, 8, 4096 | 255 << 32, 4096, 0, 0, 0]),
        2 | 18 | 25 | 28 | 29 | 34 | 36 | 42 => Vec::new(),
        _ => return fuse::unknown(),
    })
}

fn attributes(node: u64, size: u64) -> Vec<u8> {
    let file = node == 2;
    let mut out = longs(&[node, if file { size } else { 0 }, size / 512, 0, 0, 0]);
    for value in [0, 0, 0, if file { 0o100_600 } else { 0o040_755 }, 1, 0, 0, 0, 4096, 0_u32] {
        out.extend(value.to_le_bytes());
    }
    out
}
