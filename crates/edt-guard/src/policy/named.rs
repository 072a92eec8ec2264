//! Paths that programs execute because of settings and links, not of their names.

use edt_git::WorktreeLink;
use serde::{Deserialize, Serialize};

/// A path of the worktree that a program executes because of a setting or a link, not of its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPath {
    /// A file or a directory, relative to the root.
    pub path: String,
    pub program: String,
}

/// Such paths of a worktree.
#[derive(Debug, Clone, Default)]
pub(super) struct WorktreePaths {
    /// What programs execute because of Git's configuration, or of links.
    pub(super) named: Vec<NamedPath>,
    /// Links with hidden names that are not known to be harmless.
    pub(super) links: Vec<WorktreeLink>,
}
