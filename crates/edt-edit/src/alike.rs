//! How similar two texts are: the measure by which edt decides that a text is another version of one.

/// Longer lines are not compared by characters: it takes too long.
const MAX_LINE_BYTES: usize = 1_000;
/// In texts with more lines, only equal lines count.
const MAX_LINES: usize = 200;
/// How much of the characters of two lines is equal if one may be another form of the other.
const SAME_LINE: f64 = 0.8;

/// Whether a line may be an older form of another. White space at their ends does not count.
pub(super) fn resembles(sent: &[u8], found: &[u8]) -> bool {
    if sent.len().max(found.len()) > MAX_LINE_BYTES {
        return false;
    }
    let text = |line: &[u8]| String::from_utf8_lossy(line.trim_ascii()).into_owned();
    let ratio = similar::TextDiff::from_chars(text(sent), text(found)).ratio();
    f64::from(ratio) >= SAME_LINE
}

/// The part of both texts that is in lines which the other one has, too, in whatever order; equal
/// but for white space, or in another form. From 0 to 1; of two blank texts 1.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "texts of a few lines")]
pub fn similarity(one: &str, two: &str) -> f64 {
    let lines = |text| -> Vec<String> {
        let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        str::lines(text).map(squeezed).filter(|line| !line.is_empty()).collect()
    };
    let (ours, mut theirs) = (lines(one), lines(two));
    let size = |lines: &[String]| lines.iter().map(String::len).sum::<usize>();
    let all = size(&ours) + size(&theirs);
    if all == 0 {
        return 1.0;
    }
    let is_short = ours.len().max(theirs.len()) <= MAX_LINES;
    let (mut shared, mut left) = (0, Vec::new());
    for line in ours {
        match theirs.iter().position(|other| *other == line) {
            Some(at) => shared += line.len() + theirs.swap_remove(at).len(),
            None => left.push(line),
        }
    }
    for line in left.into_iter().filter(|_| is_short) {
        let is_form = |other: &String| resembles(line.as_bytes(), other.as_bytes());
        if let Some(at) = theirs.iter().position(is_form) {
            shared += line.len() + theirs.swap_remove(at).len();
        }
    }
    shared as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(one: &str, two: &str, expected: f64) {
        let found = similarity(one, two);
        assert!((found - expected).abs() < 1e-9, "{found}");
    }

    #[test]
    fn lines_that_differ_in_white_space_or_little_are_shared() {
        is("a = first(1)\n\tb = 2\n", "b = 2\r\n\na  = first(1)\n", 1.0);
        is("return total + 1\n", "return total + 2\n", 1.0);
    }

    #[test]
    fn the_share_is_that_of_both_texts() {
        is("abcd\n", "abcd\nxyzw\n", 8.0 / 12.0);
        is("abcd\n", "wxyz\n", 0.0);
    }

    #[test]
    fn blank_texts_are_equal_and_unlike_every_other() {
        is("", "\n \n", 1.0);
        is("", "abcd", 0.0);
    }

    #[test]
    fn of_long_texts_only_equal_lines_count() {
        let text = |n: usize| format!("line number {n}\n").repeat(MAX_LINES + 1);
        is(&text(1), &text(2), 0.0);
        is(&text(1), &text(1), 1.0);
    }
}
