//! Episodes: what edt learned from refused calls, what the user noted, and what evaluations taught.
//!
//! [`Episodes`] are a set in memory, which is read from lines of JSON and written as such. A
//! [`Memory`] keeps them in Git. `edt` and `edt-bench` use the same ones.

pub mod episode;
pub mod keywords;
mod retrieve;
pub mod score;
mod store;

use std::collections::BTreeMap;

pub use episode::{Body, Episode, MAX_NOTE_BYTES, Origin};
pub use retrieve::{MIN_SIMILARITY, Match};
pub use score::Outcome;
pub use store::{Memory, REF, SNAPSHOTS, Snapshot};

use edt_types::{Code, Finding, Result};

/// The most episodes of one memory.
pub const MAX_EPISODES: usize = 10_000;
/// The largest memory that is read, in bytes.
pub const MAX_BYTES: usize = 64 << 20;

/// A set of episodes, each with another id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Episodes {
    known: BTreeMap<String, Episode>,
    /// Lines that this version of edt cannot read. They stay as they are.
    unread: Vec<String>,
}

impl Episodes {
    /// The episodes in `bytes`, one on each line; `None` if a line is no object with a `schema` of
    /// an episode: then these bytes are no memory. Lines of other versions are kept unread.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Episodes> {
        #[derive(serde::Deserialize)]
        struct Line {
            schema: String,
        }
        let mut out = Episodes::default();
        for line in std::str::from_utf8(bytes).ok()?.lines().filter(|line| !line.is_empty()) {
            if let Ok(one) = Episode::from_json(line.as_bytes()) {
                out.known.insert(one.id.clone(), one);
                continue;
            }
            let other: Line = serde_json::from_str(line).ok()?;
            other.schema.starts_with("edt.episode/").then_some(())?;
            out.unread.push(line.to_owned());
        }
        Some(out)
    }

    /// As [`parse`](Episodes::parse), of a file that the user named.
    ///
    /// # Errors
    /// `BAD_REQUEST` naming the first line that is no episode.
    pub fn from_file(bytes: &[u8]) -> Result<Episodes> {
        let lines = bytes.split(|&b| b == b'\n').enumerate();
        let filled = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
        let parsed = filled.map(|(number, line)| {
            Episode::from_json(line).map_err(|why| {
                let summary = format!("Line {} is not an episode: {why}.", number + 1);
                let remedy =
                    "Send lines of `edt memory export`; `edt schema episode` has the keys.";
                Finding::new(Code::BadRequest, summary, remedy).nothing_changed().into()
            })
        });
        parsed.collect()
    }

    /// One line of JSON for each episode, in the order of the ids.
    #[must_use]
    pub fn lines(&self) -> String {
        let known = self.known.values().map(Episode::to_json);
        known.chain(self.unread.iter().cloned()).map(|line| line + "\n").collect()
    }

    /// Every episode, in the order of the ids.
    pub fn iter(&self) -> impl Iterator<Item = &Episode> {
        self.known.values()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The number of lines that this version of edt cannot read.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.unread.len()
    }

    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Episode> {
        self.known.get(id)
    }

    /// Replaces the episode `id` by what `change` makes of it. Whether it exists.
    pub fn change(&mut self, id: &str, change: impl FnOnce(Episode) -> Episode) -> bool {
        let Some(one) = self.known.remove(id) else { return false };
        self.known.insert(id.to_owned(), change(one));
        true
    }

    /// Adds `new`, or counts it in the episode that is there already. Of more than
    /// [`MAX_EPISODES`] the least useful one goes.
    pub fn learn(&mut self, new: Episode) {
        let now = new.last_seen;
        let one = match self.known.remove(&new.id) {
            Some(known) => known.seen_again(&new),
            None => new,
        };
        self.known.insert(one.id.clone(), one);
        if self.known.len() > MAX_EPISODES {
            let is_users = |one: &Episode| matches!(one.origin, Origin::User | Origin::Adopted);
            // What the user wrote or adopted goes last.
            let worth = |one: &Episode| one.score_at(now) + f64::from(u8::from(is_users(one)));
            let least = self
                .known
                .values()
                .min_by(|a, b| worth(a).total_cmp(&worth(b)).then(a.last_seen.cmp(&b.last_seen)));
            let id = least.map(|one| one.id.clone()).unwrap_or_default();
            self.known.remove(&id);
        }
    }

    /// [Learns](Episodes::learn) a fix in `session`, which counts once: whether it is the first one
    /// of its code, language and class there.
    pub fn learn_fix(&mut self, new: Episode, session: &str) -> bool {
        let is_there = |one: &Episode| one.sessions.iter().any(|of| of == session);
        let is_first = !self.iter().any(|one| one.body.fix() == new.body.fix() && is_there(one));
        if is_first {
            self.learn(Episode { sessions: vec![session.to_owned()], ..new });
        }
        is_first
    }

    /// Counts a use of the episode `id`. Whether it exists.
    pub fn used(&mut self, id: &str, outcome: Outcome, now: i64) -> bool {
        self.change(id, |one| one.used(outcome, now))
    }

    /// Undoes that the episode `id` was seen in `session`; it goes with the last one.
    pub fn unlearn(&mut self, id: &str, session: &str) {
        self.change(id, |mut one| {
            one.sessions.retain(|of| of != session);
            Episode { seen: one.seen.saturating_sub(1), ..one }
        });
        self.known.retain(|known, one| known != id || one.seen > 0);
    }

    pub fn remove(&mut self, id: &str) -> Option<Episode> {
        self.known.remove(id)
    }

    /// Adds the episodes of another memory that are not here yet, as imported ones. Their scores
    /// start again, because they are not valid here. Returns how many are new.
    pub fn import(&mut self, theirs: &Episodes) -> usize {
        let before = self.known.len();
        let room = MAX_EPISODES.saturating_sub(before);
        let is_new = |one: &&Episode| !self.known.contains_key(&one.id);
        let imported = |one: &Episode| {
            let new = Episode::new(one.body.clone(), Origin::Imported, one.last_seen);
            Episode { seen: one.seen, made: one.made, ..new }
        };
        let new: Vec<Episode> = theirs.iter().filter(is_new).take(room).map(imported).collect();
        self.known.extend(new.into_iter().map(|one| (one.id.clone(), one)));
        self.known.len() - before
    }

    /// The mean score; `None` without an episode.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "at most 10,000 episodes")]
    pub fn average_score(&self, now: i64) -> Option<f64> {
        let sum: f64 = self.iter().map(|one| one.score_at(now)).sum();
        (!self.is_empty()).then(|| sum / self.len() as f64)
    }
}

impl FromIterator<Episode> for Episodes {
    fn from_iter<I: IntoIterator<Item = Episode>>(all: I) -> Episodes {
        let known = all.into_iter().map(|one| (one.id.clone(), one)).collect();
        Episodes { known, unread: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
