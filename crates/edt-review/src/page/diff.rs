//! Files with their hunks.

use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::text::{FormValues, Sheet, short, shown};
use crate::hunks::{LineSource, ReviewFile, ReviewHunk, ReviewLine, changes};
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
    let body = || html! { @for hunk in &file.hunks { (self::hunk(hunk)) } };
    let live = sheet.values.is_some() && id != "uncommitted";
    let fold = || {
        html! {
            p.note {
                "This file is folded. " code { (shown(command)) } " prints it."
                @if live {
                    " " a href={ "/?at=" (id) "&whole=" (at) "#" (id) "-" (at + 1) } { "Show it" }
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
            @if let Some(note) = mode_note(file) { p.note { (note) } }
            @if file.binary {
                p.note { "A binary file, or one too large to show: "
                    (hash(file.hash_before.as_deref())) " → " (hash(file.hash_after.as_deref())) }
            } @else if file.folded { (fold()) } @else { (sheet.take(body, fold)) }
            @if let Some(values) = sheet.values { (mark(file, (id, at), values)) }
        }
    }
}

/// The path for the script, as it is in a query.
fn encoded(path: &str) -> String {
    utf8_percent_encode(path, NON_ALPHANUMERIC).to_string()
}

/// The button that marks the file as reviewed. What is uncommitted has none: it changes under the
/// same name.
fn mark(file: &ReviewFile, (id, at): (&str, usize), values: FormValues<'_>) -> Markup {
    if id == "uncommitted" {
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

fn mode_note(file: &ReviewFile) -> Option<String> {
    let moved = match (&file.mode_before, &file.mode_after) {
        (Some(old), Some(new)) if old != new => format!("Its mode changed from {old} to {new}. "),
        (None, Some(mode)) if mode != "100644" => format!("Its mode is {mode}. "),
        _ => String::new(),
    };
    let similar = file.similarity.map(|percent| format!("The contents are {percent} % the same."));
    let note = moved + &similar.unwrap_or_default();
    (!note.is_empty()).then_some(note)
}

fn hunk(hunk: &ReviewHunk) -> Markup {
    let mut at = 0;
    let lines = &hunk.lines;
    html! {
        div.hunk {
            p.at { (shown(&hunk.header)) }
            @for change in changes(lines) {
                (same(&lines[at..change.removed.start]))
                div.g {
                    @for line in &lines[change.removed.clone()] {
                        del data-o=[line.old] data-s=[space(line)] { (text(line)) }
                    }
                    @for line in &lines[change.added.clone()] {
                        ins data-n=[line.new] data-s=[space(line)] data-w=[writer(line)] { (text(line)) }
                    }
                }
                @let () = { at = change.added.end; };
            }
            (same(&lines[at..]))
        }
    }
}

fn same(lines: &[ReviewLine]) -> Markup {
    html! {
        @if !lines.is_empty() {
            div.k { @for line in lines { p data-o=[line.old] data-n=[line.new] { (text(line)) } } }
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

/// The text of a line, with what changed in it marked.
fn text(line: &ReviewLine) -> Markup {
    let bytes = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let piece =
        |from: usize, to: usize| escape_controls(line.text.get(from..to).unwrap_or_default()).0;
    let (mut at, all) = (0, line.text.len());
    html! {
        @for (start, end) in &line.changed {
            (piece(at, bytes(*start)))
            b { (piece(bytes(*start), bytes(*end))) }
            @let () = { at = bytes(*end); };
        }
        (piece(at, all))
        @if line.unterminated { i { " no newline at the end" } }
    }
}
