//! Programs run under the recorder; the log replayed backwards gives the tree as it was, compared
//! file by file.
#![cfg(target_os = "linux")]

mod kept;
mod links;
mod programs;
mod random;
mod robust;
mod scene;
mod snapshot;
mod stories;
mod touched;
