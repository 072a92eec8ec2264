//! `edt mcp`: the commands as tools of a Model Context Protocol server. Each row of [`TOOLS`] is a
//! command, whose own types describe the tool's arguments and answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::context::{CallDefaults, CapturedAnswer, Context};
use super::edit_name::ProposalName;
use super::mcp_args::of;
use super::{
    apply, checkpoint, diff, land, log, ls, mcp_worktree, note, outline, proposals, read, restore,
    revert, run, search, show, status, undo,
};
use crate::mcp::{
    self, CallProgress, Reply, Tool, ToolAnswer, ToolCall, ToolEffect, either, input, output,
};
use crate::telemetry;
use edt_agents::guide;
use edt_core::session::worktree::options::Cache;
use edt_core::txn::{self, Request};
use edt_run::store::OutputStream;
use edt_run::{RunObserver, Signal};
use edt_types::{Code, DryRun, Finding, Outcome, Result, Status};

/// Serve the commands to an agent over the Model Context Protocol, on standard input and output.
///
/// Calls act on the repository of the current directory, else on the client's first root; each call
/// may name another worktree. The server ends when its input ends.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example, in a client's configuration:\n  {\"mcpServers\": {\"edt\": {\"command\": \"edt\", \"args\": [\"mcp\"]}}}\n\n  edt mcp --tools apply,read,search,undo   # only these"
)]
pub(super) struct Args {
    /// Only these tools; all tools if omitted.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tools: Vec<String>,
}

struct Row {
    name: &'static str,
    effect: ToolEffect,
    about: &'static str,
    input: fn() -> Map<String, Value>,
    output: fn() -> Map<String, Value>,
    run: fn(&Context, Value, &mut dyn RunObserver) -> Result<Status>,
    /// Whether its arguments may name the agent.
    takes_agent: bool,
}

/// A row with the arguments of a command.
macro_rules! command {
    ($name:literal, $effect:ident, $args:ty, $answer:ty, $about:literal) => {
        Row {
            name: $name,
            effect: ToolEffect::$effect,
            about: $about,
            input: input::<$args>,
            output: output::<$answer, Outcome>,
            run: |context, args, _| of::<$args>(args)?.run(context),
            takes_agent: false,
        }
    };
}

/// A row whose argument is a request of edits.
macro_rules! request {
    ($name:literal, $effect:ident, $input:expr, $about:literal, $run:expr) => {
        Row {
            name: $name,
            effect: ToolEffect::$effect,
            about: $about,
            input: $input,
            output: output::<Outcome, Outcome>,
            run: $run,
            takes_agent: true,
        }
    };
}

const TOOLS: &[Row] = &[
    request!(
        "apply",
        Commits,
        || either(&[input::<txn::wire::RequestWire>, input::<ProposalArgs>]),
        "Change files in one transaction: all edits or none, recorded as one Git commit that `undo` undoes. `mode` is create, edit (old_text must occur exactly once), append, overwrite, insert, replace_lines, delete_lines, delete, rename, replace_symbol, insert_before_symbol, insert_after_symbol or rename_symbol; or send `patch`; or `edits` for several edits; or `proposal`, the number of an approved proposal. A refusal changes nothing and says what to send instead.",
        |context, args, _| match args.get("proposal") {
            Some(id) if !id.is_null() =>
                apply::apply_proposal(context, of::<ProposalArgs>(args)?.proposal.0, DryRun::No),
            _ => apply::apply(context, request(context, &without(args, "proposal")), DryRun::No),
        }
    ),
    request!(
        "check",
        Reads,
        input::<txn::wire::RequestWire>,
        "Do everything that `apply` does with the same arguments, except writing: would it be refused, and why?",
        |context, args, _| apply::apply(context, request(context, &args), DryRun::Yes)
    ),
    command!(
        "read",
        Reads,
        read::Args,
        read::Answer,
        "Read a file with line numbers and its blob id, which `expected_hash` takes."
    ),
    command!(
        "outline",
        Reads,
        outline::Args,
        outline::Answer,
        "List the definitions of a file with their lines; `symbol` of `apply` takes their names."
    ),
    command!(
        "search",
        Reads,
        search::Args,
        search::Answer,
        "Search the files of the worktree for lines that match a regular expression, with path, line and column."
    ),
    command!(
        "list",
        Reads,
        ls::Args,
        ls::Answer,
        "List the files of the worktree, with state, size and blob id."
    ),
    command!(
        "status",
        Reads,
        status::Args,
        status::Answer,
        "Show the session, what it changed, and the user's uncommitted changes."
    ),
    command!("log", Reads, log::Args, log::Answer, "List the edits, or one file's revisions."),
    command!(
        "show",
        Reads,
        show::Args,
        ShowAnswer,
        "Show one edit by its number, or one proposal by its name (`p7`): agent, message and diff."
    ),
    command!(
        "diff",
        Reads,
        diff::Args,
        diff::Answer,
        "Show what the session changed, or with `revision` one edit (`7`) or a range (`3..7`); with `worktree` the user's uncommitted changes. `paths` limits it, `stat` counts lines."
    ),
    command!(
        "undo",
        Commits,
        undo::Args,
        Outcome,
        "Undo the last edits; `redo` redoes them. Nothing is lost."
    ),
    command!("redo", Commits, undo::RedoArgs, Outcome, "Redo the edits of the last undo."),
    command!(
        "revert",
        Commits,
        revert::Args,
        Outcome,
        "Revert earlier edits by their numbers, as one new commit. Later edits stay."
    ),
    command!(
        "restore",
        Commits,
        restore::Args,
        Outcome,
        "Restore one file to its content before its latest edit, or as of an edit (`to`), as a new commit."
    ),
    command!(
        "checkpoint",
        Commits,
        checkpoint::Args,
        Outcome,
        "Commit the user's uncommitted changes on the session's branch, as the user's. Landing them needs the user's consent."
    ),
    request!(
        "propose",
        Commits,
        input::<txn::wire::RequestWire>,
        "Propose edits that the user must approve, with the arguments of `apply`.",
        |context, args, _| apply::propose(context, &request(context, &args)?)
    ),
    command!(
        "proposals",
        Reads,
        proposals::Args,
        proposals::Listed,
        "List the proposals that wait for the user's approval."
    ),
    Row {
        name: "run",
        effect: ToolEffect::Runs,
        about: "Run a program with exactly these arguments; there is no shell, so do not quote. Policy judges the command, a sandbox confines it, and its changes become one commit that `undo` undoes. With `output`, the number of a run, show more of that run's output instead.",
        input: || {
            either(&[
                input::<edt_run::request::RunRequestJson>,
                input::<OutputArg>,
                input::<run::PageArgs>,
            ])
        },
        output: output::<RunAnswer, Outcome>,
        run: |context, args, live| match args.get("output").and_then(Value::as_u64) {
            Some(id) => of::<run::PageArgs>(without(args, "output"))?.show(context, id),
            None => Ok(run::run_for_server(context, of(args)?, live)),
        },
        takes_agent: true,
    },
    command!(
        "land",
        Lands,
        land::Args,
        Outcome,
        "Squash the session into one commit on the branch from which it began."
    ),
];

/// The argument of `apply` that applies a proposal.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProposalArgs {
    /// The number of an approved proposal to apply; send no edits with it.
    proposal: ProposalName,
}

/// The argument of `run` that asks for the output of an earlier run.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it exists for its schema")]
struct OutputArg {
    /// The number of a run whose output is shown; no program is run.
    output: u64,
}

/// The argument that every tool has.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it exists for its schema")]
struct WorktreeArg {
    /// The worktree to act in, as an absolute path; the worktree in which the server was started if
    /// omitted.
    worktree: Option<PathBuf>,
}

/// The answer of `show`.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "it exists for its schema")]
enum ShowAnswer {
    Edit(diff::Answer),
    Proposal(proposals::Shown),
}

/// The answer of `run`.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "it exists for its schema")]
enum RunAnswer {
    Run(Box<edt_run::RunOutcome>),
    OutputArg(run::Page),
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let names: Vec<&str> = TOOLS.iter().map(|row| row.name).collect();
        if let Some(unknown) = self.tools.iter().find(|name| !names.contains(&name.as_str())) {
            let message = format!("{unknown} is not a tool.");
            return Err(Finding::new(
                Code::BadRequest,
                message,
                format!("The tools are {}.", names.join(", ")),
            )
            .into());
        }
        let shown =
            |row: &&Row| self.tools.is_empty() || self.tools.iter().any(|name| name == row.name);
        let rows: Vec<&'static Row> = TOOLS.iter().filter(shown).collect();
        let tools = rows.iter().map(|row| row.tool()).collect();
        let call_defaults = context.call_defaults();
        let handler = move || -> mcp::Handler {
            let server = Server {
                rows: rows.clone(),
                call_defaults: call_defaults.clone(),
                cache: Arc::default(),
            };
            Box::new(move |call, reply| server.answer(call, reply))
        };
        let service = mcp::Service {
            tools,
            instructions: guide::short().to_owned(),
            handler: Arc::new(handler),
        };
        let run_for_server = mcp::serve(service);
        telemetry::finish_server();
        run_for_server
            .map_err(|error| edt_io::failed("serve", Path::new("standard input"), &error))?;
        Ok(Status::Applied)
    }
}

impl Row {
    fn tool(&self) -> Tool {
        let input = either(&[self.input, input::<WorktreeArg>]);
        let required = (self.input)().remove("required");
        let input = input
            .into_iter()
            .chain(required.map(|required| ("required".to_owned(), required)))
            .collect();
        Tool {
            name: self.name,
            about: self.about,
            effect: self.effect,
            input,
            output: (self.output)(),
        }
    }
}

/// Answers calls on one thread.
struct Server {
    rows: Vec<&'static Row>,
    call_defaults: CallDefaults,
    cache: Arc<Cache>,
}

impl Server {
    fn answer(&self, mut call: ToolCall, reply: Reply) {
        let row = self.rows[call.tool];
        note::request(row.name, std::mem::take(&mut call.request), &call.meta);
        let named = call.args.remove("worktree").filter(|value| !value.is_null());
        let start = mcp_worktree::directory(&self.call_defaults, &self.cache, named, &call.roots);
        let place = start.as_ref().map_or_else(|_| self.call_defaults.start.clone(), Clone::clone);
        let context = self.call_defaults.context(row.name, place, Arc::clone(&self.cache));
        let makes = !["proposal", "output"]
            .iter()
            .any(|key| call.args.get(*key).is_some_and(|id| !id.is_null()));
        if let Some(client) = call.client.filter(|name| row.takes_agent && makes && is_a_name(name))
        {
            call.args.entry("agent").or_insert_with(|| client.into());
        }
        let agent = call.args.get("agent").and_then(Value::as_str).map(str::to_owned);
        let arguments = Value::Object(call.args);
        note::arguments(&arguments);
        let done =
            start.and_then(|_| (row.run)(&context, arguments, &mut ProgressWatch(&call.progress)));
        let status = done.unwrap_or_else(|findings| {
            let status = findings.status();
            context.refusal(findings, status);
            status
        });
        note::agent(agent.as_deref());
        context.record_end(status);
        let CapturedAnswer { json, text } = context.captured().unwrap_or_default();
        let refused = status.exit() != 0 && status != Status::Failed;
        let text = if row.effect == ToolEffect::Reads && !refused && row.name != "check" {
            text
        } else {
            brief(&json).to_string()
        };
        reply(ToolAnswer { json, text, refused });
        // The answer was sent before, so recording the span does not delay it.
        telemetry::end();
    }
}

/// Whether a client's name can be written into a commit.
fn is_a_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= 100 && edt_types::text::escape_controls(name).1 == 0
}

/// Passes output counts to the waiting call, and a cancellation of the call to the program.
struct ProgressWatch<'a>(&'a CallProgress);

impl RunObserver for ProgressWatch<'_> {
    fn output(&mut self, _: OutputStream, bytes: &[u8]) {
        self.0.add_output(bytes.len());
    }

    fn stop(&self) -> Option<Signal> {
        self.0.take_stop().then_some(Signal::TERM)
    }
}

fn request(context: &Context, args: &Value) -> Result<Request> {
    apply::request_of(context, args.to_string().as_bytes())
}

fn without(mut args: Value, key: &str) -> Value {
    if let Value::Object(args) = &mut args {
        args.remove(key);
    }
    args
}

/// The answer without empty values and passed guards, for clients that show their model the text.
fn brief(value: &Value) -> Value {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::Array(all) => !all.is_empty(),
        Value::Object(object) => !object.is_empty(),
        _ => true,
    };
    match value {
        Value::Array(all) => all.iter().filter(|one| one["verdict"] != "pass").map(brief).collect(),
        Value::Object(object) => {
            let brief = object.iter().map(|(key, value)| (key.clone(), brief(value)));
            Value::Object(brief.filter(|(_, value)| says(value)).collect())
        }
        other => other.clone(),
    }
}
