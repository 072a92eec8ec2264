//! How good a lesson has proved.

use serde::{Deserialize, Serialize};

/// What became of the call that followed a lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It landed.
    Helped,
    /// It was refused again.
    NotHelped,
    /// It left things worse than they were: more refusals than before, or an edit that was taken back.
    Worse,
}

/// Where every episode begins.
pub const START: f64 = 0.5;
/// How much of the old score a use leaves.
const KEPT: f64 = 0.7;
/// What 30 days without a use leave of a score.
const MONTHLY: f64 = 0.95;
/// A score below this is too low, after [`ENOUGH`] uses.
pub const LEAST: f64 = 0.3;
/// Uses after which the score counts.
pub const ENOUGH: u64 = 3;

/// The score after a use: 0.7 of the old one and 0.3 of the outcome; half of it after one that made things worse.
#[must_use]
pub fn after(old: f64, outcome: Outcome) -> f64 {
    match outcome {
        Outcome::Helped => KEPT * old + (1.0 - KEPT),
        Outcome::NotHelped => KEPT * old,
        Outcome::Worse => old / 2.0,
    }
}

/// The score before a use that helped, of the one after it.
#[must_use]
pub fn before_help(after: f64) -> f64 {
    ((after - (1.0 - KEPT)) / KEPT).clamp(0.0, 1.0)
}

/// What is left of `score` after `seconds` without a use.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "seconds of many years are exact")]
pub fn decayed(score: f64, seconds: i64) -> f64 {
    score * MONTHLY.powf(seconds.max(0) as f64 / (30.0 * 86_400.0))
}

/// Whether a lesson with that score after so many uses still has its place.
#[must_use]
pub fn has_place(score: f64, uses: u64) -> bool {
    uses < ENOUGH || score >= LEAST
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn a_score_follows_the_outcomes() {
        assert!(close(after(0.5, Outcome::Helped), 0.65));
        assert!(close(after(0.5, Outcome::NotHelped), 0.35));
        assert!(close(after(0.5, Outcome::Worse), 0.25));
        assert!(close(after(1.0, Outcome::Helped), 1.0));
    }

    #[test]
    fn thirty_days_leave_ninety_five_parts_of_a_hundred_and_a_clock_that_went_back_takes_nothing() {
        assert!(close(decayed(0.8, 30 * 86_400), 0.76));
        assert!(close(decayed(0.8, 0), 0.8));
        assert!(close(decayed(0.8, -5), 0.8));
        assert!(close(decayed(1.0, 60 * 86_400), 0.9025));
    }

    #[test]
    fn a_lesson_that_never_helps_loses_its_place_with_its_third_use() {
        let scores: Vec<f64> = (1..=3)
            .map(|n| (0..n).fold(START, |score, _| after(score, Outcome::NotHelped)))
            .collect();
        assert!(has_place(scores[0], 1) && has_place(scores[1], 2));
        assert!(!has_place(scores[2], 3));
        assert!(has_place(0.3, 3) && !has_place(0.299, 3) && has_place(0.0, 2));
    }
}
