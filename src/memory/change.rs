//! What may become of an episode: always a part of it, so that two who change it lose nothing of each other's.

use serde::{Deserialize, Serialize};

use super::episode::{Episode, Fix};
use super::score::Outcome;

/// What becomes of an episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// This failure was seen, as often as it says.
    Failed(Box<Episode>),
    /// This landed afterwards.
    Fixed(String, Box<Fix>),
    /// The commit that fixed it was taken back.
    Unfixed(String, String),
    /// Its lesson was told, and this came of it at that time.
    Used(String, Outcome, i64),
    /// What had come of its lesson was taken back.
    Worsened(String),
    /// A person wrote it down.
    Added(Box<Episode>),
    /// A person's own words, or none any more.
    Lesson(String, Option<String>),
    /// Why a person wants it told no more, or that it may be told again.
    Deprecated(String, Option<String>),
    /// It is to be exactly this.
    Put(Box<Episode>),
    /// Another version of it, and the one that both came from.
    Merged(Box<Episode>, Option<Box<Episode>>),
    /// It goes.
    Deleted(String),
}

impl Change {
    /// The episode it is about.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Change::Failed(episode)
            | Change::Added(episode)
            | Change::Put(episode)
            | Change::Merged(episode, _) => &episode.id,
            Change::Fixed(id, _)
            | Change::Unfixed(id, _)
            | Change::Used(id, ..)
            | Change::Worsened(id)
            | Change::Lesson(id, _)
            | Change::Deprecated(id, _)
            | Change::Deleted(id) => id,
        }
    }

    /// What it makes of an episode; of one that is gone only a failure or a person makes a new one.
    #[must_use]
    pub fn on(&self, stands: Option<Episode>) -> Option<Episode> {
        let Some(stands) = stands else {
            return match self {
                Change::Failed(new) | Change::Added(new) | Change::Put(new) => {
                    Some((**new).clone())
                }
                Change::Merged(theirs, None) => Some(theirs.foreign()),
                Change::Merged(theirs, Some(_)) => Some((**theirs).clone()),
                _ => None,
            };
        };
        Some(match self {
            Change::Failed(now) => stands.seen_again(now),
            Change::Fixed(_, fix) => stands.fixed(fix),
            Change::Unfixed(_, commit) => stands.unfixed(commit),
            Change::Used(_, outcome, now) => stands.used(*outcome, *now),
            Change::Worsened(_) => stands.worsened(),
            Change::Added(new) => {
                Episode { lesson: new.lesson.clone(), deprecated: None, ..stands }
            }
            Change::Lesson(_, lesson) => Episode { lesson: lesson.clone(), ..stands },
            Change::Deprecated(_, why) => Episode { deprecated: why.clone(), ..stands },
            Change::Put(episode) => (**episode).clone(),
            Change::Merged(theirs, base) => Episode::merged(base.as_deref(), &stands, theirs),
            Change::Deleted(_) => return None,
        })
    }
}
