//! Turns what an agent's tool would do into requests, one for each worktree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::event::{HookEvent, HookPhase, Replacement, ToolEdit};
use super::locate::locate;
use super::patch;
use edt_core::txn::Request;
use edt_core::txn::edit_fields::EditFields;
use edt_core::txn::patch_text::PatchText;
use edt_core::txn::tried;
use edt_edit::place::Matching;
use edt_edit::{Edit, Mode};
use edt_journal::refusals::TriedEdit;
use edt_types::{Code, Finding, Refusal, Result};

/// What a tool would do in one worktree.
#[derive(Debug)]
pub struct WorktreeRequest {
    /// The worktree's root.
    pub root: PathBuf,
    /// The paths that it would change; not validated.
    pub paths: Vec<Vec<u8>>,
    /// The request, or why it is invalid; `None` if the new content is known only afterwards.
    pub request: Option<Result<Request>>,
    /// The edits as they were sent, for the record of refusals.
    pub tried: Vec<TriedEdit>,
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
        let is_made = event.point.phase == HookPhase::After;
        if let Err(unlocated) = add_edit(&mut by_root, &mut requests, (tool_edit, is_made), cwd) {
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
    faults: Vec<Refusal>,
}

fn add_edit(
    by_root: &mut BTreeMap<PathBuf, RequestParts>,
    requests: &mut ToolRequests,
    (tool_edit, is_made): (&ToolEdit, bool),
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
            let empty = is_made
                || !full.exists()
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
        let of_patches = patches.iter().map(tried::of_patch);
        let tried = fields.iter().map(tried::of_fields).chain(of_patches).collect();
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
        WorktreeRequest { root, paths, request, tried }
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

#[cfg(test)]
mod tests {
    use super::super::event::{AgentTurn, HookPoint};
    use super::*;
    use edt_testkit::ScratchRepo;

    fn requests(repo: &ScratchRepo, edits: Vec<ToolEdit>) -> ToolRequests {
        let event = HookEvent {
            point: HookPoint { phase: HookPhase::Before, hook: "" },
            tool: "tool".to_owned(),
            cwd: None,
            session: None,
            turn: AgentTurn::default(),
            edits,
            command: None,
        };
        from_event(&event, repo.path(), "cline")
    }

    /// The edits for a repository with `a.txt` that the tool would send, and its agent.
    fn request(edit: ToolEdit) -> (String, Option<String>) {
        shown(&sent(edit))
    }

    fn sent(edit: ToolEdit) -> Request {
        let repo = ScratchRepo::with(&[("a.txt", "one\n"), ("empty.txt", "")]);
        let mut found = requests(&repo, vec![edit]);
        assert_eq!((found.worktrees.len(), found.faults.len(), found.unlocated.len()), (1, 0, 0));
        found.worktrees.remove(0).request.unwrap().unwrap()
    }

    fn shown(request: &Request) -> (String, Option<String>) {
        (format!("{:?}", request.edits), request.agent.clone())
    }

    /// The same of an edit through edt.
    fn same(edit: Request) -> (String, Option<String>) {
        shown(&{
            let mut edit = edit;
            edit.agent = Some("cline".to_owned());
            edit
        })
    }

    fn replace(path: &str, pieces: &[(&str, &str)]) -> ToolEdit {
        let replacement = |(old, new): &(&str, &str)| Replacement {
            old: (*old).into(),
            new: (*new).into(),
            all: false,
        };
        ToolEdit::Replace {
            path: path.into(),
            replacements: pieces.iter().map(replacement).collect(),
        }
    }

    #[test]
    fn a_replacement_is_an_edit_of_its_text() {
        assert_eq!(
            request(replace("a.txt", &[("one", "two")])),
            same(Request::new("").edit("a.txt", "one", "two"))
        );
    }

    #[test]
    fn a_write_of_a_present_file_overwrites_it() {
        let write = ToolEdit::Write { path: "a.txt".into(), content: "x\n".into() };
        assert_eq!(request(write), same(Request::new("").overwrite("a.txt", "x\n")));
    }

    #[test]
    fn a_write_of_a_new_file_creates_it() {
        let write = ToolEdit::Write { path: "new.txt".into(), content: "x\n".into() };
        assert_eq!(request(write), same(Request::new("").create("new.txt", "x\n")));
    }

    #[test]
    fn an_empty_old_text_creates_a_missing_file() {
        assert_eq!(
            request(replace("new.txt", &[("", "x\n")])),
            same(Request::new("").create("new.txt", "x\n"))
        );
    }

    #[test]
    fn an_empty_old_text_fills_an_empty_file() {
        assert_eq!(
            request(replace("empty.txt", &[("", "x\n")])),
            same(Request::new("").overwrite("empty.txt", "x\n"))
        );
    }

    #[test]
    fn an_inserted_text_ends_with_a_line_break() {
        let insert = ToolEdit::Insert { path: "a.txt".into(), line: 1, content: "x".into() };
        let edits = sent(insert).edits;
        assert!(
            matches!(&edits[0].op, edt_edit::Op::Lines { content, .. } if content == b"x\n"),
            "{edits:?}"
        );
    }

    #[test]
    fn a_path_in_no_worktree_is_left_out() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        let found = requests(&repo, vec![ToolEdit::Delete { path: "/nowhere/x".into() }]);
        assert_eq!((found.worktrees.len(), found.faults.len(), found.unlocated.len()), (0, 0, 0));
    }

    #[test]
    fn a_file_that_is_known_only_afterwards_has_no_request() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        let found = requests(&repo, vec![ToolEdit::Unspecified { path: "a.txt".into() }]);
        assert_eq!(found.worktrees[0].paths, [b"a.txt".to_vec()]);
        assert!(found.worktrees[0].request.is_none());
    }

    #[test]
    fn a_path_below_the_home_directory_is_ambiguous() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n")]);
        let found = requests(&repo, vec![ToolEdit::Delete { path: "~/a".into() }]);
        assert_eq!(
            found.unlocated,
            [Finding::new(
                Code::BadRequest,
                "The path \"~/a\" may mean the home directory or a directory of that name.",
                "Write the absolute path."
            )]
        );
    }

    #[test]
    fn edits_of_two_worktrees_are_two_requests() {
        let (one, two) =
            (ScratchRepo::with(&[("a.txt", "one\n")]), ScratchRepo::with(&[("b.txt", "x\n")]));
        let other = two.path().join("b.txt").to_str().unwrap().to_owned();
        let found = requests(
            &one,
            vec![ToolEdit::Delete { path: "a.txt".into() }, ToolEdit::Delete { path: other }],
        );
        let mut paths: Vec<Vec<Vec<u8>>> =
            found.worktrees.into_iter().map(|one| one.paths).collect();
        paths.sort();
        assert_eq!(paths, [vec![b"a.txt".to_vec()], vec![b"b.txt".to_vec()]]);
    }

    #[test]
    fn edits_of_several_forms_become_one_request() {
        let repo = ScratchRepo::with(&[("a.txt", "one\n"), ("b.txt", "x\n")]);
        let patch = "*** Begin Patch\n*** Update File: b.txt\n@@\n-x\n+y\n*** End Patch\n";
        let mut found = requests(
            &repo,
            vec![ToolEdit::Patch { text: patch.into() }, ToolEdit::Delete { path: "a.txt".into() }],
        );
        let request = found.worktrees.remove(0).request.unwrap().unwrap();
        let paths: Vec<String> = request.edits.iter().map(|edit| edit.path.text()).collect();
        assert_eq!(paths, ["b.txt", "a.txt"]);
        assert_eq!(request.patch, None);
    }

    #[test]
    fn a_patch_without_its_first_line_outside_every_worktree_is_a_fault() {
        let place = edt_testkit::tempdir().unwrap();
        let event = HookEvent {
            point: HookPoint::UNKNOWN,
            tool: "apply_patch".to_owned(),
            cwd: None,
            session: None,
            turn: AgentTurn::default(),
            edits: vec![ToolEdit::Patch { text: "--- a\n+++ b\n".into() }],
            command: None,
        };
        assert_eq!(
            from_event(&event, place.path(), "codex").faults,
            [Finding::new(
                Code::InvalidPatch,
                "The patch does not begin with `*** Begin Patch`, so edt cannot determine which files \
             it changes.",
                "Send it in that form."
            )]
        );
    }

    #[test]
    fn clines_markers_become_edts() {
        assert_eq!(
            with_edt_markers("------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n"),
            "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
        );
    }

    #[test]
    fn without_clines_first_marker_no_line_changes() {
        assert_eq!(with_edt_markers("+++++++ REPLACE\n"), "+++++++ REPLACE\n");
    }
}
