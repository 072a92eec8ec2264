//! Replays a recorded session: one JSON object per line, with the changes that others made
//! meanwhile.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::Value;

use super::{AgentResult, Executor, ExecutorConfig, ExecutorKind};
use crate::agent_tools::AgentTools;
use crate::protocol::{AgentMessage, AttemptBrief};
use crate::results::{AttemptEnd, MarkedCall};
use crate::task::bad_task;
use edt_types::text::{counted, shell_word};
use edt_types::{Refusal, Result};

pub const KIND: ExecutorKind = ExecutorKind {
    name: "replay",
    about: "`replay`: the recorded session of each task, from replay.jsonl",
    matches: |agent| agent == "replay",
    create: |config| Ok(Box::new(Replay { lines: parse(config)? })),
};

struct Replay {
    lines: VecDeque<RecordedLine>,
}

#[derive(Debug)]
struct RecordedLine {
    text: String,
    step: Step,
    mark: Option<Mark>,
}

#[derive(Debug)]
enum Step {
    /// A message from the agent.
    Agent(AgentMessage),
    /// A change by somebody else.
    Foreign(ForeignStep),
}

/// A change of the worktree by somebody else.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum ForeignStep {
    /// Applies a request through edt.
    Apply(Value),
    /// Writes a file without edt.
    Write { path: String, content: String },
}

/// The mark of a call whose answer the report shows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// The number of the call.
    call: u32,
    /// The kind of the call.
    kind: String,
    /// The calls of the other recording that it replaces.
    #[serde(default)]
    instead_of: Vec<u32>,
    /// The file whose size is recorded after the call.
    watch: Option<String>,
}

fn parse(config: &ExecutorConfig<'_>) -> Result<VecDeque<RecordedLine>> {
    let place = format!("task {}", config.task.id);
    if config.task.replay.is_empty() {
        return Err(bad_task(
            &place,
            "replay",
            "there is no recorded session: neither replay.jsonl nor `replay`",
        )
        .into());
    }
    let lines = config.task.replay.iter().enumerate();
    lines
        .map(|(at, text)| {
            parse_line(text).map_err(|why| {
                bad_task(&place, "replay", &format!("line {}: {why}", at + 1)).into()
            })
        })
        .collect()
}

fn parse_line(text: &str) -> std::result::Result<RecordedLine, String> {
    let reason = |error: serde_json::Error| error.to_string();
    let mut value: Value = serde_json::from_str(text).map_err(reason)?;
    let object = value.as_object_mut().ok_or("it is not a JSON object")?;
    let mark = object.remove("mark").map(serde_json::from_value).transpose().map_err(reason)?;
    let step = if object.get("type").and_then(Value::as_str) == Some("other") {
        object.remove("type");
        Step::Foreign(serde_json::from_value(value).map_err(reason)?)
    } else {
        Step::Agent(serde_json::from_value(value).map_err(reason)?)
    };
    Ok(RecordedLine { text: text.to_owned(), step, mark })
}

impl Executor for Replay {
    fn attempt(&mut self, tools: &mut AgentTools<'_>, brief: &AttemptBrief) -> Result<AgentResult> {
        let mut result = AgentResult::default();
        if self.lines.is_empty() {
            return Ok(AgentResult { ended: AttemptEnd::Exhausted, ..result });
        }
        while let Some(line) = self.lines.pop_front() {
            result.transcript.push(line.text.clone());
            let answer = match &line.step {
                Step::Agent(AgentMessage::Done { usage }) => {
                    result.usage = usage.unwrap_or_default();
                    return Ok(result);
                }
                Step::Agent(message) => Some((describe(message), answer_of(tools, message))),
                Step::Foreign(foreign) => {
                    act_as_other(tools, foreign).map_err(|found| replay_refused(brief, &found))?;
                    None
                }
            };
            if let (Some(mark), Some((called, answer))) = (line.mark, answer) {
                let watched = |path: &String| {
                    tools.files().ok()?.get(path).map(|content| content.bytes.len() as u64)
                };
                let bytes = mark.watch.as_ref().map(|path| watched(path).unwrap_or(0));
                let Mark { call, kind, instead_of, .. } = mark;
                tools.mark_call(MarkedCall { call, kind, instead_of, called, answer, bytes });
            }
        }
        Ok(result)
    }
}

fn act_as_other(tools: &AgentTools<'_>, foreign: &ForeignStep) -> Result<()> {
    match foreign {
        ForeignStep::Apply(request) => tools.apply_as_other(request),
        ForeignStep::Write { path, content } => tools.write_as_other(path, content),
    }
}

/// A change by somebody else is part of the task and must not be refused.
fn replay_refused(brief: &AttemptBrief, found: &Refusal) -> Refusal {
    bad_task(
        &format!("task {}", brief.task),
        "replay",
        &format!("the change by somebody else was refused: {found}"),
    )
    .into()
}

/// The answer in a few words: a status or the first code, and the exit status of a program.
fn answer_of(tools: &mut AgentTools<'_>, message: &AgentMessage) -> String {
    let answer = match message {
        AgentMessage::Apply { request } => tools.apply(request),
        AgentMessage::Run { argv, timeout } => tools.run(argv, *timeout),
        AgentMessage::Undo {} => tools.undo(),
        AgentMessage::Read { path } => match tools.read(path) {
            Ok((text, _)) => return counted(text.lines().count(), "line"),
            Err(outcome) => outcome,
        },
        AgentMessage::Say { .. } | AgentMessage::Done { .. } => return "acknowledged".to_owned(),
    };
    let status = answer["status"].as_str().unwrap_or("nothing").to_owned();
    let code = answer["errors"][0]["code"].as_str();
    let exit = answer["run"]["exit_code"].as_i64();
    match (code, exit) {
        (Some(code), _) => code.to_owned(),
        (None, Some(exit)) if exit != 0 => format!("{status}, exit status {exit}"),
        (None, _) => status,
    }
}

/// The call in one line.
fn describe(message: &AgentMessage) -> String {
    let cut = |text: String| match text.char_indices().nth(160) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    };
    cut(match message {
        AgentMessage::Apply { request } => {
            let of =
                |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let how = if request.get("patch").is_some() { "patch".to_owned() } else { of("mode") };
            format!("apply {} {how}", of("path")).replace("  ", " ")
        }
        AgentMessage::Run { argv, .. } => {
            argv.iter().map(|word| shell_word(word.as_bytes())).collect::<Vec<_>>().join(" ")
        }
        AgentMessage::Undo {} => "undo".to_owned(),
        AgentMessage::Read { path } => format!("read {path}"),
        AgentMessage::Say { text } => text.clone(),
        AgentMessage::Done { .. } => "done".to_owned(),
    })
}
