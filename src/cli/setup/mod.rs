//! `edt setup`.

mod emit;
mod found;
mod list;
mod validators;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::agent_hook::unknown;
use super::context::Context;
use super::render::{BAD, DIM, GOOD, NOTE, paint};
use super::user_files::user_directory;
use super::value::one_of;
use edt_agents::hook::install;
use edt_agents::hook::plumbing::Git;
use edt_agents::hook::step::HookAction;
use edt_agents::setup::apply::{self, SetupAction, SetupStep};
use edt_agents::setup::receipt::ReceiptStore;
use edt_agents::setup::{ManagedFile, Scope, SetupTarget, target};
use edt_agents::{AGENTS, Agent, clients};
use edt_io::{Environment, failed, fs, programs};
use edt_types::text::Shown as _;
use edt_types::{Code, DryRun, Finding, Result, Status};

use list::Listed;

/// Connect an agent with edt: add the MCP server, hooks, skill and instructions to the agent's own
/// files, and keep their other content.
///
/// `edt setup validators` adds the compilers and linters that are here to edt.toml as checks of edits.
/// Without a name it looks for the agents that are here, and asks which to connect. It prints every
/// file that it touches. A second call changes nothing; `--remove` restores the previous content,
/// byte for byte.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt setup                        # asks which of the agents here\n  edt setup codex\n  edt setup claude-code --scope user --dry-run\n  edt setup opencode --remove\n  edt setup --mcp-json .mcp/servers.json   # any other client with mcpServers\n  edt setup --list\n  edt setup validators             # gcc, ruff, bash -n, …: those that are here"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Args {
    /// The agent: claude-code, codex, gemini, opencode, cline, cursor, copilot, windsurf, aider,
    /// qwen, kimi, kilo, continue, goose, zed, junie. Or `validators`.
    agent: Option<String>,
    /// Instead of an agent: add the MCP server to the object `mcpServers` of this JSON file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["agent", "only_edt", "scope"])]
    mcp_json: Option<PathBuf>,
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
    #[arg(long, conflicts_with_all = ["agent", "mcp_json", "dry_run", "remove", "only_edt", "emit"])]
    list: bool,
    /// Write the agent's plugin into DIR instead.
    #[arg(long, value_name = "DIR", requires = "agent", conflicts_with_all = ["dry_run", "remove", "only_edt"])]
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

impl Args {
    /// Whether it writes files at a path that the caller names.
    pub(super) const fn emits(&self) -> bool {
        self.emit.is_some() || self.mcp_json.is_some()
    }

    /// Whether it removes edt from an agent's files.
    pub(super) const fn removes(&self) -> bool {
        self.remove && !self.dry_run
    }

    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let answer = match (&self.agent, &self.mcp_json) {
            (Some(name), _) if name == "validators" => self.validators(context)?,
            (Some(name), _) => {
                self.one(context, edt_agents::named(name).ok_or_else(|| unknown(name))?)?
            }
            (None, Some(file)) => self.list_of_servers(context, file)?,
            (None, None) if self.list => self.listed(context)?,
            (None, None) => self.chosen(context)?,
        };
        Ok(context.answer(&answer, render_human))
    }

    /// Sets up the agents that the user chooses of those that are here.
    fn chosen(&self, context: &Context) -> Result<Answer> {
        let targets = [
            self.target(context, Scope::User, false)?,
            self.target(context, Scope::Project, false)?,
        ];
        let mut answer = Answer::new(if self.remove { "remove" } else { "setup" });
        (answer.scope, answer.dry_run) = (Some(self.scope), self.dry_run);
        let agents = found::choose(context, &targets, self.scope, self.remove)?;
        for agent in &agents {
            let one = self.one(context, agent)?;
            answer.files.extend(one.files);
            let new = |note: &String| !answer.notes.contains(note);
            let notes: Vec<String> = one.notes.into_iter().filter(new).collect();
            answer.notes.extend(notes);
        }
        if agents.is_empty() {
            answer.notes.push("No agent was chosen, and nothing was changed.".to_owned());
        }
        Ok(answer)
    }

    fn one(&self, context: &Context, agent: &'static Agent) -> Result<Answer> {
        if let Some(directory) = &self.emit {
            let files = emit::emit(agent, directory)?;
            return Ok(Answer { agent: Some(agent.name), files, ..Answer::new("emit") });
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
        let target = self.target(context, self.scope, self.only_edt)?;
        let mut answer = self.wired(agent.name, target, &wiring.files, &wiring.notes)?;
        answer.agent = Some(agent.name);
        Ok(answer)
    }

    /// Adds the server to a list that the user names.
    fn list_of_servers(&self, context: &Context, file: &Path) -> Result<Answer> {
        let file = fs::real_path(&context.start).join(file);
        let user = self.target(context, Scope::User, false)?;
        let is_of_project = file.starts_with(&user.root) && user.root != user.home;
        let scope = if is_of_project { Scope::Project } else { Scope::User };
        let target = SetupTarget { scope, ..user };
        let hash = edt_git::sha256(file.as_os_str().as_encoded_bytes())?;
        let name = format!("mcp-json-{}", hash.get(..16).unwrap_or(&hash));
        let files = |target: &SetupTarget| clients::listed_in(&file, target);
        let way = "The client reads no instructions of edt: `edt guide` prints a text for it.";
        self.wired(&name, target, &files, &|_| vec![way.to_owned()])
    }

    /// Adds or removes the programs that check edits.
    fn validators(&self, context: &Context) -> Result<Answer> {
        if self.only_edt || self.emit.is_some() {
            let message = "validators are no agent: --only-edt and --emit do not apply.";
            return Err(Finding::new(Code::BadRequest, message, "Repeat without them.")
                .with_effect(edt_types::Effect::NothingWritten)
                .into());
        }
        let target = self.target(context, self.scope, false)?;
        let (file, notes) = validators::managed(&target, !self.dry_run)?;
        let mut answer =
            self.wired("validators", target, &|_| vec![file.clone()], &|_| notes.clone())?;
        answer.notes.retain(|note| notes.contains(note));
        Ok(answer)
    }

    /// Writes or removes edt's part of `files`. `name` is that of the receipt.
    fn wired(
        &self,
        name: &str,
        mut target: SetupTarget,
        files: &dyn Fn(&SetupTarget) -> Vec<ManagedFile>,
        notes: &dyn Fn(&SetupTarget) -> Vec<String>,
    ) -> Result<Answer> {
        let mut answer = Answer::new("setup");
        let store = store()?;
        // Tools that an earlier call disabled stay disabled until `--remove`.
        let previous =
            SetupTarget { only_edt: store.find(name, &target)?.only_edt, ..target.clone() };
        target.only_edt |= previous.only_edt;
        let dry_run = if self.dry_run { DryRun::Yes } else { DryRun::No };
        let all = files(&target);
        (answer.scope, answer.dry_run) = (Some(target.scope), self.dry_run);
        if self.remove {
            answer.action = "remove";
            answer.files = apply::remove(name, &target, &all, &store, dry_run)?;
        } else {
            let previous = files(&previous);
            answer.files = apply::install(name, &target, &all, &previous, &store, dry_run)?;
            answer.notes = notes(&target);
            if target.edt != "edt" {
                let way = format!(
                    "`edt` on PATH is another program, so the files name this program's path: {}.",
                    target.edt
                );
                answer.notes.push(way);
            }
            answer.notes.extend(found::to_commit(&target, &all));
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
            answer.agents.push(list::listed(agent, &targets, &mut server));
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
