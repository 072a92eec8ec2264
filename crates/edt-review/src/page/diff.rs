//! Files with their hunks.

use maud::{Markup, html};

use super::text::{Room, short, shown};
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
    room: &mut Room,
) -> Markup {
    let body = || html! { @for hunk in &file.hunks { (self::hunk(hunk)) } };
    let fold =
        || html! { p.note { "This file is folded. " code { (shown(command)) } " prints it." } };
    html! {
        details.file id={ (id) "-" (at + 1) } open {
            summary {
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
            } @else if file.folded { (fold()) } @else { (room.take(body, fold)) }
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
                        del data-o=[line.old] { (text(line)) }
                    }
                    @for line in &lines[change.added.clone()] {
                        ins data-n=[line.new] data-w=[writer(line)] { (text(line)) }
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

fn writer(line: &ReviewLine) -> Option<String> {
    Some(match line.source.as_ref()? {
        LineSource::Edit(number) => format!("#{number}"),
        LineSource::User => "you".to_owned(),
    })
}

/// The text of a line, with what changed in it marked. Every line has a line end, so that copied
/// lines are lines.
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
        "\n"
    }
}
