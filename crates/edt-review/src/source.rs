//! Where a view of a session gets its values, and what it does.

use crate::action::{Acted, Action};
use crate::ahead::ReadAhead;
use crate::hunks::{LineSource, ReviewFile};
use crate::marks::{Mark, Reviewed};
use crate::model::{Extent, SessionReview};
use edt_types::Result;

/// What the page and the view in a terminal show and do.
pub trait Source: Send + Sync + 'static {
    /// The session as it is now.
    ///
    /// # Errors
    /// Those of [`Reader::read`](crate::Reader::read), and `NO_SESSION` if it is gone.
    fn read(&self, extent: Extent<'_>) -> Result<SessionReview>;

    /// Reads for a part of a second what [`Source::read`] left unread.
    ///
    /// # Errors
    /// As [`Source::read`].
    fn read_ahead(&self) -> Result<ReadAhead>;

    /// The session's tip, and who wrote each line of the file `path` there.
    ///
    /// # Errors
    /// As [`Source::read`].
    fn line_sources(&self, path: &str) -> Result<(String, Vec<LineSource>)>;

    /// A file with all its hunks: of the step with this commit, or of the session as a whole.
    ///
    /// # Errors
    /// Those of [`whole_file`](crate::model::whole_file).
    fn whole(&self, commit: Option<&str>, path: &str) -> Result<Option<ReviewFile>>;

    /// The blob with this hex object id, if it is there and has at most `max` bytes.
    fn blob(&self, hash: &str, max: usize) -> Option<Vec<u8>>;

    /// The content of the worktree's file at `path`, if it is the blob with this hex object id and has
    /// at most `max` bytes. Git has no object of what is uncommitted.
    fn worktree_blob(&self, _path: &str, _hash: &str, _max: usize) -> Option<Vec<u8>> {
        None
    }

    /// A text that differs if the session changed. It is cheap.
    fn state(&self) -> String;

    /// Stores that a file with its content before and after was reviewed, or was not.
    ///
    /// # Errors
    /// Those of [`Marks::set`](crate::marks::Marks::set), and of opening the repository.
    fn mark(&self, mark: Mark, reviewed: Reviewed) -> Result<()>;

    /// Does what the user chose.
    fn act(&self, action: &Action) -> Acted;
}
