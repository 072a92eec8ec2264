//! Which sandbox levels can be had here: a program that does nothing is started at each.

use std::path::Path;

use super::doctor::{Health, Scene, Told, told};
use crate::base::{Level, Result};
use crate::io::{bounded, failed, streams};
use crate::sandbox::{NotStarted, Plan, start};

/// The probe `sandbox`.
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn probe(scene: &Scene) -> Result<Vec<Told>> {
    // Nothing runs in a bare repository.
    let (Some(program), Some(_)) = (bounded::find("true"), &scene.state) else {
        return Ok(Vec::new());
    };
    let root = crate::io::whole::real(scene.git.dir());
    let mut all = Vec::new();
    for level in [Level::Standard, Level::Strict] {
        let null = || {
            streams::open(Path::new("/dev/null"))
                .map_err(|error| failed("open", Path::new("/dev/null"), &error))
        };
        let plan = Plan { git: vec![scene.git_dir.clone()], ..Plan::new(level, &program, &root) };
        all.push(match start(&plan, null()?, null()?, null()?) {
            Ok(running) => {
                let by = running.by();
                drop(running.wait());
                told("sandbox", Health::Ok, &format!("Programs of `edt run` can be confined at {level}: {by}."), None)
            }
            Err(NotStarted::Unavailable { why, .. }) => {
                // Strict is for those who ask for it; standard is what `edt run` does.
                let health = if level == Level::Standard { Health::NotLive } else { Health::Ok };
                let next = "A person may set `sandbox = \"permissive\"` below [run] in their own edt.toml: then nothing holds what programs do.";
                let found = format!("The sandbox level {level} cannot be had here: {why}");
                told("sandbox", health, &found, (level == Level::Standard).then_some(next))
            }
            Err(NotStarted::Program(error) | NotStarted::System(error)) => {
                told("sandbox", Health::Broken, &format!("{level}: {error}."), Some("Report this message."))
            }
        });
    }
    Ok(all)
}
