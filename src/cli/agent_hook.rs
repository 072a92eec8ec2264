//! `edt agent-hook`: the command that agents' own hooks call.

use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::context::Context;
use crate::telemetry::{self, names};
use edt_agents::comments::{AddedComments, with_comments};
use edt_agents::{
    AGENTS, Agent, HookMessage, HookPhase, HookPoint, Payload, Protocol, Question, Reply, judge,
    messages, payload,
};
use edt_io::disk::MAX_FILE;
use edt_io::{clock, fs};
use edt_types::{Code, Finding, Refusal, Result, Status};

/// The longest payload that is read, in bytes.
const MAX_BYTES: u64 = 2 * MAX_FILE;

/// Judge what an agent's own tool is about to do to files, and record what it did. The hooks that
/// `edt setup` writes call this command.
///
/// Reads the agent's payload from standard input and answers in the agent's own form. An action
/// that cannot be judged is blocked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt agent-hook codex < payload.json")]
pub(super) struct Args {
    /// The agent: claude-code, codex, gemini, opencode, cline, cursor, copilot, windsurf.
    agent: String,
    /// Refuse after this many seconds, if the agent's own limit is longer.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let agent = edt_agents::named(&self.agent).ok_or_else(|| unknown(&self.agent))?;
        let protocol = agent.protocol.as_ref().ok_or_else(|| no_protocol(agent))?;
        let own = protocol.timeouts.edt;
        let limit = self
            .timeout
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .map_or(own, |it| it.min(own));
        let responder = Responder::new(protocol);
        responder.refuse_on_panic(agent.name);
        responder.refuse_after(limit);
        let (message, added) = answer(context, agent, protocol, &responder, limit)
            .unwrap_or_else(|why| (HookMessage::Failure(why), None));
        responder.respond(&message, added)
    }
}

/// The answer, with the user's comments that it has, or why edt could not judge.
fn answer(
    context: &Context,
    agent: &Agent,
    protocol: &Protocol,
    responder: &Responder,
    limit: Duration,
) -> std::result::Result<(HookMessage, Option<AddedComments>), String> {
    let unreadable_at = |point: HookPoint, why: &str| {
        responder.set_point(point);
        failure_at(point, why)
    };
    let unreadable = |bytes: &[u8], why: &str| unreadable_at(payload::point_of(bytes), why);
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        let why = format!("the payload of {} could not be read: {error}.", agent.title);
        unreadable(&bytes, &why)
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        let why = format!("{} wrote more than {MAX_BYTES} bytes.", agent.title);
        return Err(unreadable(&bytes, &why));
    }
    let payload = Payload::read(&bytes).map_err(|error| {
        let why = format!("the payload of {} is not JSON: {error}.", agent.title);
        unreadable(&bytes, &why)
    })?;
    for key in ["tool_use_id", "tool_call_id", "call_id"] {
        let id = payload.json()[key].as_str();
        id.into_iter().for_each(|id| telemetry::note(names::TOOL_CALL, id));
    }
    let event = payload.event(protocol).map_err(|fault| {
        let version = env!("CARGO_PKG_VERSION");
        unreadable_at(HookPoint::of_unreadable(payload.json()), &format!("{}, and edt {version} knows no other form. Send the edit through edt's MCP tool `apply`, and let the user know that edt may be older than {}.", fault.0, agent.title))
    })?;
    telemetry::note(names::TOOL, event.tool.as_str());
    telemetry::note(names::AGENT, agent.name);
    responder.set_point(event.point);
    let not_judged = |found: Refusal| findings_at(event.point, &found);
    let mut options = context.options().map_err(not_judged)?;
    // Leave time to report that the lock was not free.
    options.lock_wait = options.lock_wait.min(limit / 2);
    options.caller = event.caller(agent.name);
    let start = fs::real_path(&context.start);
    let call = judge::JudgeCall { agent: agent.name, start: &start, options: &options };
    let message = judge::answer(&event, &call).map_err(not_judged)?;
    Ok(with_comments(message, &event, protocol, &call))
}

fn findings_at(point: HookPoint, found: &Refusal) -> String {
    let message = found.clone().into_vec();
    let lines: Vec<String> = message
        .iter()
        .map(|one| format!("{}: {} {}", one.code.name(), one.message(), one.hint()))
        .collect();
    failure_at(point, &lines.join("\n"))
}

/// What edt says where it could not judge or record.
fn failure_at(point: HookPoint, why: &str) -> String {
    match point.phase {
        HookPhase::After => messages::not_recorded(why),
        _ => messages::not_judged(why),
    }
}

/// Gives this process's only answer. The call itself, its time limit, or a panic may give it.
#[derive(Clone)]
struct Responder {
    protocol: &'static Protocol,
    point: Arc<Mutex<HookPoint>>,
    answered: Arc<AtomicBool>,
}

impl Responder {
    fn new(protocol: &'static Protocol) -> Responder {
        Responder {
            protocol,
            point: Arc::new(Mutex::new(HookPoint::UNKNOWN)),
            answered: Arc::default(),
        }
    }

    fn set_point(&self, point: HookPoint) {
        *self.point.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = point;
    }

    fn refuse_after(&self, limit: Duration) {
        let responder = self.clone();
        let watch = move || {
            let mut countdown = clock::Countdown::new(limit);
            while countdown.pause() {}
            responder.fail(&format!("the call timed out after {} s.", limit.as_secs_f64()));
        };
        if std::thread::Builder::new().stack_size(256 * 1024).spawn(watch).is_err() {
            self.fail("no thread could be started to enforce the time limit.");
        }
    }

    fn refuse_on_panic(&self, name: &'static str) {
        let responder = self.clone();
        std::panic::set_hook(Box::new(move |panic| {
            responder.fail(&format!("edt agent-hook {name} failed: {panic}. Report this message."));
        }));
    }

    /// Answers that edt could not judge.
    fn fail(&self, why: &str) -> ! {
        // A panic may occur while this thread holds the lock.
        let point = self.point.try_lock().map_or(HookPoint::UNKNOWN, |point| *point);
        self.respond(&HookMessage::Failure(failure_at(point, why)), None)
    }

    /// Gives the answer and ends the process. If another thread answers already, this thread waits
    /// for the end.
    fn respond(&self, message: &HookMessage, added: Option<AddedComments>) -> ! {
        if self.answered.swap(true, Ordering::SeqCst) {
            loop {
                std::thread::park();
            }
        }
        let point = self.point.try_lock().map_or(HookPoint::UNKNOWN, |point| *point);
        // Whatever edt could not do, the user's prompt goes on.
        let goes_on = point.phase != HookPhase::Prompt || matches!(message, HookMessage::Info(_));
        let message = if goes_on { message } else { &HookMessage::Silent };
        let Reply { stdout, stderr, exit } = (self.protocol.reply)(point, message);
        let mut out = std::io::stdout().lock();
        let wrote = out.write_all(stdout.as_bytes()).and_then(|()| out.flush());
        let _ = std::io::stderr().lock().write_all(stderr.as_bytes());
        // Only before a tool does silence count as approval.
        let is_needed = point.phase == HookPhase::Before || *message != HookMessage::Silent;
        if let Err(error) = &wrote
            && is_needed
        {
            // An answer that could not be written must not count as approval: some agents allow the
            // action when the output is empty.
            let why = match message {
                HookMessage::Silent | HookMessage::Instead { .. } => "edt does not object.",
                HookMessage::Refusal(why)
                | HookMessage::Ask(Question { refusal: why, .. })
                | HookMessage::Info(why)
                | HookMessage::Objection(why)
                | HookMessage::Failure(why) => why.as_str(),
            };
            let _ = writeln!(
                std::io::stderr().lock(),
                "edt's answer could not be written ({error}): {why}"
            );
            std::process::exit(2);
        }
        // What could not be noted, the next answer has again.
        let _ = added.filter(|_| wrote.is_ok()).map(AddedComments::printed);
        // A thread that answers for another thread's call has no span to record on.
        telemetry::note(names::EXIT, u64::from(exit));
        telemetry::end();
        std::process::exit(i32::from(exit))
    }
}

pub(super) fn unknown(name: &str) -> Finding {
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
    let message = format!("edt does not know the agent {name}. It knows {}.", names.join(", "));
    Finding::new(
        Code::BadRequest,
        message,
        "Name one of them; `edt setup --list` shows which are installed.",
    )
}

fn no_protocol(agent: &Agent) -> Finding {
    let message = format!("{} has no hooks that edt can answer.", agent.title);
    Finding::new(
        Code::BadRequest,
        message,
        "Let Git's hooks judge its commits: run `edt hooks install`.",
    )
}
