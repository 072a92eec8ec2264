//! An attempt as a conversation: what the model is told, what it calls, and what it is answered.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{Gone, Line};
use super::settings::Settings;
use super::{Broken, Call, Protocol, Turn};
use crate::base::Result;
use crate::bench::executor::{Attempted, Executor};
use crate::bench::protocol::Brief;
use crate::bench::record::Ended;
use crate::bench::scene::Scene;
use crate::io::clock;

/// A tool that a model is offered.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) schema: fn() -> Value,
}

/// Every tool.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "apply",
        about: "Change files: all of it or none. Modes: create, edit (replaces old_text, which must stand in the file exactly once), append, \
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
    Tool { name: "undo", about: "Take your last edit back.", schema: || object(&json!({}), &[]) },
    Tool { name: "done", about: "The task is done.", schema: || object(&json!({}), &[]) },
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

/// The most requests of an attempt.
const MOST_TURNS: u32 = 60;
/// The most calls that were no calls of an attempt.
const MOST_MALFORMED: u32 = 20;
/// The most of a file or an answer that a model is shown, in bytes.
const MOST_SHOWN: usize = 128 * 1024;

const SYSTEM: &str = "You edit files in a Git worktree until the task is done. Read a file before you change it. Change only what the task asks for.";
const WITH_TOOLS: &str = " Use the tools; call `done` when the task is done.";
const WITH_TEXT: &str = " Write your changes as SEARCH/REPLACE blocks, each with the path in the line above it:\n\npath/to/file\n<<<<<<< SEARCH\nthe lines as they are\n=======\nthe lines as they should be\n>>>>>>> REPLACE\n\nAn empty SEARCH part makes a new file. Where something is refused you are told why, and write it again.";

/// A conversation over all attempts at a task.
pub(super) struct Chat {
    settings: Settings,
    protocol: &'static dyn Protocol,
    line: Line,
    limit: Duration,
    turns: Vec<Turn>,
}

impl Chat {
    pub(super) fn new(
        settings: Settings,
        protocol: &'static dyn Protocol,
        line: Line,
        limit: Duration,
    ) -> Chat {
        Chat { settings, protocol, line, limit, turns: Vec::new() }
    }

    fn converse(
        &mut self,
        scene: &mut Scene<'_>,
        brief: &Brief,
        done: &mut Attempted,
        until: Instant,
    ) -> Result<Ended> {
        let system = format!("{SYSTEM}{}", if self.settings.text { WITH_TEXT } else { WITH_TOOLS });
        let first = self.told(scene, brief);
        self.turns.push(Turn::User(first));
        for turn in 0..MOST_TURNS {
            let body = self.protocol.body(&self.settings, &system, &self.turns);
            let mut reply = match self.line.ask(&body, until, brief.seed) {
                Ok(reply) => reply,
                Err(Gone::Refused(findings)) => return Err(findings),
                Err(Gone::Late(why)) => return Ok(over(done, Ended::TimedOut, why)),
                Err(Gone::Failed(why)) => return Ok(over(done, Ended::Died, why)),
                Err(Gone::Flooded) => return Ok(over(done, Ended::Flooded, String::new())),
            };
            for (at, call) in
                reply.calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty())
            {
                call.id = format!("call-{turn}-{at}");
            }
            self.paid(done, reply.input_tokens, reply.output_tokens);
            if !reply.text.trim().is_empty() {
                done.said.push(json!({"type": "say", "text": reply.text}).to_string());
            }
            self.turns.push(Turn::Model(reply.clone()));
            if reply.calls.is_empty() {
                let Some(answer) = self.text(scene, done, &reply.text, reply.cut) else {
                    return Ok(Ended::Done);
                };
                self.turns.push(Turn::User(answer));
                continue;
            }
            let mut results = Vec::new();
            for call in &reply.calls {
                results.push((call.id.clone(), called(scene, done, call, until)));
            }
            self.turns.push(Turn::Results(results));
            if reply.calls.iter().any(|call| call.name == "done") {
                return Ok(Ended::Done);
            }
            if done.malformed >= MOST_MALFORMED {
                return Ok(Ended::Babbled);
            }
        }
        Ok(over(done, Ended::Babbled, format!("{MOST_TURNS} requests, and it was not done")))
    }

    /// What stands in a text without calls: edits are applied. `None` if there is nothing more to say.
    fn text(
        &self,
        scene: &mut Scene<'_>,
        done: &mut Attempted,
        text: &str,
        cut: bool,
    ) -> Option<String> {
        if cut {
            return Some(format!(
                "That was cut off after {} tokens, and nothing of it was done. Say it in smaller steps.",
                self.settings.max_tokens
            ));
        }
        if !has_edits(text) {
            return None;
        }
        let request = json!({"patch": text});
        done.said.push(json!({"type": "apply", "request": request}).to_string());
        let outcome = scene.apply(&request);
        let landed = matches!(outcome["status"].as_str(), Some("applied" | "unchanged"));
        (!landed).then(|| shown(&outcome.to_string()))
    }

    fn told(&self, scene: &mut Scene<'_>, brief: &Brief) -> String {
        let mut text = if brief.attempt == 1 {
            format!("{}\n\nFiles:\n{}\n", brief.instruction, brief.files.join("\n"))
        } else {
            let why = brief.feedback.as_deref().unwrap_or("Nothing more is known.");
            format!(
                "The task is not done yet: attempt {} of {}. {why}\n\nThe task:\n{}\n",
                brief.attempt, brief.attempts, brief.instruction
            )
        };
        if !brief.priors.is_empty() {
            text += &format!("\nLessons of earlier failures:\n- {}\n", brief.priors.join("\n- "));
        }
        // Without tools it cannot ask for a file.
        if self.settings.text {
            for path in &brief.files {
                if let Ok((content, _)) = scene.read(path) {
                    text += &format!("\n{path}:\n```\n{}\n```\n", shown(&content));
                }
            }
        }
        text
    }

    fn paid(&self, done: &mut Attempted, input: Option<u64>, output: Option<u64>) {
        let usage = &mut done.usage;
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0) + more);
            }
        };
        add(&mut usage.input_tokens, input);
        add(&mut usage.output_tokens, output);
        if let (Some(input), Some(output)) = (usage.input_tokens, usage.output_tokens) {
            usage.cost_usd = self.settings.cost(input, output);
        }
    }
}

impl Executor for Chat {
    fn attempt(&mut self, scene: &mut Scene<'_>, brief: &Brief) -> Result<Attempted> {
        let until = clock::now() + self.limit;
        let mut done = Attempted::default();
        done.ended = self.converse(scene, brief, &mut done, until)?;
        done.said.push(json!({"type": "done", "usage": done.usage}).to_string());
        Ok(done)
    }
}

fn over(done: &mut Attempted, ended: Ended, why: String) -> Ended {
    done.complaint = Some(why).filter(|why| !why.is_empty());
    ended
}

/// Does what a call asks for; the answer is JSON.
fn called(scene: &mut Scene<'_>, done: &mut Attempted, call: &Call, until: Instant) -> String {
    let arguments = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    let arguments: Value = match serde_json::from_str(arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        Ok(_) => return malformed(done, "they are no JSON object"),
        Err(error) => return malformed(done, &error.to_string()),
    };
    let path = arguments["path"].as_str();
    let argv: Option<Vec<String>> = serde_json::from_value(arguments["argv"].clone()).ok();
    let mut note = |said: Value| done.said.push(said.to_string());
    let answer = match call.name.as_str() {
        "apply" => {
            note(json!({"type": "apply", "request": arguments}));
            scene.apply(&arguments)
        }
        "read" => {
            let Some(path) = path else { return malformed(done, "`path` is missing") };
            note(json!({"type": "read", "path": path}));
            scene.read(path).map_or_else(
                |refusal| refusal,
                |(text, hash)| json!({"path": path, "text": shown(&text), "hash": hash}),
            )
        }
        "run" => {
            let Some(argv) = argv.filter(|argv| !argv.is_empty()) else {
                return malformed(done, "`argv` is missing");
            };
            let left = until.saturating_duration_since(clock::now()).as_secs_f64().max(0.1);
            let timeout = arguments["timeout"].as_f64().unwrap_or(120.0);
            note(json!({"type": "run", "argv": argv, "timeout": timeout}));
            scene.run(&argv, Some(timeout.min(left)))
        }
        "undo" => {
            note(json!({"type": "undo"}));
            scene.undo()
        }
        "done" => json!({"heard": true}),
        other => return malformed(done, &format!("there is no tool {other:?}")),
    };
    shown(&answer.to_string())
}

fn malformed(done: &mut Attempted, why: &str) -> String {
    done.malformed += 1;
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    json!({"error": format!("The call cannot be read: {why}. Nothing was done. The tools are {}.", names.join(", "))})
        .to_string()
}

/// Whether a text has edits in a form that edt reads.
fn has_edits(text: &str) -> bool {
    let starts = |marker: &str| text.lines().any(|line| line.starts_with(marker));
    starts("<<<<<<< SEARCH")
        || starts("*** Begin Patch")
        || starts("diff --git ")
        || starts("@@ ") && starts("+++ ")
}

fn shown(text: &str) -> String {
    if text.len() <= MOST_SHOWN {
        return text.to_owned();
    }
    let at = (0..=MOST_SHOWN).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n[truncated: {at} of {} bytes]", &text[..at], text.len())
}

/// What an error that a server tells of means.
pub(super) fn broken(error: &Value) -> Broken {
    let text = |key: &str| error[key].as_str().unwrap_or_default();
    let (kind, code, message) = (
        text("type"),
        text("code"),
        error["message"].as_str().or(error.as_str()).unwrap_or_default(),
    );
    let why = format!(
        "the server answered with an error: {} {}",
        kind,
        message.chars().take(300).collect::<String>()
    );
    let passing =
        ["overloaded", "rate_limit", "api_error", "server_error", "timeout", "unavailable"];
    if passing.iter().any(|word| kind.contains(word) || code.contains(word)) {
        Broken::Later(why)
    } else {
        Broken::Never(why)
    }
}
