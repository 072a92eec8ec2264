//! Parts carried out: every file is planned before the first is written.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::receipt::{Drawer, Receipt, Written};
use super::{Before, Form, Part, Place, Scope, Unfit, What};
use crate::base::{Code, Finding, Findings, Result};
use crate::git::sha256;
use crate::io::failed;
use crate::io::whole::{self, There};

/// What became of one file, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// The file.
    pub file: String,
    /// What it is for.
    pub what: What,
    /// What became of it.
    pub did: Did,
    /// More about it.
    pub detail: Option<String>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// Edt made it.
    Created,
    /// Edt added to it, or brought its own part up to date.
    Changed,
    /// As it should be already.
    Unchanged,
    /// It is as it was before edt came, byte for byte.
    Restored,
    /// Edt had made it, and it is gone.
    Deleted,
    /// Somebody changed it since; edt took out its own part.
    TakenOut,
    /// Another agent that edt is set up for needs the same.
    Kept,
    /// Nothing of edt's is there.
    Absent,
    /// An earlier call set edt up there; this one does not reach it, and the receipt stays.
    Left,
}

/// Whether anything is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// It is only told.
    Dry,
    /// It is done.
    Real,
}

/// A file as it will be.
struct Plan {
    file: PathBuf,
    old: Option<String>,
    new: Option<String>,
    executable: bool,
}

/// Puts `parts` in place; `were` is what an earlier call put there, if there was one.
///
/// # Errors
/// `BAD_REQUEST` naming every file that is not what it should be: nothing is then written. `IO_ERROR`: what was written is in the receipt.
pub fn set_up(
    agent: &str,
    place: &Place,
    parts: &[Part],
    were: &[Part],
    drawer: &Drawer,
    run: Run,
) -> Result<Vec<Step>> {
    let _locked = if run == Run::Real { Some(drawer.lock()?) } else { None };
    let (mut plans, mut steps, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        let planned = read(&part.file).and_then(|old| {
            let new = part.form.with(old.as_deref()).map_err(|why| unfit(&part.file, &why))?;
            let elsewhere =
                if old.as_ref() == Some(&new) { None } else { reached(place, &part.file)? };
            Ok((old, new, elsewhere))
        });
        let (old, new, elsewhere) = match planned {
            Ok(planned) => planned,
            Err(findings) => {
                found.extend(findings.into_vec());
                continue;
            }
        };
        let did = match &old {
            None => Did::Created,
            Some(old) if *old == new => Did::Unchanged,
            Some(_) => Did::Changed,
        };
        steps.push(step(part, did, elsewhere));
        let executable = matches!(part.form, Form::Whole { executable: true, .. });
        plans.push(Plan { file: part.file.clone(), old, new: Some(new), executable });
    }
    Findings::check(found)?;
    if run == Run::Dry {
        return Ok(steps);
    }
    let root = Some(place.top().to_owned());
    let mut receipt = Receipt { only_edt: place.only_edt, root, ..drawer.find(agent, place)? };
    for (plan, part) in plans.iter().zip(parts) {
        let known = match receipt.files.iter().find(|one| one.file == plan.file) {
            None => drawer.other(agent, place, &plan.file)?,
            known => known.cloned(),
        };
        let was = were.iter().find(|was| was.file == part.file).unwrap_or(part);
        let written = remembered(known.as_ref(), plan, was)?;
        receipt.files.retain(|one| one.file != plan.file);
        receipt.files.push(written);
        // First what was, then what is: a file is never changed without a way back.
        drawer.put(agent, place, &receipt)?;
        write(plan)?;
    }
    Ok(steps)
}

/// What must be known to take this out again.
fn remembered(known: Option<&Written>, plan: &Plan, was: &Part) -> Result<Written> {
    let new = plan.new.clone().unwrap_or_default();
    let after = sha256(new.as_bytes())?;
    let folders = known.map_or_else(|| missing_folders(&plan.file), |known| known.folders.clone());
    let before = match (known, &plan.old) {
        (Some(known), Some(old)) if sha256(old.as_bytes())? == known.after => known.before.clone(),
        // What stood there before anybody kept a receipt is theirs, even if it has edt's name.
        (None, old) => old.clone(),
        // Somebody changed it since: what is not edt's is theirs.
        (Some(known), Some(old)) => {
            was.form.without(old, stood(known)).map_err(|why| unfit(&plan.file, &why))?
        }
        (Some(_), None) => None,
    };
    Ok(Written { file: plan.file.clone(), before, after, folders })
}

/// Takes them out again.
///
/// # Errors
/// As [`set_up`].
pub fn remove(
    agent: &str,
    place: &Place,
    parts: &[Part],
    drawer: &Drawer,
    run: Run,
) -> Result<Vec<Step>> {
    let _locked = if run == Run::Real && drawer.is_there() { Some(drawer.lock()?) } else { None };
    let receipt = drawer.find(agent, place)?;
    let (parts, left) = with_strays(parts, &receipt);
    let (mut plans, mut steps, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for part in &parts {
        let known = receipt.files.iter().find(|one| one.file == part.file);
        let planned = taken_out(part, known).and_then(|(did, plan)| {
            let elsewhere = if plan.old == plan.new { None } else { reached(place, &plan.file)? };
            Ok((step(part, did, elsewhere), plan))
        });
        match planned {
            Ok((step, plan)) => {
                steps.push(step);
                plans.push((plan, known.cloned()));
            }
            Err(findings) => found.extend(findings.into_vec()),
        }
    }
    Findings::check(found)?;
    for ((plan, known), step) in plans.iter().zip(&mut steps) {
        if step.did != Did::Absent
            && known.is_some()
            && drawer.other(agent, place, &plan.file)?.is_some()
        {
            step.did = Did::Kept;
        } else if run == Run::Real {
            write(plan)?;
        }
    }
    if run == Run::Real {
        let gone = plans.iter().filter(|(plan, _)| plan.new.is_none());
        // A receipt may say anything: only what lies above such a file, and not above all of them, can have been made for it.
        let below = |folder: &Path, top: &Path| folder.starts_with(top) && folder != top;
        let made = |file: &Path, folder: &Path| {
            file.starts_with(folder) && (below(folder, place.top()) || below(folder, &place.home))
        };
        let mut folders: Vec<&PathBuf> = gone
            .flat_map(|(_, known)| known.iter())
            .flat_map(|one| one.folders.iter().filter(|folder| made(&one.file, folder)))
            .collect();
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        for folder in folders {
            whole::remove_empty_folder(folder);
        }
        drawer.put(agent, place, &Receipt { files: left.clone(), ..receipt })?;
    }
    steps.extend(left.iter().map(|one| {
        let why = "set the agent's variables as they were when it was set up, and remove it again"
            .to_owned();
        Step {
            file: one.file.display().to_string(),
            what: What::Settings,
            did: Did::Left,
            detail: Some(why),
        }
    }));
    Ok(steps)
}

/// The parts, and those that the same agent had under a sister's name (`opencode.json` before there was an `opencode.jsonc`); then what
/// else the receipt has. A receipt may be forged: what no part could name is told, not touched.
fn with_strays(parts: &[Part], receipt: &Receipt) -> (Vec<Part>, Vec<Written>) {
    let (mut all, mut left) = (parts.to_vec(), Vec::new());
    for one in &receipt.files {
        let json =
            |file: &Path| file.extension().is_some_and(|ext| ext == "json" || ext == "jsonc");
        let sister = |part: &&Part| {
            json(&part.file)
                && json(&one.file)
                && part.file.with_extension("") == one.file.with_extension("")
        };
        if parts.iter().any(|part| part.file == one.file)
            || matches!(whole::at(&one.file), Ok(There::Nothing))
        {
            continue;
        }
        if let Some(part) = parts.iter().find(sister) {
            all.push(Part { file: one.file.clone(), ..part.clone() });
        } else {
            left.push(one.clone());
        }
    }
    (all, left)
}

fn taken_out(part: &Part, known: Option<&Written>) -> Result<(Did, Plan)> {
    let old = read(&part.file)?;
    let plan = |new: Option<String>| Plan {
        file: part.file.clone(),
        old: old.clone(),
        new,
        executable: false,
    };
    let Some(text) = &old else { return Ok((Did::Absent, plan(None))) };
    if let Some(known) = known
        && sha256(text.as_bytes())? == known.after
    {
        let did = match &known.before {
            None => Did::Deleted,
            Some(before) if before == text => Did::Absent,
            Some(_) => Did::Restored,
        };
        return Ok((did, plan(known.before.clone())));
    }
    let before = known.map_or(Before::Unknown, stood);
    let new = part.form.without(text, before).map_err(|why| unfit(&part.file, &why))?;
    let did = match &new {
        Some(new) if new == text => Did::Absent,
        Some(_) => Did::TakenOut,
        None => Did::Deleted,
    };
    Ok((did, plan(new)))
}

fn stood(known: &Written) -> Before<'_> {
    known.before.as_deref().map_or(Before::Nothing, Before::Text)
}

/// How much of something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Nothing of edt's.
    Absent,
    /// Something of edt's, but not all, or not as this edt writes it.
    Other,
    /// All of it.
    Complete,
}

/// How much of `parts` is in place; `faults` gets what keeps a file from being read.
pub fn in_place<'p>(
    parts: impl IntoIterator<Item = &'p Part>,
    faults: &mut Vec<String>,
) -> Presence {
    let (mut some, mut all) = (false, true);
    for part in parts {
        let found = read(&part.file)
            .map_err(|findings| findings.into_vec().into_iter().map(|one| one.message).collect());
        let found = found.and_then(|old| match old {
            None => Ok((false, false)),
            Some(old) => {
                let told = |why: Unfit| vec![format!("{}: {}.", part.file.display(), why.0)];
                Ok((part.form.traces(&old), part.form.with(Some(&old)).map_err(told)? == old))
            }
        });
        let (there, same) = found.unwrap_or_else(|told: Vec<String>| {
            faults.extend(told);
            (false, false)
        });
        some |= there;
        all &= same;
    }
    match (some, all) {
        (false, _) => Presence::Absent,
        (true, false) => Presence::Other,
        (true, true) => Presence::Complete,
    }
}

/// The text of the file; `None` if there is none.
fn read(file: &Path) -> Result<Option<String>> {
    let there = whole::at(file).map_err(|error| failed("read", file, &error))?;
    match there {
        There::Nothing => Ok(None),
        There::File { bytes, .. } => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(unfit(file, &Unfit("it is not UTF-8".to_owned())).into()),
        },
        There::Other => {
            Err(unfit(file, &Unfit("it is no file, or a link that leads nowhere".to_owned()))
                .into())
        }
    }
}

/// Where a file that is to be changed really lies, if that is elsewhere.
///
/// # Errors
/// `BAD_REQUEST`: outside of the project for which it is changed, or where nothing can be written.
fn reached(place: &Place, file: &Path) -> Result<Option<String>> {
    let (top, real) = (whole::real(place.top()), whole::real(file));
    let within = file.strip_prefix(place.top()).ok();
    if place.scope == Scope::Project && within.is_some() && !real.starts_with(&top) {
        let why = format!("a link in it leads out of the project, to {}", real.display());
        return Err(unfit(file, &Unfit(why)).into());
    }
    let there = |above: &&Path| !matches!(whole::at(above), Ok(There::Nothing));
    if let Some(above) = real.ancestors().skip(1).find(there) {
        if !above.is_dir() {
            return Err(unfit(file, &Unfit(format!("{} is no folder", above.display()))).into());
        }
        whole::writable(above).map_err(|error| {
            unfit(file, &Unfit(format!("{} cannot be written ({error})", above.display())))
        })?;
    }
    let as_named = within.map_or_else(|| file.to_owned(), |within| top.join(within));
    Ok((real != as_named).then(|| format!("it lies at {}", real.display())))
}

fn write(plan: &Plan) -> Result<()> {
    if plan.old == plan.new {
        return Ok(());
    }
    // A link to settings that are kept elsewhere stays one.
    let file = whole::real(&plan.file);
    // Agents write their own settings while they run.
    if read(&plan.file)? != plan.old {
        return Err(unfit(
            &plan.file,
            &Unfit("it was changed at this moment; call again".to_owned()),
        )
        .into());
    }
    let wrap = |error: std::io::Error| failed("write", &file, &error);
    match (&plan.old, &plan.new) {
        (Some(_), Some(new)) => whole::put_like(&file, new.as_bytes()).map_err(wrap)?,
        (None, Some(new)) => {
            whole::make_folder(file.parent().unwrap_or(&file)).map_err(wrap)?;
            let mode = if plan.executable { 0o777 } else { 0o666 };
            whole::put_beside(&file, new.as_bytes(), mode).map_err(wrap)?;
        }
        (_, None) => whole::remove(&file).map_err(wrap)?,
    }
    Ok(())
}

/// The folders above `file` that are not there, the outermost first.
fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = file
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

fn step(part: &Part, did: Did, detail: Option<String>) -> Step {
    Step { file: part.file.display().to_string(), what: part.what, did, detail }
}

fn unfit(file: &Path, why: &Unfit) -> Finding {
    let mut finding = Finding::new(
        Code::BadRequest,
        format!("{} was left alone: {}. Nothing was written.", file.display(), why.0),
        "Mend that file, or move it away, and call `edt setup` again.",
    );
    finding.path = Some(file.display().to_string());
    finding
}
