//! A run's directory: `run.json` describes the run, `results_path.jsonl` has one line per finished unit.

use std::path::{Path, PathBuf};

use super::plan::{RunPlan, Shard, Unit, mismatch};
use super::results::UnitResult;
use edt_io::lock::{self, LockGuard};
use edt_io::{directory, failed, fs};
use edt_types::{Code, Finding, Result};

const RUN: &str = "run.json";
const RESULTS: &str = "results.jsonl";
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// The locked directory of a run in progress.
#[derive(Debug)]
pub struct ResultsDir {
    results_path: PathBuf,
    _lock: LockGuard,
}

impl ResultsDir {
    /// Begins the run `plan` in `dir`, or continues it if `resume` is set. Returns the results that
    /// are already there.
    ///
    /// # Errors
    /// `FILE_EXISTS` if there is a run and `resume` is not set; `BENCH_MISMATCH` if it is another
    /// run; `SESSION_BUSY` if another process works on it; `IO_ERROR`.
    pub fn open(dir: &Path, plan: &RunPlan, resume: bool) -> Result<(ResultsDir, Vec<UnitResult>)> {
        fs::make_dir(dir).map_err(|error| failed("make", dir, &error))?;
        let lock_guard =
            lock::acquire(&dir.join("lock"), "edt-bench", std::time::Duration::from_secs(1))?;
        let (run, results_path) = (dir.join(RUN), dir.join(RESULTS));
        let mut results = Vec::new();
        if run.exists() {
            if !resume {
                let summary = format!("{} already has results of a run.", dir.display());
                let remedy = "Continue it with --resume, or name another directory with --out.";
                return Err(Finding::new(Code::FileExists, summary, remedy)
                    .nothing_changed()
                    .into());
            }
            let (earlier, lines, len) = read(dir)?;
            earlier.check_same(plan)?;
            if earlier.shard != plan.shard {
                return Err(
                    mismatch(&format!("{} has another shard of the run", dir.display())).into()
                );
            }
            // An incomplete last line, left by a killed run, is cut off; its unit is done again.
            if fs::size(&results_path).is_some_and(|size| size > len) {
                directory::truncate(&results_path, len)
                    .map_err(|error| failed("truncate", &results_path, &error))?;
            }
            results = lines;
        } else {
            let text = serde_json::to_vec_pretty(plan).unwrap_or_default();
            fs::write_atomic(&run, &text, 0o644).map_err(|error| failed("write", &run, &error))?;
        }
        Ok((ResultsDir { results_path, _lock: lock_guard }, results))
    }

    /// Appends the results of a unit; they are on stable storage when this returns.
    pub fn append(&self, results: &UnitResult) -> Result<()> {
        let line = serde_json::to_string(results).unwrap_or_default();
        directory::append_line(&self.results_path, &line)
            .map_err(|error| failed("write", &self.results_path, &error).into())
    }
}

/// The run in `dir` with its results, in the order of reports.
///
/// # Errors
/// `FILE_NOT_FOUND` if there is no run; `BENCH_MISMATCH` if a line is not a result of it.
pub fn load(dir: &Path) -> Result<(RunPlan, Vec<UnitResult>)> {
    let (plan, results, _) = read(dir)?;
    let results = in_order(&plan, results)?;
    Ok((plan, results))
}

/// Writes the results of all `dirs`, shards of one run, to `out`.
///
/// # Errors
/// As [`load`]; `BENCH_MISMATCH` if they are shards of different runs, or have different results of
/// one unit; `FILE_EXISTS`.
pub fn merge(dirs: &[PathBuf], out: &Path) -> Result<(RunPlan, Vec<UnitResult>)> {
    let mut all: Vec<UnitResult> = Vec::new();
    let mut first: Option<RunPlan> = None;
    for dir in dirs {
        let (plan, results) = load(dir)?;
        match &first {
            Some(first) => first.check_same(&plan)?,
            None => first = Some(plan),
        }
        all.extend(results);
    }
    let Some(plan) = first else {
        return Err(Finding::new(
            Code::BadRequest,
            "No shard is named.",
            "Name the directories of the shards.",
        )
        .into());
    };
    let plan = RunPlan { shard: Shard::WHOLE, ..plan };
    let results = in_order(&plan, all)?;
    let (out_dir, _) = ResultsDir::open(out, &plan, false)?;
    results.iter().try_for_each(|result| out_dir.append(result))?;
    Ok((plan, results))
}

/// The plan, the results, and the length of the complete lines in bytes.
fn read(dir: &Path) -> Result<(RunPlan, Vec<UnitResult>, u64)> {
    let (run, results_path) = (dir.join(RUN), dir.join(RESULTS));
    let bytes = |file: &Path| {
        fs::read_file_limited(file, MAX_BYTES).map_err(|error| failed("read", file, &error))
    };
    if !run.exists() {
        let summary = format!("{} is not the directory of a run: it has no {RUN}.", dir.display());
        let remedy = "Name the directory that --out named.";
        return Err(Finding::new(Code::FileNotFound, summary, remedy).into());
    }
    let text = bytes(&run)?.unwrap_or_default();
    let plan: RunPlan = serde_json::from_slice(&text)
        .map_err(|error| mismatch(&format!("{} cannot be parsed: {error}", run.display())))?;
    if plan.schema != RunPlan::SCHEMA {
        return Err(mismatch(&format!(
            "{} has the schema {}, not {}",
            run.display(),
            plan.schema,
            RunPlan::SCHEMA
        ))
        .into());
    }
    let text =
        if results_path.exists() { bytes(&results_path)?.unwrap_or_default() } else { Vec::new() };
    // A last line without a line end was being written.
    let len = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
    let lines =
        text[..len].split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).enumerate();
    let parsed = lines.map(|(at, line)| {
        serde_json::from_slice(line).map_err(|error| {
            mismatch(&format!(
                "Line {} of {} is not a result: {error}",
                at + 1,
                results_path.display()
            ))
            .into()
        })
    });
    Ok((plan, parsed.collect::<Result<_>>()?, len as u64))
}

/// The results in the order of the plan's units, without duplicates.
fn in_order(plan: &RunPlan, all: Vec<UnitResult>) -> Result<Vec<UnitResult>> {
    let units = plan.units();
    let place = |unit: &Unit| units.iter().position(|result| result == unit);
    let mut numbered: Vec<(usize, UnitResult)> = Vec::new();
    for results in all {
        let Some(at) = place(&results.unit) else {
            return Err(
                mismatch(&format!("{} is not a unit of the run", results.unit.name())).into()
            );
        };
        numbered.push((at, results));
    }
    numbered.sort_by_key(|(at, _)| *at);
    let mut unique: Vec<(usize, UnitResult)> = Vec::new();
    for (at, results) in numbered {
        match unique.last() {
            Some((before, known)) if *before == at => {
                if known.runs != results.runs {
                    return Err(mismatch(&format!(
                        "There are two different results of {}",
                        results.unit.name()
                    ))
                    .into());
                }
            }
            _ => unique.push((at, results)),
        }
    }
    Ok(unique.into_iter().map(|(_, results)| results).collect())
}
