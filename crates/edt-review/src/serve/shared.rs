//! What the requests of one server share.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
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

/// How many answers are kept.
const MAX_ANSWERS: usize = 32;

/// What all requests share.
pub(super) struct Shared {
    pub(super) source: Box<dyn Source>,
    pub(super) guard: Mutex<Guard>,
    /// The answers to the latest actions.
    pub(super) acted: Mutex<Answers>,
    /// The pages that are open.
    pub(super) pages: Mutex<Vec<Page>>,
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
#[derive(Debug, Clone)]
pub(super) struct Answered {
    pub(super) acted: Acted,
    pub(super) opposite: Option<Action>,
    /// The session's tip afterwards: the opposite is about no other.
    pub(super) tip: Option<String>,
}

impl Answered {
    /// The answer to an action; `before` and `tip` are the session's tips before and after it. What
    /// moved no tip is not undone: that would undo the step before it.
    pub(super) fn of(action: &Action, acted: Acted, before: &str, tip: Option<String>) -> Answered {
        let moved = || tip.as_deref().is_some_and(|tip| tip != before);
        let is_made = |opposite: &Action| *opposite == Action::UndoLanding || moved();
        let opposite = action.opposite().filter(|_| acted.done).filter(is_made);
        Answered { acted, opposite, tip }
    }

    /// What takes it back while the session's tip is `tip`.
    pub(super) fn opposite_at(&self, tip: &str) -> Option<&Action> {
        self.opposite.as_ref().filter(|_| self.tip.as_deref() == Some(tip))
    }

    /// Nothing was done, for this reason.
    pub(super) fn nothing(text: &str) -> Answered {
        let acted = Acted { command: String::new(), done: false, text: text.to_owned() };
        Answered { acted, opposite: None, tip: None }
    }
}

/// The answers to the latest actions, each for the page that the browser is led to.
#[derive(Debug, Default)]
pub(super) struct Answers {
    last: u64,
    kept: VecDeque<(u64, Answered)>,
}

impl Answers {
    /// Keeps an answer, and returns its number.
    pub(super) fn keep(&mut self, answer: Answered) -> u64 {
        self.last += 1;
        self.kept.push_back((self.last, answer));
        if self.kept.len() > MAX_ANSWERS {
            self.kept.pop_front();
        }
        self.last
    }

    /// The answer with this number, if it is kept.
    pub(super) fn get(&self, number: u64) -> Option<&Answered> {
        self.kept.iter().find(|(other, _)| *other == number).map(|(_, answer)| answer)
    }
}

/// A page that is open.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) events: mpsc::Sender<Bytes>,
    /// The state of the repository that it shows.
    pub(super) state: String,
}

impl Page {
    pub(super) fn send(&self, event: &str, data: &str) {
        let _ = self.events.try_send(Bytes::from(format!("event: {event}\ndata: {data}\n\n")));
    }
}

/// Sends an event to every page that is open.
pub(super) fn notify(shared: &Shared, event: &str) {
    locked(&shared.pages).iter().for_each(|page| page.send(event, ""));
}

impl Shared {
    /// The state of the repository, as a short word.
    pub(super) fn state(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.source.state().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}
