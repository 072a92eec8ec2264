//! The answer to a transaction: what changed, with enough text around it that nobody must read the file again.

use super::guard::Cleared;
use super::plan::{Content, FilePlan};
use crate::base::text::{Endings, numbered};
use crate::base::{FileReport, Outcome, RepoPath, Status, Warning};
use crate::edit::diff::Shape;
use crate::git::Oid;
use crate::session::{OnDisk, World};

/// The answer for `cleared`; `ids` are those of new texts that are known already.
#[must_use]
pub fn of(
    world: &World,
    cleared: &Cleared<'_>,
    status: Status,
    ids: &[(RepoPath, Oid)],
) -> Outcome {
    let mut outcome = Outcome::new(status);
    if cleared.scene.exists {
        outcome.session = Some(cleared.scene.session.report(false));
    }
    let moved_away = |file: &FilePlan| {
        file.after.is_none()
            && cleared.files.iter().any(|other| other.from.as_ref() == Some(&file.path))
    };
    let files = cleared.files.iter().zip(&cleared.shapes).filter(|(file, _)| !moved_away(file));
    outcome.files = files
        .map(|(file, shape)| {
            let known = ids.iter().find(|(path, _)| *path == file.path).map(|(_, oid)| *oid);
            file_report(world, cleared, file, shape, known)
        })
        .collect();
    outcome.guards.clone_from(&cleared.reports);
    outcome.warnings = warnings(cleared);
    outcome.settled.clone_from(&world.settled);
    outcome
}

fn file_report(
    world: &World,
    cleared: &Cleared<'_>,
    file: &FilePlan,
    shape: &Shape,
    known: Option<Oid>,
) -> FileReport {
    let old = cleared.scene.before(file);
    let after = file.after.as_ref();
    let context = after.zip(shape.changed.clone());
    let context =
        context.map(|(content, at)| numbered(&content.bytes, at, cleared.request.context));
    FileReport {
        path: file.path.to_string(),
        change: file.change,
        from: file.from.as_ref().map(ToString::to_string),
        hash_before: old.map(|disk| disk.file.oid.to_string()),
        hash_after: after
            .and_then(|content| known.or_else(|| world.repo.blob_id(content.blob()).ok()))
            .map(|oid| oid.to_string()),
        bytes_before: old.map(OnDisk::size),
        bytes_after: file.after.as_ref().map(Content::size),
        lines_added: shape.added,
        lines_removed: shape.removed,
        context,
        matched_by: file.step.matched_by,
    }
}

fn warnings(cleared: &Cleared<'_>) -> Vec<Warning> {
    let mut warnings = cleared.warnings.clone();
    for file in &cleared.files {
        for line in &file.step.unchecked {
            let message = format!(
                "Text was inserted before line {line}; nothing vouched for that number. See `context`, or send expected_text next time."
            );
            warnings.push(Warning {
                code: "line_not_checked",
                path: Some(file.path.to_string()),
                message,
            });
        }
        let (Some(old), Some(new)) = (cleared.scene.before(file), &file.after) else { continue };
        let warn = |code, message: &str| Warning {
            code,
            path: Some(file.path.to_string()),
            message: message.to_owned(),
        };
        if old.bytes.ends_with(b"\n") && !new.bytes.ends_with(b"\n") && !new.bytes.is_empty() {
            warnings.push(warn("final_newline", "The file ended with a newline; now it does not."));
        }
        if Endings::of(&old.bytes) != Endings::Mixed && Endings::of(&new.bytes) == Endings::Mixed {
            warnings.push(warn("line_endings", "The file now mixes LF and CR LF line ends."));
        }
    }
    warnings
}
