//! Applies a setup to the agent's files. Every file is planned before the first is written.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::receipt::{ReceiptFile, ReceiptStore, SetupReceipt};
use super::{Form, ManagedFile, Original, Purpose, Scope, SetupTarget, UnusableFile};
use edt_git::sha256;
use edt_io::failed;
use edt_io::fs::{self, PathContent};
use edt_types::text::Shown as _;
use edt_types::{Code, DryRun, Effect, Finding, Refusal, Result};

/// What was done to one file, or would be in a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SetupStep {
    /// The file.
    pub file: String,
    /// What edt's part of it is for.
    pub purpose: Purpose,
    /// What was done.
    pub action: SetupAction,
    /// A further explanation.
    pub detail: Option<String>,
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetupAction {
    /// edt created it.
    Created,
    /// edt added its part, or updated it.
    Changed,
    /// It has edt's part already.
    Unchanged,
    /// It has its original content again, byte for byte.
    Restored,
    /// edt had created it, and deleted it.
    Deleted,
    /// It was changed after edt wrote it; edt removed only its own part.
    TakenOut,
    /// It stays, because another agent that is set up needs it.
    Kept,
    /// It has no part that edt wrote.
    Absent,
    /// An earlier call changed it, and this call has no access to it. The receipt keeps it.
    Left,
}

/// A file's present and future content; `None` for no file.
struct PlannedWrite {
    file: PathBuf,
    old: Option<String>,
    new: Option<String>,
    executable: bool,
}

/// Puts edt's parts into `files`; `previous` are the files with the parts of an earlier call.
///
/// # Errors
/// `BAD_REQUEST` naming every file that cannot be changed; then nothing is written. `IO_ERROR`: the
/// receipt lists what was written.
pub fn install(
    agent: &str,
    target: &SetupTarget,
    files: &[ManagedFile],
    previous: &[ManagedFile],
    store: &ReceiptStore,
    dry_run: DryRun,
) -> Result<Vec<SetupStep>> {
    let _lock = if dry_run == DryRun::No { Some(store.lock()?) } else { None };
    let (mut plans, mut steps, mut found) = (Vec::new(), Vec::new(), Vec::new());
    let known = store.find(agent, target)?;
    for managed in files {
        let planned = read(&managed.file).and_then(|old| {
            let entry = match known.files.iter().find(|one| one.file == managed.file) {
                None => store.find_in_others(agent, target, &managed.file)?,
                entry => entry.cloned(),
            };
            if entry.is_some() {
                check_unchanged(managed, old.as_deref(), store)?;
            }
            let new = managed
                .form
                .with(old.as_deref())
                .map_err(|reason| unusable(&managed.file, &reason))?;
            let detail = if old.as_ref() == Some(&new) {
                None
            } else {
                check_reachable(target, &managed.file)?
            };
            Ok((entry, old, new, detail))
        });
        let (entry, old, new, detail) = match planned {
            Ok(planned) => planned,
            Err(findings) => {
                found.extend(findings.into_vec());
                continue;
            }
        };
        let action = match &old {
            None => SetupAction::Created,
            Some(old) if *old == new => SetupAction::Unchanged,
            Some(_) => SetupAction::Changed,
        };
        steps.push(step(managed, action, detail));
        let executable = matches!(managed.form, Form::OwnFile { executable: true, .. });
        let new = Some(new);
        plans.push((PlannedWrite { file: managed.file.clone(), old, new, executable }, entry));
    }
    Refusal::check(found)?;
    if dry_run == DryRun::Yes {
        return Ok(steps);
    }
    let root = Some(target.top().to_owned());
    let mut receipt = SetupReceipt { only_edt: target.only_edt, root, ..known };
    for ((plan, entry), managed) in plans.iter().zip(files) {
        let earlier = previous.iter().find(|one| one.file == managed.file).unwrap_or(managed);
        let entry = receipt_entry(entry.as_ref(), plan, earlier)?;
        receipt.files.retain(|one| one.file != plan.file);
        receipt.files.push(entry);
        // The receipt is written before the file, so that every change can be undone.
        store.put(agent, target, &receipt)?;
        write(plan)?;
    }
    Ok(steps)
}

/// The receipt's entry for `plan`, from the present entry if there is one.
fn receipt_entry(
    entry: Option<&ReceiptFile>,
    plan: &PlannedWrite,
    earlier: &ManagedFile,
) -> Result<ReceiptFile> {
    let new = plan.new.clone().unwrap_or_default();
    let after = sha256(new.as_bytes())?;
    let directories =
        entry.map_or_else(|| missing_directories(&plan.file), |entry| entry.directories.clone());
    let original = match (entry, &plan.old) {
        (Some(entry), Some(old)) if sha256(old.as_bytes())? == entry.after => {
            entry.original.clone()
        }
        // Content from before the receipt is the user's, even under edt's name.
        (None, old) => old.clone(),
        // The file was changed since: all of it except edt's part is the user's.
        (Some(entry), Some(old)) => earlier
            .form
            .without(old, original_of(entry))
            .map_err(|reason| unusable(&plan.file, &reason))?,
        (Some(_), None) => None,
    };
    Ok(ReceiptFile { file: plan.file.clone(), original, after, directories })
}

/// Removes edt's parts from `files`, and from the other files of the receipt.
///
/// # Errors
/// As [`install`].
pub fn remove(
    agent: &str,
    target: &SetupTarget,
    files: &[ManagedFile],
    store: &ReceiptStore,
    dry_run: DryRun,
) -> Result<Vec<SetupStep>> {
    let _lock = if dry_run == DryRun::No && store.exists() { Some(store.lock()?) } else { None };
    let receipt = store.find(agent, target)?;
    let (files, unreached) = with_renamed(files, &receipt);
    let (mut plans, mut steps, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for managed in &files {
        let entry = receipt.files.iter().find(|one| one.file == managed.file);
        let planned = plan_removal(managed, entry).and_then(|(action, plan)| {
            let is_shared =
                entry.is_some() && store.find_in_others(agent, target, &plan.file)?.is_some();
            if entry.is_some() && !is_shared {
                check_unchanged(managed, plan.old.as_deref(), store)?;
            }
            let detail =
                if plan.old == plan.new { None } else { check_reachable(target, &plan.file)? };
            let is_kept = is_shared && action != SetupAction::Absent;
            let action = if is_kept { SetupAction::Kept } else { action };
            Ok((step(managed, action, detail), plan))
        });
        match planned {
            Ok((step, plan)) => {
                steps.push(step);
                plans.push((plan, entry.cloned()));
            }
            Err(findings) => found.extend(findings.into_vec()),
        }
    }
    Refusal::check(found)?;
    if dry_run == DryRun::No {
        for ((plan, _), _) in
            plans.iter().zip(&steps).filter(|(_, step)| step.action != SetupAction::Kept)
        {
            write(plan)?;
        }
        let deleted = plans.iter().filter(|(plan, _)| plan.new.is_none());
        // A receipt may be forged: edt can have made a directory only if it is above the file, and
        // below the project or the home directory.
        let below = |directory: &Path, top: &Path| directory.starts_with(top) && directory != top;
        let is_plausible = |file: &Path, directory: &Path| {
            file.starts_with(directory)
                && (below(directory, target.top()) || below(directory, &target.home))
        };
        let mut directories: Vec<&PathBuf> = deleted
            .flat_map(|(_, entry)| entry.iter())
            .flat_map(|one| {
                one.directories.iter().filter(|directory| is_plausible(&one.file, directory))
            })
            .collect();
        directories.sort_by_key(|directory| std::cmp::Reverse(directory.components().count()));
        for directory in directories {
            fs::remove_empty_dir(directory);
        }
        store.put(agent, target, &SetupReceipt { files: unreached.clone(), ..receipt })?;
    }
    steps.extend(unreached.iter().map(|one| {
        SetupStep {
        file: one.file.to_string_lossy().into_owned(),
        purpose: Purpose::Settings,
        action: SetupAction::Left,
        detail: Some(
            "set the agent's environment variables as they were when it was set up, and remove it \
             again"
                .to_owned(),
        ),
    }
    }));
    Ok(steps)
}

/// `files`, and those that the agent had under the other extension (`opencode.json` before there
/// was an `opencode.jsonc`). Also returns the rest of the receipt's files, which are reported and
/// not touched: a receipt may be forged.
fn with_renamed(
    files: &[ManagedFile],
    receipt: &SetupReceipt,
) -> (Vec<ManagedFile>, Vec<ReceiptFile>) {
    let (mut all, mut unreached) = (files.to_vec(), Vec::new());
    for one in &receipt.files {
        let is_json =
            |file: &Path| file.extension().is_some_and(|ext| ext == "json" || ext == "jsonc");
        let is_same_but_extension = |managed: &&ManagedFile| {
            is_json(&managed.file)
                && is_json(&one.file)
                && managed.file.with_extension("") == one.file.with_extension("")
        };
        if files.iter().any(|managed| managed.file == one.file)
            || matches!(fs::read_path(&one.file), Ok(PathContent::Nothing))
        {
            continue;
        }
        if let Some(managed) = files.iter().find(is_same_but_extension) {
            all.push(ManagedFile { file: one.file.clone(), ..managed.clone() });
        } else {
            unreached.push(one.clone());
        }
    }
    (all, unreached)
}

fn plan_removal(
    managed: &ManagedFile,
    entry: Option<&ReceiptFile>,
) -> Result<(SetupAction, PlannedWrite)> {
    let old = read(&managed.file)?;
    let plan = |new: Option<String>| PlannedWrite {
        file: managed.file.clone(),
        old: old.clone(),
        new,
        executable: false,
    };
    let Some(text) = &old else { return Ok((SetupAction::Absent, plan(None))) };
    if let Some(entry) = entry
        && sha256(text.as_bytes())? == entry.after
    {
        let action = match &entry.original {
            None => SetupAction::Deleted,
            Some(original) if original == text => SetupAction::Absent,
            Some(_) => SetupAction::Restored,
        };
        return Ok((action, plan(entry.original.clone())));
    }
    let original = entry.map_or(Original::Unknown, original_of);
    let new =
        managed.form.without(text, original).map_err(|reason| unusable(&managed.file, &reason))?;
    let action = match &new {
        Some(new) if new == text => SetupAction::Absent,
        Some(_) => SetupAction::TakenOut,
        None => SetupAction::Deleted,
    };
    Ok((action, plan(new)))
}

/// Checks that a file that is edt's as a whole, and that a receipt names, has nothing but what edt
/// wrote: what the user added to it is not to be replaced or deleted.
fn check_unchanged(managed: &ManagedFile, old: Option<&str>, store: &ReceiptStore) -> Result<()> {
    let (Form::OwnFile { content, mark, .. }, Some(text)) = (&managed.form, old) else {
        return Ok(());
    };
    if text == content || !text.contains(mark) || store.has_written(&managed.file, text)? {
        return Ok(());
    }
    let reason = "edt wrote all of it, and it was changed since";
    Err(unusable(&managed.file, &UnusableFile(reason.to_owned())).into())
}

fn original_of(entry: &ReceiptFile) -> Original<'_> {
    entry.original.as_deref().map_or(Original::Missing, Original::Text)
}

/// How many parts of edt are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupPresence {
    /// None.
    Absent,
    /// Some, or not as this version of edt writes them.
    Partial,
    /// All.
    Complete,
}

/// How many parts of edt `files` have. Files that cannot be read are reported in `faults`.
pub fn presence<'p>(
    files: impl IntoIterator<Item = &'p ManagedFile>,
    faults: &mut Vec<String>,
) -> SetupPresence {
    let (mut any_installed, mut all_current) = (false, true);
    for managed in files {
        let found = read(&managed.file).map_err(|findings| {
            findings.as_slice().iter().map(Finding::message).collect::<Vec<String>>()
        });
        let found = found.and_then(|old| match old {
            None => Ok((false, false)),
            Some(old) => {
                let error =
                    |reason: UnusableFile| vec![format!("{}: {}.", managed.file.shown(), reason.0)];
                let new = managed.form.with(Some(&old)).map_err(error)?;
                Ok((managed.form.occurs_in(&old), new == old))
            }
        });
        let (installed, current) = found.unwrap_or_else(|errors| {
            faults.extend(errors);
            (false, false)
        });
        any_installed |= installed;
        all_current &= current;
    }
    match (any_installed, all_current) {
        (false, _) => SetupPresence::Absent,
        (true, false) => SetupPresence::Partial,
        (true, true) => SetupPresence::Complete,
    }
}

/// The text of the file; `None` if there is no file.
fn read(file: &Path) -> Result<Option<String>> {
    let content = fs::read_path(file).map_err(|error| failed("read", file, &error))?;
    match content {
        PathContent::Nothing => Ok(None),
        PathContent::File { bytes, .. } => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(unusable(file, &UnusableFile("it is not UTF-8".to_owned())).into()),
        },
        PathContent::Other => {
            let reason = "it is not a file, or it is a dangling symbolic link".to_owned();
            Err(unusable(file, &UnusableFile(reason)).into())
        }
    }
}

/// The real path of a file that is to be changed, as a detail, if it differs from `file`.
///
/// # Errors
/// `BAD_REQUEST` if the real path is outside the project, or in a directory that is not writable.
fn check_reachable(target: &SetupTarget, file: &Path) -> Result<Option<String>> {
    let (top, real) = (fs::real_path(target.top()), fs::real_path(file));
    let within = file.strip_prefix(target.top()).ok();
    if target.scope == Scope::Project && within.is_some() && !real.starts_with(&top) {
        let reason =
            format!("a symbolic link in its path leads out of the project, to {}", real.shown());
        return Err(unusable(file, &UnusableFile(reason)).into());
    }
    let exists = |above: &&Path| !matches!(fs::read_path(above), Ok(PathContent::Nothing));
    if let Some(above) = real.ancestors().skip(1).find(exists) {
        if !above.is_dir() {
            let reason = format!("{} is not a directory", above.shown());
            return Err(unusable(file, &UnusableFile(reason)).into());
        }
        fs::check_writable(above).map_err(|error| {
            let reason = format!("{} is not writable ({error})", above.shown());
            unusable(file, &UnusableFile(reason))
        })?;
    }
    let as_named = within.map_or_else(|| file.to_owned(), |within| top.join(within));
    Ok((real != as_named).then(|| format!("its real path is {}", real.shown())))
}

fn write(plan: &PlannedWrite) -> Result<()> {
    if plan.old == plan.new {
        return Ok(());
    }
    // A symbolic link to settings elsewhere stays a link.
    let file = fs::real_path(&plan.file);
    // Agents write their own settings while they run.
    if read(&plan.file)? != plan.old {
        let reason = "another program changed it during this call".to_owned();
        return Err(unusable(&plan.file, &UnusableFile(reason)).into());
    }
    let wrap = |error: std::io::Error| failed("write", &file, &error);
    match (&plan.old, &plan.new) {
        (Some(_), Some(new)) => fs::write_atomic_same_mode(&file, new.as_bytes()).map_err(wrap)?,
        (None, Some(new)) => {
            fs::make_dir(file.parent().unwrap_or(&file)).map_err(wrap)?;
            let mode = if plan.executable { 0o777 } else { 0o666 };
            fs::write_atomic_unique(&file, new.as_bytes(), mode).map_err(wrap)?;
        }
        (_, None) => fs::remove_file(&file).map_err(wrap)?,
    }
    Ok(())
}

/// The directories above `file` that do not exist, the outermost first.
fn missing_directories(file: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = file
        .ancestors()
        .skip(1)
        .take_while(|directory| !directory.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

fn step(managed: &ManagedFile, action: SetupAction, detail: Option<String>) -> SetupStep {
    SetupStep {
        file: managed.file.to_string_lossy().into_owned(),
        purpose: managed.purpose,
        action,
        detail,
    }
}

fn unusable(file: &Path, reason: &UnusableFile) -> Finding {
    let mut finding = Finding::new(
        Code::BadRequest,
        format!("edt cannot change {}: {}.", file.shown(), reason.0),
        "Correct that file, or move it away, and call `edt setup` again.",
    )
    .with_effect(Effect::NothingWritten);
    finding.path = Some(file.to_string_lossy().into_owned());
    finding
}
