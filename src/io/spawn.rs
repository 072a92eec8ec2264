//! The one place that starts `git`; `bounded` starts what `edt.toml` names. Nothing on the path of `apply`, `undo`, `log` or
//! `status` comes here, except for an index that only Git itself can rewrite.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::effect::{self, Effect};
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

/// The names of edt's own hooks in Git's configuration (Git 2.54 and newer).
pub const CONFIG_HOOKS: [&str; 4] =
    ["edt-pre-commit", "edt-pre-push", "edt-reference-transaction", "edt-pre-receive"];

/// Events of a local repository for which Git's configuration may name hooks; a Git that knows the switch leaves out all of them.
const EVENTS: [&str; 6] = [
    "reference-transaction",
    "post-index-change",
    "post-checkout",
    "post-rewrite",
    "pre-auto-gc",
    "proc-receive",
];

/// Commands that may ask a hook of the configuration, whatever its name.
const ASKING: [&str; 8] = [
    "update-ref",
    "update-index",
    "read-tree",
    "worktree",
    "reset",
    "repack",
    "symbolic-ref",
    "checkout-index",
];

/// What the environment may say of one repository and not of another (`git rev-parse --local-env-vars`, without its configuration).
const LOCAL: [&str; 12] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_NO_REPLACE_OBJECTS",
];

/// Whether a `git` that edt starts runs the hooks it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hooks {
    /// It does not, nor any other program that the repository names (fsmonitor, signing).
    Off,
    /// It does, as it would for a person: to see whether they refuse, or because a person's own commit would ask them.
    Live,
}

/// Runs `git` in `dir` with exactly these arguments and `input` on standard input. Programs that the repository names
/// (hooks, fsmonitor, signing) are switched off.
///
/// # Errors
/// `PROGRAM_NOT_FOUND` if there is no `git`; `IO_ERROR` if it could not be started or fed.
pub fn git(dir: &Path, args: &[&str], input: &[u8]) -> Result<Ran> {
    git_with(dir, args, input, Hooks::Off, &[])
}

/// The same under further settings, which may have any name.
///
/// # Errors
/// As [`git`].
pub fn git_with_settings(
    dir: &Path,
    settings: &[(String, &'static str)],
    args: &[&str],
    input: &[u8],
) -> Result<Ran> {
    let env = settings_env(settings);
    let env: Vec<(&str, &OsStr)> =
        env.iter().map(|(name, value)| (name.as_str(), value.as_os_str())).collect();
    git_with(dir, args, input, Hooks::Off, &env)
}

/// The same for a repository that `dir` or the arguments name, whatever the environment says of the one that edt works in.
///
/// # Errors
/// As [`git`].
pub fn git_elsewhere<A: AsRef<OsStr>>(
    dir: &Path,
    settings: &[(String, &'static str)],
    args: &[A],
) -> Result<Ran> {
    let env = settings_env(settings);
    let env: Vec<(&str, &OsStr)> =
        env.iter().map(|(name, value)| (name.as_str(), value.as_os_str())).collect();
    let mut command = command("git", dir, &env);
    for name in LOCAL {
        command.env_remove(name);
    }
    run(command, args, b"", Hooks::Off)
}

fn settings_env(settings: &[(String, &'static str)]) -> Vec<(String, OsString)> {
    let given = std::env::var("GIT_CONFIG_COUNT")
        .ok()
        .and_then(|count| count.parse::<usize>().ok())
        .unwrap_or(0);
    let mut env: Vec<(String, OsString)> =
        vec![("GIT_CONFIG_COUNT".into(), (given + settings.len()).to_string().into())];
    for ((key, value), n) in settings.iter().zip(given..) {
        env.push((format!("GIT_CONFIG_KEY_{n}"), key.into()));
        env.push((format!("GIT_CONFIG_VALUE_{n}"), value.into()));
    }
    env
}

/// The same, with more in the environment, and with the repository's hooks if they are what is asked for.
///
/// # Errors
/// As [`git`].
pub fn git_with<A: AsRef<OsStr>>(
    dir: &Path,
    args: &[A],
    input: &[u8],
    hooks: Hooks,
    env: &[(&str, &OsStr)],
) -> Result<Ran> {
    run(command("git", dir, env), args, input, hooks)
}

fn run<A: AsRef<OsStr>>(
    mut command: Command,
    args: &[A],
    input: &[u8],
    hooks: Hooks,
) -> Result<Ran> {
    let mut quiet: Vec<String> = Vec::new();
    if hooks == Hooks::Off {
        // Nothing is fetched behind anyone's back (Git 2.45 and newer heed this).
        command.env("GIT_NO_LAZY_FETCH", "1");
        // What Git writes for edt is in no journal of edt's: it is synced.
        let off = [
            "core.fsmonitor=false",
            "core.hooksPath=/dev/null",
            "commit.gpgSign=false",
            "core.fsync=all",
        ];
        let off = off.map(str::to_owned);
        let own =
            CONFIG_HOOKS.iter().chain(&EVENTS).map(|name| format!("hook.{name}.enabled=false"));
        if args.iter().any(|arg| ASKING.iter().any(|name| arg.as_ref() == *name)) {
            disable_configured(&mut command)?;
        }
        quiet = off.into_iter().chain(own).flat_map(|set| ["-c".to_owned(), set]).collect();
    }
    let started = effect::step(Effect::Start, Path::new("git"))
        .and_then(|()| command.args(quiet).args(args).spawn());
    let mut child = started.map_err(|error| not_started("git", &error))?;
    let pipe = child.stdin.take();
    // Fed from beside: a program may answer before it has read all.
    let (fed, output) = std::thread::scope(|scope| {
        let feeder = scope.spawn(|| pipe.map_or(Ok(()), |mut pipe| pipe.write_all(input)));
        let output = child.wait_with_output();
        (feeder.join().unwrap_or(Ok(())), output)
    });
    let output = output.map_err(|error| not_started("git", &error))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if let Err(error) = fed
        && output.status.success()
        && hooks == Hooks::Off
    {
        return Err(not_started("git", &error).into());
    }
    Ok(Ran { ok: output.status.success(), stdout: output.stdout, stderr })
}

/// Switches off every hook that the configuration names, for the `git` that is about to run: Git 2.54 and newer run them, and know no
/// switch for all.
fn disable_configured(command: &mut Command) -> Result<()> {
    let dir = command.get_current_dir().unwrap_or(Path::new(".")).to_owned();
    let mut ask = self::command("git", &dir, &[]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => ask.env(name, value),
            None => ask.env_remove(name),
        };
    }
    ask.args(["config", "--null", "--name-only", "--get-regexp", r"^hook\..*\.command$"])
        .stdin(Stdio::null());
    let listed = ask.output().map_err(|error| not_started("git", &error))?.stdout;
    let keys: Vec<&[u8]> =
        listed.split(|&byte| byte == 0).filter_map(|key| key.strip_suffix(b".command")).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let set = command
        .get_envs()
        .find(|(name, _)| *name == "GIT_CONFIG_COUNT")
        .and_then(|(_, value)| value);
    let given = set.map(OsStr::to_owned).or_else(|| std::env::var_os("GIT_CONFIG_COUNT"));
    let given = given.and_then(|count| count.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    // Through the environment: with `-c` a name could hold a `=`.
    for (key, n) in keys.iter().zip(given..) {
        let key = [key, b".enabled".as_slice()].concat();
        command
            .env(format!("GIT_CONFIG_KEY_{n}"), OsStr::from_bytes(&key))
            .env(format!("GIT_CONFIG_VALUE_{n}"), "false");
    }
    command.env("GIT_CONFIG_COUNT", (given + keys.len()).to_string());
    Ok(())
}

/// Runs a hook's script as Git would, with `input`: only to see whether it refuses.
///
/// # Errors
/// `IO_ERROR` if it could not be started.
pub fn script(
    path: &Path,
    dir: &Path,
    args: &[&str],
    input: &[u8],
    env: &[(&str, &OsStr)],
) -> Result<Ran> {
    let shown = path.display().to_string();
    let started =
        effect::step(Effect::Start, path).and_then(|()| command(path, dir, env).args(args).spawn());
    let mut child = started.map_err(|error| not_started(&shown, &error))?;
    // A few lines: they fit a pipe, whether they are read or not.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(input));
    let output = child.wait_with_output().map_err(|error| not_started(&shown, &error))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Ran { ok: output.status.success(), stdout: output.stdout, stderr })
}

#[expect(clippy::disallowed_methods, reason = "the one place that starts git and its hooks")]
fn command(program: impl AsRef<OsStr>, dir: &Path, env: &[(&str, &OsStr)]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).envs(env.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn not_started(program: &str, error: &std::io::Error) -> Finding {
    let code = if error.kind() == std::io::ErrorKind::NotFound {
        Code::ProgramNotFound
    } else {
        Code::IoError
    };
    Finding::new(
        code,
        format!("Could not run {program}: {error}."),
        "Install Git (2.39 or newer) and put it on PATH.",
    )
}
