//! `edt mcp`: the commands as tools of a Model Context Protocol server.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::context::{CallDefaults, CapturedAnswer, Context};
use super::mcp_args::take;
use super::mcp_bounds::bounded;
use super::mcp_instructions::instructions;
#[cfg(feature = "metrics")]
use super::mcp_metrics;
use super::mcp_tools::{Row, TOOLS};
use super::{caller, mcp_worktree, note, words};
use crate::mcp::{self, CallProgress, Reply, ToolAnswer, ToolCall, ToolEffect};
use crate::telemetry;
use edt_core::session::worktree::options::Cache;
use edt_io::Environment;
use edt_run::store::OutputStream;
use edt_run::{RunObserver, Signal};
use edt_types::{Code, Finding, Result, Status};

/// Serve the commands to an agent over the Model Context Protocol, on standard input and output.
///
/// Calls act on the repository of the current directory, else on the client's first root; each call
/// may name another worktree. The server ends when its input ends.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example, in a client's configuration:\n  {\"mcpServers\": {\"edt\": {\"command\": \"edt\", \"args\": [\"mcp\"]}}}\n\n  edt mcp --tools apply,read,search,undo   # only these\n  edt mcp --tools all"
)]
pub(super) struct Args {
    /// Only these tools, or `all`; if omitted, the nine that an agent needs.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tools: Vec<String>,
    /// Show counters of the calls to a scraper, at the path /metrics of this loopback address with a
    /// port, such as 127.0.0.1:9464. Port 0 is any; standard error says which.
    #[cfg(feature = "metrics")]
    #[arg(long, value_name = "ADDR")]
    metrics: Option<String>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let rows = self.rows()?;
        let names: Vec<&'static str> = rows.iter().map(|row| row.name).collect();
        let tools = rows.iter().map(|row| row.tool()).collect();
        let call_defaults = context.call_defaults();
        #[cfg(feature = "metrics")]
        let metrics = self
            .metrics
            .as_deref()
            .map(|address| mcp_metrics::listen(context, address))
            .transpose()?;
        #[cfg(feature = "metrics")]
        let counted = metrics.as_ref().map(|(_, metrics)| Arc::clone(metrics));
        let handler = move || -> mcp::Handler {
            let server = Server {
                rows: rows.clone(),
                call_defaults: call_defaults.clone(),
                schemas: rows.iter().map(|_| OnceCell::new()).collect(),
                cache: Arc::default(),
                #[cfg(feature = "metrics")]
                metrics: counted.clone(),
            };
            Box::new(move |call, reply| server.answer(call, reply))
        };
        let service = mcp::Service {
            tools,
            instructions: instructions(&names),
            unknown_tool: Box::new(move |name| unknown_tool(name, &names)),
            handler: Arc::new(handler),
            #[cfg(feature = "metrics")]
            metrics,
        };
        let run_for_server = mcp::serve(service);
        telemetry::finish_server();
        run_for_server
            .map_err(|error| edt_io::failed("serve", Path::new("standard input"), &error))?;
        Ok(Status::Applied)
    }

    /// The tools to offer.
    fn rows(&self) -> Result<Vec<&'static Row>> {
        let asked = |name: &str| self.tools.iter().any(|asked| asked == name);
        let is_known = |name: &str| name == ALL || TOOLS.iter().any(|row| row.name == name);
        if let Some(unknown) = self.tools.iter().find(|name| !is_known(name)) {
            let message = format!("{unknown} is not a tool.");
            let names: Vec<&str> = TOOLS.iter().map(|row| row.name).collect();
            let hint = format!("The tools are {}, or {ALL} of them.", names.join(", "));
            return Err(Finding::new(Code::BadRequest, message, hint).into());
        }
        let is_offered = |row: &&Row| match self.tools.as_slice() {
            [] => row.instead.is_none(),
            _ => asked(ALL) || asked(row.name),
        };
        Ok(TOOLS.iter().filter(is_offered).collect())
    }
}

/// The value of `--tools` that offers every tool.
const ALL: &str = "all";

/// What is said about a name that is none of the tools `offered`.
fn unknown_tool(name: &str, offered: &[&str]) -> String {
    let instead = TOOLS.iter().find(|row| row.name == name).and_then(|row| row.instead);
    let instead = instead.map_or_else(String::new, |instead| format!(" {instead}"));
    format!("There is no tool {name:?}.{instead} The tools are {}.", offered.join(", "))
}

/// Answers calls on one thread.
struct Server {
    rows: Vec<&'static Row>,
    /// The schemas of the rows' arguments, made when they are needed.
    schemas: Vec<OnceCell<Map<String, Value>>>,
    call_defaults: CallDefaults,
    cache: Arc<Cache>,
    #[cfg(feature = "metrics")]
    metrics: Option<Arc<mcp::metrics::Metrics>>,
}

impl Server {
    fn answer(&self, mut call: ToolCall, reply: Reply) {
        let row = self.rows[call.tool];
        #[cfg(feature = "metrics")]
        let measured = self.metrics.as_ref().map(|metrics| {
            let modes = if row.is_request() { mcp_metrics::modes(&call.args) } else { Vec::new() };
            (metrics, modes, edt_io::clock::now())
        });
        note::request(row.name, std::mem::take(&mut call.request), &call.meta);
        let mut start = self.call_defaults.start.clone();
        let mut agent = None;
        let named = object(call.args).and_then(|mut args| {
            let named = take::<PathBuf>(&mut args, "worktree")?;
            start = mcp_worktree::directory(&self.call_defaults, &self.cache, named, &call.roots)?;
            Ok(args)
        });
        let client = call.client.filter(|name| is_a_name(name));
        let caller =
            caller::of_tool(client.as_deref(), &call.meta, |name| Environment::Process.text(name));
        let context = self.call_defaults.context(row.name, start, Arc::clone(&self.cache));
        let context = context.called_by(caller);
        if row.effect == ToolEffect::Reads {
            context.asks_only();
        }
        let done = named.and_then(|mut args| {
            let makes = ["proposal", "output"].iter().all(|key| args.get(*key).is_none());
            let client = client.filter(|_| row.takes_agent && makes);
            if let (Some(client), Some(args)) = (client, args.as_object_mut()) {
                args.entry("agent").or_insert_with(|| client.into());
            }
            agent = args.get("agent").and_then(Value::as_str).map(str::to_owned);
            note::arguments(&args);
            if row.is_request() {
                words::flags_of_apply(&mut args);
            } else {
                let schema = self.schemas[call.tool].get_or_init(|| row.schema());
                args = words::own(row.name, schema, args);
            }
            (row.run)(&context, args, &mut ProgressWatch(&call.progress))
        });
        let status = done.unwrap_or_else(|findings| {
            let status = findings.status();
            context.refusal(findings, status);
            status
        });
        note::agent(agent.as_deref());
        context.record_end(status);
        let captured = context.captured().unwrap_or_default();
        let CapturedAnswer { json, text } = bounded(captured);
        let refused = status.exit() != 0 && status != Status::Failed;
        // A dry run is about the future: its facts are the answer.
        let is_text = row.effect == ToolEffect::Reads && !refused && row.name != "check";
        let text = if is_text { text } else { brief(&json).to_string() };
        #[cfg(feature = "metrics")]
        if let Some((metrics, modes, began)) = measured {
            metrics.count(&mcp_metrics::counted(row.name, status, &json, &modes, began.elapsed()));
        }
        reply(ToolAnswer { json, text, refused });
        // The answer was sent before, so recording the span does not delay it.
        telemetry::end();
    }
}

/// The arguments of a call, without those that are null: they were left out.
fn object(args: Value) -> Result<Value> {
    let kind = match args {
        Value::Object(mut args) => {
            let is_empty = |name: &str, value: &Value| name == "worktree" && value == "";
            args.retain(|name, value| !value.is_null() && !is_empty(name, value));
            return Ok(Value::Object(args));
        }
        Value::String(text) if text.trim_start().starts_with('{') => {
            if let Ok(Value::Object(args)) = serde_json::from_str(&text) {
                return object(Value::Object(args));
            }
            "a text that is no JSON object"
        }
        Value::Null => return Ok(Value::Object(Map::new())),
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
    };
    let message = format!("`arguments` is {kind}.");
    let hint = "Send `arguments` as a JSON object that matches the tool's schema.";
    let finding = Finding::new(Code::BadRequest, message, hint).nothing_changed();
    Err(finding.with("key", "arguments").into())
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
