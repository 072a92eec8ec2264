//! Renders the answers of `edt memory` as text.

use std::fmt::Write as _;

use super::super::render::{DIM, GOOD, NAME, NOTE, paint, short};
use super::Answer;
use edt_io::clock;
use edt_memory::episodes::{Body, Episode, Origin};
use edt_types::text::{counted, escape_controls};

pub(super) fn render(answer: &Answer) -> String {
    let mut out = String::new();
    if let Some(lesson) = &answer.lesson {
        let _ =
            writeln!(out, "{}\n    {}", paint(NAME, &lesson.id), escape_controls(&lesson.text).0);
    }
    for one in &answer.episodes {
        let _ = writeln!(out, "{}", brief(one, clock::seconds()));
    }
    for one in &answer.snapshots {
        let _ = writeln!(out, "{} {}", paint(NAME, short(&one.blob)), escape_controls(&one.name).0);
    }
    if let Some(stats) = &answer.stats {
        for (kind, seen) in &stats.seen {
            let _ = writeln!(out, "  {seen:>6} {}", escape_controls(kind).0);
        }
        let lessons = counted(stats.times_applied, "lesson");
        let _ = writeln!(out, "{lessons} shown, {} helped", stats.times_succeeded);
    }
    let what = if answer.changed { paint(GOOD, "changed, ") } else { String::new() };
    let _ = match answer.blob {
        None => {
            writeln!(out, "The memory is empty: edt learns when an edit lands after a refusal.")
        }
        Some(_) => writeln!(out, "{what}{}", paint(NOTE, &format!("{} in all", answer.total))),
    };
    if answer.unread > 0 {
        let lines = counted(answer.unread, "line");
        let _ = writeln!(out, "{lines} of another version of edt stay unread");
    }
    out
}

/// An episode on two lines.
fn brief(one: &Episode, now: i64) -> String {
    let state = match one.origin {
        _ if one.deprecated.is_some() => paint(NOTE, "deprecated"),
        _ if one.is_demoted(now) => paint(NOTE, "no longer shown"),
        Origin::Imported => paint(NOTE, "imported, not adopted"),
        Origin::Adopted => paint(GOOD, "imported, adopted"),
        Origin::User => paint(GOOD, "the user's"),
        Origin::Here => paint(GOOD, "learned here"),
    };
    let text = match &one.body {
        Body::Repair { class, .. } => format!("fix: {}", class.name()),
        Body::Note { text, .. } => format!("note: {text}"),
        Body::Answer { query, error_class, .. } => format!("{error_class}: {query}"),
    };
    let (helped, shown) = (one.times_succeeded, one.times_applied);
    let score = one.score_at(now);
    let figures = format!("seen {}, helped {helped} of {shown}, {score:.2}", one.seen);
    let kind = [one.body.code(), one.body.language()].map(|word| word.unwrap_or("-")).join(" ");
    format!(
        "{} {} {state} {}\n    {}",
        paint(NAME, &one.id),
        escape_controls(&kind).0,
        paint(DIM, &figures),
        escape_controls(&text).0
    )
}
