//! `edt doctor`.

use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{BAD, DIM, GOOD, NAME, NOTE, paint};
use crate::base::{Findings, Result, Status};
use crate::hook::doctor::{self, Health, NOT_PROTECTED, Scene, Told};
use crate::hook::install::{self, Force, Run};
use crate::hook::place::Place;
use crate::hook::plumbing::Git;

/// Try out whether everything that edt builds on is there, and whether each hook really refuses.
///
/// Touches neither the index, the files nor the history; what a probe makes it takes away. Exit status 0 if all is well, 1 if a
/// protection is not live or something is broken.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt doctor\n  edt doctor --fix    # installs the hooks, removes what a killed edt left"
)]
pub(super) struct Args {
    /// Do what is safe: install the hooks, remove what a killed edt left.
    #[arg(long)]
    fix: bool,
}

/// The answer of `edt doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.doctor/1`.
    schema: &'static str,
    /// Whether all is well; decides the exit status.
    well: bool,
    /// What each probe found.
    probes: Vec<Told>,
    /// What `--fix` did.
    fixed: Vec<String>,
    /// What no hook can stop, whatever is installed.
    not_protected: Vec<&'static str>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let git = Git::at(&context.start);
        let place = Place::of(&git)?;
        let git = Git::at(place.top.as_deref().unwrap_or(&place.common));
        let git_dir = git
            .line(&["rev-parse", "--path-format=absolute", "--git-dir"])?
            .map(PathBuf::from)
            .unwrap_or_default();
        let (state, opened) = match context.repo() {
            Ok((repo, settled)) => (Some(repo.state_path().to_owned()), Ok(settled)),
            Err(findings) => {
                (place.top.as_ref().map(|_| place.common.join("edt")), Err(findings.to_string()))
            }
        };
        let mut scene = Scene { git, place, git_dir, state, opened };
        let mut fixed = Vec::new();
        let mut probes = doctor::examine(&scene);
        if self.fix {
            let refused;
            (fixed, refused) = fix(&scene, &probes)?;
            scene.place = Place::of(&scene.git)?;
            probes = doctor::examine(&scene);
            probes.extend(refused.map(|findings| doctor::failed("fix", findings)));
        }
        let well = probes.iter().all(|told| told.health == Health::Ok);
        let answer = Answer {
            schema: "edt.doctor/1",
            well,
            probes,
            fixed,
            not_protected: NOT_PROTECTED.to_vec(),
        };
        context.answer(&answer, people);
        Ok(if well { Status::Unchanged } else { Status::Refused })
    }
}

/// What was done, and why the hooks could not be installed if they could not.
fn fix(scene: &Scene, probes: &[Told]) -> Result<(Vec<String>, Option<Findings>)> {
    let mut done = doctor::tidy(scene)?;
    if probes.iter().all(|told| told.health != Health::NotLive) {
        return Ok((done, None));
    }
    match install::install(&scene.git, Force::No, Run::Real) {
        Ok((_, steps)) => {
            let new = steps.into_iter().filter(|step| step.did != install::Did::Unchanged);
            done.extend(new.map(|step| format!("installed {} as {}", step.hook, step.place)));
            Ok((done, None))
        }
        Err(findings) => Ok((done, Some(findings))),
    }
}

fn people(answer: &Answer) -> String {
    let mut out = String::new();
    for line in &answer.fixed {
        let _ = writeln!(out, "{} {line}", paint(GOOD, "fixed:"));
    }
    for Told { probe, health, found, next } in &answer.probes {
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
    let _ = writeln!(out, "{}", paint(DIM, "No hook of Git's can stop these:"));
    for line in &answer.not_protected {
        let _ = writeln!(out, "  {}", paint(DIM, line));
    }
    out
}
