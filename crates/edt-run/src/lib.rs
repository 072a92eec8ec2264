//! `edt run`: runs a program with exactly these arguments in a sandbox, captures its output, and
//! records its changes as one commit.
//!
//! ```text
//! permit    evaluate policy on the arguments, approvals   on failure nothing was run
//! snapshot  copy uncommitted and small ignored files      outside Git's objects
//! execute   run in the sandbox; no lock is held           the output is followed
//! planted   move away what other programs would execute   the quarantine keeps it
//! review    guards examine the changes                    no branch has them yet
//! record    one commit of the program's changes alone     reverted by one `edt undo`
//! hold      put back what only the user may approve       a proposal keeps it
//!           or everything, if a guard refuses it          a ref keeps it
//! ```

pub mod answer;
mod before;
pub mod captured;
pub mod changes;
mod covered;
mod denied;
mod execute;
mod held;
mod inside;
mod inventory;
mod message;
mod name_judge;
mod permit;
mod planted;
mod recipe;
mod repository_programs;
pub mod request;
pub mod sandbox;
pub mod store;
mod time_limit;
mod withheld;

use edt_core::refusals::{self, Attempt};
use edt_core::session::recording::ignored_before::MOVED_FROM;
use edt_core::session::recording::kept;
use edt_core::session::recording::record::{CommitInfo, record_changes};
use edt_core::session::recording::review::{self, ChangesPreview, ChangesReview};
use edt_core::session::refs::message::Kind;
use edt_core::session::{LockedWorkspace, Session};
use edt_guard::policy::Policy;
use edt_io::failed;
use edt_recorder::event::Denied;
use edt_types::stage;
use edt_types::text::Shown as _;
use edt_types::trace::names::{PROGRAM, RECORD, SNAPSHOT};
use edt_types::{Effect, Finding, Refusal, RepoPath, Result, Status, Warning, WarningCode};
pub use rustix::process::Signal;

pub use answer::RunOutcome;
use before::{Capture, StateBefore};
use execute::{Executed, GRACE_PERIOD};
use message::message;
use permit::Permitted;
pub use permit::denied;
pub use repository_programs::RepositoryPrograms;
pub use request::ProgramRequest;
use std::path::Path;
pub use store::OutputStream;

/// Receives the output of a run while it lasts.
pub trait RunObserver {
    /// Called for each piece of output.
    fn output(&mut self, stream: OutputStream, bytes: &[u8]);

    /// Called once, right before the program starts.
    fn starts(&mut self) {}

    /// The signal with which to end the program, if its end was requested since the last call.
    /// Called several times a second. A second request kills the program at once.
    fn stop(&self) -> Option<Signal> {
        None
    }
}

/// Runs `request` in `workspace`. Errors after the program started are in the returned answer, with
/// what the program did.
///
/// # Errors
/// The program was not started. Nothing was changed.
pub fn run(
    workspace: &mut LockedWorkspace,
    request: &ProgramRequest,
    observer: &mut dyn RunObserver,
) -> Result<RunOutcome> {
    let done = judged_run(workspace, request, observer);
    recorded(workspace, request.agent.as_deref(), || request.line(), done)
}

/// `done`, after a refusal is in the record: of the program, or of what it changed.
fn recorded(
    workspace: &LockedWorkspace,
    agent: Option<&str>,
    line: impl FnOnce() -> String,
    done: Result<RunOutcome>,
) -> Result<RunOutcome> {
    let found = match &done {
        Err(found) => found.clone(),
        Ok(answer) => {
            let is_refused = |finding: &&Finding| finding.code.status() == Status::Refused;
            let found = answer.outcome.errors.iter().filter(is_refused).cloned().collect();
            let Err(found) = Refusal::check(found) else {
                if let (Some(session), Some(commit)) =
                    (&answer.outcome.session, &answer.outcome.commit)
                {
                    let commit = Some(commit.as_str());
                    refusals::changed(workspace, &session.name, commit, &answer.outcome.files);
                }
                return done;
            };
            found
        }
    };
    let command = Some(line());
    let attempt = Attempt { call: "run", agent, command, ..Attempt::default() };
    let found = refusals::refused(workspace, attempt, found);
    done.map_err(|_| found)
}

fn judged_run(
    workspace: &mut LockedWorkspace,
    request: &ProgramRequest,
    observer: &mut dyn RunObserver,
) -> Result<RunOutcome> {
    request.check()?;
    let policy = workspace.current_policy()?;
    if let Some(outer) = inside::outer_level(&policy, request) {
        return inside::run(workspace, &policy, request, outer, observer);
    }
    let mut permitted = permit::permit(workspace, &policy, request)?;
    if permitted.approval.is_some() {
        permitted.turn.cover(&workspace.repo, &permitted.covered.paths())?;
    }
    run_permitted(workspace, &policy, permitted, observer)
}

/// Runs a script of an agent's own shell, which a hook judged, with bash: without a sandbox, with
/// edt's standard input and the environment of the agent.
///
/// # Errors
/// The script was not started. Nothing was changed.
pub fn run_of_shell(
    workspace: &mut LockedWorkspace,
    (script, dir, agent): (&str, &Path, &str),
    observer: &mut dyn RunObserver,
) -> Result<RunOutcome> {
    let request = ProgramRequest {
        program: "bash".into(),
        args: vec!["-c".into(), script.into()],
        dir: dir.to_owned(),
        timeout: None,
        env: Vec::new(),
        sandbox: None,
        stdin: request::ProgramInput::Closed,
        agent: Some(agent.to_owned()),
    };
    let done = workspace.current_policy().and_then(|policy| {
        let permitted = permit::of_shell(workspace, &policy, &request, script)?;
        run_permitted(workspace, &policy, permitted, observer)
    });
    recorded(workspace, Some(agent), || script.to_owned(), done)
}

fn run_permitted(
    workspace: &mut LockedWorkspace,
    policy: &Policy,
    mut permitted: Permitted<'_>,
    observer: &mut dyn RunObserver,
) -> Result<RunOutcome> {
    let mut answer = RunOutcome::new();
    answer.outcome.warnings.extend(kept::interrupted(&workspace.repo));
    let before = stage!(SNAPSHOT, StateBefore::of(workspace, &permitted.named))?;
    kept::update_hint(workspace);
    // An agent's own shell is not confined, so that nothing is taken away from what it made.
    let is_confined = permitted.script.is_none();
    let executed_files = is_confined
        .then(|| {
            let (repo, level) = (&workspace.repo, permitted.level);
            planted::Executed::before(repo, policy, before.ignored(), level)
        })
        .transpose()
        .inspect_err(|_| before.finish())?;
    answer.not_backed_up = before.not_kept();
    let (mut bare, mut read_only) = Default::default();
    if let Some(files) = &executed_files {
        (bare, read_only) = (files.bare(), files.read_only());
        if permitted.approval.is_none() {
            read_only.extend(files.repositories(&workspace.repo, &permitted.writable));
        }
    }
    let mut names = name_judge::start(&workspace.repo, policy, &permitted, bare)
        .map_err(|error| failed("watch", Path::new("the names that the program makes"), &error))
        .inspect_err(|_| before.finish())?;
    let consumed =
        permitted.approval.take().map(|approval| approval.consume(workspace)).transpose()?;
    // The program may call edt in this worktree. With the lock held, both would wait for each
    // other.
    let observers = workspace.options().observers.clone();
    let mut executed = None;
    let relocked = workspace.unlocked(|repo| {
        permitted.covered.check()?;
        let program = stage!(PROGRAM, {
            // The observers name the current span, which is the program's.
            let environment: Vec<_> = observers.iter().flat_map(|one| one.environment()).collect();
            let read_only = std::mem::take(&mut read_only);
            let record = before.record_plan(names.take());
            execute::execute(repo, &permitted, (read_only, record), &environment, observer)
        });
        program.map(|done| executed = Some(done))
    });
    answer.outcome.recovered.clone_from(&workspace.recovered);
    let Some(executed) = executed else {
        before.finish();
        kept::update_hint(workspace);
        // Without the lock nothing may be written, and the approval stays consumed.
        let restored = consumed
            .filter(|_| workspace.is_locked())
            .map_or(Ok(()), |consumed| consumed.restore(workspace));
        let found =
            [relocked.err(), restored.err()].into_iter().flatten().flat_map(Refusal::into_vec);
        return Ok(with_status(answer, false, found.collect()));
    };
    permitted.turn.release();
    answer.outcome.warnings.extend(executed.warnings.iter().cloned());
    answer.outcome.warnings.extend(permitted.covered.warning());
    answer.run = Some(executed.report.clone());
    let mut planted = executed_files.map(|files| files.after(&workspace.repo, policy));
    planted.iter_mut().for_each(|planted| planted.move_git(&workspace.repo));
    let mut denials = Vec::new();
    let done = relocked.and_then(|()| {
        let found = (&mut answer, &mut denials);
        record_program(workspace, &permitted, &before, &executed, found)
    });
    let left = planted.map(|planted| planted.finish(&workspace.repo));
    answer.outcome.errors.extend(left.unwrap_or_default());
    kept::update_hint(workspace);
    let timeout = time_limit::finding(&executed).map(|one| time_limit::with_recorded(one, &answer));
    let mut errors: Vec<Finding> =
        timeout.into_iter().chain(executed.watch_error.clone()).collect();
    let found = done.err().map(Refusal::into_vec).unwrap_or_default();
    errors.extend(found.into_iter().map(not_recorded));
    errors.append(&mut answer.outcome.errors);
    let failed = executed.stopped || executed.report.exit_code != Some(0);
    if failed {
        let place = permitted.home().and_then(|home| withheld::place(&executed.report, &home));
        let place = place.filter(|_| denials.is_empty());
        answer
            .outcome
            .warnings
            .extend(withheld::warning(&executed.report).into_iter().chain(place));
    }
    answer.outcome.warnings.extend(denied::warnings(&denials, permitted.level, failed));
    Ok(with_status(answer, failed, errors))
}

/// The answer with all findings and the resulting status. `failed`: the program did not end by
/// itself with the exit status 0.
fn with_status(mut answer: RunOutcome, failed: bool, found: Vec<Finding>) -> RunOutcome {
    answer.outcome.status = match Refusal::check(found) {
        Err(found) => {
            let status = found.status();
            answer.outcome.errors = found.into_vec();
            status
        }
        Ok(()) if failed => Status::Failed,
        Ok(()) if answer.outcome.commit.is_some() => Status::Applied,
        Ok(()) => Status::Unchanged,
    };
    answer
}

/// Records the program's changes after the guards examined them, or puts the files back if policy
/// refuses the changes.
fn record_program(
    workspace: &mut LockedWorkspace,
    permitted: &Permitted<'_>,
    before: &StateBefore,
    executed: &Executed,
    (answer, denials): (&mut RunOutcome, &mut Vec<Denied>),
) -> Result<()> {
    let taken;
    let snapshot = match &before.capture {
        Capture::Recorded(store, ignored) => {
            let repo = &workspace.repo;
            let found = store.snapshot(repo, ignored)?;
            *denials = found.denied;
            answer.outcome.warnings.extend(found.warnings);
            if let Some(path) = &found.displaced {
                let (finding, warnings) = store.roll_back(repo, path, &found.snapshot)?;
                answer.outcome.errors.push(finding);
                answer.outcome.warnings.extend(warnings);
                store.remove();
                return Ok(());
            }
            taken = found.snapshot;
            &taken
        }
        Capture::Compared(snapshot) => snapshot,
    };
    answer.outcome.warnings.extend(snapshot.lost(&workspace.repo));
    let verb = if permitted.script.is_some() { "shell" } else { "run" };
    let message = message(verb, &permitted.dir, executed);
    let agent = permitted.request.agent.clone();
    let info = CommitInfo { message, agent, kind: Kind::Run };
    let policy = workspace.current_policy()?;
    let mut review = ChangesReview::default();
    let mut check = |preview: &ChangesPreview<'_>| {
        review = review::review(preview, &policy, permitted.on_findings)?;
        Ok(held::action(&review, preview))
    };
    let recorded = stage!(RECORD, record_changes(workspace, snapshot, &info, None, &mut check));
    // The findings are reported even if recording fails.
    let kept = recorded.as_ref().ok().and_then(|recorded| recorded.refused.clone());
    answer.outcome.guards = review.reports;
    let range = recorded
        .as_ref()
        .ok()
        .zip(kept.as_ref())
        .map(|(recorded, kept)| (recorded.parent.to_string(), kept.clone()));
    let moved = moved_files(&review.refused);
    if let Ok(recorded) = &recorded
        && let Some(taken) = &recorded.held
    {
        let refused = std::mem::take(&mut review.refused);
        let (errors, warnings) = held::propose(workspace, recorded, taken, (&info, refused));
        answer.outcome.errors.extend(errors);
        answer.outcome.warnings.extend(warnings);
    }
    answer.outcome.errors.extend(
        review.refused.into_iter().map(|one| refused_after_run(one, range.as_ref(), &moved)),
    );
    let is_recorded = kept.is_none() && recorded.as_ref().is_ok_and(|one| one.commit.is_some());
    let beside = review.not_restorable.into_iter().map(|one| held::beside(one, is_recorded));
    answer.outcome.errors.extend(beside);
    let mut recorded = recorded?;
    before.finish();
    // The bytes of a file that was moved are those at its new path.
    let has_bytes = |path: &str| recorded.files.iter().any(|file| file.path == path);
    let is_lost = |one: &Warning| !one.path.as_deref().is_some_and(has_bytes);
    answer.outcome.warnings.retain(|one| one.code != WarningCode::NotRestorable || is_lost(one));
    answer.outcome.warnings.append(&mut recorded.warnings);
    answer
        .outcome
        .errors
        .extend(recorded.displaced.drain(..).map(|one| with_rest(one, kept.as_deref())));
    answer.outcome.warnings.extend(review.warnings);
    let session = &recorded.session;
    if let Some(earlier) = &before.session {
        if recorded.parent != earlier.tip && earlier.name == session.name {
            let (from, to) = (earlier.tip, recorded.parent);
            let found = changes::foreign_protected_changes(workspace, &policy, session, from, to)?;
            answer.outcome.errors.extend(found);
        }
        if earlier.name != session.name && recorded.commit.is_some() {
            answer.outcome.warnings.push(session_left(earlier, session));
        }
    }
    let Some(commit) = recorded.commit else { return Ok(()) };
    if kept.is_none() {
        answer.outcome.session = Some(session.report(recorded.began));
        answer.outcome.edit = Some(session.last_number(&workspace.repo)?);
    }
    answer.outcome.commit = Some(commit.to_string());
    answer.outcome.parent = Some(recorded.parent.to_string());
    answer.new_files = recorded.new_files.iter().map(RepoPath::text).collect();
    answer.outcome.files = recorded.files;
    Ok(())
}

/// A finding of a guard about changes that the program had already made: either all of its changes
/// were rolled back and are kept at a ref (`range`: the parent commit and that ref), or that
/// failed. `moved` is from [`moved_files`].
fn refused_after_run(
    finding: Finding,
    range: Option<&(String, String)>,
    moved: &[String],
) -> Finding {
    let found = &finding.summary;
    let (summary, remedy) = match range {
        None if !moved.is_empty() => (
            format!(
                "{found} The program had already made this change. It could not be rolled back, and \
                 it is not recorded."
            ),
            format!(
                "Before anything else, move {}: nothing else may have that content. Only then \
                 restore other files: `git status` shows the changes.",
                moved.join(", ").shown()
            ),
        ),
        None => (
            format!(
                "{found} The program had already made this change. It could not be rolled back, and \
                 it is not recorded."
            ),
            "Restore the file before anything else: `git status` shows the changes, `git restore \
             PATH` restores a file."
                .to_owned(),
        ),
        Some((_, kept)) if finding.evidence.contains_key(MOVED_FROM) => (
            format!(
                "{found} All changes of the program were rolled back; those of other files are \
                 kept at {kept}."
            ),
            finding.remedy.clone(),
        ),
        Some((parent, kept)) => (
            format!(
                "{found} The program had already made this change. All changes of the program were \
                 rolled back and are kept at {kept}."
            ),
            format!(
                "Run the program so that it does not make this change. `git diff {parent} {kept}` \
                 shows its changes. The user may apply them with `git cherry-pick \
                 {parent}..{kept}`."
            ),
        ),
    };
    let effect = Effect::Unstated;
    let changed =
        Finding { summary, effect, remedy, override_remedy: None, allow: None, ..finding };
    match range {
        None => changed,
        Some((_, kept)) => changed.with("refused_ref", kept.as_str()),
    }
}

/// A finding about one path, with what became of the program's other changes.
fn with_rest(finding: Finding, kept: Option<&str>) -> Finding {
    let Some(kept) = kept else { return finding };
    let summary = format!(
        "{} All other changes of the program were rolled back and are kept at {kept}.",
        finding.summary
    );
    Finding { summary, ..finding }.with("refused_ref", kept)
}

/// A finding of a step after the program, which had changed files when the step began.
fn not_recorded(finding: Finding) -> Finding {
    if finding.effect != Effect::NothingChanged {
        return finding;
    }
    let summary = format!(
        "{} The program ran, and what it changed is in the worktree as it left it.",
        finding.summary
    );
    let remedy = format!(
        "{} `git status` shows what the program changed; record or restore it with Git.",
        finding.remedy
    );
    Finding { summary, remedy, effect: Effect::NothingRecorded, ..finding }
}

/// The private files that the program moved onto others, for a hint: `NEW back to OLD`.
fn moved_files(refused: &[Finding]) -> Vec<String> {
    let moved = |finding: &Finding| {
        let source = finding.evidence.get(MOVED_FROM)?.as_str()?;
        Some(format!("{} back to {source}", finding.path.as_ref()?))
    };
    refused.iter().filter_map(moved).collect()
}

fn session_left(from: &Session, to: &Session) -> Warning {
    let message = format!(
        "HEAD left the session {} while the program ran. Its changes are recorded in {}.",
        from.name, to.name
    );
    Warning { code: WarningCode::SessionLeft, path: None, message }
}

fn stopped() -> Warning {
    let message = format!(
        "edt was asked to end while the program ran. The program got the signal and up to {} s to \
         end; then edt killed all processes that it had started. What they changed until then was \
         handled as after any run.",
        GRACE_PERIOD.as_secs()
    );
    Warning { code: WarningCode::RunStopped, path: None, message }
}

fn not_stored(why: &str) -> Warning {
    let message = format!(
        "Not all of the program's output was stored: {why}. The part in this answer is correct."
    );
    Warning { code: WarningCode::OutputNotStored, path: None, message }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use answer::{RunReport, Sandbox};
    use captured::OutputBuffer;
    use edt_types::{Code, Level};
    use std::path::Path;
    use std::time::Duration;

    pub(crate) fn report(exit_code: Option<i32>, signal: Option<i32>) -> RunReport {
        let output = || OutputBuffer::default().output(|_, _| String::new());
        RunReport {
            id: 1,
            program: "/bin/make".into(),
            args: Vec::new(),
            cwd: "/w".into(),
            exit_code,
            signal,
            timed_out: false,
            limit: None,
            capture: "recorded",
            duration_ms: 1500,
            sandbox: Sandbox { level: Level::Standard, by: "x", withheld: Vec::new() },
            stdout: output(),
            stderr: output(),
        }
    }

    pub(crate) fn executed(line: &str, report: RunReport) -> Executed {
        Executed {
            report,
            command_line: line.to_owned(),
            took: Duration::from_millis(1500),
            limit: Duration::from_secs(60),
            warnings: Vec::new(),
            stopped: false,
            watch_error: None,
        }
    }

    #[test]
    fn a_program_that_timed_out_is_an_error_with_its_limit() {
        let report = RunReport { timed_out: true, ..report(None, Some(9)) };
        let executed = executed("make", report);
        let finding = time_limit::finding(&executed).unwrap();
        assert_eq!(
            finding.summary,
            "make timed out after 60 s and was killed, with all processes that it had started."
        );
        assert_eq!(
            (finding.code, &finding.evidence["timeout_s"]),
            (Code::CommandTimeout, &60.0.into())
        );
        assert!(
            message("run", Path::new("/w"), &executed)
                .contains("\nEnded: time limit of 60 s reached")
        );
    }

    #[test]
    fn a_program_that_ended_in_time_is_no_error() {
        assert_eq!(time_limit::finding(&executed("make", report(Some(1), None))), None);
    }

    fn status(exit_code: i32, commit: Option<&str>, found: Vec<Finding>) -> Status {
        let mut answer = RunOutcome::new();
        answer.outcome.commit = commit.map(str::to_owned);
        with_status(answer, exit_code != 0, found).outcome.status
    }

    #[test]
    fn the_status_of_a_run_is_that_of_its_worst_part() {
        assert_eq!(status(0, None, Vec::new()), Status::Unchanged);
        assert_eq!(status(0, Some("c"), Vec::new()), Status::Applied);
        assert_eq!(status(1, Some("c"), Vec::new()), Status::Failed);
        let finding = Finding::new(Code::ProtectedPath, "x", "y");
        assert_eq!(status(1, Some("c"), vec![finding]), Status::Refused);
    }

    #[test]
    fn refused_changes_are_kept_at_a_ref_that_the_finding_names() {
        let finding = Finding::new(Code::ProtectedPath, "a.txt is protected.", "Leave it.")
            .nothing_changed()
            .or_override("If so, allow it.");
        let range = ("aaa".to_owned(), "refs/edt/s/refused/1".to_owned());
        let expected = Finding::new(
            Code::ProtectedPath,
            "a.txt is protected. The program had already made this change. All changes of the \
             program were rolled back and are kept at refs/edt/s/refused/1.",
            "Run the program so that it does not make this change. `git diff aaa \
             refs/edt/s/refused/1` shows its changes. The user may apply them with `git \
             cherry-pick aaa..refs/edt/s/refused/1`.",
        );
        let expected = expected.with("refused_ref", "refs/edt/s/refused/1");
        assert_eq!(refused_after_run(finding, Some(&range), &[]), expected);
    }

    #[test]
    fn changes_that_could_not_be_rolled_back_say_so() {
        let finding = Finding::new(Code::ProtectedPath, "a.txt is protected.", "Leave it.");
        assert_eq!(
            refused_after_run(finding, None, &[]).summary,
            "a.txt is protected. The program had already made this change. It could not be rolled \
             back, and it is not recorded."
        );
    }

    #[test]
    fn a_step_that_fails_after_the_program_says_what_is_in_the_worktree() {
        let finding = Finding::new(Code::FileTooLarge, "It is too large.", "Use Git.");
        let found = not_recorded(finding.clone().nothing_changed());
        assert_eq!(
            found.message(),
            "It is too large. The program ran, and what it changed is in the worktree as it left \
             it. Nothing was recorded."
        );
        assert!(found.hint().starts_with("Use Git. `git status` shows"), "{}", found.hint());
        assert_eq!(not_recorded(finding.clone()), finding);
    }

    #[test]
    fn a_moved_private_file_is_moved_back_before_anything_is_restored() {
        let finding = Finding::new(Code::ProtectedPath, "Moved.", "Leave it.")
            .at(&edt_types::RepoPath::from_tree(b"a.txt"))
            .with(MOVED_FROM, "big.dat");
        let moved = moved_files(std::slice::from_ref(&finding));
        let other = Finding::new(Code::SizeReduction, "Smaller.", "Look.");
        for finding in [finding, other] {
            let hint = refused_after_run(finding, None, &moved).hint();
            assert!(hint.contains("move a.txt back to big.dat:"), "{hint}");
            assert!(!hint.contains("git restore"), "{hint}");
        }
    }
}
