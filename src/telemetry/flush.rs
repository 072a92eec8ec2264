//! Sends the spooled spans.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;

use super::send::{SendResult, send};
use super::settings::Settings;
use super::spool::{self, Claim};
use edt_io::clock;

/// The interval at which a server sends the spool.
const INTERVAL: Duration = Duration::from_secs(5);
/// The longest pause of a server whose collector is unavailable.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// The time for a server to send its last spans when it ends.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(1);
/// The longest time limit of a flush.
pub(crate) const MAX_FLUSH: Duration = Duration::from_secs(60 * 60);
/// The time limit of one round of a server.
const MAX_ROUND: Duration = Duration::from_secs(10);

/// The result of a flush, in spans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flushed {
    /// Accepted by the collector.
    pub sent: u64,
    /// Rejected by the collector: lost.
    pub rejected: u64,
    /// Lines that could not be read: lost.
    pub unreadable: u64,
    /// Why it ended before everything was sent.
    pub error: Option<String>,
    /// The pause that the collector asked for.
    pub pause: Option<Duration>,
}

/// Sends the spool in `directory` within `limit` ([`MAX_FLUSH`] at most), the oldest first. Files
/// that another process has claimed are skipped.
///
/// Spans that were not sent stay spooled. Spans that the collector rejects for good are removed and
/// counted.
#[must_use]
pub(crate) fn flush(directory: &Path, settings: &Settings, limit: Duration) -> Flushed {
    let until = clock::now() + limit.min(MAX_FLUSH);
    let mut done = Flushed::default();
    match spool::claim(directory) {
        Err(error) => done.error = Some(format!("the spool cannot be read: {error}")),
        Ok(claims) => {
            for claim in claims {
                if !one(claim, settings, until, &mut done) {
                    break;
                }
            }
        }
    }
    if done != Flushed::default() || spool::counts(directory).error.is_some() {
        spool::count(directory, |counts| {
            counts.sent += done.sent;
            counts.rejected += done.rejected;
            counts.unreadable += done.unreadable;
            counts.error.clone_from(&done.error);
        });
    }
    done
}

/// Sends one file. Returns whether the next file may be tried.
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
        done.error = Some(format!(
            "the spans were sent but cannot be removed ({error}), so they will be sent again"
        ));
        return false;
    }
    true
}

/// Sends `request`, and repeats it while the collector asks for that and time is left. Returns
/// whether the collector accepted or rejected it.
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
            done.error.get_or_insert_with(|| "the time limit was reached".to_owned());
            return false;
        }
        match send(settings, request, left) {
            SendResult::Accepted(rejected) => {
                done.rejected += rejected.min(spans);
                done.sent += spans - rejected.min(spans);
                done.error = before;
                return true;
            }
            SendResult::Rejected(why) => {
                done.rejected += spans;
                done.error = Some(why);
                return true;
            }
            SendResult::Retry(after, why) => {
                done.error = Some(why);
                let wait = after.unwrap_or(pause);
                if wait >= until.saturating_duration_since(clock::now()) {
                    done.pause = after;
                    return false;
                }
                std::thread::sleep(wait);
                pause *= 2;
            }
            SendResult::Unreachable(why) => {
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

/// The flusher of this process, which calls notify after they spooled spans.
static FLUSHER: Mutex<FlusherState> = Mutex::new(FlusherState::Off);

enum FlusherState {
    /// The process has no flusher, because it ends after its call.
    Off,
    /// The thread is started when there is something to send.
    Waiting,
    /// The thread runs; the receiver disconnects when it ends.
    Thread(Sender<FlusherMessage>, Receiver<()>),
}

enum FlusherMessage {
    Spooled(PathBuf, Box<Settings>),
    End,
}

/// Notifies this process's flusher. Returns whether it has one.
pub(super) fn notify_flusher(directory: &Path, settings: &Settings) -> bool {
    let mut flusher = FLUSHER.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*flusher, FlusherState::Waiting) {
        let (sender, messages) = mpsc::channel();
        let (end, over) = mpsc::channel();
        let run = move || {
            run_rounds(&messages);
            drop(end);
        };
        if std::thread::Builder::new().name("telemetry".to_owned()).spawn(run).is_ok() {
            *flusher = FlusherState::Thread(sender, over);
        }
    }
    let spooled = FlusherMessage::Spooled(directory.to_owned(), Box::new(settings.clone()));
    match &*flusher {
        FlusherState::Off => false,
        FlusherState::Waiting => true,
        FlusherState::Thread(sender, _) => sender.send(spooled).is_ok(),
    }
}

/// Sends the spans of this process's calls, on a thread that starts with the first of them.
#[derive(Debug)]
#[must_use = "the last spans are sent when it finishes"]
pub(crate) struct Flusher(());

impl Default for Flusher {
    fn default() -> Flusher {
        *FLUSHER.lock().unwrap_or_else(PoisonError::into_inner) = FlusherState::Waiting;
        Flusher(())
    }
}

impl Flusher {
    /// Sends the remaining spans for about one second; the rest stays spooled.
    #[allow(clippy::unused_self, reason = "it ends the flusher")]
    pub(crate) fn finish(self) {
        let flusher = std::mem::replace(
            &mut *FLUSHER.lock().unwrap_or_else(PoisonError::into_inner),
            FlusherState::Off,
        );
        if let FlusherState::Thread(sender, over) = flusher
            && sender.send(FlusherMessage::End).is_ok()
        {
            let _ = over.recv_timeout(SHUTDOWN_LIMIT + Duration::from_millis(200));
        }
    }
}

fn run_rounds(messages: &Receiver<FlusherMessage>) {
    let mut spooled: Vec<(PathBuf, Settings)> = Vec::new();
    let mut pause = INTERVAL;
    let mut next = clock::now() + pause;
    loop {
        let wait = if spooled.is_empty() {
            MAX_PAUSE
        } else {
            next.saturating_duration_since(clock::now())
        };
        match messages.recv_timeout(wait) {
            Ok(FlusherMessage::Spooled(directory, settings)) => {
                if spooled.is_empty() {
                    next = next.max(clock::now() + INTERVAL);
                }
                spooled.retain(|(known, _)| *known != directory);
                spooled.push((directory, *settings));
            }
            Err(RecvTimeoutError::Timeout) if spooled.is_empty() => {}
            Err(RecvTimeoutError::Timeout) => {
                let mut asked = None;
                spooled.retain(|(directory, settings)| {
                    let done = flush(directory, settings, MAX_ROUND);
                    asked = asked.max(done.pause);
                    done.error.is_some()
                });
                pause = if spooled.is_empty() {
                    INTERVAL
                } else {
                    (pause * 2).min(MAX_PAUSE).max(asked.unwrap_or_default())
                };
                next = clock::now() + pause;
            }
            Ok(FlusherMessage::End) | Err(RecvTimeoutError::Disconnected) => {
                let until = clock::now() + SHUTDOWN_LIMIT;
                for (directory, settings) in &spooled {
                    let _ =
                        flush(directory, settings, until.saturating_duration_since(clock::now()));
                }
                return;
            }
        }
    }
}
