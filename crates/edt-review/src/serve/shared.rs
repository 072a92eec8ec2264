//! What the requests of one server share.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use hyper::body::Bytes;
use tokio::sync::{Notify, mpsc};

use super::guard::Guard;
use crate::action::{Acted, Action};
use crate::ahead::ReadAhead;
pub(super) use crate::diffs::locked;
use crate::hunks::{LineSource, ReviewFile};
use crate::marks::{Mark, Reviewed};
use crate::model::{Extent, SessionReview};
use edt_types::Result;

/// What the page shows and does.
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

/// What all requests share.
pub(super) struct Shared {
    pub(super) source: Box<dyn Source>,
    pub(super) guard: Mutex<Guard>,
    /// The answer that the next page shows.
    pub(super) acted: Mutex<Option<Acted>>,
    /// The pages that are open.
    pub(super) pages: Mutex<Vec<mpsc::Sender<Bytes>>>,
    pub(super) connections: AtomicUsize,
    /// The time of the last request.
    pub(super) used: Mutex<Option<Instant>>,
    /// Woken when there may be more to read ahead.
    pub(super) unread: Notify,
}

/// Sends an event to every page that is open.
pub(super) fn notify(shared: &Shared, event: &str) {
    let bytes = Bytes::from(format!("event: {event}\ndata: \n\n"));
    for page in locked(&shared.pages).iter() {
        let _ = page.try_send(bytes.clone());
    }
}
