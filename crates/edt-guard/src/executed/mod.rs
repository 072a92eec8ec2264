//! What other programs execute by themselves, by its name alone: one table of programs, and one
//! list of hidden names that are free.
//!
//! Hidden names are judged the other way round: a file asks if one of its names begins with a full
//! stop, unless [`kept`](KeptNames) has it. So a program that no table has asks as well.

mod fold;
mod kept;
mod names;
mod table;

use std::sync::LazyLock;

use edt_types::RepoPath;

use fold::folded;
pub use kept::{KeptNames, LineFinder};
use names::NameTable;
pub use names::{ENDINGS, Executor, When};

static EXECUTORS: LazyLock<Vec<Executor>> = LazyLock::new(table::programs);
static PROGRAMS: LazyLock<NameTable<Executor>> =
    LazyLock::new(|| NameTable::of(programs(), |one| one.names));
static KEPT: LazyLock<NameTable<KeptNames>> =
    LazyLock::new(|| NameTable::of(kept::KEPT, |one| one.names));
static INSTRUCTIONS: LazyLock<NameTable<&str>> =
    LazyLock::new(|| NameTable::of(kept::INSTRUCTIONS, |one| one));

/// Whether a change of a file waits for the user because of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameJudgement {
    Free,
    Asks(AskReason),
}

/// Why a path asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskReason {
    /// Where in the path the name begins.
    pub from: usize,
    /// The program that executes the file, or what it names; `None` for a hidden name of which only
    /// that is known.
    pub executor: Option<&'static Executor>,
}

impl NameJudgement {
    /// Why the path asks, if it does.
    #[must_use]
    pub fn reason(self) -> Option<AskReason> {
        match self {
            NameJudgement::Free => None,
            NameJudgement::Asks(reason) => Some(reason),
        }
    }
}

/// All programs of the table, by name.
#[must_use]
pub fn programs() -> &'static [Executor] {
    &EXECUTORS
}

/// The hidden names that are free.
#[must_use]
pub fn free_names() -> &'static [KeptNames] {
    kept::KEPT
}

/// Judges the path of a file. Case and the form of Unicode do not count.
#[must_use]
pub fn judge(path: &RepoPath) -> NameJudgement {
    let path = FoldedPath::of(path.as_bytes());
    let program = path.starts().find_map(|(from, rest)| Some((from, PROGRAMS.at(rest)?)));
    if let Some((from, executor)) = program {
        return NameJudgement::Asks(AskReason { from, executor: Some(executor) });
    }
    let mut hidden = path.starts().filter(|(_, rest)| is_hidden(rest));
    match hidden.find(|(_, rest)| KEPT.at(rest).is_none()) {
        Some((from, _)) => NameJudgement::Asks(AskReason { from, executor: None }),
        None => NameJudgement::Free,
    }
}

/// The program that executes every file in the directory `path`.
#[must_use]
pub fn program_of_directory(path: &RepoPath) -> Option<&'static Executor> {
    let path = FoldedPath::of(path.as_bytes());
    path.starts().find_map(|(_, rest)| PROGRAMS.directory(rest))
}

/// Where in `path` a name begins that a link there can lead to: one of the table, or a hidden one
/// that is not free.
#[must_use]
pub fn leads_to(path: &RepoPath) -> Option<usize> {
    let path = FoldedPath::of(path.as_bytes());
    let asks = |rest: &[u8]| {
        let is_last = !name_of(rest).contains(&b'/');
        PROGRAMS.above(rest).is_some() || is_last && is_hidden(rest) && KEPT.at(rest).is_none()
    };
    path.starts().find(|(_, rest)| asks(rest)).map(|(from, _)| from)
}

/// Where in `path` the name begins because of which a program executes something through a link
/// there, and the program: its own name, or one that is below it.
#[must_use]
pub fn executor_through(path: &RepoPath) -> Option<(usize, &'static Executor)> {
    let path = FoldedPath::of(path.as_bytes());
    let executor = |rest: &[u8]| PROGRAMS.at(rest).or_else(|| PROGRAMS.above(rest));
    path.starts().find_map(|(from, rest)| Some((from, executor(rest)?)))
}

/// Whether some path that a program executes has a component with this name. No other name needs a
/// closer look, but for links.
#[must_use]
pub fn is_component(name: &[u8]) -> bool {
    PROGRAMS.has_component(&folded(name))
}

/// Whether a link with this name asks, wherever it is.
#[must_use]
pub fn asks_as_link(name: &[u8]) -> bool {
    let name = folded(name);
    is_hidden(&name) && KEPT.at(&name).is_none()
}

/// Whether agents read `path` as instructions.
#[must_use]
pub fn is_instructions(path: &RepoPath) -> bool {
    let path = FoldedPath::of(path.as_bytes());
    path.starts().any(|(_, rest)| INSTRUCTIONS.at(rest).is_some())
}

/// The lines of `text` with which the file `path` makes a program execute something, although its
/// name is free.
#[must_use]
pub fn lines_that_ask<'t>(path: &RepoPath, text: &'t [u8]) -> Vec<&'t [u8]> {
    let path = FoldedPath::of(path.as_bytes());
    let kept = path.starts().filter_map(|(_, rest)| KEPT.at(rest));
    kept.filter_map(|kept| kept.unless).flat_map(|lines| lines(text)).collect()
}

/// A path with folded names.
struct FoldedPath<'p> {
    path: &'p [u8],
    /// Begins with `/`.
    folded: Vec<u8>,
}

impl FoldedPath<'_> {
    fn of(path: &[u8]) -> FoldedPath<'_> {
        FoldedPath { path, folded: [b"/", &*folded(path)].concat() }
    }

    /// Where each component begins in the path, and the folded path from there on. The first one has
    /// a `/` before it.
    fn starts(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let slashes = memchr::memchr_iter(b'/', self.path).map(|at| at + 1);
        let rests = memchr::memchr_iter(b'/', &self.folded);
        let rests = rests.map(|at| if at == 0 { 0 } else { at + 1 });
        std::iter::once(0).chain(slashes).zip(rests.map(|at| &self.folded[at..]))
    }
}

fn is_hidden(rest: &[u8]) -> bool {
    name_of(rest).starts_with(b".")
}

/// `rest` without the `/` of a whole path.
fn name_of(rest: &[u8]) -> &[u8] {
    rest.strip_prefix(b"/").unwrap_or(rest)
}

#[cfg(test)]
mod tests;
