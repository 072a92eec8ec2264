//! Keeps the user's version of files that `--save` overwrites, as a commit at
//! `refs/edt/<name>/saved/<n>`.

use std::fmt::Write as _;
use std::ops::Range;

use crate::session::engine::PathChange;
use crate::session::files::path_state::PathState;
use crate::session::recording::checkpoint::{CheckpointReason, Checkpoints, UserVersion};
use crate::session::refs::current::Session;
use crate::session::refs::names::next_numbered_ref;
use crate::session::user::followed::FollowedFiles;
use crate::session::user::ownership::{self, Version};
use crate::session::user::unwind::{self, FileSteps};
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{FileId, InHead, ObjectWriter, Oid};
use edt_types::{Finding, Refusal, RepoPath, Result, Warning, WarningCode};

/// What to do if the user changed the same lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overlaps {
    /// Refuse with `UNSAVED_CHANGES`.
    #[default]
    Refuse,
    /// Keep the user's version as a commit at `refs/edt/<name>/saved/<n>`, then overwrite the
    /// overlapping lines.
    Save,
}

/// The files whose lines on disk overlap with a change.
#[derive(Debug)]
pub struct OverlappingFiles {
    overlaps: Overlaps,
    /// The command, for the refusal.
    operation: &'static str,
    /// What the refusal advises instead of `--save`.
    remedy: Option<fn(&RepoPath) -> String>,
    saved: Vec<PathState>,
    refused: Vec<Finding>,
}

/// The commit with the user's version of files.
#[derive(Debug, Default)]
pub struct Saved {
    /// The ref to create; `None` if nothing is saved.
    pub create: Option<(String, Oid)>,
    pub warnings: Vec<Warning>,
}

impl OverlappingFiles {
    #[must_use]
    pub fn new(overlaps: Overlaps, operation: &'static str) -> OverlappingFiles {
        let (saved, refused) = (Vec::new(), Vec::new());
        OverlappingFiles { overlaps, operation, remedy: None, saved, refused }
    }

    /// Of a command that has no `--save`.
    #[must_use]
    pub fn refused(operation: &'static str, remedy: fn(&RepoPath) -> String) -> OverlappingFiles {
        let remedy = Some(remedy);
        OverlappingFiles { remedy, ..OverlappingFiles::new(Overlaps::Refuse, operation) }
    }

    /// The file of `state` on disk after the steps that were followed. They overwrite the lines of the
    /// user that overlap.
    pub fn disk(&mut self, followed: &FollowedFiles, state: &PathState) -> Option<Version> {
        if let Some(rows) = followed.overlap(&state.path) {
            self.add(state, rows);
        }
        followed.disk(state)
    }

    /// The index entry of a path whose file in HEAD becomes `new`, as in [`PathChange`]. What the
    /// user staged stays staged, except lines that overlap, and goes with a file to its new path.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn entry(
        &mut self,
        writer: &ObjectWriter<'_>,
        followed: &FollowedFiles,
        state: &PathState,
        new: Option<&Version>,
    ) -> Result<Option<Option<Version>>> {
        if followed.entry_leaves(&state.path) {
            return Ok(Some(None));
        }
        let owner = followed.entry_from(&state.path).unwrap_or(state);
        let seen = PathState { tip: owner.tip, staged: owner.staged, ..state.clone() };
        match ownership::index_entry(writer, &seen, new)? {
            Ok(entry) => Ok(entry),
            Err(rows) => {
                self.add(owner, &rows);
                ownership::index_entry_with_new(writer, &seen, new)
            }
        }
    }

    /// The steps of all paths: the files on disk follow `steps`, the branch and the index follow
    /// `paths`.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn checkout(
        &mut self,
        writer: &ObjectWriter<'_>,
        steps: &FileSteps,
        states: Vec<PathState>,
        paths: &[TreeDifference],
        index: InHead,
    ) -> Result<Vec<PathChange>> {
        let moves = |differs: &TreeDifference| differs.old != differs.new;
        let target = |(state, differs): (&PathState, &TreeDifference)| {
            if moves(differs) { differs.new.and_then(TreeItem::file) } else { state.tip }
        };
        let targets: Vec<Option<FileId>> = states.iter().zip(paths).map(target).collect();
        let followed = steps.follow(writer, &states)?.with_entries(&states, &targets);
        let mut planned = Vec::new();
        for ((seen, differs), target) in states.into_iter().zip(paths).zip(targets) {
            let disk = Some(self.disk(&followed, &seen));
            let branch = target.map(Version::recorded);
            let index = if moves(differs) && index == InHead::Yes {
                self.entry(writer, &followed, &seen, branch.as_ref())?
            } else {
                None
            };
            planned.push(PathChange { seen, branch, index, disk });
        }
        Ok(planned)
    }

    /// Adds a file whose `rows` on disk or in the index would be overwritten. No commit ever has an
    /// ignored file, so that such a file is always refused.
    pub fn add(&mut self, state: &PathState, rows: &[Range<usize>]) {
        let path = state.path.text();
        if self.saved.iter().any(|saved| saved.path == state.path)
            || self.refused.iter().any(|finding| finding.path.as_ref() == Some(&path))
        {
            return;
        }
        let operation = format!("`{}`", self.operation);
        match self.overlaps {
            _ if state.ignored => {
                self.refused.push(unwind::overlap_ignored(&state.path, rows, &operation));
            }
            Overlaps::Refuse => {
                let mut found = unwind::overlap(&state.path, rows, &operation);
                if let Some(remedy) = self.remedy {
                    found.remedy = remedy(&state.path);
                }
                self.refused.push(found);
            }
            Overlaps::Save => self.saved.push(state.clone()),
        }
    }

    /// Writes the commit with the user's version of the files, on disk and in the index.
    ///
    /// # Errors
    /// `UNSAVED_CHANGES` for each file that may not be overwritten.
    pub fn save(self, writer: &mut ObjectWriter<'_>, session: &Session) -> Result<Saved> {
        Refusal::check(self.refused)?;
        if self.saved.is_empty() {
            return Ok(Saved::default());
        }
        let tree = writer.tree_of(session.tip)?;
        let all = self.saved.iter().map(UserVersion::of).collect();
        let reason = CheckpointReason::Saved;
        let commit = Checkpoints::write(writer, session, tree, 0, all, reason)?.tip;
        let name = next_numbered_ref(writer.repo(), &session.name, "saved")?;
        let warnings = self.saved.iter().map(|state| kept(state, &name)).collect();
        Ok(Saved { create: Some((name, commit)), warnings })
    }
}

/// What is kept of the file of `state`. The commit below has what was staged.
fn kept(state: &PathState, name: &str) -> Warning {
    let path = state.path.quoted();
    let mut message = if state.disk.is_some() {
        format!(
            "The user's version of this file is kept at {name}; `git show {name}:{path}` prints it."
        )
    } else {
        format!("The user had deleted this file: the commit at {name} does not have it.")
    };
    if state.has_unique_staged() {
        let _ = write!(message, " `git show {name}~1:{path}` prints what was staged.");
    }
    Warning { code: WarningCode::UserVersionSaved, path: Some(state.path.text()), message }
}
