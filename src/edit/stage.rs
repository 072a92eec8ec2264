//! Edits applied one after another to texts in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::hunk::Hunk;
use super::locate::{self, Located};
use super::op::{Edit, Expect, LineRange, Op};
use super::place::{self, Misplaced};
use super::range::{self, Changed, RangeFault, Voucher};
use super::splice::{self, Splice};
use super::table::{Likeness, LineTable};
use crate::base::text::BOM;
use crate::base::{MatchedBy, RepoPath};

/// The files that edits speak of.
#[derive(Debug, Default)]
pub struct Stage<'a> {
    files: BTreeMap<RepoPath, Slot<'a>>,
}

#[derive(Debug)]
struct Slot<'a> {
    before: Option<&'a [u8]>,
    now: Option<Staged<'a>>,
}

/// A file as the edits so far leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged<'a> {
    /// Its text.
    pub text: Cow<'a, [u8]>,
    /// Its mode bit.
    pub executable: bool,
    /// The path it was renamed from.
    pub from: Option<RepoPath>,
    changed: Changed,
}

/// What the caller should know of an edit that was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// What the hunks of a patch were found by.
    pub matched_by: Option<MatchedBy>,
    /// The 1-based lines where text was inserted by number alone.
    pub unchecked: Vec<usize>,
}

impl Step {
    /// The same after a further edit of the file.
    #[must_use]
    pub fn and(mut self, next: Step) -> Step {
        self.unchecked.extend(next.unchecked);
        Step { matched_by: self.matched_by.max(next.matched_by), unchecked: self.unchecked }
    }
}

/// Why an edit does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody looked at the path: a defect.
    Lost(RepoPath),
    /// There is such a file.
    Exists(RepoPath),
    /// There is no such file.
    NotFound,
    /// The text to replace stands more than once.
    Ambiguous(Vec<Range<usize>>),
    /// The text to replace stands nowhere.
    TextNotFound,
    /// Hunks of a patch have no place.
    Misplaced(Vec<Misplaced>),
    /// A file to delete holds something else than the patch says.
    HoldsOther,
    /// Line numbers that cannot be used.
    Range(RangeFault),
}

impl<'a> Stage<'a> {
    /// A stage with one more file: its text and mode bit, or that there is none.
    #[must_use]
    pub fn with(mut self, path: RepoPath, file: Option<(&'a [u8], bool)>) -> Stage<'a> {
        let now = file.map(|(text, executable)| Staged {
            text: Cow::Borrowed(text),
            executable,
            from: None,
            changed: Changed::default(),
        });
        self.files.insert(path, Slot { before: file.map(|(text, _)| text), now });
        self
    }

    /// Whether the path is one of the stage's.
    #[must_use]
    pub fn knows(&self, path: &RepoPath) -> bool {
        self.files.contains_key(path)
    }

    /// The text of a file as the edits so far leave it; empty if there is none.
    #[must_use]
    pub fn text(&self, path: &RepoPath) -> &[u8] {
        self.files.get(path).and_then(|slot| slot.now.as_ref()).map_or(&[], |file| &file.text)
    }

    /// Every path with what became of it, in order.
    pub fn into_files(self) -> impl Iterator<Item = (RepoPath, Option<Staged<'a>>)> {
        self.files.into_iter().map(|(path, slot)| (path, slot.now))
    }

    /// Every path with its text now, in order.
    pub fn files(&self) -> impl Iterator<Item = (&RepoPath, Option<&[u8]>)> {
        self.files.iter().map(|(path, slot)| (path, slot.now.as_ref().map(|file| &*file.text)))
    }

    /// Applies one edit to the result of those before it.
    ///
    /// # Errors
    /// Why it does not fit; the stage is then as it was.
    pub fn apply(&mut self, edit: &Edit) -> Result<Step, Refusal> {
        let mut step = Step::default();
        let path = &edit.path;
        let existed = self.before(path).is_some();
        let slot = self.files.get_mut(path).ok_or_else(|| Refusal::Lost(path.clone()))?;
        match (&edit.op, &mut slot.now) {
            (Op::Create { .. }, Some(_)) => return Err(Refusal::Exists(path.clone())),
            (Op::Create { content, executable }, now @ None) => {
                *now = Some(new(content, *executable))
            }
            (Op::Put { content }, now @ None) => *now = Some(new(content, false)),
            (_, None) => return Err(Refusal::NotFound),
            (Op::Edit { old, new, places }, Some(file)) => {
                let at = match locate::locate(&file.text, old, *places) {
                    Located::At(at) => at,
                    Located::Many(at) => return Err(Refusal::Ambiguous(at)),
                    Located::Nowhere => return Err(Refusal::TextNotFound),
                };
                let splices = locate::replace(&file.text, &at, new);
                file.change(&splices);
            }
            (Op::Append { content }, Some(file)) => {
                file.change(&[splice::append(&file.text, content)])
            }
            (Op::Overwrite { content }, Some(file)) => {
                file.change(&[splice::overwrite(&file.text, content)])
            }
            (Op::Put { content }, Some(file)) => {
                // A fence cannot say that the last line has no end.
                let open = !file.text.is_empty() && !file.text.ends_with(b"\n");
                let content = content.strip_suffix(b"\n").filter(|_| open).unwrap_or(content);
                let content = content.strip_suffix(b"\r").filter(|_| open).unwrap_or(content);
                file.change(&[splice::overwrite(&file.text, content)]);
            }
            (Op::Lines { range, content, expected }, Some(file)) => {
                let voucher = match &edit.expect {
                    Expect::Hash(_) if existed => Voucher::Hash(&file.changed),
                    _ => Voucher::Nothing,
                };
                if let (LineRange::Before(line), None, Voucher::Nothing) =
                    (range, expected, voucher)
                {
                    step.unchecked.push(*line);
                }
                let splices =
                    range::splices(&file.text, *range, content, expected.as_deref(), voucher);
                file.change(&splices.map_err(Refusal::Range)?);
            }
            (Op::Patch { hunks, matching }, Some(file)) => {
                let placed =
                    place::place(&file.text, hunks, *matching).map_err(Refusal::Misplaced)?;
                file.change(&placed.splices);
                step = Step { matched_by: Some(placed.matched_by), unchecked: placed.unchecked };
            }
            (Op::Chmod { executable }, Some(file)) => file.executable = *executable,
            (Op::Delete { holds }, now @ Some(_)) => {
                let text = now.as_ref().map_or(&[][..], |file| &file.text);
                if let Some(hunk) = holds
                    && !holds_just(text, hunk)
                {
                    return Err(Refusal::HoldsOther);
                }
                *now = None;
            }
            (Op::Rename { to }, _) => self.rename(path, to)?,
        }
        Ok(step)
    }

    /// The name that a file had before the edits.
    #[must_use]
    pub fn origin<'p>(&'p self, path: &'p RepoPath) -> &'p RepoPath {
        let file = self.files.get(path).and_then(|slot| slot.now.as_ref());
        file.and_then(|file| file.from.as_ref()).unwrap_or(path)
    }

    /// The text of a file before the edits, which is what a hash vouches for.
    #[must_use]
    pub fn before(&self, path: &RepoPath) -> Option<&'a [u8]> {
        self.files.get(self.origin(path))?.before
    }

    fn rename(&mut self, path: &RepoPath, to: &RepoPath) -> Result<(), Refusal> {
        match self.files.get(to) {
            None => return Err(Refusal::Lost(to.clone())),
            Some(slot) if slot.now.is_some() => return Err(Refusal::Exists(to.clone())),
            Some(_) => {}
        }
        let moved =
            self.files.get_mut(path).and_then(|slot| slot.now.take()).ok_or(Refusal::NotFound)?;
        let moved = Staged { from: Some(moved.from.unwrap_or_else(|| path.clone())), ..moved };
        self.files.entry(to.clone()).and_modify(|slot| slot.now = Some(moved));
        Ok(())
    }
}

impl Staged<'_> {
    fn change(&mut self, splices: &[Splice]) {
        if !splices.is_empty() {
            self.changed = std::mem::take(&mut self.changed).and(&self.text, splices);
            self.text = Cow::Owned(splice::apply(&self.text, splices));
        }
    }
}

fn new<'a>(content: &[u8], executable: bool) -> Staged<'a> {
    Staged { text: Cow::Owned(content.to_vec()), executable, from: None, changed: Changed::all() }
}

/// Whether a text consists of the old side of a hunk and nothing else.
fn holds_just(text: &[u8], hunk: &Hunk) -> bool {
    let table = LineTable::new(text, Likeness::Exact);
    let lines = &hunk.lines[..hunk.lines.len() - hunk.tail];
    let old: Vec<&[u8]> =
        lines.iter().map(|line| line.text.strip_prefix(BOM).unwrap_or(&line.text)).collect();
    old.len() == table.len() && table.stands(&old, 0)
}
