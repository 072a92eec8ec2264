//! The result of an evaluation.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens with a command; later is stricter.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allow,
    /// It waits for user approval.
    Ask,
    Deny,
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    BuiltIn,
    /// The user's own `edt.toml`.
    #[serde(rename = "yours")]
    User,
    /// The repository's `edt.toml`.
    Repository,
}

/// One command found inside the requested program, or one property of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvaluationStep {
    /// What runs it: `given` for the requested program itself, else `env`, `sh -c`, ….
    pub by: String,
    /// The command; invalid UTF-8 is replaced.
    pub argv: Vec<String>,
    pub decision: Decision,
    /// The rule that decided.
    pub rule: String,
    pub origin: Origin,
    pub reason: String,
}

/// The decision on a program, with the steps that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEvaluation {
    /// The strictest decision of all steps.
    pub decision: Decision,
    /// The path to execute, absolute; `None` if there is no such program. Symbolic links are kept,
    /// because a program may act by the name it is called by.
    pub program: Option<PathBuf>,
    /// The same without symbolic links.
    pub real: Option<PathBuf>,
    /// Every command found inside, the program itself first.
    pub steps: Vec<EvaluationStep>,
    /// The reason of the first of the strictest steps.
    pub reason: String,
    /// The rule of that step.
    pub rule: String,
    pub origin: Origin,
    /// What the caller can do next; empty if the program may run.
    pub hint: &'static str,
}

impl Decision {
    /// The name in answers and in `edt.toml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        }
    }
}

impl Origin {
    /// A phrase for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Origin::BuiltIn => "built in",
            Origin::User => "your own edt.toml",
            Origin::Repository => "the repository's edt.toml",
        }
    }
}
