//! The score of an episode: how well what it says has served so far.

/// What became of a call after an episode was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It did what the refused call tried.
    Succeeded,
    /// It failed again.
    Failed,
    /// Things were worse than before.
    Worse,
}

/// The score of a new episode.
pub const INITIAL: f64 = 0.5;
/// The weight of the old score at a use.
const RETAINED: f64 = 0.7;
/// The factor of a penalty.
const PENALTY: f64 = 0.5;
/// The factor for 30 days without a use.
const MONTHLY: f64 = 0.95;
const MONTH: f64 = 30.0 * 86_400.0;
/// After [`MIN_USES`] uses, an episode with a lower score is not shown.
pub const MIN_SCORE: f64 = 0.3;
pub const MIN_USES: u64 = 3;

/// The score after a use.
#[must_use]
pub fn after(old: f64, outcome: Outcome) -> f64 {
    match outcome {
        Outcome::Succeeded => RETAINED * old + (1.0 - RETAINED),
        Outcome::Failed => RETAINED * old,
        Outcome::Worse => PENALTY * old,
    }
}

/// `score` after `seconds` without a use.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "seconds of many years are exact")]
pub fn decayed(score: f64, seconds: i64) -> f64 {
    score * MONTHLY.powf(seconds.max(0) as f64 / MONTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn a_score_follows_the_outcomes() {
        assert!(close(after(0.5, Outcome::Succeeded), 0.65));
        assert!(close(after(0.5, Outcome::Failed), 0.35));
        assert!(close(after(0.5, Outcome::Worse), 0.25));
        assert!(close(after(1.0, Outcome::Succeeded), 1.0));
    }

    #[test]
    fn thirty_days_leave_95_percent_and_a_clock_that_went_back_changes_nothing() {
        assert!(close(decayed(0.8, 30 * 86_400), 0.76));
        assert!(close(decayed(0.8, 0), 0.8) && close(decayed(0.8, -5), 0.8));
        assert!(close(decayed(1.0, 60 * 86_400), 0.9025));
    }
}
