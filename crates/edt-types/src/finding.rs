//! A finding: why a call was refused, where, and what to call next.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Code, RepoPath, Status};
use crate::text::escape_lines;

/// The result of an operation that edt can refuse.
pub type Result<T> = std::result::Result<T, Refusal>;

/// One refusal: a stable code, what was found, what the call had changed, and the next call to
/// make.
///
/// Programs read the fields. Users and agents read [`Finding::message`] and [`Finding::hint`],
/// which join the fields. The JSON form has these two texts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "Wire")]
pub struct Finding {
    pub code: Code,
    /// The path that the finding is about.
    pub path: Option<String>,
    /// What was found and where, in complete sentences, with the numbers that decided.
    pub summary: String,
    /// What the call had changed when it ended.
    pub effect: Effect,
    /// The next call to make, as a sentence that can be followed to the letter.
    pub remedy: String,
    /// When and how to override the refusal; `None` if the request cannot.
    pub override_remedy: Option<String>,
    /// The word that overrides the refusal in `allow`; `None` if the request cannot.
    pub allow: Option<&'static str>,
    /// The facts behind the summary: keys of [`FACTS`](crate::evidence::FACTS).
    pub evidence: Map<String, Value>,
}

/// What a refused call had changed when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effect {
    /// The summary states the effect, or there was nothing to change.
    #[default]
    Unstated,
    /// No file, no index entry and no ref was changed.
    NothingChanged,
    /// The change was made and recorded before the call was refused.
    Recorded,
    /// No commit landed.
    NothingLanded,
    /// No program was started.
    NothingRun,
    /// No commit recorded the changes.
    NothingRecorded,
    /// Git made no commit.
    NothingCommitted,
    /// Git pushed no ref.
    NothingPushed,
    /// The ref has its old value.
    RefUnchanged,
    /// No hook was installed.
    NothingInstalled,
    /// No file was written.
    NothingWritten,
}

impl Effect {
    /// The sentence that follows the summary.
    #[must_use]
    pub const fn sentence(self) -> Option<&'static str> {
        match self {
            Effect::Unstated => None,
            Effect::NothingChanged => Some("Nothing was changed."),
            Effect::Recorded => Some("The change is recorded."),
            Effect::NothingLanded => Some("Nothing was landed."),
            Effect::NothingRun => Some("Nothing was run."),
            Effect::NothingRecorded => Some("Nothing was recorded."),
            Effect::NothingCommitted => Some("Nothing was committed."),
            Effect::NothingPushed => Some("Nothing was pushed."),
            Effect::RefUnchanged => Some("The ref was not changed."),
            Effect::NothingInstalled => Some("Nothing was installed."),
            Effect::NothingWritten => Some("Nothing was written."),
        }
    }
}

/// One refusal.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
struct Wire {
    /// The stable code.
    code: Code,
    /// The path that the finding is about.
    path: Option<String>,
    /// What was found and where, and what the call changed.
    message: String,
    /// The next call to make, and how to override the refusal if that is possible.
    hint: String,
    /// The word to send in `allow` to override the refusal; `null` if the request cannot override
    /// it.
    allow: Option<&'static str>,
    /// The facts behind the message. The keys depend on the code; more may be added.
    #[schemars(schema_with = "crate::evidence::schema")]
    evidence: Map<String, Value>,
}

impl From<Finding> for Wire {
    fn from(finding: Finding) -> Wire {
        let (message, hint) = (finding.message(), finding.hint());
        let Finding { code, path, allow, evidence, .. } = finding;
        Wire { code, path, message, hint, allow, evidence }
    }
}

impl JsonSchema for Finding {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Wire::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Wire::json_schema(generator)
    }
}

/// Both texts, separated by a space unless the first ends its line.
fn joined(first: &str, second: Option<&str>) -> String {
    match second {
        None => first.to_owned(),
        Some(second) if first.is_empty() || first.ends_with('\n') => format!("{first}{second}"),
        Some(second) => format!("{first} {second}"),
    }
}

impl Finding {
    #[must_use]
    pub fn new(code: Code, summary: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding {
            code,
            path: None,
            summary: summary.into(),
            effect: Effect::Unstated,
            remedy: remedy.into(),
            override_remedy: None,
            allow: code.allow(),
            evidence: Map::new(),
        }
    }

    #[must_use]
    pub fn at(mut self, path: &RepoPath) -> Finding {
        self.path = Some(path.text());
        self
    }

    /// Adds a fact to the evidence.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Finding {
        self.evidence.insert(key.to_owned(), value.into());
        self
    }

    /// What the caller may send instead, if the evidence has it: its key and its text.
    #[must_use]
    pub fn offer(&self) -> Option<(&'static str, String)> {
        let patch = self.evidence.get("correction").and_then(Value::as_str);
        if let Some(patch) = patch {
            return Some(("correction", patch.to_owned()));
        }
        ["request", "corrected_edit"].into_iter().find_map(|key| {
            let offered = self.evidence.get(key).filter(|offered| offered.is_object())?;
            Some((key, serde_json::to_string_pretty(offered).ok()?))
        })
    }

    /// States that the call changed nothing.
    #[must_use]
    pub fn nothing_changed(self) -> Finding {
        self.with_effect(Effect::NothingChanged)
    }

    #[must_use]
    pub fn with_effect(self, effect: Effect) -> Finding {
        Finding { effect, ..self }
    }

    /// Adds the sentence that says when and how to override the refusal.
    #[must_use]
    pub fn or_override(self, remedy: impl Into<String>) -> Finding {
        Finding { override_remedy: Some(remedy.into()), ..self }
    }

    /// Allows an override by `word` in `allow`, instead of the word of the code.
    #[must_use]
    pub fn overridable_by(self, word: &'static str) -> Finding {
        Finding { allow: Some(word), ..self }
    }

    /// The summary and the sentence of the effect. Invisible characters are escaped: users read it.
    #[must_use]
    pub fn message(&self) -> String {
        escape_lines(&joined(&self.summary, self.effect.sentence()))
    }

    /// The remedy and the sentence on the override.
    #[must_use]
    pub fn hint(&self) -> String {
        joined(&self.remedy, self.override_remedy.as_deref())
    }
}

/// Why a call was refused: at least one finding, the most important first, with lessons from earlier
/// failures like them.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    found: Vec<Finding>,
    lessons: Vec<String>,
    is_recorded: bool,
}

impl Refusal {
    /// `Err` with the findings, ordered by importance and without duplicates; `Ok` if `found` is
    /// empty.
    ///
    /// # Errors
    /// The findings.
    pub fn check(mut found: Vec<Finding>) -> Result<()> {
        if found.is_empty() {
            return Ok(());
        }
        found.sort_by_key(|finding| finding.code);
        found.dedup();
        Err(Refusal { found, lessons: Vec::new(), is_recorded: false })
    }

    /// The status of the most important finding.
    #[must_use]
    pub fn status(&self) -> Status {
        self.found.first().map_or(Status::Bug, |finding| finding.code.status())
    }

    #[must_use]
    pub fn any(&self, predicate: impl Fn(&Finding) -> bool) -> bool {
        self.found.iter().any(predicate)
    }

    #[must_use]
    pub fn map(self, change: impl FnMut(Finding) -> Finding) -> Refusal {
        Refusal { found: self.found.into_iter().map(change).collect(), ..self }
    }

    /// The names of the codes, in the order of the findings.
    #[must_use]
    pub fn codes(&self) -> Vec<&'static str> {
        self.found.iter().map(|finding| finding.code.name()).collect()
    }

    #[must_use]
    pub fn into_vec(self) -> Vec<Finding> {
        self.found
    }

    #[must_use]
    pub fn as_slice(&self) -> &[Finding] {
        &self.found
    }

    #[must_use]
    pub fn with_lessons(self, lessons: Vec<String>) -> Refusal {
        Refusal { lessons, ..self }
    }

    /// States that the record of refusals has it.
    #[must_use]
    pub fn recorded(self) -> Refusal {
        Refusal { is_recorded: true, ..self }
    }

    /// Whether the record of refusals has it.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// What was learned from earlier failures like these.
    #[must_use]
    pub fn lessons(&self) -> &[String] {
        &self.lessons
    }
}

impl From<Finding> for Refusal {
    fn from(finding: Finding) -> Refusal {
        Refusal { found: vec![finding], lessons: Vec::new(), is_recorded: false }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, finding) in self.found.iter().enumerate() {
            let end = if i + 1 < self.found.len() { "\n" } else { "" };
            write!(f, "{}: {}{end}", finding.code.name(), finding.message())?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
