//! What the span of a call says of its answer. Paths and numbers, never what stands in a file.

use crate::base::{Finding, Outcome, Status};
use crate::run::Answer;
use crate::telemetry::{self, names};

/// Notes what became of a request.
pub(super) fn outcome(outcome: &Outcome) {
    if !telemetry::is_on() {
        return;
    }
    if let Some(session) = &outcome.session {
        telemetry::note(names::SESSION, session.name.as_str());
        telemetry::note(names::BRANCH, session.branch.as_str());
    }
    let texts = [(names::REVISION, &outcome.commit)];
    texts.into_iter().for_each(|(key, text)| text.iter().for_each(|text| telemetry::note(key, text.as_str())));
    let numbers = [(names::EDIT, outcome.edit), (names::PROPOSAL, outcome.proposal)];
    numbers.into_iter().for_each(|(key, number)| number.into_iter().for_each(|number| telemetry::note(key, number)));
    if !outcome.files.is_empty() {
        let files = &outcome.files;
        let paths: Vec<String> = files.iter().take(names::MOST_PATHS).map(|file| file.path.clone()).collect();
        telemetry::note(names::FILES, paths);
        telemetry::note(names::FILE_COUNT, files.len() as u64);
        telemetry::note(names::ADDED, files.iter().map(|file| file.lines_added).sum::<u64>());
        telemetry::note(names::REMOVED, files.iter().map(|file| file.lines_removed).sum::<u64>());
        telemetry::note(names::BYTES, files.iter().filter_map(|file| file.bytes_after).sum::<u64>());
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
            let all = std::env::args_os().map(|arg| scrubbed(&arg.to_string_lossy()));
            telemetry::note(names::COMMAND_ARGS, all.collect::<Vec<String>>());
        }
        if status == Status::Failed {
            telemetry::note(names::ERROR, status.name());
        }
    }
}

/// Notes who asked.
pub(super) fn agent(agent: Option<&str>) {
    agent.filter(|_| telemetry::is_on()).into_iter().for_each(|agent| telemetry::note(names::AGENT, agent));
}

/// Notes with what a tool was called, if content was asked for.
pub(super) fn arguments(arguments: &serde_json::Value) {
    if telemetry::wants_content() {
        telemetry::note(names::ARGUMENTS, scrubbed(&arguments.to_string()));
    }
}

/// Arguments without words that look like secrets.
fn scrubbed(text: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let secret = SECRETS.iter().any(|start| bare.starts_with(start)) && bare.len() >= 16;
        if secret { word.replace(bare, "***") } else { word.to_owned() }
    };
    text.split_inclusive([' ', '\n', '"', '\'', '=', ':', ',', '\\']).map(word).collect()
}

/// How tokens of well-known services begin.
const SECRETS: [&str; 12] =
    ["ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-", "sk_live_", "xoxb-", "xoxp-", "AKIA", "AIza", "eyJhbGci"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_look_like_secrets_are_not_in_arguments() {
        let text = r#"{"content":"key = ghp_0123456789abcdef0123\nskill sk-1"}"#;
        assert_eq!(scrubbed(text), r#"{"content":"key = ***\nskill sk-1"}"#);
    }
}
