//! Programs that work in a directory of their own, whatever repository the caller works in.

use std::ffi::OsStr;
use std::path::Path;

use super::{CommandOutput, Hooks, LOCAL, capture, command, remove, run};
use crate::Environment;
use edt_types::Result;

/// Further variables that would make a command for one repository write to another one, or read its
/// settings.
const LOCAL_SETTINGS: [&str; 6] = [
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_NAMESPACE",
    "GIT_QUARANTINE_PATH",
    "GIT_TEMPLATE_DIR",
];

/// Runs `git` or another program in the new directory `dir`, without the variables that name a
/// repository or its settings: nothing outside `dir` becomes the repository. Git runs no hooks.
///
/// # Errors
/// As [`captured`](super::captured).
pub fn in_new_directory(
    program: &Path,
    dir: &Path,
    args: &[&str],
    input: &[u8],
    env: &[(&str, &OsStr)],
) -> Result<CommandOutput> {
    let mut command = command(Environment::Process, program, dir, env);
    remove(&mut command, &LOCAL);
    remove(&mut command, &LOCAL_SETTINGS);
    if program == Path::new("git") {
        return run(Environment::Process, command, args, input, Hooks::Off);
    }
    capture(command, program, args, input)
}
