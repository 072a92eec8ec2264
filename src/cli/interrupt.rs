//! Signals that ask edt to end while it must still finish something.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use edt_run::Signal;
use signal_hook::flag;

/// The signals that ask edt to end, and whether each was received.
#[derive(Debug)]
pub(super) struct Interrupt(Vec<(Signal, Arc<AtomicBool>)>);

impl Interrupt {
    /// From now on these signals no longer end this process. A signal that the process ignores,
    /// such as SIGHUP below `nohup`, stays ignored.
    pub(super) fn watch() -> Interrupt {
        let ignored = ignored();
        let watched = [Signal::HUP, Signal::INT, Signal::TERM]
            .into_iter()
            .filter(|signal| ignored & 1 << (signal.as_raw() - 1) == 0);
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

/// The signals that this process ignores: bit n is signal n + 1.
fn ignored() -> u64 {
    let status = edt_io::fs::read_small(Path::new("/proc/self/status"), 64 * 1024);
    let status = String::from_utf8(status.unwrap_or_default()).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
