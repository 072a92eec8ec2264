//! The articles on the right: the session as a whole, one step, what is uncommitted or refused.

use maud::{Markup, html};

use super::sheet::Sheet;
use super::text::{short, shown, time};
use super::{diff, ids};
use crate::model::{ReviewStep, SessionReview};
use crate::three_way::TouchedPlace;
use edt_types::text::{edits, escape_lines, places, shell_word};

pub(super) fn whole(review: &SessionReview, sheet: &mut Sheet<'_>) -> Markup {
    html! {
        article #all data-tip=[sheet.values.is_some().then_some(&review.tip)] {
            h2 { "All changes" }
            p.meta {
                "From " code { (short(&review.session.base)) } " to " code { (short(&review.tip)) }
                ". Before an added line is who wrote it: the number of the edit, or you."
            }
            @if sheet.values.is_some() {
                noscript { p.note { "Scripts are off: who wrote a line is not shown. "
                    code { "edt blame FILE" } " prints it." } }
            } @else if !review.sources_complete {
                p.note { "The session is large: who wrote a line was not looked up for every file. "
                    code { "edt blame FILE" } " prints it." }
            }
            @if let Some(threads) = sheet.threads { (threads.others(&review.files)) }
            @if review.files.is_empty() { p.note { "Nothing differs from the base." } }
            @for (at, file) in review.files.iter().enumerate() {
                (diff::file(file, ("all", at), &format!("edt diff -- {}", word(&file.path)), sheet))
            }
        }
    }
}

pub(super) fn step(step: &ReviewStep, kind: &str, sheet: &mut Sheet<'_>) -> Markup {
    let id = ids::step(step, kind);
    let command =
        |path: &str| format!("edt diff {}^..{} -- {}", step.commit, step.commit, word(path));
    html! {
        article id=(id) {
            h2 {
                @match step.kind {
                    Some("edit") | None => (if step.by_user { "Your commit" } else { "Edit" }),
                    Some("run") => "Run",
                    Some("restore") => "Restore",
                    Some("checkpoint") => "Your changes",
                    Some(other) => (other),
                }
                " " (step.name()) ": " (shown(&step.subject))
            }
            p.meta {
                (time(step.time)) " · "
                @match (&step.agent, &step.model) {
                    (Some(agent), Some(model)) => { (shown(agent)) " (" (shown(model)) ")" },
                    (Some(agent), None) => (shown(agent)),
                    (None, _) => (shown(&step.author)),
                }
                @if let Some(turn) = step.turn { " · turn " (turn) }
                " · " code { (short(&step.commit)) }
                " · " (diff::counts(step.lines_added, step.lines_removed))
            }
            @if kind == "undone" { p.note { "Undone: it is not on the branch." } }
            @if !step.reason.is_empty() { pre.why { (escape_lines(&step.reason)) } }
            @for allowed in &step.allowed {
                p.warn { "It overrode the refusal " code { (shown(allowed)) } "." }
            }
            @if step.amended {
                p.warn { "You amended this commit: a part of it is yours." }
            }
            @if !step.private.is_empty() {
                p.note { "It also changed files that no commit has: "
                    (shown(&step.private.join(", "))) "." }
            }
            @if let Some(threads) = sheet.threads { (threads.others(&step.files)) }
            @for (at, file) in step.files.iter().enumerate() {
                (diff::file(file, (&id, at), &command(&file.path), sheet))
            }
        }
    }
}

pub(super) fn uncommitted(review: &SessionReview, sheet: &mut Sheet<'_>) -> Markup {
    html! {
        article #uncommitted {
            h2 { "Uncommitted" }
            p.meta { "What differs on disk from the session's tip. It is yours, except for what is "
                "named here." }
            @for one in &review.left_over {
                p.warn {
                    "In " code { (shown(&one.path)) } " is a change of " (edits(&one.edits))
                    @if !one.lines.is_empty() { " (" (places(&one.lines)) ")" }
                    " that no commit has."
                }
                @for place in &one.touched { (touched(&one.path, place)) }
            }
            @for (at, file) in review.uncommitted.iter().enumerate() {
                @let command = format!("edt diff --worktree -- {}", word(&file.path));
                (diff::file(file, ("uncommitted", at), &command, sheet))
            }
        }
    }
}

/// The three texts of a place, side by side.
fn touched(path: &str, place: &TouchedPlace) -> Markup {
    let column = |name: &Markup, lines: &[String]| {
        html! {
            div {
                h4 { (name) }
                pre { @for line in lines { (shown(line)) "\n" }
                    @if lines.is_empty() { i { "nothing" } } }
            }
        }
    };
    html! {
        section.three aria-label="Three texts of one place" {
            p.meta { span.path { (shown(path)) } ", line " (place.line) " of yours" }
            div.texts {
                (column(&html! { "Committed" }, &place.committed))
                (column(&html! { "Yours, before edit " (place.edit) }, &place.user))
                (column(&html! { "After edit " (place.edit) }, &place.agent))
            }
        }
    }
}

fn word(path: &str) -> String {
    shell_word(path.as_bytes())
}
