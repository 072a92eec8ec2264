//! The hunks of a file with numbered lines, and what changed within a line.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use crate::words;
use edt_core::session::views::file_diff::FileDiff;
use edt_types::FileChangeKind;

/// A file with more changed lines than this is folded.
pub const MAX_LINES: u64 = 2_000;
/// A file with more bytes in its hunks than this is folded.
pub const MAX_BYTES: usize = 256 * 1024;

/// Changes of more lines are compared by their places alone.
const MAX_COMPARED: usize = 20;

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewFile {
    /// The path.
    pub path: String,
    /// How the file changed.
    pub change: FileChangeKind,
    /// The path that the file was renamed from.
    pub from: Option<String>,
    /// For a rename: how similar the contents are, in percent.
    pub similarity: Option<u8>,
    /// Blob id before.
    pub hash_before: Option<String>,
    /// Blob id after.
    pub hash_after: Option<String>,
    /// Mode before, as Git prints it.
    pub mode_before: Option<String>,
    /// Mode after, as Git prints it.
    pub mode_after: Option<String>,
    /// Whether either side contains NUL bytes, or is too large to be shown; it has no hunks then.
    pub binary: bool,
    /// Whether the file changed so much that its hunks are left out.
    pub folded: bool,
    /// Whether the user marked this change as reviewed.
    pub reviewed: bool,
    /// How many lines were added.
    pub lines_added: u64,
    /// How many lines were removed.
    pub lines_removed: u64,
    /// The hunks.
    pub hunks: Vec<ReviewHunk>,
}

/// Neighbouring changes with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewHunk {
    /// The header of a unified diff: `@@ -1,4 +1,5 @@`.
    pub header: String,
    /// The lines in order; of a change, those removed come first.
    pub lines: Vec<ReviewLine>,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewLine {
    /// The number of the line before; null for an added line.
    pub old: Option<u64>,
    /// The number of the line after; null for a removed line.
    pub new: Option<u64>,
    /// The text without its line end.
    pub text: String,
    /// Whether the file ends with this line, without a line end.
    pub unterminated: bool,
    /// What differs from the line on the other side, as offsets of bytes in `text`, the end
    /// excluded. Empty if the whole line differs.
    pub changed: Vec<(u64, u64)>,
    /// Whether only white space differs from the line on the other side, or the line has nothing
    /// else.
    pub space_only: bool,
    /// Who wrote the line, for the lines of the session as a whole that the session added.
    pub source: Option<LineSource>,
}

/// Who wrote a line, as the session's record says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineSource {
    /// The edit with this number.
    Edit(u64),
    /// The user: a commit that is no edit, or a line that nobody committed.
    User,
}

impl LineSource {
    /// The name in the page: `#7`, or `you`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            LineSource::Edit(number) => format!("#{number}"),
            LineSource::User => "you".to_owned(),
        }
    }
}

impl ReviewFile {
    /// The file of a difference between two trees. One that changed too much has no hunks.
    #[must_use]
    pub fn of(diff: FileDiff) -> ReviewFile {
        let hunks = if is_large(&diff) { Vec::new() } else { hunks(&diff.patch) };
        ReviewFile { hunks, ..ReviewFile::listed(diff) }
    }

    /// What a reader of the text does not see: a new mode, and how similar a renamed file is.
    pub(crate) fn mode_note(&self) -> Option<String> {
        let moved = match (&self.mode_before, &self.mode_after) {
            (Some(old), Some(new)) if old != new => {
                format!("Its mode changed from {old} to {new}. ")
            }
            (None, Some(mode)) if mode != "100644" => format!("Its mode is {mode}. "),
            _ => String::new(),
        };
        let similar =
            self.similarity.map(|percent| format!("The contents are {percent} % the same."));
        let note = moved + &similar.unwrap_or_default();
        (!note.is_empty()).then_some(note)
    }

    /// The same with its hunks, whatever their size.
    #[must_use]
    pub fn whole(diff: FileDiff) -> ReviewFile {
        let hunks = hunks(&diff.patch);
        ReviewFile { folded: false, hunks, ..ReviewFile::listed(diff) }
    }

    /// The same without its hunks.
    #[must_use]
    pub fn listed(diff: FileDiff) -> ReviewFile {
        ReviewFile {
            folded: is_large(&diff),
            hunks: Vec::new(),
            path: diff.path,
            change: diff.change,
            from: diff.from,
            similarity: diff.similarity,
            hash_before: diff.hash_before,
            hash_after: diff.hash_after,
            mode_before: diff.mode_before,
            mode_after: diff.mode_after,
            binary: diff.binary,
            reviewed: false,
            lines_added: diff.lines_added,
            lines_removed: diff.lines_removed,
        }
    }
}

fn is_large(diff: &FileDiff) -> bool {
    diff.lines_added + diff.lines_removed > MAX_LINES || diff.patch.len() > MAX_BYTES
}

/// The hunks of a unified diff as edt writes it, where each line of a file is one line.
fn hunks(patch: &str) -> Vec<ReviewHunk> {
    let mut all: Vec<ReviewHunk> = Vec::new();
    let (mut old, mut new) = (0, 0);
    for line in patch.split_terminator('\n') {
        if let Some((from, to)) = starts(line) {
            (old, new) = (from, to);
            all.push(ReviewHunk { header: line.to_owned(), lines: Vec::new() });
            continue;
        }
        let Some(hunk) = all.last_mut() else { continue };
        let (Some(marker), Some(text)) = (line.get(..1), line.get(1..)) else { continue };
        if marker == "\\" {
            if let Some(last) = hunk.lines.last_mut() {
                last.unterminated = true;
            }
            continue;
        }
        let has =
            |marker_of_other: &str, number: u64| (marker != marker_of_other).then_some(number);
        let sides = (has("+", old), has("-", new));
        old += u64::from(sides.0.is_some());
        new += u64::from(sides.1.is_some());
        hunk.lines.push(ReviewLine {
            old: sides.0,
            new: sides.1,
            text: text.to_owned(),
            unterminated: false,
            changed: Vec::new(),
            space_only: text.trim().is_empty() && marker != " ",
            source: None,
        });
    }
    all.iter_mut().for_each(|hunk| mark_words(&mut hunk.lines));
    all
}

/// The first lines of both sides that the header of a hunk names.
fn starts(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let first = |side: &str| side.split(',').next()?.parse().ok();
    Some((first(old)?, first(new)?))
}

/// Marks what changed within lines. A removed line is compared with the added line at its place, or
/// if their numbers differ and are small, with the most similar one that follows the last pair.
fn mark_words(lines: &mut [ReviewLine]) {
    for Changed { removed, added } in changes(lines) {
        let pairs_by_place =
            removed.len() == added.len() || removed.len().max(added.len()) > MAX_COMPARED;
        let mut next = added.start;
        for (place, from) in removed.enumerate() {
            let candidates = if pairs_by_place {
                let at = added.start + place;
                at..(at + 1).min(added.end)
            } else {
                next..added.end
            };
            let compared = |to: usize| {
                let (old, new) = words::changed(&lines[from].text, &lines[to].text)?;
                let size = |ranges: &[(u64, u64)]| -> u64 {
                    ranges.iter().map(|(start, end)| end - start).sum()
                };
                Some((size(&old) + size(&new), to, old, new))
            };
            let best = candidates.filter_map(compared).min_by_key(|(size, ..)| *size);
            if let Some((_, to, old, new)) = best {
                next = to + 1;
                let is_same = without_space(&lines[from].text).eq(without_space(&lines[to].text));
                (lines[from].space_only, lines[to].space_only) = (is_same, is_same);
                lines[from].changed = old;
                lines[to].changed = new;
            }
        }
    }
}

fn without_space(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_whitespace())
}

/// Lines of a hunk without an unchanged line between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) removed: Range<usize>,
    pub(crate) added: Range<usize>,
}

pub(crate) fn changes(lines: &[ReviewLine]) -> Vec<Changed> {
    let mut all: Vec<Changed> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let (gone, is_new) = (line.new.is_none(), line.old.is_none());
        match all.last_mut() {
            Some(last) if gone && last.removed.end == at && last.added.is_empty() => {
                last.removed.end = at + 1;
                last.added = at + 1..at + 1;
            }
            Some(last) if is_new && last.added.end == at => last.added.end = at + 1,
            _ if gone => all.push(Changed { removed: at..at + 1, added: at + 1..at + 1 }),
            _ if is_new => all.push(Changed { removed: at..at, added: at..at + 1 }),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "@@ -1,4 +1,4 @@\n a\n-let x = 1;\n+let x = 2;\n b\n-gone\n\\ No newline at \
                         end of file\n+- new\n@@ -10 +10,2 @@\n-@@ -1 +1 @@\n+x\n+y\n";

    fn shown(hunk: &ReviewHunk) -> Vec<String> {
        let number = |side: Option<u64>| side.map_or("-".to_owned(), |side| side.to_string());
        let line =
            |line: &ReviewLine| format!("{} {} {}", number(line.old), number(line.new), line.text);
        hunk.lines.iter().map(line).collect()
    }

    #[test]
    fn each_line_has_its_numbers_on_both_sides() {
        let all = hunks(PATCH);
        assert_eq!(
            shown(&all[0]),
            ["1 1 a", "2 - let x = 1;", "- 2 let x = 2;", "3 3 b", "4 - gone", "- 4 - new"]
        );
        assert!(all[0].lines[4].unterminated && !all[0].lines[5].unterminated);
        assert_eq!(shown(&all[1]), ["10 - @@ -1 +1 @@", "- 10 x", "- 11 y"]);
    }

    #[test]
    fn the_changed_word_of_a_line_is_marked_on_both_sides() {
        let lines = hunks(PATCH).remove(0).lines;
        assert_eq!((&lines[1].changed, &lines[2].changed), (&vec![(8, 9)], &vec![(8, 9)]));
        assert_eq!(lines[4].changed, []);
    }

    #[test]
    fn a_line_that_moved_down_is_compared_with_the_most_similar_one() {
        let patch = "@@ -1 +1,3 @@\n-return a + b;\n+if (a > 9)\n+return -1;\n+return a + b + 1;\n";
        let lines = hunks(patch).remove(0).lines;
        let marked: Vec<usize> = lines.iter().map(|line| line.changed.len()).collect();
        assert_eq!(marked, [0, 0, 0, 1]);
    }

    #[test]
    fn lines_that_differ_in_white_space_alone_are_marked() {
        let patch = "@@ -1,3 +1,4 @@\n-if (a) b();\n-c\n+if  (a)  b();\n+d\n+\n end\n";
        let lines = hunks(patch).remove(0).lines;
        let marked: Vec<bool> = lines.iter().map(|line| line.space_only).collect();
        assert_eq!(marked, [true, false, true, false, true, false]);
    }

    #[test]
    fn changes_end_at_unchanged_lines() {
        let all = changes(&hunks(PATCH)[0].lines);
        let expected =
            [Changed { removed: 1..2, added: 2..3 }, Changed { removed: 4..5, added: 5..6 }];
        assert_eq!(all, expected);
    }
}
