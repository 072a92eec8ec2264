//! The forms of the page of a server: each button is a command of edt.

use maud::{Markup, html};

use super::text::{FormValues, shown};
use crate::action::Action;
use crate::model::{ReviewStep, SessionReview};
use crate::proposals::ReviewProposal;

/// The forms of the page of one session.
#[derive(Debug)]
pub(super) struct Form<'a> {
    pub(super) review: &'a SessionReview,
    pub(super) values: FormValues<'a>,
}

impl Form<'_> {
    /// A form that is folded under `title`.
    pub(super) fn menu(&self, title: &str, action: &str, fields: &Markup, name: &str) -> Markup {
        menu(title, &self.form(action, fields, name, title))
    }

    /// The form for a comment on the whole article: an edit, or the session.
    fn comment(&self) -> Markup {
        let text = html! { label { "Comment" textarea name="message" rows="3" required {} } };
        let form =
            self.form("comment-add", &text, "Add the comment", "A draft, which only you see");
        html! { details.menu.say { summary { "Comment…" } (form) } }
    }

    /// What can be done about a step. Nothing, if the session is not that of this worktree.
    pub(super) fn of_step(&self, step: &ReviewStep) -> Markup {
        let [edit] = step.edits[..] else { return html! {} };
        if !self.review.checked_out {
            return html! {};
        }
        let number = html! { input type="hidden" name="edit" value=(edit); };
        html! {
            div.actions role="group" aria-label="What to do with this edit" {
                (self.form("revert", &number, "Revert this edit", "A new commit reverts this edit; later ones stay"))
                (self.form("undo-to", &number, "Undo to here", "The edits after this one are undone; this one stays"))
                (self.form("land-to", &number, "Land to here", "This edit and those before it become a commit on the base branch; the rest stays in the session"))
                (self.comment())
            }
        }
    }

    /// The button that takes the last action back.
    pub(super) fn opposite(&self, action: Option<&Action>) -> Markup {
        let (action, what) = match action {
            Some(Action::Undo) => ("undo", "edt undo"),
            Some(Action::Redo) => ("redo", "edt redo"),
            Some(Action::UndoLanding) => ("undo-landing", "edt land --undo"),
            _ => return html! {},
        };
        self.form(action, &html! {}, "Undo this", what)
    }

    /// What can be done about an undone step.
    pub(super) fn redo(&self) -> Markup {
        if !self.review.checked_out {
            return html! {};
        }
        html! {
            div.actions role="group" aria-label="What to do with undone edits" {
                (self.form("redo", &html! {}, "Redo the last undo", "The edits of the last undo are on the branch again"))
            }
        }
    }

    /// How a proposal that waits is decided. Nothing, if it was decided, or without its worktree.
    pub(super) fn of_proposal(&self, one: &ReviewProposal) -> Markup {
        if !self.review.checked_out || one.state != "open" {
            return html! {};
        }
        let number = html! { input type="hidden" name="proposal" value=(one.proposal); };
        let why = html! {
            (number)
            label { "Why, and what to do instead"
                textarea name="message" rows="3" required {} }
        };
        html! {
            div.actions role="group" aria-label="What to do with this proposal" {
                (self.form("approve", &number, "Approve", "The answer says what to type in your terminal"))
                (menu("Reject…", &self.form("reject", &why, "Reject", "The proposal is closed with your message")))
            }
        }
    }

    /// What can be done about the session.
    pub(super) fn of_session(&self) -> Markup {
        if !self.review.checked_out || self.review.steps().next().is_none() {
            return html! {};
        }
        let message = html! {
            label { "Message of the commit; made from the edits if empty"
                textarea name="message" rows="3" {} }
        };
        let path = html! {
            label { "File"
                select name="file" {
                    @for (at, file) in self.review.files.iter().enumerate() {
                        option value=(at) { (shown(&file.path)) }
                    }
                }
            }
        };
        html! {
            div.actions role="group" aria-label="What to do with the session" {
                (menu("Land…", &self.form("land", &message, "Land the session", "The edits become one commit on the base branch")))
                (menu("Land only…", &self.form("land-only", &self.edits(), "Land these", "These edits become one commit on the base branch; the rest stays in the session")))
                (menu("Restore a file…", &self.form("restore", &path, "Restore", "The file becomes what it was before its latest edit, as a new commit")))
                (menu("Abandon…", &self.form("abandon", &html! {}, "Abandon the session", "HEAD and files return to their state before; the work stays at a ref")))
                (self.comment())
            }
        }
    }

    /// The edits of the session to choose from, and the message of their commit.
    fn edits(&self) -> Markup {
        html! {
            fieldset {
                legend { "Edits that land" }
                @for step in self.review.steps() {
                    @for edit in &step.edits {
                        label.check { input type="checkbox" name="edit" value=(edit);
                            span { (edit) " " (shown(&step.subject)) } }
                    }
                }
            }
            label { "Message of the commit; made from the edits if empty"
                textarea name="message" rows="3" {} }
        }
    }

    /// A form with one button, which does `action`.
    pub(super) fn form(&self, action: &str, fields: &Markup, name: &str, what: &str) -> Markup {
        html! {
            form method="post" action="/act" {
                input type="hidden" name="form" value=(self.values.form);
                input type="hidden" name="tip" value=(self.values.tip);
                input type="hidden" name="at" value=(self.values.at);
                input type="hidden" name="action" value=(action);
                (fields)
                button title=(what) { (name) }
            }
        }
    }
}

fn menu(name: &str, form: &Markup) -> Markup {
    html! { details.menu { summary { (name) } (form) } }
}
