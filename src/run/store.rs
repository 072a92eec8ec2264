//! Where a run's output lies until later runs push it out: `<git-dir>/edt/runs/<n>/{stdout,stderr}`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::{Code, Finding, Result};
use crate::io::file::{File, Open};
use crate::io::lock::{self, Held};
use crate::io::whole;

/// How much of each output is stored, at most, in bytes.
pub const MOST: u64 = 2 * 1024 * 1024 * 1024;
/// How much all runs but the newest keep together, in bytes.
const MOST_OF_OLD: u64 = 256 * 1024 * 1024;
/// How many runs are kept.
const MOST_RUNS: usize = 50;
/// The file in a run's folder whose lock is held while it lasts.
const HELD: &str = "held";

/// Which output.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    clap::ValueEnum,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// Both, in the order of their descriptors.
    pub const ALL: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

    /// The name of its file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

/// The outputs of one run, as they are written.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    id: u64,
    files: [Option<File>; 2],
    stored: [u64; 2],
    /// Why nothing more is stored, once that is so.
    failed: Option<String>,
    /// Held as long as the run lasts, so that no other run pushes this one out.
    _held: Option<Held>,
}

impl Store {
    /// A place for one more run, below `state`; what old runs left there too much of is removed.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn new(state: &Path) -> Result<Store> {
        let runs = state.join("runs");
        let mut ids = ids(&runs);
        push_out(&runs, &mut ids);
        let mut id = ids.last().copied().unwrap_or(0) + 1;
        whole::make_folder(&runs).map_err(|error| crate::io::failed("make", &runs, &error))?;
        loop {
            let folder = runs.join(id.to_string());
            // Of two calls at once one makes the folder.
            match whole::make_new_folder(&folder) {
                Ok(true) => {
                    // Without the lock only what very many others write meanwhile could push it out.
                    let held =
                        lock::take(&folder.join(HELD), "run", Duration::from_millis(250)).ok();
                    return Ok(Store {
                        folder,
                        id,
                        files: [None, None],
                        stored: [0; 2],
                        failed: None,
                        _held: held,
                    });
                }
                Ok(false) => id += 1,
                Err(error) => return Err(crate::io::failed("make", &folder, &error).into()),
            }
        }
    }

    /// The run's number.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Why not all of it was stored, if so.
    #[must_use]
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// How an answer tells where the bytes `from` up to `to` of an output can be read.
    #[must_use]
    pub fn tells(&self, stream: Stream, from: u64, to: u64) -> String {
        let (id, name, at) = (self.id, stream.name(), stream as usize);
        match &self.failed {
            Some(why) if self.stored[at] < to => format!("not all of them were stored: {why}"),
            _ => format!(
                "`edt run --output {id} --stream {name} --bytes {from}:{to}` begins there, --max-bytes N takes more at once"
            ),
        }
    }

    /// Stores what comes next; what cannot be stored stops no program.
    pub fn push(&mut self, stream: usize, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let room = usize::try_from(MOST - self.stored[stream]).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        match self.write(stream, part) {
            Ok(()) => self.stored[stream] += part.len() as u64,
            Err(error) => self.failed = Some(error.to_string()),
        }
        if part.len() < bytes.len() && self.failed.is_none() {
            self.failed = Some(format!("an output has more than {MOST} bytes"));
        }
    }

    fn write(&mut self, stream: usize, bytes: &[u8]) -> std::io::Result<()> {
        let file = match &mut self.files[stream] {
            Some(file) => file,
            none => none
                .insert(File::open(&self.folder.join(Stream::ALL[stream].name()), Open::Written)?),
        };
        file.write_all(bytes)
    }
}

/// One stored output, to read.
#[derive(Debug)]
pub struct Stored {
    /// Where it lies.
    pub path: PathBuf,
    /// How many bytes it has.
    pub bytes: u64,
}

/// The output of run `id`.
///
/// # Errors
/// `FILE_NOT_FOUND` if there is no such run here any more.
pub fn stored(state: &Path, id: u64, stream: Stream) -> Result<Stored> {
    let runs = state.join("runs");
    let folder = runs.join(id.to_string());
    if !folder.is_dir() {
        let known = ids(&runs);
        let kept = match (known.first(), known.last()) {
            (Some(first), Some(last)) => format!("runs {first} to {last} are"),
            _ => "none is".to_owned(),
        };
        return Err(Finding::new(
            Code::FileNotFound,
            format!("The output of run {id} is not kept: of this worktree {kept}."),
            "Run the program again; every answer of `edt run` has its own number.",
        )
        .into());
    }
    let path = folder.join(stream.name());
    let bytes = whole::size(&path).unwrap_or(0);
    Ok(Stored { path, bytes })
}

/// The numbers of the runs that are kept, in order.
fn ids(runs: &Path) -> Vec<u64> {
    let mut ids: Vec<u64> =
        whole::names_in(runs).iter().filter_map(|name| name.to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

/// Removes runs that are too large, and the oldest of too many; those that last still stay. One that cannot be removed is in nobody's way.
fn push_out(runs: &Path, ids: &mut Vec<u64>) {
    let size = |id: &u64| {
        let folder = runs.join(id.to_string());
        Stream::ALL
            .iter()
            .map(|stream| whole::size(&folder.join(stream.name())).unwrap_or(0))
            .sum::<u64>()
    };
    let (mut left, mut keep) = (MOST_OF_OLD, MOST_RUNS - 1);
    let mut gone = Vec::new();
    for id in ids.iter().rev() {
        if lock::is_held(&runs.join(id.to_string()).join(HELD)) {
            continue;
        }
        let bytes = size(id);
        if keep == 0 || bytes > left {
            gone.push(*id);
        } else {
            (left, keep) = (left - bytes, keep - 1);
        }
    }
    for id in gone {
        let _ = whole::remove_folder(&runs.join(id.to_string()));
    }
    // The newest keeps its number, so that none comes twice while anyone may remember it.
    if let Some(last) = ids.last().copied() {
        *ids = vec![last];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_lasts_is_not_pushed_out() {
        let state = tempfile::tempdir().unwrap();
        let mut lasts = Store::new(state.path()).unwrap();
        lasts.push(0, b"early\n");
        (0..MOST_RUNS + 5).for_each(|_| drop(Store::new(state.path()).unwrap()));
        lasts.push(0, b"late\n");
        let kept = stored(state.path(), 1, Stream::Stdout).unwrap();
        assert_eq!(std::fs::read(kept.path).unwrap(), b"early\nlate\n");
        assert!(stored(state.path(), 2, Stream::Stdout).is_err());
        drop(lasts);
        drop(Store::new(state.path()).unwrap());
        assert!(stored(state.path(), 1, Stream::Stdout).is_err());
    }

    #[test]
    fn no_answer_promises_what_was_not_stored() {
        let state = tempfile::tempdir().unwrap();
        let mut store = Store::new(state.path()).unwrap();
        store.push(0, b"all of it");
        let there = "`edt run --output 1 --stream stdout --bytes 2:9` begins there, --max-bytes N takes more at once"
            .to_owned();
        assert_eq!(store.tells(Stream::Stdout, 2, 9), there);
        std::fs::create_dir(state.path().join("runs/1/stderr")).unwrap();
        store.push(1, b"nothing");
        let gone = store.tells(Stream::Stderr, 2, 7);
        assert!(
            gone.starts_with("not all of them were stored: ") && !gone.contains("edt run"),
            "{gone}"
        );
        assert_eq!(store.tells(Stream::Stdout, 2, 9), there);
    }
}
