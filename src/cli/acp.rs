//! `edt acp`: a proxy between an editor and an agent that speak the Agent Client Protocol.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use super::context::{self, Context};
use super::interrupt::Interrupt;
use super::render;
use crate::acp::{self, Service};
use crate::telemetry;
use edt_io::spawn;
use edt_types::{Result, Status};

/// Start an agent for an editor that speaks the Agent Client Protocol, and judge what it does.
///
/// The editor starts `edt acp -- AGENT` in place of the agent. edt offers its tools to the agent,
/// refuses edits and commands as the hooks do, and records what changed in each turn. All other
/// messages pass as they are.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example, in Zed's settings:\n  {\"agent_servers\": {\"Gemini with edt\": {\"type\": \"custom\", \"command\": \"edt\", \"args\": [\"acp\", \"--\", \"gemini\", \"--acp\"]}}}\n\nThe exit status is the agent's."
)]
pub(super) struct Args {
    /// Become the agent, which ends when edt does, however edt ends.
    #[arg(long, hide = true)]
    r#become: bool,
    /// The agent's program and its arguments.
    #[arg(last = true, required = true, value_name = "AGENT [ARG]...")]
    agent: Vec<OsString>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (program, args) = self.agent.split_first().map_or_else(Default::default, |split| {
            let (program, args) = split;
            (program.clone(), args.to_vec())
        });
        if self.r#become {
            return Err(spawn::become_child(&program, &args, Path::new(".")).into());
        }
        let (defaults, start) = (context.call_defaults(), context.start.clone());
        let options = move || {
            let context = defaults.context("acp", defaults.start.clone(), Arc::default());
            let mut options = context.options()?;
            // The agent's own processes are descendants of this one.
            options.reap_orphans = false;
            Ok(options)
        };
        let interrupt = Interrupt::watch();
        let service = Service {
            program,
            args,
            start,
            options: Box::new(options),
            note: |text| context::print_error(&render::screen(text)),
            stop: Box::new(move || interrupt.received()),
        };
        let status = acp::run(service)?;
        telemetry::end();
        std::process::exit(status)
    }
}
