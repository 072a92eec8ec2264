//! An episode in a sentence: what went wrong, and what landed.

use schemars::JsonSchema;
use serde::Serialize;

use super::episode::{Episode, Fix, Tried};
use super::scrub::{CUT, head};

/// Most bytes of a text that a lesson quotes.
const QUOTED: usize = 120;
/// Most bytes of what a person wrote.
const WRITTEN: usize = 300;

/// What a refusal is answered with.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Lesson {
    /// The episode.
    pub id: String,
    /// What is told.
    pub text: String,
    /// How alike the failures are: shared keywords of all keywords, from 0 to 1.
    pub similarity: f64,
    /// How good the lesson has proved by now, from 0 to 1.
    pub effectiveness: f64,
}

/// What is told of `episode`; `None` if there is nothing to tell.
#[must_use]
pub fn text(episode: &Episode) -> Option<String> {
    if !episode.teaches() {
        return None;
    }
    let language =
        episode.language.as_deref().map(|language| format!(" in {language}")).unwrap_or_default();
    let head = format!("{}{language}", episode.code);
    match (&episode.lesson, &episode.fix) {
        // Whoever wrote it may be anybody: it is quoted, on one line.
        (Some(lesson), _) => {
            Some(format!("{head}, as a person wrote: {}", quoted(lesson, WRITTEN)))
        }
        (None, Some(fix)) => Some(format!("{head}: {} {}", sent(&episode.tried), landed(fix))),
        (None, None) => None,
    }
}

/// What was sent, and why it failed.
fn sent(tried: &Tried) -> String {
    let how = how(tried.mode.as_deref(), tried.format.as_deref());
    let fragment = if tried.fragment.is_empty() {
        String::new()
    } else {
        format!(" with {}", quoted(&tried.fragment, QUOTED))
    };
    let cause = tried
        .cause
        .as_deref()
        .map(|cause| format!(" ({})", cause.replace('_', " ")))
        .unwrap_or_default();
    format!("{how}{fragment} was refused{cause}.")
}

/// What landed.
fn landed(fix: &Fix) -> String {
    let how = how(fix.mode.as_deref(), fix.format.as_deref());
    let parts = [("old_text", &fix.old_text), ("content", &fix.content)];
    let parts = parts
        .into_iter()
        .filter_map(|(key, text)| Some(format!("{key} {}", quoted(text.as_deref()?, QUOTED))));
    let parts: Vec<String> = parts.collect();
    let with =
        if parts.is_empty() { String::new() } else { format!(" with {}", parts.join(" and ")) };
    format!("What landed: {how}{with}.")
}

fn how(mode: Option<&str>, format: Option<&str>) -> String {
    match (mode, format) {
        (_, Some("patch")) => "a patch".to_owned(),
        (Some(mode), _) => format!("mode {mode}"),
        (None, _) => "an edit".to_owned(),
    }
}

/// `text` on one line, cut.
fn quoted(text: &str, most: usize) -> String {
    if text.len() <= most {
        return format!("{text:?}");
    }
    format!("{:?}{CUT}", head(text, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode() -> Episode {
        let tried = Tried {
            mode: Some("edit".to_owned()),
            format: Some("edit".to_owned()),
            cause: Some("white_space".to_owned()),
            fragment: "  return a;".to_owned(),
            ..Tried::default()
        };
        Episode::new("OLD_TEXT_NOT_FOUND", Some("c"), tried, 1)
    }

    #[test]
    fn a_lesson_says_what_was_refused_and_what_landed() {
        let mut one = episode();
        assert_eq!(text(&one), None);
        one.fix = Some(Fix {
            mode: Some("edit".to_owned()),
            old_text: Some("\treturn a;".to_owned()),
            content: Some("\treturn b;".to_owned()),
            ..Fix::default()
        });
        assert_eq!(
            text(&one).unwrap(),
            "OLD_TEXT_NOT_FOUND in c: mode edit with \"  return a;\" was refused (white space). What landed: mode edit with old_text \
             \"\\treturn a;\" and content \"\\treturn b;\"."
        );
        one.lesson = Some("Indent with tabs.".to_owned());
        assert_eq!(
            text(&one).unwrap(),
            "OLD_TEXT_NOT_FOUND in c, as a person wrote: \"Indent with tabs.\""
        );
        one.deprecated = Some("not so".to_owned());
        assert_eq!(text(&one), None);
    }

    #[test]
    fn a_lesson_stays_short_whatever_it_quotes() {
        let mut one = episode();
        one.tried.fragment = "\u{fc}\n".repeat(200);
        one.fix = Some(Fix {
            format: Some("patch".to_owned()),
            old_text: Some("\"".repeat(400)),
            content: Some("x".repeat(400)),
            ..Fix::default()
        });
        let told = text(&one).unwrap();
        assert!(told.len() < 1000 && !told.contains('\n') && told.contains("a patch"), "{told}");
    }
}
