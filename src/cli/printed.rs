//! Standard output: what cannot be written changes the exit status.

use std::io;
use std::sync::OnceLock;

use edt_types::Status;

/// The first error of standard output.
static FAILURE: OnceLock<io::Error> = OnceLock::new();

/// Writes `bytes` to standard output.
pub(super) fn print(bytes: &[u8]) {
    match edt_io::streams::print(bytes) {
        // A reader that has closed its pipe wants no more.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => drop(FAILURE.set(error)),
        _ => {}
    }
}

/// The exit status of a call that ends with `exit`. If an answer could not be written, standard
/// error says so, and the status is not 0.
pub(super) fn checked(exit: u8) -> u8 {
    let Some(error) = FAILURE.get() else { return exit };
    let text = format!(
        "error: the answer could not be written to standard output ({error}). The call itself \
         ended with exit status {exit}; `edt status` and `edt log` show what it did.\n"
    );
    let _ = edt_io::streams::print_error(text.as_bytes());
    if exit == 0 { Status::Environment.exit() } else { exit }
}
