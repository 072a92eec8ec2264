//! Records a call and its answer on its span: paths and numbers, never the content of files.

use edt_io::process;
#[cfg(feature = "mcp")]
use serde_json::Map;
use serde_json::Value;

#[cfg(feature = "mcp")]
use crate::mcp::RequestInfo;
use crate::telemetry::{self, names, scrub, scrub_args};
use edt_run::RunOutcome;
use edt_types::{Finding, Outcome, Status};

/// The maximum length of the arguments on a span, in bytes.
const MAX_BYTES: usize = 16 << 10;

/// Begins the call of a command.
pub(super) fn call(command: &str) {
    let tool = names::TOOLS.contains(&command);
    let prefix = if tool { names::EXECUTE_TOOL } else { names::SERVICE };
    telemetry::begin(format!("{prefix} {command}"), None);
    describe(command, tool);
}

/// Begins the call of a tool. `meta` is the request's `_meta`.
#[cfg(feature = "mcp")]
pub(super) fn request(tool: &str, request: RequestInfo, meta: &Map<String, Value>) {
    let said = |key: &str| meta.get(key).and_then(Value::as_str).map(str::to_owned);
    let trace = ["traceparent", "tracestate"].map(said);
    telemetry::begin(format!("{} {tool}", names::TOOLS_CALL), Some(trace));
    describe(tool, true);
    telemetry::note(names::MCP_METHOD, names::TOOLS_CALL);
    telemetry::note(names::REQUEST_ID, request.id);
    telemetry::note(names::TRANSPORT, "pipe");
    request.version.into_iter().for_each(|version| telemetry::note(names::MCP_VERSION, version));
    said("claudecode/toolUseId").into_iter().for_each(|id| telemetry::note(names::TOOL_CALL, id));
}

fn describe(command: &str, tool: bool) {
    telemetry::note(names::COMMAND, command);
    telemetry::note(names::PID, process::process_id());
    if tool {
        telemetry::note(names::OPERATION, names::EXECUTE_TOOL);
        telemetry::note(names::TOOL, command);
        telemetry::note(names::TOOL_TYPE, "function");
    }
}

/// Whether the user allows spans to include arguments of calls.
fn wants_content() -> bool {
    let asked = std::env::var("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT");
    let asked = asked.unwrap_or_default().trim().to_ascii_lowercase();
    cfg!(feature = "otel") && ["true", "span_only", "span_and_event"].contains(&&*asked)
}

/// Records the outcome of a request.
pub(super) fn outcome(outcome: &Outcome) {
    if !telemetry::is_on() {
        return;
    }
    if let Some(session) = &outcome.session {
        telemetry::note(names::SESSION, session.name.as_str());
        telemetry::note(names::BRANCH, session.branch.as_str());
    }
    outcome.commit.iter().for_each(|commit| telemetry::note(names::REVISION, commit.as_str()));
    outcome.edit.into_iter().for_each(|edit| telemetry::note(names::EDIT, edit));
    outcome.proposal.into_iter().for_each(|id| telemetry::note(names::PROPOSAL, id));
    if !outcome.files.is_empty() {
        let files = &outcome.files;
        let paths: Vec<String> =
            files.iter().take(names::MAX_PATHS).map(|file| file.path.clone()).collect();
        telemetry::note(names::FILES, paths);
        telemetry::note(names::FILE_COUNT, files.len() as u64);
        telemetry::note(names::ADDED, files.iter().map(|file| file.lines_added).sum::<u64>());
        telemetry::note(names::REMOVED, files.iter().map(|file| file.lines_removed).sum::<u64>());
        telemetry::note(
            names::BYTES,
            files.iter().filter_map(|file| file.bytes_after).sum::<u64>(),
        );
    }
    if !outcome.lessons.is_empty() {
        telemetry::note(names::LESSONS, outcome.lessons.len() as u64);
    }
    codes(&outcome.errors);
}

/// Records the outcome of a program.
pub(super) fn ran(answer: &RunOutcome) {
    if !telemetry::is_on() {
        return;
    }
    if let Some(session) = &answer.outcome.session {
        telemetry::note(names::SESSION, session.name.as_str());
        telemetry::note(names::BRANCH, session.branch.as_str());
    }
    answer
        .outcome
        .commit
        .iter()
        .for_each(|commit| telemetry::note(names::REVISION, commit.as_str()));
    answer.outcome.edit.into_iter().for_each(|edit| telemetry::note(names::EDIT, edit));
    answer.run.iter().for_each(|ran| telemetry::note(names::EXECUTABLE, ran.program.as_str()));
    telemetry::note(names::FILE_COUNT, answer.outcome.files.len() as u64);
    codes(&answer.outcome.errors);
}

/// Records the codes of the errors.
pub(super) fn codes(errors: &[Finding]) {
    telemetry::codes(&errors.iter().map(|error| error.code.name()).collect::<Vec<_>>());
}

/// Records how the call ended. `served` is true for a call to a server.
pub(super) fn ended(status: Status, served: bool) {
    if !telemetry::is_on() {
        return;
    }
    telemetry::note(names::STATUS, status.name());
    let failed = status.exit() != 0;
    if served && failed && status != Status::Failed {
        // OpenTelemetry's convention has one error type for all refusals; the codes distinguish
        // them.
        telemetry::note(names::ERROR, names::TOOL_ERROR);
    } else if !served {
        telemetry::note(names::EXIT, u64::from(status.exit()));
        if wants_content() {
            let all: Vec<String> =
                std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
            // Scrubbed together: the name of a secret and its value are often two arguments.
            telemetry::note(names::COMMAND_ARGS, scrub_args(&all, MAX_BYTES));
        }
        if status == Status::Failed {
            telemetry::note(names::ERROR, status.name());
        }
    }
}

/// Records the agent.
pub(super) fn agent(agent: Option<&str>) {
    agent
        .filter(|_| telemetry::is_on())
        .into_iter()
        .for_each(|agent| telemetry::note(names::AGENT, agent));
}

/// Records a tool's arguments, if the user asked for content.
pub(super) fn arguments(arguments: &Value) {
    if wants_content() {
        telemetry::note(names::ARGUMENTS, scrub(&scrubbed(arguments).to_string(), MAX_BYTES));
    }
}

/// `value` with secrets removed from its strings, before they are escaped as JSON.
fn scrubbed(value: &Value) -> Value {
    let program = |all: &[Value]| {
        all.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    };
    match value {
        Value::String(text) => scrub(text, MAX_BYTES).into(),
        // An array of strings may be a program's arguments.
        Value::Array(all) => program(all).map_or_else(
            || all.iter().map(scrubbed).collect(),
            |texts| scrub_args(&texts, MAX_BYTES).into_iter().map(Value::from).collect(),
        ),
        Value::Object(all) => {
            all.iter().map(|(key, value)| (key.clone(), scrubbed(value))).collect()
        }
        _ => value.clone(),
    }
}
