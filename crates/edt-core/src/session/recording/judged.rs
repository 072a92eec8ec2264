//! What a program or an agent's tool changed, as the guards judge it and as the answer lists it.

use super::program_change::ProgramChange;
use crate::session::files::diff_report;
use crate::session::files::path_state::PathState;
use crate::session::user::ownership::{self, SeparatedEdit, Version};
use edt_git::diff::TreeDifference;
use edt_git::{ObjectWriter, Oid, Repo, Tracked, TreeChange};
use edt_types::{FileReport, RepoPath, Result};

/// What the guards judge: the files on disk before and after, with the user's uncommitted changes, and
/// those of which nobody knows the file before. The objects of these trees are never written.
pub(super) fn judged<'r>(
    writer: &ObjectWriter<'r>,
    tree: Oid,
    changed: &[ProgramChange],
    unseen: &[PathState],
) -> Result<(ObjectWriter<'r>, [Oid; 2])> {
    let mut judged = writer.clone();
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for ProgramChange { state, version, after, .. } in changed {
        if state.ignored {
            continue;
        }
        for (changes, version) in [(&mut from, version), (&mut to, after)] {
            let file = ownership::write(&mut judged, version.clone());
            changes.push(TreeChange { path: state.path.clone(), file });
        }
    }
    for state in unseen {
        let file = ownership::write(&mut judged, Version::on_disk(state));
        to.push(TreeChange { path: state.path.clone(), file });
    }
    let from = judged.write_tree(tree, &from)?.0;
    let to = judged.write_tree(tree, &to)?.0;
    Ok((judged, [from, to]))
}

/// The new files that are binary or in a directory without tracked files.
pub(super) fn new_files(
    repo: &Repo,
    tree: Option<Oid>,
    changed: &[ProgramChange],
) -> Result<Vec<RepoPath>> {
    let Some(tree) = tree else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for ProgramChange { state, version, .. } in changed {
        let Some(disk) = state.disk.as_ref().filter(|_| version.is_none() && !state.ignored) else {
            continue;
        };
        let bytes = disk.exact();
        let binary = memchr::memchr(0, bytes).is_some() || std::str::from_utf8(bytes).is_err();
        let directory = state.path.split().0;
        let untracked = !directory.is_empty()
            && repo.tracked(tree, &RepoPath::from_tree(directory))? != Tracked::Directory;
        if binary || untracked {
            all.push(state.path.clone());
        }
    }
    Ok(all)
}

/// The answer's list of changed files.
pub(super) fn reports(
    writer: &ObjectWriter<'_>,
    paths: &[TreeDifference],
    changed: &[ProgramChange],
) -> Result<Vec<FileReport>> {
    let mut all = diff_report::files_in(writer, paths)?;
    for one in changed {
        let path = one.state.path.text();
        let is_of = |report: &&mut FileReport| {
            report.path == path || report.from.as_deref() == Some(path.as_str())
        };
        if let Some(report) = all.iter_mut().find(is_of) {
            report.user_changes = report.user_changes.max(one.separated.user_changes);
            report.recorded = one.separated.left_over.recorded();
            report.left_over = one.separated.left_over.lines();
        } else {
            let bytes = |side: &Option<Version>| -> Result<Option<Vec<u8>>> {
                side.as_ref().map(|version| version.bytes(writer)).transpose()
            };
            let (old, new) = (bytes(&one.version)?, bytes(&one.after)?);
            let id = |side: &Option<Version>| side.as_ref().map(|version| version.file.oid);
            let ids = (id(&one.version), id(&one.after));
            let report = diff_report::report(path, ids, (old.as_deref(), new.as_deref()));
            let SeparatedEdit { user_changes, left_over, .. } = &one.separated;
            let (user_changes, recorded) = (*user_changes, left_over.recorded());
            all.push(FileReport { user_changes, recorded, ..report });
        }
    }
    Ok(all)
}
