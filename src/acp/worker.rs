//! Judges requests of the agent, and records what it did. One thread does this in order.

use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol_schema::{
    CreateTerminalRequest, RequestPermissionOutcome, RequestPermissionRequest,
};
use serde_json::value::RawValue;

use super::message;
use super::route::{Asked, OfAgent, Permission, Routed, Router, To, Work};
use super::tool_call;
use edt_agents::judge::{self, JudgeCall};
use edt_agents::turn::Turn;
use edt_agents::{AgentTurn, HookEvent, HookMessage, HookPhase, HookPoint, ToolEdit, messages};
use edt_core::session::turns::CallingAgent;
use edt_core::session::worktree::options::Options;
use edt_io::{fs, streams};
use edt_types::{Refusal, Result};

/// Where messages go.
pub(super) struct Outputs {
    /// The agent's input, until it is closed.
    pub(super) agent: Mutex<Option<ChildStdin>>,
}

impl Outputs {
    /// Writes a message. If the receiver is gone, the process ends soon.
    pub(super) fn write(&self, to: To, line: &[u8]) {
        match to {
            To::Editor => drop(streams::print(line)),
            To::Agent => {
                let mut agent = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = agent.as_mut().map(|agent| std::io::Write::write_all(agent, line));
            }
        }
    }
}

/// What the worker is asked to do.
pub(super) enum Job {
    Message(To, Box<Routed>),
    /// The editor closed its end: so does the agent's input.
    CloseAgent,
    /// The agent ended: the turns that are open end, too.
    End,
}

/// Judges and records.
pub(super) struct Worker {
    pub(super) router: Arc<Router>,
    pub(super) outputs: Arc<Outputs>,
    pub(super) options: Box<dyn Fn() -> Result<Options> + Send>,
    pub(super) note: fn(&str),
    /// The name of the agent's program.
    pub(super) program: String,
    /// The name of the agent, once it was needed.
    agent: Option<&'static str>,
    turns: u64,
    said_unasked: bool,
}

/// The decision on a request.
enum Verdict {
    /// It goes on, and its response is read if there is something to remember.
    Passes(Option<OfAgent>),
    Refused(String),
}

impl Worker {
    pub(super) fn new(
        (router, outputs): (Arc<Router>, Arc<Outputs>),
        options: Box<dyn Fn() -> Result<Options> + Send>,
        note: fn(&str),
        program: String,
    ) -> Worker {
        let (agent, turns, said_unasked) = (None, 0, false);
        Worker { router, outputs, options, note, program, agent, turns, said_unasked }
    }

    pub(super) fn work(mut self, jobs: &Receiver<Job>) {
        for job in jobs {
            match job {
                Job::Message(to, routed) => self.message(to, *routed),
                Job::CloseAgent => {
                    let agent = &self.outputs.agent;
                    agent.lock().unwrap_or_else(PoisonError::into_inner).take();
                }
                Job::End => break,
            }
        }
        let open: Vec<String> = self.router.known().sessions.keys().cloned().collect();
        open.iter().for_each(|session| self.end(session));
    }

    fn message(&mut self, to: To, routed: Routed) {
        let Routed { line, session, work } = routed;
        let session = session.unwrap_or_default();
        let mut passes = true;
        match work {
            Work::Pass => {}
            Work::Begin { title } => self.begin(&session, &title),
            Work::End => self.end(&session),
            Work::Made { tool, edits } => self.made(&session, tool, edits),
            Work::Judge { id, asked } => passes = self.judge(&session, &id, asked),
        }
        if passes {
            self.outputs.write(to, &line);
        }
        self.router.passed();
    }

    /// The agent's name: its own, or that of its program.
    fn agent(&mut self) -> &'static str {
        let name = || self.router.agent().unwrap_or_else(|| self.program.clone());
        // A process has one agent.
        self.agent.get_or_insert_with(|| String::leak(name()))
    }

    /// The options of a call for the agent in a session.
    fn options(&mut self, session: &str) -> Result<Options> {
        let mut options = (self.options)()?;
        options.caller = CallingAgent {
            agent: Some(self.agent().to_owned()),
            conversation: Some(session.to_owned()),
            ..CallingAgent::default()
        };
        Ok(options)
    }

    fn say(&self, text: &str) {
        (self.note)(&format!("edt: {}\n", text.trim_end()));
    }

    fn begin(&mut self, session: &str, title: &str) {
        let agent = self.agent();
        self.turns += 1;
        let root = match self.router.known().sessions.get(session) {
            Some(session) if session.turn.is_none() => session.root.clone(),
            _ => return,
        };
        let begun = self.options(session).and_then(|options| {
            begin_turn(&root, &options, (agent, session, title))?;
            Turn::begin(&root, (agent, self.turns), &options)
        });
        match begun {
            Ok((turn, infos)) => {
                infos.iter().for_each(|info| self.say(info));
                if let Some(session) = self.router.known().sessions.get_mut(session) {
                    session.turn = Some(turn);
                }
            }
            Err(found) => self.say(&format!("this turn is not recorded: {}", lines(&found))),
        }
    }

    fn end(&mut self, session: &str) {
        let turn = self.router.known().sessions.get_mut(session).and_then(|one| one.turn.take());
        let Some(turn) = turn else { return };
        match self.options(session).and_then(|options| turn.end(&options)) {
            Ok(Some(info)) => {
                let agent = self.agent();
                let why = if std::mem::replace(&mut self.said_unasked, true) {
                    String::new()
                } else {
                    format!(
                        "{agent} changes files without a request to its editor, so edt can only \
                         record them at the end of a turn. "
                    )
                };
                self.say(&format!("{why}{info}"));
            }
            Ok(None) => {}
            Err(found) => self.say(&format!("this turn is not recorded: {}", lines(&found))),
        }
    }

    /// Judges a request. Returns whether it goes on to the editor; else it is answered.
    fn judge(&mut self, session: &str, id: &RawValue, asked: Asked) -> bool {
        let dir = self.router.known().sessions.get(session).map(|one| one.dir.clone());
        let Some(dir) = dir else { return true };
        let rejection = match &asked {
            Asked::Permission(asked) => Some(tool_call::rejection(&asked.request.options)),
            Asked::Unreadable { is_permission: true } => Some(RequestPermissionOutcome::Cancelled),
            Asked::Write(_) | Asked::Terminal(_) | Asked::Unreadable { .. } => None,
        };
        let verdict = self.verdict(session, &dir, asked);
        let refused =
            verdict.unwrap_or_else(|found| Verdict::Refused(messages::not_judged(&lines(&found))));
        match (refused, rejection) {
            (Verdict::Passes(None), _) => return true,
            (Verdict::Passes(Some(asked)), _) => {
                if let Ok(key) = serde_json::from_str::<serde_json::Value>(id.get()) {
                    let asked = (session.to_owned(), asked);
                    self.router.known().of_agent.insert(key.to_string(), asked);
                }
                return true;
            }
            (Verdict::Refused(why), Some(outcome)) => {
                self.say(&why);
                self.outputs.write(To::Agent, &message::choice(id, outcome));
            }
            (Verdict::Refused(why), None) => {
                self.outputs.write(To::Agent, &message::refusal(id, &why));
            }
        }
        false
    }

    fn verdict(&mut self, session: &str, dir: &Path, asked: Asked) -> Result<Verdict> {
        match asked {
            Asked::Unreadable { .. } => {
                let why = "edt cannot read the request.";
                Ok(Verdict::Refused(messages::not_judged(why)))
            }
            Asked::Permission(asked) => {
                let Permission { call, request } = *asked;
                let edits = tool_call::edits(&call, dir);
                if !edits.is_empty() {
                    return self.permission(session, dir, (request, edits));
                }
                tool_call::command(&call)
                    .map_or(Ok(Verdict::Passes(None)), |script| self.command(session, dir, &script))
            }
            Asked::Write(request) => {
                let path = request.path.to_string_lossy().into_owned();
                self.write(session, dir, (path, request.content))
            }
            Asked::Terminal(CreateTerminalRequest { command, args, cwd, .. }) => {
                let words =
                    std::iter::once(command.as_str()).chain(args.iter().map(String::as_str));
                // Without arguments some agents send a script.
                let script = if args.is_empty() { None } else { tool_call::script(words) };
                let dir = cwd.map_or_else(|| dir.to_owned(), |cwd: PathBuf| dir.join(cwd));
                self.command(session, &dir, script.as_deref().unwrap_or(&command))
            }
        }
    }

    /// Judges edits that the agent will make itself if the user allows them.
    fn permission(
        &mut self,
        session: &str,
        dir: &Path,
        (request, edits): (RequestPermissionRequest, Vec<ToolEdit>),
    ) -> Result<Verdict> {
        let event = event(HookPhase::Before, "session/request_permission", edits.clone());
        if let Some(why) = self.answer(session, dir, &event, judge::answer)? {
            return Ok(Verdict::Refused(why));
        }
        let call = request.tool_call.tool_call_id.0.to_string();
        if let Some(session) = self.router.known().sessions.get_mut(session) {
            session.announced.insert(call.clone(), edits);
        }
        let allowing = tool_call::allowing(&request.options);
        Ok(Verdict::Passes(Some(OfAgent::Permission { call, allowing })))
    }

    /// Judges a file that the editor will write for the agent.
    fn write(
        &mut self,
        session: &str,
        dir: &Path,
        (path, content): (String, String),
    ) -> Result<Verdict> {
        let edits = vec![ToolEdit::Write { path: path.clone(), content }];
        // The tool that a request for permission announced makes its edit by this request.
        let (mut is_announced, mut is_mixed) = (false, false);
        if let Some(session) = self.router.known().sessions.get_mut(session) {
            is_announced = session.announced.values().any(|known| *known == edits);
            session.announced.retain(|_, known| !tool_call::touches(known, &path));
            is_mixed = session.unsaved.remove(Path::new(&path));
        }
        let event = event(HookPhase::Before, "fs/write_text_file", edits.clone());
        let judge = if is_announced || is_mixed { judge::check } else { judge::answer };
        Ok(match self.answer(session, dir, &event, judge)? {
            Some(why) => Verdict::Refused(why),
            None if is_mixed => {
                self.say(&format!(
                    "the agent writes {path} with text that you had not saved: edt does not know \
                     whose each line is, and leaves the file over at the end of the turn."
                ));
                Verdict::Passes(None)
            }
            None => Verdict::Passes(Some(OfAgent::Write { edits })),
        })
    }

    /// Judges a command that the agent or the editor will run. edt never allows one in the user's
    /// place: nothing confines it.
    fn command(&mut self, session: &str, dir: &Path, script: &str) -> Result<Verdict> {
        let (options, start) = (self.options(session)?, fs::real_path(dir));
        let call = JudgeCall { agent: self.agent(), start: &start, options: &options };
        let denial = judge::denial(script, &call)?;
        Ok(denial.map_or(Verdict::Passes(None), Verdict::Refused))
    }

    /// Records edits that were made.
    fn made(&mut self, session: &str, tool: &'static str, edits: Vec<ToolEdit>) {
        let dir = self.router.known().sessions.get(session).map(|one| one.dir.clone());
        let Some(dir) = dir else { return };
        let event = event(HookPhase::After, tool, edits);
        match self.answer(session, &dir, &event, judge::answer) {
            Ok(None) => {}
            Ok(Some(text)) => self.say(&text),
            Err(found) => self.say(&messages::not_recorded(&lines(&found))),
        }
    }

    /// Asks the judge of the agents' hooks. Returns why it refuses or objects; what else the user
    /// should know is said.
    fn answer(
        &mut self,
        session: &str,
        dir: &Path,
        event: &HookEvent,
        judge: fn(&HookEvent, &JudgeCall<'_>) -> Result<HookMessage>,
    ) -> Result<Option<String>> {
        let (options, start) = (self.options(session)?, fs::real_path(dir));
        let call = JudgeCall { agent: self.agent(), start: &start, options: &options };
        Ok(match judge(event, &call)?.without_question() {
            HookMessage::Silent | HookMessage::Instead { .. } => None,
            HookMessage::Info(text) => {
                self.say(&text);
                None
            }
            HookMessage::Refusal(why) | HookMessage::Objection(why) | HookMessage::Failure(why) => {
                Some(why)
            }
            HookMessage::Ask(question) => Some(question.refusal),
        })
    }
}

/// Begins a turn of the agent's conversation.
fn begin_turn(
    root: &Path,
    options: &Options,
    (agent, session, title): (&'static str, &str, &str),
) -> Result<()> {
    let turn = AgentTurn { prompt: Some(title.to_owned()), ..AgentTurn::default() };
    let session = Some(session.to_owned());
    let event = HookEvent { turn, session, ..event(HookPhase::Prompt, "", Vec::new()) };
    judge::answer(&event, &JudgeCall { agent, start: root, options }).map(drop)
}

fn event(phase: HookPhase, tool: &str, edits: Vec<ToolEdit>) -> HookEvent {
    HookEvent {
        point: HookPoint { phase, hook: "" },
        tool: tool.to_owned(),
        cwd: None,
        session: None,
        turn: AgentTurn::default(),
        edits,
        command: None,
    }
}

/// The findings as lines.
fn lines(found: &Refusal) -> String {
    let line =
        |one: &edt_types::Finding| format!("{}: {} {}", one.code.name(), one.message(), one.hint());
    found.as_slice().iter().map(line).collect::<Vec<_>>().join("\n")
}
