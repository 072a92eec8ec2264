//! A request that consists of a patch, and the edits that it comes to.

use super::offer::offer;
use super::patch_words;
use super::request;
use super::words;
use crate::base::{Findings, RepoPath, Result};
use crate::edit::format::{self, Action, FilePatch};
use crate::edit::place::Matching;
use crate::edit::stage::{Stage, Step};
use crate::edit::{Edit, Expect, Op};

/// The text of a patch, with what the request says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchText {
    text: Vec<u8>,
    path: Option<RepoPath>,
    expect: Expect,
    matching: Matching,
}

impl PatchText {
    /// A patch in any form; `path` is the file that is meant where it names none, `expected_hash` what the one file it changes must
    /// have.
    ///
    /// # Errors
    /// `BAD_REQUEST` for a hash that is none, and what a path may be refused for.
    pub fn new(
        text: Vec<u8>,
        path: Option<&[u8]>,
        expected_hash: Option<String>,
        matching: Matching,
    ) -> Result<PatchText> {
        let parse = |raw: &[u8]| RepoPath::parse(raw).map_err(|problem| problem.finding(raw));
        let path = path.map(parse).transpose()?;
        Ok(PatchText { text, path, expect: request::expect(expected_hash)?, matching })
    }

    /// The edits that the patch comes to, in its order.
    ///
    /// # Errors
    /// `INVALID_PATCH` if it cannot be understood; the findings of its paths; `BAD_REQUEST` if a hash is given and it changes several
    /// files.
    pub fn edits(&self) -> Result<Vec<Edit>> {
        let given = self.path.as_ref();
        let (form, files) = format::read(&self.text, given.map(RepoPath::as_bytes))
            .map_err(|fault| patch_words::unreadable(&fault, given))?;
        let mut found = Vec::new();
        let mut edits = Vec::new();
        for file in files {
            match self.edits_of(file) {
                Ok(these) => edits.extend(these),
                Err(findings) => found.extend(findings.into_vec()),
            }
        }
        Findings::check(found)?;
        let first = edits.first().map(|edit| edit.path.clone());
        let several = edits.iter().any(|edit| Some(&edit.path) != first.as_ref());
        if several && self.expect != Expect::Anything {
            let message =
                format!("`expected_hash` stands beside {form} that changes several files.");
            return Err(request::bad(
                &message,
                "Send one file's patch with its hash, or leave the hash out.",
            )
            .into());
        }
        if let Some(other) =
            edits.iter().find(|edit| given.is_some_and(|given| *given != edit.path))
        {
            let message = format!("`path` is not the file that the patch names: {}.", other.path);
            return Err(request::bad(
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
            Action::Create { content, executable } => vec![Op::Create { content, executable }],
            Action::Delete { old } => vec![Op::Delete { holds: old }],
            Action::Whole { content } => vec![Op::Put { content }],
            Action::Update { hunks, to, executable } => {
                // A move to its own name is none.
                let to = to.map(|to| parse(&to)).transpose()?.filter(|to| *to != path);
                let hunks =
                    (!hunks.is_empty()).then_some(Op::Patch { hunks, matching: self.matching });
                let mode = executable.map(|executable| Op::Chmod { executable });
                // Hunks speak of the file under the name it had.
                hunks.into_iter().chain(mode).chain(to.map(|to| Op::Rename { to })).collect()
            }
        };
        let edit = |op| Edit { path: path.clone(), expect: self.expect.clone(), op };
        Ok(ops.into_iter().map(edit).collect())
    }
}

/// What `patch` makes of one file in memory: its new text (`None` if it goes) and how that was found. For benchmarks and fuzzing: no
/// repository, no guards.
///
/// # Errors
/// The findings that the same patch would be refused with.
pub fn rehearse(
    patch: &PatchText,
    path: &RepoPath,
    text: &[u8],
) -> Result<(Option<Vec<u8>>, Step)> {
    let edits = patch.edits()?;
    let mut stage = Stage::default().with(path.clone(), Some((text, false)));
    for edit in &edits {
        let target = if let Op::Rename { to } = &edit.op { to } else { &edit.path };
        for named in [&edit.path, target] {
            if !stage.knows(named) {
                stage = stage.with(named.clone(), None);
            }
        }
    }
    let (mut step, mut found) = (Step::default(), Vec::new());
    for edit in &edits {
        match stage.apply(edit) {
            Ok(next) => step = step.and(next),
            Err(refusal) => found.extend(words::refused(&stage, edit, refusal, None)),
        }
    }
    offer(&stage, &edits, &mut found);
    Findings::check(found)?;
    let after = stage.into_files().find(|(named, _)| named == path).and_then(|(_, file)| file);
    Ok((after.map(|file| file.text.into_owned()), step))
}
