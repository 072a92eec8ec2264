//! The nearest match of a text that was not found, for the error message only. Nothing is ever
//! written there.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use edt_types::text::{self, BOM};

/// The place most similar to the text that was not found, and the first difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    /// The 1-based line where that place begins.
    pub first_line: usize,
    /// How many lines of the text match exactly there.
    pub equal_lines: usize,
    /// How many lines the text has.
    pub lines: usize,
    /// The 1-based line of the file that differs first; `None` if the file ends there.
    pub differs_at: Option<usize>,
    /// The line of the searched text, without its line ending.
    pub sent: Vec<u8>,
    /// The line of the file, without its line ending.
    pub found: Option<Vec<u8>>,
    /// Whether only white space differs.
    pub white_space_only: bool,
}

/// Limits the work: the search by similarity stops after this many lines of the file.
const MAX_LINES_COMPARED: usize = 50_000;
/// The least similarity of a single line that is reported (Dice coefficient of character pairs).
const MIN_SIMILARITY: f64 = 0.35;

/// How the text must match the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchUnit {
    /// As text, which may begin and end inside a line.
    Text,
    /// As complete lines.
    Lines,
}

/// The place in `file` that is most similar to `old`; `None` if nothing is similar.
#[must_use]
pub fn nearest(file: &[u8], old: &[u8], sent: SearchUnit) -> Option<NearMiss> {
    let [file, old] = [file, old].map(|text| text.strip_prefix(BOM).unwrap_or(text));
    let file_lines: Vec<&[u8]> = text::lines(file).map(without_end).collect();
    let old_lines: Vec<&[u8]> = text::lines(old).map(without_end).collect();
    let start =
        by_votes(&file_lines, &old_lines).or_else(|| by_similarity(&file_lines, &old_lines))?;
    describe(&file_lines, &old_lines, start, sent)
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Each line of the text that occurs in the file votes for the line where the text would begin;
/// white space at the ends is ignored. Frequent lines count less.
fn by_votes(file: &[&[u8]], old: &[&[u8]]) -> Option<usize> {
    let mut wanted: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (i, line) in old.iter().enumerate().filter(|(_, line)| line.trim_ascii().len() > 2) {
        wanted.entry(line.trim_ascii()).or_default().push(i);
    }
    let mut seen: HashMap<&[u8], u32> = HashMap::new();
    for line in file {
        if let Entry::Occupied(entry) = wanted.entry(line.trim_ascii()) {
            *seen.entry(entry.key()).or_default() += 1;
        }
    }
    let mut votes: HashMap<usize, f64> = HashMap::new();
    for (at, line) in file.iter().enumerate() {
        let line = line.trim_ascii();
        let (Some(places), Some(&frequency)) = (wanted.get(line), seen.get(line)) else { continue };
        if frequency > 200 {
            continue;
        }
        for &i in places.iter().filter(|&&i| i <= at) {
            *votes.entry(at - i).or_default() += 1.0 / f64::from(frequency);
        }
    }
    let best = votes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    Some(best.0)
}

/// For a text of which no line occurs in the file: the line most similar to the longest line of the
/// text.
fn by_similarity(file: &[&[u8]], old: &[&[u8]]) -> Option<usize> {
    let (i, longest) =
        old.iter().enumerate().max_by_key(|(i, line)| (line.len(), usize::MAX - i))?;
    let mut pairs = Pairs::of(longest);
    let scored = file
        .iter()
        .take(MAX_LINES_COMPARED)
        .enumerate()
        .map(|(at, line)| (at, pairs.similarity(line)));
    let (at, score) = scored.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    (score >= MIN_SIMILARITY).then_some(at.saturating_sub(i))
}

/// The pairs of adjacent characters of a line, for measuring similarity.
pub(super) struct Pairs {
    counts: Vec<u16>,
    total: u16,
}

/// The longest part of a line that is compared, in pairs.
const MAX_PAIRS: usize = 500;

impl Pairs {
    /// The pairs of `line` without the white space at its ends.
    pub(super) fn of(line: &[u8]) -> Pairs {
        let mut pairs = Pairs { counts: vec![0; 1 << 16], total: 0 };
        for key in keys(line) {
            pairs.counts[key] += 1;
            pairs.total += 1;
        }
        pairs
    }

    /// The similarity of `line`, from 0 to 1: the share of the pairs that both lines have (Dice).
    pub(super) fn similarity(&mut self, line: &[u8]) -> f64 {
        let mut taken = [0; MAX_PAIRS];
        let (mut common, mut all) = (0, usize::from(self.total));
        for key in keys(line) {
            all += 1;
            if self.counts[key] > 0 {
                self.counts[key] -= 1;
                taken[common] = key;
                common += 1;
            }
        }
        taken[..common].iter().for_each(|&key| self.counts[key] += 1);
        let share = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        if all == 0 { 0.0 } else { share(2 * common) / share(all) }
    }
}

fn keys(line: &[u8]) -> impl Iterator<Item = usize> + '_ {
    line.trim_ascii()
        .windows(2)
        .take(MAX_PAIRS)
        .map(|pair| usize::from(pair[0]) << 8 | usize::from(pair[1]))
}

fn describe(file: &[&[u8]], old: &[&[u8]], start: usize, sent: SearchUnit) -> Option<NearMiss> {
    let last = old.len().saturating_sub(1);
    let equal = |i: usize, line: &[u8]| match file.get(start + i) {
        None => false,
        Some(found) if sent == SearchUnit::Lines => *found == line,
        // A text may begin and end inside a line.
        Some(found) if i == 0 && i == last => memchr::memmem::find(found, line).is_some(),
        Some(found) if i == 0 => found.ends_with(line),
        Some(found) if i == last => found.starts_with(line),
        Some(found) => *found == line,
    };
    let equal_lines = old.iter().enumerate().filter(|(i, line)| equal(*i, line)).count();
    let (i, missed) = old.iter().enumerate().find(|(i, line)| !equal(*i, line))?;
    let found = file.get(start + i);
    let squeeze = |line: &[u8]| {
        line.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect::<Vec<u8>>()
    };
    Some(NearMiss {
        first_line: start + 1,
        equal_lines,
        lines: old.len(),
        differs_at: found.map(|_| start + i + 1),
        sent: missed.to_vec(),
        found: found.map(|line| line.to_vec()),
        white_space_only: found.is_some_and(|line| squeeze(line) == squeeze(missed)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_line_is_named() {
        let file = b"int main(void)\n{\n\treturn 0;\n}\n";
        let near =
            nearest(file, b"int main(void)\n{\n    return 0;\n}\n", SearchUnit::Text).unwrap();
        assert_eq!(
            (near.first_line, near.differs_at, near.equal_lines, near.white_space_only),
            (1, Some(3), 3, true)
        );
        assert_eq!(
            (near.sent, near.found),
            (b"    return 0;".to_vec(), Some(b"\treturn 0;".to_vec()))
        );
    }

    #[test]
    fn a_negation_is_a_near_miss_not_a_match() {
        let near =
            nearest(b"x\nif (!is_admin(u)) deny();\ny\n", b"if (is_admin(u))", SearchUnit::Text)
                .unwrap();
        assert_eq!((near.first_line, near.differs_at, near.white_space_only), (2, Some(2), false));
    }

    #[test]
    fn part_of_a_line_matches_as_text_but_not_as_a_line() {
        let file = b"int f(void)\n{\n\treturn 0;\n}\n";
        assert_eq!(nearest(file, b"return 0;\n", SearchUnit::Text), None);
        let near = nearest(file, b"return 0;\n", SearchUnit::Lines).unwrap();
        assert_eq!((near.differs_at, near.equal_lines, near.white_space_only), (Some(3), 0, true));
        assert_eq!(near.found, Some(b"\treturn 0;".to_vec()));
    }

    #[test]
    fn a_byte_order_mark_is_no_difference() {
        let near = nearest(b"\xef\xbb\xbfone\ntwo\n", b"one\ntw0\n", SearchUnit::Lines).unwrap();
        assert_eq!((near.differs_at, near.equal_lines), (Some(2), 1));
    }

    #[test]
    fn nothing_similar_is_no_near_miss() {
        assert_eq!(nearest(b"alpha\nbeta\n", b"0123456789", SearchUnit::Text), None);
        assert_eq!(nearest(b"", b"x", SearchUnit::Lines), None);
    }
}
