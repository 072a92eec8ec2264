//! `edt revert`.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::complete;
use super::context::Context;
use super::render;
use super::undo::options;
use edt_core::session::Session;
use edt_core::session::back::chosen_lines::ChosenLines;
use edt_core::session::back::part::FilePart;
use edt_core::session::back::revert::{revert, revert_part};
use edt_types::{Code, Finding, Result, Status};

/// Revert earlier edits of the session as one new commit. Later edits stay, and so do the user's
/// uncommitted lines.
///
/// With --path, only a part of one edit is reverted: what it changed of that file, or lines of it.
/// With --session, the same of what the session changed from its base to its tip.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt log\n  edt revert 5                      # edit 5 alone\n  edt revert 7 5                    # both, as one commit\n  edt revert 5 --path src/calc.c    # what edit 5 changed of one file\n  edt revert 5 --path src/calc.c --added 12-14 --removed 12   # only these lines of it\n  edt revert --session --path src/calc.c --added 40           # one line that the session added"
)]
pub(super) struct Args {
    /// The numbers of the edits, as `edt log` prints them.
    #[arg(required_unless_present = "session", value_name = "EDIT", add = complete::edits())]
    #[serde(default)]
    edits: Vec<u64>,
    /// A part of what the session as a whole changed, instead of an edit; needs `path`.
    #[arg(long, conflicts_with = "edits", requires = "path")]
    #[serde(default)]
    session: bool,
    /// Only what one edit changed of this file. A renamed file has its old name again.
    #[arg(long, value_name = "PATH")]
    #[serde(default, deserialize_with = "edt_types::text::optional_os_string")]
    #[schemars(with = "Option<String>")]
    path: Option<OsString>,
    /// Only these lines that the change added, by their numbers after it: `12-14`, or `12`.
    /// Repeatable. They are removed.
    #[arg(long, value_name = "A-B", requires = "path")]
    #[schemars(length(min = 1))]
    added: Option<Vec<String>>,
    /// Only these lines that the change removed, by their numbers before it. Repeatable. They are
    /// in their places again.
    #[arg(long, value_name = "A-B", requires = "path")]
    #[schemars(length(min = 1))]
    removed: Option<Vec<String>>,
    /// If the user changed the same lines: keep the user's version as a commit at
    /// refs/edt/NAME/saved/N, then overwrite those lines.
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
        let part = self.part(context)?;
        let mut workspace = context.workspace()?;
        let session = Session::required(&workspace.repo, &workspace.repo.head()?)?;
        let options = options(context, self.save, self.dry_run);
        let outcome = match &part {
            Some(part) => revert_part(&mut workspace, &session, part, options)?,
            None => revert(&mut workspace, &session, &self.edits, options)?,
        };
        Ok(context.outcome(&outcome, render::applied))
    }

    /// The part to revert; `None` for whole edits. The arguments of a tool are not checked by the
    /// command line.
    fn part(&self, context: &Context) -> Result<Option<FilePart>> {
        let lines = self.lines()?;
        let edit = match (self.session, self.edits.as_slice(), &self.path) {
            (true, [], Some(_)) => None,
            (true, [], None) => return Err(wrong("`session` needs `path`.")),
            (true, ..) => return Err(wrong("`session` excludes numbers of edits.")),
            (false, [], _) => return Err(wrong("There is no edit to revert.")),
            (false, [edit], Some(_)) => Some(*edit),
            (false, _, Some(_)) => return Err(wrong("`path` needs exactly one edit.")),
            (false, _, None) if lines.is_some() => {
                return Err(wrong("`added` and `removed` need `path`."));
            }
            (false, _, None) => return Ok(None),
        };
        let Some(path) = &self.path else { return Ok(None) };
        let path = context.path(path.as_bytes())?;
        Ok(Some(FilePart { edit, path, lines }))
    }

    /// The chosen lines. An empty list is refused: without lines, the whole file is reverted.
    fn lines(&self) -> Result<Option<ChosenLines>> {
        let of = |all: &Option<Vec<String>>| -> Result<Option<Vec<_>>> {
            let Some(all) = all else { return Ok(None) };
            if all.is_empty() {
                return Err(wrong("`added` or `removed` names no line."));
            }
            all.iter().map(|text| range(text)).collect::<Result<Vec<_>>>().map(Some)
        };
        Ok(match (of(&self.added)?, of(&self.removed)?) {
            (None, None) => None,
            (added, removed) => Some(ChosenLines {
                added: added.unwrap_or_default(),
                removed: removed.unwrap_or_default(),
            }),
        })
    }
}

fn wrong(message: &str) -> edt_types::Refusal {
    let remedy = "Send one edit and `path`, or `session` and `path`, or numbers of edits alone.";
    Finding::new(Code::BadRequest, message, remedy).nothing_changed().into()
}

/// The lines of `text`: `12-14`, or `12`.
fn range(text: &str) -> Result<RangeInclusive<u64>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if 1 <= first && first <= last => Ok(first..=last),
        _ => {
            let message = format!("{text:?} is no range of lines.");
            let remedy = "Send two line numbers such as 40-80, or one.";
            Err(Finding::new(Code::BadRequest, message, remedy).nothing_changed().into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_takes_the_same_arguments() {
        let of = |value| serde_json::from_value::<Args>(value).unwrap();
        let lines = of(serde_json::json!({
            "edits": [5], "path": "a.c", "added": ["12-14", "20"], "removed": ["12"], "save": true
        }));
        let added = lines.added.unwrap_or_default();
        assert_eq!((lines.edits, added.len(), lines.session), (vec![5], 2, false));
        let file = of(serde_json::json!({"session": true, "path": "a.c"}));
        assert_eq!((file.session, file.path), (true, Some("a.c".into())));
    }

    #[test]
    fn an_empty_list_of_lines_is_not_the_whole_file() {
        let lines = |value| serde_json::from_value::<Args>(value).unwrap().lines();
        assert_eq!(lines(serde_json::json!({"edits": [5], "path": "a.c"})).unwrap(), None);
        for key in ["added", "removed"] {
            let found = lines(serde_json::json!({"edits": [5], "path": "a.c", key: []}));
            assert_eq!(found.unwrap_err().codes(), ["BAD_REQUEST"], "{key}");
        }
    }

    #[test]
    fn a_range_is_two_numbers_or_one() {
        assert_eq!(range("12-14").unwrap(), 12..=14);
        assert_eq!(range("7").unwrap(), 7..=7);
        for wrong in ["", "0", "0-3", "4-3", "a", "3-", "-3", "1-2-3", "1:2"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}
