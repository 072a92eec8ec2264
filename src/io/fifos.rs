//! A way out for code that opens files by itself and would wait at a FIFO for ever: whoever stands there is let through.
//!
//! `gix` opens what it compares, and what holds its rules, as if it were a file. A FIFO in its place, or put there between its look and its
//! opening, would hold edt and its lock until somebody writes to it.

use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::fs::OFlags;

/// How often it is looked whether the process stands still.
const TICK: Duration = Duration::from_millis(1500);

/// While this lives, nobody waits long at a FIFO below a folder.
#[derive(Debug)]
#[must_use = "it watches for as long as it lives"]
pub struct Watch(#[expect(dead_code, reason = "its end is the signal")] Sender<()>);

/// Watches over the folder at `root`, Git folders left out.
pub fn watch(root: &Path) -> Watch {
    let (alive, watched) = channel();
    let root = root.to_owned();
    // Without a thread there is no watch, and all goes as it always went.
    let _ = std::thread::Builder::new().name("fifos".to_owned()).spawn(move || {
        let mut before = spent();
        while let Err(RecvTimeoutError::Timeout) = watched.recv_timeout(TICK) {
            let now = spent();
            if now.saturating_sub(before) < Duration::from_millis(1) {
                release(&root);
            }
            before = spent();
        }
    });
    Watch(alive)
}

/// The time that this process has computed so far.
fn spent() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Opens every FIFO below `root` that somebody reads or waits to read, to write nothing: they see its end. One at which a writer waits
/// is left alone.
fn release(root: &Path) {
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(entry.path());
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
    fn who_waits_at_a_fifo_is_let_through() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        let pipe = dir.path().join("a/pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
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
