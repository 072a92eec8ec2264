//! Stored output of runs: `<git-dir>/edt/runs/<n>/{stdout,stderr}`. Later runs evict older ones.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use edt_io::file::{File, OpenMode};
use edt_io::fs;
use edt_io::lock::{self, LockGuard};
use edt_types::{Code, Finding, Result};

/// The most bytes that are stored of each output stream.
pub const MAX_STORED_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// The most bytes that all runs except the newest may have together.
const MAX_OLD_BYTES: u64 = 256 * 1024 * 1024;
const MAX_RUNS: usize = 50;
/// The lock file in a run's directory. It is locked while the run lasts.
const LOCK_FILE: &str = "held";

#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
}

impl OutputStream {
    /// In the order of their file descriptors.
    pub const ALL: [OutputStream; 2] = [OutputStream::Stdout, OutputStream::Stderr];

    /// The name in flags, answers and on disk.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        }
    }
}

impl fmt::Display for OutputStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for OutputStream {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<OutputStream, String> {
        let known = OutputStream::ALL.into_iter().find(|stream| stream.name() == name);
        known.ok_or_else(|| format!("{name:?} is neither stdout nor stderr"))
    }
}

/// Stores the output of one run while it is written.
#[derive(Debug)]
pub struct OutputStore {
    directory: PathBuf,
    id: u64,
    files: [Option<File>; 2],
    stored_bytes: [u64; 2],
    /// Why storing stopped.
    failed: Option<String>,
    /// Held while the run lasts, so that no other run evicts this one.
    _held: Option<LockGuard>,
}

impl OutputStore {
    /// Makes a directory for a new run below `state`, and evicts old runs beyond the limits.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn new(state: &Path) -> Result<OutputStore> {
        let runs = state.join("runs");
        let mut ids = ids(&runs);
        evict(&runs, &mut ids);
        let mut id = ids.last().copied().unwrap_or(0) + 1;
        fs::make_dir(&runs).map_err(|error| edt_io::failed("make", &runs, &error))?;
        loop {
            let directory = runs.join(id.to_string());
            // Of two concurrent calls only one makes the directory.
            match fs::make_new_dir(&directory) {
                Ok(true) => {
                    // Without the lock this run could only be evicted by very many concurrent runs.
                    let held = lock::acquire(
                        &directory.join(LOCK_FILE),
                        "edt run",
                        Duration::from_millis(250),
                    )
                    .ok();
                    return Ok(OutputStore {
                        directory,
                        id,
                        files: [None, None],
                        stored_bytes: [0; 2],
                        failed: None,
                        _held: held,
                    });
                }
                Ok(false) => id += 1,
                Err(error) => return Err(edt_io::failed("make", &directory, &error).into()),
            }
        }
    }

    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Why storing stopped, if it did.
    #[must_use]
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Says how the caller can read the bytes `from..to` of an output, or why they are not stored.
    #[must_use]
    pub fn page_hint(&self, stream: OutputStream, from: u64, to: u64) -> String {
        let (id, name, at) = (self.id, stream.name(), stream as usize);
        match &self.failed {
            Some(why) if self.stored_bytes[at] < to => {
                format!("not all of them were stored: {why}")
            }
            _ => format!(
                "`edt run --output {id} --stream {name} --bytes {from}:{to}` prints them, \
                 --max-bytes N prints more at once"
            ),
        }
    }

    /// Appends output. An error does not stop the program; see [`OutputStore::failed`].
    pub fn push(&mut self, stream: usize, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let room =
            usize::try_from(MAX_STORED_BYTES - self.stored_bytes[stream]).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        match self.write(stream, part) {
            Ok(()) => self.stored_bytes[stream] += part.len() as u64,
            Err(error) => self.failed = Some(error.to_string()),
        }
        if part.len() < bytes.len() && self.failed.is_none() {
            self.failed = Some(format!("an output has more than {MAX_STORED_BYTES} bytes"));
        }
    }

    fn write(&mut self, stream: usize, bytes: &[u8]) -> std::io::Result<()> {
        let file = match &mut self.files[stream] {
            Some(file) => file,
            none => none.insert(File::open(
                &self.directory.join(OutputStream::ALL[stream].name()),
                OpenMode::WriteOnly,
            )?),
        };
        file.write_all(bytes)
    }
}

/// One stored output.
#[derive(Debug)]
pub struct StoredOutput {
    pub path: PathBuf,
    pub bytes: u64,
}

/// # Errors
/// `FILE_NOT_FOUND` if run `id` is not stored, or no longer.
pub fn stored_output(state: &Path, id: u64, stream: OutputStream) -> Result<StoredOutput> {
    let runs = state.join("runs");
    let directory = runs.join(id.to_string());
    if !directory.is_dir() {
        let known = ids(&runs);
        let kept = match (known.first(), known.last()) {
            (Some(first), Some(last)) => format!("runs {first} to {last} are stored"),
            _ => "no run is stored".to_owned(),
        };
        return Err(Finding::new(
            Code::FileNotFound,
            format!("The output of run {id} is not stored. Of this worktree, {kept}."),
            "Run the program again. Every answer of `edt run` has its run's number.",
        )
        .into());
    }
    let path = directory.join(stream.name());
    let bytes = fs::size(&path).unwrap_or(0);
    Ok(StoredOutput { path, bytes })
}

/// The numbers of the stored runs, in ascending order.
fn ids(runs: &Path) -> Vec<u64> {
    let mut ids: Vec<u64> =
        fs::names_in(runs).iter().filter_map(|name| name.to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

/// Removes runs beyond the limits of size and number, oldest first. Running ones stay. A failure to
/// remove a run is ignored.
fn evict(runs: &Path, ids: &mut Vec<u64>) {
    let size = |id: &u64| {
        let directory = runs.join(id.to_string());
        OutputStream::ALL
            .iter()
            .map(|stream| fs::size(&directory.join(stream.name())).unwrap_or(0))
            .sum::<u64>()
    };
    let (mut left, mut keep) = (MAX_OLD_BYTES, MAX_RUNS - 1);
    let mut evicted = Vec::new();
    for id in ids.iter().rev() {
        if lock::is_held(&runs.join(id.to_string()).join(LOCK_FILE)) {
            continue;
        }
        let bytes = size(id);
        if keep == 0 || bytes > left {
            evicted.push(*id);
        } else {
            (left, keep) = (left - bytes, keep - 1);
        }
    }
    for id in evicted {
        let _ = fs::remove_dir_all(&runs.join(id.to_string()));
    }
    // Even if the newest run was removed, its number is not used again.
    if let Some(last) = ids.last().copied() {
        *ids = vec![last];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_in_progress_is_not_evicted() {
        let state = tempfile::tempdir().unwrap();
        let mut running = OutputStore::new(state.path()).unwrap();
        running.push(0, b"early\n");
        (0..MAX_RUNS + 5).for_each(|_| drop(OutputStore::new(state.path()).unwrap()));
        running.push(0, b"late\n");
        let kept = stored_output(state.path(), 1, OutputStream::Stdout).unwrap();
        assert_eq!(std::fs::read(kept.path).unwrap(), b"early\nlate\n");
        assert!(stored_output(state.path(), 2, OutputStream::Stdout).is_err());
        drop(running);
        drop(OutputStore::new(state.path()).unwrap());
        assert!(stored_output(state.path(), 1, OutputStream::Stdout).is_err());
    }

    #[test]
    fn the_hint_does_not_refer_to_output_that_was_not_stored() {
        let state = tempfile::tempdir().unwrap();
        let mut store = OutputStore::new(state.path()).unwrap();
        store.push(0, b"all of it");
        let there = "`edt run --output 1 --stream stdout --bytes 2:9` prints them, --max-bytes N \
                     prints more at once"
            .to_owned();
        assert_eq!(store.page_hint(OutputStream::Stdout, 2, 9), there);
        std::fs::create_dir(state.path().join("runs/1/stderr")).unwrap();
        store.push(1, b"nothing");
        let gone = store.page_hint(OutputStream::Stderr, 2, 7);
        assert!(
            gone.starts_with("not all of them were stored: ") && !gone.contains("edt run"),
            "{gone}"
        );
        assert_eq!(store.page_hint(OutputStream::Stdout, 2, 9), there);
    }

    #[test]
    fn runs_are_numbered_and_their_outputs_are_apart() {
        let state = tempfile::tempdir().unwrap();
        for id in 1..=2 {
            let mut store = OutputStore::new(state.path()).unwrap();
            assert_eq!(store.id(), id);
            store.push(0, format!("out {id}").as_bytes());
            store.push(1, b"err");
        }
        let read = |id, stream| {
            std::fs::read_to_string(stored_output(state.path(), id, stream).unwrap().path).unwrap()
        };
        assert_eq!(read(1, OutputStream::Stdout), "out 1");
        assert_eq!(read(2, OutputStream::Stdout), "out 2");
        assert_eq!(read(2, OutputStream::Stderr), "err");
    }

    #[test]
    fn a_run_without_output_has_an_empty_one() {
        let state = tempfile::tempdir().unwrap();
        drop(OutputStore::new(state.path()).unwrap());
        assert_eq!(stored_output(state.path(), 1, OutputStream::Stderr).unwrap().bytes, 0);
    }

    #[test]
    fn an_unknown_run_is_refused_with_the_known_ones() {
        let state = tempfile::tempdir().unwrap();
        let refused = |id| {
            let found = stored_output(state.path(), id, OutputStream::Stdout).unwrap_err();
            found.into_vec().remove(0).summary
        };
        assert_eq!(
            refused(1),
            "The output of run 1 is not stored. Of this worktree, no run is stored."
        );
        drop(OutputStore::new(state.path()).unwrap());
        drop(OutputStore::new(state.path()).unwrap());
        assert_eq!(
            refused(7),
            "The output of run 7 is not stored. Of this worktree, runs 1 to 2 are stored."
        );
    }

    #[test]
    fn the_number_of_a_removed_run_is_not_used_again() {
        let state = tempfile::tempdir().unwrap();
        for _ in 0..MAX_RUNS + 2 {
            drop(OutputStore::new(state.path()).unwrap());
        }
        let ids = ids(&state.path().join("runs"));
        assert_eq!((ids.len(), ids.last()), (MAX_RUNS, Some(&(MAX_RUNS as u64 + 2))));
    }

    #[test]
    fn a_stream_has_a_name_and_no_other_is_parsed() {
        assert_eq!("stderr".parse(), Ok(OutputStream::Stderr));
        assert_eq!(
            "both".parse::<OutputStream>(),
            Err("\"both\" is neither stdout nor stderr".to_owned())
        );
    }
}
