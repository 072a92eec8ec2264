//! A session as one HTML page. Everything that the repository says is escaped: an invisible
//! character, or a letter that only looks Latin, is shown by its number.

mod actions;
mod articles;
mod comments;
mod diff;
mod ids;
pub(crate) mod images;
mod list;
pub(crate) mod parts;
mod proposals;
mod refusals;
mod sheet;
mod steps;
mod text;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::action::{Acted, Action};
use crate::contents::{Colours, Contents, Palette};
use crate::model::SessionReview;
use articles::Article;
pub use articles::{file_at, files_at, part_at, shown_files};
use comments::Threads;
use edt_io::clock;
use edt_types::text::{counted, escape_lines};
use sheet::Sheet;
use text::{FormValues, short, shown};

/// The style of the page.
pub const STYLE: &str = concat!(
    include_str!("style/page.css"),
    include_str!("style/parts.css"),
    include_str!("style/comments.css"),
    include_str!("style/colours.css")
);
/// The script of the page, which works without it.
pub const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("script/list.js"),
    include_str!("script/view.js"),
    include_str!("script/lines.js"),
    include_str!("script/ask.js"),
    include_str!("script/keys.js"),
    include_str!("script/live.js"),
    include_str!("script/start.js"),
    "})();\n"
);

/// How much of a page the server sends, in bytes of diffs.
const MAX_LIVE: usize = 8_000_000;

/// How long the colours of a page may take, in milliseconds.
const COLOURS_MS: u64 = 400;

/// What the page of a server has besides the session.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it has a reader of contents")]
pub struct Live<'a> {
    /// The id of the article that is shown.
    pub at: &'a str,
    /// The value of the hidden field of every form.
    pub form: &'a str,
    /// The answer to the action that led to this page.
    pub acted: Option<&'a Acted>,
    /// What takes that action back.
    pub opposite: Option<&'a Action>,
    /// The place of the file of which the user chooses lines.
    pub chosen: Option<usize>,
    /// The state of the repository that it shows, as a word.
    pub state: &'a str,
    /// Where contents are read.
    pub contents: &'a dyn Contents,
    /// The colours of texts that were shown before.
    pub colours: &'a Colours,
}

/// The largest page that is meant to be attached to a pull request, in bytes.
const MAX_BYTES: usize = 2_000_000;

/// The session as a file that needs nothing else: no server, no network. Texts have colours if
/// everything fits with them.
#[must_use]
pub fn file(review: &SessionReview, contents: &dyn Contents) -> String {
    let link = |id: &str| format!("#{id}");
    let list = list::list(review, link);
    let head = html! { style { (PreEscaped(STYLE)) } };
    let script = html! { script { (PreEscaped(SCRIPT)) } };
    let colours = Colours::default();
    let page = |room: usize, deadline| {
        let palette = Some(Palette { contents, colours: &colours, deadline });
        let mut sheet = Sheet { room, palette, ..Sheet::default() };
        let articles = articles(review, &link, &mut sheet);
        (page(review, &head, &list, &articles, &script).into_string(), sheet.folded)
    };
    let (now, later) = (clock::now(), clock::in_ms(COLOURS_MS));
    let room = MAX_BYTES.saturating_sub(page(0, now).0.len());
    let (html, is_folded) = page(room, later);
    if !is_folded {
        return html;
    }
    // A time that is over gives no colours to what has none yet.
    colours.forget();
    page(room, now).0
}

/// The session as the page of a server, with one article and what can be done about it.
#[must_use]
pub fn live(review: &SessionReview, live: &Live<'_>) -> String {
    let link = |id: &str| match id.split_once('-') {
        Some(("all", _)) => format!("/?at=all#{id}"),
        _ => format!("/?at={id}"),
    };
    let list = list::list(review, link);
    let head = html! { link rel="stylesheet" href="/review.css"; };
    let script = html! { script src="/review.js" defer {} };
    let article = Article::at(review, live.at);
    let (at, part) = (article.id(), article.part(review));
    let values =
        FormValues { form: live.form, at: &at, tip: &review.tip, takes_parts: part.is_some() };
    let form = actions::Form { review, values };
    let threads = Threads::of(review, article, Some(&form));
    let deadline = clock::in_ms(COLOURS_MS);
    let palette = Some(Palette { contents: live.contents, colours: live.colours, deadline });
    let chosen = live.chosen;
    let mut sheet =
        Sheet { room: MAX_LIVE, values: Some(values), chosen, threads, palette, folded: false };
    let main = html! {
        p #news role="status" data-state=(live.state) hidden { }
        (question())
        @if let Some(acted) = live.acted { (answered(acted, &form.opposite(live.opposite))) }
        (comments::drafts(review, &form))
        @match article {
            Article::All => (form.of_session()),
            Article::Step(step) => (form.of_step(step)),
            Article::Undone(_) => (form.redo()),
            _ => "",
        }
        (self::article(review, article, &form, &link, &mut sheet))
    };
    page(review, &head, &list, &main, &script).into_string()
}

fn article(
    review: &SessionReview,
    article: Article<'_>,
    form: &actions::Form<'_>,
    link: &dyn Fn(&str) -> String,
    sheet: &mut Sheet<'_>,
) -> Markup {
    match article {
        Article::All => steps::whole(review, sheet),
        Article::Comments => comments::article(review, Some(form)),
        Article::Step(step) => steps::step(step, "edit", sheet),
        Article::Undone(step) => steps::step(step, "undone", sheet),
        Article::Uncommitted => steps::uncommitted(review, sheet),
        Article::Proposal(one) => proposals::article(one, &form.of_proposal(one), sheet),
        Article::Refusal(one) => refusals::article(review, one, link, sheet),
        Article::Refusals => refusals::all(review, link),
    }
}

/// The page when there is no session to show, with the reason.
#[must_use]
pub fn over(reason: &str, acted: Option<&Acted>) -> String {
    let body = html! {
        h1 { "Review" }
        main {
            @if let Some(acted) = acted { (answered(acted, &html! {})) }
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

/// The answer to an action, as the command prints it, and what takes it back.
fn answered(acted: &Acted, opposite: &Markup) -> Markup {
    html! {
        section.answer.refused[!acted.done] role="status" aria-label="Answer" {
            @if !acted.command.is_empty() { code { "$ " (shown(&acted.command)) } }
            pre { (escape_lines(acted.text.trim_end())) }
            (opposite)
        }
    }
}

fn articles<'r>(
    review: &'r SessionReview,
    link: &dyn Fn(&str) -> String,
    sheet: &mut Sheet<'r>,
) -> Markup {
    let mut with = |article: Article<'r>| {
        sheet.threads = Threads::of(review, article, None);
        match article {
            Article::Step(step) => steps::step(step, "edit", sheet),
            Article::Undone(step) => steps::step(step, "undone", sheet),
            Article::Uncommitted => steps::uncommitted(review, sheet),
            Article::Proposal(one) => proposals::article(one, &html! {}, sheet),
            Article::Refusal(one) => refusals::article(review, one, link, sheet),
            Article::Refusals => refusals::all(review, link),
            Article::Comments => comments::article(review, None),
            Article::All => steps::whole(review, sheet),
        }
    };
    html! {
        (with(Article::All))
        @for step in review.steps() { (with(Article::Step(step))) }
        @if !review.uncommitted.is_empty() { (with(Article::Uncommitted)) }
        @for step in &review.undone { (with(Article::Undone(step))) }
        @for one in review.proposals.iter().chain(&review.decided_proposals) {
            (with(Article::Proposal(one)))
        }
        @for one in &review.refusals { (with(Article::Refusal(one))) }
        @if refusals::any(review) { (with(Article::Refusals)) }
        @if !review.comments.is_empty() { (with(Article::Comments)) }
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

/// What a key that changes something asks. Only the script shows it.
fn question() -> Markup {
    html! {
        dialog #ask aria-labelledby="ask-what" {
            form method="dialog" {
                p #ask-what {}
                button value="yes" { "Yes" } " "
                button value="no" autofocus { "No" }
            }
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
                    ("e", "open the edit of the chosen line or file"),
                    ("c", "comment on the chosen lines, file or edit"),
                    ("u", "undo to here, after a question"),
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
