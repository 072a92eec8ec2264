//! The effect of a finding, and who may override it.

use serde::Deserialize;

/// Set by `[[protect]]`, not by `[guards]`.
pub(crate) const PROTECTED_PATH: &str = "protected_path";

/// The names of the other built-in guards, which `[guards]` may set, in the order of reports.
pub(crate) const SETTABLE_GUARDS: [&str; 17] = [
    "size_reduction",
    "mass_deletion",
    "lost_content",
    "binary_content",
    "encoding",
    "build_output",
    "conflict_markers",
    "chat_artifact",
    "invisible_characters",
    "lookalike_characters",
    "elided_code",
    "hollow_body",
    "weakened_tests",
    "secret",
    "syntax",
    "duplicate_code",
    "validator",
];

/// How policy sets a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardRule {
    /// The effect of a finding.
    pub mode: GuardMode,
    /// Who may override a refusal.
    pub overriding: Override,
}

/// The effect of a guard's finding; later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardMode {
    /// The guard does not run.
    Off,
    /// The finding is reported and never refuses.
    Warn,
    /// The finding refuses the change.
    Refuse,
}

/// Who may override a refusal; later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Override {
    /// The request itself, with `allow`.
    Allow,
    /// The user.
    Approval,
    /// Nobody.
    Never,
}

impl GuardMode {
    /// The mode of the guard `name` if no policy sets one.
    pub(super) fn default_of(name: &str) -> GuardMode {
        if name == "secret" { GuardMode::Warn } else { GuardMode::Refuse }
    }
}

impl Override {
    pub(super) const fn never() -> Override {
        Override::Never
    }
}
