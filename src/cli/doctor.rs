//! `edt doctor`.

use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{BAD, DIM, GOOD, NAME, NOTE, paint};
use super::user_files::user_directory;
use edt_agents::hook::doctor::{self, NOT_PROTECTED};
use edt_agents::hook::install::{self, Force};
use edt_agents::hook::location::HooksLocation;
use edt_agents::hook::plumbing::Git;
use edt_agents::hook::probe::{DoctorContext, Health, ProbeResult};
use edt_agents::hook::step::HookAction;
use edt_core::session::collection::leftovers;
use edt_core::session::worktree::workspace::LockedWorkspace;
use edt_git::Repo;
use edt_types::text::Shown as _;
use edt_types::{DryRun, Refusal, Result, Status};

/// Test whether everything that edt needs is available, and whether each hook really refuses.
///
/// Does not touch the index, the files or the history; each probe removes what it creates. Exit
/// status 0 if every probe passes, 1 if a protection is not live or something is broken.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt doctor\n  edt doctor --fix    # installs the hooks, removes what a killed edt left"
)]
pub(super) struct Args {
    /// Apply the safe fixes: install the hooks, remove what a killed edt left.
    #[arg(long)]
    fix: bool,
}

/// The answer of `edt doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.doctor/1`.
    schema: &'static str,
    /// Whether every probe passed; decides the exit status.
    healthy: bool,
    /// The result of each probe.
    probes: Vec<ProbeResult>,
    /// What `--fix` did.
    fixed: Vec<String>,
    /// What no hook can prevent.
    not_protected: Vec<&'static str>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let git = Git::at(&context.start);
        let location = HooksLocation::of(&git)?;
        let git = Git::at(location.top.as_deref().unwrap_or(&location.common));
        let git_dir = git
            .line(&["rev-parse", "--path-format=absolute", "--git-dir"])?
            .map(PathBuf::from)
            .unwrap_or_default();
        let (state, opened, left) = match context.repo() {
            Ok((repo, recovered)) => {
                (Some(repo.state_path().to_owned()), Ok(recovered), left(&repo))
            }
            Err(findings) => (
                location.top.as_ref().map(|_| location.common.join("edt")),
                Err(findings.to_string()),
                Vec::new(),
            ),
        };
        let mut doctor_context = DoctorContext { git, location, git_dir, state, left, opened };
        let mut fixed = Vec::new();
        let mut probes = doctor::examine(&doctor_context);
        if self.fix {
            let refused;
            let removed = remove_left(context, &mut doctor_context)?;
            (fixed, refused) = fix(&doctor_context, &probes)?;
            fixed.splice(0..0, removed);
            doctor_context.location = HooksLocation::of(&doctor_context.git)?;
            probes = doctor::examine(&doctor_context);
            probes.extend(refused.map(|findings| doctor::failed("fix", findings)));
        }
        let healthy = probes.iter().all(|probe| probe.health == Health::Ok);
        let answer = Answer {
            schema: "edt.doctor/1",
            healthy,
            probes,
            fixed,
            not_protected: NOT_PROTECTED.to_vec(),
        };
        context.answer(&answer, render_human);
        Ok(if healthy { Status::Unchanged } else { Status::Refused })
    }
}

/// What killed calls left in the repository and in edt's data directory of the user.
fn left(repo: &Repo) -> Vec<PathBuf> {
    let mut found = leftovers::find(repo);
    let data = user_directory("XDG_DATA_HOME", ".local/share");
    found.extend(data.into_iter().flat_map(|data| leftovers::below(&data.join("edt"))));
    found
}

/// Removes what killed calls left in the Git directory. Returns what was removed, in words.
fn remove_left(context: &Context, doctor_context: &mut DoctorContext) -> Result<Vec<String>> {
    if doctor_context.left.is_empty() {
        return Ok(Vec::new());
    }
    let mut workspace = context.quiet_workspace()?;
    leftovers::remove(&mut workspace, &doctor_context.left)?;
    let LockedWorkspace { repo, .. } = workspace;
    let removed = std::mem::replace(&mut doctor_context.left, left(&repo));
    Ok(removed.iter().map(|path| format!("removed {}", path.shown())).collect())
}

/// Applies the safe fixes. Returns what was done, and the findings if the hooks could not be
/// installed.
fn fix(
    doctor_context: &DoctorContext,
    probes: &[ProbeResult],
) -> Result<(Vec<String>, Option<Refusal>)> {
    let mut done = doctor::remove_leftovers(doctor_context)?;
    if probes.iter().all(|probe| probe.health != Health::NotLive) {
        return Ok((done, None));
    }
    match install::install(&doctor_context.git, Force::No, DryRun::No) {
        Ok((_, steps)) => {
            let new = steps.into_iter().filter(|step| step.action != HookAction::Unchanged);
            done.extend(new.map(|step| format!("installed {} as {}", step.hook, step.location)));
            Ok((done, None))
        }
        Err(findings) => Ok((done, Some(findings))),
    }
}

fn render_human(answer: &Answer) -> String {
    let mut out = String::new();
    for line in &answer.fixed {
        let _ = writeln!(out, "{} {line}", paint(GOOD, "fixed:"));
    }
    for ProbeResult { probe, health, found, next } in &answer.probes {
        let (style, word) = match health {
            Health::Ok => (GOOD, "ok      "),
            Health::NotLive => (NOTE, "not live"),
            Health::Broken => (BAD, "broken  "),
        };
        let _ = writeln!(out, "{} {} {found}", paint(style, word), paint(NAME, probe));
        if let Some(next) = next {
            let _ = writeln!(out, "         {} {next}", paint(NOTE, "next:"));
        }
    }
    let _ = writeln!(out, "{}", paint(DIM, "No Git hook can prevent these:"));
    for line in &answer.not_protected {
        let _ = writeln!(out, "  {}", paint(DIM, line));
    }
    out
}
