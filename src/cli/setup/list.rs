//! `edt setup --list`: what edt has set up in each agent, and whether it works.

use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::super::render::{BAD, DIM, GOOD, NAME, NOTE, paint};
use edt_agents::Agent;
use edt_agents::setup::apply::{self, SetupPresence};
use edt_agents::setup::{Purpose, Scope, SetupTarget, live};
use edt_types::text::Shown as _;

/// An agent that edt knows.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Listed {
    /// Its name.
    agent: &'static str,
    /// The path of its program, if the program is on `PATH`.
    program: Option<String>,
    /// Its settings directory, if it exists.
    settings: Option<String>,
    /// What edt has set up, for each scope.
    installed: Vec<Installed>,
    /// The result of a test whether its hook blocks its own tools: `live`, `not_live`,
    /// `not_installed`, or `no_hook_protocol`.
    hook: &'static str,
    /// The result of a test whether the MCP server answers: `live`, `not_live` or `not_installed`.
    mcp: &'static str,
    /// Why something is not live, and the limits of this agent's hooks.
    detail: Vec<String>,
}

/// What edt has set up in one scope.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Installed {
    /// The scope.
    scope: Scope,
    /// Whether every part is present, as this version of edt writes it.
    complete: bool,
}

/// What edt has set up in one agent. `server` caches the test of the MCP server, whose result is
/// the same for all agents.
pub(super) fn listed(
    agent: &'static Agent,
    targets: &[SetupTarget; 2],
    server: &mut Option<live::ProbeOutcome>,
) -> Listed {
    let wiring = agent.wiring;
    let here = |path: PathBuf| path.exists().then(|| path.to_string_lossy().into_owned());
    let (mut installed, mut detail) = (Vec::new(), Vec::new());
    let (mut hook, mut mcp) = ("not_installed", "not_installed");
    for target in targets {
        let files = (wiring.files)(target);
        // Instructions and skills are shared by agents, so they do not show that this agent was set
        // up.
        let own = files
            .iter()
            .filter(|managed| !matches!(managed.purpose, Purpose::Instructions | Purpose::Skill));
        let presence = apply::presence(own, &mut detail);
        if presence == SetupPresence::Absent {
            continue;
        }
        installed.push(Installed {
            scope: target.scope,
            complete: apply::presence(&files, &mut detail) == SetupPresence::Complete,
        });
        let of = |purposes: &[Purpose]| {
            apply::presence(
                files.iter().filter(|managed| purposes.contains(&managed.purpose)),
                &mut Vec::new(),
            )
        };
        // An entry that edt did not write belongs to somebody else, so it is not run.
        let mut probe = |state: &mut &'static str,
                         purposes: &[Purpose],
                         attempt: &mut dyn FnMut() -> live::ProbeOutcome| {
            let found = match of(purposes) {
                _ if *state == "live" => return,
                SetupPresence::Absent => return,
                SetupPresence::Partial => Err(format!(
                    "The entries in the {} scope differ from those that this edt writes, so they were not tested; `edt setup {} --scope {0}` updates them",
                    target.scope.name(),
                    agent.name,
                )),
                SetupPresence::Complete => attempt(),
            };
            *state = tried(found, &mut detail);
        };
        probe(&mut hook, &[Purpose::Hooks, Purpose::McpAndHooks, Purpose::Plugin], &mut || {
            let off =
                targets.iter().find_map(|target| live::disabling_file(&(wiring.files)(target)));
            match off {
                Some(file) => {
                    Err(format!("`disableAllHooks` is true in {}: no hook runs", file.shown()))
                }
                None => live::hook(agent, target),
            }
        });
        probe(&mut mcp, &[Purpose::Mcp, Purpose::McpAndHooks], &mut || {
            server.get_or_insert_with(|| live::server(target)).clone()
        });
    }
    if agent.protocol.is_none() {
        hook = "no_hook_protocol";
    }
    if !installed.is_empty() {
        detail.extend((wiring.notes)(&targets[0]));
    }
    let mut seen = std::collections::BTreeSet::new();
    detail.retain(|line| seen.insert(line.clone()));
    Listed {
        agent: agent.name,
        program: super::found::program(agent).map(|path| path.to_string_lossy().into_owned()),
        settings: here((wiring.settings)(&targets[0])),
        installed,
        hook,
        mcp,
        detail,
    }
}

fn tried(tried: live::ProbeOutcome, detail: &mut Vec<String>) -> &'static str {
    match tried {
        Ok(()) => "live",
        Err(why) => {
            detail.push(format!("{why}."));
            "not_live"
        }
    }
}

impl Listed {
    pub(super) fn render_human(&self, out: &mut String) {
        let here = match (&self.program, &self.settings) {
            (Some(program), _) => program.shown(),
            (None, Some(settings)) => format!("no program on PATH; {} exists", settings.shown()),
            (None, None) => "not installed".to_owned(),
        };
        let _ = writeln!(out, "{} {}", paint(NAME, self.agent), paint(DIM, &here));
        let style = |word: &str| match word {
            "live" => GOOD,
            "not_live" => BAD,
            _ => DIM,
        };
        for Installed { scope, complete } in &self.installed {
            let word = if *complete {
                paint(GOOD, "set up")
            } else {
                paint(NOTE, "partly set up: run `edt setup` again")
            };
            let _ = writeln!(out, "  {} {word}", scope.name());
        }
        let (hook, mcp) = (self.hook.replace('_', " "), self.mcp.replace('_', " "));
        let _ = writeln!(
            out,
            "  hook {}, MCP server {}",
            paint(style(self.hook), &hook),
            paint(style(self.mcp), &mcp)
        );
        for line in &self.detail {
            let _ = writeln!(out, "  {}", paint(DIM, line));
        }
    }
}
