//! The command line of `edt-bench`: one file per command, each a struct of arguments and a function.

mod context;
mod import;
mod list;
mod model;
mod render;
mod report;
mod run;
mod schema;
mod table;
mod unit;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use context::{Context, Global};
use edt_types::{Code, Finding, Refusal, Result, Status};

/// Measure agents on tasks: strategies and guards side by side, with intervals and paired
/// differences.
///
/// A task is a directory with the files before, an instruction and a judge. An agent is a program
/// that speaks JSON lines, or a model behind HTTP. Every task runs in a scratch repository.
/// `docs/dev/bench.md` explains how to write tasks and agents.
#[derive(Debug, Parser)]
#[command(
    name = "edt-bench",
    version,
    max_term_width = 110,
    after_help = "Exit status: 0 done, 1 refused, 2 malformed call, 3 the state changed meanwhile, \
                  5 environment, 70 a bug.\n\nExamples:\n  edt-bench list\n  edt-bench run formats \
                  collisions stale\n  edt-bench run numeric --strategy none,reflection,episodic \
                  --sessions 3 --out results\n  edt-bench report results"
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Args>),
    List(list::Args),
    Check(list::CheckArgs),
    Import(import::Args),
    Merge(report::MergeArgs),
    Report(report::ReportArgs),
    Schema(schema::Args),
    #[command(hide = true)]
    Unit(unit::Args),
}

impl Command {
    fn run(&self, context: &Context) -> Result<Status> {
        match self {
            Command::Run(args) => args.run(context),
            Command::List(args) => args.run(context),
            Command::Check(args) => args.run(context),
            Command::Import(args) => args.run(context),
            Command::Merge(args) => args.run(context),
            Command::Report(args) => args.run(context),
            Command::Schema(args) => Ok(args.run()),
            Command::Unit(args) => args.run(),
        }
    }
}

/// Runs the command that `args` name and returns the exit status.
#[must_use]
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return bad_arguments(&error, args.iter().any(|arg| arg == "--json")),
    };
    let context = Context::new(&cli.global);
    let status = cli.command.run(&context).unwrap_or_else(|findings| {
        let status = findings.status();
        context.refusal(findings, status);
        status
    });
    ExitCode::from(status.exit())
}

fn bad_arguments(error: &clap::Error, json: bool) -> ExitCode {
    if !error.use_stderr() || !json {
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { Status::Invalid.exit() } else { 0 });
    }
    let text = error.render().to_string();
    let message = text.trim().strip_prefix("error: ").unwrap_or(&text).trim().to_owned();
    let remedy = "`edt-bench help COMMAND` lists the arguments, with an example.";
    let findings = Refusal::from(Finding::new(Code::BadRequest, message, remedy));
    context::print(&render::json(&render::refusal(findings, Status::Invalid)));
    ExitCode::from(Status::Invalid.exit())
}
