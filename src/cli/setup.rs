//! `edt setup`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::agent_hook::unknown;
use super::context::Context;
use super::render::{BAD, DIM, GOOD, NAME, NOTE, paint};
use super::user_files::user_directory;
use super::value::one_of;
use edt_agents::hook::install;
use edt_agents::hook::plumbing::Git;
use edt_agents::hook::step::HookAction;
use edt_agents::setup::apply::{self, SetupAction, SetupPresence, SetupStep};
use edt_agents::setup::receipt::ReceiptStore;
use edt_agents::setup::{Purpose, Scope, SetupTarget, live, target};
use edt_agents::{AGENTS, Agent};
use edt_io::{Environment, bounded, failed, fs, programs};
use edt_types::text::Shown as _;
use edt_types::{Code, DryRun, Finding, Refusal, Result, Status};

/// Connect an agent with edt: add the MCP server, hooks, skill and instructions to the agent's own
/// files, and keep their other content.
///
/// Prints every file that it touches. A second call changes nothing; `--remove` restores the
/// previous content, byte for byte.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt setup codex\n  edt setup claude-code --scope user --dry-run\n  edt setup opencode --remove\n  edt setup --list"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Args {
    /// The agent: claude-code, codex, gemini, opencode, cline, cursor, copilot, windsurf, aider.
    #[arg(required_unless_present = "list")]
    agent: Option<String>,
    /// For this project, or for all your projects.
    #[arg(long, value_parser = one_of([Scope::User, Scope::Project].map(|scope| (scope.name(), scope))), default_value = "project")]
    scope: Scope,
    /// Show what would be done; change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Remove edt from the agent's files.
    #[arg(long)]
    remove: bool,
    /// Also disable the agent's own editing tools, so that every edit goes through edt.
    #[arg(long, conflicts_with = "remove")]
    only_edt: bool,
    /// List the agents that are installed, what edt has set up in each, and test whether it works.
    #[arg(long, conflicts_with_all = ["agent", "dry_run", "remove", "only_edt", "emit"])]
    list: bool,
    /// Write the agent's plugin into DIR instead.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "remove", "only_edt"])]
    emit: Option<PathBuf>,
}

/// The offer to install Git's hooks, which hold where an agent's own hooks do not.
fn offer_of_hooks(root: &Path) -> Option<String> {
    let (_, steps) = install::status(&Git::at(root)).ok()?;
    let is_absent = steps.iter().any(|step| step.action == HookAction::Absent);
    is_absent.then(|| {
        "edt's Git hooks are not installed here: `edt hooks install` lets Git refuse what would lose \
         work, whoever calls it."
            .to_owned()
    })
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
    /// The scope of the setup.
    scope: Option<Scope>,
    /// Whether this was a dry run.
    dry_run: bool,
    /// What happened to each file.
    files: Vec<SetupStep>,
    /// What the user must know, or do by hand.
    notes: Vec<String>,
    /// For `--list`: every agent that edt knows.
    agents: Vec<Listed>,
}

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

impl Args {
    /// Whether it removes edt from an agent's files.
    /// Whether it writes files to a directory that the caller names.
    pub(super) const fn emits(&self) -> bool {
        self.emit.is_some()
    }

    pub(super) const fn removes(&self) -> bool {
        self.remove && !self.dry_run
    }

    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let answer = match &self.agent {
            None => self.listed(context)?,
            Some(name) => {
                self.one(context, edt_agents::named(name).ok_or_else(|| unknown(name))?)?
            }
        };
        Ok(context.answer(&answer, render_human))
    }

    fn one(&self, context: &Context, agent: &'static Agent) -> Result<Answer> {
        let mut answer = Answer { agent: Some(agent.name), ..Answer::new("setup") };
        if let Some(directory) = &self.emit {
            answer.action = "emit";
            answer.files = emit(agent, directory)?;
            return Ok(answer);
        }
        let wiring = agent.wiring;
        if self.only_edt && !wiring.can_disable_own_tools {
            let message = format!("{} has no setting that disables its own tools.", agent.title);
            return Err(Finding::new(
                Code::BadRequest,
                message,
                "Omit --only-edt: the agent's hooks judge its own tools.",
            )
            .with_effect(edt_types::Effect::NothingWritten)
            .into());
        }
        let store = store()?;
        let mut target = self.target(context, self.scope, self.only_edt)?;
        // Tools that an earlier call disabled stay disabled until `--remove`.
        let previous =
            SetupTarget { only_edt: store.find(agent.name, &target)?.only_edt, ..target.clone() };
        target.only_edt |= previous.only_edt;
        let dry_run = if self.dry_run { DryRun::Yes } else { DryRun::No };
        let files = (wiring.files)(&target);
        (answer.scope, answer.dry_run) = (Some(self.scope), self.dry_run);
        if self.remove {
            answer.action = "remove";
            answer.files = apply::remove(agent.name, &target, &files, &store, dry_run)?;
        } else {
            answer.files = apply::install(
                agent.name,
                &target,
                &files,
                &(wiring.files)(&previous),
                &store,
                dry_run,
            )?;
            answer.notes = (wiring.notes)(&target);
            if target.edt != "edt" {
                let way = format!(
                    "`edt` on PATH is another program, so the files name this program's path: {}.",
                    target.edt
                );
                answer.notes.push(way);
            }
            answer.notes.extend(offer_of_hooks(&target.root));
        }
        Ok(answer)
    }

    fn target(&self, context: &Context, scope: Scope, only_edt: bool) -> Result<SetupTarget> {
        let home = programs::home(Environment::Process).ok_or_else(no_home)?;
        let start = fs::real_path(&context.start);
        let root = start
            .ancestors()
            .find(|above| above.join(".git").exists())
            .unwrap_or(&start)
            .to_owned();
        if scope == Scope::Project && root == home && !self.list {
            let message = "This is your home directory, not a project.";
            return Err(Finding::new(
                Code::BadRequest,
                message,
                "Run `edt setup` in a project, or with --scope user.",
            )
            .with_effect(edt_types::Effect::NothingWritten)
            .into());
        }
        let own =
            fs::current_program().map_err(|error| failed("find", Path::new("edt"), &error))?;
        Ok(SetupTarget { scope, home, root, edt: target::edt_command(&own), only_edt })
    }

    fn listed(&self, context: &Context) -> Result<Answer> {
        let mut answer = Answer::new("list");
        let targets = [
            self.target(context, Scope::User, false)?,
            self.target(context, Scope::Project, false)?,
        ];
        let mut server = None;
        for agent in AGENTS {
            answer.agents.push(listed(agent, &targets, &mut server));
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

/// What edt has set up in one agent. `server` caches the test of the MCP server, whose result is
/// the same for all agents.
fn listed(
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
        program: bounded::find(Environment::Process, wiring.program)
            .map(|path| path.to_string_lossy().into_owned()),
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

fn emit(agent: &Agent, directory: &Path) -> Result<Vec<SetupStep>> {
    let files = agent.wiring.plugin.map(|plugin| plugin()).unwrap_or_default();
    if files.is_empty() {
        let message = format!("edt has no plugin for {}.", agent.title);
        let hint = format!("`edt setup {}` writes its settings.", agent.name);
        return Err(Finding::new(Code::BadRequest, message, hint).into());
    }
    let (mut steps, mut theirs) = (Vec::new(), Vec::new());
    for (name, content) in &files {
        let file = directory.join(name);
        let action = match fs::read_path(&file).map_err(|error| failed("read", &file, &error))? {
            fs::PathContent::File { bytes, .. } if bytes == content.as_bytes() => {
                SetupAction::Unchanged
            }
            fs::PathContent::Nothing => SetupAction::Created,
            fs::PathContent::File { bytes, .. } if is_emitted(&bytes, content) => {
                SetupAction::Changed
            }
            _ => {
                let message = format!("{} was not written by edt.", file.shown());
                let hint = "Name another directory, or move that file away.";
                theirs.push(
                    Finding::new(Code::BadRequest, message, hint)
                        .with_effect(edt_types::Effect::NothingWritten),
                );
                continue;
            }
        };
        steps.push(SetupStep {
            file: file.to_string_lossy().into_owned(),
            purpose: Purpose::Plugin,
            action,
            detail: None,
        });
    }
    Refusal::check(theirs)?;
    for ((name, content), _) in
        files.iter().zip(&steps).filter(|(_, step)| step.action != SetupAction::Unchanged)
    {
        let file = directory.join(name);
        let wrap = |error: std::io::Error| failed("write", &file, &error);
        fs::make_dir(file.parent().unwrap_or(directory)).map_err(wrap)?;
        fs::write_atomic_unique(&file, content.as_bytes(), 0o666).map_err(wrap)?;
    }
    Ok(steps)
}

/// Whether an earlier version of edt wrote `bytes` in place of `content`. JSON must be equal except
/// for the values that depend on the version; other text must have the same first two lines.
fn is_emitted(bytes: &[u8], content: &str) -> bool {
    fn same_shape(key: &str, one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(key, value)| {
                        other.get(key).is_some_and(|other| same_shape(key, value, other))
                    })
            }
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| same_shape(key, one, other))
            }
            _ => ["version", "description", "license", "timeout"].contains(&key) || one == other,
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match (serde_json::from_str::<Value>(text), serde_json::from_str::<Value>(content)) {
        (Ok(one), Ok(other)) => same_shape("", &one, &other),
        (Err(_), Err(_)) => text.lines().take(2).eq(content.lines().take(2)),
        _ => false,
    }
}

fn store() -> Result<ReceiptStore> {
    let data = user_directory("XDG_DATA_HOME", ".local/share").ok_or_else(no_home)?;
    Ok(ReceiptStore::new(&data.join("edt")))
}

fn no_home() -> Finding {
    let message = "HOME is not an absolute path, so the user's settings cannot be found.";
    Finding::new(Code::BadRequest, message, "Set HOME and repeat the call.")
        .with_effect(edt_types::Effect::NothingWritten)
}

fn render_human(answer: &Answer) -> String {
    let mut out = String::new();
    if answer.dry_run {
        let _ = writeln!(out, "{}", paint(NOTE, "dry run: nothing was changed"));
    }
    for SetupStep { file, purpose, action, detail } in &answer.files {
        let (style, word) = match action {
            SetupAction::Created => (GOOD, "created"),
            SetupAction::Changed => (GOOD, "changed"),
            SetupAction::Unchanged => (DIM, "unchanged"),
            SetupAction::Restored => (GOOD, "restored"),
            SetupAction::Deleted => (GOOD, "deleted"),
            SetupAction::TakenOut => {
                (GOOD, "edt's part was removed; later changes of the file stay")
            }
            SetupAction::Kept => (NOTE, "kept: another agent needs it"),
            SetupAction::Absent => (DIM, "edt has nothing here"),
            SetupAction::Left => (BAD, "not processed"),
        };
        let detail =
            detail.as_ref().map(|detail| format!(" ({})", detail.shown())).unwrap_or_default();
        let _ = writeln!(
            out,
            "{} {} {}{detail}",
            paint(style, word),
            file.shown(),
            paint(DIM, purpose.label())
        );
    }
    for note in &answer.notes {
        let _ = writeln!(out, "{} {note}", paint(NOTE, "note:"));
    }
    answer.agents.iter().for_each(|one| one.render_human(&mut out));
    out
}

impl Listed {
    fn render_human(&self, out: &mut String) {
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
