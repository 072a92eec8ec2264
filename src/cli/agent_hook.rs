//! `edt agent-hook`: what agents' own hooks call.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::context::Context;
use crate::agent::{self, AGENTS, Agent, At, Event, Moment, Protocol, Reply, Said, judge, words};
use crate::base::{Code, Finding, Findings, Result, Status};
use crate::io::disk::MAX_FILE;
use crate::io::{clock, whole};
use crate::telemetry::{self, names};

/// The longest payload that is read, in bytes.
const MOST: u64 = 2 * MAX_FILE;

/// Judge what an agent's own tool is about to do to files, and record what it did. Called by the hooks that `edt setup` writes.
///
/// Reads the agent's payload from standard input and answers in exactly the agent's own form. What cannot be judged is blocked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt agent-hook codex < payload.json")]
pub(super) struct Args {
    /// The agent: claude-code, codex, gemini, opencode, cline, cursor, copilot, windsurf.
    agent: String,
    /// Refuse after this many seconds, if that is sooner than the agent gives up.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let agent = agent::named(&self.agent).ok_or_else(|| unknown(&self.agent))?;
        let protocol = agent.protocol().ok_or_else(|| no_protocol(agent))?;
        let own = protocol.limits().own;
        let limit = self
            .timeout
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .map_or(own, |it| it.min(own));
        let voice = Voice::new(protocol);
        voice.refuse_on_panic(agent.name());
        voice.refuse_after(limit);
        let said = answer(context, agent, protocol, &voice, limit);
        voice.say(&said.unwrap_or_else(Said::Broken))
    }
}

/// What is to be said; in words what kept edt from its part.
fn answer(
    context: &Context,
    agent: &dyn Agent,
    protocol: &dyn Protocol,
    voice: &Voice,
    limit: Duration,
) -> std::result::Result<Said, String> {
    let broken = |why: &str| words::broken_before(why);
    let broken_then = |at: At, why: &str| match at.moment {
        Moment::After => words::broken_after(why),
        _ => words::broken_before(why),
    };
    let payload = whole::at_most(std::io::stdin().lock(), MOST)
        .map_err(|error| {
            broken(&format!("what {} wrote could not be read: {error}.", agent.title()))
        })?
        .ok_or_else(|| broken(&format!("{} wrote more than {MOST} bytes.", agent.title())))?;
    let payload: serde_json::Value = serde_json::from_slice(&payload)
        .map_err(|error| broken(&format!("what {} wrote is no JSON: {error}.", agent.title())))?;
    for key in ["tool_use_id", "tool_call_id", "call_id"] {
        payload[key].as_str().into_iter().for_each(|id| telemetry::note(names::TOOL_CALL, id));
    }
    let event: Event = protocol.event(&payload).map_err(|fault| {
        let version = env!("CARGO_PKG_VERSION");
        let at = protocol.at(&payload);
        voice.learn(at);
        broken_then(at, &format!("{}, and edt {version} knows no other form. Send the edit through edt's MCP tool `apply`, and tell the person that edt may be older than {}.", fault.0, agent.title()))
    })?;
    telemetry::note(names::TOOL, event.tool.as_str());
    telemetry::note(names::AGENT, agent.name());
    voice.learn(event.at);
    let broken = |found: Findings| broken_at(event.at, &found);
    let mut caller = context.caller().map_err(broken)?;
    // Who waits for the lock must still be able to say so.
    caller.lock_wait = caller.lock_wait.min(limit / 2);
    let start = whole::real(&context.start);
    judge::answer(&event, &judge::Call { agent: agent.name(), start: &start, caller: &caller })
        .map_err(broken)
}

fn broken_at(at: At, found: &Findings) -> String {
    let said = found.clone().into_vec();
    let lines: Vec<String> = said
        .iter()
        .map(|one| format!("{}: {} {}", one.code.name(), one.message, one.hint))
        .collect();
    let why = lines.join("\n");
    if at.moment == Moment::After { words::broken_after(&why) } else { words::broken_before(&why) }
}

/// The one answer of this process, whoever gives it: the call itself, its end of time, or a panic.
#[derive(Clone)]
struct Voice {
    protocol: &'static dyn Protocol,
    at: Arc<Mutex<At>>,
    spoken: Arc<AtomicBool>,
}

impl Voice {
    fn new(protocol: &'static dyn Protocol) -> Voice {
        Voice { protocol, at: Arc::new(Mutex::new(At::UNKNOWN)), spoken: Arc::default() }
    }

    fn learn(&self, at: At) {
        *self.at.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = at;
    }

    fn refuse_after(&self, limit: Duration) {
        let voice = self.clone();
        let watch = move || {
            let mut countdown = clock::Countdown::new(limit);
            while countdown.pause() {}
            voice.give_up(&format!("its time of {} s was over.", limit.as_secs_f64()));
        };
        if std::thread::Builder::new().stack_size(256 * 1024).spawn(watch).is_err() {
            self.give_up("no thread could be started to watch its time.");
        }
    }

    fn refuse_on_panic(&self, name: &'static str) {
        let voice = self.clone();
        std::panic::set_hook(Box::new(move |panic| {
            voice.give_up(&format!("edt agent-hook {name} failed: {panic}. Report this message."));
        }));
    }

    /// Says that edt could not do its part.
    fn give_up(&self, why: &str) -> ! {
        // A panic may come while the lock is held.
        let at = self.at.try_lock().map_or(At::UNKNOWN, |at| *at);
        let text = if at.moment == Moment::After {
            words::broken_after(why)
        } else {
            words::broken_before(why)
        };
        self.say(&Said::Broken(text))
    }

    /// Gives the answer and ends the process, unless another does so already.
    fn say(&self, said: &Said) -> ! {
        if self.spoken.swap(true, Ordering::SeqCst) {
            loop {
                std::thread::park();
            }
        }
        let at = self.at.try_lock().map_or(At::UNKNOWN, |at| *at);
        let Reply { stdout, stderr, exit } = self.protocol.reply(at, said);
        let mut out = std::io::stdout().lock();
        let wrote = out.write_all(stdout.as_bytes()).and_then(|()| out.flush());
        let _ = std::io::stderr().lock().write_all(stderr.as_bytes());
        if let Err(error) = wrote {
            // An answer that nobody could read must not be taken for silence, nor for an agreement: some let an exit status without words pass.
            let why = match said {
                Said::Nothing => "edt has nothing against it.",
                Said::Refused(why) | Said::Told(why) | Said::Objected(why) | Said::Broken(why) => {
                    why.as_str()
                }
            };
            let _ = writeln!(
                std::io::stderr().lock(),
                "edt's answer could not be written ({error}): {why}"
            );
            std::process::exit(2);
        }
        // Whoever speaks for another thread's call has nothing of it to note.
        telemetry::note(names::EXIT, u64::from(exit));
        telemetry::end();
        std::process::exit(i32::from(exit))
    }
}

pub(super) fn unknown(name: &str) -> Finding {
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name()).collect();
    let message = format!("{name} is no agent that edt knows; there are {}.", names.join(", "));
    Finding::new(
        Code::BadRequest,
        message,
        "Name one of them; `edt setup --list` shows which are here.",
    )
}

fn no_protocol(agent: &dyn Agent) -> Finding {
    let message = format!("{} has no hooks that edt could answer.", agent.title());
    Finding::new(
        Code::BadRequest,
        message,
        "Let Git's hooks judge what it commits: `edt hooks install`.",
    )
}
