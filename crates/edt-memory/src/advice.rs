//! Which lesson an answer to a refusal has: at most one, and none if it is not certain enough.

use schemars::JsonSchema;
use serde::Serialize;

use crate::class::Class;
use crate::episodes::{Body, Episode, Episodes, Origin};
use edt_journal::refusals::Cause;
use edt_types::{Code, Finding};

/// A lesson needs so many fixes of refusals of its kind.
const MIN_FIXES: u64 = 3;
/// The lower bound of a class's share of the fixes, with [`Z`], must be at least this.
const MIN_SHARE: f64 = 0.6;
/// One-sided, at 95 %: five of five fixes are enough, and four of four are not. At 90 % three of
/// three were, and of three lessons in 806 refusals of public trajectories none was right.
const Z: f64 = 1.6449;

const WHITE_SPACE: &str = "after only the white space of the texts was changed";
const MARKS: &str = "without the line numbers or diff marks at the beginning of the lines sent";
const ESCAPES: &str = "after only escapes in the texts were changed, such as \\\" or &lt;";
const QUOTES: &str = "after only the forms of the quotes were changed";

/// Every pair of a code and a class that is ever shown, with what was done, after "landed". What is
/// missing here is off:
///
/// * a way around a guard: another mode, another format or another place after a guard's refusal;
/// * what the refusal says itself: `stale_text`, `missing_context`, `missing_old_text`, `hash`,
///   `wrong_path`, `wrong_place`, `elision` and `bracket` with the codes that have these fixes;
/// * `white_space` and `shorter_text` of a text that was not found: in 806 refusals of public
///   trajectories these fixes were in the answer itself, and what was left had another reason;
/// * `lost_import`, which a line cannot explain; and `other`.
///
/// What is here did not occur in those refusals: it is shown where a repository has its own fixes.
const RULES: &[(Code, Class, &str)] = &[
    (Code::OldTextNotFound, Class::CopiedMarks, MARKS),
    (Code::OldTextNotFound, Class::Escaping, ESCAPES),
    (Code::OldTextNotFound, Class::Quotes, QUOTES),
    (Code::InvalidPatch, Class::CopiedMarks, MARKS),
    (Code::InvalidPatch, Class::Format, "as edits with `old_text` in place of a patch"),
    (Code::SyntaxError, Class::WhiteSpace, WHITE_SPACE),
    (Code::SyntaxError, Class::Escaping, ESCAPES),
];

/// A refusal, as far as lessons depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    pub code: String,
    pub language: Option<String>,
    /// The mode of the refused edit.
    pub mode: Option<String>,
    /// The format of the refused request.
    pub format: Option<String>,
}

/// A lesson of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lesson {
    /// The id of the episode.
    pub id: String,
    /// One line.
    pub text: String,
}

/// The lesson for a refusal of this kind, with this finding: a note of the user, else what most
/// fixes of such refusals did.
#[must_use]
pub fn lesson(episodes: &Episodes, kind: &Kind, finding: &Finding, now: i64) -> Option<Lesson> {
    note(episodes, kind, now).or_else(|| repair(episodes, kind, finding, now))
}

/// Whether notes may be about refusals with `code`: errors of texts, paths and formats. What a
/// guard or the user decides has none, because a note must not lead around it.
#[must_use]
pub fn may_have_notes(code: Code) -> bool {
    (Code::FileExists..=Code::SymbolUnclear).contains(&code)
}

fn note(episodes: &Episodes, kind: &Kind, now: i64) -> Option<Lesson> {
    Code::ALL.iter().find(|code| code.name() == kind.code).filter(|code| may_have_notes(**code))?;
    let notes = episodes.iter().filter(|one| one.may_be_shown(now)).filter_map(|one| {
        let Body::Note { code, language, text } = &one.body else { return None };
        let is_for = language.is_none() || *language == kind.language;
        (*code == kind.code && is_for).then_some((language.is_some(), one, text))
    });
    // The note for the language comes before the one for every file.
    let (_, one, text) =
        notes.max_by(|a, b| a.0.cmp(&b.0).then(a.1.score_at(now).total_cmp(&b.1.score_at(now))))?;
    let is_users = one.origin == Origin::User;
    let from = if is_users { "the user's note" } else { "an imported note that the user adopted" };
    Some(Lesson { id: one.id.clone(), text: format!("{from}: {text}") })
}

/// An episode about fixes, with its mode and class.
type Fix<'e> = (&'e Episode, &'e Option<String>, Class);

fn repair(episodes: &Episodes, kind: &Kind, finding: &Finding, now: i64) -> Option<Lesson> {
    if is_answered(finding) {
        return None;
    }
    let counts = |one: &&Episode| one.origin != Origin::Imported && one.deprecated.is_none();
    let fixes = episodes.iter().filter(counts).filter_map(|one| {
        let Body::Repair { code, language, mode, class, .. } = &one.body else { return None };
        let is_alike = *code == kind.code && *language == kind.language;
        is_alike.then_some((one, mode, *class))
    });
    let fixes: Vec<Fix<'_>> = fixes.collect();
    let seen = |fixes: &[Fix<'_>]| fixes.iter().map(|(one, ..)| one.seen).sum::<u64>();
    let of_mode: Vec<Fix<'_>> =
        fixes.iter().copied().filter(|(_, mode, _)| **mode == kind.mode).collect();
    // Those of the mode decide if there are enough of them.
    let among = if seen(&of_mode) >= MIN_FIXES { of_mode } else { fixes };
    let all = seen(&among);
    RULES.iter().filter(|(code, ..)| code.name() == kind.code).find_map(|(_, class, done)| {
        let of_class: Vec<Fix<'_>> =
            among.iter().copied().filter(|(.., one)| one == class).collect();
        let (best, ..) = of_class.iter().max_by_key(|(one, ..)| one.seen)?;
        let count = seen(&of_class);
        let is_certain = all >= MIN_FIXES && lower_bound(count, all) >= MIN_SHARE;
        let text = format!("in this repository {count} of {all} such refusals landed {done}");
        let lesson = Lesson { id: best.id.clone(), text };
        (is_certain && best.may_be_shown(now)).then_some(lesson)
    })
}

/// Whether the answer has the fix itself. Such a refusal teaches nothing about the others.
pub(crate) fn is_answered(finding: &Finding) -> bool {
    let has = |key: &str| finding.evidence.contains_key(key);
    let says_space = Cause::of(&finding.evidence) == Some(Cause::WhiteSpace);
    says_space || has("correction") || has("request") || has("corrected_edit")
}

/// The lower end of Wilson's interval for a share of `count` in `all`.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn lower_bound(count: u64, all: u64) -> f64 {
    if all == 0 {
        return 0.0;
    }
    let (n, share) = (all as f64, count as f64 / all as f64);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    (share + Z * Z / (2.0 * n) - spread) / (1.0 + Z * Z / n)
}

#[cfg(test)]
mod tests;
