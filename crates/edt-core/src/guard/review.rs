//! The guards' review of recorded changes: those of a program, of an agent's own tool, and of a
//! landing as a whole.

use std::sync::Arc;

use super::{
    GUARDS, Guard, GuardContext, Overrides, Reference, Subject, TransactionFile, evaluate,
    protected,
};
use crate::policy::Policy;
use edt_command::OnFindings;
use edt_git::diff::{TreeDifference, TreeItem};
use edt_git::{ObjectWriter, Oid, Tracked};
use edt_types::{Code, Effect, Finding, GuardReport, RepoPath, Result, Warning};

/// How many files the guards examine. A generator may write thousands; all of them are recorded.
const MAX_CHECKED_FILES: usize = 500;
/// How many bytes the guards examine, of all versions together.
const MAX_CHECKED_BYTES: usize = 32 * 1024 * 1024;

/// Changes before they are recorded.
#[derive(Debug)]
pub struct ChangesPreview<'a> {
    /// The writer with all new objects, which are not on disk yet.
    pub writer: &'a ObjectWriter<'a>,
    /// The tree of the session's base.
    pub base: Oid,
    /// The paths that would be recorded.
    pub paths: &'a [TreeDifference],
    /// The changed paths that cannot be recorded, and why.
    pub left_out: &'a [(RepoPath, Finding)],
}

#[derive(Debug, Default)]
pub struct ChangesReview {
    pub reports: Vec<GuardReport>,
    /// Warnings for the caller, with the findings that are not in `refused`.
    pub warnings: Vec<Warning>,
    /// Why the changes must be rolled back.
    pub refused: Vec<Finding>,
    /// Changes that should be rolled back and cannot be.
    pub not_restorable: Vec<Finding>,
}

/// One changed file with its versions.
struct Changed<'a> {
    path: &'a RepoPath,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    base: Option<Vec<u8>>,
}

/// The findings that put a program's changes back, whatever policy says about findings: each loses
/// content or breaks the file.
const ALWAYS: [Code; 3] = [Code::SizeReduction, Code::MassDeletion, Code::ConflictMarkers];

/// Runs the guards on the changes that are about to be recorded. A finding that no request may
/// override is a reason to roll everything back; any other finding is one if `on` says so.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn review(
    preview: &ChangesPreview<'_>,
    policy: &Policy,
    on: OnFindings,
) -> Result<ChangesReview> {
    review_paths(preview, policy, (GUARDS, &[]), on)
}

impl ChangesReview {
    /// Runs the guards on a landing: everything that differs between the trees `before` and
    /// `after`. Protected paths are not judged here: they have approvals of their own.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn of_landing(
        writer: &ObjectWriter<'_>,
        (before, after, base): (Oid, Oid, Oid),
        policy: &Policy,
        guards: &[Arc<dyn Guard>],
        allowed: &[String],
    ) -> Result<ChangesReview> {
        let paths = writer.tree_diff(before, after)?;
        let guards: Vec<&dyn Guard> =
            GUARDS.iter().copied().chain(guards.iter().map(|guard| &**guard)).collect();
        let preview = ChangesPreview { writer, base, paths: &paths, left_out: &[] };
        let guards = (guards.as_slice(), allowed);
        let mut review = review_paths(&preview, policy, guards, OnFindings::Refuse)?;
        let about_paths = [Code::ProtectedPath, Code::ApprovalRequired];
        review.refused.retain(|finding| !about_paths.contains(&finding.code));
        Ok(review)
    }
}

fn review_paths(
    preview: &ChangesPreview<'_>,
    policy: &Policy,
    (guards, allowed): (&[&dyn Guard], &[String]),
    on: OnFindings,
) -> Result<ChangesReview> {
    let (writer, base) = (preview.writer, preview.base);
    let mut review = ChangesReview::default();
    let (files, special): (Vec<&TreeDifference>, Vec<&TreeDifference>) =
        preview.paths.iter().partition(|one| one.is_of_files());
    let guarded = special.iter().filter(|one| policy.protects(&one.path));
    review.refused.extend(guarded.map(|one| protected::finding(&one.path)));
    // A path that cannot be recorded cannot be restored either.
    let left_out = preview.left_out.iter().filter(|(path, _)| protects_at_or_below(policy, path));
    review.not_restorable.extend(left_out.map(|(path, why)| not_restorable(path, why)));
    let (mut changed, mut bytes) = (Vec::new(), 0);
    for (at, difference) in files.iter().enumerate() {
        if at < MAX_CHECKED_FILES {
            let one = Changed::read(writer, base, difference)?;
            if bytes + one.bytes() <= MAX_CHECKED_BYTES {
                bytes += one.bytes();
                changed.push(one);
                continue;
            }
        }
        // The limit does not apply to protected paths.
        review.refused.extend(
            policy.protects(&difference.path).then(|| protected::finding(&difference.path)),
        );
    }
    if changed.len() < files.len() {
        let (examined, all) = (changed.len(), files.len());
        let message = format!(
            "The guards examined {examined} of {all} files that the program changed. All are \
             recorded."
        );
        if on == OnFindings::Refuse {
            let remedy = "Change fewer files at once, or keep large files out of the worktree.";
            review.refused.push(Finding::new(Code::FileTooLarge, message.clone(), remedy));
        }
        review.warnings.push(Warning { code: "not_all_judged", path: None, message });
    }
    let transaction: Vec<TransactionFile<'_>> = changed.iter().map(Changed::side).collect();
    let subjects: Vec<Subject<'_>> =
        changed.iter().map(|one| one.subject(policy).in_transaction(&transaction)).collect();
    let context = GuardContext { policy, site: None };
    let overrides = Overrides { requested: allowed, grants: &[] };
    let run = evaluate(guards.iter().copied(), &subjects, &context, overrides);
    review.reports = run.reports;
    review.warnings.extend(run.warnings);
    // Programs may write binary files. Only a text file that becomes binary counts.
    let was_text =
        |bytes: &Vec<u8>| memchr::memchr(0, bytes).is_none() && std::str::from_utf8(bytes).is_ok();
    let is_new = |finding: &Finding| {
        let named = |one: &&Changed<'_>| finding.path == Some(one.path.to_string());
        changed.iter().find(named).is_some_and(|one| !one.before.as_ref().is_some_and(was_text))
    };
    for finding in run.refused.into_iter().chain(run.held) {
        if matches!(finding.code, Code::BinaryContent | Code::Encoding) && is_new(&finding) {
            continue;
        }
        // Only the user, or nobody, can override a finding without an `allow` word.
        let refuses = on == OnFindings::Refuse || ALWAYS.contains(&finding.code);
        if finding.allow.is_none() || refuses {
            review.refused.push(finding);
        } else {
            review.warnings.push(Warning {
                code: finding.allow.unwrap_or("found"),
                path: finding.path,
                message: finding.summary,
            });
        }
    }
    Ok(review)
}

/// Whether policy protects `path`, a directory above it, or something below it.
fn protects_at_or_below(policy: &Policy, path: &RepoPath) -> bool {
    let below = RepoPath::from_tree(&[path.as_bytes(), b"/x"].concat());
    policy.protects(path)
        || policy.protects(&below)
        || path.parents().any(|above| policy.protects(&RepoPath::from_tree(above)))
}

fn not_restorable(path: &RepoPath, why: &Finding) -> Finding {
    Finding::new(
        Code::ProtectedPath,
        format!(
            "{path} needs user approval, and the program changed it in a way that edt cannot \
             restore: {}",
            why.summary
        ),
        "Ask the user to restore it: `git status` shows it, `git restore` restores the recorded \
         file.",
    )
    .with_effect(Effect::NothingRecorded)
    .at(path)
}

impl<'a> Changed<'a> {
    fn read(
        writer: &ObjectWriter<'_>,
        base: Oid,
        difference: &'a TreeDifference,
    ) -> Result<Changed<'a>> {
        let text = |item: Option<TreeItem>| {
            item.and_then(TreeItem::file).map(|file| writer.blob_content(file.oid)).transpose()
        };
        let base = match writer.repo().tracked(base, &difference.path)? {
            Tracked::File(file) if difference.old.and_then(TreeItem::file) != Some(file) => {
                Some(writer.blob_content(file.oid)?)
            }
            _ => None,
        };
        Ok(Changed {
            path: &difference.path,
            before: text(difference.old)?,
            after: text(difference.new)?,
            base,
        })
    }

    fn bytes(&self) -> usize {
        [&self.before, &self.after, &self.base].into_iter().flatten().map(Vec::len).sum()
    }

    fn side(&self) -> TransactionFile<'_> {
        TransactionFile {
            path: self.path,
            before: self.before.as_deref().unwrap_or_default(),
            after: self.after.as_deref().unwrap_or_default(),
        }
    }

    fn subject<'s>(&'s self, policy: &Policy) -> Subject<'s> {
        let texts = [("the session", &self.before), ("the session's base", &self.base)];
        let references = texts
            .into_iter()
            .filter_map(|(whose, text)| Some(Reference { origin: whose, text: text.as_deref()? }));
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        Subject::new(self.path, None, before, after, references.collect(), policy.time_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protects(policy: &str, path: &str) -> bool {
        let policy = Policy::of(None, Some(policy)).unwrap();
        protects_at_or_below(&policy, &RepoPath::from_tree(path.as_bytes()))
    }

    #[test]
    fn a_directory_with_protected_files_is_protected() {
        let policy = "[[protect]]\npaths = [\"ci/**\", \"one.txt\"]\n";
        assert!(protects(policy, "ci") && protects(policy, "ci/a.yml"));
        assert!(protects(policy, "one.txt/below") && !protects(policy, "src"));
    }

    #[test]
    fn a_protected_path_that_cannot_be_restored_says_why() {
        let path = RepoPath::from_tree(b"ci/link");
        let why = Finding::new(Code::PathThroughSymlink, "ci/link is a symbolic link.", "x");
        let finding = Finding::new(
            Code::ProtectedPath,
            "ci/link needs user approval, and the program changed it in a way that edt cannot \
             restore: ci/link is a symbolic link.",
            "Ask the user to restore it: `git status` shows it, `git restore` restores the \
             recorded file.",
        );
        let finding = finding.with_effect(Effect::NothingRecorded).at(&path);
        assert_eq!(not_restorable(&path, &why), finding);
    }

    const LONG: &str = "a line that is long enough to count\n";

    /// The review of a landing that changes `a.txt` and perhaps `ci/x.yml`.
    fn landing(before: &str, after: &str, policy: &str, allowed: &[&str]) -> ChangesReview {
        let files = [("a.txt", before), ("ci/x.yml", "one\n")];
        let scratch = crate::tests::Scratch::with(&files);
        let (repo, head) = (scratch.repo(), scratch.head());
        let changed = [("a.txt", Some(after)), ("ci/x.yml", Some("two\n"))];
        let new = scratch.user_commit("side", &changed, "side\n");
        let side = repo.tree_of(new).unwrap();
        let target = repo.tree_of(head).unwrap();
        let policy = Policy::of(None, Some(policy)).unwrap();
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let writer = ObjectWriter::new(&repo);
        ChangesReview::of_landing(&writer, (target, side, target), &policy, &[], &allowed).unwrap()
    }

    fn codes(review: &ChangesReview) -> Vec<Code> {
        review.refused.iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn a_landing_without_findings_is_not_refused() {
        let review = landing("one\n", "two\n", "", &[]);
        assert_eq!((codes(&review), review.warnings.len()), (vec![], 0));
    }

    #[test]
    fn a_landing_that_empties_a_file_is_refused() {
        let review = landing(&LONG.repeat(100), "gone\n", "", &[]);
        assert!(codes(&review).contains(&Code::SizeReduction), "{:?}", review.refused);
    }

    #[test]
    fn a_landing_with_conflict_markers_is_refused() {
        let text = "a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n";
        assert_eq!(codes(&landing("a\nb\n", text, "", &[])), [Code::ConflictMarkers]);
    }

    #[test]
    fn an_allowed_finding_does_not_refuse_a_landing() {
        let allowed = ["size_reduction", "mass_deletion"];
        assert_eq!(codes(&landing(&LONG.repeat(100), "gone\n", "", &allowed)), []);
    }

    #[test]
    fn protected_paths_of_a_landing_have_approvals_of_their_own() {
        for more in ["", "override = \"approval\"\n"] {
            let policy = format!("[[protect]]\npaths = [\"ci/**\"]\n{more}");
            assert_eq!(codes(&landing("one\n", "two\n", &policy, &[])), []);
        }
    }
}
