//! The one place that starts `git`; `bounded` starts what `edt.toml` names. Nothing on the path of `apply`, `undo`, `log` or
//! `status` comes here, except for an index that only Git itself can rewrite.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::base::{Code, Finding, Result};

/// What a program left.
#[derive(Debug)]
pub struct Ran {
    /// Whether it exited with status 0.
    pub ok: bool,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: String,
}

/// Runs `git` in `dir` with exactly these arguments and `input` on standard input. Programs that the repository names
/// (hooks, fsmonitor, signing) are switched off.
///
/// # Errors
/// `PROGRAM_NOT_FOUND` if there is no `git`; `IO_ERROR` if it could not be started or fed.
pub fn git(dir: &Path, args: &[&str], input: &[u8]) -> Result<Ran> {
    git_with_settings(dir, &[], args, input)
}

/// The same under further settings, which may have any name.
///
/// # Errors
/// As [`git`].
pub fn git_with_settings(dir: &Path, settings: &[(String, &'static str)], args: &[&str], input: &[u8]) -> Result<Ran> {
    let given = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
    let numbered = settings.iter().zip(given..);
    let quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false"];
    let mut command = program(dir);
    command.args(quiet).args(args).stdin(Stdio::piped());
    command.env("GIT_CONFIG_COUNT", (given + settings.len()).to_string());
    command.envs(numbered.clone().map(|((key, _), n)| (format!("GIT_CONFIG_KEY_{n}"), key)));
    command.envs(numbered.map(|((_, value), n)| (format!("GIT_CONFIG_VALUE_{n}"), value)));
    run(command, input)
}

/// Runs `git` in `dir` with its hooks and settings as they are, for what a person asked Git to do; `env` is added.
///
/// # Errors
/// As [`git`].
pub fn git_as_set_up(dir: &Path, env: &[(&str, OsString)], args: &[&OsStr]) -> Result<Ran> {
    let mut command = program(dir);
    command.args(args).envs(env.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
    run(command, b"")
}

#[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
fn program(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(mut command: Command, input: &[u8]) -> Result<Ran> {
    let mut child = command.spawn().map_err(|error| not_started(&error))?;
    let fed = child.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(input));
    let output = child.wait_with_output().map_err(|error| not_started(&error))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if let Err(error) = fed
        && output.status.success()
    {
        return Err(not_started(&error).into());
    }
    Ok(Ran { ok: output.status.success(), stdout: output.stdout, stderr })
}

fn not_started(error: &std::io::Error) -> Finding {
    let code = if error.kind() == std::io::ErrorKind::NotFound { Code::ProgramNotFound } else { Code::IoError };
    Finding::new(code, format!("Could not run git: {error}."), "Install Git (2.39 or newer) and put it on PATH.")
}
