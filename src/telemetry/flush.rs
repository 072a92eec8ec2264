//! What is spooled, sent.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;

use super::send::{Sent, send};
use super::settings::Settings;
use super::spool::{self, Claim};
use crate::io::clock;

/// How often a server sends what was spooled.
const EVERY: Duration = Duration::from_secs(5);
/// The longest pause of a server whose collector does not take anything.
const SELDOM: Duration = Duration::from_secs(60);
/// How long the end of a server waits for its last spans.
const FAREWELL: Duration = Duration::from_secs(1);
/// The longest that a flush may take.
pub const LONGEST: Duration = Duration::from_secs(60 * 60);
/// The longest that one round of a server takes.
const ROUND: Duration = Duration::from_secs(10);

/// What a flush came to, in spans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Taken by the collector.
    pub sent: u64,
    /// Not wanted by it: gone.
    pub rejected: u64,
    /// Lines that could not be read: gone.
    pub unreadable: u64,
    /// Why it ended before everything was sent.
    pub error: Option<String>,
    /// How long the collector asked to be left alone.
    pub pause: Option<Duration>,
}

/// Sends what is spooled in `folder` within `limit` ([`LONGEST`] at most), the oldest first. What another process has claimed is its business.
///
/// What is not sent stays; what the collector refuses for good goes, and is counted.
#[must_use]
pub fn flush(folder: &Path, settings: &Settings, limit: Duration) -> Flushed {
    let until = clock::now() + limit.min(LONGEST);
    let mut done = Flushed::default();
    match spool::claim(folder) {
        Err(error) => done.error = Some(format!("the spool cannot be read: {error}")),
        Ok(claims) => {
            for claim in claims {
                if !one(claim, settings, until, &mut done) {
                    break;
                }
            }
        }
    }
    if done != Flushed::default() || spool::counts(folder).error.is_some() {
        spool::count(folder, |counts| {
            counts.sent += done.sent;
            counts.rejected += done.rejected;
            counts.unreadable += done.unreadable;
            counts.error.clone_from(&done.error);
        });
    }
    done
}

/// Sends one file; whether the next one may be tried.
fn one(claim: Claim, settings: &Settings, until: Instant, done: &mut Flushed) -> bool {
    let lines = match claim.lines() {
        Ok(lines) => lines,
        Err(error) => {
            done.error = Some(format!("the spool cannot be read: {error}"));
            return true;
        }
    };
    let read: Vec<ExportTraceServiceRequest> =
        lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let unreadable = (lines.len() - read.len()) as u64;
    let request = ExportTraceServiceRequest {
        resource_spans: read.into_iter().flat_map(|one| one.resource_spans).collect(),
    };
    if count(&request) > 0 && !delivered(&request, settings, until, done) {
        return false;
    }
    done.unreadable += unreadable;
    if let Err(error) = claim.remove() {
        done.error =
            Some(format!("what was sent cannot be removed ({error}) and will be sent again"));
        return false;
    }
    true
}

/// Sends it, as often as the collector asks for that and there is time; whether that is decided.
fn delivered(
    request: &ExportTraceServiceRequest,
    settings: &Settings,
    until: Instant,
    done: &mut Flushed,
) -> bool {
    let (spans, before) = (count(request), done.error.clone());
    let mut pause = Duration::from_millis(200);
    loop {
        let left = until.saturating_duration_since(clock::now());
        if left.is_zero() {
            done.error.get_or_insert_with(|| "the time was over".to_owned());
            return false;
        }
        match send(settings, request, left) {
            Sent::Taken(rejected) => {
                done.rejected += rejected.min(spans);
                done.sent += spans - rejected.min(spans);
                done.error = before;
                return true;
            }
            Sent::Refused(why) => {
                done.rejected += spans;
                done.error = Some(why);
                return true;
            }
            Sent::Later(after, why) => {
                done.error = Some(why);
                let wait = after.unwrap_or(pause);
                if wait >= until.saturating_duration_since(clock::now()) {
                    done.pause = after;
                    return false;
                }
                std::thread::sleep(wait);
                pause *= 2;
            }
            Sent::Nobody(why) => {
                done.error = Some(why);
                return false;
            }
        }
    }
}

fn count(request: &ExportTraceServiceRequest) -> u64 {
    let scopes = request.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
    scopes.map(|scope| scope.spans.len() as u64).sum()
}

/// Whom the calls of this process tell that they spooled something.
static FLUSHER: Mutex<Who> = Mutex::new(Who::Nobody);

enum Who {
    /// Nobody: the process is over after its call.
    Nobody,
    /// A thread, once there is something to send.
    Waiting,
    /// This thread; the receiver ends with it.
    Thread(Sender<Told>, Receiver<()>),
}

enum Told {
    Spooled(PathBuf, Box<Settings>),
    End,
}

/// Tells this process's flusher; whether there is one.
pub(super) fn told(folder: &Path, settings: &Settings) -> bool {
    let mut flusher = FLUSHER.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*flusher, Who::Waiting) {
        let (tell, told) = mpsc::channel();
        let (end, over) = mpsc::channel();
        let run = move || {
            rounds(&told);
            drop(end);
        };
        if std::thread::Builder::new().name("telemetry".to_owned()).spawn(run).is_ok() {
            *flusher = Who::Thread(tell, over);
        }
    }
    let spooled = Told::Spooled(folder.to_owned(), Box::new(settings.clone()));
    match &*flusher {
        Who::Nobody => false,
        Who::Waiting => true,
        Who::Thread(tell, _) => tell.send(spooled).is_ok(),
    }
}

/// Sends what the calls of this process spool, from a thread that begins with the first of them.
#[derive(Debug)]
#[must_use = "the last spans are sent when it finishes"]
pub struct Flusher(());

impl Default for Flusher {
    fn default() -> Flusher {
        *FLUSHER.lock().unwrap_or_else(PoisonError::into_inner) = Who::Waiting;
        Flusher(())
    }
}

impl Flusher {
    /// Sends what is left, for a moment at most; what is not sent by then stays spooled.
    pub fn finish(self) {
        let flusher = std::mem::replace(
            &mut *FLUSHER.lock().unwrap_or_else(PoisonError::into_inner),
            Who::Nobody,
        );
        if let Who::Thread(tell, over) = flusher
            && tell.send(Told::End).is_ok()
        {
            let _ = over.recv_timeout(FAREWELL + Duration::from_millis(200));
        }
    }
}

fn rounds(told: &Receiver<Told>) {
    let mut spooled: Vec<(PathBuf, Settings)> = Vec::new();
    let mut pause = EVERY;
    let mut next = clock::now() + pause;
    loop {
        let wait =
            if spooled.is_empty() { SELDOM } else { next.saturating_duration_since(clock::now()) };
        match told.recv_timeout(wait) {
            Ok(Told::Spooled(folder, settings)) => {
                if spooled.is_empty() {
                    next = next.max(clock::now() + EVERY);
                }
                spooled.retain(|(known, _)| *known != folder);
                spooled.push((folder, *settings));
            }
            Err(RecvTimeoutError::Timeout) if spooled.is_empty() => {}
            Err(RecvTimeoutError::Timeout) => {
                let mut asked = None;
                spooled.retain(|(folder, settings)| {
                    let done = flush(folder, settings, ROUND);
                    asked = asked.max(done.pause);
                    done.error.is_some()
                });
                pause = if spooled.is_empty() {
                    EVERY
                } else {
                    (pause * 2).min(SELDOM).max(asked.unwrap_or_default())
                };
                next = clock::now() + pause;
            }
            Ok(Told::End) | Err(RecvTimeoutError::Disconnected) => {
                let until = clock::now() + FAREWELL;
                for (folder, settings) in &spooled {
                    let _ = flush(folder, settings, until.saturating_duration_since(clock::now()));
                }
                return;
            }
        }
    }
}
