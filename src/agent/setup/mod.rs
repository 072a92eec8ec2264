//! `edt setup`: what an agent's own files must hold, put there beside everything else, and taken out again exactly.
//!
//! An agent says what it wants as [`Part`]s ([`Wiring`]). [`carry`] plans every file before it writes one; [`receipt`] keeps what stood there
//! before; [`json`], [`toml`], [`text`] make new bytes of old ones, and know nothing of disks.

pub mod carry;
pub mod json;
pub mod live;
pub mod place;
pub mod receipt;
pub mod text;
pub mod toml;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

pub use json::Entry;
pub use place::{Place, Scope};
pub use text::Fence;

/// What an agent wants.
pub trait Wiring: Sync {
    /// The files, with what each must hold. No file stands there twice.
    fn parts(&self, place: &Place) -> Vec<Part>;
    /// What a person must know or do beside it.
    fn notes(&self, place: &Place) -> Vec<String>;
    /// The program that it is started as.
    fn program(&self) -> &'static str;
    /// Its folder of settings, by which it is known to be here.
    fn home(&self, place: &Place) -> PathBuf;
    /// Whether its own tools that edit can be taken away.
    fn can_do_without_its_own(&self) -> bool {
        false
    }
    /// The files of a plugin of its own, relative to the plugin's folder.
    fn plugin(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// What one file must hold.
#[derive(Debug, Clone)]
pub struct Part {
    /// The file.
    pub file: PathBuf,
    /// What it is for.
    pub what: What,
    /// In which form.
    pub form: Form,
}

/// What a part is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The MCP server.
    Mcp,
    /// The hooks.
    Hooks,
    /// MCP server and hooks.
    McpAndHooks,
    /// What an agent may read to know edt.
    Skill,
    /// The block in instructions that every agent reads.
    Instructions,
    /// A plugin.
    Plugin,
    /// Settings of its own.
    Settings,
}

impl What {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            What::Mcp => "MCP server",
            What::Hooks => "hooks",
            What::McpAndHooks => "MCP server and hooks",
            What::Skill => "skill",
            What::Instructions => "instructions",
            What::Plugin => "plugin",
            What::Settings => "settings",
        }
    }
}

/// In which form a part stands in its file.
#[derive(Debug, Clone)]
pub enum Form {
    /// JSON, perhaps with comments.
    Json(Vec<Entry>),
    /// One table of a TOML file: its path, its keys.
    Toml(&'static [&'static str], Vec<(&'static str, toml_edit::Value)>),
    /// A file that is edt's as a whole, known by this word in it.
    Whole {
        /// All of it.
        content: String,
        /// Without this word it is somebody else's.
        mark: &'static str,
        /// Whether it is run.
        executable: bool,
    },
    /// A block between two marks.
    Fence(Fence),
}

/// Why a file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit(pub String);

impl Form {
    /// The file's bytes with this in it.
    ///
    /// # Errors
    /// It is not what it should be.
    pub fn with(&self, old: Option<&str>) -> Result<String, Unfit> {
        match self {
            Form::Json(entries) => json::with(old, entries),
            Form::Toml(at, keys) => toml::with(old, at, keys),
            Form::Whole { content, mark, .. } => match old {
                Some(old) if !old.contains(mark) => {
                    Err(Unfit(format!("it was not written by edt (nothing in it says {mark:?})")))
                }
                _ => Ok(content.clone()),
            },
            Form::Fence(fence) => fence.with(old),
        }
    }

    /// The file's bytes without it; `None` if nothing of the file is left. `before` is what stood there before edt came, if that is
    /// known: what it held is given back. If it is not known, only what is exactly as edt writes it goes.
    ///
    /// # Errors
    /// It is not what it should be.
    pub fn without(&self, old: &str, before: Before<'_>) -> Result<Option<String>, Unfit> {
        match self {
            Form::Json(entries) => json::without(old, entries, before),
            Form::Toml(at, keys) => toml::without(old, at, keys, before),
            Form::Whole { mark, content, .. } => Ok(match before {
                Before::Unknown => (old != content).then(|| old.to_owned()),
                _ if !old.contains(mark) => Some(old.to_owned()),
                Before::Nothing => None,
                Before::Text(text) => Some(text.to_owned()),
            }),
            Form::Fence(fence) => Ok(fence.without(old, before)),
        }
    }

    /// Whether something of edt's is in a file, in whatever version.
    #[must_use]
    pub fn traces(&self, text: &str) -> bool {
        match self {
            Form::Json(entries) => json::traces(text, entries),
            Form::Toml(at, _) => toml::traces(text, at),
            Form::Whole { mark, .. } => text.contains(mark),
            Form::Fence(fence) => fence.traces(text),
        }
    }
}

/// What stood in a file before edt came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before<'a> {
    /// Nobody knows any more.
    Unknown,
    /// There was no file.
    Nothing,
    /// This.
    Text(&'a str),
}
