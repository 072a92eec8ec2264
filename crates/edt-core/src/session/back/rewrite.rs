//! Sets files to other versions of the session, as a new commit: the branch and the disk get a
//! version each, so that the user's lines stay uncommitted. Restore and revert share this.

use super::followed::FollowedFiles;
use super::saved::OverlappingFiles;
use crate::session::private::uncovered::publish;
use crate::session::recording::edit_commit::{EditCommit, EditParts};
use crate::session::refs::current::Session;
use crate::session::refs::message::Kind;
use crate::session::user::ownership::{self, Version};
use crate::session::user::path_state::PathState;
use crate::session::views::diff_report;
use crate::session::worktree::checkout::{CheckoutPlan, CheckoutStep};
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::{Attributes, InHead, ObjectWriter, Oid, TreeChange};
use edt_journal::{IndexView, PrivateFile};
use edt_types::{DryRun, Outcome, Result, Status};

/// One file and its versions.
#[derive(Debug)]
pub struct FileRewrite {
    /// The file as it is now.
    pub state: PathState,
    /// The file on the branch; of no effect for an ignored file.
    pub branch: Option<Version>,
    /// The file on disk.
    pub disk: Option<Version>,
    /// The index entry: as in [`CheckoutStep`].
    pub entry: Option<Option<Version>>,
}

/// A commit that sets files to other versions.
#[derive(Debug)]
pub struct Rewrite<'a> {
    pub session: &'a Session,
    /// The index, if HEAD is on the session's branch.
    pub index: Option<IndexView>,
    /// The tree of the session's tip.
    pub tree: Oid,
    pub files: Vec<FileRewrite>,
    /// Subject and body of the commit.
    pub text: String,
    pub kind: Kind,
    /// The command, for the reflog.
    pub verb: &'static str,
    /// Further trailers.
    pub more: Vec<(&'static str, String)>,
    /// The files whose user changes are overwritten.
    pub overlapping: OverlappingFiles,
    pub dry_run: DryRun,
}

impl Rewrite<'_> {
    /// Writes the commit and moves branch, files and index. The answer is `Unchanged` if there is
    /// nothing to do.
    ///
    /// # Errors
    /// `UNSAVED_CHANGES` for the files that overlap; errors of publishing. Nothing is changed then.
    pub fn publish(self, workspace: &mut LockedWorkspace) -> Result<Outcome> {
        let Rewrite { session, index, tree, text, kind, verb, .. } = self;
        let mut outcome = Outcome::new(Status::Unchanged);
        outcome.session = Some(session.report(false));
        outcome.recovered.clone_from(&workspace.recovered);
        let repo = &workspace.repo;
        let mut writer = ObjectWriter::new(repo);
        let saved = self.overlapping.save(&mut writer, session)?;
        let (mut changes, mut steps, mut unchanged) = (Vec::new(), Vec::new(), Vec::new());
        for FileRewrite { state, branch, disk, entry } in self.files {
            let target = ownership::write(&mut writer, branch);
            if !state.ignored {
                changes.push(TreeChange { path: state.path.clone(), file: target });
            }
            let step = CheckoutStep { state, disk: Some(disk), entry, target };
            if !step.changes_disk() && step.state.disk_file() != step.state.tip {
                // An undo of this commit leaves the user's file as it is.
                let same = ownership::exact(&step.state);
                unchanged.push(PrivateFile::new(&step.state.path, same.clone(), same));
            }
            steps.push(step);
        }
        let (new_tree, _) = writer.write_tree(tree, &changes)?;
        let differs = writer.tree_diff(tree, new_tree)?;
        if differs.is_empty() && !steps.iter().any(CheckoutStep::changes_disk) {
            return Ok(outcome);
        }
        let on_index = index.as_ref().map(|_| tree);
        let mut plan = CheckoutPlan::of(&mut writer, on_index, Attributes::Worktree(tree), steps)?;
        let mut reports = std::mem::take(&mut plan.reports);
        for report in diff_report::files_in(&writer, &differs)? {
            if !reports.iter().any(|known| known.path == report.path) {
                reports.push(report);
            }
        }
        reports.sort_by(|one, two| one.path.cmp(&two.path));
        outcome.files = reports;
        outcome.warnings = saved.warnings;
        if self.dry_run == DryRun::Yes {
            outcome.status = Status::WouldApply;
            return Ok(outcome);
        }
        let edit = session.last_number(repo)? + 1;
        let mut private = std::mem::take(&mut plan.private);
        private.extend(unchanged);
        let commit = EditCommit {
            session,
            trees: (tree, new_tree),
            text: &text,
            kind,
            number: edit,
            agent: None,
            allowed: Vec::new(),
            more: &self.more,
            private,
        };
        let written = commit.write(&mut writer)?;
        let commit = written.commit;
        let log = format!("{verb}: {}", text.lines().next().unwrap_or_default());
        let CheckoutPlan { files, moves, touched_trees, .. } = plan;
        let index = index.map(|index| (index, moves));
        let create = saved.create.into_iter().collect();
        let parts = EditParts { files, index, touched_trees, create };
        let change = written.change(repo, &writer, None, log, parts)?;
        workspace.require_durability(session.base);
        outcome.warnings.extend(publish(&workspace.repo, &mut workspace.journal, change)?);
        outcome.status = Status::Applied;
        outcome.commit = Some(commit.to_string());
        outcome.parent = Some(session.tip.to_string());
        outcome.edit = Some(edit);
        Ok(outcome)
    }
}

impl FileRewrite {
    /// The file of `state` with `branch` on the branch and `disk` on disk. What the user staged
    /// stays staged, except lines that overlap.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn of(
        writer: &ObjectWriter<'_>,
        followed: &FollowedFiles,
        state: PathState,
        (branch, disk): (Option<Version>, Option<Version>),
        overlapping: &mut OverlappingFiles,
        index: InHead,
    ) -> Result<FileRewrite> {
        let moves = branch.as_ref().map(|version| version.file) != state.tip;
        let entry = if index == InHead::No || !moves || state.ignored {
            None
        } else {
            overlapping.entry(writer, followed, &state, branch.as_ref())?
        };
        Ok(FileRewrite { state, branch, disk, entry })
    }
}
