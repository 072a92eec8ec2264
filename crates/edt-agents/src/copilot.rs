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
    protocol: Some(Protocol { timeouts: TIMEOUTS, event, reply, adds_context, probe }),
    wiring: Wiring {
        files,
        notes,
        program: Some("copilot"),
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
        return claude_code::parse_event(payload, &SHELLS, |tool, input| {
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
    let (mut found, mut command) = (Vec::new(), None);
    if TOOLS.contains(&tool) {
        found = edits(tool, fields.object("toolArgs", &mut buffer, tool)?)?;
    } else if SHELLS.contains(&tool) {
        command = Some(fields.object("toolArgs", &mut buffer, tool)?.command()?);
    }
    let phase = match (tool.is_empty(), finished) {
        (true, _) if fields.has("prompt") => HookPhase::Prompt,
        (true, _) => HookPhase::Other,
        (false, true) => HookPhase::After,
        (false, false) => HookPhase::Before,
    };
    Ok(HookEvent {
        point: HookPoint { phase, hook: CLI },
        tool: tool.to_owned(),
        cwd: fields.directory(&["cwd"]),
        session: fields.lenient_text(&["sessionId"]).map(str::to_owned),
        turn: fields.turn(phase),
        edits: found,
        command,
    })
}

fn reply(point: HookPoint, message: &HookMessage) -> Reply {
    match message {
        _ if point.hook != CLI => claude_code::reply(point, message),
        HookMessage::Silent | HookMessage::Instead { .. } => Reply::EMPTY,
        HookMessage::Refusal(why) => {
            Reply::json(&json!({"permissionDecision": "deny", "permissionDecisionReason": why}))
        }
        HookMessage::Ask(question) => Reply::json(&json!({
            "permissionDecision": "ask", "permissionDecisionReason": question.reason,
        })),
        // It reads no answer to this hook.
        HookMessage::Info(text) | HookMessage::Objection(text) => {
            Reply { stderr: format!("{text}\n"), ..Reply::EMPTY }
        }
        HookMessage::Failure(why) => Reply::exit_two(why),
    }
}

/// Copilot's command line reads no answer to these hooks.
fn adds_context(point: HookPoint) -> bool {
    point.hook != CLI && matches!(point.phase, HookPhase::Start | HookPhase::After)
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
        hook("userPromptSubmitted"),
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
            instructions::agents_md_file(settings(target).join("copilot-instructions.md")),
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

/// The names of the shells of both.
const SHELLS: [&str; 3] = ["bash", "run_in_terminal", "runInTerminal"];

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

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "tests are read, not tuned")]

    use super::super::event::AgentTurn;
    use super::super::event::Replacement;
    use super::*;

    #[test]
    fn a_call_of_the_command_line_is_read() {
        let args = json!({"path": "a", "file_text": "x"}).to_string();
        assert_eq!(
            event(&json!({"sessionId": "s", "cwd": "/w", "toolName": "create", "toolArgs": args})),
            Ok(HookEvent {
                point: HookPoint { phase: HookPhase::Before, hook: CLI },
                tool: "create".to_owned(),
                cwd: Some("/w".into()),
                session: Some("s".to_owned()),
                turn: AgentTurn::default(),
                edits: vec![ToolEdit::Write { path: "a".into(), content: "x".into() }],
                command: None
            })
        );
    }

    #[test]
    fn a_call_with_a_result_has_run() {
        let payload =
            json!({"toolName": "view", "toolArgs": "{}", "toolResult": {"resultType": "success"}});
        assert_eq!(
            event(&payload).unwrap().point,
            HookPoint { phase: HookPhase::After, hook: CLI }
        );
    }

    #[test]
    fn a_prompt_is_no_call() {
        assert_eq!(event(&json!({"prompt": "hello"})).unwrap().point.phase, HookPhase::Prompt);
    }

    #[test]
    fn a_payload_without_a_tool_is_an_error() {
        assert_eq!(
            event(&json!({"toolArgs": "{}"})),
            Err(UnexpectedShape("the payload has no field `toolName`".to_owned()))
        );
    }

    #[test]
    fn several_files_of_vs_code_are_several_edits() {
        let one = |path: &str| json!({"filePath": path, "oldString": "x", "newString": "y"});
        let edit = |path: &str| ToolEdit::Replace {
            path: path.into(),
            replacements: vec![Replacement { old: "x".into(), new: "y".into(), all: false }],
        };
        let payload = json!({"hookEventName": "PreToolUse", "tool_name": "multi_replace_string_in_file",
        "tool_input": {"replacements": [one("a"), one("b")]}});
        let found = event(&payload).unwrap();
        assert_eq!(found.edits, [edit("a"), edit("b")]);
        assert_eq!(found.point.hook, "PreToolUse");
    }

    #[test]
    fn an_edit_that_another_model_makes_is_known_afterwards() {
        let payload = json!({"toolName": "insert_edit_into_file", "toolArgs": {"filePath": "a", "code": "x"}});
        assert_eq!(event(&payload).unwrap().edits, [ToolEdit::Unspecified { path: "a".into() }]);
    }

    #[test]
    fn the_command_line_and_vs_code_have_answers_of_their_own() {
        let refusal = HookMessage::Refusal("why".into());
        let answer = |hook| reply(HookPoint { phase: HookPhase::Before, hook }, &refusal);
        assert_eq!(
            answer(CLI),
            Reply::json(&json!({"permissionDecision": "deny", "permissionDecisionReason": "why"}))
        );
        assert_eq!(answer("PreToolUse"), claude_code::reply(HookPoint::UNKNOWN, &refusal));
    }

    #[test]
    fn the_command_line_reads_no_answer_after_a_tool() {
        let point = HookPoint { phase: HookPhase::After, hook: CLI };
        assert_eq!(
            reply(point, &HookMessage::Info("x".into())),
            Reply { stderr: "x\n".to_owned(), ..Reply::EMPTY }
        );
    }
}
