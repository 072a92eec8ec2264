//! Which commits of a session wait for the user's approval before an agent may land them: all that
//! edt did not record as edits, also those that the agent made with Git, and checkpoints.

use super::options::LandOptions;
use super::plan::LandTarget;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::record::RecordTip;
use edt_git::{Merged, ObjectWriter, Repo};
use edt_types::text::counted;
use edt_types::{Code, Effect, Finding, Result};

/// The refusal of an agent's landing of `commits`, the oldest first, if edt did not record one.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub(super) fn unrecorded(
    repo: &Repo,
    session: &Session,
    target: &LandTarget,
    commits: &[Commit],
    options: &LandOptions,
) -> Result<Option<Finding>> {
    let mut open = Vec::new();
    // Without a record, only messages say what is an edit: anybody can write them.
    let before = Session { planned: None, ..session.clone() };
    let has_record = RecordTip::of(repo, &before)?.is_some();
    for commit in commits.iter().filter(|commit| commit.is_users() || !has_record) {
        if !is_merge_of_target(repo, target, commit)? {
            open.push(commit);
        }
    }
    let Some(newest) = open.last() else { return Ok(None) };
    let short = |commit: &Commit| commit.oid.to_hex_with_len(12).to_string();
    let list: Vec<String> =
        open.iter().map(|commit| format!("{} ({})", short(commit), commit.subject())).collect();
    let no_edit = if open.len() == 1 { "is not an edit" } else { "are not edits" };
    let summary = format!(
        "{} of {} {no_edit} that edt recorded: {}.",
        counted(open.len() as u64, "commit"),
        session.short_branch(),
        list.join(", ")
    );
    let remedy = format!(
        "Ask the user to review them (`git show {}`) and to type `{}` in their own terminal. \
         Make your own changes with `edt apply`, and not with `git commit`.",
        short(newest),
        options.command()
    );
    let ids: Vec<String> = open.iter().map(|commit| commit.oid.to_string()).collect();
    let finding = Finding::new(Code::ApprovalRequired, summary, remedy);
    Ok(Some(finding.with_effect(Effect::NothingLanded).with("commits", ids)))
}

/// Whether `commit` merges the target, and is what Git makes of it without anybody's help.
fn is_merge_of_target(repo: &Repo, target: &LandTarget, commit: &Commit) -> Result<bool> {
    let (Some(ours), [theirs], Some(tip)) =
        (commit.parent, commit.other_parents.as_slice(), target.tip)
    else {
        return Ok(false);
    };
    let [base] = repo.merge_bases(ours, *theirs)?[..] else { return Ok(false) };
    if !repo.is_ancestor(*theirs, tip)? {
        return Ok(false);
    }
    let (base, ours, theirs) = (repo.tree_of(base)?, repo.tree_of(ours)?, repo.tree_of(*theirs)?);
    let merged = ObjectWriter::new(repo).merge_trees(base, ours, theirs)?;
    Ok(merged == Merged::Clean(commit.tree))
}
