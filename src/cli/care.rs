//! `edt explain`, `schema`, `completions`, `man`: what edt says of itself.

use clap::{CommandFactory as _, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::{
    Cli, bench, diff, doctor, gc, guards, guide, hooks, log, ls, memory, policy, proposals, read,
    run, search, setup, status, trust,
};
use crate::base::{Code, Finding, Outcome, Result, Status};
use crate::txn::wire::Wire;

/// Tell what a code means and what to do.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt explain SIZE_REDUCTION")]
pub(super) struct ExplainArgs {
    /// The code.
    #[arg(required_unless_present = "all")]
    code: Option<String>,
    /// Every code, as Markdown.
    #[arg(long)]
    all: bool,
}

impl ExplainArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let Some(name) = self.code.as_ref().filter(|_| !self.all) else {
            let all = Codes {
                schema: "edt.codes/1",
                codes: Code::ALL.iter().map(|code| Told::of(*code)).collect(),
            };
            return Ok(context.answer(&all, |_| Code::table()));
        };
        let upper = name.to_ascii_uppercase().replace('-', "_");
        let code = Code::from_name(&upper).ok_or_else(|| {
            let names: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
            let near = similar::get_close_matches(upper.as_str(), &names, 1, 0.5);
            let nearest =
                near.first().map_or_else(String::new, |near| format!(" Did you mean {near}?"));
            Finding::new(
                Code::BadRequest,
                format!("{name} is not a code.{nearest}"),
                "`edt explain --all` lists them.",
            )
        })?;
        Ok(context.answer(&Told::of(code), |_| {
            let allow = code.allow().map_or_else(String::new, |word| format!("\nallow: {word}"));
            let (status, exit) = (code.status().name(), code.status().exit());
            format!("{} (status {status}, exit {exit}){allow}\n{}", code.name(), code.story())
        }))
    }
}

/// The answer of `edt explain`.
#[derive(Debug, Serialize, JsonSchema)]
struct Told {
    /// Always `edt.code/1`.
    schema: &'static str,
    /// The code.
    code: Code,
    /// The status of an answer whose most important error it is.
    status: Status,
    /// The exit status of that.
    exit: u8,
    /// The word by which a request may override it.
    allow: Option<&'static str>,
    /// What it means and what to do.
    story: &'static str,
}

/// The answer of `edt explain --all`.
#[derive(Debug, Serialize, JsonSchema)]
struct Codes {
    /// Always `edt.codes/1`.
    schema: &'static str,
    /// Every code.
    codes: Vec<Told>,
}

impl Told {
    fn of(code: Code) -> Told {
        let status = code.status();
        Told {
            schema: "edt.code/1",
            code,
            status,
            exit: status.exit(),
            allow: code.allow(),
            story: code.story(),
        }
    }
}

/// Print a JSON Schema, generated from the types that edt itself uses.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt schema request > request.schema.json")]
pub(super) struct SchemaArgs {
    /// Of what.
    #[arg(value_enum)]
    of: Shape,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shape {
    /// What `edt apply --request` takes.
    Request,
    /// What every command that changes something answers, and every refusal.
    Outcome,
    /// What `edt run --request` takes.
    RunRequest,
    /// What `edt run` answers.
    Run,
    /// What `edt run --output` answers.
    RunOutput,
    /// What `edt read` answers.
    Read,
    /// What `edt search` answers.
    Search,
    /// What `edt ls` answers.
    Ls,
    /// What `edt status` answers.
    Status,
    /// What `edt show` answers for a proposal, and `edt approve` and `edt reject`.
    Proposal,
    /// What `edt proposals` answers.
    Proposals,
    /// What `edt log` answers.
    Log,
    /// What `edt diff` and `edt show` answer.
    Diff,
    /// What `edt guide` answers.
    Guide,
    /// What `edt guards` answers.
    Guards,
    /// What `edt policy` answers.
    Policy,
    /// What `edt trust` answers.
    Trust,
    /// What `edt gc` answers.
    Gc,
    /// What `edt hooks` answers.
    Hooks,
    /// What `edt doctor` answers.
    Doctor,
    /// What `edt explain CODE` answers.
    Code,
    /// What `edt explain --all` answers.
    Codes,
    /// What `edt completions` and `edt man` answer.
    Text,
    /// What `edt setup` answers.
    Setup,
    /// What `edt bench run`, `merge` and `report` answer.
    BenchReport,
    /// What `edt bench list` answers.
    BenchList,
    /// What `edt bench check` answers.
    BenchCheck,
    /// What `edt bench import` answers.
    BenchImport,
    /// What `edt stats` answers.
    Stats,
    /// What `edt telemetry status` and `flush` answer.
    #[cfg(feature = "otel")]
    Telemetry,
    /// What `edt telemetry show` answers.
    #[cfg(feature = "otel")]
    TelemetrySpans,
    /// What `edt memory` answers, but for `export -`, which writes episodes.
    Memory,
    /// What the memory keeps, and `edt memory import` takes.
    Episode,
}

impl SchemaArgs {
    pub(super) fn run(&self, context: &Context) -> Status {
        let schema = match self.of {
            Shape::Request => schemars::schema_for!(Wire),
            Shape::Outcome => schemars::schema_for!(Outcome),
            Shape::RunRequest => schemars::schema_for!(crate::run::request::Wire),
            Shape::Run => schemars::schema_for!(crate::run::Answer),
            Shape::RunOutput => schemars::schema_for!(run::Page),
            Shape::Read => schemars::schema_for!(read::Answer),
            Shape::Search => schemars::schema_for!(search::Answer),
            Shape::Ls => schemars::schema_for!(ls::Answer),
            Shape::Status => schemars::schema_for!(status::Answer),
            Shape::Proposal => schemars::schema_for!(proposals::Shown),
            Shape::Proposals => schemars::schema_for!(proposals::Listed),
            Shape::Log => schemars::schema_for!(log::Answer),
            Shape::Diff => schemars::schema_for!(diff::Answer),
            Shape::Guide => schemars::schema_for!(guide::Answer),
            Shape::Guards => schemars::schema_for!(guards::Answer),
            Shape::Policy => schemars::schema_for!(policy::Answer),
            Shape::Trust => schemars::schema_for!(trust::Answer),
            Shape::Gc => schemars::schema_for!(gc::Answer),
            Shape::Hooks => schemars::schema_for!(hooks::Answer),
            Shape::Doctor => schemars::schema_for!(doctor::Answer),
            Shape::Code => schemars::schema_for!(Told),
            Shape::Codes => schemars::schema_for!(Codes),
            Shape::Text => schemars::schema_for!(super::context::Text),
            Shape::Episode => schemars::schema_for!(crate::memory::Episode),
            Shape::Memory => schemars::schema_for!(memory::Answer),
            Shape::Stats => schemars::schema_for!(super::stats::Answer),
            Shape::Setup => schemars::schema_for!(setup::Answer),
            Shape::BenchReport => schemars::schema_for!(crate::bench::report::Report),
            Shape::BenchList => schemars::schema_for!(bench::Listed),
            Shape::BenchCheck => schemars::schema_for!(bench::Checks),
            Shape::BenchImport => schemars::schema_for!(bench::Imported),
            #[cfg(feature = "otel")]
            Shape::Telemetry => schemars::schema_for!(super::telemetry::Answer),
            #[cfg(feature = "otel")]
            Shape::TelemetrySpans => schemars::schema_for!(super::telemetry::Shown),
        };
        context.print(&serde_json::to_string_pretty(&schema).unwrap_or_default());
        Status::Applied
    }
}

/// Print a completion script.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt completions bash > ~/.local/share/bash-completion/completions/edt"
)]
pub(super) struct CompletionsArgs {
    /// For which shell.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

impl CompletionsArgs {
    pub(super) fn run(&self, context: &Context) -> Status {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "edt", &mut script);
        context.text(&String::from_utf8_lossy(&script))
    }
}

/// Print the manual page of edt, or of one command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt man apply | man -l -")]
pub(super) struct ManArgs {
    /// The command.
    command: Option<String>,
}

impl ManArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let mut all = Cli::command();
        all.build();
        let page = match &self.command {
            None => all,
            Some(name) => all.find_subcommand(name).cloned().ok_or_else(|| {
                Finding::new(
                    Code::BadRequest,
                    format!("There is no command {name}."),
                    "`edt help` lists the commands.",
                )
            })?,
        };
        let mut out = Vec::new();
        clap_mangen::Man::new(page).render(&mut out).map_err(|error| {
            Finding::new(
                Code::Internal,
                format!("The page could not be made: {error}."),
                "Report this message.",
            )
        })?;
        Ok(context.text(&String::from_utf8_lossy(&out)))
    }
}
