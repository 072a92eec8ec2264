//! The lines of a diff: numbers, who wrote it, a mark, and the text with what changed in it.

use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::text::{Palette, Tone, columns_of, shifted};
use crate::hunks::{LineSource, ReviewLine};
use edt_types::text::escape_controls;

/// How the lines of one entry are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gutter {
    pub(super) palette: Palette,
    /// How many digits the numbers have.
    pub(super) digits: usize,
    /// Whether both numbers are shown.
    pub(super) both: bool,
    /// Whether the lines say who wrote them.
    pub(super) authors: bool,
    /// How many columns of the text are left out.
    pub(super) shift: usize,
}

/// Which side of a pair a line is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Old,
    New,
}

impl Gutter {
    /// The line of a unified diff.
    pub(super) fn unified(&self, line: &ReviewLine) -> Line<'static> {
        let number = |number: Option<u64>| {
            let text = number.map(|number| number.to_string()).unwrap_or_default();
            format!("{text:>width$} ", width = self.digits)
        };
        let numbers = if self.both {
            number(line.old) + &number(line.new)
        } else {
            number(line.new.or(line.old))
        };
        self.joined(numbers + &self.author(line), line)
    }

    /// The line on one side of a pair, filled to `width` columns.
    pub(super) fn side(
        &self,
        line: Option<&ReviewLine>,
        side: Side,
        width: usize,
    ) -> Line<'static> {
        let Some(line) = line else { return Line::raw(" ".repeat(width)) };
        let number = if side == Side::Old { line.old } else { line.new };
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let mut head = format!("{number:>width$} ", width = self.digits);
        if side == Side::New {
            head.push_str(&self.author(line));
        }
        let mut all = self.joined(head, line);
        let left = width.saturating_sub(all.width());
        all.push_span(Span::raw(" ".repeat(left)));
        all
    }

    fn author(&self, line: &ReviewLine) -> String {
        if !self.authors {
            return String::new();
        }
        let name = match &line.source {
            Some(LineSource::Edit(number)) => format!("#{number}"),
            Some(LineSource::User) => "you".to_owned(),
            None => String::new(),
        };
        format!("{name:<4} ")
    }

    fn joined(&self, head: String, line: &ReviewLine) -> Line<'static> {
        let mut all = vec![Span::styled(head, self.palette.style(Tone::Dim))];
        let (mark, tone) = match (line.old, line.new) {
            (None, _) => ("+", Tone::Added),
            (_, None) => ("-", Tone::Removed),
            _ => (" ", Tone::Plain),
        };
        all.push(Span::styled(mark, self.palette.style(tone)));
        let text = shifted(Line::from(self.text(line, self.palette.style(tone))), self.shift);
        all.extend(text.spans);
        Line::from(all)
    }

    /// The text of a line, with what changed in it marked.
    fn text(&self, line: &ReviewLine, style: Style) -> Vec<Span<'static>> {
        let marked = style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        let bytes = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let mut all = Vec::new();
        let mut columns = 0;
        let mut push = |from: usize, to: usize, style: Style| {
            let text = line.text.get(from..to).unwrap_or_default();
            let text = untabbed(&escape_controls(text).0, &mut columns);
            if !text.is_empty() {
                all.push(Span::styled(text, style));
            }
        };
        let mut at = 0;
        for (start, end) in &line.changed {
            push(at, bytes(*start), style);
            push(bytes(*start), bytes(*end), marked);
            at = bytes(*end);
        }
        push(at, line.text.len(), style);
        if line.unterminated {
            let style = self.palette.style(Tone::Dim);
            all.push(Span::styled(" (no newline at the end)", style));
        }
        all
    }
}

/// The text with its tabs as spaces up to the next multiple of 4 columns.
fn untabbed(text: &str, columns: &mut usize) -> String {
    if !text.contains('\t') {
        *columns += columns_of(text);
        return text.to_owned();
    }
    let mut out = String::new();
    for (number, part) in text.split('\t').enumerate() {
        if number > 0 {
            let spaces = 4 - *columns % 4;
            out.push_str(&" ".repeat(spaces));
            *columns += spaces;
        }
        out.push_str(part);
        *columns += columns_of(part);
    }
    out
}
