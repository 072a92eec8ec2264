//! `edt trust`.

use std::fmt::Write as _;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::{Context, Ruled, trust_store};
use super::guards::Program;
use super::render::{self, DIM, GOOD, NAME, paint, short};
use crate::base::{Code, Finding, Result, Settled, Status};
use crate::git;
use crate::policy::Trust;
use crate::policy::trust::{Entry, Store};
use crate::session::world;

/// Let the programs run that this repository's edt.toml names. Shows them first and asks; needs a terminal.
///
/// What is trusted is the whole file as the session's base commit (else HEAD) has it, in this worktree: a changed file needs new
/// trust. It is recorded outside the repository. It tells a person's decision from the repository's wish; it is no boundary
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
    /// Everything that is trusted, in every worktree.
    entries: Vec<Line>,
    /// An interrupted transaction that this call settled.
    settled: Option<Settled>,
}

/// One trusted file.
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
        let hash = world::policy_file(&repo, tree)?.map(|bytes| git::sha256(&bytes)).transpose()?;
        if self.revoke {
            at_a_terminal()?;
            store.revoke(&root)?;
        } else if let Some(hash) = hash.as_ref().filter(|_| !self.list && !validators.is_empty())
            && !store.trusts(hash, &root)?
        {
            ask(&validators, &base.to_string(), &root)?;
            store.trust(hash, &root)?;
        }
        let trusted = hash.as_ref().map_or(Ok(false), |hash| store.trusts(hash, &root))?;
        for one in &mut validators {
            one.trust = if trusted { "given" } else { "awaited" };
        }
        let entries = store.entries()?.into_iter().map(Line::from).collect();
        let answer =
            Answer { schema: "edt.trust/1", base: base.to_string(), hash, trusted, validators, entries, settled };
        Ok(context.answer(&answer, |answer| self.people(answer, &store)))
    }

    fn people(&self, answer: &Answer, store: &Store) -> String {
        let mut out = render::settled(answer.settled.as_ref());
        let state = match (answer.validators.is_empty(), answer.trusted) {
            (true, _) => "edt.toml names no programs here: there is nothing to trust".to_owned(),
            (false, true) => paint(GOOD, "edt.toml is trusted here"),
            (false, false) => "edt.toml is not trusted here".to_owned(),
        };
        let _ = writeln!(out, "{state} {}", paint(DIM, &format!("(as {} has it)", short(&answer.base))));
        out.extend(answer.validators.iter().map(Program::people));
        if self.list {
            let _ = writeln!(out, "{}", paint(DIM, &store.file().display().to_string()));
            for Line { hash, date, root } in &answer.entries {
                let _ = writeln!(out, "  {date} {} {}", short(hash), paint(NAME, &root.escape_debug().to_string()));
            }
        }
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
        "Ask a person to run it in a terminal; `edt guards` shows which programs wait for it.",
    )
    .into())
}

/// Shows what would be trusted and asks the person at the terminal.
fn ask(validators: &[Program], base: &str, root: &Path) -> Result<()> {
    at_a_terminal()?;
    let mut text = format!(
        "edt.toml of commit {} names these programs. They would run with your rights whenever edt judges such a file in {}:\n",
        short(base),
        root.display().to_string().escape_debug()
    );
    text.extend(validators.iter().map(Program::people));
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
