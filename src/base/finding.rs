//! A finding: one thing that was found, where, and the next call to make.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Code, RepoPath, Status};

/// The result of everything in edt that can be refused.
pub type Result<T> = std::result::Result<T, Findings>;

/// One refusal: the code to match on, what was found, what to do next, and the numbers that decided.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The stable code.
    pub code: Code,
    /// The path it is about.
    pub path: Option<String>,
    /// What was found and where.
    pub message: String,
    /// The next call to make.
    pub hint: String,
    /// The word that overrides it in `allow`, if this request may.
    pub allow: Option<&'static str>,
    /// The facts behind the message; keys depend on the code.
    pub evidence: Map<String, Value>,
}

impl Finding {
    /// A finding of `code` with its message and the next call to make.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding {
            code,
            path: None,
            message: message.into(),
            hint: hint.into(),
            allow: code.allow(),
            evidence: Map::new(),
        }
    }

    /// The same, about `path`.
    #[must_use]
    pub fn at(mut self, path: &RepoPath) -> Finding {
        self.path = Some(path.to_string());
        self
    }

    /// The same, with one more fact.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Finding {
        self.evidence.insert(key.to_owned(), value.into());
        self
    }
}

/// At least one finding, the most important first, and what was learned from failures like them.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    found: Vec<Finding>,
    lessons: Vec<String>,
}

impl Findings {
    /// `Err` with all of `found`, ordered by importance, or `Ok` if there is none.
    ///
    /// # Errors
    /// The findings themselves.
    pub fn check(mut found: Vec<Finding>) -> Result<()> {
        if found.is_empty() {
            return Ok(());
        }
        found.sort_by_key(|finding| finding.code);
        found.dedup();
        Err(Findings { found, lessons: Vec::new() })
    }

    /// The status that the most important finding stands for.
    #[must_use]
    pub fn status(&self) -> Status {
        self.found.first().map_or(Status::Bug, |finding| finding.code.status())
    }

    /// Whether one of the findings is such.
    #[must_use]
    pub fn any(&self, such: impl Fn(&Finding) -> bool) -> bool {
        self.found.iter().any(such)
    }

    /// Every one of them as `said` says it.
    #[must_use]
    pub fn each(self, said: impl FnMut(Finding) -> Finding) -> Findings {
        Findings { found: self.found.into_iter().map(said).collect(), ..self }
    }

    /// The names of their codes, in order.
    #[must_use]
    pub fn codes(&self) -> Vec<&'static str> {
        self.found.iter().map(|finding| finding.code.name()).collect()
    }

    /// The findings in order.
    #[must_use]
    pub fn into_vec(self) -> Vec<Finding> {
        self.found
    }

    /// The findings in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Finding] {
        &self.found
    }

    /// The same, with what was learned from failures like them.
    #[must_use]
    pub fn teaching(self, lessons: Vec<String>) -> Findings {
        Findings { lessons, ..self }
    }

    /// What was learned from failures like them.
    #[must_use]
    pub fn lessons(&self) -> &[String] {
        &self.lessons
    }
}

impl From<Finding> for Findings {
    fn from(finding: Finding) -> Findings {
        Findings { found: vec![finding], lessons: Vec::new() }
    }
}

impl std::fmt::Display for Findings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, finding) in self.found.iter().enumerate() {
            let end = if i + 1 < self.found.len() { "\n" } else { "" };
            write!(f, "{}: {}{end}", finding.code.name(), finding.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Findings {}

/// Something the caller should know although it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// A stable word to match on.
    pub code: &'static str,
    /// The path it is about.
    pub path: Option<String>,
    /// What was seen and what it means.
    pub message: String,
}
