//! The list on the left: the session, its turns with their steps, and what is not on the branch.

use maud::{Markup, html};

use super::text::shown;
use super::{diff, steps};
use crate::hunks::ReviewFile;
use crate::model::{ReviewStep, ReviewTurn, SessionReview};
use edt_types::text::counted;

/// The most paths that an entry names.
const MAX_PATHS: usize = 3;

pub(super) fn has_refusals(review: &SessionReview) -> bool {
    !review.refused_edits.is_empty() || !review.refused_runs.is_empty()
}

/// Whether the user marked every file as reviewed.
pub(super) fn is_reviewed(files: &[ReviewFile]) -> bool {
    !files.is_empty() && files.iter().all(|file| file.reviewed)
}

/// The list, with links that `link` makes of the id of an article.
pub(super) fn list(review: &SessionReview, link: impl Fn(&str) -> String) -> Markup {
    let (added, removed) = diff::totals(&review.files);
    let step = |step: &ReviewStep, kind: &str| entry(step, &link(&steps::id(step, kind)));
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
                @if has_refusals(review) {
                    @let count = review.refused_edits.len() + review.refused_runs.len();
                    li { a.bad href=(link("refused")) {
                        span.what { (counted(count as u64, "refusal")) }
                    } }
                }
            }
        }
        @if !review.proposals.is_empty() {
            section {
                h2 { "Waiting for you" }
                ul { @for one in &review.proposals {
                    li { p.entry {
                        span.what { b { "p" (one.proposal) } " " (shown(&one.subject)) }
                        small { code { "edt show p" (one.proposal) } ", "
                            code { "edt approve " (one.proposal) } " in your terminal" }
                    } }
                } }
            }
        }
        @for turn in &review.turns {
            section {
                (heading(turn))
                ul { @for one in &turn.steps { (step(one, "edit")) } }
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
            span.what { b { (step.name()) } " " (shown(&step.subject)) } " "
            @if step.is_read { (diff::counts(step.lines_added, step.lines_removed)) }
            small { (paths.join(", ")) }
            @if !step.allowed.is_empty() { small.warn { "allowed: " (shown(&step.allowed.join(", "))) } }
        } }
    }
}
