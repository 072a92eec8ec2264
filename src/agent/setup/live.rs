//! Whether what is set up works: the hook is asked something that must be refused, the server is greeted.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Form, Part, Place, What};
use crate::agent::Agent;
use crate::io::bounded::{self, Passed, Through, through};
use crate::io::programs;
use crate::io::scratch::Scratch;
use crate::io::whole::{self, There};

/// The most that an answer may have, in bytes.
const MOST: usize = 256 * 1024;

/// What a try showed.
pub type Tried = std::result::Result<(), String>;

/// Runs the hook's command line with a payload that edt must refuse, in a repository made for it.
///
/// # Errors
/// Why it does not protect, in words.
pub fn hook(agent: &dyn Agent, place: &Place) -> Tried {
    let protocol = agent.protocol().ok_or("it has no hook protocol")?;
    let place = &by_its_path(place)?;
    let scratch =
        Scratch::outside(&place.root).map_err(|error| format!("no scratch folder: {error}"))?;
    // Enough of a repository for edt and Git: an empty one.
    let repo = scratch.path().join("repo");
    let made = run(&format!("git init --quiet {}", word(&repo)), scratch.path(), &scratch, b"")?;
    if made.end != crate::io::bounded::End::Exit(0) {
        return Err("Git could not make a repository to try it in".to_owned());
    }
    // Where the agent runs a file, that is what is tried.
    let script = agent
        .wiring()
        .parts(place)
        .into_iter()
        .find(|part| matches!(part.form, Form::Whole { executable: true, .. }));
    let command = script.map_or_else(|| place.hook(agent.name()), |script| word(&script.file));
    let said = run(&command, &repo, &scratch, protocol.probe(&repo).to_string().as_bytes())?;
    if blocks(&said) {
        Ok(())
    } else {
        Err(format!("it was asked to write into .git and did not refuse ({})", told(&said)))
    }
}

/// Starts the MCP server as the agent would, and greets it.
///
/// # Errors
/// Why it does not answer, in words.
pub fn server(place: &Place) -> Tried {
    let place = &by_its_path(place)?;
    let scratch =
        Scratch::outside(&place.root).map_err(|error| format!("no scratch folder: {error}"))?;
    let client = json!({"name": "edt setup", "version": env!("CARGO_PKG_VERSION")});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}});
    let said = run(&place.mcp(), &place.root, &scratch, format!("{hello}\n").as_bytes())?;
    let output = said.output.clone().unwrap_or_default();
    let answers = |line: &[u8]| {
        serde_json::from_slice::<Value>(line)
            .is_ok_and(|line| line["result"]["serverInfo"].is_object())
    };
    if output.split(|&byte| byte == b'\n').any(answers) {
        return Ok(());
    }
    Err(format!("`{}` did not answer ({})", place.mcp(), told(&said)))
}

/// The file of settings that turns all hooks of an agent off.
#[must_use]
pub fn off<'p>(parts: impl IntoIterator<Item = &'p Part>) -> Option<PathBuf> {
    let hooks =
        parts.into_iter().filter(|part| matches!(part.what, What::Hooks | What::McpAndHooks));
    let files =
        hooks.flat_map(|part| [part.file.clone(), part.file.with_file_name("settings.local.json")]);
    { files }.find(|file| match whole::at(file) {
        Ok(There::File { bytes, .. }) => {
            std::str::from_utf8(&bytes).is_ok_and(|text| super::json::says(text, "disableAllHooks"))
        }
        _ => false,
    })
}

/// The same place, with edt called by its path: what a project may put in the way of a name is not run.
fn by_its_path(place: &Place) -> std::result::Result<Place, String> {
    if let Some(folder) = programs::folders().into_iter().find(|folder| !folder.is_absolute()) {
        let folder = folder.display();
        return Err(format!(
            "PATH has the relative folder `{folder}`, where a project may have programs, so nothing was tried"
        ));
    }
    let found = Some(&place.edt).filter(|edt| *edt == "edt").and_then(|edt| bounded::find(edt));
    let edt = found.map_or_else(|| place.edt.clone(), |path| path.display().to_string());
    Ok(Place { edt, ..place.clone() })
}

fn run(
    command: &str,
    dir: &Path,
    scratch: &Scratch,
    input: &[u8],
) -> std::result::Result<Passed, String> {
    let limit = Duration::from_secs(20);
    let job = Through {
        command: OsStr::new(command),
        dir,
        scratch: scratch.path(),
        input,
        most: MOST,
        limit,
    };
    through(&job).map_err(|error| format!("`{command}` could not be run: {error}"))
}

/// Whether an answer stops the tool, in any agent's form.
fn blocks(said: &Passed) -> bool {
    if said.end == crate::io::bounded::End::Exit(2) && !said.complaint.trim_ascii().is_empty() {
        return true;
    }
    let Ok(answer) = serde_json::from_slice::<Value>(said.output.as_deref().unwrap_or_default())
    else {
        return false;
    };
    let deny = [
        "/hookSpecificOutput/permissionDecision",
        "/decision",
        "/permission",
        "/permissionDecision",
    ];
    deny.iter().any(|at| answer.pointer(at) == Some(&"deny".into())) || answer["cancel"] == true
}

fn told(said: &Passed) -> String {
    let text = String::from_utf8_lossy(&said.complaint).into_owned();
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("it said nothing")
        .to_owned()
}

fn word(path: &Path) -> String {
    crate::base::text::shell_word(path.as_os_str().as_encoded_bytes())
}
