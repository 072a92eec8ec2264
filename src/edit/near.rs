//! The nearest miss: the place that the sender of a text probably meant, for the diagnosis only. Nothing is ever written there.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::base::text::{self, BOM};

/// The place most like the text that was not found, and where the two first differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    /// The 1-based line where that place begins.
    pub first_line: usize,
    /// How many lines of the text stand there exactly.
    pub equal_lines: usize,
    /// How many lines the text has.
    pub lines: usize,
    /// The 1-based line of the file that differs first; `None` if the file ends there.
    pub differs_at: Option<usize>,
    /// The line that was sent, without its end.
    pub sent: Vec<u8>,
    /// The line that stands there, without its end.
    pub stands: Option<Vec<u8>>,
    /// Whether the two differ in white space only.
    pub white_space_only: bool,
}

/// Work is bounded: beyond so many lines of the file the search by likeness stops.
const MAX_LINES_COMPARED: usize = 50_000;
/// Least likeness of a single line to be worth showing (Dice coefficient of character pairs).
const MIN_LIKENESS: f64 = 0.35;

/// How a text that was not found is to stand in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// As a text, which may begin and end inside a line.
    Text,
    /// As whole lines.
    Lines,
}

/// Finds the place in `file` most like `old`; `None` if nothing is alike.
#[must_use]
pub fn nearest(file: &[u8], old: &[u8], sent: Sent) -> Option<NearMiss> {
    let [file, old] = [file, old].map(|text| text.strip_prefix(BOM).unwrap_or(text));
    let file_lines: Vec<&[u8]> = text::lines(file).map(without_end).collect();
    let old_lines: Vec<&[u8]> = text::lines(old).map(without_end).collect();
    let start =
        by_votes(&file_lines, &old_lines).or_else(|| by_likeness(&file_lines, &old_lines))?;
    describe(&file_lines, &old_lines, start, sent)
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Each line of the text that stands in the file, white space at the ends aside, votes for where the text would begin;
/// lines that stand there often count less.
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
        let (Some(places), Some(&often)) = (wanted.get(line), seen.get(line)) else { continue };
        if often > 200 {
            continue;
        }
        for &i in places.iter().filter(|&&i| i <= at) {
            *votes.entry(at - i).or_default() += 1.0 / f64::from(often);
        }
    }
    let best = votes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    Some(best.0)
}

/// No line of the text stands in the file: the line most like the text's longest.
fn by_likeness(file: &[&[u8]], old: &[&[u8]]) -> Option<usize> {
    let (i, longest) =
        old.iter().enumerate().max_by_key(|(i, line)| (line.len(), usize::MAX - i))?;
    let mut pairs = Pairs::of(longest);
    let alike = file
        .iter()
        .take(MAX_LINES_COMPARED)
        .enumerate()
        .map(|(at, line)| (at, pairs.likeness(line)));
    let (at, score) = alike.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    (score >= MIN_LIKENESS).then_some(at.saturating_sub(i))
}

/// The pairs of neighbouring characters of a line, to tell how alike another line is.
pub(super) struct Pairs {
    counts: Vec<u16>,
    total: u16,
}

/// Longest part of a line that is compared, in pairs.
const MAX_PAIRS: usize = 500;

impl Pairs {
    /// The pairs of `line`, white space at its ends aside.
    pub(super) fn of(line: &[u8]) -> Pairs {
        let mut pairs = Pairs { counts: vec![0; 1 << 16], total: 0 };
        for key in keys(line) {
            pairs.counts[key] += 1;
            pairs.total += 1;
        }
        pairs
    }

    /// How alike `line` is, from 0 to 1: the share of the pairs of both that they have in common (Dice).
    pub(super) fn likeness(&mut self, line: &[u8]) -> f64 {
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

fn describe(file: &[&[u8]], old: &[&[u8]], start: usize, sent: Sent) -> Option<NearMiss> {
    let last = old.len().saturating_sub(1);
    let equal = |i: usize, line: &[u8]| match file.get(start + i) {
        None => false,
        Some(stands) if sent == Sent::Lines => *stands == line,
        // A text may begin and end inside a line.
        Some(stands) if i == 0 && i == last => memchr::memmem::find(stands, line).is_some(),
        Some(stands) if i == 0 => stands.ends_with(line),
        Some(stands) if i == last => stands.starts_with(line),
        Some(stands) => *stands == line,
    };
    let equal_lines = old.iter().enumerate().filter(|(i, line)| equal(*i, line)).count();
    let (i, missed) = old.iter().enumerate().find(|(i, line)| !equal(*i, line))?;
    let stands = file.get(start + i);
    let squeeze = |line: &[u8]| {
        line.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect::<Vec<u8>>()
    };
    Some(NearMiss {
        first_line: start + 1,
        equal_lines,
        lines: old.len(),
        differs_at: stands.map(|_| start + i + 1),
        sent: missed.to_vec(),
        stands: stands.map(|line| line.to_vec()),
        white_space_only: stands.is_some_and(|line| squeeze(line) == squeeze(missed)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_line_is_named() {
        let file = b"int main(void)\n{\n\treturn 0;\n}\n";
        let near = nearest(file, b"int main(void)\n{\n    return 0;\n}\n", Sent::Text).unwrap();
        assert_eq!(
            (near.first_line, near.differs_at, near.equal_lines, near.white_space_only),
            (1, Some(3), 3, true)
        );
        assert_eq!(
            (near.sent, near.stands),
            (b"    return 0;".to_vec(), Some(b"\treturn 0;".to_vec()))
        );
    }

    #[test]
    fn a_negation_is_a_near_miss_not_a_match() {
        let near =
            nearest(b"x\nif (!is_admin(u)) deny();\ny\n", b"if (is_admin(u))", Sent::Text).unwrap();
        assert_eq!((near.first_line, near.differs_at, near.white_space_only), (2, Some(2), false));
    }

    #[test]
    fn a_part_of_a_line_is_a_text_that_stands_there_but_no_whole_line() {
        let file = b"int f(void)\n{\n\treturn 0;\n}\n";
        assert_eq!(nearest(file, b"return 0;\n", Sent::Text), None);
        let near = nearest(file, b"return 0;\n", Sent::Lines).unwrap();
        assert_eq!((near.differs_at, near.equal_lines, near.white_space_only), (Some(3), 0, true));
        assert_eq!(near.stands, Some(b"\treturn 0;".to_vec()));
    }

    #[test]
    fn a_byte_order_mark_is_no_difference() {
        let near = nearest(b"\xef\xbb\xbfone\ntwo\n", b"one\ntw0\n", Sent::Lines).unwrap();
        assert_eq!((near.differs_at, near.equal_lines), (Some(2), 1));
    }

    #[test]
    fn nothing_alike_is_nothing() {
        assert_eq!(nearest(b"alpha\nbeta\n", b"0123456789", Sent::Text), None);
        assert_eq!(nearest(b"", b"x", Sent::Lines), None);
    }
}
