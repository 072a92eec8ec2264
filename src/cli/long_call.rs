//! A line about a command that takes longer than a second, for the user at a terminal, and what
//! becomes of it at Ctrl-C.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

use edt_agents::hook::who::Who;
use edt_io::{clock, terminal};

/// The commands that may take long, and what becomes of them if Ctrl-C ends them.
const LONG: [(&str, &str); 9] = [
    ("abandon", RECOVERED),
    ("begin", RECOVERED),
    ("checkpoint", RECOVERED),
    ("gc", "What it had removed stays removed; `edt gc` goes on with the rest."),
    ("land", RECOVERED),
    ("redo", RECOVERED),
    ("restore", RECOVERED),
    ("revert", RECOVERED),
    ("undo", RECOVERED),
];

const RECOVERED: &str =
    "The next command of edt here finishes what it had begun, or rolls it back.";

/// How often the line changes, and how long a command may take without it.
const PERIOD: Duration = Duration::from_secs(1);
/// How long Ctrl-C may wait for its answer.
const TICK: Duration = Duration::from_millis(100);

/// What is written in front of the line.
const START: &str = "\r\u{1b}[K";

/// The state of the line, which is one for the terminal.
#[derive(Debug)]
struct State {
    /// What is said if the command was interrupted.
    interruption: Option<(Arc<AtomicBool>, String)>,
    /// Whether the line is there.
    shown: bool,
    /// Whether the command has printed something, or asks the user.
    over: bool,
}

static STATE: Mutex<State> = Mutex::new(State { interruption: None, shown: false, over: false });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command that is watched until this is dropped.
pub(super) struct LongCall {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

/// Watches the command `name`, if it may take long and the user is at a terminal.
pub(super) fn watch(name: &str) -> Option<LongCall> {
    let (name, words) = LONG.iter().find(|(long, _)| *long == name)?;
    if !terminal::is_interactive() || Who::here() != Who::User {
        return None;
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    flag::register(SIGINT, Arc::clone(&interrupted)).ok()?;
    let text = format!("`edt {name}` was interrupted. {words}\n");
    state().interruption = Some((interrupted, text));
    let ended = Arc::new((Mutex::new(false), Condvar::new()));
    let own = Arc::clone(&ended);
    let thread = thread::spawn(move || {
        let began = clock::now();
        let mut seconds = 0;
        let (lock, changed) = &*own;
        let mut is_over = lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_over {
            let waited = changed.wait_timeout(is_over, TICK);
            is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !*is_over {
                end_if_interrupted(&mut state());
            }
            let now = began.elapsed().as_secs();
            if now > seconds && began.elapsed() >= PERIOD {
                seconds = now;
                show(&format!("edt {name}: {seconds} s"));
            }
        }
    });
    Some(LongCall { ended, thread: Some(thread) })
}

impl Drop for LongCall {
    fn drop(&mut self) {
        let (lock, changed) = &*self.ended;
        *lock.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        let _ = self.thread.take().map(JoinHandle::join);
        clear();
        state().interruption = None;
    }
}

/// Ends this process as Ctrl-C does, and says what becomes of the command.
fn end_if_interrupted(state: &mut State) {
    let interruption = state.interruption.take_if(|(flag, _)| flag.load(Ordering::SeqCst));
    if let Some((_, text)) = interruption {
        write(&format!("{START}{text}"));
        let _ = low_level::emulate_default_handler(SIGINT);
    }
}

/// Ends the line before something else is printed. An interrupted command prints no answer: what
/// Ctrl-C ended below it would look like a refusal.
pub(super) fn clear() {
    let mut state = state();
    end_if_interrupted(&mut state);
    state.over = true;
    if std::mem::take(&mut state.shown) {
        write(START);
    }
}

fn show(text: &str) {
    let mut state = state();
    if !state.over {
        state.shown = true;
        write(&format!("{START}{text}"));
    }
}

fn write(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
