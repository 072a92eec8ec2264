//! The seam between edt and the world: every effect passes here just before it happens, so that a test can let it fail.
//!
//! Nothing is planned unless a test does so, for its own thread and for one call ([`under`]); a step then costs one look at a
//! thread's own variable. A step that fails was not taken: its caller gets the error where the system would have given one.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// What edt does to the world outside its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// A file is opened for writing, or made.
    Open,
    /// Bytes are written.
    Write,
    /// A file's permissions are set.
    Mode,
    /// A file is given to another user or group.
    Owner,
    /// A file is moved, or two change places.
    Rename,
    /// A file gets another name.
    Link,
    /// A name is removed.
    Unlink,
    /// A folder is made.
    MakeFolder,
    /// A folder is removed, with what is in it where that was asked for.
    RemoveFolder,
    /// The medium is waited for.
    Sync,
    /// A program is started; all it does counts as this one effect.
    Start,
}

/// What happens to the effect that a [`Plan`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: they are counted.
    None,
    /// It fails with this error; those after it succeed.
    Once(Errno),
    /// It fails with this error, and so does every later one that needs room or the medium: a disk that stays full. Names are
    /// still removed and files moved.
    Full(Errno),
    /// It fails with this error, and so does every later one: a disk that is gone.
    Gone(Errno),
    /// The process dies there: nothing that it still does reaches the world, not even what cleans up.
    Crash,
}

/// Which effect meets which fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The effect's number, from 1.
    pub at: usize,
    /// What happens to it.
    pub fault: Fault,
    /// Whether the first half of the bytes arrives, if it is a write.
    pub torn: bool,
}

/// An effect that was tried.
pub type Step = (Effect, PathBuf);

thread_local! {
    static PLANNED: Cell<bool> = const { Cell::new(false) };
    static RUNNING: RefCell<Option<(Plan, Vec<Step>)>> = const { RefCell::new(None) };
}

/// Runs `act` under `plan`, in this thread; returns the effects that it tried, too.
///
/// # Panics
/// If a plan runs in this thread already.
pub fn under<T>(plan: Plan, act: impl FnOnce() -> T) -> (T, Vec<Step>) {
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

/// Says that `effect` on `path` comes next.
///
/// # Errors
/// The error that was planned for it: the effect must then not happen.
pub(super) fn step(effect: Effect, path: &Path) -> io::Result<()> {
    if PLANNED.get() { judged(effect, path).map_err(|(error, _)| error) } else { Ok(()) }
}

/// Writes `bytes`, which belong to `path`, by `write`.
///
/// # Errors
/// The planned error, else what `write` answers.
pub(super) fn written<T>(
    path: &Path,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<T>,
) -> io::Result<T> {
    if PLANNED.get()
        && let Err((error, torn)) = judged(Effect::Write, path)
    {
        if torn {
            write(&bytes[..bytes.len() / 2])?;
        }
        return Err(error);
    }
    write(bytes)
}

/// Whether the effect may happen; else the error, and whether a half of it happens nevertheless.
fn judged(effect: Effect, path: &Path) -> Result<(), (io::Error, bool)> {
    RUNNING.with_borrow_mut(|running| {
        let Some((plan, steps)) = running else { return Ok(()) };
        steps.push((effect, path.to_owned()));
        let room = !matches!(effect, Effect::Rename | Effect::Unlink | Effect::RemoveFolder);
        let (here, after) = (steps.len() == plan.at, steps.len() > plan.at);
        let (error, stays) = match plan.fault {
            Fault::None => return Ok(()),
            Fault::Once(error) => (error, false),
            Fault::Full(error) => (error, room),
            Fault::Gone(error) => (error, true),
            Fault::Crash => (Errno::IO, true),
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

    fn fails(fault: Fault) -> Vec<bool> {
        let try_all = || {
            let all = [Effect::Open, Effect::Write, Effect::Unlink, Effect::Sync];
            all.map(|effect| step(effect, Path::new("x")).is_err()).to_vec()
        };
        let (failed, steps) = under(Plan { at: 2, fault, torn: false }, try_all);
        assert_eq!(steps.len(), 4);
        failed
    }

    #[test]
    fn a_fault_comes_once_or_stays() {
        assert_eq!(fails(Fault::None), [false, false, false, false]);
        assert_eq!(fails(Fault::Once(Errno::IO)), [false, true, false, false]);
        assert_eq!(fails(Fault::Full(Errno::NOSPC)), [false, true, false, true]);
        assert_eq!(fails(Fault::Gone(Errno::IO)), [false, true, true, true]);
        assert_eq!(fails(Fault::Crash), [false, true, true, true]);
    }

    #[test]
    fn a_torn_write_leaves_its_first_half() {
        let mut left = Vec::new();
        let write = || {
            written(Path::new("x"), b"abcd", |part| {
                left.extend_from_slice(part);
                Ok(())
            })
        };
        let (done, steps) = under(Plan { at: 1, fault: Fault::Crash, torn: true }, write);
        assert!(done.is_err());
        assert_eq!((left.as_slice(), steps), (b"ab".as_slice(), vec![(Effect::Write, "x".into())]));
    }

    #[test]
    fn nothing_is_planned_after_a_plan() {
        under(Plan { at: 1, fault: Fault::Gone(Errno::IO), torn: false }, || ());
        assert!(step(Effect::Open, Path::new("x")).is_ok());
    }
}
