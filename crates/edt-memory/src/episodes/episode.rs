//! The episode: one thing that was learned, with its statistics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keywords::{MAX_KEYWORDS, keywords};
use super::score::{self, Outcome};
use crate::class::Class;

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "edt.episode/2";
/// The longest text of an episode, in bytes.
pub const MAX_TEXT_BYTES: usize = 2000;
/// The longest note, in bytes.
pub const MAX_NOTE_BYTES: usize = 400;
/// The latest valid time, in seconds since 1970: the year 36812.
const MAX_TIME: i64 = 1 << 40;
/// So many sessions are remembered: more than the least evidence for a lesson.
pub const MAX_SESSIONS: usize = 8;
const MAX_COUNT: u64 = 1 << 53;

/// One thing that was learned, with its statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// Always `edt.episode/2`.
    pub schema: String,
    /// 16 hexadecimal digits, a hash of what was learned: it has the same id everywhere.
    pub id: String,
    /// The words by which an `answer` is found; sorted and unique.
    pub keywords: Vec<String>,
    /// What was learned.
    pub body: Body,
    /// Where it comes from.
    pub origin: Origin,
    /// How well it served at the latest use, from 0 to 1; it starts at 0.5. The decay over time is
    /// not included.
    pub score: f64,
    /// How often it was shown, as far as the outcome is known.
    pub times_applied: u64,
    /// After how many of these the call succeeded.
    pub times_succeeded: u64,
    /// How often it was seen.
    pub seen: u64,
    /// The last sessions that a fix was seen in, as hashes of their names and beginnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
    /// The time it was first seen, in seconds since 1970.
    pub made: i64,
    /// The time it was last seen, in seconds since 1970.
    pub last_seen: i64,
    /// The time of the latest use, in seconds since 1970.
    pub last_used: Option<i64>,
    /// Why the user deprecated it; absent if it is not deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
}

/// What was learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// How a call that landed differed from the refused one. It has no code, no path and no text.
    Repair {
        /// The code of the refusal.
        code: String,
        /// The language of the file, in lower case.
        language: Option<String>,
        /// The mode of the refused edit.
        mode: Option<String>,
        /// The format of the refused request: `edit` or `patch`.
        format: Option<String>,
        class: Class,
    },
    /// The user's own words.
    Note {
        /// The code of the refusals whose answers have it.
        code: String,
        /// The language of the files; for all files if it is absent.
        language: Option<String>,
        text: String,
    },
    /// What an evaluation taught: a failed answer to a query, and the right one.
    Answer { query: String, failed: String, error: String, error_class: String, fixed: String },
}

/// Where an episode comes from. Only the user at a terminal makes it `user` or `adopted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Seen in this repository.
    Here,
    /// The user wrote it.
    User,
    /// It was imported, and is never shown.
    Imported,
    /// It was imported, and the user adopted it.
    Adopted,
}

impl Body {
    /// The fields that make two episodes the same.
    fn key<'b>(&'b self) -> Vec<&'b str> {
        let or = |text: &'b Option<String>| text.as_deref().unwrap_or("-");
        match self {
            Body::Repair { code, language, mode, format, class } => {
                vec!["repair", code, or(language), or(mode), or(format), class.name()]
            }
            Body::Note { code, language, text } => vec!["note", code, or(language), text],
            Body::Answer { query, error_class, .. } => vec!["answer", query, error_class],
        }
    }

    /// The code, the language and the class of a fix.
    #[must_use]
    pub fn fix(&self) -> Option<(&str, Option<&str>, Class)> {
        let Body::Repair { code, language, class, .. } = self else { return None };
        Some((code, language.as_deref(), *class))
    }

    /// The code of the refusals that it is about.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Body::Repair { code, .. } | Body::Note { code, .. } => Some(code),
            Body::Answer { .. } => None,
        }
    }

    /// The language of the files that it is about.
    #[must_use]
    pub fn language(&self) -> Option<&str> {
        match self {
            Body::Repair { language, .. } | Body::Note { language, .. } => language.as_deref(),
            Body::Answer { .. } => None,
        }
    }

    fn texts(&self) -> Vec<&str> {
        match self {
            Body::Repair { .. } => self.key(),
            Body::Note { code, text, .. } => vec![code, text],
            Body::Answer { query, failed, error, error_class, fixed } => {
                vec![query, failed, error, error_class, fixed]
            }
        }
    }
}

impl Episode {
    /// An episode that was seen once, at `now`. Texts of an answer are cut at [`MAX_TEXT_BYTES`].
    #[must_use]
    pub fn new(mut body: Body, origin: Origin, now: i64) -> Episode {
        if let Body::Answer { query, failed, error, error_class, fixed } = &mut body {
            for text in [query, failed, error, error_class, fixed] {
                text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
            }
        }
        Episode {
            schema: SCHEMA.to_owned(),
            id: id_of(&body),
            keywords: match &body {
                Body::Answer { query, .. } => keywords(query),
                _ => Vec::new(),
            },
            body,
            origin,
            score: score::INITIAL,
            times_applied: 0,
            times_succeeded: 0,
            seen: 1,
            sessions: Vec::new(),
            made: now,
            last_seen: now,
            last_used: None,
            deprecated: None,
        }
    }

    /// After the same was seen again, as `now` says. One that is [demoted](Episode::is_demoted)
    /// starts again; what was imported gives way to what was seen here.
    #[must_use]
    pub fn seen_again(self, now: &Episode) -> Episode {
        if self.origin == Origin::Imported && now.origin != Origin::Imported {
            return Episode { deprecated: self.deprecated, ..now.clone() };
        }
        let restarts = self.is_demoted(now.last_seen);
        let body = now.body.clone();
        let seen = self.seen.saturating_add(now.seen);
        let last_seen = self.last_seen.max(now.last_seen);
        let sessions = now.sessions.iter().chain(&self.sessions).take(MAX_SESSIONS).cloned();
        let sessions = sessions.collect();
        let again = Episode { body, seen, sessions, last_seen, ..self };
        if restarts {
            let score = score::INITIAL;
            return Episode {
                score,
                times_applied: 0,
                times_succeeded: 0,
                last_used: None,
                ..again
            };
        }
        again
    }

    /// After a use at `now`. The decay since the last use is applied first.
    #[must_use]
    pub fn used(self, outcome: Outcome, now: i64) -> Episode {
        Episode {
            score: round(score::after(self.score_at(now), outcome)),
            times_applied: self.times_applied.saturating_add(1),
            times_succeeded: self.times_succeeded + u64::from(outcome == Outcome::Succeeded),
            last_used: Some(now),
            ..self
        }
    }

    /// After the call that had succeeded with it was undone.
    #[must_use]
    pub fn use_undone(self) -> Episode {
        Episode {
            score: round(score::after(self.score, Outcome::Worse)),
            times_succeeded: self.times_succeeded.saturating_sub(1),
            ..self
        }
    }

    /// The score with its decay until `now`.
    #[must_use]
    pub fn score_at(&self, now: i64) -> f64 {
        let since = self.last_used.unwrap_or(self.last_seen);
        score::decayed(self.score, now.saturating_sub(since))
    }

    /// Whether it did not help often enough: its score is below 0.3 after three uses.
    #[must_use]
    pub fn is_demoted(&self, now: i64) -> bool {
        self.times_applied >= score::MIN_USES && self.score_at(now) < score::MIN_SCORE
    }

    /// Whether it may be shown at all.
    #[must_use]
    pub fn may_be_shown(&self, now: i64) -> bool {
        self.deprecated.is_none() && self.origin != Origin::Imported && !self.is_demoted(now)
    }

    /// It as a line of JSON, without the line feed.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses an episode from an untrusted source.
    ///
    /// # Errors
    /// Why this version of edt cannot read it, as the end of a sentence.
    pub fn from_json(line: &[u8]) -> Result<Episode, String> {
        let one: Episode = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let times = [Some(one.made), Some(one.last_seen), one.last_used];
        let are_times = times.iter().flatten().all(|time| (0..=MAX_TIME).contains(time));
        let texts = one.body.texts().into_iter().chain(one.deprecated.as_deref());
        let words = one.keywords.iter().chain(&one.sessions);
        let are_short = texts.chain(words.map(String::as_str));
        let are_words =
            one.keywords.len() <= MAX_KEYWORDS && one.keywords.is_sorted_by(|a, b| a < b);
        let rules = [
            (one.schema == SCHEMA, "`schema` is not edt.episode/2"),
            (one.id == id_of(&one.body), "`id` is not that of `body`"),
            ((0.0..=1.0).contains(&one.score), "`score` is not between 0 and 1"),
            (are_times, "a time is out of range"),
            (one.seen.max(one.times_applied) <= MAX_COUNT, "a count is out of range"),
            (one.times_succeeded <= one.times_applied, "more uses succeeded than there were"),
            (one.sessions.len() <= MAX_SESSIONS, "`sessions` are too many"),
            (are_words, "`keywords` are not sorted and unique, or too many"),
            (
                are_short.into_iter().all(|text| text.len() <= MAX_TEXT_BYTES),
                "a text is longer than 2000 bytes",
            ),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, broken)) => Err(broken.to_owned()),
            None => Ok(one),
        }
    }
}

fn id_of(body: &Body) -> String {
    hash_of(&body.key())
}

/// FNV-1a of the words, in 64 bits.
pub(crate) fn hash_of(words: &[&str]) -> String {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Four digits are exact enough, and short in JSON.
fn round(score: f64) -> f64 {
    (score * 1e4).round() / 1e4
}
