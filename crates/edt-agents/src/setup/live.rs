//! Probes whether a setup works: the hook gets a payload that it must refuse, and the MCP server
//! gets an `initialize` request.

use edt_types::text::Shown as _;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Form, ManagedFile, Purpose, SetupTarget};
use crate::Agent;
use edt_io::bounded::{self, Filter, FilterOutput, run_filter};
use edt_io::fs::{self, PathContent};
use edt_io::scratch::Scratch;
use edt_io::{Environment, programs};

/// The most bytes that are read of an answer.
const MAX_ANSWER: usize = 256 * 1024;

/// Whether a probe succeeded; else the reason, as part of a sentence.
pub type ProbeOutcome = std::result::Result<(), String>;

/// Runs the hook's command with a payload that edt must refuse, in a scratch repository.
///
/// # Errors
/// Why the hook does not protect.
pub fn hook(agent: &Agent, target: &SetupTarget) -> ProbeOutcome {
    let protocol = agent.protocol.ok_or("it has no hook protocol")?;
    let target = &with_absolute_edt(target)?;
    let scratch = Scratch::outside(Environment::Process, &target.root)
        .map_err(|error| format!("no scratch directory: {error}"))?;
    let repo = scratch.path().join("repo");
    let init =
        run(&format!("git init --quiet {}", shell_word(&repo)), scratch.path(), &scratch, b"")?;
    if init.end != edt_io::bounded::ProcessEnd::Exit(0) {
        return Err("Git could not make a scratch repository for the probe".to_owned());
    }
    // An agent that runs a file instead of a command gets that file probed.
    let script = (agent.wiring.files)(target)
        .into_iter()
        .find(|managed| matches!(managed.form, Form::OwnFile { executable: true, .. }));
    let command =
        script.map_or_else(|| target.hook_command(agent.name), |script| shell_word(&script.file));
    let answer = run(&command, &repo, &scratch, (protocol.probe)(&repo).to_string().as_bytes())?;
    if blocks(&answer) {
        Ok(())
    } else {
        Err(format!("it did not refuse a write into .git ({})", first_line_of_stderr(&answer)))
    }
}

/// Starts the MCP server as the agent would, and sends `initialize`.
///
/// # Errors
/// Why the server does not answer.
pub fn server(target: &SetupTarget) -> ProbeOutcome {
    let target = &with_absolute_edt(target)?;
    let scratch = Scratch::outside(Environment::Process, &target.root)
        .map_err(|error| format!("no scratch directory: {error}"))?;
    let client = json!({"name": "edt setup", "version": env!("CARGO_PKG_VERSION")});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}});
    let command = target.server_command();
    let answer = run(&command, &target.root, &scratch, format!("{initialize}\n").as_bytes())?;
    let output = answer.output.clone().unwrap_or_default();
    let is_answer = |line: &[u8]| {
        serde_json::from_slice::<Value>(line)
            .is_ok_and(|line| line["result"]["serverInfo"].is_object())
    };
    if output.split(|&byte| byte == b'\n').any(is_answer) {
        return Ok(());
    }
    Err(format!("`{command}` did not answer ({})", first_line_of_stderr(&answer)))
}

/// The file of settings that disables all hooks of an agent, if there is one.
#[must_use]
pub fn disabling_file<'p>(files: impl IntoIterator<Item = &'p ManagedFile>) -> Option<PathBuf> {
    let hooks = files
        .into_iter()
        .filter(|managed| matches!(managed.purpose, Purpose::Hooks | Purpose::McpAndHooks));
    let mut settings = hooks.flat_map(|managed| {
        [managed.file.clone(), managed.file.with_file_name("settings.local.json")]
    });
    settings.find(|file| match fs::read_path(file) {
        Ok(PathContent::File { bytes, .. }) => std::str::from_utf8(&bytes)
            .is_ok_and(|text| super::json::is_true_at_top(text, "disableAllHooks")),
        _ => false,
    })
}

/// The same target with the absolute path of edt: a probe must not run a program of the project
/// that has the same name.
fn with_absolute_edt(target: &SetupTarget) -> std::result::Result<SetupTarget, String> {
    if let Some(entry) =
        programs::search_dirs(Environment::Process).into_iter().find(|entry| !entry.is_absolute())
    {
        let entry = entry.shown();
        return Err(format!(
            "PATH has the relative directory `{entry}`, where a project may have programs, so \
             nothing was probed"
        ));
    }
    let found = Some(&target.edt)
        .filter(|edt| *edt == "edt")
        .and_then(|edt| bounded::find(Environment::Process, edt));
    let edt = found.map_or_else(|| target.edt.clone(), |path| path.to_string_lossy().into_owned());
    Ok(SetupTarget { edt, ..target.clone() })
}

fn run(
    command: &str,
    dir: &Path,
    scratch: &Scratch,
    input: &[u8],
) -> std::result::Result<FilterOutput, String> {
    let limit = Duration::from_secs(20);
    let job = Filter {
        command: OsStr::new(command),
        dir,
        scratch: scratch.path(),
        input,
        max_output: MAX_ANSWER,
        limit,
        environment: Environment::Process,
        reap_orphans: true,
    };
    run_filter(&job).map_err(|error| format!("`{command}` could not be run: {error}"))
}

/// Whether an answer stops the tool, in any agent's form.
fn blocks(answer: &FilterOutput) -> bool {
    if answer.end == edt_io::bounded::ProcessEnd::Exit(2)
        && !answer.stderr_tail.trim_ascii().is_empty()
    {
        return true;
    }
    let Ok(answer) = serde_json::from_slice::<Value>(answer.output.as_deref().unwrap_or_default())
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

fn first_line_of_stderr(answer: &FilterOutput) -> String {
    let text = String::from_utf8_lossy(&answer.stderr_tail).into_owned();
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no message").to_owned()
}

fn shell_word(path: &Path) -> String {
    edt_types::text::shell_word(path.as_os_str().as_encoded_bytes())
}
