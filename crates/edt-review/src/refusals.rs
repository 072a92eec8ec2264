//! The refused calls of a session, and what was done instead.

use schemars::JsonSchema;
use serde::Serialize;

use edt_core::session::views::refusal_stats::Refusals;
use edt_core::session::views::stats::StatsFilter;
use edt_git::Repo;
use edt_journal::refusals::{Recorded, Texts, TriedEdit};

/// The most refusals that a review has: the newest ones.
const MAX_REFUSALS: usize = 500;

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewRefusal {
    /// Its name in the record of refusals.
    pub id: String,
    /// When, in seconds since 1970.
    pub time: i64,
    /// `apply`, `command` for one of an agent's own shell, or the name of edt's command.
    pub call: String,
    /// The codes of its findings, each once.
    pub codes: Vec<String>,
    /// The paths that it is about.
    pub paths: Vec<String>,
    /// The program of the refused command and its subcommand: no argument is recorded.
    pub command: Option<String>,
    /// The agent that made the call.
    pub agent: Option<String>,
    /// The model that the agent's program named.
    pub model: Option<String>,
    /// The turn of the session that it belongs to.
    pub turn: Option<u64>,
    /// How the next call about the same place ended: `landed`, `overridden` or `refused_again`;
    /// null if there was none.
    pub followed: Option<&'static str>,
    /// The commit of the edit that was made instead, as a hex object id.
    pub followed_by: Option<String>,
    /// What was sent, as far as the record has it. Only the user at a terminal gets it.
    pub sent: Vec<SentEdit>,
}

impl ReviewRefusal {
    /// The id of its article in the page. A damaged record may have anything there.
    #[must_use]
    pub fn article(&self) -> String {
        let own = self.id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-');
        format!("refusal-{}", own.collect::<String>())
    }
}

/// An edit as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SentEdit {
    /// The path.
    pub path: Option<String>,
    /// The mode, such as `edit`.
    pub mode: Option<String>,
    /// The text to replace.
    pub old: Option<String>,
    /// The new text.
    pub new: Option<String>,
    /// Whether the record has the texts whole, cut or not at all.
    pub texts: &'static str,
}

/// Whether the reader may see what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentTexts {
    /// The user at a terminal.
    Shown,
    /// Anybody else.
    Withheld,
}

/// The refusals of the session, oldest first.
#[must_use]
pub fn of_session(repo: &Repo, session: &str, texts: SentTexts) -> Vec<ReviewRefusal> {
    let filter = StatsFilter { session: Some(session.to_owned()), ..StatsFilter::default() };
    let mut all = Refusals::of(repo, &filter).into_vec();
    all.drain(..all.len().saturating_sub(MAX_REFUSALS));
    all.into_iter().map(|one| shown(one, texts)).collect()
}

fn shown(one: Recorded, texts: SentTexts) -> ReviewRefusal {
    let Recorded { refused, followed } = one;
    let paths = refused.paths().into_iter().map(str::to_owned).collect();
    let mut codes: Vec<String> = refused.findings.into_iter().map(|one| one.code).collect();
    codes.dedup();
    let is_shown = texts == SentTexts::Shown;
    ReviewRefusal {
        paths,
        codes,
        followed: followed.as_ref().and_then(|followed| followed.how.word()),
        followed_by: followed.and_then(|followed| followed.commit),
        sent: refused.edits.into_iter().filter(|_| is_shown).map(sent).collect(),
        id: refused.id,
        time: refused.time,
        call: refused.call,
        command: refused.command,
        agent: refused.agent,
        model: refused.model,
        turn: refused.turn,
    }
}

fn sent(edit: TriedEdit) -> SentEdit {
    SentEdit {
        path: edit.path,
        mode: edit.mode,
        old: edit.old,
        new: edit.new,
        texts: match edit.texts {
            Texts::Whole => "whole",
            Texts::Cut => "cut",
            Texts::Withheld | Texts::Unknown => "withheld",
        },
    }
}
