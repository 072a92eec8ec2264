//! Where spans wait: lines of OTLP JSON in files below `<git-common-dir>/edt/telemetry`, all of which may be deleted at any time.
//!
//! `spool` takes new lines. Who wants to send them, and who finds it full, renames it to `spool-<when>-<process>`. A line is appended under a
//! shared lock, by one write, to a file that is still named `spool`; a renamed one is read, sent and removed under an exclusive lock, which
//! dies with its process. So no line is torn by another process, none is lost to a flush, and two flushes never send the same one; what a
//! killed flush had sent and not removed is sent again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::io::file::{File, Open};
use crate::io::{clock, lock, whole};

/// A file that takes new lines is renamed once it has so many bytes.
const FULL: u64 = 4 << 20;
/// All files together have no more bytes than this; the oldest go first.
const MOST: u64 = 16 << 20;
/// How long a line that is being written is waited for.
const WRITING: Duration = Duration::from_millis(50);
/// The longest wait for the counts.
const COUNTING: Duration = Duration::from_secs(1);

/// The folder of the spool.
#[must_use]
pub fn folder(common_dir: &Path) -> PathBuf {
    common_dir.join("edt/telemetry")
}

/// What became of spans, counted from the folder's beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Spans that a collector took.
    pub sent: u64,
    /// Spans that a collector did not want.
    pub rejected: u64,
    /// Spans that went because the spool was full.
    pub dropped: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// What last kept spans from being sent; none once they were.
    pub error: Option<String>,
}

/// A file of spans that nobody else touches until this is dropped.
#[derive(Debug)]
#[must_use = "the claim ends with this value"]
pub struct Claim {
    path: PathBuf,
    _file: File,
}

/// Appends one line.
///
/// # Errors
/// Whatever the system says; nothing of it is then read by anybody.
pub fn append(folder: &Path, line: &[u8]) -> io::Result<()> {
    let path = folder.join("spool");
    // What a full disk left of another line must not take this one along.
    let line = [b"\n", line, b"\n"].concat();
    for _ in 0..16 {
        let file = match File::open(&path, Open::AppendMade) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                whole::make_folder(folder)?;
                continue;
            }
            opened => opened?,
        };
        // Somebody claims it: the next one has that name in a moment.
        if !lock::try_shared(&file) || !file.is_at(&path) {
            continue;
        }
        if file.len()? >= FULL {
            drop(file);
            rotate(folder)?;
            make_room(folder);
            continue;
        }
        return file.write_all(&line);
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Gives the file that takes new lines a name under which it can be claimed.
fn rotate(folder: &Path) -> io::Result<()> {
    let since = clock::system().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let name = format!("spool-{since:020}-{}", clock::process_id());
    match whole::rename(&folder.join("spool"), &folder.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Removes the oldest files until there is room for one more.
fn make_room(folder: &Path) {
    let files = renamed(folder);
    let mut bytes: u64 = files.iter().filter_map(|file| whole::size(file)).sum();
    for file in files {
        if bytes + FULL <= MOST {
            return;
        }
        let size = whole::size(&file).unwrap_or_default();
        if let Some(claim) = Claim::take(&file) {
            let spans =
                claim.lines().map_or(0, |lines| lines.iter().map(|line| spans_in(line)).sum());
            if claim.remove().is_ok() {
                count(folder, |counts| counts.dropped += spans);
                bytes = bytes.saturating_sub(size);
            }
        }
    }
}

/// How many spans a line holds, without reading what they say.
#[must_use]
pub fn spans_in(line: &[u8]) -> u64 {
    memchr::memmem::find_iter(line, b"\"parentSpanId\":").count() as u64
}

/// The files that can be claimed, the oldest first.
#[must_use]
pub fn renamed(folder: &Path) -> Vec<PathBuf> {
    let name = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("spool-"))
    };
    whole::files_in(folder).into_iter().filter(name).collect()
}

/// All files, that which takes new lines last.
#[must_use]
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let last = folder.join("spool");
    renamed(folder).into_iter().chain(last.is_file().then_some(last)).collect()
}

/// Lets everything that is spooled be claimed, and claims what nobody else has; the oldest first.
///
/// # Errors
/// Whatever the system says of the rename.
pub fn claim(folder: &Path) -> io::Result<impl Iterator<Item = Claim>> {
    if whole::size(&folder.join("spool")).is_some_and(|size| size > 0) {
        rotate(folder)?;
    }
    Ok(renamed(folder).into_iter().filter_map(|file| Claim::take(&file)))
}

impl Claim {
    fn take(path: &Path) -> Option<Claim> {
        let file = File::open(path, Open::There).ok()?;
        let mut countdown = clock::Countdown::new(WRITING);
        while !lock::try_exclusive(&file) {
            if !countdown.pause() {
                return None;
            }
        }
        // Who had it before may have sent and removed it.
        file.is_at(path).then(|| Claim { path: path.to_owned(), _file: file })
    }

    /// Its lines.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn lines(&self) -> io::Result<Vec<Vec<u8>>> {
        lines(&self.path)
    }

    /// Removes it: its lines are sent, or will never be.
    ///
    /// # Errors
    /// Whatever the system says; it would be sent again.
    pub fn remove(self) -> io::Result<()> {
        whole::remove(&self.path)
    }
}

/// The lines of one file.
///
/// # Errors
/// Whatever the system says.
pub fn lines(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let bytes = whole::read_at_most(path, 2 * MOST)?.unwrap_or_default();
    Ok(bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect())
}

/// What became of spans so far.
#[must_use]
pub fn counts(folder: &Path) -> Counts {
    let bytes = whole::small(&folder.join("counts.json"), 1 << 16).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Changes the counts. Where that cannot be kept, it is forgotten: no answer depends on it.
pub fn count(folder: &Path, change: impl FnOnce(&mut Counts)) {
    let Ok(_held) = lock::take(&folder.join("lock"), "telemetry", COUNTING) else { return };
    let before = counts(folder);
    let mut after = before.clone();
    change(&mut after);
    if after != before {
        let _ = whole::put(
            &folder.join("counts.json"),
            &serde_json::to_vec(&after).unwrap_or_default(),
            0o666,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(folder: &Path) -> Vec<Vec<u8>> {
        claim(folder).unwrap().flat_map(|claim| claim.lines().unwrap()).collect()
    }

    #[test]
    fn what_is_appended_is_claimed_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/b");
        append(&folder, b"1").unwrap();
        append(&folder, b"2").unwrap();
        let mine: Vec<Claim> = claim(&folder).unwrap().collect();
        append(&folder, b"3").unwrap();
        assert_eq!(all(&folder), [b"3"], "what another holds is left alone");
        assert_eq!(mine[0].lines().unwrap(), [b"1", b"2"]);
        drop(mine);
        assert_eq!(all(&folder), [b"1", b"2", b"3"], "what was not removed is claimed again");
        for claim in claim(&folder).unwrap() {
            claim.remove().unwrap();
        }
        assert!(all(&folder).is_empty() && files(&folder).is_empty());
    }

    #[test]
    fn a_full_spool_drops_its_oldest_and_counts_them() {
        let dir = tempfile::tempdir().unwrap();
        let mut line = b"{\"parentSpanId\":\"\"".to_vec();
        line.resize(1 << 20, b' ');
        for _ in 0..40 {
            append(dir.path(), &line).unwrap();
        }
        let bytes: u64 = files(dir.path()).iter().filter_map(|file| whole::size(file)).sum();
        assert!(bytes <= MOST + FULL, "{bytes}");
        let kept =
            files(dir.path()).iter().map(|file| lines(file).unwrap().len() as u64).sum::<u64>();
        assert_eq!(counts(dir.path()).dropped + kept, 40);
        assert!(counts(dir.path()).dropped > 0);
    }
}
