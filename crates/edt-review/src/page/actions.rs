//! The forms of the page of a server: each button is a command of edt.

use maud::{Markup, html};

use super::text::{FormValues, shown};
use crate::model::{ReviewStep, SessionReview};

/// The forms of the page of one session.
pub(super) struct Form<'a> {
    pub(super) review: &'a SessionReview,
    pub(super) values: FormValues<'a>,
}

impl Form<'_> {
    /// What can be done about a step. Nothing, if the session is not that of this worktree.
    pub(super) fn of_step(&self, step: &ReviewStep) -> Markup {
        let [edit] = step.edits[..] else { return html! {} };
        if !self.review.here {
            return html! {};
        }
        let number = html! { input type="hidden" name="edit" value=(edit); };
        html! {
            div.actions role="group" aria-label="What to do with this edit" {
                (self.form("revert", &number, "Revert this edit", "A new commit reverts this edit; later ones stay"))
                (self.form("undo-to", &number, "Undo to here", "The edits after this one are undone; this one stays"))
                (self.form("land-to", &number, "Land to here", "This edit and those before it become a commit on the base branch; the rest stays in the session"))
            }
        }
    }

    /// What can be done about an undone step.
    pub(super) fn redo(&self) -> Markup {
        if !self.review.here {
            return html! {};
        }
        html! {
            div.actions role="group" aria-label="What to do with undone edits" {
                (self.form("redo", &html! {}, "Redo the last undo", "The edits of the last undo are on the branch again"))
            }
        }
    }

    /// What can be done about the session.
    pub(super) fn of_session(&self) -> Markup {
        if !self.review.here || self.review.steps().next().is_none() {
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
                (menu("Restore a file…", &self.form("restore", &path, "Restore", "The file becomes what it was before its latest edit, as a new commit")))
                (menu("Abandon…", &self.form("abandon", &html! {}, "Abandon the session", "HEAD and files return to their state before; the work stays at a ref")))
            }
        }
    }

    fn form(&self, action: &str, fields: &Markup, name: &str, what: &str) -> Markup {
        html! {
            form method="post" action="/act" {
                input type="hidden" name="form" value=(self.values.form);
                input type="hidden" name="tip" value=(self.review.tip);
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
