//! The text of a patch, and its edits.

use super::patch_messages;
use super::request_key::{bad, expect};
use super::request_limits::{check_count, lines_in};
use edt_edit::format::{self, FileAction, FilePatch};
use edt_edit::place::Matching;
use edt_edit::{Edit, Expect, Op};
use edt_types::{Refusal, RepoPath, Result};

/// The text of a patch, and the keys of the request that apply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchText {
    text: Vec<u8>,
    path: Option<RepoPath>,
    expect: Expect,
    matching: Matching,
}

impl PatchText {
    /// A patch in any format. `path` is the file of a patch that names none. `expected_hash` is the
    /// blob id of the only file that the patch changes.
    ///
    /// # Errors
    /// `BAD_REQUEST` for an invalid hash; the findings of an invalid path.
    pub fn new(
        text: Vec<u8>,
        path: Option<&[u8]>,
        expected_hash: Option<String>,
        matching: Matching,
    ) -> Result<PatchText> {
        let parse = |raw: &[u8]| RepoPath::parse(raw).map_err(|problem| problem.finding(raw));
        let path = path.map(parse).transpose()?;
        Ok(PatchText { text, path, expect: expect(expected_hash)?, matching })
    }

    /// The path of a patch that names none, and the text.
    pub(super) fn parts(&self) -> (Option<&RepoPath>, &[u8]) {
        (self.path.as_ref(), &self.text)
    }

    /// The number of its lines.
    pub(super) fn lines(&self) -> usize {
        lines_in(&self.text)
    }

    /// The edits of the patch, in its order.
    ///
    /// # Errors
    /// `INVALID_PATCH` if it cannot be parsed; `FILE_TOO_LARGE` if it has too many files;
    /// the findings of its paths; `BAD_REQUEST` if a hash is given and the patch changes several files.
    pub fn edits(&self) -> Result<Vec<Edit>> {
        let given = self.path.as_ref();
        let (form, files) = format::read(&self.text, given.map(RepoPath::as_bytes))
            .map_err(|fault| patch_messages::unreadable(&fault, given))?;
        Refusal::check(check_count(files.len(), "files").into_iter().collect())?;
        let mut found = Vec::new();
        let mut edits = Vec::new();
        for file in files {
            match self.edits_of(file) {
                Ok(these) => edits.extend(these),
                Err(findings) => found.extend(findings.into_vec()),
            }
        }
        Refusal::check(found)?;
        let first = edits.first().map(|edit| edit.path.clone());
        let several = edits.iter().any(|edit| Some(&edit.path) != first.as_ref());
        if several && self.expect != Expect::Anything {
            let message =
                format!("The request has `expected_hash` and {form} that changes several files.");
            return Err(bad(
                &message,
                "Send one file's patch with its hash, or leave the hash out.",
            )
            .into());
        }
        if let Some(other) =
            edits.iter().find(|edit| given.is_some_and(|given| *given != edit.path))
        {
            let message = format!("`path` is not the file that the patch names: {}.", other.path);
            return Err(bad(
                &message,
                "Leave `path` out: it is only for a patch that names no file.",
            )
            .into());
        }
        Ok(edits)
    }

    fn edits_of(&self, file: FilePatch) -> Result<Vec<Edit>> {
        let parse = |raw: &[u8]| {
            RepoPath::parse(raw)
                .map_err(|problem| problem.finding(raw).with("patch_line", file.source))
        };
        let path = parse(&file.path)?;
        let ops = match file.action {
            FileAction::Create { content, executable } => vec![Op::Create { content, executable }],
            FileAction::Delete { old } => vec![Op::Delete { holds: old }],
            FileAction::Write { content } => vec![Op::Write { content }],
            FileAction::Update { hunks, to, executable } => {
                // A move to the same name changes nothing.
                let to = to.map(|to| parse(&to)).transpose()?.filter(|to| *to != path);
                let hunks =
                    (!hunks.is_empty()).then_some(Op::Patch { hunks, matching: self.matching });
                let mode = executable.map(|executable| Op::Chmod { executable });
                // Hunks come before the rename: they name the file by its old path.
                hunks.into_iter().chain(mode).chain(to.map(|to| Op::Rename { to })).collect()
            }
        };
        let edit = |op| Edit { path: path.clone(), expect: self.expect.clone(), op };
        Ok(ops.into_iter().map(edit).collect())
    }
}
