//! What the view shows, and how news and time change it. The keys are in `keys`.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

use super::ask::{Input, InputPurpose, Overlay, Question};
use super::entries::{self, ListLine, Place};
use super::row::{Row, Shape};
use super::rows;
use super::spot::{Found, Spot};
use super::text::Palette;
use super::worker::{Job, News, add_sources};
use crate::action::Action;
use crate::hunks::{ReviewFile, ReviewHunk};
use crate::marks::Mark;
use crate::model::SessionReview;
use edt_types::text::counted;

/// At this width both sides fit next to each other.
pub(super) const SIDES_WIDTH: u16 = 160;
/// A narrower terminal shows no list.
const LIST_WIDTH: u16 = 60;

/// What a key leads to, besides a change of the view.
#[derive(Debug)]
pub(super) enum Effect {
    None,
    Send(Job),
    /// As Ctrl-Z.
    Suspend,
    /// The text in the user's editor.
    Edit(String),
    Quit,
}

/// The view.
pub(super) struct App {
    pub(super) palette: Palette,
    /// `None` until it was read.
    pub(super) review: Option<SessionReview>,
    /// The line at the bottom.
    pub(super) message: Option<String>,
    /// What the thread does, if it changes something.
    pub(super) busy: Option<String>,
    pub(super) overlay: Option<Overlay>,
    /// The line of the action that is asked for or runs.
    pub(super) written: Option<Input>,
    /// A line that led to nothing: the next one for the same purpose begins with it.
    pub(super) kept: Option<Input>,
    pub(super) list: Vec<ListLine>,
    /// The chosen entry.
    pub(super) place: Place,
    pub(super) rows: Vec<Row>,
    /// The row under the cursor.
    pub(super) cursor: usize,
    /// The first row that is shown.
    pub(super) top: usize,
    /// How many columns of the lines are left out.
    pub(super) shift: usize,
    /// The row at which the choice of lines began.
    pub(super) anchor: Option<usize>,
    /// Edits that the user marked for a landing of them alone.
    pub(super) marked: BTreeSet<u64>,
    pub(super) sides: bool,
    pub(super) ignores_space: bool,
    /// Files that the user closed or opened.
    closed: BTreeMap<Mark, bool>,
    /// The hunks of folded files that the user opened.
    whole: BTreeMap<(Option<String>, Mark), Vec<ReviewHunk>>,
    pub(super) search: String,
    pub(super) width: u16,
    pub(super) height: u16,
}

impl App {
    pub(super) fn new(colours: bool) -> App {
        App {
            palette: Palette { colours },
            review: None,
            message: None,
            busy: None,
            overlay: None,
            written: None,
            kept: None,
            list: Vec::new(),
            place: Place::All,
            rows: Vec::new(),
            cursor: 0,
            top: 0,
            shift: 0,
            anchor: None,
            marked: BTreeSet::new(),
            sides: true,
            ignores_space: false,
            closed: BTreeMap::new(),
            whole: BTreeMap::new(),
            search: String::new(),
            width: 0,
            height: 0,
        }
    }

    /// Whether a command runs.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.is_some()
    }

    /// How many columns the list has.
    pub(super) fn list_width(&self) -> u16 {
        if self.width < LIST_WIDTH { 0 } else { (self.width / 3).clamp(24, 46) }
    }

    /// How many columns the rows have, without the mark of the cursor.
    pub(super) fn rows_width(&self) -> u16 {
        let list = self.list_width();
        self.width.saturating_sub(if list > 0 { list + 1 } else { 0 }).saturating_sub(1)
    }

    /// How many rows are shown.
    pub(super) fn rows_height(&self) -> usize {
        usize::from(self.height.saturating_sub(2)).max(1)
    }

    pub(super) fn shows_sides(&self) -> bool {
        self.sides && self.width >= SIDES_WIDTH
    }

    /// The terminal has this size.
    pub(super) fn resize(&mut self, width: u16, height: u16) {
        if (self.width, self.height) != (width, height) {
            (self.width, self.height) = (width, height);
            self.renew_rows();
        }
        self.scroll();
    }

    pub(super) fn learn(&mut self, news: News) {
        match news {
            News::Read(Ok(review)) => self.renew(*review),
            News::Read(Err(text)) => {
                (self.review, self.rows, self.list) = (None, Vec::new(), Vec::new());
                self.message = Some(text);
            }
            News::Sources(tip, path, lines) => {
                let review = self.review.as_mut().filter(|review| review.tip == tip);
                let files = review.into_iter().flat_map(|review| &mut review.files);
                files.filter(|file| file.path == path).for_each(|file| add_sources(file, &lines));
            }
            News::Whole { commit, file } => {
                self.busy = None;
                self.whole.insert((commit, Mark::of(&file)), file.hunks);
                self.unfold();
                self.renew_rows();
            }
            News::Acted(acted) => {
                self.busy = None;
                let written = self.written.take();
                self.kept = if acted.done { None } else { written.or(self.kept.take()) };
                self.overlay = Some(Overlay::Answer(acted, 0));
            }
            News::Done(failure) => {
                self.busy = None;
                self.message = failure.or(self.message.take());
            }
        }
    }

    /// Shows the session as it is now, at the entry and the row where the user was.
    fn renew(&mut self, review: SessionReview) {
        let id = self.review.as_ref().map(|old| self.place.id(old));
        if self.review.as_ref().is_some_and(|old| old.tip != review.tip) {
            self.anchor = None;
            let edits: BTreeSet<u64> = review.steps().flat_map(|step| step.edits.clone()).collect();
            self.marked.retain(|edit| edits.contains(edit));
        }
        let spots = self.spots();
        self.list = entries::list(&review);
        let places = self.places();
        let found = places.iter().find(|place| Some(place.id(&review)) == id);
        let is_same = found.is_some();
        self.place = found.copied().unwrap_or(Place::All);
        self.review = Some(review);
        self.unfold();
        if !is_same {
            self.choose(self.place);
        } else if !self.make_rows(&spots) && self.message.is_none() && self.overlay.is_none() {
            let text = "What was under the cursor changed: look where you are now.";
            self.message = Some(text.to_owned());
        }
    }

    /// What the rows under the cursor and at the beginning of the choice show.
    fn spots(&self) -> [Option<Spot>; 2] {
        [Some(self.cursor), self.anchor].map(|row| {
            row.and_then(|row| self.rows.get(row)).map(|row| Spot::of(row, self.files()))
        })
    }

    /// The id of the article that has the hunks of the chosen entry.
    pub(super) fn article(&self) -> String {
        self.review.as_ref().map_or_else(|| "all".to_owned(), |review| self.place.article(review))
    }

    /// The entries, in the order of the list.
    pub(super) fn places(&self) -> Vec<Place> {
        let place = |line: &ListLine| match line {
            ListLine::Entry(place) => Some(*place),
            ListLine::Heading(_) => None,
        };
        self.list.iter().filter_map(place).collect()
    }

    /// Gives folded files the hunks that were read.
    fn unfold(&mut self) {
        let Some(review) = &mut self.review else { return };
        let steps = review.turns.iter_mut().flat_map(|turn| &mut turn.steps);
        let steps = steps.chain(&mut review.undone);
        let files = steps.map(|step| (Some(step.commit.clone()), &mut step.files));
        for (commit, files) in files.chain([(None, &mut review.files)]) {
            for file in files.iter_mut().filter(|file| file.folded) {
                if let Some(hunks) = self.whole.get(&(commit.clone(), Mark::of(file))) {
                    (file.hunks, file.folded) = (hunks.clone(), false);
                }
            }
        }
    }

    pub(super) fn choose(&mut self, place: Place) {
        self.place = place;
        (self.cursor, self.top, self.shift, self.anchor) = (0, 0, 0, None);
        self.rows = self.made();
    }

    /// Makes the rows again; the cursor stays at what it is on, if that is still shown.
    pub(super) fn renew_rows(&mut self) {
        let spots = self.spots();
        self.make_rows(&spots);
    }

    /// Makes the rows again, with the cursor and the beginning of the choice at `spots`. False if
    /// the lines under the cursor are not there any more.
    fn make_rows(&mut self, [cursor, anchor]: &[Option<Spot>; 2]) -> bool {
        self.rows = self.made();
        let find = |spot: &Spot| spot.find(self.cursor, &self.rows, self.files());
        let found = cursor.as_ref().map_or(Found::Same(self.cursor), find);
        self.anchor = match anchor.as_ref().map(find) {
            Some(Found::Same(row)) => Some(row),
            _ => None,
        };
        self.cursor = found.row().min(self.rows.len().saturating_sub(1));
        self.scroll();
        let had_lines = cursor.as_ref().is_some_and(Spot::has_lines);
        !(had_lines && matches!(found, Found::Gone(_)))
    }

    /// Chooses the step that is this edit. False if the branch has none.
    pub(super) fn choose_edit(&mut self, edit: u64) -> bool {
        let review = self.review.as_ref();
        let is_it = |place: &Place| review.is_some_and(|review| place.edit(review) == Some(edit));
        let found = self.places().into_iter().find(is_it);
        found.is_some_and(|place| {
            self.choose(place);
            true
        })
    }

    fn made(&self) -> Vec<Row> {
        let Some(review) = &self.review else { return Vec::new() };
        let shape = Shape {
            sides: self.shows_sides(),
            ignores_space: self.ignores_space,
            width: usize::from(self.rows_width()),
        };
        rows::rows(review, self.place, shape, |file| self.is_closed(file))
    }

    pub(super) fn is_closed(&self, file: &ReviewFile) -> bool {
        self.closed.get(&Mark::of(file)).copied().unwrap_or(file.reviewed)
    }

    pub(super) fn close(&mut self, mark: Mark, closed: bool) {
        self.closed.insert(mark, closed);
        self.renew_rows();
    }

    /// Shows the mark before it is stored.
    pub(super) fn set_reviewed(&mut self, mark: &Mark, reviewed: bool) {
        let Some(review) = &mut self.review else { return };
        let steps = review.turns.iter_mut().flat_map(|turn| &mut turn.steps);
        let files = steps.chain(&mut review.undone).flat_map(|step| &mut step.files);
        for file in files.chain(&mut review.files).filter(|file| Mark::of(file) == *mark) {
            file.reviewed = reviewed;
        }
    }

    pub(super) fn files(&self) -> &[ReviewFile] {
        self.review.as_ref().map_or(&[], |review| self.place.files(review))
    }

    /// The number of the file under the cursor, or of the first one.
    pub(super) fn file_number(&self) -> Option<usize> {
        let own = self.rows.get(self.cursor).and_then(Row::file);
        own.or_else(|| self.rows.iter().find_map(Row::file))
    }

    /// Moves the cursor to `row`.
    pub(super) fn go(&mut self, row: usize) {
        self.cursor = row.min(self.rows.len().saturating_sub(1));
        self.scroll();
    }

    /// Lets the cursor be among the rows that are shown, with two rows around it if they fit.
    fn scroll(&mut self) {
        let height = self.rows_height();
        let around = 2.min(height.saturating_sub(1) / 2);
        let last = (self.cursor + around + 1).saturating_sub(height);
        self.top = self.top.clamp(last, self.cursor.saturating_sub(around).max(last));
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }

    /// The rows that the user chose, or the one under the cursor.
    pub(super) fn chosen_rows(&self) -> std::ops::RangeInclusive<usize> {
        let anchor = self.anchor.unwrap_or(self.cursor);
        anchor.min(self.cursor)..=anchor.max(self.cursor)
    }

    /// Asks the user whether to do it.
    pub(super) fn ask(&mut self, action: Action, mut text: String) {
        self.written = None;
        if let Some(review) = &self.review {
            let tip = review.tip.clone();
            let edits: u64 = review.steps().map(|step| step.edits.len() as u64).sum();
            let edits = counted(edits, "edit");
            text.insert_str(0, &format!("{}, {edits}: ", review.session.name));
            self.overlay = Some(Overlay::Question(Question { action, tip, text }));
        }
    }

    pub(super) fn input(&mut self, purpose: InputPurpose) {
        let is_same = |kept: &Input| discriminant(&kept.purpose) == discriminant(&purpose);
        let text = self.kept.take_if(|kept| is_same(kept)).map(|kept| kept.text);
        let tip = self.review.as_ref().map(|review| review.tip.clone()).unwrap_or_default();
        let text = text.unwrap_or_default();
        self.overlay = Some(Overlay::Input(Input { purpose, text, tip }));
    }

    /// The user's text from the editor.
    pub(super) fn edited(&mut self, text: Option<String>) {
        match (&mut self.overlay, text) {
            (Some(Overlay::Input(input)), Some(text)) => {
                text.trim_end().clone_into(&mut input.text);
            }
            (_, None) => self.message = Some("The editor could not be started.".to_owned()),
            _ => {}
        }
    }

    pub(super) fn paste(&mut self, text: &str) -> Effect {
        if let Some(Overlay::Input(input)) = &mut self.overlay {
            input.text.push_str(&text.replace('\r', "\n"));
        }
        Effect::None
    }
}
