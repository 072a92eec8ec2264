//! The page of `edt review` in a real browser: Chromium, driven by playwright-core. The stories are
//! in `tests/browser/`. They are skipped, with a word, where the browser, Node or the packages are
//! not installed. The packages are looked for in `$EDT_CLIENTS_DIR`, else `target/clients`.

use std::path::{Path, PathBuf};

use crate::large_session;
use crate::test_repo::{EDT, TestRepo};

/// How many edits the large session has.
const EDITS: u64 = 1_000;
/// The lines of its long file.
const LONG: u64 = 20_000;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program with one of these names in the search path.
fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all =
        names.iter().flat_map(|name| std::env::split_paths(&path).map(move |at| at.join(name)));
    all.into_iter().find(|at| at.is_file())
}

/// The directory of the packages and the browser; prints what is missing.
fn installed() -> Option<(PathBuf, PathBuf)> {
    let clients = std::env::var_os("EDT_CLIENTS_DIR")
        .map_or_else(|| here().join("target/clients"), PathBuf::from);
    let packages =
        ["playwright-core", "axe-core"].map(|name| clients.join("node_modules").join(name));
    if let Some(missing) = packages.iter().find(|package| !package.is_dir()) {
        eprintln!("skipped: there is no {}", missing.display());
        return None;
    }
    let browser = program(&["chromium", "chromium-browser", "google-chrome"]);
    if browser.is_none() || program(&["node"]).is_none() {
        eprintln!("skipped: there is no node or no chromium");
    }
    program(&["node"]).and(Some((clients, browser?)))
}

/// Runs `tests/browser/NAME.mjs` in a directory that `prepare` fills.
fn tell(name: &str, workspace: impl FnOnce() -> TestRepo) {
    let Some((clients, browser)) = installed() else { return };
    let workspace = workspace();
    let mut command = workspace.command("node");
    command.arg(here().join("tests/browser").join(name).with_extension("mjs"));
    command.env("EDT", EDT).env("EDT_CLIENTS_DIR", clients).env("EDT_CHROMIUM", browser);
    command.env("EDT_EDITS", EDITS.to_string());
    if let Some(place) = std::env::var_os("EDT_SCREENSHOTS") {
        command.env("EDT_SCREENSHOTS", place);
    }
    let done = command.output().unwrap();
    let [out, error] = [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text));
    println!("{out}");
    assert!(done.status.success(), "{name}: {}\n{out}{error}", done.status);
}

#[test]
fn the_page_follows_an_agent_and_a_landing() {
    tell("live", TestRepo::bare_directory);
}

#[test]
fn a_page_that_renews_itself_keeps_what_the_user_does() {
    tell("renew", TestRepo::bare_directory);
}

#[test]
fn the_keyboard_is_enough() {
    tell("keyboard", TestRepo::bare_directory);
}

#[test]
fn no_text_of_others_runs() {
    tell("hostile", TestRepo::bare_directory);
}

#[test]
fn other_sites_and_names_are_refused() {
    tell("guard", TestRepo::bare_directory);
}

#[test]
fn each_button_leaves_what_its_command_leaves() {
    tell("whole", TestRepo::bare_directory);
}

#[test]
fn a_large_session_is_painted_soon_and_scrolls_without_holes() {
    tell("large", || {
        let files = large_session::files();
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
        let workspace = TestRepo::with(&files);
        large_session::make(&workspace.root, EDITS, LONG);
        workspace
    });
}

#[test]
fn the_page_is_accessible_and_fits_a_phone() {
    tell("looks", TestRepo::bare_directory);
}
