//! How strictly `edt run` confines a program.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How strictly a program is confined; each level is stricter than the one before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A process session of its own and resource limits. The program may read, write and connect to
    /// whatever its user may.
    Permissive,
    /// The program reads everything except secrets, writes only the worktree and a private
    /// temporary directory, and has no network.
    Standard,
    /// As `standard`, in namespaces of its own, with limits of memory, processes and time.
    Strict,
}

impl Level {
    /// All levels, the least strict first.
    pub const ALL: [Level; 3] = [Level::Permissive, Level::Standard, Level::Strict];

    /// The name in flags and answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Permissive => "permissive",
            Level::Standard => "standard",
            Level::Strict => "strict",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(name: &str) -> Result<Level, String> {
        let known = Level::ALL.into_iter().find(|level| level.name() == name);
        known.ok_or_else(|| format!("{name:?} is not one of permissive, standard, strict"))
    }
}
