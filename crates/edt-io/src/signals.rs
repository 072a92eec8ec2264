//! Signals that end the process, held back while a half of a change must not stay.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

use super::platform;

/// The signals that a terminal, a supervisor or a shell sends to end a program.
const ENDING: [Signal; 4] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];

/// Signals that end the process wait while this value lives; `SIGKILL` does not. Only for the
/// thread that made it: in a process with other threads the kernel gives the signal to one of them.
/// A program that is started meanwhile inherits the mask: start none.
#[must_use = "the signals wait only while this value lives"]
#[derive(Debug)]
pub struct HeldSignals {
    /// The mask before; `None` if the signals could not be held back.
    before: Option<SigSet>,
}

impl HeldSignals {
    pub fn hold() -> HeldSignals {
        let ending: SigSet = ENDING.into_iter().collect();
        HeldSignals { before: ending.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok() }
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = before.thread_set_mask();
        }
    }
}

/// Whether this process ignores the signal with this number, such as SIGHUP below `nohup`. False
/// where the system does not say so.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    platform::is_ignored(signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> bool {
        let mask = SigSet::thread_get_mask().unwrap();
        ENDING.iter().all(|signal| mask.contains(*signal))
    }

    #[test]
    fn signals_wait_until_the_last_value_is_dropped() {
        let outer = HeldSignals::hold();
        let inner = HeldSignals::hold();
        drop(inner);
        assert!(held());
        drop(outer);
        assert!(!held());
    }
}
