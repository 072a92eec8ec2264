//! Hooks in Git's configuration (Git 2.54 and newer). They need no files, and no hooks directory
//! shadows them.

use std::path::Path;

use super::call::Hook;
use super::list::HOOKS;
use super::location::{HooksLocation, read_path};
use super::plumbing::Git;
use super::receipt::HooksReceipt;
use super::script::{render, shell_quoted};
use super::step::{HookAction, HookStep};
use edt_io::failed;
use edt_io::fs::{self, PathContent};
use edt_types::{DryRun, Result};

/// The section of Git's configuration for edt's hook.
#[must_use]
pub fn section(hook: &dyn Hook) -> String {
    format!("hook.edt-{}", hook.name())
}

/// The hook's script without the part that calls a present hook: Git calls that hook itself.
fn command(hook: &dyn Hook, edt: &Path) -> String {
    let script = String::from_utf8_lossy(&render(hook, edt)).into_owned();
    let mut lines = Vec::new();
    let mut inside = false;
    for line in script.lines() {
        inside |= line == "run_before() {";
        if !inside && !line.is_empty() && !line.trim_start().starts_with('#') {
            lines.push(if line.starts_with("before=") { "before=''" } else { line });
        }
        inside &= line != "}";
    }
    let text = String::from_utf8_lossy(&shell_quoted(lines.join("\n").as_bytes())).into_owned();
    format!("sh -c {text} {}", section(hook))
}

/// Writes the hooks into the repository's configuration.
///
/// # Errors
/// `IO_ERROR` with Git's message.
pub fn configure(
    git: &Git,
    location: &HooksLocation,
    edt: &Path,
    dry_run: DryRun,
) -> Result<Vec<HookStep>> {
    let mut steps = Vec::new();
    let config = location.common.join("config");
    for hook in location.hooks_here() {
        let section = section(hook);
        let (key, wanted) = (format!("{section}.command"), command(hook, edt));
        let (event, present) = (
            git.line(&["config", "--local", "--get-all", &format!("{section}.event")])?,
            git.line(&["config", "--local", "--get-all", &key])?,
        );
        let action = match &present {
            Some(present) if *present == wanted && event.as_deref() == Some(hook.name()) => {
                HookAction::Unchanged
            }
            Some(_) => HookAction::Updated,
            None => HookAction::Installed,
        };
        if dry_run == DryRun::No && action != HookAction::Unchanged {
            if action == HookAction::Installed
                && let PathContent::File { bytes, .. } = read_path(&config)?
                && !bytes.is_empty()
                && !bytes.ends_with(b"\n")
            {
                HooksReceipt::update(location, |receipt| {
                    receipt.config_without_end = Some(crc32fast::hash(&bytes));
                })?;
            }
            git.output(
                &["config", "--local", "--replace-all", &format!("{section}.event"), hook.name()],
                b"",
            )?;
            git.output(&["config", "--local", "--replace-all", &key, &wanted], b"")?;
        }
        steps.push(HookStep {
            hook: hook.name().to_owned(),
            location: section,
            action,
            detail: None,
        });
    }
    Ok(steps)
}

/// Removes the hooks from the configuration, which then has its original bytes.
///
/// # Errors
/// `IO_ERROR` with Git's message.
pub fn unconfigure(
    location: &HooksLocation,
    receipt: &HooksReceipt,
    dry_run: DryRun,
) -> Result<Vec<HookStep>> {
    let git = Git::at(location.top.as_deref().unwrap_or(&location.common));
    let config = location.common.join("config");
    let mut steps = Vec::new();
    for hook in HOOKS {
        let section = section(*hook);
        let pattern = format!("^{}\\.", section.replace('.', "\\."));
        let listed = git.run(&["config", "--local", "-z", "--get-regexp", &pattern], b"")?;
        if !listed.ok {
            continue;
        }
        let own_keys = [format!("{section}.event\n"), format!("{section}.command\n")];
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        if !text
            .split_terminator('\0')
            .all(|line| own_keys.iter().any(|key| line.starts_with(key.as_str())))
        {
            let detail = "the section has further keys; remove it yourself";
            steps.push(HookStep {
                hook: hook.name().to_owned(),
                location: section,
                action: HookAction::Left,
                detail: Some(detail.to_owned()),
            });
            continue;
        }
        if dry_run == DryRun::No {
            git.output(&["config", "--local", "--remove-section", &section], b"")?;
        }
        steps.push(HookStep {
            hook: hook.name().to_owned(),
            location: section,
            action: HookAction::Removed,
            detail: None,
        });
    }
    // Git completes the last line before it appends.
    if let (Some(sum), DryRun::No, PathContent::File { bytes, .. }) =
        (receipt.config_without_end, dry_run, read_path(&config)?)
        && let Some(bare) = bytes.strip_suffix(b"\n")
        && crc32fast::hash(bare) == sum
    {
        fs::write_atomic_same_mode(&config, bare)
            .map_err(|error| failed("write", &config, &error))?;
    }
    Ok(steps)
}
