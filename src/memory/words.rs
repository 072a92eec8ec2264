//! Keywords: what makes two failures alike.
//!
//! A few words say what kind of failure it is (the code, the language, how it was sent, its cause); a few more come from the text.
//! Two failures of one kind in unlike texts share just enough of them to be alike.

use std::cmp::Ordering;

/// Most words that are taken from a text.
pub const FROM_TEXT: usize = 5;
/// Shortest word, in characters: shorter ones are everywhere.
const SHORTEST: usize = 3;
/// Longest word, in bytes.
const LONGEST: usize = 40;
/// How alike two failures must be for one to teach the other.
pub const ALIKE: f64 = 0.3;

/// The keywords of a failure of that `kind` with that `text`: sorted, each once.
#[must_use]
pub fn keywords<'k>(kind: impl IntoIterator<Item = &'k str>, text: &str) -> Vec<String> {
    let mut words: Vec<String> = kind.into_iter().map(str::to_lowercase).collect();
    words.extend(of_text(text));
    words.sort();
    words.dedup();
    words
}

/// The words that stand most often in `text`, the first ones first.
#[must_use]
pub fn of_text(text: &str) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let telling = |word: &&str| {
        word.len() <= LONGEST
            && word.chars().count() >= SHORTEST
            && word.chars().any(char::is_alphabetic)
    };
    for word in words.filter(telling).take(1000) {
        let word = word.to_lowercase();
        match counted.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counted.push((word, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.truncate(FROM_TEXT);
    counted.into_iter().map(|(word, _)| word).collect()
}

/// Jaccard similarity of two sorted sets: how many they share, of all that either has.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "sets of a few words")]
pub fn alike<T: Ord>(a: impl IntoIterator<Item = T>, b: impl IntoIterator<Item = T>) -> f64 {
    let (mut a, mut b) = (a.into_iter(), b.into_iter());
    let (mut left, mut right) = (a.next(), b.next());
    let (mut shared, mut all) = (0_usize, 0_usize);
    while left.is_some() || right.is_some() {
        all += 1;
        let order = match (&left, &right) {
            (Some(left), Some(right)) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        shared += usize::from(order.is_eq());
        if order.is_le() {
            left = a.next();
        }
        if order.is_ge() {
            right = b.next();
        }
    }
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

/// Whether two sets of `words` in all that share `shared` of them can be alike.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "sets of a few words")]
pub fn may_be_alike(shared: usize, words: usize) -> bool {
    shared as f64 >= ALIKE * (words.saturating_sub(shared)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_stand_most_often_are_taken_and_short_ones_and_numbers_are_not() {
        let text = "if (count_of == 1234) { total += count_of; } /* Total */ a b cd 99 alpha beta gamma delta";
        assert_eq!(
            keywords(["edit", "C"], text),
            ["alpha", "beta", "c", "count_of", "edit", "gamma", "total"]
        );
    }

    #[test]
    fn failures_of_one_kind_in_unlike_texts_are_just_alike() {
        let kind = ["old_text_not_found", "c", "mode:edit", "form:json", "cause:white_space"];
        let one = keywords(kind, "int first second third fourth fifth");
        let two = keywords(kind, "alpha beta gamma delta epsilon");
        assert!((alike(&one, &two) - 1.0 / 3.0).abs() < 1e-12 && alike(&one, &two) >= ALIKE);
        let other = keywords(
            ["syntax_error", "c", "mode:edit", "form:json", "cause:-"],
            "alpha beta gamma delta epsilon",
        );
        assert!(alike(&one, &other) < ALIKE);
    }

    #[test]
    fn jaccard_is_shared_by_all() {
        assert!((alike([1, 2, 3], [2, 3, 4]) - 0.5).abs() < 1e-12);
        assert!(alike::<u8>([], []).abs() < 1e-12 && alike([1], [2]).abs() < 1e-12);
        assert!((alike(["a"], ["a"]) - 1.0).abs() < 1e-12);
    }
}
