//! Neither a transaction nor the removals of a session together may remove a large part of a
//! project.

use std::collections::{HashMap, HashSet};

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use crate::policy::DeletionLimits;
use edt_types::text::{counted, line_count};
use edt_types::{Code, Finding, RepoPath};

/// The guard `mass_deletion`.
#[derive(Debug)]
pub struct MassDeletion;

/// What a transaction removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Removed files, without those that are renamed.
    pub files: usize,
    /// Removed lines minus added lines, over all files.
    pub lines: u64,
}

impl Guard for MassDeletion {
    fn name(&self) -> &'static str {
        "mass_deletion"
    }

    fn rule(&self) -> &'static str {
        "A transaction removes more than 10 files, or 2000 lines more than it adds; or it removes a \
         file, and the session has then removed more than 10 files of its base. Files that are \
         only renamed do not count."
    }

    fn check(&self, _: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        vec![GuardOutput::Pass]
    }

    fn check_all(&self, files: &[Subject<'_>], context: &GuardContext<'_>) -> Vec<GuardOutput> {
        let limits = &context.policy.deletion_limits;
        let in_session = files.iter().map(Subject::removed_in_session).max().unwrap_or(0);
        let found = detect(files, limits).map(|loss| explain(&loss, limits)).or_else(|| {
            (in_session as u64 > limits.max_files).then(|| explain_session(in_session, limits))
        });
        found.map_or_else(Vec::new, |found| GuardOutput::of(self.name(), Some(found)))
    }
}

/// What the transaction removes, if that exceeds the limits.
#[must_use]
pub fn detect(subjects: &[Subject<'_>], limits: &DeletionLimits) -> Option<Loss> {
    let mut totals = Totals::default();
    totals.add(subjects, |_| true);
    totals.exceeding(limits)
}

/// What a change removes and adds that is examined in batches. As a guard, it checks all of them
/// together.
#[derive(Debug, Default)]
pub struct Totals {
    files: usize,
    removed: u64,
    added: u64,
}

impl Totals {
    /// Adds the files for which `counts` holds.
    pub fn add(&mut self, subjects: &[Subject<'_>], counts: impl Fn(&Subject<'_>) -> bool) {
        let subjects: Vec<&Subject<'_>> = subjects.iter().filter(|one| counts(one)).collect();
        let sources: HashSet<&RepoPath> = subjects.iter().filter_map(|one| one.from).collect();
        let moved = |subject: &Subject<'_>| sources.contains(subject.path);
        // The new files. A removed file with the same content is only renamed.
        let mut copies: HashMap<&[u8], usize> = HashMap::new();
        let is_removed = |subject: &&&Subject<'_>| subject.after.is_none() && !moved(subject);
        if subjects.iter().any(|subject| is_removed(&subject)) {
            let new = subjects.iter().filter(|one| one.before.is_none() && one.from.is_none());
            new.filter_map(|one| one.after).for_each(|new| *copies.entry(new).or_default() += 1);
        }
        for removed in subjects.iter().filter(is_removed) {
            match copies.get_mut(removed.old_text()) {
                Some(left) if *left > 0 => *left -= 1,
                _ => self.files += 1,
            }
        }
        self.removed += subjects
            .iter()
            .filter(|subject| !moved(subject))
            .map(|subject| line_count(subject.old_text()))
            .sum::<u64>();
        self.added +=
            subjects.iter().filter_map(|subject| subject.after).map(line_count).sum::<u64>();
    }

    fn exceeding(&self, limits: &DeletionLimits) -> Option<Loss> {
        let loss = Loss { files: self.files, lines: self.removed.saturating_sub(self.added) };
        (loss.files as u64 > limits.max_files || loss.lines > limits.max_lines).then_some(loss)
    }
}

impl Guard for Totals {
    fn name(&self) -> &'static str {
        MassDeletion.name()
    }

    fn rule(&self) -> &'static str {
        MassDeletion.rule()
    }

    fn check(&self, _: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        Vec::new()
    }

    fn check_all(&self, _: &[Subject<'_>], context: &GuardContext<'_>) -> Vec<GuardOutput> {
        let limits = &context.policy.deletion_limits;
        let found = self.exceeding(limits).map(|loss| explain(&loss, limits));
        GuardOutput::of(self.name(), found)
    }
}

fn explain(loss: &Loss, limits: &DeletionLimits) -> Finding {
    Finding::new(
        Code::MassDeletion,
        format!(
            "This transaction would remove {} and {} more than it adds (limits: {}, {}).",
            counted(loss.files, "file"),
            counted(loss.lines, "line"),
            counted(limits.max_files, "file"),
            counted(limits.max_lines, "line")
        ),
        "Keep what is still needed, and ask the user about the rest.",
    )
    .nothing_changed()
    .or_override("If all of it should be removed, repeat with allow: [\"mass_deletion\"].")
    .with("files_lost", loss.files)
    .with("lines_lost", loss.lines)
}

fn explain_session(files: usize, limits: &DeletionLimits) -> Finding {
    Finding::new(
        Code::MassDeletion,
        format!(
            "With this transaction the session would have removed {} of its base (limit: {}).",
            counted(files, "file"),
            counted(limits.max_files, "file"),
        ),
        "Keep what is still needed, and ask the user about the rest.",
    )
    .nothing_changed()
    .or_override("If all of them should be removed, repeat with allow: [\"mass_deletion\"].")
    .with("files_lost", files)
    .with("against", "the session's base")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    type File<'a> = (&'a str, Option<&'a str>, Option<&'a [u8]>, Option<&'a [u8]>);

    /// What a transaction of (path, renamed from, before, after) removes, if that is too much.
    fn loss(files: &[File<'_>], limits: DeletionLimits) -> Option<Loss> {
        let policy = Policy::of(None, None).unwrap();
        let parse = |name: &str| RepoPath::parse(name.as_bytes()).unwrap();
        let paths: Vec<(RepoPath, Option<RepoPath>)> =
            files.iter().map(|(path, from, ..)| (parse(path), from.map(parse))).collect();
        let subjects: Vec<Subject<'_>> = paths
            .iter()
            .zip(files)
            .map(|((path, from), (.., before, after))| {
                let limit = policy.time_limit;
                Subject::new(path, from.as_ref(), *before, *after, Vec::new(), limit)
            })
            .collect();
        detect(&subjects, &limits)
    }

    const LIMITS: DeletionLimits = DeletionLimits { max_files: 1, max_lines: 3 };

    #[test]
    fn as_many_files_as_allowed_may_go() {
        let gone: File<'_> = ("a", None, Some(b"1\n"), None);
        assert_eq!(loss(&[gone], LIMITS), None);
        let two = [gone, ("b", None, Some(b"1\n"), None)];
        assert_eq!(loss(&two, LIMITS), Some(Loss { files: 2, lines: 2 }));
    }

    #[test]
    fn as_many_lines_as_allowed_may_go() {
        let five: &[u8] = b"1\n2\n3\n4\n5\n";
        let left = |text: &'static [u8]| [("a", None, Some(five), Some(text))];
        assert_eq!(loss(&left(b"1\n2\n"), LIMITS), None);
        assert_eq!(loss(&left(b"1\n"), LIMITS), Some(Loss { files: 0, lines: 4 }));
    }

    #[test]
    fn added_lines_make_up_for_removed_ones() {
        let files: [File<'_>; 2] =
            [("a", None, Some(b"1\n2\n3\n4\n5\n"), None), ("b", None, None, Some(b"x\ny\n"))];
        assert_eq!(loss(&files, LIMITS), None);
    }

    #[test]
    fn a_renamed_file_is_not_removed() {
        let text: &[u8] = b"1\n2\n3\n4\n5\n";
        let files: [File<'_>; 2] =
            [("a", None, Some(text), None), ("b", Some("a"), Some(text), Some(text))];
        assert_eq!(loss(&files, DeletionLimits { max_files: 0, max_lines: 0 }), None);
    }

    #[test]
    fn a_file_that_exists_at_another_path_is_not_removed() {
        let text: &[u8] = b"1\n2\n3\n4\n5\n";
        let limits = DeletionLimits { max_files: 0, max_lines: 0 };
        let files: [File<'_>; 2] = [("a", None, Some(text), None), ("b", None, None, Some(text))];
        assert_eq!(loss(&files, limits), None);
        let both = [files[0], files[1], ("c", None, Some(text), None)];
        assert_eq!(loss(&both, limits), Some(Loss { files: 1, lines: 5 }), "one copy is one file");
    }

    #[test]
    fn what_batches_remove_is_added_up() {
        let policy = Policy::of(None, None).unwrap();
        let (path, text) = (RepoPath::parse(b"a").unwrap(), b"1\n2\n");
        let mut totals = Totals::default();
        for _ in 0..2 {
            let gone = Subject::new(&path, None, Some(text), None, Vec::new(), policy.time_limit);
            totals.add(&[gone], |_| true);
        }
        let limits = DeletionLimits { max_files: 1, max_lines: 100 };
        assert_eq!(totals.exceeding(&limits), Some(Loss { files: 2, lines: 4 }));
    }

    #[test]
    fn a_refusal_has_the_numbers_and_the_limits() {
        let finding = Finding::new(
            Code::MassDeletion,
            "This transaction would remove 2 files and 7 lines more than it adds (limits: 1 file, \
             3 lines).",
            "Keep what is still needed, and ask the user about the rest.",
        );
        let finding = finding
            .nothing_changed()
            .or_override("If all of it should be removed, repeat with allow: [\"mass_deletion\"].")
            .with("files_lost", 2)
            .with("lines_lost", 7);
        assert_eq!(explain(&Loss { files: 2, lines: 7 }, &LIMITS), finding);
    }
}
