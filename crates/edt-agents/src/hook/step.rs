//! The steps of an installation, for answers.

use schemars::JsonSchema;
use serde::Serialize;

/// What was done to one hook, or would be in a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HookStep {
    /// Git's name for it.
    pub hook: String,
    /// The file, or the section of the configuration.
    pub location: String,
    /// What was done.
    pub action: HookAction,
    /// A further explanation.
    pub detail: Option<String>,
}

/// What was done to a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookAction {
    /// edt's hook was installed.
    Installed,
    /// edt's hook was installed, and calls the previous hook first.
    Chained,
    /// edt's hook was replaced by a newer version.
    Updated,
    /// edt's hook is up to date.
    Unchanged,
    /// edt's hook was removed.
    Removed,
    /// edt's hook was removed, and the previous hook was restored.
    Restored,
    /// The hook is no longer edt's, so edt did not change it.
    Left,
    /// No hook of edt is installed.
    Absent,
}
