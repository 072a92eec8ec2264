//! A program as agent: JSON lines on its standard streams. One process works on a task in a
//! session, over all its attempts. If it ends early, the next attempt starts another.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{AgentResult, Executor, ExecutorKind};
use crate::agent_tools::AgentTools;
use crate::protocol::{self, AgentMessage, AttemptBrief, BenchMessage};
use crate::results::AttemptEnd;
use edt_io::dialogue::{Dialogue, DialogueEvent, OutputLimits};
use edt_io::{clock, failed};
use edt_run::sandbox::{self, RunningProgram, SandboxPlan, StartError, Termination};
use edt_types::text::shell_word;
use edt_types::{Code, Finding, Level, Result};

pub const KIND: ExecutorKind = ExecutorKind {
    name: "program",
    about: "a command line for sh that speaks edt.bench/1 on its standard streams",
    matches: |agent| !agent.trim().is_empty(),
    create: |config| {
        let suite = shell_word(config.suite.as_os_str().as_encoded_bytes());
        Ok(Box::new(Program {
            command: config.agent.replace("{suite}", &suite),
            start: config.start.to_owned(),
            limit: config.limit,
            process: None,
        }))
    },
};

/// The longest line and the longest output of an attempt, in bytes.
const OUTPUT_LIMITS: OutputLimits =
    OutputLimits { line: 16 * 1024 * 1024, total: 64 * 1024 * 1024 };
/// How many lines that are not messages end an attempt.
const MAX_MALFORMED: u32 = 100;
/// How long an agent may take to exit after `end`.
const EXIT_WAIT: Duration = Duration::from_secs(2);

struct Program {
    command: String,
    start: PathBuf,
    limit: Duration,
    process: Option<AgentProcess>,
}

/// A running agent. Dropping it ends the process and all its descendants.
struct AgentProcess {
    running: RunningProgram,
    dialogue: Dialogue,
}

impl Executor for Program {
    fn attempt(&mut self, tools: &mut AgentTools<'_>, brief: &AttemptBrief) -> Result<AgentResult> {
        let until = clock::now() + self.limit;
        let mut result = AgentResult::default();
        if self.process.is_none() {
            match start(&self.command, &self.start, tools.root())? {
                Ok(process) => self.process = Some(process),
                Err(reason) => {
                    let (ended, complaint) = (AttemptEnd::NotStarted, Some(reason));
                    return Ok(AgentResult { ended, complaint, ..result });
                }
            }
        }
        let Some(process) = &mut self.process else { return Ok(result) };
        process.dialogue.reset_budget();
        result.ended = match process.send(&BenchMessage::Task(brief), until)? {
            Some(ended) => ended,
            None => process.converse(tools, &mut result, until)?,
        };
        if result.ended != AttemptEnd::Done {
            let process = self.process.take();
            result.complaint = process.map(|process| process.finish(result.ended)).transpose()?;
        }
        Ok(result)
    }

    fn end(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let until = clock::now() + EXIT_WAIT;
        let _ = process.send(&BenchMessage::End, until);
        process.dialogue.close();
        while matches!(
            process.dialogue.read_line(process.running.watch(), until),
            Ok(DialogueEvent::Line(_))
        ) {}
    }
}

/// The inner error says why the agent could not be started.
fn start(
    command: &str,
    dir: &Path,
    worktree: &Path,
) -> Result<std::result::Result<AgentProcess, String>> {
    let shell = Path::new("/bin/sh");
    let mut plan = SandboxPlan::new(Level::Permissive, shell, worktree);
    plan.args = vec!["-c".into(), command.into()];
    dir.clone_into(&mut plan.dir);
    plan.env = std::env::vars_os().collect();
    let io = |error: std::io::Error| failed("start the agent", shell, &error);
    let (dialogue, [stdin, stdout, stderr]) = Dialogue::new(OUTPUT_LIMITS).map_err(io)?;
    match sandbox::start(&plan, stdin, stdout, stderr) {
        Ok(running) => Ok(Ok(AgentProcess { running, dialogue })),
        Err(StartError::Program(error)) => Ok(Err(error.to_string())),
        Err(StartError::Unavailable { why, .. }) => Ok(Err(why)),
        Err(StartError::System(error)) => Err(io(error).into()),
    }
}

impl AgentProcess {
    /// Sends a message; `Some` if the agent ended instead of reading it.
    fn send(&mut self, message: &BenchMessage<'_>, until: Instant) -> Result<Option<AttemptEnd>> {
        let mut line = serde_json::to_vec(message).map_err(|error| {
            Finding::new(
                Code::Internal,
                format!("A message could not be serialized: {error}."),
                "Report this message.",
            )
        })?;
        line.push(b'\n');
        let sent = self.dialogue.send(&line, self.running.watch(), until);
        Ok(match sent.map_err(|error| failed("write to", Path::new("the agent"), &error))? {
            DialogueEvent::TimedOut => Some(AttemptEnd::TimedOut),
            DialogueEvent::OutputLimit => Some(AttemptEnd::Flooded),
            DialogueEvent::Ended => Some(AttemptEnd::Died),
            DialogueEvent::Sent | DialogueEvent::Line(_) => None,
        })
    }

    /// Answers the agent's messages until it is done.
    fn converse(
        &mut self,
        tools: &mut AgentTools<'_>,
        result: &mut AgentResult,
        until: Instant,
    ) -> Result<AttemptEnd> {
        loop {
            let event = self.dialogue.read_line(self.running.watch(), until);
            let line =
                match event.map_err(|error| failed("read from", Path::new("the agent"), &error))? {
                    DialogueEvent::Line(line) => line,
                    DialogueEvent::TimedOut => return Ok(AttemptEnd::TimedOut),
                    DialogueEvent::OutputLimit => return Ok(AttemptEnd::Flooded),
                    DialogueEvent::Ended | DialogueEvent::Sent => return Ok(AttemptEnd::Died),
                };
            if line.trim_ascii().is_empty() {
                continue;
            }
            let message = match protocol::parse(&line) {
                Ok(message) => {
                    result.transcript.push(String::from_utf8_lossy(&line).into_owned());
                    message
                }
                Err(message) => {
                    result.malformed += 1;
                    if result.malformed >= MAX_MALFORMED {
                        return Ok(AttemptEnd::Babbled);
                    }
                    if let Some(ended) = self.send(&BenchMessage::Error { message }, until)? {
                        return Ok(ended);
                    }
                    continue;
                }
            };
            if let AgentMessage::Done { usage } = message {
                result.usage = usage.unwrap_or_default();
                return Ok(AttemptEnd::Done);
            }
            if let Some(ended) = self.answer(tools, &message, until)? {
                return Ok(ended);
            }
        }
    }

    fn answer(
        &mut self,
        tools: &mut AgentTools<'_>,
        message: &AgentMessage,
        until: Instant,
    ) -> Result<Option<AttemptEnd>> {
        match message {
            AgentMessage::Apply { request } => {
                let outcome = tools.apply(request);
                self.send(&BenchMessage::Outcome { outcome }, until)
            }
            AgentMessage::Read { path } => match tools.read(path) {
                Ok((text, hash)) => self.send(&BenchMessage::File { path, text, hash }, until),
                Err(outcome) => self.send(&BenchMessage::Outcome { outcome }, until),
            },
            AgentMessage::Run { argv, timeout } => {
                // A program must not outlive the attempt.
                let left = until.saturating_duration_since(clock::now()).as_secs_f64().max(0.1);
                let answer = tools.run(argv, Some(timeout.unwrap_or(120.0).min(left)));
                self.send(&BenchMessage::Ran { answer }, until)
            }
            AgentMessage::Undo {} => {
                let outcome = tools.undo();
                self.send(&BenchMessage::Outcome { outcome }, until)
            }
            AgentMessage::Say { .. } | AgentMessage::Done { .. } => {
                self.send(&BenchMessage::Acknowledged, until)
            }
        }
    }

    /// Ends the agent; returns how it ended and the end of its standard error.
    fn finish(self, end: AttemptEnd) -> Result<String> {
        let AgentProcess { running, mut dialogue } = self;
        dialogue.close();
        let ended = if end == AttemptEnd::Died { running.wait() } else { running.end() };
        let ended = ended.map_err(|error| failed("end", Path::new("the agent"), &error))?;
        dialogue.drain_stderr();
        let how = match ended.how {
            _ if end != AttemptEnd::Died => "ended by edt-bench".to_owned(),
            Termination::Exit(status) => format!("exit status {status}"),
            Termination::Signal(signal) => format!("signal {signal}"),
            Termination::Lost => "unknown exit status".to_owned(),
        };
        let stderr = String::from_utf8_lossy(dialogue.stderr_tail()).into_owned();
        let from = stderr.char_indices().rev().nth(499).map_or(0, |(at, _)| at);
        Ok(format!("{how}. {}", stderr[from..].trim()).trim().to_owned())
    }
}
