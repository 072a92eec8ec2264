//! A recorded session, played again: what an agent said, a JSON object a line, with what others did meanwhile.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::Value;

use super::{Attempted, Executor, Kind, Setting};
use crate::base::text::shell_word;
use crate::base::{Findings, Result};
use crate::bench::protocol::{Brief, Said};
use crate::bench::record::{Ended, Traced, Usage};
use crate::bench::scene::Scene;
use crate::bench::task::bad;

/// A recording.
pub const KIND: Kind = Kind {
    name: "replay",
    about: "`replay`: the session that each task has recorded in replay.jsonl",
    fits: |agent| agent == "replay",
    make: |setting| Ok(Box::new(Replay { lines: read(setting)? })),
};

struct Replay {
    lines: VecDeque<Line>,
}

/// A line of a recording.
#[derive(Debug)]
struct Line {
    text: String,
    does: Does,
    mark: Option<Mark>,
}

#[derive(Debug)]
enum Does {
    /// The agent says something.
    Agent(Said),
    /// Somebody else does something.
    Other(Other),
}

/// What somebody else does to the worktree.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Other {
    /// Applies a request through edt.
    Apply(Value),
    /// Writes a file, past edt.
    Write { path: String, content: String },
}

/// What a recording says of a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// Its number.
    call: u32,
    /// What kind of call it is.
    kind: String,
    /// The calls of the other recording that it stands for.
    #[serde(default)]
    instead_of: Vec<u32>,
    /// The file whose size is told after it.
    watch: Option<String>,
}

fn read(setting: &Setting<'_>) -> Result<VecDeque<Line>> {
    let place = format!("task {}", setting.task.id);
    if setting.task.replay.is_empty() {
        return Err(bad(
            &place,
            "replay",
            "there is no recorded session: neither replay.jsonl nor `replay`",
        )
        .into());
    }
    let lines = setting.task.replay.iter().enumerate();
    lines
        .map(|(at, text)| {
            line(text)
                .map_err(|why| bad(&place, "replay", &format!("line {}: {why}", at + 1)).into())
        })
        .collect()
}

fn line(text: &str) -> std::result::Result<Line, String> {
    let said = |error: serde_json::Error| error.to_string();
    let mut value: Value = serde_json::from_str(text).map_err(said)?;
    let object = value.as_object_mut().ok_or("it is no JSON object")?;
    let mark = object.remove("mark").map(serde_json::from_value).transpose().map_err(said)?;
    let does = if object.get("type").and_then(Value::as_str) == Some("other") {
        object.remove("type");
        Does::Other(serde_json::from_value(value).map_err(said)?)
    } else {
        Does::Agent(serde_json::from_value(value).map_err(said)?)
    };
    Ok(Line { text: text.to_owned(), does, mark })
}

impl Executor for Replay {
    fn attempt(&mut self, scene: &mut Scene<'_>, brief: &Brief) -> Result<Attempted> {
        let mut done = Attempted::default();
        if self.lines.is_empty() {
            return Ok(Attempted { ended: Ended::Exhausted, ..done });
        }
        while let Some(line) = self.lines.pop_front() {
            done.said.push(line.text.clone());
            let answer = match &line.does {
                Does::Agent(Said::Done { usage }) => {
                    done.usage = usage.unwrap_or(Usage::default());
                    return Ok(done);
                }
                Does::Agent(said) => Some((called(said), answered(scene, said))),
                Does::Other(other) => {
                    meddle(scene, other).map_err(|found| told(brief, &found))?;
                    None
                }
            };
            if let (Some(mark), Some((called, answer))) = (line.mark, answer) {
                let watched = |path: &String| {
                    scene.files().ok()?.get(path).map(|content| content.bytes.len() as u64)
                };
                let bytes = mark.watch.as_ref().map(|path| watched(path).unwrap_or(0));
                let Mark { call, kind, instead_of, .. } = mark;
                scene.traced(Traced { call, kind, instead_of, called, answer, bytes });
            }
        }
        Ok(done)
    }
}

fn meddle(scene: &Scene<'_>, other: &Other) -> Result<()> {
    match other {
        Other::Apply(request) => scene.other_applies(request),
        Other::Write { path, content } => scene.other_writes(path, content),
    }
}

/// What somebody else does must be possible: it is part of the task.
fn told(brief: &Brief, found: &Findings) -> Findings {
    bad(
        &format!("task {}", brief.task),
        "replay",
        &format!("what another does was refused: {found}"),
    )
    .into()
}

/// What was answered, in a word: a status, or the first code; of a program that was run, its end, too.
fn answered(scene: &mut Scene<'_>, said: &Said) -> String {
    let answer = match said {
        Said::Apply { request } => scene.apply(request),
        Said::Run { argv, timeout } => scene.run(argv, *timeout),
        Said::Undo {} => scene.undo(),
        Said::Read { path } => match scene.read(path) {
            Ok((text, _)) => return format!("{} lines", text.lines().count()),
            Err(outcome) => outcome,
        },
        Said::Say { .. } | Said::Done { .. } => return "heard".to_owned(),
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

/// What was called, in a line.
fn called(said: &Said) -> String {
    let cut = |text: String| match text.char_indices().nth(160) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    };
    cut(match said {
        Said::Apply { request } => {
            let of =
                |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let how = if request.get("patch").is_some() { "patch".to_owned() } else { of("mode") };
            format!("apply {} {how}", of("path")).replace("  ", " ")
        }
        Said::Run { argv, .. } => {
            argv.iter().map(|word| shell_word(word.as_bytes())).collect::<Vec<_>>().join(" ")
        }
        Said::Undo {} => "undo".to_owned(),
        Said::Read { path } => format!("read {path}"),
        Said::Say { text } => text.clone(),
        Said::Done { .. } => "done".to_owned(),
    })
}
