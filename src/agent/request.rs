//! What an agent's tool would do, as requests: one for each worktree that it would change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::event::{Act, Event, Pair};
use super::patch;
use super::place::place;
use crate::base::{Code, Finding, Findings, Result};
use crate::edit::place::Matching;
use crate::edit::{Edit, Mode};
use crate::txn::Request;
use crate::txn::patch::PatchText;
use crate::txn::request::{CONTEXT, Draft};

/// What would change in one worktree.
#[derive(Debug)]
pub struct Asked {
    /// Its root.
    pub root: PathBuf,
    /// The paths, as they are written; not checked.
    pub paths: Vec<Vec<u8>>,
    /// The request, or why it is none; `None` where only the outcome shows.
    pub request: Option<Result<Request>>,
}

/// What would change, and what must not.
#[derive(Debug, Default)]
pub struct Asks {
    /// By worktree; what lies in none is nobody's business here.
    pub worktrees: Vec<Asked>,
    /// Why it must not be done, whatever a worktree says.
    pub faults: Vec<Finding>,
    /// The paths of which nobody can say where they lie, or which lie where nothing may be written.
    pub lost: Vec<Finding>,
}

/// What `event` would change.
#[must_use]
pub fn of(event: &Event, cwd: &Path, agent: &str) -> Asks {
    let (mut by_root, mut asks) = (BTreeMap::new(), Asks::default());
    for act in &event.acts {
        if let Err(lost) = take(&mut by_root, &mut asks, act, cwd) {
            asks.lost.extend(lost.into_vec());
        }
    }
    asks.worktrees = by_root.into_iter().map(|(root, parts)| parts.asked(root, agent)).collect();
    asks
}

/// The parts of one worktree's request.
#[derive(Default)]
struct Parts {
    paths: Vec<Vec<u8>>,
    drafts: Vec<Draft>,
    patches: Vec<PatchText>,
    faults: Vec<Findings>,
}

fn take(
    by_root: &mut BTreeMap<PathBuf, Parts>,
    asks: &mut Asks,
    act: &Act,
    cwd: &Path,
) -> Result<()> {
    let path = match act {
        Act::Patch { text } => return take_patch(by_root, asks, text, cwd),
        Act::Replace { path, .. }
        | Act::Whole { path, .. }
        | Act::Insert { path, .. }
        | Act::Delete { path }
        | Act::Blocks { path, .. }
        | Act::Changes { path } => path,
    };
    let Some(placed) = place(cwd, path)? else { return Ok(()) };
    let full = placed.root.join(path_of(&placed.path));
    let parts = by_root.entry(placed.root).or_default();
    parts.paths.push(placed.path.clone());
    let draft = |mode| Draft { path: placed.path.clone(), mode: Some(mode), ..Draft::default() };
    let whole = |content: &str| {
        let mode = if full.exists() { Mode::Overwrite } else { Mode::Create };
        Draft { content: Some(content.into()), ..draft(mode) }
    };
    match act {
        Act::Whole { content, .. } => parts.drafts.push(whole(content)),
        Act::Insert { line, content, .. } => {
            let content =
                if content.ends_with('\n') { content.clone() } else { format!("{content}\n") };
            parts.drafts.push(Draft {
                content: Some(content.into()),
                start_line: Some(*line),
                ..draft(Mode::Insert)
            });
        }
        Act::Delete { .. } => parts.drafts.push(draft(Mode::Delete)),
        Act::Replace { pairs, .. } => {
            // Nothing where the text is to stand means a new file, where there is none, or nothing in it.
            let empty = !full.exists()
                || full.metadata().is_ok_and(|meta| meta.is_file() && meta.len() == 0);
            parts.drafts.extend(pairs.iter().enumerate().map(|(at, Pair { old, new, all })| {
                if at == 0 && old.is_empty() && empty {
                    return whole(new);
                }
                let (old, new) = (Some(old.clone().into_bytes()), Some(new.clone().into_bytes()));
                Draft {
                    old_text: old,
                    content: new,
                    replace_all: all.then_some(true),
                    ..draft(Mode::Edit)
                }
            }));
        }
        Act::Blocks { text, .. } => parts.patch(text, Some(&placed.path), Matching::Strict),
        Act::Changes { .. } | Act::Patch { .. } => {}
    }
    Ok(())
}

fn take_patch(
    by_root: &mut BTreeMap<PathBuf, Parts>,
    asks: &mut Asks,
    text: &str,
    cwd: &Path,
) -> Result<()> {
    if let Some(all) = patch::by_worktree(cwd, text) {
        for (root, part) in all.by_root {
            let parts = by_root.entry(root).or_default();
            // White space at the ends of lines and before them counts for none of the agents that send these.
            parts.patch(&part.text, None, Matching::Lenient);
            parts.paths.extend(part.paths);
        }
        asks.faults.extend(all.faults);
        asks.lost.extend(all.lost);
    } else if let Some(placed) = place(cwd, "-")? {
        by_root.entry(placed.root).or_default().patch(text, None, Matching::Strict);
    } else {
        let message = "The patch does not begin with `*** Begin Patch`, so nobody can say which files it changes.";
        asks.faults.push(Finding::new(Code::InvalidPatch, message, "Send it in that form."));
    }
    Ok(())
}

impl Parts {
    fn patch(&mut self, text: &str, path: Option<&[u8]>, matching: Matching) {
        match PatchText::new(in_edts_marks(text).into_bytes(), path, None, matching) {
            Ok(patch) => self.patches.push(patch),
            Err(found) => self.faults.push(found),
        }
    }

    fn asked(self, root: PathBuf, agent: &str) -> Asked {
        let Parts { paths, drafts, mut patches, faults } = self;
        let nothing = drafts.is_empty() && patches.is_empty() && faults.is_empty();
        let agent = Some(agent.to_owned());
        let request = match (faults.into_iter().next(), patches.pop()) {
            _ if nothing => None,
            (Some(fault), _) => Some(Err(fault)),
            (None, Some(patch)) if drafts.is_empty() && patches.is_empty() => {
                Some(Request::patch(None, agent, Vec::new(), patch))
            }
            (None, patch) => Some(several(drafts, patches.into_iter().chain(patch), agent)),
        };
        Asked { root, paths, request }
    }
}

/// Edits of several forms as one request.
fn several(
    drafts: Vec<Draft>,
    patches: impl Iterator<Item = PatchText>,
    agent: Option<String>,
) -> Result<Request> {
    let mut edits: Vec<Edit> = Vec::new();
    for patch in patches {
        edits.extend(patch.edits()?);
    }
    if !drafts.is_empty() {
        edits.extend(Request::of(None, agent.clone(), Vec::new(), drafts)?.edits);
    }
    let (allow, grants) = (Vec::new(), Vec::new());
    Ok(Request {
        message: None,
        agent,
        allow,
        grants,
        proposal: None,
        edits,
        patch: None,
        context: CONTEXT,
    })
}

/// SEARCH/REPLACE blocks whose markers are written with other characters, with those that edt reads.
fn in_edts_marks(text: &str) -> String {
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

fn path_of(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
