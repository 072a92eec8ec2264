//! A talk with a program over three pipes, line by line, within bounds: whoever writes too much, or never reads, holds nobody up.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};

use super::clock;

/// How much of what a program complains of is kept: its end.
const COMPLAINT: usize = 4096;

/// How much a program may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// In one line, in bytes.
    pub line: usize,
    /// Until [`Dialogue::anew`], in bytes.
    pub all: u64,
}

/// What came of listening, or of saying something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A line, without its end.
    Line(Vec<u8>),
    /// All of it was said.
    Said,
    /// The program is over, or has closed its end, and no line is left.
    Over,
    /// The time is over.
    Late,
    /// It says more than it may.
    Flood,
}

/// The near ends of a program's standard streams.
#[derive(Debug)]
pub struct Dialogue {
    into: Option<File>,
    from: Option<File>,
    complaints: Option<File>,
    most: Most,
    taken: u64,
    heard: Vec<u8>,
    complaint: Vec<u8>,
    over: bool,
}

impl Dialogue {
    /// A new one, and the far ends: standard input, output and error of the program.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn new(most: Most) -> io::Result<(Dialogue, [OwnedFd; 3])> {
        let ((their_in, into), (from, their_out), (complaints, their_err)) =
            (io::pipe()?, io::pipe()?, io::pipe()?);
        let near = |fd: OwnedFd| -> io::Result<Option<File>> {
            fcntl_setfl(&fd, OFlags::NONBLOCK)?;
            Ok(Some(fd.into()))
        };
        let dialogue = Dialogue {
            into: near(into.into())?,
            from: near(from.into())?,
            complaints: near(complaints.into())?,
            most,
            taken: 0,
            heard: Vec::new(),
            complaint: Vec::new(),
            over: false,
        };
        Ok((dialogue, [their_in.into(), their_out.into(), their_err.into()]))
    }

    /// From now on the program may say as much again.
    pub fn anew(&mut self) {
        self.taken = 0;
    }

    /// The end of what the program wrote to its standard error.
    #[must_use]
    pub fn complaint(&self) -> &[u8] {
        &self.complaint
    }

    /// Reads what it complained of to the end: for when it is over.
    pub fn hear_out(&mut self) {
        while self.read_complaint() > 0 {}
    }

    /// Nothing more will be said to it.
    pub fn close(&mut self) {
        self.into = None;
    }

    /// Says `bytes`; what it says meanwhile is kept for [`hear`](Dialogue::hear). `over` can be read when the program is over.
    ///
    /// # Errors
    /// What the system says while waiting.
    pub fn say(
        &mut self,
        mut bytes: &[u8],
        over: BorrowedFd<'_>,
        until: Instant,
    ) -> io::Result<Heard> {
        while !bytes.is_empty() {
            let Some(into) = &mut self.into else { return Ok(Heard::Over) };
            match into.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.over {
                        return Ok(Heard::Over);
                    }
                    if self.flooded() {
                        return Ok(Heard::Flood);
                    }
                    if !self.turn(over, until, true)? {
                        return Ok(Heard::Late);
                    }
                }
                // It has closed its end.
                Err(_) => return Ok(Heard::Over),
            }
        }
        Ok(Heard::Said)
    }

    /// Its next line.
    ///
    /// # Errors
    /// What the system says while waiting.
    pub fn hear(&mut self, over: BorrowedFd<'_>, until: Instant) -> io::Result<Heard> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.heard) {
                let mut line: Vec<u8> = self.heard.drain(..=at).collect();
                line.pop();
                return Ok(Heard::Line(line));
            }
            if self.flooded() {
                return Ok(Heard::Flood);
            }
            if self.over || self.from.is_none() {
                let rest = std::mem::take(&mut self.heard);
                return Ok(if rest.is_empty() { Heard::Over } else { Heard::Line(rest) });
            }
            if !self.turn(over, until, false)? {
                return Ok(Heard::Late);
            }
        }
    }

    fn flooded(&self) -> bool {
        self.taken > self.most.all || self.heard.len() > self.most.line
    }

    /// Waits once and reads what came; false if the time is over.
    fn turn(&mut self, over: BorrowedFd<'_>, until: Instant, writing: bool) -> io::Result<bool> {
        let left = until.saturating_duration_since(clock::now());
        if left.is_zero() {
            return Ok(false);
        }
        let timeout = Timespec::try_from(left).unwrap_or_default();
        let mut fds = vec![PollFd::from_borrowed_fd(over, PollFlags::IN)];
        let open = [&self.from, &self.complaints].into_iter().flatten();
        fds.extend(open.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
        if let (true, Some(into)) = (writing, &self.into) {
            fds.push(PollFd::from_borrowed_fd(into.as_fd(), PollFlags::OUT));
        }
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ended = !fds[0].revents().is_empty();
        self.read_complaint();
        self.read_some();
        if ended {
            // What it wrote before its end is there at once.
            while self.read_some() && !self.flooded() {}
            self.over = true;
        }
        Ok(true)
    }

    /// Reads once; false if there is nothing now.
    fn read_some(&mut self) -> bool {
        let mut part = [0; 16 * 1024];
        match read(&mut self.from, &mut part) {
            0 => false,
            count => {
                self.taken += count as u64;
                self.heard.extend_from_slice(&part[..count]);
                true
            }
        }
    }

    fn read_complaint(&mut self) -> usize {
        let mut part = [0; 16 * 1024];
        let count = read(&mut self.complaints, &mut part);
        self.complaint.extend_from_slice(&part[..count]);
        let surplus = self.complaint.len().saturating_sub(COMPLAINT);
        self.complaint.drain(..surplus);
        count
    }
}

/// Reads once; a pipe that has ended is closed.
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
