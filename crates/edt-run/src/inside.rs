//! `edt run` below another `edt run`: the outer one confines, records and judges what the program
//! does, and this one only evaluates policy and follows the output.

use edt_core::session::LockedWorkspace;
use edt_guard::policy::Policy;
use edt_types::{Finding, Level, Result};

use super::answer::RunOutcome;
use super::permit::{self, Permitted};
use super::request::ProgramRequest;
use super::{RunObserver, execute, sandbox, time_limit, with_status, withheld};

/// The level of the run above, if it confines at least as much as `request` needs.
pub(super) fn outer_level(policy: &Policy, request: &ProgramRequest) -> Option<Level> {
    let wanted = request.sandbox.unwrap_or(policy.commands.run.min_level);
    sandbox::outer_level().filter(|outer| *outer >= wanted)
}

/// Runs `request` below a run of level `outer`.
///
/// # Errors
/// As [`super::run`].
pub(super) fn run(
    workspace: &mut LockedWorkspace,
    policy: &Policy,
    request: &ProgramRequest,
    outer: Level,
    observer: &mut dyn RunObserver,
) -> Result<RunOutcome> {
    let mut permitted = permit::permit(workspace, policy, request)?;
    if let Some(approval) = permitted.approval.take() {
        permitted.turn.cover(&workspace.repo, &permitted.covered.paths())?;
        approval.consume(workspace)?;
    }
    // A second sandbox is neither needed nor possible.
    let permitted = Permitted { level: Level::Permissive, ..permitted };
    let mut answer = RunOutcome::new();
    let mut executed = None;
    workspace.unlocked(|repo| {
        let done = execute::execute(repo, &permitted, (Vec::new(), None), &[], observer);
        done.map(|done| executed = Some(done))
    })?;
    let Some(executed) = executed else { return Ok(answer) };
    answer.outcome.warnings.extend(executed.warnings.iter().cloned());
    let mut report = executed.report.clone();
    (report.capture, report.sandbox.level) = ("outer", outer);
    report.sandbox.by = "the `edt run` above";
    let failed = executed.stopped || report.exit_code != Some(0);
    answer.outcome.warnings.extend(withheld::warning(&report).filter(|_| failed));
    answer.run = Some(report);
    let found: Vec<Finding> =
        time_limit::finding(&executed).into_iter().chain(executed.watch_error).collect();
    Ok(with_status(answer, failed, found))
}
