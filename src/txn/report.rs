//! The answer to a transaction: what changed, with enough text around it that nobody must read the file again.

use super::guard::Cleared;
use super::plan::{Content, FilePlan};
use crate::base::text::{Endings, numbered};
use crate::base::{Change, FileReport, Outcome, Status, Warning};
use crate::edit::diff::Lines;
use crate::io::clock;
use crate::session::{OnDisk, World};

/// The answer for `cleared`.
#[must_use]
pub fn of(world: &World, cleared: &Cleared<'_>, status: Status) -> Outcome {
    let mut outcome = Outcome::new(status);
    if cleared.scene.exists {
        outcome.session = Some(cleared.scene.session.report(false));
    }
    let moved_away = |file: &FilePlan| {
        file.after.is_none() && cleared.files.iter().any(|other| other.from.as_ref() == Some(&file.path))
    };
    outcome.files =
        cleared.files.iter().filter(|file| !moved_away(file)).map(|file| file_report(world, cleared, file)).collect();
    outcome.guards.clone_from(&cleared.reports);
    outcome.warnings = warnings(cleared);
    outcome.settled.clone_from(&world.settled);
    outcome
}

fn before<'a>(cleared: &'a Cleared<'_>, file: &FilePlan) -> Option<&'a OnDisk> {
    let source = file.from.as_ref().filter(|_| file.change == Change::Renamed).unwrap_or(&file.path);
    cleared.scene.looks.get(source)?.disk.as_ref()
}

fn file_report(world: &World, cleared: &Cleared<'_>, file: &FilePlan) -> FileReport {
    let old = before(cleared, file);
    let old_text = old.map_or(&[][..], |disk| &disk.bytes);
    let new_text = file.after.as_ref().map_or(&[][..], |content| &content.bytes);
    let lines = Lines::of(old_text, new_text, clock::in_ms(100));
    let (lines_added, lines_removed) = lines.counts();
    let context =
        file.after.as_ref().and_then(|_| lines.changed()).map(|at| numbered(new_text, at, cleared.request.context));
    FileReport {
        path: file.path.to_string(),
        change: file.change,
        from: file.from.as_ref().map(ToString::to_string),
        hash_before: old.map(|disk| disk.file.oid.to_string()),
        hash_after: file
            .after
            .as_ref()
            .and_then(|content| world.repo.blob_id(content.blob()).ok())
            .map(|oid| oid.to_string()),
        bytes_before: old.map(OnDisk::size),
        bytes_after: file.after.as_ref().map(Content::size),
        lines_added,
        lines_removed,
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
            warnings.push(Warning { code: "line_not_checked", path: Some(file.path.to_string()), message });
        }
        let (Some(old), Some(new)) = (before(cleared, file), &file.after) else { continue };
        let warn =
            |code, message: &str| Warning { code, path: Some(file.path.to_string()), message: message.to_owned() };
        if old.bytes.ends_with(b"\n") && !new.bytes.ends_with(b"\n") && !new.bytes.is_empty() {
            warnings.push(warn("final_newline", "The file ended with a newline; now it does not."));
        }
        if Endings::of(&old.bytes) != Endings::Mixed && Endings::of(&new.bytes) == Endings::Mixed {
            warnings.push(warn("line_endings", "The file now mixes LF and CR LF line ends."));
        }
    }
    warnings
}
