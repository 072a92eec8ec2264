//! Statistics: intervals and tests; the tests below compare them with published values. Pure.

use crate::rng::SeededRng;

/// The standard normal quantile of 0.975.
const Z: f64 = 1.959_963_984_540_054;
/// The number of bootstrap samples.
const DRAWS: usize = 2000;

/// Wilson's 95 % interval of the rate `hits` / `of`; `None` if `of` is 0.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
pub fn wilson(hits: u64, of: u64) -> Option<(f64, f64)> {
    if of == 0 {
        return None;
    }
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let (centre, spread) =
        (p + Z * Z / (2.0 * n), Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt());
    let scale = 1.0 + Z * Z / n;
    // At 0 and 1 the interval is closed by definition, whatever rounding gives.
    let low = if hits == 0 { 0.0 } else { ((centre - spread) / scale).max(0.0) };
    let high = if hits == of { 1.0 } else { ((centre + spread) / scale).min(1.0) };
    Some((low, high))
}

/// `None` for no values.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// The 95 % interval of the mean by a percentile bootstrap; `None` for no values.
#[must_use]
pub fn bootstrap(values: &[f64], seed: u64, label: &str) -> Option<(f64, f64)> {
    let first = *values.first()?;
    // Equal values: the interval is a point.
    if values.iter().all(|value| value.total_cmp(&first).is_eq()) {
        return Some((first, first));
    }
    let mut rng = SeededRng::new(seed, &format!("bootstrap/{label}"));
    let mut means: Vec<f64> = Vec::with_capacity(DRAWS);
    let mut drawn = vec![0.0; values.len()];
    for _ in 0..DRAWS {
        for one in &mut drawn {
            *one = values[rng.below(values.len())];
        }
        means.extend(mean(&drawn));
    }
    means.sort_by(f64::total_cmp);
    Some((means[DRAWS / 40 - 1], means[DRAWS - DRAWS / 40]))
}

/// The two-sided exact p-value of a split into `a` and `b` under equal probabilities: `McNemar`'s exact
/// test of the pairs that differ, and the sign test. 1 if both are 0.
#[must_use]
pub fn even_split(a: u64, b: u64) -> f64 {
    let (n, less) = (a + b, a.min(b));
    let tail: f64 =
        (0..=less).map(|k| (ln_choose(n, k) - float(n) * std::f64::consts::LN_2).exp()).sum();
    (2.0 * tail).min(1.0)
}

/// The fewest pairs whose p-value can be at most 0.05: that of six against none is 2 / 64.
pub const FEWEST_PAIRS: u64 = 6;

fn ln_choose(n: u64, k: u64) -> f64 {
    (1..=k).map(|i| float(n - k + i).ln() - float(i).ln()).sum()
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, known: f64) {
        assert!((found - known).abs() < 5e-5, "{found} is not {known}");
    }

    #[test]
    fn wilson_matches_published_values() {
        // Newcombe (1998), table I: 81/263, 15/148, 0/20, 1/29.
        for (hits, of, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let (found_low, found_high) = wilson(hits, of).unwrap();
            near(found_low, low);
            near(found_high, high);
        }
        assert_eq!((wilson(0, 0), wilson(10, 10).unwrap().1), (None, 1.0));
    }

    #[test]
    fn the_exact_test_matches_the_binomial_distribution() {
        assert!(even_split(FEWEST_PAIRS, 0) <= 0.05 && even_split(FEWEST_PAIRS - 1, 0) > 0.05);
        near(even_split(1, 9), 22.0 / 1024.0);
        near(even_split(0, 5), 2.0 / 32.0);
        near(even_split(5, 5), 1.0);
        near(even_split(0, 0), 1.0);
        // binom.test(6, 22) of R: 0.05248.
        near(even_split(6, 16), 0.052_478);
    }

    #[test]
    fn a_bootstrap_is_near_the_normal_interval_and_determined_by_the_seed() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let (low, high) = bootstrap(&values, 1, "x").unwrap();
        // 49.5 ± 1.96 · 28.866 / 10
        assert!((low - 43.84).abs() < 0.8 && (high - 55.16).abs() < 0.8, "{low} {high}");
        assert_eq!(bootstrap(&values, 1, "x"), bootstrap(&values, 1, "x"));
        assert_ne!(bootstrap(&values, 1, "x"), bootstrap(&values, 2, "x"));
        assert_eq!(
            (bootstrap(&[], 1, "x"), bootstrap(&[2.0, 2.0], 1, "x")),
            (None, Some((2.0, 2.0)))
        );
    }
}
