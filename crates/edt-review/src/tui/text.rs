//! Texts of others on the screen, and their colours.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use edt_types::text::escape_controls;

/// How a text looks. Without colours the marks and the weight differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Heading,
    Name,
    Dim,
    Warning,
    Added,
    Removed,
    Good,
}

/// The colours of the terminal, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Palette {
    pub(super) colours: bool,
}

impl Palette {
    pub(super) fn style(self, tone: Tone) -> Style {
        let (colour, modifier) = match tone {
            Tone::Plain => (None, Modifier::empty()),
            Tone::Heading => (None, Modifier::BOLD),
            Tone::Name => (Some(Color::Cyan), Modifier::empty()),
            Tone::Dim => (None, Modifier::DIM),
            Tone::Warning => (Some(Color::Yellow), Modifier::empty()),
            Tone::Added | Tone::Good => (Some(Color::Green), Modifier::empty()),
            Tone::Removed => (Some(Color::Red), Modifier::empty()),
        };
        let style = Style::new().add_modifier(modifier);
        colour.filter(|_| self.colours).map_or(style, |colour| style.fg(colour))
    }
}

/// A text of somebody else, on one line: what it cannot show is shown by its number.
pub(super) fn shown(text: &str) -> String {
    let text: String = text.chars().map(|c| if c == '\n' { ' ' } else { c }).collect();
    escape_controls(&text).0.replace('\t', "    ")
}

/// The lines of a text of somebody else, each at most `width` columns wide.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| folded(&shown(line), width.max(8))).collect()
}

fn folded(line: &str, width: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut current = String::new();
    let mut columns = 0;
    for word in line.split_inclusive(' ') {
        let length = columns_of(word.trim_end());
        if columns > 0 && columns + length > width {
            all.push(std::mem::take(&mut current));
            columns = 0;
        }
        for c in word.chars() {
            let own = columns_of(c.encode_utf8(&mut [0; 4]));
            if columns + own > width && c != ' ' {
                all.push(std::mem::take(&mut current));
                columns = 0;
            }
            current.push(c);
            columns += own;
        }
    }
    all.push(current);
    all
}

/// How many columns a text takes.
pub(super) fn columns_of(text: &str) -> usize {
    Span::raw(text).width()
}

/// The text, or its start and `…`, so that it takes at most `width` columns.
pub(super) fn fitted(text: &str, width: usize) -> String {
    if columns_of(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut columns = 1;
    for c in text.chars() {
        columns += columns_of(c.encode_utf8(&mut [0; 4]));
        if columns > width {
            break;
        }
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// The line without its first `columns`.
pub(super) fn shifted(line: Line<'static>, columns: usize) -> Line<'static> {
    if columns == 0 {
        return line;
    }
    let mut left = columns;
    let mut spans = Vec::new();
    for span in line.spans {
        if left == 0 {
            spans.push(span);
            continue;
        }
        let mut rest = String::new();
        for symbol in span.styled_graphemes(Style::new()) {
            let own = columns_of(symbol.symbol);
            if left == 0 {
                rest.push_str(symbol.symbol);
            }
            left = left.saturating_sub(own);
        }
        spans.push(Span::styled(rest, span.style));
    }
    Line::from(spans)
}
