//! Contents of the files that the page shows, and the colours of texts.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use edt_git::read::ObjectKind;
use edt_git::{Oid, Repo};
use edt_io::clock;
use edt_lang::highlight::{MAX_BYTES, Token, highlight};
use edt_lang::language_of;
use edt_types::RepoPath;

/// The most texts whose colours are kept.
const MAX_KNOWN: usize = 2_000;

/// Reads contents.
pub trait Contents {
    /// The blob with this hex object id, if it is there and has at most `max` bytes.
    fn blob(&self, hash: &str, max: usize) -> Option<Vec<u8>>;
}

/// The blobs of a repository.
#[derive(Debug)]
pub struct Blobs<'r>(pub &'r Repo);

impl Contents for Blobs<'_> {
    fn blob(&self, hash: &str, max: usize) -> Option<Vec<u8>> {
        let oid = Oid::from_hex(hash.as_bytes()).ok()?;
        let size = self.0.size_of(oid).ok()?;
        (size as u64 <= max as u64).then(|| self.0.object(oid, ObjectKind::Blob).ok()).flatten()
    }
}

/// The colours of a text, by line.
pub(crate) type Lines = Arc<Vec<Vec<Token>>>;

/// The colours of texts that were asked for before. What has none is known, too.
#[derive(Debug, Default)]
pub struct Colours {
    known: Mutex<HashMap<(String, &'static str), Option<Lines>>>,
}

impl Colours {
    /// Forgets all of them.
    pub(crate) fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// What colours the texts of a page, until its time is over.
#[derive(Clone, Copy)]
pub(crate) struct Palette<'a> {
    pub(crate) contents: &'a dyn Contents,
    pub(crate) colours: &'a Colours,
    pub(crate) deadline: Instant,
}

impl fmt::Debug for Palette<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Palette").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl Palette<'_> {
    /// The colours of the blob `hash` at `path`. `None` if it is no text of a known language, or if
    /// the time is over.
    pub(crate) fn of(&self, path: &str, hash: Option<&str>) -> Option<Lines> {
        let path = RepoPath::parse(path.as_bytes()).ok()?;
        let hash = hash?;
        let guess = language_of(&path, b"")?;
        let key = (hash.to_owned(), guess.name);
        let known = self.colours.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return known.clone();
        }
        drop(known);
        let expired = || clock::now() >= self.deadline;
        if expired() {
            return None;
        }
        let text = self.contents.blob(hash, MAX_BYTES);
        let text = text.filter(|text| std::str::from_utf8(text).is_ok());
        let found = text.and_then(|text| {
            let language = language_of(&path, &text)?;
            highlight(language, &text, &expired).ok()
        });
        let found = found.map(Arc::new);
        if found.is_some() || !expired() {
            let mut known = self.colours.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
            known.insert(key, found.clone());
        }
        found
    }
}
