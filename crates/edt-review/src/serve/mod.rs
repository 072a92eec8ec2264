//! The page of a session, served to one browser on this host.
//!
//! The server listens on the loopback interface at a port that the system chooses. Its link works
//! once and gives the browser a cookie. Requests for other host names, of other sites and without
//! the cookie are refused. Every change is an action of [`Source::act`].

mod body;
mod forms;
mod guard;
mod requests;
mod shared;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use crate::contents::Colours;
pub use crate::source::Source;
use edt_io::{clock, signals};
use guard::Guard;
use shared::{Shared, locked, notify};

/// How long the server waits for a page that nobody opened.
const UNOPENED: Duration = Duration::from_secs(600);
/// How long it goes on after the last page was closed.
const CLOSED: Duration = Duration::from_secs(60);
/// How often the state of the repository is read.
const PERIOD: Duration = Duration::from_secs(1);
/// The most connections at one time.
const MAX_CONNECTIONS: usize = 64;
/// How long a client may take for the headers of a request.
const HEADERS: Duration = Duration::from_secs(10);

/// Why the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A signal such as Ctrl-C.
    Interrupted,
    /// The page was closed, or nobody opened it.
    Closed,
}

/// Serves `source` until a signal arrives, or the page was closed for a minute. `started` gets the
/// link.
///
/// # Errors
/// Of the operating system: no port, no random bytes.
pub fn serve(source: Box<dyn Source>, started: impl FnOnce(&str)) -> io::Result<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(run(source, started));
    // An action that runs is finished: dropping the runtime waits for it.
    drop(runtime);
    ended
}

async fn run(source: Box<dyn Source>, started: impl FnOnce(&str)) -> io::Result<Ended> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let guard = Guard::new(listener.local_addr()?.port())?;
    let link = guard.link();
    let shared = Arc::new(Shared {
        source,
        guard: Mutex::new(guard),
        acted: Mutex::default(),
        colours: Colours::default(),
        pages: Mutex::default(),
        connections: AtomicUsize::new(0),
        used: Mutex::default(),
        unread: Notify::new(),
    });
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let hangup = SignalKind::hangup();
    // A handler would end what `nohup` started.
    let is_ignored = signals::is_ignored(hangup.as_raw_value());
    let mut hangup = if is_ignored { None } else { Some(signal(hangup)?) };
    started(&link);
    let ended = tokio::select! {
        () = accept(&listener, &shared) => Ended::Closed,
        () = read_ahead(&shared) => Ended::Closed,
        () = watch(&shared) => Ended::Closed,
        _ = interrupt.recv() => Ended::Interrupted,
        _ = terminate.recv() => Ended::Interrupted,
        () = received(hangup.as_mut()) => Ended::Interrupted,
    };
    notify(&shared, "ended");
    // The last event reaches the pages.
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(ended)
}

/// Waits for the signal; for ever without one.
async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if shared.connections.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
            continue;
        }
        let shared = Arc::clone(shared);
        shared.connections.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let service = service_fn(|request| requests::answer(Arc::clone(&shared), request));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEADERS);
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            shared.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Reads what pages lack, and reports it to them: at first, and after each change. Never ends.
async fn read_ahead(shared: &Arc<Shared>) {
    loop {
        let source = Arc::clone(shared);
        let ahead = tokio::task::spawn_blocking(move || source.source.read_ahead()).await;
        let ahead = ahead.ok().and_then(Result::ok);
        if ahead.is_some_and(|ahead| ahead.read > 0) {
            notify(shared, "read");
        }
        if ahead.is_none_or(|ahead| ahead.complete) {
            shared.unread.notified().await;
        }
    }
}

/// Reads the state of the repository once a period while a page is open, and reports it to each page
/// that shows another one. Ends when no page is left.
async fn watch(shared: &Arc<Shared>) {
    let began = clock::now();
    let mut known: Option<String> = None;
    loop {
        tokio::time::sleep(PERIOD).await;
        let open = {
            let mut pages = locked(&shared.pages);
            pages.retain(|page| !page.events.is_closed());
            pages.len()
        };
        if open == 0 {
            let used = *locked(&shared.used);
            let is_over = used.map_or(began.elapsed() > UNOPENED, |used| used.elapsed() > CLOSED);
            if is_over {
                return;
            }
            continue;
        }
        *locked(&shared.used) = Some(clock::now());
        let source = Arc::clone(shared);
        let state = tokio::task::spawn_blocking(move || source.state());
        let Ok(state) = state.await else { continue };
        for page in locked(&shared.pages).iter_mut().filter(|page| page.state != state) {
            page.send("changed", &state);
            page.state.clone_from(&state);
        }
        if known.as_ref() != Some(&state) {
            shared.unread.notify_one();
        }
        known = Some(state);
    }
}
