//! Private files of lines, which only grow. Nothing here waits for the disk.

use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use super::file::{File, OpenMode};
use super::fs::libc_flag;

/// Appends the lines `bytes` to the file `path` with one write. A new file is readable by its owner
/// only. They begin on a new line if the last one is torn. Returns the size afterwards.
///
/// # Errors
/// What is at `path` is no regular file; any error of the operating system. A part may be written.
pub fn append(path: &Path, bytes: &[u8]) -> io::Result<u64> {
    let file = File::open(path, OpenMode::AppendPrivate)?;
    if bytes.is_empty() {
        return file.len();
    }
    let (mut last, size) = ([b'\n'], file.len()?);
    if size > 0 {
        file.read_exact_at(&mut last, size - 1)?;
    }
    if last == *b"\n" {
        file.write_all(bytes)?;
    } else {
        file.write_all(&[b"\n", bytes].concat())?;
    }
    file.len()
}

/// The last whole lines of the regular file `path`, at most `most` bytes; empty if it cannot be
/// read.
#[must_use]
pub fn tail(path: &Path, most: u64) -> Vec<u8> {
    read_tail(path, most).unwrap_or_default()
}

fn read_tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let careful = libc_flag(OFlags::NONBLOCK | OFlags::NOFOLLOW);
    let mut file = std::fs::File::options().read(true).custom_flags(careful).open(path)?;
    let meta = file.metadata()?;
    let from = meta.len().saturating_sub(most);
    if !meta.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // One byte before shows whether the first line is whole.
    file.seek(io::SeekFrom::Start(from.saturating_sub(1)))?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if from > 0 {
        let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.drain(..end);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_new_file_is_its_owners_alone_and_grows() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lines");
        assert_eq!(append(&file, b"one\n").unwrap(), 4);
        assert_eq!(append(&file, b"two\n").unwrap(), 8);
        assert_eq!(std::fs::read(&file).unwrap(), b"one\ntwo\n");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_torn_line_leaves_the_next_one_whole() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lines");
        std::fs::write(&file, b"to").unwrap();
        assert_eq!(append(&file, b"one\n").unwrap(), 7);
        append(&file, b"two\n").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"to\none\ntwo\n");
    }

    #[test]
    fn a_link_is_not_followed_and_a_fifo_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link, fifo) =
            (dir.path().join("target"), dir.path().join("link"), dir.path().join("fifo"));
        std::fs::write(&target, b"one\n").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        crate::platform::make_fifo(&fifo);
        for path in [&link, &fifo, &dir.path().to_owned()] {
            assert!(append(path, b"two\n").is_err(), "{path:?}");
            assert_eq!(tail(path, 9), b"", "{path:?}");
        }
        assert_eq!(std::fs::read(&target).unwrap(), b"one\n");
    }

    #[test]
    fn a_tail_has_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lines");
        append(&file, b"one\ntwo\nthree\n").unwrap();
        let tails =
            [0, 5, 6, 9, 10, 14, 99].map(|most| String::from_utf8(tail(&file, most)).unwrap());
        assert_eq!(
            tails,
            [
                "",
                "",
                "three\n",
                "three\n",
                "two\nthree\n",
                "one\ntwo\nthree\n",
                "one\ntwo\nthree\n"
            ]
        );
        assert_eq!(tail(&dir.path().join("none"), 9), b"");
    }
}
