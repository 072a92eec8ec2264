//! `edt hook`: what Git's hooks call.

use std::io::Read as _;

use super::context::Context;
use super::render::{NOTE, paint};
use crate::base::{Code, Finding, Outcome, Result, Status};
use crate::hook::plumbing::Git;
use crate::hook::who::Who;
use crate::hook::{Call, HOOKS, named};

/// Judge what Git asks a hook. Called by the scripts that `edt hooks install` puts in place.
///
/// Reads what Git writes to the hook. Exit status 0 lets it pass; 1 refuses, also when something could not be judged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt hook pre-commit    # judges what is staged now")]
pub(super) struct Args {
    /// Git's name for the hook.
    name: String,
    /// What Git gives the hook.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let Some(hook) = named(&self.name) else {
            let names: Vec<&str> = HOOKS.iter().map(|hook| hook.name()).collect();
            let message =
                format!("{} is no hook of edt's; there are {}.", self.name, names.join(", "));
            return Err(Finding::new(
                Code::BadRequest,
                message,
                "Name one of them; `edt hooks install` puts all in place.",
            )
            .into());
        };
        refuse_on_panic(&self.name);
        // Whatever goes wrong from here on stops Git: what was not judged does not pass.
        Ok(self.judged(context, hook).unwrap_or_else(|findings| {
            context.refusal(findings, Status::Refused);
            Status::Refused
        }))
    }

    fn judged(&self, context: &Context, hook: &dyn crate::hook::Hook) -> Result<Status> {
        let mut input = Vec::new();
        if hook.is_fed() {
            std::io::stdin().read_to_end(&mut input).map_err(|error| {
                Finding::new(
                    Code::IoError,
                    format!("Could not read what Git wrote to {}: {error}.", self.name),
                    "Repeat the command; if that fails again, run `edt doctor`.",
                )
            })?;
        }
        let person_policy = context.caller().map(|caller| caller.person_policy);
        let allow: Vec<String> = std::env::var("EDT_ALLOW")
            .unwrap_or_default()
            .split([',', ' '])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let call = Call {
            git: Git::at(&context.start),
            args: &self.args,
            input: &input,
            who: Who::here(),
            person_policy: &person_policy,
            allow: &allow,
        };
        let mut outcome = Outcome::new(Status::Unchanged);
        outcome.warnings = hook.judge(&call)?;
        if context.json {
            return Ok(context.outcome(&outcome, |_| String::new()));
        }
        for warning in &outcome.warnings {
            let path = warning.path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default();
            context.note(&format!("{} {path}{}\n", paint(NOTE, "warning:"), warning.message));
        }
        Ok(Status::Unchanged)
    }
}

/// A defect of edt's must neither pass as an answer nor end without one.
fn refuse_on_panic(name: &str) {
    let name = name.to_owned();
    std::panic::set_hook(Box::new(move |panic| {
        use std::io::Write as _;
        let mut out = std::io::stderr().lock();
        let _ =
            writeln!(out, "INTERNAL\n  edt hook {name} failed: {panic}. Nothing was let through.");
        let _ = writeln!(
            out,
            "  next: report this message; a person may take the hooks away with `edt hooks uninstall`."
        );
        std::process::exit(1);
    }));
}
