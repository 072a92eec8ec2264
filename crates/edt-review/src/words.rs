//! What differs within two lines.

use similar::{ChangeTag, TextDiff};

/// Longer lines are not compared.
const MAX_LINE: usize = 1_000;
/// Lines that have less in common are two lines, not one that changed.
const MIN_SIMILARITY: f32 = 0.4;

/// Ranges of bytes, the end excluded.
type Ranges = Vec<(u64, u64)>;

/// The ranges of `old` and of `new` that the other one lacks; `None` if they are too different, or
/// too long.
pub(crate) fn changed(old: &str, new: &str) -> Option<(Ranges, Ranges)> {
    if old.len().max(new.len()) > MAX_LINE {
        return None;
    }
    let (before, after) = (pieces(old), pieces(new));
    let diff = TextDiff::configure().diff_slices(&before, &after);
    let (mut removed, mut added, mut same) = (Ranges::new(), Ranges::new(), 0);
    let (mut from, mut to) = (0, 0);
    for change in diff.iter_all_changes() {
        let length = change.value().len() as u64;
        match change.tag() {
            ChangeTag::Equal => {
                same += change.value().trim().len();
                (from, to) = (from + length, to + length);
            }
            ChangeTag::Delete => from = push(&mut removed, from, length),
            ChangeTag::Insert => to = push(&mut added, to, length),
        }
    }
    let all = old.trim().len().max(new.trim().len());
    #[expect(clippy::cast_precision_loss, reason = "a share of at most a thousand bytes")]
    let is_similar = same as f32 >= all as f32 * MIN_SIMILARITY;
    is_similar.then_some((removed, added))
}

/// Adds a range, joined with one that ends where it begins, and returns its end.
fn push(ranges: &mut Ranges, start: u64, length: u64) -> u64 {
    match ranges.last_mut() {
        Some(last) if last.1 == start => last.1 = start + length,
        _ => ranges.push((start, start + length)),
    }
    start + length
}

/// Words, runs of white space, and other characters alone.
fn pieces(line: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let (mut all, mut start, mut last) = (Vec::new(), 0, None);
    for (at, c) in line.char_indices() {
        let now = class(c);
        if last.is_some_and(|last| last != now || now == 2) {
            all.push(&line[start..at]);
            start = at;
        }
        last = Some(now);
    }
    all.extend((start < line.len()).then(|| &line[start..]));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_that_differ_are_marked() {
        let found = changed("return add(a, b);", "return add(a, b, c);").unwrap();
        assert_eq!(found, (vec![], vec![(15, 18)]));
        assert_eq!(changed("größe = 1", "größe = 2").unwrap().0, [(10, 11)]);
    }

    #[test]
    fn lines_with_little_in_common_are_not_compared() {
        assert_eq!(changed("let total = sum(values);", "}"), None);
        let long = "x".repeat(MAX_LINE + 1);
        assert_eq!(changed(&long, &long), None);
    }
}
