//! A file must not shrink far below its recorded state: then it was probably overwritten with a
//! fragment.
//!
//! Measured against HEAD and against the session's base, so that ten small edits cannot do together
//! what one large edit may not do. What the user's own commits removed since then does not count.
//! The thresholds are in `policy::SizeLimits`.

use std::collections::HashMap;

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use super::transaction::count;
use crate::policy::SizeLimits;
use edt_types::text::{counted, line_count};
use edt_types::{Code, Finding, RepoPath};

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
    /// The measure that exceeded its limit.
    pub by: Measure,
}

/// The unit of a size.
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
        "A file of more than 1000 bytes would lose more than 90 % of them, or one of 50 lines or \
         more would lose more than 66 %, against HEAD or the session's base. Lines that move to \
         another file of the same transaction are not lost. What the user's own commits removed \
         does not count, and an edit that removes nothing is not refused for earlier ones."
    }

    fn check(&self, file: &Subject<'_>, context: &GuardContext<'_>) -> Vec<GuardOutput> {
        if file.from.is_none() && !shrinks(file.before, file.after) {
            return vec![GuardOutput::Pass];
        }
        let Some(after) = file.recorded.or(file.after) else { return vec![GuardOutput::Pass] };
        let limits = &context.policy.size_limits;
        let lost = |before: &[u8]| {
            let shrink = detect(before, after, limits)?;
            let moved = moved(before, after, file);
            let left = (shrink.bytes.1 + moved.0, shrink.lines.1 + moved.1);
            exceeds(shrink.bytes.0, shrink.lines.0, left, limits)?;
            Some(shrink)
        };
        let found = file.references.iter().enumerate().find_map(|(at, reference)| {
            let shrink = lost(reference.text)?;
            let origin = reference.origin;
            match file.reference_with_users_commits(at) {
                None => Some(explain(file.path, origin, &shrink)),
                Some(users) => {
                    let origin = format!("{origin} with the user's commits");
                    Some(explain(file.path, &origin, &lost(&users?)?))
                }
            }
        });
        GuardOutput::of(self.name(), found)
    }
}

/// Whether a file loses bytes or lines, or is new. A removed file does not shrink.
#[must_use]
pub fn shrinks(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    match (before, after) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(before), Some(after)) => {
            after.len() < before.len() || line_count(after) < line_count(before)
        }
    }
}

/// How `after` shrinks against `before`, if that exceeds the limits.
#[must_use]
pub fn detect(before: &[u8], after: &[u8], limits: &SizeLimits) -> Option<Shrink> {
    let left = (after.len() as u64, line_count(after));
    exceeds(before.len() as u64, line_count(before), left, limits)
}

fn exceeds(bytes: u64, lines: u64, left: (u64, u64), limits: &SizeLimits) -> Option<Shrink> {
    let (bytes, lines) = ((bytes, left.0), (lines, left.1));
    let by_bytes = bytes.0 > limits.min_bytes && lost(bytes) > limits.max_bytes_lost;
    let by_lines = lines.0 >= limits.min_lines && lost(lines) > limits.max_lines_lost;
    let by = if by_bytes { Measure::Bytes } else { Measure::Lines };
    (by_bytes || by_lines).then_some(Shrink { bytes, lines, by })
}

/// Bytes and lines that move from this file to others of the same transaction: they are not lost.
fn moved(before: &[u8], after: &[u8], subject: &Subject<'_>) -> (u64, u64) {
    let Some(gained) = subject.gained_by_others() else { return (0, 0) };
    let mut removed: HashMap<&[u8], i64> = HashMap::new();
    count(&mut removed, before, 1);
    count(&mut removed, after, -1);
    removed.into_iter().fold((0, 0), |(bytes, lines), (line, times)| {
        let times = u64::try_from(times.min(gained.times(line))).unwrap_or_default();
        (bytes + times * (line.len() as u64 + 1), lines + times)
    })
}

/// The lost part, from 0 to 1. Correctly rounded, so that exactly the limit does not exceed it.
#[expect(clippy::cast_precision_loss, reason = "files are far below 2^53 bytes")]
fn lost((before, after): (u64, u64)) -> f64 {
    before.saturating_sub(after) as f64 / before as f64
}

fn explain(path: &RepoPath, origin: &str, shrink: &Shrink) -> Finding {
    let (measure, (before, after)) = match shrink.by {
        Measure::Bytes => ("byte", shrink.bytes),
        Measure::Lines => ("line", shrink.lines),
    };
    let percent = lost((before, after)) * 100.0;
    // 99.94 % must not round to 100 %: something is left.
    let percent = if after > 0 { percent.min(99.9) } else { percent };
    Finding::new(
        Code::SizeReduction,
        format!(
            "This would shrink {path} from {before} to {} ({percent:.1} % less than in {origin}).",
            counted(after, measure)
        ),
        "Use mode \"edit\" to change a part, or \"append\" to add. If the text moves to another file, \
         send both files in one request.",
    )
    .nothing_changed()
    .or_override("If the file really should shrink, repeat with allow: [\"size_reduction\"].")
    .at(path)
    .with("bytes_before", shrink.bytes.0)
    .with("bytes_after", shrink.bytes.1)
    .with("lines_before", shrink.lines.0)
    .with("lines_after", shrink.lines.1)
    .with("against", origin)
}

#[cfg(test)]
mod tests {
    use super::super::Reference;
    use super::*;
    use crate::guard::{Transaction, TransactionFile};
    use crate::policy::Policy;

    fn shrink(before: &[u8], after: &[u8]) -> Option<Measure> {
        let limits = Policy::of(None, None).unwrap().size_limits;
        detect(before, after, &limits).map(|shrink| shrink.by)
    }

    fn refused(files: &[(&str, &[u8], &[u8])]) -> bool {
        let paths: Vec<RepoPath> =
            files.iter().map(|(path, ..)| RepoPath::parse(path.as_bytes()).unwrap()).collect();
        let all: Vec<(&RepoPath, &[u8], &[u8])> =
            paths.iter().zip(files).map(|(path, (_, b, a))| (path, *b, *a)).collect();
        let transaction: Vec<TransactionFile<'_>> = all
            .iter()
            .map(|(path, before, after)| TransactionFile { path, before, after })
            .collect();
        let transaction = Transaction::new(transaction);
        let policy = Policy::of(None, None).unwrap();
        let (path, before, after) = all[0];
        let references = vec![Reference { origin: "HEAD", text: before }];
        let subject =
            Subject::new(path, None, Some(before), Some(after), references, policy.time_limit)
                .in_transaction(&transaction);
        let context = GuardContext { policy: &policy, site: None };
        SizeReduction.check(&subject, &context) != [GuardOutput::Pass]
    }

    #[test]
    fn code_that_moves_to_another_file_is_not_lost() {
        let code: Vec<u8> =
            (0..100).flat_map(|n| format!("int f{n}(void);\n").into_bytes()).collect();
        assert!(refused(&[("a.c", &code, b"x\n")]));
        assert!(!refused(&[("a.c", &code, b"x\n"), ("b.c", b"", &code)]));
        assert!(
            refused(&[("a.c", &code, b"x\n"), ("b.c", &code, &code)]),
            "b.c had that code already"
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

    #[test]
    fn a_refusal_has_both_sizes_in_bytes_and_in_lines() {
        let path = RepoPath::parse(b"a.c").unwrap();
        let shrink = Shrink { bytes: (2000, 20), lines: (100, 1), by: Measure::Bytes };
        let finding = Finding::new(
            Code::SizeReduction,
            "This would shrink a.c from 2000 to 20 bytes (99.0 % less than in HEAD).",
            "Use mode \"edit\" to change a part, or \"append\" to add. If the text moves to another file, \
         send both files in one request.",
        );
        let finding = finding
            .nothing_changed()
            .or_override(
                "If the file really should shrink, repeat with allow: [\"size_reduction\"].",
            )
            .at(&path)
            .with("bytes_before", 2000)
            .with("bytes_after", 20)
            .with("lines_before", 100)
            .with("lines_after", 1)
            .with("against", "HEAD");
        assert_eq!(explain(&path, "HEAD", &shrink), finding);
    }

    #[test]
    fn a_file_that_is_not_empty_never_lost_everything() {
        let path = RepoPath::parse(b"a.c").unwrap();
        let shrink = Shrink { bytes: (1_000_000, 1), lines: (9, 1), by: Measure::Bytes };
        let finding = explain(&path, "HEAD", &shrink);
        assert!(finding.summary.contains("(99.9 % less than in HEAD)"), "{}", finding.summary);
    }

    #[test]
    fn the_limits_of_the_policy_count() {
        let limits =
            SizeLimits { max_bytes_lost: 0.5, min_bytes: 10, max_lines_lost: 1.0, min_lines: 50 };
        assert_eq!(detect(&[b'x'; 20], &[b'x'; 10], &limits), None);
        assert!(detect(&[b'x'; 20], &[b'x'; 9], &limits).is_some());
        assert_eq!(detect(&[b'x'; 10], b"", &limits), None);
    }

    /// What the user's commits made of the only reference.
    #[derive(Debug)]
    struct Users(Option<Option<Vec<u8>>>);

    impl super::super::subject::UsersVersions for Users {
        fn reference(&self, _: usize) -> Option<Option<Vec<u8>>> {
            self.0.clone()
        }
    }

    #[test]
    fn what_the_users_commits_removed_does_not_count() {
        let (path, policy) = (RepoPath::parse(b"a.c").unwrap(), Policy::of(None, None).unwrap());
        let (base, before, after) = (lines(200), lines(60), lines(50));
        let against = |users: Option<Option<Vec<u8>>>| {
            let users = Users(users);
            let references = vec![Reference { origin: "the session's base", text: &base }];
            let limit = policy.time_limit;
            let file = Subject::new(&path, None, Some(&before), Some(&after), references, limit)
                .with_users_commits(&users);
            let context = GuardContext { policy: &policy, site: None };
            let found = SizeReduction.check(&file, &context).remove(0).into_findings();
            found.first().map(|found| found.evidence["against"].clone())
        };
        assert_eq!(against(None), Some("the session's base".into()));
        assert_eq!(against(Some(Some(lines(60)))), None);
        assert_eq!(against(Some(None)), None);
        let expected = "the session's base with the user's commits";
        assert_eq!(against(Some(Some(lines(190)))), Some(expected.into()));
    }

    #[test]
    fn a_file_is_measured_against_every_recorded_state() {
        let (path, policy) = (RepoPath::parse(b"a.c").unwrap(), Policy::of(None, None).unwrap());
        let (base, now) = (lines(200), lines(60));
        let references = |origin, text| Reference { origin, text };
        let states = vec![references("HEAD", &now[..]), references("the session's base", &base)];
        let after = lines(50);
        let file = Subject::new(&path, None, Some(&now), Some(&after), states, policy.time_limit);
        let context = GuardContext { policy: &policy, site: None };
        let found = SizeReduction.check(&file, &context).remove(0).into_findings().remove(0);
        assert_eq!(found.evidence["against"], "the session's base");
    }
}
