//! How closely a program that `edt run` starts is confined.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sandbox level; later is stricter. `docs/sandbox.md` has what each holds back.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A session of its own and resource limits; it may read, write and reach what its user may.
    Permissive,
    /// It reads all but secrets, writes only the worktree and a private temporary folder, and reaches no network.
    Standard,
    /// The same in namespaces of its own, with limits of memory, processes and time.
    Strict,
}

impl Level {
    /// All levels, loosest first.
    pub const ALL: [Level; 3] = [Level::Permissive, Level::Standard, Level::Strict];

    /// The name, as flags and answers have it.
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
        known.ok_or_else(|| format!("{name:?} is none of permissive, standard, strict"))
    }
}
