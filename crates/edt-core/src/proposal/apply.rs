//! Applies an approved proposal.
//!
//! The change goes through the whole pipeline again, because files may have changed since the
//! approval. The files on disk are merged with the proposed tree. The result must be the change
//! that the user approved (same digest), and the guards evaluate it again.

use super::propose::{apply_instruction, approval_remedy};
use super::signature;
use super::store::{self, Proposal, ProposalState};
use crate::session::worktree::begin;
use crate::session::{LockedWorkspace, PathState, Session};
use crate::txn::request::CONTEXT;
use crate::txn::{self, Request, digest};
use edt_edit::{Edit, Expect, Op};
use edt_git::diff::TreeDifference;
use edt_git::file_id::TreeItem;
use edt_git::{Attributes, FileId, FileMode, Merged, ObjectWriter, Oid, TreeChange};
use edt_journal::IndexView;
use edt_types::text::Shown as _;
use edt_types::{Code, DryRun, Finding, Outcome, RepoPath, Result, Warning, WarningCode};

/// Applies proposal `id`.
///
/// # Errors
/// `PROPOSAL_NOT_FOUND`; `APPROVAL_REQUIRED` if the user has not approved it, or not signed it; `PROPOSAL_REJECTED`
/// if it is closed; `PROPOSAL_STALE` if it no longer merges; the errors of [`txn::transact`]. Nothing
/// is changed on an error.
pub fn apply(workspace: &mut LockedWorkspace, id: u64, dry_run: DryRun) -> Result<Outcome> {
    let proposal = store::read(&workspace.repo, id)?;
    check(&proposal)?;
    signature::require(workspace.options(), &proposal)?;
    let request = request(workspace, &proposal)?;
    let mut outcome =
        txn::transact(workspace, &request, dry_run).map_err(|found| not_covered(found, id))?;
    outcome.proposal = Some(id);
    if let Some(commit) = outcome.commit.clone().filter(|_| dry_run == DryRun::No) {
        // The change is made. A failure to record that must not make the call fail.
        match store::record_decision(workspace, &proposal, ("done", &commit), None) {
            Ok(warnings) => outcome.warnings.extend(warnings),
            Err(found) => outcome.warnings.push(still_approved(id, &found)),
        }
    }
    Ok(outcome)
}

/// Checks that `proposal` could be applied now if it were approved. Changes nothing.
///
/// # Errors
/// As [`apply`].
pub fn check_applies(workspace: &mut LockedWorkspace, proposal: &Proposal) -> Result<()> {
    let request = request(workspace, proposal)?;
    txn::transact(workspace, &request, DryRun::Yes)
        .map_err(|found| not_covered(found, proposal.id))
        .map(drop)
}

fn check(proposal: &Proposal) -> Result<()> {
    let id = proposal.id;
    let finding = match &proposal.state {
        ProposalState::Approved(_) if proposal.command.is_none() => return Ok(()),
        ProposalState::Approved(_) => Finding::new(
            Code::BadRequest,
            format!("Proposal p{id} is a command, not a change."),
            format!(
                "It was approved: call `edt run -- {}` again.",
                proposal.command.as_deref().unwrap_or_default()
            ),
        )
        .nothing_changed(),
        ProposalState::Open => Finding::new(
            Code::ApprovalRequired,
            format!("Proposal p{id} ({}) has not been approved yet.", proposal.subject()),
            approval_remedy(id, &apply_instruction(id)),
        )
        .nothing_changed(),
        closed => closed_finding(proposal, closed),
    };
    Err(finding.with("proposal", id).into())
}

/// The refusal of a proposal that can no longer be applied.
pub(super) fn closed_finding(proposal: &Proposal, state: &ProposalState) -> Finding {
    let (id, detail) = (proposal.id, state.detail().unwrap_or_default());
    let (summary, remedy) = match state {
        ProposalState::Rejected(why) => (
            format!("The user rejected proposal p{id} ({}): {why}", proposal.subject()),
            "Do what the user's reason asks for; send a new proposal only if it follows that \
             reason."
                .to_owned(),
        ),
        ProposalState::Withdrawn(why) => (
            format!(
                "Proposal p{id} ({}) was withdrawn, not by the user, with these words: {why:?}.",
                proposal.subject()
            ),
            "Send it again with `edt propose` if it is still needed.".to_owned(),
        ),
        ProposalState::Superseded(by) => (
            format!("Proposal p{id} was closed because proposal p{by} replaced it."),
            format!("`edt show p{by}` shows the new proposal."),
        ),
        ProposalState::Done(commit) => (
            format!("Proposal p{id} was applied already, as {commit}."),
            "`edt log` lists the session's edits.".to_owned(),
        ),
        ProposalState::Open | ProposalState::Approved(_) => (String::new(), String::new()),
    };
    Finding::new(Code::ProposalRejected, summary, remedy)
        .nothing_changed()
        .with("state", state.name())
        .with("detail", detail)
}

/// Replaces the remedy of `APPROVAL_REQUIRED`: the approval does not cover the current change.
fn not_covered(found: edt_types::Refusal, id: u64) -> edt_types::Refusal {
    let stale = |mut finding: Finding| {
        if finding.code == Code::ApprovalRequired {
            finding.remedy = format!(
                "The approval of proposal p{id} does not cover this change; send it again with \
                 `edt propose`."
            );
            finding.override_remedy = None;
        }
        finding
    };
    let all: Vec<Finding> = found.into_vec().into_iter().map(stale).collect();
    match edt_types::Refusal::check(all) {
        Err(found) => found,
        Ok(()) => {
            Finding::new(Code::Internal, "The refusal has no finding.", "Report this message.")
                .into()
        }
    }
}

/// The request that makes the proposed change to the current files.
fn request(workspace: &LockedWorkspace, proposal: &Proposal) -> Result<Request> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    let head = repo.head()?;
    let running = Session::current(repo, &head)?;
    let follows = running.as_ref().is_some_and(|session| session.head == edt_git::InHead::Yes);
    let session = running.map_or_else(|| begin::preview_session(repo, &head), Ok)?;
    let index = if follows { Some(IndexView::read(repo)?) } else { None };
    let tip = repo.tree_of(session.tip)?;
    let parent_tree = proposal.commit.parent_tree(repo)?;
    let mut writer = ObjectWriter::new(repo);
    // The current tree: the tip, with the files on disk at the proposed paths.
    let (mut states, mut on_disk) = (Vec::new(), Vec::new());
    for differs in repo.tree_diff(parent_tree, proposal.commit.tree)? {
        let state = PathState::at(repo, tip, index.as_ref(), &differs.path)?;
        if let Some(disk) = &state.disk {
            writer.write_blob(disk.blob())?;
        }
        on_disk.push(TreeChange { path: differs.path.clone(), file: state.disk_file() });
        states.push(state);
    }
    let (now, _) = writer.write_tree(tip, &on_disk)?;
    let merged = match writer.merge_trees(parent_tree, now, proposal.commit.tree)? {
        Merged::Clean(tree) => tree,
        Merged::Conflicts(paths) => return Err(stale(proposal, &paths).into()),
    };
    if digest::of(&writer, now, merged)? != proposal.digest_of_change(&writer)? {
        return Err(different_change(proposal).into());
    }
    let mut edits = Vec::new();
    for differs in removals_first(writer.tree_diff(now, merged)?) {
        let state = match states.iter().find(|state| state.path == differs.path) {
            Some(state) => state.clone(),
            None => PathState::at(repo, tip, index.as_ref(), &differs.path)?,
        };
        let text = |file: FileId| -> Result<Vec<u8>> {
            let blob = writer.blob_content(file.oid)?;
            Ok(state.checked_out(repo, Attributes::Worktree(tip), blob)?.text)
        };
        edits.extend(edits_of(&differs, state.disk.as_ref().map(|disk| disk.file.oid), text)?);
    }
    let trailers = proposal.commit.trailers.as_ref();
    Ok(Request {
        message: Some(proposal.text().to_owned()),
        agent: trailers.and_then(|trailers| trailers.agent.clone()),
        caller: trailers.and_then(|trailers| trailers.caller.clone()),
        allow: trailers.map(|trailers| trailers.allowed.clone()).unwrap_or_default(),
        grants: proposal.grants.clone(),
        proposal: Some(proposal.id),
        edits,
        patch: None,
        context: CONTEXT,
        ..Request::default()
    })
}

/// Deletions first: a deleted file's name may become a directory of a new file.
fn removals_first(mut all: Vec<TreeDifference>) -> Vec<TreeDifference> {
    all.sort_by_key(|differs| differs.new.is_some());
    all
}

fn edits_of(
    differs: &TreeDifference,
    disk: Option<Oid>,
    text: impl Fn(FileId) -> Result<Vec<u8>>,
) -> Result<Vec<Edit>> {
    let path = &differs.path;
    let expect = disk.map_or(Expect::Anything, |oid| Expect::Hash(oid.to_string()));
    let edit = |expect: Expect, op: Op| Edit { path: path.clone(), expect, op };
    let file = |item: Option<TreeItem>| item.and_then(TreeItem::file);
    let executable = |file: FileId| file.mode == FileMode::Executable;
    Ok(match (file(differs.old), file(differs.new)) {
        (_, None) => vec![edit(expect, Op::Delete { holds: None })],
        (None, Some(new)) => {
            vec![edit(
                Expect::Anything,
                Op::Create { content: text(new)?, executable: executable(new) },
            )]
        }
        (Some(old), Some(new)) => {
            let mut edits = Vec::new();
            if old.oid != new.oid {
                edits.push(edit(expect, Op::Overwrite { content: text(new)? }));
            }
            if old.mode != new.mode {
                edits.push(edit(Expect::Anything, Op::Chmod { executable: executable(new) }));
            }
            edits
        }
    })
}

fn still_approved(id: u64, found: &edt_types::Refusal) -> Warning {
    let message =
        format!("The change was made, but proposal p{id} still counts as approved: {found}.");
    Warning { code: WarningCode::ProposalNotClosed, path: None, message }
}

fn stale(proposal: &Proposal, paths: &[RepoPath]) -> Finding {
    let names: Vec<String> = paths.iter().map(RepoPath::text).collect();
    Finding::new(
        Code::ProposalStale,
        format!(
            "Proposal p{} can no longer be merged: the same lines of {} were changed since.",
            proposal.id,
            names.join(", ").shown()
        ),
        "Read the files again, and send the updated change with `edt propose`.",
    )
    .nothing_changed()
    .with("paths", names)
}

fn different_change(proposal: &Proposal) -> Finding {
    Finding::new(
        Code::ProposalStale,
        format!(
            "Proposal p{} would now make another change than the approved one: part of it was made \
             in another way.",
            proposal.id
        ),
        "Read the files again, and send the remaining change with `edt propose`.",
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::decide::{approve, reject};
    use crate::proposal::propose::propose;
    use crate::tests::{Scratch, path, refusal};
    use edt_types::Effect;

    const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";

    fn scratch() -> Scratch {
        Scratch::with(&[("a.txt", TEXT)])
    }

    fn proposed(scratch: &Scratch, request: &Request) -> u64 {
        propose(&mut scratch.open(), request).unwrap().proposal.unwrap()
    }

    fn approved(scratch: &Scratch, request: &Request) -> u64 {
        let id = proposed(scratch, request);
        let proposal = store::read(&scratch.repo(), id).unwrap();
        approve(&mut scratch.open(), &proposal).unwrap();
        id
    }

    fn edit_two() -> Request {
        Request::new("change it").edit("a.txt", "two", "TWO")
    }

    fn applied(scratch: &Scratch, id: u64) -> Result<Outcome> {
        apply(&mut scratch.open(), id, DryRun::No)
    }

    #[test]
    fn an_approved_change_is_made_and_closes_its_proposal() {
        let scratch = scratch();
        let id = approved(&scratch, &edit_two());
        let outcome = applied(&scratch, id).unwrap();
        assert_eq!(outcome.proposal, Some(id));
        assert_eq!(scratch.text("a.txt").unwrap(), TEXT.replace("two", "TWO"));
        let state = store::read(&scratch.repo(), id).unwrap().state;
        assert_eq!(state, ProposalState::Done(outcome.commit.unwrap()));
        let message = scratch.message(scratch.head());
        assert!(message.starts_with("change it\n\n") && message.contains("\nEdt-Proposal: 1\n"));
    }

    #[test]
    fn a_dry_run_leaves_the_proposal_approved() {
        let scratch = scratch();
        let id = approved(&scratch, &edit_two());
        apply(&mut scratch.open(), id, DryRun::Yes).unwrap();
        assert_eq!(store::read(&scratch.repo(), id).unwrap().state.name(), "approved");
        assert_eq!(scratch.text("a.txt").as_deref(), Some(TEXT));
    }

    #[test]
    fn an_open_proposal_waits_for_the_user() {
        let scratch = scratch();
        let id = proposed(&scratch, &edit_two());
        let finding = Finding::new(
            Code::ApprovalRequired,
            "Proposal p1 (change it) has not been approved yet.",
            "It waits as proposal p1. Ask the user to type `edt approve p1` in their own terminal \
             (`edt show p1` shows the proposal). Continue with other work, and apply it with `edt \
             apply --proposal p1` when an edt answer reports the approval.",
        );
        assert_eq!(refusal(applied(&scratch, id)), finding.nothing_changed().with("proposal", 1));
    }

    #[test]
    fn a_rejected_proposal_is_not_applied() {
        let scratch = scratch();
        let id = proposed(&scratch, &edit_two());
        let proposal = store::read(&scratch.repo(), id).unwrap();
        reject(&mut scratch.open(), &proposal, "use three").unwrap();
        let finding = Finding::new(
            Code::ProposalRejected,
            "The user rejected proposal p1 (change it): use three",
            "Do what the user's reason asks for; send a new proposal only if it follows that \
             reason.",
        );
        let finding = finding
            .nothing_changed()
            .with("state", "rejected")
            .with("detail", "use three")
            .with("proposal", 1);
        assert_eq!(refusal(applied(&scratch, id)), finding);
    }

    #[test]
    fn a_proposal_is_applied_once() {
        let scratch = scratch();
        let id = approved(&scratch, &edit_two());
        applied(&scratch, id).unwrap();
        assert_eq!(refusal(applied(&scratch, id)).code, Code::ProposalRejected);
    }

    #[test]
    fn a_change_of_other_lines_is_merged_with_the_proposal() {
        let scratch = scratch();
        let id = approved(&scratch, &edit_two());
        scratch.edit("meanwhile", "a.txt", "eight", "EIGHT");
        applied(&scratch, id).unwrap();
        let text = scratch.text("a.txt").unwrap();
        assert_eq!(text, TEXT.replace("two", "TWO").replace("eight", "EIGHT"));
    }

    #[test]
    fn an_unrecorded_change_of_other_lines_is_merged_with_the_proposal() {
        let scratch = scratch();
        let id = approved(&scratch, &edit_two());
        scratch.write("a.txt", &TEXT.replace("eight", "EIGHT"));
        applied(&scratch, id).unwrap();
        let text = scratch.text("a.txt").unwrap();
        assert_eq!(text, TEXT.replace("two", "TWO").replace("eight", "EIGHT"));
    }

    #[test]
    fn a_change_of_the_same_lines_makes_a_proposal_stale() {
        let scratch = scratch();
        let id = approved(&scratch, &edit_two());
        scratch.edit("meanwhile", "a.txt", "two", "2");
        let finding = Finding::new(
            Code::ProposalStale,
            "Proposal p1 can no longer be merged: the same lines of a.txt were changed since.",
            "Read the files again, and send the updated change with `edt propose`.",
        );
        let finding = finding.nothing_changed().with("paths", vec!["a.txt"]);
        assert_eq!(refusal(applied(&scratch, id)), finding);
    }

    #[test]
    fn a_part_that_was_made_in_another_way_makes_a_proposal_stale() {
        let scratch = scratch();
        let request = edit_two().edit("a.txt", "seven", "SEVEN");
        let id = approved(&scratch, &request);
        scratch.edit("meanwhile", "a.txt", "seven", "SEVEN");
        let finding = Finding::new(
            Code::ProposalStale,
            "Proposal p1 would now make another change than the approved one: part of it was made \
             in another way.",
            "Read the files again, and send the remaining change with `edt propose`.",
        );
        assert_eq!(refusal(applied(&scratch, id)), finding.nothing_changed());
    }

    #[test]
    fn a_proposal_that_creates_deletes_and_overwrites_does_all_of_it() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("gone.txt", "x\n")]);
        let request = Request::new("all")
            .overwrite("a.txt", "two\n")
            .delete("gone.txt")
            .create("gone.txt.d/new.txt", "n\n");
        let id = approved(&scratch, &request);
        applied(&scratch, id).unwrap();
        let texts = ["a.txt", "gone.txt", "gone.txt.d/new.txt"].map(|named| scratch.text(named));
        assert_eq!(texts, [Some("two\n".into()), None, Some("n\n".into())]);
    }

    #[test]
    fn a_command_is_not_a_change() {
        let scratch = scratch();
        let head = scratch.head();
        let new = store::NewProposal {
            session: "main-1",
            parent: Some(head),
            tree: scratch.repo().tree_of(head).unwrap(),
            objects: Vec::new(),
            text: "run: make",
            digest: "d",
            agent: None,
            allowed: Vec::new(),
            grants: &[],
            command: Some("make install"),
        };
        let (id, _) = store::create(&mut scratch.open(), new).unwrap();
        let proposal = store::read(&scratch.repo(), id).unwrap();
        approve(&mut scratch.open(), &proposal).unwrap();
        let finding = Finding::new(
            Code::BadRequest,
            "Proposal p1 is a command, not a change.",
            "It was approved: call `edt run -- make install` again.",
        );
        assert_eq!(refusal(applied(&scratch, id)), finding.nothing_changed().with("proposal", 1));
    }

    #[test]
    fn whether_a_proposal_still_applies_is_checked_without_a_change() {
        let scratch = scratch();
        let id = proposed(&scratch, &edit_two());
        let proposal = store::read(&scratch.repo(), id).unwrap();
        check_applies(&mut scratch.open(), &proposal).unwrap();
        scratch.edit("meanwhile", "a.txt", "two", "2");
        let stale = check_applies(&mut scratch.open(), &proposal);
        assert_eq!(refusal(stale).code, Code::ProposalStale);
    }

    #[test]
    fn an_approval_that_no_longer_suffices_asks_for_a_new_proposal() {
        let finding = Finding::new(Code::ApprovalRequired, "a.txt needs approval.", "Ask.");
        let finding = finding.with_effect(Effect::NothingChanged).or_override("If so, allow.");
        let found = not_covered(finding.into(), 4).into_vec().remove(0);
        assert_eq!(
            found.remedy,
            "The approval of proposal p4 does not cover this change; send it again with `edt \
             propose`."
        );
        assert_eq!(
            (found.override_remedy, found.summary.as_str()),
            (None, "a.txt needs approval.")
        );
    }

    #[test]
    fn deletions_come_before_other_changes() {
        let differs = |named: &str, new| TreeDifference { path: path(named), old: None, new };
        let file = FileId { oid: scratch().head(), mode: FileMode::Plain };
        let sorted = removals_first(vec![
            differs("a", Some(TreeItem::File(file))),
            differs("b", None),
            differs("c", Some(TreeItem::File(file))),
        ]);
        let names: Vec<String> = sorted.iter().map(|differs| differs.path.text()).collect();
        assert_eq!(names, ["b", "a", "c"]);
    }

    #[test]
    fn a_change_of_mode_alone_overwrites_nothing() {
        let oid = scratch().head();
        let item = |mode| Some(TreeItem::File(FileId { oid, mode }));
        let differs = TreeDifference {
            path: path("a.sh"),
            old: item(FileMode::Plain),
            new: item(FileMode::Executable),
        };
        let edits = edits_of(&differs, Some(oid), |_| unreachable!()).unwrap();
        let op = Op::Chmod { executable: true };
        assert_eq!(edits, [Edit { path: path("a.sh"), expect: Expect::Anything, op }]);
    }
}
