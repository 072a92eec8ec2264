//! The private store: exact bytes of files with the user's uncommitted changes, and of ignored
//! files, before and after each edit. It makes an undo exact.
//!
//! One file per transaction below `<common-dir>/edt/private/<session>`, readable by its owner only.
//! No Git object has these bytes, so that no push sends them and no commit contains them. A trailer
//! of the commit names the file.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use edt_git::read::ObjectKind;
use edt_git::{Oid, Repo};
use edt_io::{failed, file, fs};
use edt_types::{RepoPath, Result};

/// The most bytes of all records together. Beyond it, the oldest records are removed.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Room is made before each record of at least this size.
const LARGE: usize = 1024 * 1024;
/// The start of a record: its format and version.
const MAGIC: &[u8; 8] = b"edtpriv2";

/// What one transaction changed on disk, where that differs from what its commit records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateRecord {
    /// The session's name.
    pub session: String,
    /// The name of its file. The commit of an edit has it in a trailer. Only recovery reads the
    /// record of a move of the branch.
    pub name: String,
    pub files: Vec<PrivateFile>,
}

/// One file on disk before and after an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateFile {
    path: Vec<u8>,
    /// `None` if there was no file.
    pub before: Option<PrivateBytes>,
    pub after: Option<PrivateBytes>,
    /// Whether the commit lacks a part of the edit, although Git does not ignore the file.
    pub is_left_over: bool,
    /// Whether a part of the change may be somebody else's.
    pub is_unproved: bool,
}

/// The bytes of a file on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateBytes {
    pub executable: bool,
    /// Its permission bits, if they are known.
    pub permissions: Option<u32>,
    pub bytes: Vec<u8>,
}

impl PrivateFile {
    #[must_use]
    pub fn new(
        path: &RepoPath,
        before: Option<PrivateBytes>,
        after: Option<PrivateBytes>,
    ) -> PrivateFile {
        let path = path.as_bytes().to_vec();
        PrivateFile { path, before, after, is_left_over: false, is_unproved: false }
    }

    /// The same, if the commit lacks a part of the edit.
    #[must_use]
    pub fn with_left_over(self, is_left_over: bool) -> PrivateFile {
        PrivateFile { is_left_over, ..self }
    }

    /// The same, if a part of the change may be somebody else's.
    #[must_use]
    pub fn with_unproved(self, is_unproved: bool) -> PrivateFile {
        PrivateFile { is_unproved, ..self }
    }

    #[must_use]
    pub fn path(&self) -> RepoPath {
        RepoPath::from_tree(&self.path)
    }
}

impl PrivateRecord {
    /// The record of an edit of `session` on the commit `parent` with the tree `tree`, with a name
    /// that no record has; `None` without files. `place`: the session, or the ref that keeps the
    /// edit if the session's branch does not have it.
    ///
    /// # Errors
    /// `INTERNAL`.
    pub fn of_edit(
        repo: &Repo,
        (session, place): (&str, &str),
        (parent, tree): (Oid, Oid),
        files: Vec<PrivateFile>,
    ) -> Result<Option<PrivateRecord>> {
        if files.is_empty() {
            return Ok(None);
        }
        // The name is public. It must not depend on the bytes, from which they could be guessed.
        let id = repo.blob_id(format!("{place} {parent} {tree}").as_bytes())?.to_string();
        let names = (1_u64..).map(|number| format!("{}-{number}", &id[..16]));
        let free = |name: &String| !path_of(repo, session, name).exists();
        let name = names.into_iter().find(free).unwrap_or_default();
        Ok(Some(PrivateRecord { session: session.to_owned(), name, files }))
    }

    /// The bytes of its file.
    #[doc(hidden)]
    #[must_use]
    pub fn encoded(&self) -> Vec<u8> {
        PrivateRecord::framed(&postcard::to_stdvec(self).unwrap_or_default())
    }

    /// The bytes of a file with this content.
    #[doc(hidden)]
    #[must_use]
    pub fn framed(payload: &[u8]) -> Vec<u8> {
        [MAGIC.as_slice(), &crc32fast::hash(payload).to_le_bytes(), payload].concat()
    }

    /// The record in the bytes of a file; `None` if they are damaged, or of another version.
    #[doc(hidden)]
    #[must_use]
    pub fn decoded(bytes: &[u8]) -> Option<PrivateRecord> {
        let (sum, payload) = bytes.strip_prefix(MAGIC.as_slice())?.split_at_checked(4)?;
        let is_whole = crc32fast::hash(payload).to_le_bytes() == sum;
        is_whole.then(|| postcard::from_bytes(payload).ok())?
    }
}

/// Writes `record`.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub(super) fn write(repo: &Repo, record: &PrivateRecord) -> Result<()> {
    let path = path_of(repo, &record.session, &record.name);
    let wrap = |error: std::io::Error| failed("write", &path, &error);
    let directory = path.parent().unwrap_or(&path);
    fs::make_private_dir(directory).map_err(wrap)?;
    let bytes = record.encoded();
    // Counting all records is too much for every small edit.
    if bytes.len() >= LARGE || crc32fast::hash(&bytes).is_multiple_of(64) {
        make_room(&root(repo), bytes.len() as u64);
    }
    fs::write_atomic(&path, &bytes, 0o600).map_err(wrap)?;
    if repo.is_durable() {
        file::sync(&path).and_then(|()| file::sync(directory)).map_err(wrap)?;
    }
    Ok(())
}

/// The record `name` of an edit; `None` if it is missing or damaged.
#[must_use]
pub fn read(repo: &Repo, session: &str, name: &str) -> Option<PrivateRecord> {
    // Anybody may have written the message that names the record.
    let is_safe = |part: &str| !part.is_empty() && !part.starts_with('.');
    let is_below = session.split('/').chain([name]).all(is_safe) && !name.contains('/');
    is_below.then(|| read_file(&path_of(repo, session, name)))?
}

/// Removes the record `name` of a session. A failure is ignored.
pub fn remove_record(repo: &Repo, session: &str, name: &str) {
    let _ = fs::remove_file(&path_of(repo, session, name));
}

/// Removes every record of a session. A failure is ignored.
pub fn remove_session(repo: &Repo, session: &str) {
    let directory = root(repo).join(session);
    for path in fs::files_in(&directory) {
        let _ = fs::remove_file(&path);
    }
    fs::remove_empty_dir(&directory);
}

/// The bytes with the id `oid`, from the object database or from a private record.
///
/// # Errors
/// `OBJECT_MISSING` if neither has them.
pub(super) fn bytes(repo: &Repo, oid: Oid) -> Result<Vec<u8>> {
    let missing = match repo.object(oid, ObjectKind::Blob) {
        Ok(bytes) => return Ok(bytes),
        Err(missing) => missing,
    };
    let mut records = Vec::new();
    collect(&root(repo), &mut records);
    for path in records {
        let files = read_file(&path).map(|record| record.files).unwrap_or_default();
        let sides = files.into_iter().flat_map(|file| [file.before, file.after]).flatten();
        for side in sides {
            if repo.blob_id(&side.bytes)? == oid {
                return Ok(side.bytes);
            }
        }
    }
    Err(missing)
}

fn read_file(path: &Path) -> Option<PrivateRecord> {
    PrivateRecord::decoded(&fs::read_small(path, MAX_BYTES)?)
}

/// Removes the oldest records until `wanted` more bytes fit.
fn make_room(root: &Path, wanted: u64) {
    let mut records = Vec::new();
    collect(root, &mut records);
    let mut all: Vec<(Option<SystemTime>, u64, PathBuf)> = records
        .into_iter()
        .map(|path| (fs::modified(&path), fs::size(&path).unwrap_or(0), path))
        .collect();
    let mut total: u64 = all.iter().map(|(_, size, _)| size).sum::<u64>() + wanted;
    all.sort();
    for (_, size, path) in all {
        if total <= MAX_BYTES {
            return;
        }
        if fs::remove_file(&path).is_ok() {
            total -= size;
        }
    }
}

fn collect(directory: &Path, into: &mut Vec<PathBuf>) {
    for name in fs::names_in(directory) {
        let path = directory.join(name);
        if path.is_dir() { collect(&path, into) } else { into.push(path) }
    }
}

fn root(repo: &Repo) -> PathBuf {
    repo.common_dir().join("edt/private")
}

fn path_of(repo: &Repo, session: &str, name: &str) -> PathBuf {
    root(repo).join(session).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change_set::ChangeSet;
    use crate::publish::publish;
    use crate::recover::open_recovered;
    use crate::tests::{MAIN, POINTER, Scratch, path};
    use edt_git::RefSwap;
    use std::os::unix::fs::PermissionsExt as _;

    const TWO: &[(&str, Option<&str>)] = &[("a.txt", Some("two\n"))];

    fn bytes(text: &str) -> Option<PrivateBytes> {
        Some(PrivateBytes { executable: true, permissions: None, bytes: text.into() })
    }

    fn record(name: Oid) -> PrivateRecord {
        let files = vec![
            PrivateFile::new(&path("a.txt"), bytes("old"), bytes("new")),
            PrivateFile::new(&path("gone.txt"), bytes("old"), None),
        ];
        PrivateRecord { session: "fix".into(), name: name.to_string(), files }
    }

    /// A change with a private record, and the place of that record.
    fn change(scratch: &Scratch, repo: &Repo) -> (ChangeSet, PrivateRecord, PathBuf) {
        let change = scratch.change(repo, TWO);
        let record = record(change.branch.new);
        let place = path_of(repo, "fix", &record.name);
        (ChangeSet { private: vec![record.clone()], ..change }, record, place)
    }

    #[test]
    fn recovery_leaves_the_record_of_a_change_that_it_finishes() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let (change, record, _) = change(&scratch, &repo);
        write(&repo, &record).unwrap();
        scratch.interrupt(&repo, &change);
        let (from, to) = (change.branch.start(), change.branch.new);
        repo.swap_ref(&RefSwap { name: MAIN, from, to }).unwrap();
        assert_eq!(open_recovered(&repo, POINTER).unwrap().1.unwrap().action, "finished");
        assert_eq!(read(&repo, "fix", &record.name), Some(record));
    }

    #[test]
    fn a_published_record_is_read_again() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let (change, record, _) = change(&scratch, &repo);
        let commit = change.branch.new;
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        assert_eq!(read(&repo, "fix", &commit.to_string()), Some(record));
        assert_eq!(read(&repo, "other", &commit.to_string()), None);
    }

    #[test]
    fn a_name_never_leads_out_of_the_store() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let record = record(repo.head().unwrap().commit.unwrap());
        write(&repo, &record).unwrap();
        let name = &record.name;
        assert_eq!(read(&repo, "fix", name), Some(record.clone()));
        for (session, name) in [
            ("x/../fix", name.clone()),
            ("../private/fix", name.clone()),
            ("", format!("fix/{name}")),
            ("fix", format!("../fix/{name}")),
            ("fix", format!("/{name}")),
        ] {
            assert_eq!(read(&repo, session, &name), None, "{session} {name}");
        }
    }

    #[test]
    fn every_record_of_an_edit_has_another_name() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let tree = repo.empty_tree();
        let record =
            |files| PrivateRecord::of_edit(&repo, ("fix", "fix"), (tree, tree), files).unwrap();
        let files = || vec![PrivateFile::new(&path("a.txt"), bytes("old"), None)];
        let first = record(files()).unwrap();
        write(&repo, &first).unwrap();
        let second = record(files()).unwrap();
        assert_ne!(first.name, second.name);
        assert_eq!(record(files()).unwrap(), second, "the same repository has the same name");
        assert_eq!(record(Vec::new()), None);
    }

    #[test]
    fn only_the_owner_may_read_a_record() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let (change, _, place) = change(&scratch, &repo);
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place), 0o600);
        assert_eq!(mode(place.parent().unwrap()), 0o700);
        assert_eq!(mode(&root(&repo)), 0o700);
    }

    #[test]
    fn no_object_has_the_bytes_of_a_record() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let (change, ..) = change(&scratch, &repo);
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        let oid = repo.blob_id(b"old").unwrap();
        assert!(repo.object(oid, ObjectKind::Blob).is_err());
        assert_eq!(super::bytes(&repo, oid).unwrap(), b"old");
    }

    #[test]
    fn a_damaged_record_is_none() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let record = record(repo.head().unwrap().commit.unwrap());
        write(&repo, &record).unwrap();
        let place = path_of(&repo, "fix", &record.name);
        let complete = std::fs::read(&place).unwrap();
        for at in 0..complete.len() {
            let mut torn = complete.clone();
            torn[at] ^= 1;
            std::fs::write(&place, &torn).unwrap();
            assert_eq!(read_file(&place), None, "a changed byte {at}");
            std::fs::write(&place, &complete[..at]).unwrap();
            assert_eq!(read_file(&place), None, "cut at byte {at}");
        }
    }

    #[test]
    fn recovery_removes_the_record_of_a_change_that_it_rolls_back() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let (change, record, place) = change(&scratch, &repo);
        write(&repo, &record).unwrap();
        scratch.interrupt(&repo, &change);
        assert_eq!(open_recovered(&repo, POINTER).unwrap().1.unwrap().action, "rolled_back");
        assert!(!place.exists());
    }

    #[test]
    fn a_refused_change_leaves_no_record() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let (change, _, place) = change(&scratch, &repo);
        scratch.write("a.txt", "mine\n");
        publish(&repo, &mut scratch.journal(&repo), change).unwrap_err();
        assert!(!place.exists());
        assert_eq!(scratch.text("a.txt").as_deref(), Some("mine\n"));
    }

    #[test]
    fn the_records_of_a_session_are_removed_together() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let head = repo.head().unwrap().commit.unwrap();
        let other = PrivateRecord { session: "other".into(), ..record(head) };
        for record in [&record(head), &other] {
            write(&repo, record).unwrap();
        }
        remove_session(&repo, "fix");
        assert!(!root(&repo).join("fix").exists());
        assert_eq!(read(&repo, "other", &other.name), Some(other));
    }

    #[test]
    fn the_oldest_records_make_room() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let head = repo.head().unwrap().commit.unwrap();
        for name in ["old", "new"] {
            let record = PrivateRecord { name: name.into(), ..record(head) };
            write(&repo, &record).unwrap();
        }
        let place = |name| path_of(&repo, "fix", name);
        let seconds = u64::try_from(edt_io::clock::seconds()).unwrap_or_default();
        let hour_ago =
            std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.saturating_sub(3600));
        std::fs::File::options()
            .append(true)
            .open(place("old"))
            .unwrap()
            .set_modified(hour_ago)
            .unwrap();
        let size = fs::size(&place("new")).unwrap();
        make_room(&root(&repo), MAX_BYTES - size);
        assert_eq!((place("old").exists(), place("new").exists()), (false, true));
    }

    #[test]
    fn a_large_record_always_makes_room() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let head = repo.head().unwrap().commit.unwrap();
        let small = record(head);
        write(&repo, &small).unwrap();
        let place = path_of(&repo, "fix", &small.name);
        // A sparse file stands for many records.
        std::fs::File::options().append(true).open(&place).unwrap().set_len(MAX_BYTES).unwrap();
        for at in 0..3 {
            let after =
                Some(PrivateBytes { executable: false, permissions: None, bytes: vec![at; LARGE] });
            let files = vec![PrivateFile::new(&path("a.txt"), None, after)];
            let large = PrivateRecord { name: format!("large{at}"), files, ..record(head) };
            write(&repo, &large).unwrap();
            assert!(path_of(&repo, "fix", &large.name).exists());
        }
        assert!(!place.exists());
    }
}
