//! Git's environment variables: honoured completely, as Git does it, or refused.

use std::path::{Path, PathBuf};

use gix::sec::Trust;

use super::supported::unsupported;
use edt_io::Environment;
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// Variables that change what a repository is, and that edt does not honour. A value that matches
/// the actual repository is accepted.
const REFUSED: &[&str] = &[
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_ATTR_SOURCE",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_REPLACE_REF_BASE",
];

/// Variables that are honoured. A relative path in them starts at the worktree's root, as for Git's
/// own commands.
const HONOURED: &[&str] = &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// Checks that Git would use `repo` in `environment`, as edt does.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY` naming the variable.
pub(super) fn check(environment: Environment, repo: &gix::Repository) -> Result<()> {
    let is_set = |name: &&&str| environment.var(name).is_some_and(|value| !value.is_empty());
    let same = |name: &str, path: &Path| {
        let named =
            environment.var(name).map(PathBuf::from).and_then(|named| named.canonicalize().ok());
        named.is_some() && named == path.canonicalize().ok()
    };
    for name in REFUSED.iter().filter(is_set) {
        let harmless = match *name {
            "GIT_COMMON_DIR" => same(name, repo.common_dir()),
            "GIT_OBJECT_DIRECTORY" => same(name, repo.objects.store_ref().path()),
            _ => false,
        };
        if !harmless {
            return Err(variable(name, "which edt does not honour").into());
        }
    }
    for name in HONOURED.iter().filter(is_set) {
        let relative = environment.var(name).is_some_and(|value| !Path::new(&value).is_absolute());
        // Without GIT_WORK_TREE the current directory is the worktree, whatever GIT_DIR names.
        let here = *name == "GIT_DIR"
            && environment.var("GIT_WORK_TREE").is_none_or(|value| value.is_empty());
        if (relative || here) && !repo.workdir().is_some_and(is_current_dir) {
            return Err(variable(
                name,
                "a path relative to the current directory, which is not the worktree's root",
            )
            .into());
        }
    }
    Ok(())
}

/// Whether `environment` names the repository, so that nothing is searched.
pub(super) fn names_repository(environment: Environment) -> bool {
    let is_set = |name: &str| environment.var(name).is_some_and(|value| !value.is_empty());
    is_set("GIT_DIR") || is_set("GIT_WORK_TREE")
}

/// Checks that `environment` names no other repository than `repo`, which was opened by path.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY` naming the variable.
pub(super) fn check_names(environment: Environment, repo: &gix::Repository) -> Result<()> {
    for name in HONOURED.iter().chain(REFUSED) {
        let Some(value) = environment.var(name).filter(|value| !value.is_empty()) else {
            continue;
        };
        let own = match *name {
            "GIT_DIR" => Some(repo.git_dir().to_owned()),
            "GIT_WORK_TREE" => repo.workdir().map(Path::to_owned),
            "GIT_INDEX_FILE" => Some(repo.git_dir().join("index")),
            "GIT_COMMON_DIR" => Some(repo.common_dir().to_owned()),
            "GIT_OBJECT_DIRECTORY" => Some(repo.common_dir().join("objects")),
            _ => None,
        };
        let real = edt_io::fs::real_path;
        // A relative path depends on the current directory.
        if !own.is_some_and(|own| {
            Path::new(&value).is_absolute() && real(&own) == real(Path::new(&value))
        }) {
            let why = format!("the environment sets {name}, which names another repository");
            let mut finding = unsupported(&why);
            finding.remedy =
                format!("Start the agent without {name} in its environment (`env -u {name} …`).");
            return Err(finding.into());
        }
    }
    Ok(())
}

/// Checks that the repository belongs to the current user, or is listed in `safe.directory`.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY`.
pub(super) fn check_owner(repo: &gix::Repository) -> Result<()> {
    match repo.git_dir_trust() {
        Trust::Full => Ok(()),
        Trust::Reduced => Err(foreign(repo.workdir().unwrap_or(repo.git_dir())).into()),
    }
}

fn is_current_dir(root: &Path) -> bool {
    let here = edt_io::environment::current_dir().and_then(|here| here.canonicalize());
    here.is_ok_and(|here| root.canonicalize().is_ok_and(|root| root == here))
}

fn variable(name: &str, why: &str) -> Finding {
    let mut finding = unsupported(&format!("the environment sets {name}, {why}"));
    finding.remedy =
        format!("Repeat the call without it (`env -u {name} edt …`), from the worktree's root.");
    finding
}

fn foreign(place: &Path) -> Finding {
    let place = place.canonicalize().unwrap_or_else(|_| place.to_owned());
    Finding::new(
        Code::UnsupportedRepository,
        format!(
            "The repository at {} belongs to another user, who could make Git run their programs. \
             No program was run.",
            place.shown()
        ),
        format!(
            "If you trust that user, allow it in Git: `git config --global --add safe.directory \
             {}`.",
            place.shown()
        ),
    )
    .nothing_changed()
}

/// The directory that contains the user's `git/` configuration besides `~/.gitconfig`.
pub(super) fn user_config_dir(environment: Environment) -> Option<PathBuf> {
    let xdg_home =
        environment.var("XDG_CONFIG_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    xdg_home.or_else(|| environment.var("HOME").map(|home| Path::new(&home).join(".config")))
}
