//! Installs hooks in addition to present ones, and removes exactly them.
//!
//! A present hook is renamed to `<name>.before-edt`, and edt's hook calls it first. So the hooks
//! directory itself has everything that an uninstall needs. The receipt
//! (`<git-common-dir>/edt/hooks.json`, which the user may delete) has only facts that the directory
//! does not have.

use std::path::{Path, PathBuf};

use super::call::Hook;
use super::configured::{configure, section, unconfigure};
use super::list::HOOKS;
use super::location::{HooksLocation, Mechanism, file, read_path};
use super::plumbing::Git;
use super::receipt::HooksReceipt;
use super::script::{ScriptOwner, owner, render};
use super::step::{HookAction, HookStep};
use edt_io::failed;
use edt_io::fs::{self, PathContent};
use edt_types::text::Shown as _;
use edt_types::{Code, DryRun, Effect, Finding, Refusal, Result};

/// The suffix of a hook that edt renamed.
pub const MOVED: &str = ".before-edt";
/// The suffix of a hook that the program pre-commit renamed and calls.
pub const LEGACY: &str = ".legacy";
/// The suffix of a hook that lefthook renamed and does not call.
const LEFTHOOK_OLD: &str = ".old";

/// Installs the hooks.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY` if the hooks directory is not this repository's own (unless `force`),
/// or has a hook that could not be restored; then nothing was changed. `IO_ERROR`,
/// `GIT_DIR_READ_ONLY`; then call `install` again, or `uninstall`.
pub fn install(git: &Git, force: Force, dry_run: DryRun) -> Result<(HooksLocation, Vec<HookStep>)> {
    let location = HooksLocation::of(git)?;
    let edt = fs::current_program().map_err(|error| failed("find", Path::new("edt"), &error))?;
    if location.mechanism() == Mechanism::Config {
        // Under an older Git edt may have installed files, which would run, too.
        let receipt = HooksReceipt::of(&location);
        let mut steps = remove_files(&location.directories(), &receipt, dry_run)?;
        steps.extend(configure(git, &location, &edt, dry_run)?);
        return Ok((location, steps));
    }
    if force == Force::No {
        location.check_own()?;
    }
    let hooks: Vec<&dyn Hook> = location.hooks_here().collect();
    let receipt = HooksReceipt::of(&location);
    let plan: Vec<Result<HookStep>> =
        hooks.iter().map(|hook| plan_step(&location, &receipt, *hook, &edt)).collect();
    let (mut steps, mut refused) = (Vec::new(), Vec::new());
    for one in plan {
        match one {
            Ok(step) => steps.push(step),
            Err(findings) => refused.extend(findings.into_vec()),
        }
    }
    Refusal::check(refused)?;
    if let Some(other) = location.unguarded()?.first() {
        let detail = format!("not in {}, because core.hooksPath is relative", other.shown());
        steps
            .iter_mut()
            .filter(|step| step.detail.is_none())
            .for_each(|step| step.detail = Some(detail.clone()));
    }
    if dry_run == DryRun::Yes {
        return Ok((location, steps));
    }
    let new = location.make_hooks()?;
    HooksReceipt::update(&location, |receipt| {
        if !receipt.directories.iter().any(|(directory, _)| *directory == location.hooks) {
            receipt.directories.push((location.hooks.clone(), new));
        }
    })?;
    for (hook, step) in hooks.iter().zip(&steps) {
        write_hook(&location, *hook, &edt, step.action)?;
    }
    Ok((location, steps))
}

/// Whether to install into a hooks directory that others may use, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    Yes,
    No,
}

fn plan_step(
    location: &HooksLocation,
    receipt: &HooksReceipt,
    hook: &dyn Hook,
    edt: &Path,
) -> Result<HookStep> {
    let path = file(&location.hooks, hook, "");
    let moved_to = file(&location.hooks, hook, MOVED);
    let step = |action, detail: Option<&str>| step(hook, &path, action, detail);
    match read_path(&path)? {
        PathContent::Nothing if read_path(&moved_to)? == PathContent::Nothing => {
            Ok(step(HookAction::Installed, None))
        }
        PathContent::Nothing if receipt.moved_hooks.contains(&moved_to) => {
            Ok(step(HookAction::Chained, Some("the hook at .before-edt is called first")))
        }
        PathContent::Nothing => {
            let reason = "exists without edt's hook, and edt did not put it there";
            Err(conflict(&moved_to, reason).into())
        }
        PathContent::Other => Err(conflict(&path, "is not a regular file").into()),
        PathContent::File { bytes, executable } => match owner(&bytes, hook) {
            ScriptOwner::Edt if bytes == render(hook, edt) && executable => {
                Ok(step(HookAction::Unchanged, None))
            }
            ScriptOwner::Edt => Ok(step(HookAction::Updated, None)),
            ScriptOwner::EdtModified => {
                Err(conflict(&path, "is edt's hook and was changed by hand").into())
            }
            ScriptOwner::Other if calls_edt(location, hook, &bytes)? => Ok(step(
                HookAction::Unchanged,
                Some("the program pre-commit calls edt's hook as its .legacy"),
            )),
            ScriptOwner::Other => match read_path(&moved_to)? {
                PathContent::Nothing => {
                    Ok(step(HookAction::Chained, Some("the present hook is called first")))
                }
                PathContent::File { .. } if is_identical(&path, &moved_to)? => {
                    Ok(step(HookAction::Chained, Some("the present hook is called first")))
                }
                _ => {
                    Err(conflict(&path, "is a new hook, and an older one exists as .before-edt")
                        .into())
                }
            },
        },
    }
}

/// Whether the hook is that of the program pre-commit, and calls edt's hook.
pub(super) fn calls_edt(location: &HooksLocation, hook: &dyn Hook, bytes: &[u8]) -> Result<bool> {
    let content = read_path(&file(&location.hooks, hook, LEGACY))?;
    Ok(is_pre_commit_com(bytes)
        && matches!(
            content,
            PathContent::File { bytes, executable: true } if owner(&bytes, hook) == ScriptOwner::Edt
        ))
}

fn is_pre_commit_com(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"pre-commit.com").is_some()
}

fn write_hook(
    location: &HooksLocation,
    hook: &dyn Hook,
    edt: &Path,
    action: HookAction,
) -> Result<()> {
    let (path, moved_to) = (file(&location.hooks, hook, ""), file(&location.hooks, hook, MOVED));
    if action == HookAction::Unchanged {
        return Ok(());
    }
    let moved = action == HookAction::Chained && read_path(&path)? != PathContent::Nothing;
    if moved {
        HooksReceipt::update(location, |receipt| {
            if !receipt.moved_hooks.contains(&moved_to) {
                receipt.moved_hooks.push(moved_to.clone());
            }
        })?;
        if read_path(&moved_to)? == PathContent::Nothing {
            fs::rename_no_replace(&path, &moved_to)
                .map_err(|error| failed("move", &path, &error))?;
        } else {
            fs::remove_file(&path).map_err(|error| failed("remove", &path, &error))?;
        }
    }
    if let Err(error) = fs::write_atomic(&path, &render(hook, edt), 0o777) {
        if moved {
            let _ = fs::rename_no_replace(&moved_to, &path);
        }
        return Err(failed("write", &path, &error).into());
    }
    Ok(())
}

/// Removes the hooks, both files and configuration, from every directory that may have them.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`; then call `uninstall` again.
pub fn uninstall(git: &Git, dry_run: DryRun) -> Result<(HooksLocation, Vec<HookStep>)> {
    let location = HooksLocation::of(git)?;
    let receipt = HooksReceipt::of(&location);
    let mut directories = location.directories();
    directories.extend(receipt.directories.iter().map(|(directory, _)| directory.clone()));
    directories.dedup();
    let mut steps = remove_files(&directories, &receipt, dry_run)?;
    steps.extend(unconfigure(&location, &receipt, dry_run)?);
    if dry_run == DryRun::No {
        let made = receipt.directories.iter().filter(|(_, new)| *new);
        made.for_each(|(directory, _)| fs::remove_empty_dir(directory));
        HooksReceipt::remove(&location);
        fs::remove_empty_dir(&location.common.join("edt"));
    }
    Ok((location, steps))
}

fn remove_files(
    directories: &[PathBuf],
    receipt: &HooksReceipt,
    dry_run: DryRun,
) -> Result<Vec<HookStep>> {
    let mut steps = Vec::new();
    for directory in directories {
        for hook in HOOKS {
            steps.extend(remove_from(directory, receipt, *hook, dry_run)?);
        }
    }
    Ok(steps)
}

fn remove_from(
    directory: &Path,
    receipt: &HooksReceipt,
    hook: &dyn Hook,
    dry_run: DryRun,
) -> Result<Vec<HookStep>> {
    let (path, moved_to) = (file(directory, hook, ""), file(directory, hook, MOVED));
    let mut steps = Vec::new();
    let moved_hook = read_path(&moved_to)?;
    let remove = |path: &Path| match dry_run {
        DryRun::Yes => Ok(()),
        DryRun::No => fs::remove_file(path).map_err(|error| failed("remove", path, &error)),
    };
    let move_back = |to: &Path| match dry_run {
        DryRun::Yes => Ok(()),
        DryRun::No => {
            fs::rename_no_replace(&moved_to, to).map_err(|error| failed("move", &moved_to, &error))
        }
    };
    let current = read_path(&path)?;
    let is_replaced = matches!(
        &current,
        PathContent::File { bytes, .. } if owner(bytes, hook) == ScriptOwner::Other
    );
    let mut has_moved_hook = moved_hook != PathContent::Nothing;
    // A file of that name belongs to the user if edt did not put it there.
    let is_from_edt = receipt.moved_hooks.contains(&moved_to);
    // Copies of the hook of edt that other programs made when they replaced it.
    for end in [LEGACY, LEFTHOOK_OLD] {
        let copy = file(directory, hook, end);
        let PathContent::File { bytes, .. } = read_path(&copy)? else { continue };
        if owner(&bytes, hook) != ScriptOwner::Edt {
            continue;
        }
        remove(&copy)?;
        // The moved hook goes to the copy's path only if another hook has edt's path.
        let is_other_program = matches!(
            &moved_hook, PathContent::File { bytes, .. } if !is_pre_commit_com(bytes)
        );
        if has_moved_hook && is_replaced && is_other_program {
            move_back(&copy)?;
            has_moved_hook = false;
            steps.push(step(hook, &copy, HookAction::Restored, None));
        } else {
            steps.push(step(hook, &copy, HookAction::Removed, None));
        }
    }
    match current {
        PathContent::File { bytes, .. } if owner(&bytes, hook) == ScriptOwner::Edt => {
            remove(&path)?;
            if has_moved_hook {
                move_back(&path)?;
            }
            let action = if has_moved_hook { HookAction::Restored } else { HookAction::Removed };
            steps.push(step(hook, &path, action, None));
        }
        PathContent::File { bytes, .. } if owner(&bytes, hook) == ScriptOwner::EdtModified => {
            let detail = "edt's hook was changed by hand; remove it yourself";
            steps.push(step(hook, &path, HookAction::Left, Some(detail)));
        }
        PathContent::Nothing if has_moved_hook && is_from_edt => {
            move_back(&path)?;
            steps.push(step(hook, &path, HookAction::Restored, None));
        }
        PathContent::File { .. }
            if has_moved_hook && is_from_edt && is_identical(&path, &moved_to)? =>
        {
            remove(&moved_to)?;
            let detail = "it is identical to the present hook";
            steps.push(step(hook, &moved_to, HookAction::Removed, Some(detail)));
        }
        _ if has_moved_hook && is_from_edt => {
            let detail = "another hook has replaced edt's; the hook before edt's is still \
                          .before-edt";
            steps.push(step(hook, &path, HookAction::Left, Some(detail)));
        }
        _ => {}
    }
    Ok(steps)
}

/// Which hooks are installed.
///
/// # Errors
/// `NOT_A_REPOSITORY`, `IO_ERROR`.
pub fn status(git: &Git) -> Result<(HooksLocation, Vec<HookStep>)> {
    let location = HooksLocation::of(git)?;
    let edt = fs::current_program().map_err(|error| failed("find", Path::new("edt"), &error))?;
    let mut steps = Vec::new();
    for hook in location.hooks_here() {
        let section = section(hook);
        if git.line(&["config", "--local", "--get", &format!("{section}.command")])?.is_some() {
            let detail = (location.mechanism() == Mechanism::Files)
                .then_some("this Git is older than 2.54 and ignores it");
            steps.push(HookStep {
                hook: hook.name().to_owned(),
                location: section,
                action: HookAction::Installed,
                detail: detail.map(str::to_owned),
            });
            continue;
        }
        let path = file(&location.hooks, hook, "");
        let chained = read_path(&file(&location.hooks, hook, MOVED))? != PathContent::Nothing;
        let (action, detail) = match read_path(&path)? {
            PathContent::Nothing | PathContent::Other => (HookAction::Absent, None),
            PathContent::File { bytes, executable } => match owner(&bytes, hook) {
                ScriptOwner::Edt if !executable => {
                    (HookAction::Left, Some("edt's hook is not executable, so Git ignores it"))
                }
                ScriptOwner::Edt if bytes != render(hook, &edt) => {
                    (HookAction::Installed, Some("by another version, or for another program edt"))
                }
                ScriptOwner::Edt if chained => (HookAction::Chained, None),
                ScriptOwner::Edt => (HookAction::Installed, None),
                ScriptOwner::EdtModified => {
                    (HookAction::Left, Some("edt's hook was changed by hand"))
                }
                ScriptOwner::Other if calls_edt(&location, hook, &bytes)? => {
                    (HookAction::Installed, Some("the program pre-commit calls it as its .legacy"))
                }
                ScriptOwner::Other => (HookAction::Absent, Some("another hook is installed")),
            },
        };
        steps.push(step(hook, &path, action, detail));
    }
    Ok((location, steps))
}

/// Whether edt's hook is in Git's default hooks directory, and Git uses another one.
///
/// # Errors
/// `IO_ERROR`.
pub fn shadowed(location: &HooksLocation, hook: &dyn Hook) -> Result<bool> {
    let usual = location.common.join("hooks");
    let content = read_path(&file(&usual, hook, ""))?;
    let is_edt = matches!(
        content,
        PathContent::File { bytes, .. } if owner(&bytes, hook) == ScriptOwner::Edt
    );
    Ok(is_edt && fs::real_path(&usual) != fs::real_path(&location.hooks))
}

fn is_identical(path: &Path, moved_to: &Path) -> Result<bool> {
    fs::is_identical(path, moved_to).map_err(|error| failed("read", moved_to, &error).into())
}

fn step(hook: &dyn Hook, path: &Path, action: HookAction, detail: Option<&str>) -> HookStep {
    HookStep {
        hook: hook.name().to_owned(),
        location: path.to_string_lossy().into_owned(),
        action,
        detail: detail.map(str::to_owned),
    }
}

fn conflict(path: &Path, reason: &str) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!("{} {reason}, so edt could not restore it.", path.shown()),
        format!(
            "The user must decide which to keep: move one away (`ls -l {}*`), then repeat the \
             call.",
            path.shown()
        ),
    )
    .with_effect(Effect::NothingInstalled)
}
