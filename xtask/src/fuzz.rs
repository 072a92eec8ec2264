//! `cargo xtask fuzz`: each fuzz target for some seconds.

use std::path::Path;
use std::process::Command;

/// The longest time for one input, in seconds, and the most memory in MiB.
const LIMITS: [&str; 2] = ["-timeout=5", "-rss_limit_mb=1024"];

/// Runs the targets one by one, and ends at the first that fails.
pub(crate) fn fuzz(args: &[String]) -> Result<(), String> {
    let usage = "fuzz SECONDS [TARGET]";
    let (seconds, only) = match args {
        [seconds] => (seconds, None),
        [seconds, target] => (seconds, Some(target)),
        _ => return Err(usage.to_owned()),
    };
    let seconds: u32 = seconds.parse().map_err(|_| usage.to_owned())?;
    let fuzz = super::root().join("fuzz");
    let mut targets = names(&fuzz.join("fuzz_targets"))?;
    targets.retain(|target| only.is_none_or(|only| only == target));
    if targets.is_empty() {
        return Err("there is no such target".to_owned());
    }
    for target in targets {
        println!("{target}");
        // What a run finds goes to the first directory.
        let corpus = fuzz.join("corpus").join(&target);
        std::fs::create_dir_all(&corpus).map_err(|error| error.to_string())?;
        let seeds = [fuzz.join("seeds").join(&target), super::root().join("fixtures/formats")];
        let mut command = Command::new("cargo");
        command.current_dir(&fuzz).args(["+nightly", "fuzz", "run", "--fuzz-dir", ".", &target]);
        command.arg(corpus).args(seeds.iter().find(|seeds| seeds.is_dir()));
        command.arg("--").args(LIMITS).arg(format!("-max_total_time={seconds}"));
        // The toolchain of this repository is another one.
        command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(format!("{target}: {status}")),
            Err(error) => return Err(format!("cargo: {error}")),
        }
    }
    Ok(())
}

/// The names of the files in `directory`, without `.rs`.
fn names(directory: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
    let stem = |entry: std::io::Result<std::fs::DirEntry>| {
        Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned())
    };
    let mut names: Vec<String> = entries.filter_map(stem).collect();
    names.sort();
    Ok(names)
}
