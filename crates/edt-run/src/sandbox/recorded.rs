//! Recording what the program changes, in the supervisor.

use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;

use edt_recorder::{ChildSetup, Recorder, Recording, Rights, Sockets};

use super::asked_names::AskingNames;
use super::confine;
use super::os_bytes::OsBytes;
use super::wire::{Orders, Outer, SupervisorReport};
use edt_types::Level;

/// Prepares the recorder after the mounts were made. `None` if nothing is to be recorded.
pub(super) fn prepare(
    orders: &Arc<Orders>,
    outer: &Outer,
) -> Result<Option<(ChildSetup, Recorder)>, SupervisorReport> {
    let Some(recorded) = &orders.recorded else { return Ok(None) };
    let own = |number: i32| PathBuf::from(format!("/proc/self/fd/{number}"));
    let mut recording = Recording::new(recorded.root.path(), own(outer.store.as_raw_fd()));
    recording.outer_root = Some(own(outer.root.as_raw_fd()));
    recording.excluded = recorded.excluded.iter().map(OsBytes::path).map(Into::into).collect();
    recording.mark = mark(orders.level);
    if let (Some(socket), Some(named)) = (&outer.names, &recorded.named) {
        let socket = socket.try_clone().map_err(|error| failed(&error))?;
        let names = AskingNames::new(socket, named.clone());
        recording.names = Box::new(names.ok_or_else(|| {
            SupervisorReport::Unavailable("The built-in policy cannot be read.".to_owned())
        })?);
    }
    if orders.level > Level::Permissive {
        let temporary = match orders.level {
            Level::Strict => Some(PathBuf::from("/tmp")),
            _ => orders.temporary.as_ref().map(|path| path.path().to_owned()),
        };
        recording.sockets = Sockets::Own {
            directories: temporary.into_iter().collect(),
            network: orders.level == Level::Strict,
        };
        let orders = Arc::clone(orders);
        recording.rights = Rights::Confined(Box::new(move || confine::reduce_rights(&orders)));
    }
    Recorder::prepare(recording).map(Some).map_err(|error| failed(&error))
}

/// The mark of a recorder at this level: from 1 on.
fn mark(level: Level) -> u32 {
    (1..).zip(Level::ALL).find_map(|(mark, one)| (one == level).then_some(mark)).unwrap_or(1)
}

/// The level of the run that records this process.
#[must_use]
pub fn outer_level() -> Option<Level> {
    let mark = edt_recorder::outer_mark()?;
    Level::ALL.into_iter().find(|level| self::mark(*level) == mark)
}

/// The program must not start unrecorded: nobody has compared the worktree.
pub(super) fn failed(error: &io::Error) -> SupervisorReport {
    SupervisorReport::Unavailable(format!("The program cannot be recorded: {error}."))
}
