//! Whether a person may be at the other end.

use std::fs::File;
use std::io::IsTerminal as _;

/// Whether this process has a controlling terminal and its messages go to one. An agent that a person started in a terminal
/// shares the first, and reads what its programs say through a pipe.
#[must_use]
pub fn at_hand() -> bool {
    std::io::stderr().is_terminal()
        && File::options().read(true).write(true).open("/dev/tty").is_ok()
}
