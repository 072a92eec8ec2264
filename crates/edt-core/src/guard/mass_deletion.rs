//! A transaction must not remove a large part of a project.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use crate::policy::DeletionLimits;
use edt_types::text::{counted, line_count};
use edt_types::{Code, Finding};

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
        "A transaction removes more than 10 files, or 2000 lines more than it adds. Files that are \
         only renamed do not count."
    }

    fn check(&self, _: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        vec![GuardOutput::Pass]
    }

    fn check_all(&self, files: &[Subject<'_>], context: &GuardContext<'_>) -> Vec<GuardOutput> {
        let limits = &context.policy.deletion_limits;
        match detect(files, limits) {
            Some(loss) => GuardOutput::of(self.name(), Some(explain(&loss, limits))),
            None => Vec::new(),
        }
    }
}

/// What the transaction removes, if that exceeds the limits.
#[must_use]
pub fn detect(subjects: &[Subject<'_>], limits: &DeletionLimits) -> Option<Loss> {
    let moved =
        |subject: &Subject<'_>| subjects.iter().any(|other| other.from == Some(subject.path));
    let files =
        subjects.iter().filter(|subject| subject.after.is_none() && !moved(subject)).count();
    let removed: u64 = subjects
        .iter()
        .filter(|subject| !moved(subject))
        .map(|subject| line_count(subject.old_text()))
        .sum();
    let added: u64 = subjects.iter().filter_map(|subject| subject.after).map(line_count).sum();
    let loss = Loss { files, lines: removed.saturating_sub(added) };
    (loss.files as u64 > limits.max_files || loss.lines > limits.max_lines).then_some(loss)
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
        "Send the removals apart from the other edits, in steps that the user can review.",
    )
    .nothing_changed()
    .or_override("If all of it should be removed, repeat with allow: [\"mass_deletion\"].")
    .with("files", loss.files)
    .with("lines", loss.lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use edt_types::RepoPath;

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
    fn a_refusal_has_the_numbers_and_the_limits() {
        let finding = Finding::new(
            Code::MassDeletion,
            "This transaction would remove 2 files and 7 lines more than it adds (limits: 1 file, \
             3 lines).",
            "Send the removals apart from the other edits, in steps that the user can review.",
        );
        let finding = finding
            .nothing_changed()
            .or_override("If all of it should be removed, repeat with allow: [\"mass_deletion\"].")
            .with("files", 2)
            .with("lines", 7);
        assert_eq!(explain(&Loss { files: 2, lines: 7 }, &LIMITS), finding);
    }
}
