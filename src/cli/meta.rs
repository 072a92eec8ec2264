//! `edt explain`, `schema`, `completions` and `man`: edt's description of itself.

use clap::{CommandFactory as _, ValueEnum};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use super::complete;
use super::context::Context;
use super::{
    Cli, diff, doctor, forget, gc, guards, guide, hooks, log, ls, man, memory, policy, proposals,
    read, run, search, setup, status, trust,
};
use edt_core::txn::wire::RequestWire;
use edt_types::evidence::FACTS;
use edt_types::{Code, Finding, Outcome, Result, Status, WarningCode, code_page};

/// Explain what a code of an error or a warning means, and what to do.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt explain SIZE_REDUCTION")]
pub(super) struct ExplainArgs {
    /// The code.
    #[arg(required_unless_present = "all")]
    code: Option<String>,
    /// Print every code, as a Markdown table.
    #[arg(long)]
    all: bool,
}

impl ExplainArgs {
    /// To explain `code`.
    #[cfg(feature = "mcp")]
    pub(super) fn of(code: String) -> ExplainArgs {
        ExplainArgs { code: Some(code), all: false }
    }

    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let Some(name) = self.code.as_ref().filter(|_| !self.all) else {
            let all = EveryCode {
                schema: "edt.codes/1",
                codes: Code::ALL.iter().map(|code| CodeExplanation::of(*code)).collect(),
                warnings: WarningCode::ALL.iter().map(|code| WarningEntry::of(*code)).collect(),
            };
            return Ok(context.answer(&all, |_| code_page()));
        };
        let upper = name.to_ascii_uppercase().replace('-', "_");
        if let Some(code) = WarningCode::from_name(&upper.to_ascii_lowercase()) {
            let entry = WarningExplanation {
                schema: "edt.warning/1",
                warning: code.name(),
                explanation: code.explanation(),
            };
            let text = format!("{} (warning)\n{}", code.name(), code.explanation());
            return Ok(context.answer(&entry, |_| text));
        }
        let code = Code::from_name(&upper).ok_or_else(|| not_a_code(name, &upper))?;
        Ok(context.answer(&CodeExplanation::of(code), |_| {
            let allow = code.allow().map_or_else(String::new, |word| format!("\nallow: {word}"));
            let (status, exit) = (code.status().name(), code.status().exit());
            format!("{} (status {status}, exit {exit}){allow}\n{}", code.name(), code.explanation())
        }))
    }
}

fn not_a_code(name: &str, upper: &str) -> Finding {
    let warnings = WarningCode::ALL.iter().map(|code| code.name().to_ascii_uppercase());
    let all: Vec<String> =
        Code::ALL.iter().map(|code| code.name().to_owned()).chain(warnings).collect();
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    let near = similar::get_close_matches(upper, &names, 1, 0.5);
    let nearest = near.first().map_or_else(String::new, |near| {
        let is_code = Code::from_name(near).is_some();
        let near = if is_code { (*near).to_owned() } else { near.to_ascii_lowercase() };
        format!(" Did you mean {near}?")
    });
    Finding::new(
        Code::BadRequest,
        format!("{name} is not a code.{nearest}"),
        "`edt explain --all` lists the codes.",
    )
}

/// The answer of `edt explain`.
#[derive(Debug, Serialize, JsonSchema)]
struct CodeExplanation {
    /// Always `edt.code/1`.
    schema: &'static str,
    /// The code.
    code: Code,
    /// The status of an answer whose most important error has this code.
    status: Status,
    /// The exit status that belongs to `status`.
    exit: u8,
    /// The word in `allow` with which a request overrides it.
    allow: Option<&'static str>,
    /// What it means and what to do.
    explanation: &'static str,
    /// The facts that `evidence` may have with this code, besides those of any code.
    evidence: Vec<EvidenceEntry>,
}

/// A key of `evidence`.
#[derive(Debug, Serialize, JsonSchema)]
struct EvidenceEntry {
    /// The key.
    key: &'static str,
    /// Its type.
    r#type: &'static str,
    /// What it means.
    meaning: &'static str,
}

/// The answer of `edt explain --all`.
#[derive(Debug, Serialize, JsonSchema)]
struct EveryCode {
    /// Always `edt.codes/1`.
    schema: &'static str,
    /// Every code of an error.
    codes: Vec<CodeExplanation>,
    /// Every code of a warning, except the names of guards.
    warnings: Vec<WarningEntry>,
}

/// A code of a warning.
#[derive(Debug, Serialize, JsonSchema)]
struct WarningEntry {
    /// The code.
    warning: &'static str,
    /// What it means, in one sentence.
    explanation: &'static str,
}

impl WarningEntry {
    const fn of(code: WarningCode) -> WarningEntry {
        WarningEntry { warning: code.name(), explanation: code.explanation() }
    }
}

/// The answer of `edt explain` for the code of a warning.
#[derive(Debug, Serialize, JsonSchema)]
struct WarningExplanation {
    /// Always `edt.warning/1`.
    schema: &'static str,
    /// The code.
    warning: &'static str,
    /// What it means, in one sentence.
    explanation: &'static str,
}

impl CodeExplanation {
    fn of(code: Code) -> CodeExplanation {
        let status = code.status();
        CodeExplanation {
            schema: "edt.code/1",
            code,
            status,
            exit: status.exit(),
            allow: code.allow(),
            explanation: code.explanation(),
            evidence: FACTS
                .iter()
                .filter(|fact| fact.codes.contains(&code))
                .map(|fact| EvidenceEntry {
                    key: fact.key,
                    r#type: fact.kind.name(),
                    meaning: fact.meaning,
                })
                .collect(),
        }
    }
}

/// Print a JSON Schema, generated from edt's own types.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt schema request > request.schema.json")]
pub(super) struct SchemaArgs {
    /// The request or answer that the schema describes.
    #[arg(value_enum, required_unless_present = "list")]
    of: Option<Shape>,
    /// Print the names of all.
    #[arg(long)]
    list: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shape {
    /// The request that `edt apply --request` reads.
    Request,
    /// The answer of every command that changes something, and every refusal.
    Outcome,
    /// The request that `edt run --request` reads.
    RunRequest,
    /// The answer of `edt run`.
    Run,
    /// The answer of `edt run --output`.
    RunOutput,
    /// The answer of `edt read`.
    Read,
    /// The answer of `edt outline`.
    Outline,
    /// The answer of `edt blame`.
    Blame,
    /// The answer of `edt search`.
    Search,
    /// The answer of `edt ls`.
    Ls,
    /// The answer of `edt status`.
    Status,
    /// The answer of `edt approve`, `edt reject`, and `edt show` for a proposal.
    Proposal,
    /// The answer of `edt proposals`.
    Proposals,
    /// The answer of `edt log`.
    Log,
    /// The answer of `edt diff` and `edt show`.
    Diff,
    /// The answer of `edt review`.
    #[cfg(feature = "review")]
    Review,
    /// The answer of `edt comment`.
    Comments,
    /// The answer of `edt guide`.
    Guide,
    /// The answer of `edt guards`.
    Guards,
    /// The answer of `edt policy`.
    Policy,
    /// The answer of `edt trust`.
    Trust,
    /// The answer of `edt forget`.
    Forget,
    /// The answer of `edt gc`.
    Gc,
    /// The answer of `edt hooks`.
    Hooks,
    /// The answer of `edt doctor`.
    Doctor,
    /// The answer of `edt explain CODE`.
    Code,
    /// The answer of `edt explain --all`.
    Codes,
    /// The answer of `edt explain` for a warning.
    Warning,
    /// The answer of `edt completions` and `edt man`.
    Text,
    /// The answer of `edt setup`.
    Setup,
    /// The answer of `edt stats`.
    Stats,
    /// The answer of `edt telemetry status` and `flush`.
    Telemetry,
    /// The answer of `edt telemetry show`.
    TelemetrySpans,
    /// The answer of `edt memory`, except `export -`, which prints episodes.
    Memory,
    /// An episode, as the memory stores it and `edt memory import` reads it.
    Episode,
}

impl SchemaArgs {
    pub(super) fn run(&self, context: &Context) -> Status {
        let Some(shape) = self.of.filter(|_| !self.list) else {
            let names = Shape::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
            context.print(&names.join("\n"));
            return Status::Applied;
        };
        let schema = match shape {
            Shape::Request => schemars::schema_for!(RequestWire),
            Shape::Outcome => answer::<Outcome>(),
            Shape::RunRequest => schemars::schema_for!(edt_run::request::RunRequestJson),
            Shape::Run => answer::<edt_run::RunOutcome>(),
            Shape::RunOutput => answer::<run::Page>(),
            Shape::Read => answer::<read::Answer>(),
            Shape::Outline => answer::<super::outline::Answer>(),
            Shape::Blame => answer::<super::blame::Answer>(),
            Shape::Search => answer::<search::Answer>(),
            Shape::Ls => answer::<ls::Answer>(),
            Shape::Status => answer::<status::Answer>(),
            Shape::Proposal => answer::<proposals::Shown>(),
            Shape::Proposals => answer::<proposals::Listed>(),
            Shape::Log => answer::<log::Answer>(),
            Shape::Diff => answer::<diff::Answer>(),
            #[cfg(feature = "review")]
            Shape::Review => answer::<edt_review::SessionReview>(),
            Shape::Comments => answer::<super::comment::Answer>(),
            Shape::Guide => answer::<guide::Answer>(),
            Shape::Guards => answer::<guards::Answer>(),
            Shape::Policy => answer::<policy::Answer>(),
            Shape::Trust => answer::<trust::Answer>(),
            Shape::Forget => answer::<forget::Answer>(),
            Shape::Gc => answer::<gc::Answer>(),
            Shape::Hooks => answer::<hooks::Answer>(),
            Shape::Doctor => answer::<doctor::Answer>(),
            Shape::Code => answer::<CodeExplanation>(),
            Shape::Codes => answer::<EveryCode>(),
            Shape::Warning => answer::<WarningExplanation>(),
            Shape::Text => answer::<super::context::Text>(),
            Shape::Episode => schemars::schema_for!(edt_memory::episodes::Episode),
            Shape::Memory => answer::<memory::Answer>(),
            Shape::Stats => answer::<super::stats::Answer>(),
            Shape::Setup => answer::<setup::Answer>(),
            Shape::Telemetry => answer::<super::telemetry::Answer>(),
            Shape::TelemetrySpans => answer::<super::telemetry::Shown>(),
        };
        context.print(&serde_json::to_string_pretty(&schema).unwrap_or_default());
        Status::Applied
    }
}

/// The schema of what edt prints: every key that is always there is required.
fn answer<T: JsonSchema>() -> schemars::Schema {
    let settings = SchemaSettings::default().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

/// Print a completion script. It asks edt for names of sessions, numbers of edits and proposals, so
/// make it again with each version of edt.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt completions bash > ~/.local/share/bash-completion/completions/edt"
)]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

impl CompletionsArgs {
    pub(super) fn run(&self, context: &Context) -> Status {
        let script = complete::script(&self.shell.to_string()).unwrap_or_default();
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
        Ok(context.text(&man::page(&page)))
    }
}
