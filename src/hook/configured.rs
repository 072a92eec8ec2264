//! Hooks in Git's own configuration (Git 2.54 and newer): no file of anyone's is in the way, and no hooks folder shadows them.

use std::path::Path;

use super::install::{Did, Run, Step, look, taken};
use super::place::Place;
use super::plumbing::Git;
use super::receipt::Receipt;
use super::script::{quoted, render};
use super::{HOOKS, Hook};
use crate::base::Result;
use crate::io::failed;
use crate::io::whole::{self, There};

/// The section of Git's configuration that a hook of edt's has.
#[must_use]
pub fn section(hook: &dyn Hook) -> String {
    format!("hook.edt-{}", hook.name())
}

/// The very script, less what is for a hook that stands beside it: Git runs that by itself.
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
    let text = String::from_utf8_lossy(&quoted(lines.join("\n").as_bytes())).into_owned();
    format!("sh -c {text} {}", section(hook))
}

/// Puts the hooks in the repository's configuration.
///
/// # Errors
/// `IO_ERROR` with what Git said.
pub fn configure(git: &Git, place: &Place, edt: &Path, run: Run) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    // An older Git may have left files: both would run.
    let receipt = Receipt::of(place);
    for folder in place.folders() {
        for hook in HOOKS {
            steps.extend(taken(&folder, &receipt, *hook, run)?);
        }
    }
    let config = place.common.join("config");
    for hook in place.hooks_here() {
        let section = section(hook);
        let (key, wanted) = (format!("{section}.command"), command(hook, edt));
        let (event, stands) = (
            git.line(&["config", "--local", "--get-all", &format!("{section}.event")])?,
            git.line(&["config", "--local", "--get-all", &key])?,
        );
        let did = match &stands {
            Some(stands) if *stands == wanted && event.as_deref() == Some(hook.name()) => {
                Did::Unchanged
            }
            Some(_) => Did::Updated,
            None => Did::Installed,
        };
        if run == Run::Real && did != Did::Unchanged {
            if did == Did::Installed
                && let There::File { bytes, .. } = look(&config)?
                && !bytes.is_empty()
                && !bytes.ends_with(b"\n")
            {
                Receipt::remember(place, |receipt| {
                    receipt.config_without_end = Some(crc32fast::hash(&bytes))
                })?;
            }
            git.output(
                &["config", "--local", "--replace-all", &format!("{section}.event"), hook.name()],
                b"",
            )?;
            git.output(&["config", "--local", "--replace-all", &key, &wanted], b"")?;
        }
        steps.push(Step { hook: hook.name().to_owned(), place: section, did, detail: None });
    }
    Ok(steps)
}

/// Takes them out of it again, to the last byte.
///
/// # Errors
/// `IO_ERROR` with what Git said.
pub fn unconfigure(place: &Place, receipt: &Receipt, run: Run) -> Result<Vec<Step>> {
    let git = Git::at(place.top.as_deref().unwrap_or(&place.common));
    let config = place.common.join("config");
    let mut steps = Vec::new();
    for hook in HOOKS {
        let section = section(*hook);
        let own = format!("^{}\\.", section.replace('.', "\\."));
        let listed = git.run(&["config", "--local", "-z", "--get-regexp", &own], b"")?;
        if !listed.ok {
            continue;
        }
        let own = [format!("{section}.event\n"), format!("{section}.command\n")];
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        if !text
            .split_terminator('\0')
            .all(|line| own.iter().any(|key| line.starts_with(key.as_str())))
        {
            let detail = "something was added to the section; remove it yourself";
            steps.push(Step {
                hook: hook.name().to_owned(),
                place: section,
                did: Did::Left,
                detail: Some(detail.to_owned()),
            });
            continue;
        }
        if run == Run::Real {
            git.output(&["config", "--local", "--remove-section", &section], b"")?;
        }
        steps.push(Step {
            hook: hook.name().to_owned(),
            place: section,
            did: Did::Removed,
            detail: None,
        });
    }
    // Git ends a file with a line break before it adds to it.
    if let (Some(sum), Run::Real, There::File { bytes, .. }) =
        (receipt.config_without_end, run, look(&config)?)
        && let Some(bare) = bytes.strip_suffix(b"\n")
        && crc32fast::hash(bare) == sum
    {
        whole::put_like(&config, bare).map_err(|error| failed("write", &config, &error))?;
    }
    Ok(steps)
}
