//! What the user trusts: one line per `edt.toml` or filter, in a file outside of every repository.
//!
//! ```text
//! <SHA-256 of the edt.toml, or of the commands of a filter> <time, UTC> <root of the worktree>
//! ```
//!
//! The file separates the user's decisions from the repository's wishes. It does not protect
//! against a program with the user's own rights, which can write this file, too.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use edt_io::disk::{Dir, FoundEntry};
use edt_io::{clock, failed, lock};
use edt_types::Result;

/// The file's name in edt's directory of the user's data.
const NAME: &[u8] = b"trust";

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustEntry {
    /// SHA-256 of the `edt.toml` or of the commands of a filter, as hex.
    pub hash: String,
    /// When it was trusted, in UTC.
    pub date: String,
    /// The worktree's root.
    pub root: PathBuf,
}

/// The file and its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustStore {
    dir: PathBuf,
}

impl TrustStore {
    /// The store in `dir`, which need not exist.
    #[must_use]
    pub fn new(dir: PathBuf) -> TrustStore {
        TrustStore { dir }
    }

    /// The path of the file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.dir.join(std::ffi::OsStr::from_bytes(NAME))
    }

    /// All lines. A line that cannot be parsed trusts nothing.
    ///
    /// # Errors
    /// `IO_ERROR` if the file exists and cannot be read.
    pub fn entries(&self) -> Result<Vec<TrustEntry>> {
        let found = match Dir::open(&self.dir) {
            Ok(dir) => dir.read(NAME).map_err(|error| failed("read", &self.file(), &error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => FoundEntry::Nothing,
            Err(error) => return Err(failed("open", &self.dir, &error).into()),
        };
        let FoundEntry::File(_, bytes) = found else { return Ok(Vec::new()) };
        Ok(bytes.split(|&byte| byte == b'\n').filter_map(TrustEntry::parse).collect())
    }

    /// Whether the file with this hash is trusted at `root`.
    ///
    /// # Errors
    /// As [`TrustStore::entries`].
    pub fn trusts(&self, hash: &str, root: &Path) -> Result<bool> {
        Ok(self.entries()?.iter().any(|entry| entry.hash == hash && entry.root == root))
    }

    /// Trusts the file with this hash at `root`.
    ///
    /// # Errors
    /// `IO_ERROR`; then nothing more is trusted than before.
    pub fn trust(&self, hash: &str, root: &Path) -> Result<()> {
        self.change(|entries| {
            entries.retain(|entry| entry.hash != hash || entry.root != root);
            entries.push(TrustEntry {
                hash: hash.to_owned(),
                date: clock::utc(),
                root: root.to_owned(),
            });
        })
    }

    /// Revokes all trust at `root`.
    ///
    /// # Errors
    /// `IO_ERROR`; then everything is trusted as before.
    pub fn revoke(&self, root: &Path) -> Result<()> {
        self.change(|entries| entries.retain(|entry| entry.root != root))
    }

    fn change(&self, what: impl FnOnce(&mut Vec<TrustEntry>)) -> Result<()> {
        let not_written = |error: std::io::Error| failed("write", &self.file(), &error);
        edt_io::fs::make_private_dir(&self.dir).map_err(not_written)?;
        let _held =
            lock::acquire(&self.dir.join("trust.lock"), "edt trust", Duration::from_secs(10))?;
        let mut entries = self.entries()?;
        what(&mut entries);
        let text: Vec<u8> = entries.iter().flat_map(TrustEntry::line).collect();
        edt_io::fs::write_atomic_unique(&self.file(), &text, 0o600)
            .map_err(|error| not_written(error).into())
    }
}

impl TrustEntry {
    fn parse(line: &[u8]) -> Option<TrustEntry> {
        let mut parts = line.splitn(3, |&byte| byte == b' ');
        let mut text = || std::str::from_utf8(parts.next()?).ok().map(str::to_owned);
        let (hash, date) = (text()?, text()?);
        let root = PathBuf::from(OsString::from_vec(unescaped(parts.next()?)));
        (hash.len() == 64 && root.is_absolute()).then_some(TrustEntry { hash, date, root })
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
    #![allow(
        clippy::naive_bytecount,
        clippy::single_range_in_vec_init,
        clippy::unnecessary_wraps,
        clippy::useless_asref,
        clippy::cloned_ref_to_slice_refs,
        reason = "tests are read, not tuned"
    )]

    use super::*;

    #[test]
    fn trust_is_for_one_file_at_one_root() {
        let dir = edt_testkit::tempdir().unwrap();
        let store = TrustStore::new(dir.path().join("data/edt"));
        let (hash, other) = ("a".repeat(64), "b".repeat(64));
        let (root, odd) = (Path::new("/a b"), Path::new("/c\\n\nd"));
        assert!(!store.trusts(&hash, root).unwrap(), "without the file nothing is trusted");
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
    fn a_line_that_cannot_be_parsed_trusts_nothing() {
        for line in [
            "",
            "abc",
            "abc 2026 /x",
            &format!("{} 2026", "a".repeat(64)),
            &format!("{} 2026 x", "a".repeat(64)),
        ] {
            assert_eq!(TrustEntry::parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn a_root_with_line_ends_and_backslashes_is_one_line() {
        let entry = TrustEntry {
            hash: "a".repeat(64),
            date: "2026-01-31T12:00:00Z".into(),
            root: PathBuf::from("/a\\n\nb\\"),
        };
        let line = entry.line();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(TrustEntry::parse(line.strip_suffix(b"\n").unwrap()), Some(entry));
    }

    #[test]
    fn a_file_that_is_a_directory_trusts_nothing() {
        let dir = edt_testkit::tempdir().unwrap();
        let store = TrustStore::new(dir.path().to_owned());
        std::fs::create_dir(store.file()).unwrap();
        assert_eq!(store.entries().unwrap(), []);
    }

    #[test]
    fn only_the_user_may_read_the_decisions() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = edt_testkit::tempdir().unwrap();
        let store = TrustStore::new(dir.path().join("edt"));
        store.trust(&"a".repeat(64), Path::new("/a")).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir.path().join("edt")), mode(&store.file())), (0o700, 0o600));
    }

    #[test]
    fn unreadable_lines_are_dropped_by_the_next_decision() {
        let dir = edt_testkit::tempdir().unwrap();
        let store = TrustStore::new(dir.path().to_owned());
        std::fs::write(store.file(), "hello\n").unwrap();
        store.trust(&"a".repeat(64), Path::new("/a")).unwrap();
        assert_eq!(std::fs::read_to_string(store.file()).unwrap().lines().count(), 1);
    }
}
