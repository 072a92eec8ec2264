//! `edt mcp`: the commands as tools of a Model Context Protocol server. Each row of [`TOOLS`] is a command; its arguments and answers are
//! the command's own types.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context::{Calling, Context, Kept};
use super::{
    apply, checkpoint, diff, land, log, ls, note, proposals, read, restore, run, search, status,
    undo,
};
use crate::agent::guide;
use crate::base::{Code, Finding, Outcome, Result, Status};
use crate::io::whole;
use crate::mcp::{self, Answer, Call, Effect, Pulse, Reply, Roots, Tool, either, input, output};
use crate::run::Watch;
use crate::run::store::Stream;
use crate::session::world::Warm;
use crate::telemetry;
use crate::txn::{self, Request, Run};

/// Serve the commands to an agent by the Model Context Protocol, on standard input and output.
///
/// The repository is the one of the folder it is started in, else the client's first root; each call may name another worktree. It ends when
/// its input does.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example, in a client's configuration:\n  {\"mcpServers\": {\"edt\": {\"command\": \"edt\", \"args\": [\"mcp\"]}}}\n\n  edt mcp --tools apply,read,search,undo   # only these"
)]
pub(super) struct Args {
    /// Only these tools; all if left out.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tools: Vec<String>,
}

/// A tool.
struct Row {
    name: &'static str,
    effect: Effect,
    about: &'static str,
    input: fn() -> Map<String, Value>,
    output: fn() -> Map<String, Value>,
    run: fn(&Context, Value, &mut dyn Watch) -> Result<Status>,
    /// Whether its arguments may say who asks.
    takes_agent: bool,
}

/// A row whose arguments are those of a command.
macro_rules! command {
    ($name:literal, $effect:ident, $args:ty, $answer:ty, $about:literal) => {
        Row {
            name: $name,
            effect: Effect::$effect,
            about: $about,
            input: input::<$args>,
            output: output::<$answer, Outcome>,
            run: |context, args, _| of::<$args>(args)?.run(context),
            takes_agent: false,
        }
    };
}

/// A row whose arguments are a request of edits.
macro_rules! request {
    ($name:literal, $effect:ident, $input:expr, $about:literal, $run:expr) => {
        Row {
            name: $name,
            effect: Effect::$effect,
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
        || either(&[input::<txn::wire::Wire>, input::<Carry>]),
        "Change files: one transaction, all or none, recorded as one Git commit that `undo` takes back. `mode` is create, edit (old_text \
         must stand there exactly once), append, overwrite, insert, replace_lines, delete_lines, delete or rename; or send `patch`; or \
         `edits` for several at once; or `proposal`, the number of an approved one. A refusal changed nothing and says what to send instead.",
        |context, args, _| match args.get("proposal") {
            Some(id) if !id.is_null() =>
                apply::carry_out(context, of::<Carry>(args)?.proposal, Run::Real),
            _ => apply::apply(context, request(&without(args, "proposal")), Run::Real),
        }
    ),
    request!(
        "check",
        Reads,
        input::<txn::wire::Wire>,
        "Everything `apply` does with the same arguments but the writing: would it be refused, and why?",
        |context, args, _| apply::apply(context, request(&args), Run::Dry)
    ),
    command!(
        "read",
        Reads,
        read::Args,
        read::Answer,
        "Read a file with line numbers and its blob id, which `expected_hash` takes."
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
        "The session, its edits, and what is not recorded."
    ),
    command!("log", Reads, log::Args, log::Answer, "The session's edits, newest first."),
    command!(
        "show",
        Reads,
        diff::ShowArgs,
        Shown,
        "One edit, or one proposal by its number: who, why, and its diff."
    ),
    command!(
        "diff",
        Reads,
        diff::DiffArgs,
        diff::Answer,
        "What changed between two commits; the whole session if none is given."
    ),
    command!(
        "undo",
        Commits,
        undo::Args,
        Outcome,
        "Take the last edits back; `redo` brings them again. Nothing is lost."
    ),
    command!("redo", Commits, undo::RedoArgs, Outcome, "Bring back what the last undo took."),
    command!(
        "restore",
        Commits,
        restore::Args,
        Outcome,
        "Set one file to what it was before its latest edit, as a new commit."
    ),
    command!(
        "checkpoint",
        Commits,
        checkpoint::Args,
        Outcome,
        "Record what changed outside edt as one commit of the session."
    ),
    request!(
        "propose",
        Commits,
        input::<txn::wire::Wire>,
        "Propose edits that a person must approve, with the arguments of `apply`.",
        |context, args, _| apply::propose(context, &request(&args)?)
    ),
    command!(
        "proposals",
        Reads,
        proposals::Args,
        proposals::Listed,
        "What waits for a person's word."
    ),
    Row {
        name: "run",
        effect: Effect::Runs,
        about: "Run a program with exactly these arguments: no shell, so nothing is quoted. Policy judges it, a sandbox holds it, and what it \
                changes becomes one commit that `undo` takes back. With `output`, the number of a run, show more of what that wrote instead.",
        input: || {
            either(&[input::<crate::run::request::Wire>, input::<Output>, input::<run::PageArgs>])
        },
        output: output::<Ran, Outcome>,
        run: |context, args, live| match args.get("output").and_then(Value::as_u64) {
            Some(id) => of::<run::PageArgs>(without(args, "output"))?.show(context, id),
            None => Ok(run::served(context, of(args)?, live)),
        },
        takes_agent: true,
    },
    command!(
        "land",
        Lands,
        land::Args,
        Outcome,
        "Squash the session into one commit on the branch that it began from."
    ),
];

/// The argument of `apply` that carries out a proposal.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Carry {
    /// The number of an approved proposal, to carry it out instead of edits.
    proposal: u64,
}

/// The argument of `run` that asks for an output.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is here for its schema")]
struct Output {
    /// The number of a run, to show what it wrote instead of running anything.
    output: u64,
}

/// What every tool takes besides.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is here for its schema")]
struct Place {
    /// The worktree to act in, as an absolute path; the one that the server was started in if left out.
    worktree: Option<PathBuf>,
}

/// What `show` answers.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "it is here for its schema")]
enum Shown {
    Edit(diff::Answer),
    Proposal(proposals::Shown),
}

/// What `run` answers.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "it is here for its schema")]
enum Ran {
    Run(Box<crate::run::Answer>),
    Output(run::Page),
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
        let calling = context.calling();
        let handler = move || -> mcp::Handler {
            let server =
                Server { rows: rows.clone(), calling: calling.clone(), warm: Rc::default() };
            Box::new(move |call, reply| server.answer(call, reply))
        };
        let service = mcp::Service {
            tools,
            instructions: guide::short().to_owned(),
            handler: Arc::new(handler),
        };
        let flusher = telemetry::Flusher::default();
        let served = mcp::serve(service);
        flusher.finish();
        served.map_err(|error| crate::io::failed("serve", Path::new("standard input"), &error))?;
        Ok(Status::Applied)
    }
}

impl Row {
    fn tool(&self) -> Tool {
        let input = either(&[self.input, input::<Place>]);
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
    calling: Calling,
    warm: Rc<Warm>,
}

impl Server {
    fn answer(&self, mut call: Call, reply: Reply) {
        let row = self.rows[call.tool];
        let asked = telemetry::Call {
            command: row.name.to_owned(),
            request: Some(std::mem::take(&mut call.request)),
        };
        let running = telemetry::begin(asked);
        let start = self.start(&mut call);
        let place = start.as_ref().map_or_else(|_| self.calling.start.clone(), Clone::clone);
        let context = self.calling.context(row.name, place, Rc::clone(&self.warm));
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
        let done = start.and_then(|_| (row.run)(&context, arguments, &mut Follower(&call.pulse)));
        let status = done.unwrap_or_else(|findings| {
            let status = findings.status();
            context.refusal(findings, status);
            status
        });
        note::agent(agent.as_deref());
        context.noted(status);
        let Kept { json, text } = context.kept().unwrap_or_default();
        let refused = status.exit() != 0 && status != Status::Failed;
        let text = if row.effect == Effect::Reads && !refused && row.name != "check" {
            text
        } else {
            brief(&json).to_string()
        };
        reply(Answer { json, text, refused });
        // The answer is on its way: what is noted of the call costs it nothing.
        drop(running);
    }

    /// The folder that a call acts in. A client that told its roots is held to them: a worktree is theirs if it lies in one, or one in it.
    fn start(&self, call: &mut Call) -> Result<PathBuf> {
        let named = call.args.remove("worktree").filter(|value| !value.is_null());
        let roots: Option<Vec<PathBuf>> = match &call.roots {
            Roots::Untold => None,
            // Where it works is not known: then it is here alone.
            Roots::Silent => Some(vec![whole::real(&self.calling.start)]),
            Roots::Told(roots) => Some(roots.iter().map(|root| whole::real(root)).collect()),
        };
        let theirs = |path: &Path| {
            roots.as_ref().is_none_or(|all| {
                all.iter().any(|root| path.starts_with(root) || root.starts_with(path))
            })
        };
        let names = || {
            roots
                .iter()
                .flatten()
                .map(|root| root.display().to_string())
                .collect::<Vec<_>>()
                .join(" or ")
        };
        let Some(named) = named else {
            let own = whole::real(&self.calling.start);
            let first = roots.iter().flatten().find(|root| root.is_dir());
            return match first {
                _ if theirs(&own) => Ok(own),
                Some(first) => Ok(first.clone()),
                None => Err(Finding::new(
                    Code::PathOutsideRepo,
                    "The client works in folders that are not on this machine. Nothing was done.",
                    "Tell the person: the client's roots must be folders with a repository.",
                )
                .into()),
            };
        };
        let named = of::<PathBuf>(named)?;
        let bad = |what: &str, hint: &str| {
            let message = format!("The worktree {} is {what}. Nothing was done.", named.display());
            Err(Finding::new(Code::BadRequest, message, hint).into())
        };
        let real = whole::real(&named);
        if !named.is_absolute() {
            return bad("no absolute path", "Give its whole path, or leave it out.");
        } else if !real.is_dir() {
            return bad(
                "no folder",
                "Give the folder of a worktree, or leave it out; `git worktree list` names them.",
            );
        } else if real.components().any(|part| part.as_os_str() == ".git") {
            return bad("in a Git folder", "Give the folder of a worktree, or leave it out.");
        } else if theirs(&real) {
            return Ok(real);
        }
        let message = format!(
            "{} is outside the folders that this client works in. Nothing was done.",
            named.display()
        );
        Err(Finding::new(
            Code::PathOutsideRepo,
            message,
            format!("Name a worktree in {}.", names()),
        )
        .into())
    }
}

/// Whether a client's name can stand in a commit.
fn is_a_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= 100 && crate::base::text::harmless(name).1 == 0
}

/// Tells whoever waits for a program of it, and the program when nobody does any more.
struct Follower<'a>(&'a Pulse);

impl Watch for Follower<'_> {
    fn output(&mut self, _: Stream, bytes: &[u8]) {
        self.0.beat(bytes.len());
    }

    fn stop(&self) -> Option<bool> {
        Some(self.0.is_stopped())
    }
}

fn request(args: &Value) -> Result<Request> {
    Request::from_json(args.to_string().as_bytes())
}

/// Arguments as what they should be.
fn of<T: DeserializeOwned>(args: Value) -> Result<T> {
    serde_path_to_error::deserialize(args).map_err(|error| {
        let place = error.path().to_string();
        let at = if place == "." { String::new() } else { format!(" at `{place}`") };
        let message =
            format!("The arguments cannot be read{at}: {}. Nothing was done.", error.into_inner());
        Finding::new(
            Code::BadRequest,
            message,
            "Send the call again with arguments as the tool's schema names them.",
        )
        .into()
    })
}

fn without(mut args: Value, key: &str) -> Value {
    if let Value::Object(args) = &mut args {
        args.remove(key);
    }
    args
}

/// The answer without what says nothing, a guard's silence included: for clients that show their model the text.
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
