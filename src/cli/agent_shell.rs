//! `edt agent-shell`: what an agent's own shell runs in place of a command that edt judged.

use std::io::Write as _;

use super::context::Context;
use super::interrupt::Interrupt;
use super::{note, render};
use edt_core::session::recording::snapshot::Snapshot;
use edt_io::fs;
use edt_run::{OutputStream, RunObserver, Signal};
use edt_types::{Code, Effect, Finding, Outcome, Result, Status};

/// Run a command of an agent's own shell, and record what it changes as one commit.
///
/// edt's hook puts this in place of a command that it judged, where the agent lets it. The command
/// runs without a sandbox, with the streams and the environment of the agent's shell, and its exit
/// status is the answer. A command that no hook judged in this directory is not run.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt agent-shell gemini 3f2a9c0d1b7e4f55-e3b0c44298fc1c14 'npm test'"
)]
pub(super) struct Args {
    /// The agent.
    agent: String,
    /// The name under which the hook judged the command.
    call: String,
    /// The command, as a shell reads it.
    script: String,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let dir = fs::real_path(&context.start);
        if !Snapshot::claim_of_shell(&repo, &self.call, &self.script, &dir) {
            return Err(not_judged(&self.call).into());
        }
        note::agent(Some(&self.agent));
        let mut workspace = context.workspace()?;
        let shell = (self.script.as_str(), dir.as_path(), self.agent.as_str());
        let answer = edt_run::run_of_shell(&mut workspace, shell, &mut Streams(None))?;
        note::ran(&answer);
        let mut out = render::recovered(answer.outcome.recovered.as_ref());
        let Some(ran) = &answer.run else {
            let outcome =
                Outcome { errors: answer.outcome.errors, ..Outcome::new(answer.outcome.status) };
            context.note(&render::refused(&outcome));
            return Ok(answer.outcome.status);
        };
        let is_refused = !answer.outcome.errors.is_empty();
        let outcome = Outcome {
            warnings: answer.outcome.warnings.clone(),
            errors: answer.outcome.errors.clone(),
            ..Outcome::new(answer.outcome.status)
        };
        render::details(&mut out, &outcome);
        out += &render::refused(&outcome);
        if !out.is_empty() {
            context.note(&out);
        }
        let status = match (ran.exit_code, ran.signal) {
            (Some(0), _) if is_refused => return Ok(answer.outcome.status),
            (Some(code), _) => code,
            (None, signal) => 128 + signal.unwrap_or(0),
        };
        drop(workspace);
        crate::telemetry::end();
        let status = super::printed::checked(u8::try_from(status).unwrap_or(u8::MAX));
        std::process::exit(status.into())
    }
}

/// Passes on what the program writes, and the signals that ask it to end.
struct Streams(Option<Interrupt>);

impl RunObserver for Streams {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        // A closed pipe is ignored.
        match stream {
            OutputStream::Stdout => super::printed::print(bytes),
            OutputStream::Stderr => drop(std::io::stderr().lock().write_all(bytes)),
        }
    }

    fn starts(&mut self) {
        self.0 = Some(Interrupt::watch());
    }

    fn stop(&self) -> Option<Signal> {
        self.0.as_ref().and_then(Interrupt::received)
    }
}

fn not_judged(call: &str) -> Finding {
    Finding::new(
        Code::BadRequest,
        format!(
            "No hook judged this command under the name {call} in this directory, or it ran already."
        ),
        "Send the command itself to your shell: edt's hook judges it, and puts this call in its place.",
    )
    .with_effect(Effect::NothingRun)
}
