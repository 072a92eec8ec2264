//! The classes of the difference between a refused call and the one that landed instead.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an edit that landed differs from the refused one. `class_of` has the rules; they are tried in
/// this order, and the first that holds decides.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The same file by another path: the refused one was absolute, had `..` or another directory.
    WrongPath,
    /// A patch was refused and an edit landed, or the other way round.
    Format,
    /// The refused edit had no `old_text`, and the one that landed in mode `edit` has some.
    MissingOldText,
    /// Another mode landed.
    WrongMode,
    /// The same texts landed after a refusal that asks for a hash.
    Hash,
    /// The same new text landed at other lines, or at another definition.
    WrongPlace,
    /// The texts differ only by white space.
    WhiteSpace,
    /// The refused texts have line numbers or diff marks where those that landed begin.
    CopiedMarks,
    /// The texts differ only by escapes such as `\"`, `\n`, `&lt;`.
    Escaping,
    /// The texts differ only by the forms of quotes.
    Quotes,
    /// A line that stands for omitted code is missing from the texts that landed.
    Elision,
    /// The same change with more text around it.
    MissingContext,
    /// The same change, or a part of it, with less text to replace.
    ShorterText,
    /// The new texts differ only by brackets.
    Bracket,
    /// The new text that landed has the refused one and lines of imports.
    LostImport,
    /// The same new text in place of another old text, which is similar to the refused one.
    StaleText,
    /// No rule holds. It counts, and is never shown.
    Other,
}

impl Class {
    /// Every class.
    pub const ALL: &'static [Class] = &[
        Class::WrongPath,
        Class::Format,
        Class::MissingOldText,
        Class::WrongMode,
        Class::Hash,
        Class::WrongPlace,
        Class::WhiteSpace,
        Class::CopiedMarks,
        Class::Escaping,
        Class::Quotes,
        Class::Elision,
        Class::MissingContext,
        Class::ShorterText,
        Class::Bracket,
        Class::LostImport,
        Class::StaleText,
        Class::Other,
    ];

    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Class::WrongPath => "wrong_path",
            Class::Format => "format",
            Class::MissingOldText => "missing_old_text",
            Class::WrongMode => "wrong_mode",
            Class::Hash => "hash",
            Class::WrongPlace => "wrong_place",
            Class::WhiteSpace => "white_space",
            Class::CopiedMarks => "copied_marks",
            Class::Escaping => "escaping",
            Class::Quotes => "quotes",
            Class::Elision => "elision",
            Class::MissingContext => "missing_context",
            Class::ShorterText => "shorter_text",
            Class::Bracket => "bracket",
            Class::LostImport => "lost_import",
            Class::StaleText => "stale_text",
            Class::Other => "other",
        }
    }
}
