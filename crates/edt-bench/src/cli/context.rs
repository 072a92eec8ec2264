//! The options that all commands share, and where their answers go.

use std::io::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use super::render;
use edt_types::{Refusal, Status};

/// Options of every command.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Global {
    /// Run as if started in DIR.
    #[arg(short = 'C', value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    /// Print the answer as one JSON object (`edt-bench schema` prints its schema).
    #[arg(long, global = true)]
    json: bool,
}

/// The directory that relative paths start from, and the form of the answer.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) start: PathBuf,
    pub(super) json: bool,
}

impl Context {
    pub(super) fn new(global: &Global) -> Context {
        let start = global.dir.clone().unwrap_or_else(|| PathBuf::from("."));
        Context { start, json: global.json }
    }

    /// Prints an answer on standard output.
    pub(super) fn answer<T: Serialize>(
        &self,
        answer: &T,
        render_human: impl FnOnce(&T) -> String,
    ) -> Status {
        print(&if self.json { render::json(answer) } else { render_human(answer) });
        Status::Applied
    }

    /// Prints a refusal: as JSON on standard output, else as text on standard error.
    pub(super) fn refusal(&self, findings: Refusal, status: Status) {
        let outcome = render::refusal(findings, status);
        if self.json {
            print(&render::json(&outcome));
        } else {
            note(&render::refusal_human(&outcome));
        }
    }
}

/// Writes `text` to standard output in one call; a closed pipe is not an error.
pub(super) fn print(text: &str) {
    let stdout = std::io::stdout();
    let plain = anstream::AutoStream::choice(&stdout) == anstream::ColorChoice::Never;
    let mut text =
        if plain { anstream::adapter::strip_str(text).to_string() } else { text.to_owned() };
    if !text.ends_with('\n') && !text.is_empty() {
        text.push('\n');
    }
    let _ = stdout.lock().write_all(text.as_bytes());
}

/// Writes a note for the user to standard error.
pub(super) fn note(text: &str) {
    let _ = write!(anstream::stderr().lock(), "{text}");
}
