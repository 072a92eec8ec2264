//! The user's browser, which opens the link of a server.
//!
//! Whoever lists processes can read their arguments. So the browser gets the name of a private file,
//! which leads to the link.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use edt_io::{Environment, environment, fs, scratch::Scratch, spawn};

/// Opens `link` in the user's browser. The link works until the answer is dropped.
///
/// # Errors
/// Why no browser was started, as a sentence.
pub(super) fn open(link: &str, worktree: &Path) -> Result<Scratch, String> {
    let is_set = |name: &str| environment::variable(name).is_some_and(|value| !value.is_empty());
    let has_display = cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    if !has_display && !is_set("BROWSER") {
        return Err("There is no display.".to_owned());
    }
    let place = file(link, worktree).map_err(|error| format!("A file for it: {error}."))?;
    let page = place.path().join("review.html");
    let program = program();
    spawn::show(&program, &page)
        .map_err(|error| format!("{}: {error}.", program.to_string_lossy()))?;
    Ok(place)
}

/// The first program of `BROWSER`, or what opens files on this system.
fn program() -> OsString {
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let named = environment::variable("BROWSER").unwrap_or_default();
    let first = named.to_string_lossy().split(':').next().unwrap_or_default().to_owned();
    if first.is_empty() { usual.into() } else { first.into() }
}

/// A private directory with a page that leads to `link`.
fn file(link: &str, worktree: &Path) -> io::Result<Scratch> {
    let place = Scratch::outside(Environment::Process, worktree)?;
    let html = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>edt review</title>\
         <meta http-equiv=\"refresh\" content=\"0;url={link}\"><a href=\"{link}\">The review</a>\n"
    );
    fs::write_atomic_unique(&place.path().join("review.html"), html.as_bytes(), 0o600)?;
    Ok(place)
}
