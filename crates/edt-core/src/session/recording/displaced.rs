//! A file in place of a directory with files: no session can record that, so that everything that
//! the program did is put back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::kept_directory::{self, Kept};
use super::run_store::RunStore;
use super::snapshot::Snapshot;
use edt_git::Repo;
use edt_io::{failed, fs};
use edt_recorder::event::Place;
use edt_recorder::{NothingClean, restore};
use edt_types::text::Shown as _;
use edt_types::{Code, Effect, Finding, RepoPath, Result, Warning, WarningCode};

impl RunStore {
    /// Puts back everything that the program did, because there is something else in place of the
    /// directory at `path`. What it had made is kept. A file that somebody else wrote, too, stays.
    ///
    /// # Errors
    /// `IO_ERROR`; what was put back stays so.
    pub fn roll_back(
        &self,
        repo: &Repo,
        path: &RepoPath,
        run: &Snapshot,
    ) -> Result<(Finding, Vec<Warning>)> {
        let root = repo.real_root()?;
        let done = restore(&self.place, &root, &mut NothingClean)
            .map_err(|error| failed("restore what the program changed in", &root, &error))?;
        let mut saved = Vec::new();
        for (place, name) in &done.saved {
            let Some(path) = in_tree(place) else { continue };
            let stored = self.place.join(name);
            if run.foreign.contains(&path) {
                let place = root.join(OsStr::from_bytes(path.as_bytes()));
                fs::rename(&stored, &place).map_err(|error| failed("restore", &place, &error))?;
            } else {
                saved.push((path, Kept::File(stored)));
            }
        }
        let kept = if saved.is_empty() {
            String::new()
        } else {
            let place = kept_directory::move_to_new(repo, &saved, false)?;
            format!(" What it had written is in {}.", place.shown())
        };
        let finding = Finding::new(
            Code::NotAFile,
            format!(
                "The program put a file in place of the directory {path}, which had files. The \
                 session cannot record that: all changes of the program were put back.{kept}"
            ),
            "Use two runs: one that removes or moves the directory, and one that makes the file.",
        );
        let left = done.left.iter().chain(&done.lost).filter_map(|(place, why)| {
            let message = format!("This was not put back: {why}.");
            let path = Some(in_tree(place)?.text());
            Some(Warning { code: WarningCode::NotRestorable, path, message })
        });
        Ok((finding.with_effect(Effect::Unstated).at(path), left.collect()))
    }
}

fn in_tree(place: &Place) -> Option<RepoPath> {
    match place {
        Place::Tree(path) => Some(RepoPath::from_tree(path)),
        Place::Outside(_) | Place::Stored(_) => None,
    }
}
