//! Signals that ask edt to end while it must still finish something.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether SIGHUP, SIGINT or SIGTERM was received.
#[derive(Debug)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on these signals no longer end this process. A signal that the process ignores,
    /// such as SIGHUP below `nohup`, stays ignored.
    pub(super) fn watch() -> Interrupt {
        let occurred = Arc::new(AtomicBool::new(false));
        let ignored = ignored();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            if ignored & 1 << (signal - 1) == 0 {
                // Without a handler the signal ends the process, as it would otherwise.
                let _ = flag::register(signal, Arc::clone(&occurred));
            }
        }
        Interrupt(occurred)
    }

    pub(super) fn occurred(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// The signals that this process ignores: bit n is signal n + 1.
fn ignored() -> u64 {
    let status = edt_io::fs::read_small(Path::new("/proc/self/status"), 64 * 1024);
    let status = String::from_utf8(status.unwrap_or_default()).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
