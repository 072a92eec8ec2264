//! The same lines twice in a row.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use super::Subject;
use crate::lang::Parsed;

/// How much of a run must count, in characters that are not white space, by what it is.
#[derive(Debug, Clone, Copy)]
struct Bar {
    /// One line that means nothing when it is said twice.
    line: usize,
    /// One line that is a call, outside tests.
    call: usize,
    /// Two lines or more, each copy a statement, a member or an entry.
    block: usize,
    /// The same in tests, which do a thing twice to see what the second time does.
    test_block: usize,
    /// Two lines or more elsewhere. Entries of tables and arguments may repeat.
    elsewhere: usize,
}

/// Measured on human changes and on blocks pasted twice: `benches/guards`.
const BAR: Bar = Bar { line: 8, call: 30, block: 16, test_block: 60, elsewhere: 40 };
/// In a file without a grammar: characters and lines of a run.
const BLIND: (usize, usize) = (80, 3);
/// So many runs that stood there before are looked up before the rest is let pass.
const MAX_LOOKS: usize = 64;
/// Longest run looked for, in lines.
const MAX_RUN: usize = 400;
/// So many lines are compared for one added range, and so many runs judged by the tree, before the rest is let pass: a text of one line
/// a million times over has more runs than anybody can wait for.
const MAX_COMPARED: usize = 20_000_000;
const MAX_JUDGED: usize = 100_000;

/// The rows (0-based, end excluded) of the two copies of the first run that stands twice in a row, one copy in `added` lines, and did
/// not before.
pub(super) fn first(
    subject: &Subject<'_>,
    added: &[Range<usize>],
    tree: Option<&Parsed<'_>>,
) -> Option<(Range<usize>, Range<usize>)> {
    // Tests say the same again and again.
    let test = subject.path.to_string().to_ascii_lowercase().contains("test");
    added.iter().find_map(|range| Window::around(subject, range).first(subject, tree, test))
}

/// The lines around an added range that are not blank.
struct Window<'s> {
    lines: &'s [&'s [u8]],
    /// Their rows.
    rows: Vec<usize>,
    /// For each a number that equal lines share.
    ids: Vec<usize>,
    /// For each how many characters that are not white space stand in all before it; one more at the end.
    weights: Vec<usize>,
    /// For each where the lines that equal it, from it on, end.
    alike: Vec<usize>,
    /// Those that were added.
    added: Range<usize>,
    /// The lines of the text before that are not blank.
    kept: OnceCell<Vec<&'s [u8]>>,
}

/// Two copies of `length` lines, as places in a window.
#[derive(Clone, Copy)]
struct Pair {
    first: usize,
    second: usize,
    length: usize,
}

impl<'s> Window<'s> {
    fn around(subject: &'s Subject<'_>, range: &Range<usize>) -> Window<'s> {
        let lines = subject.lines().texts().1;
        let blank = |row: &usize| lines[*row].trim_ascii().is_empty();
        let mut rows: Vec<usize> = range.clone().filter(|row| !blank(row)).collect();
        let added = rows.len();
        let most = added.min(MAX_RUN);
        let mut before: Vec<usize> =
            (0..range.start).rev().filter(|row| !blank(row)).take(most).collect();
        before.reverse();
        let from = before.len();
        before.append(&mut rows);
        before.extend((range.end..lines.len()).filter(|row| !blank(row)).take(most + 1));
        let mut numbers: HashMap<&[u8], usize> = HashMap::new();
        let mut number = |row: &usize| {
            let next = numbers.len();
            *numbers.entry(lines[*row].trim_ascii_end()).or_insert(next)
        };
        let ids: Vec<usize> = before.iter().map(&mut number).collect();
        let mut weights = vec![0];
        for row in &before {
            let solid = lines[*row].iter().filter(|byte| !byte.is_ascii_whitespace()).count();
            weights.push(weights.last().copied().unwrap_or(0) + solid);
        }
        let mut alike: Vec<usize> = (1..=ids.len()).collect();
        for at in (1..ids.len()).rev().filter(|&at| ids[at] == ids[at - 1]) {
            alike[at - 1] = alike[at];
        }
        Window {
            lines,
            rows: before,
            ids,
            weights,
            alike,
            added: from..from + added,
            kept: OnceCell::new(),
        }
    }

    fn first(
        &self,
        subject: &'s Subject<'_>,
        tree: Option<&Parsed<'_>>,
        test: bool,
    ) -> Option<(Range<usize>, Range<usize>)> {
        let (mut looks, mut compared, mut judged) = (0, 0, 0);
        for length in 1..=self.added.len().min(MAX_RUN) {
            let mut equal = 0;
            compared += self.ids.len();
            if compared > MAX_COMPARED && length > 1 {
                return None;
            }
            for at in length..self.ids.len() {
                equal = if self.ids[at] == self.ids[at - length] { equal + 1 } else { 0 };
                if equal >= length {
                    let pair = Pair { first: at + 1 - 2 * length, second: at + 1 - length, length };
                    if !self.is_new(pair) || !self.weighs(pair, tree.is_some(), test) {
                        continue;
                    }
                    judged += 1;
                    if judged > MAX_JUDGED {
                        return None;
                    }
                    if !self.counts(pair, subject, tree, test) {
                        continue;
                    }
                    if !self.stood_before(pair, subject) {
                        return Some((
                            self.span(pair.first, length),
                            self.span(pair.second, length),
                        ));
                    }
                    looks += 1;
                    if looks == MAX_LOOKS {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// Whether one of the copies lies within what was added.
    fn is_new(&self, pair: Pair) -> bool {
        let within = |at: usize| self.added.start <= at && at + pair.length <= self.added.end;
        within(pair.first) || within(pair.second)
    }

    /// Whether a run is long enough, and of more than one line said again and again: cheap, and false for nearly all.
    fn weighs(&self, pair: Pair, tree: bool, test: bool) -> bool {
        let Pair { second, length, .. } = pair;
        let weight = self.weights[second + length] - self.weights[second];
        let one_line = self.alike[second] >= second + length;
        match (tree, length) {
            (false, _) => weight >= BLIND.0 && length >= BLIND.1 && !one_line,
            (true, 1) => weight >= BAR.line,
            (true, _) => !one_line && weight >= if test { BAR.test_block } else { BAR.block },
        }
    }

    /// Whether a run that weighs enough means something when it is said twice.
    fn counts(
        &self,
        pair: Pair,
        subject: &Subject<'_>,
        tree: Option<&Parsed<'_>>,
        test: bool,
    ) -> bool {
        let Pair { first, second, length } = pair;
        let weight = self.weights[second + length] - self.weights[second];
        let line = self.lines[self.rows[second]];
        let Some(tree) = tree else { return true };
        let starts = |at: usize| tree.starts_in_container(subject.start_of(self.rows[at]));
        if length == 1 {
            let idle = says_nothing_twice(line);
            let call = weight >= BAR.call && !test && is_said_once(line);
            return (idle || call) && starts(first) && starts(second);
        }
        if self.goes_on(pair) {
            return false;
        }
        let last = self.lines[self.rows[second + length - 1]];
        let quoted = || tree.is_text(subject.start_of(self.rows[second]));
        starts(first) && starts(second)
            || weight >= BAR.elsewhere && !last.trim_ascii_end().ends_with(b",") && !quoted()
    }

    /// Whether the second copy goes on below it, deeper than it begins: then it only begins as the first does.
    fn goes_on(&self, pair: Pair) -> bool {
        let blank = |row: &usize| {
            self.lines[*row].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
        };
        let indent = |at: usize| self.rows.get(at).map(blank);
        indent(pair.second + pair.length).is_some_and(|below| Some(below) > indent(pair.second))
    }

    /// Whether the run stood twice in a row before, blank lines left out.
    fn stood_before(&self, pair: Pair, subject: &'s Subject<'_>) -> bool {
        let copy: Vec<&[u8]> = self.rows[pair.second..pair.second + pair.length]
            .iter()
            .map(|row| self.lines[*row].trim_ascii_end())
            .collect();
        let kept = self.kept.get_or_init(|| {
            let old = subject.lines().texts().0.iter().copied();
            old.map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty()).collect()
        });
        kept.windows(pair.length * 2)
            .any(|window| window[..pair.length] == copy && window[pair.length..] == copy)
    }

    fn span(&self, at: usize, length: usize) -> Range<usize> {
        self.rows[at]..self.rows[at + length - 1] + 1
    }
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
    // `x = x.parent` moves on. Which includes may come again the language's own queries know.
    let moves = memchr::memmem::find(line, b" = ")
        .is_some_and(|at| memchr::memmem::find(&line[at + 3..], line[..at].trim_ascii()).is_some());
    if moves || line.starts_with(b"#include") {
        return false;
    }
    // What a call gives may differ the second time.
    let assigned = memchr::memmem::find(line, b"= ").map_or(&b""[..], |at| &line[at..]);
    if assigned.contains(&b'(') && !is_said_once(line) {
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
        "assert", "require", "expect", "check", "equal", "test", "verify", "ok(", "next", "read",
        "++", "--", "+=", "yield", "await", "push", "<-",
    ];
    let line = String::from_utf8_lossy(line).to_lowercase();
    !AGAIN.iter().any(|word| line.contains(word))
}
