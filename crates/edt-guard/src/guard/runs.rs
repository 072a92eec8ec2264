//! Finds the same lines twice in a row.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use super::run_lines::{
    advances, asserts, is_call, is_command, is_idempotent, is_single, is_unlikely_to_repeat,
    reports, sets_a_member,
};
use super::subject::Subject;
use edt_lang::Parsed;

/// The shortest run that counts, in characters that are not white space.
#[derive(Debug, Clone, Copy)]
struct MinWeight {
    /// One line that has no further effect when repeated.
    line: usize,
    /// One line that is a call, outside of tests.
    call: usize,
    /// Two lines or more, each copy a statement, a member or an entry.
    block: usize,
    /// The same in tests, which repeat calls on purpose.
    test_block: usize,
    /// Two lines or more elsewhere. Entries of tables and arguments may repeat.
    elsewhere: usize,
    /// The same in markup, where elements repeat: characters, and lines.
    markup: (usize, usize),
    /// Two lines or more of markup, one of which begins with text.
    paragraph: usize,
}

/// Measured on human changes and on blocks pasted twice: `benches/guards`.
const MIN_WEIGHT: MinWeight = MinWeight {
    line: 8,
    call: 30,
    block: 16,
    test_block: 60,
    elsewhere: 40,
    markup: (120, 4),
    paragraph: 80,
};
/// The shortest run in a file without a grammar, in characters and lines.
const MIN_WITHOUT_GRAMMAR: (usize, usize) = (80, 3);
/// Most runs that are looked up in the old text. After that many, the rest passes.
const MAX_OLD_LOOKUPS: usize = 64;
/// Longest run that is searched for, in lines.
const MAX_RUN: usize = 400;
/// Most lines that are compared for one added range, and most runs that are checked with the tree.
/// After that, the rest passes: a text that repeats one line a million times has too many runs.
const MAX_COMPARED: usize = 20_000_000;
const MAX_CHECKED: usize = 100_000;

/// The rows (0-based, end excluded) of both copies of the first run that occurs twice in a row. One
/// copy is in the `added` lines, and the old text did not have both.
pub(super) fn first(
    subject: &Subject<'_>,
    added: &[Range<usize>],
    tree: Option<&Parsed<'_>>,
) -> Option<(Range<usize>, Range<usize>)> {
    // Tests repeat code on purpose.
    let test = is_test(&subject.path.text());
    added.iter().find_map(|range| Window::around(subject, range).first(subject, tree, test))
}

/// The rows of both copies, if code without a grammar is the same text twice.
pub(super) fn whole(subject: &Subject<'_>) -> Option<(Range<usize>, Range<usize>)> {
    subject.family()?;
    let (old, new) = subject.lines().texts();
    let half = |lines: &[&[u8]]| {
        let filled = |row: &usize| !lines[*row].trim_ascii().is_empty();
        let rows: Vec<usize> = (0..lines.len()).filter(filled).collect();
        let (first, second) = rows.split_at(rows.len() / 2);
        let mut pairs = first.iter().zip(second);
        let twice = first.len() == second.len()
            && first.len() >= MIN_WITHOUT_GRAMMAR.1
            && pairs.all(|(a, b)| lines[*a].trim_ascii_end() == lines[*b].trim_ascii_end());
        twice.then(|| second[0])
    };
    let at = half(new).filter(|_| half(old).is_none())?;
    Some((0..at, at..new.len()))
}

/// Whether a path is one of tests or of what they work on.
pub(super) fn is_test(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let mut words = path.split(|c: char| !c.is_ascii_alphanumeric());
    path.contains("test")
        || words.any(|word| matches!(word, "spec" | "specs" | "fixture" | "fixtures" | "bats"))
}

/// The lines around an added range, without blank ones.
struct Window<'s> {
    lines: &'s [&'s [u8]],
    /// The row of each line.
    rows: Vec<usize>,
    /// For each line a number that equal lines share.
    ids: Vec<usize>,
    /// For each line the number of characters that are not white space in all lines before it. The
    /// last entry is the total.
    weights: Vec<usize>,
    /// For each line the end of the sequence of equal lines that starts there.
    equal_until: Vec<usize>,
    /// The added lines.
    added: Range<usize>,
    /// The lines of the old text, without blank ones.
    old_lines: OnceCell<Vec<&'s [u8]>>,
}

/// Two copies of `length` lines, as indexes into a window.
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
        let mut equal_until: Vec<usize> = (1..=ids.len()).collect();
        for at in (1..ids.len()).rev().filter(|&at| ids[at] == ids[at - 1]) {
            equal_until[at - 1] = equal_until[at];
        }
        Window {
            lines,
            rows: before,
            ids,
            weights,
            equal_until,
            added: from..from + added,
            old_lines: OnceCell::new(),
        }
    }

    fn first(
        &self,
        subject: &'s Subject<'_>,
        tree: Option<&Parsed<'_>>,
        test: bool,
    ) -> Option<(Range<usize>, Range<usize>)> {
        let (mut old_lookups, mut compared, mut checked) = (0, 0, 0);
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
                    let is_heavy = |test| self.is_heavy_enough(pair, tree.is_some(), test);
                    if !self.is_new(pair) || !is_heavy(test) {
                        continue;
                    }
                    checked += 1;
                    if checked > MAX_CHECKED || subject.is_over() {
                        return None;
                    }
                    let start = subject.start_of(self.rows[pair.second]);
                    let test = test || tree.is_some_and(|tree| tree.is_in_tests(start));
                    if !is_heavy(test) || !self.is_suspicious(pair, subject, tree, test) {
                        continue;
                    }
                    if !self.is_expected(pair, subject) {
                        return Some((
                            self.span(pair.first, length),
                            self.span(pair.second, length),
                        ));
                    }
                    old_lookups += 1;
                    if old_lookups == MAX_OLD_LOOKUPS {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// Whether one of the copies is within the added lines.
    fn is_new(&self, pair: Pair) -> bool {
        let within = |at: usize| self.added.start <= at && at + pair.length <= self.added.end;
        within(pair.first) || within(pair.second)
    }

    /// Whether a run is long enough, and not one line repeated. Cheap, and false for nearly all
    /// runs.
    fn is_heavy_enough(&self, pair: Pair, tree: bool, test: bool) -> bool {
        let Pair { second, length, .. } = pair;
        let weight = self.weights[second + length] - self.weights[second];
        let one_line = self.equal_until[second] >= second + length;
        match (tree, length) {
            (false, _) => {
                let (min_weight, min_lines) = MIN_WITHOUT_GRAMMAR;
                weight >= min_weight && length >= min_lines && !one_line
            }
            (true, 1) => {
                let line = self.lines[self.rows[second]];
                weight >= MIN_WEIGHT.line && line.iter().any(u8::is_ascii_alphanumeric)
            }
            (true, _) => {
                !one_line && weight >= if test { MIN_WEIGHT.test_block } else { MIN_WEIGHT.block }
            }
        }
    }

    /// Whether a run that is long enough is probably a mistake when it occurs twice.
    fn is_suspicious(
        &self,
        pair: Pair,
        subject: &'s Subject<'_>,
        tree: Option<&Parsed<'_>>,
        test: bool,
    ) -> bool {
        let Pair { first, second, length } = pair;
        let weight = self.weights[second + length] - self.weights[second];
        let line = self.lines[self.rows[second]];
        let Some(tree) = tree else { return true };
        if self.is_part(pair) {
            return false;
        }
        let starts = |at: usize| tree.starts_in_container(subject.start_of(self.rows[at]));
        let is = |name: &str| subject.language().is_some_and(|language| language.name == name);
        let (page, shell) = (is("html"), is("bash"));
        let mut run = second..second + length;
        if page && run.any(|at| is_single(self.lines[self.rows[at]])) {
            return line.trim_ascii_start().starts_with(b"<!--")
                || !tree.is_prose(subject.start_of(self.rows[second]));
        }
        if length == 1 {
            // An example in a comment may repeat a line, and a recipe a command.
            let at = subject.start_of(self.rows[second]);
            let recipe = is("make") && line.starts_with(b"\t");
            if recipe || tree.is_prose(at) && !tree.is_text(at) {
                return !recipe && self.is_remark(pair);
            }
            let idle = is_idempotent(line, shell)
                && !(test && sets_a_member(line))
                && !(shell && advances(line))
                && !(shell && test && reports(line))
                && !(shell && self.is_counted(pair));
            let call = weight >= MIN_WEIGHT.call && !test && is_unlikely_to_repeat(line);
            let remark = tree.is_prose(subject.start_of(self.rows[first.saturating_sub(1)]));
            return (idle || call)
                && starts(first)
                && starts(second)
                && !(remark && self.is_said_twice(pair))
                && !self.repeats_calls(subject, line);
        }
        if test && self.calls_and_asserts(pair, shell)
            || self.is_round(pair)
            || self.is_step(pair)
            || self.is_session(pair)
        {
            return false;
        }
        if page && self.is_style(pair) && tree.is_text(subject.start_of(self.rows[second])) {
            return weight >= MIN_WEIGHT.elsewhere;
        }
        if subject.language().is_some_and(|language| language.markup && !language.exact) {
            let (min_weight, min_lines) = MIN_WEIGHT.markup;
            return weight >= min_weight && length >= min_lines
                || weight >= MIN_WEIGHT.paragraph && self.has_text(pair);
        }
        let last = self.lines[self.rows[second + length - 1]];
        let quoted = || tree.is_text(subject.start_of(self.rows[second]));
        starts(first) && starts(second)
            || weight >= MIN_WEIGHT.elsewhere && !last.trim_ascii_end().ends_with(b",") && !quoted()
    }

    /// Whether a line of a copy, or the line below the second, shows that the copies are not whole:
    /// * The line below is indented deeper than the first line: only the beginnings of two different
    ///   blocks are equal.
    /// * A line of the run is indented less than the first one: it has the end of one block and the
    ///   beginning of the next.
    fn is_part(&self, pair: Pair) -> bool {
        let blank = |row: &usize| {
            let blanks = self.lines[*row].iter().take_while(|byte| byte.is_ascii_whitespace());
            blanks.fold(
                0,
                |column, byte| if *byte == b'\t' { (column / 8 + 1) * 8 } else { column + 1 },
            )
        };
        let indent = |at: usize| self.rows.get(at).map(blank);
        let first = indent(pair.second);
        let mut run = pair.second..pair.second + pair.length;
        indent(run.end).is_some_and(|below| Some(below) > first) || run.any(|at| indent(at) < first)
    }

    /// Whether a run of a test only calls and asserts: a test may repeat both to check a state.
    /// The orders of TypeScript in comments do not count. Each plain line of a shell is a call.
    fn calls_and_asserts(&self, pair: Pair, shell: bool) -> bool {
        let run = pair.second..pair.second + pair.length;
        let is_order = |line: &&[u8]| line.trim_ascii_start().starts_with(b"// @ts-");
        let lines =
            || run.clone().map(|at| self.lines[self.rows[at]]).filter(|line| !is_order(line));
        if lines().all(is_call) {
            return lines().any(|line| !is_unlikely_to_repeat(line));
        }
        shell && lines().all(is_command) && lines().any(asserts)
    }

    /// Whether the line names the interpreter, or is a comment of its own, with words: no other
    /// comment is next to the pair.
    fn is_remark(&self, pair: Pair) -> bool {
        let line = |at: usize| self.rows.get(at).map(|row| self.lines[*row].trim_ascii());
        let begins = |line: &[u8]| line.starts_with(b"//") || line.starts_with(b"#");
        let alone = |at: Option<usize>| !at.and_then(line).is_some_and(begins);
        let text = line(pair.second).unwrap_or_default();
        let letters = text.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
        let words = begins(text) && letters >= 8;
        let apart = alone(pair.first.checked_sub(1)) && alone(Some(pair.second + 1));
        text.starts_with(b"#!/") || words && apart
    }

    /// Whether a line of the run begins with a letter.
    fn has_text(&self, pair: Pair) -> bool {
        let mut run = pair.second..pair.second + pair.length;
        run.any(|at| {
            let first = self.lines[self.rows[at]].trim_ascii_start().first();
            first.is_some_and(u8::is_ascii_alphabetic)
        })
    }

    /// Whether the line is a command with an argument that is a number, `clear_line 1`, and occurs
    /// three times in a row: then it is repeated on purpose.
    fn is_counted(&self, pair: Pair) -> bool {
        let line = self.lines[self.rows[pair.second]].trim_ascii();
        let mut words = line.split(u8::is_ascii_whitespace).skip(1);
        let id = self.ids[pair.second];
        let times = self.ids[..pair.second].iter().rev().take_while(|other| **other == id).count()
            + self.ids[pair.second..].iter().take_while(|other| **other == id).count();
        is_command(line) && times >= 3 && words.all(|word| word.iter().all(u8::is_ascii_digit))
    }

    /// Whether the line above says that what follows occurs twice.
    fn is_said_twice(&self, pair: Pair) -> bool {
        pair.first.checked_sub(1).is_some_and(|above| {
            let line = self.lines[self.rows[above]].to_ascii_lowercase();
            memchr::memmem::find(&line, b"twice").is_some()
        })
    }

    /// Whether the old text has two other calls of the same function twice in a row.
    fn repeats_calls(&self, subject: &'s Subject<'_>, line: &[u8]) -> bool {
        let name = |line: &[u8]| {
            let line = line.trim_ascii();
            line.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'(')
        };
        let own = line.trim_ascii();
        let own = &own[..name(own).unwrap_or(0)];
        let calls = |pair: &&[&[u8]]| {
            let other = pair[0].trim_ascii();
            pair[0] == pair[1]
                && !own.is_empty()
                && name(other).map(|end| &other[..end]) == Some(own)
        };
        self.old_lines(subject).windows(2).filter(calls).nth(1).is_some()
    }

    /// Whether a line of the run is a command of a session that a comment shows, `# $ cat a`.
    fn is_session(&self, pair: Pair) -> bool {
        let mut run = pair.second..pair.second + pair.length;
        run.any(|at| {
            let line = self.lines[self.rows[at]].trim_ascii();
            let marks = line.iter().take_while(|byte| b"/*#".contains(byte)).count();
            let text = line[marks..].trim_ascii_start();
            marks > 0 && (text.starts_with(b"$ ") || text.starts_with(b">>> "))
        })
    }

    /// Whether the run has rules of a style sheet: one begins in it, and one ends in it.
    fn is_style(&self, pair: Pair) -> bool {
        let run = pair.second..pair.second + pair.length;
        let has = |sign: &[u8]| {
            run.clone().any(|at| self.lines[self.rows[at]].trim_ascii_end().ends_with(sign))
        };
        has(b"{") && has(b"}")
    }

    /// Whether the run is a step by a macro without arguments, `ADVANCE;`, and one statement more, and
    /// is also elsewhere.
    fn is_step(&self, pair: Pair) -> bool {
        let line = |at: usize| self.lines[self.rows[at]].trim_ascii();
        let (first, last) = (line(pair.second), line(pair.second + pair.length - 1));
        let capitals = |byte: &u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'0'..=b'9');
        let is_macro = |line: &[u8]| {
            line.strip_suffix(b";").is_some_and(|name| name.len() > 2 && name.iter().all(capitals))
        };
        let both =
            |lines: &&[&[u8]]| lines[0].trim_ascii() == first && lines[1].trim_ascii() == last;
        pair.length == 2
            && (is_macro(first) || is_macro(last))
            && self.lines.windows(2).filter(both).nth(2).is_some()
    }

    /// Whether the run is two different calls with the same first argument, and each function is also
    /// called elsewhere: rounds of a computation, `mix(state, key); permute(state);`, repeat.
    fn is_round(&self, pair: Pair) -> bool {
        let call = |at: usize| {
            let line = self.lines[self.rows[at]].trim_ascii();
            let open = memchr::memchr(b'(', line)?;
            let (name, rest) = (&line[..open], &line[open + 1..]);
            let word =
                rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
            let word = &rest[..word.count()];
            (is_call(line) && line.ends_with(b");") && !word.is_empty()).then_some((name, word))
        };
        let often = |name: &[u8]| {
            let calls =
                self.lines.iter().filter_map(|line| line.trim_ascii_start().strip_prefix(name));
            calls.filter(|rest| rest.starts_with(b"(")).nth(3).is_some()
        };
        let both =
            if pair.length == 2 { call(pair.second).zip(call(pair.second + 1)) } else { None };
        both.is_some_and(|((first, one), (second, other))| {
            first != second && one == other && often(first) && often(second)
        })
    }

    /// Whether the old text had the run twice in a row, or, in markup and prose, the new one has each
    /// of its lines three times: rows, cells and paragraphs repeat. Blank lines are ignored.
    fn is_expected(&self, pair: Pair, subject: &'s Subject<'_>) -> bool {
        let copy: Vec<&[u8]> = self.rows[pair.second..pair.second + pair.length]
            .iter()
            .map(|row| self.lines[*row].trim_ascii_end())
            .collect();
        let often = |line: &&[u8]| {
            self.lines.iter().filter(|other| other.trim_ascii_end() == *line).nth(2).is_some()
        };
        self.old_lines(subject)
            .windows(pair.length * 2)
            .any(|window| window[..pair.length] == copy && window[pair.length..] == copy)
            || subject.language().is_none_or(|language| language.markup && !language.exact)
                && copy.iter().all(often)
    }

    fn old_lines(&self, subject: &'s Subject<'_>) -> &[&'s [u8]] {
        self.old_lines.get_or_init(|| {
            let old = subject.lines().texts().0.iter().copied();
            old.map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty()).collect()
        })
    }

    fn span(&self, at: usize, length: usize) -> Range<usize> {
        self.rows[at]..self.rows[at + length - 1] + 1
    }
}
