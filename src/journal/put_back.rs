//! Files put back, and what of the staged ones may go. Bytes that no commit is known to hold are kept.

use std::io;
use std::path::PathBuf;

use super::files::{InStage, Stage, Stands};
use super::record::FileRecord;
use crate::base::{RepoPath, Result, Warning};
use crate::io::disk::{Move, Parent};
use crate::io::failed;

impl Stage<'_> {
    /// Undoes [`swap`](Stage::swap), whole or not begun. What was displaced and is not known goes back to its place, or is kept under
    /// another name if something else stands there now.
    ///
    /// # Errors
    /// `IO_ERROR` and the like; the next call tries again.
    pub fn put_back(&self, record: &FileRecord) -> Result<PutBack> {
        let (stands, staged) = (self.stands(record)?, self.staged(record)?);
        let happened = match (&record.old, &record.new, staged) {
            (_, Some(_), InStage::New) | (_, None, InStage::Nothing) => false,
            (Some(_), Some(_), InStage::Nothing) => {
                // Replaced without an exchange, or not at all.
                return Ok(match stands {
                    Stands::Old(_) => PutBack::Restored,
                    Stands::New => PutBack::FromBlob,
                    Stands::Other => PutBack::Left,
                });
            }
            _ => true,
        };
        if !happened {
            self.discard(record);
            return Ok(if matches!(stands, Stands::Old(_)) {
                PutBack::Restored
            } else {
                PutBack::Left
            });
        }
        if stands != Stands::New {
            self.discard_if(record, &[InStage::New])?;
            return Ok(if matches!(stands, Stands::Old(_)) {
                PutBack::Restored
            } else {
                PutBack::Left
            });
        }
        self.unswap(record)?;
        let moved = self.staged(record)?;
        if moved == InStage::New || (record.new.is_none() && moved == InStage::Nothing) {
            self.discard(record);
            let known = matches!(staged, InStage::Old | InStage::Nothing);
            return Ok(if known { PutBack::Restored } else { PutBack::Left });
        }
        // Someone wrote between the look and the exchange: theirs goes back, what was displaced is kept.
        self.unswap(record)?;
        self.keep(record)?;
        Ok(PutBack::Left)
    }

    /// Gives what is staged a name of its own if it is a person's: neither what the record replaces, nor the file that it staged, whole or
    /// torn. Says which.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be looked at or kept.
    pub fn keep_foreign(&self, record: &FileRecord) -> Result<Option<PathBuf>> {
        if self.is_own(record) || self.staged(record)? != InStage::Foreign {
            return Ok(None);
        }
        self.keep(record).map(Some)
    }

    /// Whether what is staged is the very file that the record staged, and nobody wrote to it since: a power cut may have torn it.
    fn is_own(&self, record: &FileRecord) -> bool {
        let here = self
            .place(record)
            .ok()
            .and_then(|place| place.stat(record.stage.as_bytes()).ok().flatten());
        here.zip(record.staged)
            .is_some_and(|(here, own)| here.inode() == own.inode() && here.mtime <= own.mtime)
    }

    /// Removes what is staged if it is one of `known`; keeps anything else.
    fn discard_if(&self, record: &FileRecord, known: &[InStage]) -> Result<()> {
        let staged = self.staged(record)?;
        if staged == InStage::Nothing || known.contains(&staged) || self.is_own(record) {
            self.discard(record);
            return Ok(());
        }
        self.keep(record).map(drop)
    }

    /// Gives what is staged a name of its own; says which.
    fn keep(&self, record: &FileRecord) -> Result<PathBuf> {
        let path = RepoPath::from_tree(&record.path);
        let folder = if record.beside {
            self.repo.root_path().join(String::from_utf8_lossy(path.split().0).as_ref())
        } else {
            self.repo.state_path().join("stage")
        };
        let wrap = |error: io::Error| failed("keep", &folder.join(&record.stage), &error);
        let kept = format!(
            "{}kept-{}",
            if record.beside { ".edt-" } else { "" },
            record.stage.trim_start_matches('.')
        );
        let place = self.place(record).map_err(wrap)?;
        place.rename(record.stage.as_bytes(), &place, kept.as_bytes(), Move::New).map_err(wrap)?;
        Ok(folder.join(kept))
    }

    /// Exchanges the two sides again, blindly.
    fn unswap(&self, record: &FileRecord) -> Result<()> {
        let path = RepoPath::from_tree(&record.path);
        let (folder, name) = path.split();
        let wrap = |error: io::Error| {
            failed("put back", &self.repo.root_path().join(path.to_string()), &error)
        };
        // The folder may have gone with its last file, in this very change.
        let Parent::Open(dir) = self.repo.root().make_beneath(folder).map_err(wrap)? else {
            let gone = io::Error::from(io::ErrorKind::NotADirectory);
            return Err(wrap(gone).into());
        };
        let place = self.place(record).map_err(wrap)?;
        let stage = record.stage.as_bytes();
        match (&record.old, &record.new) {
            (Some(_), Some(_)) => place.rename(stage, &dir, name, Move::Exchange).map_err(wrap)?,
            (None, Some(_)) => {
                dir.rename(name, &place, stage, Move::New).map_err(wrap)?;
                self.repo.root().remove_empty_beneath(folder);
            }
            (Some(_), None) => place.rename(stage, &dir, name, Move::New).map_err(wrap)?,
            (None, None) => {}
        }
        Ok(())
    }

    /// Removes what `record` left staged: new bytes that were not needed, or old ones that are in a commit.
    pub fn discard(&self, record: &FileRecord) {
        if let Ok(place) = self.place(record) {
            let _ = place.unlink(record.stage.as_bytes());
        }
        if record.new.is_none() {
            let path = RepoPath::from_tree(&record.path);
            self.repo.root().remove_empty_beneath(path.split().0);
        }
    }

    /// The same, but only of bytes that the record knows; anything else is a person's and is kept under another name.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be looked at.
    pub fn discard_known(&self, record: &FileRecord) -> Result<()> {
        self.discard_if(record, &[InStage::Old, InStage::New])
    }

    /// Removes the displaced file, unless it was written to since it was looked at: then it is kept, and said.
    #[must_use]
    pub fn discard_unless_written(&self, record: &FileRecord) -> Option<Warning> {
        if record.old.as_ref().is_none_or(|(_, _, seen)| self.displaced_is(record, seen)) {
            self.discard(record);
            return None;
        }
        let kept = match self.keep(record) {
            Ok(kept) => kept.display().to_string(),
            Err(_) => format!("{} in edt's folder", record.stage),
        };
        let message = format!(
            "Another program wrote into the file that this edit replaced; what it held is kept as {kept}."
        );
        Some(Warning {
            code: "written_meanwhile",
            path: Some(RepoPath::from_tree(&record.path).to_string()),
            message,
        })
    }
}

/// What became of a file that was to be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutBack {
    /// The old bytes stand there.
    Restored,
    /// Someone's work stands there, and was left alone.
    Left,
    /// The new bytes stand there and the old ones are not staged: they must come from their blob.
    FromBlob,
}
