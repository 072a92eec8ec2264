//! The classes of the difference between a refused call and the one that landed instead.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a call that landed differs from the refused one. `class_of` has the
/// rules; they are tried in this order, and the first that holds decides.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The same file by another path: absolute, with `./`, or outside the worktree.
    WrongPath,
    /// A patch was refused, and an edit landed, or the other way round.
    Format,
    /// Another mode landed.
    WrongMode,
    /// The refused edit had no `old_text`, and the one that landed has some.
    MissingOldText,
    /// The same texts with another `expected_hash`, or with one at all.
    Hash,
    /// The same texts for other lines, or another definition.
    WrongPlace,
    /// The texts had line numbers or diff marks at the beginning of their lines.
    CopiedMarks,
    /// The texts differ only by backslashes and by characters that were written as escapes.
    Escaping,
    /// The texts differ only by quotes.
    Quotes,
    /// The texts differ only by white space.
    WhiteSpace,
    /// A placeholder for omitted code was replaced by code.
    Elision,
    /// `old_text` became longer at one end or both, with its middle unchanged.
    MissingContext,
    /// The same new text, and an `old_text` that is similar to the refused one.
    StaleText,
    /// The new texts differ only by brackets.
    Bracket,
    /// The new text that landed also has lines of imports.
    LostImport,
    /// No rule holds. It counts, and is never shown.
    Other,
}

impl Class {
    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Class::WrongPath => "wrong_path",
            Class::Format => "format",
            Class::WrongMode => "wrong_mode",
            Class::MissingOldText => "missing_old_text",
            Class::Hash => "hash",
            Class::WrongPlace => "wrong_place",
            Class::CopiedMarks => "copied_marks",
            Class::Escaping => "escaping",
            Class::Quotes => "quotes",
            Class::WhiteSpace => "white_space",
            Class::Elision => "elision",
            Class::MissingContext => "missing_context",
            Class::StaleText => "stale_text",
            Class::Bracket => "bracket",
            Class::LostImport => "lost_import",
            Class::Other => "other",
        }
    }
}
