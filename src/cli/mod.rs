//! The command line. Each command has one file: a struct of arguments and a function.

#[cfg(feature = "acp")]
mod acp;
mod agent_hook;
mod agent_shell;
mod applied_diff;
mod apply;
mod attribution;
mod begin;
mod blame;
#[cfg(feature = "review")]
mod browser;
mod caller;
mod checkpoint;
mod comment;
mod complete;
mod context;
mod demo;
mod diff;
mod diff_text;
mod doctor;
mod edit_name;
mod forget;
mod gc;
mod guards;
mod guide;
mod help;
mod hook;
mod hooks;
mod interrupt;
mod land;
mod log;
mod log_files;
mod log_graph;
mod log_refusals;
mod log_turns;
mod long_call;
mod ls;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_args;
#[cfg(feature = "mcp")]
mod mcp_bounds;
#[cfg(feature = "mcp")]
mod mcp_instructions;
#[cfg(feature = "metrics")]
mod mcp_metrics;
#[cfg(feature = "mcp")]
mod mcp_tools;
#[cfg(feature = "mcp")]
mod mcp_worktree;
mod memory;
mod meta;
mod named_path;
mod note;
mod outline;
mod pager;
mod policy;
mod printed;
mod proposals;
mod read;
mod render;
mod restore;
mod revert;
#[cfg(feature = "review")]
mod review;
#[cfg(feature = "review")]
mod review_server;
#[cfg(feature = "tui")]
mod review_tui;
mod run;
mod search;
mod setup;
mod show;
mod stats;
mod status;
mod switch;
mod telemetry;
mod terminal_user;
mod trust;
mod undo;
mod user_files;
mod value;
mod words;

use std::ffi::OsString;

use clap::{Args as _, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use context::{Context, Global};
use edt_types::text::shell_word;
use edt_types::{Code, Finding, Refusal, Status};

/// edt: every edit of an AI agent is one guarded transaction and one Git commit.
///
/// Edits become commits on a shadow branch edt/<name>. `edt undo` undoes them; `git merge --squash
/// edt/<name>` lands them. A refusal changes nothing and says what to send instead.
#[derive(Debug, Parser)]
#[command(
    name = "edt",
    version,
    max_term_width = 110,
    after_help = "Exit status: 0 done, 1 refused, 2 malformed call, 3 the repository changed meanwhile, 4 the user must act, 5 environment, 10 the program that was run failed, 70 a bug in edt.\n\nExample:\n  edt apply src/calc.c --mode edit --old-text 'return a;' --content 'return a + b;'\n  edt undo"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    Begin(begin::Args),
    Switch(switch::Args),
    Apply(apply::Args),
    Check(apply::CheckArgs),
    Read(read::Args),
    Outline(outline::Args),
    Search(Box<search::Args>),
    Ls(ls::Args),
    Status(status::Args),
    Log(log::Args),
    Show(show::Args),
    Diff(diff::Args),
    Blame(blame::Args),
    #[cfg(feature = "review")]
    Review(review::Args),
    Comment(comment::Args),
    Undo(undo::Args),
    Redo(undo::RedoArgs),
    Revert(revert::Args),
    Restore(restore::Args),
    Checkpoint(checkpoint::Args),
    Run(Box<run::Args>),
    Propose(apply::ProposeArgs),
    Proposals(proposals::Args),
    Approve(proposals::ApproveArgs),
    Reject(proposals::RejectArgs),
    Land(land::Args),
    Abandon(land::AbandonArgs),
    Attribution(attribution::Args),
    Stats(stats::Args),
    Gc(gc::Args),
    Forget(forget::Args),
    Memory(memory::Args),
    Guide(guide::Args),
    Guards(guards::Args),
    Policy(policy::Args),
    Trust(trust::Args),
    Hooks(hooks::Args),
    Hook(hook::Args),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Args),
    #[cfg(feature = "acp")]
    Acp(acp::Args),
    AgentHook(agent_hook::Args),
    AgentShell(agent_shell::Args),
    Setup(setup::Args),
    Doctor(doctor::Args),
    Telemetry(telemetry::Args),
    Explain(meta::ExplainArgs),
    Schema(meta::SchemaArgs),
    Completions(meta::CompletionsArgs),
    Man(meta::ManArgs),
    Demo(demo::Args),
}

impl Command {
    /// Whether only the user may make the call: it takes away a protection, changes the lessons of
    /// other agents, or speaks for the user.
    fn is_only_for_users(&self) -> bool {
        match self {
            Command::Hooks(args) => args.removes(),
            Command::Setup(args) => args.removes(),
            Command::Memory(args) => args.rewrites(),
            Command::Comment(args) => args.is_users(),
            _ => false,
        }
    }

    /// Whether it only asks: its refusal is not recorded.
    fn only_asks(&self) -> bool {
        let acts = matches!(
            self,
            Command::Checkpoint(_)
                | Command::Propose(_)
                | Command::Approve(_)
                | Command::Reject(_)
                | Command::AgentShell(_)
        );
        let acts = acts || matches!(self, Command::Comment(args) if args.changes());
        !(acts || self.writes_worktree() || self.is_only_for_users() || self.is_not_for_agents())
    }

    /// Whether it may write files of the worktree that the environment names.
    const fn writes_worktree(&self) -> bool {
        matches!(
            self,
            Command::Begin(_)
                | Command::Switch(_)
                | Command::Apply(_)
                | Command::Undo(_)
                | Command::Redo(_)
                | Command::Revert(_)
                | Command::Restore(_)
                | Command::Run(_)
                | Command::Land(_)
                | Command::Abandon(_)
        )
    }

    /// Whether an agent may not call it: it deletes early what edt keeps for the user, or writes
    /// files at a path that the caller names.
    fn is_not_for_agents(&self) -> bool {
        match self {
            Command::Gc(args) => args.shortens(),
            Command::Guide(args) => args.writes(),
            #[cfg(feature = "review")]
            Command::Review(args) => args.writes(),
            Command::Setup(args) => args.emits(),
            _ => false,
        }
    }

    fn run(&self, context: &Context) -> edt_types::Result<Status> {
        match self {
            Command::Begin(args) => args.run(context),
            Command::Switch(args) => args.run(context),
            Command::Apply(args) => args.run(context),
            Command::Check(args) => args.run(context),
            Command::Read(args) => args.run(context),
            Command::Outline(args) => args.run(context),
            Command::Search(args) => args.run(context),
            Command::Ls(args) => args.run(context),
            Command::Status(args) => args.run(context),
            Command::Log(args) => args.run(context),
            Command::Show(args) => args.run(context),
            Command::Diff(args) => args.run(context),
            Command::Blame(args) => args.run(context),
            #[cfg(feature = "review")]
            Command::Review(args) => args.run(context),
            Command::Comment(args) => args.run(context),
            Command::Undo(args) => args.run(context),
            Command::Redo(args) => args.run(context),
            Command::Revert(args) => args.run(context),
            Command::Restore(args) => args.run(context),
            Command::Checkpoint(args) => args.run(context),
            Command::Run(args) => args.run(context),
            Command::Propose(args) => args.run(context),
            Command::Proposals(args) => args.run(context),
            Command::Approve(args) => args.run(context),
            Command::Reject(args) => args.run(context),
            Command::Land(args) => args.run(context),
            Command::Abandon(_) => land::run_abandon(context),
            Command::Attribution(args) => args.run(context),
            Command::Stats(args) => args.run(context),
            Command::Gc(args) => args.run(context),
            Command::Forget(args) => args.run(context),
            Command::Memory(args) => args.run(context),
            Command::Guide(args) => args.run(context),
            Command::Guards(args) => args.run(context),
            Command::Policy(args) => args.run(context),
            Command::Trust(args) => args.run(context),
            Command::Hooks(args) => args.run(context),
            Command::Hook(args) => args.run(context),
            #[cfg(feature = "mcp")]
            Command::Mcp(args) => args.run(context),
            #[cfg(feature = "acp")]
            Command::Acp(args) => args.run(context),
            Command::AgentHook(args) => args.run(context),
            Command::AgentShell(args) => args.run(context),
            Command::Setup(args) => args.run(context),
            Command::Doctor(args) => args.run(context),
            Command::Telemetry(args) => args.run(context),
            Command::Explain(args) => args.run(context),
            Command::Schema(args) => Ok(args.run(context)),
            Command::Completions(args) => Ok(args.run(context)),
            Command::Man(args) => args.run(context),
            Command::Demo(args) => args.run(context),
        }
    }
}

/// Runs the command that `args` name and returns the exit status.
#[must_use]
pub(crate) fn main(args: impl Iterator<Item = OsString>) -> u8 {
    printed::checked(call(&args.collect::<Vec<OsString>>()))
}

fn call(args: &[OsString]) -> u8 {
    if let Some(candidates) = complete::asked(args) {
        printed::print(&candidates);
        return 0;
    }
    if let [_, only] = args
        && (only == "--version" || only == "-V")
    {
        let version = concat!("edt ", env!("CARGO_PKG_VERSION"), "\n");
        printed::print(version.as_bytes());
        return 0;
    }
    if let [_, help, topic] = args
        && help == "help"
        && let Some(text) = topic.to_str().and_then(|topic| help::topic(Cli::command(), topic))
    {
        context::print_out(&text);
        return 0;
    }
    let parse = |command: clap::Command| {
        let matches = command.try_get_matches_from(args)?;
        let name = matches.subcommand_name().unwrap_or_default().to_owned();
        Cli::from_arg_matches(&matches).map(|cli| (cli, name))
    };
    let parsed = match only_called(args).map(parse) {
        Some(Ok(parsed)) => Ok(parsed),
        // Help and errors speak of all commands.
        _ => parse(Cli::command()),
    };
    let (cli, name) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return without_command(error, args),
    };
    // A command that shows spans records none.
    if name != "telemetry" {
        note::call(&name);
    }
    let context = Context::new(&cli.global, name.clone());
    if cli.command.only_asks() {
        context.asks_only();
    }
    let permitted = if cli.command.is_only_for_users() {
        terminal_user::require_user(&as_typed(args))
    } else if cli.command.is_not_for_agents() {
        terminal_user::refuse_agent(&as_typed(args))
    } else if !cli.command.writes_worktree() {
        Ok(())
    } else {
        terminal_user::refuse_places_of_agent()
    };
    let watched = if context.json { None } else { long_call::watch(&name) };
    let done = permitted.and_then(|()| cli.command.run(&context));
    let status = done.unwrap_or_else(|findings| {
        let status = findings.status();
        context.refusal(findings, status);
        status
    });
    drop(watched);
    context.record_end(status);
    // The answer was printed before, so recording the span does not delay it.
    crate::telemetry::end();
    status.exit()
}

/// The call as the user would type it.
fn as_typed(args: &[OsString]) -> String {
    let args = args.iter().skip(1).filter(|arg| *arg != "--json");
    let words = args.map(|arg| shell_word(arg.as_encoded_bytes()));
    std::iter::once("edt".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// `edt` with no command but the first one that is named in `args`: clap works on every command that
/// a program has, which takes longer than an edit. What this accepts, `edt` accepts.
fn only_called(args: &[OsString]) -> Option<clap::Command> {
    let all = Command::augment_subcommands(clap::Command::new("edt"));
    let called = args.iter().skip(1).find_map(|arg| all.find_subcommand(arg))?.clone();
    let edt = Global::augment_args(clap::Command::new("edt"));
    Some(edt.subcommand(called).disable_help_subcommand(true).subcommand_required(true))
}

/// Every command with its flags.
pub(crate) fn command() -> clap::Command {
    let mut all = Cli::command();
    all.build();
    all
}

/// What a call with neither an edit nor a request should have sent.
const EDIT_EXAMPLE: &str = "Send a JSON request on standard input, or one edit by flags:\n  \
    echo '{\"path\": \"a.txt\", \"mode\": \"append\", \"content\": \"x\\n\"}' | edt apply --request -\n  \
    edt apply a.txt --mode append --content 'x'";

/// Prints help, the version or what is wrong with `args`.
fn without_command(error: clap::Error, args: &[OsString]) -> u8 {
    let error = if error.kind() == clap::error::ErrorKind::DisplayVersion {
        error
    } else {
        // The arguments of a command are built when it is called, but help describes all commands.
        let mut command = help::with_first_page(Cli::command());
        command.build();
        let parsed = command.try_get_matches_from(args);
        parsed.and_then(|matches| Cli::from_arg_matches(&matches)).err().unwrap_or(error)
    };
    if !error.use_stderr() || !args.iter().any(|arg| arg == "--json") {
        if error.use_stderr() {
            // The text quotes arguments.
            context::print_error(&render::screen(&error.render().ansi().to_string()));
        } else {
            context::print_out(&error.render().ansi().to_string());
        }
        return if error.use_stderr() { Status::Invalid.exit() } else { 0 };
    }
    let text = error.render().to_string();
    let message = text.trim().strip_prefix("error: ").unwrap_or(&text).trim().to_owned();
    let is_missing = error.kind() == clap::error::ErrorKind::MissingRequiredArgument;
    let edits = args.iter().any(|arg| ["apply", "check", "propose"].iter().any(|name| arg == name));
    let remedy = if is_missing && edits {
        EDIT_EXAMPLE
    } else {
        "`edt help COMMAND` lists the arguments, with an example."
    };
    let finding = Finding::new(Code::BadRequest, message, remedy);
    let findings = Refusal::from(finding);
    let json = render::json(&render::refusal(findings, Status::Invalid)) + "\n";
    printed::print(json.as_bytes());
    Status::Invalid.exit()
}

#[cfg(test)]
mod tests;
