//! A file must not shrink far below its recorded state: the mark of a file overwritten with a fragment.
//!
//! Measured against HEAD and against the session's base, so that ten small edits do not add up to what one large edit may not
//! do. Thresholds: `policy::SizeLimits`.

use std::collections::HashMap;

use super::subject::count;
use super::{Guard, Judgement, Reference, Side, Subject};
use crate::base::text::line_count;
use crate::base::{Code, Finding, RepoPath};
use crate::policy::{Policy, SizeLimits};

/// The guard `size_reduction`.
#[derive(Debug)]
pub struct SizeReduction;

/// How far a file would shrink.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shrink {
    /// Bytes before and after.
    pub bytes: (u64, u64),
    /// Lines before and after.
    pub lines: (u64, u64),
    /// Which of the two decided.
    pub by: Measure,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Bytes.
    Bytes,
    /// Lines.
    Lines,
}

impl Guard for SizeReduction {
    fn name(&self) -> &'static str {
        "size_reduction"
    }

    fn rule(&self) -> &'static str {
        "A file of more than 1000 bytes would lose more than 90 % of them, or one of 50 lines or more would lose more than 66 %, against HEAD \
         or the session's base. Lines that come in another file of the same transaction are not lost."
    }

    fn source(&self) -> &'static str {
        "a 3400-byte file overwritten with `}`; a 70-line Makefile replaced by ten lines"
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy) -> Judgement {
        let Some(after) = subject.after else { return Judgement::Pass };
        let found = |reference: &Reference<'_>| {
            let shrink = detect(reference.text, after, &policy.size_limits)?;
            let moved = moved(reference.text, after, subject);
            let left = (shrink.bytes.1 + moved.0, shrink.lines.1 + moved.1);
            judged(shrink.bytes.0, shrink.lines.0, left, &policy.size_limits)
                .map(|_| (reference.whose, shrink))
        };
        let shrunk = subject.references.iter().find_map(found);
        shrunk.map(|(whose, shrink)| explain(subject.path, whose, &shrink)).into()
    }
}

/// Whether `after` is too small against `before`.
#[must_use]
pub fn detect(before: &[u8], after: &[u8], limits: &SizeLimits) -> Option<Shrink> {
    judged(before.len() as u64, line_count(before), (after.len() as u64, line_count(after)), limits)
}

fn judged(bytes: u64, lines: u64, left: (u64, u64), limits: &SizeLimits) -> Option<Shrink> {
    let (bytes, lines) = ((bytes, left.0), (lines, left.1));
    let by_bytes = bytes.0 > limits.min_bytes && lost(bytes) > limits.max_bytes_lost;
    let by_lines = lines.0 >= limits.min_lines && lost(lines) > limits.max_lines_lost;
    let by = if by_bytes { Measure::Bytes } else { Measure::Lines };
    (by_bytes || by_lines).then_some(Shrink { bytes, lines, by })
}

/// Bytes and lines that go from this file and come in another of the same transaction: code that moves is not lost.
fn moved(before: &[u8], after: &[u8], subject: &Subject<'_>) -> (u64, u64) {
    let mine = |side: &&Side<'_>| side.path != subject.path && Some(side.path) != subject.from;
    let mut come: HashMap<&[u8], i64> = HashMap::new();
    for side in subject.sides.iter().filter(mine) {
        count(&mut come, side.after, 1);
        count(&mut come, side.before, -1);
    }
    if come.is_empty() {
        return (0, 0);
    }
    let mut gone: HashMap<&[u8], i64> = HashMap::new();
    count(&mut gone, before, 1);
    count(&mut gone, after, -1);
    gone.into_iter().fold((0, 0), |(bytes, lines), (line, times)| {
        let times = u64::try_from(times.min(come.get(line).copied().unwrap_or_default()))
            .unwrap_or_default();
        (bytes + times * (line.len() as u64 + 1), lines + times)
    })
}

/// The part that goes, correctly rounded, so that exactly the limit is not over it.
#[expect(clippy::cast_precision_loss, reason = "files are far below 2^53 bytes")]
fn lost((before, after): (u64, u64)) -> f64 {
    before.saturating_sub(after) as f64 / before as f64
}

fn explain(path: &RepoPath, whose: &str, shrink: &Shrink) -> Finding {
    let (measure, (before, after)) = match shrink.by {
        Measure::Bytes => ("bytes", shrink.bytes),
        Measure::Lines => ("lines", shrink.lines),
    };
    let percent = lost((before, after)) * 100.0;
    // 99.94 % must not read as 100 %: something is left.
    let percent = if after > 0 { percent.min(99.9) } else { percent };
    Finding::new(
        Code::SizeReduction,
        format!("This would shrink {path} from {before} to {after} {measure} ({percent:.1} % less than in {whose}). Nothing was changed."),
        "Use mode \"edit\" to change a part, or \"append\" to add. If the file really should shrink, repeat with allow: [\"size_reduction\"].",
    )
    .at(path)
    .with("bytes_before", shrink.bytes.0)
    .with("bytes_after", shrink.bytes.1)
    .with("lines_before", shrink.lines.0)
    .with("lines_after", shrink.lines.1)
    .with("against", whose)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shrink(before: &[u8], after: &[u8]) -> Option<Measure> {
        let limits = Policy::of(None, None).unwrap().size_limits;
        detect(before, after, &limits).map(|shrink| shrink.by)
    }

    fn refused(sides: &[(&str, &[u8], &[u8])]) -> bool {
        let paths: Vec<RepoPath> =
            sides.iter().map(|(path, ..)| RepoPath::parse(path.as_bytes()).unwrap()).collect();
        let all: Vec<(&RepoPath, &[u8], &[u8])> =
            paths.iter().zip(sides).map(|(path, (_, b, a))| (path, *b, *a)).collect();
        let sides: Vec<Side<'_>> =
            all.iter().map(|(path, before, after)| Side { path, before, after }).collect();
        let policy = Policy::of(None, None).unwrap();
        let (path, before, after) = all[0];
        let references = vec![Reference { whose: "HEAD", text: before }];
        let subject =
            Subject::new(path, None, Some(before), Some(after), references, policy.time_limit)
                .beside(&sides);
        SizeReduction.judge(&subject, &policy) != Judgement::Pass
    }

    #[test]
    fn code_that_moves_to_another_file_is_not_lost() {
        let code: Vec<u8> =
            (0..100).flat_map(|n| format!("int f{n}(void);\n").into_bytes()).collect();
        assert!(refused(&[("a.c", &code, b"x\n")]));
        assert!(!refused(&[("a.c", &code, b"x\n"), ("b.c", b"", &code)]));
        assert!(
            refused(&[("a.c", &code, b"x\n"), ("b.c", &code, &code)]),
            "it stood there already"
        );
    }

    fn lines(count: usize) -> Vec<u8> {
        b"a line of text\n".repeat(count)
    }

    #[test]
    fn a_file_may_lose_exactly_ninety_percent() {
        assert_eq!(shrink(&[b'x'; 2000], &[b'x'; 200]), None);
        assert_eq!(shrink(&[b'x'; 2000], &[b'x'; 199]), Some(Measure::Bytes));
    }

    #[test]
    fn a_file_of_a_thousand_bytes_may_lose_them_all() {
        assert_eq!(shrink(&[b'x'; 1000], b""), None);
        assert_eq!(shrink(&[b'x'; 1001], b""), Some(Measure::Bytes));
    }

    #[test]
    fn fifty_lines_may_become_seventeen_but_not_sixteen() {
        assert_eq!(shrink(&lines(50), &lines(17)), None);
        assert_eq!(shrink(&lines(50), &lines(16)), Some(Measure::Lines));
        assert_eq!(shrink(&lines(49), &lines(6)), None);
    }

    #[test]
    fn the_file_that_became_a_brace_is_refused_by_bytes() {
        let before = [b"int f(void);\n".repeat(261), b"int x;\n".to_vec()].concat();
        assert_eq!(before.len(), 3400);
        assert_eq!(shrink(&before, b"}\n"), Some(Measure::Bytes));
    }
}
