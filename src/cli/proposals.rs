//! `edt proposals`, `edt approve`, `edt reject`, and `edt show` for a proposal.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::complete;
use super::context::Context;
use super::diff_text;
use super::edit_name::ProposalName;
use super::render::{self, DIM, GOOD, NAME, NOTE, paint};
use super::{render::short, terminal_user};
use edt_core::proposal::{self, Proposal, ProposalState, decide, store};
use edt_core::session::views::file_diff::{self, FileDiff};
use edt_git::Repo;
use edt_types::text::escape_controls;
use edt_types::{Code, DryRun, Finding, Result, Status, Warning};

/// List the proposals that wait for the user's approval.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt proposals\n  edt proposals --all --json")]
pub(super) struct Args {
    /// Also list proposals that were decided.
    #[arg(long)]
    #[serde(default)]
    all: bool,
}

/// Approve proposals. Only the user may do it, at a terminal; edt shows each proposal first. Without a
/// number it goes through those that wait.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt approve p7\n  edt approve p7 --apply\n  edt approve 3 5 7\n  edt approve"
)]
pub(super) struct ApproveArgs {
    /// The proposals; each one that is open if omitted.
    #[arg(value_name = "PROPOSAL", add = complete::proposals())]
    ids: Vec<ProposalName>,
    /// Apply them at once (not for commands, which the agent calls again).
    #[arg(long)]
    apply: bool,
}

/// Reject a proposal and say what to do instead; the agent's next answer includes the message.
/// Called by an agent, it withdraws an open proposal.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt reject p7 -m 'Pin the action to a commit, then propose it again.'"
)]
pub(super) struct RejectArgs {
    /// The proposal.
    #[arg(value_name = "PROPOSAL", add = complete::proposals())]
    id: ProposalName,
    /// Why, and what to do instead.
    #[arg(short, long)]
    message: String,
}

/// The answer of `edt proposals`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Listed {
    /// Always `edt.proposals/1`.
    schema: &'static str,
    /// Ordered by number.
    proposals: Vec<Line>,
}

/// One proposal in brief.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Line {
    /// The number of the proposal.
    id: u64,
    /// `open`, `approved`, `rejected`, `withdrawn`, `superseded` or `done`.
    state: &'static str,
    /// Who approved it, why it was rejected or withdrawn, which proposal superseded it, or the
    /// commit that it became.
    detail: Option<String>,
    /// The session of the proposal.
    session: String,
    /// The agent that made it.
    agent: Option<String>,
    /// What it does, in one line.
    subject: String,
    /// The command that it proposes; `null` for a change.
    command: Option<String>,
    /// Its time, in seconds since 1970.
    time: i64,
}

/// The answer of `edt show PROPOSAL`, `edt approve` and `edt reject`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Shown {
    /// Always `edt.proposal/1`.
    schema: &'static str,
    /// The proposal in brief.
    proposal: Line,
    /// Its complete message.
    message: String,
    /// The overrides that its approval grants, each with its path.
    grants: Vec<String>,
    /// The overrides that its agent used without approval.
    allowed: Vec<String>,
    /// A digest of everything the proposal does. An approval is bound to it.
    digest: String,
    /// Its commit, as a hex object id.
    commit: String,
    /// The commit that the proposal is based on.
    parent: Option<String>,
    /// The paths that it changes.
    files: Vec<FileDiff>,
    /// What the caller should know.
    warnings: Vec<Warning>,
}

impl Line {
    fn of(proposal: &Proposal) -> Line {
        let trailers = proposal.commit.trailers.as_ref();
        Line {
            id: proposal.id,
            state: proposal.state.name(),
            detail: proposal.state.detail().map(str::to_owned),
            session: proposal.session().to_owned(),
            agent: trailers.and_then(|trailers| trailers.agent.clone()),
            subject: proposal.subject().to_owned(),
            command: proposal.command.clone(),
            time: proposal.commit.committed_at,
        }
    }

    fn render_human(&self) -> String {
        let state = match self.state {
            "open" => paint(NOTE, "open"),
            "approved" => paint(GOOD, "approved"),
            other => paint(DIM, other),
        };
        let agent = self.agent.as_deref().map_or_else(String::new, |agent| format!(" by {agent}"));
        let detail =
            self.detail.as_deref().map_or_else(String::new, |detail| format!(": {detail}"));
        let (subject, detail) = (escape_controls(&self.subject).0, escape_controls(&detail).0);
        let whose = escape_controls(&format!("({}{agent})", self.session)).0;
        format!(
            "{} {state}{detail} {subject} {}\n",
            paint(NAME, &format!("p{}", self.id)),
            paint(DIM, &whose)
        )
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let all = store::all(&repo)?;
        let live = all.iter().filter(|one| self.all || one.state.is_live());
        let listed = Listed { schema: "edt.proposals/1", proposals: live.map(Line::of).collect() };
        Ok(context.answer(&listed, |listed| match listed.proposals.as_slice() {
            [] => "No proposal is open.\n".to_owned(),
            some => some.iter().map(Line::render_human).collect(),
        }))
    }
}

impl ApproveArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let names: String = self.ids.iter().map(|id| format!(" p{}", id.0)).collect();
        let (repo, _) = context.repo()?;
        let mut seen: Vec<Proposal> = if self.ids.is_empty() {
            terminal_user::require_terminal("edt approve")?;
            let all = store::all(&repo)?.into_iter();
            all.filter(|one| one.state == ProposalState::Open).collect()
        } else {
            self.ids.iter().map(|id| store::read(&repo, id.0)).collect::<Result<_>>()?
        };
        if self.apply && self.ids.is_empty() {
            seen.retain(|one| one.command.is_none());
        }
        if let Some(command) = seen.iter().find(|one| self.apply && one.command.is_some()) {
            return Err(Finding::new(
                Code::BadRequest,
                format!("Proposal p{} is a command.", command.id),
                "Approve it without --apply; the agent then calls it again.",
            )
            .nothing_changed()
            .into());
        }
        terminal_user::require_terminal(&format!("edt approve{names}"))?;
        match seen.as_slice() {
            [one] if !self.ids.is_empty() => {
                if !asked(&repo, one)? {
                    return Err(not_approved(one.id).into());
                }
                drop(repo);
                self.approve(context, one)
            }
            _ => self.approve_each(context, &repo, &seen),
        }
    }

    /// Asks about each of `all`, and approves it at once if the user says yes. Each has its answer; the
    /// first that fails ends the call.
    fn approve_each(&self, context: &Context, repo: &Repo, all: &[Proposal]) -> Result<Status> {
        let mut last = None;
        for one in all {
            if asked(repo, one)? {
                last = Some(self.approve(context, one)?);
            }
        }
        Ok(last.unwrap_or_else(|| {
            let none = Listed { schema: "edt.proposals/1", proposals: Vec::new() };
            context.answer(&none, |_| "Nothing was approved.\n".to_owned())
        }))
    }

    /// Approves exactly the proposal that was shown.
    fn approve(&self, context: &Context, seen: &Proposal) -> Result<Status> {
        let id = seen.id;
        let mut workspace =
            if self.apply { context.workspace() } else { context.quiet_workspace() }?;
        if self.apply {
            proposal::apply::check_applies(&mut workspace, seen)?;
        }
        let warnings = decide::approve(&mut workspace, seen)?;
        if self.apply {
            let applied = proposal::apply(&mut workspace, id, DryRun::No);
            let outcome =
                applied.map_err(|found| found.map(|finding| but_approved(finding, id)))?;
            return Ok(context.outcome(&outcome, render::applied));
        }
        decided(context, &workspace.repo, id, warnings)
    }
}

/// Shows the proposal, and asks whether to approve it.
fn asked(repo: &Repo, seen: &Proposal) -> Result<bool> {
    let shown = shown(repo, seen)?;
    let verb = if seen.command.is_some() { "Let it run once?" } else { "Approve it?" };
    Ok(terminal_user::confirm(&format!("{}\n{verb} Type yes: ", render_human(&shown))))
}

fn not_approved(id: u64) -> Finding {
    let message = format!("The answer was not yes. Proposal p{id} stays open.");
    let hint =
        format!("`edt reject p{id} -m WHY` rejects it and says to the agent what to do instead.");
    Finding::new(Code::ApprovalRequired, message, hint)
}

impl RejectArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let mut workspace = context.quiet_workspace()?;
        let seen = store::read(&workspace.repo, self.id.0)?;
        let decide = if terminal_user::is_user() { decide::reject } else { decide::withdraw };
        let warnings = decide(&mut workspace, &seen, &self.message)?;
        decided(context, &workspace.repo, self.id.0, warnings)
    }
}

/// States that the approval succeeded although applying the proposal failed.
fn but_approved(mut finding: Finding, id: u64) -> Finding {
    finding.summary =
        format!("Proposal p{id} was approved, but could not be applied: {}", finding.summary);
    finding
}

fn decided(context: &Context, repo: &Repo, id: u64, warnings: Vec<Warning>) -> Result<Status> {
    let shown = Shown { warnings, ..shown(repo, &store::read(repo, id)?)? };
    Ok(context.answer(&shown, |shown| shown.proposal.render_human()))
}

/// The proposal of that number; `None` if it does not exist.
pub(super) fn found(repo: &Repo, id: u64) -> Result<Option<Proposal>> {
    match store::read(repo, id) {
        Ok(proposal) => Ok(Some(proposal)),
        Err(found) if found.any(|finding| finding.code == Code::ProposalNotFound) => Ok(None),
        Err(found) => Err(found),
    }
}

pub(super) fn show(context: &Context, repo: &Repo, proposal: &Proposal) -> Result<Status> {
    Ok(context.answer(&shown(repo, proposal)?, render_human))
}

fn shown(repo: &Repo, proposal: &Proposal) -> Result<Shown> {
    let parent = proposal.commit.parent;
    let before = parent.map_or_else(|| Ok(repo.empty_tree()), |parent| repo.tree_of(parent))?;
    let word = |grant: &edt_guard::guard::Grant| match &grant.path {
        Some(path) => format!("{} {path}", grant.word),
        None => grant.word.clone(),
    };
    Ok(Shown {
        schema: "edt.proposal/1",
        proposal: Line::of(proposal),
        message: proposal.text().to_owned(),
        grants: proposal.grants.iter().map(word).collect(),
        allowed: proposal
            .commit
            .trailers
            .as_ref()
            .map(|trailers| trailers.allowed.clone())
            .unwrap_or_default(),
        digest: proposal.digest.clone(),
        commit: proposal.commit.oid.to_string(),
        parent: parent.map(|parent| parent.to_string()),
        files: if proposal.command.is_some() {
            Vec::new()
        } else {
            file_diff::between(repo, before, proposal.commit.tree)?
        },
        warnings: Vec::new(),
    })
}

fn render_human(shown: &Shown) -> String {
    let mut out = format!("proposal {}", shown.proposal.render_human());
    // Lines of the agent's message are marked, so that they cannot pass for edt's own output.
    for line in shown.message.split('\n').skip(1).filter(|line| !line.is_empty()) {
        let _ = writeln!(out, "  {} {}", paint(DIM, "|"), escape_controls(line).0);
    }
    for grant in &shown.grants {
        let _ =
            writeln!(out, "  {} {}", paint(NOTE, "approving it allows"), escape_controls(grant).0);
    }
    for word in &shown.allowed {
        let _ = writeln!(out, "  {} {}", paint(NOTE, "it overrides"), escape_controls(word).0);
    }
    let _ = writeln!(
        out,
        "  {}",
        paint(DIM, &format!("commit {} digest {}", short(&shown.commit), short(&shown.digest)))
    );
    out + &diff_text::render(&shown.files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::plain;

    fn line(state: &'static str, detail: Option<&str>) -> Line {
        Line {
            id: 7,
            state,
            detail: detail.map(str::to_owned),
            session: "fix".to_owned(),
            agent: Some("codex".to_owned()),
            subject: "change ci".to_owned(),
            command: None,
            time: 0,
        }
    }

    #[test]
    fn an_open_proposal_names_session_and_agent() {
        assert_eq!(plain(&line("open", None).render_human()), "p7 open change ci (fix by codex)\n");
    }

    #[test]
    fn the_reason_of_a_rejection_cannot_control_the_terminal() {
        assert_eq!(
            plain(&line("rejected", Some("no\u{1b}")).render_human()),
            "p7 rejected: no\\u{1b} change ci (fix by codex)\n"
        );
    }

    #[test]
    fn a_shown_proposal_marks_the_agents_lines() {
        let shown = Shown {
            schema: "edt.proposal/1",
            proposal: line("open", None),
            message: "change ci\n\nedt approves this\n".to_owned(),
            grants: vec!["protected ci/run".to_owned()],
            allowed: vec!["size_reduction".to_owned()],
            digest: "fedcba9876543210".to_owned(),
            commit: "0123456789abcdef".to_owned(),
            parent: None,
            files: vec![],
            warnings: vec![],
        };
        assert_eq!(
            plain(&render_human(&shown)),
            "proposal p7 open change ci (fix by codex)\n  | edt approves this\n  approving it allows \
         protected ci/run\n  it overrides size_reduction\n  commit 0123456789ab digest fedcba987654\n"
        );
    }

    #[test]
    fn a_failed_apply_after_an_approval_says_both() {
        let finding = Finding::new(Code::HashMismatch, "It changed.", "Propose it again.");
        assert_eq!(
            but_approved(finding, 7).summary,
            "Proposal p7 was approved, but could not be applied: It changed."
        );
    }
}
