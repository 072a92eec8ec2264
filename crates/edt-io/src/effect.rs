//! Fault injection: every side effect is announced here just before it happens, so that a test can
//! make it fail.
//!
//! Nothing fails unless a test sets a plan for its own thread and for one call ([`with_plan`]).
//! Otherwise a step costs one look at a thread-local variable. A step that fails is not taken: its
//! caller gets the error that the operating system would have returned.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};

pub use rustix::io::Errno;

/// What edt changes outside its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideEffect {
    /// A file is opened for writing, or created.
    Open,
    Write,
    /// The permissions or the times of a file are set.
    Mode,
    /// The owner or group of a file is set.
    Owner,
    /// A file is renamed, or two are exchanged.
    Rename,
    /// A hard link is created.
    Link,
    Unlink,
    MakeDirectory,
    /// A directory is removed, alone or with its content.
    RemoveDirectory,
    /// Data is synced to disk.
    Sync,
    /// A program is started. Everything that it does counts as this one effect.
    Start,
}

/// What happens to the effect that a [`FaultPlan`] selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// Nothing; effects are only counted.
    None,
    /// The effect fails with this error; later effects succeed.
    Once(Errno),
    /// The effect and every later one that needs disk space or a sync fail with this error, as on a
    /// full disk. Names can still be removed and files renamed.
    Full(Errno),
    /// The effect and every later one fail with this error, as on a failed disk.
    Gone(Errno),
    /// The process dies: neither the effect nor any later one happens, including cleanup.
    Crash,
}

/// Which effect fails, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultPlan {
    /// The number of the effect, from 1.
    pub at: usize,
    pub fault: InjectedFault,
    /// Whether the first half of the bytes is written, if the effect is a write.
    pub torn: bool,
}

/// An effect that was attempted, and its path.
pub type AttemptedEffect = (SideEffect, PathBuf);

thread_local! {
    static PLANNED: Cell<bool> = const { Cell::new(false) };
    static RUNNING: RefCell<Option<(FaultPlan, Vec<AttemptedEffect>)>> = const { RefCell::new(None) };
}

/// Runs `act` in this thread under `plan`; also returns the effects that it attempted.
///
/// # Panics
/// If a plan is active in this thread.
pub fn with_plan<T>(plan: FaultPlan, act: impl FnOnce() -> T) -> (T, Vec<AttemptedEffect>) {
    struct Over;
    impl Drop for Over {
        fn drop(&mut self) {
            PLANNED.set(false);
            RUNNING.take();
        }
    }
    assert!(!PLANNED.replace(true), "one plan at a time");
    RUNNING.set(Some((plan, Vec::new())));
    let over = Over;
    let done = act();
    let steps = RUNNING.take().map(|(_, steps)| steps).unwrap_or_default();
    drop(over);
    (done, steps)
}

/// Announces that `effect` on `path` comes next.
///
/// # Errors
/// The planned error. The effect must not happen then.
pub(super) fn step(effect: SideEffect, path: &Path) -> io::Result<()> {
    if PLANNED.get() { check(effect, path).map_err(|(error, _)| error) } else { Ok(()) }
}

/// Announces and performs the write of `bytes` to `path` with `write`.
///
/// # Errors
/// The planned error, or that of `write`.
pub(super) fn write_bytes<T>(
    path: &Path,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<T>,
) -> io::Result<T> {
    if PLANNED.get()
        && let Err((error, torn)) = check(SideEffect::Write, path)
    {
        if torn {
            write(&bytes[..bytes.len() / 2])?;
        }
        return Err(error);
    }
    write(bytes)
}

/// Whether the effect may happen; otherwise the error, and whether half of it happens nevertheless.
fn check(effect: SideEffect, path: &Path) -> Result<(), (io::Error, bool)> {
    RUNNING.with_borrow_mut(|running| {
        let Some((plan, steps)) = running else { return Ok(()) };
        steps.push((effect, path.to_owned()));
        let room = !matches!(
            effect,
            SideEffect::Rename | SideEffect::Unlink | SideEffect::RemoveDirectory
        );
        let (here, after) = (steps.len() == plan.at, steps.len() > plan.at);
        let (error, stays) = match plan.fault {
            InjectedFault::None => return Ok(()),
            InjectedFault::Once(error) => (error, false),
            InjectedFault::Full(error) => (error, room),
            InjectedFault::Gone(error) => (error, true),
            InjectedFault::Crash => (Errno::IO, true),
        };
        let hit = here || after && stays;
        if !hit {
            return Ok(());
        }
        Err((error.into(), here && plan.torn))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(fault: InjectedFault) -> Vec<bool> {
        let try_all = || {
            let all = [SideEffect::Open, SideEffect::Write, SideEffect::Unlink, SideEffect::Sync];
            all.map(|effect| step(effect, Path::new("x")).is_err()).to_vec()
        };
        let (failed, steps) = with_plan(FaultPlan { at: 2, fault, torn: false }, try_all);
        assert_eq!(steps.len(), 4);
        failed
    }

    #[test]
    fn a_fault_occurs_once_or_persists() {
        assert_eq!(fails(InjectedFault::None), [false, false, false, false]);
        assert_eq!(fails(InjectedFault::Once(Errno::IO)), [false, true, false, false]);
        assert_eq!(fails(InjectedFault::Full(Errno::NOSPC)), [false, true, false, true]);
        assert_eq!(fails(InjectedFault::Gone(Errno::IO)), [false, true, true, true]);
        assert_eq!(fails(InjectedFault::Crash), [false, true, true, true]);
    }

    #[test]
    fn a_torn_write_leaves_its_first_half() {
        let mut left = Vec::new();
        let write = || {
            write_bytes(Path::new("x"), b"abcd", |part| {
                left.extend_from_slice(part);
                Ok(())
            })
        };
        let (done, steps) =
            with_plan(FaultPlan { at: 1, fault: InjectedFault::Crash, torn: true }, write);
        assert!(done.is_err());
        assert_eq!(
            (left.as_slice(), steps),
            (b"ab".as_slice(), vec![(SideEffect::Write, "x".into())])
        );
    }

    #[test]
    fn a_plan_ends_with_its_call() {
        with_plan(FaultPlan { at: 1, fault: InjectedFault::Gone(Errno::IO), torn: false }, || ());
        assert!(step(SideEffect::Open, Path::new("x")).is_ok());
    }
}
