//! Where an agent's files lie, and what they call.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

/// For whom it is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For everything that this person does.
    User,
    /// For one project, and everybody who works in it.
    Project,
}

impl Scope {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// Where an agent's files lie, and what they call.
#[derive(Debug, Clone)]
pub struct Place {
    /// For whom.
    pub scope: Scope,
    /// The person's home.
    pub home: PathBuf,
    /// The project's root.
    pub root: PathBuf,
    /// Edt, as a program is called: its name, or its path.
    pub edt: String,
    /// Whether the agent's own tools that edit are to go.
    pub only_edt: bool,
}

impl Place {
    /// The project's root, or the person's home.
    #[must_use]
    pub fn top(&self) -> &Path {
        match self.scope {
            Scope::User => &self.home,
            Scope::Project => &self.root,
        }
    }

    /// The folder `below` in the person's home, or in the project.
    #[must_use]
    pub fn folder(&self, below: &str) -> PathBuf {
        self.top().join(below)
    }

    /// The same, where a variable may name another place for the person's own.
    #[must_use]
    pub fn folder_or(&self, variable: &str, below: &str) -> PathBuf {
        match self.scope {
            Scope::User => named(variable).unwrap_or_else(|| self.home.join(below)),
            Scope::Project => self.root.join(below),
        }
    }

    /// The line that a shell runs for the hooks of `agent`. It never changes from one edt to the next: agents ask again for trust in a
    /// line that did.
    #[must_use]
    pub fn hook(&self, agent: &str) -> String {
        let edt = crate::base::text::shell_word(self.edt.as_bytes());
        format!("{edt} agent-hook {agent}")
    }

    /// The line that starts the MCP server.
    #[must_use]
    pub fn mcp(&self) -> String {
        format!("{} mcp", crate::base::text::shell_word(self.edt.as_bytes()))
    }
}

/// The absolute path that a variable names.
#[must_use]
pub fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// How edt is called from another program's settings: by its name, if that finds this very program, else by its path.
#[must_use]
pub fn called(own: &Path) -> String {
    let found = crate::io::bounded::find("edt").and_then(|found| crate::io::programs::real(&found));
    let sure = crate::io::programs::folders().iter().all(|folder| folder.is_absolute());
    if sure && found.is_some() && found == crate::io::programs::real(own) {
        "edt".to_owned()
    } else {
        own.display().to_string()
    }
}
