//! A session as one HTML page. Everything that the repository says is escaped: an invisible
//! character, or a letter that only looks Latin, is shown by its number.

mod actions;
mod diff;
mod list;
mod steps;
mod text;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::action::Acted;
use crate::hunks::ReviewFile;
use crate::model::{ReviewStep, SessionReview};
use edt_types::text::{counted, escape_lines};
use text::{FormValues, Sheet, short, shown};

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
        let articles = articles(review, &mut Sheet { room, values: None });
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
    let values = FormValues { form: live.form, at: live.at };
    let mut sheet = Sheet { room: MAX_LIVE, values: Some(values) };
    let (own, undone) = (step_at(review, live.at), undone_at(review, live.at));
    let form = actions::Form { review, values };
    let article = html! {
        p #news role="status" hidden { }
        @if let Some(acted) = live.acted { (answered(acted)) }
        @match (own, undone, live.at) {
            (Some(step), ..) => { (form.of_step(step)) (steps::step(step, "edit", &mut sheet)) },
            (_, Some(step), _) => { (form.redo()) (steps::step(step, "undone", &mut sheet)) },
            (.., "uncommitted") => (steps::uncommitted(review, &mut sheet)),
            (.., "refused") => (steps::refusals(review)),
            _ => { (form.of_session()) (steps::whole(review, &mut sheet)) },
        }
    };
    page(review, &head, &list, &article, &script).into_string()
}

fn step_at<'r>(review: &'r SessionReview, at: &str) -> Option<&'r ReviewStep> {
    review.steps().find(|step| steps::id(step, "edit") == at)
}

fn undone_at<'r>(review: &'r SessionReview, at: &str) -> Option<&'r ReviewStep> {
    review.undone.iter().find(|step| steps::id(step, "undone") == at)
}

/// The files of the article `at` that can be marked as reviewed.
#[must_use]
pub fn files_at<'r>(review: &'r SessionReview, at: &str) -> &'r [ReviewFile] {
    match step_at(review, at).or_else(|| undone_at(review, at)) {
        Some(step) => &step.files,
        None if at == "all" => &review.files,
        None => &[],
    }
}

/// The file at `place` of the article `at`, with the commit of its step; none for the session as a
/// whole.
pub fn file_at<'r>(
    review: &'r mut SessionReview,
    at: &str,
    place: usize,
) -> Option<(Option<String>, &'r mut ReviewFile)> {
    if at == "all" {
        return Some((None, review.files.get_mut(place)?));
    }
    let steps = review.turns.iter_mut().flat_map(|turn| &mut turn.steps);
    let steps = steps.map(|step| (steps::id(step, "edit"), step));
    let undone = review.undone.iter_mut().map(|step| (steps::id(step, "undone"), step));
    let (_, step) = steps.chain(undone).find(|(id, _)| id == at)?;
    Some((Some(step.commit.clone()), step.files.get_mut(place)?))
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

fn articles(review: &SessionReview, sheet: &mut Sheet<'_>) -> Markup {
    html! {
        (steps::whole(review, sheet))
        @for step in review.steps() { (steps::step(step, "edit", sheet)) }
        @if !review.uncommitted.is_empty() { (steps::uncommitted(review, sheet)) }
        @for step in &review.undone { (steps::step(step, "undone", sheet)) }
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
                        button #space type="button" aria-pressed="false" hidden { "Ignore white space" }
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
        @let seen = review.steps().filter(|step| list::is_reviewed(&step.files)).count() as u64;
        @if seen > 0 { " · " (seen) " of " (review.steps().count()) " reviewed" }
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
                    ("r", "mark the chosen file as reviewed"),
                    ("s", "side by side, or one column"),
                    ("w", "ignore changes of white space"),
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
