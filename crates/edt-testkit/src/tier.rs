//! How much of the tests runs: `EDT_TESTS=quick|ci|all`, `quick` by default.

use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A share of the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// What plain `cargo test` runs, within three minutes.
    Quick,
    /// What must pass before a change lands.
    Ci,
    /// Every point of every exhaustive suite.
    All,
}

/// The tier that `EDT_TESTS` names.
///
/// # Panics
/// If `EDT_TESTS` names no tier: a misspelt name must not run less than was asked for.
#[must_use]
pub fn tier() -> Tier {
    match std::env::var("EDT_TESTS").as_deref() {
        Err(_) | Ok("" | "quick") => Tier::Quick,
        Ok("ci") => Tier::Ci,
        Ok("all") => Tier::All,
        Ok(other) => panic!("EDT_TESTS={other:?} is not a tier: quick, ci or all"),
    }
}

/// A fixed share of `points`, spread evenly: about `quick` or `ci` of them, or all, by the tier.
#[must_use]
pub fn share<T>(points: Vec<T>, quick: usize, ci: usize) -> Vec<T> {
    let count = match tier() {
        Tier::Quick => quick,
        Tier::Ci => ci,
        Tier::All => return points,
    };
    pick(points, count)
}

/// `count` of `points` at most, spread evenly.
fn pick<T>(points: Vec<T>, count: usize) -> Vec<T> {
    if count == 0 {
        return Vec::new();
    }
    let step = points.len().div_ceil(count).max(1);
    let first = points.len() % step.min(3);
    points.into_iter().skip(first).step_by(step).collect()
}

/// The points and the time of all scenarios of this process so far.
static TOTAL: Mutex<Option<(Instant, usize)>> = Mutex::new(None);

/// Times one scenario of an exhaustive suite.
#[derive(Debug)]
pub struct Progress {
    begun: Instant,
}

impl Progress {
    /// Starts the clock of a scenario.
    #[must_use]
    pub fn start() -> Progress {
        let begun = Instant::now();
        TOTAL.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert((begun, 0));
        Progress { begun }
    }

    /// Prints the figures of the scenario and those of the process so far, so that the last line is
    /// the sum. In the tier [`Tier::All`] it prints past the capture of the test harness.
    #[expect(clippy::print_stdout, reason = "the figures of a test run")]
    pub fn done(self, suite: &str, scenario: &str, points: usize) {
        let mut total = TOTAL.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, sum) = total.get_or_insert((self.begun, 0));
        *sum += points;
        let line = format!(
            "{suite}: {scenario}: {points} points, {:.1} s (in all {sum} points, {:.0} s)\n",
            self.begun.elapsed().as_secs_f64(),
            first.elapsed().as_secs_f64()
        );
        if tier() == Tier::All {
            let _ = std::io::stderr().write_all(line.as_bytes());
        } else {
            print!("{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::pick;

    #[test]
    fn a_share_is_spread_evenly_and_no_larger_than_asked() {
        assert_eq!(pick((0..10).collect(), 0), [0; 0]);
        assert_eq!(pick(Vec::<u8>::new(), 3), [0; 0]);
        for count in 1..40 {
            let picked = pick((0..30).collect(), count);
            assert!(!picked.is_empty() && picked.len() <= count, "{count}: {picked:?}");
        }
        assert_eq!(pick((0..30).collect(), usize::MAX).len(), 30);
    }
}
