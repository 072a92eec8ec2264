//! `edt-bench schema`.

use clap::ValueEnum;

use super::context::print;
use super::{import, list};
use crate::report::Report;
use edt_types::Status;

/// Print the JSON Schema of an answer, generated from the types that edt-bench itself uses.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt-bench schema report > report.schema.json")]
pub(super) struct Args {
    /// Which answer.
    #[arg(value_enum)]
    of: Shape,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shape {
    /// The answer of `edt-bench run`, `merge` and `report`.
    Report,
    /// The answer of `edt-bench list`.
    List,
    /// The answer of `edt-bench check`.
    Check,
    /// The answer of `edt-bench import`.
    Import,
}

impl Args {
    pub(super) fn run(&self) -> Status {
        let schema = match self.of {
            Shape::Report => schemars::schema_for!(Report),
            Shape::List => schemars::schema_for!(list::ListAnswer),
            Shape::Check => schemars::schema_for!(list::CheckAnswer),
            Shape::Import => schemars::schema_for!(import::ImportAnswer),
        };
        print(&serde_json::to_string_pretty(&schema).unwrap_or_default());
        Status::Applied
    }
}
