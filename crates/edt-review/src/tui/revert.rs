//! What `x` reverts: lines of the change itself, of which the screen may leave some out.

use std::collections::BTreeSet;

use super::app::App;
use super::entries::Place;
use super::row::Row;
use super::text::shown;
use crate::action::{Action, Part};
use crate::hunks::{ReviewHunk, ReviewLine, changes};
use edt_types::text::counted;

impl App {
    /// Reverts the chosen lines, the hunk or the file under the cursor, or the edit.
    pub(super) fn revert(&mut self) {
        let edit = self.edit();
        match self.place {
            Place::All => {}
            Place::Step(..) if edit.is_some() => {}
            _ => {
                self.message = Some("Choose an edit or all changes first.".to_owned());
                return;
            }
        }
        let Some(row) = self.rows.get(self.cursor) else { return };
        let Some(file) = row.file().and_then(|at| self.files().get(at)) else {
            match edit {
                Some(edit) => self.ask(Action::Revert(edit), format!("Revert edit {edit}?")),
                None => self.message = Some("Choose a file, a hunk or lines.".to_owned()),
            }
            return;
        };
        let path = file.path.clone();
        let of = edit.map_or("the session".to_owned(), |edit| format!("edit {edit}"));
        let lines = match (self.anchor, row.hunk()) {
            (Some(_), _) => {
                let Some(lines) = self.chosen_lines() else {
                    self.message = Some("The chosen lines are of several files.".to_owned());
                    return;
                };
                Some(lines)
            }
            (None, Some(at)) => file.hunks.get(at).map(|hunk| hunk.lines.iter().collect()),
            (None, None) => None,
        };
        let mut part = Part { edit, path, added: Vec::new(), removed: Vec::new() };
        let mut what = "all".to_owned();
        if let Some(lines) = lines {
            for line in &lines {
                match (line.old, line.new) {
                    (None, Some(new)) => push(&mut part.added, new),
                    (Some(old), None) => push(&mut part.removed, old),
                    _ => {}
                }
            }
            let Some(text) = named(&part, &lines) else {
                self.message = Some("None of these lines was changed.".to_owned());
                return;
            };
            what = text;
        }
        let text = format!("Revert {what} of {of} in {}?", shown(&part.path));
        self.ask(Action::RevertPart(part), text);
    }

    /// The chosen lines, with those that belong to them and are not shown; `None` if they are of
    /// several files.
    fn chosen_lines(&self) -> Option<Vec<&ReviewLine>> {
        let rows: &[Row] = self.rows.get(self.chosen_rows())?;
        let of = rows.iter().find_map(Row::file)?;
        if rows.iter().filter_map(Row::file).any(|file| file != of) {
            return None;
        }
        let file = self.files().get(of)?;
        let mut all = Vec::new();
        for (at, hunk) in file.hunks.iter().enumerate() {
            let own = rows.iter().filter(|row| row.hunk() == Some(at)).flat_map(Row::lines);
            let mut chosen: BTreeSet<usize> = own.collect();
            if self.ignores_space && !self.shows_sides() {
                chosen.extend(hidden_partners(hunk, &chosen));
            }
            all.extend(chosen.into_iter().filter_map(|line| hunk.lines.get(line)));
        }
        Some(all)
    }
}

/// The removed lines that are not shown and whose added line, which differs in white space alone,
/// is among `chosen`.
fn hidden_partners(hunk: &ReviewHunk, chosen: &BTreeSet<usize>) -> Vec<usize> {
    let is_blank = |at: usize| hunk.lines[at].text.trim().is_empty();
    let mut all = Vec::new();
    for change in changes(&hunk.lines) {
        for blank in [false, true] {
            // Both sides have the lines with a partner in the same order.
            let is_one = |at: &usize| hunk.lines[*at].space_only && is_blank(*at) == blank;
            let removed = change.removed.clone().filter(is_one);
            let pairs = removed.zip(change.added.clone().filter(is_one));
            all.extend(pairs.filter(|(_, new)| chosen.contains(new)).map(|(old, _)| old));
        }
    }
    all
}

/// Names the lines and shows the first changed one; `None` if none was changed.
fn named(part: &Part, lines: &[&ReviewLine]) -> Option<String> {
    let first = lines.iter().find(|line| line.old.is_none() || line.new.is_none())?;
    let mark = if first.new.is_some() { '+' } else { '-' };
    let side = |name: &str, ranges: &Ranges| {
        let lines: u64 = ranges.iter().map(|(first, last)| last - first + 1).sum();
        let range = |(first, last): &(u64, u64)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        let numbers = ranges.iter().map(range).collect::<Vec<_>>().join(", ");
        let text = format!("{} {numbers}", counted(lines, &format!("{name} line")));
        (lines > 0).then_some(text)
    };
    let sides = [side("added", &part.added), side("removed", &part.removed)];
    let numbers = sides.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    let text: String = shown(first.text.trim()).chars().take(MAX_SHOWN).collect();
    Some(format!("\u{201c}{mark}{text}\u{201d}: {numbers}"))
}

/// How many characters of a line a question shows.
const MAX_SHOWN: usize = 24;

type Ranges = Vec<(u64, u64)>;

/// Adds a number to ranges of numbers, the first and the last one of each.
fn push(ranges: &mut Ranges, number: u64) {
    match ranges.last_mut() {
        Some((_, last)) if *last + 1 == number => *last = number,
        _ => ranges.push((number, number)),
    }
}
