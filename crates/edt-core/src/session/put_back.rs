//! Puts files back as they were before a program whose changes are refused.

use super::checkout::{CheckoutPlan, CheckoutStep};
use super::current::Session;
use super::hidden::IgnoredBefore;
use super::ownership::Version;
use super::path_state::PathState;
use super::program_change::ProgramChange;
use edt_git::{Attributes, FileId, FileMode, InHead, ObjectWriter, Oid, Repo};
use edt_io::fs;
use edt_journal::{BranchOrigin, BranchUpdate, ChangeSet};
use edt_types::Result;

fn usual_permissions(file: FileId) -> u32 {
    let all = if file.mode == FileMode::Executable { 0o777 } else { 0o666 };
    all & !fs::new_file_mask()
}

/// Adds the private files that the program moved onto others and of which there is no copy. Their
/// bytes are those at the new path.
///
/// # Errors
/// The errors of [`PathState::at`]; errors of a filter.
pub(super) fn add_sources(
    repo: &Repo,
    tree: Oid,
    ignored: &IgnoredBefore<'_>,
    changed: &mut Vec<ProgramChange>,
) -> Result<()> {
    for (source, path) in ignored.not_copied() {
        let moved = changed.iter().find(|one| one.state.path == path);
        let Some(exact) = moved.and_then(|one| one.exact_after.clone()) else { continue };
        let state = PathState { ignored: true, ..PathState::at(repo, tree, None, source)? };
        changed.push(ProgramChange::removed(repo, tree, state, exact)?);
    }
    Ok(())
}

/// The change that puts the files back and keeps the refused commit at the ref `name`. The
/// session's branch does not move.
pub(super) fn put_back(
    mut writer: ObjectWriter<'_>,
    session: &Session,
    name: &str,
    (tree, refused): (Oid, Oid),
    changed: Vec<ProgramChange>,
) -> Result<ChangeSet> {
    let step = |mut one: ProgramChange| {
        let moved_onto = one.state.ignored && one.state.tip.is_some();
        let permissions = match (&one.before, one.state.tip) {
            (Some(before), _) => before.permissions,
            // A file that another one was moved onto, and that had no changes.
            (None, Some(file)) if moved_onto => Some(usual_permissions(file)),
            _ => None,
        };
        // A rewritten file keeps the permissions of the one on disk.
        if let (Some(disk), Some(bits)) = (&mut one.state.disk, permissions) {
            disk.stat.mode = disk.stat.mode & !0o777 | bits;
        }
        let disk = one.version.map(|version| match one.before {
            Some(before) => Version { disk: Some(before.bytes), ..version },
            None => version,
        });
        CheckoutStep { target: one.state.tip, disk: Some(disk), entry: None, state: one.state }
    };
    let steps: Vec<CheckoutStep> = changed.into_iter().map(step).collect();
    let attributes = steps.iter().any(|step| step.state.path.is_attributes());
    let from = if attributes { Attributes::Tree(tree) } else { Attributes::Worktree(tree) };
    let mut plan = CheckoutPlan::of(&mut writer, None, from, steps)?;
    let private = plan.record(session, refused);
    let (log, head) = (format!("edt run: reverted {}", refused.to_hex_with_len(12)), InHead::No);
    let branch = BranchUpdate {
        name: name.to_owned(),
        from: BranchOrigin::Created(refused),
        new: refused,
        log,
        head,
        head_from: None,
        point: None,
    };
    let (objects, files) = (writer.loose_objects(), plan.files);
    Ok(ChangeSet { objects, files, private, ..ChangeSet::of(branch) })
}
