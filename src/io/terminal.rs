//! Whether a person may be at the other end.

use std::fs::File;

/// Whether this process has a controlling terminal, wherever its standard input and output lead.
#[must_use]
pub fn controlling() -> bool {
    File::options().read(true).write(true).open("/dev/tty").is_ok()
}
