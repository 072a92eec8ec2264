//! Files with their hunks.

use std::ops::Range;

use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::sheet::Sheet;
use super::text::{FormValues, short, shown};
use super::{images, parts};
use crate::contents::Lines;
use crate::hunks::{LineSource, ReviewFile, ReviewHunk, ReviewLine, changes};
use edt_lang::highlight::Token;
use edt_types::FileChangeKind;
use edt_types::text::escape_controls;

/// All lines added and removed.
pub(super) fn totals(files: &[ReviewFile]) -> (u64, u64) {
    let sum = |of: fn(&ReviewFile) -> u64| files.iter().map(of).sum();
    (sum(|file| file.lines_added), sum(|file| file.lines_removed))
}

pub(super) fn counts(added: u64, removed: u64) -> Markup {
    html! {
        span.plus { "+" (added) } " " span.minus { "−" (removed) }
    }
}

/// A file of the article `id`, the one at `at`. `command` prints its changes in a terminal.
pub(super) fn file(
    file: &ReviewFile,
    (id, at): (&str, usize),
    command: &str,
    sheet: &mut Sheet<'_>,
) -> Markup {
    let (values, threads) = (sheet.values, sheet.threads);
    let colours = Sides::of(file, sheet);
    let form = (sheet.chosen == Some(at)).then(|| parts::name(id, at));
    let hunk = |hunk: &ReviewHunk| {
        let said = |lines: &[ReviewLine]| {
            html! { @if let Some(threads) = threads { (threads.on(file, lines)) } }
        };
        let button = parts::of_hunk(hunk, (id, at), values);
        self::hunk(hunk, &button, form.as_deref(), &colours, &said)
    };
    let body = || html! { @for one in &file.hunks { (hunk(one)) } };
    let live = sheet.values.is_some() && is_of_session(id);
    let fold = || {
        html! {
            p.note {
                "This file is folded. " code { (shown(command)) } " prints it."
                @if live {
                    " " a.all href={ "/?at=" (id) "&whole=" (at) "#" (id) "-" (at + 1) } { "Show it" }
                }
            }
        }
    };
    html! {
        details.file id={ (id) "-" (at + 1) } data-path=[(live && id == "all").then(|| encoded(&file.path))]
            open[!file.reviewed] {
            summary {
                @if file.reviewed { span.seen { "✓ " } }
                (letter(file.change))
                " " span.path {
                    @if let Some(from) = &file.from { (shown(from)) " → " }
                    (shown(&file.path))
                }
                " " (counts(file.lines_added, file.lines_removed))
            }
            (parts::form(file, (id, at), sheet))
            @if let Some(note) = file.mode_note() { p.note { (note) } }
            @if file.binary {
                p.note { "A binary file, or one too large to show: "
                    (hash(file.hash_before.as_deref())) " → " (hash(file.hash_after.as_deref())) }
                (images::sides(file, (id, at), sheet))
            } @else if file.folded { (fold()) } @else { (sheet.take(body, fold)) }
            @if let Some(threads) = threads { (threads.beside(file)) }
            @if let Some(values) = sheet.values { (mark(file, (id, at), values)) }
        }
    }
}

/// The path for the script, as it is in a query.
fn encoded(path: &str) -> String {
    utf8_percent_encode(path, NON_ALPHANUMERIC).to_string()
}

/// Whether the files of the article `id` are the session's: of all changes or of one step.
fn is_of_session(id: &str) -> bool {
    id == "all" || id.starts_with("edit-") || id.starts_with("undone-")
}

/// The button that marks the file as reviewed. What is uncommitted has none: it changes under the
/// same name.
fn mark(file: &ReviewFile, (id, at): (&str, usize), values: FormValues<'_>) -> Markup {
    if !is_of_session(id) {
        return html! {};
    }
    let (next, name) =
        if file.reviewed { ("no", "Mark as not reviewed") } else { ("yes", "Mark as reviewed") };
    html! {
        form.mark method="post" action="/mark" {
            input type="hidden" name="form" value=(values.form);
            input type="hidden" name="at" value=(id);
            input type="hidden" name="file" value=(at);
            input type="hidden" name="before" value=[&file.hash_before];
            input type="hidden" name="after" value=[&file.hash_after];
            button name="reviewed" value=(next) { (name) }
        }
    }
}

fn hash(id: Option<&str>) -> Markup {
    html! { @match id { Some(id) => code { (short(id)) }, None => "nothing" } }
}

fn letter(change: FileChangeKind) -> Markup {
    let (letter, word) = match change {
        FileChangeKind::Added => ("A", "added"),
        FileChangeKind::Modified => ("M", "modified"),
        FileChangeKind::Deleted => ("D", "deleted"),
        FileChangeKind::Renamed => ("R", "renamed"),
    };
    html! { abbr.kind title=(word) { (letter) } }
}

/// A hunk with a button of its own. Lines can be chosen for the form with the id `form`. `said`
/// returns the comments on lines.
fn hunk(
    hunk: &ReviewHunk,
    button: &Markup,
    form: Option<&str>,
    colours: &Sides,
    said: &dyn Fn(&[ReviewLine]) -> Markup,
) -> Markup {
    let mut at = 0;
    let lines = &hunk.lines;
    html! {
        div.hunk {
            p.at { (shown(&hunk.header)) (button) }
            @for change in changes(lines) {
                (same(&lines[at..change.removed.start], colours))
                (said(&lines[at..change.removed.start]))
                div.g {
                    @for line in &lines[change.removed.clone()] {
                        del data-o=[line.old] data-s=[space(line)] { (parts::choice(line, form)) (text(line, colours)) }
                    }
                    @for line in &lines[change.added.clone()] {
                        ins data-n=[line.new] data-s=[space(line)] data-w=[writer(line)] {
                            (parts::choice(line, form)) (text(line, colours)) }
                    }
                }
                (said(&lines[change.removed.start..change.added.end]))
                @let () = { at = change.added.end; };
            }
            (same(&lines[at..], colours))
            (said(&lines[at..]))
        }
    }
}

fn same(lines: &[ReviewLine], colours: &Sides) -> Markup {
    html! {
        @if !lines.is_empty() {
            div.k { @for line in lines { p data-o=[line.old] data-n=[line.new] { (text(line, colours)) } } }
        }
    }
}

/// Set if only white space differs.
fn space(line: &ReviewLine) -> Option<&'static str> {
    line.space_only.then_some("")
}

fn writer(line: &ReviewLine) -> Option<String> {
    line.source.as_ref().map(LineSource::name)
}

/// The colours of both sides of a file.
#[derive(Debug, Default)]
struct Sides {
    before: Option<Lines>,
    after: Option<Lines>,
}

impl Sides {
    fn of(file: &ReviewFile, sheet: &Sheet<'_>) -> Sides {
        let Some(palette) = sheet.palette.filter(|_| !file.hunks.is_empty()) else {
            return Sides::default();
        };
        let from = file.from.as_ref().unwrap_or(&file.path);
        let before = if file.lines_removed > 0 {
            palette.of(from, file.hash_before.as_deref())
        } else {
            None
        };
        Sides { before, after: palette.of(&file.path, file.hash_after.as_deref()) }
    }

    /// The colours of a line; none if they do not fit its text.
    fn line(&self, line: &ReviewLine) -> &[Token] {
        let (side, number) = match (line.new, line.old) {
            (Some(new), _) => (&self.after, new),
            (None, Some(old)) => (&self.before, old),
            (None, None) => return &[],
        };
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let found = side.as_ref().zip(at).and_then(|(lines, at)| lines.get(at));
        let fits = |token: &Token| line.text.get(token.start..token.end).is_some();
        found.filter(|tokens| tokens.iter().all(fits)).map_or(&[], Vec::as_slice)
    }
}

/// The text of a line, with what changed in it marked, and with its colours.
fn text(line: &ReviewLine, colours: &Sides) -> Markup {
    let bytes = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(line.text.len());
    let changed: Vec<Range<usize>> =
        line.changed.iter().map(|(start, end)| bytes(*start)..bytes(*end)).collect();
    let tokens = colours.line(line);
    let mut ends: Vec<usize> = changed.iter().flat_map(|range| [range.start, range.end]).collect();
    ends.extend(tokens.iter().flat_map(|token| [token.start, token.end]));
    ends.push(line.text.len());
    ends.sort_unstable();
    ends.dedup();
    let mut from = 0;
    html! {
        @for to in ends.into_iter().filter(|end| *end > 0) {
            @let piece = escape_controls(line.text.get(from..to).unwrap_or_default()).0;
            @let class = tokens.iter().find(|token| (token.start..token.end).contains(&from));
            @let class = class.map(|token| token.class.name());
            @let is_changed = changed.iter().any(|range| range.contains(&from));
            @match (is_changed, class) {
                (true, class) => b class=[class] { (piece) },
                (false, Some(class)) => span class=(class) { (piece) },
                (false, None) => (piece),
            }
            @let () = { from = to; };
        }
        @if line.unterminated { i { " no newline at the end" } }
    }
}
