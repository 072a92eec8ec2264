//! The terminal: taken over, and given back as it was.

use std::io::{self, Stdout, Write as _};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ratatui_core::buffer::Buffer;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui_crossterm::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui_crossterm::crossterm::{cursor, execute};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::{flag, low_level};

use edt_io::{clock, terminal};

/// How long a key may wait for the news of the thread, and a signal for its answer.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// Whether the terminal is edt's.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while edt draws on it. Dropping it restores the terminal.
pub(super) struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    pub(super) fn enter() -> io::Result<Screen> {
        restore_at_panics();
        take()?;
        fresh().map(Screen)
    }

    /// # Errors
    /// Of the operating system.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        self.0.draw(|frame| draw(frame.buffer_mut())).map(|_| ())
    }

    pub(super) fn enter_again(&mut self) -> io::Result<()> {
        take()?;
        self.0 = fresh()?;
        Ok(())
    }

    /// Stops this process as Ctrl-Z does, and goes on when the shell continues it.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        restore();
        let stopped = low_level::emulate_default_handler(SIGTSTP);
        self.enter_again().and(stopped)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// A terminal that shows nothing yet. A failure restores it. Ratatui's own way to draw all of it again
/// waits for the answer of the terminal to a question, which some never give.
fn fresh() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
    let terminal = execute!(io::stdout(), Clear(ClearType::All)).and(terminal);
    terminal.inspect_err(|_| restore())
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)
        .inspect_err(|_| restore())
}

/// Restores the terminal, if it is taken. A terminal that is gone has nothing to restore.
pub(super) fn restore() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let _ = execute!(out, cursor::Show, DisableBracketedPaste, LeaveAlternateScreen);
        let _ = out.flush();
        let _ = disable_raw_mode();
    }
}

/// A panic is reported on the restored terminal.
fn restore_at_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            report(panic);
        }));
    });
}

/// What asks edt to end: signals, and the loss of the terminal.
#[derive(Debug)]
pub(super) struct Signals(Arc<AtomicBool>);

/// How long the view may go on after it was asked to end.
const LAST_SECOND: Duration = Duration::from_secs(1);

impl Signals {
    /// From now on these signals no longer end this process. A view that does not end within a
    /// second, because its terminal is gone or takes no output, is ended once `is_busy` is false.
    pub(super) fn watch(is_busy: impl Fn() -> bool + Send + 'static) -> io::Result<Signals> {
        let received = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            flag::register(signal, Arc::clone(&received))?;
        }
        let own = Arc::clone(&received);
        thread::Builder::new().spawn(move || guard(&own, &is_busy))?;
        Ok(Signals(received))
    }

    pub(super) fn end(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Ends the process in place of a view that cannot. Reading from a terminal that is gone does not
/// return.
fn guard(received: &AtomicBool, is_busy: &dyn Fn() -> bool) {
    let mut signal = SIGTERM;
    while !received.load(Ordering::SeqCst) {
        thread::sleep(TICK);
        if terminal::is_gone() {
            signal = SIGHUP;
            received.store(true, Ordering::SeqCst);
        }
    }
    // The terminal may be taken again later: the user's editor has it meanwhile.
    loop {
        thread::sleep(LAST_SECOND);
        if IS_TAKEN.load(Ordering::SeqCst) {
            break;
        }
    }
    // A terminal that takes no output would hold up this thread, too.
    let restoring = thread::spawn(restore);
    let began = clock::now();
    while !restoring.is_finished() && began.elapsed() < LAST_SECOND || is_busy() {
        thread::sleep(TICK);
    }
    let _ = low_level::emulate_default_handler(signal);
}
