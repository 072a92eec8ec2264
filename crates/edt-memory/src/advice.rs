//! Which lesson an answer to a refusal has: at most one, and none if it is not certain enough.

use crate::class::Class;
use crate::episodes::{Body, Episode, Episodes, Origin};
use edt_journal::refusals::Cause;
use edt_types::{Code, Finding};

/// A lesson needs so many fixes of refusals of its kind.
const MIN_FIXES: u64 = 3;
/// The lower bound of a class's share of the fixes, with [`Z`], must be at least this.
const MIN_SHARE: f64 = 0.6;
/// One-sided, at 90 %: three of three fixes are enough, and four of five are not.
const Z: f64 = 1.2816;

/// A class that may be shown with a code.
struct Rule {
    code: Code,
    class: Class,
    /// What was done, after "landed".
    says: &'static str,
    /// With this cause the refusal says the same itself.
    unless: Option<Cause>,
}

const WHITE_SPACE: &str = "after only the white space of the texts was changed";
const MARKS: &str = "without the line numbers or diff marks at the beginning of the lines sent";
const ESCAPES: &str = "after only escapes in the texts were changed, such as \\\" or &lt;";
const QUOTES: &str = "after only the forms of the quotes were changed";

const fn rule(code: Code, class: Class, says: &'static str) -> Rule {
    Rule { code, class, says, unless: None }
}

/// Every pair of a code and a class that is ever shown. What is missing here is off:
///
/// * a way around a guard: another mode, another format or another place after a guard's refusal;
/// * what the refusal says itself: `stale_text`, `missing_context`, `missing_old_text`, `hash`,
///   `wrong_path`, `wrong_place`, `elision` and `bracket` with the codes that have these fixes;
/// * what is too rare to be measured: `lost_import`; and `other`.
const RULES: &[Rule] = &[
    Rule {
        unless: Some(Cause::WhiteSpace),
        ..rule(Code::OldTextNotFound, Class::WhiteSpace, WHITE_SPACE)
    },
    rule(Code::OldTextNotFound, Class::CopiedMarks, MARKS),
    rule(Code::OldTextNotFound, Class::Escaping, ESCAPES),
    rule(Code::OldTextNotFound, Class::Quotes, QUOTES),
    rule(Code::OldTextNotFound, Class::ShorterText, "with a shorter `old_text`"),
    Rule {
        unless: Some(Cause::WhiteSpace),
        ..rule(Code::InvalidPatch, Class::WhiteSpace, WHITE_SPACE)
    },
    rule(Code::InvalidPatch, Class::CopiedMarks, MARKS),
    rule(Code::InvalidPatch, Class::Format, "as edits with `old_text` in place of a patch"),
    rule(Code::SyntaxError, Class::WhiteSpace, WHITE_SPACE),
    rule(Code::SyntaxError, Class::Escaping, ESCAPES),
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
#[derive(Debug, Clone, PartialEq, Eq)]
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

fn note(episodes: &Episodes, kind: &Kind, now: i64) -> Option<Lesson> {
    let is_for = |one: &&Episode| match &one.body {
        Body::Note { code, language, .. } => {
            *code == kind.code && (language.is_none() || *language == kind.language)
        }
        _ => false,
    };
    let shown = episodes.iter().filter(|one| one.may_be_shown(now)).filter(is_for);
    // The note for the language comes before the one for every file.
    let rank = |one: &Episode| {
        let of_language = matches!(&one.body, Body::Note { language: Some(_), .. });
        (of_language, one.score_at(now))
    };
    let best = shown.max_by(|a, b| {
        let ((a_own, a_score), (b_own, b_score)) = (rank(a), rank(b));
        a_own.cmp(&b_own).then(a_score.total_cmp(&b_score))
    })?;
    let Body::Note { text, .. } = &best.body else { return None };
    let from = match best.origin {
        Origin::User => "the user's note",
        _ => "an imported note that the user adopted",
    };
    Some(Lesson { id: best.id.clone(), text: format!("{from}: {text}") })
}

fn repair(episodes: &Episodes, kind: &Kind, finding: &Finding, now: i64) -> Option<Lesson> {
    // The answer has the fix itself.
    let has_fix = ["correction", "request", "corrected_edit"];
    if has_fix.iter().any(|key| finding.evidence.contains_key(*key)) {
        return None;
    }
    let fixes: Vec<(&Episode, &Option<String>, Class)> = episodes
        .iter()
        .filter(|one| one.origin != Origin::Imported && one.deprecated.is_none())
        .filter_map(|one| match &one.body {
            Body::Repair { code, language, mode, class, .. }
                if *code == kind.code && *language == kind.language =>
            {
                Some((one, mode, *class))
            }
            _ => None,
        })
        .collect();
    let seen = |fixes: &[&(&Episode, &Option<String>, Class)]| -> u64 {
        fixes.iter().map(|(one, ..)| one.seen).sum()
    };
    // Those of the mode decide if there are enough of them.
    let of_mode: Vec<_> = fixes.iter().filter(|(_, mode, _)| **mode == kind.mode).collect();
    let among = if seen(&of_mode) >= MIN_FIXES { of_mode } else { fixes.iter().collect() };
    let all = seen(&among);
    RULES.iter().filter(|rule| rule.code.name() == kind.code).find_map(|rule| {
        let of_class: Vec<_> =
            among.iter().copied().filter(|(.., class)| *class == rule.class).collect();
        let count = seen(&of_class);
        let is_certain = all >= MIN_FIXES && lower_bound(count, all) >= MIN_SHARE;
        let says_itself = rule.unless.is_some() && rule.unless == Cause::of(&finding.evidence);
        let (best, ..) = of_class.iter().max_by_key(|(one, ..)| one.seen)?;
        if !is_certain || says_itself || !best.may_be_shown(now) {
            return None;
        }
        let says = rule.says;
        let text = format!("in this repository {count} of {all} such refusals landed {says}");
        Some(Lesson { id: best.id.clone(), text })
    })
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
