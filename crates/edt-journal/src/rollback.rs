//! Puts files back, and decides which staged files may be removed. Bytes that no commit is known to
//! have are preserved.

use std::io;
use std::path::PathBuf;

use super::files::{StagedState, StagingArea, TargetState};
use super::record::FileRecord;
use edt_io::disk::{Parent, RenameMode, Stat};
use edt_io::failed;
use edt_types::text::Shown as _;
use edt_types::{RepoPath, Result, Warning, WarningCode};

impl StagingArea<'_> {
    /// Undoes [`swap`](StagingArea::swap), which may be complete or not begun. A displaced file
    /// with unknown content goes back to its place. If something else is there now, the file is
    /// preserved under another name.
    ///
    /// # Errors
    /// `IO_ERROR` and others of the disk; the next call tries again.
    pub fn roll_back(&self, record: &FileRecord) -> Result<Rollback> {
        self.end_rename(record)?;
        let current = self.target_state(record)?;
        let is_untouched = match (&record.old, &current) {
            (Some((_, _, seen)), TargetState::Old(Some(stat))) => stat.same_content_as(seen),
            (None, TargetState::Old(None)) => true,
            _ => false,
        };
        if is_untouched {
            // Nothing was exchanged, so that what is staged is edt's, complete or not.
            self.discard(record);
            return Ok(Rollback::Restored);
        }
        let staged = self.staged(record)?;
        let is_change = record.old.is_some() && record.new.is_some();
        if is_change
            && current == TargetState::New
            && matches!(staged, StagedState::Nothing | StagedState::Old)
            && !self.can_exchange(record)?
        {
            return Ok(Rollback::FromBlob);
        }
        let happened = match staged {
            StagedState::New => record.new.is_none(),
            // An exchange leaves a file here. Without one, what is in place is someone else's.
            StagedState::Nothing => record.new.is_some() && !is_change,
            _ => true,
        };
        if !happened {
            self.discard(record);
            return Ok(if matches!(current, TargetState::Old(_)) {
                Rollback::Restored
            } else {
                Rollback::Left(None)
            });
        }
        if current != TargetState::New {
            let kept = self.discard_if(record, &[StagedState::New])?;
            return Ok(if matches!(current, TargetState::Old(_)) {
                Rollback::Restored
            } else {
                Rollback::Left(kept)
            });
        }
        self.swap_back(record)?;
        let moved = self.staged(record)?;
        if moved == StagedState::New || (record.new.is_none() && moved == StagedState::Nothing) {
            self.discard(record);
            let known = matches!(staged, StagedState::Old | StagedState::Nothing);
            return Ok(if known { Rollback::Restored } else { Rollback::Left(None) });
        }
        // Someone wrote between the check and the exchange. Their file goes back to its place, and
        // the displaced file is preserved.
        self.swap_back(record)?;
        Ok(Rollback::Left(Some(self.preserve(record)?)))
    }

    /// Whether this file system can exchange the file of `record` with a staged one.
    fn can_exchange(&self, record: &FileRecord) -> Result<bool> {
        let can =
            self.staging_dir(record).and_then(|dir| dir.can_exchange(record.stage.as_bytes()));
        let path = RepoPath::from_tree(&record.path);
        Ok(can.map_err(|error| {
            failed("put back", &self.repo.root_path().join(path.text()), &error)
        })?)
    }

    /// Undoes a rename of which only the new name is there: the file has both. It was done by a link
    /// and a removal. A file that someone has written to since keeps its place.
    fn end_rename(&self, record: &FileRecord) -> Result<()> {
        let both = self.stat(record).zip(self.staged_stat(record));
        if both.is_none_or(|(target, staged)| target.inode() != staged.inode()) {
            return Ok(());
        }
        if record.new.is_none() || self.staged(record)? != StagedState::New {
            self.discard(record);
            return Ok(());
        }
        let path = RepoPath::from_tree(&record.path);
        let (directory, name) = path.split();
        if let Ok(Parent::Open(dir)) = self.repo.root().beneath(directory) {
            dir.unlink(name).map_err(|error| {
                failed("put back", &self.repo.root_path().join(path.text()), &error)
            })?;
            self.repo.root().remove_empty_beneath(directory);
        }
        Ok(())
    }

    /// The stat of what has the staged name.
    fn staged_stat(&self, record: &FileRecord) -> Option<Stat> {
        let staging = self.staging_dir(record).ok()?;
        staging.stat(record.stage.as_bytes()).ok().flatten()
    }

    /// Removes the staged file if its state is in `known`; otherwise preserves it. Returns the path
    /// of a preserved file.
    fn discard_if(&self, record: &FileRecord, known: &[StagedState]) -> Result<Option<PathBuf>> {
        let staged = self.staged(record)?;
        if staged == StagedState::Nothing || known.contains(&staged) {
            self.discard(record);
            return Ok(None);
        }
        self.preserve(record).map(Some)
    }

    /// Renames the staged file so that nothing overwrites it. Returns its new path.
    fn preserve(&self, record: &FileRecord) -> Result<PathBuf> {
        let path = RepoPath::from_tree(&record.path);
        let directory = if record.on_mount {
            self.repo.root_path().join(String::from_utf8_lossy(path.split().0).as_ref())
        } else {
            self.repo.state_path().join("stage")
        };
        let wrap = |error: io::Error| failed("keep", &directory.join(&record.stage), &error);
        let kept = format!(
            "{}kept-{}",
            if record.on_mount { ".edt-" } else { "" },
            record.stage.trim_start_matches('.')
        );
        let staging = self.staging_dir(record).map_err(wrap)?;
        staging
            .rename(record.stage.as_bytes(), &staging, kept.as_bytes(), RenameMode::NoReplace)
            .map_err(wrap)?;
        Ok(directory.join(kept))
    }

    /// Reverses the exchange without a check.
    fn swap_back(&self, record: &FileRecord) -> Result<()> {
        let path = RepoPath::from_tree(&record.path);
        let (directory, name) = path.split();
        let wrap =
            |error: io::Error| failed("put back", &self.repo.root_path().join(path.text()), &error);
        // The change itself may have removed the directory with its last file.
        let Parent::Open(dir) = self.repo.root().make_beneath(directory).map_err(wrap)? else {
            let gone = io::Error::from(io::ErrorKind::NotADirectory);
            return Err(wrap(gone).into());
        };
        let staging = self.staging_dir(record).map_err(wrap)?;
        let stage = record.stage.as_bytes();
        match (&record.old, &record.new) {
            (Some(_), Some(_)) => {
                staging.rename(stage, &dir, name, RenameMode::Exchange).map_err(wrap)?;
            }
            (None, Some(_)) => {
                dir.take(name, &staging, stage).map_err(wrap)?;
                self.repo.root().remove_empty_beneath(directory);
            }
            (Some(_), None) => {
                staging.rename(stage, &dir, name, RenameMode::NoReplace).map_err(wrap)?;
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// Removes the staged file of `record`: new bytes that are not needed, or old ones that a
    /// commit has.
    pub fn discard(&self, record: &FileRecord) {
        if let Ok(staging) = self.staging_dir(record) {
            let _ = staging.unlink(record.stage.as_bytes());
        }
        if record.new.is_none() {
            let path = RepoPath::from_tree(&record.path);
            self.repo.root().remove_empty_beneath(path.split().0);
        }
    }

    /// As [`discard`](StagingArea::discard), but only if the record knows the content; a user's
    /// file is preserved. Returns its new path.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn discard_known(&self, record: &FileRecord) -> Result<Option<PathBuf>> {
        self.discard_if(record, &[StagedState::Old, StagedState::New])
    }

    /// As [`discard_known`](StagingArea::discard_known), but an old file is preserved, too.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn discard_new(&self, record: &FileRecord) -> Result<Option<PathBuf>> {
        self.discard_if(record, &[StagedState::New])
    }

    /// Removes the displaced file, unless someone has written to it since the check. Such a file is
    /// preserved, and the warning names it.
    #[must_use]
    pub fn discard_unless_written(&self, record: &FileRecord) -> Option<Warning> {
        if record.old.as_ref().is_none_or(|(_, _, seen)| self.displaced_is(record, seen)) {
            self.discard(record);
            return None;
        }
        let kept = match self.preserve(record) {
            Ok(kept) => kept.shown(),
            Err(_) => format!("{} in edt's directory", record.stage),
        };
        let message = format!(
            "Another program wrote to the file that this edit replaced. That content is kept as \
             {kept}."
        );
        Some(Warning {
            code: WarningCode::WrittenMeanwhile,
            path: Some(RepoPath::from_tree(&record.path).text()),
            message,
        })
    }
}

/// The result of a rollback of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rollback {
    /// The old content is back in its place.
    Restored,
    /// Someone else's content is in place and was not changed. The path of a displaced file that
    /// was preserved.
    Left(Option<PathBuf>),
    /// The new content is in place, and this file system cannot exchange files. The caller must
    /// restore the old one from its blob.
    FromBlob,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, staged, stat};
    use edt_types::RepoPath;

    const TWO: &[(&str, Option<&str>)] = &[("a.txt", Some("two\n"))];

    #[test]
    fn what_has_not_been_exchanged_is_only_discarded() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stage = StagingArea::open(&repo).unwrap();
        let record = staged(&stage, &scratch.change(&repo, TWO).files[0], 0);
        assert_eq!(stage.roll_back(&record), Ok(Rollback::Restored));
        assert_eq!(stage.staged(&record), Ok(StagedState::Nothing));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
    }

    #[test]
    fn what_was_half_staged_is_discarded() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stage = StagingArea::open(&repo).unwrap();
        for (path, before) in [("a.txt", Some("one\n")), ("new.txt", None)] {
            let record =
                staged(&stage, &scratch.change(&repo, &[(path, Some("two\n"))]).files[0], 0);
            std::fs::write(repo.state_path().join("stage/tx-0"), "tw").unwrap();
            assert_eq!(stage.roll_back(&record), Ok(Rollback::Restored));
            assert_eq!(stage.staged(&record), Ok(StagedState::Nothing));
            assert_eq!(scratch.text(path).as_deref(), before);
        }
    }

    #[test]
    fn what_has_been_exchanged_goes_back() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let before = stat(&repo, &RepoPath::parse(b"a.txt").unwrap()).unwrap();
        let stage = StagingArea::open(&repo).unwrap();
        let record = staged(&stage, &scratch.change(&repo, TWO).files[0], 0);
        stage.swap(&record).unwrap();
        assert_eq!(stage.staged(&record), Ok(StagedState::Old));
        assert_eq!(stage.roll_back(&record), Ok(Rollback::Restored));
        let after = stat(&repo, &RepoPath::parse(b"a.txt").unwrap()).unwrap();
        assert_eq!(after.inode(), before.inode());
    }

    #[test]
    fn a_file_with_both_names_loses_the_later_one() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stage = StagingArea::open(&repo).unwrap();
        for (path, new) in [("new/x.txt", Some("new\n")), ("a.txt", None)] {
            let record = staged(&stage, &scratch.change(&repo, &[(path, new)]).files[0], 0);
            let (target, from) = (scratch.root().join(path), repo.state_path().join("stage/tx-0"));
            if new.is_some() {
                std::fs::create_dir(target.parent().unwrap()).unwrap();
                std::fs::hard_link(from, &target).unwrap();
            } else {
                std::fs::hard_link(&target, from).unwrap();
            }
            assert_eq!(stage.roll_back(&record), Ok(Rollback::Restored), "{path}");
            assert_eq!(stage.staged(&record), Ok(StagedState::Nothing), "{path}");
        }
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
        assert!(!scratch.root().join("new").exists());
    }

    #[test]
    fn a_text_that_someone_wrote_after_the_exchange_is_left() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stage = StagingArea::open(&repo).unwrap();
        let record = staged(&stage, &scratch.change(&repo, TWO).files[0], 0);
        stage.swap(&record).unwrap();
        scratch.write("a.txt", "mine\n");
        let kept = repo.state_path().join("stage/kept-tx-0");
        assert_eq!(stage.roll_back(&record), Ok(Rollback::Left(Some(kept.clone()))));
        assert_eq!(std::fs::read_to_string(kept).unwrap(), "one\n");
        assert_eq!(scratch.text("a.txt").as_deref(), Some("mine\n"));
    }

    #[test]
    fn a_file_with_both_names_that_someone_wrote_to_stays() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stage = StagingArea::open(&repo).unwrap();
        let record =
            staged(&stage, &scratch.change(&repo, &[("x.txt", Some("new\n"))]).files[0], 0);
        let from = repo.state_path().join("stage/tx-0");
        std::fs::hard_link(from, scratch.root().join("x.txt")).unwrap();
        scratch.write("x.txt", "mine\n");
        assert_eq!(stage.roll_back(&record), Ok(Rollback::Left(None)));
        assert_eq!(stage.staged(&record), Ok(StagedState::Nothing));
        assert_eq!(scratch.text("x.txt").as_deref(), Some("mine\n"));
    }

    #[test]
    fn bytes_that_someone_wrote_before_any_was_staged_are_left() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stage = StagingArea::open(&repo).unwrap();
        let record = stage.record(&scratch.change(&repo, TWO).files[0], "tx", 0).unwrap();
        scratch.write("a.txt", "two\n");
        assert_eq!(stage.roll_back(&record), Ok(Rollback::Left(None)));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        let stage = std::fs::read_dir(repo.state_path().join("stage")).unwrap();
        assert_eq!(stage.count(), 0);
    }

    #[test]
    fn a_displaced_file_that_someone_wrote_to_is_kept_under_another_name() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stage = StagingArea::open(&repo).unwrap();
        let record = staged(&stage, &scratch.change(&repo, TWO).files[0], 0);
        stage.swap(&record).unwrap();
        std::fs::write(repo.state_path().join("stage/tx-0"), "mine\n").unwrap();
        let kept = repo.state_path().join("stage/kept-tx-0");
        assert_eq!(
            stage.discard_unless_written(&record),
            Some(Warning {
                code: WarningCode::WrittenMeanwhile,
                path: Some("a.txt".to_owned()),
                message: format!(
                    "Another program wrote to the file that this edit replaced. That content is kept as \
                 {}.",
                    kept.display()
                ),
            })
        );
        assert_eq!(std::fs::read_to_string(kept).unwrap(), "mine\n");
    }

    #[test]
    fn a_displaced_file_that_nobody_wrote_to_is_removed() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stage = StagingArea::open(&repo).unwrap();
        let record = staged(&stage, &scratch.change(&repo, TWO).files[0], 0);
        stage.swap(&record).unwrap();
        assert_eq!(stage.discard_unless_written(&record), None);
        assert_eq!(stage.staged(&record), Ok(StagedState::Nothing));
    }
}
