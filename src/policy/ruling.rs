//! What a finding leads to, and who may say otherwise.

use serde::Deserialize;

/// What a guard's finding leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardRule {
    /// Whether it refuses.
    pub mode: GuardMode,
    /// Who may override a refusal.
    pub overriding: Override,
}

/// Whether a guard refuses; later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardMode {
    /// Not run.
    Off,
    /// Reported, never refused.
    Warn,
    /// Refused.
    Refuse,
}

/// Who may override a refusal; later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Override {
    /// The request itself, with `allow`.
    Allow,
    /// A person.
    Approval,
    /// Nobody.
    Never,
}

impl Override {
    pub(super) const fn never() -> Override {
        Override::Never
    }
}
