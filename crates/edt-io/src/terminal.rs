//! Whether a user may be at a terminal.

use std::fs::File;
use std::io::IsTerminal as _;

/// Whether this process has a controlling terminal and its standard error is a terminal. An agent
/// that a user started in a terminal shares the controlling terminal, but reads the messages of its
/// programs through a pipe.
#[must_use]
pub fn is_interactive() -> bool {
    !crate::inherited::is_other()
        && std::io::stderr().is_terminal()
        && File::options().read(true).write(true).open("/dev/tty").is_ok()
}
