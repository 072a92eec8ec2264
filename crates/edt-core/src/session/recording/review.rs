//! The guards' review of recorded changes: those of a program, of an agent's own tool, and of a
//! landing as a whole.
//!
//! Of a program, the guards examine a limited number of files. A landing is examined completely, in
//! batches.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::session::user::user_commits::UserCommits;
use edt_command::OnFindings;
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{FileId, ObjectWriter, Oid, Tracked};
use edt_guard::guard::mass_deletion::{MassDeletion, Totals};
use edt_guard::guard::protected::ProtectedPath;
use edt_guard::guard::size_reduction::SizeReduction;
use edt_guard::guard::subject::UsersVersions;
use edt_guard::guard::{
    GUARDS, Guard, GuardContext, Overrides, Reference, Subject, Transaction, TransactionFile,
    evaluate, protected,
};
use edt_guard::policy::{Override, Policy};
use edt_types::text::is_binary;
use edt_types::{Code, Effect, Finding, GuardReport, RepoPath, Result, Warning, WarningCode};

/// How many files the guards examine. A generator may write thousands; all of them are recorded.
const MAX_CHECKED_FILES: usize = 500;
/// How many bytes the guards examine at once, of all versions together.
const MAX_CHECKED_BYTES: usize = 32 * 1024 * 1024;

/// Changes before they are recorded.
#[derive(Debug)]
pub struct ChangesPreview<'a> {
    /// The writer with all new objects, which are not on disk yet.
    pub writer: &'a ObjectWriter<'a>,
    /// The tree of the session's base.
    pub base: Oid,
    /// The user's commits since the base.
    pub users: &'a UserCommits<'a>,
    /// The paths that would be recorded.
    pub paths: &'a [TreeDifference],
    /// The changed paths that cannot be recorded, and why.
    pub left_out: &'a [(RepoPath, Finding)],
    /// Private files that the program moved to where a commit would have them. The changes are
    /// rolled back.
    pub moved: &'a [Finding],
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
    /// The recorded states that it is measured against.
    references: Vec<RecordedText>,
}

/// The text of a file in a recorded state.
#[derive(Debug)]
struct RecordedText {
    origin: &'static str,
    text: Vec<u8>,
    /// The file, if the user's commits apply to it.
    before_users_commits: Option<FileId>,
}

/// The recorded states of a file with the user's commits applied.
#[derive(Debug)]
struct WithUsersCommits<'a> {
    preview: &'a ChangesPreview<'a>,
    path: &'a RepoPath,
    references: &'a [RecordedText],
}

impl UsersVersions for WithUsersCommits<'_> {
    fn reference(&self, at: usize) -> Option<Option<Vec<u8>>> {
        let file = self.references.get(at)?.before_users_commits?;
        // If the commits cannot be read, the recorded state counts as it is.
        match self.preview.users.applied_to(self.path, Some(file)).ok()?? {
            None => Some(None),
            Some(version) => version.bytes(self.preview.writer).ok().map(Some),
        }
    }
}

/// The origin of a branch's state before the newest landings by others than the user.
pub(crate) const LEFT_BY_USER: &str = "the branch as the user left it";

/// The trees of a commit of a landing.
#[derive(Debug, Clone, Copy)]
pub struct LandingTrees {
    pub before: Oid,
    pub after: Oid,
    /// The tree of the branch to land on.
    pub target: Oid,
    /// The same as the user left it; `None` if the user lands.
    pub left: Option<Oid>,
}

/// What the guards review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reviewed {
    /// The changes of a program or of an agent's tool.
    Changes(OnFindings),
    /// One commit of a landing.
    Landing {
        /// Whether it includes commits of the user.
        has_users: bool,
        /// As in [`LandingTrees`].
        left: Option<Oid>,
    },
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
    review_paths(preview, policy, (GUARDS, Overrides::NONE), Reviewed::Changes(on))
}

impl ChangesReview {
    /// The changed paths that the user may approve, if every refusal is about such a path.
    #[must_use]
    pub fn held(&self, preview: &ChangesPreview<'_>) -> Option<BTreeSet<RepoPath>> {
        // The text of a path is not exact. All paths that have it are held.
        let mut named: HashMap<String, Vec<&RepoPath>> = HashMap::new();
        for one in preview.paths {
            named.entry(one.path.text()).or_default().push(&one.path);
        }
        let mut held = BTreeSet::new();
        for finding in &self.refused {
            let path = finding.path.as_ref().filter(|_| finding.code == Code::ApprovalRequired)?;
            held.extend(named.get(path)?.iter().map(|path| (*path).clone()));
        }
        Some(held)
    }

    /// Runs the guards on a commit of a landing: everything that differs between the trees `before`
    /// and `after`. `users` are the user's commits, which do not count; `has_users` says that the
    /// commit includes some of them. Protected paths are not judged here: they have approvals of
    /// their own.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn of_landing(
        users: &UserCommits<'_>,
        writer: &ObjectWriter<'_>,
        trees: LandingTrees,
        has_users: bool,
        policy: &Policy,
        guards: &[Arc<dyn Guard>],
        overrides: Overrides<'_>,
    ) -> Result<ChangesReview> {
        let LandingTrees { before, after, target, left } = trees;
        let paths = writer.tree_diff(before, after)?;
        // All batches together are checked for a mass deletion.
        let own = GUARDS.iter().copied().filter(|guard| guard.name() != MassDeletion.name());
        let guards: Vec<&dyn Guard> = own.chain(guards.iter().map(|guard| &**guard)).collect();
        let preview = ChangesPreview {
            writer,
            base: target,
            users,
            paths: &paths,
            left_out: &[],
            moved: &[],
        };
        let guards = (guards.as_slice(), overrides);
        let mut review =
            review_paths(&preview, policy, guards, Reviewed::Landing { has_users, left })?;
        review.refused.retain(|finding| guards_code(finding) != Code::ProtectedPath.name());
        Ok(review)
    }

    /// The tree since which a landing is checked for a mass deletion as a whole: the target, or the
    /// target as the user left it, if the landing removes a file and only the user may override.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn counts_since(
        writer: &ObjectWriter<'_>,
        trees: LandingTrees,
        policy: &Policy,
    ) -> Result<Oid> {
        let counted = is_counted_since_user(policy, MassDeletion.name(), None);
        let Some(left) = trees.left.filter(|left| counted && *left != trees.target) else {
            return Ok(trees.target);
        };
        let differs = writer.tree_diff(trees.target, trees.after)?;
        let removes = differs.iter().any(|one| one.old.is_some() && one.new.is_none());
        Ok(if removes { left } else { trees.target })
    }

    /// Checks what differs between the trees `from` and `to` for a mass deletion.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn of_deletions(
        users: &UserCommits<'_>,
        writer: &ObjectWriter<'_>,
        (from, to): (Oid, Oid),
        policy: &Policy,
        overrides: Overrides<'_>,
    ) -> Result<ChangesReview> {
        let paths = writer.tree_diff(from, to)?;
        let preview =
            ChangesPreview { writer, base: from, users, paths: &paths, left_out: &[], moved: &[] };
        let reviewed = Reviewed::Landing { has_users: false, left: None };
        let mut review = review_paths(&preview, policy, (&[], overrides), reviewed)?;
        review.refused.retain(|finding| guards_code(finding) == Code::MassDeletion.name());
        Ok(review)
    }

    /// Runs the guards on files that are examined together, and adds up what they remove.
    fn add(
        &mut self,
        preview: &ChangesPreview<'_>,
        (policy, reviewed): (&Policy, Reviewed),
        (guards, overrides): (&[&dyn Guard], Overrides<'_>),
        changed: &[Changed<'_>],
        totals: &mut Totals,
    ) {
        let transaction = Transaction::new(changed.iter().map(Changed::side).collect());
        let users: Vec<WithUsersCommits<'_>> =
            changed.iter().map(|one| one.with_users_commits(preview)).collect();
        let subjects: Vec<Subject<'_>> = changed
            .iter()
            .zip(&users)
            .map(|(one, users)| {
                let subject = one.subject(policy).in_transaction(&transaction);
                let subject = subject.with_users_commits(users);
                if is_landing(reviewed) { subject.in_landing() } else { subject }
            })
            .collect();
        let who = policy.rule(MassDeletion.name(), None).overriding;
        totals.add(&subjects, |one| !overrides.is_recorded(who, MassDeletion.name(), one.path));
        let context = GuardContext { policy, site: None };
        let run = evaluate(guards.iter().copied(), &subjects, &context, overrides);
        self.reports.extend(run.reports);
        self.warnings.extend(run.warnings);
        // Programs may write binary files. Only a text file that becomes binary counts.
        let was_text = |bytes: &Vec<u8>| !is_binary(bytes);
        let is_new = |finding: &Finding| {
            let named = |one: &&Changed<'_>| finding.path == Some(one.path.text());
            changed.iter().find(named).is_some_and(|one| !one.before.as_ref().is_some_and(was_text))
        };
        for finding in run.refused.into_iter().chain(run.held) {
            if !matches!(finding.code, Code::BinaryContent | Code::Encoding) || !is_new(&finding) {
                self.decide(finding, guards, reviewed);
            }
        }
    }

    /// Only the user, or nobody, can override a finding without an `allow` word.
    fn decide(&mut self, finding: Finding, guards: &[&dyn Guard], reviewed: Reviewed) {
        let refuses =
            reviewed != Reviewed::Changes(OnFindings::Warn) || ALWAYS.contains(&finding.code);
        match finding.allow {
            Some(allow) if !refuses => {
                // As in an edit, the warning has the name of the guard, with which its codes begin.
                let mut names = guards.iter().map(|guard| guard.name());
                let word = names.find(|name| allow.starts_with(name)).unwrap_or(allow);
                self.warnings.push(Warning {
                    code: WarningCode::of_guard(word),
                    path: finding.path,
                    message: finding.summary,
                });
            }
            _ => self.refused.push(finding),
        }
    }
}

fn review_paths(
    preview: &ChangesPreview<'_>,
    policy: &Policy,
    (guards, overrides): (&[&dyn Guard], Overrides<'_>),
    reviewed: Reviewed,
) -> Result<ChangesReview> {
    let mut review = ChangesReview { refused: preview.moved.to_vec(), ..ChangesReview::default() };
    let (mut files, special): (Vec<&TreeDifference>, Vec<&TreeDifference>) =
        preview.paths.iter().partition(|one| one.is_of_files());
    // The limit is for the others.
    files.sort_by_key(|one| !policy.protects(&one.path));
    let guarded = special.iter().filter(|one| policy.protects(&one.path));
    review.refused.extend(guarded.map(|one| protected::finding(policy, &one.path)));
    // A path that cannot be recorded cannot be restored either.
    let left_out = preview.left_out.iter().filter(|(path, _)| protects_at_or_below(policy, path));
    review.not_restorable.extend(left_out.map(|(path, why)| not_restorable(path, why)));
    let (how, guards) = ((policy, reviewed), (guards, overrides));
    let (mut changed, mut bytes, mut left) = (Vec::new(), 0, 0);
    let mut by_name = Vec::new();
    let mut totals = Totals::default();
    for difference in &files {
        if changed.len() < MAX_CHECKED_FILES || is_landing(reviewed) {
            let one = Changed::read(preview, (policy, reviewed), difference)?;
            let fits = bytes + one.bytes() <= MAX_CHECKED_BYTES;
            if !fits && is_landing(reviewed) {
                review.add(preview, how, guards, &changed, &mut totals);
                changed.clear();
                bytes = 0;
            }
            if fits || is_landing(reviewed) {
                bytes += one.bytes();
                changed.push(one);
                continue;
            }
        }
        left += 1;
        // The limit does not apply to protected paths: their names are enough.
        if policy.protects(&difference.path) {
            by_name.push(Changed::by_name(&difference.path));
        }
    }
    review.add(preview, how, guards, &changed, &mut totals);
    review.add(preview, how, (&[&ProtectedPath], guards.1), &by_name, &mut totals);
    if is_landing(reviewed) {
        let context = GuardContext { policy, site: None };
        let run = evaluate([&totals as &dyn Guard], &[], &context, overrides);
        review.warnings.extend(run.warnings);
        review.refused.extend(run.refused.into_iter().chain(run.held));
    }
    if left > 0 {
        let (examined, all) = (changed.len(), files.len());
        let message = format!(
            "The guards examined {examined} of {all} files that the program changed. All are \
             recorded."
        );
        if reviewed == Reviewed::Changes(OnFindings::Refuse) {
            let remedy = "Change fewer files at once, or keep large files out of the worktree.";
            review.refused.push(Finding::new(Code::FileTooLarge, message.clone(), remedy));
        }
        review.warnings.push(Warning { code: WarningCode::NotExamined, path: None, message });
    }
    Ok(review)
}

/// The name of the code that the guard gave the finding, if `APPROVAL_REQUIRED` took its place.
fn guards_code(finding: &Finding) -> &str {
    let held = (finding.code == Code::ApprovalRequired).then(|| finding.evidence.get("code"));
    held.flatten().and_then(|code| code.as_str()).unwrap_or(finding.code.name())
}

/// Whether losses of several landings add up: an agent that may override a guard needs no second
/// landing.
fn is_counted_since_user(policy: &Policy, guard: &str, path: Option<&RepoPath>) -> bool {
    policy.rule(guard, path).overriding != Override::Allow
}

fn is_landing(reviewed: Reviewed) -> bool {
    matches!(reviewed, Reviewed::Landing { .. })
}

/// Whether policy protects `path`, a directory above it, or something below it.
fn protects_at_or_below(policy: &Policy, path: &RepoPath) -> bool {
    let below = RepoPath::from_tree(&[path.as_bytes(), b"/x"].concat());
    policy.protects(path)
        || policy.is_listed(&below)
        || policy.executed_from(&below).is_some()
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
        "Ask the user to remove it, or to restore it: `git status` shows it, `git restore` restores \
         what is recorded.",
    )
    .with_effect(Effect::NothingRecorded)
    .at(path)
}

impl<'a> Changed<'a> {
    fn read(
        preview: &ChangesPreview<'_>,
        (policy, reviewed): (&Policy, Reviewed),
        difference: &'a TreeDifference,
    ) -> Result<Changed<'a>> {
        let writer = preview.writer;
        let (old, new) =
            (difference.old.and_then(TreeItem::file), difference.new.and_then(TreeItem::file));
        let text =
            |file: Option<FileId>| file.map(|file| writer.blob_content(file.oid)).transpose();
        let (before, after) = (text(old)?, text(new)?);
        let (origins, has_users, left) = match reviewed {
            Reviewed::Changes(_) => (["the session", "the session's base"], false, None),
            Reviewed::Landing { has_users, left } => {
                (["the commit below", "the target"], has_users, left)
            }
        };
        let mut references = Vec::new();
        if let (Some(file), Some(text)) = (old, &before) {
            let before_users_commits = has_users.then_some(file);
            let text = text.clone();
            references.push(RecordedText { origin: origins[0], text, before_users_commits });
        }
        if let Tracked::File(file) = writer.repo().tracked(preview.base, &difference.path)?
            && old != Some(file)
        {
            let text = writer.blob_content(file.oid)?;
            let before_users_commits = Some(file);
            references.push(RecordedText { origin: origins[1], text, before_users_commits });
        }
        let counted = is_counted_since_user(policy, SizeReduction.name(), Some(&difference.path));
        if let Some(left) = left.filter(|left| counted && *left != preview.base)
            && let Tracked::File(file) = writer.repo().tracked(left, &difference.path)?
            && old != Some(file)
        {
            let text = writer.blob_content(file.oid)?;
            let before_users_commits = None;
            references.push(RecordedText { origin: LEFT_BY_USER, text, before_users_commits });
        }
        Ok(Changed { path: &difference.path, before, after, references })
    }

    /// A file of which nothing is read.
    fn by_name(path: &'a RepoPath) -> Changed<'a> {
        Changed { path, before: None, after: None, references: Vec::new() }
    }

    fn bytes(&self) -> usize {
        let references = self.references.iter().map(|one| one.text.len());
        references.chain([&self.before, &self.after].into_iter().flatten().map(Vec::len)).sum()
    }

    fn side(&self) -> TransactionFile<'_> {
        TransactionFile {
            path: self.path,
            before: self.before.as_deref().unwrap_or_default(),
            after: self.after.as_deref().unwrap_or_default(),
        }
    }

    fn with_users_commits<'s>(&'s self, preview: &'s ChangesPreview<'s>) -> WithUsersCommits<'s> {
        WithUsersCommits { preview, path: self.path, references: &self.references }
    }

    fn subject<'s>(&'s self, policy: &Policy) -> Subject<'s> {
        let references = self.references.iter();
        let references =
            references.map(|one| Reference { origin: one.origin, text: &one.text }).collect();
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        Subject::new(self.path, None, before, after, references, policy.time_limit)
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
            "Ask the user to remove it, or to restore it: `git status` shows it, `git restore` \
             restores what is recorded.",
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
        let requested: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let overrides = Overrides { requested: &requested, ..Overrides::NONE };
        let writer = ObjectWriter::new(&repo);
        let session =
            crate::session::worktree::begin::preview_session(&repo, &repo.head().unwrap()).unwrap();
        let users = UserCommits::of(&writer, &session);
        let trees = LandingTrees { before: target, after: side, target, left: None };
        ChangesReview::of_landing(&users, &writer, trees, false, &policy, &[], overrides).unwrap()
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

    /// The codes of the review of a program that adds a line to `a.txt`, after the user's `change`.
    fn after_a_change_of_the_user(change: impl Fn(&crate::tests::Scratch)) -> Vec<Code> {
        let add = |scratch: &crate::tests::Scratch| {
            scratch.write("a.txt", &(scratch.text("a.txt").unwrap_or_default() + "new\n"));
        };
        codes(&review_after(change, add, OnFindings::Refuse))
    }

    /// The review of a `program`, after the user's `change`.
    fn review_after(
        change: impl Fn(&crate::tests::Scratch),
        program: impl Fn(&crate::tests::Scratch),
        on: OnFindings,
    ) -> ChangesReview {
        use crate::session::recording::record::{CommitInfo, RecordAction, record_changes};
        use crate::session::refs::message::Kind;
        let scratch = crate::tests::Scratch::with(&[("a.txt", &LONG.repeat(100))]);
        scratch.begin("fix");
        change(&scratch);
        let before = scratch.snapshot();
        program(&scratch);
        let info = CommitInfo { message: "run".into(), agent: None, kind: Kind::Run };
        let policy = Policy::of(None, None).unwrap();
        let mut found = ChangesReview::default();
        let mut decide = |preview: &ChangesPreview<'_>| {
            found = review(preview, &policy, on)?;
            Ok(RecordAction::Record)
        };
        record_changes(&mut scratch.open(), &before, &info, None, &mut decide).unwrap();
        found
    }

    #[test]
    fn a_programs_changes_are_not_blamed_for_the_users_cut() {
        let checkpoint = |scratch: &crate::tests::Scratch| {
            scratch.write("a.txt", &LONG.repeat(3));
            crate::session::recording::record::checkpoint(&mut scratch.open(), None, &[]).unwrap();
        };
        assert_eq!(after_a_change_of_the_user(checkpoint), []);
        let cut = |scratch: &crate::tests::Scratch| scratch.write("a.txt", &LONG.repeat(3));
        assert_eq!(after_a_change_of_the_user(cut), []);
        let removed = |scratch: &crate::tests::Scratch| scratch.remove("a.txt");
        assert_eq!(after_a_change_of_the_user(removed), []);
    }

    #[test]
    fn the_user_may_approve_protected_files_beyond_the_limit() {
        let files = MAX_CHECKED_FILES + 2;
        let many = |scratch: &crate::tests::Scratch| {
            for at in 0..files {
                scratch.write(&format!(".unknown/{at}"), "x\n");
            }
        };
        let all = review_after(|_| (), many, OnFindings::Warn).refused;
        assert_eq!(all.iter().filter(|one| one.code == Code::ApprovalRequired).count(), files);
        assert_eq!(all.len(), files);
    }

    #[test]
    fn protected_paths_of_a_landing_have_approvals_of_their_own() {
        for more in ["", "override = \"approval\"\n"] {
            let policy = format!("[[protect]]\npaths = [\"ci/**\"]\n{more}");
            assert_eq!(codes(&landing("one\n", "two\n", &policy, &[])), []);
        }
    }
}
