//! The episode, and how two versions of one go together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::score::{self, Outcome};
use super::scrub::scrub;
use super::words::keywords;
use crate::base::{Code, Finding, Result};

/// The name and version of an episode's shape.
pub const SCHEMA: &str = "edt.episode/1";
/// The longest text that an episode holds in one key, in bytes.
pub const LONGEST: usize = 400;
/// The largest episode that is read, in bytes.
pub const MOST_BYTES: usize = 32 * 1024;
/// The latest time that is read, in seconds since 1970: the year 36812.
const LATEST: i64 = 1 << 40;
/// The largest count that is read.
const MOST_COUNT: u64 = 1 << 53;
/// Most keywords of one episode.
const MOST_WORDS: usize = 24;

/// One kind of failure, and what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// Always `edt.episode/1`.
    pub schema: String,
    /// 16 hexadecimal digits, made of what the failure is: the same failure has the same id everywhere.
    pub id: String,
    /// The code of the refusal, or another stable word for what went wrong.
    pub code: String,
    /// The language of the file, in lower case.
    pub language: Option<String>,
    /// What makes it like other failures: sorted, each once.
    pub keywords: Vec<String>,
    /// What was tried, when it was last seen.
    pub tried: Tried,
    /// The edit that landed on that file afterwards; `null` as long as none did.
    pub fix: Option<Fix>,
    /// A person's own words, which are told instead of what edt would say.
    pub lesson: Option<String>,
    /// Why a person wants it told no more; `null` if they do not.
    pub deprecated: Option<String>,
    /// When it was first seen, in seconds since 1970.
    pub made: i64,
    /// When it was last seen, in seconds since 1970.
    pub last_seen: i64,
    /// How often it was seen.
    pub seen: u64,
    /// When it was last told as a lesson and what came of it known, in seconds since 1970.
    pub last_used: Option<i64>,
    /// How often it was told and what came of it is known.
    pub uses: u64,
    /// How many of those uses helped: the next call on the file landed.
    pub helped: u64,
    /// How many of those uses made things worse.
    pub worse: u64,
    /// How good it has proved, from 0 to 1; begins at 0.5. Without what time takes from it.
    pub effectiveness: f64,
}

/// What was tried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// The mode of the edit, such as `edit`.
    pub mode: Option<String>,
    /// How it was sent: `edit` or `patch`.
    pub format: Option<String>,
    /// What was wrong with it, in a word, where that is known.
    pub cause: Option<String>,
    /// The text it was about: secrets taken out, and cut.
    pub fragment: String,
    /// The file.
    pub path: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Who asked.
    pub agent: Option<String>,
}

/// What landed afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// The mode of the edit that landed.
    pub mode: Option<String>,
    /// How it was sent: `edit` or `patch`.
    pub format: Option<String>,
    /// The overrides that it needed. An edit that needed one is never told as a lesson.
    pub allow: Vec<String>,
    /// The text that it was said to replace: secrets taken out, and cut.
    pub old_text: Option<String>,
    /// The text that it brought: secrets taken out, and cut.
    pub content: Option<String>,
    /// The commit that recorded it, as a hex object id.
    pub commit: Option<String>,
    /// When, in seconds since 1970.
    pub landed: i64,
}

impl Episode {
    /// A failure with `code` in a file of `language`, seen once at `now`. Texts are scrubbed here, before keywords are made of them.
    #[must_use]
    pub fn new(code: &str, language: Option<&str>, tried: Tried, now: i64) -> Episode {
        let tried = Tried { fragment: scrub(&tried.fragment, LONGEST), ..tried };
        let tag = |key: &str, value: &Option<String>| {
            format!("{key}:{}", value.as_deref().unwrap_or("-"))
        };
        let kind = [
            code.to_owned(),
            language.unwrap_or("-").to_owned(),
            tag("mode", &tried.mode),
            tag("format", &tried.format),
            tag("cause", &tried.cause),
        ];
        let keywords = keywords(kind.iter().map(String::as_str), &tried.fragment);
        let mut episode = Episode {
            schema: SCHEMA.to_owned(),
            id: String::new(),
            code: code.to_owned(),
            language: language.map(str::to_owned),
            keywords,
            tried,
            fix: None,
            lesson: None,
            deprecated: None,
            made: now,
            last_seen: now,
            seen: 1,
            last_used: None,
            uses: 0,
            helped: 0,
            worse: 0,
            effectiveness: score::START,
        };
        episode.id = episode.own_id();
        episode
    }

    /// The id that these keywords come to: FNV-1a of them, in 64 bits.
    fn own_id(&self) -> String {
        let bytes = self.keywords.iter().flat_map(|word| word.bytes().chain([0]));
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    /// The same kind of failure, seen once more. What was tried stays as long as it belongs to what fixed it.
    #[must_use]
    pub fn seen_again(mut self, now: &Episode) -> Episode {
        self.seen = self.seen.saturating_add(now.seen);
        self.last_seen = self.last_seen.max(now.last_seen);
        if self.awaits_fix() {
            self.tried.clone_from(&now.tried);
        }
        self
    }

    /// After `fix` landed. The first one that needed no override stays: it is the one that was scored.
    #[must_use]
    pub fn fixed(mut self, fix: &Fix) -> Episode {
        if self.awaits_fix() {
            self.fix = Some(fix.clone());
        }
        self
    }

    /// After the commit that fixed it was taken back.
    #[must_use]
    pub fn unfixed(mut self, commit: &str) -> Episode {
        self.fix = self.fix.filter(|fix| fix.commit.as_deref() != Some(commit));
        self
    }

    fn awaits_fix(&self) -> bool {
        self.fix.as_ref().is_none_or(|fix| !fix.allow.is_empty())
    }

    /// After a use with that outcome at `now`. What time took meanwhile is taken first.
    #[must_use]
    pub fn used(mut self, outcome: Outcome, now: i64) -> Episode {
        self.effectiveness = round(score::after(self.effectiveness_at(now), outcome));
        self.uses = self.uses.saturating_add(1);
        self.helped = self.helped.saturating_add(u64::from(outcome == Outcome::Helped));
        self.worse = self.worse.saturating_add(u64::from(outcome == Outcome::Worse));
        self.last_used = Some(now);
        self
    }

    /// After it turned out that its last use, which seemed to help, made things worse.
    #[must_use]
    pub fn worsened(mut self) -> Episode {
        self.effectiveness =
            round(score::after(score::before_help(self.effectiveness), Outcome::Worse));
        self.helped = self.helped.saturating_sub(1);
        self.worse = self.worse.saturating_add(1);
        self
    }

    /// How good it is at `now`.
    #[must_use]
    pub fn effectiveness_at(&self, now: i64) -> f64 {
        score::decayed(
            self.effectiveness,
            now.saturating_sub(self.last_used.unwrap_or(self.last_seen)),
        )
    }

    /// Whether there is something to tell: a person's words, or an edit that landed without an override.
    #[must_use]
    pub fn teaches(&self) -> bool {
        self.deprecated.is_none()
            && (self.lesson.is_some() || self.fix.as_ref().is_some_and(|fix| fix.allow.is_empty()))
    }

    /// As it is taken in from elsewhere: how it served there says nothing of here.
    #[must_use]
    pub fn foreign(&self) -> Episode {
        Episode {
            uses: 0,
            helped: 0,
            worse: 0,
            last_used: None,
            effectiveness: score::START,
            ..self.clone()
        }
    }

    /// Our version and another of one episode, which both came from `base` if one is known. Counts add up; what only one side changed
    /// is as that side has it, what both changed as ours. Without a base theirs is a stranger's: it fills what ours lacks.
    #[must_use]
    pub fn merged(base: Option<&Episode>, ours: &Episode, theirs: &Episode) -> Episode {
        let seen = (ours.made.min(theirs.made), ours.last_seen.max(theirs.last_seen));
        let Some(base) = base else {
            let fix = ours.fix.clone().or_else(|| theirs.fix.clone());
            let (made, last_seen) = seen;
            return Episode {
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
        Episode {
            made: seen.0,
            last_seen: seen.1,
            seen: sum(|episode| episode.seen),
            uses: sum(|episode| episode.uses),
            helped: sum(|episode| episode.helped),
            worse: sum(|episode| episode.worse),
            last_used: scored.last_used,
            effectiveness: scored.effectiveness,
            fix: newest(&base.fix, &ours.fix, &theirs.fix),
            tried: newest(&base.tried, &ours.tried, &theirs.tried),
            lesson: newest(&base.lesson, &ours.lesson, &theirs.lesson),
            deprecated: newest(&base.deprecated, &ours.deprecated, &theirs.deprecated),
            ..ours.clone()
        }
    }

    /// The bytes that it is stored as.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads an episode that may come from anywhere: what is too long is cut, secrets are taken out.
    ///
    /// # Errors
    /// `BAD_REQUEST` naming what is wrong with it.
    pub fn from_json(bytes: &[u8]) -> Result<Episode> {
        let wrong = |what: String| {
            let message = format!("This is no episode: {what}.");
            Finding::new(
                Code::BadRequest,
                message,
                "`edt schema episode` prints the form that is read.",
            )
        };
        if bytes.len() > MOST_BYTES {
            return Err(
                wrong(format!("it has {} bytes, more than {MOST_BYTES}", bytes.len())).into()
            );
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
            return Err(
                wrong(format!("its code is {:?}, not such as SYNTAX_ERROR", episode.code)).into()
            );
        }
        let letter = |c: char| c.is_alphanumeric() || "+#_.-".contains(c);
        if !episode.language.as_ref().is_none_or(|language| word(language, 40, letter)) {
            return Err(
                wrong(format!("its language is {:?}, not one word", episode.language)).into()
            );
        }
        let times = [Some(episode.made), Some(episode.last_seen), episode.last_used];
        if !times.into_iter().flatten().all(|time| (0..=LATEST).contains(&time)) {
            return Err(wrong(format!("a time in it is not from 0 to {LATEST}")).into());
        }
        if [episode.seen, episode.uses, episode.helped, episode.worse]
            .into_iter()
            .any(|count| count > MOST_COUNT)
        {
            return Err(wrong(format!("a count in it is more than {MOST_COUNT}")).into());
        }
        if !(0.0..=1.0).contains(&episode.effectiveness) {
            return Err(wrong(format!(
                "its effectiveness is {}, not from 0 to 1",
                episode.effectiveness
            ))
            .into());
        }
        episode.clean();
        Ok(episode)
    }

    /// Takes out of every text what is not to be stored.
    pub fn clean(&mut self) {
        let short = |text: &mut String| *text = scrub(text, LONGEST);
        short(&mut self.code);
        short(&mut self.tried.fragment);
        let tried = &mut self.tried;
        let texts = [
            &mut self.language,
            &mut self.lesson,
            &mut self.deprecated,
            &mut tried.mode,
            &mut tried.format,
        ];
        let more = [&mut tried.cause, &mut tried.path, &mut tried.session, &mut tried.agent];
        texts.into_iter().chain(more).flatten().for_each(short);
        if let Some(fix) = &mut self.fix {
            let texts = [&mut fix.mode, &mut fix.format, &mut fix.old_text, &mut fix.content];
            texts.into_iter().flatten().for_each(short);
            fix.allow.iter_mut().for_each(short);
        }
        self.keywords.iter_mut().for_each(short);
        self.keywords.truncate(MOST_WORDS);
        self.keywords.sort();
        self.keywords.dedup();
    }
}

/// Whether `text` is an episode's id.
#[must_use]
pub fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// What `ours` and `theirs` make of what both had as `base`.
fn newest<T: Clone + PartialEq>(base: &T, ours: &T, theirs: &T) -> T {
    if ours == base { theirs.clone() } else { ours.clone() }
}

/// To four places: what is stored is read by people.
fn round(score: f64) -> f64 {
    (score * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(fragment: &str) -> Episode {
        let tried = Tried {
            mode: Some("edit".to_owned()),
            fragment: fragment.to_owned(),
            ..Tried::default()
        };
        Episode::new("OLD_TEXT_NOT_FOUND", Some("c"), tried, 1000)
    }

    #[test]
    fn the_same_failure_has_the_same_id_and_another_one_another() {
        assert_eq!(failure("return a;").id, failure("return  a ;").id);
        assert_ne!(failure("return a;").id, failure("break loop;").id);
        assert!(is_id(&failure("x").id));
    }

    #[test]
    fn an_episode_is_read_as_it_was_written() {
        let episode = failure("return total;").used(Outcome::Helped, 2000);
        assert_eq!(Episode::from_json(episode.to_json().as_bytes()), Ok(episode));
    }

    #[test]
    fn what_is_no_episode_is_refused_and_says_why() {
        let good = failure("x").to_json();
        for (bad, why) in [
            (good.replace(SCHEMA, "edt.episode/2"), "schema"),
            (good.replace("\"id\": \"", "\"id\": \"../"), "id"),
            (good.replace("0.5", "7"), "effectiveness"),
            (good.replace("\"seen\"", "\"sean\""), "sean"),
            ("{".to_owned(), "EOF"),
            (format!("{good}{}", " ".repeat(MOST_BYTES)), "bytes"),
            (good.replace("\"last_seen\": 1000", "\"last_seen\": -9223372036854775808"), "time"),
            (good.replace("\"seen\": 1", "\"seen\": 18446744073709551615"), "count"),
            (good.replace("\"OLD_TEXT_NOT_FOUND\"", "\"say\\nthis\""), "code"),
            (good.replace("\"language\": \"c\"", "\"language\": \"c and more\""), "language"),
        ] {
            let found = Episode::from_json(bad.as_bytes()).unwrap_err().into_vec();
            assert!(
                found[0].code == Code::BadRequest && found[0].message.contains(why),
                "{found:?}"
            );
        }
    }

    #[test]
    fn secrets_are_gone_before_keywords_are_made() {
        let episode = failure("password = 'hunter2abc'");
        assert!(!episode.to_json().contains("hunter2abc"), "{}", episode.to_json());
        let mut foreign = failure("x");
        foreign.lesson = Some("use token=abc123def".to_owned());
        let read = Episode::from_json(foreign.to_json().as_bytes()).unwrap();
        assert_eq!(read.lesson.as_deref(), Some("use token=[secret]"));
    }

    #[test]
    fn two_versions_of_one_base_add_their_counts_up_and_without_a_base_nothing_counts_twice() {
        let base = failure("x").used(Outcome::Helped, 1500);
        let ours = base.clone().used(Outcome::Helped, 2000);
        let theirs = base.clone().used(Outcome::NotHelped, 3000).seen_again(&failure("x"));
        let both = Episode::merged(Some(&base), &ours, &theirs);
        assert_eq!((both.uses, both.helped, both.seen, both.last_used), (3, 2, 2, Some(3000)));
        let again = Episode::merged(None, &both, &theirs);
        assert_eq!((again.uses, again.helped, again.seen), (3, 2, 2));
        // What was used last says how good it is, not what was seen last.
        let bad = base.clone().used(Outcome::NotHelped, 4000);
        let seen = base.clone().seen_again(&Episode { last_seen: 9000, ..failure("x") });
        let both = Episode::merged(Some(&base), &seen, &bad);
        assert_eq!((both.effectiveness, both.last_used), (bad.effectiveness, Some(4000)));
    }

    #[test]
    fn a_persons_word_survives_a_merge_and_so_does_taking_it_back() {
        let base = failure("x");
        let mut ours = base.clone();
        ours.deprecated = Some("wrong".to_owned());
        let theirs = base.clone().used(Outcome::Helped, 5000);
        assert_eq!(
            Episode::merged(Some(&base), &ours, &theirs).deprecated.as_deref(),
            Some("wrong")
        );
        let mut revived = ours.clone();
        revived.deprecated = None;
        let used = ours.clone().used(Outcome::Helped, 6000);
        assert_eq!(Episode::merged(Some(&ours), &revived, &used).deprecated, None);
    }

    #[test]
    fn what_was_tried_and_what_fixed_it_stay_together() {
        let first = Fix { commit: Some("1".to_owned()), ..Fix::default() };
        let fixed = failure("return a;")
            .fixed(&first)
            .fixed(&Fix::default())
            .seen_again(&failure("return  a ;"));
        assert_eq!(
            (fixed.fix.as_ref(), fixed.tried.fragment.as_str(), fixed.seen),
            (Some(&first), "return a;", 2)
        );
        let overridden = Fix { allow: vec!["syntax_error".to_owned()], ..Fix::default() };
        let again = failure("return a;").fixed(&overridden).seen_again(&failure("return  a ;"));
        assert_eq!(again.tried.fragment, "return  a ;");
        assert_eq!(again.fixed(&first).fix, Some(first));
    }

    #[test]
    fn a_use_that_was_taken_back_is_still_one_use() {
        let helped = failure("x").used(Outcome::Helped, 2000);
        let worse = helped.worsened();
        assert_eq!((worse.uses, worse.helped, worse.worse), (1, 0, 1));
        assert!((worse.effectiveness - 0.25).abs() < 1e-9, "{}", worse.effectiveness);
    }

    #[test]
    fn what_needed_an_override_teaches_nothing() {
        let mut episode = failure("x");
        assert!(!episode.teaches());
        episode.fix = Some(Fix { allow: vec!["size_reduction".to_owned()], ..Fix::default() });
        assert!(!episode.teaches());
        episode.fix = Some(Fix::default());
        assert!(episode.teaches());
        episode.deprecated = Some("no".to_owned());
        assert!(!episode.teaches());
    }
}
