//! `edt setup`: puts edt's entries into an agent's own files, next to the user's entries, and
//! removes exactly them.
//!
//! An agent lists its files as [`ManagedFile`]s ([`Wiring`]). [`apply`] plans every file before it
//! writes one. [`receipt`] stores the original content. [`json`], [`toml`] and [`text`] compute new
//! content from old content, and touch no files.

pub mod apply;
pub mod json;
pub mod live;
pub mod receipt;
pub mod target;
pub mod text;
pub mod toml;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

pub use json::JsonEntry;
pub use target::{Scope, SetupTarget};
pub use text::Fence;
pub use toml::{TomlOwner, TomlTable};

/// The files of a plugin: path and content.
pub type PluginFiles = fn() -> Vec<(&'static str, String)>;

/// How an agent's settings refer to edt.
#[derive(Debug, Clone, Copy)]
pub struct Wiring {
    /// The files to change, and edt's part of each. No file occurs twice.
    pub files: fn(&SetupTarget) -> Vec<ManagedFile>,
    /// What the user must know or do in addition.
    pub notes: fn(&SetupTarget) -> Vec<String>,
    /// The agent's program; `None` if a program of another kind has the same name.
    pub program: Option<&'static str>,
    /// The agent's settings: if this path exists, the agent is in use here.
    pub settings: fn(&SetupTarget) -> PathBuf,
    /// Whether settings can disable the agent's own editing tools.
    pub can_disable_own_tools: bool,
    /// The files of a plugin for the agent, by paths in the plugin's directory.
    pub plugin: Option<PluginFiles>,
}

/// A file of an agent, and edt's part of it.
#[derive(Debug, Clone)]
pub struct ManagedFile {
    /// The file.
    pub file: PathBuf,
    /// What edt's part is for.
    pub purpose: Purpose,
    /// edt's part, in the form of the file.
    pub form: Form,
}

/// What edt's part of a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The MCP server.
    Mcp,
    /// The hooks.
    Hooks,
    /// MCP server and hooks.
    McpAndHooks,
    /// The skill that teaches the agent to use edt.
    Skill,
    /// The block in a file of instructions that several agents read.
    Instructions,
    /// A plugin.
    Plugin,
    /// Other settings.
    Settings,
}

impl Purpose {
    /// The purpose in words, for the user.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Purpose::Mcp => "MCP server",
            Purpose::Hooks => "hooks",
            Purpose::McpAndHooks => "MCP server and hooks",
            Purpose::Skill => "skill",
            Purpose::Instructions => "instructions",
            Purpose::Plugin => "plugin",
            Purpose::Settings => "settings",
        }
    }
}

/// edt's part of a file.
#[derive(Debug, Clone)]
pub enum Form {
    /// Entries of a JSON file, which may have comments.
    Json(Vec<JsonEntry>),
    /// Tables of a TOML file.
    Toml(Vec<TomlTable>),
    /// All of a file.
    OwnFile {
        /// Its content.
        content: String,
        /// The text that identifies the file as edt's.
        mark: &'static str,
        /// Whether the agent runs the file.
        executable: bool,
    },
    /// A block of lines between two fences.
    Fence(Fence),
}

/// Why edt cannot change a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableFile(pub String);

impl Form {
    /// The file's content with edt's part.
    ///
    /// # Errors
    /// The file does not have the expected form.
    pub fn with(&self, old: Option<&str>) -> Result<String, UnusableFile> {
        match self {
            Form::Json(entries) => json::with(old, entries),
            Form::Toml(tables) => toml::with_all(old, tables),
            Form::OwnFile { content, mark, .. } => match old {
                Some(old) if !old.contains(mark) => Err(UnusableFile(format!(
                    "it was not written by edt (it does not contain {mark:?})"
                ))),
                _ => Ok(content.clone()),
            },
            Form::Fence(fence) => fence.with(old),
        }
    }

    /// The file's content without edt's part; `None` if nothing of the file remains. What edt
    /// replaced in `original` is restored. If the original is unknown, a part is removed only if it
    /// is exactly what edt writes.
    ///
    /// # Errors
    /// The file does not have the expected form.
    pub fn without(
        &self,
        old: &str,
        original: Original<'_>,
    ) -> Result<Option<String>, UnusableFile> {
        match self {
            Form::Json(entries) => json::without(old, entries, original),
            Form::Toml(tables) => toml::without_all(old, tables, original),
            Form::OwnFile { mark, content, .. } => Ok(match original {
                Original::Unknown => (old != content).then(|| old.to_owned()),
                _ if !old.contains(mark) => Some(old.to_owned()),
                Original::Missing => None,
                Original::Text(text) => Some(text.to_owned()),
            }),
            Form::Fence(fence) => Ok(fence.without(old, original)),
        }
    }

    /// Whether the file has a part written by edt, of any version.
    #[must_use]
    pub fn occurs_in(&self, text: &str) -> bool {
        match self {
            Form::Json(entries) => json::any_occurs(text, entries),
            Form::Toml(tables) => tables.iter().any(|table| toml::has_table(text, table.at)),
            Form::OwnFile { mark, .. } => text.contains(mark),
            Form::Fence(fence) => fence.occurs_in(text),
        }
    }
}

/// A file's content before edt first changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Original<'a> {
    /// There is no record of it.
    Unknown,
    /// There was no file.
    Missing,
    /// This text.
    Text(&'a str),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Form {
        Form::OwnFile { content: "edt: new\n".to_owned(), mark: "edt:", executable: false }
    }

    #[test]
    fn a_file_of_edt_is_replaced_by_a_newer_one() {
        assert_eq!(own().with(Some("edt: old\n")), Ok("edt: new\n".to_owned()));
        assert_eq!(own().with(None), Ok("edt: new\n".to_owned()));
    }

    #[test]
    fn a_file_of_the_user_is_not_replaced() {
        assert_eq!(
            own().with(Some("mine\n")),
            Err(UnusableFile(
                "it was not written by edt (it does not contain \"edt:\")".to_owned()
            ))
        );
    }

    #[test]
    fn a_file_of_edt_becomes_what_it_was() {
        let without = |original| own().without("edt: old\n", original);
        assert_eq!(without(Original::Missing), Ok(None));
        assert_eq!(without(Original::Text("mine\n")), Ok(Some("mine\n".to_owned())));
        assert_eq!(without(Original::Unknown), Ok(Some("edt: old\n".to_owned())));
    }

    #[test]
    fn without_a_receipt_only_the_present_version_is_removed() {
        assert_eq!(own().without("edt: new\n", Original::Unknown), Ok(None));
    }

    #[test]
    fn a_file_that_the_user_has_rewritten_stays() {
        assert_eq!(own().without("mine\n", Original::Missing), Ok(Some("mine\n".to_owned())));
    }

    /// The files of a project, each with what edt's part is for.
    fn project_files(agent: &str) -> Vec<String> {
        let target = SetupTarget {
            scope: Scope::Project,
            home: "/home/user".into(),
            root: "/p".into(),
            edt: "edt".to_owned(),
            only_edt: false,
        };
        let wiring = crate::named(agent).unwrap().wiring;
        (wiring.files)(&target)
            .into_iter()
            .map(|one| format!("{}: {}", one.file.display(), one.purpose.label()))
            .collect()
    }

    #[test]
    fn claude_code_has_three_files_in_a_project() {
        assert_eq!(
            project_files("claude-code"),
            [
                "/p/.mcp.json: MCP server",
                "/p/.claude/settings.json: hooks",
                "/p/.claude/skills/edt/SKILL.md: skill"
            ]
        );
    }

    #[test]
    fn codex_has_four_files_in_a_project() {
        assert_eq!(
            project_files("codex"),
            [
                "/p/.codex/config.toml: MCP server",
                "/p/.codex/hooks.json: hooks",
                "/p/AGENTS.md: instructions",
                "/p/.agents/skills/edt/SKILL.md: skill",
            ]
        );
    }

    #[test]
    fn gemini_has_one_file_for_server_and_hooks() {
        assert_eq!(
            project_files("gemini"),
            [
                "/p/.gemini/settings.json: MCP server and hooks",
                "/p/.gemini/skills/edt/SKILL.md: skill"
            ]
        );
    }

    #[test]
    fn copilot_has_the_files_of_vs_code_in_a_project() {
        assert_eq!(
            project_files("copilot"),
            [
                "/p/.vscode/mcp.json: MCP server",
                "/p/.github/hooks/edt.json: hooks",
                "/p/AGENTS.md: instructions",
            ]
        );
    }

    #[test]
    fn windsurf_has_its_list_of_servers_in_the_home_directory() {
        assert_eq!(
            project_files("windsurf"),
            [
                "/p/.windsurf/hooks.json: hooks",
                "/home/user/.codeium/windsurf/mcp_config.json: MCP server",
                "/p/AGENTS.md: instructions",
            ]
        );
    }

    #[test]
    fn aider_has_one_setting() {
        assert_eq!(project_files("aider"), ["/p/.aider.conf.yml: settings"]);
    }
}
