//! A directory in which names that differ only in case, or in the form of their Unicode, are one name,
//! as on macOS: a FUSE file system over a directory.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirEntryExt as _, FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::fuse::{self, Mount, ROOT, Request, longs};
use rustix::fs::{self as sys, AtFlags, CWD, Mode, OFlags, RenameFlags};

/// Shows the directory `from` at the directory `at`; `None` without FUSE, or for another user than
/// root. `exchanges`: whether a rename can exchange two files, or keep an existing one.
pub(crate) fn mount(from: &Path, at: &Path, exchanges: bool) -> Option<Mount> {
    let root = Node { file: opened(from).unwrap(), count: 1 };
    let nodes = HashMap::from([(ROOT, root)]);
    let mut server = Server { nodes, files: HashMap::new(), next: 1, exchanges };
    fuse::mount(at, "default_permissions", move |request| server.answer(request))
}

/// A file that the kernel knows.
struct Node {
    file: OwnedFd,
    count: u64,
}

struct Server {
    nodes: HashMap<u64, Node>,
    files: HashMap<u64, File>,
    next: u64,
    exchanges: bool,
}

fn opened(path: &Path) -> io::Result<OwnedFd> {
    Ok(sys::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
}

/// What equal names have in common. Of the composed letters, those that tests use.
fn folded(name: &OsStr) -> String {
    let lower = name.to_string_lossy().to_lowercase();
    [("a", "ä"), ("o", "ö"), ("u", "ü")]
        .iter()
        .fold(lower, |name, (letter, composed)| name.replace(&format!("{letter}\u{308}"), composed))
}

impl Server {
    fn forget(&mut self, node: u64, count: u64) {
        if node != ROOT && self.nodes.get(&node).is_some_and(|known| known.count <= count) {
            self.nodes.remove(&node);
        } else if let Some(known) = self.nodes.get_mut(&node) {
            known.count -= count.min(known.count);
        }
    }

    /// The file itself, by a path.
    fn path(&self, node: u64) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.nodes[&node].file.as_raw_fd()))
    }

    /// The entry of the directory `node` whose name is `name` but for case and form, or a new one.
    fn entry(&self, node: u64, name: &OsStr) -> PathBuf {
        let directory = self.path(node);
        let exact = directory.join(name);
        if exact.symlink_metadata().is_ok() {
            return exact;
        }
        let mut names = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let other = names.find(|other| folded(&other.file_name()) == folded(name));
        other.map_or(exact, |other| directory.join(other.file_name()))
    }

    /// Makes the file known, and describes it.
    fn known(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let file = opened(path)?;
        let inode = sys::fstat(&file)?.st_ino;
        self.nodes.entry(inode).or_insert(Node { file, count: 0 }).count += 1;
        Ok([longs(&[inode, 0, 0, 0, 0]), self.attributes(inode)?].concat())
    }

    fn attributes(&self, node: u64) -> io::Result<Vec<u8>> {
        let stat = sys::fstat(&self.nodes[&node].file)?;
        let times = [stat.st_atime, stat.st_mtime, stat.st_ctime].map(i64::cast_unsigned);
        let size = stat.st_size.cast_unsigned();
        let mut out = longs(&[stat.st_ino, size, stat.st_blocks.cast_unsigned()]);
        out.extend(longs(&times));
        let parts = [stat.st_atime_nsec, stat.st_mtime_nsec, stat.st_ctime_nsec];
        out.extend(parts.iter().flat_map(|part| u32::try_from(*part).unwrap().to_le_bytes()));
        let links = u32::try_from(stat.st_nlink).unwrap();
        for value in [stat.st_mode, links, stat.st_uid, stat.st_gid, 0, 4096, 0] {
            out.extend(value.to_le_bytes());
        }
        Ok(out)
    }

    fn hold(&mut self, file: File) -> Vec<u8> {
        self.next += 1;
        self.files.insert(self.next, file);
        longs(&[self.next, 0])
    }

    fn answer(&mut self, request: &Request<'_>) -> io::Result<Vec<u8>> {
        let node = request.node;
        let named = |at: usize| self.entry(node, request.names(at)[0]);
        let file = || self.files.get(&request.long(0)).ok_or_else(|| io::Error::other("handle"));
        match request.opcode {
            1 => return self.known(&named(0)),
            2 => self.forget(node, request.long(0)),
            3 => return Ok([longs(&[0, 0]), self.attributes(node)?].concat()),
            4 => return self.change(request),
            5 => {
                return Ok(sys::readlinkat(&self.nodes[&node].file, "", Vec::new())?.into_bytes());
            }
            6 => {
                let path = named(0);
                std::os::unix::fs::symlink(request.names(0)[1], &path)?;
                return self.known(&path);
            }
            9 => {
                let path = named(8);
                std::fs::create_dir(&path)?;
                let mode = std::fs::Permissions::from_mode(request.word(0) & 0o7777);
                std::fs::set_permissions(&path, mode)?;
                return self.known(&path);
            }
            10 => std::fs::remove_file(named(0))?,
            11 => std::fs::remove_dir(named(0))?,
            12 => self.rename(request, 8, RenameFlags::empty())?,
            45 if self.exchanges => {
                self.rename(request, 16, RenameFlags::from_bits_retain(request.word(8)))?;
            }
            13 => {
                let (from, to) = (self.path(request.long(0)), named(8));
                sys::linkat(CWD, from, CWD, &to, AtFlags::SYMLINK_FOLLOW)?;
                return self.known(&to);
            }
            14 => {
                let write = request.word(0) & 3 != 0;
                let file = OpenOptions::new().read(true).write(write).open(self.path(node))?;
                return Ok(self.hold(file));
            }
            15 => {
                let mut out = vec![0; request.word(16) as usize];
                let count = file()?.read_at(&mut out, request.long(8))?;
                out.truncate(count);
                return Ok(out);
            }
            16 => {
                let bytes = &request.body[40..][..request.word(16) as usize];
                file()?.write_all_at(bytes, request.long(8))?;
                return Ok(longs(&[u64::from(request.word(16))]));
            }
            17 => {
                let free = 1 << 20;
                return Ok(longs(&[free, free, free, free, free, 4096 | 255 << 32, 4096, 0, 0, 0]));
            }
            18 => drop(self.files.remove(&request.long(0))),
            20 | 25 | 29 | 30 | 34 | 36 => {}
            27 => return Ok(longs(&[0, 0])),
            28 => return self.list(node, request.long(8), request.word(16) as usize),
            35 => {
                let path = named(16);
                let mut options = OpenOptions::new();
                options.read(true).write(true).create(true).truncate(false);
                let file = options.open(&path)?;
                let mode = std::fs::Permissions::from_mode(request.word(4) & 0o7777);
                file.set_permissions(mode)?;
                return Ok([self.known(&path)?, self.hold(file)].concat());
            }
            42 => (0..request.word(0) as usize).for_each(|n| {
                self.forget(request.long(8 + 16 * n), request.long(16 + 16 * n));
            }),
            _ => return fuse::unknown(),
        }
        Ok(Vec::new())
    }

    fn change(&self, request: &Request<'_>) -> io::Result<Vec<u8>> {
        let (valid, path) = (request.word(0), self.path(request.node));
        let has = |bit: u32| valid & bit != 0;
        if has(2) || has(4) {
            let owner = has(2).then(|| request.word(76));
            std::os::unix::fs::chown(&path, owner, has(4).then(|| request.word(80)))?;
        }
        if has(1) {
            let mode = std::fs::Permissions::from_mode(request.word(68) & 0o7777);
            std::fs::set_permissions(&path, mode)?;
        }
        if has(8) {
            OpenOptions::new().write(true).open(&path)?.set_len(request.long(16))?;
        }
        let time = |set: u32, now: u32, at: usize, part: usize| sys::Timespec {
            tv_sec: request.long(at).cast_signed(),
            tv_nsec: match (has(now), has(set)) {
                (true, _) => sys::UTIME_NOW,
                (false, true) => request.word(part).into(),
                (false, false) => sys::UTIME_OMIT,
            },
        };
        let times = sys::Timestamps {
            last_access: time(16, 128, 32, 56),
            last_modification: time(32, 256, 40, 60),
        };
        if has(16 | 32 | 128 | 256) {
            sys::utimensat(CWD, &path, &times, AtFlags::empty())?;
        }
        Ok([longs(&[0, 0]), self.attributes(request.node)?].concat())
    }

    fn rename(&self, request: &Request<'_>, at: usize, flags: RenameFlags) -> io::Result<()> {
        let [from, to] = request.names(at);
        let from = self.entry(request.node, from);
        let to = self.entry(request.long(0), to);
        Ok(sys::renameat_with(CWD, &from, CWD, &to, flags)?)
    }

    /// The entries from the one with number `offset` on.
    fn list(&self, node: u64, offset: u64, size: usize) -> io::Result<Vec<u8>> {
        let mut entries: Vec<_> =
            std::fs::read_dir(self.path(node))?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        let mut out = Vec::new();
        for (entry, number) in entries.iter().zip(1_u64..).skip(usize::try_from(offset).unwrap()) {
            let name = entry.file_name();
            let len = name.as_bytes().len();
            if out.len() + 24 + len.next_multiple_of(8) > size {
                break;
            }
            out.extend(longs(&[entry.ino(), number]));
            out.extend(u32::try_from(len).unwrap().to_le_bytes());
            out.extend((entry.metadata()?.mode() >> 12).to_le_bytes());
            out.extend(name.as_bytes());
            out.resize(out.len().next_multiple_of(8), 0);
        }
        Ok(out)
    }
}
