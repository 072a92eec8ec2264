//! Codex CLI: it takes the form of Claude Code and reads it more strictly. It edits on an unknown
//! key, on a bare "allow", and on an exit status without a message.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::event::{HookEvent, HookMessage, HookPoint, Reply, ToolEdit};
use super::setup::{
    Form, JsonEntry, ManagedFile, Purpose, Scope, SetupTarget, TomlOwner, TomlTable, Wiring, json,
};
use super::{Agent, Fields, HookTimeouts, Protocol, UnexpectedShape, claude_code, instructions};

/// Codex CLI.
pub const CODEX: Agent = Agent {
    name: "codex",
    title: "Codex CLI",
    protocol: Some(Protocol {
        timeouts: TIMEOUTS,
        event,
        reply,
        adds_context: claude_code::adds_context,
        probe,
    }),
    wiring: Wiring {
        files,
        notes,
        program: Some("codex"),
        settings,
        can_disable_own_tools: false,
        plugin: Some(plugin),
    },
};

/// The agent's default is 600 s; `edt setup` writes this value.
const TIMEOUTS: HookTimeouts = HookTimeouts::within(60);

fn event(payload: &Value) -> Result<HookEvent, UnexpectedShape> {
    claude_code::parse_event(payload, &SHELLS, edits)
}

/// The names of its shell. It calls every one `Bash` in hooks since 0.124.
const SHELLS: [&str; 5] = ["Bash", "shell", "shell_command", "local_shell", "exec_command"];

/// It runs the command if a hook answers `ask`.
fn reply(point: HookPoint, message: &HookMessage) -> Reply {
    claude_code::reply(point, &message.without_question())
}

fn probe(root: &Path) -> Value {
    let patch = "*** Begin Patch\n*** Add File: .git/edt-probe\n+x\n*** End Patch\n";
    json!({"session_id": "probe", "turn_id": "probe", "cwd": root, "hook_event_name": "PreToolUse",
        "tool_name": "apply_patch", "tool_input": {"command": patch}})
}

fn files(target: &SetupTarget) -> Vec<ManagedFile> {
    let home = settings(target);
    let server = vec![
        ("command", toml_edit::Value::from(target.edt.as_str())),
        ("args", toml_edit::Value::Array(["mcp"].into_iter().collect())),
    ];
    let agents_md = match target.scope {
        Scope::User => home.join("AGENTS.md"),
        Scope::Project => target.root.join("AGENTS.md"),
    };
    vec![
        ManagedFile {
            file: home.join("config.toml"),
            purpose: Purpose::Mcp,
            form: Form::Toml(vec![
                TomlTable { at: &["mcp_servers", "edt"], keys: server, owner: TomlOwner::Edt },
                // The policy and the sandbox of edt judge a program; Codex would ask about each.
                TomlTable {
                    at: &["mcp_servers", "edt", "tools", "run"],
                    keys: vec![("approval_mode", "approve".into())],
                    owner: TomlOwner::User,
                },
            ]),
        },
        ManagedFile {
            file: home.join("hooks.json"),
            purpose: Purpose::Hooks,
            form: Form::Json(hooks(&target.hook_command("codex"))),
        },
        instructions::agents_md_file(agents_md),
        instructions::skill_file(&target.path(".agents/skills")),
    ]
}

/// Codex finds the settings of the server and the hooks by the names of their files.
fn plugin() -> Vec<(&'static str, String)> {
    let publisher = "The edt project";
    let manifest = json!({
        "name": "edt", "version": env!("CARGO_PKG_VERSION"),
        "description": instructions::DESCRIPTION, "license": env!("CARGO_PKG_LICENSE"),
        "author": {"name": publisher},
        "skills": "./skills/", "mcpServers": "./.mcp.json",
        "interface": {
            "displayName": "edt", "shortDescription": "Edits as Git transactions",
            "longDescription": instructions::DESCRIPTION, "developerName": publisher,
            "category": "Developer Tools", "capabilities": ["Interactive", "Write"],
            "defaultPrompt": ["Show what edt did in this session"],
        },
    });
    let server = json!({"command": "edt", "args": ["mcp"]});
    let server = JsonEntry::Owned(vec!["mcpServers", "edt"], server);
    vec![
        (".codex-plugin/plugin.json", json::file(&manifest)),
        (".mcp.json", json::with(None, &[server]).unwrap_or_default()),
        ("hooks/hooks.json", json::with(None, &hooks("edt agent-hook codex")).unwrap_or_default()),
        ("skills/edt/SKILL.md", instructions::skill()),
    ]
}

fn hooks(command: &str) -> Vec<JsonEntry> {
    let line = json!({"type": "command", "command": command, "timeout": TIMEOUTS.agent.as_secs()});
    let hook = |name, value| {
        JsonEntry::OwnedElement(vec!["hooks", name], value, "agent-hook codex".into())
    };
    vec![
        hook("PreToolUse", json!({"matcher": "apply_patch|Bash", "hooks": [line.clone()]})),
        hook("PostToolUse", json!({"matcher": "apply_patch|Bash", "hooks": [line.clone()]})),
        hook("SessionStart", json!({"hooks": [line.clone()]})),
        hook("UserPromptSubmit", json!({"hooks": [line]})),
    ]
}

fn notes(_: &SetupTarget) -> Vec<String> {
    vec![
        "Type /hooks in Codex once and trust edt's hooks: Codex skips hooks that are not trusted, \
         in `codex exec` without a message."
            .into(),
        "Its own sandbox keeps shell commands from writing .git: edits go through the MCP server, \
         which runs outside the sandbox. Its tool `run` needs no approval of Codex, because edt's \
         policy and sandbox judge each program; `land` does."
            .into(),
    ]
}

fn settings(target: &SetupTarget) -> PathBuf {
    target.path_or_env("CODEX_HOME", ".codex")
}

fn edits(tool: &str, input: Fields<'_>) -> Result<Vec<ToolEdit>, UnexpectedShape> {
    Ok(match tool {
        "apply_patch" => vec![input.patch()?],
        "Edit" => vec![input.replace()?],
        "Write" => vec![input.write()?],
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "tests are read, not tuned")]

    use super::super::event::Question;
    use super::*;

    fn edits_of(tool: &str, input: Value) -> Result<Vec<ToolEdit>, UnexpectedShape> {
        let payload =
            json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
        event(&payload).map(|event| event.edits)
    }

    #[test]
    fn a_patch_is_in_the_command() {
        assert_eq!(
            edits_of("apply_patch", json!({"command": "*** Begin Patch\n"})),
            Ok(vec![ToolEdit::Patch { text: "*** Begin Patch\n".into() }])
        );
    }

    #[test]
    fn a_patch_without_its_text_is_an_error() {
        assert_eq!(
            edits_of("apply_patch", json!({})),
            Err(UnexpectedShape(
                "apply_patch has no field `patchText` or `patch` or `command` or `input`"
                    .to_owned()
            ))
        );
    }

    #[test]
    fn a_command_is_a_script_or_words() {
        let script = |tool: &str, input: Value| {
            let payload =
                json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
            event(&payload).unwrap().command.unwrap().script
        };
        assert_eq!(script("Bash", json!({"command": "ls -l"})), "ls -l");
        assert_eq!(script("shell", json!({"command": ["bash", "-lc", "a | b"]})), "a | b");
        assert_eq!(script("shell", json!({"command": ["ls", "a b"]})), "ls 'a b'");
    }

    #[test]
    fn a_question_is_a_refusal() {
        let question = Question { reason: "why".into(), refusal: "instead".into() };
        let answer = reply(HookPoint::UNKNOWN, &HookMessage::Ask(question)).stdout;
        assert!(answer.contains("\"deny\"") && answer.contains("instead"), "{answer}");
    }
}
