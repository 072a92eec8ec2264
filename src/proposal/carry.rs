//! An approved proposal carried out: it enters the pipeline anew, because the world may have moved. What stands on disk is merged with
//! what was proposed; that must come to the very change that the person saw, and the guards judge it again.

use super::make::{hint, landing};
use super::store::{self, Proposal, State};
use crate::base::{Code, Finding, Outcome, RepoPath, Result, Warning};
use crate::edit::{Edit, Expect, Op};
use crate::git::diff::{Differs, Item};
use crate::git::{Attributes, Draft, FileId, FileMode, Merged, Oid, TreeChange};
use crate::journal::IndexView;
use crate::session::{Look, Session, World, begin};
use crate::txn::request::CONTEXT;
use crate::txn::{self, Request, Run, digest};

/// Carries out proposal `id`.
///
/// # Errors
/// `PROPOSAL_NOT_FOUND`; `APPROVAL_REQUIRED` if no person has said yes; `PROPOSAL_REJECTED` if it is closed; `PROPOSAL_STALE` if it
/// cannot be carried over; what [`txn::apply`] answers. Nothing is then changed.
pub fn apply(world: &mut World, id: u64, run: Run) -> Result<Outcome> {
    let proposal = store::read(&world.repo, id)?;
    check(&proposal)?;
    let request = request(world, &proposal)?;
    let mut outcome = txn::apply(world, &request, run).map_err(|found| held_anew(found, id))?;
    outcome.proposal = Some(id);
    if let Some(commit) = outcome.commit.clone().filter(|_| run == Run::Real) {
        // It is done; that nobody could write it down must not make it look undone.
        match store::decide(world, &proposal, ("done", &commit), None) {
            Ok(warnings) => outcome.warnings.extend(warnings),
            Err(found) => outcome.warnings.push(not_closed(id, &found)),
        }
    }
    Ok(outcome)
}

/// Whether `proposal` could be carried out now, if it is approved.
///
/// # Errors
/// As [`apply`].
pub fn try_out(world: &mut World, proposal: &Proposal) -> Result<()> {
    let request = request(world, proposal)?;
    txn::apply(world, &request, Run::Dry).map_err(|found| held_anew(found, proposal.id)).map(drop)
}

fn check(proposal: &Proposal) -> Result<()> {
    let id = proposal.id;
    let finding = match &proposal.state {
        State::Approved(_) if proposal.command.is_none() => return Ok(()),
        State::Approved(_) => Finding::new(
            Code::BadRequest,
            format!("Proposal {id} is a command, not a change. Nothing was changed."),
            format!(
                "It was approved: call `edt run -- {}` once more.",
                proposal.command.as_deref().unwrap_or_default()
            ),
        ),
        State::Open => Finding::new(
            Code::ApprovalRequired,
            format!(
                "Proposal {id} ({}) has not been approved yet. Nothing was changed.",
                proposal.subject()
            ),
            hint(id, &landing(id)),
        ),
        closed => self::closed(proposal, closed),
    };
    Err(finding.with("proposal", id).into())
}

/// The refusal of a proposal that can no longer be carried out.
pub(super) fn closed(proposal: &Proposal, state: &State) -> Finding {
    let (id, detail) = (proposal.id, state.detail().unwrap_or_default());
    let (message, hint) = match state {
        State::Rejected(why) => (
            format!("A person rejected proposal {id} ({}): {why}", proposal.subject()),
            "Do what these words ask for; send a new proposal only if it heeds them.".to_owned(),
        ),
        State::Withdrawn(why) => (
            format!(
                "Proposal {id} ({}) was withdrawn, by no person: {why} Nothing was changed.",
                proposal.subject()
            ),
            "Send it again with `edt propose` if it is wanted after all.".to_owned(),
        ),
        State::Superseded(by) => (
            format!(
                "Proposal {id} was closed when proposal {by} took its place. Nothing was changed."
            ),
            format!("`edt show {by}` shows the one that waits."),
        ),
        State::Done(commit) => (
            format!("Proposal {id} was carried out already, as {commit}. Nothing was changed."),
            "`edt log` lists the session's edits.".to_owned(),
        ),
        State::Open | State::Approved(_) => (String::new(), String::new()),
    };
    Finding::new(Code::ProposalRejected, message, hint)
        .with("state", state.name())
        .with("detail", detail)
}

/// What was granted does not cover what is found now: the proposal says too little.
fn held_anew(found: crate::base::Findings, id: u64) -> crate::base::Findings {
    let stale = |mut finding: Finding| {
        if finding.code == Code::ApprovalRequired {
            finding.hint = format!(
                "Proposal {id} was not approved for this; send it again with `edt propose`."
            );
        }
        finding
    };
    let all: Vec<Finding> = found.into_vec().into_iter().map(stale).collect();
    match crate::base::Findings::check(all) {
        Err(found) => found,
        Ok(()) => {
            Finding::new(Code::Internal, "A refusal without a reason.", "Report this message.")
                .into()
        }
    }
}

/// The request that makes the proposed change where the world stands now.
fn request(world: &World, proposal: &Proposal) -> Result<Request> {
    let repo = &world.repo;
    repo.check_idle()?;
    let head = repo.head()?;
    let running = Session::current(repo, &head)?;
    let follows = running.as_ref().is_some_and(|session| session.head == crate::git::InHead::Yes);
    let session = running.map_or_else(|| begin::imagined(repo, &head), Ok)?;
    let index = if follows { Some(IndexView::read(repo)?) } else { None };
    let tip = repo.tree_of(session.tip)?;
    let made_on = proposal
        .made
        .parent
        .map_or_else(|| Ok(repo.empty_tree()), |parent| repo.tree_of(parent))?;
    let mut draft = Draft::new(repo);
    // What stands now: the tip, and at the proposed paths what is on disk.
    let (mut looks, mut standing) = (Vec::new(), Vec::new());
    for differs in repo.tree_diff(made_on, proposal.made.tree)? {
        let look = Look::at(repo, tip, index.as_ref(), &differs.path)?;
        if let Some(disk) = &look.disk {
            draft.blob(disk.blob())?;
        }
        standing.push(TreeChange { path: differs.path.clone(), file: look.disk_file() });
        looks.push(look);
    }
    let (now, _) = draft.tree(tip, &standing)?;
    let merged = match draft.merge(made_on, now, proposal.made.tree)? {
        Merged::Clean(tree) => tree,
        Merged::Conflicts(paths) => return Err(stale(proposal, &paths).into()),
    };
    if digest::of(&draft, now, merged)? != proposal.digest {
        return Err(other_change(proposal).into());
    }
    let mut edits = Vec::new();
    for differs in moves_first(draft.tree_diff(now, merged)?) {
        let look = match looks.iter().find(|look| look.path == differs.path) {
            Some(look) => look.clone(),
            None => Look::at(repo, tip, index.as_ref(), &differs.path)?,
        };
        let text = |file: FileId| -> Result<Vec<u8>> {
            let blob = draft.content(file.oid)?;
            Ok(look.checked_out(repo, Attributes::Worktree(tip), blob)?.text)
        };
        edits.extend(edits_of(&differs, look.disk.as_ref().map(|disk| disk.file.oid), text)?);
    }
    let trailers = proposal.made.trailers.as_ref();
    Ok(Request {
        message: Some(proposal.text().to_owned()),
        agent: trailers.and_then(|trailers| trailers.agent.clone()),
        allow: trailers.map(|trailers| trailers.allowed.clone()).unwrap_or_default(),
        grants: proposal.grants.clone(),
        proposal: Some(proposal.id),
        edits,
        patch: None,
        context: CONTEXT,
    })
}

/// Files that go before those that come: a name may have become a folder's.
fn moves_first(mut all: Vec<Differs>) -> Vec<Differs> {
    all.sort_by_key(|differs| differs.new.is_some());
    all
}

/// The edits that bring one path to what it is to be.
fn edits_of(
    differs: &Differs,
    disk: Option<Oid>,
    text: impl Fn(FileId) -> Result<Vec<u8>>,
) -> Result<Vec<Edit>> {
    let path = &differs.path;
    let expect = disk.map_or(Expect::Anything, |oid| Expect::Hash(oid.to_string()));
    let edit = |expect: Expect, op: Op| Edit { path: path.clone(), expect, op };
    let file = |item: Option<Item>| item.and_then(Item::file);
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

fn not_closed(id: u64, found: &crate::base::Findings) -> Warning {
    let message =
        format!("The change was made, but proposal {id} still counts as approved: {found}.");
    Warning { code: "proposal_not_closed", path: None, message }
}

fn stale(proposal: &Proposal, paths: &[RepoPath]) -> Finding {
    let names: Vec<String> = paths.iter().map(ToString::to_string).collect();
    Finding::new(
        Code::ProposalStale,
        format!(
            "Proposal {} cannot be carried over: the same lines of {} were changed since. Nothing was changed.",
            proposal.id,
            names.join(", ")
        ),
        "Read the files again, and send the change as it must be now with `edt propose`.",
    )
    .with("paths", names)
}

fn other_change(proposal: &Proposal) -> Finding {
    Finding::new(
        Code::ProposalStale,
        format!(
            "What proposal {} would change now is not what was approved: a part of it has been made otherwise. Nothing was changed.",
            proposal.id
        ),
        "Read the files again, and send what is still missing with `edt propose`.",
    )
}
