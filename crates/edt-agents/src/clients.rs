//! Agents that edt reaches by its MCP server and by instructions alone: one row each.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::setup::target::path_from_env;
use super::setup::{Form, JsonEntry, ManagedFile, Purpose, Scope, SetupTarget, Wiring};
use super::{Agent, instructions};
use edt_types::text::Shown as _;

/// Kimi CLI. It has one list of servers for each user.
pub const KIMI: Agent = row(
    "kimi",
    "Kimi CLI",
    Some("kimi"),
    kimi_home,
    |target| {
        let list = server(kimi_home(target).join("mcp.json"), "mcpServers", target);
        of_project(target, vec![list], instructions::agents_md_file(target.root.join("AGENTS.md")))
    },
    |_| {
        vec![
            "The list of servers is that of Kimi CLI (1.52), not that of the newer Kimi Code."
                .into(),
        ]
    },
);

/// Kilo Code: a fork of opencode.
pub const KILO: Agent = row(
    "kilo",
    "Kilo Code",
    Some("kilo"),
    |target| match target.scope {
        Scope::User => target.config_directory().join("kilo"),
        Scope::Project => target.root.join(".kilo"),
    },
    |target| {
        let directory = match target.scope {
            Scope::User => target.config_directory().join("kilo"),
            Scope::Project => target.root.clone(),
        };
        let with_comments = directory.join("kilo.jsonc");
        let file = if with_comments.exists() { with_comments } else { directory.join("kilo.json") };
        let value = json!({"type": "local", "command": [target.edt, "mcp"], "enabled": true});
        let list = entry(file, vec!["mcp", "edt"], value);
        of_project(target, vec![list], instructions::agents_md_file(target.root.join("AGENTS.md")))
    },
    documented,
);

/// Continue reads directories of servers and of rules.
pub const CONTINUE: Agent = row(
    "continue",
    "Continue",
    None,
    continue_home,
    |target| {
        let home = continue_home(target);
        let content = CONTINUE_SERVER.replace("\"edt\"", &json!(target.edt).to_string());
        let form = Form::OwnFile { content, mark: "edt setup continue", executable: false };
        vec![
            ManagedFile { file: home.join("mcpServers/edt.yaml"), purpose: Purpose::Mcp, form },
            instructions::rule_file(&home.join("rules")),
        ]
    },
    |_| {
        vec![
            "Continue in VS Code and JetBrains reads the server's file, in agent mode; its command \
             line (`cn` 1.5) reads the rules alone: name the server in its config.yaml."
                .into(),
        ]
    },
);

/// goose. Its list is a YAML file that goose itself rewrites without comments, so edt does not.
pub const GOOSE: Agent = row(
    "goose",
    "goose",
    None,
    |target| match target.scope {
        Scope::User => target.config_directory().join("goose"),
        Scope::Project => target.root.join(".goosehints"),
    },
    |target| {
        of_project(target, vec![], instructions::agents_md_file(target.root.join("AGENTS.md")))
    },
    |target| {
        let file = target.config_directory().join("goose/config.yaml");
        vec![format!(
            "Add edt to {} by hand; edt does not rewrite that file. Below its key `extensions`:\n  \
             edt:\n    name: edt\n    type: stdio\n    cmd: {}\n    args: [\"mcp\"]\n    enabled: \
             true\n    timeout: 300",
            file.shown(),
            json!(target.edt)
        )]
    },
);

/// Zed's own agent.
pub const ZED: Agent = row(
    "zed",
    "Zed",
    None,
    zed_home,
    |target| {
        let list = server(zed_home(target).join("settings.json"), "context_servers", target);
        of_project(target, vec![list], instructions::agents_md_file(target.root.join("AGENTS.md")))
    },
    |target| {
        let shadow = "Zed reads only the first of its files of rules: AGENTS.md is not read where \
                      there is a .rules, .cursorrules, .windsurfrules, .clinerules or \
                      .github/copilot-instructions.md.";
        [documented(target), vec![shadow.into()]].concat()
    },
);

/// Junie, in an IDE and on the command line.
pub const JUNIE: Agent = row(
    "junie",
    "Junie",
    Some("junie"),
    |target| target.path(".junie"),
    |target| {
        let list = server(target.path(".junie/mcp/mcp.json"), "mcpServers", target);
        let guidelines = target.root.join(".junie/guidelines.md");
        of_project(target, vec![list], instructions::agents_md_file(guidelines))
    },
    documented,
);

/// edt's server in a list of `mcpServers` that the user names.
#[must_use]
pub fn listed_in(file: &Path, target: &SetupTarget) -> Vec<ManagedFile> {
    vec![server(file.to_owned(), "mcpServers", target)]
}

const fn row(
    name: &'static str,
    title: &'static str,
    program: Option<&'static str>,
    settings: fn(&SetupTarget) -> PathBuf,
    files: fn(&SetupTarget) -> Vec<ManagedFile>,
    notes: fn(&SetupTarget) -> Vec<String>,
) -> Agent {
    let wiring =
        Wiring { files, notes, program, settings, can_disable_own_tools: false, plugin: None };
    Agent { name, title, protocol: None, wiring }
}

fn kimi_home(target: &SetupTarget) -> PathBuf {
    path_from_env("KIMI_SHARE_DIR").unwrap_or_else(|| target.home.join(".kimi"))
}

fn continue_home(target: &SetupTarget) -> PathBuf {
    target.path_or_env("CONTINUE_GLOBAL_DIR", ".continue")
}

fn zed_home(target: &SetupTarget) -> PathBuf {
    match target.scope {
        Scope::User => target.config_directory().join("zed"),
        Scope::Project => target.root.join(".zed"),
    }
}

const CONTINUE_SERVER: &str = "\
# Written by `edt setup continue`; `edt setup continue --remove` removes it.
name: edt
version: 0.0.1
schema: v1
mcpServers:
  - name: edt
    type: stdio
    command: \"edt\"
    args: [\"mcp\"]
";

fn documented(_: &SetupTarget) -> Vec<String> {
    vec!["Its form is that of its documentation; the program itself was not tested.".into()]
}

/// `files`, and in a project `more`.
fn of_project(
    target: &SetupTarget,
    mut files: Vec<ManagedFile>,
    more: ManagedFile,
) -> Vec<ManagedFile> {
    files.extend((target.scope == Scope::Project).then_some(more));
    files
}

fn server(file: PathBuf, list: &'static str, target: &SetupTarget) -> ManagedFile {
    entry(file, vec![list, "edt"], target.server())
}

fn entry(file: PathBuf, at: Vec<&'static str>, value: serde_json::Value) -> ManagedFile {
    let form = Form::Json(vec![JsonEntry::Owned(at, value)]);
    ManagedFile { file, purpose: Purpose::Mcp, form }
}
