//! What the requests of one server share.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use hyper::body::Bytes;
use tokio::sync::{Notify, mpsc};

use super::guard::Guard;
use crate::action::{Acted, Action};
use crate::contents::{Colours, Contents};
pub(super) use crate::diffs::locked;
use crate::source::Source;

/// What all requests share.
pub(super) struct Shared {
    pub(super) source: Box<dyn Source>,
    pub(super) guard: Mutex<Guard>,
    /// The answer that the next page shows.
    pub(super) acted: Mutex<Option<Answered>>,
    /// The pages that are open.
    pub(super) pages: Mutex<Vec<mpsc::Sender<Bytes>>>,
    /// The colours of texts that were shown before.
    pub(super) colours: Colours,
    pub(super) connections: AtomicUsize,
    /// The time of the last request.
    pub(super) used: Mutex<Option<Instant>>,
    /// Woken when there may be more to read ahead.
    pub(super) unread: Notify,
}

impl Contents for Shared {
    fn blob(&self, hash: &str, max: usize) -> Option<Vec<u8>> {
        self.source.blob(hash, max)
    }
}

/// The answer to an action, and what takes it back.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) acted: Acted,
    pub(super) opposite: Option<Action>,
}

impl Answered {
    pub(super) fn of(action: &Action, acted: Acted) -> Answered {
        let opposite = action.opposite().filter(|_| acted.done);
        Answered { acted, opposite }
    }

    /// Nothing was done, for this reason.
    pub(super) fn nothing(text: &str) -> Answered {
        let acted = Acted { command: String::new(), done: false, text: text.to_owned() };
        Answered { acted, opposite: None }
    }
}

/// Sends an event to every page that is open.
pub(super) fn notify(shared: &Shared, event: &str) {
    let bytes = Bytes::from(format!("event: {event}\ndata: \n\n"));
    for page in locked(&shared.pages).iter() {
        let _ = page.try_send(bytes.clone());
    }
}
