//! `edt trust`.

use std::fmt::Write as _;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::{Context, Ruled, trust_store};
use super::guards::Program;
use super::policy::Described;
use super::render::{self, DIM, GOOD, NAME, NOTE, paint, short};
use crate::base::{Code, Finding, Result, Settled, Status};
use crate::git::commit_programs::Programs;
use crate::git::driver::Driver;
use crate::git::{self, Repo};
use crate::policy::Trust;
use crate::policy::command::Origin;
use crate::policy::trust::{Entry, Store};
use crate::session::world;

/// Let the programs run that this repository names: validators of edt.toml, commands that its rules allow, filters of its Git configuration, Git's hooks where they
/// are files of the worktree. Shows them first and asks; needs a terminal.
///
/// What is trusted of edt.toml is the whole file as the session's base commit (else HEAD) has it; of a filter, its commands and
/// the files of the worktree that they name; of hooks, the files; all in this worktree. What changes needs new trust. It is recorded outside the repository. It tells a person's decision from the repository's wish; it is no boundary
/// against a program that runs with your own rights.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt trust\n  edt trust --list\n  edt trust --revoke")]
pub(super) struct Args {
    /// List what is trusted, here and elsewhere; change nothing.
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Take back all trust in this worktree: its programs no longer run. Needs a terminal, too.
    #[arg(long)]
    revoke: bool,
}

/// The answer of `edt trust`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.trust/1`.
    schema: &'static str,
    /// The commit whose `edt.toml` is meant, as a hex object id.
    base: String,
    /// The SHA-256 of that file, as hex; `null` if there is none.
    hash: Option<String>,
    /// Whether a person trusts it in this worktree, after this call.
    trusted: bool,
    /// The programs that the repository's file names.
    validators: Vec<Program>,
    /// The rules of the repository's file that allow commands which no other rule speaks of.
    commands: Vec<Described>,
    /// The filters that the repository's own Git configuration defines.
    filters: Vec<Filter>,
    /// The files of the worktree that Git would run when `edt land` commits (hooks, signing); `null` if there are none.
    hooks: Option<Hooks>,
    /// Everything that is trusted, in every worktree.
    entries: Vec<Line>,
    /// An interrupted transaction that this call settled.
    settled: Option<Settled>,
}

/// One filter (`filter.<name>` of the repository's own Git configuration).
#[derive(Debug, Serialize, JsonSchema)]
struct Filter {
    /// Its name, which attributes give to files.
    name: String,
    /// The command lines that would run.
    commands: Vec<String>,
    /// The SHA-256 of the commands and of the files of the worktree that they name, as hex.
    hash: String,
    /// `given` if a person trusts it in this worktree, else `awaited`: it does not run.
    trust: &'static str,
}

/// Files of the worktree that Git would run for a commit.
#[derive(Debug, Serialize, JsonSchema)]
struct Hooks {
    /// Their paths, with what they may run beside them.
    files: Vec<String>,
    /// The SHA-256 of all of them, as hex.
    hash: String,
    /// `given` if a person trusts them in this worktree, else `awaited`: `edt land` waits.
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
        let Ruled { repo, settled, base, tree, policy } = context.ruled()?;
        let store = trust_store().ok_or_else(homeless)?;
        let root = repo.real_root()?;
        let named = policy.validators.iter().filter(|one| one.trust != Trust::Own);
        let mut validators: Vec<Program> = named.map(Program::of).collect();
        let commands: Vec<Described> = policy
            .commands
            .awaiting()
            .map(|rule| Described::of(Origin::Repository, rule))
            .collect();
        let hash = world::policy_file(&repo, tree)?.map(|bytes| git::sha256(&bytes)).transpose()?;
        let mut filters = filters(&repo)?;
        let hooks = repo.commit_programs(&root)?;
        let mut hooks =
            hooks.map(|Programs { files, hash }| Hooks { files, hash, trust: "awaited" });
        if self.revoke {
            at_a_terminal()?;
            store.revoke(&root)?;
        } else if !self.list {
            let file = hash.as_ref().filter(|_| !validators.is_empty() || !commands.is_empty());
            let hashes: Vec<&String> = file
                .into_iter()
                .chain(filters.iter().map(|filter| &filter.hash))
                .chain(hooks.iter().map(|hooks| &hooks.hash))
                .collect();
            let trusted = hashes
                .iter()
                .map(|hash| store.trusts(hash, &root))
                .collect::<Result<Vec<bool>>>()?;
            if trusted.contains(&false) {
                ask(&validators, &commands, &filters, hooks.as_ref(), &base.to_string(), &root)?;
                hashes.iter().try_for_each(|hash| store.trust(hash, &root))?;
            }
        }
        let trusted = hash.as_ref().map_or(Ok(false), |hash| store.trusts(hash, &root))?;
        for one in &mut validators {
            one.trust = if trusted { "given" } else { "awaited" };
        }
        for one in &mut filters {
            one.trust = if store.trusts(&one.hash, &root)? { "given" } else { "awaited" };
        }
        if let Some(hooks) =
            hooks.as_mut().filter(|hooks| store.trusts(&hooks.hash, &root).unwrap_or(false))
        {
            hooks.trust = "given";
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
            settled,
        };
        Ok(context.answer(&answer, |answer| self.people(answer, &store)))
    }

    fn people(&self, answer: &Answer, store: &Store) -> String {
        let mut out = render::settled(answer.settled.as_ref());
        let state =
            match (answer.validators.is_empty() && answer.commands.is_empty(), answer.trusted) {
                (true, _) if answer.filters.is_empty() && answer.hooks.is_none() => {
                    "edt.toml names no programs here: there is nothing to trust".to_owned()
                }
                (true, _) => "edt.toml names no programs here".to_owned(),
                (false, true) => paint(GOOD, "edt.toml is trusted here"),
                (false, false) => "edt.toml is not trusted here".to_owned(),
            };
        let _ = writeln!(
            out,
            "{state} {}",
            paint(DIM, &format!("(as {} has it)", short(&answer.base)))
        );
        out.extend(answer.validators.iter().map(Program::people));
        out.extend(answer.commands.iter().map(|rule| rule.people(true)));
        out.extend(answer.filters.iter().map(Filter::people));
        out.extend(answer.hooks.iter().map(Hooks::people));
        if self.list {
            let _ = writeln!(out, "{}", paint(DIM, &store.file().display().to_string()));
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

/// The filters that the repository's own configuration defines; what is trusted is not looked up yet.
fn filters(repo: &Repo) -> Result<Vec<Filter>> {
    let filter = |driver: &Driver| {
        let (name, commands, hash) =
            (driver.name.clone(), driver.commands(), repo.driver_hash(driver)?);
        Ok(Filter { name, commands, hash, trust: "awaited" })
    };
    repo.local_drivers().iter().map(filter).collect()
}

impl Filter {
    /// For people: nothing in it can move the cursor or change the direction of the text.
    fn people(&self) -> String {
        let trust = match self.trust {
            "awaited" => paint(NOTE, "waits for `edt trust`"),
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
    /// For people, as [`Filter::people`].
    fn people(&self) -> String {
        let trust = match self.trust {
            "awaited" => paint(NOTE, "wait for `edt trust`"),
            _ => paint(GOOD, "trusted"),
        };
        let mut out = format!("  files that Git runs for a commit  {trust}\n");
        out.extend(self.files.iter().map(|file| format!("    {}\n", file.escape_debug())));
        out
    }
}

impl From<Entry> for Line {
    fn from(entry: Entry) -> Line {
        Line { hash: entry.hash, date: entry.date, root: entry.root.to_string_lossy().into_owned() }
    }
}

/// Whether a person may be there: an agent must neither give trust nor take it, which would switch the programs off.
fn at_a_terminal() -> Result<()> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    Err(Finding::new(
        Code::TrustRequired,
        "`edt trust` is for a person, and there is no terminal here. Nothing was changed.",
        "Ask a person to run it in a terminal; `edt trust --list` shows which programs wait for it.",
    )
    .into())
}

/// Shows what would be trusted and asks the person at the terminal.
fn ask(
    validators: &[Program],
    commands: &[Described],
    filters: &[Filter],
    hooks: Option<&Hooks>,
    base: &str,
    root: &Path,
) -> Result<()> {
    at_a_terminal()?;
    let root = root.display().to_string();
    let mut text = String::new();
    if !validators.is_empty() {
        let _ = writeln!(
            text,
            "edt.toml of commit {} names these programs. They would run with your rights whenever edt judges such a file in {}:",
            short(base),
            root.escape_debug()
        );
        text.extend(validators.iter().map(Program::people));
    }
    if !commands.is_empty() {
        let _ = writeln!(
            text,
            "edt.toml of commit {} lets agents run these commands without asking you in {}:",
            short(base),
            root.escape_debug()
        );
        text.extend(commands.iter().map(|rule| rule.people(true)));
    }
    if !filters.is_empty() {
        let _ = writeln!(
            text,
            "The Git configuration of this repository defines these filters. They would run with your rights whenever edt reads or writes a file whose attributes name them in {}:",
            root.escape_debug()
        );
        text.extend(filters.iter().map(Filter::people));
    }
    if let Some(hooks) = hooks {
        let _ = writeln!(
            text,
            "Git is set up to run these files of the worktree when it commits. They would run with your rights whenever `edt land` commits in {}; read them first:",
            root.escape_debug()
        );
        text.push_str(&hooks.people());
    }
    text.push_str("Let them run? Type yes: ");
    let mut screen = anstream::stderr().lock();
    let _ = screen.write_all(text.as_bytes()).and_then(|()| screen.flush());
    let mut word = String::new();
    let _ = std::io::stdin().lock().read_line(&mut word);
    if word.trim() == "yes" {
        return Ok(());
    }
    Err(Finding::new(
        Code::TrustRequired,
        "The answer was not yes. Nothing was trusted.",
        "The programs do not run; edits go on without them. `edt trust` asks again.",
    )
    .into())
}

fn homeless() -> Finding {
    Finding::new(
        Code::IoError,
        "There is no place for what you trust: neither XDG_DATA_HOME nor HOME is an absolute path.",
        "Set HOME and repeat the call.",
    )
}
