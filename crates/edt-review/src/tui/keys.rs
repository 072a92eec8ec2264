//! The keys.

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::{App, Effect};
use super::ask::{Input, InputPurpose, Overlay};
use super::entries::Place;
use super::row::Row;
use super::worker::Job;
use crate::action::{Action, CommentAction};
use crate::hunks::LineSource;
use crate::marks::{Mark, Reviewed};
use edt_types::CommentState;

/// The keys and what they do, as `?` shows them.
pub(super) const KEYS: [(&str, &str); 21] = [
    ("j / k", "next or previous entry of the list"),
    ("↓ / ↑", "next or previous line; PgDn and PgUp, g and G too"),
    ("n / p", "next or previous file"),
    ("] / [", "next or previous hunk"),
    ("← / →", "show more of long lines"),
    ("e, Enter", "open or close the file; e on a line: the edit that wrote it"),
    ("r, Space", "mark the file as reviewed, or not"),
    ("s", "both sides next to each other, from 160 columns on"),
    ("w", "ignore changes of white space"),
    ("/", "search"),
    ("v", "choose lines; Esc ends it"),
    ("x", "revert the chosen lines, the hunk, the file or the edit under the cursor"),
    ("o", "restore the file as it was before its latest edit"),
    ("u / R", "undo to this edit; redo the last undo"),
    ("L", "land the session, or up to this edit"),
    ("m", "mark the edit, so that L lands the marked ones alone"),
    ("A", "abandon the session"),
    ("a / d", "approve or reject the proposal"),
    ("c", "comment on the line, or answer; Ctrl-E opens your editor"),
    ("S, y, d", "send the drafts; resolve or reopen a comment; delete a draft"),
    ("q", "end"),
];

const CHANGED_MEANWHILE: &str = "The session changed while you wrote. Nothing was done: look, and \
                                 press the key again; your text is kept.";

const NOT_HERE: &str = "This session is not the one of this worktree: nothing was done.";

impl App {
    pub(super) fn key(&mut self, mut key: KeyEvent) -> Effect {
        // A terminal sends Esc and a key that follows at once as if Alt was held.
        if key.modifiers.contains(KeyModifiers::ALT) {
            key = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
        }
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, has_control) {
            (KeyCode::Char('c'), true) => return Effect::Quit,
            (KeyCode::Char('z'), true) => return Effect::Suspend,
            _ => {}
        }
        self.message = None;
        match self.overlay.take() {
            Some(overlay) => self.key_in(overlay, key, has_control),
            None if has_control => self.control(key.code),
            None => self.plain(key.code),
        }
    }

    fn key_in(&mut self, overlay: Overlay, key: KeyEvent, has_control: bool) -> Effect {
        match overlay {
            Overlay::Keys => {}
            Overlay::Answer(acted, from) => {
                let from = match key.code {
                    KeyCode::Down => from + 1,
                    KeyCode::Up => from.saturating_sub(1),
                    _ => return Effect::None,
                };
                self.overlay = Some(Overlay::Answer(acted, from));
            }
            Overlay::Question(question) if key.code == KeyCode::Char('y') => {
                self.busy = Some("The command runs…".to_owned());
                self.anchor = None;
                return Effect::Send(Job::Act(question.tip, question.action));
            }
            Overlay::Question(_) => self.message = Some("Nothing was done.".to_owned()),
            Overlay::Input(mut input) => {
                match (key.code, has_control) {
                    (KeyCode::Esc, _) => return Effect::None,
                    (KeyCode::Enter, _) => {
                        self.submit(input);
                        return Effect::None;
                    }
                    (KeyCode::Char('e'), true) => {
                        let text = input.text.clone();
                        self.overlay = Some(Overlay::Input(input));
                        return Effect::Edit(text);
                    }
                    (KeyCode::Char('u'), true) => input.text.clear(),
                    (KeyCode::Char('w'), true) => {
                        let end = input.text.trim_end().rfind(char::is_whitespace);
                        input.text.truncate(end.map_or(0, |end| end + 1));
                    }
                    (KeyCode::Backspace, _) => {
                        input.text.pop();
                    }
                    (KeyCode::Char(c), false) => input.text.push(c),
                    _ => {}
                }
                self.overlay = Some(Overlay::Input(input));
            }
        }
        Effect::None
    }

    /// Asks about the session that the user saw when the line was opened.
    fn submit(&mut self, input: Input) {
        let tip = self.review.as_ref().map(|review| &review.tip);
        if input.purpose == InputPurpose::Search {
            self.search_for(&input.text);
        } else if tip != Some(&input.tip) {
            self.kept = Some(input);
            self.message = Some(CHANGED_MEANWHILE.to_owned());
        } else if let Some((action, what)) = input.purpose.action(&input.text) {
            self.ask(action, what);
            self.written = Some(input);
        } else {
            self.message = Some("Without a text nothing is done.".to_owned());
        }
    }

    fn control(&mut self, key: KeyCode) -> Effect {
        let half = self.rows_height() / 2;
        match key {
            KeyCode::Char('d') => self.go(self.cursor + half),
            KeyCode::Char('u') => self.go(self.cursor.saturating_sub(half)),
            _ => {}
        }
        Effect::None
    }

    fn plain(&mut self, key: KeyCode) -> Effect {
        let page = self.rows_height();
        match key {
            KeyCode::Char('q') if self.is_busy() => {
                self.message = Some("A command runs: press q again when it has ended.".to_owned());
            }
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Char('?') => self.overlay = Some(Overlay::Keys),
            KeyCode::Char('j') => self.step(1),
            KeyCode::Char('k') => self.step(-1),
            KeyCode::Down => self.go(self.cursor + 1),
            KeyCode::Up => self.go(self.cursor.saturating_sub(1)),
            KeyCode::PageDown => self.go(self.cursor + page),
            KeyCode::PageUp => self.go(self.cursor.saturating_sub(page)),
            KeyCode::Char('g') | KeyCode::Home => self.go(0),
            KeyCode::Char('G') | KeyCode::End => self.go(usize::MAX),
            KeyCode::Right => self.shift += 8,
            KeyCode::Left => self.shift = self.shift.saturating_sub(8),
            KeyCode::Char('n') => self.next(true, |row| matches!(row, Row::File(_))),
            KeyCode::Char('p') => self.next(false, |row| matches!(row, Row::File(_))),
            KeyCode::Char(']') => self.next(true, |row| matches!(row, Row::Hunk(..))),
            KeyCode::Char('[') => self.next(false, |row| matches!(row, Row::Hunk(..))),
            KeyCode::Char('/') => self.input(InputPurpose::Search),
            KeyCode::Esc => self.anchor = None,
            KeyCode::Char('v') => {
                self.anchor = if self.anchor.is_some() { None } else { Some(self.cursor) };
            }
            KeyCode::Char('s') => self.turn_sides(),
            KeyCode::Char('w') => {
                self.ignores_space = !self.ignores_space;
                self.renew_rows();
            }
            key => return self.change(key),
        }
        Effect::None
    }

    /// The keys that ask for something.
    fn change(&mut self, key: KeyCode) -> Effect {
        if self.review.is_none() {
            return Effect::None;
        }
        if self.is_busy() {
            self.message = Some("The last command still runs.".to_owned());
            return Effect::None;
        }
        match key {
            KeyCode::Char('e') if self.choose_writer() => {}
            KeyCode::Enter | KeyCode::Char('e') => return self.toggle(),
            KeyCode::Char('r' | ' ') => return self.mark(),
            KeyCode::Char(key) if "uRLmAxocSyad".contains(key) && !self.is_here() => {
                self.message = Some(NOT_HERE.to_owned());
            }
            KeyCode::Char(key) => self.act(key),
            _ => {}
        }
        Effect::None
    }

    fn act(&mut self, key: char) {
        match key {
            'u' => self.with_edit(|app, edit| {
                let text = format!("Undo to edit {edit}? The edits after it are undone.");
                app.ask(Action::UndoTo(edit), text);
            }),
            'R' => self.ask(Action::Redo, "Redo the last undo?".to_owned()),
            'm' => self.with_edit(|app, edit| {
                if !app.marked.remove(&edit) {
                    app.marked.insert(edit);
                }
            }),
            'L' => self.land(),
            'A' => {
                let text = "Abandon the session? HEAD and files return to their state before.";
                self.ask(Action::Abandon, text.to_owned());
            }
            'x' => self.revert(),
            'o' => self.restore(),
            'c' => self.comment(),
            'S' => self.input(InputPurpose::Send),
            'y' | 'a' | 'd' => self.decide(key),
            _ => {}
        }
    }

    fn is_here(&self) -> bool {
        self.review.as_ref().is_some_and(|review| review.checked_out)
    }

    /// The edit that the chosen entry is.
    pub(super) fn edit(&self) -> Option<u64> {
        self.review.as_ref().and_then(|review| self.place.edit(review))
    }

    fn with_edit(&mut self, then: impl FnOnce(&mut App, u64)) {
        match self.edit() {
            Some(edit) => then(self, edit),
            None => self.message = Some("Choose an edit first, with j and k.".to_owned()),
        }
    }

    fn step(&mut self, by: isize) {
        let places = self.places();
        let at = places.iter().position(|place| *place == self.place).unwrap_or(0);
        if let Some(place) = at.checked_add_signed(by).and_then(|at| places.get(at)) {
            self.choose(*place);
        }
    }

    /// Shows the next row of this kind, or the one before, from the top of the screen on.
    fn next(&mut self, is_after: bool, is_wanted: impl Fn(&Row) -> bool) {
        let found = if is_after {
            let after = self.rows.iter().skip(self.cursor + 1).position(is_wanted);
            after.map(|after| self.cursor + 1 + after)
        } else {
            self.rows.iter().take(self.cursor).rposition(is_wanted)
        };
        if let Some(row) = found {
            self.top = row;
            self.go(row);
        }
    }

    fn turn_sides(&mut self) {
        if self.width < super::app::SIDES_WIDTH {
            self.message = Some("Both sides need a terminal of 160 columns.".to_owned());
            return;
        }
        self.sides = !self.sides;
        self.anchor = None;
        self.renew_rows();
    }

    /// Chooses the edit that wrote the line under the cursor. False if the line names none.
    fn choose_writer(&mut self) -> bool {
        let Some(row) = self.rows.get(self.cursor) else { return false };
        let hunk = row.file().and_then(|at| self.files().get(at)).zip(row.hunk());
        let lines = hunk.and_then(|(file, at)| file.hunks.get(at)).map(|hunk| &hunk.lines);
        let line = lines.zip(row.lines().last().copied()).and_then(|(lines, at)| lines.get(at));
        let Some(LineSource::Edit(edit)) = line.and_then(|line| line.source.clone()) else {
            return false;
        };
        self.choose_edit(edit)
    }

    fn toggle(&mut self) -> Effect {
        let Some(file) = self.file_number().and_then(|at| self.files().get(at)) else {
            return Effect::None;
        };
        let mark = Mark::of(file);
        if file.folded && !self.is_closed(file) && self.place != Place::Uncommitted {
            let path = file.path.clone();
            let review = self.review.as_ref();
            let step = review.and_then(|review| self.place.step(review));
            let commit = step.map(|step| step.commit.clone());
            self.busy = Some("The file is read…".to_owned());
            return Effect::Send(Job::Whole { commit, path });
        }
        let closed = !self.is_closed(file);
        let row =
            self.rows.iter().position(|row| *row == Row::File(self.file_number().unwrap_or(0)));
        self.close(mark, closed);
        row.into_iter().for_each(|row| self.go(row));
        Effect::None
    }

    /// Marks the file as reviewed, and goes to the next one.
    fn mark(&mut self) -> Effect {
        if self.place == Place::Uncommitted {
            self.message = Some("What is uncommitted changes under the same name.".to_owned());
            return Effect::None;
        }
        let Some(number) = self.file_number() else { return Effect::None };
        let Some(file) = self.files().get(number) else { return Effect::None };
        let (mark, reviewed) = (Mark::of(file), !file.reviewed);
        self.set_reviewed(&mark, reviewed);
        self.close(mark.clone(), reviewed);
        if let Some(row) = self.rows.iter().position(|row| *row == Row::File(number)) {
            self.go(row);
        }
        if reviewed {
            self.next(true, |row| matches!(row, Row::File(_)));
        }
        Effect::Send(Job::Mark(mark, if reviewed { Reviewed::Yes } else { Reviewed::No }))
    }

    fn land(&mut self) {
        let marked: Vec<u64> = self.marked.iter().copied().collect();
        match self.edit() {
            Some(edit) if marked.is_empty() => {
                let text = format!(
                    "Land to edit {edit}? It and those before become one commit; the rest stays."
                );
                self.ask(Action::LandTo(edit), text);
            }
            _ => self.input(InputPurpose::Land(marked)),
        }
    }

    fn restore(&mut self) {
        let file = self.file_number().and_then(|at| self.files().get(at));
        let Some(path) = file.map(|file| file.path.clone()) else { return };
        if self.place == Place::Uncommitted {
            self.message = Some("Your own changes: edt does not discard them.".to_owned());
            return;
        }
        let text =
            format!("Restore {} as it was before its latest edit?", super::text::shown(&path));
        self.ask(Action::Restore(path), text);
    }

    fn comment(&mut self) {
        if let Some(Row::Comment(id, ..)) = self.rows.get(self.cursor) {
            self.input(InputPurpose::Answer(*id));
            return;
        }
        let edit = self.edit();
        if self.place != Place::All && edit.is_none() {
            self.message = Some("Choose an edit or all changes first.".to_owned());
            return;
        }
        let rows = self.rows.get(self.chosen_rows()).unwrap_or_default();
        let file = rows.iter().find_map(Row::file).and_then(|at| self.files().get(at));
        let of_line = |row: &Row| {
            let hunk = file?.hunks.get(row.hunk()?)?;
            hunk.lines.get(*row.lines().last()?)
        };
        let lines = || rows.iter().filter_map(of_line);
        let path = file.map(|file| file.path.clone());
        // Lines that only the content before has are named by their numbers there.
        let before = lines().next().is_some() && lines().all(|line| line.new.is_none());
        let numbers = || lines().filter_map(|line| if before { line.old } else { line.new });
        let lines = numbers().min().zip(numbers().max());
        self.anchor = None;
        self.input(InputPurpose::Comment { edit, path, lines, before });
    }

    /// Approves or rejects the proposal; resolves, reopens or deletes the comment.
    fn decide(&mut self, key: char) {
        let Some(review) = &self.review else { return };
        let comment = match self.rows.get(self.cursor) {
            Some(Row::Comment(id, ..)) => review.comments.iter().find(|one| one.id == *id),
            _ => None,
        };
        if let (Place::Proposal(at), true) = (self.place, key != 'y') {
            let proposal = review.proposals[at].proposal;
            if key == 'a' {
                let text = format!("Approve the proposal p{proposal}?");
                self.ask(Action::Approve(proposal), text);
            } else {
                self.input(InputPurpose::Reject(proposal));
            }
            return;
        }
        let Some(comment) = comment else {
            self.message = Some("Choose a proposal or a comment first.".to_owned());
            return;
        };
        let id = comment.id;
        let (action, what) = match (key, comment.state) {
            ('d', CommentState::Draft) => (CommentAction::Drop(id), "Delete the draft"),
            ('y', CommentState::Open) => (CommentAction::Resolve(id), "Resolve the comment"),
            ('y', CommentState::Resolved) => (CommentAction::Reopen(id), "Reopen the comment"),
            _ => {
                self.message = Some("d deletes a draft, y resolves a comment.".to_owned());
                return;
            }
        };
        self.ask(Action::Comment(action), format!("{what} {id}?"));
    }
}
