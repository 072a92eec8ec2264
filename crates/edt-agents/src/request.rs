//! Turns what an agent's tool would do into requests, one for each worktree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::event::{HookEvent, Replacement, ToolEdit};
use super::locate::locate;
use super::patch;
use edt_core::txn::Request;
use edt_core::txn::patch::PatchText;
use edt_core::txn::request::EditFields;
use edt_edit::place::Matching;
use edt_edit::{Edit, Mode};
use edt_types::{Code, Finding, Findings, Result};

/// What a tool would do in one worktree.
#[derive(Debug)]
pub struct WorktreeRequest {
    /// The worktree's root.
    pub root: PathBuf,
    /// The paths that it would change; not validated.
    pub paths: Vec<Vec<u8>>,
    /// The request, or why it is invalid; `None` if the new content is known only afterwards.
    pub request: Option<Result<Request>>,
}

/// What a tool would do.
#[derive(Debug, Default)]
pub struct ToolRequests {
    /// By worktree. Files outside every worktree are left out.
    pub worktrees: Vec<WorktreeRequest>,
    /// Why the tool must not run, whatever the worktrees' guards find.
    pub faults: Vec<Finding>,
    /// The paths whose worktree could not be determined, or that may not be written.
    pub unlocated: Vec<Finding>,
}

/// The requests for `event`.
#[must_use]
pub fn from_event(event: &HookEvent, cwd: &Path, agent: &str) -> ToolRequests {
    let (mut by_root, mut requests) = (BTreeMap::new(), ToolRequests::default());
    for tool_edit in &event.edits {
        if let Err(unlocated) = add_edit(&mut by_root, &mut requests, tool_edit, cwd) {
            requests.unlocated.extend(unlocated.into_vec());
        }
    }
    requests.worktrees =
        by_root.into_iter().map(|(root, parts)| parts.into_request(root, agent)).collect();
    requests
}

/// The parts of one worktree's request.
#[derive(Default)]
struct RequestParts {
    paths: Vec<Vec<u8>>,
    fields: Vec<EditFields>,
    patches: Vec<PatchText>,
    faults: Vec<Findings>,
}

fn add_edit(
    by_root: &mut BTreeMap<PathBuf, RequestParts>,
    requests: &mut ToolRequests,
    tool_edit: &ToolEdit,
    cwd: &Path,
) -> Result<()> {
    let path = match tool_edit {
        ToolEdit::Patch { text } => return add_patch(by_root, requests, text, cwd),
        ToolEdit::Replace { path, .. }
        | ToolEdit::Write { path, .. }
        | ToolEdit::Insert { path, .. }
        | ToolEdit::Delete { path }
        | ToolEdit::SearchReplace { path, .. }
        | ToolEdit::Unspecified { path } => path,
    };
    let Some(located) = locate(cwd, path)? else { return Ok(()) };
    let full = located.root.join(to_path(&located.path));
    let parts = by_root.entry(located.root).or_default();
    parts.paths.push(located.path.clone());
    let fields_with =
        |mode| EditFields { path: located.path.clone(), mode: Some(mode), ..EditFields::default() };
    let write = |content: &str| {
        let mode = if full.exists() { Mode::Overwrite } else { Mode::Create };
        EditFields { content: Some(content.into()), ..fields_with(mode) }
    };
    match tool_edit {
        ToolEdit::Write { content, .. } => parts.fields.push(write(content)),
        ToolEdit::Insert { line, content, .. } => {
            let content =
                if content.ends_with('\n') { content.clone() } else { format!("{content}\n") };
            parts.fields.push(EditFields {
                content: Some(content.into()),
                start_line: Some(*line),
                ..fields_with(Mode::Insert)
            });
        }
        ToolEdit::Delete { .. } => parts.fields.push(fields_with(Mode::Delete)),
        ToolEdit::Replace { replacements, .. } => {
            // An empty old text creates the file if it does not exist or is empty.
            let empty = !full.exists()
                || full.metadata().is_ok_and(|meta| meta.is_file() && meta.len() == 0);
            parts.fields.extend(replacements.iter().enumerate().map(
                |(at, Replacement { old, new, all })| {
                    if at == 0 && old.is_empty() && empty {
                        return write(new);
                    }
                    let (old, new) =
                        (Some(old.clone().into_bytes()), Some(new.clone().into_bytes()));
                    EditFields {
                        old_text: old,
                        content: new,
                        replace_all: all.then_some(true),
                        ..fields_with(Mode::Edit)
                    }
                },
            ));
        }
        ToolEdit::SearchReplace { text, .. } => {
            parts.patch(text, Some(&located.path), Matching::Strict);
        }
        ToolEdit::Unspecified { .. } | ToolEdit::Patch { .. } => {}
    }
    Ok(())
}

fn add_patch(
    by_root: &mut BTreeMap<PathBuf, RequestParts>,
    requests: &mut ToolRequests,
    text: &str,
    cwd: &Path,
) -> Result<()> {
    if let Some(all) = patch::by_worktree(cwd, text) {
        for (root, part) in all.by_root {
            let parts = by_root.entry(root).or_default();
            // The agents that send this form ignore white space at both ends of a line.
            parts.patch(&part.text, None, Matching::Lenient);
            parts.paths.extend(part.paths);
        }
        requests.faults.extend(all.faults);
        requests.unlocated.extend(all.unlocated);
    } else if let Some(located) = locate(cwd, "-")? {
        by_root.entry(located.root).or_default().patch(text, None, Matching::Strict);
    } else {
        let message = "The patch does not begin with `*** Begin Patch`, so edt cannot determine \
                       which files it changes.";
        requests.faults.push(Finding::new(Code::InvalidPatch, message, "Send it in that form."));
    }
    Ok(())
}

impl RequestParts {
    fn patch(&mut self, text: &str, path: Option<&[u8]>, matching: Matching) {
        match PatchText::new(with_edt_markers(text).into_bytes(), path, None, matching) {
            Ok(patch) => self.patches.push(patch),
            Err(found) => self.faults.push(found),
        }
    }

    fn into_request(self, root: PathBuf, agent: &str) -> WorktreeRequest {
        let RequestParts { paths, fields, mut patches, faults } = self;
        let nothing = fields.is_empty() && patches.is_empty() && faults.is_empty();
        let agent = Some(agent.to_owned());
        let request = match (faults.into_iter().next(), patches.pop()) {
            _ if nothing => None,
            (Some(fault), _) => Some(Err(fault)),
            (None, Some(patch)) if fields.is_empty() && patches.is_empty() => {
                Some(Request::patch(None, agent, Vec::new(), patch))
            }
            (None, patch) => Some(combine(fields, patches.into_iter().chain(patch), agent)),
        };
        WorktreeRequest { root, paths, request }
    }
}

/// Combines edits of several forms into one request.
fn combine(
    fields: Vec<EditFields>,
    patches: impl Iterator<Item = PatchText>,
    agent: Option<String>,
) -> Result<Request> {
    let mut edits: Vec<Edit> = Vec::new();
    for patch in patches {
        edits.extend(patch.edits()?);
    }
    if !fields.is_empty() {
        edits.extend(Request::of(None, agent.clone(), Vec::new(), fields)?.edits);
    }
    let mut request = Request::default();
    request.agent = agent;
    request.edits = edits;
    Ok(request)
}

/// SEARCH/REPLACE blocks with edt's markers instead of Cline's.
fn with_edt_markers(text: &str) -> String {
    let mark = |line: &str| match line.trim_end() {
        "------- SEARCH" | "------- SEARCH>" => Some("<<<<<<< SEARCH"),
        "+++++++ REPLACE" | "+++++++ REPLACE>" => Some(">>>>>>> REPLACE"),
        _ => None,
    };
    if !text.lines().any(|line| line.trim_end().starts_with("------- SEARCH")) {
        return text.to_owned();
    }
    text.split_inclusive('\n')
        .map(|line| mark(line).map_or_else(|| line.to_owned(), |mark| format!("{mark}\n")))
        .collect()
}

fn to_path(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
