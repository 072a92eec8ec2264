//! What commits say of agents, and of the user's prompts.

use serde::Deserialize;

/// A table of the user's file alone: prompts may have secrets.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Privacy {
    prompts: Option<Prompts>,
}

/// Where the first lines of the user's prompts are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Prompts {
    Private,
    Commit,
}

impl Privacy {
    pub(super) fn is_set(&self) -> bool {
        self.prompts.is_some()
    }

    /// Whether the first line of a prompt may be in the commits of its edits.
    pub(super) fn commits_prompts(&self) -> bool {
        self.prompts == Some(Prompts::Commit)
    }
}

/// Either file may leave the trailers out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Attribution {
    pub(super) assisted_by: Option<bool>,
}
