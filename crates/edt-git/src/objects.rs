//! Writes loose objects. An existing object is written again if it is not complete: a power failure
//! may have torn it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use flate2::Decompress;
use gix::objs::Kind;

use super::deflate::Loose;
use super::loose::inflated;
use super::{Oid, Repo, causes};
use edt_io::clock::seconds;
use edt_io::disk::{Dir, FoundEntry, Perms, RenameMode};
use edt_io::enclosure;
use edt_io::process::process_id;
use edt_io::{failed, file};
use edt_types::{Code, Finding, Result};

pub(super) fn id_of(hash: gix::hash::Kind, kind: Kind, data: &[u8]) -> Result<Oid> {
    gix::objs::compute_hash(hash, kind, data).map_err(|error| {
        let message = format!("Hashing failed: {}.", causes(&error));
        Finding::new(
            Code::Internal,
            message,
            "Report this message with the content that caused it.",
        )
        .into()
    })
}

/// Writes `objects`. Each is on stable storage before it gets its name, unless the repository is not
/// [durable](Repo::is_durable): Git takes a torn object for a valid one.
///
/// # Errors
/// `IO_ERROR` or `GIT_DIR_READ_ONLY`; objects already written stay and are unreferenced.
pub fn write(repo: &Repo, objects: &[Loose]) -> Result<()> {
    write_with(repo, objects, &[])
}

/// As [`write`], and syncs the files `others` together with the objects.
///
/// # Errors
/// As [`write`].
pub fn write_with(repo: &Repo, objects: &[Loose], others: &[PathBuf]) -> Result<()> {
    if objects.is_empty() && others.is_empty() {
        return Ok(());
    }
    let objects_dir = repo.objects_dir();
    let open = enclosure::open_directory(objects_dir)
        .map_err(|error| failed("open", objects_dir, &error))?;
    let mut unnamed = Vec::with_capacity(objects.len());
    let named = objects
        .iter()
        .try_for_each(|object| {
            unnamed.push((object, write_unnamed(repo, &open, object)?));
            Ok(())
        })
        .and_then(|()| {
            let path = |(_, tmp): &(&Loose, Vec<u8>)| objects_dir.join(OsStr::from_bytes(tmp));
            let paths: Vec<PathBuf> =
                unnamed.iter().map(path).chain(others.iter().cloned()).collect();
            if repo.is_durable() { file::sync_together(&paths) } else { Ok(()) }
        })
        .and_then(|()| unnamed.iter().try_for_each(|(object, tmp)| name(repo, &open, tmp, object)));
    if named.is_err() {
        unnamed.iter().for_each(|(_, tmp)| drop(open.unlink(tmp)));
    }
    Ok(named.map_err(|error| failed("write an object to", objects_dir, &error))?)
}

/// Creates the directory `name` of loose objects.
fn make_directory(repo: &Repo, objects: &Dir, name: &[u8]) -> std::io::Result<()> {
    objects.make(name)?;
    repo.sharing().apply(&repo.objects_dir().join(OsStr::from_bytes(name)))
}

/// Writes those of `objects` that do not exist. `git gc --prune=now` removes objects that no ref names
/// yet.
///
/// # Errors
/// As [`write`].
pub fn write_missing(repo: &Repo, objects: &[Loose]) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let objects_dir = repo.objects_dir();
    let open = enclosure::open_directory(objects_dir)
        .map_err(|error| failed("open", objects_dir, &error))?;
    let is_missing = |object: &&Loose| {
        let there = open.stat(&name_of(object.oid));
        !matches!(there, Ok(Some(stat)) if stat.size == object.bytes.len() as u64)
    };
    let missing: Vec<Loose> = objects.iter().filter(is_missing).cloned().collect();
    write(repo, &missing)
}

/// `ab/cdef…`: the path of a loose object below the objects directory.
fn name_of(oid: Oid) -> Vec<u8> {
    let mut name = oid.to_string().into_bytes();
    name.insert(2, b'/');
    name
}

/// Writes the object under a temporary name, which is returned.
fn write_unnamed(repo: &Repo, objects: &Dir, object: &Loose) -> std::io::Result<Vec<u8>> {
    let name = name_of(object.oid);
    let (directory, rest) = (&name[..2], String::from_utf8_lossy(&name[3..11]));
    // `git gc` removes empty directories at any time: create the directory and retry, a bounded
    // number of times.
    for attempt in 0..8 {
        // Named as Git's temporary files, so that `git gc` deletes what a crash leaves.
        let tmp = format!("/tmp_obj_{rest}{:x}_{attempt}", process_id());
        let tmp = [directory, tmp.as_bytes()].concat();
        let written = objects
            .write_new(&tmp, &object.bytes, Perms::Exactly(0o444))
            .and_then(|()| repo.sharing().apply(&repo.objects_dir().join(OsStr::from_bytes(&tmp))));
        match written {
            Ok(()) => return Ok(tmp),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                make_directory(repo, objects, directory)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let _ = objects.unlink(&tmp);
                return Err(error);
            }
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

/// Names the object. If it is not synced, a complete one that exists stays, which may be on stable
/// storage.
fn name(repo: &Repo, objects: &Dir, tmp: &[u8], object: &Loose) -> std::io::Result<()> {
    let name = &*name_of(object.oid);
    if repo.is_durable() {
        return objects.rename(tmp, objects, name, RenameMode::Replace);
    }
    let named = objects.rename(tmp, objects, name, RenameMode::NoReplace);
    let Err(error) = named else { return Ok(()) };
    if error.kind() != std::io::ErrorKind::AlreadyExists {
        return Err(error);
    }
    let found = objects.read(name);
    let there = matches!(found, Ok(FoundEntry::File(_, bytes)) if has_content(object, &bytes));
    // As young as a new one, so that `git gc` does not take it for garbage.
    if there && objects.set_modified(name, (seconds(), 0)).is_ok() {
        return objects.unlink(tmp);
    }
    // The one that is replaced may be complete and on stable storage: it is too large to compare.
    objects.sync(tmp)?;
    objects.rename(tmp, objects, name, RenameMode::Replace)
}

/// Whether another loose file has the same content, deflated in whatever way. Not known of larger
/// objects.
fn has_content(object: &Loose, bytes: &[u8]) -> bool {
    let inflate = |bytes: &[u8]| inflated(&mut Decompress::new(true), bytes);
    bytes == object.bytes || inflate(bytes).is_some_and(|it| Some(it) == inflate(&object.bytes))
}

impl Repo {
    /// The directory of loose objects.
    #[must_use]
    pub fn objects_dir(&self) -> &Path {
        self.inner.objects.store_ref().path()
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use gix::objs::Kind;

    use super::super::deflate::Deflater;
    use super::*;
    use edt_testkit::repository;

    #[test]
    fn a_complete_object_stays_and_a_torn_one_is_written_again() {
        use std::os::unix::fs::MetadataExt as _;
        let dir = edt_testkit::tempdir().unwrap();
        repository::init(dir.path(), repository::User { name: "A", email: "a@b" }).unwrap();
        let repo = Repo::open(dir.path()).unwrap();
        let data = b"some text, deflated by another program\n";
        let object = Loose {
            oid: repo.blob_id(data).unwrap(),
            bytes: Deflater::new().deflate(Kind::Blob, data),
        };
        let hex = object.oid.to_string();
        let path = repo.objects_dir().join(&hex[..2]).join(&hex[2..]);
        repo.set_durable(false);
        let write = || {
            write(&repo, std::slice::from_ref(&object)).unwrap();
            path.metadata().unwrap()
        };
        let mut other = flate2::write::ZlibEncoder::new(Vec::new(), Compression::best());
        std::io::Write::write_all(&mut other, format!("blob {}\0", data.len()).as_bytes()).unwrap();
        std::io::Write::write_all(&mut other, data).unwrap();
        let other = other.finish().unwrap();
        assert_ne!(other, object.bytes);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, other).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH;
        std::fs::File::open(&path).unwrap().set_modified(old).unwrap();
        let first = path.metadata().unwrap().ino();
        let kept = write();
        assert_eq!(kept.ino(), first);
        assert!(kept.mtime() > 0, "as young as a new one");
        let longer = [&object.bytes[..], b"garbage"].concat();
        for torn in [&b""[..], &longer] {
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, torn).unwrap();
            let before = path.metadata().unwrap().ino();
            assert_ne!(write().ino(), before);
            assert_eq!(std::fs::read(&path).unwrap(), object.bytes);
        }
        assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1);
    }
}
