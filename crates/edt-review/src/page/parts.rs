//! What takes a part of a change back, or comments on it: a file, a hunk, lines that the user chose.
//!
//! Each file has one form. The buttons and the boxes of its hunks belong to it by its id, so that a
//! large page stays small.

use maud::{Markup, html};

use super::sheet::Sheet;
use super::text::FormValues;
use crate::hunks::{ReviewFile, ReviewHunk, ReviewLine};

/// The form of the file `at` of the article `id`, with the button for the whole file.
pub(super) fn form(file: &ReviewFile, (id, at): (&str, usize), sheet: &Sheet<'_>) -> Markup {
    let Some(values) = sheet.values.filter(|values| values.takes_parts) else { return html! {} };
    let name = name(id, at);
    let chooses = sheet.chosen == Some(at);
    html! {
        form.part id=(name) method="post" action="/act" {
            input type="hidden" name="form" value=(values.form);
            input type="hidden" name="tip" value=(values.tip);
            input type="hidden" name="at" value=(id);
            input type="hidden" name="action" value="part";
            input type="hidden" name="file" value=(at);
            button name="lines" value="file" title="The file's change is reverted by a new commit" {
                "Revert this file" }
            @if chooses {
                button name="lines" value="chosen" title="The chosen lines are reverted by a new commit" {
                    "Revert these lines" }
                a href={ "/?at=" (id) "#" (id) "-" (at + 1) } { "Choose no lines" }
            } @else if !file.hunks.is_empty() {
                a.choose href={ "/?at=" (id) "&lines=" (at) "#" (id) "-" (at + 1) } { "Choose lines" }
            }
            details.menu.say {
                summary { "Comment…" }
                label { @if chooses { "Comment on the chosen lines" } @else { "Comment on the file" }
                    textarea name="message" rows="3" {} }
                button name="lines" value="comment" { "Add the comment" }
            }
        }
    }
}

/// The button that takes a hunk back.
pub(super) fn of_hunk(
    hunk: &ReviewHunk,
    (id, at): (&str, usize),
    values: Option<FormValues<'_>>,
) -> Markup {
    let Some(_) = values.filter(|values| values.takes_parts) else { return html! {} };
    let lines = Lines::of(&hunk.lines);
    html! {
        button form=(name(id, at)) name="lines" value=(lines.text())
            title="The lines of this hunk are reverted by a new commit" { "Revert this hunk" }
    }
}

/// The box that chooses a changed line, if the user chooses lines of the file.
pub(super) fn choice(line: &ReviewLine, form: Option<&str>) -> Markup {
    let (Some(form), Some((side, number))) = (form, side(line)) else { return html! {} };
    let word = if side == 'a' { "added" } else { "removed" };
    html! {
        input type="checkbox" form=(form) name="line" value={ (side) (number) }
            aria-label={ "Line " (number) ", " (word) };
    }
}

/// The id of the form of a file.
pub(super) fn name(id: &str, at: usize) -> String {
    format!("part-{id}-{}", at + 1)
}

/// Whether a changed line is of the content after (`a`) or before (`r`) the change, and its number
/// there.
fn side(line: &ReviewLine) -> Option<(char, u64)> {
    match (line.old, line.new) {
        (None, Some(new)) => Some(('a', new)),
        (Some(old), None) => Some(('r', old)),
        _ => None,
    }
}

/// Lines of a change, as ranges with both ends included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    /// Lines of the content after the change.
    pub(crate) added: Vec<(u64, u64)>,
    /// Lines of the content before the change.
    pub(crate) removed: Vec<(u64, u64)>,
}

impl Lines {
    fn of(lines: &[ReviewLine]) -> Lines {
        let mut all = Lines::default();
        lines.iter().filter_map(side).for_each(|(side, number)| all.push(side, (number, number)));
        all
    }

    /// The lines that a form names, such as `a3-5` for added and `r2` for removed ones, with a space
    /// between. `None` if a word is none of these.
    pub(crate) fn parse(text: &str) -> Option<Lines> {
        let mut all = Lines::default();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let side = word.chars().next().filter(|side| matches!(side, 'a' | 'r'))?;
            let (first, last) = word[1..].split_once('-').unwrap_or((&word[1..], &word[1..]));
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            if first == 0 || first > last {
                return None;
            }
            all.push(side, (first, last));
        }
        Some(all)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    fn push(&mut self, side: char, (first, last): (u64, u64)) {
        let ranges = if side == 'a' { &mut self.added } else { &mut self.removed };
        match ranges.last_mut() {
            Some(range) if range.1 + 1 == first => range.1 = last,
            _ => ranges.push((first, last)),
        }
    }

    fn text(&self) -> String {
        let word = |side: char, (first, last): &(u64, u64)| {
            if first == last { format!("{side}{first}") } else { format!("{side}{first}-{last}") }
        };
        let removed = self.removed.iter().map(|range| word('r', range));
        let words: Vec<String> =
            removed.chain(self.added.iter().map(|range| word('a', range))).collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_as_they_are_read() {
        for text in ["a3", "r1-4 a2-3 a9", ""] {
            assert_eq!(Lines::parse(text).unwrap().text(), text);
        }
        assert_eq!(Lines::parse("a1 a2 a3 r7").unwrap().text(), "r7 a1-3");
    }

    #[test]
    fn what_is_no_line_is_not_read() {
        for text in ["3", "x3", "a", "a0", "a3-2", "a-1", "ä1", "a1-2-3", "file"] {
            assert_eq!(Lines::parse(text), None, "{text}");
        }
    }
}
