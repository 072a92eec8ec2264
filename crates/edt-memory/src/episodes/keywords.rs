//! Keywords, and the similarity of two sets of them.

use std::cmp::Ordering;

/// The most keywords of one episode.
pub const MAX_KEYWORDS: usize = 24;
/// Shorter words are too common to be useful.
const MIN_CHARS: usize = 3;
const MAX_BYTES: usize = 40;
/// Words that say nothing about the subject.
const STOP: &[&str] = &[
    "all", "and", "are", "but", "can", "each", "find", "for", "from", "give", "has", "have", "how",
    "into", "its", "not", "one", "only", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "was", "were", "what", "when", "where", "which", "who", "with", "write", "you",
    "your",
];

/// The most frequent words of `text` in lower case, and of equally frequent ones the earlier;
/// sorted. Numbers, short words and words such as `the` are left out.
#[must_use]
pub fn keywords(text: &str) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    let is_keyword = |word: &str| {
        word.len() <= MAX_BYTES
            && word.chars().count() >= MIN_CHARS
            && word.chars().any(char::is_alphabetic)
            && STOP.binary_search(&word).is_err()
    };
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_lowercase);
    for word in words.filter(|word| is_keyword(word)).take(1000) {
        match counted.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counted.push((word, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.truncate(MAX_KEYWORDS);
    let mut words: Vec<String> = counted.into_iter().map(|(word, _)| word).collect();
    words.sort();
    words
}

/// The Jaccard similarity of two sorted sets: the shared part of all elements.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "sets of a few words")]
pub fn jaccard<T: Ord>(a: &[T], b: &[T]) -> f64 {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while let (Some(left), Some(right)) = (a.get(i), b.get(j)) {
        let order = left.cmp(right);
        shared += usize::from(order.is_eq());
        i += usize::from(order != Ordering::Greater);
        j += usize::from(order != Ordering::Less);
    }
    let all = a.len() + b.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_the_words_of_the_subject() {
        assert_eq!(
            keywords("The mean Revenue of the stores in the North, in March 2024; mean of all"),
            ["march", "mean", "north", "revenue", "stores"]
        );
        assert!(STOP.is_sorted());
    }

    #[test]
    fn of_a_long_text_the_most_frequent_words_are_kept() {
        let many: String = (0..40).map(|n| format!("word{n} ")).collect();
        let words = keywords(&format!("{many} last last"));
        assert_eq!((words.len(), words.contains(&"last".to_owned())), (MAX_KEYWORDS, true));
    }

    #[test]
    fn jaccard_is_the_shared_part_of_all_elements() {
        assert!((jaccard(&[1, 2, 3], &[2, 3, 4]) - 0.5).abs() < 1e-12);
        assert!(jaccard::<u8>(&[], &[]).abs() < 1e-12 && jaccard(&[1], &[2]).abs() < 1e-12);
        assert!((jaccard(&["a"], &["a"]) - 1.0).abs() < 1e-12);
    }
}
