//! Writes loose objects. An existing object is written again if it is not complete: a power failure
//! may have torn it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use flate2::{Compress, Compression, Decompress, FlushCompress, Status};
use gix::objs::Kind;

use super::loose::inflated;
use super::{Oid, Repo, causes};
use edt_io::clock::{process_id, seconds};
use edt_io::disk::{Dir, FoundEntry, Perms, RenameMode, Sync};
use edt_io::failed;
use edt_types::{Code, Finding, Result};

/// An object as stored in a loose file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loose {
    pub oid: Oid,
    /// Header and content, deflated.
    pub bytes: Vec<u8>,
}

impl Loose {
    /// Whether another loose file has the same content, deflated in whatever way. Not known of
    /// larger objects.
    fn has_content(&self, bytes: &[u8]) -> bool {
        let inflate = |bytes: &[u8]| inflated(&mut Decompress::new(true), bytes);
        bytes == self.bytes || inflate(bytes).is_some_and(|it| Some(it) == inflate(&self.bytes))
    }
}

/// Larger trees are stored without compression: they hardly shrink, and a later repack stores them
/// as deltas.
const STORE_ABOVE: usize = 64 * 1024;
/// Smaller objects are stored without compression, too: they take one file system block in either
/// case.
const STORE_BELOW: usize = 3500;

/// How much output of a large object is allocated at once, in bytes.
const FIRST_OUTPUT: usize = 16 << 20;

/// One deflate state for all objects of a transaction, created on first use.
pub(super) struct Deflater(Option<Compress>);

impl Deflater {
    pub(super) fn new() -> Deflater {
        Deflater(None)
    }

    pub(super) fn deflate(&mut self, kind: Kind, data: &[u8]) -> Vec<u8> {
        let header = gix::objs::encode::loose_header(kind, data.len() as u64);
        if data.len() <= STORE_BELOW || (kind == Kind::Tree && data.len() > STORE_ABOVE) {
            return stored(&[&header, data].concat());
        }
        let state = self.0.get_or_insert_with(|| Compress::new(Compression::fast(), true));
        state.reset();
        let mut out = Vec::with_capacity(data.len().min(FIRST_OUTPUT) / 2 + 64);
        // The header and the content are not joined: the content may be large.
        for (mut rest, flush) in [(&*header, FlushCompress::None), (data, FlushCompress::Finish)] {
            loop {
                let before = state.total_in();
                let status = state.compress_vec(rest, &mut out, flush);
                let read = usize::try_from(state.total_in() - before).unwrap_or(rest.len());
                rest = &rest[read..];
                match (status, flush) {
                    (Ok(Status::StreamEnd), _) => break,
                    (Ok(_), FlushCompress::None) if rest.is_empty() => break,
                    _ => out.reserve(out.capacity().min(FIRST_OUTPUT)),
                }
            }
        }
        out
    }
}

/// `data` as a zlib stream of stored blocks (RFC 1950 and 1951, section 3.2.4).
fn stored(data: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 0xffff;
    let mut out = vec![0x78, 0x01];
    let last = data.chunks(BLOCK).count().saturating_sub(1);
    for (i, block) in data.chunks(BLOCK).enumerate() {
        let len = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(i == last));
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&(!len).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend_from_slice(&adler32(data).to_be_bytes());
    out
}

/// The checksum of RFC 1950, section 8.2.
pub(super) fn adler32(data: &[u8]) -> u32 {
    // The most bytes that cannot overflow the sums: `NMAX` of zlib.
    const MOST: usize = 5552;
    const MODULUS: u32 = 65521;
    let (low, high) = data.chunks(MOST).fold((1_u32, 0_u32), |(low, high), chunk| {
        let (low, high) = chunk.iter().fold((low, high), |(low, high), &byte| {
            let low = low + u32::from(byte);
            (low, high + low)
        });
        (low % MODULUS, high % MODULUS)
    });
    high << 16 | low
}

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
    if objects.is_empty() {
        return Ok(());
    }
    let objects_dir = repo.objects_dir();
    let open = Dir::open(objects_dir).map_err(|error| failed("open", objects_dir, &error))?;
    for object in objects {
        write_one(repo, &open, object)
            .map_err(|error| failed("write an object to", objects_dir, &error))?;
    }
    Ok(())
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
    let open = Dir::open(objects_dir).map_err(|error| failed("open", objects_dir, &error))?;
    for object in objects {
        let there = open.stat(&name_of(object.oid));
        if !matches!(there, Ok(Some(stat)) if stat.size == object.bytes.len() as u64) {
            write_one(repo, &open, object)
                .map_err(|error| failed("write an object to", objects_dir, &error))?;
        }
    }
    Ok(())
}

/// `ab/cdef…`: the path of a loose object below the objects directory.
fn name_of(oid: Oid) -> Vec<u8> {
    let mut name = oid.to_string().into_bytes();
    name.insert(2, b'/');
    name
}

fn write_one(repo: &Repo, objects: &Dir, object: &Loose) -> std::io::Result<()> {
    let name = name_of(object.oid);
    // `git gc` removes empty directories at any time: create the directory and retry, a bounded
    // number of times.
    for attempt in 0.. {
        // Named as Git's temporary files, so that `git gc` deletes what a crash leaves.
        let tmp = [&name[..3], format!("tmp_obj_{:x}_{attempt}", process_id()).as_bytes()].concat();
        let sync = if repo.is_durable() { Sync::Data } else { Sync::Nothing };
        let written = objects
            .write_new(&tmp, &object.bytes, Perms::Exactly(0o444), sync)
            .and_then(|()| repo.sharing().apply(&repo.objects_dir().join(OsStr::from_bytes(&tmp))));
        match written.and_then(|()| give_name(repo, objects, &tmp, &name, object)) {
            Ok(()) => return Ok(()),
            Err(error) if attempt < 8 && error.kind() == std::io::ErrorKind::NotFound => {
                make_directory(repo, objects, &name[..2])?;
            }
            Err(error) if attempt < 8 && error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let _ = objects.unlink(&tmp);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Names the object. If it is not synced, a complete one that exists stays, which may be on stable
/// storage.
fn give_name(
    repo: &Repo,
    objects: &Dir,
    tmp: &[u8],
    name: &[u8],
    object: &Loose,
) -> std::io::Result<()> {
    if repo.is_durable() {
        return objects.rename(tmp, objects, name, RenameMode::Replace);
    }
    let named = objects.rename(tmp, objects, name, RenameMode::NoReplace);
    let Err(error) = named else { return Ok(()) };
    if error.kind() != std::io::ErrorKind::AlreadyExists {
        return Err(error);
    }
    let found = objects.read(name);
    let there = matches!(found, Ok(FoundEntry::File(_, bytes)) if object.has_content(&bytes));
    // As young as a new one, so that `git gc` does not take it for garbage.
    if there && objects.set_modified(name, (seconds(), 0)).is_ok() {
        return objects.unlink(tmp);
    }
    // The one that is replaced may be complete and on stable storage: it is too large to compare.
    objects.sync(tmp)?;
    objects.rename(tmp, objects, name, RenameMode::Replace)
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
    use std::io::Read as _;

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

    #[test]
    fn stored_and_deflated_objects_inflate_to_the_same_bytes() {
        for len in [0, 1, STORE_BELOW, STORE_BELOW + 1, 65_535, 65_536, 300_000] {
            let data: Vec<u8> = (0..len).map(|i| u8::try_from(i * i % 251).unwrap()).collect();
            for kind in [Kind::Blob, Kind::Tree] {
                let bytes = Deflater::new().deflate(kind, &data);
                let mut full = Vec::new();
                flate2::read::ZlibDecoder::new(bytes.as_slice()).read_to_end(&mut full).unwrap();
                assert_eq!(
                    full,
                    [format!("{kind} {len}\0").as_bytes(), &data].concat(),
                    "{kind} of {len} bytes"
                );
            }
        }
    }
}
