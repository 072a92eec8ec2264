//! Deletes refs, loose and packed ones, all or none.
//!
//! As Git does: each ref is locked, then the packed refs, which are written again without the
//! deleted ones. Each lock is a hard link to the staging file, so that the next call recognises the
//! locks of a killed one.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Oid;
use super::refs::{is_per_worktree, ref_moved};
use super::reftable::RefUpdate;
use super::repo::Repo;
use super::swap::{REF, RefLock, lock_path};
use edt_io::file::{self, File, OpenMode};
use edt_io::{failed, fs};
use edt_types::Result;

/// The staging file of the packed refs.
const PACKED: &str = "packed";

impl Repo {
    /// Deletes the ref `name` and its log if it has the value `from`; succeeds if it does not
    /// exist.
    ///
    /// # Errors
    /// As [`delete_refs`](Repo::delete_refs).
    pub fn delete_ref(&self, name: &str, from: Oid) -> Result<()> {
        self.delete_refs(&[(name.to_owned(), from)])
    }

    /// Deletes refs with their logs, if each has its value or does not exist.
    ///
    /// # Errors
    /// `SESSION_MOVED` if one has another value; `SESSION_BUSY` if a lock is held. All of them still
    /// exist then. `IO_ERROR`, `GIT_DIR_READ_ONLY`: some may be deleted.
    pub fn delete_refs(&self, refs: &[(String, Oid)]) -> Result<()> {
        if self.has_tables() {
            return self.delete_in_tables(refs);
        }
        let mut existing = Vec::new();
        for (name, from) in refs {
            if self.ref_value(name)?.is_some() {
                existing.push((name.as_str(), *from));
            }
        }
        let mut refs = existing;
        // Two processes take the locks in the same order.
        refs.sort();
        if refs.is_empty() {
            return Ok(());
        }
        let packed = self.packed_refs();
        self.stage_ref("", REF)?;
        let paths: Vec<PathBuf> = refs.iter().map(|(name, _)| self.ref_path(name)).collect();
        let mut locks = Vec::with_capacity(refs.len() + 1);
        for path in paths.iter().chain([&packed]) {
            locks.push(self.hold_lock(path, REF)?);
        }
        for (name, from) in &refs {
            match self.ref_value(name)? {
                Some(current) if current != *from => {
                    return Err(ref_moved(name, Some(*from), Some(current)).into());
                }
                _ => {}
            }
        }
        locks.last().map_or(Ok(()), |lock| lock.check(&packed))?;
        self.remove_packed(&packed, &refs)?;
        for ((name, _), path) in refs.iter().zip(&paths) {
            // The log goes first: a retry after a crash depends on the ref.
            remove(&self.common_dir().join("logs").join(name), "delete the log")?;
            remove(path, "delete the ref")?;
        }
        locks.into_iter().try_for_each(RefLock::release)?;
        let logs = refs.iter().map(|(name, _)| self.common_dir().join("logs").join(name));
        for path in paths.into_iter().chain(logs) {
            let emptied = path.ancestors().skip(1).take_while(|above| !is_top(above));
            emptied.take_while(|above| fs::try_remove_empty_dir(above)).for_each(drop);
        }
        Ok(())
    }

    fn delete_in_tables(&self, refs: &[(String, Oid)]) -> Result<()> {
        let mut pointers = Vec::new();
        for (name, from) in refs {
            // What a symbolic ref names may be in other tables.
            let Some(at) = self.symbolic_ref(name)? else { continue };
            match self.ref_value(name)? {
                Some(now) if now != *from => {
                    return Err(ref_moved(name, Some(*from), Some(now)).into());
                }
                _ => pointers.push((name, at)),
            }
        }
        let at = |name: &String| pointers.iter().find(|(pointer, _)| *pointer == name);
        let updates = refs.iter().map(|(name, from)| match at(name) {
            Some((_, at)) => RefUpdate::Unpoint { name, at },
            None => RefUpdate::Delete { name, from: *from },
        });
        let (own, shared): (Vec<_>, Vec<_>) =
            updates.partition(|update| is_per_worktree(update.name()));
        if !self.has_own_tables() {
            return self.change_refs(&[shared, own].concat(), &[]);
        }
        self.change_refs(&shared, &[])?;
        self.change_refs(&own, &[])
    }

    /// Removes the lock of the packed refs if it is edt's own.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn unlock_packed_refs(&self) -> Result<()> {
        self.unlock_own(&lock_path(&self.packed_refs()))
    }

    pub(super) fn packed_refs(&self) -> PathBuf {
        self.common_dir().join("packed-refs")
    }

    /// Writes the packed refs without `refs`. The caller holds their lock.
    fn remove_packed(&self, path: &Path, refs: &[(&str, Oid)]) -> Result<()> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("read", path, &error).into()),
        };
        let names: HashSet<&[u8]> = refs.iter().map(|(name, _)| name.as_bytes()).collect();
        let kept = without(&bytes, &names);
        if kept.len() == bytes.len() {
            return Ok(());
        }
        let staging = self.state_path().join(PACKED);
        let _ = fs::remove_file(&staging);
        let written = File::open(&staging, OpenMode::CreateNew(0o666))
            .and_then(|file| file.write_all(&kept))
            // Torn packed refs would lose refs that edt never touched.
            .and_then(|()| file::sync(&staging));
        written.map_err(|error| failed("write", &staging, &error))?;
        self.share(&staging)?;
        fs::rename(&staging, path).map_err(|error| failed("write", path, &error).into())
    }
}

/// The lines of the packed refs except those of `names`. A line with `^` belongs to the one above.
fn without(packed: &[u8], names: &HashSet<&[u8]>) -> Vec<u8> {
    let mut keeps = true;
    let kept = packed.split_inclusive(|byte| *byte == b'\n').filter(|line| {
        if !line.starts_with(b"^") {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let name = memchr::memchr(b' ', text).map(|at| &text[at + 1..]);
            keeps = line.starts_with(b"#") || name.is_none_or(|name| !names.contains(name));
        }
        keeps
    });
    kept.flatten().copied().collect()
}

fn remove(path: &Path, what: &str) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if !is_missing(&error) => Err(failed(what, path, &error).into()),
        _ => Ok(()),
    }
}

/// Whether there is no such file. A packed ref may have the name of a directory of loose ones.
fn is_missing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}

/// Whether it is `refs`, or a directory that Git itself keeps.
fn is_top(directory: &Path) -> bool {
    ["refs", "refs/heads", "refs/tags"].iter().any(|top| directory.ends_with(top))
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;
    use edt_types::Code;

    fn scratch() -> (ScratchRepo, Repo, Oid) {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let repo = Repo::open(scratch.path()).unwrap();
        std::fs::create_dir_all(repo.state_path()).unwrap();
        let head = repo.head().unwrap().commit.unwrap();
        (scratch, repo, head)
    }

    fn locks(scratch: &ScratchRepo) -> usize {
        let mut found = 0;
        let mut open = vec![scratch.path().join(".git")];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                found += usize::from(path.extension().is_some_and(|end| end == "lock"));
                open.extend(path.is_dir().then_some(path));
            }
        }
        found
    }

    #[test]
    fn lines_of_other_refs_stay_as_they_are() {
        let packed = b"# pack-refs with: peeled fully-peeled sorted \n11 refs/tags/a\n^22\n33 \
                       refs/tags/ab\n^44\n";
        let kept = without(packed, &HashSet::from([b"refs/tags/a".as_slice()]));
        assert_eq!(kept, b"# pack-refs with: peeled fully-peeled sorted \n33 refs/tags/ab\n^44\n");
        assert_eq!(without(packed, &HashSet::from([b"refs/tags".as_slice()])), packed);
    }

    #[test]
    fn a_packed_and_loose_ref_is_gone() {
        let (scratch, repo, head) = scratch();
        let packed = format!("{head} refs/edt/a/base\n{head} refs/edt/b/base\n");
        std::fs::write(repo.packed_refs(), packed).unwrap();
        repo.create_ref("refs/edt/a/tip", head).unwrap();
        let refs = ["refs/edt/a/base", "refs/edt/a/tip", "refs/edt/none"];
        repo.delete_refs(&refs.map(|name| (name.to_owned(), head))).unwrap();
        let fresh = Repo::open(scratch.path()).unwrap();
        let values = ["refs/edt/a/base", "refs/edt/a/tip", "refs/edt/b/base"]
            .map(|name| fresh.ref_value(name).unwrap());
        assert_eq!(values, [None, None, Some(head)]);
        assert_eq!(locks(&scratch), 0);
        assert!(!scratch.path().join(".git/refs/edt").exists());
    }

    #[test]
    fn all_refs_stay_if_one_has_another_value() {
        let (scratch, repo, head) = scratch();
        repo.create_ref("refs/edt/a", head).unwrap();
        let other = Oid::from_bytes_or_panic(&[9; 20]);
        repo.create_ref("refs/edt/b", other).unwrap();
        let refs = ["refs/edt/a", "refs/edt/b"].map(|name| (name.to_owned(), head));
        let error = repo.delete_refs(&refs).unwrap_err();
        assert!(error.any(|finding| finding.code == Code::SessionMoved), "{error}");
        assert_eq!(repo.ref_value("refs/edt/a").unwrap(), Some(head));
        assert_eq!(locks(&scratch), 0);
    }

    #[test]
    fn the_locks_of_a_killed_deletion_are_recognised() {
        let (scratch, repo, _) = scratch();
        repo.stage_ref("", REF).unwrap();
        let paths = [repo.ref_path("refs/edt/a"), repo.packed_refs()];
        for path in &paths {
            std::mem::forget(repo.hold_lock(path, REF).unwrap());
        }
        assert_eq!(locks(&scratch), 2);
        repo.unlock_ref("refs/edt/a").unwrap();
        repo.unlock_packed_refs().unwrap();
        assert_eq!(locks(&scratch), 0);
    }
}
