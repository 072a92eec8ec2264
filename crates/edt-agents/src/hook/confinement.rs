//! Probes which sandbox levels are available, by starting the program `true` at each.

use std::path::Path;

use super::probe::{DoctorContext, Health, ProbeResult, probe_result};
use edt_io::{Environment, bounded, failed, streams};
use edt_run::sandbox::{IS_SUPPORTED, SandboxPlan, StartError, start};
use edt_types::{Level, Result};

/// The probe `sandbox`.
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn probe(context: &DoctorContext) -> Result<Vec<ProbeResult>> {
    // edt runs no programs in a bare repository.
    let (Some(program), Some(_)) = (bounded::find(Environment::Process, "true"), &context.state)
    else {
        return Ok(Vec::new());
    };
    if !IS_SUPPORTED {
        let found = "`edt run` starts programs on Linux alone.";
        return Ok(vec![probe_result("sandbox", Health::NotLive, found, None)]);
    }
    let root = edt_io::fs::real_path(context.git.dir());
    let mut results = Vec::new();
    for level in [Level::Standard, Level::Strict] {
        let null = || {
            streams::open(Path::new("/dev/null"))
                .map_err(|error| failed("open", Path::new("/dev/null"), &error))
        };
        let plan = SandboxPlan {
            git: vec![context.git_dir.clone()],
            ..SandboxPlan::new(level, &program, &root)
        };
        results.push(match start(&plan, null()?, null()?, null()?) {
            Ok(running) => {
                let mechanism = running.by();
                drop(running.wait());
                let found = format!("`edt run` can confine programs at {level}: {mechanism}.");
                probe_result("sandbox", Health::Ok, &found, None)
            }
            Err(StartError::Unavailable { why, .. }) => {
                // `edt run` uses standard unless the caller asks for strict.
                let health = if level == Level::Standard { Health::NotLive } else { Health::Ok };
                let next = "The user may set `sandbox = \"permissive\"` below [run] in the user's \
                            own edt.toml: then programs are not confined.";
                let found = format!("The sandbox level {level} is unavailable here: {why}");
                probe_result("sandbox", health, &found, (level == Level::Standard).then_some(next))
            }
            Err(StartError::Program(error) | StartError::System(error)) => {
                let found = format!("{level}: {error}.");
                probe_result("sandbox", Health::Broken, &found, Some("Report this message."))
            }
        });
    }
    Ok(results)
}
