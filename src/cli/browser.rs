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
    let named = environment::variable("BROWSER").unwrap_or_default();
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut failed = Vec::new();
    for words in commands(&named.to_string_lossy(), usual) {
        let Some((program, args)) = with_page(&words, &page) else { continue };
        match spawn::show(&program, &args) {
            Ok(()) => return Ok(place),
            Err(error) => failed.push(format!("{}: {error}.", program.to_string_lossy())),
        }
    }
    Err(failed.join(" "))
}

/// The commands of `BROWSER`, in their order: words, with `:` between commands. `usual` if it has none.
fn commands(named: &str, usual: &str) -> Vec<Vec<String>> {
    let words = |command: &str| command.split_whitespace().map(str::to_owned).collect();
    let mut all: Vec<Vec<String>> = named.split(':').map(words).collect();
    all.retain(|words| !words.is_empty());
    if all.is_empty() {
        all.push(vec![usual.to_owned()]);
    }
    all
}

/// The program with its arguments: `page` for each `%s`, or else at their end.
fn with_page(words: &[String], page: &Path) -> Option<(OsString, Vec<OsString>)> {
    let (program, args) = words.split_first()?;
    let has_place = args.iter().any(|word| word.contains("%s"));
    let filled = |word: &String| match word.split_once("%s") {
        None => OsString::from(word),
        Some((before, after)) => {
            let mut filled = OsString::from(before);
            filled.push(page);
            filled.push(after);
            filled
        }
    };
    let end = (!has_place).then(|| page.as_os_str().to_owned());
    Some((program.into(), args.iter().map(filled).chain(end).collect()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_named_with_arguments_and_others_after_it() {
        let called = |named: &str| {
            let all = commands(named, "usual").into_iter();
            let all = all.filter_map(|words| with_page(&words, Path::new("/p a.html")));
            all.map(|(program, args)| [vec![program], args].concat()).collect::<Vec<_>>()
        };
        assert_eq!(called(""), [["usual", "/p a.html"]]);
        assert_eq!(called("firefox --new-window"), [["firefox", "--new-window", "/p a.html"]]);
        assert_eq!(called("prog -u=%s x"), [["prog", "-u=/p a.html", "x"]]);
        assert_eq!(called("/missing:/good"), [["/missing", "/p a.html"], ["/good", "/p a.html"]]);
    }
}
