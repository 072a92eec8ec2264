//! The article of a proposal: what it would do, and how the user decides.

use maud::{Markup, html};

use super::sheet::Sheet;
use super::text::{shown, time};
use super::{diff, ids};
use crate::proposals::ReviewProposal;
use edt_types::text::escape_lines;

/// The article, with `actions` for one that waits.
pub(super) fn article(one: &ReviewProposal, actions: &Markup, sheet: &mut Sheet<'_>) -> Markup {
    let id = ids::proposal(one.proposal);
    let command = format!("edt show p{}", one.proposal);
    html! {
        article id=(id) {
            h2 { "Proposal p" (one.proposal) ": " (shown(&one.subject)) }
            p.meta {
                (time(one.time))
                @if let Some(agent) = &one.agent { " · " (shown(agent)) }
                " · " (state(one))
            }
            @if !one.reason.is_empty() { pre.why { (escape_lines(&one.reason)) } }
            @if let Some(command) = &one.command {
                h3 { "The command" }
                pre.why { (escape_lines(command)) }
            }
            @for word in &one.grants {
                p.warn { "Approving it allows " code { (shown(word)) } "." }
            }
            @for word in &one.allowed { p.warn { "It overrides " code { (shown(word)) } "." } }
            @if one.state == "open" {
                p.type {
                    "To approve it, type in your terminal, in this worktree: "
                    code { "edt approve p" (one.proposal) }
                    @if one.command.is_none() {
                        " (with " code { "--apply" } " it is applied at once)"
                    }
                    ". This page shows the decision when it is made."
                }
            }
            (actions)
            @for (at, file) in one.files.iter().enumerate() {
                (diff::file(file, (&id, at), &command, sheet))
            }
        }
    }
}

fn state(one: &ReviewProposal) -> Markup {
    html! {
        @match (one.state, &one.detail) {
            ("open", _) => "waits for you",
            ("approved", Some(who)) => { "approved by " (shown(who)) },
            ("rejected", Some(why)) => { "rejected: " (shown(why)) },
            (state, _) => (state),
        }
    }
}
