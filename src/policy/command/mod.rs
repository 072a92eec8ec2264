//! Which programs an agent may run: rules over what is really executed.
//!
//! [`Commands::judge`] finds the program (`found`), takes it apart where it runs another one (`wrapper`, `script`, `interpreter`, `find`),
//! and asks the rules of three layers about every command in it (`judge`): the person's own, the built-in ones (`builtin.toml`, in the same
//! language as theirs), the repository's. The strictest word counts; what nobody speaks of is asked about. Pure: the file system is
//! behind [`Programs`].

mod builtin;
mod environment;
mod files;
mod find;
mod fit;
mod found;
mod git;
mod interpreter;
mod judge;
mod on_disk;
mod pattern;
mod places;
mod reach;
mod rule;
mod run;
mod script;
mod sed;
mod shell;
mod simple;
mod wrapper;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::Level;
pub use on_disk::OnDisk;
pub use rule::Rule;
pub(super) use rule::Table;
pub(super) use run::Table as RunTable;
pub use run::{OnFindings, RunRules};

/// A program that is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The program: a name that is looked for on `PATH`, or a path, relative to `dir`.
    pub program: &'a OsStr,
    /// Its arguments.
    pub args: &'a [OsString],
    /// Where it is to run, absolute.
    pub dir: &'a Path,
    /// The worktree's root, absolute and without links.
    pub root: &'a Path,
    /// What the caller adds to the environment.
    pub env: &'a [(OsString, OsString)],
    /// The sandbox that it is to run in.
    pub level: Level,
}

/// What the policy must know of the machine.
pub trait Programs {
    /// The folders of the very `PATH` by which the program will be looked for.
    fn folders(&self) -> Vec<PathBuf>;
    /// Whether a regular file that may be executed is at `path`.
    fn runs(&self, path: &Path) -> bool;
    /// The path without links, if something is there.
    fn real(&self, path: &Path) -> Option<PathBuf>;
    /// The names in a folder; none if it cannot be read.
    fn names(&self, folder: &Path) -> Vec<String>;
    /// The person's home.
    fn home(&self) -> Option<PathBuf>;
}

/// What becomes of a command; later is stricter.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It runs.
    Allow,
    /// It waits for a person.
    Ask,
    /// It does not run.
    Deny,
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Edt's own rules.
    BuiltIn,
    /// The person's own `edt.toml`.
    Yours,
    /// The repository's `edt.toml`.
    Repository,
}

/// One command that was found in what is to be run, or one part of how it is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// How it was come by: `given`, `env`, `sh -c`, ….
    pub by: String,
    /// The command; invalid UTF-8 is replaced.
    pub argv: Vec<String>,
    /// What becomes of it.
    pub decision: Decision,
    /// The rule that decided.
    pub rule: String,
    /// Where the rule comes from.
    pub origin: Origin,
    /// Why.
    pub reason: String,
}

/// What becomes of a program, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The strictest word on any of the steps.
    pub decision: Decision,
    /// The path to execute, absolute, its links kept: a program may go by the name it is called by. `None` if there is no such program.
    pub program: Option<PathBuf>,
    /// The same without links.
    pub real: Option<PathBuf>,
    /// Each command found inside, the program itself first.
    pub steps: Vec<Step>,
    /// Why: of the first of the strictest steps.
    pub reason: String,
    /// The rule that decided.
    pub rule: String,
    /// Where that rule comes from.
    pub origin: Origin,
    /// The next thing to do; empty if it may run.
    pub hint: &'static str,
}

/// Whether a person lets the repository's rules allow anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trusted {
    /// Nobody trusted the file as it is.
    #[default]
    No,
    /// A person did.
    Yes,
}

/// The rules of both files, and what holds for every run.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    /// What holds for every run.
    pub run: RunRules,
    /// The person's own rules.
    pub yours: Vec<Rule>,
    /// The repository's rules.
    pub repository: Vec<Rule>,
    /// Whether those of the repository may allow.
    pub trusted: Trusted,
}

impl Commands {
    /// What becomes of a program.
    #[must_use]
    pub fn judge(&self, asked: &Asked<'_>, programs: &dyn Programs) -> Judgement {
        judge::judge(self, asked, programs)
    }

    /// Every rule with its origin: the person's, the built-in ones, the repository's.
    #[must_use]
    pub fn rules(&self) -> Vec<(Origin, &Rule)> {
        let of = |origin, rules: &'static [Rule]| rules.iter().map(move |rule| (origin, rule));
        let yours = self.yours.iter().map(|rule| (Origin::Yours, rule));
        let repository = self.repository.iter().map(|rule| (Origin::Repository, rule));
        yours.chain(of(Origin::BuiltIn, builtin::rules())).chain(repository).collect()
    }

    /// The rules of the repository that allow something: they wait for a person's trust.
    pub fn awaiting(&self) -> impl Iterator<Item = &Rule> {
        self.repository.iter().filter(|rule| rule.decision == Decision::Allow)
    }
}

/// The rules of both files.
///
/// # Errors
/// What is wrong in which file (`true`: the repository's).
pub(super) fn of(
    (person, yours): (RunTable, Vec<Table>),
    (repo, repository): (RunTable, Vec<Table>),
) -> Result<Commands, (bool, String)> {
    let checked = |tables: Vec<Table>, of_repository| {
        // Without a rule, the built-in ones need not be read.
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        rule::checked(tables, builtin::known()).map_err(|why| (of_repository, why))
    };
    let (yours, repository) = (checked(yours, false)?, checked(repository, true)?);
    Ok(Commands { run: run::merged(person, repo)?, yours, repository, trusted: Trusted::No })
}

impl Decision {
    /// The name, as answers and `edt.toml` have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        }
    }
}

impl Origin {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Origin::BuiltIn => "built in",
            Origin::Yours => "your own edt.toml",
            Origin::Repository => "the repository's edt.toml",
        }
    }
}
