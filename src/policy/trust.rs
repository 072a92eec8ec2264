//! What a person trusts: one line per `edt.toml` or filter, in a file outside of every repository.
//!
//! ```text
//! <SHA-256 of the whole edt.toml, or of what a filter runs> <when, UTC> <root of the worktree>
//! ```
//!
//! This tells a person's decision from the repository's wish. It is no boundary against a program with the person's own
//! rights: that can write this file, too.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::Result;
use crate::io::disk::{Dir, Found, Move, Perms};
use crate::io::{clock, failed, lock};

/// The file's name in edt's folder of the person's data.
const NAME: &[u8] = b"trust";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// SHA-256 of the `edt.toml` or of what a filter runs, as hex.
    pub hash: String,
    /// When it was trusted.
    pub date: String,
    /// The worktree's root.
    pub root: PathBuf,
}

/// The file with its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in `folder`, which need not exist.
    #[must_use]
    pub fn new(folder: PathBuf) -> Store {
        Store { folder }
    }

    /// Where the lines are.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join(std::ffi::OsStr::from_bytes(NAME))
    }

    /// Every line; a line that cannot be read trusts nothing.
    ///
    /// # Errors
    /// `IO_ERROR` if the file is there and cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let found = match Dir::open(&self.folder) {
            Ok(dir) => dir.read(NAME).map_err(|error| failed("read", &self.file(), &error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Found::Nothing,
            Err(error) => return Err(failed("open", &self.folder, &error).into()),
        };
        let Found::File(_, bytes) = found else { return Ok(Vec::new()) };
        Ok(bytes.split(|&byte| byte == b'\n').filter_map(Entry::parse).collect())
    }

    /// Whether the file with this hash is trusted at `root`.
    ///
    /// # Errors
    /// As [`Store::entries`].
    pub fn trusts(&self, hash: &str, root: &Path) -> Result<bool> {
        Ok(self.entries()?.iter().any(|entry| entry.hash == hash && entry.root == root))
    }

    /// Trusts the file with this hash at `root`.
    ///
    /// # Errors
    /// `IO_ERROR`; nothing is then trusted that was not before.
    pub fn trust(&self, hash: &str, root: &Path) -> Result<()> {
        self.change(|entries| {
            entries.retain(|entry| entry.hash != hash || entry.root != root);
            entries.push(Entry {
                hash: hash.to_owned(),
                date: clock::utc(),
                root: root.to_owned(),
            });
        })
    }

    /// Takes back all trust at `root`.
    ///
    /// # Errors
    /// `IO_ERROR`; what was trusted then still is.
    pub fn revoke(&self, root: &Path) -> Result<()> {
        self.change(|entries| entries.retain(|entry| entry.root != root))
    }

    fn change(&self, what: impl FnOnce(&mut Vec<Entry>)) -> Result<()> {
        let not_written = |error: std::io::Error| failed("write", &self.file(), &error);
        crate::io::whole::make_private(&self.folder).map_err(not_written)?;
        let _held = lock::take(&self.folder.join("trust.lock"), "trust", Duration::from_secs(10))?;
        let mut entries = self.entries()?;
        what(&mut entries);
        let text: Vec<u8> = entries.iter().flat_map(Entry::line).collect();
        let write = || {
            let dir = Dir::open(&self.folder)?;
            dir.unlink(b"trust.new")?;
            dir.write_new(b"trust.new", &text, Perms::Exactly(0o600))?;
            dir.rename(b"trust.new", &dir, NAME, Move::Replace)
        };
        write().map_err(|error| not_written(error).into())
    }
}

impl Entry {
    fn parse(line: &[u8]) -> Option<Entry> {
        let mut parts = line.splitn(3, |&byte| byte == b' ');
        let mut text = || std::str::from_utf8(parts.next()?).ok().map(str::to_owned);
        let (hash, date) = (text()?, text()?);
        let root = PathBuf::from(OsString::from_vec(unescaped(parts.next()?)));
        (hash.len() == 64 && root.is_absolute()).then_some(Entry { hash, date, root })
    }

    fn line(&self) -> Vec<u8> {
        let mut line = format!("{} {} ", self.hash, self.date).into_bytes();
        for &byte in self.root.as_os_str().as_bytes() {
            match byte {
                b'\n' => line.extend(b"\\n"),
                b'\\' => line.extend(b"\\\\"),
                byte => line.push(byte),
            }
        }
        line.push(b'\n');
        line
    }
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut out, mut bytes) = (Vec::with_capacity(text.len()), text.iter().copied());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => bytes.next().map_or(b'\\', |next| if next == b'n' { b'\n' } else { next }),
            byte => byte,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_trusted_is_one_file_at_one_root() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("data/edt"));
        let (hash, other) = ("a".repeat(64), "b".repeat(64));
        let (root, odd) = (Path::new("/a b"), Path::new("/c\\n\nd"));
        assert!(!store.trusts(&hash, root).unwrap(), "no file is no trust");
        store.trust(&hash, root).unwrap();
        store.trust(&hash, odd).unwrap();
        store.trust(&hash, root).unwrap();
        let dates: Vec<usize> =
            store.entries().unwrap().iter().map(|entry| entry.date.len()).collect();
        assert_eq!(dates, ["2026-01-31T12:00:00Z".len(); 2]);
        assert!(store.trusts(&hash, root).unwrap() && store.trusts(&hash, odd).unwrap());
        assert!(
            !store.trusts(&other, root).unwrap() && !store.trusts(&hash, Path::new("/a")).unwrap()
        );
        store.revoke(root).unwrap();
        assert!(!store.trusts(&hash, root).unwrap() && store.trusts(&hash, odd).unwrap());
    }

    #[test]
    fn a_line_that_cannot_be_read_trusts_nothing() {
        for line in [
            "",
            "abc",
            "abc 2026 /x",
            &format!("{} 2026", "a".repeat(64)),
            &format!("{} 2026 x", "a".repeat(64)),
        ] {
            assert_eq!(Entry::parse(line.as_bytes()), None, "{line}");
        }
    }
}
