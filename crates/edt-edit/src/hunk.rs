//! The hunk: the common representation of every patch format.

use edt_io::clock;
use similar::{Algorithm, DiffTag};

use super::indent::indent_of;
use super::table::content;
use edt_types::text;

/// A run of context, removed and added lines in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The 1-based line of the patch where the hunk begins.
    pub source: usize,
    /// Lines that must precede the hunk in the file, the outermost first.
    pub anchors: Vec<Vec<u8>>,
    /// The 1-based line of the file where the old side begins, as the patch states it. Without an
    /// old side: the line before which the new lines are inserted.
    pub at: Option<usize>,
    pub lines: Vec<HunkLine>,
    /// Whether the old side must end at the end of the file.
    pub at_end: bool,
    /// What the hunk states about the newline at the end of the file.
    pub newline: FinalNewline,
    /// How many of the last lines may be prose that follows the patch.
    pub tail: usize,
    /// Whether the patch ends inside this hunk, in a change, before the line counts are reached.
    pub truncated: bool,
}

/// What a hunk states about the newline at the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FinalNewline {
    /// The hunk does not state it: the file keeps what it has.
    #[default]
    Unchanged,
    /// The patch adds the newline.
    Added,
    /// The patch removes the newline.
    Removed,
}

/// The side of a change that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Context: the line is in the file before and after the change.
    Both,
    /// A removed line.
    Old,
    /// An added line.
    New,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    pub side: Side,
    /// The text without the line ending.
    pub text: Vec<u8>,
    /// Whether the line ended in CR LF.
    pub cr: bool,
    /// Whether a leading space was read as the marker of a context line.
    pub marked: bool,
}

impl HunkLine {
    /// Strips the line ending from one line of a patch whose marker is already removed.
    #[must_use]
    pub fn new(side: Side, raw: &[u8]) -> HunkLine {
        let text = raw.strip_suffix(b"\n").unwrap_or(raw);
        let (text, cr) = text.strip_suffix(b"\r").map_or((text, false), |text| (text, true));
        HunkLine { side, text: text.to_vec(), cr, marked: false }
    }

    /// Records that a leading space marked the line as context.
    #[must_use]
    pub fn marked(self) -> HunkLine {
        HunkLine { marked: true, ..self }
    }
}

impl Hunk {
    /// A hunk that has only `lines`: no anchor, no line number, no condition on the end of the
    /// file.
    #[must_use]
    pub fn of(source: usize, lines: Vec<HunkLine>) -> Hunk {
        Hunk {
            source,
            anchors: Vec::new(),
            at: None,
            lines,
            at_end: false,
            newline: FinalNewline::Unchanged,
            tail: 0,
            truncated: false,
        }
    }

    /// The context and removed lines.
    #[must_use]
    pub fn old_side(&self) -> Vec<&HunkLine> {
        self.lines.iter().filter(|line| line.side != Side::New).collect()
    }

    /// The context and added lines.
    #[must_use]
    pub fn new_side(&self) -> Vec<&HunkLine> {
        self.lines.iter().filter(|line| line.side != Side::Old).collect()
    }

    /// The same change with the lines that it only adds as far down as possible; `None` if they are
    /// there already.
    pub(crate) fn slid_down(&self) -> Option<Hunk> {
        let mut lines = self.lines.clone();
        let mut end = lines.len();
        while let Some(last) = lines[..end].iter().rposition(|line| line.side == Side::New) {
            let first = lines[..last]
                .iter()
                .rposition(|line| line.side != Side::New)
                .map_or(0, |before| before + 1);
            let (mut first, mut next) = (first, last + 1);
            let removes = first > 0 && lines[first - 1].side == Side::Old;
            while !removes
                && lines
                    .get(next)
                    .is_some_and(|line| line.side == Side::Both && line.text == lines[first].text)
            {
                lines[first].side = Side::Both;
                lines[next].side = Side::New;
                (first, next) = (first + 1, next + 1);
            }
            end = first.min(last);
            while end > 0 && lines[end - 1].side == Side::New {
                end -= 1;
            }
        }
        (lines != self.lines).then(|| Hunk { lines, ..self.clone() })
    }

    /// Whether the context is indented by one space, and no new line is. Then the patch may have lost
    /// its indentation, and not the markers of its context.
    fn is_one_space_off(&self) -> bool {
        let least = |new: bool| {
            let lines = self.lines.iter().filter(|line| (line.side == Side::New) == new);
            let filled = lines.filter(|line| !line.text.trim_ascii().is_empty());
            filled.map(|line| indent_of(&line.text).len()).min()
        };
        least(false) == Some(1) && least(true) == Some(0)
    }

    /// The possible readings, the likeliest first: with the markers as they are; with every context
    /// line as one that lost its marker; without the last lines that may be prose.
    #[must_use]
    pub fn readings(&self) -> Vec<Hunk> {
        let mut readings = vec![self.clone()];
        if self.lines.iter().any(|line| line.marked) {
            let mut bare = self.clone();
            for line in bare.lines.iter_mut().filter(|line| line.marked) {
                line.text.insert(0, b' ');
                line.marked = false;
            }
            if !bare.is_one_space_off() {
                readings.push(bare);
            }
        }
        if self.tail > 0 {
            let mut cut = self.clone();
            cut.lines.truncate(self.lines.len() - self.tail);
            cut.tail = 0;
            if cut.lines.iter().any(|line| line.side != Side::New) {
                readings.push(cut);
            }
        }
        readings
    }
}

/// A hunk that replaces `search` with `replace`: the common lines are context.
pub(crate) fn between(search: &[u8], replace: &[u8]) -> Vec<HunkLine> {
    let lines = |text: &[u8]| -> Vec<Vec<u8>> { text::lines(text).map(<[u8]>::to_vec).collect() };
    let (old, new) = (lines(search), lines(replace));
    let texts = |lines: &[Vec<u8>]| -> Vec<Vec<u8>> {
        lines.iter().map(|line| content(line).to_vec()).collect()
    };
    // After the deadline the hunk is correct and has fewer lines of context.
    let ops = similar::capture_diff_slices_deadline(
        Algorithm::Myers,
        &texts(&old),
        &texts(&new),
        Some(clock::in_ms(50)),
    );
    let mut out = Vec::new();
    for op in ops {
        if op.tag() == DiffTag::Equal {
            out.extend(old[op.old_range()].iter().map(|line| HunkLine::new(Side::Both, line)));
        } else {
            out.extend(old[op.old_range()].iter().map(|line| HunkLine::new(Side::Old, line)));
            out.extend(new[op.new_range()].iter().map(|line| HunkLine::new(Side::New, line)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_without_its_marker_is_a_reading_unless_the_indentation_may_be_lost() {
        let hunk = |new: &str| {
            let context = HunkLine::new(Side::Both, b"* a").marked();
            Hunk::of(1, vec![context, HunkLine::new(Side::New, new.as_bytes())])
        };
        assert_eq!(hunk(" * b").readings().len(), 2);
        assert_eq!(hunk("* b").readings().len(), 1);
    }
}
