//! A hunk: lines that stand in a file, lines that go, lines that come. What every patch format comes to.

/// One piece of a change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The 1-based line of the patch where it begins.
    pub source: usize,
    /// Lines said to stand before it, the outermost first.
    pub anchors: Vec<Vec<u8>>,
    /// The 1-based line of the file where its old side begins, as the patch says; where there is no old side, the line that the
    /// new lines go before.
    pub at: Option<usize>,
    /// Its lines, in order.
    pub lines: Vec<Line>,
    /// Whether its old side must end where the file ends.
    pub at_end: bool,
    /// What it says of the newline at the end of the file.
    pub newline: FinalNewline,
    /// How many of its last lines may be prose that follows the patch.
    pub tail: usize,
    /// Whether the patch ends with it, in a change, before the lines that its counts announce.
    pub cut: bool,
}

/// What a hunk says of the newline at the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FinalNewline {
    /// Nothing: the file keeps what it has.
    #[default]
    Kept,
    /// It comes.
    Added,
    /// It goes.
    Removed,
}

/// The side of a change that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Context: it stands there before and after.
    Both,
    /// It goes.
    Old,
    /// It comes.
    New,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The side it belongs to.
    pub side: Side,
    /// Its text, without its end.
    pub text: Vec<u8>,
    /// Whether it ended in CR LF.
    pub cr: bool,
    /// Whether a space in front of it was read as the mark of context.
    pub marked: bool,
}

impl Line {
    /// A line from the bytes of one line of a patch, its mark taken off.
    #[must_use]
    pub fn new(side: Side, raw: &[u8]) -> Line {
        let text = raw.strip_suffix(b"\n").unwrap_or(raw);
        let (text, cr) = text.strip_suffix(b"\r").map_or((text, false), |text| (text, true));
        Line { side, text: text.to_vec(), cr, marked: false }
    }

    /// The same, after a space that marked it.
    #[must_use]
    pub fn marked(self) -> Line {
        Line { marked: true, ..self }
    }
}

impl Hunk {
    /// A hunk of `lines` that says nothing else.
    #[must_use]
    pub fn of(source: usize, lines: Vec<Line>) -> Hunk {
        Hunk {
            source,
            anchors: Vec::new(),
            at: None,
            lines,
            at_end: false,
            newline: FinalNewline::Kept,
            tail: 0,
            cut: false,
        }
    }

    /// The lines that stand there before.
    #[must_use]
    pub fn old(&self) -> Vec<&Line> {
        self.lines.iter().filter(|line| line.side != Side::New).collect()
    }

    /// The lines that stand there after.
    #[must_use]
    pub fn new_side(&self) -> Vec<&Line> {
        self.lines.iter().filter(|line| line.side != Side::Old).collect()
    }

    /// The ways to read it, the likeliest first: as it is marked; with every line of context as one that lost its mark; without
    /// what may be prose after it.
    #[must_use]
    pub fn readings(&self) -> Vec<Hunk> {
        let mut readings = vec![self.clone()];
        if self.lines.iter().any(|line| line.marked) {
            let mut bare = self.clone();
            for line in bare.lines.iter_mut().filter(|line| line.marked) {
                line.text.insert(0, b' ');
                line.marked = false;
            }
            readings.push(bare);
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
