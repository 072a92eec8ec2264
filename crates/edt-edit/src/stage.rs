//! Applies edits one after another to texts in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::context::ContextDifference;
use super::hunk::{Hunk, between};
use super::line_anchor::{self, AnchoredLines};
use super::locate::{self, Located};
use super::op::{Edit, Expect, LineRange, Op};
use super::place::{self, Context, Matching};
use super::place_error::{PlaceError, UnplacedHunk};
use super::range::{self, ChangedLines, RangeError, VerifiedBy};
use super::splice::{self, Splice};
use super::symbol;
use super::symbol_error::SymbolError;
use super::table::{LineComparison, LineTable};
use edt_types::text::{self, BOM};
use edt_types::{MatchedBy, RepoPath};

/// The files that a list of edits reads or changes.
#[derive(Debug, Default)]
pub struct EditedFiles<'a> {
    files: BTreeMap<RepoPath, Slot<'a>>,
}

#[derive(Debug)]
struct Slot<'a> {
    before: Option<&'a [u8]>,
    now: Option<EditedFile<'a>>,
}

/// A file after the edits so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFile<'a> {
    pub text: Cow<'a, [u8]>,
    pub executable: bool,
    /// The path before the first rename.
    pub from: Option<RepoPath>,
    changed: ChangedLines,
}

/// What the caller should know about an edit that was applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditOutcome {
    /// The comparison that found the hunks of a patch.
    pub matched_by: Option<MatchedBy>,
    /// The 1-based lines where text was inserted by line number alone.
    pub unchecked: Vec<usize>,
    /// Where the context of a patch differs from the file.
    pub differences: Vec<ContextDifference>,
}

impl EditOutcome {
    /// Adds the outcome of a further edit of the same file.
    #[must_use]
    pub fn merge(mut self, next: EditOutcome) -> EditOutcome {
        self.unchecked.extend(next.unchecked);
        self.differences.extend(next.differences);
        EditOutcome { matched_by: self.matched_by.max(next.matched_by), ..self }
    }
}

/// Why an edit cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The path was not loaded with [`EditedFiles::with`]: a bug in edt.
    UnknownPath(RepoPath),
    /// The file exists already.
    Exists(RepoPath),
    /// The file does not exist.
    NotFound,
    /// The text to replace has several occurrences.
    Ambiguous(Vec<Range<usize>>),
    /// The text to replace was not found.
    TextNotFound,
    /// Hunks of a patch cannot be placed.
    UnplacedHunks(Vec<UnplacedHunk>),
    /// The file to delete has other content than the patch states.
    ContentMismatch,
    /// The line numbers cannot be used.
    Range(RangeError),
    /// The anchored lines are not there.
    Anchor(AnchoredLines),
    /// The definition cannot be changed by its name.
    Symbol(SymbolError),
}

impl<'a> EditedFiles<'a> {
    /// Adds a file with its text and executable bit; `None` if it does not exist.
    #[must_use]
    pub fn with(mut self, path: RepoPath, file: Option<(&'a [u8], bool)>) -> EditedFiles<'a> {
        let now = file.map(|(text, executable)| EditedFile {
            text: Cow::Borrowed(text),
            executable,
            from: None,
            changed: ChangedLines::default(),
        });
        self.files.insert(path, Slot { before: file.map(|(text, _)| text), now });
        self
    }

    #[must_use]
    pub fn contains(&self, path: &RepoPath) -> bool {
        self.files.contains_key(path)
    }

    /// The text after the edits so far; empty if the file does not exist.
    #[must_use]
    pub fn text(&self, path: &RepoPath) -> &[u8] {
        self.files.get(path).and_then(|slot| slot.now.as_ref()).map_or(&[], |file| &file.text)
    }

    /// Every path in order, with the file after the edits; `None` if it does not exist.
    pub fn into_files(self) -> impl Iterator<Item = (RepoPath, Option<EditedFile<'a>>)> {
        self.files.into_iter().map(|(path, slot)| (path, slot.now))
    }

    /// Every path in order, with its text after the edits so far.
    pub fn files(&self) -> impl Iterator<Item = (&RepoPath, Option<&[u8]>)> {
        self.files.iter().map(|(path, slot)| (path, slot.now.as_ref().map(|file| &*file.text)))
    }

    /// Applies one edit to the result of the earlier ones.
    ///
    /// # Errors
    /// Why it cannot be applied; the files are then unchanged.
    pub fn apply(&mut self, edit: &Edit) -> Result<EditOutcome, EditError> {
        let mut step = EditOutcome::default();
        let path = &edit.path;
        let existed = self.before(path).is_some();
        let slot = self.files.get_mut(path).ok_or_else(|| EditError::UnknownPath(path.clone()))?;
        match (&edit.op, &mut slot.now) {
            (Op::Create { .. }, Some(_)) => return Err(EditError::Exists(path.clone())),
            (Op::Create { content, executable }, now @ None) => {
                *now = Some(new(content, *executable));
            }
            (Op::Write { content }, now @ None) => *now = Some(new(content, false)),
            (_, None) => return Err(EditError::NotFound),
            (Op::Edit { old, new, occurrences, matching }, Some(file)) => {
                let (splices, matched_by) = match locate::locate(&file.text, old, *occurrences) {
                    Located::At(at) => (locate::replace(&file.text, &at, new), MatchedBy::Exact),
                    Located::Ambiguous(at) => return Err(EditError::Ambiguous(at)),
                    Located::NotFound if *matching == Matching::Lenient => {
                        leniently(&file.text, old, new)?
                    }
                    Located::NotFound => return Err(EditError::TextNotFound),
                };
                step.matched_by = (*matching == Matching::Lenient).then_some(matched_by);
                file.change(&splices);
            }
            (Op::Append { content }, Some(file)) => {
                file.change(&[splice::append(&file.text, content)]);
            }
            (Op::Overwrite { content }, Some(file)) => {
                file.change(&[splice::overwrite(&file.text, content)]);
            }
            (Op::Write { content }, Some(file)) => {
                // A fenced file cannot express that its last line has no line ending.
                let open = !file.text.is_empty() && !file.text.ends_with(b"\n");
                let content = content.strip_suffix(b"\n").filter(|_| open).unwrap_or(content);
                let content = content.strip_suffix(b"\r").filter(|_| open).unwrap_or(content);
                file.change(&[splice::overwrite(&file.text, content)]);
            }
            (Op::Lines { range, content, expected }, Some(file)) => {
                let verified_by = match &edit.expect {
                    Expect::Hash(_) if existed => VerifiedBy::Hash(&file.changed),
                    _ => VerifiedBy::Nothing,
                };
                if let (LineRange::Before(line), None, VerifiedBy::Nothing) =
                    (range, expected, verified_by)
                {
                    step.unchecked.push(*line);
                }
                let splices =
                    range::splices(&file.text, *range, content, expected.as_deref(), verified_by);
                file.change(&splices.map_err(EditError::Range)?);
            }
            (Op::Anchored { first, last, inserts, content }, Some(file)) => {
                let found = line_anchor::find(&file.text, *first, *last);
                let AnchoredLines::At(start, end) = found else {
                    return Err(EditError::Anchor(found));
                };
                let range =
                    if *inserts { LineRange::Before(start) } else { LineRange::Of(start, end) };
                let body = file.text.strip_prefix(BOM).unwrap_or(&file.text);
                let lines = text::lines(body).skip(start - 1).take(end + 1 - start);
                let expected: Vec<u8> = lines.collect::<Vec<_>>().concat();
                let expected = Some(expected.as_slice());
                let splices =
                    range::splices(&file.text, range, content, expected, VerifiedBy::Nothing);
                file.change(&splices.map_err(EditError::Range)?);
            }
            (Op::Symbol(symbol_edit), Some(file)) => {
                let splices = symbol::splices(path, &file.text, symbol_edit);
                file.change(&splices.map_err(EditError::Symbol)?);
            }
            (Op::Patch { hunks, matching }, Some(file)) => {
                let placed = place::place(&file.text, hunks, *matching, Context::Proven)
                    .map_err(EditError::UnplacedHunks)?;
                file.change(&placed.splices);
                step = EditOutcome {
                    matched_by: Some(placed.matched_by),
                    unchecked: placed.unchecked,
                    differences: placed.differences,
                };
            }
            (Op::Chmod { executable }, Some(file)) => file.executable = *executable,
            (Op::Delete { holds }, now @ Some(_)) => {
                let text = now.as_ref().map_or(&[][..], |file| &file.text);
                if let Some(hunk) = holds
                    && !consists_of(text, hunk)
                {
                    return Err(EditError::ContentMismatch);
                }
                *now = None;
            }
            (Op::Rename { to }, _) => self.rename(path, to)?,
        }
        Ok(step)
    }

    /// The path that a file had before the edits.
    #[must_use]
    pub fn origin<'p>(&'p self, path: &'p RepoPath) -> &'p RepoPath {
        let file = self.files.get(path).and_then(|slot| slot.now.as_ref());
        file.and_then(|file| file.from.as_ref()).unwrap_or(path)
    }

    /// The text before the edits: the version that an expected hash refers to.
    #[must_use]
    pub fn before(&self, path: &RepoPath) -> Option<&'a [u8]> {
        self.files.get(self.origin(path))?.before
    }

    fn rename(&mut self, path: &RepoPath, to: &RepoPath) -> Result<(), EditError> {
        match self.files.get(to) {
            None => return Err(EditError::UnknownPath(to.clone())),
            Some(slot) if slot.now.is_some() => return Err(EditError::Exists(to.clone())),
            Some(_) => {}
        }
        let moved =
            self.files.get_mut(path).and_then(|slot| slot.now.take()).ok_or(EditError::NotFound)?;
        let moved = EditedFile { from: Some(moved.from.unwrap_or_else(|| path.clone())), ..moved };
        self.files.entry(to.clone()).and_modify(|slot| slot.now = Some(moved));
        Ok(())
    }
}

impl EditedFile<'_> {
    fn change(&mut self, splices: &[Splice]) {
        if !splices.is_empty() {
            self.changed = std::mem::take(&mut self.changed).after_edit(&self.text, splices);
            self.text = Cow::Owned(splice::apply(&self.text, splices));
        }
    }
}

fn new<'a>(content: &[u8], executable: bool) -> EditedFile<'a> {
    EditedFile {
        text: Cow::Owned(content.to_vec()),
        executable,
        from: None,
        changed: ChangedLines::all(),
    }
}

/// The splices that replace the lines `old`, whatever the white space at their ends.
fn leniently(text: &[u8], old: &[u8], new: &[u8]) -> Result<(Vec<Splice>, MatchedBy), EditError> {
    let hunk = Hunk::of(1, between(old, new));
    let lines = hunk.old_side().len();
    let missed = match place::place(text, &[hunk], Matching::Lenient, Context::Complete) {
        Ok(placed) => return Ok((placed.splices, placed.matched_by)),
        Err(missed) => missed,
    };
    let Some(PlaceError::Ambiguous(at)) = missed.into_iter().next().map(|missed| missed.why) else {
        return Err(EditError::TextNotFound);
    };
    let table = LineTable::new(text, LineComparison::Exact);
    let range = |at: usize| table.start(at)..table.start((at + lines).min(table.len()));
    Err(EditError::Ambiguous(at.into_iter().map(range).collect()))
}

/// Whether the text is exactly the old side of the hunk.
fn consists_of(text: &[u8], hunk: &Hunk) -> bool {
    let table = LineTable::new(text, LineComparison::Exact);
    let lines = &hunk.lines[..hunk.lines.len() - hunk.tail];
    let old: Vec<&[u8]> =
        lines.iter().map(|line| line.text.strip_prefix(BOM).unwrap_or(&line.text)).collect();
    old.len() == table.len() && table.matches_at(&old, 0)
}
