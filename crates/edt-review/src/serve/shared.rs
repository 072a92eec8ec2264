//! What the requests of one server share.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use hyper::body::Bytes;
use tokio::sync::{Notify, mpsc};

use super::guard::Guard;
use crate::action::Acted;
pub(super) use crate::diffs::locked;
use crate::source::Source;

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
