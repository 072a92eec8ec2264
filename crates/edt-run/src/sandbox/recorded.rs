//! Recording what the program changes, in the supervisor.

use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;

use edt_recorder::{ChildSetup, Recorder, Recording, Rights};

use super::confine;
use super::os_bytes::OsBytes;
use super::wire::{Orders, OuterDirectories, SupervisorReport};
use edt_types::Level;

/// Prepares the recorder after the mounts were made. `None` if nothing is to be recorded.
pub(super) fn prepare(
    orders: &Arc<Orders>,
    outer: &OuterDirectories,
) -> Result<Option<(ChildSetup, Recorder)>, SupervisorReport> {
    let Some(recorded) = &orders.recorded else { return Ok(None) };
    let own = |number: i32| PathBuf::from(format!("/proc/self/fd/{number}"));
    let mut recording = Recording::new(recorded.root.path(), own(outer.store.as_raw_fd()));
    recording.outer_root = Some(own(outer.root.as_raw_fd()));
    recording.excluded = recorded.excluded.iter().map(OsBytes::path).map(Into::into).collect();
    if orders.level > Level::Permissive {
        let orders = Arc::clone(orders);
        recording.rights = Rights::Confined(Box::new(move || confine::reduce_rights(&orders)));
    }
    Recorder::prepare(recording).map(Some).map_err(|error| failed(&error))
}

/// The program must not start unrecorded: nobody has compared the worktree.
pub(super) fn failed(error: &io::Error) -> SupervisorReport {
    SupervisorReport::Unavailable(format!("The program cannot be recorded: {error}."))
}
