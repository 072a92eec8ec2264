//! A run's folder: `run.json` says what the run is, `results.jsonl` has a line for each unit that is done.

use std::path::{Path, PathBuf};

use super::plan::{Plan, Shard, Unit, mismatch};
use super::record::Done;
use crate::base::{Code, Finding, Result};
use crate::io::lock::{self, Held};
use crate::io::{failed, folder, whole};

const RUN: &str = "run.json";
const RESULTS: &str = "results.jsonl";
/// The most that a folder's files may have, in bytes.
const MOST: u64 = 4 * 1024 * 1024 * 1024;

/// A run's folder, while the run goes on.
#[derive(Debug)]
pub struct Store {
    results: PathBuf,
    _held: Held,
}

impl Store {
    /// Begins or continues the run `plan` in `dir`; what was done there already.
    ///
    /// # Errors
    /// `FILE_EXISTS` if there is a run in it and `resume` is not asked for; `BENCH_MISMATCH` if it is another run; `SESSION_BUSY` if
    /// another process works on it; `IO_ERROR`.
    pub fn open(dir: &Path, plan: &Plan, resume: bool) -> Result<(Store, Vec<Done>)> {
        whole::make_folder(dir).map_err(|error| failed("make", dir, &error))?;
        let held = lock::take(&dir.join("lock"), "bench", std::time::Duration::from_secs(1))?;
        let (run, results) = (dir.join(RUN), dir.join(RESULTS));
        let mut done = Vec::new();
        if run.exists() {
            if !resume {
                let message =
                    format!("{} has results of a run already. Nothing was run.", dir.display());
                let hint = "Go on with it with --resume, or name another folder with --out.";
                return Err(Finding::new(Code::FileExists, message, hint).into());
            }
            let (earlier, lines, len) = read(dir)?;
            earlier.check_same(plan)?;
            if earlier.shard != plan.shard {
                return Err(
                    mismatch(&format!("{} has another shard of the run", dir.display())).into()
                );
            }
            // A line that was being written when the run was killed is written anew.
            if whole::size(&results).is_some_and(|size| size > len) {
                folder::cut(&results, len).map_err(|error| failed("mend", &results, &error))?;
            }
            done = lines;
        } else {
            let text = serde_json::to_vec_pretty(plan).unwrap_or_default();
            whole::put(&run, &text, 0o644).map_err(|error| failed("write", &run, &error))?;
        }
        Ok((Store { results, _held: held }, done))
    }

    /// Puts a unit down: when this returns, it is on the medium.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn add(&self, done: &Done) -> Result<()> {
        let line = serde_json::to_string(done).unwrap_or_default();
        folder::add_line(&self.results, &line)
            .map_err(|error| failed("write", &self.results, &error).into())
    }
}

/// The run in `dir`, and what is done of it, in the order of reports.
///
/// # Errors
/// `FILE_NOT_FOUND` if there is none; `BENCH_MISMATCH` if a line is no result of it.
pub fn load(dir: &Path) -> Result<(Plan, Vec<Done>)> {
    let (plan, done, _) = read(dir)?;
    let done = in_order(&plan, done)?;
    Ok((plan, done))
}

/// Puts the shards in `dirs` together in `out`.
///
/// # Errors
/// As [`load`]; `BENCH_MISMATCH` if they are not of one run, or have the same unit with different results; `FILE_EXISTS`.
pub fn merge(dirs: &[PathBuf], out: &Path) -> Result<(Plan, Vec<Done>)> {
    let mut all: Vec<Done> = Vec::new();
    let mut first: Option<Plan> = None;
    for dir in dirs {
        let (plan, done) = load(dir)?;
        match &first {
            Some(first) => first.check_same(&plan)?,
            None => first = Some(plan),
        }
        all.extend(done);
    }
    let Some(plan) = first else {
        return Err(Finding::new(
            Code::BadRequest,
            "There is nothing to merge.",
            "Name the folders of the shards.",
        )
        .into());
    };
    let plan = Plan { shard: Shard::WHOLE, ..plan };
    let done = in_order(&plan, all)?;
    let (store, _) = Store::open(out, &plan, false)?;
    done.iter().try_for_each(|one| store.add(one))?;
    Ok((plan, done))
}

/// The plan, the results, and how many bytes of results are whole lines.
fn read(dir: &Path) -> Result<(Plan, Vec<Done>, u64)> {
    let (run, results) = (dir.join(RUN), dir.join(RESULTS));
    let bytes =
        |file: &Path| whole::read_at_most(file, MOST).map_err(|error| failed("read", file, &error));
    if !run.exists() {
        let message =
            format!("{} has no run of the benchmark: there is no {RUN} in it.", dir.display());
        return Err(
            Finding::new(Code::FileNotFound, message, "Name the folder that --out named.").into()
        );
    }
    let text = bytes(&run)?.unwrap_or_default();
    let plan: Plan = serde_json::from_slice(&text)
        .map_err(|error| mismatch(&format!("{} cannot be read: {error}", run.display())))?;
    if plan.schema != Plan::SCHEMA {
        return Err(mismatch(&format!(
            "{} is a {}, not a {}",
            run.display(),
            plan.schema,
            Plan::SCHEMA
        ))
        .into());
    }
    let text = if results.exists() { bytes(&results)?.unwrap_or_default() } else { Vec::new() };
    // What stands behind the last line end was being written.
    let len = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
    let lines =
        text[..len].split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).enumerate();
    let parsed = lines.map(|(at, line)| {
        serde_json::from_slice(line).map_err(|error| {
            mismatch(&format!("Line {} of {} is no result: {error}", at + 1, results.display()))
                .into()
        })
    });
    Ok((plan, parsed.collect::<Result<_>>()?, len as u64))
}

/// The results in the order of the plan's units, each once.
fn in_order(plan: &Plan, all: Vec<Done>) -> Result<Vec<Done>> {
    let units = plan.units();
    let place = |unit: &Unit| units.iter().position(|one| one == unit);
    let mut placed: Vec<(usize, Done)> = Vec::new();
    for done in all {
        let Some(at) = place(&done.unit) else {
            return Err(mismatch(&format!("{} is no part of the run", done.unit.name())).into());
        };
        placed.push((at, done));
    }
    placed.sort_by_key(|(at, _)| *at);
    let mut kept: Vec<(usize, Done)> = Vec::new();
    for (at, done) in placed {
        match kept.last() {
            Some((before, known)) if *before == at => {
                if known.runs != done.runs {
                    return Err(mismatch(&format!(
                        "There are two different results of {}",
                        done.unit.name()
                    ))
                    .into());
                }
            }
            _ => kept.push((at, done)),
        }
    }
    Ok(kept.into_iter().map(|(_, done)| done).collect())
}
