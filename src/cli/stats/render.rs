//! The human form of `edt stats`.

use std::fmt::Write as _;

use super::{Answer, Group, Net, Numbers, Outcomes, RefusalNumbers};
use crate::cli::render::{DIM, NAME, paint};
use edt_types::text::{counted, escape_controls};

impl Answer {
    pub(super) fn render_human(&self) -> String {
        let mut out = format!("{}\n", self.total.render_human("all sessions"));
        for session in &self.sessions {
            let _ = write!(
                out,
                "\n{}",
                session.numbers.render_human(&format!("{} ({})", session.name, session.state))
            );
            let Net { files, lines_added, lines_removed, bytes_before, bytes_after } = &session.net;
            let (landed, rolled_back) = (session.landed, session.rolled_back);
            let net = format!(
                "landed {landed}, rolled back {rolled_back}; against its base {}, +{lines_added} -{lines_removed} lines, {bytes_before} -> {}",
                counted(*files, "file"),
                counted(*bytes_after, "byte")
            );
            let _ = writeln!(out, "  {}", paint(DIM, &net));
        }
        if self.ended > 0 {
            let ended = counted(self.ended, "ended session");
            let _ = writeln!(out, "\n{}", paint(DIM, &format!("… {ended}: --ended lists them")));
        }
        for agent in &self.agents {
            let name = agent.agent.as_deref().unwrap_or("(no name)");
            let _ = write!(
                out,
                "\n{}",
                agent
                    .numbers
                    .render_human(&format!("agent {name}, {}", counted(agent.sessions, "session")))
            );
        }
        for group in &self.groups {
            let _ = write!(out, "\n{}", group.numbers.render_human(&group.group.render_human()));
            out += &group.refusals.render_human("  ");
        }
        let refusals = self.refusals.render_human("");
        if !refusals.is_empty() {
            let _ = write!(out, "\n{refusals}");
        }
        out
    }
}

impl Group {
    pub(super) fn render_human(&self) -> String {
        let parts = [
            self.session.as_ref().map(|name| format!("session {name}")),
            self.agent.as_ref().map(|name| format!("agent {name}")),
            self.model.as_ref().map(|name| format!("model {name}")),
            self.turn.map(|number| format!("turn {number}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "(no name)".to_owned() } else { parts.join(", ") }
    }
}

impl RefusalNumbers {
    /// A line for all refusals and one for each code; empty if there are none.
    pub(super) fn render_human(&self, indent: &str) -> String {
        if self.all.refused == 0 {
            return String::new();
        }
        let mut out = format!("{indent}refused: {}\n", self.all.render_human());
        let longest = self.codes.keys().map(String::len).max().unwrap_or_default();
        for (code, outcomes) in &self.codes {
            let _ = writeln!(out, "{indent}  {code:longest$}  {}", outcomes.render_human());
        }
        out
    }
}

impl Outcomes {
    pub(super) fn render_human(&self) -> String {
        let Outcomes { refused, landed, overridden, refused_again, nothing, classes } = self;
        let parts = [
            (landed, "landed next"),
            (overridden, "landed with an override"),
            (refused_again, "refused again"),
            (nothing, "not followed"),
        ];
        let parts = parts.iter().filter(|(count, _)| **count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        let classes =
            classes.iter().map(|(name, count)| format!("{} {count}", escape_controls(name).0));
        let classes = classes.collect::<Vec<String>>().join(", ");
        let classes = if classes.is_empty() { classes } else { format!(" ({classes})") };
        format!("{refused}: {}{classes}", parts.join(", "))
    }
}

impl Numbers {
    pub(super) fn render_human(&self, title: &str) -> String {
        let Numbers {
            edits,
            restores,
            runs,
            undone,
            undo_rate,
            checkpoints,
            user_commits,
            overrides,
            modes,
            append_share,
        } = self;
        let percent = |rate: &Option<f64>| {
            rate.map_or_else(String::new, |rate| format!(" ({:.1} %)", rate * 100.0))
        };
        let mut out = format!("{}\n", paint(NAME, &escape_controls(title).0));
        let _ = writeln!(
            out,
            "  {}, {}, {} in effect; {undone} undone{}",
            counted(*edits, "edit"),
            counted(*restores, "restore"),
            counted(*runs, "run"),
            percent(undo_rate)
        );
        let _ = writeln!(
            out,
            "  {}, {} of the user",
            counted(*checkpoints, "checkpoint"),
            counted(*user_commits, "commit")
        );
        for (what, words) in [("overrides", overrides), ("modes", modes)] {
            let words: Vec<String> = words
                .iter()
                .map(|(word, count)| {
                    let share =
                        if what == "modes" && word == "append" { append_share } else { &None };
                    format!("{} {count}{}", escape_controls(word).0, percent(share))
                })
                .collect();
            if !words.is_empty() {
                let _ = writeln!(out, "  {what}: {}", words.join(", "));
            }
        }
        out
    }
}
