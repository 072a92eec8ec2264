//! `edt restore`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::complete;
use super::context::Context;
use super::edit_name::EditName;
use super::render;
use super::undo::options;
use edt_core::txn::{self, RestoreTarget};
use edt_types::{Code, Finding, Result, Status};

/// Restore one file to its content before its latest edit, as a new commit. The user's other lines
/// stay.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt restore src/calc.c               # before its latest edit\n  edt restore src/calc.c --revision 2  # before the one two earlier\n  edt restore src/calc.c --to 7        # as it was after edit 7\n  edt restore src/calc.c --save        # also without the user's changes, which are kept at a ref"
)]
pub(super) struct Args {
    /// The file.
    #[serde(deserialize_with = "edt_types::text::os_string")]
    #[schemars(with = "String")]
    path: OsString,
    /// 0 is the content before its latest edit, 1 before the edit before that, and so on.
    #[arg(long, value_name = "N")]
    revision: Option<u64>,
    /// The content as of this edit, by its number, or of this revision instead.
    #[arg(long, value_name = "EDIT|REV", conflicts_with = "revision", add = complete::edits())]
    to: Option<EditName>,
    /// If the user changed the same lines, or nobody else changed the file: keep the user's version
    /// as a commit at refs/edt/NAME/saved/N, then overwrite it.
    #[arg(long)]
    #[serde(default)]
    save: bool,
    /// Say what would change, and change nothing.
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let path = context.path(self.path.as_bytes())?;
        let target = match (self.revision, &self.to) {
            (None, None) => RestoreTarget::Latest,
            (Some(revision), None) => RestoreTarget::Revision(revision),
            (None, Some(to)) => RestoreTarget::To(to.0.clone()),
            (Some(_), Some(_)) => {
                let message = "`revision` and `to` exclude each other.";
                return Err(Finding::new(Code::BadRequest, message, "Send one of them.")
                    .nothing_changed()
                    .into());
            }
        };
        let options = options(context, self.save, self.dry_run);
        let outcome = txn::restore(&mut context.workspace()?, &path, &target, options)?;
        Ok(context.outcome(&outcome, render::applied))
    }
}
