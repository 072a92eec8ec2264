//! Judges a landing as a whole: the guards' findings, and the user's consent to land their changes.

use std::sync::Arc;

use super::current::Session;
use super::diff_report;
use super::history::Commit;
use super::land_commits::allowed;
use super::land_options::LandOptions;
use super::land_plan::{LandPlan, LandTarget, PlannedCommit};
use super::user_commits::UserCommits;
use crate::guard::Guard;
use crate::guard::review::ChangesReview;
use crate::policy::Policy;
use edt_git::diff::TreeDifference;
use edt_git::{ObjectWriter, Repo};
use edt_types::{Code, Effect, Finding, Refusal, Result, Warning};

/// What judges a landing.
#[derive(Debug)]
pub(super) struct LandReview<'a> {
    pub(super) policy: &'a Policy,
    pub(super) guards: &'a [Arc<dyn Guard>],
    pub(super) options: &'a LandOptions,
}

impl LandReview<'_> {
    /// Lets the guards judge each squashed commit and each checkpoint, against the commit before it
    /// and against the target. An agent can request a checkpoint of anything, so that the consent
    /// to land the user's changes overrides no guard.
    ///
    /// # Errors
    /// The findings, and `USER_CHANGES_INCLUDED` without that consent; `OBJECT_MISSING`.
    pub(super) fn judge(
        &self,
        writer: &ObjectWriter<'_>,
        session: &Session,
        target: &LandTarget,
        plan: &LandPlan,
    ) -> Result<Vec<Warning>> {
        let target = target.tree(writer.repo())?;
        let (mut before, mut warnings) = (target, Vec::new());
        let mut found: Vec<Finding> = Vec::new();
        let users = UserCommits::of(writer, session).without_checkpoints();
        let allowed = allowed(&plan.commits, self.options);
        for planned in &plan.planned {
            let (trees, checkpoint) = ((before, planned.tree(), target), checkpoint(plan, planned));
            before = planned.tree();
            if checkpoint.is_none() && matches!(planned, PlannedCommit::UserCommit { .. }) {
                continue;
            }
            let review = ChangesReview::of_landing(
                &users,
                writer,
                trees,
                !plan.folded.is_empty(),
                self.policy,
                self.guards,
                &allowed,
            )?;
            warnings.extend(review.warnings);
            for finding in review.refused {
                // A later commit of the landing has what an earlier one has.
                let is_it = |one: &Finding| one.code == finding.code && one.path == finding.path;
                if !found.iter().any(is_it) && !is_known_binary(writer, &finding, &plan.commits)? {
                    found.push(not_landed(finding, checkpoint));
                }
            }
        }
        if !self.options.include_user_changes {
            found.extend(user_changes_included(writer.repo(), session, plan)?);
        }
        Refusal::check(found)?;
        Ok(warnings)
    }
}

/// The checkpoint that lands as `planned`.
fn checkpoint<'p>(plan: &'p LandPlan, planned: &PlannedCommit) -> Option<&'p Commit> {
    let PlannedCommit::UserCommit { commit, .. } = planned else { return None };
    plan.commits.iter().find(|one| one.oid == *commit && one.is_checkpoint())
}

/// Whether an edit added the new binary file deliberately: its request allowed binary content.
fn is_known_binary(
    writer: &ObjectWriter<'_>,
    finding: &Finding,
    commits: &[Commit],
) -> Result<bool> {
    if finding.code != Code::BuildOutput {
        return Ok(false);
    }
    let words = [Code::BinaryContent, Code::Encoding].map(Code::allow);
    for commit in commits {
        let allowed = commit.trailers.iter().flat_map(|trailers| &trailers.allowed);
        if !allowed.into_iter().any(|word| words.contains(&Some(word))) {
            continue;
        }
        let parent = commit
            .parent
            .map_or_else(|| Ok(writer.repo().empty_tree()), |parent| writer.tree_of(parent))?;
        let changed = writer.tree_diff(parent, commit.tree)?;
        let named = |one: &TreeDifference| finding.path == Some(one.path.to_string());
        if changed.iter().any(|one| one.new.is_some() && named(one)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The finding about a landing as a whole, or about a checkpoint in it.
fn not_landed(finding: Finding, checkpoint: Option<&Commit>) -> Finding {
    let flag = finding.allow.map(|word| {
        format!("If the whole landing is intended, repeat `edt land` with `--allow {word}`.")
    });
    let remedy = match (finding.code, checkpoint) {
        (_, Some(commit)) => format!(
            "The checkpoint {0} has it. `edt undo --to {0}~1` takes it and what follows off the \
             branch; its content stays on disk.",
            commit.oid.to_hex_with_len(12)
        ),
        (Code::BuildOutput, None) => finding.remedy,
        _ => "Change it in the session, or undo the edit (`edt log`, `edt revert`).".to_owned(),
    };
    let effect = Effect::NothingLanded;
    Finding { effect, remedy, override_remedy: flag, ..finding }
}

/// The refusal to land the user's own changes without the user's consent.
fn user_changes_included(
    repo: &Repo,
    session: &Session,
    plan: &LandPlan,
) -> Result<Option<Finding>> {
    let mut files: Vec<(String, u64)> = Vec::new();
    for commit in plan.commits.iter().filter(|commit| commit.is_users_changes()) {
        let parent =
            commit.parent.map_or_else(|| Ok(repo.empty_tree()), |parent| repo.tree_of(parent))?;
        for report in diff_report::files(repo, &repo.tree_diff(parent, commit.tree)?)? {
            let lines = report.lines_added + report.lines_removed;
            match files.iter_mut().find(|(path, _)| *path == report.path) {
                Some((_, known)) => *known += lines,
                None => files.push((report.path, lines)),
            }
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    let list: Vec<String> = files.iter().map(|(path, lines)| format!("{path} ({lines})")).collect();
    let names: Vec<String> = files.into_iter().map(|(path, _)| path).collect();
    Ok(Some(
        Finding::new(
            Code::UserChangesIncluded,
            format!(
                "{} has commits with the user's own uncommitted changes; changed lines: {}.",
                session.short_branch(),
                list.join(", ")
            ),
            "Ask the user. If they agree, they type `edt land --include-user-changes`: it lands \
             their changes as commits of their own, apart from the agent's.",
        )
        .with_effect(Effect::NothingLanded)
        .with("files", names),
    ))
}
