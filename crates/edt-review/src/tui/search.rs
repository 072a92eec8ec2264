//! Search: in the rows below the cursor, then in the entries that follow, whose lines may not be
//! read.

use super::app::App;
use super::entries::Place;
use super::row::Row;
use super::text::shown;
use crate::model::SessionReview;

impl App {
    /// Goes to the next place with `text`, or with the last text if it is empty.
    pub(super) fn search_for(&mut self, text: &str) {
        if !text.is_empty() {
            self.search = text.to_lowercase();
        }
        if self.search.is_empty() || self.review.is_none() {
            return;
        }
        // A number is that of an edit, if the session has it.
        if let Ok(edit) = text.trim_start_matches('#').parse::<u64>()
            && self.edit() != Some(edit)
            && self.choose_edit(edit)
        {
            return;
        }
        if let Some(row) = self.row_from(self.cursor + 1) {
            self.go(row);
            return;
        }
        let places = self.places();
        let at = places.iter().position(|place| *place == self.place).unwrap_or(0);
        let after = places.iter().cycle().skip(at + 1).take(places.len());
        let review = self.review.as_ref();
        let found = after
            .copied()
            .find(|place| review.is_some_and(|review| has(review, *place, &self.search)));
        let Some(place) = found else {
            self.message = Some("The text does not occur.".to_owned());
            return;
        };
        self.choose(place);
        match self.row_from(0) {
            Some(row) => self.go(row),
            None => {
                self.message = Some("The text is in this entry; / searches its lines.".to_owned());
            }
        }
    }

    /// The first row from `from` on that has the text.
    fn row_from(&self, from: usize) -> Option<usize> {
        let found = self.rows.iter().skip(from).position(|row| self.row_has(row));
        found.map(|at| from + at)
    }

    fn row_has(&self, row: &Row) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.search);
        let file = |at: usize| self.files().get(at);
        match row {
            Row::Text(_, text) | Row::Note(_, text) | Row::Comment(_, _, _, text) => has(text),
            Row::File(at) => file(*at).is_some_and(|file| has(&shown(&file.path))),
            Row::Hunk(..) => false,
            Row::Line(..) | Row::Pair(..) => {
                let lines = row.file().and_then(file).zip(row.hunk());
                let lines = lines.and_then(|(file, hunk)| Some(&file.hunks.get(hunk)?.lines));
                let lines = lines.into_iter().flat_map(|lines| {
                    row.lines().into_iter().filter_map(|number| lines.get(number))
                });
                lines.into_iter().any(|line| has(&line.text))
            }
        }
    }
}

/// Whether an entry has the text: in its name, its message, its paths or its lines.
fn has(review: &SessionReview, place: Place, text: &str) -> bool {
    let has = |one: &str| one.to_lowercase().contains(text);
    let label = place.label(review);
    let step = place.step(review);
    has(&label.text)
        || step.is_some_and(|step| has(&step.reason))
        || place.files(review).iter().any(|file| {
            let mut lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
            has(&shown(&file.path)) || lines.any(|line| has(&line.text))
        })
}
