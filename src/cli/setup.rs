//! `edt setup`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::agent_hook::unknown;
use super::context::{Context, persons};
use super::render::{BAD, DIM, GOOD, NAME, NOTE, paint};
use crate::agent::setup::carry::{self, Did, Presence, Run, Step};
use crate::agent::setup::receipt::Drawer;
use crate::agent::setup::{Place, Scope, What, live, place};
use crate::agent::{self, AGENTS, Agent};
use crate::base::{Code, Finding, Findings, Result, Status};
use crate::io::{bounded, failed, programs, whole};

/// Connect an agent with edt: MCP server, hooks, skill and instructions, in the agent's own files, beside everything else.
///
/// Prints every file that it touches. A second time changes nothing; `--remove` brings back what stood there before, byte for byte.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt setup codex\n  edt setup claude-code --scope user --dry-run\n  edt setup opencode --remove\n  edt setup --list"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Args {
    /// The agent: claude-code, codex, gemini, opencode, cline, cursor, copilot, windsurf, aider.
    #[arg(required_unless_present = "list")]
    agent: Option<String>,
    /// For this project, or for everything that you do.
    #[arg(long, value_enum, default_value = "project")]
    scope: Scope,
    /// Tell what would be done; change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take it out again.
    #[arg(long)]
    remove: bool,
    /// Also take away the agent's own tools that edit, so that edits go through edt alone.
    #[arg(long, conflicts_with = "remove")]
    only_edt: bool,
    /// Tell which agents are here, what of edt they have, and try whether it works.
    #[arg(long, conflicts_with_all = ["agent", "dry_run", "remove", "only_edt", "emit"])]
    list: bool,
    /// Write the agent's plugin into this folder instead.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "remove", "only_edt"])]
    emit: Option<PathBuf>,
}

impl ValueEnum for Scope {
    fn value_variants<'a>() -> &'a [Scope] {
        &[Scope::User, Scope::Project]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.name()))
    }
}

/// The answer of `edt setup`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.setup/1`.
    schema: &'static str,
    /// `setup`, `remove`, `emit` or `list`.
    action: &'static str,
    /// The agent, if one was named.
    agent: Option<&'static str>,
    /// For whom.
    scope: Option<Scope>,
    /// Whether it was only told.
    dry_run: bool,
    /// Each file, and what became of it.
    files: Vec<Step>,
    /// What a person must know or do beside it.
    notes: Vec<String>,
    /// Every agent that edt knows, for `--list`.
    agents: Vec<Listed>,
}

/// An agent that edt knows.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Listed {
    /// Its name.
    agent: &'static str,
    /// Where its program is, if it is on `PATH`.
    program: Option<String>,
    /// Its folder of settings, if it is there.
    settings: Option<String>,
    /// What of edt it has, for each scope.
    installed: Vec<Installed>,
    /// Whether its own tools are stopped, by trying it: `live`, `not_live`, `not_installed`, or `no_hook_protocol`.
    hook: &'static str,
    /// Whether the MCP server answers, by trying it: `live`, `not_live` or `not_installed`.
    mcp: &'static str,
    /// Why something is not live, and what no hook of this agent can do.
    detail: Vec<String>,
}

/// What of edt an agent has.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Installed {
    /// For whom.
    scope: Scope,
    /// Whether all of it is there, as this edt writes it.
    complete: bool,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let answer = match &self.agent {
            None => self.listed(context)?,
            Some(name) => self.one(context, agent::named(name).ok_or_else(|| unknown(name))?)?,
        };
        Ok(context.answer(&answer, people))
    }

    fn one(&self, context: &Context, agent: &'static dyn Agent) -> Result<Answer> {
        let mut answer = Answer { agent: Some(agent.name()), ..Answer::new("setup") };
        if let Some(folder) = &self.emit {
            answer.action = "emit";
            answer.files = emit(agent, folder)?;
            return Ok(answer);
        }
        let wiring = agent.wiring();
        if self.only_edt && !wiring.can_do_without_its_own() {
            let message = format!(
                "{} has no setting that takes its own tools away. Nothing was written.",
                agent.title()
            );
            return Err(Finding::new(
                Code::BadRequest,
                message,
                "Leave out --only-edt: its hooks judge its own tools.",
            )
            .into());
        }
        let drawer = drawer()?;
        let mut place = self.place(context, self.scope, self.only_edt)?;
        // What was taken away by an earlier call stays so until `--remove`, which gives it back.
        let was = Place { only_edt: drawer.find(agent.name(), &place)?.only_edt, ..place.clone() };
        place.only_edt |= was.only_edt;
        let run = if self.dry_run { Run::Dry } else { Run::Real };
        let parts = wiring.parts(&place);
        (answer.scope, answer.dry_run) = (Some(self.scope), self.dry_run);
        if self.remove {
            answer.action = "remove";
            answer.files = carry::remove(agent.name(), &place, &parts, &drawer, run)?;
        } else {
            answer.files =
                carry::set_up(agent.name(), &place, &parts, &wiring.parts(&was), &drawer, run)?;
            answer.notes = wiring.notes(&place);
            if place.edt != "edt" {
                let way = format!(
                    "`edt` on PATH is not this program, so its path is written down: {}.",
                    place.edt
                );
                answer.notes.push(way);
            }
        }
        Ok(answer)
    }

    fn place(&self, context: &Context, scope: Scope, only_edt: bool) -> Result<Place> {
        let home = programs::home().ok_or_else(no_home)?;
        let start = whole::real(&context.start);
        let root = start
            .ancestors()
            .find(|above| above.join(".git").exists())
            .unwrap_or(&start)
            .to_owned();
        if scope == Scope::Project && root == home && !self.list {
            let message = "This is your home, not a project. Nothing was written.";
            return Err(Finding::new(
                Code::BadRequest,
                message,
                "Call it in a project, or with --scope user.",
            )
            .into());
        }
        let own = whole::own_program().map_err(|error| failed("find", Path::new("edt"), &error))?;
        Ok(Place { scope, home, root, edt: place::called(&own), only_edt })
    }

    fn listed(&self, context: &Context) -> Result<Answer> {
        let mut answer = Answer::new("list");
        let places =
            [self.place(context, Scope::User, false)?, self.place(context, Scope::Project, false)?];
        let mut server = None;
        for agent in AGENTS {
            answer.agents.push(listed(*agent, &places, &mut server));
        }
        Ok(answer)
    }
}

impl Answer {
    fn new(action: &'static str) -> Answer {
        let (files, notes, agents) = (Vec::new(), Vec::new(), Vec::new());
        Answer {
            schema: "edt.setup/1",
            action,
            agent: None,
            scope: None,
            dry_run: false,
            files,
            notes,
            agents,
        }
    }
}

/// What an agent has; `server` remembers whether the MCP server answered, which is the same for all.
fn listed(
    agent: &'static dyn Agent,
    places: &[Place; 2],
    server: &mut Option<live::Tried>,
) -> Listed {
    let wiring = agent.wiring();
    let here = |path: PathBuf| path.exists().then(|| path.display().to_string());
    let (mut installed, mut detail) = (Vec::new(), Vec::new());
    let (mut hook, mut mcp) = ("not_installed", "not_installed");
    for place in places {
        let parts = wiring.parts(place);
        // Instructions and skills are shared: they are no sign of this agent.
        let own =
            parts.iter().filter(|part| !matches!(part.what, What::Instructions | What::Skill));
        let presence = carry::in_place(own, &mut detail);
        if presence == Presence::Absent {
            continue;
        }
        installed.push(Installed {
            scope: place.scope,
            complete: carry::in_place(&parts, &mut detail) == Presence::Complete,
        });
        let of = |such: &[What]| {
            carry::in_place(parts.iter().filter(|part| such.contains(&part.what)), &mut Vec::new())
        };
        // A line that is not as edt writes it is somebody's, and is not run.
        let mut look = |state: &mut &'static str,
                        such: &[What],
                        attempt: &mut dyn FnMut() -> live::Tried| {
            let found = match of(such) {
                _ if *state == "live" => return,
                Presence::Absent => return,
                Presence::Other => Err(format!(
                    "What stands in the {} scope is not as this edt writes it, so it was not tried; `edt setup {} --scope {0}` brings it up to date",
                    place.scope.name(),
                    agent.name(),
                )),
                Presence::Complete => attempt(),
            };
            *state = tried(found, &mut detail);
        };
        look(&mut hook, &[What::Hooks, What::McpAndHooks, What::Plugin], &mut || {
            let off = places.iter().find_map(|place| live::off(&wiring.parts(place)));
            match off {
                Some(file) => {
                    Err(format!("`disableAllHooks` is true in {}: no hook runs", file.display()))
                }
                None => live::hook(agent, place),
            }
        });
        look(&mut mcp, &[What::Mcp, What::McpAndHooks], &mut || {
            server.get_or_insert_with(|| live::server(place)).clone()
        });
    }
    if agent.protocol().is_none() {
        hook = "no_hook_protocol";
    }
    if !installed.is_empty() {
        detail.extend(wiring.notes(&places[0]));
    }
    let mut seen = std::collections::BTreeSet::new();
    detail.retain(|line| seen.insert(line.clone()));
    Listed {
        agent: agent.name(),
        program: bounded::find(wiring.program()).map(|path| path.display().to_string()),
        settings: here(wiring.home(&places[0])),
        installed,
        hook,
        mcp,
        detail,
    }
}

fn tried(tried: live::Tried, detail: &mut Vec<String>) -> &'static str {
    match tried {
        Ok(()) => "live",
        Err(why) => {
            detail.push(format!("{why}."));
            "not_live"
        }
    }
}

fn emit(agent: &dyn Agent, folder: &Path) -> Result<Vec<Step>> {
    let files = agent.wiring().plugin();
    if files.is_empty() {
        let message = format!("{} has no plugins that edt could write.", agent.title());
        let hint = format!("`edt setup {}` writes its settings.", agent.name());
        return Err(Finding::new(Code::BadRequest, message, hint).into());
    }
    let (mut steps, mut theirs) = (Vec::new(), Vec::new());
    for (name, content) in &files {
        let file = folder.join(name);
        let did = match whole::at(&file).map_err(|error| failed("read", &file, &error))? {
            whole::There::File { bytes, .. } if bytes == content.as_bytes() => Did::Unchanged,
            whole::There::Nothing => Did::Created,
            whole::There::File { bytes, .. } if is_emitted(&bytes, content) => Did::Changed,
            _ => {
                let message = format!(
                    "{} is not what edt writes there. Nothing was written.",
                    file.display()
                );
                theirs.push(Finding::new(
                    Code::BadRequest,
                    message,
                    "Name another folder, or move that file away.",
                ));
                continue;
            }
        };
        steps.push(Step {
            file: file.display().to_string(),
            what: What::Plugin,
            did,
            detail: None,
        });
    }
    Findings::check(theirs)?;
    for ((name, content), _) in
        files.iter().zip(&steps).filter(|(_, step)| step.did != Did::Unchanged)
    {
        let file = folder.join(name);
        let wrap = |error: std::io::Error| failed("write", &file, &error);
        whole::make_folder(file.parent().unwrap_or(folder)).map_err(wrap)?;
        whole::put_beside(&file, content.as_bytes(), 0o666).map_err(wrap)?;
    }
    Ok(steps)
}

/// Whether an earlier edt wrote this where the present one would write `content`: JSON with the same keys and all else the same but
/// what tells versions apart; a text that begins alike.
fn is_emitted(bytes: &[u8], content: &str) -> bool {
    fn kin(key: &str, one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(key, value)| {
                        other.get(key).is_some_and(|other| kin(key, value, other))
                    })
            }
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| kin(key, one, other))
            }
            _ => ["version", "description", "license", "timeout"].contains(&key) || one == other,
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match (serde_json::from_str::<Value>(text), serde_json::from_str::<Value>(content)) {
        (Ok(one), Ok(other)) => kin("", &one, &other),
        (Err(_), Err(_)) => text.lines().take(2).eq(content.lines().take(2)),
        _ => false,
    }
}

fn drawer() -> Result<Drawer> {
    let data = persons("XDG_DATA_HOME", ".local/share").ok_or_else(no_home)?;
    Ok(Drawer::new(&data.join("edt")))
}

fn no_home() -> Finding {
    let message = "HOME names no absolute path, so there is no place for a person's settings. Nothing was written.";
    Finding::new(Code::BadRequest, message, "Set HOME and call it again.")
}

fn people(answer: &Answer) -> String {
    let mut out = String::new();
    if answer.dry_run {
        let _ = writeln!(out, "{}", paint(NOTE, "dry run: nothing was changed"));
    }
    for Step { file, what, did, detail } in &answer.files {
        let (style, word) = match did {
            Did::Created => (GOOD, "created"),
            Did::Changed => (GOOD, "changed"),
            Did::Unchanged => (DIM, "unchanged"),
            Did::Restored => (GOOD, "restored as it was"),
            Did::Deleted => (GOOD, "deleted"),
            Did::TakenOut => (GOOD, "taken out; the rest, changed since, stays"),
            Did::Kept => (NOTE, "kept: another agent needs it"),
            Did::Absent => (DIM, "nothing of edt's"),
            Did::Left => (BAD, "not reached"),
        };
        let detail = detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let _ = writeln!(out, "{} {file} {}{detail}", paint(style, word), paint(DIM, what.words()));
    }
    for note in &answer.notes {
        let _ = writeln!(out, "{} {note}", paint(NOTE, "note:"));
    }
    answer.agents.iter().for_each(|one| one.tell(&mut out));
    out
}

impl Listed {
    fn tell(&self, out: &mut String) {
        let here = match (&self.program, &self.settings) {
            (Some(program), _) => program.clone(),
            (None, Some(settings)) => format!("no program on PATH; {settings} is there"),
            (None, None) => "not here".to_owned(),
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
                paint(NOTE, "set up in part: call `edt setup` again")
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
