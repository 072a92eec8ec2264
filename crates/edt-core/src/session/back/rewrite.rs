//! Sets files to other versions of the session, as a new commit: the branch and the disk get a
//! version each, so that the user's lines stay uncommitted. Restore and revert share this.

use std::collections::BTreeSet;

use super::saved::OverlappingFiles;
use crate::session::engine::{Change, PathChange, WorktreeChange};
use crate::session::files::diff_report;
use crate::session::files::path_state::PathState;
use crate::session::recording::edit_commit::EditCommit;
use crate::session::refs::current::Session;
use crate::session::refs::message::Kind;
use crate::session::turns::Asked;
use crate::session::user::followed::FollowedFiles;
use crate::session::user::ownership::{self, Version};
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::{Attributes, InHead, ObjectWriter, Oid, Repo, TreeChange};
use edt_journal::{IndexView, PrivateFile};
use edt_types::{DryRun, Outcome, RepoPath, Result, Status};

/// A commit that sets files to other versions.
#[derive(Debug)]
pub struct Rewrite<'a> {
    pub session: &'a Session,
    /// The index, if HEAD is on the session's branch.
    pub index: Option<IndexView>,
    /// The tree of the session's tip.
    pub tree: Oid,
    pub paths: Vec<PathChange>,
    /// Subject and body of the commit.
    pub text: String,
    pub kind: Kind,
    /// The command, for the reflog.
    pub verb: &'static str,
    /// Further trailers.
    pub more: Vec<(&'static str, String)>,
    /// The files whose user changes are overwritten.
    pub overlapping: OverlappingFiles,
    /// Private files that it brings back.
    pub restored: BTreeSet<RepoPath>,
    pub dry_run: DryRun,
}

impl Rewrite<'_> {
    /// Writes the commit and moves branch, files and index. The answer is `Unchanged` if there is
    /// nothing to do.
    ///
    /// # Errors
    /// `UNSAVED_CHANGES` for the files that overlap; errors of publishing. Nothing is changed then.
    pub fn publish(self, workspace: &mut LockedWorkspace) -> Result<Outcome> {
        let dry_run = self.dry_run;
        let asked = workspace.asked(self.session);
        let (change, mut outcome) = self.plan(&workspace.repo, asked)?;
        outcome.recovered.clone_from(&workspace.recovered);
        match change {
            Some(_) if dry_run == DryRun::Yes => outcome.status = Status::WouldApply,
            Some(change) => {
                outcome.commit = Some(change.branch.new.to_string());
                outcome.warnings.extend(workspace.apply(change)?.warnings);
                outcome.status = Status::Applied;
            }
            None => {}
        }
        Ok(outcome)
    }

    /// The change and the answer to the call; no change if there is nothing to do.
    fn plan(self, repo: &Repo, asked: Asked) -> Result<(Option<Change>, Outcome)> {
        let Rewrite { session, index, tree, text, kind, verb, .. } = self;
        let mut outcome = Outcome::new(Status::Unchanged);
        outcome.session = Some(session.report(false));
        let mut writer = ObjectWriter::new(repo);
        let saved = self.overlapping.save(&mut writer, session)?;
        let (mut changes, mut unchanged) = (Vec::new(), Vec::new());
        for one in &self.paths {
            let seen = &one.seen;
            if !seen.ignored {
                let file = ownership::write(&mut writer, one.branch.clone());
                changes.push(TreeChange { path: seen.path.clone(), file });
            }
            if !one.changes_disk() && seen.disk_file() != seen.tip {
                // An undo of this commit leaves the user's file as it is.
                let same = ownership::exact(seen);
                unchanged.push(PrivateFile::new(&seen.path, same.clone(), same));
            }
        }
        let (new_tree, _) = writer.write_tree(tree, &changes)?;
        let differs = writer.tree_diff(tree, new_tree)?;
        if differs.is_empty() && !self.paths.iter().any(PathChange::changes_disk) {
            return Ok((None, outcome));
        }
        let index = index.map(|index| (index, tree));
        let mut worktree =
            WorktreeChange::of(&mut writer, index, Attributes::Worktree(tree), self.paths)?;
        let mut reports = std::mem::take(&mut worktree.reports);
        for report in diff_report::files_in(&writer, &differs)? {
            if !reports.iter().any(|known| known.path == report.path) {
                reports.push(report);
            }
        }
        reports.sort_by(|one, two| one.path.cmp(&two.path));
        outcome.files = reports;
        outcome.warnings = saved.warnings;
        let edit = session.last_number(repo)? + 1;
        let mut private = std::mem::take(&mut worktree.private);
        private.extend(unchanged);
        let commit = EditCommit {
            session,
            trees: (tree, new_tree),
            text: &text,
            kind,
            number: edit,
            agent: None,
            asked,
            allowed: Vec::new(),
            more: &self.more,
            private,
            kept_at: None,
        };
        let written = commit.write(&mut writer)?;
        let log = format!("{verb}: {}", text.lines().next().unwrap_or_default());
        let mut change = written.change(&writer, None, log, worktree);
        change.refs.create.extend(saved.create);
        change.restored = self.restored;
        outcome.parent = Some(session.tip.to_string());
        outcome.edit = Some(edit);
        Ok((Some(change), outcome))
    }
}

/// The file of `seen` with `branch` on the branch and `disk` on disk. What the user staged stays
/// staged, except lines that overlap.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub fn path_change(
    writer: &ObjectWriter<'_>,
    followed: &FollowedFiles,
    seen: PathState,
    (branch, disk): (Option<Version>, Option<Version>),
    overlapping: &mut OverlappingFiles,
    index: InHead,
) -> Result<PathChange> {
    let moves = branch.as_ref().map(|version| version.file) != seen.tip;
    let index = if index == InHead::No || !moves || seen.ignored {
        None
    } else {
        overlapping.entry(writer, followed, &seen, branch.as_ref())?
    };
    Ok(PathChange { seen, branch, index, disk: Some(disk) })
}
