//! Probes whether everything that edt needs is present and live.
//!
//! [`PROBES`] lists the probes. A probe changes neither the index, the worktree nor the history,
//! and removes what it makes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::call::Hook;
use super::live;
use super::location::Mechanism;
use super::probe::{DoctorContext, Health, ProbeResult, probe_result};
use super::renames;
use edt_core::session::refs::names::{BRANCHES, base_ref};
use edt_io::capabilities::{self, Capability, Fallback};
use edt_io::left_lock::LeftLock;
use edt_io::process::is_running;
use edt_io::scratch::Scratch;
use edt_io::{Environment, fs};
use edt_types::text::{Shown as _, counted};
use edt_types::{Refusal, Result};

/// One probe.
#[derive(Debug)]
pub struct Probe {
    /// Its name.
    pub name: &'static str,
    /// The question that it answers.
    pub asks: &'static str,
    run: fn(&DoctorContext) -> Result<Vec<ProbeResult>>,
}

/// Every probe, in order.
pub const PROBES: &[Probe] = &[
    Probe { name: "git", asks: "Is Git present, and how does it find hooks?", run: git_version },
    Probe {
        name: "repository",
        asks: "Can edt open the repository, and are all its transactions complete?",
        run: repository,
    },
    Probe { name: "identity", asks: "Which name do commits have?", run: identity },
    Probe {
        name: "writable",
        asks: "Are the Git directory and the index writable?",
        run: writable,
    },
    Probe {
        name: "file_system",
        asks: "Does the file system support the operations that edt needs?",
        run: file_system,
    },
    Probe {
        name: "leftovers",
        asks: "Did a killed program leave locks or staged files?",
        run: leftovers,
    },
    Probe { name: "sessions", asks: "Does every session have its base?", run: sessions },
    Probe { name: "hooks", asks: "Does each hook refuse?", run: hooks },
    Probe {
        name: "sandbox",
        asks: "Which sandbox levels are available?",
        run: super::confinement::probe,
    },
];

/// What no Git hook can stop.
pub const NOT_PROTECTED: [&str; 7] = [
    "`git reset --hard` and `git checkout -f` rewrite files before Git calls a hook; uncommitted \
     changes that edt did not record are gone",
    "`git clean -fd` runs no hook; only what edt or Git recorded can be restored",
    "`git commit --no-verify` and `git push --no-verify` skip pre-commit and pre-push",
    "`git -c core.hooksPath=…` and edits of Git's configuration switch hooks off",
    "`rm -rf .git/refs`, and programs that write refs without Git (libgit2, jj), run no hook",
    "an agent whose programs write to a terminal, and which sets no variable of its own, is taken \
     for the user",
    "a server without edt's pre-receive judges pushes by its own rules",
];

#[must_use]
pub fn examine(context: &DoctorContext) -> Vec<ProbeResult> {
    let mut results = Vec::new();
    for probe in PROBES {
        match (probe.run)(context) {
            Ok(probe_result) => results.extend(probe_result),
            Err(findings) => results.push(failed(probe.name, findings)),
        }
    }
    results
}

/// Removes the leftovers of a killed edt that Git has recorded. Returns what it removed, in words.
///
/// # Errors
/// `IO_ERROR`.
pub fn remove_leftovers(context: &DoctorContext) -> Result<Vec<String>> {
    let mut removed = Vec::new();
    for path in leftover_staged_files(context) {
        if is_in_git(context, &path)? {
            fs::remove_file(&path).map_err(|error| edt_io::failed("remove", &path, &error))?;
            removed.push(format!("removed {}, whose content Git has", path.shown()));
        }
    }
    for (name, value) in leftover_probe_refs(context)? {
        context.git.output(&["update-ref", "-d", &name, &value], b"")?;
        removed.push(format!("removed {name}, a probe ref of a killed `edt doctor`"));
    }
    for directory in Scratch::abandoned(Environment::Process, &context.git_dir) {
        fs::remove_dir_all(&directory)
            .map_err(|error| edt_io::failed("remove", &directory, &error))?;
        let directory = directory.shown();
        removed.push(format!("removed {directory}, the scratch directory of a killed edt"));
    }
    Ok(removed)
}

#[expect(clippy::unnecessary_wraps, reason = "a probe may fail")]
fn git_version(context: &DoctorContext) -> Result<Vec<ProbeResult>> {
    let (major, minor) = context.location.version;
    let how = match context.location.mechanism() {
        Mechanism::Config => {
            "reads hooks from its configuration, in addition to the hooks directory"
        }
        Mechanism::Files => "reads hooks from one directory only",
    };
    let found = format!("Git {major}.{minor} {how}.");
    let old = (major, minor) < (2, 39);
    let next = old.then_some("Install Git 2.39 or newer.");
    Ok(vec![probe_result("git", if old { Health::Broken } else { Health::Ok }, &found, next)])
}

#[expect(clippy::unnecessary_wraps, reason = "a probe may fail")]
fn repository(context: &DoctorContext) -> Result<Vec<ProbeResult>> {
    let one = match &context.opened {
        Ok(None) => probe_result(
            "repository",
            Health::Ok,
            "edt can open the repository, and no transaction is unfinished.",
            None,
        ),
        Ok(Some(recovered)) => {
            let found = format!("Recovered now: {}", recovered.detail);
            probe_result("repository", Health::Ok, &found, None)
        }
        Err(_) if context.state.is_none() => probe_result(
            "repository",
            Health::Ok,
            "The repository is bare: it has no worktree to edit.",
            None,
        ),
        Err(why) => probe_result(
            "repository",
            Health::Broken,
            why,
            Some("Fix the named problem; edits are refused until then."),
        ),
    };
    Ok(vec![one])
}

fn identity(context: &DoctorContext) -> Result<Vec<ProbeResult>> {
    if context.state.is_none() {
        return Ok(Vec::new());
    }
    let value = |key| context.git.line(&["config", "--get", key]);
    let found = match (value("user.name")?, value("user.email")?) {
        (Some(name), Some(email)) => {
            (Health::Ok, format!("Commits have the name {name} <{email}>."), None)
        }
        _ => (
            Health::Ok,
            "user.name or user.email is not set: edt's commits have the name edt <edt@localhost>, \
             and `git commit` may refuse."
                .to_owned(),
            Some("Set them with `git config user.name` and `git config user.email`."),
        ),
    };
    Ok(vec![probe_result("identity", found.0, &found.1, found.2)])
}

#[expect(clippy::unnecessary_wraps, reason = "a probe may fail")]
fn writable(context: &DoctorContext) -> Result<Vec<ProbeResult>> {
    let index = context.git_dir.join("index");
    let places = [
        context.git_dir.clone(),
        context.location.common.clone(),
        context.location.common.join("objects"),
        index,
    ];
    let exists = |path: &&PathBuf| fs::minutes_old(path).is_some();
    let refused =
        places.iter().filter(exists).find_map(|path| Some((path, fs::check_writable(path).err()?)));
    let one = match refused {
        None => {
            let found = "The Git directory and the index are writable.";
            probe_result("writable", Health::Ok, found, None)
        }
        Some((path, error)) => probe_result(
            "writable",
            Health::Broken,
            &format!("{} is not writable: {error}.", path.shown()),
            Some(
                "If a sandbox protects it, call edt from outside the sandbox (its MCP server or a \
                 hook); else make it writable for this user.",
            ),
        ),
    };
    Ok(vec![one])
}

fn file_system(context: &DoctorContext) -> Result<Vec<ProbeResult>> {
    let directory = context.state.clone().unwrap_or_else(|| context.location.common.clone());
    let capabilities = capabilities::probe(&directory)
        .map_err(|error| edt_io::failed("write to", &directory, &error))?;
    // edt's directories exist only if something is in them.
    context.state.iter().flat_map(|state| state.ancestors().take(2)).for_each(fs::remove_empty_dir);
    Ok(vec![file_system_result(&capabilities)])
}

fn file_system_result(capabilities: &[Capability]) -> ProbeResult {
    let listed = |are: &dyn Fn(&Fallback) -> bool| -> Vec<String> {
        let failed = capabilities.iter().filter(|one| are(&one.fallback));
        let shown = |one: &Capability| Some(format!("{} ({})", one.name, one.failed.as_ref()?));
        failed.filter_map(shown).collect()
    };
    let missing = listed(&|fallback| *fallback == Fallback::Missing);
    if !missing.is_empty() {
        let found = format!("These do not work here: {}.", missing.join(", "));
        let next = "Keep the repository on a local file system (ext4, xfs, btrfs, tmpfs, APFS).";
        return probe_result("file_system", Health::Broken, &found, Some(next));
    }
    let weaker = capabilities.iter().find_map(|one| match (one.fallback, &one.failed) {
        (Fallback::Weaker(how), Some(error)) => Some((one.name, error, how)),
        _ => None,
    });
    if let Some((name, error, how)) = weaker {
        let found = format!("{name} ({error}) does not work here: {how}.");
        let next = "Save no file by hand while an agent edits it, or keep the repository on a \
                    file system that exchanges files (ext4, xfs, btrfs, tmpfs, APFS).";
        return probe_result("file_system", Health::Ok, &found, Some(next));
    }
    let equal = listed(&|fallback| *fallback == Fallback::Equal);
    let found = if equal.is_empty() {
        let names: Vec<&str> = capabilities.iter().map(|one| one.name).collect();
        format!("{} work here.", names.join(", "))
    } else {
        format!("{}: edt does the same without.", equal.join(", "))
    };
    probe_result("file_system", Health::Ok, &found, None)
}

/// The lock of the refs in tables.
const TABLES_LOCK: &str = "reftable/tables.list.lock";

fn leftovers(context: &DoctorContext) -> Result<Vec<ProbeResult>> {
    let mut results = Vec::new();
    let names = ["index.lock", "HEAD.lock", TABLES_LOCK];
    let mut paths: BTreeSet<PathBuf> = names.map(|name| context.git_dir.join(name)).into();
    let shared = ["config.lock", "packed-refs.lock", TABLES_LOCK];
    paths.extend(shared.map(|name| context.location.common.join(name)));
    for directory in [&context.git_dir, &context.location.common] {
        add_locks(&directory.join("refs"), &mut paths);
    }
    for path in paths {
        if context.left.contains(&path) {
            continue;
        }
        let places = [context.git.dir(), &context.git_dir, &context.location.common];
        if let Some(left) = LeftLock::at(&path, &places) {
            let (found, next) = (left.found(), left.remedy());
            results.push(probe_result("leftovers", Health::Broken, &found, Some(&next)));
        } else if let Some(minutes @ 10..) = fs::minutes_old(&path) {
            let found = format!("{} is {minutes} minutes old.", path.shown());
            results.push(probe_result(
                "leftovers",
                Health::Broken,
                &found,
                Some("If no Git program runs here, a crashed one left it: the user may remove it."),
            ));
        }
    }
    if !context.left.is_empty() {
        let names: Vec<String> = context.left.iter().map(|path| path.shown()).collect();
        let found = format!("A killed edt left {}.", names.join(", "));
        let next = Some("`edt doctor --fix` removes what is edt's own.");
        results.push(probe_result("leftovers", Health::Broken, &found, next));
    }
    let staged: Vec<String> =
        leftover_staged_files(context).iter().map(|path| path.shown()).collect();
    if !staged.is_empty() {
        let found = format!(
            "A killed edt left {}: {}.",
            counted(staged.len(), "staged file"),
            staged.join(", ")
        );
        let next = "`edt doctor --fix` removes those whose content Git has; look at the others \
                    before you remove them.";
        results.push(probe_result("leftovers", Health::Broken, &found, Some(next)));
    }
    let probes: Vec<String> =
        leftover_probe_refs(context)?.into_iter().map(|(name, _)| name).collect();
    if !probes.is_empty() {
        let found = format!("A killed `edt doctor` left {}.", probes.join(", "));
        results.push(probe_result(
            "leftovers",
            Health::Broken,
            &found,
            Some("`edt doctor --fix` removes them."),
        ));
    }
    let directories = Scratch::abandoned(Environment::Process, &context.git_dir);
    if !directories.is_empty() {
        let names: Vec<String> = directories.iter().map(|path| path.shown()).collect();
        let found = format!("A killed edt left scratch directories: {}.", names.join(", "));
        let next = Some("`edt doctor --fix` removes them.");
        results.push(probe_result("leftovers", Health::Ok, &found, next));
    }
    if results.is_empty() {
        let found = "No stale lock and no staged file was found.";
        results.push(probe_result("leftovers", Health::Ok, found, None));
    }
    Ok(results)
}

/// Adds the locks of loose refs below `directory`. A link to a directory may lead back to it.
fn add_locks(directory: &Path, paths: &mut BTreeSet<PathBuf>) {
    for path in fs::names_in(directory).into_iter().map(|name| directory.join(name)) {
        if path.extension().is_some_and(|extension| extension == "lock") {
            paths.insert(path);
        } else if !path.is_symlink() {
            add_locks(&path, paths);
        }
    }
}

/// Probe refs of an older `edt doctor` that was killed before it deleted them, with their values.
fn leftover_probe_refs(context: &DoctorContext) -> Result<Vec<(String, String)>> {
    let listed = context.git.output(
        &["for-each-ref", "--format=%(refname) %(objectname)", "refs/edt/doctor-*/probe"],
        b"",
    )?;
    let text = String::from_utf8_lossy(&listed).into_owned();
    let process =
        |name: &str| name.strip_prefix("refs/edt/doctor-")?.strip_suffix("/probe")?.parse().ok();
    let is_leftover = |name: &str| process(name).is_some_and(|id| !is_running(id));
    let pairs =
        text.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| is_leftover(name));
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// What was kept of the user's in edt's directory of staged files, and what is old there, except
/// the index, which the next edit uses again.
fn leftover_staged_files(context: &DoctorContext) -> Vec<PathBuf> {
    // A transaction that is under way, or could not be recovered, needs them.
    if context.opened.is_err() {
        return Vec::new();
    }
    let Some(state) = &context.state else { return Vec::new() };
    let is_not_index = |path: &PathBuf| {
        path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"index"))
    };
    // A call that runs may still use a staged file, but not what was kept of the user's.
    let old = |path: &PathBuf| {
        let is_kept =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"kept-"));
        is_kept || fs::minutes_old(path).is_some_and(|minutes| minutes >= 10)
    };
    let files = fs::files_in(&state.join("stage")).into_iter().filter(is_not_index).filter(old);
    files.filter(|path| !context.left.contains(path)).collect()
}

fn is_in_git(context: &DoctorContext, path: &Path) -> Result<bool> {
    let path = path.to_string_lossy();
    let Some(id) = context.git.line(&["hash-object", "--no-filters", "--", &path])? else {
        return Ok(false);
    };
    Ok(context.git.run(&["cat-file", "-e", &id], b"")?.ok)
}

fn sessions(context: &DoctorContext) -> Result<Vec<ProbeResult>> {
    if context.state.is_none() {
        return Ok(Vec::new());
    }
    let listed = context.git.output(&["for-each-ref", "--format=%(refname)", BRANCHES], b"")?;
    let text = String::from_utf8_lossy(&listed).into_owned();
    let names: Vec<&str> = text.lines().filter_map(|name| name.strip_prefix(BRANCHES)).collect();
    let bases: Vec<String> = names.iter().map(|name| base_ref(name)).collect();
    let found = context.git.objects(&bases)?;
    let mut without_base: Vec<&str> = Vec::new();
    for (name, _) in names.iter().zip(&found).filter(|(_, base)| base.is_none()) {
        // A session whose branch was renamed keeps its base under its own name.
        if renames::session_of(&context.git, &format!("{BRANCHES}{name}"))?.is_none() {
            without_base.push(name);
        }
    }
    if without_base.is_empty() {
        let found = format!("{}, each with its base.", counted(names.len(), "session"));
        return Ok(vec![probe_result("sessions", Health::Ok, &found, None)]);
    }
    let next = format!(
        "Record the commit from which the first began with `git update-ref {} <commit>`, or let \
         the user delete its branch.",
        base_ref(without_base[0])
    );
    let found = format!("These sessions have no base: {}.", without_base.join(", "));
    Ok(vec![probe_result("sessions", Health::Broken, &found, Some(&next))])
}

fn hooks(context: &DoctorContext) -> Result<Vec<ProbeResult>> {
    let one = |hook: &'static dyn Hook| {
        live::probe(context, hook)
            .unwrap_or_else(|findings| failed(&format!("hook {}", hook.name()), findings))
    };
    let mut results: Vec<ProbeResult> = context.location.hooks_here().map(one).collect();
    for root in context.location.unguarded()? {
        let found = format!(
            "core.hooksPath is relative, so Git does not find edt's hooks in the worktree {}.",
            root.shown()
        );
        let next = format!(
            "`git config core.hooksPath '{}'` sets one directory for all worktrees.",
            context.location.hooks.shown()
        );
        results.push(probe_result("hooks", Health::NotLive, &found, Some(&next)));
    }
    Ok(results)
}

/// The result of a probe that failed.
#[must_use]
pub fn failed(probe: &str, findings: Refusal) -> ProbeResult {
    let found = findings.into_vec().into_iter().next();
    let (found, next) = found.map_or_else(Default::default, |one| (one.message(), one.hint()));
    probe_result(probe, Health::Broken, &found, Some(&next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_edt_cannot_do_without_is_broken() {
        let one = |name, fallback, fails: bool| {
            let failed = fails.then(|| std::io::ErrorKind::Unsupported.into());
            Capability { name, fallback, failed }
        };
        for (equal, weaker, missing, health, found, has_next) in [
            (false, false, false, Health::Ok, "a, b, c work here.", false),
            (true, false, false, Health::Ok, "a (unsupported): edt does the same without.", false),
            (true, true, false, Health::Ok, "b (unsupported) does not work here: less.", true),
            (true, true, true, Health::Broken, "These do not work here: c (unsupported).", true),
        ] {
            let result = file_system_result(&[
                one("a", Fallback::Equal, equal),
                one("b", Fallback::Weaker("less"), weaker),
                one("c", Fallback::Missing, missing),
            ]);
            assert_eq!((result.health, result.found.as_str()), (health, found));
            assert_eq!(result.next.is_some(), has_next, "{found}");
        }
    }
}
