//! Hooks put in place beside what is there, and taken away again, exactly.
//!
//! A hook that stood there is moved to `<name>.before-edt` as it is and called first. So everything needed to go back stands in
//! the hooks folder itself; the receipt (`<git-common-dir>/edt/hooks.json`, which may be deleted) only remembers what the
//! folder cannot tell.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::configured::{configure, section, unconfigure};
use super::place::{Mechanism, Place, file};
use super::plumbing::Git;
use super::receipt::Receipt;
use super::script::{Whose, render, whose};
use super::{HOOKS, Hook};
use crate::base::{Code, Finding, Findings, Result};
use crate::io::failed;
use crate::io::whole::{self, There};

/// Where a hook goes that stood there before.
pub const BEFORE: &str = ".before-edt";
/// Where the program pre-commit puts a hook that it finds, and calls it from.
pub const LEGACY: &str = ".legacy";
/// Where lefthook puts a hook that it finds, never to call it again.
const OLD: &str = ".old";

/// What was done to one hook, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// Git's name for it.
    pub hook: String,
    /// The file, or the section of the configuration.
    pub place: String,
    /// What became of it.
    pub did: Did,
    /// More about it.
    pub detail: Option<String>,
}

/// What became of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// Put in place.
    Installed,
    /// Put in place; the hook that stood there is called first.
    Chained,
    /// Replaced by a newer one.
    Updated,
    /// As it should be already.
    Unchanged,
    /// Taken away.
    Removed,
    /// Taken away; the hook that stood there before stands there again.
    Restored,
    /// Not edt's any more, so left alone.
    Left,
    /// Not there.
    Absent,
}

/// Puts the hooks in place.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY` if the folder is not this repository's own (unless `force`) or holds a hook that could not be put
/// back; `IO_ERROR`, `GIT_DIR_READ_ONLY`. Nothing has changed after the first; after the others `install` again, or `uninstall`.
pub fn install(git: &Git, force: Force, run: Run) -> Result<(Place, Vec<Step>)> {
    let place = Place::of(git)?;
    let edt = whole::own_program().map_err(|error| failed("find", Path::new("edt"), &error))?;
    if place.mechanism() == Mechanism::Config {
        let steps = configure(git, &place, &edt, run)?;
        return Ok((place, steps));
    }
    if force == Force::No {
        place.check_own()?;
    }
    let hooks: Vec<&dyn Hook> = place.hooks_here().collect();
    let receipt = Receipt::of(&place);
    let plan: Vec<Result<Step>> =
        hooks.iter().map(|hook| planned(&place, &receipt, *hook, &edt)).collect();
    let (mut steps, mut refused) = (Vec::new(), Vec::new());
    for one in plan {
        match one {
            Ok(step) => steps.push(step),
            Err(findings) => refused.extend(findings.into_vec()),
        }
    }
    Findings::check(refused)?;
    if let Some(other) = place.unguarded()?.first() {
        let detail = format!("not in {}, because core.hooksPath is relative", other.display());
        steps
            .iter_mut()
            .filter(|step| step.detail.is_none())
            .for_each(|step| step.detail = Some(detail.clone()));
    }
    if run == Run::Dry {
        return Ok((place, steps));
    }
    let new = place.make_hooks()?;
    Receipt::remember(&place, |receipt| {
        if !receipt.folders.iter().any(|(folder, _)| *folder == place.hooks) {
            receipt.folders.push((place.hooks.clone(), new));
        }
    })?;
    for (hook, step) in hooks.iter().zip(&steps) {
        put(&place, *hook, &edt, step.did)?;
    }
    Ok((place, steps))
}

/// Whether a folder that others use, too, is used all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// It is.
    Yes,
    /// It is refused.
    No,
}

/// Whether anything is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// It is only told.
    Dry,
    /// It is done.
    Real,
}

fn planned(place: &Place, receipt: &Receipt, hook: &dyn Hook, edt: &Path) -> Result<Step> {
    let at = file(&place.hooks, hook, "");
    let before = file(&place.hooks, hook, BEFORE);
    let step = |did, detail: Option<&str>| step(hook, &at, did, detail);
    match look(&at)? {
        There::Nothing if look(&before)? == There::Nothing => Ok(step(Did::Installed, None)),
        There::Nothing if receipt.kept.contains(&before) => {
            Ok(step(Did::Chained, Some("the hook at .before-edt is called first")))
        }
        There::Nothing => {
            Err(conflict(&before, "stands alone and was not put there by edt").into())
        }
        There::Other => Err(conflict(&at, "is no file that could be put back").into()),
        There::File { bytes, executable } => match whose(&bytes, hook) {
            Whose::Ours if bytes == render(hook, edt) && executable => {
                Ok(step(Did::Unchanged, None))
            }
            Whose::Ours => Ok(step(Did::Updated, None)),
            Whose::Changed => Err(conflict(&at, "is edt's own and was changed by hand").into()),
            Whose::Foreign if calls_ours(place, hook, &bytes)? => Ok(step(
                Did::Unchanged,
                Some("the program pre-commit calls edt's hook as its .legacy"),
            )),
            Whose::Foreign => match look(&before)? {
                There::Nothing => {
                    Ok(step(Did::Chained, Some("the hook that stands there is called first")))
                }
                There::File { .. } if alike(&at, &before)? => {
                    Ok(step(Did::Chained, Some("the hook that stands there is called first")))
                }
                _ => {
                    Err(conflict(&at, "is new, and an older hook is kept beside it as .before-edt")
                        .into())
                }
            },
        },
    }
}

/// Whether the hook is pre-commit's own, which calls the one that stood there before, and that is edt's.
pub(super) fn calls_ours(place: &Place, hook: &dyn Hook, bytes: &[u8]) -> Result<bool> {
    let there = look(&file(&place.hooks, hook, LEGACY))?;
    Ok(is_pre_commits(bytes)
        && matches!(there, There::File { bytes, executable: true } if whose(&bytes, hook) == Whose::Ours))
}

fn is_pre_commits(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"pre-commit.com").is_some()
}

fn put(place: &Place, hook: &dyn Hook, edt: &Path, did: Did) -> Result<()> {
    let (at, before) = (file(&place.hooks, hook, ""), file(&place.hooks, hook, BEFORE));
    if did == Did::Unchanged {
        return Ok(());
    }
    let moved = did == Did::Chained && look(&at)? != There::Nothing;
    if moved {
        Receipt::remember(place, |receipt| {
            if !receipt.kept.contains(&before) {
                receipt.kept.push(before.clone());
            }
        })?;
        if look(&before)? == There::Nothing {
            whole::shift(&at, &before).map_err(|error| failed("move", &at, &error))?;
        } else {
            whole::remove(&at).map_err(|error| failed("remove", &at, &error))?;
        }
    }
    if let Err(error) = whole::put(&at, &render(hook, edt), 0o777) {
        if moved {
            let _ = whole::shift(&before, &at);
        }
        return Err(failed("write", &at, &error).into());
    }
    Ok(())
}

/// Takes the hooks away, by files and by configuration, wherever edt may have put them.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`; repeat it then.
pub fn uninstall(git: &Git, run: Run) -> Result<(Place, Vec<Step>)> {
    let place = Place::of(git)?;
    let receipt = Receipt::of(&place);
    let mut folders = place.folders();
    folders.extend(receipt.folders.iter().map(|(folder, _)| folder.clone()));
    folders.dedup();
    let mut steps = Vec::new();
    for folder in &folders {
        for hook in HOOKS {
            steps.extend(taken(folder, &receipt, *hook, run)?);
        }
    }
    steps.extend(unconfigure(&place, &receipt, run)?);
    if run == Run::Real {
        let made = receipt.folders.iter().filter(|(_, new)| *new);
        made.for_each(|(folder, _)| whole::remove_empty_folder(folder));
        Receipt::forget(&place);
        whole::remove_empty_folder(&place.common.join("edt"));
    }
    Ok((place, steps))
}

pub(super) fn taken(
    folder: &Path,
    receipt: &Receipt,
    hook: &dyn Hook,
    run: Run,
) -> Result<Vec<Step>> {
    let (at, before) = (file(folder, hook, ""), file(folder, hook, BEFORE));
    let mut steps = Vec::new();
    let kept = look(&before)?;
    let remove = |path: &Path| match run {
        Run::Dry => Ok(()),
        Run::Real => whole::remove(path).map_err(|error| failed("remove", path, &error)),
    };
    let shift = |to: &Path| match run {
        Run::Dry => Ok(()),
        Run::Real => whole::shift(&before, to).map_err(|error| failed("move", &before, &error)),
    };
    let top = look(&at)?;
    let is_taken =
        matches!(&top, There::File { bytes, .. } if whose(bytes, hook) == Whose::Foreign);
    let mut waits = kept != There::Nothing;
    // A file of that name that edt did not put there is somebody's own.
    let is_known = receipt.kept.contains(&before);
    // Copies that other programs made of edt's hook when they took its place.
    for end in [LEGACY, OLD] {
        let copy = file(folder, hook, end);
        let There::File { bytes, .. } = look(&copy)? else { continue };
        if whose(&bytes, hook) != Whose::Ours {
            continue;
        }
        remove(&copy)?;
        // The place of the hook that is kept is there only if edt's own place is taken.
        if waits && is_taken && matches!(&kept, There::File { bytes, .. } if !is_pre_commits(bytes))
        {
            shift(&copy)?;
            waits = false;
            steps.push(step(hook, &copy, Did::Restored, None));
        } else {
            steps.push(step(hook, &copy, Did::Removed, None));
        }
    }
    match top {
        There::File { bytes, .. } if whose(&bytes, hook) == Whose::Ours => {
            remove(&at)?;
            if waits {
                shift(&at)?;
            }
            steps.push(step(hook, &at, if waits { Did::Restored } else { Did::Removed }, None));
        }
        There::File { bytes, .. } if whose(&bytes, hook) == Whose::Changed => {
            let detail = "edt's hook was changed by hand; remove it yourself";
            steps.push(step(hook, &at, Did::Left, Some(detail)));
        }
        There::Nothing if waits && is_known => {
            shift(&at)?;
            steps.push(step(hook, &at, Did::Restored, None));
        }
        There::File { .. } if waits && is_known && alike(&at, &before)? => {
            remove(&before)?;
            steps.push(step(hook, &before, Did::Removed, Some("it is the hook that stands there")));
        }
        _ if waits && is_known => {
            let detail = "another hook has taken its place since; the one before edt's is kept as .before-edt";
            steps.push(step(hook, &at, Did::Left, Some(detail)));
        }
        _ => {}
    }
    Ok(steps)
}

/// What is in place now.
///
/// # Errors
/// `NOT_A_REPOSITORY`, `IO_ERROR`.
pub fn status(git: &Git) -> Result<(Place, Vec<Step>)> {
    let place = Place::of(git)?;
    let edt = whole::own_program().map_err(|error| failed("find", Path::new("edt"), &error))?;
    let mut steps = Vec::new();
    for hook in place.hooks_here() {
        let section = section(hook);
        if git.line(&["config", "--local", "--get", &format!("{section}.command")])?.is_some() {
            let detail = (place.mechanism() == Mechanism::Files)
                .then_some("this Git is older than 2.54 and ignores it");
            steps.push(Step {
                hook: hook.name().to_owned(),
                place: section,
                did: Did::Installed,
                detail: detail.map(str::to_owned),
            });
            continue;
        }
        let at = file(&place.hooks, hook, "");
        let chained = look(&file(&place.hooks, hook, BEFORE))? != There::Nothing;
        let (did, detail) = match look(&at)? {
            There::Nothing | There::Other => (Did::Absent, None),
            There::File { bytes, executable } => match whose(&bytes, hook) {
                Whose::Ours if !executable => {
                    (Did::Left, Some("edt's hook is not executable, so Git ignores it"))
                }
                Whose::Ours if bytes != render(hook, &edt) => {
                    (Did::Installed, Some("by another version, or for another edt"))
                }
                Whose::Ours if chained => (Did::Chained, None),
                Whose::Ours => (Did::Installed, None),
                Whose::Changed => (Did::Left, Some("edt's hook was changed by hand")),
                Whose::Foreign if calls_ours(&place, hook, &bytes)? => {
                    (Did::Installed, Some("the program pre-commit calls it as its .legacy"))
                }
                Whose::Foreign => (Did::Absent, Some("another hook stands there")),
            },
        };
        steps.push(step(hook, &at, did, detail));
    }
    Ok((place, steps))
}

/// Whether edt's hook stands in the usual folder while Git looks elsewhere.
///
/// # Errors
/// `IO_ERROR`.
pub fn shadowed(place: &Place, hook: &dyn Hook) -> Result<bool> {
    let usual = place.common.join("hooks");
    let there = look(&file(&usual, hook, ""))?;
    let ours = matches!(there, There::File { bytes, .. } if whose(&bytes, hook) == Whose::Ours);
    Ok(ours && whole::real(&usual) != whole::real(&place.hooks))
}

pub(super) fn look(path: &Path) -> Result<There> {
    whole::at(path).map_err(|error| failed("read", path, &error).into())
}

fn alike(at: &Path, before: &Path) -> Result<bool> {
    whole::alike(at, before).map_err(|error| failed("read", before, &error).into())
}

fn step(hook: &dyn Hook, at: &Path, did: Did, detail: Option<&str>) -> Step {
    Step {
        hook: hook.name().to_owned(),
        place: at.display().to_string(),
        did,
        detail: detail.map(str::to_owned),
    }
}

fn conflict(at: &Path, why: &str) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!("{} {why}, so edt could not give it back. Nothing was installed.", at.display()),
        format!(
            "A person must decide which to keep: move one away (`ls -l {}*`), then repeat the call.",
            at.display()
        ),
    )
}
