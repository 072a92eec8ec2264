//! Reads what a running program writes as it comes: two pipes, and a descriptor that reports the
//! program's end.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};

use super::{clock, inherited, platform};

#[derive(Debug)]
pub struct PipeReader {
    pipe: File,
    open: bool,
}

/// Why [`follow`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowEnd {
    /// The program ended.
    Ended,
    /// The time limit is over.
    TimedOut,
    /// The [`Follow`] wants no more.
    Stopped,
}

/// A consumer of what is read.
pub trait Follow {
    /// Takes bytes that were read from the reader with that index.
    fn take(&mut self, reader: usize, bytes: &[u8]);

    /// Whether to stop reading; `None` if the answer will never be `true`.
    fn stop(&self) -> Option<bool>;
}

/// [`wait_ready`] compares the deadline with the clock at least this often, because the timer of
/// `poll` may stop while the machine is suspended.
const LONGEST_POLL: Duration = Duration::from_secs(60);
/// How often [`Follow::stop`] is called.
const TICK: Duration = Duration::from_millis(50);

/// Waits until a descriptor is ready, retrying after signals; false if `deadline` is reached first.
/// [`PollFd::revents`] says which are ready.
///
/// # Errors
/// Any error of the operating system.
pub fn wait_ready(fds: &mut [PollFd<'_>], deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(clock::now());
        if left.is_zero() {
            return Ok(false);
        }
        let timeout = Timespec::try_from(left.min(LONGEST_POLL)).unwrap_or_default();
        match poll(fds, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Creates a pipe: the end to read, and the end to give to a program.
///
/// # Errors
/// Any error of the operating system.
pub fn pipe() -> io::Result<(PipeReader, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    let pipe = File::from(OwnedFd::from(reader));
    fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
    Ok((PipeReader { pipe, open: true }, writer.into()))
}

/// Reads all `readers` until `over` becomes readable, `until` is reached, or `by` wants no more.
///
/// # Errors
/// Any error of the operating system while waiting.
pub fn follow(
    readers: &mut [PipeReader],
    over: BorrowedFd<'_>,
    until: Instant,
    by: &mut dyn Follow,
) -> io::Result<FollowEnd> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let now = clock::now();
        if now >= until {
            return Ok(FollowEnd::TimedOut);
        }
        let deadline = match by.stop() {
            Some(true) => return Ok(FollowEnd::Stopped),
            Some(false) => until.min(now + TICK),
            None => until,
        };
        let mut fds = vec![PollFd::from_borrowed_fd(over, PollFlags::IN)];
        let open: Vec<usize> = (0..readers.len()).filter(|at| readers[*at].open).collect();
        fds.extend(
            open.iter()
                .map(|at| PollFd::from_borrowed_fd(readers[*at].pipe.as_fd(), PollFlags::IN)),
        );
        wait_ready(&mut fds, deadline)?;
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        for (at, _) in open.iter().zip(&ready[1..]).filter(|(_, ready)| **ready) {
            if let Some(read) = readers[*at].read(&mut buffer) {
                by.take(*at, &buffer[..read]);
            }
        }
        if ready[0] {
            return Ok(FollowEnd::Ended);
        }
    }
}

/// Reads what is in the pipes, for at most `limit`. The output of a program that has ended is there
/// already.
pub fn drain(readers: &mut [PipeReader], limit: Duration, mut take: impl FnMut(usize, &[u8])) {
    let mut buffer = vec![0; 64 * 1024];
    let until = clock::now() + limit;
    for (at, reader) in readers.iter_mut().enumerate() {
        while clock::now() < until {
            let Some(read) = reader.read(&mut buffer) else { break };
            take(at, &buffer[..read]);
        }
    }
}

impl PipeReader {
    /// Reads once; `None` if there is nothing to read now, or at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        match self.pipe.read(buffer) {
            Ok(0) => {
                self.open = false;
                None
            }
            Ok(read) => Some(read),
            Err(error) => {
                self.open &=
                    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
                None
            }
        }
    }
}

/// `bytes` as a file without a name, in memory where the system can, for a program to read. It needs no writer that waits for the
/// program.
///
/// # Errors
/// Any error of the operating system.
pub fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    platform::unnamed_file(bytes).map(OwnedFd::from)
}

/// The file `path`, for a program to read.
///
/// # Errors
/// Any error of the operating system.
pub fn open(path: &Path) -> io::Result<OwnedFd> {
    File::open(path).map(OwnedFd::from)
}

/// Reads standard input to its end; `None` if that is more than `max_bytes` bytes.
///
/// # Errors
/// Any error of the operating system.
pub fn read_stdin(max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    super::fs::read_limited(inherited::stdin(), max_bytes)
}

/// Writes `bytes` to standard output at once, so that answers of two processes are not mixed.
///
/// # Errors
/// Any error of the operating system.
pub fn print(bytes: &[u8]) -> io::Result<()> {
    inherited::print(bytes)
}

/// Writes `bytes` to standard error.
///
/// # Errors
/// Any error of the operating system.
pub fn print_error(bytes: &[u8]) -> io::Result<()> {
    inherited::print_error(bytes)
}
