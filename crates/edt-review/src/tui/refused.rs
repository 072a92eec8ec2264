//! What was refused, and what was done instead.

use super::row::{Row, Shape, paragraphs, say};
use super::text::Tone;
use crate::model::SessionReview;
use crate::refusals::{ReviewRefusal, SentEdit};
use edt_io::clock;

/// The rows of all refusals: the calls of the session, then what is kept of the files.
pub(super) fn rows(review: &SessionReview, shape: Shape, all: &mut Vec<Row>) {
    say(all, shape, Tone::Heading, "Refused");
    say(all, shape, Tone::Dim, "Nothing of this is in the files.");
    for one in &review.refusals {
        call(review, one, shape, all);
    }
    if !review.refused_edits.is_empty() {
        say(all, shape, Tone::Plain, "");
        let text = "The latest refused edits of each file are kept until the file changes:";
        say(all, shape, Tone::Dim, text);
    }
    for one in &review.refused_edits {
        say(all, shape, Tone::Plain, "");
        say(all, shape, Tone::Name, &one.path);
        let request = serde_json::to_string_pretty(&one.request).unwrap_or_default();
        paragraphs(all, shape, Tone::Plain, &request);
    }
    for one in &review.refused_runs {
        let commit = one.commit.get(..10).unwrap_or(&one.commit);
        let text = format!("{} · {} · git show {commit}", clock::utc_at(one.time), one.subject);
        say(all, shape, Tone::Plain, &text);
    }
}

fn call(review: &SessionReview, one: &ReviewRefusal, shape: Shape, all: &mut Vec<Row>) {
    let what = match &one.command {
        Some(command) => command.clone(),
        None if one.paths.is_empty() => format!("edt {}", one.call),
        None => one.paths.join(", "),
    };
    say(all, shape, Tone::Plain, "");
    say(all, shape, Tone::Name, &what);
    let by = [&one.agent, &one.model].into_iter().flatten().map(|name| format!(" · {name}"));
    let turn = one.turn.map(|turn| format!(" · turn {turn}")).unwrap_or_default();
    let (time, by) = (clock::utc_at(one.time), by.collect::<String>());
    say(all, shape, Tone::Dim, &format!("{time}{by}{turn} · edt {}", one.call));
    let text = format!("{}: {}.", one.codes.join(", "), followed(review, one));
    say(all, shape, Tone::Warning, &text);
    one.sent.iter().for_each(|edit| sent(edit, shape, all));
}

/// How it went on.
fn followed(review: &SessionReview, one: &ReviewRefusal) -> String {
    let commit = one.followed_by.as_deref();
    let step = review.steps().chain(&review.undone).find(|step| Some(&*step.commit) == commit);
    match (one.followed, step) {
        (Some("landed"), Some(step)) => format!("then edit {}", step.name()),
        (Some("landed"), None) => "then a call for the same place was applied".to_owned(),
        (Some("overridden"), Some(step)) => format!("overridden by edit {}", step.name()),
        (Some("overridden"), None) => "then overridden".to_owned(),
        (Some(_), _) => "then refused again".to_owned(),
        (None, _) => "nothing followed".to_owned(),
    }
}

fn sent(edit: &SentEdit, shape: Shape, all: &mut Vec<Row>) {
    let mode = edit.mode.as_ref().map(|mode| format!(" {mode}")).unwrap_or_default();
    let path = edit.path.as_deref().unwrap_or("no path");
    say(all, shape, Tone::Plain, &format!("Sent: {path}{mode}"));
    match edit.texts {
        "withheld" => say(all, shape, Tone::Dim, "Its texts may not be written down."),
        "cut" => say(all, shape, Tone::Dim, "The record has a part of its texts."),
        _ => {}
    }
    for (text, mark, tone) in [(&edit.old, '-', Tone::Removed), (&edit.new, '+', Tone::Added)] {
        for line in text.iter().flat_map(|text| text.lines()) {
            paragraphs(all, shape, tone, &format!("{mark}{line}"));
        }
    }
}
