//! The list on the left: the session, its turns with their steps, and what is not on the branch.

use maud::{Markup, html};

use super::text::shown;
use super::{diff, ids, refusals};
use crate::hunks::ReviewFile;
use crate::model::{ReviewStep, ReviewTurn, SessionReview};
use crate::proposals::ReviewProposal;
use crate::refusals::ReviewRefusal;
use edt_core::session::comments::CommentState;
use edt_types::text::counted;

/// The most paths that an entry names.
const MAX_PATHS: usize = 3;

/// Whether the user marked every file as reviewed.
pub(super) fn is_reviewed(files: &[ReviewFile]) -> bool {
    !files.is_empty() && files.iter().all(|file| file.reviewed)
}

/// The list, with links that `link` makes of the id of an article.
pub(super) fn list(review: &SessionReview, link: impl Fn(&str) -> String) -> Markup {
    let (added, removed) = diff::totals(&review.files);
    let step = |step: &ReviewStep, kind: &str| entry(step, &link(&ids::step(step, kind)));
    html! {
        section {
            h2 { "Session" }
            ul {
                li { a href=(link("all")) { span.what { "All changes" } " " (diff::counts(added, removed)) } }
                @for (at, file) in review.files.iter().enumerate() {
                    li.sub { a href=(link(&format!("all-{}", at + 1))) {
                        @if file.reviewed { span.seen { "✓ " } }
                        span.path { (shown(&file.path)) } " "
                        (diff::counts(file.lines_added, file.lines_removed))
                    } }
                }
                @if !review.uncommitted.is_empty() {
                    @let (added, removed) = diff::totals(&review.uncommitted);
                    li { a href=(link("uncommitted")) {
                        span.what { "Uncommitted" } " " (diff::counts(added, removed))
                        @if !review.left_over.is_empty() {
                            small { "with changes of edits that no commit has" }
                        }
                    } }
                }
                @if !review.comments.is_empty() {
                    @let open = review.comments.iter().filter(|one| one.state != CommentState::Resolved);
                    li { a href=(link("comments")) {
                        span.what { "Comments" } " " small { (open.count()) " not resolved" }
                    } }
                }
                @if refusals::any(review) {
                    li { a.bad href=(link("refused")) {
                        span.what { @match review.refusals.len() as u64 {
                            0 => "Refused", count => (counted(count, "refusal")),
                        } }
                    } }
                }
            }
        }
        (proposals("Waiting for you", &review.proposals, &link))
        (proposals("Decided", &review.decided_proposals, &link))
        @for (turn, refusals) in review.turns.iter().zip(refusals_of_turns(review)) {
            section {
                (heading(turn))
                (entries(review, turn, &refusals, &link))
            }
        }
        @if review.turns.is_empty() && !review.refusals.is_empty() {
            section {
                h2 { "Refused" }
                ul { @for one in &review.refusals { (refusal(review, one, &link)) } }
            }
        }
        @if !review.undone.is_empty() {
            section {
                h2 { "Undone" }
                ul { @for one in &review.undone { (step(one, "undone")) } }
            }
        }
    }
}

fn proposals(name: &str, all: &[ReviewProposal], link: &dyn Fn(&str) -> String) -> Markup {
    html! {
        @if !all.is_empty() {
            section {
                h2 { (name) }
                ul { @for one in all {
                    li { a href=(link(&ids::proposal(one.proposal))) {
                        span.what { b { "p" (one.proposal) } " " (shown(&one.subject)) }
                        small {
                            @if let Some(agent) = &one.agent { (shown(agent)) " " }
                            @if one.state != "open" { (one.state) }
                        }
                    } }
                } }
            }
        }
    }
}

/// The refusals of each turn: those that name it, and before the next edit those that name none.
fn refusals_of_turns(review: &SessionReview) -> Vec<Vec<&ReviewRefusal>> {
    let mut all: Vec<Vec<&ReviewRefusal>> = vec![Vec::new(); review.turns.len()];
    let turns = || review.turns.iter();
    let last = turns().rposition(|turn| !turn.by_user).unwrap_or_default();
    for one in &review.refusals {
        let named = turns().position(|turn| turn.turn.is_some() && turn.turn == one.turn);
        let goes_on = |turn: &ReviewTurn| turn.steps.iter().any(|step| step.time >= one.time);
        let next = || turns().position(|turn| !turn.by_user && goes_on(turn));
        let place = named.or_else(next).unwrap_or(last);
        all.get_mut(place).into_iter().for_each(|turn| turn.push(one));
    }
    all
}

/// The steps of a turn with the refusals between them.
fn entries(
    review: &SessionReview,
    turn: &ReviewTurn,
    refusals: &[&ReviewRefusal],
    link: &dyn Fn(&str) -> String,
) -> Markup {
    let mut left = refusals.iter().peekable();
    html! {
        ul {
            @for one in &turn.steps {
                @while let Some(refused) = left.next_if(|refused| refused.time <= one.time) {
                    (refusal(review, refused, link))
                }
                (entry(one, &link(&ids::step(one, "edit"))))
            }
            @for refused in left { (refusal(review, refused, link)) }
        }
    }
}

fn refusal(review: &SessionReview, one: &ReviewRefusal, link: &dyn Fn(&str) -> String) -> Markup {
    html! {
        li.no { a href=(link(&ids::refusal(one))) {
            span.what { span.bad { "✗ " } (refusals::what(one)) }
            small { (shown(&one.codes.join(", "))) ": " (refusals::followed(review, one)) }
        } }
    }
}

fn heading(turn: &ReviewTurn) -> Markup {
    let by: Vec<String> =
        [&turn.agent, &turn.model].into_iter().flatten().map(|name| shown(name)).collect();
    html! {
        h2 {
            @match (turn.by_user, turn.turn) {
                (true, _) => "Your commits",
                (_, Some(number)) => { "Turn " (number) },
                (_, None) => "Edits",
            }
            @if let Some(title) = &turn.title { span.prompt { (shown(title)) } }
            @if !turn.by_user && !by.is_empty() { small { (by.join(", ")) } }
        }
    }
}

fn entry(step: &ReviewStep, link: &str) -> Markup {
    let mut paths: Vec<String> =
        step.files.iter().take(MAX_PATHS).map(|file| shown(&file.path)).collect();
    let more = step.files.len() - paths.len();
    paths.extend((more > 0).then(|| format!("{more} more")));
    html! {
        li data-unread[!step.is_read] { a href=(link) {
            @if is_reviewed(&step.files) { span.seen { "✓ " } }
            span.what { b { (step.name()) } " "
                @match step.kind { None | Some("edit") => "", Some(kind) => { span.tag { (kind) } " " } }
                (shown(&step.subject)) } " "
            @if step.is_read { (diff::counts(step.lines_added, step.lines_removed)) }
            small { (paths.join(", ")) }
            @if !step.allowed.is_empty() { small.warn { "allowed: " (shown(&step.allowed.join(", "))) } }
        } }
    }
}
