//! `edt trust`.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::{Context, RepoWithPolicy};
use super::guards::Program;
use super::policy::Described;
use super::render::{self, DIM, GOOD, NAME, NOTE, paint, short};
use super::terminal_user;
use super::user_files::trust_stores;
use edt_command::Origin;
use edt_core::session::worktree::workspace;
use edt_git::Repo;
use edt_git::commit_programs::CommitPrograms;
use edt_git::driver::FilterDriver;
use edt_guard::policy::Trust;
use edt_guard::policy::trust::{TrustEntry, TrustStore};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Recovered, Result, Status};

/// Trust the programs that this repository names: validators of edt.toml, commands that its rules
/// allow, filters of its Git configuration, and Git hooks that are files of the worktree. Shows
/// them first and asks; needs a terminal.
///
/// Trust covers the complete edt.toml of the session's base commit (else HEAD), the commands of a
/// filter with the worktree files that they name, and the files of hooks; all in this worktree.
/// Every change needs new trust. Decisions are stored outside the repository. Trust separates your
/// decision from the repository's wish. It does not protect against a program that runs with your
/// rights.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt trust\n  edt trust --list\n  edt trust --revoke")]
pub(super) struct Args {
    /// List everything that is trusted, in all worktrees; change nothing.
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Revoke all trust in this worktree: its programs no longer run. Needs a terminal.
    #[arg(long)]
    revoke: bool,
}

/// The answer of `edt trust`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.trust/1`.
    schema: &'static str,
    /// The commit whose `edt.toml` applies, as a hex object id.
    base: String,
    /// The SHA-256 of that file, as hex; `null` if there is none.
    hash: Option<String>,
    /// Whether the user trusts the file in this worktree, after this call.
    trusted: bool,
    /// The validators that the repository's file names.
    validators: Vec<Program>,
    /// The rules of the repository's file that allow commands which no other rule mentions.
    commands: Vec<Described>,
    /// The filters that the repository's own Git configuration defines.
    filters: Vec<Filter>,
    /// The worktree files that Git would run when `edt land` commits (hooks, signing); `null` if
    /// there are none.
    hooks: Option<Hooks>,
    /// Everything that is trusted, in every worktree.
    entries: Vec<Line>,
    /// An interrupted transaction that this call recovered.
    recovered: Option<Recovered>,
}

/// One filter (`filter.<name>` of the repository's own Git configuration).
#[derive(Debug, Serialize, JsonSchema)]
struct Filter {
    /// Its name in Git attributes.
    name: String,
    /// The command lines that would run.
    commands: Vec<String>,
    /// The SHA-256 of the commands and of the worktree files that they name, as hex.
    hash: String,
    /// `trusted` if the user trusts it in this worktree, else `untrusted`: then it does not run.
    trust: &'static str,
}

/// Worktree files that Git would run for a commit.
#[derive(Debug, Serialize, JsonSchema)]
struct Hooks {
    /// Their paths, including files that they may run.
    files: Vec<String>,
    /// The SHA-256 of all of them, as hex.
    hash: String,
    /// `trusted` if the user trusts them in this worktree, else `untrusted`: then `edt land` is
    /// refused.
    trust: &'static str,
}

/// One trusted file or filter.
#[derive(Debug, Serialize, JsonSchema)]
struct Line {
    /// Its SHA-256, as hex.
    hash: String,
    /// When it was trusted, in UTC.
    date: String,
    /// The worktree's root; invalid UTF-8 is replaced.
    root: String,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let RepoWithPolicy { repo, recovered, base, tree, policy } = context.repo_with_policy()?;
        let stores = trust_stores();
        let store = stores.first().ok_or_else(no_trust_directory)?;
        let root = repo.real_root()?;
        let named = policy.validators.iter().filter(|one| one.trust != Trust::User);
        let mut validators: Vec<Program> = named.map(Program::of).collect();
        let commands: Vec<Described> = policy
            .commands
            .untrusted_allow_rules()
            .map(|rule| Described::of(Origin::Repository, rule))
            .collect();
        let hash = workspace::policy_file(&repo, tree)?
            .map(|bytes| edt_git::sha256(&bytes))
            .transpose()?;
        let mut filters = filters(&repo)?;
        let hooks = repo.commit_programs(&root)?;
        let mut hooks =
            hooks.map(|CommitPrograms { files, hash }| Hooks { files, hash, trust: "untrusted" });
        if self.revoke {
            require_terminal()?;
            stores.iter().try_for_each(|store| store.revoke(&root))?;
        } else if !self.list {
            let file = hash.as_ref().filter(|_| !validators.is_empty() || !commands.is_empty());
            let hashes: Vec<&String> = file
                .into_iter()
                .chain(filters.iter().map(|filter| &filter.hash))
                .chain(hooks.iter().map(|hooks| &hooks.hash))
                .collect();
            let each =
                || stores.iter().flat_map(|store| hashes.iter().map(move |hash| (store, hash)));
            let trusted = each()
                .map(|(store, hash)| store.trusts(hash, &root))
                .collect::<Result<Vec<bool>>>()?;
            if trusted.contains(&false) {
                ask(&validators, &commands, &filters, hooks.as_ref(), &base.to_string(), &root)?;
                each().try_for_each(|(store, hash)| store.trust(hash, &root))?;
            }
        }
        let trusted = hash.as_ref().map_or(Ok(false), |hash| store.trusts(hash, &root))?;
        for one in &mut validators {
            one.trust = if trusted { "trusted" } else { "untrusted" };
        }
        for one in &mut filters {
            one.trust = if store.trusts(&one.hash, &root)? { "trusted" } else { "untrusted" };
        }
        if let Some(hooks) =
            hooks.as_mut().filter(|hooks| store.trusts(&hooks.hash, &root).unwrap_or(false))
        {
            hooks.trust = "trusted";
        }
        let entries = store.entries()?.into_iter().map(Line::from).collect();
        let (schema, base) = ("edt.trust/1", base.to_string());
        let answer = Answer {
            schema,
            base,
            hash,
            trusted,
            validators,
            commands,
            filters,
            hooks,
            entries,
            recovered,
        };
        Ok(context.answer(&answer, |answer| self.render_human(answer, store)))
    }

    fn render_human(&self, answer: &Answer, store: &TrustStore) -> String {
        let mut out = render::recovered(answer.recovered.as_ref());
        let state =
            match (answer.validators.is_empty() && answer.commands.is_empty(), answer.trusted) {
                (true, _) if answer.filters.is_empty() && answer.hooks.is_none() => {
                    "edt.toml names no programs: there is nothing to trust".to_owned()
                }
                (true, _) => "edt.toml names no programs".to_owned(),
                (false, true) => paint(GOOD, "edt.toml is trusted here"),
                (false, false) => "edt.toml is not trusted here".to_owned(),
            };
        let _ = writeln!(
            out,
            "{state} {}",
            paint(DIM, &format!("(in commit {})", short(&answer.base)))
        );
        out.extend(answer.validators.iter().map(Program::render_human));
        out.extend(answer.commands.iter().map(|rule| rule.render_human(true)));
        out.extend(answer.filters.iter().map(Filter::render_human));
        out.extend(answer.hooks.iter().map(Hooks::render_human));
        if self.list {
            let _ = writeln!(out, "{}", paint(DIM, &store.file().shown()));
            for Line { hash, date, root } in &answer.entries {
                let _ = writeln!(
                    out,
                    "  {date} {} {}",
                    short(hash),
                    paint(NAME, &root.escape_debug().to_string())
                );
            }
        }
        out
    }
}

/// The filters that the repository's own configuration defines, all marked untrusted.
fn filters(repo: &Repo) -> Result<Vec<Filter>> {
    let filter = |driver: &FilterDriver| {
        let (name, commands, hash) =
            (driver.name.clone(), driver.commands(), repo.driver_hash(driver)?);
        Ok(Filter { name, commands, hash, trust: "untrusted" })
    };
    repo.local_drivers().iter().map(filter).collect()
}

impl Filter {
    /// The text for a terminal, with control characters escaped.
    fn render_human(&self) -> String {
        let trust = match self.trust {
            "untrusted" => paint(NOTE, "waits for `edt trust`"),
            _ => paint(GOOD, "trusted"),
        };
        let mut out =
            format!("  filter {}  {trust}\n", paint(NAME, &self.name.escape_debug().to_string()));
        out.extend(
            self.commands.iter().map(|command| format!("    runs {}\n", command.escape_debug())),
        );
        out
    }
}

impl Hooks {
    /// The text for a terminal, with control characters escaped.
    fn render_human(&self) -> String {
        let trust = match self.trust {
            "untrusted" => paint(NOTE, "wait for `edt trust`"),
            _ => paint(GOOD, "trusted"),
        };
        let mut out = format!("  files that Git runs for a commit  {trust}\n");
        out.extend(self.files.iter().map(|file| format!("    {}\n", file.escape_debug())));
        out
    }
}

impl From<TrustEntry> for Line {
    fn from(entry: TrustEntry) -> Line {
        Line { hash: entry.hash, date: entry.date, root: entry.root.to_string_lossy().into_owned() }
    }
}

/// Refuses a caller without a terminal. An agent must not trust programs, nor revoke trust, which
/// would disable them.
fn require_terminal() -> Result<()> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    Err(Finding::new(
        Code::TrustRequired,
        "Only the user may run `edt trust`, at a terminal; this call has no terminal.",
        "Ask the user to run `edt trust` in a terminal; `edt trust --list` shows which programs are untrusted.",
    ).nothing_changed()
    .into())
}

/// Shows what would be trusted and asks the user at the terminal.
fn ask(
    validators: &[Program],
    commands: &[Described],
    filters: &[Filter],
    hooks: Option<&Hooks>,
    base: &str,
    root: &Path,
) -> Result<()> {
    require_terminal()?;
    let root = root.to_string_lossy().into_owned();
    let mut text = String::new();
    if !validators.is_empty() {
        let _ = writeln!(
            text,
            "edt.toml of commit {} names these programs. They would run with your rights whenever edt checks such a file in {}:",
            short(base),
            root.escape_debug()
        );
        text.extend(validators.iter().map(Program::render_human));
    }
    if !commands.is_empty() {
        let _ = writeln!(
            text,
            "edt.toml of commit {} allows agents to run these commands without asking you in {}:",
            short(base),
            root.escape_debug()
        );
        text.extend(commands.iter().map(|rule| rule.render_human(true)));
    }
    if !filters.is_empty() {
        let _ = writeln!(
            text,
            "The Git configuration of this repository defines these filters. They would run with your rights whenever edt reads or writes a file whose attributes name them in {}:",
            root.escape_debug()
        );
        text.extend(filters.iter().map(Filter::render_human));
    }
    if let Some(hooks) = hooks {
        let _ = writeln!(
            text,
            "Git is configured to run these files of the worktree when it commits. They would run with your rights whenever `edt land` commits in {}; read them first:",
            root.escape_debug()
        );
        text.push_str(&hooks.render_human());
    }
    text.push_str("Let them run? Type yes: ");
    if terminal_user::confirm(&text) {
        return Ok(());
    }
    Err(Finding::new(
        Code::TrustRequired,
        "The answer was not yes.",
        "The programs do not run, and edits continue without them. `edt trust` asks again.",
    )
    .nothing_changed()
    .into())
}

fn no_trust_directory() -> Finding {
    Finding::new(
        Code::IoError,
        "Trust decisions cannot be stored: neither XDG_DATA_HOME nor HOME is an absolute path.",
        "Set HOME and repeat the call.",
    )
}
