//! The classes of the difference between a refused call and the one that landed instead.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! classes {
    ($($(#[doc = $doc:literal])* $variant:ident $name:literal,)*) => {
        /// How an edit that landed differs from the refused one. [`class_of`](crate::fix::class_of)
        /// has the rules; they are tried in this order, and the first that holds decides.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Class { $($(#[doc = $doc])* $variant,)* }

        impl Class {
            /// Every class.
            pub const ALL: &'static [Class] = &[$(Class::$variant,)*];

            /// The name in JSON.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Class::$variant => $name,)* }
            }
        }
    };
}

classes! {
    /// The same file by another path: the refused one was absolute, had `..` or another directory.
    WrongPath "wrong_path",
    /// A patch was refused and an edit landed, or the other way round.
    Format "format",
    /// The refused edit had no `old_text`, and the one that landed in mode `edit` has some.
    MissingOldText "missing_old_text",
    /// Another mode landed.
    WrongMode "wrong_mode",
    /// The same texts landed after a refusal that asks for a hash.
    Hash "hash",
    /// The same new text landed at other lines, or at another definition.
    WrongPlace "wrong_place",
    /// The texts differ only by white space.
    WhiteSpace "white_space",
    /// The refused texts have line numbers or diff marks where those that landed begin.
    CopiedMarks "copied_marks",
    /// The texts differ only by escapes such as `\"`, `\n`, `&lt;`.
    Escaping "escaping",
    /// The texts differ only by the forms of quotes.
    Quotes "quotes",
    /// A line that stands for omitted code is missing from the texts that landed.
    Elision "elision",
    /// The same change with more text around it.
    MissingContext "missing_context",
    /// The same change, or a part of it, with less text to replace.
    ShorterText "shorter_text",
    /// The new texts differ only by brackets, commas and semicolons.
    Bracket "bracket",
    /// The new text that landed has the refused one and lines of imports.
    LostImport "lost_import",
    /// The same new text in place of another old text, which is similar to the refused one.
    StaleText "stale_text",
    /// No rule holds. It counts against the other classes, and is never shown.
    Other "other",
}
