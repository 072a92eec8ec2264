//! What a command is run with: read once from the arguments and the environment.

use std::cell::RefCell;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Global, note, render};
use crate::base::{Durability, Findings, Outcome, Result, Settled, Status, Warning};
use crate::git::{Oid, Repo};
use crate::hook::who::Who;
use crate::policy::Policy;
use crate::policy::trust::Store;
use crate::proposal::told::{self, News};
use crate::session::world::{self, Caller, Warm};
use crate::session::{Session, World};

/// The surroundings of a command.
pub(super) struct Context {
    pub(super) start: PathBuf,
    pub(super) json: bool,
    command: String,
    wait: f64,
    durability: Option<Durability>,
    warm: Option<Rc<Warm>>,
    out: Out,
    settled: RefCell<Option<Settled>>,
    news: RefCell<News>,
}

/// Where answers go.
#[derive(Debug)]
enum Out {
    /// To the standard streams.
    Streams,
    /// Nowhere: who called reads it here.
    Kept(RefCell<Option<Kept>>),
}

/// An answer that was kept: as a machine reads it, and as people do.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) json: serde_json::Value,
    pub(super) text: String,
}

/// What calls that a server answers have in common.
#[cfg(feature = "mcp")]
#[derive(Debug, Clone)]
pub(super) struct Calling {
    pub(super) start: PathBuf,
    wait: f64,
    durability: Option<Durability>,
}

#[cfg(feature = "mcp")]
impl Calling {
    /// The surroundings of a call of `command` in the worktree `start`, with what stays in memory between calls.
    pub(super) fn context(&self, command: &str, start: PathBuf, warm: Rc<Warm>) -> Context {
        Context {
            start,
            json: true,
            command: command.to_owned(),
            wait: self.wait,
            durability: self.durability,
            warm: Some(warm),
            out: Out::Kept(RefCell::default()),
            settled: RefCell::default(),
            news: RefCell::default(),
        }
    }
}

/// A text that is made for another program, wrapped for a machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Text<'a> {
    /// Always `edt.text/1`.
    schema: &'static str,
    /// The text.
    text: &'a str,
}

/// A repository and the rules that hold in it.
pub(super) struct Ruled {
    pub(super) repo: Repo,
    pub(super) settled: Option<Settled>,
    pub(super) base: Oid,
    pub(super) tree: Oid,
    pub(super) policy: Policy,
}

/// Where the person keeps what they trust: outside of every repository.
pub(super) fn trust_store() -> Option<Store> {
    persons("XDG_DATA_HOME", ".local/share").map(|data| Store::new(data.join("edt")))
}

/// A folder of the person's, by the variable that names it, else below their home. Never a relative one: that would lie wherever
/// edt is called.
pub(super) fn persons(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))
}

impl Context {
    pub(super) fn new(global: &Global, command: String) -> Context {
        let start = global.dir.clone().unwrap_or_else(|| PathBuf::from("."));
        Context {
            start,
            json: global.json,
            command,
            wait: global.wait,
            durability: global.durability,
            warm: None,
            out: Out::Streams,
            settled: RefCell::default(),
            news: RefCell::default(),
        }
    }

    /// What calls that a server answers have in common.
    #[cfg(feature = "mcp")]
    pub(super) fn calling(&self) -> Calling {
        Calling { start: self.start.clone(), wait: self.wait, durability: self.durability }
    }

    /// The answer that was kept; none if this context prints.
    #[cfg(feature = "mcp")]
    pub(super) fn kept(self) -> Option<Kept> {
        match self.out {
            Out::Streams => None,
            Out::Kept(kept) => kept.into_inner(),
        }
    }

    /// What the caller of edt brings along.
    pub(super) fn caller(&self) -> Result<Caller> {
        let person_policy = match persons("XDG_CONFIG_HOME", ".config")
            .map(|home| home.join("edt/edt.toml"))
            .map(|file| (std::fs::read_to_string(&file), file))
        {
            Some((Ok(text), _)) => Some(text),
            // A policy that is there and cannot be read is never skipped.
            Some((Err(error), file))
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Err(crate::io::failed("read your policy", &file, &error).into());
            }
            _ => None,
        };
        let lock_wait =
            Duration::try_from_secs_f64(self.wait).unwrap_or(crate::session::world::LOCK_WAIT);
        let (command, durability) = (self.command.clone(), self.durability);
        Ok(Caller {
            command,
            lock_wait,
            person_policy,
            trust: trust_store(),
            durability,
            warm: self.warm.clone(),
        })
    }

    /// The repository, to read it, with the session's base (else HEAD's commit) and the policy that holds there.
    pub(super) fn ruled(&self) -> Result<Ruled> {
        let (repo, settled) = self.repo()?;
        let head = repo.head()?;
        let session = Session::current(&repo, &head)?;
        let base = session.map_or_else(
            || head.commit.unwrap_or_else(|| repo.empty_tree()),
            |session| session.base,
        );
        let tree = repo.tree_of(base)?;
        let policy = world::policy(&repo, &self.caller()?, tree)?;
        Ok(Ruled { repo, settled, base, tree, policy })
    }

    /// Who calls. What a server is asked comes from an agent, whatever terminal the server was started at.
    pub(super) fn who(&self) -> Who {
        match self.out {
            Out::Streams => Who::here(),
            Out::Kept(_) => Who::Agent("edt mcp".to_owned()),
        }
    }

    /// What persons decided on proposals of this worktree, to be told with the answer that is printed now.
    pub(super) fn news(&self) -> Vec<Warning> {
        let news = self.news.take();
        // A person's own call is no answer to the agent.
        if !news.is_empty() && self.who() != Who::Person {
            news.told();
        }
        news.warnings
    }

    /// Looks for what persons decided.
    pub(super) fn hear(&self, repo: &Repo) {
        self.news.replace(told::news(repo));
    }

    /// What was settled on the way in.
    pub(super) fn settled(&self) -> Option<Settled> {
        self.settled.take()
    }

    /// The repository, to change it.
    pub(super) fn world(&self) -> Result<World> {
        let world = World::open(&self.start, self.caller()?)?;
        self.settled.replace(world.settled.clone());
        self.hear(&world.repo);
        Ok(world)
    }

    /// The repository, to read it.
    pub(super) fn repo(&self) -> Result<(Repo, Option<Settled>)> {
        let (repo, settled) = World::read(&self.start, &self.caller()?)?;
        self.settled.replace(settled.clone());
        Ok((repo, settled))
    }

    /// Prints the answer of a command that changes something.
    pub(super) fn outcome(
        &self,
        outcome: &Outcome,
        people: impl FnOnce(&Outcome) -> String,
    ) -> Status {
        let news = self.news();
        let told = (!news.is_empty()).then(|| Outcome {
            warnings: [news, outcome.warnings.clone()].concat(),
            ..outcome.clone()
        });
        let outcome = told.as_ref().unwrap_or(outcome);
        note::outcome(outcome);
        self.answer(outcome, people);
        outcome.status
    }

    /// Prints the answer of a command that only reads.
    pub(super) fn answer<T: Serialize>(
        &self,
        answer: &T,
        people: impl FnOnce(&T) -> String,
    ) -> Status {
        match &self.out {
            Out::Kept(kept) => {
                let json = serde_json::to_value(answer).unwrap_or_default();
                let text = anstream::adapter::strip_str(&people(answer)).to_string();
                kept.replace(Some(Kept { json, text }));
            }
            Out::Streams => {
                self.print(&if self.json { render::json(answer) } else { people(answer) })
            }
        }
        Status::Applied
    }

    /// Prints a text that is made for another program, or wraps it for a machine.
    pub(super) fn text(&self, text: &str) -> Status {
        self.answer(&Text { schema: "edt.text/1", text }, |_| text.to_owned())
    }

    /// Prints text; a closed pipe is no error.
    #[expect(clippy::unused_self, reason = "every print goes through the context")]
    pub(super) fn print(&self, text: &str) {
        let stdout = std::io::stdout();
        let plain = anstream::AutoStream::choice(&stdout) == anstream::ColorChoice::Never;
        let mut text =
            if plain { anstream::adapter::strip_str(text).to_string() } else { text.to_owned() };
        if !text.ends_with('\n') && !text.is_empty() {
            text.push('\n');
        }
        // In one piece: one system call, and no answer torn between two processes.
        let _ = stdout.lock().write_all(text.as_bytes());
    }

    /// Prints a note for people beside the answer: on standard error.
    #[expect(clippy::unused_self, reason = "every print goes through the context")]
    pub(super) fn note(&self, text: &str) {
        let _ = write!(anstream::stderr().lock(), "{text}");
    }

    /// Notes on the call's span how it ended.
    pub(super) fn noted(&self, status: Status) {
        note::ended(status, matches!(self.out, Out::Kept(_)));
    }

    /// Prints a refusal: as JSON on standard output, for people on standard error.
    pub(super) fn refusal(&self, findings: Findings, status: Status) {
        let mut outcome = render::refusal(findings, status);
        outcome.settled = self.settled();
        outcome.warnings = self.news();
        outcome.proposal =
            outcome.errors.iter().find_map(|one| one.evidence.get("proposal")?.as_u64());
        note::outcome(&outcome);
        if self.json {
            self.answer(&outcome, render::refused);
        } else {
            self.note(&render::refused(&outcome));
        }
    }
}
