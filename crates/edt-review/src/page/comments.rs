//! What the user writes about the session, and what was answered.

use maud::{Markup, html};

use super::actions::Form;
use super::articles::Article;
use super::text::{shown, time};
use crate::hunks::{ReviewFile, ReviewLine};
use crate::model::SessionReview;
use edt_core::session::comments::{Comment, CommentState};
use edt_types::text::{counted, escape_lines};

/// The most lines that a comment quotes on the page.
const MAX_QUOTED: usize = 12;

/// The comments of an article, and how the page answers them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Threads<'a> {
    review: &'a SessionReview,
    /// The edit of the article; `None` for the session as a whole.
    edit: Option<u64>,
    /// The forms; `None` if the page has no server, or nothing can be written.
    form: Option<&'a Form<'a>>,
}

/// A side of a file and a line of it.
type Spot = (bool, u64);

impl<'a> Threads<'a> {
    /// The comments of the article; `None` if it can have none.
    pub(super) fn of(
        review: &'a SessionReview,
        article: Article<'_>,
        form: Option<&'a Form<'a>>,
    ) -> Option<Threads<'a>> {
        let edit = match article {
            Article::All => None,
            Article::Step(step) => Some(*step.edits.first()?),
            _ => return None,
        };
        Some(Threads { review, edit, form: form.filter(|_| review.checked_out) })
    }

    /// Where a comment about lines is, if it is about `file` and its lines are there.
    fn spot(&self, comment: &Comment, file: &ReviewFile) -> Option<Spot> {
        let (first, last) = comment.lines?;
        if !is_about(comment, file) {
            return None;
        }
        if self.edit.is_some() {
            return (comment.edit == self.edit).then_some((comment.before, last));
        }
        if comment.before {
            return comment.edit.is_none().then_some((true, last));
        }
        Some((false, comment.line_now? + (last - first)))
    }

    fn is_here(&self, comment: &Comment) -> bool {
        self.edit.is_none() || comment.edit == self.edit
    }

    /// The comments on the last of these lines, or between them.
    pub(super) fn on(&self, file: &ReviewFile, lines: &[ReviewLine]) -> Markup {
        let is_there = |(before, number): Spot| {
            let side = |line: &ReviewLine| if before { line.old } else { line.new };
            lines.iter().any(|line| side(line) == Some(number))
        };
        let all = self.review.comments.iter();
        let found: Vec<&Comment> = all
            .filter(|one| self.is_here(one) && self.spot(one, file).is_some_and(is_there))
            .collect();
        html! { @for one in found { (thread(one, self.form)) } }
    }

    /// The comments about `file` that are on none of the lines which the page shows.
    pub(super) fn beside(&self, file: &ReviewFile) -> Markup {
        let lines = || file.hunks.iter().flat_map(|hunk| &hunk.lines);
        let is_shown = |(before, number): Spot| {
            lines().any(|line| if before { line.old } else { line.new } == Some(number))
        };
        let all = self.review.comments.iter();
        let found = all.filter(|one| {
            let is_own = self.is_here(one) && is_about(one, file);
            is_own && !self.spot(one, file).is_some_and(is_shown)
        });
        html! { @for one in found { (thread(one, self.form)) } }
    }

    /// The comments of the article that are about none of its `files`.
    pub(super) fn others(&self, files: &[ReviewFile]) -> Markup {
        let all = self.review.comments.iter();
        let found = all.filter(|one| {
            let is_own = one.edit == self.edit || self.edit.is_none() && one.path.is_some();
            is_own && !files.iter().any(|file| is_about(one, file))
        });
        html! { @for one in found { (thread(one, self.form)) } }
    }
}

fn is_about(comment: &Comment, file: &ReviewFile) -> bool {
    let paths = [&comment.path, &comment.path_now].into_iter().flatten();
    let is_it = |path: &String| *path == file.path || file.from.as_ref() == Some(path);
    paths.into_iter().any(is_it)
}

/// A comment with its answers.
fn thread(one: &Comment, form: Option<&Form<'_>>) -> Markup {
    let number = html! { input type="hidden" name="comment" value=(one.id); };
    let act = |action: &str, name: &str, what: &str| {
        html! { @if let Some(form) = form { (form.form(action, &number, name, what)) } }
    };
    let text = html! { (number) label { "Answer" textarea name="message" rows="2" required {} } };
    html! {
        section.thread.(one.state.name()) id={ "comment-" (one.id) } aria-label={ "Comment " (one.id) } {
            p.meta {
                b { "Comment " (one.id) } " " (about(one)) " · " (time(one.time)) " "
                span.tag { (one.state.name()) }
                @if one.outdated { " " span.tag.old { "outdated" } }
                @if let Some(read) = &one.read {
                    " · read" @if let Some(agent) = &read.agent { " by " (shown(agent)) } " " (time(read.time))
                }
            }
            @if !one.quoted.is_empty() && (one.outdated || form.is_none()) { (quoted(&one.quoted)) }
            pre.said { (escape_lines(&one.text)) }
            @for answer in &one.answers {
                p.meta { b { @match &answer.agent { Some(agent) => (shown(agent)), None => "you" } }
                    " · " (time(answer.time)) }
                pre.said { (escape_lines(&answer.text)) }
            }
            @if let Some(form) = form {
                div.actions {
                    @match one.state {
                        CommentState::Draft => (act("comment-drop", "Delete the draft", "edt comment drop")),
                        CommentState::Open => {
                            (form.menu("Answer…", "comment-answer", &text, "Answer"))
                            (act("comment-resolve", "Resolve", "It is done"))
                        }
                        CommentState::Resolved => (act("comment-reopen", "Reopen", "It is not done")),
                    }
                }
            }
        }
    }
}

fn about(one: &Comment) -> Markup {
    html! {
        @if let Some(edit) = one.edit { "on edit " (edit) } @else { "on the session" }
        @if let Some(path) = &one.path { ", " span.path { (shown(path)) } }
        @if let Some((first, last)) = one.lines {
            @if first == last { " line " (first) } @else { " lines " (first) "–" (last) }
            @if one.before { " before the change" }
        }
    }
}

fn quoted(lines: &[String]) -> Markup {
    html! {
        pre.quoted {
            @for line in lines.iter().take(MAX_QUOTED) { (shown(line)) "\n" }
            @if lines.len() > MAX_QUOTED { "…" }
        }
    }
}

/// The drafts, and the form that sends them. Nothing without drafts.
pub(super) fn drafts(review: &SessionReview, form: &Form<'_>) -> Markup {
    let drafts = || review.comments.iter().filter(|one| one.state == CommentState::Draft);
    let count = drafts().count() as u64;
    if count == 0 || !review.checked_out {
        return html! {};
    }
    let summary = html! { label { "Summary of the review, if you like"
    textarea name="message" rows="2" {} } };
    html! {
        section.drafts aria-label="Drafts" {
            p { (counted(count, "draft")) " that only you see: "
                @for (at, one) in drafts().enumerate() {
                    @if at > 0 { ", " }
                    a href={ "/?at=comments#comment-" (one.id) } { (one.id) " " (about(one)) }
                }
            }
            (form.form("comment-send", &summary, &format!("Send {}", counted(count, "comment")),
                "The agent gets them with its next answer"))
        }
    }
}

/// The article of all comments.
pub(super) fn article(review: &SessionReview, form: Option<&Form<'_>>) -> Markup {
    let form = form.filter(|_| review.checked_out);
    let of = |number: Option<u64>| review.comments.iter().filter(move |one| one.review == number);
    html! {
        article #comments {
            h2 { "Comments" }
            @if review.comments.is_empty() {
                p.note { "There is none. \"Comment…\" is at each edit and each file." }
            }
            @for one in &review.review_summaries {
                h3 { "Review " (one.review) " · " (time(one.time)) }
                @if !one.text.is_empty() { pre.said { (escape_lines(&one.text)) } }
                @for one in of(Some(one.review)) { (thread(one, form)) }
            }
            @let known = |one: &&Comment| {
                let mut all = review.review_summaries.iter();
                one.review.is_some_and(|number| all.any(|known| known.review == number))
            };
            @for one in review.comments.iter().filter(|one| !known(one)) { (thread(one, form)) }
        }
    }
}
