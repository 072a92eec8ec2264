//! `edt setup` without a name: which agents are here, and which of them the user wants. Also, which
//! of the written files belong in a commit.

use std::fmt::Write as _;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::super::context::Context;
use super::super::render::screen;
use edt_agents::hook::plumbing::Git;
use edt_agents::hook::who::Who;
use edt_agents::setup::{ManagedFile, Scope, SetupTarget};
use edt_agents::{AGENTS, Agent};
use edt_io::{Environment, bounded};
use edt_types::text::Shown as _;
use edt_types::{Code, Effect, Finding, Result};

/// The agent's program on `PATH`.
pub(super) fn program(agent: &Agent) -> Option<PathBuf> {
    bounded::find(Environment::Process, agent.wiring.program?)
}

/// The agents of which there is a program, or settings of the user or of the project; each with what
/// was found.
fn here(targets: &[SetupTarget; 2]) -> Vec<(&'static Agent, PathBuf)> {
    let found = |agent: &'static Agent| {
        let settings = targets.iter().map(|target| (agent.wiring.settings)(target));
        let place = program(agent).or_else(|| settings.into_iter().find(|path| path.exists()))?;
        Some((agent, place))
    };
    AGENTS.iter().filter_map(|agent| found(agent)).collect()
}

/// The agents that the user chooses at the terminal.
///
/// # Errors
/// `BAD_REQUEST` if no agent is here, if there is no terminal, or if the answer is none.
pub(super) fn choose(
    context: &Context,
    targets: &[SetupTarget; 2],
    scope: Scope,
    remove: bool,
) -> Result<Vec<&'static Agent>> {
    let found = here(targets);
    if found.is_empty() {
        let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
        let message = "No agent that edt knows was found: neither its program nor its settings.";
        let remedy = format!(
            "Name one: `edt setup AGENT` with {}; or `edt setup --mcp-json FILE` for another client.",
            names.join(", ")
        );
        return Err(refused(message.to_owned(), remedy).into());
    }
    if context.json || Who::here() != Who::User || !std::io::stdin().is_terminal() {
        return Err(not_asked(&found, scope, remove).into());
    }
    let mut question = String::from("Agents that were found:\n");
    for (at, (agent, place)) in found.iter().enumerate() {
        let _ = writeln!(question, "  {} {} ({})", at + 1, agent.name, place.shown());
    }
    let what = if remove { "lose edt" } else { "get edt" };
    let _ = write!(question, "Which shall {what}? Enter for all; `1 2` for some; `none`: ");
    let mut screen_out = anstream::stderr().lock();
    let _ = screen_out.write_all(screen(&question).as_bytes()).and_then(|()| screen_out.flush());
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).unwrap_or(0) == 0 {
        line.push_str("none");
    }
    let found: Vec<&'static Agent> = found.into_iter().map(|(agent, _)| agent).collect();
    chosen(&found, &line)
}

/// The agents that `line` names, by number or by name.
fn chosen(found: &[&'static Agent], line: &str) -> Result<Vec<&'static Agent>> {
    match line.trim() {
        "" | "all" => return Ok(found.to_vec()),
        "none" => return Ok(Vec::new()),
        _ => {}
    }
    let words = line.split([' ', ',', '\t', '\n']).filter(|word| !word.is_empty());
    let named = |word: &str| {
        let by_number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let agent = by_number.and_then(|at| found.get(at)).copied();
        agent.or_else(|| found.iter().copied().find(|agent| agent.name == word)).ok_or_else(|| {
            let message =
                format!("The answer {word:?} is neither a number nor a name of the list.");
            refused(message, "Repeat `edt setup`, and type numbers of the list.".to_owned()).into()
        })
    };
    words.map(named).collect()
}

/// What was found, for a caller that cannot be asked.
fn not_asked(found: &[(&'static Agent, PathBuf)], scope: Scope, remove: bool) -> Finding {
    let places: Vec<String> =
        found.iter().map(|(agent, place)| format!("{} ({})", agent.name, place.shown())).collect();
    let mut flags = if scope == Scope::User { " --scope user" } else { "" }.to_owned();
    flags += if remove { " --remove" } else { "" };
    let calls: Vec<String> =
        found.iter().map(|(agent, _)| format!("`edt setup {}{flags}`", agent.name)).collect();
    refused(
        format!("No agent is named. Found here: {}.", places.join(", ")),
        format!("Name one: {}.", calls.join(", ")),
    )
    .with("found", found.iter().map(|(agent, _)| agent.name).collect::<Vec<_>>())
}

fn refused(message: String, remedy: String) -> Finding {
    Finding::new(Code::BadRequest, message, remedy).with_effect(Effect::NothingWritten)
}

/// Which of `files` belong in a commit, and which do not.
pub(super) fn to_commit(target: &SetupTarget, files: &[ManagedFile]) -> Vec<String> {
    let root = target.root.as_path();
    let inside = |managed: &ManagedFile| managed.file.strip_prefix(root).map(Path::to_owned).ok();
    let (of_project, private): (Vec<_>, Vec<_>) = files
        .iter()
        .map(|managed| inside(managed).ok_or(managed.file.clone()))
        .partition(std::result::Result::is_ok);
    let of_project: Vec<PathBuf> = of_project.into_iter().flatten().collect();
    let private: Vec<PathBuf> = private.into_iter().filter_map(std::result::Result::err).collect();
    let ignored = ignored(root, &of_project);
    let shared: Vec<PathBuf> =
        of_project.iter().filter(|path| !ignored.contains(path)).cloned().collect();
    let named =
        |paths: &[PathBuf]| paths.iter().map(|path| path.shown()).collect::<Vec<_>>().join(", ");
    let mut notes = Vec::new();
    if !shared.is_empty() && target.edt == "edt" {
        notes.push(format!("Commit, for everyone who works here: {}.", named(&shared)));
    } else if !shared.is_empty() {
        notes.push(format!(
            "They name a path of this machine, so do not commit them as they are: {}.",
            named(&shared)
        ));
    }
    if !ignored.is_empty() {
        notes.push(format!("Git ignores, so they stay on this machine: {}.", named(&ignored)));
    }
    if !private.is_empty() {
        notes.push(format!("Yours alone, in no repository: {}.", named(&private)));
    }
    notes
}

/// Those of `paths` that Git ignores.
fn ignored(root: &Path, paths: &[PathBuf]) -> Vec<PathBuf> {
    let input: Vec<u8> =
        paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    let Ok(answer) = Git::at(root).run(&["check-ignore", "-z", "--stdin"], &input) else {
        return Vec::new();
    };
    let listed: Vec<&[u8]> = answer.stdout.split(|byte| *byte == 0).collect();
    paths.iter().filter(|path| listed.contains(&path.as_os_str().as_bytes())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_all_some_or_none() {
        let found = &AGENTS[..3];
        let names = |line: &str| {
            chosen(found, line).map(|agents| {
                agents.into_iter().map(|agent| agent.name).collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(names("\n").unwrap(), "claude-code codex gemini");
        assert_eq!(names("2, gemini\n").unwrap(), "codex gemini");
        assert_eq!(names("none\n").unwrap(), "");
        assert!(names("4\n").is_err() && names("0\n").is_err() && names("cursor\n").is_err());
    }
}
