//! What the texts of an edit may mean. Each reading changes the old and the new text alike.

use edt_types::text;

use super::hunk::{HunkLine, Side, between};
use super::noise::{self, SentLine, Where};
use super::table::content;

/// The two texts of an edit, as they may have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
    pub(super) place: Where,
}

/// The readings without noise. `None` if a reading whose old text is in `text` would break a string
/// of the new one: how the new text is meant is then unknown.
pub(super) fn readings(text: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<Reading>> {
    let all: Vec<(bool, &[u8])> = text::lines(old)
        .map(|line| (true, line))
        .chain(text::lines(new).map(|line| (false, line)))
        .collect();
    let lines: Vec<SentLine<'_>> = all
        .iter()
        .map(|(is_old, line)| SentLine { is_old: *is_old, text: content(line) })
        .collect();
    let mut readings: Vec<Reading> = Vec::new();
    for stripped in noise::stripped(&lines) {
        let join = |of_old: bool| {
            let mut joined = Vec::new();
            for ((is_old, line), text) in all.iter().zip(&stripped.lines) {
                if let Some(text) = text.as_ref().filter(|_| *is_old == of_old) {
                    joined.extend_from_slice(text);
                    joined.extend_from_slice(&line[content(line).len()..]);
                }
            }
            // The line before a closing fence has a line ending that the text may not have.
            let is_open = !(old.ends_with(b"\n") || new.ends_with(b"\n"));
            if is_open && stripped.lines.contains(&None) {
                joined.truncate(content(&joined).len());
            }
            joined
        };
        let reading = Reading { old: join(true), new: join(false), place: stripped.place };
        let breaks = |text: &[u8]| text.iter().filter(|byte| b"\n\t".contains(byte)).count();
        let is_old = |line: &[u8]| text::lines(&reading.old).any(|old| old == line);
        let opens = |line: &[u8]| opens_a_string(line) && !is_old(line);
        if breaks(&reading.new) > breaks(new) && text::lines(&reading.new).any(opens) {
            if memchr::memmem::find(text, reading.old.trim_ascii()).is_some() {
                return None;
            }
            continue;
        }
        readings.push(reading);
    }
    Some(readings)
}

/// Whether a quote of the line has no partner: a break was decoded that belongs to a string.
fn opens_a_string(line: &[u8]) -> bool {
    let is_letter =
        |at: Option<usize>| at.and_then(|at| line.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    [b'"', b'\'', b'`'].iter().any(|quote| {
        let is_quote = |at: &usize| {
            let before = at.checked_sub(1);
            let is_escaped = before.is_some_and(|before| line[before] == b'\\');
            let is_apostrophe = *quote == b'\'' && is_letter(before) && is_letter(Some(at + 1));
            line[*at] == *quote && !is_escaped && !is_apostrophe
        };
        (0..line.len()).filter(is_quote).count() % 2 == 1
    })
}

/// The most changes of one edit of which some may have been made before.
const MAX_CHANGES: usize = 5;

/// The readings in which some of the changes, and not all, have been made before.
pub(super) fn partly_made(old: &[u8], new: &[u8]) -> Vec<Reading> {
    let lines = between(old, new);
    let mut changes = 0;
    // The change that each line belongs to.
    let of_line: Vec<usize> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let begins = at == 0 || lines[at - 1].side == Side::Both;
            changes += usize::from(line.side != Side::Both && begins);
            changes
        })
        .collect();
    if !(2..=MAX_CHANGES).contains(&changes) {
        return Vec::new();
    }
    let made_before = |made: usize| {
        let there = |(line, &change): (&HunkLine, &usize)| match line.side {
            Side::Both => true,
            side => (side == Side::New) == (made & (1 << (change - 1)) != 0),
        };
        let of: Vec<&[u8]> = lines
            .iter()
            .zip(&of_line)
            .filter(|pair| there(*pair))
            .map(|(line, _)| line.text.as_slice())
            .collect();
        let mut text = of.join(&b'\n');
        if old.ends_with(b"\n") {
            text.push(b'\n');
        }
        Reading { old: text, new: new.to_vec(), place: Where::Anywhere }
    };
    // Lines that are gone cannot show that a change was made.
    let shows = |change: usize| {
        lines.iter().zip(&of_line).any(|(line, &of)| {
            of == change && line.side == Side::New && line.text.trim_ascii().len() > 2
        })
    };
    (1..(1 << changes) - 1)
        .filter(|made| (1..=changes).all(|change| made & (1 << (change - 1)) == 0 || shows(change)))
        .map(made_before)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_several_changes_may_have_been_made() {
        let olds: Vec<Vec<u8>> = partly_made(b"aaa\nb\nc\n", b"AAA\nb\nCCC\n")
            .into_iter()
            .map(|reading| reading.old)
            .collect();
        assert_eq!(olds, [&b"AAA\nb\nc\n"[..], b"aaa\nb\nCCC\n"]);
        assert_eq!(partly_made(b"aaa\nb\nc\n", b"b\n"), []);
        assert_eq!(partly_made(b"a\n", b"b\n"), []);
    }

    #[test]
    fn a_decoded_break_at_the_end_stays() {
        let read = readings(b"", b"a\\nb\\n", b"").unwrap();
        assert!(read.iter().any(|reading| reading.old == b"a\nb\n"), "{read:?}");
    }

    #[test]
    fn a_fence_leaves_no_line_ending_behind() {
        let read = |old: &[u8], new: &[u8]| {
            let reading = readings(b"", old, new).unwrap().swap_remove(0);
            (String::from_utf8(reading.old).unwrap(), String::from_utf8(reading.new).unwrap())
        };
        assert_eq!(read(b"```\na\n```", b"b"), ("a".to_owned(), "b".to_owned()));
        assert_eq!(read(b"```\na\n```", b"b\n"), ("a\n".to_owned(), "b\n".to_owned()));
        assert_eq!(read(b"```\na\n```\n", b"```\nb\n```"), ("a\n".to_owned(), "b\n".to_owned()));
    }
}
