//! Time and the identity of this boot.

use std::time::{Duration, Instant};

/// The present instant.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub fn now() -> Instant {
    Instant::now()
}

/// The instant `ms` milliseconds from now.
#[must_use]
pub fn in_ms(ms: u64) -> Instant {
    now() + Duration::from_millis(ms)
}

/// The kernel's boot id, 16 bytes; `None` where `/proc` does not tell.
///
/// After a power cut it differs, and that is how the journal knows to distrust what was never synced.
#[must_use]
pub fn boot_id() -> Option<[u8; 16]> {
    let text = std::fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    let mut id = [0; 16];
    let mut digits = text.iter().filter_map(|&c| char::from(c).to_digit(16));
    for byte in &mut id {
        *byte = u8::try_from(digits.next()? * 16 + digits.next()?).ok()?;
    }
    Some(id)
}

/// A bounded wait with growing pauses.
#[derive(Debug)]
pub struct Countdown {
    end: Instant,
    pause: Duration,
}

impl Countdown {
    /// A wait of at most `limit`.
    #[must_use]
    pub fn new(limit: Duration) -> Countdown {
        Countdown { end: now() + limit, pause: Duration::from_micros(500) }
    }

    /// Pauses; false if the time is over.
    pub fn pause(&mut self) -> bool {
        if now() >= self.end {
            return false;
        }
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(Duration::from_millis(16));
        true
    }
}
