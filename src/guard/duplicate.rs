//! Code must not be pasted twice: no statement equal to its neighbour, no run of lines twice in a row, no second definition of a name.
//!
//! Only what the edit adds counts: what stood twice before may stand twice after.

use std::collections::HashMap;
use std::ops::Range;

use super::{Guard, Judgement, Subject};
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

/// How much of a run must count, in characters that are not white space, by what it is.
#[derive(Debug, Clone, Copy)]
struct Bar {
    /// One line that means nothing when it is said twice.
    line: usize,
    /// One line that is a call, outside tests.
    call: usize,
    /// Two lines or more, each copy a statement, a member or an entry.
    block: usize,
    /// Two lines or more elsewhere. Entries of tables and arguments may repeat.
    elsewhere: usize,
}

/// The bar in a language with a grammar.
const SEEN: Bar = Bar { line: 8, call: 30, block: 16, elsewhere: 40 };
/// The bar in a file without one: three lines at least, and never one alone.
const BLIND: Bar = Bar { line: usize::MAX, call: usize::MAX, block: usize::MAX, elsewhere: 80 };
/// Lines of a run in a file without a grammar.
const MIN_BLIND_LINES: usize = 3;
/// Simple statements count from this many tokens.
const MIN_TOKENS: usize = 2;
/// Longest run looked for, in lines.
const MAX_RUN: usize = 400;

impl Guard for DuplicateCode {
    fn name(&self) -> &'static str {
        "duplicate_code"
    }

    fn rule(&self) -> &'static str {
        "More often than before: a compound statement, a definition or a declaration equal to its neighbour, token for token; a run of \
         lines of 40 characters or more twice in a row; a name defined twice in one scope where the language wants it once."
    }

    fn source(&self) -> &'static str {
        "benches/guards"
    }

    fn judge(&self, subject: &Subject<'_>, _: &Policy) -> Judgement {
        detect(subject).map(|found| explain(subject, &found)).into()
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
    run(subject, &added, tree)
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
    let fewer_before = |clash: &Clash| old().map_or(1, |old| old.most_definitions(&clash.name)) < clash.count;
    tree.clashes(added).into_iter().find(fewer_before)
}

/// The same run of lines twice in a row, one copy of it in added lines.
fn run(subject: &Subject<'_>, added: &[Range<usize>], tree: Option<&Parsed<'_>>) -> Option<Duplicate> {
    let (old, new) = subject.lines().texts();
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let significant = |line: &[u8]| line.iter().any(|byte| !byte.is_ascii_whitespace());
    // Rows that count, and for each a number that equal lines share.
    let mut rows: Vec<usize> = Vec::new();
    let mut ids: Vec<usize> = Vec::new();
    for (row, line) in new.iter().enumerate().filter(|(_, line)| significant(line)) {
        let next = numbers.len();
        rows.push(row);
        ids.push(*numbers.entry(line.trim_ascii_end()).or_insert(next));
    }
    // Tests say the same again and again.
    let test = subject.path.to_string().to_ascii_lowercase().contains("test");
    let bar = if tree.is_some() { SEEN } else { BLIND };
    for range in added {
        let from = rows.partition_point(|row| *row < range.start);
        let to = rows.partition_point(|row| *row < range.end);
        for length in 1..=(to - from).min(MAX_RUN) {
            // The second copy may begin elsewhere so that one of the two lies within what was added.
            let mut equal = 0;
            for second in from.saturating_sub(length).max(length)..(to + length).min(ids.len()) {
                equal = if ids[second] == ids[second - length] { equal + 1 } else { 0 };
                if equal < length {
                    continue;
                }
                let start = second + 1 - length;
                let (a, b) = (start - length, start);
                let inside = |at: usize| at >= from && at + length <= to;
                let text = |at: usize| &new[rows[at]];
                let weight: usize =
                    (a..b).map(|at| text(at).iter().filter(|byte| !byte.is_ascii_whitespace()).count()).sum();
                let all_equal = length > 1 && ids[a..b].iter().all(|id| *id == ids[a]);
                if !(inside(a) || inside(b)) || all_equal || weight < bar.line.min(bar.block).min(bar.elsewhere) {
                    continue;
                }
                let starts = |at: usize| tree.is_some_and(|tree| tree.starts_in_container(subject.start_of(rows[at])));
                let enough = match length {
                    _ if tree.is_none() => weight >= bar.elsewhere && length >= MIN_BLIND_LINES,
                    1 => {
                        let once = says_nothing_twice(text(a)) && weight >= bar.line
                            || !test && weight >= bar.call && is_said_once(text(a));
                        once && starts(a) && starts(b)
                    }
                    _ if starts(a) && starts(b) => weight >= bar.block,
                    _ => weight >= bar.elsewhere && !is_entry(text(b - 1)),
                };
                if !enough || length > 1 && goes_on(new, &rows, b, length) {
                    continue;
                }
                let copy: Vec<&[u8]> = (a..b).map(|at| text(at).trim_ascii_end()).collect();
                if stood_twice(old, &copy) {
                    continue;
                }
                let rows_of = |at: usize| rows[at]..rows[at + length - 1] + 1;
                return Some(Duplicate::Run { first: rows_of(a), second: rows_of(b) });
            }
        }
    }
    None
}

/// Whether a line ends an entry of a table or an argument list, which may repeat.
fn is_entry(line: &[u8]) -> bool {
    line.trim_ascii_end().ends_with(b",")
}

/// Whether the second copy goes on below it, deeper than it begins: then it only begins as the first does.
fn goes_on(lines: &[&[u8]], rows: &[usize], second: usize, length: usize) -> bool {
    let indent = |at: usize| rows.get(at).map(|row| lines[*row].iter().take_while(|byte| byte.is_ascii_whitespace()).count());
    indent(second + length).is_some_and(|below| Some(below) > indent(second))
}

/// Whether a statement says nothing when it is said twice: it changes nothing by itself, as a call, an increment or a bare expression may.
fn says_nothing_twice(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    let changes = [
        &b"++"[..],
        b"--",
        b"+=",
        b"-=",
        b"*=",
        b"/=",
        b"|=",
        b"&=",
        b"^=",
        b"<<",
        b">>",
        b"<-",
        b"yield",
        b"await",
        b"next",
    ];
    if changes.iter().any(|word| has(word)) {
        return false;
    }
    // A call begins with a path and an opening bracket; a bare expression has neither a space nor a sign of assignment.
    let path = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:>!*&-@$?\"'".contains(byte);
    let end = line.iter().position(|byte| !path(byte)).unwrap_or(line.len());
    !(end == line.len() || matches!(line[end], b'(' | b'[' | b';' | b',' | b'{' | b'}'))
}

/// Whether a long call is none that checks a state, as tests do again and again, and none that moves on.
fn is_said_once(line: &[u8]) -> bool {
    const AGAIN: [&str; 17] = [
        "assert", "require", "expect", "check", "equal", "test", "verify", "ok(", "next", "read", "++", "--", "+=", "yield", "await", "push", "<-",
    ];
    let line = String::from_utf8_lossy(line).to_lowercase();
    !AGAIN.iter().any(|word| line.contains(word))
}

/// Whether `copy` stood twice in a row before, blank lines left out.
fn stood_twice(old: &[&[u8]], copy: &[&[u8]]) -> bool {
    let kept: Vec<&[u8]> = old.iter().map(|line| line.trim_ascii_end()).filter(|line| !line.is_empty()).collect();
    let length = copy.len();
    kept.windows(length * 2).any(|window| window[..length] == *copy && window[length..] == *copy)
}

fn explain(subject: &Subject<'_>, found: &Duplicate) -> Finding {
    let lines = |rows: &Range<usize>| match rows.len() {
        0 | 1 => format!("line {}", rows.start + 1),
        _ => format!("lines {}-{}", rows.start + 1, rows.end),
    };
    let (what, first, second) = match found {
        Duplicate::Twin(twin) => ("The same statement".to_owned(), &twin.first, &twin.second),
        Duplicate::Run { first, second } => ("The same run of lines".to_owned(), first, second),
        Duplicate::Clash(clash) => (format!("A definition of `{}`", clash.name), &clash.first, &clash.second),
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
