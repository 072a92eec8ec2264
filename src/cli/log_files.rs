//! What each commit of `edt log` changed.

use super::diff_text;
use super::render::{DIM, paint};
use edt_core::session::refs::commit::Commit;
use edt_core::session::views::file_diff::{self, FileDiff};
use edt_git::Repo;
use edt_io::{Environment, clock};
use edt_types::Result;
use edt_types::text::{counted, escape_controls};

/// The files that `commit` changed, with or without their patches.
pub(super) fn of(repo: &Repo, commit: &Commit, with_patch: bool) -> Result<Vec<FileDiff>> {
    let mut files = file_diff::between(repo, commit.parent_tree(repo)?, commit.tree)?;
    if !with_patch {
        files.iter_mut().for_each(|file| file.patch.clear());
    }
    Ok(files)
}

/// When `commit` was made, the file or the number of files that it changed, and by how many lines.
pub(super) fn counts(repo: &Repo, commit: &Commit) -> Result<String> {
    let files = of(repo, commit, false)?;
    let time = clock::local_minute(Environment::Process, commit.authored_at);
    let time = paint(DIM, &time);
    let (added, removed) =
        (sum(&files, |file| file.lines_added), sum(&files, |file| file.lines_removed));
    let size = format!("+{added} -{removed}");
    let what = match files.as_slice() {
        // A generated subject has them.
        _ if commit.subject().ends_with(&format!("({size})")) => return Ok(format!("{time}  ")),
        [] => return Ok(format!("{time}  ")),
        [file] => escape_controls(&file.path).0,
        files => counted(files.len() as u64, "file"),
    };
    Ok(format!("{time}  {what} {size}  "))
}

fn sum(files: &[FileDiff], of: impl Fn(&FileDiff) -> u64) -> u64 {
    files.iter().map(of).sum()
}

/// The files below the line of their commit: diffs, or without patches a summary.
pub(super) fn render_human(files: &[FileDiff]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let has_patch = files.iter().any(|file| !file.patch.is_empty());
    let text = if has_patch { diff_text::render(files) } else { diff_text::summary(files) };
    format!("{text}\n")
}
