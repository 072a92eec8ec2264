//! An episode as a sentence: what was refused, and what landed.

use schemars::JsonSchema;
use serde::Serialize;

use super::episode::{Episode, EpisodeFix, FailedAttempt, TextOrigin};
use super::marks::{CUT, head};

/// The most bytes of each quoted text.
const MAX_QUOTED: usize = 120;
/// The most bytes of a lesson that the user wrote.
const MAX_WRITTEN: usize = 300;

/// A lesson that is shown with a refusal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Lesson {
    /// The episode's id.
    pub id: String,
    /// The text that is shown.
    pub text: String,
    /// The similarity of the failures: the shared part of all keywords, from 0 to 1.
    pub similarity: f64,
    /// The effectiveness of the lesson now, from 0 to 1.
    pub effectiveness: f64,
}

/// The lesson of `episode`; `None` if it has none.
#[must_use]
pub fn text(episode: &Episode) -> Option<String> {
    if !episode.teaches() {
        return None;
    }
    let language =
        episode.language.as_deref().map(|language| format!(" in {language}")).unwrap_or_default();
    let head = format!("{}{language}", episode.code);
    match (&episode.lesson, &episode.fix) {
        // Lessons may come from anyone, so the text is quoted on one line.
        (Some(lesson), _) => {
            let from = match episode.origin {
                Some(TextOrigin::User) => "as the user wrote",
                Some(TextOrigin::Agent) => "as an agent wrote",
                Some(TextOrigin::Imported) => "imported",
                None => "of unknown origin",
            };
            Some(format!("{head}, {from}: {}", quoted(lesson, MAX_WRITTEN)))
        }
        (None, Some(fix)) => {
            let from = match episode.origin {
                Some(TextOrigin::Imported) => ", imported",
                _ => "",
            };
            Some(format!("{head}{from}: {} {}", attempt_text(&episode.attempt), landed_text(fix)))
        }
        (None, None) => None,
    }
}

fn attempt_text(attempt: &FailedAttempt) -> String {
    let edit_kind = edit_kind(attempt.mode.as_deref(), attempt.format.as_deref());
    let fragment = if attempt.fragment.is_empty() {
        String::new()
    } else {
        format!(" with {}", quoted(&attempt.fragment, MAX_QUOTED))
    };
    let cause = attempt
        .cause
        .as_deref()
        .map(|cause| format!(" ({})", cause.replace('_', " ")))
        .unwrap_or_default();
    format!("{edit_kind}{fragment} was refused{cause}.")
}

fn landed_text(fix: &EpisodeFix) -> String {
    let edit_kind = edit_kind(fix.mode.as_deref(), fix.format.as_deref());
    let parts = [("old_text", &fix.old_text), ("content", &fix.content)];
    let parts = parts
        .into_iter()
        .filter_map(|(key, text)| Some(format!("{key} {}", quoted(text.as_deref()?, MAX_QUOTED))));
    let parts: Vec<String> = parts.collect();
    let with =
        if parts.is_empty() { String::new() } else { format!(" with {}", parts.join(" and ")) };
    format!("The edit that landed: {edit_kind}{with}.")
}

fn edit_kind(mode: Option<&str>, format: Option<&str>) -> String {
    match (mode, format) {
        (_, Some("patch")) => "a patch".to_owned(),
        (Some(mode), _) => format!("mode {mode}"),
        (None, _) => "an edit".to_owned(),
    }
}

/// `text` quoted on one line, truncated.
fn quoted(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return format!("{text:?}");
    }
    format!("{:?}{CUT}", head(text, max_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode() -> Episode {
        let attempt = FailedAttempt {
            mode: Some("edit".to_owned()),
            format: Some("edit".to_owned()),
            cause: Some("white_space".to_owned()),
            fragment: "  return a;".to_owned(),
            ..FailedAttempt::default()
        };
        Episode::new("OLD_TEXT_NOT_FOUND", Some("c"), attempt, 1)
    }

    #[test]
    fn a_lesson_says_what_was_refused_and_what_landed() {
        let mut one = episode();
        assert_eq!(text(&one), None);
        one.fix = Some(EpisodeFix {
            mode: Some("edit".to_owned()),
            old_text: Some("\treturn a;".to_owned()),
            content: Some("\treturn b;".to_owned()),
            ..EpisodeFix::default()
        });
        assert_eq!(
            text(&one).unwrap(),
            "OLD_TEXT_NOT_FOUND in c: mode edit with \"  return a;\" was refused (white space). The edit that landed: mode edit with old_text \
             \"\\treturn a;\" and content \"\\treturn b;\"."
        );
        one.lesson = Some("Indent with tabs.".to_owned());
        assert_eq!(
            text(&one).unwrap(),
            "OLD_TEXT_NOT_FOUND in c, of unknown origin: \"Indent with tabs.\""
        );
        for (origin, words) in [
            (TextOrigin::User, "as the user wrote"),
            (TextOrigin::Agent, "as an agent wrote"),
            (TextOrigin::Imported, "imported"),
        ] {
            one.origin = Some(origin);
            assert_eq!(
                text(&one).unwrap(),
                format!("OLD_TEXT_NOT_FOUND in c, {words}: \"Indent with tabs.\"")
            );
        }
        one.deprecated = Some("not so".to_owned());
        assert_eq!(text(&one), None);
    }

    #[test]
    fn a_lesson_is_short_whatever_it_quotes() {
        let mut one = episode();
        one.attempt.fragment = "\u{fc}\n".repeat(200);
        one.fix = Some(EpisodeFix {
            format: Some("patch".to_owned()),
            old_text: Some("\"".repeat(400)),
            content: Some("x".repeat(400)),
            ..EpisodeFix::default()
        });
        let shown = text(&one).unwrap();
        assert!(
            shown.len() < 1000 && !shown.contains('\n') && shown.contains("a patch"),
            "{shown}"
        );
    }
}
