//! A session in a terminal: the list of its entries on the left, the diff of one on the right.
//!
//! A thread reads the session and runs the commands, so that keys are answered meanwhile. Every
//! change is an action of [`Source::act`]. The terminal is restored at the end, at a signal and at
//! a panic.

mod app;
mod ask;
mod comments;
mod diff_lines;
mod draw;
mod entries;
mod keys;
mod refused;
mod revert;
mod row;
mod rows;
mod screen;
mod search;
mod spot;
mod text;
mod worker;

use std::io;
use std::sync::Arc;

use ratatui_crossterm::crossterm::event::{self, Event, KeyEventKind};

use crate::source::Source;
use app::{App, Effect};
use screen::{Screen, Signals, TICK};
use worker::{Job, Worker};

/// How the view looks, and what it may ask the user for.
pub struct Options {
    /// Whether the terminal shows colours.
    pub colours: bool,
    /// The user's editor.
    pub edit: Editor,
}

/// Lets the user change a text, in a terminal that is meanwhile as edt found it. The result is
/// `None` if no editor could be started.
pub type Editor = Box<dyn Fn(&str) -> Option<String>>;

/// Shows `source` until the user ends it, a signal arrives or the terminal is gone. A command that
/// runs is finished.
///
/// # Errors
/// Of the operating system: the terminal cannot be read or written. It is restored.
pub fn run(source: Box<dyn Source>, options: &Options) -> io::Result<()> {
    let mut worker = Worker::start(Arc::from(source));
    let signals = Signals::watch(worker.busy())?;
    let mut screen = Screen::enter()?;
    let mut app = App::new(options.colours);
    let ended = turn(&mut app, &mut screen, &mut worker, &signals, options);
    drop(screen);
    worker.finish();
    ended
}

/// Shows, and answers keys, until the end.
fn turn(
    app: &mut App,
    screen: &mut Screen,
    worker: &mut Worker,
    signals: &Signals,
    options: &Options,
) -> io::Result<()> {
    let mut is_stale = true;
    let mut article = app.article();
    while !signals.end() {
        while let Some(news) = worker.news()? {
            app.learn(news);
            is_stale = true;
        }
        if std::mem::take(&mut is_stale) {
            screen.draw(|buffer| draw::all(app, buffer))?;
        }
        let wanted = app.article();
        if wanted != article {
            article.clone_from(&wanted);
            worker.send(Job::Show(wanted));
        }
        if !event::poll(TICK)? {
            continue;
        }
        is_stale = true;
        let effect = match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => app.key(key),
            Event::Paste(text) => app.paste(&text),
            _ => Effect::None,
        };
        match effect {
            Effect::None => {}
            Effect::Send(job) => worker.send(job),
            Effect::Suspend => screen.suspend()?,
            Effect::Edit(text) => {
                screen::restore();
                let edited = (options.edit)(&text);
                screen.enter_again()?;
                app.edited(edited);
            }
            Effect::Quit => return Ok(()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
