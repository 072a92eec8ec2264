//! Programs run under the recorder; the log replayed backwards gives the tree as it was, compared
//! file by file.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::format_collect,
    reason = "tests are read, not tuned"
)]

mod kept;
mod links;
mod programs;
mod random;
mod robust;
mod scene;
mod snapshot;
mod stories;
mod touched;
