//! Whether a user may be at a terminal.

use std::fs::File;
use std::io::IsTerminal as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether this process has a controlling terminal and its standard error is a terminal. An agent
/// that a user started in a terminal shares the controlling terminal, but reads the messages of its
/// programs through a pipe.
#[must_use]
pub fn is_interactive() -> bool {
    !crate::inherited::is_other()
        && std::io::stderr().is_terminal()
        && File::options().read(true).write(true).open("/dev/tty").is_ok()
}

/// Whether the terminal at standard input is gone. A program that reads from such a terminal gets
/// the end of the input for ever. Input is not read.
#[must_use]
pub fn is_gone() -> bool {
    let input = std::io::stdin();
    let mut watched = [PollFd::new(&input, PollFlags::empty())];
    poll(&mut watched, Some(&Timespec::default())).is_ok()
        && watched[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}
