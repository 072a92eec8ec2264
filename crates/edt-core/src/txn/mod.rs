//! A transaction: the edits of one request, all or none, as exactly one commit.
//!
//! `pipeline` has the five stages. Each has a type that only the stage before can make, so that no
//! transaction can skip the guards.

pub mod budget;
pub mod commit;
mod correction;
pub mod digest;
mod earlier;
pub mod edit_fields;
pub mod guard;
pub mod loose_values;
mod messages;
mod nearest;
pub mod other_words;
pub mod outline;
pub mod patch;
mod patch_messages;
pub mod patch_text;
pub mod pending;
pub mod plan;
mod range_messages;
mod ready;
pub mod refused_edits;
pub mod rehearsal;
mod removed;
pub mod report;
pub mod request;
mod request_key;
mod request_limits;
mod resolution;
pub mod resolve;
pub mod restore;
mod separate;
mod streak;
mod symbol_messages;
mod together;
pub mod tried;
mod unique_json;
pub mod wire;
mod words_table;

use edt_types::trace::names::{COMMIT, GUARD, OBSERVE, PLAN, PUBLISH, RESOLVE, STREAK};
use edt_types::{DryRun, Landing, Outcome, RecordedIn, Refusal, Result, Status, Verdict, stage};

use crate::refusals::{self, Attempt};
use crate::session::LockedWorkspace;

pub use pending::PendingChange;
pub use request::Request;
pub use restore::{RestoreTarget, restore};

/// The kind of the calls that apply edits, in the record of refusals.
pub const APPLY: &str = "apply";

/// Applies `request` in `workspace`.
///
/// # Errors
/// Every finding that refuses it. Then nothing is changed: no file, no index entry, no ref.
/// `APPROVAL_REQUIRED` alone, if only the user may allow it.
pub fn transact(
    workspace: &mut LockedWorkspace,
    request: &Request,
    dry_run: DryRun,
) -> Result<Outcome> {
    let parsed = request.with_parsed_patch();
    let answer = parsed
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|request| pipeline(workspace, request, dry_run));
    let answer = match &parsed {
        Ok(request) => together::offer(workspace, request, answer, dry_run),
        Err(_) => answer,
    };
    if dry_run == DryRun::Yes {
        return answer;
    }
    let request = parsed.as_ref().map_or(request, |request| request);
    let answer = tracing::info_span!(STREAK).in_scope(|| streak::count(workspace, request, answer));
    tracing::info_span!(OBSERVE).in_scope(|| observed(workspace, request, answer))
}

/// `answer`, after it was recorded and the observers have seen it.
fn observed(
    workspace: &mut LockedWorkspace,
    request: &Request,
    answer: Result<Outcome>,
) -> Result<Outcome> {
    let outcome = match answer {
        Ok(outcome) => outcome,
        Err(found) => return Err(refusals::refused(workspace, Attempt::of(APPLY, request), found)),
    };
    if outcome.files.iter().any(|file| file.recorded != RecordedIn::Branch) {
        if outcome.status == Status::Applied {
            refusals::landed_elsewhere(workspace, request, &outcome);
        }
        return Ok(outcome);
    }
    if let (Status::Applied, Some(session), Some(commit)) =
        (outcome.status, &outcome.session, &outcome.commit)
    {
        let overrode = outcome.guards.iter().filter(|report| report.verdict == Verdict::Allowed);
        let paths = outcome.files.iter();
        let landing = Landing {
            session: &session.name,
            commit,
            paths: paths.map(|file| (file.path.as_str(), file.from.as_deref())).collect(),
            overrode: overrode.map(|report| (report.guard, report.path.as_str())).collect(),
        };
        refusals::landed(workspace, Some(request), &landing);
    }
    Ok(outcome)
}

/// Checks `request` as [`transact`] does, and prepares a proposal for the user to decide on; `None` if
/// it changes nothing.
///
/// # Errors
/// As [`transact`], but findings that only the user may override are in the answer.
pub fn prepare_proposal(
    workspace: &LockedWorkspace,
    request: &Request,
) -> Result<Option<PendingChange>> {
    let parsed = request.with_parsed_patch()?;
    let resolved = stage!(RESOLVE, resolve::resolve(workspace, &parsed))?;
    let state = &resolved.state;
    let session = state.exists.then_some(&state.session);
    budget::for_edit(&workspace.repo, session, &state.policy)?;
    let planned = stage!(PLAN, plan::plan(workspace, resolved))?;
    pending::prepare(workspace, stage!(GUARD, guard::guard(workspace, planned))?)
}

/// Counts a request that was refused with `found` before it was tried.
pub fn refused(workspace: &LockedWorkspace, found: &Refusal) {
    streak::refused(workspace, found);
}

/// Counts and records a request that was refused with `found` before it was tried. Returns the
/// findings with their lessons.
#[must_use]
pub fn refused_unread(workspace: &LockedWorkspace, shown: tried::Shown, found: Refusal) -> Refusal {
    streak::refused(workspace, &found);
    let (agent, edits) = (shown.agent.as_deref(), shown.edits);
    let attempt = Attempt { call: APPLY, agent, edits, ..Attempt::default() };
    refusals::refused(workspace, attempt, found)
}

fn pipeline(
    workspace: &mut LockedWorkspace,
    request: &Request,
    dry_run: DryRun,
) -> Result<Outcome> {
    // Blobs and disk are read, expected hashes compared. Nothing is changed.
    let resolved = stage!(RESOLVE, resolve::resolve(workspace, request))?;
    let observers = &workspace.options().observers;
    observers.iter().for_each(|observer| observer.session(&resolved.state.session.name));
    let state = &resolved.state;
    let session = state.exists.then_some(&state.session);
    let left = budget::for_edit(&workspace.repo, session, &state.policy)?;
    // Every new text is computed in memory. Nothing is changed.
    let planned = stage!(PLAN, plan::plan(workspace, resolved))?;
    // All guards check all files. Nothing is changed.
    let evaluated = stage!(GUARD, guard::guard(workspace, planned))?;
    let cleared = evaluated.map_err(guard::Unapproved::findings)?;
    if dry_run == DryRun::Yes || cleared.changes_nothing() {
        let status = if cleared.changes_nothing() { Status::Unchanged } else { Status::WouldApply };
        let outcome = report::of(workspace, &cleared, status, &[]);
        return Ok(Outcome { remaining_edits: left, ..outcome });
    }
    if cleared.state.resolving {
        return stage!(PUBLISH, resolution::publish(workspace, &cleared));
    }
    // Objects are written; no ref names them.
    let committed = stage!(COMMIT, commit::commit(workspace, cleared))?;
    // Journal, files, compare-and-swap of the ref, index.
    let outcome = stage!(PUBLISH, committed.publish())?;
    let remaining_edits = left.map(|left| left.saturating_sub(1));
    Ok(Outcome { remaining_edits, ..outcome })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{MemoryUse, Observer};
    use crate::session::worktree::options::Options;
    use crate::tests::Scratch;
    use edt_git::RepositoryView;
    use edt_journal::refusals::RefusedCall;
    use std::sync::{Arc, Mutex};

    /// What an observer saw, in order.
    #[derive(Debug, Default)]
    struct Record(Mutex<Vec<String>>);

    impl Record {
        fn add(&self, what: String) {
            self.0.lock().unwrap().push(what);
        }
    }

    impl Observer for Record {
        fn session(&self, name: &str) {
            self.add(format!("session {name}"));
        }

        fn refused(
            &self,
            _: RepositoryView<'_>,
            _: MemoryUse,
            request: Option<&Request>,
            call: &RefusedCall,
            findings: Refusal,
        ) -> Refusal {
            assert_eq!(call.findings[0].code, findings.codes()[0]);
            self.add(format!(
                "refused {}: {}",
                request.unwrap().message.as_deref().unwrap(),
                findings.codes().join(",")
            ));
            findings.with_lessons(vec!["Read first.".to_owned()])
        }

        fn landed(&self, _: RepositoryView<'_>, request: Option<&Request>, landing: &Landing<'_>) {
            let subject = request.and_then(|request| request.message.as_deref()).unwrap_or("-");
            self.add(format!("landed {subject}: {:?} {:?}", landing.paths, landing.overrode));
        }
    }

    fn scratch() -> Scratch {
        Scratch::with(&[("a.txt", "one\n")])
    }

    fn observed_call(request: &Request, dry_run: DryRun) -> (Vec<String>, Result<Outcome>) {
        let (scratch, record) = (scratch(), Arc::new(Record::default()));
        let observers: Vec<Arc<dyn Observer>> = vec![record.clone()];
        let mut workspace = scratch.open_with(Options { observers, ..Options::default() });
        let answer = transact(&mut workspace, request, dry_run);
        let seen = record.0.lock().unwrap().clone();
        (seen, answer)
    }

    #[test]
    fn an_applied_edit_is_observed_with_its_paths_and_overrides() {
        let request = Request::new("x").append("a.txt", b"\xff".to_vec()).allow("encoding");
        let (seen, _) = observed_call(&request, DryRun::No);
        assert_eq!(
            seen,
            ["session main-1", "landed x: [(\"a.txt\", None)] [(\"encoding\", \"a.txt\")]"]
        );
    }

    #[test]
    fn a_refusal_gets_the_lessons_of_an_observer() {
        let request = Request::new("x").edit("a.txt", "0123456789", "x");
        let (seen, answer) = observed_call(&request, DryRun::No);
        assert_eq!(seen, ["session main-1", "refused x: OLD_TEXT_NOT_FOUND"]);
        assert_eq!(answer.unwrap_err().lessons(), ["Read first."]);
    }

    #[test]
    fn a_dry_run_is_not_observed_as_an_edit() {
        let (seen, _) = observed_call(&Request::new("x").edit("a.txt", "one", "two"), DryRun::Yes);
        assert_eq!(seen, ["session main-1"]);
    }

    #[test]
    fn a_dry_run_reports_what_would_change_and_changes_nothing() {
        let scratch = scratch();
        let request = Request::new("x").edit("a.txt", "one", "two");
        let outcome = transact(&mut scratch.open(), &request, DryRun::Yes).unwrap();
        assert_eq!(
            (outcome.status, outcome.commit, outcome.session),
            (Status::WouldApply, None, None)
        );
        assert_eq!(outcome.files[0].path, "a.txt");
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
        assert_eq!(scratch.ref_value("refs/heads/edt/main-1"), None);
    }

    #[test]
    fn the_first_edit_begins_a_session() {
        let scratch = scratch();
        let base = scratch.head().to_string();
        let outcome = scratch.edit("x", "a.txt", "one", "two");
        let session = outcome.session.unwrap();
        assert_eq!((session.name.as_str(), session.began), ("main-1", true));
        assert_eq!((session.base, outcome.parent), (base.clone(), Some(base)));
        assert!(!scratch.edit("x", "a.txt", "two", "three").session.unwrap().began);
    }

    #[test]
    fn files_that_are_as_requested_are_unchanged() {
        let scratch = scratch();
        let outcome = scratch.apply(&Request::new("x").overwrite("a.txt", "one\n")).unwrap();
        assert_eq!((outcome.status, outcome.commit), (Status::Unchanged, None));
        assert_eq!(scratch.head_target(), "refs/heads/main");
    }

    #[test]
    fn one_refused_edit_refuses_all() {
        let scratch = scratch();
        let request = Request::new("x").create("b.txt", "b\n").edit("a.txt", "0123456789", "x");
        scratch.apply(&request).unwrap_err();
        assert_eq!(scratch.text("b.txt"), None);
        assert_eq!(scratch.head_target(), "refs/heads/main");
    }
}
