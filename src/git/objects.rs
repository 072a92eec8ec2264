//! Loose objects as edt writes them: always, never "it exists already" (an object torn by a power cut exists, too).

use std::path::Path;

use flate2::{Compress, Compression, FlushCompress, Status};
use gix::objs::Kind;

use super::{Oid, causes};
use crate::base::{Code, Finding, Result};
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

/// One deflate state for all objects of a transaction.
pub(super) struct Deflater(Compress);

impl Deflater {
    pub(super) fn new() -> Deflater {
        Deflater(Compress::new(Compression::fast(), true))
    }

    pub(super) fn deflate(&mut self, kind: Kind, data: &[u8]) -> Vec<u8> {
        let header = gix::objs::encode::loose_header(kind, data.len() as u64);
        if kind == Kind::Tree && data.len() > STORE_ABOVE {
            return run(&mut Compress::new(Compression::none(), true), &header, data);
        }
        self.0.reset();
        run(&mut self.0, &header, data)
    }
}

fn run(state: &mut Compress, header: &[u8], data: &[u8]) -> Vec<u8> {
    // Deflate never grows a text by more than 5 bytes in 16 KiB, its header and its checksum.
    let mut out = Vec::with_capacity(header.len() + data.len() / 2 + 64);
    for (input, flush) in [(header, FlushCompress::None), (data, FlushCompress::Finish)] {
        let from = state.total_in();
        loop {
            let done = usize::try_from(state.total_in() - from).unwrap_or(input.len());
            out.reserve(256);
            let status = state.compress_vec(&input[done..], &mut out, flush);
            let done = usize::try_from(state.total_in() - from).unwrap_or(input.len());
            let finished = match flush {
                FlushCompress::Finish => status.is_ok_and(|status| status == Status::StreamEnd),
                _ => done == input.len(),
            };
            if finished {
                break;
            }
            out.reserve(out.capacity());
        }
    }
    out
}

pub(super) fn id_of(hash: gix::hash::Kind, kind: Kind, data: &[u8]) -> Result<Oid> {
    gix::objs::compute_hash(hash, kind, data).map_err(|error| {
        let message = format!("Hashing failed: {}.", causes(&error));
        Finding::new(Code::Internal, message, "Report this message with the content that caused it.").into()
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
        write_one(&open, object).map_err(|error| failed("write an object to", objects_dir, &error))?;
    }
    Ok(())
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
            Look::Size => matches!(open.stat(&name), Ok(Some(stat)) if stat.size == object.bytes.len() as u64),
            Look::Bytes => matches!(open.read(&name), Ok(Found::File(_, bytes)) if bytes == object.bytes),
        };
        if !there {
            write_one(&open, object).map_err(|error| failed("write an object to", objects_dir, &error))?;
        }
    }
    Ok(())
}

/// Waits until `objects` and their folders are on the medium.
///
/// # Errors
/// `IO_ERROR`.
pub fn sync(objects_dir: &Path, objects: &[Loose]) -> Result<()> {
    for object in objects {
        let file = objects_dir.join(object.oid.to_hex_with_len(2).to_string());
        let file = file.join(&object.oid.to_string()[2..]);
        for path in file.ancestors().take(2) {
            let synced = std::fs::File::open(path).and_then(|file| file.sync_all());
            synced.map_err(|error| failed("sync", path, &error))?;
        }
    }
    Ok(())
}

/// `ab/cdef…`, as the object lies below the folder of loose objects.
fn name_of(oid: Oid) -> Vec<u8> {
    let mut name = oid.to_string().into_bytes();
    name.insert(2, b'/');
    name
}

fn write_one(objects: &Dir, object: &Loose) -> std::io::Result<()> {
    let name = name_of(object.oid);
    // `git gc` removes empty folders while others write: make it and try again, a bounded number of times.
    for attempt in 0.. {
        // Named as Git names its own, so that `git gc` sweeps what a crash leaves.
        let tmp = [&name[..3], format!("tmp_obj_{:x}_{attempt}", std::process::id()).as_bytes()].concat();
        let written = objects.write_new(&tmp, &object.bytes, Perms::Exactly(0o444));
        match written.and_then(|_| objects.rename(&tmp, objects, &name, Move::Replace)) {
            Ok(()) => return Ok(()),
            Err(error) if attempt < 8 && error.kind() == std::io::ErrorKind::NotFound => {
                objects.make_beneath(&name[..2])?;
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
