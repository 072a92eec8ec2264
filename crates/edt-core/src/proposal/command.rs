//! A command that needs user approval. One approval is valid for one run of exactly this command,
//! with the files as they were when it was asked for.

use super::apply::closed_finding;
use super::decisions;
use super::propose::approval_remedy;
use super::signature;
use super::store::{self, NewProposal, Proposal, ProposalState};
use crate::session::worktree::begin;
use crate::session::{LockedWorkspace, Session};
use edt_git::{FileId, FileMode, ObjectWriter, Oid, TreeChange, sha256};
use edt_types::{Code, Effect, Finding, RepoPath, Result};

/// A command that needs user approval.
#[derive(Debug)]
pub struct CommandRequest<'a> {
    /// The command line as a user would type it.
    pub line: &'a str,
    /// Everything that identifies the command, each part by itself: program, arguments, directory,
    /// environment, input, sandbox level.
    pub parts: Vec<Vec<u8>>,
    /// What the files contain that the command may read: [`user_changes::state`].
    pub state: String,
    /// What the user should know: why approval is needed, and where the command would run.
    pub about: String,
    /// What the command would execute, as far as that is a text of the worktree: scripts, recipes.
    /// It is shown with the proposal.
    pub executed: String,
    /// The standard input, if `about` has only a part of it. The proposal's tree then has all of it.
    pub input: Option<&'a [u8]>,
    /// The agent that asks.
    pub agent: Option<String>,
}

/// The approval of a command. It is consumed just before the command runs.
#[derive(Debug)]
#[must_use = "consume it, or it could be used twice"]
pub struct CommandApproval(Proposal);

/// Looks for the user's approval of `ask`, and creates a proposal if there is none.
///
/// # Errors
/// `APPROVAL_REQUIRED` with the number of the open proposal; `PROPOSAL_REJECTED` if the user
/// rejected it.
pub fn require_approval(
    workspace: &mut LockedWorkspace,
    ask: &CommandRequest<'_>,
) -> Result<CommandApproval> {
    let head = workspace.repo.head()?;
    let running = Session::current(&workspace.repo, &head)?;
    let session = running.map_or_else(|| begin::preview_session(&workspace.repo, &head), Ok)?;
    let (command, state) = (digest(ask)?, sha256(ask.state.as_bytes())?);
    let digest = format!("{command}{SEPARATOR}{state}");
    let same = |proposal: &Proposal| {
        proposal.command.is_some()
            && proposal.digest.split(SEPARATOR).next() == Some(&command)
            && proposal.session() == session.name
    };
    let newest = store::all(&workspace.repo)?.into_iter().rfind(same);
    let Some(newest) = newest.filter(|newest| newest.state.is_decisive()) else {
        return Err(approval_required(ask, create(workspace, ask, &session, &digest)?).into());
    };
    match newest.state {
        ProposalState::Rejected(_) => {
            Err(closed_finding(&newest, &newest.state).with("proposal", newest.id).into())
        }
        _ if newest.digest != digest || newest.text() != text(ask) => {
            let id = create(workspace, ask, &session, &digest)?;
            store::record_decision(workspace, &newest, ("superseded", &id.to_string()), None)?;
            let mut finding = approval_required(ask, id);
            finding.summary += &format!(
                " Proposal p{} was for other files: some changed since, so it is closed.",
                newest.id
            );
            Err(finding.into())
        }
        ProposalState::Approved(_) => {
            let signed = signature::require(workspace.options(), &newest);
            signed.map_err(|found| found.map(|one| one.with_effect(Effect::NothingRun)))?;
            Ok(CommandApproval(newest))
        }
        _ => Err(approval_required(ask, newest.id).into()),
    }
}

/// The file of a proposal's tree with the command's standard input.
const INPUT: &[u8] = b".edt-stdin";

/// Separates the digest of a command from that of the files.
const SEPARATOR: char = '-';

/// An approval that was consumed.
#[derive(Debug)]
pub struct ConsumedApproval {
    id: u64,
    /// The value of the proposal's ref before and after.
    approved: Oid,
    consumed: Oid,
}

impl CommandApproval {
    /// Consumes the approval. Of two concurrent calls only one succeeds.
    ///
    /// # Errors
    /// `PROPOSAL_REJECTED` if another call consumed it first; errors of publishing.
    pub fn consume(self, workspace: &mut LockedWorkspace) -> Result<ConsumedApproval> {
        let CommandApproval(proposal) = self;
        let now = store::read(&workspace.repo, proposal.id)?;
        if now.ref_tip != proposal.ref_tip {
            return Err(closed_finding(&now, &now.state).into());
        }
        store::record_decision(workspace, &now, ("done", "a run"), None)?;
        let consumed = store::read(&workspace.repo, proposal.id)?.ref_tip;
        Ok(ConsumedApproval { id: proposal.id, approved: proposal.ref_tip, consumed })
    }
}

impl ConsumedApproval {
    /// Makes the approval valid for the next call, because the program did not start.
    ///
    /// # Errors
    /// Errors of publishing.
    pub fn restore(self, workspace: &mut LockedWorkspace) -> Result<()> {
        store::restore_approval(workspace, self.id, (self.consumed, self.approved))?;
        Ok(())
    }
}

fn create(
    workspace: &mut LockedWorkspace,
    ask: &CommandRequest<'_>,
    session: &Session,
    digest: &str,
) -> Result<u64> {
    let unborn = session.tip == workspace.repo.empty_tree();
    let mut tree = workspace.repo.tree_of(session.tip)?;
    let mut objects = Vec::new();
    if let Some(input) = ask.input {
        let mut writer = ObjectWriter::new(&workspace.repo);
        let file = FileId { oid: writer.write_blob(input)?, mode: FileMode::of(false) };
        let path = RepoPath::from_tree(INPUT);
        (tree, _) = writer.write_tree(tree, &[TreeChange { path, file: Some(file) }])?;
        objects = writer.loose_objects();
    }
    let new = NewProposal {
        session: &session.name,
        parent: (!unborn).then_some(session.tip),
        tree,
        objects,
        text: &text(ask),
        digest,
        agent: ask.agent.clone(),
        allowed: Vec::new(),
        grants: &[],
        command: Some(ask.line),
    };
    let (id, _) = store::create(workspace, new)?;
    decisions::watch(workspace, id);
    Ok(id)
}

/// What the user is shown. An approval is for this text, too.
fn text(ask: &CommandRequest<'_>) -> String {
    format!("run: {}\n\n{}\n\n{}", ask.line, ask.about, ask.executed).trim_end().to_owned()
}

fn digest(ask: &CommandRequest<'_>) -> Result<String> {
    let field = |part: &Vec<u8>| [format!("{} ", part.len()).as_bytes(), part].concat();
    sha256(&ask.parts.iter().flat_map(field).collect::<Vec<u8>>())
}

fn approval_required(ask: &CommandRequest<'_>, id: u64) -> Finding {
    let summary = format!("{} needs user approval. {}", ask.line, ask.about);
    let again = approval_remedy(id, "call `edt run` with exactly the same arguments");
    Finding::new(Code::ApprovalRequired, summary, again)
        .with_effect(Effect::NothingRun)
        .with("proposal", id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::decide::{approve, reject, withdraw};
    use crate::tests::{Scratch, refusal};

    fn ask(words: &[&str]) -> CommandRequest<'static> {
        CommandRequest {
            line: "make install",
            parts: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
            state: "files".into(),
            about: "It writes outside the worktree.".into(),
            executed: String::new(),
            input: None,
            agent: None,
        }
    }

    fn scratch() -> Scratch {
        Scratch::with(&[("a.txt", "one\n")])
    }

    fn required(scratch: &Scratch, words: &[&str]) -> Result<CommandApproval> {
        require_approval(&mut scratch.open(), &ask(words))
    }

    /// Asks for approval of `make install`, and gives it.
    fn approved() -> Scratch {
        let scratch = scratch();
        required(&scratch, &["make", "install"]).unwrap_err();
        let proposal = store::read(&scratch.repo(), 1).unwrap();
        approve(&mut scratch.open(), &proposal).unwrap();
        scratch
    }

    #[test]
    fn a_command_without_an_approval_becomes_a_proposal() {
        let scratch = scratch();
        let finding = Finding::new(
            Code::ApprovalRequired,
            "make install needs user approval. It writes outside the worktree.",
            "It waits as proposal p1. Ask the user to type `edt approve p1` in their own terminal \
             (`edt show p1` shows the proposal). Continue with other work, and call `edt run` with \
             exactly the same arguments when an edt answer reports the approval.",
        );
        let finding = finding.with_effect(Effect::NothingRun).with("proposal", 1);
        assert_eq!(refusal(required(&scratch, &["make", "install"])), finding);
        let proposal = store::read(&scratch.repo(), 1).unwrap();
        assert_eq!(proposal.command.as_deref(), Some("make install"));
        assert_eq!(proposal.text(), "run: make install\n\nIt writes outside the worktree.");
    }

    #[test]
    fn a_repeated_request_waits_for_the_same_proposal() {
        let scratch = scratch();
        for _ in 0..2 {
            let finding = refusal(required(&scratch, &["make", "install"]));
            assert_eq!(finding.evidence["proposal"], 1);
        }
    }

    #[test]
    fn an_approval_is_valid_for_one_run() {
        let scratch = approved();
        let approval = required(&scratch, &["make", "install"]).unwrap();
        approval.consume(&mut scratch.open()).unwrap();
        let finding = refusal(required(&scratch, &["make", "install"]));
        assert_eq!(finding.evidence["proposal"], 2);
    }

    #[test]
    fn an_approval_covers_no_other_arguments() {
        let scratch = approved();
        assert_eq!(refusal(required(&scratch, &["make", "uninstall"])).evidence["proposal"], 2);
    }

    #[test]
    fn an_approval_covers_no_other_files() {
        let scratch = approved();
        let other = CommandRequest { state: "changed".into(), ..ask(&["make", "install"]) };
        let finding = refusal(require_approval(&mut scratch.open(), &other));
        assert_eq!(finding.evidence["proposal"], 2);
        assert!(finding.summary.ends_with("some changed since, so it is closed."), "{finding:?}");
        let state = store::read(&scratch.repo(), 1).unwrap().state;
        assert_eq!(state, ProposalState::Superseded("2".into()));
        // Not even when they are as before: the user may have seen the newer proposal.
        assert_eq!(refusal(required(&scratch, &["make", "install"])).evidence["proposal"], 3);
    }

    #[test]
    fn a_rejection_holds_for_other_files_too() {
        let scratch = scratch();
        required(&scratch, &["make", "install"]).unwrap_err();
        let proposal = store::read(&scratch.repo(), 1).unwrap();
        reject(&mut scratch.open(), &proposal, "never").unwrap();
        let other = CommandRequest { state: "changed".into(), ..ask(&["make", "install"]) };
        let finding = refusal(require_approval(&mut scratch.open(), &other));
        assert_eq!(finding.code, Code::ProposalRejected);
    }

    #[test]
    fn arguments_are_not_joined_before_they_are_compared() {
        let digests = [&["ab", "c"][..], &["a", "bc"], &["abc"], &["ab", "c", ""]]
            .map(|words| digest(&ask(words)).unwrap());
        let distinct: std::collections::BTreeSet<&String> = digests.iter().collect();
        assert_eq!(distinct.len(), 4);
    }

    #[test]
    fn of_two_calls_one_consumes_the_approval() {
        let scratch = approved();
        let first = required(&scratch, &["make", "install"]).unwrap();
        let second = required(&scratch, &["make", "install"]).unwrap();
        first.consume(&mut scratch.open()).unwrap();
        assert_eq!(refusal(second.consume(&mut scratch.open())).code, Code::ProposalRejected);
    }

    #[test]
    fn the_approval_of_a_program_that_did_not_start_is_valid_again() {
        let scratch = approved();
        let approval = required(&scratch, &["make", "install"]).unwrap();
        let consumed = approval.consume(&mut scratch.open()).unwrap();
        consumed.restore(&mut scratch.open()).unwrap();
        let by = scratch.repo().identity().unwrap();
        let state = store::read(&scratch.repo(), 1).unwrap().state;
        assert_eq!(state, ProposalState::Approved(by));
    }

    #[test]
    fn a_rejected_command_is_refused_with_the_reason() {
        let scratch = scratch();
        required(&scratch, &["make", "install"]).unwrap_err();
        let proposal = store::read(&scratch.repo(), 1).unwrap();
        reject(&mut scratch.open(), &proposal, "never").unwrap();
        let finding = refusal(required(&scratch, &["make", "install"]));
        assert_eq!(finding.code, Code::ProposalRejected);
        assert_eq!(finding.summary, "The user rejected proposal p1 (run: make install): never");
    }

    #[test]
    fn a_withdrawn_command_is_proposed_again() {
        let scratch = scratch();
        required(&scratch, &["make", "install"]).unwrap_err();
        let proposal = store::read(&scratch.repo(), 1).unwrap();
        withdraw(&mut scratch.open(), &proposal, "mistake").unwrap();
        assert_eq!(refusal(required(&scratch, &["make", "install"])).evidence["proposal"], 2);
    }
}
