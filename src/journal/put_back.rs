//! Files put back, and what of the staged ones may go. Bytes that no commit is known to hold are kept.

use std::io;

use super::files::{Stage, Stands};
use super::record::FileRecord;
use crate::base::{RepoPath, Result, Warning};
use crate::io::disk::{Move, Parent};
use crate::io::failed;

impl Stage<'_> {
    /// Undoes [`swap`](Stage::swap), whole or not begun, and says whether the old bytes stand there. A file that holds neither side
    /// is someone's work: it is left alone, and what was displaced is kept in edt's folder under another name.
    ///
    /// # Errors
    /// `IO_ERROR` and the like; the next call tries again.
    pub fn put_back(&self, record: &FileRecord) -> Result<bool> {
        match (self.stands(record)?, self.staged(record)?) {
            (Stands::Old(_), _) => {
                self.discard_known(record)?;
                Ok(true)
            }
            (Stands::New, staged) if record.old.is_none() || (staged.is_some() && staged != record.new_file()) => {
                self.unswap(record)?;
                let (moved, wanted) = (self.staged(record)?, record.new_file());
                if moved == wanted {
                    self.discard(record);
                    return Ok(staged == record.old_file());
                }
                // Someone wrote between the look and the exchange: theirs goes back, what was displaced is kept.
                self.unswap(record)?;
                self.keep(record)?;
                Ok(false)
            }
            (Stands::New, _) => Ok(false),
            (Stands::Other, _) => {
                self.keep(record)?;
                Ok(false)
            }
        }
    }

    /// Keeps what is staged under a name of its own, unless it is only the new bytes.
    fn keep(&self, record: &FileRecord) -> Result<()> {
        let staged = self.staged(record)?;
        if staged.is_none() || staged == record.new_file() {
            self.discard(record);
            return Ok(());
        }
        let wrap = |error: io::Error| failed("keep", &self.repo.state_path().join("stage").join(&record.stage), &error);
        let place = self.place(record).map_err(wrap)?;
        place.rename(record.stage.as_bytes(), &self.dir, kept(record).as_bytes(), Move::New).map_err(wrap)?;
        Ok(())
    }

    /// Exchanges the two sides again, blindly.
    fn unswap(&self, record: &FileRecord) -> Result<()> {
        let path = RepoPath::from_tree(&record.path);
        let (folder, name) = path.split();
        let wrap = |error: io::Error| failed("put back", &self.repo.root_path().join(path.to_string()), &error);
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
        let staged = self.staged(record)?;
        if staged.is_none() || staged == record.old_file() || staged == record.new_file() {
            self.discard(record);
            return Ok(());
        }
        self.keep(record)
    }

    /// Removes the displaced file, unless it was written to since it was looked at: then it is kept, and said.
    #[must_use]
    pub fn discard_unless_written(&self, record: &FileRecord) -> Option<Warning> {
        if let Some((_, _, seen)) = &record.old
            && !self.displaced_is(record, seen)
            && self.keep(record).is_ok()
        {
            let path = RepoPath::from_tree(&record.path).to_string();
            let kept = self.repo.state_path().join("stage").join(kept(record));
            let message = format!(
                "Another program wrote into the file that this edit replaced; what it held is kept as {}.",
                kept.display()
            );
            return Some(Warning { code: "written_meanwhile", path: Some(path), message });
        }
        self.discard(record);
        None
    }
}

/// The name under which bytes that nobody recorded are kept.
fn kept(record: &FileRecord) -> String {
    format!("kept-{}", record.stage)
}
