//! What the span of a call says of its answer. Paths and numbers, never what stands in a file.

use serde_json::Value;

use crate::base::{Finding, Outcome, Status};
use crate::memory::scrub::{scrub, scrub_args};
use crate::run::Answer;
use crate::telemetry::{self, names};

/// The longest arguments that a span has, in bytes.
const MOST: usize = 16 << 10;

/// Notes what became of a request.
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
            files.iter().take(names::MOST_PATHS).map(|file| file.path.clone()).collect();
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

/// Notes what became of a program.
pub(super) fn ran(answer: &Answer) {
    if !telemetry::is_on() {
        return;
    }
    if let Some(session) = &answer.session {
        telemetry::note(names::SESSION, session.name.as_str());
        telemetry::note(names::BRANCH, session.branch.as_str());
    }
    answer.commit.iter().for_each(|commit| telemetry::note(names::REVISION, commit.as_str()));
    answer.edit.into_iter().for_each(|edit| telemetry::note(names::EDIT, edit));
    answer.run.iter().for_each(|ran| telemetry::note(names::EXECUTABLE, ran.program.as_str()));
    telemetry::note(names::FILE_COUNT, answer.files.len() as u64);
    codes(&answer.errors);
}

/// Notes what was found.
pub(super) fn codes(errors: &[Finding]) {
    telemetry::codes(&errors.iter().map(|error| error.code.name()).collect::<Vec<_>>());
}

/// Notes how the call ended; `served` if a server was asked.
pub(super) fn ended(status: Status, served: bool) {
    if !telemetry::is_on() {
        return;
    }
    telemetry::note(names::STATUS, status.name());
    let failed = status.exit() != 0;
    if served && failed && status != Status::Failed {
        // The convention of the protocol has one word for every refusal; the codes say which.
        telemetry::note(names::ERROR, names::TOOL_ERROR);
    } else if !served {
        telemetry::note(names::EXIT, u64::from(status.exit()));
        if telemetry::wants_content() {
            let all: Vec<String> =
                std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
            // Together: the name of a secret and its value are often two arguments.
            telemetry::note(names::COMMAND_ARGS, scrub_args(&all, MOST));
        }
        if status == Status::Failed {
            telemetry::note(names::ERROR, status.name());
        }
    }
}

/// Notes who asked.
pub(super) fn agent(agent: Option<&str>) {
    agent
        .filter(|_| telemetry::is_on())
        .into_iter()
        .for_each(|agent| telemetry::note(names::AGENT, agent));
}

/// Notes with what a tool was called, if content was asked for.
pub(super) fn arguments(arguments: &Value) {
    if telemetry::wants_content() {
        telemetry::note(names::ARGUMENTS, scrub(&scrubbed(arguments).to_string(), MOST));
    }
}

/// `value` without secrets in its texts, read as they are and not as JSON writes them.
fn scrubbed(value: &Value) -> Value {
    let program = |all: &[Value]| {
        all.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    };
    match value {
        Value::String(text) => scrub(text, MOST).into(),
        // Several texts may be a program's arguments.
        Value::Array(all) => program(all).map_or_else(
            || all.iter().map(scrubbed).collect(),
            |texts| scrub_args(&texts, MOST).into_iter().map(Value::from).collect(),
        ),
        Value::Object(all) => {
            all.iter().map(|(key, value)| (key.clone(), scrubbed(value))).collect()
        }
        _ => value.clone(),
    }
}
