//! Starts `git`, Git hooks and `ssh-keygen`. Nothing in `apply`, `undo`, `log` or `status` needs it, except for
//! an index that only Git can rewrite. [`bounded`](super::bounded) starts the programs that
//! `edt.toml` names.

mod for_user;
mod new_directory;

use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use super::Environment;
use super::effect::{self, SideEffect};
use super::platform;
use edt_types::{Code, Finding, Result};

pub use for_user::{edit, page, show};
pub use new_directory::in_new_directory;

#[derive(Debug)]
pub struct CommandOutput {
    /// Whether the exit status was 0.
    pub ok: bool,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// The names of edt's own hooks in Git's configuration (Git 2.54 and newer).
pub const CONFIG_HOOKS: [&str; 4] =
    ["edt-pre-commit", "edt-pre-push", "edt-reference-transaction", "edt-pre-receive"];

/// Events of a local repository for which Git's configuration can define hooks. Disabling an event
/// disables all of its hooks, if Git knows the setting.
const EVENTS: [&str; 6] = [
    "reference-transaction",
    "post-index-change",
    "post-checkout",
    "post-rewrite",
    "pre-auto-gc",
    "proc-receive",
];

/// Git commands that may run a configured hook of any name.
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

/// Variables that make Git write to a file (git(1)).
const TRACES: [&str; 16] = [
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
    "GIT_TRACE_BARE",
    "GIT_TRACE_CURL",
    "GIT_TRACE_FSMONITOR",
    "GIT_TRACE_PACKET",
    "GIT_TRACE_PACKFILE",
    "GIT_TRACE_PACK_ACCESS",
    "GIT_TRACE_PERFORMANCE",
    "GIT_TRACE_REFS",
    "GIT_TRACE_SETUP",
    "GIT_TRACE_SHALLOW",
    "GIT_TRACE_SUBMODULE",
    "GIT_TRACE_CONVERT",
];

/// Variables that name programs, or settings that name programs.
const PLACES: [&str; 5] =
    ["GIT_ASKPASS", "GIT_EXEC_PATH", "GNUPGHOME", "SSH_ASKPASS", "XDG_CONFIG_HOME"];

/// The memory of a `git` of [`git_limited`], in bytes, without the files that it maps.
pub const GIT_MEMORY: u64 = 256 << 20;
/// The output of a `git` of [`git_limited`] that is read, in bytes.
pub const GIT_OUTPUT: u64 = 128 << 20;

/// Environment variables that belong to one repository (`git rev-parse --local-env-vars`, without
/// those of the configuration).
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

/// Whether a `git` that edt starts runs hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hooks {
    /// Git runs no hook, and no other program that the repository names (fsmonitor, signing).
    Off,
    /// Git runs hooks or the signing program, without what an agent's environment may name.
    Guarded,
    /// Git runs hooks as it does for the user: to see whether they refuse, or because the user's
    /// own commit would run them.
    On,
}

/// Runs `git` in `dir` and in `environment`, with these arguments and `input` on standard input.
/// Programs that the
/// repository names (hooks, fsmonitor, signing) are disabled.
///
/// # Errors
/// `PROGRAM_NOT_FOUND` if there is no `git`; `IO_ERROR` if it could not be started or given its
/// input.
pub fn git(
    environment: Environment,
    dir: &Path,
    args: &[&str],
    input: &[u8],
) -> Result<CommandOutput> {
    git_with(environment, dir, args, input, Hooks::Off, &[])
}

/// As [`git`], with bounded memory and output. `None` if one of them was not enough.
///
/// # Errors
/// As [`git`].
pub fn git_limited(
    environment: Environment,
    dir: &Path,
    args: &[&str],
    input: &[u8],
) -> Result<Option<CommandOutput>> {
    // Git's message says whether its memory was enough.
    let mut command = command(
        environment,
        "git",
        dir,
        &[
            ("LC_ALL", OsStr::new("C")),
            // Whoever can push a replacement would decide what a hook sees.
            ("GIT_NO_REPLACE_OBJECTS", OsStr::new("1")),
        ],
    );
    let mut child = start(environment, &mut command, args, Hooks::Off)?;
    platform::limit_memory(&child, GIT_MEMORY);
    let ran = finish(&mut child, input, Hooks::Off, GIT_OUTPUT)?;
    let needs_more = !ran.ok && ran.stderr.to_ascii_lowercase().contains("out of memory");
    Ok((!needs_more && ran.stdout.len() as u64 <= GIT_OUTPUT).then_some(ran))
}

/// The status and output of `child`, which is killed if it writes more than the limit.
fn output(child: &mut Child, max_output: u64) -> std::io::Result<Output> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let messages = scope.spawn(|| read_at_most(err, max_output));
        let stdout = read_at_most(out, max_output)?;
        if stdout.len() as u64 > max_output {
            child.kill()?;
        }
        let stderr = messages.join().unwrap_or(Ok(Vec::new()))?;
        Ok(Output { status: child.wait()?, stdout, stderr })
    })
}

/// What `pipe` has, and one byte more than `limit` if it is longer.
fn read_at_most(pipe: Option<impl std::io::Read>, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(limit + 1).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// As [`git`], with further settings, whose keys may have any bytes.
///
/// # Errors
/// As [`git`].
pub fn git_with_settings(
    environment: Environment,
    dir: &Path,
    settings: &[(String, &'static str)],
    args: &[&str],
    input: &[u8],
) -> Result<CommandOutput> {
    let env = settings_env(environment, settings);
    let env: Vec<(&str, &OsStr)> =
        env.iter().map(|(name, value)| (name.as_str(), value.as_os_str())).collect();
    git_with(environment, dir, args, input, Hooks::Off, &env)
}

/// As [`git_with_settings`], for a repository that `dir` or the arguments name. Variables of the
/// environment that name another repository are removed.
///
/// # Errors
/// As [`git`].
pub fn git_elsewhere<A: AsRef<OsStr>>(
    environment: Environment,
    dir: &Path,
    settings: &[(String, &'static str)],
    args: &[A],
) -> Result<CommandOutput> {
    let env = settings_env(environment, settings);
    let env: Vec<(&str, &OsStr)> =
        env.iter().map(|(name, value)| (name.as_str(), value.as_os_str())).collect();
    let mut command = command(environment, "git", dir, &env);
    remove(&mut command, &LOCAL);
    run(environment, command, args, b"", Hooks::Off)
}

fn remove(command: &mut Command, names: &[&str]) {
    for name in names {
        command.env_remove(name);
    }
}

/// The variables with which `git` has these settings besides those of the environment.
#[must_use]
pub fn settings_env(
    environment: Environment,
    settings: &[(String, &'static str)],
) -> Vec<(String, OsString)> {
    let given = environment
        .text("GIT_CONFIG_COUNT")
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

/// As [`git`], with further environment variables, and with the repository's hooks if `hooks` says
/// so.
///
/// # Errors
/// As [`git`].
pub fn git_with<A: AsRef<OsStr>>(
    environment: Environment,
    dir: &Path,
    args: &[A],
    input: &[u8],
    hooks: Hooks,
    env: &[(&str, &OsStr)],
) -> Result<CommandOutput> {
    run(environment, command(environment, "git", dir, env), args, input, hooks)
}

fn run<A: AsRef<OsStr>>(
    environment: Environment,
    mut command: Command,
    args: &[A],
    input: &[u8],
    hooks: Hooks,
) -> Result<CommandOutput> {
    let mut child = start(environment, &mut command, args, hooks)?;
    finish(&mut child, input, hooks, u64::MAX - 1)
}

fn start<A: AsRef<OsStr>>(
    environment: Environment,
    command: &mut Command,
    args: &[A],
    hooks: Hooks,
) -> Result<Child> {
    let mut quiet: Vec<String> = Vec::new();
    if hooks != Hooks::On {
        leave_out_callers(environment, command);
    }
    if hooks == Hooks::Off {
        // Git fetches no missing object (Git 2.45 and newer).
        command.env("GIT_NO_LAZY_FETCH", "1");
        // Files that Git writes for edt are not in edt's journal, so Git must sync them.
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
            disable_configured(environment, command)?;
        }
        quiet = off.into_iter().chain(own).flat_map(|set| ["-c".to_owned(), set]).collect();
    }
    let started = effect::step(SideEffect::Start, Path::new("git"))
        .and_then(|()| command.args(quiet).args(args).spawn());
    Ok(started.map_err(|error| not_started("git", &error))?)
}

fn finish(child: &mut Child, input: &[u8], hooks: Hooks, max_output: u64) -> Result<CommandOutput> {
    let pipe = child.stdin.take();
    // A thread writes the input, because a program may answer before it has read everything.
    let (fed, output) = std::thread::scope(|scope| {
        let feeder = scope.spawn(|| pipe.map_or(Ok(()), |mut pipe| pipe.write_all(input)));
        let output = output(child, max_output);
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
    Ok(CommandOutput { ok: output.status.success(), stdout: output.stdout, stderr })
}

/// Removes what the caller's environment makes Git write elsewhere (`GIT_TRACE…`), and what names
/// programs or settings below the directory in which Git starts: an agent can write those.
fn leave_out_callers(environment: Environment, command: &mut Command) {
    if environment == Environment::Isolated {
        return;
    }
    let dir = super::fs::real_path(command.get_current_dir().unwrap_or(Path::new(".")));
    let is_callers = |path: &Path| {
        path.is_relative() || path.starts_with(&dir) || super::fs::real_path(path).starts_with(&dir)
    };
    for name in TRACES {
        command.env_remove(name);
    }
    let callers =
        |name: &&&str| environment.var(name).is_some_and(|value| is_callers(Path::new(&value)));
    for name in PLACES.iter().filter(callers) {
        command.env_remove(name);
    }
    let search = environment.search_dirs();
    if search.iter().any(|place| is_callers(place)) {
        let kept = search.into_iter().filter(|place| !is_callers(place));
        if let Ok(path) = super::environment::joined(kept) {
            command.env("PATH", path);
        }
    }
}

/// Disables every hook that the configuration defines, for the `git` in `command`. Git 2.54 and
/// newer run configured hooks and have no setting that disables all of them.
fn disable_configured(environment: Environment, command: &mut Command) -> Result<()> {
    let dir = command.get_current_dir().unwrap_or(Path::new(".")).to_owned();
    let mut ask = self::command(environment, "git", &dir, &[]);
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
    // A variable that was removed for this command is none of the caller's any more.
    let set = command.get_envs().find(|(name, _)| *name == "GIT_CONFIG_COUNT");
    let given = set.map_or_else(
        || environment.var("GIT_CONFIG_COUNT"),
        |(_, value)| value.map(OsStr::to_owned),
    );
    let given = given.and_then(|count| count.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    // Through the environment, because a key passed with `-c` cannot contain a `=`.
    for (key, n) in keys.iter().zip(given..) {
        let key = [key, b".enabled".as_slice()].concat();
        command
            .env(format!("GIT_CONFIG_KEY_{n}"), OsStr::from_bytes(&key))
            .env(format!("GIT_CONFIG_VALUE_{n}"), "false");
    }
    command.env("GIT_CONFIG_COUNT", (given + keys.len()).to_string());
    Ok(())
}

/// Runs a program with `input`, a few lines, and returns what it prints: a hook's script as Git runs
/// it, to see whether it refuses.
///
/// # Errors
/// `IO_ERROR` if it could not be started.
pub fn captured(
    environment: Environment,
    path: &Path,
    dir: &Path,
    args: &[&str],
    input: &[u8],
    env: &[(&str, &OsStr)],
) -> Result<CommandOutput> {
    capture(command(environment, path, dir, env), path, args, input)
}

fn capture(
    mut command: Command,
    path: &Path,
    args: &[&str],
    input: &[u8],
) -> Result<CommandOutput> {
    let shown = path.to_string_lossy().into_owned();
    let started = effect::step(SideEffect::Start, path).and_then(|()| command.args(args).spawn());
    let mut child = started.map_err(|error| not_started(&shown, &error))?;
    // The input is a few lines. It fits into the pipe whether or not the program reads it.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(input));
    let output = child.wait_with_output().map_err(|error| not_started(&shown, &error))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(CommandOutput { ok: output.status.success(), stdout: output.stdout, stderr })
}

/// Starts a program that the user named, with the caller's environment and these variables, the
/// caller's error stream, and pipes for its input and output.
///
/// # Errors
/// `PROGRAM_NOT_FOUND`, `IO_ERROR`.
pub fn piped(
    program: &OsStr,
    args: &[OsString],
    dir: &Path,
    env: &[(&str, &OsStr)],
) -> Result<Child> {
    let mut command = command(Environment::Process, program, dir, env);
    command.args(args).stderr(Stdio::inherit());
    let started =
        effect::step(SideEffect::Start, Path::new(program)).and_then(|()| command.spawn());
    started.map_err(|error| not_found(program, &error).into())
}

/// Becomes a program, which gets SIGTERM when the process that started this one ends, where the
/// system can do that. Returns only if it fails: `PROGRAM_NOT_FOUND`, `IO_ERROR`.
#[must_use]
pub fn become_child(program: &OsStr, args: &[OsString], dir: &Path) -> Finding {
    let mut command = command(Environment::Process, program, dir, &[]);
    command.args(args).stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let started = effect::step(SideEffect::Start, Path::new(program))
        .and_then(|()| Ok(platform::end_with_parent()?));
    not_found(program, &started.err().unwrap_or_else(|| command.exec()))
}

fn not_found(program: &OsStr, error: &std::io::Error) -> Finding {
    let found = not_started(&program.to_string_lossy(), error);
    Finding { remedy: "Name a program that PATH finds, or its path.".to_owned(), ..found }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that starts git, its hooks, ssh-keygen and agents"
)]
pub(super) fn command(
    environment: Environment,
    program: impl AsRef<OsStr>,
    dir: &Path,
    env: &[(&str, &OsStr)],
) -> Command {
    let mut command = Command::new(program);
    environment.prepare(&mut command);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn alias(command: &str) -> Option<CommandOutput> {
        let setting = format!("alias.made=!{command}");
        let args = ["-c", setting.as_str(), "made"];
        git_limited(Environment::Process, &std::env::temp_dir(), &args, b"").unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_limited_git_has_bounded_memory_and_output() {
        let kib = (GIT_MEMORY / 1024).to_string();
        let limit = || String::from_utf8(alias("ulimit -d").unwrap().stdout).unwrap();
        // A program that Git starts at once may be there before the limit.
        assert!((0..10).any(|_| limit().trim() == kib));
        let write =
            |bytes: u64| alias(&format!("head -c {bytes} /dev/zero")).map(|ran| ran.stdout.len());
        assert_eq!(write(GIT_OUTPUT), usize::try_from(GIT_OUTPUT).ok());
        assert_eq!(write(GIT_OUTPUT + 1), None);
        let failed = alias("echo 'fatal: Out of memory, realloc failed' >&2; exit 128");
        assert!(failed.is_none());
    }
}
