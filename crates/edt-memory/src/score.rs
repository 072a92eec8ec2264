//! The effectiveness of lessons.

use serde::{Deserialize, Serialize};

/// The outcome of the call after a lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseOutcome {
    Helped,
    /// The call was refused again.
    NotHelped,
    /// There were more refusals than before, or the edit was undone.
    Worse,
}

/// The score of a new episode.
pub const INITIAL: f64 = 0.5;
/// The weight of the old score after a use.
const RETAINED: f64 = 0.7;
/// The factor for 30 days without a use.
const MONTHLY: f64 = 0.95;
/// After [`MIN_USES`] uses, a lesson with a lower score is not shown.
pub const MIN_SCORE: f64 = 0.3;
pub const MIN_USES: u64 = 3;

/// The score after a use: 0.7 of the old score plus 0.3 for a success; half of the old score if the
/// outcome was worse.
#[must_use]
pub fn after(old: f64, outcome: UseOutcome) -> f64 {
    match outcome {
        UseOutcome::Helped => RETAINED * old + (1.0 - RETAINED),
        UseOutcome::NotHelped => RETAINED * old,
        UseOutcome::Worse => old / 2.0,
    }
}

/// The inverse of [`after`] for a use that helped.
#[must_use]
pub fn before_helped(after: f64) -> f64 {
    ((after - (1.0 - RETAINED)) / RETAINED).clamp(0.0, 1.0)
}

/// `score` after `seconds` without a use.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "seconds of many years are exact")]
pub fn decayed(score: f64, seconds: i64) -> f64 {
    score * MONTHLY.powf(seconds.max(0) as f64 / (30.0 * 86_400.0))
}

/// Whether a lesson with this score after this many uses is still shown.
#[must_use]
pub fn is_still_shown(score: f64, uses: u64) -> bool {
    uses < MIN_USES || score >= MIN_SCORE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn a_score_follows_the_outcomes() {
        assert!(close(after(0.5, UseOutcome::Helped), 0.65));
        assert!(close(after(0.5, UseOutcome::NotHelped), 0.35));
        assert!(close(after(0.5, UseOutcome::Worse), 0.25));
        assert!(close(after(1.0, UseOutcome::Helped), 1.0));
    }

    #[test]
    fn thirty_days_leave_95_percent_and_a_clock_that_went_back_changes_nothing() {
        assert!(close(decayed(0.8, 30 * 86_400), 0.76));
        assert!(close(decayed(0.8, 0), 0.8));
        assert!(close(decayed(0.8, -5), 0.8));
        assert!(close(decayed(1.0, 60 * 86_400), 0.9025));
    }

    #[test]
    fn a_lesson_that_never_helps_is_not_shown_after_its_third_use() {
        let scores: Vec<f64> = (1..=3)
            .map(|n| (0..n).fold(INITIAL, |score, _| after(score, UseOutcome::NotHelped)))
            .collect();
        assert!(is_still_shown(scores[0], 1) && is_still_shown(scores[1], 2));
        assert!(!is_still_shown(scores[2], 3));
        assert!(is_still_shown(0.3, 3) && !is_still_shown(0.299, 3) && is_still_shown(0.0, 2));
    }
}
