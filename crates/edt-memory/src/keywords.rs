//! Keywords, which decide whether two failures are similar.
//!
//! A few words describe the kind of the failure (the code, the language, the format, the cause). A
//! few more come from the text. Two failures of the same kind with different texts are just similar
//! enough.

use std::cmp::Ordering;

/// The most keywords from a text.
pub const MAX_FROM_TEXT: usize = 5;
/// Shorter words are too common to be useful.
const MIN_WORD_CHARS: usize = 3;
const MAX_WORD_BYTES: usize = 40;
/// The minimum similarity for one failure's lesson to be shown for another.
pub const MIN_SIMILARITY: f64 = 0.3;

/// The keywords of a failure of this `kind` with this `text`, sorted and unique.
#[must_use]
pub fn keywords<'k>(kind: impl IntoIterator<Item = &'k str>, text: &str) -> Vec<String> {
    let mut words: Vec<String> = kind.into_iter().map(str::to_lowercase).collect();
    words.extend(frequent_words(text));
    words.sort();
    words.dedup();
    words
}

/// The most frequent words in `text`, and of equally frequent ones the earlier first.
#[must_use]
pub fn frequent_words(text: &str) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let is_keyword = |word: &&str| {
        word.len() <= MAX_WORD_BYTES
            && word.chars().count() >= MIN_WORD_CHARS
            && word.chars().any(char::is_alphabetic)
    };
    for word in words.filter(is_keyword).take(1000) {
        let word = word.to_lowercase();
        match counted.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counted.push((word, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.truncate(MAX_FROM_TEXT);
    counted.into_iter().map(|(word, _)| word).collect()
}

/// The Jaccard similarity of two sorted sets.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "sets of a few words")]
pub fn jaccard<T: Ord>(a: impl IntoIterator<Item = T>, b: impl IntoIterator<Item = T>) -> f64 {
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

/// Whether two sets with together `words` elements, `shared` of them common, can be similar.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "sets of a few words")]
pub fn can_be_similar(shared: usize, words: usize) -> bool {
    shared as f64 >= MIN_SIMILARITY * (words.saturating_sub(shared)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_words_are_keywords_without_short_ones_and_numbers() {
        let text = "if (count_of == 1234) { total += count_of; } /* Total */ a b cd 99 alpha beta \
                    gamma delta";
        assert_eq!(
            keywords(["edit", "C"], text),
            ["alpha", "beta", "c", "count_of", "edit", "gamma", "total"]
        );
    }

    #[test]
    fn failures_of_one_kind_with_different_texts_are_just_similar() {
        let kind = ["old_text_not_found", "c", "mode:edit", "form:json", "cause:white_space"];
        let one = keywords(kind, "int first second third fourth fifth");
        let two = keywords(kind, "alpha beta gamma delta epsilon");
        assert!(
            (jaccard(&one, &two) - 1.0 / 3.0).abs() < 1e-12
                && jaccard(&one, &two) >= MIN_SIMILARITY
        );
        let other = keywords(
            ["syntax_error", "c", "mode:edit", "form:json", "cause:-"],
            "alpha beta gamma delta epsilon",
        );
        assert!(jaccard(&one, &other) < MIN_SIMILARITY);
    }

    #[test]
    fn jaccard_is_the_shared_part_of_all_elements() {
        assert!((jaccard([1, 2, 3], [2, 3, 4]) - 0.5).abs() < 1e-12);
        assert!(jaccard::<u8>([], []).abs() < 1e-12 && jaccard([1], [2]).abs() < 1e-12);
        assert!((jaccard(["a"], ["a"]) - 1.0).abs() < 1e-12);
    }
}
