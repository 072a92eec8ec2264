//! One planned file as guards see it. What several guards need (the line difference, the trees) is computed once, and only if one asks.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::base::RepoPath;
use crate::base::text::{is_binary, lines};
use crate::edit::diff::Lines;
use crate::io::clock;
use crate::lang::{self, Language, Parsed, Trees, Unparsed, table};

/// One planned file, as guards see it.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// The path it came from.
    pub from: Option<&'a RepoPath>,
    /// The text that stands there; `None` for a new file.
    pub before: Option<&'a [u8]>,
    /// The text that would stand there; `None` for a removed file.
    pub after: Option<&'a [u8]>,
    /// Recorded states that the file is measured against.
    pub references: Vec<Reference<'a>>,
    /// All files of the transaction, this one too.
    pub sides: &'a [Side<'a>],
    trees: Option<&'a Trees>,
    limit: Duration,
    deadline: OnceCell<Instant>,
    hunks: OnceCell<Vec<Hunk>>,
    lines: OnceCell<Lines<'a>>,
    is_text: OnceCell<bool>,
    fresh: OnceCell<Vec<usize>>,
    starts: OnceCell<Vec<usize>>,
    new_tree: OnceCell<Result<Parsed<'a>, Unparsed>>,
    old_tree: OnceCell<Result<Parsed<'a>, Unparsed>>,
}

/// A recorded state of a file.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// Whose: `HEAD`, `the session's base`.
    pub whose: &'static str,
    /// Its text.
    pub text: &'a [u8],
}

/// A file of the transaction, as far as the others must know it.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// The text that stands there; empty for a new file.
    pub before: &'a [u8],
    /// The text that would stand there; empty for a removed file.
    pub after: &'a [u8],
}

/// A change of lines: rows of the old text, and rows of the new one in their place (0-based, end excluded).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// What goes.
    pub old: Range<usize>,
    /// What comes.
    pub new: Range<usize>,
}

impl<'a> Subject<'a> {
    /// A planned file. `limit` is the longest that all guards together may look at it.
    #[must_use]
    pub fn new(
        path: &'a RepoPath,
        from: Option<&'a RepoPath>,
        before: Option<&'a [u8]>,
        after: Option<&'a [u8]>,
        references: Vec<Reference<'a>>,
        limit: Duration,
    ) -> Subject<'a> {
        Subject {
            path,
            from,
            before,
            after,
            references,
            sides: &[],
            trees: None,
            limit,
            deadline: OnceCell::new(),
            hunks: OnceCell::new(),
            lines: OnceCell::new(),
            is_text: OnceCell::new(),
            fresh: OnceCell::new(),
            starts: OnceCell::new(),
            new_tree: OnceCell::new(),
            old_tree: OnceCell::new(),
        }
    }

    /// The same, in a transaction of these files.
    #[must_use]
    pub fn beside(mut self, sides: &'a [Side<'a>]) -> Subject<'a> {
        self.sides = sides;
        self
    }

    /// The same, with a place where trees are kept between calls.
    #[must_use]
    pub fn keeping(mut self, trees: Option<&'a Trees>) -> Subject<'a> {
        self.trees = trees;
        self
    }

    /// The new text if it is text; binary files are not read as code.
    #[must_use]
    pub fn text(&self) -> Option<&'a [u8]> {
        self.after.filter(|after| *self.is_text.get_or_init(|| !is_binary(after)))
    }

    /// The text before; empty for a new file.
    #[must_use]
    pub fn old_text(&self) -> &'a [u8] {
        self.before.unwrap_or_default()
    }

    /// The language of the file, by its new path.
    #[must_use]
    pub fn language(&self) -> Option<&'static Language> {
        table::of(self.path, self.after?)
    }

    /// The line difference.
    #[must_use]
    pub fn lines(&self) -> &Lines<'a> {
        self.lines.get_or_init(|| {
            Lines::of(self.old_text(), self.after.unwrap_or_default(), clock::in_ms(100))
        })
    }

    /// The changes, line by line.
    #[must_use]
    pub fn hunks(&self) -> &[Hunk] {
        self.hunks
            .get_or_init(|| self.lines().changes().map(|(old, new)| Hunk { old, new }).collect())
    }

    /// The rows of the new text that the change touches; a place where lines only went counts with its two neighbours.
    #[must_use]
    pub fn touched(&self) -> Vec<Range<usize>> {
        let beside = |at: usize| at.saturating_sub(1)..at + 1;
        let rows = |hunk: &Hunk| {
            if hunk.new.is_empty() { beside(hunk.new.start) } else { hunk.new.clone() }
        };
        self.hunks().iter().map(rows).collect()
    }

    /// The rows of the new text that the change brings.
    #[must_use]
    pub fn added(&self) -> Vec<Range<usize>> {
        self.hunks().iter().map(|hunk| hunk.new.clone()).filter(|rows| !rows.is_empty()).collect()
    }

    /// The added lines that the text before did not hold, white space at both ends aside: each with its row.
    pub fn fresh_lines(&self) -> impl Iterator<Item = (usize, &'a [u8])> + '_ {
        let (old, new) = self.lines().texts();
        let fresh = self.fresh.get_or_init(|| {
            let mut rows: Vec<usize> = self.added().into_iter().flatten().collect();
            let mut fresh: HashSet<&[u8]> = rows.iter().map(|row| new[*row].trim_ascii()).collect();
            // Most lines of the old text are as long as none of these: that costs less to tell than what they hold.
            let lengths: HashSet<usize> = fresh.iter().map(|line| line.len()).collect();
            let (least, most) = (lengths.iter().min().copied(), lengths.iter().max().copied());
            for line in old.iter().map(|line| line.trim_ascii()) {
                let length = Some(line.len());
                if least <= length && length <= most && lengths.contains(&line.len()) {
                    fresh.remove(line);
                }
            }
            rows.retain(|row| fresh.contains(new[*row].trim_ascii()));
            rows
        });
        fresh.iter().map(|row| (*row, new[*row]))
    }

    /// The place of the first byte of row `row` of the new text that is not white space.
    #[must_use]
    pub fn start_of(&self, row: usize) -> usize {
        let lines = self.lines().texts().1;
        let starts = self.starts.get_or_init(|| {
            let ends = lines.iter().scan(0, |at, line| {
                *at += line.len();
                Some(*at)
            });
            std::iter::once(0).chain(ends).collect()
        });
        let blank = lines
            .get(row)
            .map_or(0, |line| line.iter().take_while(|byte| byte.is_ascii_whitespace()).count());
        starts.get(row).copied().unwrap_or_default() + blank
    }

    /// Whether row `row` lies in a string or a comment that began above it, as far as there is a tree to tell.
    #[must_use]
    pub fn is_prose(&self, row: usize) -> bool {
        let at = self.start_of(row);
        matches!(self.new_tree(), Some(Ok(tree)) if tree.prose_from(at).is_some_and(|from| from < at))
    }

    /// The tree of the new text.
    ///
    /// # Errors
    /// Why there is none; `None` if there is no grammar for it.
    pub fn new_tree(&self) -> Option<&Result<Parsed<'a>, Unparsed>> {
        // Guards ask for every line; to tell the language takes a look at the text.
        if let Some(tree) = self.new_tree.get() {
            return Some(tree);
        }
        let (language, text) = (self.language()?, self.text()?);
        Some(self.new_tree.get_or_init(|| self.kept(language, text)))
    }

    /// The text before as code of the same language. A text that was none before it was renamed has no errors that could excuse the
    /// new one's.
    #[must_use]
    pub fn past(&self) -> Option<&'a [u8]> {
        let before = self.before?;
        let old = self.from.map_or_else(|| self.language(), |from| table::of(from, before));
        (old.map(|old| old.name) == self.language().map(|new| new.name)).then_some(before)
    }

    /// The tree of the text before, read in the new one's language.
    ///
    /// # Errors
    /// As [`Subject::new_tree`].
    pub fn old_tree(&self) -> Option<&Result<Parsed<'a>, Unparsed>> {
        let (language, text) = (self.language()?, self.past()?);
        Some(self.old_tree.get_or_init(|| self.kept(language, text)))
    }

    /// The tree of a text of this file, within the file's time.
    ///
    /// # Errors
    /// Why there is none.
    pub fn parse<'t>(
        &self,
        language: &'static Language,
        text: &'t [u8],
    ) -> Result<Parsed<'t>, Unparsed> {
        let deadline = self.deadline();
        lang::parse(language, text, &|| clock::now() >= deadline)
    }

    /// The same for a text that the next edit of the file may begin from.
    fn kept<'t>(
        &self,
        language: &'static Language,
        text: &'t [u8],
    ) -> Result<Parsed<'t>, Unparsed> {
        let deadline = self.deadline();
        match self.trees {
            Some(trees) => trees.parse(language, text, &|| clock::now() >= deadline),
            None => lang::parse(language, text, &|| clock::now() >= deadline),
        }
    }

    fn deadline(&self) -> Instant {
        *self.deadline.get_or_init(|| clock::now() + self.limit)
    }
}

/// Counts the lines of a text that hold a letter or a digit, white space around them aside.
pub(super) fn count<'t>(counts: &mut HashMap<&'t [u8], i64>, text: &'t [u8], by: i64) {
    let lines = lines(text).map(<[u8]>::trim_ascii);
    for line in lines.filter(|line| line.iter().any(u8::is_ascii_alphanumeric)) {
        *counts.entry(line).or_default() += by;
    }
}
