//! Every file, link and directory below a root, with what a program can change of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::SeekFrom;

/// One line for each path.
pub(crate) type Snapshot = BTreeMap<PathBuf, String>;

/// What is below `root`, except in its Git directory. Times of directories are left out: they
/// change when their names are put back.
pub(crate) fn snapshot(root: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut first_names = BTreeMap::new();
    add(root, root, &mut found, &mut first_names);
    found
}

fn add(root: &Path, path: &Path, found: &mut Snapshot, first_names: &mut BTreeMap<u64, PathBuf>) {
    let relative = path.strip_prefix(root).unwrap().to_owned();
    if relative == Path::new(".git") {
        return;
    }
    let stat = path.symlink_metadata().unwrap();
    let mut line = format!("{:o} {}:{}", stat.mode(), stat.uid(), stat.gid());
    let kind = stat.file_type();
    if kind.is_dir() {
        let mut names: Vec<PathBuf> =
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        for name in names {
            add(root, &name, found, first_names);
        }
    } else if kind.is_symlink() {
        write!(line, " -> {}", std::fs::read_link(path).unwrap().display()).unwrap();
    } else {
        let first = first_names.entry(stat.ino()).or_insert_with(|| relative.clone());
        write!(line, " {}", first.display()).unwrap();
        if !kind.is_fifo() && !kind.is_socket() {
            write!(line, " {}.{}", stat.mtime(), stat.mtime_nsec()).unwrap();
            write!(line, " {} bytes {:x}", stat.len(), content(path)).unwrap();
        }
    }
    for (name, value) in extended(path) {
        write!(line, " {}={}", name.escape_ascii(), value.escape_ascii()).unwrap();
    }
    found.insert(relative, line);
}

/// A sum of all data, whose holes are skipped.
fn content(path: &Path) -> u64 {
    let file = std::fs::File::open(path).unwrap();
    let size = file.metadata().unwrap().len();
    let (mut sum, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    let mut buffer = vec![0; 1 << 16];
    while at < size {
        let Ok(data) = rustix::fs::seek(&file, SeekFrom::Data(at)) else { break };
        let end = rustix::fs::seek(&file, SeekFrom::Hole(data)).unwrap();
        at = data;
        while at < end {
            let read = file.read_at(&mut buffer, at).unwrap();
            for (offset, byte) in buffer[..read].iter().enumerate() {
                // Zeros count as holes.
                if *byte != 0 {
                    let place = at + offset as u64;
                    sum = (sum ^ u64::from(*byte) ^ place).wrapping_mul(0x0100_0000_01b3);
                }
            }
            at += read as u64;
        }
    }
    sum
}

fn extended(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (path, mut names) = (path.as_os_str().as_bytes(), vec![0; 1 << 16]);
    let length = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    let mut all = Vec::new();
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 1 << 16];
        let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap();
        value.truncate(length);
        all.push((name.to_vec(), value));
    }
    all
}

/// The lines that differ, for a message.
pub(crate) fn difference(before: &Snapshot, after: &Snapshot) -> String {
    let mut text = String::new();
    for path in before.keys().chain(after.keys().filter(|path| !before.contains_key(*path))) {
        let line = |of: &Snapshot| of.get(path).map_or("-", String::as_str).to_owned();
        if line(before) != line(after) {
            let shown = path.display();
            writeln!(text, "{shown}\n  was {}\n  is  {}", line(before), line(after)).unwrap();
        }
    }
    text
}
