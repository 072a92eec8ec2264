//! The screen: a line on the session, the list, the rows of the entry, and a line with what is asked
//! or was said. Only what is seen is made.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::app::App;
use super::ask::{Input, Overlay, Question};
use super::diff_lines::{Gutter, Side};
use super::entries::{Label, ListLine, Place, totals};
use super::keys::KEYS;
use super::row::Row;
use super::text::{Palette, Tone, columns_of, fitted, shown, wrapped};
use crate::action::Acted;
use crate::hunks::{ReviewFile, ReviewLine};
use edt_types::FileChangeKind;
use edt_types::text::counted;

const HINTS: &str =
    "j k entry · n p file · ↑ ↓ line · r reviewed · x revert · u undo · L land · ? keys · q end";

/// Draws all of it.
pub(super) fn all(app: &mut App, buffer: &mut Buffer) {
    let area = buffer.area;
    app.resize(area.width, area.height);
    if area.height < 4 || area.width < 20 {
        put(buffer, (0, 0), area.width, &Line::raw("too small"));
        return;
    }
    let bottom = area.height - 1;
    put(buffer, (0, 0), area.width, &head(app));
    let body = Rect::new(0, 1, area.width, area.height - 2);
    let list = app.list_width();
    if list > 0 {
        draw_list(app, buffer, Rect { width: list, ..body });
        for y in body.top()..body.bottom() {
            put(buffer, (list, y), 1, &Line::styled("│", app.palette.style(Tone::Dim)));
        }
    }
    let x = if list > 0 { list + 1 } else { 0 };
    draw_rows(app, buffer, Rect { x, width: area.width - x, ..body });
    match &app.overlay {
        Some(Overlay::Keys) => draw_keys(app, buffer, body),
        Some(Overlay::Answer(acted, from)) => draw_answer(app, acted, *from, buffer, body),
        // What the last line cuts is read whole before it is agreed to.
        Some(Overlay::Question(question))
            if columns_of(&shown(&question.text)) + 4 > usize::from(area.width) =>
        {
            let strong = app.palette.style(Tone::Heading);
            let lines = wrapped(&question.text, usize::from(area.width).saturating_sub(6));
            let lines = lines.into_iter().map(|line| Line::styled(line, strong));
            boxed(app, &lines.collect::<Vec<_>>(), buffer, body);
        }
        _ => {}
    }
    let line = foot(app, area.width);
    put(buffer, (0, bottom), area.width, &line);
}

fn put(buffer: &mut Buffer, (x, y): (u16, u16), width: u16, line: &Line<'_>) {
    buffer.set_line(x, y, line, width);
}

/// The session in one line.
fn head(app: &App) -> Line<'static> {
    let bold = app.palette.style(Tone::Heading);
    let Some(review) = &app.review else { return Line::styled("edt review", bold) };
    let edits: u64 = review.steps().map(|step| step.edits.len() as u64).sum();
    let (added, removed) = totals(&review.files);
    let steps = review.steps().count();
    let is_seen = |files: &[ReviewFile]| !files.is_empty() && files.iter().all(|one| one.reviewed);
    let seen = review.steps().filter(|step| is_seen(&step.files)).count();
    let reviewed = if seen > 0 { format!(" · {seen} of {steps} reviewed") } else { String::new() };
    let files = counted(review.files.len() as u64, "file");
    let text = format!(" {}, {files} +{added} −{removed}{reviewed}", counted(edits, "edit"));
    Line::from(vec![Span::styled(shown(&review.session.name), bold), Span::raw(text)])
}

fn draw_list(app: &App, buffer: &mut Buffer, area: Rect) {
    let Some(review) = &app.review else { return };
    let is_chosen = |line: &ListLine| *line == ListLine::Entry(app.place);
    let at = app.list.iter().position(is_chosen).unwrap_or(0);
    let height = usize::from(area.height);
    let top =
        (at + height / 2 + 1).saturating_sub(height).min(app.list.len().saturating_sub(height));
    let width = usize::from(area.width);
    for (line, y) in app.list.iter().skip(top).zip(area.top()..area.bottom()) {
        let line = match line {
            ListLine::Heading(text) => {
                Line::styled(fitted(text, width), app.palette.style(Tone::Heading))
            }
            ListLine::Entry(place) => {
                let label = place.label(review);
                let edit = place.edit(review);
                let is_marked = edit.is_some_and(|edit| app.marked.contains(&edit));
                entry(app.palette, &label, (*place == app.place, is_marked), width)
            }
        };
        put(buffer, (area.x, y), area.width, &line);
    }
}

fn entry(
    palette: Palette,
    label: &Label,
    (is_chosen, is_marked): (bool, bool),
    width: usize,
) -> Line<'static> {
    let mark = if is_chosen { ">" } else { " " };
    let seen = if label.seen {
        "✓"
    } else if is_marked {
        "+"
    } else {
        " "
    };
    let warning = if label.warns { "! " } else { "" };
    let name = if label.name.is_empty() { String::new() } else { format!("{} ", label.name) };
    let counts = label.counts.map(|(added, removed)| (format!("+{added}"), format!("−{removed}")));
    let taken =
        counts.as_ref().map_or(0, |(added, removed)| columns_of(added) + columns_of(removed) + 2);
    let left = width.saturating_sub(2 + columns_of(&name) + warning.len() + taken);
    let mut text = fitted(&label.text, left);
    text.push_str(&" ".repeat(left.saturating_sub(columns_of(&text))));
    let weight = if is_chosen { Modifier::REVERSED } else { Modifier::empty() };
    let styled = |text: String, tone: Tone| Span::styled(text, palette.style(tone));
    let mut spans = vec![
        Span::raw(format!("{mark}{seen}")),
        styled(warning.to_owned(), Tone::Warning),
        styled(name, Tone::Name),
        Span::raw(text),
    ];
    if let Some((added, removed)) = counts {
        spans.extend([
            styled(format!(" {added}"), Tone::Added),
            styled(format!(" {removed}"), Tone::Removed),
        ]);
    }
    Line::from(spans).style(Style::new().add_modifier(weight))
}

fn draw_rows(app: &App, buffer: &mut Buffer, area: Rect) {
    if app.review.is_none() {
        let text = if app.message.is_some() { "" } else { "Reading the session…" };
        put(buffer, (area.x, area.y), area.width, &Line::raw(text));
        return;
    }
    let files = app.files();
    let gutter = gutter(app, files, area.width);
    let chosen = app.anchor.map(|_| app.chosen_rows());
    let shown = app.rows.iter().enumerate().skip(app.top);
    for ((number, row), y) in shown.zip(area.top()..area.bottom()) {
        let is_cursor = number == app.cursor;
        let is_chosen = chosen.as_ref().is_some_and(|chosen| chosen.contains(&number));
        let mark = if is_cursor {
            ">"
        } else if is_chosen {
            "┃"
        } else {
            " "
        };
        put(buffer, (area.x, y), 1, &Line::styled(mark, app.palette.style(Tone::Heading)));
        let line = row_line(app, row, &gutter, usize::from(area.width - 1));
        put(buffer, (area.x + 1, y), area.width - 1, &line);
        if is_chosen {
            let own = Rect::new(area.x + 1, y, area.width - 1, 1);
            buffer.set_style(own, Style::new().add_modifier(Modifier::REVERSED));
        }
    }
}

fn gutter(app: &App, files: &[ReviewFile], width: u16) -> Gutter {
    let last = |file: &ReviewFile| file.hunks.last().and_then(|hunk| hunk.lines.last()).cloned();
    let last = files.iter().filter_map(last);
    let most = last.filter_map(|line: ReviewLine| line.new.max(line.old)).max().unwrap_or(0);
    Gutter {
        palette: app.palette,
        digits: most.to_string().len().max(2),
        both: width >= 90,
        authors: app.place == Place::All,
        shift: app.shift,
    }
}

fn row_line(app: &App, row: &Row, gutter: &Gutter, width: usize) -> Line<'static> {
    let palette = app.palette;
    let files = app.files();
    let text = |tone: Tone, text: &str| Line::styled(text.to_owned(), palette.style(tone));
    let line =
        |file: usize, hunk: usize, line: usize| files.get(file)?.hunks.get(hunk)?.lines.get(line);
    match row {
        Row::Text(tone, one) => text(*tone, one),
        Row::Note(_, one) => text(Tone::Warning, one),
        Row::Comment(_, _, tone, one) => {
            let bar = Span::styled("  ▎ ", palette.style(Tone::Warning));
            Line::from(vec![bar, Span::styled(one.clone(), palette.style(*tone))])
        }
        Row::File(file) => {
            files.get(*file).map(|file| heading(app, file, width)).unwrap_or_default()
        }
        Row::Hunk(file, hunk) => {
            let header = files.get(*file).and_then(|file| file.hunks.get(*hunk));
            text(Tone::Name, &header.map(|hunk| shown(&hunk.header)).unwrap_or_default())
        }
        Row::Line(file, hunk, at) => {
            line(*file, *hunk, *at).map(|line| gutter.unified(line)).unwrap_or_default()
        }
        Row::Pair(file, hunk, old, new) => {
            let of = |at: &Option<usize>| at.and_then(|at| line(*file, *hunk, at));
            let half = width.saturating_sub(1) / 2;
            let mut all = clipped(gutter.side(of(old), Side::Old, half), half);
            all.push_span(Span::styled("│", palette.style(Tone::Dim)));
            all.spans.extend(gutter.side(of(new), Side::New, half).spans);
            all
        }
    }
}

/// The line, cut after `width` columns.
fn clipped(line: Line<'static>, width: usize) -> Line<'static> {
    let mut left = width;
    let mut spans = Vec::new();
    for span in line.spans {
        let own = span.width();
        if own <= left {
            left -= own;
            spans.push(span);
            continue;
        }
        let text = fitted(&span.content, left);
        left -= columns_of(&text).min(left);
        spans.push(Span::styled(text, span.style));
    }
    spans.push(Span::raw(" ".repeat(left)));
    Line::from(spans)
}

fn heading(app: &App, file: &ReviewFile, width: usize) -> Line<'static> {
    let letter = match file.change {
        FileChangeKind::Added => "A",
        FileChangeKind::Modified => "M",
        FileChangeKind::Deleted => "D",
        FileChangeKind::Renamed => "R",
    };
    let seen = if file.reviewed { "✓ " } else { "" };
    let closed = if app.is_closed(file) { "▸" } else { "▾" };
    let from = file.from.as_ref().map(|from| format!("{} → ", shown(from))).unwrap_or_default();
    let counts = format!(" +{} −{}", file.lines_added, file.lines_removed);
    let name = format!("{seen}{closed} {letter} {from}{}", shown(&file.path));
    let name = fitted(&name, width.saturating_sub(columns_of(&counts)));
    let bold = app.palette.style(Tone::Heading).add_modifier(Modifier::UNDERLINED);
    Line::from(vec![Span::styled(name, bold), Span::raw(counts)])
}

fn foot(app: &App, width: u16) -> Line<'static> {
    let columns = usize::from(width);
    let strong = app.palette.style(Tone::Heading);
    match &app.overlay {
        Some(Overlay::Question(Question { text, .. })) => {
            Line::styled(format!("{} y/n", fitted(&shown(text), columns.saturating_sub(4))), strong)
        }
        Some(Overlay::Input(Input { purpose, text, .. })) if app.message.is_none() => {
            let text = shown(&text.replace('\n', "⏎"));
            let title = format!("{}: ", purpose.title());
            // The end of the text is where the user writes.
            let left = columns.saturating_sub(columns_of(&title) + 1).max(10);
            let mut start = 0;
            while columns_of(&text[start..]) > left {
                start += text[start..].chars().next().map_or(1, char::len_utf8);
            }
            Line::from(vec![
                Span::styled(title, strong),
                Span::raw(text[start..].to_owned()),
                Span::styled(" ", Style::new().add_modifier(Modifier::REVERSED)),
            ])
        }
        Some(Overlay::Answer(..) | Overlay::Keys) => {
            Line::styled("Any key closes this.", app.palette.style(Tone::Dim))
        }
        Some(Overlay::Input(_)) | None => match app.message.as_ref().or(app.busy.as_ref()) {
            Some(text) => Line::styled(fitted(&shown(text), columns), strong),
            None => Line::styled(fitted(HINTS, columns), app.palette.style(Tone::Dim)),
        },
    }
}

/// A box with `lines` over the rows.
fn boxed(app: &App, lines: &[Line<'static>], buffer: &mut Buffer, area: Rect) {
    let wanted = lines.iter().map(Line::width).max().unwrap_or(0) + 2;
    let width = u16::try_from(wanted).unwrap_or(u16::MAX).min(area.width.saturating_sub(2));
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height.saturating_sub(2));
    let x = area.x + (area.width - width - 2) / 2;
    let y = area.y + (area.height - height - 2) / 2;
    let dim = app.palette.style(Tone::Dim);
    let edge = |left: &str, right: &str| {
        Line::styled(format!("{left}{}{right}", "─".repeat(usize::from(width))), dim)
    };
    let own = Rect::new(x, y, width + 2, height + 2);
    for place in own.positions() {
        if let Some(cell) = buffer.cell_mut(place) {
            cell.reset();
        }
    }
    put(buffer, (x, y), width + 2, &edge("┌", "┐"));
    put(buffer, (x, y + height + 1), width + 2, &edge("└", "┘"));
    for (line, y) in lines.iter().zip(y + 1..y + 1 + height) {
        put(buffer, (x, y), 1, &Line::styled("│", dim));
        put(buffer, (x + 2, y), width - 1, line);
        put(buffer, (x + width + 1, y), 1, &Line::styled("│", dim));
    }
}

fn draw_keys(app: &App, buffer: &mut Buffer, area: Rect) {
    let line = |(key, what): &(&'static str, &'static str)| {
        let key = Span::styled(format!("{key:<9} "), app.palette.style(Tone::Name));
        Line::from(vec![key, Span::raw(*what)])
    };
    let lines: Vec<Line<'static>> = KEYS.iter().map(line).collect();
    boxed(app, &lines, buffer, area);
}

fn draw_answer(app: &App, acted: &Acted, from: usize, buffer: &mut Buffer, area: Rect) {
    let width = usize::from(area.width).saturating_sub(6);
    let tone = if acted.done { Tone::Good } else { Tone::Removed };
    let styled = |text: String, tone: Tone| Line::styled(text, app.palette.style(tone));
    let mut lines = Vec::new();
    if !acted.command.is_empty() {
        let command = wrapped(&format!("$ {}", acted.command), width);
        lines.extend(command.into_iter().map(|line| styled(line, Tone::Heading)));
    }
    let done = if acted.done { "done" } else { "not done" };
    lines.push(styled(done.to_owned(), tone));
    let text = wrapped(acted.text.trim_end(), width);
    let last = text.len().saturating_sub(usize::from(area.height).saturating_sub(6));
    let text = text.into_iter().skip(from.min(last));
    lines.extend(text.map(|line| styled(line, Tone::Plain)));
    boxed(app, &lines, buffer, area);
}
