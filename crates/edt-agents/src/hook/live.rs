//! Probes whether a hook is live: real Git attempts a forbidden operation, on scratch objects only.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::call::Hook;
use super::configured::section;
use super::install::{LEGACY, calls_edt, shadowed};
use super::location::{Mechanism, file};
use super::plumbing::Git;
use super::probe::{DoctorContext, Health, ProbeResult, probe_result};
use super::script::{ScriptOwner, owner, render};
use edt_io::Environment;
use edt_io::fs::{self, PathContent};
use edt_io::scratch::Scratch;
use edt_io::spawn::{self, CommandOutput};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// The file that the probe stages.
const POLICY_FILE: &str = "edt.toml";
/// Environment variables that make edt's script skip a hook that edt renamed, so that only edt's
/// own runs.
const PROBE_ENV: [(&str, &str); 2] = [("EDT_PROBE", "1"), ("EDT_AGENT", "doctor")];

/// How Git runs the hook.
enum Invocation {
    /// Git runs it directly.
    Git,
    /// The hook of another program runs this file.
    ByOtherHook(std::path::PathBuf),
}

/// Probes the hook.
///
/// # Errors
/// `IO_ERROR` if the probe could not be prepared.
pub fn probe(context: &DoctorContext, hook: &dyn Hook) -> Result<ProbeResult> {
    let name = format!("hook {}", hook.name());
    let stops = hook.stops();
    let next = Some("`edt hooks install` installs it.");
    let invocation = match invocation(context, hook)? {
        Ok(invocation) => invocation,
        Err(why) => {
            return Ok(probe_result(
                &name,
                Health::NotLive,
                &format!("{why}; nothing stops {stops}."),
                next,
            ));
        }
    };
    let outcome = match hook.name() {
        "pre-commit" => commit_of_invalid_policy(context, &invocation)?,
        other => deletion(context, hook, &invocation, other)?,
    };
    if outcome.refused {
        let caller = match invocation {
            Invocation::ByOtherHook(_) => " (called by the program pre-commit)",
            Invocation::Git => "",
        };
        return Ok(probe_result(&name, Health::Ok, &format!("It refuses{caller}: {stops}."), None));
    }
    let why = outcome.why.lines().next().unwrap_or("it accepted a forbidden operation").to_owned();
    Ok(probe_result(
        &name,
        Health::NotLive,
        &format!("It was called and did not refuse ({why}); nothing stops {stops}."),
        next,
    ))
}

struct HookRun {
    refused: bool,
    why: String,
}

fn invocation(
    context: &DoctorContext,
    hook: &dyn Hook,
) -> Result<std::result::Result<Invocation, String>> {
    let (git, location) = (&context.git, &context.location);
    if git.line(&["config", "--local", "--get", &format!("{}.command", section(hook))])?.is_some()
        && location.mechanism() == Mechanism::Config
    {
        return Ok(Ok(Invocation::Git));
    }
    let path = file(&location.hooks, hook, "");
    let present = fs::read_path(&path).map_err(|error| edt_io::failed("read", &path, &error))?;
    let shadowing = match &location.hooks_path {
        Some((_, path)) if shadowed(location, hook)? => Some(format!(
            "core.hooksPath = {path} (husky, or a similar setting) shadows .git/hooks, where it is \
             installed"
        )),
        _ => None,
    };
    // A commit can change a file of the worktree, and give it any checksum.
    let is_tracked_content = location.top.as_ref().is_some_and(|top| {
        let path = fs::real_path(&path);
        path.starts_with(fs::real_path(top)) && !path.starts_with(fs::real_path(&location.common))
    });
    let program = fs::current_program().map_err(|error| edt_io::failed("find", &path, &error))?;
    Ok(match present {
        PathContent::File { bytes, .. }
            if is_tracked_content
                && bytes != render(hook, &program)
                && owner(&bytes, hook) != ScriptOwner::Other =>
        {
            Err(format!(
                "{} is a file in the worktree and differs from what this edt writes, so it was not \
                 run",
                path.shown()
            ))
        }
        PathContent::File { bytes, .. }
            if is_tracked_content && calls_edt(location, hook, &bytes)? =>
        {
            Err(format!("{} is a file in the worktree, so it was not run", path.shown()))
        }
        PathContent::File { bytes, executable } => match owner(&bytes, hook) {
            ScriptOwner::Other if calls_edt(location, hook, &bytes)? => {
                Ok(Invocation::ByOtherHook(file(&location.hooks, hook, LEGACY)))
            }
            ScriptOwner::Other => {
                let program = ["lefthook", "husky", "pre-commit.com"]
                    .into_iter()
                    .find(|name| contains(&bytes, name));
                let other = program
                    .map_or_else(|| "another hook".to_owned(), |name| format!("{name}'s hook"));
                Err(shadowing.unwrap_or_else(|| {
                    format!("{other} is installed instead and does not call it")
                }))
            }
            ScriptOwner::Edt | ScriptOwner::EdtModified if !executable => {
                Err(format!("{} is not executable", path.shown()))
            }
            ScriptOwner::Edt | ScriptOwner::EdtModified => Ok(Invocation::Git),
        },
        PathContent::Nothing | PathContent::Other => {
            Err(shadowing.unwrap_or_else(|| "it is not installed".to_owned()))
        }
    })
}

fn contains(bytes: &[u8], word: &str) -> bool {
    memchr::memmem::find(bytes, word.as_bytes()).is_some()
}

/// Runs the hook as Git does, without other hooks of the same name.
fn run(
    context: &DoctorContext,
    invocation: &Invocation,
    hook: &str,
    args: &[&str],
    input: &[u8],
    scratch: &Scratch,
    env: &[(&str, &OsStr)],
) -> Result<CommandOutput> {
    let env: Vec<(&str, &OsStr)> = PROBE_ENV
        .iter()
        .map(|(key, value)| (*key, OsStr::new(*value)))
        .chain(env.iter().copied())
        .collect();
    let git = &context.git;
    let direct =
        |path: &Path| spawn::captured(Environment::Process, path, git.dir(), args, input, &env);
    match invocation {
        Invocation::ByOtherHook(path) => direct(path),
        Invocation::Git
            if context.location.mechanism() == Mechanism::Files
                && !input.is_empty()
                && context.location.version < (2, 40) =>
        {
            direct(&context.location.hooks.join(hook))
        }
        Invocation::Git => {
            let mut set = Vec::new();
            if context.location.mechanism() == Mechanism::Config {
                set.push("core.hooksPath=/dev/null".to_owned());
                let listed = git.run(&["hook", "list", hook], b"")?;
                let others = String::from_utf8_lossy(&listed.stdout).into_owned();
                let others = others
                    .lines()
                    .filter(|name| *name != format!("edt-{hook}") && !name.contains(' '));
                set.extend(others.map(|name| format!("hook.{name}.enabled=false")));
            }
            let mut all: Vec<&str> = set.iter().flat_map(|set| ["-c", set.as_str()]).collect();
            all.extend(["hook", "run"]);
            let path = scratch
                .put(b"input", input)
                .map_err(|error| edt_io::failed("write", scratch.path(), &error))?;
            let to_stdin = format!("--to-stdin={}", path.to_string_lossy());
            if !input.is_empty() {
                all.push(&to_stdin);
            }
            all.push(hook);
            if !args.is_empty() {
                all.push("--");
                all.extend(args);
            }
            git.run_with_hooks(&all, &env)
        }
    }
}

fn scratch(context: &DoctorContext) -> Result<Scratch> {
    Scratch::outside(Environment::Process, context.git.dir()).map_err(|error| {
        edt_io::failed("make a scratch directory outside", context.git.dir(), &error).into()
    })
}

/// Stages an invalid `edt.toml` in a scratch index with scratch objects, which every policy
/// refuses.
fn commit_of_invalid_policy(context: &DoctorContext, invocation: &Invocation) -> Result<HookRun> {
    let scratch = scratch(context)?;
    let wrap = |error| edt_io::failed("write", scratch.path(), &error);
    scratch.put(b"objects/info/none", b"").map_err(wrap)?;
    let paths: Vec<OsString> = [
        scratch.path().join("index"),
        scratch.path().join("objects"),
        context.location.common.join("objects"),
    ]
    .map(std::path::PathBuf::into_os_string)
    .into();
    let env: [(&str, &OsStr); 3] = [
        ("GIT_INDEX_FILE", &paths[0]),
        ("GIT_OBJECT_DIRECTORY", &paths[1]),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &paths[2]),
    ];
    let git = &context.git;
    let head = git.line(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
    check_made(&git.run_with(&["read-tree", head.as_deref().unwrap_or("--empty")], b"", &env)?)?;
    let text = b"[a probe of edt doctor\n";
    let blob = git.run_with(&["hash-object", "-w", "--stdin"], text, &env)?;
    check_made(&blob)?;
    let entry = format!("100644,{},{POLICY_FILE}", String::from_utf8_lossy(&blob.stdout).trim());
    check_made(&git.run_with(&["update-index", "--add", "--cacheinfo", &entry], b"", &env)?)?;
    let ran = run(context, invocation, "pre-commit", &[], b"", &scratch, &env)?;
    Ok(HookRun {
        refused: !ran.ok && ran.stderr.contains("The edt.toml of the index cannot be read"),
        why: ran.stderr,
    })
}

/// Deletes a session's ref, which need not exist, or pushes the deletion of a protected branch.
fn deletion(
    context: &DoctorContext,
    hook: &dyn Hook,
    invocation: &Invocation,
    name: &str,
) -> Result<HookRun> {
    let scratch = scratch(context)?;
    let target = target(&context.git)?;
    let null = "0".repeat(target.len());
    let (args, input): (&[&str], String) = match name {
        "pre-push" => {
            (&["edt-probe", "edt-probe"], format!("(delete) {null} refs/heads/main {target}\n"))
        }
        "reference-transaction" => {
            (&["prepared"], format!("{target} {null} refs/edt/doctor/probe\n"))
        }
        _ => (&[], format!("{target} {null} refs/heads/main\n")),
    };
    let ran = run(context, invocation, hook.name(), args, input.as_bytes(), &scratch, &[])?;
    Ok(HookRun {
        refused: !ran.ok && ran.stderr.contains(Code::GitOperationBlocked.name()),
        why: ran.stderr,
    })
}

/// An existing object: HEAD's commit, else the empty tree, which Git always has.
fn target(git: &Git) -> Result<String> {
    if let Some(head) = git.line(&["rev-parse", "--verify", "--quiet", "HEAD"])? {
        return Ok(head);
    }
    let id = git.output(&["hash-object", "-t", "tree", "--stdin"], b"")?;
    Ok(String::from_utf8_lossy(&id).trim().to_owned())
}

fn check_made(ran: &CommandOutput) -> Result<()> {
    if ran.ok {
        return Ok(());
    }
    let message = format!("The probe could not be prepared: {}", ran.stderr.trim());
    let remedy = "Fix the problem that Git reports, then repeat `edt doctor`.";
    Err(Finding::new(Code::IoError, message, remedy).into())
}
