//! The episode, and the merge of two versions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keywords::keywords;
use super::score::{self, UseOutcome};
use super::scrub::scrub;
use edt_types::{Code, Finding, Result};

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "edt.episode/1";
/// The longest text in one key.
pub const MAX_TEXT_BYTES: usize = 400;
pub const MAX_EPISODE_BYTES: usize = 32 * 1024;
/// The latest valid time, in seconds since 1970: the year 36812.
const MAX_TIME: i64 = 1 << 40;
const MAX_COUNT: u64 = 1 << 53;
const MAX_KEYWORDS: usize = 24;

/// One kind of failure, with its fix and statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// Always `edt.episode/1`.
    pub schema: String,
    /// 16 hexadecimal digits, a hash of the keywords: the same failure has the same id everywhere.
    pub id: String,
    /// The code of the refusal, or another stable word for the failure.
    pub code: String,
    /// The language of the file, in lower case.
    pub language: Option<String>,
    /// The keywords that determine similar failures; sorted and unique.
    pub keywords: Vec<String>,
    /// The refused attempt, of the latest occurrence.
    #[serde(rename = "tried")]
    pub attempt: FailedAttempt,
    /// The edit that landed on that file afterwards; `null` if none has.
    pub fix: Option<EpisodeFix>,
    /// The user's own text, shown instead of the generated lesson.
    pub lesson: Option<String>,
    /// Where the lesson, or without one the fix, comes from; absent if edt saw it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<TextOrigin>,
    /// Why the user deprecated it; `null` if it is not deprecated.
    pub deprecated: Option<String>,
    /// The time of the first occurrence, in seconds since 1970.
    pub made: i64,
    /// The time of the latest occurrence, in seconds since 1970.
    pub last_seen: i64,
    /// The number of occurrences.
    pub seen: u64,
    /// The time of the latest use of its lesson with a known outcome, in seconds since 1970.
    pub last_used: Option<i64>,
    /// How often its lesson was shown and the outcome is known.
    pub uses: u64,
    /// The number of uses that helped: the next call on the file landed.
    pub helped: u64,
    /// The number of uses after which things were worse.
    pub worse: u64,
    /// The effectiveness at the latest use, from 0 to 1; it starts at 0.5. The decay over time is
    /// not included.
    pub effectiveness: f64,
}

/// Where a text comes from. A lesson is data for its reader, and no instruction of the user unless
/// the user wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextOrigin {
    /// The user wrote it here, at a terminal.
    User,
    /// An agent wrote it here.
    Agent,
    /// It was imported.
    Imported,
}

/// A refused attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailedAttempt {
    /// The mode of the edit, such as `edit`.
    pub mode: Option<String>,
    /// The format of the request: `edit` or `patch`.
    pub format: Option<String>,
    /// The cause in one word, if it is known.
    pub cause: Option<String>,
    /// The text of the edit, redacted and truncated.
    pub fragment: String,
    /// The path of the file.
    pub path: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The agent that sent it.
    pub agent: Option<String>,
}

/// The edit that landed afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EpisodeFix {
    /// The mode of the edit that landed.
    pub mode: Option<String>,
    /// The format of the request: `edit` or `patch`.
    pub format: Option<String>,
    /// The overrides that it needed. An edit that needed one is never shown as a lesson.
    pub allow: Vec<String>,
    /// The text to replace, redacted and truncated.
    pub old_text: Option<String>,
    /// The new text, redacted and truncated.
    pub content: Option<String>,
    /// The commit that recorded it, as a hex object id.
    pub commit: Option<String>,
    /// The time it landed, in seconds since 1970.
    pub landed: i64,
}

impl Episode {
    /// A failure with `code` in a file of `language`, which occurred once at `now`. Texts are
    /// redacted before keywords are made from them.
    #[must_use]
    pub fn new(code: &str, language: Option<&str>, attempt: FailedAttempt, now: i64) -> Episode {
        let attempt =
            FailedAttempt { fragment: scrub(&attempt.fragment, MAX_TEXT_BYTES), ..attempt };
        let tag = |key: &str, value: &Option<String>| {
            format!("{key}:{}", value.as_deref().unwrap_or("-"))
        };
        let kind = [
            code.to_owned(),
            language.unwrap_or("-").to_owned(),
            tag("mode", &attempt.mode),
            tag("format", &attempt.format),
            tag("cause", &attempt.cause),
        ];
        let keywords = keywords(kind.iter().map(String::as_str), &attempt.fragment);
        let mut episode = Episode {
            schema: SCHEMA.to_owned(),
            id: String::new(),
            code: code.to_owned(),
            language: language.map(str::to_owned),
            keywords,
            attempt,
            fix: None,
            lesson: None,
            origin: None,
            deprecated: None,
            made: now,
            last_seen: now,
            seen: 1,
            last_used: None,
            uses: 0,
            helped: 0,
            worse: 0,
            effectiveness: score::INITIAL,
        };
        episode.id = episode.computed_id();
        episode
    }

    /// FNV-1a of the keywords, in 64 bits.
    fn computed_id(&self) -> String {
        let bytes = self.keywords.iter().flat_map(|word| word.bytes().chain([0]));
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    /// After further occurrences `now`. The attempt is replaced only while there is no fix for it.
    #[must_use]
    pub fn seen_again(mut self, now: &Episode) -> Episode {
        self.seen = self.seen.saturating_add(now.seen);
        self.last_seen = self.last_seen.max(now.last_seen);
        if self.needs_fix() {
            self.attempt.clone_from(&now.attempt);
        }
        self
    }

    /// After `fix` landed. The first fix without an override is kept, because the score belongs to
    /// it.
    #[must_use]
    pub fn fixed(mut self, fix: &EpisodeFix) -> Episode {
        if self.needs_fix() {
            self.fix = Some(fix.clone());
            self.origin = self.origin.filter(|_| self.lesson.is_some());
        }
        self
    }

    /// After the commit of the fix was undone.
    #[must_use]
    pub fn unfixed(mut self, commit: &str) -> Episode {
        self.fix = self.fix.filter(|fix| fix.commit.as_deref() != Some(commit));
        self
    }

    fn needs_fix(&self) -> bool {
        self.fix.as_ref().is_none_or(|fix| !fix.allow.is_empty())
    }

    /// After a use with this outcome at `now`. The decay since the last use is applied first.
    #[must_use]
    pub fn used(mut self, outcome: UseOutcome, now: i64) -> Episode {
        self.effectiveness = round(score::after(self.effectiveness_at(now), outcome));
        self.uses = self.uses.saturating_add(1);
        self.helped = self.helped.saturating_add(u64::from(outcome == UseOutcome::Helped));
        self.worse = self.worse.saturating_add(u64::from(outcome == UseOutcome::Worse));
        self.last_used = Some(now);
        self
    }

    /// Changes the outcome of the latest use from `Helped` to `Worse`.
    #[must_use]
    pub fn worsened(mut self) -> Episode {
        self.effectiveness =
            round(score::after(score::before_helped(self.effectiveness), UseOutcome::Worse));
        self.helped = self.helped.saturating_sub(1);
        self.worse = self.worse.saturating_add(1);
        self
    }

    /// The effectiveness with decay until `now`.
    #[must_use]
    pub fn effectiveness_at(&self, now: i64) -> f64 {
        score::decayed(
            self.effectiveness,
            now.saturating_sub(self.last_used.unwrap_or(self.last_seen)),
        )
    }

    /// Whether it has a lesson: the user's text, or an edit that landed without an override.
    #[must_use]
    pub fn teaches(&self) -> bool {
        self.deprecated.is_none()
            && (self.lesson.is_some() || self.fix.as_ref().is_some_and(|fix| fix.allow.is_empty()))
    }

    /// The episode without its statistics, which are not valid in another repository.
    #[must_use]
    pub fn imported(&self) -> Episode {
        Episode {
            uses: 0,
            helped: 0,
            worse: 0,
            last_used: None,
            effectiveness: score::INITIAL,
            origin: Some(TextOrigin::Imported),
            ..self.clone()
        }
    }

    /// The lesson `new`, written again. An agent does not replace what the user wrote.
    #[must_use]
    pub fn taught(self, new: &Episode) -> Episode {
        if self.origin == Some(TextOrigin::User) && new.origin != Some(TextOrigin::User) {
            return self;
        }
        Episode { lesson: new.lesson.clone(), origin: new.origin, deprecated: None, ..self }
    }

    /// The origin of what is shown after an import: `lesson`, else `fix`.
    fn origin_of(&self, lesson: Option<&String>, fix: Option<&EpisodeFix>) -> Option<TextOrigin> {
        let is_same = if lesson.is_some() {
            lesson == self.lesson.as_ref()
        } else {
            fix == self.fix.as_ref()
        };
        if is_same { self.origin } else { Some(TextOrigin::Imported) }
    }

    /// Three-way merge of two versions. Counts are added; for other fields a change of one side
    /// wins, and ours if both changed. Without a base, theirs only fills in a missing fix.
    #[must_use]
    pub fn merged(base: Option<&Episode>, ours: &Episode, theirs: &Episode) -> Episode {
        let seen = (ours.made.min(theirs.made), ours.last_seen.max(theirs.last_seen));
        let Some(base) = base else {
            let fix = ours.fix.clone().or_else(|| theirs.fix.clone());
            let (made, last_seen) = seen;
            return Episode {
                origin: ours.origin_of(ours.lesson.as_ref(), fix.as_ref()),
                made,
                last_seen,
                seen: ours.seen.max(theirs.seen),
                fix,
                ..ours.clone()
            };
        };
        let sum =
            |of: fn(&Episode) -> u64| of(ours).saturating_add(of(theirs).saturating_sub(of(base)));
        let scored = if theirs.last_used > ours.last_used { theirs } else { ours };
        let fix = newest(&base.fix, &ours.fix, &theirs.fix);
        let lesson = newest(&base.lesson, &ours.lesson, &theirs.lesson);
        Episode {
            origin: ours.origin_of(lesson.as_ref(), fix.as_ref()),
            made: seen.0,
            last_seen: seen.1,
            seen: sum(|episode| episode.seen),
            uses: sum(|episode| episode.uses),
            helped: sum(|episode| episode.helped),
            worse: sum(|episode| episode.worse),
            last_used: scored.last_used,
            effectiveness: scored.effectiveness,
            fix,
            attempt: newest(&base.attempt, &ours.attempt, &theirs.attempt),
            lesson,
            deprecated: newest(&base.deprecated, &ours.deprecated, &theirs.deprecated),
            ..ours.clone()
        }
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Parses an episode from an untrusted source. Long texts are truncated and secrets are
    /// redacted.
    ///
    /// # Errors
    /// `BAD_REQUEST` naming the invalid part.
    pub fn from_json(bytes: &[u8]) -> Result<Episode> {
        let wrong = |what: String| {
            let summary = format!("This is not an episode: {what}.");
            Finding::new(
                Code::BadRequest,
                summary,
                "`edt schema episode` prints the expected format.",
            )
        };
        if bytes.len() > MAX_EPISODE_BYTES {
            return Err(wrong(format!(
                "it has {} bytes, more than {MAX_EPISODE_BYTES}",
                bytes.len()
            ))
            .into());
        }
        let mut episode: Episode =
            serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        if episode.schema != SCHEMA {
            return Err(wrong(format!("its schema is {:?}, not {SCHEMA:?}", episode.schema)).into());
        }
        if !is_id(&episode.id) {
            return Err(
                wrong(format!("its id is {:?}, not 16 hexadecimal digits", episode.id)).into()
            );
        }
        let word = |text: &str, most: usize, of: fn(char) -> bool| {
            (1..=most).contains(&text.len()) && text.chars().all(of)
        };
        if !word(&episode.code, 40, |c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
            return Err(wrong(format!(
                "its code is {:?}, not upper case with underscores as in SYNTAX_ERROR",
                episode.code
            ))
            .into());
        }
        let letter = |c: char| c.is_alphanumeric() || "+#_.-".contains(c);
        if !episode.language.as_ref().is_none_or(|language| word(language, 40, letter)) {
            return Err(
                wrong(format!("its language is {:?}, not one word", episode.language)).into()
            );
        }
        let attempt = &episode.attempt;
        let fix = episode.fix.iter().flat_map(|fix| [&fix.mode, &fix.format]);
        // These are shown without quotes.
        for text in
            [&attempt.mode, &attempt.format, &attempt.cause].into_iter().chain(fix).flatten()
        {
            if !word(text, 40, |c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
                return Err(wrong(format!(
                    "one of its modes, formats or causes is {text:?}, not one word"
                ))
                .into());
            }
        }
        let times = [Some(episode.made), Some(episode.last_seen), episode.last_used];
        if !times.into_iter().flatten().all(|time| (0..=MAX_TIME).contains(&time)) {
            return Err(wrong(format!("one of its times is not from 0 to {MAX_TIME}")).into());
        }
        if [episode.seen, episode.uses, episode.helped, episode.worse]
            .into_iter()
            .any(|count| count > MAX_COUNT)
        {
            return Err(wrong(format!("one of its counts is more than {MAX_COUNT}")).into());
        }
        if !(0.0..=1.0).contains(&episode.effectiveness) {
            return Err(wrong(format!(
                "its effectiveness is {}, not from 0 to 1",
                episode.effectiveness
            ))
            .into());
        }
        episode.scrub_texts();
        Ok(episode)
    }

    /// Redacts and truncates all texts.
    pub fn scrub_texts(&mut self) {
        let short = |text: &mut String| *text = scrub(text, MAX_TEXT_BYTES);
        short(&mut self.code);
        short(&mut self.attempt.fragment);
        let attempt = &mut self.attempt;
        let texts = [
            &mut self.language,
            &mut self.lesson,
            &mut self.deprecated,
            &mut attempt.mode,
            &mut attempt.format,
        ];
        let more =
            [&mut attempt.cause, &mut attempt.path, &mut attempt.session, &mut attempt.agent];
        texts.into_iter().chain(more).flatten().for_each(short);
        if let Some(fix) = &mut self.fix {
            let texts = [&mut fix.mode, &mut fix.format, &mut fix.old_text, &mut fix.content];
            texts.into_iter().flatten().for_each(short);
            fix.allow.iter_mut().for_each(short);
        }
        self.keywords.iter_mut().for_each(short);
        self.keywords.truncate(MAX_KEYWORDS);
        self.keywords.sort();
        self.keywords.dedup();
    }
}

#[must_use]
pub fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// The changed value; `ours` if both changed.
fn newest<T: Clone + PartialEq>(base: &T, ours: &T, theirs: &T) -> T {
    if ours == base { theirs.clone() } else { ours.clone() }
}

/// Rounds to four places, because the stored files are also read by users.
fn round(score: f64) -> f64 {
    (score * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(fragment: &str) -> Episode {
        let attempt = FailedAttempt {
            mode: Some("edit".to_owned()),
            fragment: fragment.to_owned(),
            ..FailedAttempt::default()
        };
        Episode::new("OLD_TEXT_NOT_FOUND", Some("c"), attempt, 1000)
    }

    #[test]
    fn only_the_same_failure_has_the_same_id() {
        assert_eq!(failure("return a;").id, failure("return  a ;").id);
        assert_ne!(failure("return a;").id, failure("break loop;").id);
        assert!(is_id(&failure("x").id));
    }

    #[test]
    fn an_episode_survives_a_round_trip() {
        let episode = failure("return total;").used(UseOutcome::Helped, 2000);
        assert_eq!(Episode::from_json(episode.to_json().as_bytes()), Ok(episode));
    }

    #[test]
    fn invalid_episodes_are_refused_with_the_reason() {
        let good = failure("x").to_json();
        for (bad, why) in [
            (good.replace(SCHEMA, "edt.episode/2"), "schema"),
            (good.replace("\"id\": \"", "\"id\": \"../"), "id"),
            (good.replace("0.5", "7"), "effectiveness"),
            (good.replace("\"seen\"", "\"sean\""), "sean"),
            ("{".to_owned(), "EOF"),
            (format!("{good}{}", " ".repeat(MAX_EPISODE_BYTES)), "bytes"),
            (good.replace("\"last_seen\": 1000", "\"last_seen\": -9223372036854775808"), "time"),
            (good.replace("\"seen\": 1", "\"seen\": 18446744073709551615"), "count"),
            (good.replace("\"OLD_TEXT_NOT_FOUND\"", "\"say\\nthis\""), "code"),
            (good.replace("\"language\": \"c\"", "\"language\": \"c and more\""), "language"),
        ] {
            let found = Episode::from_json(bad.as_bytes()).unwrap_err().into_vec();
            assert!(
                found[0].code == Code::BadRequest && found[0].summary.contains(why),
                "{found:?}"
            );
        }
    }

    #[test]
    fn secrets_are_redacted_before_keywords_are_made() {
        let episode = failure("password = 'hunter2abc'");
        assert!(!episode.to_json().contains("hunter2abc"), "{}", episode.to_json());
        let mut imported = failure("x");
        imported.lesson = Some("use token=abc123def".to_owned());
        let read = Episode::from_json(imported.to_json().as_bytes()).unwrap();
        assert_eq!(read.lesson.as_deref(), Some("use token=[secret]"));
    }

    #[test]
    fn a_merge_adds_counts_and_without_a_base_counts_nothing_twice() {
        let base = failure("x").used(UseOutcome::Helped, 1500);
        let ours = base.clone().used(UseOutcome::Helped, 2000);
        let theirs = base.clone().used(UseOutcome::NotHelped, 3000).seen_again(&failure("x"));
        let both = Episode::merged(Some(&base), &ours, &theirs);
        assert_eq!((both.uses, both.helped, both.seen, both.last_used), (3, 2, 2, Some(3000)));
        let again = Episode::merged(None, &both, &theirs);
        assert_eq!((again.uses, again.helped, again.seen), (3, 2, 2));
        // The effectiveness comes from the version used last, not seen last.
        let bad = base.clone().used(UseOutcome::NotHelped, 4000);
        let seen = base.clone().seen_again(&Episode { last_seen: 9000, ..failure("x") });
        let both = Episode::merged(Some(&base), &seen, &bad);
        assert_eq!((both.effectiveness, both.last_used), (bad.effectiveness, Some(4000)));
    }

    #[test]
    fn a_deprecation_by_the_user_and_its_removal_survive_a_merge() {
        let base = failure("x");
        let mut ours = base.clone();
        ours.deprecated = Some("wrong".to_owned());
        let theirs = base.clone().used(UseOutcome::Helped, 5000);
        assert_eq!(
            Episode::merged(Some(&base), &ours, &theirs).deprecated.as_deref(),
            Some("wrong")
        );
        let mut revived = ours.clone();
        revived.deprecated = None;
        let used = ours.clone().used(UseOutcome::Helped, 6000);
        assert_eq!(Episode::merged(Some(&ours), &revived, &used).deprecated, None);
    }

    #[test]
    fn an_attempt_and_its_fix_stay_together() {
        let first = EpisodeFix { commit: Some("1".to_owned()), ..EpisodeFix::default() };
        let fixed = failure("return a;")
            .fixed(&first)
            .fixed(&EpisodeFix::default())
            .seen_again(&failure("return  a ;"));
        assert_eq!(
            (fixed.fix.as_ref(), fixed.attempt.fragment.as_str(), fixed.seen),
            (Some(&first), "return a;", 2)
        );
        let overridden =
            EpisodeFix { allow: vec!["syntax_error".to_owned()], ..EpisodeFix::default() };
        let again = failure("return a;").fixed(&overridden).seen_again(&failure("return  a ;"));
        assert_eq!(again.attempt.fragment, "return  a ;");
        assert_eq!(again.fixed(&first).fix, Some(first));
    }

    #[test]
    fn a_use_that_was_undone_still_counts_as_one_use() {
        let helped = failure("x").used(UseOutcome::Helped, 2000);
        let worse = helped.worsened();
        assert_eq!((worse.uses, worse.helped, worse.worse), (1, 0, 1));
        assert!((worse.effectiveness - 0.25).abs() < 1e-9, "{}", worse.effectiveness);
    }

    #[test]
    fn a_fix_with_an_override_teaches_nothing() {
        let mut episode = failure("x");
        assert!(!episode.teaches());
        episode.fix =
            Some(EpisodeFix { allow: vec!["size_reduction".to_owned()], ..EpisodeFix::default() });
        assert!(!episode.teaches());
        episode.fix = Some(EpisodeFix::default());
        assert!(episode.teaches());
        episode.deprecated = Some("no".to_owned());
        assert!(!episode.teaches());
    }
}
