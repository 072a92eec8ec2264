//! For whom an agent is set up: where its settings are, and how they call edt.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use edt_io::Environment;

/// For whom an agent is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For everything that this user does.
    User,
    /// For one project, and everyone who works in it.
    Project,
}

impl Scope {
    /// The value of `--scope`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// Where an agent's settings are, and how they call edt.
#[derive(Debug, Clone)]
pub struct SetupTarget {
    /// For whom the agent is set up.
    pub scope: Scope,
    /// The user's home directory.
    pub home: PathBuf,
    /// The project's root.
    pub root: PathBuf,
    /// The program edt, by its name or by its path.
    pub edt: String,
    /// Whether the agent's own editing tools are disabled.
    pub only_edt: bool,
}

impl SetupTarget {
    /// The user's home directory, or the project's root.
    #[must_use]
    pub fn top(&self) -> &Path {
        match self.scope {
            Scope::User => &self.home,
            Scope::Project => &self.root,
        }
    }

    /// The path `below` in the user's home directory, or in the project.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        self.top().join(below)
    }

    /// The same, but the environment variable may name another directory for the user's settings.
    #[must_use]
    pub fn path_or_env(&self, variable: &str, below: &str) -> PathBuf {
        match self.scope {
            Scope::User => path_from_env(variable).unwrap_or_else(|| self.home.join(below)),
            Scope::Project => self.root.join(below),
        }
    }

    /// The user's directory of settings.
    #[must_use]
    pub fn config_directory(&self) -> PathBuf {
        path_from_env("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"))
    }

    /// The MCP server, as most agents name it in JSON.
    #[must_use]
    pub fn server(&self) -> Value {
        json!({"command": self.edt, "args": ["mcp"]})
    }

    /// The shell command for the hooks of `agent`. It is the same in every version of edt: agents
    /// ask the user to trust a changed command again.
    #[must_use]
    pub fn hook_command(&self, agent: &str) -> String {
        let edt = edt_types::text::shell_word(self.edt.as_bytes());
        format!("{edt} agent-hook {agent}")
    }

    /// The shell command that starts the MCP server.
    #[must_use]
    pub fn server_command(&self) -> String {
        format!("{} mcp", edt_types::text::shell_word(self.edt.as_bytes()))
    }
}

/// The value of an environment variable, if it is an absolute path.
#[must_use]
pub fn path_from_env(variable: &str) -> Option<PathBuf> {
    edt_io::environment::variable(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// How another program's settings call edt: by its name if `PATH` finds the program `own` under
/// that name, else by its path.
#[must_use]
pub fn edt_command(own: &Path) -> String {
    let found = edt_io::bounded::find(Environment::Process, "edt")
        .and_then(|found| edt_io::programs::canonical(&found));
    let path_is_absolute =
        edt_io::programs::search_dirs(Environment::Process).iter().all(|entry| entry.is_absolute());
    if path_is_absolute && found.is_some() && found == edt_io::programs::canonical(own) {
        "edt".to_owned()
    } else {
        own.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(scope: Scope, edt: &str) -> SetupTarget {
        SetupTarget {
            scope,
            home: "/home/user".into(),
            root: "/p".into(),
            edt: edt.to_owned(),
            only_edt: false,
        }
    }

    #[test]
    fn a_path_is_of_the_user_or_of_the_project() {
        assert_eq!(target(Scope::User, "edt").path(".x"), Path::new("/home/user/.x"));
        assert_eq!(target(Scope::Project, "edt").path(".x"), Path::new("/p/.x"));
    }

    #[test]
    fn a_program_with_a_space_is_quoted_in_a_command() {
        let target = target(Scope::User, "/my tools/edt");
        assert_eq!(target.hook_command("codex"), "'/my tools/edt' agent-hook codex");
        assert_eq!(target.server_command(), "'/my tools/edt' mcp");
    }
}
