//! A session as one HTML page. Everything that the repository says is escaped: an invisible
//! character, or a letter that only looks Latin, is shown by its number.

mod actions;
mod diff;
mod list;
mod steps;
mod text;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::action::Acted;
use crate::model::{ReviewStep, SessionReview};
use edt_types::text::{counted, escape_lines};
use text::{Room, short, shown};

/// The style of the page.
pub const STYLE: &str = include_str!("review.css");
/// The script of the page, which works without it.
pub const SCRIPT: &str = include_str!("review.js");

/// How much of a page the server sends, in bytes of diffs.
const MAX_LIVE: usize = 8_000_000;

/// What the page of a server has besides the session.
#[derive(Debug, Clone, Copy)]
pub struct Live<'a> {
    /// The id of the article that is shown.
    pub at: &'a str,
    /// The value of the hidden field of every form.
    pub form: &'a str,
    /// The answer to the last action, if no page has shown it.
    pub acted: Option<&'a Acted>,
}

/// The largest page that is meant to be attached to a pull request, in bytes.
const MAX_BYTES: usize = 2_000_000;

/// The session as a file that needs nothing else: no server, no network.
#[must_use]
pub fn file(review: &SessionReview) -> String {
    let list = list::list(review, |id| format!("#{id}"));
    let head = html! { style { (PreEscaped(STYLE)) } };
    let script = html! { script { (PreEscaped(SCRIPT)) } };
    let page = |room: usize| {
        let articles = articles(review, &mut Room(room));
        page(review, &head, &list, &articles, &script).into_string()
    };
    page(MAX_BYTES.saturating_sub(page(0).len()))
}

/// The session as the page of a server, with one article and what can be done about it.
#[must_use]
pub fn live(review: &SessionReview, live: &Live<'_>) -> String {
    let list = list::list(review, |id| match id.split_once('-') {
        Some(("all", _)) => format!("/?at=all#{id}"),
        _ => format!("/?at={id}"),
    });
    let head = html! { link rel="stylesheet" href="/review.css"; };
    let script = html! { script src="/review.js" defer {} };
    let mut room = Room(MAX_LIVE);
    let is_at = |step: &&ReviewStep, kind: &str| steps::id(step, kind) == live.at;
    let own = review.steps().find(|step| is_at(step, "edit"));
    let undone = review.undone.iter().find(|step| is_at(step, "undone"));
    let form = actions::Form { review, value: live.form, at: live.at };
    let article = html! {
        p #news role="status" hidden { }
        @if let Some(acted) = live.acted { (answered(acted)) }
        @match (own, undone, live.at) {
            (Some(step), ..) => { (form.of_step(step)) (steps::step(step, "edit", &mut room)) },
            (_, Some(step), _) => { (form.redo()) (steps::step(step, "undone", &mut room)) },
            (.., "uncommitted") => (steps::uncommitted(review, &mut room)),
            (.., "refused") => (steps::refusals(review)),
            _ => { (form.of_session()) (steps::whole(review, &mut room)) },
        }
    };
    page(review, &head, &list, &article, &script).into_string()
}

/// The page when there is no session to show, with the reason.
#[must_use]
pub fn over(reason: &str, acted: Option<&Acted>) -> String {
    let body = html! {
        h1 { "Review" }
        main {
            @if let Some(acted) = acted { (answered(acted)) }
            p.note { (escape_lines(reason)) }
        }
    };
    bare(&html! { link rel="stylesheet" href="/review.css"; }, &body)
}

/// The page that loads the page of the session.
#[must_use]
pub fn forward() -> String {
    let head = html! { meta http-equiv="refresh" content="0;url=/"; };
    bare(&head, &html! { p { a href="/" { "The review" } } })
}

fn bare(head: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "edt review" }
                (head)
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// The answer to an action, as the command prints it.
fn answered(acted: &Acted) -> Markup {
    html! {
        section.answer.refused[!acted.done] role="status" aria-label="Answer" {
            @if !acted.command.is_empty() { code { "$ " (shown(&acted.command)) } }
            pre { (escape_lines(acted.text.trim_end())) }
        }
    }
}

fn articles(review: &SessionReview, room: &mut Room) -> Markup {
    html! {
        (steps::whole(review, room))
        @for step in review.steps() { (steps::step(step, "edit", room)) }
        @if !review.uncommitted.is_empty() { (steps::uncommitted(review, room)) }
        @for step in &review.undone { (steps::step(step, "undone", room)) }
        @if list::has_refusals(review) { (steps::refusals(review)) }
    }
}

fn page(
    review: &SessionReview,
    head: &Markup,
    list: &Markup,
    articles: &Markup,
    script: &Markup,
) -> Markup {
    let name = shown(&review.session.name);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (name) " · edt review" }
                (head)
            }
            body {
                a.skip href="#changes" { "Skip to the changes" }
                header.top {
                    h1 { (name) }
                    p.meta { (summary(review)) }
                    div.tools {
                        button #split type="button" aria-pressed="false" hidden { "Side by side" }
                        button #keys type="button" aria-expanded="false" aria-controls="help" hidden {
                            "Keys" }
                    }
                }
                div.columns {
                    nav aria-label="Turns, edits and files" { (list) }
                    main #changes tabindex="-1" { (articles) }
                }
                (keys())
                (script)
            }
        }
    }
}

fn summary(review: &SessionReview) -> Markup {
    let edits: u64 = review.steps().map(|step| step.edits.len() as u64).sum();
    let (added, removed) = diff::totals(&review.files);
    html! {
        (counted(edits, "edit")) ", " (counted(review.files.len() as u64, "file")) " "
        (diff::counts(added, removed))
        " on " code { (shown(&review.session.branch)) }
        @if let Some(landed) = &review.landed {
            " · landed on " code { (shown(&landed.onto)) } " as " code { (short(&landed.commit)) }
        }
    }
}

fn keys() -> Markup {
    html! {
        div #help role="dialog" aria-label="Keys" hidden {
            dl {
                @for (key, what) in [
                    ("j / k", "next or previous entry of the list"),
                    ("n / p", "next or previous file"),
                    ("s", "side by side, or one column"),
                    ("?", "these keys"),
                ] {
                    dt { kbd { (key) } } dd { (what) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
