//! Code must not be pasted twice: no statement equal to its neighbour, no run of lines twice in a row, no second definition of a name.
//!
//! Only what the edit adds counts: what stood twice before may stand twice after.

use std::ops::Range;

use super::{Guard, Judgement, Subject, runs};
use crate::base::{Code, Finding};
use crate::lang::Parsed;
use crate::lang::outline::{Block, Clash, Twin};
use crate::policy::Policy;

/// The guard `duplicate_code`.
#[derive(Debug)]
pub struct DuplicateCode;

/// What stands twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Duplicate {
    /// Equal neighbours.
    Twin(Twin),
    /// The same lines twice in a row.
    Run {
        /// The rows of the first copy, 0-based, end excluded.
        first: Range<usize>,
        /// The rows of the second.
        second: Range<usize>,
    },
    /// A name defined twice in one scope.
    Clash(Clash),
}

/// Simple statements count from this many tokens.
const MIN_TOKENS: usize = 2;

impl Guard for DuplicateCode {
    fn name(&self) -> &'static str {
        "duplicate_code"
    }

    fn rule(&self) -> &'static str {
        "More often than before: a compound statement, a definition or a declaration equal to its neighbour, token for token; the same \
         lines twice in a row (16 characters in statements and members, 40 elsewhere, 80 and three lines without a grammar); a name \
         defined twice in one scope where the language wants it once."
    }

    fn source(&self) -> &'static str {
        "benches/guards"
    }

    fn judge(&self, subject: &Subject<'_>, _: &Policy) -> Judgement {
        match subject.new_tree() {
            Some(Err(why)) => Judgement::Unchecked(format!(
                "{} was not searched for duplicates: {why}.",
                subject.path
            )),
            _ => detect(subject).map(|found| explain(subject, &found)).into(),
        }
    }
}

/// The first thing that stands twice because of the edit.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> Option<Duplicate> {
    subject.text()?;
    let added = subject.added();
    if added.is_empty() {
        return None;
    }
    let tree = match subject.new_tree() {
        Some(Ok(tree)) => Some(tree),
        _ => None,
    };
    if let Some(tree) = tree {
        let old = || subject.old_tree().and_then(|old| old.as_ref().ok());
        if let Some(twin) = twin(tree, &added, old) {
            return Some(Duplicate::Twin(twin));
        }
        if let Some(clash) = clash(tree, &added, old) {
            return Some(Duplicate::Clash(clash));
        }
    }
    runs::first(subject, &added, tree).map(|(first, second)| Duplicate::Run { first, second })
}

fn twin<'p, 't: 'p>(
    tree: &Parsed<'_>,
    added: &[Range<usize>],
    old: impl Fn() -> Option<&'p Parsed<'t>>,
) -> Option<Twin> {
    let counts = |twin: &Twin| twin.what == Block::Compound || twin.tokens >= MIN_TOKENS;
    let mut found = tree.twins(added).into_iter().filter(counts).peekable();
    found.peek()?;
    let everywhere = std::slice::from_ref(&(0..usize::MAX));
    let all = |tree: &Parsed<'_>| tree.twins(everywhere).into_iter().filter(counts).count();
    let before = old().map_or(0, &all);
    if all(tree) > before { found.next() } else { None }
}

fn clash<'p, 't: 'p>(
    tree: &Parsed<'_>,
    added: &[Range<usize>],
    old: impl Fn() -> Option<&'p Parsed<'t>>,
) -> Option<Clash> {
    let fewer_before =
        |clash: &Clash| old().map_or(1, |old| old.most_definitions(&clash.name)) < clash.count;
    tree.clashes(added).into_iter().find(fewer_before)
}

fn explain(subject: &Subject<'_>, found: &Duplicate) -> Finding {
    let lines = |rows: &Range<usize>| match rows.len() {
        0 | 1 => format!("line {}", rows.start + 1),
        _ => format!("lines {}-{}", rows.start + 1, rows.end),
    };
    let (what, first, second) = match found {
        Duplicate::Twin(twin) => ("The same statement".to_owned(), &twin.first, &twin.second),
        Duplicate::Run { first, second } => ("The same run of lines".to_owned(), first, second),
        Duplicate::Clash(clash) => {
            (format!("A definition of `{}`", clash.name), &clash.first, &clash.second)
        }
    };
    let path = subject.path;
    Finding::new(
        Code::DuplicateCode,
        format!("{what} would stand twice in {path}: {} and {}. Nothing was changed.", lines(first), lines(second)),
        "Leave out what stands there already: read the file and send only what is new. If it really should stand twice, repeat with \
         allow: [\"duplicate_code\"].",
    )
    .at(path)
    .with("first", serde_json::json!([first.start + 1, first.end]))
    .with("second", serde_json::json!([second.start + 1, second.end]))
}
