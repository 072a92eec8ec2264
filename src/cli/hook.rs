//! `edt hook`: the command that Git's hooks call.

use std::io::Read as _;

use super::context::Context;
use super::render::{NOTE, paint};
use edt_agents::hook::plumbing::Git;
use edt_agents::hook::who::Who;
use edt_agents::hook::{HOOKS, HookCall, named};
use edt_types::{Code, Finding, Outcome, Result, Status};

/// Judge a Git operation. The scripts that `edt hooks install` writes call this command.
///
/// Reads the hook's standard input from Git. Exit status 0 accepts; 1 refuses, also when edt could
/// not judge.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt hook pre-commit    # judges what is staged now")]
pub(super) struct Args {
    /// The hook's name in Git.
    name: String,
    /// The arguments that Git passes to the hook.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let Some(hook) = named(&self.name) else {
            let names: Vec<&str> = HOOKS.iter().map(|hook| hook.name()).collect();
            let message = format!("edt has no hook {}. It has {}.", self.name, names.join(", "));
            return Err(Finding::new(
                Code::BadRequest,
                message,
                "Name one of them; `edt hooks install` installs all of them.",
            )
            .into());
        };
        refuse_on_panic(&self.name);
        // From here on every failure stops Git: an operation that was not judged must not pass.
        Ok(self.judged(context, hook).unwrap_or_else(|findings| {
            context.refusal(findings, Status::Refused);
            Status::Refused
        }))
    }

    fn judged(&self, context: &Context, hook: &dyn edt_agents::hook::Hook) -> Result<Status> {
        let mut input = Vec::new();
        if hook.reads_stdin() {
            std::io::stdin().read_to_end(&mut input).map_err(|error| {
                Finding::new(
                    Code::IoError,
                    format!("Could not read Git's input to {}: {error}.", self.name),
                    "Repeat the command; if that fails again, run `edt doctor`.",
                )
            })?;
        }
        let options = context.options();
        let user_home = options.as_ref().ok().and_then(|options| options.user_home.clone());
        let user_policy = options.map(|options| options.user_policy);
        let allow: Vec<String> = edt_io::environment::variable("EDT_ALLOW")
            .and_then(|words| words.into_string().ok())
            .unwrap_or_default()
            .split([',', ' '])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let call = HookCall {
            git: Git::at(&context.start),
            args: &self.args,
            input: &input,
            who: Who::here(),
            user_policy: &user_policy,
            user_home: user_home.as_deref(),
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

/// Makes a panic refuse the Git operation and print an explanation.
fn refuse_on_panic(name: &str) {
    let name = name.to_owned();
    std::panic::set_hook(Box::new(move |panic| {
        use std::io::Write as _;
        let mut out = std::io::stderr().lock();
        let _ = writeln!(
            out,
            "INTERNAL\n  edt hook {name} failed: {panic}. The Git operation was refused."
        );
        let _ = writeln!(
            out,
            "  next: report this message; the user may remove the hooks with `edt hooks uninstall`."
        );
        std::process::exit(1);
    }));
}
