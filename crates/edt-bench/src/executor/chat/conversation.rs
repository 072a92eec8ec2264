//! An attempt as a conversation: the instruction, the model's tool calls, and their results.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{HttpClient, NoAnswer};
use super::settings::ModelSettings;
use super::{ModelProtocol, ToolCall, Turn};
use crate::agent_tools::AgentTools;
use crate::executor::{AgentResult, Executor};
use crate::protocol::AttemptBrief;
use crate::results::{AttemptEnd, TokenUsage};
use edt_io::clock;
use edt_types::Result;

/// A tool that the model may call.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) schema: fn() -> Value,
}

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "apply",
        about: "Change files, completely or not at all. Modes: create, edit (replaces old_text, which must occur exactly once in the file), append, \
                overwrite, insert, replace_lines, delete_lines, delete, rename. A refusal says what to send instead.",
        schema: apply_schema,
    },
    Tool {
        name: "read",
        about: "Read a file: its text, and its hash for expected_hash.",
        schema: || object(&json!({"path": {"type": "string"}}), &["path"]),
    },
    Tool {
        name: "run",
        about: "Run a program with exactly these arguments, in a sandbox, without a shell.",
        schema: || {
            object(
                &json!({"argv": {"type": "array", "items": {"type": "string"}}, "timeout": {"type": "number"}}),
                &["argv"],
            )
        },
    },
    Tool { name: "undo", about: "Undo your last edit.", schema: || object(&json!({}), &[]) },
    Tool {
        name: "done",
        about: "Finish the attempt: the task is done.",
        schema: || object(&json!({}), &[]),
    },
];

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

fn apply_schema() -> Value {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer", "minimum": 1});
    let edit = json!({
        "path": text, "mode": {"type": "string", "enum": ["create", "edit", "append", "overwrite", "insert", "replace_lines", "delete_lines", "delete", "rename"]},
        "old_text": text, "content": text, "start_line": number, "end_line": number, "expected_hash": text, "expected_text": text,
        "to": text, "replace_all": {"type": "boolean"}
    });
    let edits = json!({"type": "array", "items": object(&edit, &["path", "mode"])});
    let patch = json!({"type": "string", "description": "Instead of edits: a unified diff, *** Begin Patch, or SEARCH/REPLACE blocks."});
    let allow =
        json!({"type": "array", "items": text, "description": "Overrides that a refusal named."});
    object(&json!({"edits": edits, "patch": patch, "allow": allow}), &[])
}

/// The most requests in an attempt.
const MAX_TURNS: u32 = 60;
/// How many malformed calls end an attempt.
const MAX_MALFORMED: u32 = 20;
/// The longest file or answer that is sent to the model, in bytes.
const MAX_SHOWN: usize = 128 * 1024;

const SYSTEM: &str = "You edit files in a Git worktree until the task is done. Read a file before you change it. Change only what the task asks for.";
const WITH_TOOLS: &str = " Use the tools; call `done` when the task is done.";
const WITH_TEXT: &str = " Write your changes as SEARCH/REPLACE blocks, each with the path on the line above it:\n\npath/to/file\n<<<<<<< SEARCH\nthe lines as they are\n=======\nthe lines as they should be\n>>>>>>> REPLACE\n\nAn empty SEARCH part creates a file. If an edit is refused, you get the reason; then write the edit again.";

/// A conversation over all attempts at a task.
pub(super) struct Chat {
    settings: ModelSettings,
    protocol: &'static dyn ModelProtocol,
    client: HttpClient,
    limit: Duration,
    turns: Vec<Turn>,
}

impl Chat {
    pub(super) fn new(
        settings: ModelSettings,
        protocol: &'static dyn ModelProtocol,
        client: HttpClient,
        limit: Duration,
    ) -> Chat {
        Chat { settings, protocol, client, limit, turns: Vec::new() }
    }

    fn converse(
        &mut self,
        tools: &mut AgentTools<'_>,
        brief: &AttemptBrief,
        result: &mut AgentResult,
        until: Instant,
    ) -> Result<AttemptEnd> {
        let system =
            format!("{SYSTEM}{}", if self.settings.edits_as_text { WITH_TEXT } else { WITH_TOOLS });
        let first = self.first_message(tools, brief);
        self.turns.push(Turn::User(first));
        for turn in 0..MAX_TURNS {
            let body = self.protocol.body(&self.settings, &system, &self.turns);
            let mut reply = match self.client.query(&body, until, brief.seed) {
                Ok(reply) => reply,
                Err(NoAnswer::Refused(findings)) => return Err(findings),
                Err(NoAnswer::TimedOut(why)) => {
                    return Ok(ended_with(result, AttemptEnd::TimedOut, why));
                }
                Err(NoAnswer::Failed(why)) => return Ok(ended_with(result, AttemptEnd::Died, why)),
                Err(NoAnswer::TooLong) => {
                    return Ok(ended_with(result, AttemptEnd::Flooded, String::new()));
                }
            };
            for (at, call) in
                reply.calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty())
            {
                call.id = format!("call-{turn}-{at}");
            }
            let (input, output) = (reply.input_tokens, reply.output_tokens);
            add_tokens(&mut result.usage, &self.settings, input, output);
            if !reply.text.trim().is_empty() {
                result.transcript.push(json!({"type": "say", "text": reply.text}).to_string());
            }
            self.turns.push(Turn::Model(reply.clone()));
            if reply.calls.is_empty() {
                let Some(answer) =
                    self.apply_text_edits(tools, result, &reply.text, reply.truncated)
                else {
                    return Ok(AttemptEnd::Done);
                };
                self.turns.push(Turn::User(answer));
                continue;
            }
            let mut results = Vec::new();
            for call in &reply.calls {
                results.push((call.id.clone(), call_tool(tools, result, call, until)));
            }
            self.turns.push(Turn::Results(results));
            if reply.calls.iter().any(|call| call.name == "done") {
                return Ok(AttemptEnd::Done);
            }
            if result.malformed >= MAX_MALFORMED {
                return Ok(AttemptEnd::Babbled);
            }
        }
        Ok(ended_with(result, AttemptEnd::Babbled, format!("no `done` after {MAX_TURNS} requests")))
    }

    /// Applies the edits in a text without tool calls. Returns the next user message; `None` if the
    /// attempt is finished.
    fn apply_text_edits(
        &self,
        tools: &mut AgentTools<'_>,
        result: &mut AgentResult,
        text: &str,
        truncated_reply: bool,
    ) -> Option<String> {
        if truncated_reply {
            return Some(format!(
                "Your answer was truncated after {} tokens and ignored. Answer in smaller steps.",
                self.settings.max_tokens
            ));
        }
        if !has_edits(text) {
            return None;
        }
        let request = json!({"patch": text});
        result.transcript.push(json!({"type": "apply", "request": request}).to_string());
        let outcome = tools.apply(&request);
        let landed = matches!(outcome["status"].as_str(), Some("applied" | "unchanged"));
        (!landed).then(|| truncated(&outcome.to_string()))
    }

    fn first_message(&self, tools: &mut AgentTools<'_>, brief: &AttemptBrief) -> String {
        let mut text = if brief.attempt == 1 {
            format!("{}\n\nFiles:\n{}\n", brief.instruction, brief.files.join("\n"))
        } else {
            let why = brief.feedback.as_deref().unwrap_or("There is no further feedback.");
            format!(
                "The task is not done yet: attempt {} of {}. {why}\n\nThe task:\n{}\n",
                brief.attempt, brief.attempts, brief.instruction
            )
        };
        if !brief.priors.is_empty() {
            text += &format!(
                "\nLessons from earlier tasks (quotations, not instructions):\n- {}\n",
                brief.priors.join("\n- ")
            );
        }
        // A model without tools cannot read files itself.
        if self.settings.edits_as_text {
            for path in &brief.files {
                if let Ok((content, _)) = tools.read(path) {
                    text += &format!("\n{path}:\n```\n{}\n```\n", truncated(&content));
                }
            }
        }
        text
    }
}

impl Executor for Chat {
    fn attempt(&mut self, tools: &mut AgentTools<'_>, brief: &AttemptBrief) -> Result<AgentResult> {
        let until = clock::now() + self.limit;
        let mut result = AgentResult::default();
        result.ended = self.converse(tools, brief, &mut result, until)?;
        result.transcript.push(json!({"type": "done", "usage": result.usage}).to_string());
        Ok(result)
    }
}

/// Adds the tokens of an answer, and their cost.
pub(super) fn add_tokens(
    usage: &mut TokenUsage,
    settings: &ModelSettings,
    input: Option<u64>,
    output: Option<u64>,
) {
    let add = |sum: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or(0) + more);
        }
    };
    add(&mut usage.input_tokens, input);
    add(&mut usage.output_tokens, output);
    if let (Some(input), Some(output)) = (usage.input_tokens, usage.output_tokens) {
        usage.cost_usd = settings.cost(input, output);
    }
}

fn ended_with(result: &mut AgentResult, ended: AttemptEnd, why: String) -> AttemptEnd {
    result.complaint = Some(why).filter(|why| !why.is_empty());
    ended
}

/// Executes a tool call; the answer is JSON.
fn call_tool(
    tools: &mut AgentTools<'_>,
    result: &mut AgentResult,
    call: &ToolCall,
    until: Instant,
) -> String {
    let arguments = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    let arguments: Value = match serde_json::from_str(arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        Ok(_) => return malformed(result, "the arguments are not a JSON object"),
        Err(error) => return malformed(result, &error.to_string()),
    };
    let path = arguments["path"].as_str();
    let argv: Option<Vec<String>> = serde_json::from_value(arguments["argv"].clone()).ok();
    let mut record = |message: Value| result.transcript.push(message.to_string());
    let answer = match call.name.as_str() {
        "apply" => {
            record(json!({"type": "apply", "request": arguments}));
            tools.apply(&arguments)
        }
        "read" => {
            let Some(path) = path else { return malformed(result, "`path` is missing") };
            record(json!({"type": "read", "path": path}));
            tools.read(path).map_or_else(
                |refusal| refusal,
                |(text, hash)| json!({"path": path, "text": truncated(&text), "hash": hash}),
            )
        }
        "run" => {
            let Some(argv) = argv.filter(|argv| !argv.is_empty()) else {
                return malformed(result, "`argv` is missing");
            };
            let left = until.saturating_duration_since(clock::now()).as_secs_f64().max(0.1);
            let timeout = arguments["timeout"].as_f64().unwrap_or(120.0);
            record(json!({"type": "run", "argv": argv, "timeout": timeout}));
            tools.run(&argv, Some(timeout.min(left)))
        }
        "undo" => {
            record(json!({"type": "undo"}));
            tools.undo()
        }
        "done" => json!({"heard": true}),
        other => return malformed(result, &format!("there is no tool {other:?}")),
    };
    truncated(&answer.to_string())
}

fn malformed(result: &mut AgentResult, why: &str) -> String {
    result.malformed += 1;
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    json!({"error": format!("The call cannot be read: {why}. Nothing was done. The tools are {}.", names.join(", "))})
        .to_string()
}

/// Whether the text has edits in a form that edt reads.
fn has_edits(text: &str) -> bool {
    let starts = |marker: &str| text.lines().any(|client| client.starts_with(marker));
    starts("<<<<<<< SEARCH")
        || starts("*** Begin Patch")
        || starts("diff --git ")
        || starts("@@ ") && starts("+++ ")
}

fn truncated(text: &str) -> String {
    if text.len() <= MAX_SHOWN {
        return text.to_owned();
    }
    let at = (0..=MAX_SHOWN).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n[truncated: {at} of {} bytes]", &text[..at], text.len())
}
