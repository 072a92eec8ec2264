//! `edt restore`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::render;
use edt_core::txn;
use edt_types::{RepoPath, Result, Status};

/// Restore one file to its content before its latest edit, as a new commit.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt restore src/calc.c               # before its latest edit\n  edt restore src/calc.c --revision 2  # before the one two earlier"
)]
pub(super) struct Args {
    /// The file.
    #[serde(deserialize_with = "edt_types::text::os_string")]
    #[schemars(with = "String")]
    path: OsString,
    /// 0 is the content before its latest edit, 1 before the edit before that, and so on.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[serde(default)]
    revision: u64,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let raw = self.path.as_bytes();
        let path = RepoPath::parse(raw).map_err(|problem| problem.finding(raw))?;
        let outcome = txn::restore(&mut context.workspace()?, &path, self.revision)?;
        Ok(context.outcome(&outcome, render::applied))
    }
}
