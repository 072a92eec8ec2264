//! What a running program writes, followed as it comes: two pipes, and the word that it is over.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};

use super::clock;

/// The reading end of a pipe.
#[derive(Debug)]
pub struct Reader {
    pipe: File,
    open: bool,
}

/// Why [`follow`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// It is over.
    Over,
    /// The time is.
    Late,
    /// Whoever follows wants no more of it.
    Stopped,
}

/// Who follows what is read.
pub trait Follow {
    /// What was read from the reader of that number.
    fn take(&mut self, reader: usize, bytes: &[u8]);

    /// Whether it is enough; `None` if it never will be.
    fn stop(&self) -> Option<bool>;
}

/// How often someone is asked whether it is enough.
const TICK: Duration = Duration::from_millis(50);

/// A pipe: the end to read, and the end to give to a program.
///
/// # Errors
/// Whatever the system says.
pub fn pipe() -> io::Result<(Reader, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    let pipe = File::from(OwnedFd::from(reader));
    fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
    Ok((Reader { pipe, open: true }, writer.into()))
}

/// Reads all `readers` as bytes come, until `over` can be read, `until` has come, or `by` wants no more.
///
/// # Errors
/// What the system says while waiting.
pub fn follow(
    readers: &mut [Reader],
    over: BorrowedFd<'_>,
    until: Instant,
    by: &mut dyn Follow,
) -> io::Result<Followed> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let left = until.saturating_duration_since(clock::now());
        if left.is_zero() {
            return Ok(Followed::Late);
        }
        let most = match by.stop() {
            Some(true) => return Ok(Followed::Stopped),
            Some(false) => TICK,
            None => Duration::from_secs(60),
        };
        // Woken once in a while at least, so that a clock that stood still (a suspended machine) is noticed.
        let timeout = Timespec::try_from(left.min(most)).unwrap_or_default();
        let mut fds = vec![PollFd::from_borrowed_fd(over, PollFlags::IN)];
        let open: Vec<usize> = (0..readers.len()).filter(|at| readers[*at].open).collect();
        fds.extend(
            open.iter()
                .map(|at| PollFd::from_borrowed_fd(readers[*at].pipe.as_fd(), PollFlags::IN)),
        );
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        for (at, _) in open.iter().zip(&ready[1..]).filter(|(_, ready)| **ready) {
            if let Some(read) = readers[*at].read(&mut buffer) {
                by.take(*at, &buffer[..read]);
            }
        }
        if ready[0] {
            return Ok(Followed::Over);
        }
    }
}

/// Reads what is in the pipes now, for at most `limit`: what nobody writes any more is there at once.
pub fn rest(readers: &mut [Reader], limit: Duration, mut take: impl FnMut(usize, &[u8])) {
    let mut buffer = vec![0; 64 * 1024];
    let until = clock::now() + limit;
    for (at, reader) in readers.iter_mut().enumerate() {
        while clock::now() < until {
            let Some(read) = reader.read(&mut buffer) else { break };
            take(at, &buffer[..read]);
        }
    }
}

impl Reader {
    /// Reads once; `None` if there is nothing now, or nothing more.
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

/// `bytes` to be read by a program, in a file that only memory holds: whether and when it reads them needs no watching.
///
/// # Errors
/// Whatever the system says.
pub fn memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("edt-input", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// The file `path`, to be read by a program.
///
/// # Errors
/// Whatever the system says.
pub fn open(path: &Path) -> io::Result<OwnedFd> {
    File::open(path).map(OwnedFd::from)
}

/// What edt itself is given to read, to its end; `None` if that is more than `most` bytes.
///
/// # Errors
/// Whatever the system says.
pub fn own_input_at_most(most: u64) -> io::Result<Option<Vec<u8>>> {
    super::whole::at_most(io::stdin().lock(), most)
}
