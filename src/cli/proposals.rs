//! `edt proposals`, `approve`, `reject`, and what `edt show` shows of a proposal.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::diff::{self, File};
use super::render::{self, DIM, GOOD, NAME, NOTE, paint};
use super::{person, render::short};
use crate::base::text::harmless;
use crate::base::{Code, Finding, Result, Status, Warning};
use crate::git::Repo;
use crate::hook::who::Who;
use crate::proposal::{self, Proposal, decide, store};
use crate::txn::Run;

/// List what waits for a person's word.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt proposals\n  edt proposals --all --json")]
pub(super) struct Args {
    /// Those that were decided on, too.
    #[arg(long)]
    #[serde(default)]
    all: bool,
}

/// Approve a proposal: for a person, at a terminal. Shows it first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt approve 7\n  edt approve 7 --apply")]
pub(super) struct ApproveArgs {
    /// Its number.
    id: u64,
    /// Carry it out at once (not for commands, which the agent calls again).
    #[arg(long)]
    apply: bool,
}

/// Reject a proposal, and say what to do instead: the agent reads it with its next answer. Called by no person, it withdraws an open one.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt reject 7 -m 'Pin the action to a commit, then propose it again.'"
)]
pub(super) struct RejectArgs {
    /// Its number.
    id: u64,
    /// Why, and what to do instead.
    #[arg(short, long)]
    message: String,
}

/// The answer of `edt proposals`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Listed {
    /// Always `edt.proposals/1`.
    schema: &'static str,
    /// In order of their numbers.
    proposals: Vec<Line>,
}

/// One proposal in brief.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Line {
    /// Its number.
    id: u64,
    /// `open`, `approved`, `rejected`, `withdrawn`, `superseded` or `done`.
    state: &'static str,
    /// Who approved it, why it was rejected or withdrawn, what took its place, what it became.
    detail: Option<String>,
    /// The session it was made in.
    session: String,
    /// Who asked for it.
    agent: Option<String>,
    /// What it does, in a line.
    subject: String,
    /// The command that it is; `null` for a change.
    command: Option<String>,
    /// When it was made, in seconds since 1970.
    time: i64,
}

/// The answer of `edt show ID`, `edt approve` and `edt reject`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Shown {
    /// Always `edt.proposal/1`.
    schema: &'static str,
    /// It, in brief.
    proposal: Line,
    /// Its whole message.
    message: String,
    /// What approving it lets pass: an override and its path.
    grants: Vec<String>,
    /// The overrides that its maker needed no person for.
    allowed: Vec<String>,
    /// What it does, as one value; a person's word is bound to it.
    digest: String,
    /// Its commit, as a hex object id.
    commit: String,
    /// What it is made on.
    parent: Option<String>,
    /// The paths that it changes.
    files: Vec<File>,
    /// What the caller should know.
    warnings: Vec<Warning>,
}

impl Line {
    fn of(proposal: &Proposal) -> Line {
        let trailers = proposal.made.trailers.as_ref();
        Line {
            id: proposal.id,
            state: proposal.state.name(),
            detail: proposal.state.detail().map(str::to_owned),
            session: proposal.session().to_owned(),
            agent: trailers.and_then(|trailers| trailers.agent.clone()),
            subject: proposal.subject().to_owned(),
            command: proposal.command.clone(),
            time: proposal.made.made,
        }
    }

    fn people(&self) -> String {
        let state = match self.state {
            "open" => paint(NOTE, "open"),
            "approved" => paint(GOOD, "approved"),
            other => paint(DIM, other),
        };
        let agent = self.agent.as_deref().map_or_else(String::new, |agent| format!(" by {agent}"));
        let detail =
            self.detail.as_deref().map_or_else(String::new, |detail| format!(": {detail}"));
        let (subject, detail) = (harmless(&self.subject).0, harmless(&detail).0);
        let whose = harmless(&format!("({}{agent})", self.session)).0;
        format!(
            "{} {state}{detail} {subject} {}\n",
            paint(NAME, &self.id.to_string()),
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
            [] => "No proposal waits.\n".to_owned(),
            some => some.iter().map(Line::people).collect(),
        }))
    }
}

impl ApproveArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let seen = store::read(&repo, self.id)?;
        if self.apply && seen.command.is_some() {
            let message = format!("Proposal {} is a command. Nothing was approved.", self.id);
            return Err(Finding::new(
                Code::BadRequest,
                message,
                "Approve it without --apply; the agent then calls it once more.",
            )
            .into());
        }
        person::at_a_terminal(&format!("edt approve {}", self.id))?;
        let shown = shown(&repo, &seen)?;
        let verb = if seen.command.is_some() { "Let it run, once?" } else { "Approve it?" };
        if !person::says_yes(&format!("{}\n{verb} Type yes: ", people(&shown))) {
            let message = format!("The answer was not yes. Proposal {} waits on.", self.id);
            let hint =
                format!("`edt reject {} -m WHY` tells the agent what to do instead.", self.id);
            return Err(Finding::new(Code::ApprovalRequired, message, hint).into());
        }
        drop(repo);
        let mut world = context.world()?;
        if self.apply {
            proposal::carry::try_out(&mut world, &seen)?;
        }
        // What was shown is what is approved.
        let warnings = decide::approve(&mut world, &seen)?;
        if self.apply {
            let applied = proposal::apply(&mut world, self.id, Run::Real);
            let outcome =
                applied.map_err(|found| found.each(|finding| but_approved(finding, self.id)))?;
            return Ok(context.outcome(&outcome, render::applied));
        }
        decided(context, &world.repo, self.id, warnings)
    }
}

impl RejectArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let mut world = context.world()?;
        let seen = store::read(&world.repo, self.id)?;
        let decide = if Who::here() == Who::Person { decide::reject } else { decide::withdraw };
        let warnings = decide(&mut world, &seen, &self.message)?;
        decided(context, &world.repo, self.id, warnings)
    }
}

/// What went wrong after it had been approved, in words that are true of both.
fn but_approved(mut finding: Finding, id: u64) -> Finding {
    finding.message =
        format!("Proposal {id} was approved, but not carried out: {}", finding.message);
    finding
}

fn decided(context: &Context, repo: &Repo, id: u64, warnings: Vec<Warning>) -> Result<Status> {
    let shown = Shown { warnings, ..shown(repo, &store::read(repo, id)?)? };
    Ok(context.answer(&shown, |shown| shown.proposal.people()))
}

/// The proposal of that number, if there is one.
pub(super) fn found(repo: &Repo, id: u64) -> Result<Option<Proposal>> {
    match store::read(repo, id) {
        Ok(proposal) => Ok(Some(proposal)),
        Err(found) if found.any(|finding| finding.code == Code::ProposalNotFound) => Ok(None),
        Err(found) => Err(found),
    }
}

/// Shows a proposal.
pub(super) fn show(context: &Context, repo: &Repo, proposal: &Proposal) -> Result<Status> {
    Ok(context.answer(&shown(repo, proposal)?, people))
}

fn shown(repo: &Repo, proposal: &Proposal) -> Result<Shown> {
    let parent = proposal.made.parent;
    let before = parent.map_or_else(|| Ok(repo.empty_tree()), |parent| repo.tree_of(parent))?;
    let word = |grant: &crate::txn::guard::Grant| match &grant.path {
        Some(path) => format!("{} {path}", grant.word),
        None => grant.word.clone(),
    };
    Ok(Shown {
        schema: "edt.proposal/1",
        proposal: Line::of(proposal),
        message: proposal.text().to_owned(),
        grants: proposal.grants.iter().map(word).collect(),
        allowed: proposal
            .made
            .trailers
            .as_ref()
            .map(|trailers| trailers.allowed.clone())
            .unwrap_or_default(),
        digest: proposal.digest.clone(),
        commit: proposal.made.oid.to_string(),
        parent: parent.map(|parent| parent.to_string()),
        files: if proposal.command.is_some() {
            Vec::new()
        } else {
            diff::files(repo, before, proposal.made.tree)?
        },
        warnings: Vec::new(),
    })
}

fn people(shown: &Shown) -> String {
    let mut out = format!("proposal {}", shown.proposal.people());
    // What its maker says has a mark of its own, so that no line of it looks like one of edt's.
    for line in shown.message.split('\n').skip(1).filter(|line| !line.is_empty()) {
        let _ = writeln!(out, "  {} {}", paint(DIM, "|"), harmless(line).0);
    }
    for grant in &shown.grants {
        let _ = writeln!(out, "  {} {}", paint(NOTE, "approving it allows"), harmless(grant).0);
    }
    for word in &shown.allowed {
        let _ = writeln!(out, "  {} {}", paint(NOTE, "it overrides"), harmless(word).0);
    }
    let _ = writeln!(
        out,
        "  {}",
        paint(DIM, &format!("commit {} digest {}", short(&shown.commit), short(&shown.digest)))
    );
    out + &diff::people_files(&shown.files)
}
