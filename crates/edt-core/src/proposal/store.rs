//! Proposals as refs and commits in Git.

use crate::session::LockedWorkspace;
use crate::session::refs::commit::Commit;
use crate::session::refs::message::{self, Kind, Trailers};
use crate::txn::digest;
use edt_git::{Loose, NewCommit, ObjectWriter, Oid, Repo};
use edt_guard::guard::Grant;
use edt_journal::{BranchOrigin, RefUpdate};
use edt_types::{Code, Finding, Result, Warning};

/// The trailer of an approval with its signature, on one line.
pub const SIGNATURE: &str = "Edt-Signature";

/// The prefix of their refs.
pub const PREFIX: &str = "refs/edt/proposals/";

/// The trailer with the digest of what is proposed.
const DIGEST: &str = "Edt-Digest";
/// The trailer with what the user grants by approving.
pub const GRANT: &str = "Edt-Grant";
/// The trailer with the decision.
pub const DECISION: &str = "Edt-Decision";
/// The trailer with the proposed command.
const COMMAND: &str = "Edt-Command";

/// A proposal with its state.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Proposal {
    /// Its number.
    pub id: u64,
    /// The proposed commit.
    pub commit: Commit,
    /// The value of its ref: the proposed commit, or the newest decision.
    pub ref_tip: Oid,
    /// The newest decision.
    pub state: ProposalState,
    /// The approval that the state is, or that was used by what is done.
    pub approval: Option<Approval>,
    /// Identifies the proposed change or command.
    pub digest: String,
    /// What the user grants by approving it.
    pub grants: Vec<Grant>,
    /// The proposed command; `None` for a change.
    pub command: Option<String>,
}

/// The user's approval of a proposal.
#[derive(Debug, Clone)]
pub struct Approval {
    /// The value of the proposal's ref when the user decided.
    pub state: Oid,
    /// The value of the trailer [`SIGNATURE`].
    pub signature: Option<String>,
}

/// The state of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalState {
    /// It has no decision yet.
    Open,
    /// Approved; by whom.
    Approved(String),
    /// Rejected; why.
    Rejected(String),
    /// Withdrawn by its author; why.
    Withdrawn(String),
    /// Replaced by a newer proposal; its number.
    Superseded(String),
    /// Applied; the commit, or the run.
    Done(String),
}

impl ProposalState {
    /// The name of the state.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            ProposalState::Open => "open",
            ProposalState::Approved(_) => "approved",
            ProposalState::Rejected(_) => "rejected",
            ProposalState::Withdrawn(_) => "withdrawn",
            ProposalState::Superseded(_) => "superseded",
            ProposalState::Done(_) => "done",
        }
    }

    /// What the name leaves open: by whom, why, which commit.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        match self {
            ProposalState::Open => None,
            ProposalState::Approved(text)
            | ProposalState::Rejected(text)
            | ProposalState::Withdrawn(text)
            | ProposalState::Superseded(text)
            | ProposalState::Done(text) => Some(text),
        }
    }

    /// Whether it is open, or the user decided on it and nothing came of that yet.
    #[must_use]
    pub const fn is_decisive(&self) -> bool {
        self.is_live() || matches!(self, ProposalState::Rejected(_))
    }

    /// Whether it can still be applied.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self, ProposalState::Open | ProposalState::Approved(_))
    }
}

impl Proposal {
    /// The first line of its message.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.commit.message.lines().next().unwrap_or_default()
    }

    /// Its message without trailers.
    #[must_use]
    pub fn text(&self) -> &str {
        self.commit.message.trim_end().rsplit_once("\n\n").map_or("", |(text, _)| text)
    }

    /// The digest of the proposed change. It does not depend on what the proposal says of itself.
    ///
    /// # Errors
    /// As [`digest::of`].
    pub(super) fn digest_of_change(&self, objects: &ObjectWriter<'_>) -> Result<String> {
        let before = self.commit.parent_tree(objects.repo())?;
        digest::of(objects, before, self.commit.tree)
    }

    /// The session it belongs to.
    #[must_use]
    pub fn session(&self) -> &str {
        self.commit.trailers.as_ref().map_or("", |trailers| &trailers.session)
    }
}

/// A proposal to create.
#[derive(Debug)]
pub struct NewProposal<'a> {
    /// The session it belongs to.
    pub session: &'a str,
    /// The parent commit; `None` if there is none yet.
    pub parent: Option<Oid>,
    /// The proposed tree.
    pub tree: Oid,
    /// The new objects. Each comes after the objects that it names.
    pub objects: Vec<Loose>,
    /// Subject and body.
    pub text: &'a str,
    /// Identifies the proposed change or command.
    pub digest: &'a str,
    /// The agent that asks.
    pub agent: Option<String>,
    /// The overrides that the request may use without approval.
    pub allowed: Vec<String>,
    /// What the user grants by approving it.
    pub grants: &'a [Grant],
    /// The proposed command; `None` for a change.
    pub command: Option<&'a str>,
}

/// Reads proposal `id`.
///
/// # Errors
/// `PROPOSAL_NOT_FOUND`; `OBJECT_MISSING`.
pub fn read(repo: &Repo, id: u64) -> Result<Proposal> {
    let at = repo.ref_value(&format!("{PREFIX}{id}"))?.ok_or_else(|| not_found(id))?;
    load(repo, id, at)
}

/// Every proposal, ordered by number.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn all(repo: &Repo) -> Result<Vec<Proposal>> {
    let mut refs: Vec<(u64, Oid)> = numbers(repo)?;
    refs.sort_unstable();
    refs.into_iter().map(|(id, at)| load(repo, id, at)).collect()
}

fn numbers(repo: &Repo) -> Result<Vec<(u64, Oid)>> {
    let number =
        |(name, at): (String, Oid)| Some((message::number(name.strip_prefix(PREFIX)?)?, at));
    Ok(repo.refs_below(PREFIX)?.into_iter().filter_map(number).collect())
}

fn load(repo: &Repo, id: u64, at: Oid) -> Result<Proposal> {
    let newest = Commit::read(repo, at)?;
    let kind = |commit: &Commit| commit.trailers.as_ref().map(|trailers| trailers.kind);
    let (mut commit, mut approval, mut uses_approval) = (newest.clone(), None, true);
    while kind(&commit) == Some(Kind::Decision) {
        let Some(parent) = commit.parent else { break };
        match state(&commit) {
            ProposalState::Done(_) => {}
            ProposalState::Approved(_) if uses_approval => {
                let signature = message::values(&commit.message, SIGNATURE).pop();
                approval = Some(Approval { state: parent, signature });
                uses_approval = false;
            }
            _ => uses_approval = false,
        }
        commit = Commit::read(repo, parent)?;
    }
    let value = |key| message::values(&commit.message, key).pop();
    let (Some(Kind::Proposal), Some(digest)) = (kind(&commit), value(DIGEST)) else {
        return Err(not_a_proposal(id).into());
    };
    let grants =
        message::values(&commit.message, GRANT).iter().map(|line| parse_grant(line)).collect();
    Ok(Proposal {
        id,
        ref_tip: at,
        state: state(&newest),
        approval,
        digest,
        grants,
        command: value(COMMAND),
        commit,
    })
}

fn state(newest: &Commit) -> ProposalState {
    let decision = message::values(&newest.message, DECISION).pop().unwrap_or_default();
    let (word, rest) = decision.split_once(' ').unwrap_or((&decision, ""));
    // A user's reason may have many lines. It is the body of the message.
    let body = newest.message.split_once("\n\n").map_or("", |(_, rest)| rest);
    let body = body.trim_end().rsplit_once("\n\n").map_or("", |(body, _)| body).trim();
    match word {
        "approved" => ProposalState::Approved(rest.to_owned()),
        "rejected" => ProposalState::Rejected(body.to_owned()),
        "withdrawn" => ProposalState::Withdrawn(body.to_owned()),
        "superseded" => ProposalState::Superseded(rest.to_owned()),
        "done" => ProposalState::Done(rest.to_owned()),
        _ => ProposalState::Open,
    }
}

/// Creates a proposal and returns its number.
///
/// # Errors
/// Errors of publishing.
pub fn create(
    workspace: &mut LockedWorkspace,
    new: NewProposal<'_>,
) -> Result<(u64, Vec<Warning>)> {
    let (mut objects, mut writer) = (new.objects, ObjectWriter::new(&workspace.repo));
    let caller = workspace.options().caller.name();
    let trailers = Trailers {
        caller: caller.filter(|caller| new.agent.as_ref().is_some_and(|agent| agent != caller)),
        agent: new.agent,
        allowed: new.allowed,
        ..Trailers::plain(new.session, Kind::Proposal, 0)
    };
    let mut text = message::compose(new.text, &trailers);
    text += &format!("{DIGEST}: {}\n", new.digest);
    new.grants.iter().for_each(|grant| text += &format!("{GRANT}: {}\n", grant_line(grant)));
    new.command.iter().for_each(|command| text += &format!("{COMMAND}: {command}\n"));
    let commit =
        writer.write_commit(&NewCommit { tree: new.tree, parent: new.parent, message: &text })?;
    objects.extend(writer.loose_objects());
    let id = numbers(&workspace.repo)?.into_iter().map(|(id, _)| id).max().unwrap_or(0) + 1;
    let warnings = update_ref(
        workspace,
        id,
        BranchOrigin::Created(commit),
        commit,
        objects,
        "edt propose".to_owned(),
    )?;
    Ok((id, warnings))
}

/// Records a decision: `word` with its `detail`, and the user's `words` as the body.
///
/// # Errors
/// `SESSION_MOVED` if another decision came first; errors of publishing.
pub fn record_decision(
    workspace: &mut LockedWorkspace,
    proposal: &Proposal,
    decision: (&str, &str),
    words: Option<&str>,
) -> Result<Vec<Warning>> {
    record(workspace, proposal, decision, words, None)
}

/// Records the approval `by` the user, with its signature if there is one.
///
/// # Errors
/// As [`record_decision`].
pub(super) fn record_approval(
    workspace: &mut LockedWorkspace,
    proposal: &Proposal,
    by: &str,
    signature: Option<&str>,
) -> Result<Vec<Warning>> {
    record(workspace, proposal, ("approved", by), None, signature)
}

/// Makes an approval that was consumed valid again.
///
/// # Errors
/// `SESSION_MOVED` if another decision was made since; errors of publishing.
pub(super) fn restore_approval(
    workspace: &mut LockedWorkspace,
    id: u64,
    (consumed, approved): (Oid, Oid),
) -> Result<Vec<Warning>> {
    let log = format!("proposal p{id}: the program did not start");
    update_ref(workspace, id, BranchOrigin::Existing(consumed), approved, Vec::new(), log)
}

fn record(
    workspace: &mut LockedWorkspace,
    proposal: &Proposal,
    (word, detail): (&str, &str),
    words: Option<&str>,
    signature: Option<&str>,
) -> Result<Vec<Warning>> {
    let mut writer = ObjectWriter::new(&workspace.repo);
    let body = words.map_or_else(String::new, |words| format!("\n\n{}", words.trim()));
    let text = format!("{word}: {}{body}", proposal.subject());
    let mut text = message::compose(&text, &Trailers::plain(proposal.session(), Kind::Decision, 0));
    text += &format!(
        "{DIGEST}: {}\n{DECISION}: {}\n",
        proposal.digest,
        format!("{word} {detail}").trim()
    );
    signature.iter().for_each(|signature| text += &format!("{SIGNATURE}: {signature}\n"));
    let commit =
        NewCommit { tree: proposal.commit.tree, parent: Some(proposal.ref_tip), message: &text };
    let commit = writer.write_commit(&commit)?;
    update_ref(
        workspace,
        proposal.id,
        BranchOrigin::Existing(proposal.ref_tip),
        commit,
        writer.loose_objects(),
        format!("{word} proposal p{}", proposal.id),
    )
}

fn update_ref(
    workspace: &mut LockedWorkspace,
    id: u64,
    from: BranchOrigin,
    new: Oid,
    objects: Vec<Loose>,
    log: String,
) -> Result<Vec<Warning>> {
    let name = format!("{PREFIX}{id}");
    edt_journal::move_ref(
        &workspace.repo,
        &mut workspace.journal,
        RefUpdate { name, from, new, log, objects },
    )
}

/// One line for each grant: a path that edt edits has no line breaks.
fn grant_line(grant: &Grant) -> String {
    let path = grant.path.as_deref().map_or_else(String::new, |path| format!(" {path}"));
    format!("{}{path}", grant.word)
}

/// Parses the value of the trailer [`GRANT`].
#[must_use]
pub fn parse_grant(line: &str) -> Grant {
    match line.split_once(' ') {
        Some((word, path)) => Grant { word: word.to_owned(), path: Some(path.to_owned()) },
        None => Grant { word: line.to_owned(), path: None },
    }
}

fn not_found(id: u64) -> Finding {
    let message = format!("There is no proposal p{id} in this repository.");
    Finding::new(Code::ProposalNotFound, message, "`edt proposals --all` lists them.")
        .nothing_changed()
}

fn not_a_proposal(id: u64) -> Finding {
    let message = format!("{PREFIX}{id} is not an edt proposal.");
    Finding::new(Code::ProposalNotFound, message, "`edt proposals --all` lists the proposals.")
        .nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, refusal};

    fn new<'a>(scratch: &Scratch, text: &'a str) -> NewProposal<'a> {
        let (repo, head) = (scratch.repo(), scratch.head());
        NewProposal {
            session: "fix",
            parent: Some(head),
            tree: repo.tree_of(head).unwrap(),
            objects: Vec::new(),
            text,
            digest: "d1",
            agent: None,
            allowed: Vec::new(),
            grants: &[],
            command: None,
        }
    }

    fn one_file() -> Scratch {
        Scratch::with(&[("a.txt", "one\n")])
    }

    fn created(scratch: &Scratch, proposal: NewProposal<'_>) -> u64 {
        create(&mut scratch.open(), proposal).unwrap().0
    }

    fn decided(scratch: &Scratch, decision: (&str, &str), words: Option<&str>) -> ProposalState {
        let id = created(scratch, new(scratch, "change it"));
        let proposal = read(&scratch.repo(), id).unwrap();
        record_decision(&mut scratch.open(), &proposal, decision, words).unwrap();
        read(&scratch.repo(), id).unwrap().state
    }

    #[test]
    fn a_proposal_reads_as_it_was_created() {
        let scratch = one_file();
        let grants = [Grant { word: "encoding".into(), path: Some("a b.txt".into()) }];
        let proposal = NewProposal {
            agent: Some("robot".into()),
            allowed: vec!["syntax_error".into()],
            grants: &grants,
            command: Some("make install"),
            ..new(&scratch, "subject\n\nbody")
        };
        let id = created(&scratch, proposal);
        let found = read(&scratch.repo(), id).unwrap();
        assert_eq!(
            (found.id, found.state.clone(), found.digest.as_str()),
            (1, ProposalState::Open, "d1")
        );
        assert_eq!(
            (found.subject(), found.text(), found.session()),
            ("subject", "subject\n\nbody", "fix")
        );
        assert_eq!(
            (found.grants.as_slice(), found.command.as_deref()),
            (&grants[..], Some("make install"))
        );
        let trailers = found.commit.trailers.unwrap();
        assert_eq!((trailers.kind, trailers.agent.as_deref()), (Kind::Proposal, Some("robot")));
        assert_eq!(trailers.allowed, ["syntax_error"]);
    }

    #[test]
    fn proposals_are_numbered_from_one() {
        let scratch = one_file();
        let ids = [created(&scratch, new(&scratch, "a")), created(&scratch, new(&scratch, "b"))];
        assert_eq!(ids, [1, 2]);
    }

    #[test]
    fn all_proposals_are_ordered_by_number() {
        let scratch = one_file();
        for text in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
            created(&scratch, new(&scratch, text));
        }
        let ids: Vec<u64> = all(&scratch.repo()).unwrap().iter().map(|one| one.id).collect();
        assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn a_proposal_without_a_ref_does_not_exist() {
        let finding = Finding::new(
            Code::ProposalNotFound,
            "There is no proposal p7 in this repository.",
            "`edt proposals --all` lists them.",
        );
        let scratch = one_file();
        assert_eq!(refusal(read(&scratch.repo(), 7)), finding.nothing_changed());
    }

    #[test]
    fn a_ref_to_another_commit_is_not_a_proposal() {
        let scratch = one_file();
        scratch.set_ref("refs/edt/proposals/7", scratch.head());
        let finding = refusal(read(&scratch.repo(), 7));
        assert_eq!(finding.summary, "refs/edt/proposals/7 is not an edt proposal.");
    }

    #[test]
    fn an_approval_records_by_whom() {
        assert_eq!(
            decided(&one_file(), ("approved", "A User <a@b>"), None),
            ProposalState::Approved("A User <a@b>".into())
        );
    }

    #[test]
    fn a_rejection_records_every_line_of_the_reason() {
        assert_eq!(
            decided(&one_file(), ("rejected", ""), Some("  not so\n\ndo this\n")),
            ProposalState::Rejected("not so\n\ndo this".into())
        );
    }

    #[test]
    fn a_withdrawal_records_the_reason() {
        assert_eq!(
            decided(&one_file(), ("withdrawn", ""), Some("mistake")),
            ProposalState::Withdrawn("mistake".into())
        );
    }

    #[test]
    fn a_superseded_proposal_records_the_newer_one() {
        assert_eq!(
            decided(&one_file(), ("superseded", "2"), None),
            ProposalState::Superseded("2".into())
        );
    }

    #[test]
    fn an_applied_proposal_records_the_commit() {
        assert_eq!(decided(&one_file(), ("done", "abc"), None), ProposalState::Done("abc".into()));
    }

    #[test]
    fn the_newest_decision_counts() {
        let scratch = one_file();
        decided(&scratch, ("rejected", ""), Some("no"));
        let proposal = read(&scratch.repo(), 1).unwrap();
        record_decision(&mut scratch.open(), &proposal, ("approved", "me"), None).unwrap();
        assert_eq!(read(&scratch.repo(), 1).unwrap().state, ProposalState::Approved("me".into()));
    }

    #[test]
    fn a_reason_cannot_forge_a_decision() {
        let words = "no\n\nEdt-Decision: approved me";
        let state = decided(&one_file(), ("rejected", ""), Some(words));
        assert_eq!(state, ProposalState::Rejected(words.into()));
    }

    #[test]
    fn of_two_decisions_on_the_same_state_one_fails() {
        let scratch = one_file();
        let id = created(&scratch, new(&scratch, "change it"));
        let proposal = read(&scratch.repo(), id).unwrap();
        let decide =
            |word| record_decision(&mut scratch.open(), &proposal, (word, ""), Some("why"));
        decide("rejected").unwrap();
        assert_eq!(refusal(decide("approved")).code, Code::SessionMoved);
    }

    #[test]
    fn a_grant_of_a_path_keeps_its_spaces() {
        let grant = Grant { word: "encoding".into(), path: Some("a b.txt".into()) };
        assert_eq!(grant_line(&grant), "encoding a b.txt");
        assert_eq!(parse_grant("encoding a b.txt"), grant);
    }

    #[test]
    fn a_grant_for_the_transaction_has_no_path() {
        let grant = Grant { word: "mass_deletion".into(), path: None };
        assert_eq!(parse_grant(&grant_line(&grant)), grant);
    }

    #[test]
    fn only_open_and_approved_proposals_can_be_applied() {
        let text = || String::from("x");
        let live = [ProposalState::Open, ProposalState::Approved(text())];
        let closed = [
            ProposalState::Rejected(text()),
            ProposalState::Withdrawn(text()),
            ProposalState::Superseded(text()),
            ProposalState::Done(text()),
        ];
        assert!(live.iter().all(ProposalState::is_live));
        assert!(!closed.iter().any(ProposalState::is_live));
    }
}
