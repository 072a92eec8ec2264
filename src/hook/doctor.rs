//! Whether everything edt builds on is there and live, found out by trying, in plain words.
//!
//! [`PROBES`] is the family. A probe touches neither the index, the worktree nor the history; what it makes it takes away.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::place::{Mechanism, Place};
use super::plumbing::Git;
use super::{Hook, live};
use crate::base::{Findings, Result, Settled};
use crate::io::clock::is_running;
use crate::io::scratch::Scratch;
use crate::io::{abilities, whole};
use crate::session::current::{BRANCHES, base_ref};

/// How a probe ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Ok,
    /// A protection that is not there.
    NotLive,
    /// Something that edt needs does not work.
    Broken,
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Told {
    /// The probe.
    pub probe: String,
    /// How it ended.
    pub health: Health,
    /// What was found.
    pub found: String,
    /// What to do; `null` if nothing.
    pub next: Option<String>,
}

/// What probes look at.
#[derive(Debug)]
pub struct Scene {
    /// Git, at the worktree's root or in the bare repository.
    pub git: Git,
    /// Where hooks go.
    pub place: Place,
    /// The worktree's own Git folder.
    pub git_dir: PathBuf,
    /// edt's folder for this worktree; `None` in a bare repository.
    pub state: Option<PathBuf>,
    /// What was settled on the way in, or why the repository could not be opened.
    pub opened: std::result::Result<Option<Settled>, String>,
}

/// One probe.
#[derive(Debug)]
pub struct Probe {
    /// Its name.
    pub name: &'static str,
    /// What it asks.
    pub asks: &'static str,
    run: fn(&Scene) -> Result<Vec<Told>>,
}

/// Every probe, in order.
pub const PROBES: &[Probe] = &[
    Probe { name: "git", asks: "Is Git there, and how does it take hooks?", run: git_version },
    Probe {
        name: "repository",
        asks: "Can edt open the repository, and is its journal settled?",
        run: repository,
    },
    Probe { name: "identity", asks: "Whose name do commits bear?", run: identity },
    Probe { name: "writable", asks: "Can the Git folder and the index be written?", run: writable },
    Probe {
        name: "file_system",
        asks: "Does the file system do what edt builds on?",
        run: file_system,
    },
    Probe {
        name: "leftovers",
        asks: "Did a killed program leave locks or staged files?",
        run: leftovers,
    },
    Probe { name: "sessions", asks: "Has every session its base?", run: sessions },
    Probe { name: "hooks", asks: "Does each hook really refuse?", run: hooks },
    Probe {
        name: "sandbox",
        asks: "Which levels of the sandbox can be had?",
        run: super::confinement::probe,
    },
];

/// What no hook of Git's can stop, whatever is installed.
pub const NOT_PROTECTED: [&str; 7] = [
    "`git reset --hard` and `git checkout -f` rewrite files before any hook is asked; uncommitted bytes that edt did not record are gone",
    "`git clean -fd` runs no hook; only what edt or Git recorded can be brought back",
    "`git commit --no-verify` and `git push --no-verify` skip pre-commit and pre-push",
    "`git -c core.hooksPath=…` and edits of Git's configuration switch hooks off",
    "`rm -rf .git/refs`, and programs that write refs without Git (libgit2, jj), run no hook",
    "an agent that lets its programs write to a terminal and hides its mark is taken for a person",
    "what is pushed to a server without edt's pre-receive is that server's to judge",
];

/// Everything that the probes found.
#[must_use]
pub fn examine(scene: &Scene) -> Vec<Told> {
    let mut all = Vec::new();
    for probe in PROBES {
        match (probe.run)(scene) {
            Ok(told) => all.extend(told),
            Err(findings) => all.push(failed(probe.name, findings)),
        }
    }
    all
}

/// Removes what a killed edt left and Git has recorded; tells what it removed.
///
/// # Errors
/// `IO_ERROR`.
pub fn tidy(scene: &Scene) -> Result<Vec<String>> {
    let mut done = Vec::new();
    for path in staged(scene) {
        if is_recorded(scene, &path)? {
            whole::remove(&path).map_err(|error| crate::io::failed("remove", &path, &error))?;
            done.push(format!("removed {}, whose bytes Git has", path.display()));
        }
    }
    for (name, value) in probes_left(scene)? {
        scene.git.output(&["update-ref", "-d", &name, &value], b"")?;
        done.push(format!("removed {name}, a probe of a killed doctor"));
    }
    for folder in Scratch::left(&scene.git_dir) {
        whole::remove_folder(&folder)
            .map_err(|error| crate::io::failed("remove", &folder, &error))?;
        done.push(format!("removed {}, the scratch folder of a killed edt", folder.display()));
    }
    Ok(done)
}

pub(super) fn told(probe: &str, health: Health, found: &str, next: Option<&str>) -> Told {
    Told { probe: probe.to_owned(), health, found: found.to_owned(), next: next.map(str::to_owned) }
}

#[expect(clippy::unnecessary_wraps, reason = "a probe may fail")]
fn git_version(scene: &Scene) -> Result<Vec<Told>> {
    let (major, minor) = scene.place.version;
    let how = match scene.place.mechanism() {
        Mechanism::Config => "takes hooks from its configuration, beside every hooks folder",
        Mechanism::Files => "takes hooks from one folder only",
    };
    let found = format!("Git {major}.{minor} {how}.");
    let old = (major, minor) < (2, 39);
    let next = old.then_some("Install Git 2.39 or newer.");
    Ok(vec![told("git", if old { Health::Broken } else { Health::Ok }, &found, next)])
}

#[expect(clippy::unnecessary_wraps, reason = "a probe may fail")]
fn repository(scene: &Scene) -> Result<Vec<Told>> {
    let one = match &scene.opened {
        Ok(None) => told(
            "repository",
            Health::Ok,
            "The repository opens and nothing is left unfinished.",
            None,
        ),
        Ok(Some(settled)) => {
            told("repository", Health::Ok, &format!("Settled now: {}", settled.detail), None)
        }
        Err(_) if scene.state.is_none() => told(
            "repository",
            Health::Ok,
            "The repository is bare: a server's, in which nobody edits.",
            None,
        ),
        Err(why) => told(
            "repository",
            Health::Broken,
            why,
            Some("Mend what the message names; edits are refused until then."),
        ),
    };
    Ok(vec![one])
}

fn identity(scene: &Scene) -> Result<Vec<Told>> {
    if scene.state.is_none() {
        return Ok(Vec::new());
    }
    let value = |key| scene.git.line(&["config", "--get", key]);
    let found = match (value("user.name")?, value("user.email")?) {
        (Some(name), Some(email)) => (Health::Ok, format!("Commits bear {name} <{email}>."), None),
        _ => (
            Health::Ok,
            "No user.name and user.email: edt's commits bear edt <edt@localhost>, and `git commit` may refuse."
                .to_owned(),
            Some("`git config user.name` and `git config user.email` set them."),
        ),
    };
    Ok(vec![told("identity", found.0, &found.1, found.2)])
}

#[expect(clippy::unnecessary_wraps, reason = "a probe may fail")]
fn writable(scene: &Scene) -> Result<Vec<Told>> {
    let index = scene.git_dir.join("index");
    let places = [
        scene.git_dir.clone(),
        scene.place.common.clone(),
        scene.place.common.join("objects"),
        index,
    ];
    let there = |path: &&PathBuf| whole::minutes_old(path).is_some();
    let refused =
        places.iter().filter(there).find_map(|path| Some((path, whole::writable(path).err()?)));
    let one = match refused {
        None => told("writable", Health::Ok, "The Git folder and the index can be written.", None),
        Some((path, error)) => told(
            "writable",
            Health::Broken,
            &format!("{} cannot be written: {error}.", path.display()),
            Some(
                "If a sandbox protects it, call edt from outside (its MCP server or a hook); else make it writable for this user.",
            ),
        ),
    };
    Ok(vec![one])
}

fn file_system(scene: &Scene) -> Result<Vec<Told>> {
    let folder = scene.state.clone().unwrap_or_else(|| scene.place.common.clone());
    let tried = abilities::tried(&folder)
        .map_err(|error| crate::io::failed("write to", &folder, &error))?;
    // edt's own folders are there only if something is in them.
    scene
        .state
        .iter()
        .flat_map(|state| state.ancestors().take(2))
        .for_each(whole::remove_empty_folder);
    let names: Vec<&str> = tried.iter().map(|one| one.name).collect();
    let failed: Vec<String> = tried
        .iter()
        .filter_map(|one| Some(format!("{} ({})", one.name, one.failed.as_ref()?)))
        .collect();
    // Without `openat2` edt goes step by step.
    let needed = tried.iter().any(|one| one.failed.is_some() && one.name != "openat2");
    let one = match (failed.is_empty(), needed) {
        (true, _) => {
            told("file_system", Health::Ok, &format!("{} work here.", names.join(", ")), None)
        }
        (false, false) => told(
            "file_system",
            Health::Ok,
            &format!("{}: edt does without.", failed.join(", ")),
            None,
        ),
        (false, true) => told(
            "file_system",
            Health::Broken,
            &format!("These do not work here: {}.", failed.join(", ")),
            Some("Keep the repository on a local file system (ext4, xfs, btrfs, tmpfs)."),
        ),
    };
    Ok(vec![one])
}

fn leftovers(scene: &Scene) -> Result<Vec<Told>> {
    let mut all = Vec::new();
    for name in ["index.lock", "HEAD.lock", "config.lock"] {
        let path = scene.git_dir.join(name);
        if let Some(minutes @ 10..) = whole::minutes_old(&path) {
            let found = format!("{} has stood for {minutes} minutes.", path.display());
            all.push(told(
                "leftovers",
                Health::Broken,
                &found,
                Some("If no Git program runs here, a crashed one left it: a person may remove it."),
            ));
        }
    }
    let staged = staged(scene);
    if !staged.is_empty() {
        let found = format!(
            "{} staged files of a killed edt stand in {}.",
            staged.len(),
            staged[0].parent().unwrap_or(Path::new("")).display()
        );
        all.push(told(
            "leftovers",
            Health::Broken,
            &found,
            Some("`edt doctor --fix` removes those whose bytes Git has; look at the others before you remove them."),
        ));
    }
    let probes: Vec<String> = probes_left(scene)?.into_iter().map(|(name, _)| name).collect();
    if !probes.is_empty() {
        let found = format!("A killed doctor left {}.", probes.join(", "));
        all.push(told(
            "leftovers",
            Health::Broken,
            &found,
            Some("`edt doctor --fix` removes them."),
        ));
    }
    let folders = Scratch::left(&scene.git_dir);
    if let (true, Some(first)) = (all.is_empty(), folders.first()) {
        let found = format!(
            "No stale lock is left, but {} scratch folders: {}, ….",
            folders.len(),
            first.display()
        );
        all.push(told("leftovers", Health::Ok, &found, Some("`edt doctor --fix` removes them.")));
    }
    if all.is_empty() {
        all.push(told("leftovers", Health::Ok, "No stale lock and no staged file is left.", None));
    }
    Ok(all)
}

/// Refs that an older doctor made to try a deletion and was killed before it took them away, with their values.
fn probes_left(scene: &Scene) -> Result<Vec<(String, String)>> {
    let listed = scene.git.output(
        &["for-each-ref", "--format=%(refname) %(objectname)", "refs/edt/doctor-*/probe"],
        b"",
    )?;
    let text = String::from_utf8_lossy(&listed).into_owned();
    let process =
        |name: &str| name.strip_prefix("refs/edt/doctor-")?.strip_suffix("/probe")?.parse().ok();
    let is_left = |name: &str| process(name).is_some_and(|id| !is_running(id));
    let pairs =
        text.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| is_left(name));
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Files that stand in edt's folder for staged ones, but for the index, which the next edit uses again.
fn staged(scene: &Scene) -> Vec<PathBuf> {
    // While a transaction is under way, or could not be settled, they are needed.
    if scene.opened.is_err() {
        return Vec::new();
    }
    let Some(state) = &scene.state else { return Vec::new() };
    let own = |path: &PathBuf| {
        path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"index"))
    };
    let old = |path: &PathBuf| whole::minutes_old(path).is_some_and(|minutes| minutes >= 10);
    whole::files_in(&state.join("stage")).into_iter().filter(own).filter(old).collect()
}

fn is_recorded(scene: &Scene, path: &Path) -> Result<bool> {
    let path = path.to_string_lossy();
    let Some(id) = scene.git.line(&["hash-object", "--no-filters", "--", &path])? else {
        return Ok(false);
    };
    Ok(scene.git.run(&["cat-file", "-e", &id], b"")?.ok)
}

fn sessions(scene: &Scene) -> Result<Vec<Told>> {
    if scene.state.is_none() {
        return Ok(Vec::new());
    }
    let listed = scene.git.output(&["for-each-ref", "--format=%(refname)", BRANCHES], b"")?;
    let text = String::from_utf8_lossy(&listed).into_owned();
    let names: Vec<&str> = text.lines().filter_map(|name| name.strip_prefix(BRANCHES)).collect();
    let bases: Vec<String> = names.iter().map(|name| base_ref(name)).collect();
    let found = scene.git.objects(&bases)?;
    let lost: Vec<&str> = names
        .iter()
        .zip(&found)
        .filter(|(_, base)| base.is_none())
        .map(|(name, _)| *name)
        .collect();
    if lost.is_empty() {
        let found = format!("{} sessions, each with its base.", names.len());
        return Ok(vec![told("sessions", Health::Ok, &found, None)]);
    }
    let next = format!(
        "Record the commit it began from with `git update-ref {} <commit>`, or let a person delete the branch.",
        base_ref(lost[0])
    );
    let found = format!("Without a base: {}.", lost.join(", "));
    Ok(vec![told("sessions", Health::Broken, &found, Some(&next))])
}

fn hooks(scene: &Scene) -> Result<Vec<Told>> {
    let one = |hook: &'static dyn Hook| {
        live::probe(scene, hook)
            .unwrap_or_else(|findings| failed(&format!("hook {}", hook.name()), findings))
    };
    let mut all: Vec<Told> = scene.place.hooks_here().map(one).collect();
    for root in scene.place.unguarded()? {
        let found = format!(
            "core.hooksPath is relative, so Git finds no hook of edt's in the worktree {}.",
            root.display()
        );
        let next = format!(
            "`git config core.hooksPath '{}'` names one folder for all.",
            scene.place.hooks.display()
        );
        all.push(told("hooks", Health::NotLive, &found, Some(&next)));
    }
    Ok(all)
}

/// What could not be tried.
#[must_use]
pub fn failed(probe: &str, findings: Findings) -> Told {
    let found = findings.into_vec().into_iter().next();
    let (found, next) = found.map_or_else(Default::default, |one| (one.message, one.hint));
    told(probe, Health::Broken, &found, Some(&next))
}
