//! The spool: lines of OTLP JSON in files below `<git-common-dir>/edt/telemetry`. All files may be
//! deleted at any time.
//!
//! New lines go to the file `spool`. A process that sends it, or finds it full, renames it to
//! `spool-<time>-<process>`. A line is appended under a shared lock, by one write, to a file that
//! is still named `spool`. A renamed file is read, sent and removed under an exclusive lock, which
//! ends with its process. So processes do not interleave lines, a flush loses no line, and two
//! flushes never send the same line. If a flush is killed between sending and removing, its lines
//! are sent again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use edt_io::file::{File, OpenMode};
use edt_io::{clock, fs, lock};

/// The size in bytes at which `spool` is renamed.
const MAX_FILE: u64 = 4 << 20;
/// The maximum size of all files, in bytes; the oldest are removed first.
const MAX_TOTAL: u64 = 16 << 20;
/// The wait for a process that is appending a line.
const WRITE_WAIT: Duration = Duration::from_millis(50);
/// The wait for the lock of the counts.
const COUNTS_WAIT: Duration = Duration::from_secs(1);

/// The directory of the spool.
#[must_use]
pub(crate) fn directory(common_dir: &Path) -> PathBuf {
    common_dir.join("edt/telemetry")
}

/// The results of sending, counted since the directory was created.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    /// Spans that a collector accepted.
    pub sent: u64,
    /// Spans that a collector rejected.
    pub rejected: u64,
    /// Spans that were dropped because the spool was full.
    pub dropped: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// The last error of sending; `None` after a success.
    pub error: Option<String>,
}

/// An exclusively locked file of spans. Dropping it releases the lock.
#[derive(Debug)]
#[must_use = "the claim ends with this value"]
pub(crate) struct Claim {
    path: PathBuf,
    _file: File,
}

/// Appends one line. After an error readers ignore what was written of it.
///
/// # Errors
/// The system's error.
pub(crate) fn append(directory: &Path, line: &[u8]) -> io::Result<()> {
    let path = directory.join("spool");
    // A full disk may have cut an earlier line, so begin a new one.
    let line = [b"\n", line, b"\n"].concat();
    for _ in 0..16 {
        let file = match File::open(&path, OpenMode::AppendOrCreate) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::make_dir(directory)?;
                continue;
            }
            opened => opened?,
        };
        // Another process is renaming the file: try again with the new one.
        if !lock::try_shared(&file) || !file.is_at(&path) {
            continue;
        }
        if file.len()? >= MAX_FILE {
            drop(file);
            rotate(directory)?;
            make_room(directory);
            continue;
        }
        return file.write_all(&line);
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Renames `spool`, so that it can be claimed.
fn rotate(directory: &Path) -> io::Result<()> {
    let since = clock::system().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let name = format!("spool-{since:020}-{}", clock::process_id());
    match fs::rename(&directory.join("spool"), &directory.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Removes the oldest files until one more file fits.
fn make_room(directory: &Path) {
    let files = renamed(directory);
    let mut bytes: u64 = files.iter().filter_map(|file| fs::size(file)).sum();
    for file in files {
        if bytes + MAX_FILE <= MAX_TOTAL {
            return;
        }
        let size = fs::size(&file).unwrap_or_default();
        if let Some(claim) = Claim::take(&file) {
            let spans =
                claim.lines().map_or(0, |lines| lines.iter().map(|line| spans_in(line)).sum());
            if claim.remove().is_ok() {
                count(directory, |counts| counts.dropped += spans);
                bytes = bytes.saturating_sub(size);
            }
        }
    }
}

/// The number of spans in a line, counted without parsing it.
#[must_use]
pub(crate) fn spans_in(line: &[u8]) -> u64 {
    memchr::memmem::find_iter(line, b"\"parentSpanId\":").count() as u64
}

/// The renamed files, the oldest first.
#[must_use]
pub(crate) fn renamed(directory: &Path) -> Vec<PathBuf> {
    let name = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("spool-"))
    };
    fs::files_in(directory).into_iter().filter(name).collect()
}

/// All files, the oldest first and `spool` last.
#[must_use]
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let last = directory.join("spool");
    renamed(directory).into_iter().chain(last.is_file().then_some(last)).collect()
}

/// Renames `spool`, then claims every file that no other process has claimed, the oldest first.
///
/// # Errors
/// The system's error of the rename.
pub(crate) fn claim(directory: &Path) -> io::Result<impl Iterator<Item = Claim>> {
    if fs::size(&directory.join("spool")).is_some_and(|size| size > 0) {
        rotate(directory)?;
    }
    Ok(renamed(directory).into_iter().filter_map(|file| Claim::take(&file)))
}

impl Claim {
    fn take(path: &Path) -> Option<Claim> {
        let file = File::open(path, OpenMode::Existing).ok()?;
        let mut countdown = clock::Countdown::new(WRITE_WAIT);
        while !lock::try_exclusive(&file) {
            if !countdown.pause() {
                return None;
            }
        }
        // The previous claim may have sent and removed the file.
        file.is_at(path).then(|| Claim { path: path.to_owned(), _file: file })
    }

    /// Its lines.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn lines(&self) -> io::Result<Vec<Vec<u8>>> {
        lines(&self.path)
    }

    /// Removes the file, because its lines were sent or can never be sent.
    ///
    /// # Errors
    /// The system's error; the lines would then be sent again.
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// The lines of one file.
///
/// # Errors
/// The system's error.
pub(crate) fn lines(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let bytes = fs::read_file_limited(path, 2 * MAX_TOTAL)?.unwrap_or_default();
    Ok(bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect())
}

/// The results of sending so far.
#[must_use]
pub(crate) fn counts(directory: &Path) -> Counts {
    let bytes = fs::read_small(&directory.join("counts.json"), 1 << 16).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Changes the counts. A failure to store them is ignored, because no answer depends on them.
pub(crate) fn count(directory: &Path, change: impl FnOnce(&mut Counts)) {
    let Ok(_held) = lock::acquire(&directory.join("lock"), "edt telemetry", COUNTS_WAIT) else {
        return;
    };
    let before = counts(directory);
    let mut after = before.clone();
    change(&mut after);
    if after != before {
        let _ = fs::write_atomic(
            &directory.join("counts.json"),
            &serde_json::to_vec(&after).unwrap_or_default(),
            0o666,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(directory: &Path) -> Vec<Vec<u8>> {
        claim(directory).unwrap().flat_map(|claim| claim.lines().unwrap()).collect()
    }

    #[test]
    fn each_line_is_claimed_by_one_process() {
        let dir = tempfile::tempdir().unwrap();
        let directory = dir.path().join("a/b");
        append(&directory, b"1").unwrap();
        append(&directory, b"2").unwrap();
        let mine: Vec<Claim> = claim(&directory).unwrap().collect();
        append(&directory, b"3").unwrap();
        assert_eq!(all(&directory), [b"3"], "a file that another process claimed is not read");
        assert_eq!(mine[0].lines().unwrap(), [b"1", b"2"]);
        drop(mine);
        assert_eq!(
            all(&directory),
            [b"1", b"2", b"3"],
            "a file that was not removed can be claimed again"
        );
        for claim in claim(&directory).unwrap() {
            claim.remove().unwrap();
        }
        assert!(all(&directory).is_empty() && files(&directory).is_empty());
    }

    #[test]
    fn a_full_spool_drops_its_oldest_and_counts_them() {
        let dir = tempfile::tempdir().unwrap();
        let mut line = b"{\"parentSpanId\":\"\"".to_vec();
        line.resize(1 << 20, b' ');
        for _ in 0..40 {
            append(dir.path(), &line).unwrap();
        }
        let bytes: u64 = files(dir.path()).iter().filter_map(|file| fs::size(file)).sum();
        assert!(bytes <= MAX_TOTAL + MAX_FILE, "{bytes}");
        let kept =
            files(dir.path()).iter().map(|file| lines(file).unwrap().len() as u64).sum::<u64>();
        assert_eq!(counts(dir.path()).dropped + kept, 40);
        assert!(counts(dir.path()).dropped > 0);
    }
}
