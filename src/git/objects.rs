//! Loose objects as edt writes them: always, never "it exists already" (an object torn by a power cut exists, too).

use std::path::Path;

use flate2::{Compress, Compression, FlushCompress, Status};
use gix::objs::Kind;

use super::{Oid, causes};
use crate::base::{Code, Finding, Result};
use crate::io::clock::process_id;
use crate::io::disk::{Dir, Found, Move, Perms};
use crate::io::failed;

/// An object as it stands in a loose file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loose {
    /// Its id.
    pub oid: Oid,
    /// Header and content, deflated.
    pub bytes: Vec<u8>,
}

/// Trees above this many bytes are stored, not deflated: they hardly shrink, and a later repack deltas them.
const STORE_ABOVE: usize = 64 * 1024;
/// Objects of at most this many bytes are stored, too: they take one block of the file system either way.
const STORE_BELOW: usize = 3500;

/// One deflate state for all objects of a transaction, made when one needs it.
pub(super) struct Deflater(Option<Compress>);

impl Deflater {
    pub(super) fn new() -> Deflater {
        Deflater(None)
    }

    pub(super) fn deflate(&mut self, kind: Kind, data: &[u8]) -> Vec<u8> {
        let mut whole = gix::objs::encode::loose_header(kind, data.len() as u64).to_vec();
        whole.extend_from_slice(data);
        if data.len() <= STORE_BELOW || (kind == Kind::Tree && data.len() > STORE_ABOVE) {
            return stored(&whole);
        }
        let state = self.0.get_or_insert_with(|| Compress::new(Compression::fast(), true));
        state.reset();
        let mut out = Vec::with_capacity(whole.len() / 2 + 64);
        while !matches!(
            state.compress_vec(&whole[consumed(state)..], &mut out, FlushCompress::Finish),
            Ok(Status::StreamEnd)
        ) {
            out.reserve(out.capacity());
        }
        out
    }
}

fn consumed(state: &Compress) -> usize {
    usize::try_from(state.total_in()).unwrap_or(usize::MAX)
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
    let (low, high) = data.iter().fold((1_u32, 0_u32), |(low, high), &byte| {
        let low = (low + u32::from(byte)) % 65521;
        (low, (high + low) % 65521)
    });
    out.extend_from_slice(&(high << 16 | low).to_be_bytes());
    out
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

/// Writes `objects` below the folder `objects_dir`, each under its final name only when it is whole.
///
/// # Errors
/// `IO_ERROR` or `GIT_DIR_READ_ONLY`; objects already written stay, named by nothing.
pub fn write(objects_dir: &Path, objects: &[Loose]) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let open = Dir::open(objects_dir).map_err(|error| failed("open", objects_dir, &error))?;
    for object in objects {
        write_one(&open, object, Sync::Never)
            .map_err(|error| failed("write an object to", objects_dir, &error))?;
    }
    Ok(())
}

/// Makes the 256 folders of loose objects, so that the first edits of a session need not, one by one. What fails is made when
/// it is needed.
pub fn make_folders(objects_dir: &Path) {
    if let Ok(open) = Dir::open(objects_dir) {
        (0..=0xff_u8).for_each(|first| drop(open.make(format!("{first:02x}").as_bytes())));
    }
}

/// How closely [`write_missing`] looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A file of the right size: enough just after it was written.
    Size,
    /// Every byte: after a crash.
    Bytes,
}

/// Writes those of `objects` that are not there.
///
/// # Errors
/// As [`write`].
pub fn write_missing(objects_dir: &Path, objects: &[Loose], look: Look) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let open = Dir::open(objects_dir).map_err(|error| failed("open", objects_dir, &error))?;
    for object in objects {
        let name = name_of(object.oid);
        let there = match look {
            Look::Size => {
                matches!(open.stat(&name), Ok(Some(stat)) if stat.size == object.bytes.len() as u64)
            }
            Look::Bytes => {
                matches!(open.read(&name), Ok(Found::File(_, bytes)) if bytes == object.bytes)
            }
        };
        if !there {
            write_one(&open, object, Sync::Never)
                .map_err(|error| failed("write an object to", objects_dir, &error))?;
        }
    }
    Ok(())
}

/// Writes `objects` ahead of the journal's record: each is on the medium before it has its name, so that a power cut leaves none that
/// is torn and that Git would take for whole.
///
/// # Errors
/// As [`write`].
pub fn write_synced(objects_dir: &Path, objects: &[Loose]) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let wrap = |error: std::io::Error| failed("write an object to", objects_dir, &error);
    let open = Dir::open(objects_dir).map_err(wrap)?;
    objects.iter().try_for_each(|object| write_one(&open, object, Sync::Before).map_err(wrap))?;
    let mut folders: Vec<_> =
        objects.iter().map(|object| object.oid.to_hex_with_len(2).to_string()).collect();
    folders.sort();
    folders.dedup();
    folders.push(".".to_owned());
    folders
        .iter()
        .try_for_each(|folder| crate::io::file::sync(&objects_dir.join(folder)))
        .map_err(wrap)?;
    Ok(())
}

/// Whether an object is on the medium before it has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    Before,
    Never,
}

/// `ab/cdef…`, as the object lies below the folder of loose objects.
fn name_of(oid: Oid) -> Vec<u8> {
    let mut name = oid.to_string().into_bytes();
    name.insert(2, b'/');
    name
}

fn write_one(objects: &Dir, object: &Loose, sync: Sync) -> std::io::Result<()> {
    let name = name_of(object.oid);
    // `git gc` removes empty folders while others write: make it and try again, a bounded number of times.
    for attempt in 0.. {
        // Named as Git names its own, so that `git gc` sweeps what a crash leaves.
        let tmp = [&name[..3], format!("tmp_obj_{:x}_{attempt}", process_id()).as_bytes()].concat();
        let written = objects.write_new(&tmp, &object.bytes, Perms::Exactly(0o444));
        let synced =
            written.and_then(|_| if sync == Sync::Before { objects.sync(&tmp) } else { Ok(()) });
        match synced.and_then(|()| objects.rename(&tmp, objects, &name, Move::Replace)) {
            Ok(()) => return Ok(()),
            Err(error) if attempt < 8 && error.kind() == std::io::ErrorKind::NotFound => {
                objects.make(&name[..2])?;
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

impl super::Repo {
    /// The folder of loose objects.
    #[must_use]
    pub fn objects_dir(&self) -> &Path {
        self.inner.objects.store_ref().path()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_is_stored_or_deflated_inflates_again() {
        for len in [0, 1, STORE_BELOW, STORE_BELOW + 1, 65_535, 65_536, 300_000] {
            let data: Vec<u8> = (0..len).map(|i| u8::try_from(i * i % 251).unwrap()).collect();
            for kind in [Kind::Blob, Kind::Tree] {
                let bytes = Deflater::new().deflate(kind, &data);
                let mut whole = Vec::new();
                flate2::read::ZlibDecoder::new(bytes.as_slice()).read_to_end(&mut whole).unwrap();
                assert_eq!(
                    whole,
                    [format!("{kind} {len}\0").as_bytes(), &data].concat(),
                    "{kind} of {len} bytes"
                );
            }
        }
    }
}
