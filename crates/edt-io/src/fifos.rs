//! Releases this process when library code blocks on a FIFO.
//!
//! `gix` opens paths as regular files when it compares them or reads its rules. A FIFO at such a
//! path would block edt, which holds its lock, until some process writes to the FIFO.

use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nix::sys::resource::UsageWho;
use rustix::fs::OFlags;

use super::clock::processor_time;

/// How often the watch checks whether the process is blocked.
const TICK: Duration = Duration::from_millis(1500);

/// A process that uses less processor time than this in a [`TICK`] is blocked. It is more than the
/// polling of waiting threads takes.
const IDLE: Duration = Duration::from_millis(15);

/// While this value lives, nobody blocks for long on a FIFO below a directory.
#[derive(Debug)]
#[must_use = "the watch ends when this value is dropped"]
pub struct Watch(#[expect(dead_code, reason = "dropping it ends the watch")] Sender<()>);

/// Watches the directory at `root`, except directories named `.git`.
pub fn watch(root: &Path) -> Watch {
    let (alive, watched) = channel();
    let root = root.to_owned();
    let used = || processor_time(UsageWho::RUSAGE_SELF);
    // If no thread can be started, there is no watch and FIFOs may block.
    let _ = std::thread::Builder::new().name("fifos".to_owned()).spawn(move || {
        // The first call waits for a tick: most watches end before it.
        let mut before = Duration::ZERO;
        while let Err(RecvTimeoutError::Timeout) = watched.recv_timeout(TICK) {
            let now = used();
            if now.saturating_sub(before) < IDLE {
                release(&root);
            }
            before = used();
        }
    });
    Watch(alive)
}

/// Opens every FIFO below `root` that has a reader for writing, and closes it without writing. The
/// readers see the end of the file. A FIFO with a waiting writer is not changed.
fn release(root: &Path) {
    let mut directories: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && entry.file_name() != ".git" {
                directories.push(entry.path());
            } else if kind.is_fifo() {
                let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
                let _ = std::fs::File::options().write(true).custom_flags(flags).open(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_reader_of_a_fifo_is_released() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        let pipe = dir.path().join("a/pipe");
        crate::platform::make_fifo(&pipe);
        let reader = std::thread::spawn(move || std::fs::read(pipe).unwrap());
        for _ in 0..1000 {
            if reader.is_finished() {
                break;
            }
            release(dir.path());
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(reader.is_finished(), "it still waits");
        assert_eq!(reader.join().unwrap(), b"");
    }
}
