//! Signals that ask edt to end while it must still finish something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use edt_io::signals;
use edt_run::Signal;
use signal_hook::flag;

/// The signals that ask edt to end, and whether each was received.
#[derive(Debug)]
pub(super) struct Interrupt(Vec<(Signal, Arc<AtomicBool>)>);

impl Interrupt {
    /// From now on these signals no longer end this process. A signal that the process ignores,
    /// such as SIGHUP below `nohup`, stays ignored.
    pub(super) fn watch() -> Interrupt {
        let watched = [Signal::HUP, Signal::INT, Signal::TERM]
            .into_iter()
            .filter(|signal| !signals::is_ignored(signal.as_raw()));
        let flag = |signal: Signal| {
            let received = Arc::new(AtomicBool::new(false));
            // Without a handler the signal ends the process, as it would otherwise.
            let _ = flag::register(signal.as_raw(), Arc::clone(&received));
            (signal, received)
        };
        Interrupt(watched.map(flag).collect())
    }

    /// The last of the signals that were received since the last call.
    pub(super) fn received(&self) -> Option<Signal> {
        let mut last = None;
        for (signal, received) in &self.0 {
            if received.swap(false, Ordering::SeqCst) {
                last = Some(*signal);
            }
        }
        last
    }
}
