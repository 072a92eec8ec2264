//! How much of the exhaustive suites runs: `EDT_TESTS=ci|all`, `ci` by default.

use std::io::Write as _;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A share of the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// A sample of each exhaustive suite, which [`seed`] chooses.
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
        Err(_) | Ok("" | "quick" | "ci") => Tier::Ci,
        Ok("all") => Tier::All,
        Ok(other) => panic!("EDT_TESTS={other:?} is not a tier: quick, ci or all"),
    }
}

/// The number that chooses samples: a hash of `EDT_TESTS_SEED`, which `.ci/run` sets to the commit's
/// id. Without it every run takes the same sample. It is printed, so that a failure names it.
#[must_use]
#[expect(clippy::print_stdout, reason = "the figures of a test run")]
pub fn seed() -> u64 {
    let text = std::env::var("EDT_TESTS_SEED").unwrap_or_default();
    println!("EDT_TESTS_SEED={text}");
    hash(&text)
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A sample of at most `ci` of `points`, one from each of `ci` parts of equal length; all of them in
/// the tier [`Tier::All`]. Each test and each place takes a sample of its own.
#[must_use]
#[track_caller]
pub fn share<T>(points: Vec<T>, ci: usize) -> Vec<T> {
    let place = Location::caller();
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let own = hash(&format!("{test} {}:{}", place.file(), place.line()));
    match tier() {
        Tier::Ci => pick(points, ci, seed() ^ own),
        Tier::All => points,
    }
}

/// The seeds of a random suite: `asked`, or of the numbers from 1 to `all` a sample of `ci`.
#[must_use]
pub fn seeds(asked: Option<u64>, ci: usize, all: u64) -> Vec<u64> {
    asked.map_or_else(|| share((1..=all).collect(), ci), |seed| vec![seed])
}

/// What `work` returns for each of `seeds`, by two threads.
///
/// # Panics
/// If `work` does.
pub fn play<T: Send>(seeds: Vec<u64>, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let seeds = Mutex::new(seeds);
    let next = || seeds.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let one = || std::iter::from_fn(next).map(&work).collect::<Vec<T>>();
    std::thread::scope(|scope| {
        let threads = [scope.spawn(one), scope.spawn(one)];
        let played = threads
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        played.into_iter().flatten().collect()
    })
}

fn pick<T>(points: Vec<T>, count: usize, seed: u64) -> Vec<T> {
    let length = points.len();
    if count >= length {
        return points;
    }
    let mut picked: Vec<usize> = (0..count)
        .map(|part| {
            let (from, to) = (part * length / count, (part + 1) * length / count);
            from + usize::try_from(mixed(seed, part as u64) % (to - from) as u64).unwrap_or(0)
        })
        .collect();
    picked.reverse();
    let mut is_picked = |at: usize| picked.pop_if(|next| *next == at).is_some();
    points
        .into_iter()
        .enumerate()
        .filter(|(at, _)| is_picked(*at))
        .map(|(_, point)| point)
        .collect()
}

/// One step of `SplitMix64`.
fn mixed(seed: u64, step: u64) -> u64 {
    let mut z = seed.wrapping_add(step.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
    fn a_sample_has_one_point_of_each_part_and_depends_on_the_seed() {
        let points: Vec<u32> = (0..30).collect();
        assert_eq!(pick(points.clone(), 0, 1), [0; 0]);
        assert_eq!(pick(Vec::<u8>::new(), 3, 1), [0; 0]);
        assert_eq!(pick(points.clone(), 30, 1), points);
        let samples: Vec<Vec<u32>> = (0..20).map(|seed| pick(points.clone(), 3, seed)).collect();
        for sample in &samples {
            assert_eq!(sample.iter().map(|point| point / 10).collect::<Vec<_>>(), [0, 1, 2]);
        }
        assert!(samples.iter().any(|sample| *sample != samples[0]));
        assert_eq!(pick(points, 3, 7), samples[7]);
    }
}
