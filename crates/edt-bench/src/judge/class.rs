//! Classes of errors: what kind of mistake a failed attempt made, and a hint for each kind. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of mistake of a failed attempt.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// A value is wrong in another way than the classes below.
    Numeric,
    /// Rows or files were counted that should not be, or the reverse.
    Filter,
    /// Another aggregate, such as a sum for a mean.
    Aggregation,
    /// Another unit: off by a fixed factor.
    Unit,
    /// Right up to rounding.
    Rounding,
    /// Right except for the sign.
    Sign,
    /// Nothing to judge: a file or a value is missing.
    Missing,
    /// Not in the required form.
    Format,
    /// A program failed.
    Code,
    /// The last edit was refused, so that the attempt did not take effect.
    Refused,
    /// None of these, or undecided.
    Other,
}

impl ErrorClass {
    /// Every class, in the order of reports.
    pub const ALL: [ErrorClass; 11] = [
        ErrorClass::Numeric,
        ErrorClass::Filter,
        ErrorClass::Aggregation,
        ErrorClass::Unit,
        ErrorClass::Rounding,
        ErrorClass::Sign,
        ErrorClass::Missing,
        ErrorClass::Format,
        ErrorClass::Code,
        ErrorClass::Refused,
        ErrorClass::Other,
    ];

    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ErrorClass::Numeric => "numeric",
            ErrorClass::Filter => "filter",
            ErrorClass::Aggregation => "aggregation",
            ErrorClass::Unit => "unit",
            ErrorClass::Rounding => "rounding",
            ErrorClass::Sign => "sign",
            ErrorClass::Missing => "missing",
            ErrorClass::Format => "format",
            ErrorClass::Code => "code",
            ErrorClass::Refused => "refused",
            ErrorClass::Other => "other",
        }
    }

    /// `None` if there is no such class.
    #[must_use]
    pub fn of(name: &str) -> Option<ErrorClass> {
        ErrorClass::ALL.into_iter().find(|class| class.name() == name)
    }

    /// What to do next time, where nothing more is known than the class.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            ErrorClass::Numeric => "Compute the value again, step by step.",
            ErrorClass::Filter => "Check which rows count.",
            ErrorClass::Aggregation => "Check which aggregate the question asks for.",
            ErrorClass::Unit => "Check the unit of the data and of the answer.",
            ErrorClass::Rounding => "Round only at the end, and to the digits asked for.",
            ErrorClass::Sign => "Check the order of a difference.",
            ErrorClass::Missing => "Write the answer where the task asks for it.",
            ErrorClass::Format => "Answer in exactly the form that the task asks for.",
            ErrorClass::Code => "Run the program before you finish.",
            ErrorClass::Refused => "Follow the hint of the refusal, then send the edit again.",
            ErrorClass::Other => "Read the task again and compare.",
        }
    }
}

/// Factors other than powers of ten that come from units.
const FACTORS: [f64; 4] = [60.0, 3600.0, 24.0, 1024.0];

/// The class of the wrong number `got` where `wanted` is right.
#[must_use]
pub fn of_numbers(wanted: f64, got: f64, tolerance: f64) -> ErrorClass {
    if !got.is_finite() {
        return ErrorClass::Numeric;
    }
    let near = |a: f64, b: f64| (a - b).abs() <= tolerance.max(a.abs() * 1e-9);
    if wanted != 0.0 && near(-wanted, got) {
        return ErrorClass::Sign;
    }
    let powers = (1..=9).map(|power| 10_f64.powi(power));
    let scaled = |factor: f64| {
        // The tolerance grows with the value.
        let near = |a: f64| (a - got).abs() <= (tolerance * (a / wanted).abs()).max(a.abs() * 1e-9);
        near(wanted * factor) || near(wanted / factor)
    };
    if wanted != 0.0 && got != 0.0 && powers.chain(FACTORS).any(scaled) {
        return ErrorClass::Unit;
    }
    let rounded = |digits: i32| {
        let scale = 10_f64.powi(digits);
        let value = wanted * scale;
        [value.round(), value.floor(), value.ceil()].iter().any(|one| near(one / scale, got))
    };
    if (0..=6).any(rounded) { ErrorClass::Rounding } else { ErrorClass::Numeric }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_one_name_in_json_and_in_reports() {
        for class in ErrorClass::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
            assert_eq!(ErrorClass::of(class.name()), Some(class));
        }
    }

    #[test]
    fn a_wrong_number_is_classified_by_how_it_differs() {
        for (wanted, got, class) in [
            (12.5, -12.5, ErrorClass::Sign),
            (12.5, 1250.0, ErrorClass::Unit),
            (1250.0, 12.5, ErrorClass::Unit),
            (90.0, 1.5, ErrorClass::Unit),
            (12.345, 12.0, ErrorClass::Rounding),
            (12.345, 12.34, ErrorClass::Rounding),
            (12.345, 13.0, ErrorClass::Rounding),
            (12.345, 14.0, ErrorClass::Numeric),
            (12.0, 13.0, ErrorClass::Numeric),
            (0.0, 5.0, ErrorClass::Numeric),
            (12.0, f64::NAN, ErrorClass::Numeric),
        ] {
            assert_eq!(of_numbers(wanted, got, 1e-6), class, "{got} for {wanted}");
        }
        assert_eq!(of_numbers(12.5, 1250.3, 0.01), ErrorClass::Unit, "the tolerance is scaled");
        assert_eq!(of_numbers(12.5, 1253.0, 0.01), ErrorClass::Numeric);
    }
}
