//! An exchange of lines with a program over three pipes, within limits. A program that writes too
//! much, or never reads, blocks nobody.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_setfl};

use super::streams::wait_ready;

/// How many bytes of standard error are kept, from its end.
const STDERR_TAIL: usize = 4096;

/// How much a program may write to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// Maximum length of a line in bytes.
    pub line: usize,
    /// Maximum number of bytes until [`Dialogue::reset_budget`].
    pub total: u64,
}

/// The result of reading or sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogueEvent {
    /// A line, without its line end.
    Line(Vec<u8>),
    /// All bytes were written.
    Sent,
    /// The program ended or closed its pipe, and no line is left.
    Ended,
    /// The time limit is over.
    TimedOut,
    /// The program wrote more than [`OutputLimits`] allows.
    OutputLimit,
}

/// This process's ends of a program's standard streams.
#[derive(Debug)]
pub struct Dialogue {
    into: Option<File>,
    from: Option<File>,
    stderr: Option<File>,
    limits: OutputLimits,
    taken: u64,
    received: Vec<u8>,
    stderr_tail: Vec<u8>,
    over: bool,
}

impl Dialogue {
    /// Returns the dialogue and the program's ends: standard input, output and error.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn new(limits: OutputLimits) -> io::Result<(Dialogue, [OwnedFd; 3])> {
        let ((their_in, into), (from, their_out), (stderr, their_err)) =
            (io::pipe()?, io::pipe()?, io::pipe()?);
        let near = |fd: OwnedFd| -> io::Result<Option<File>> {
            fcntl_setfl(&fd, OFlags::NONBLOCK)?;
            Ok(Some(fd.into()))
        };
        let dialogue = Dialogue {
            into: near(into.into())?,
            from: near(from.into())?,
            stderr: near(stderr.into())?,
            limits,
            taken: 0,
            received: Vec::new(),
            stderr_tail: Vec::new(),
            over: false,
        };
        Ok((dialogue, [their_in.into(), their_out.into(), their_err.into()]))
    }

    /// Lets the program write [`OutputLimits::total`] bytes again.
    pub fn reset_budget(&mut self) {
        self.taken = 0;
    }

    /// The last bytes of the program's standard error.
    #[must_use]
    pub fn stderr_tail(&self) -> &[u8] {
        &self.stderr_tail
    }

    /// Reads standard error to its end, after the program has ended.
    pub fn drain_stderr(&mut self) {
        while self.read_stderr() > 0 {}
    }

    /// Closes the program's standard input.
    pub fn close(&mut self) {
        self.into = None;
    }

    /// Writes `bytes` to the program. Lines that it writes meanwhile are kept for
    /// [`read_line`](Dialogue::read_line). `over` becomes readable when the program ends.
    ///
    /// # Errors
    /// Any error of the operating system while waiting.
    pub fn send(
        &mut self,
        mut bytes: &[u8],
        over: BorrowedFd<'_>,
        until: Instant,
    ) -> io::Result<DialogueEvent> {
        while !bytes.is_empty() {
            let Some(into) = &mut self.into else { return Ok(DialogueEvent::Ended) };
            match into.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.over {
                        return Ok(DialogueEvent::Ended);
                    }
                    if self.over_limit() {
                        return Ok(DialogueEvent::OutputLimit);
                    }
                    if !self.wait(over, until, true)? {
                        return Ok(DialogueEvent::TimedOut);
                    }
                }
                // The program has closed its standard input.
                Err(_) => return Ok(DialogueEvent::Ended),
            }
        }
        Ok(DialogueEvent::Sent)
    }

    /// The next line of the program. `over` becomes readable when the program ends.
    ///
    /// # Errors
    /// Any error of the operating system while waiting.
    pub fn read_line(&mut self, over: BorrowedFd<'_>, until: Instant) -> io::Result<DialogueEvent> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.received) {
                let mut line: Vec<u8> = self.received.drain(..=at).collect();
                line.pop();
                return Ok(DialogueEvent::Line(line));
            }
            if self.over_limit() {
                return Ok(DialogueEvent::OutputLimit);
            }
            if self.over || self.from.is_none() {
                let rest = std::mem::take(&mut self.received);
                return Ok(if rest.is_empty() {
                    DialogueEvent::Ended
                } else {
                    DialogueEvent::Line(rest)
                });
            }
            if !self.wait(over, until, false)? {
                return Ok(DialogueEvent::TimedOut);
            }
        }
    }

    fn over_limit(&self) -> bool {
        self.taken > self.limits.total || self.received.len() > self.limits.line
    }

    /// Waits once and reads what is available; false if `until` is over.
    fn wait(&mut self, over: BorrowedFd<'_>, until: Instant, writing: bool) -> io::Result<bool> {
        let mut fds = vec![PollFd::from_borrowed_fd(over, PollFlags::IN)];
        let open = [&self.from, &self.stderr].into_iter().flatten();
        fds.extend(open.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
        if let (true, Some(into)) = (writing, &self.into) {
            fds.push(PollFd::from_borrowed_fd(into.as_fd(), PollFlags::OUT));
        }
        if !wait_ready(&mut fds, until)? {
            return Ok(false);
        }
        let ended = !fds[0].revents().is_empty();
        self.read_stderr();
        self.read_some();
        if ended {
            // Everything that the program wrote before its end is in the pipe already.
            while self.read_some() && !self.over_limit() {}
            self.over = true;
        }
        Ok(true)
    }

    /// Reads once; false if there is nothing to read now.
    fn read_some(&mut self) -> bool {
        let mut part = [0; 16 * 1024];
        match read(&mut self.from, &mut part) {
            0 => false,
            count => {
                self.taken += count as u64;
                self.received.extend_from_slice(&part[..count]);
                true
            }
        }
    }

    fn read_stderr(&mut self) -> usize {
        let mut part = [0; 16 * 1024];
        let count = read(&mut self.stderr, &mut part);
        self.stderr_tail.extend_from_slice(&part[..count]);
        let surplus = self.stderr_tail.len().saturating_sub(STDERR_TAIL);
        self.stderr_tail.drain(..surplus);
        count
    }
}

/// Reads once; closes the pipe at its end.
fn read(pipe: &mut Option<File>, into: &mut [u8]) -> usize {
    let Some(open) = pipe else { return 0 };
    match open.read(into) {
        Ok(0) => {
            *pipe = None;
            0
        }
        Ok(count) => count,
        Err(error) => {
            if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) {
                *pipe = None;
            }
            0
        }
    }
}
