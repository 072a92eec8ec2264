//! What was refused, and what was done instead.

use maud::{Markup, html};

use super::sheet::Sheet;
use super::text::{short, shown, time};
use super::{diff, ids};
use crate::model::{ReviewStep, SessionReview};
use crate::refusals::{ReviewRefusal, SentEdit};
use edt_types::text::{counted, escape_lines};

/// What was refused, on one line.
pub(super) fn what(one: &ReviewRefusal) -> String {
    match &one.command {
        Some(command) => shown(command),
        None if one.paths.is_empty() => format!("edt {}", shown(&one.call)),
        None => shown(&one.paths.join(", ")),
    }
}

/// The step that was made instead.
pub(super) fn instead<'r>(
    review: &'r SessionReview,
    one: &ReviewRefusal,
) -> Option<&'r ReviewStep> {
    let commit = one.followed_by.as_deref()?;
    review.steps().chain(&review.undone).find(|step| step.commit == commit)
}

/// How it went on, in a few words.
pub(super) fn followed(review: &SessionReview, one: &ReviewRefusal) -> Markup {
    let step = instead(review, one).map(ReviewStep::name);
    html! {
        @match (one.followed, step) {
            (Some("landed"), Some(step)) => { "then edit " (step) },
            (Some("landed"), None) => "then a call for the same place was applied",
            (Some("overridden"), Some(step)) => { "overridden by edit " (step) },
            (Some("overridden"), None) => "then overridden",
            (Some(_), _) => "then refused again",
            (None, _) => "nothing followed",
        }
    }
}

/// The article of one refusal: what was sent, and what was done instead.
pub(super) fn article(
    review: &SessionReview,
    one: &ReviewRefusal,
    link: &dyn Fn(&str) -> String,
    sheet: &mut Sheet<'_>,
) -> Markup {
    let id = ids::refusal(one);
    html! {
        article id=(id) {
            h2 { "Refused: " (what(one)) }
            p.meta {
                (time(one.time))
                @for name in [&one.agent, &one.model].into_iter().flatten() { " · " (shown(name)) }
                @if let Some(turn) = one.turn { " · turn " (turn) }
                " · " code { "edt " (shown(&one.call)) }
            }
            p.warn { @for (at, code) in one.codes.iter().enumerate() {
                @if at > 0 { ", " } code { (shown(code)) }
            } }
            p.note { "Nothing of it is in the files: " (followed(review, one)) "." }
            @if !one.sent.is_empty() { h3 { "What was sent" } }
            @for edit in &one.sent { (sent(edit)) }
            @if let Some(step) = instead(review, one) {
                @let undone = review.undone.iter().any(|other| other.commit == step.commit);
                @let kind = if undone { "undone" } else { "edit" };
                h3 { "What was done instead" }
                p { a href=(link(&ids::step(step, kind))) { "Edit " (step.name()) ": " (shown(&step.subject)) } }
                @let about = |path: &str| one.paths.iter().any(|other| other == path);
                @for (at, file) in step.files.iter().enumerate().filter(|(_, file)| about(&file.path)) {
                    (diff::file(file, (&id, at), &format!("edt show {}", step.name()), sheet))
                }
            }
        }
    }
}

fn sent(edit: &SentEdit) -> Markup {
    let name = edit.path.as_deref().unwrap_or("no path");
    html! {
        details.file open {
            summary {
                span.path { (shown(name)) }
                @if let Some(mode) = &edit.mode { " " (shown(mode)) }
            }
            @match edit.texts {
                "withheld" => p.note { "The record has no texts of it: they may not be written down." },
                "cut" => p.note { "The record has a part of its texts." },
                _ => "",
            }
            @if edit.old.is_some() || edit.new.is_some() {
                div.hunk { div.g {
                    @for line in lines(edit.old.as_deref()) { del { (shown(line)) } }
                    @for line in lines(edit.new.as_deref()) { ins { (shown(line)) } }
                } }
            }
        }
    }
}

fn lines(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.into_iter().flat_map(str::lines)
}

/// Whether anything was refused.
pub(super) fn any(review: &SessionReview) -> bool {
    !review.refusals.is_empty()
        || !review.refused_edits.is_empty()
        || !review.refused_runs.is_empty()
}

/// The article of all refusals.
pub(super) fn all(review: &SessionReview, link: &dyn Fn(&str) -> String) -> Markup {
    html! {
        article #refused {
            h2 { "Refused" }
            p.meta { "Nothing of this is in the files." }
            @if !review.refusals.is_empty() {
                p { (counted(review.refusals.len() as u64, "refused call")) " of the session:" }
                ul.plain {
                    @for one in &review.refusals {
                        li { (time(one.time)) " · " a href=(link(&ids::refusal(one))) { (what(one)) } " · "
                            (shown(&one.codes.join(", "))) " · " (followed(review, one)) }
                    }
                }
            }
            @if !review.refused_edits.is_empty() {
                p.note { "The latest refused edits of each file are kept until the file changes:" }
            }
            @for one in &review.refused_edits {
                details.file open {
                    summary { span.path { (shown(&one.path)) } " refused edit" }
                    pre.why { (escape_lines(&pretty(&one.request))) }
                }
            }
            @for one in &review.refused_runs {
                p.note { (time(one.time)) " · " (shown(&one.subject)) " · "
                    code { "git show " (short(&one.commit)) } }
            }
        }
    }
}

fn pretty(request: &serde_json::Value) -> String {
    serde_json::to_string_pretty(request).unwrap_or_default()
}
