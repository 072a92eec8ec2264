//! The effect of a finding, and who may override it.

use serde::Deserialize;

/// Set by `[[protect]]`, not by `[guards]`.
pub(crate) const PROTECTED_PATH: &str = "protected_path";

/// A guard whose findings policy rates: its name, and its mode if no policy sets one.
pub(crate) type KnownGuard = (&'static str, GuardMode);

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

impl Override {
    pub(super) const fn never() -> Override {
        Override::Never
    }
}
