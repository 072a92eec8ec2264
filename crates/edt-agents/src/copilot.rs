//! GitHub Copilot: its command line has a form of its own, and VS Code has that of Claude Code. One
//! file of hooks serves both.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::event::{HookEvent, HookMessage, HookPhase, HookPoint, Reply, ToolEdit};
use super::setup::target::path_from_env;
use super::setup::{Form, JsonEntry, ManagedFile, Purpose, Scope, SetupTarget, Wiring};
use super::{Agent, Fields, HookTimeouts, Protocol, UnexpectedShape, claude_code, instructions};

/// GitHub Copilot.
pub const COPILOT: Agent = Agent {
    name: "copilot",
    title: "GitHub Copilot (command line and VS Code)",
    protocol: Some(Protocol { timeouts: TIMEOUTS, event, reply, probe }),
    wiring: Wiring {
        files,
        notes,
        program: "copilot",
        settings,
        can_disable_own_tools: false,
        plugin: None,
    },
};

/// The default of both.
const TIMEOUTS: HookTimeouts = HookTimeouts::within(30);

/// The hook name of events from its command line.
const CLI: &str = "cli";

fn event(payload: &Value) -> Result<HookEvent, UnexpectedShape> {
    let fields = Fields::of("the payload", payload)?;
    if fields.has("tool_name")
        || !fields.has("toolName")
            && fields.lenient_text(&["hook_event_name", "hookEventName"]).is_some()
    {
        return claude_code::parse_event(payload, |tool, input| {
            if TOOLS.contains(&tool) { edits(tool, input) } else { Ok(Vec::new()) }
        });
    }
    // The command line does not name the hook. Only a finished call has a result.
    let finished = fields.has("toolResult");
    let has_other_keys =
        ["prompt", "initialPrompt", "source", "reason", "error"].iter().any(|key| fields.has(key));
    let is_other_hook =
        has_other_keys && !["toolName", "toolArgs", "toolResult"].iter().any(|key| fields.has(key));
    let tool = if is_other_hook { "" } else { fields.tool_name("toolName")? };
    let mut buffer = Value::Null;
    let edits = if TOOLS.contains(&tool) {
        edits(tool, fields.object("toolArgs", &mut buffer, tool)?)?
    } else {
        Vec::new()
    };
    let phase = match (tool.is_empty(), finished) {
        (true, _) => HookPhase::Other,
        (false, true) => HookPhase::After,
        (false, false) => HookPhase::Before,
    };
    Ok(HookEvent {
        point: HookPoint { phase, hook: CLI },
        tool: tool.to_owned(),
        cwd: fields.directory(&["cwd"]),
        session: fields.lenient_text(&["sessionId"]).map(str::to_owned),
        edits,
    })
}

fn reply(point: HookPoint, message: &HookMessage) -> Reply {
    match message {
        _ if point.hook != CLI => claude_code::reply(point, message),
        HookMessage::Silent => Reply::EMPTY,
        HookMessage::Refusal(why) => {
            Reply::json(&json!({"permissionDecision": "deny", "permissionDecisionReason": why}))
        }
        // It reads no answer to this hook.
        HookMessage::Info(text) | HookMessage::Objection(text) => {
            Reply { stderr: format!("{text}\n"), ..Reply::EMPTY }
        }
        HookMessage::Failure(why) => Reply::exit_two(why),
    }
}

fn probe(root: &Path) -> Value {
    let args = json!({"path": root.join(".git/edt-probe"), "file_text": "x"});
    json!({"sessionId": "probe", "cwd": root, "toolName": "create", "toolArgs": args.to_string()})
}

fn files(target: &SetupTarget) -> Vec<ManagedFile> {
    let line = json!({"type": "command", "bash": target.hook_command("copilot"),
        "timeoutSec": TIMEOUTS.agent.as_secs()});
    let hook = |name| {
        JsonEntry::OwnedElement(vec!["hooks", name], line.clone(), "agent-hook copilot".into())
    };
    let entries = vec![
        JsonEntry::Default(vec!["version"], json!(1)),
        hook("preToolUse"),
        hook("postToolUse"),
    ];
    let hooks = |directory: PathBuf| ManagedFile {
        file: directory.join("edt.json"),
        purpose: Purpose::Hooks,
        form: Form::Json(entries.clone()),
    };
    let server = |file: PathBuf, key: &'static str, value: Value| ManagedFile {
        file,
        purpose: Purpose::Mcp,
        form: Form::Json(vec![JsonEntry::Owned(vec![key, "edt"], value)]),
    };
    match target.scope {
        Scope::User => vec![
            server(
                settings(target).join("mcp-config.json"),
                "mcpServers",
                json!({"type": "local", "command": target.edt, "args": ["mcp"], "tools": ["*"]}),
            ),
            hooks(settings(target).join("hooks")),
        ],
        Scope::Project => vec![
            server(
                target.root.join(".vscode/mcp.json"),
                "servers",
                json!({"type": "stdio", "command": target.edt, "args": ["mcp"]}),
            ),
            hooks(target.root.join(".github/hooks")),
            instructions::agents_md_file(target.root.join("AGENTS.md")),
        ],
    }
}

fn notes(_: &SetupTarget) -> Vec<String> {
    vec![
        "Its hooks are tested with payloads from its documentation, not with the program itself. \
         VS Code runs them where agent hooks are switched on."
            .into(),
    ]
}

fn settings(target: &SetupTarget) -> PathBuf {
    match target.scope {
        Scope::User => {
            path_from_env("COPILOT_HOME").unwrap_or_else(|| target.home.join(".copilot"))
        }
        Scope::Project => target.root.join(".github/hooks"),
    }
}

/// The tools of both that edit.
const TOOLS: [&str; 8] = [
    "edit",
    "create",
    "str_replace",
    "apply_patch",
    "replace_string_in_file",
    "multi_replace_string_in_file",
    "create_file",
    "insert_edit_into_file",
];

fn edits(tool: &str, input: Fields<'_>) -> Result<Vec<ToolEdit>, UnexpectedShape> {
    Ok(match tool {
        "create" | "create_file" => vec![input.write()?],
        "apply_patch" => vec![input.patch()?],
        "multi_replace_string_in_file" => {
            input.objects("replacements")?.iter().map(Fields::replace).collect::<Result<_, _>>()?
        }
        // Another model turns the input into the edit, so the result cannot be predicted.
        "insert_edit_into_file" => vec![ToolEdit::Unspecified { path: input.path()? }],
        _ => vec![input.replace()?],
    })
}
