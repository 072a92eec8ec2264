//! Systems on which nothing can be recorded: a store there is of no run.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::path::Path;

use crate::CleanBytes;
use crate::event::{Denied, FileEvent, Kept};
use crate::touched::{Restoration, TouchedPath};

/// Whether this system can record programs.
#[must_use]
pub fn is_supported() -> bool {
    false
}

/// The mark of the recorder above this process.
#[must_use]
pub fn outer_mark() -> Option<u32> {
    None
}

/// A run that was recorded: there is none.
#[derive(Debug)]
pub struct RecordedRun {
    /// Whether the recorder ended the log.
    pub complete: bool,
    /// Why something may have been changed that is not recorded: sentences.
    pub unproved: Vec<String>,
    /// What was denied to the programs.
    pub denied: Vec<Denied>,
    never: Infallible,
}

impl RecordedRun {
    /// # Errors
    /// `Unsupported`.
    pub fn open(_: &Path) -> io::Result<RecordedRun> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// All events that happened, in order.
    #[must_use]
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &FileEvent> {
        match self.never {}
        #[expect(unreachable_code, reason = "the type of an iterator must be named")]
        std::iter::empty()
    }

    /// Every path that the run touched.
    ///
    /// # Errors
    /// None.
    pub fn touched(&self, _: &Path) -> io::Result<BTreeMap<Vec<u8>, TouchedPath>> {
        match self.never {}
    }

    /// Where what was at `path` before the run is at its end.
    #[must_use]
    pub fn moved_to(&self, _: &[u8]) -> Option<Vec<u8>> {
        match self.never {}
    }

    /// The name in the store of the file with the kept bytes.
    #[must_use]
    pub fn kept_name(&self, _: &Kept) -> Option<String> {
        match self.never {}
    }
}

/// Reverts nothing.
///
/// # Errors
/// `Unsupported`.
pub fn restore(_: &Path, _: &Path, _: &mut dyn CleanBytes) -> io::Result<Restoration> {
    Err(io::ErrorKind::Unsupported.into())
}
