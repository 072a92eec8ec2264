//! Whether a hook is live: something forbidden is tried with real Git, in places made for it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::Hook;
use super::configured::section;
use super::doctor::{Health, Scene, Told, told};
use super::install::{LEGACY, calls_ours, shadowed};
use super::place::{Mechanism, file};
use super::plumbing::Git;
use super::script::{Whose, render, whose};
use crate::base::{Code, Finding, Result};
use crate::io::scratch::Scratch;
use crate::io::spawn::{self, Ran};
use crate::io::whole::{self, There};

/// The name of the file that is staged for the probe.
const STAGED: &str = "edt.toml";
/// Held in the environment, it lets edt's script skip a hook that stood there before: only edt's own is asked.
const ASIDE: [(&str, &str); 2] = [("EDT_PROBE", "1"), ("EDT_AGENT", "doctor")];

/// How Git comes to the hook.
enum Way {
    /// Git runs it.
    Git,
    /// Another program's hook runs this file.
    Behind(std::path::PathBuf),
}

/// Tries the hook.
///
/// # Errors
/// `IO_ERROR` if the probe could not be made.
pub fn probe(scene: &Scene, hook: &dyn Hook) -> Result<Told> {
    let name = format!("hook {}", hook.name());
    let stops = hook.stops();
    let next = Some("`edt hooks install` puts it in place.");
    let way = match way(scene, hook)? {
        Ok(way) => way,
        Err(why) => {
            return Ok(told(
                &name,
                Health::NotLive,
                &format!("{why}; nothing stops {stops}."),
                next,
            ));
        }
    };
    let said = match hook.name() {
        "pre-commit" => pre_commit(scene, &way)?,
        other => fed(scene, hook, &way, other)?,
    };
    if said.refused {
        let by =
            if matches!(way, Way::Behind(_)) { " (called by the program pre-commit)" } else { "" };
        return Ok(told(&name, Health::Ok, &format!("It refuses{by}: {stops}."), None));
    }
    let why = said.why.lines().next().unwrap_or("it let a forbidden act pass").to_owned();
    Ok(told(
        &name,
        Health::NotLive,
        &format!("It was asked and did not refuse ({why}); nothing stops {stops}."),
        next,
    ))
}

struct Said {
    refused: bool,
    why: String,
}

fn way(scene: &Scene, hook: &dyn Hook) -> Result<std::result::Result<Way, String>> {
    let (git, place) = (&scene.git, &scene.place);
    if git.line(&["config", "--local", "--get", &format!("{}.command", section(hook))])?.is_some()
        && place.mechanism() == Mechanism::Config
    {
        return Ok(Ok(Way::Git));
    }
    let at = file(&place.hooks, hook, "");
    let there = whole::at(&at).map_err(|error| crate::io::failed("read", &at, &error))?;
    let because = match &place.hooks_path {
        Some((_, path)) if shadowed(place, hook)? => {
            format!(
                "core.hooksPath = {path} (husky, or a setting like it) shadows .git/hooks, where it is installed"
            )
        }
        _ => "it is not installed".to_owned(),
    };
    // Whoever writes to the repository can change such a file, and give it any checksum.
    let content = place.top.as_ref().is_some_and(|top| {
        let at = whole::real(&at);
        at.starts_with(whole::real(top)) && !at.starts_with(whole::real(&place.common))
    });
    let own = whole::own_program().map_err(|error| crate::io::failed("find", &at, &error))?;
    Ok(match there {
        There::File { bytes, .. }
            if content && bytes != render(hook, &own) && whose(&bytes, hook) != Whose::Foreign =>
        {
            Err(format!(
                "{} is a file of the worktree and not as this edt writes it, so it was not run",
                at.display()
            ))
        }
        There::File { bytes, .. } if content && calls_ours(place, hook, &bytes)? => {
            Err(format!("{} is a file of the worktree, so it was not run", at.display()))
        }
        There::File { bytes, executable } => match whose(&bytes, hook) {
            Whose::Foreign if calls_ours(place, hook, &bytes)? => {
                Ok(Way::Behind(file(&place.hooks, hook, LEGACY)))
            }
            Whose::Foreign => {
                let by = ["lefthook", "husky", "pre-commit.com"]
                    .into_iter()
                    .find(|name| holds(&bytes, name));
                let by = by.map_or_else(
                    || "another hook".to_owned(),
                    |name| format!("a hook of {name}'s"),
                );
                Err(if because.starts_with("core") {
                    because
                } else {
                    format!("{by} stands in its place and does not call it")
                })
            }
            Whose::Ours | Whose::Changed if !executable => {
                Err(format!("{} is not executable", at.display()))
            }
            Whose::Ours | Whose::Changed => Ok(Way::Git),
        },
        There::Nothing | There::Other => Err(because),
    })
}

fn holds(bytes: &[u8], word: &str) -> bool {
    memchr::memmem::find(bytes, word.as_bytes()).is_some()
}

/// Runs the hook as Git runs it, every other hook of the same name left out.
fn run(
    scene: &Scene,
    way: &Way,
    hook: &str,
    args: &[&str],
    input: &[u8],
    scratch: &Scratch,
    env: &[(&str, &OsStr)],
) -> Result<Ran> {
    let env: Vec<(&str, &OsStr)> = ASIDE
        .iter()
        .map(|(key, value)| (*key, OsStr::new(*value)))
        .chain(env.iter().copied())
        .collect();
    let git = &scene.git;
    let direct = |path: &Path| spawn::script(path, git.dir(), args, input, &env);
    match way {
        Way::Behind(path) => direct(path),
        Way::Git
            if scene.place.mechanism() == Mechanism::Files
                && !input.is_empty()
                && scene.place.version < (2, 40) =>
        {
            direct(&scene.place.hooks.join(hook))
        }
        Way::Git => {
            let mut set = Vec::new();
            if scene.place.mechanism() == Mechanism::Config {
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
                .map_err(|error| crate::io::failed("write", scratch.path(), &error))?;
            let fed = format!("--to-stdin={}", path.display());
            if !input.is_empty() {
                all.push(&fed);
            }
            all.push(hook);
            if !args.is_empty() {
                all.push("--");
                all.extend(args);
            }
            git.live(&all, &env)
        }
    }
}

fn scratch(scene: &Scene) -> Result<Scratch> {
    Scratch::outside(scene.git.dir()).map_err(|error| {
        crate::io::failed("make a scratch folder beside", scene.git.dir(), &error).into()
    })
}

/// An `edt.toml` that cannot be read, staged in an index of its own, with objects of its own: no policy lets that pass.
fn pre_commit(scene: &Scene, way: &Way) -> Result<Said> {
    let scratch = scratch(scene)?;
    let wrap = |error| crate::io::failed("write", scratch.path(), &error);
    scratch.put(b"objects/info/none", b"").map_err(wrap)?;
    let paths: Vec<OsString> = [
        scratch.path().join("index"),
        scratch.path().join("objects"),
        scene.place.common.join("objects"),
    ]
    .map(std::path::PathBuf::into_os_string)
    .into();
    let env: [(&str, &OsStr); 3] = [
        ("GIT_INDEX_FILE", &paths[0]),
        ("GIT_OBJECT_DIRECTORY", &paths[1]),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &paths[2]),
    ];
    let git = &scene.git;
    let head = git.line(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
    made(&git.run_with(&["read-tree", head.as_deref().unwrap_or("--empty")], b"", &env)?)?;
    let text = b"[a probe of edt doctor\n";
    let blob = git.run_with(&["hash-object", "-w", "--stdin"], text, &env)?;
    made(&blob)?;
    let entry = format!("100644,{},{STAGED}", String::from_utf8_lossy(&blob.stdout).trim());
    made(&git.run_with(&["update-index", "--add", "--cacheinfo", &entry], b"", &env)?)?;
    let ran = run(scene, way, "pre-commit", &[], b"", &scratch, &env)?;
    Ok(Said {
        refused: !ran.ok && ran.stderr.contains("The edt.toml of the index cannot be read"),
        why: ran.stderr,
    })
}

/// A deletion: of a session's ref that there is not, or of a protected branch by a push or on its arrival.
fn fed(scene: &Scene, hook: &dyn Hook, way: &Way, name: &str) -> Result<Said> {
    let scratch = scratch(scene)?;
    let target = target(&scene.git)?;
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
    let ran = run(scene, way, hook.name(), args, input.as_bytes(), &scratch, &[])?;
    Ok(Said {
        refused: !ran.ok && ran.stderr.contains(Code::GitOperationBlocked.name()),
        why: ran.stderr,
    })
}

/// An object that is there: HEAD's commit, else the empty tree, which Git always has.
fn target(git: &Git) -> Result<String> {
    if let Some(head) = git.line(&["rev-parse", "--verify", "--quiet", "HEAD"])? {
        return Ok(head);
    }
    let id = git.output(&["hash-object", "-t", "tree", "--stdin"], b"")?;
    Ok(String::from_utf8_lossy(&id).trim().to_owned())
}

fn made(ran: &Ran) -> Result<()> {
    if ran.ok {
        return Ok(());
    }
    let message = format!("The probe could not be made: {}", ran.stderr.trim());
    Err(Finding::new(Code::IoError, message, "Mend what Git reports, then repeat `edt doctor`.")
        .into())
}
