//! What the environment says of the repository: honoured as Git does it, or refused, never half.

use std::path::{Path, PathBuf};

use gix::sec::Trust;

use super::repo::unsupported;
use crate::base::{Code, Finding, Result};

/// Variables that change what a repository is, and that edt does not honour. One that says what holds anyway is no harm.
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

/// Variables that are honoured; a relative path in them counts from the worktree's root, as it does for Git's own commands.
const HONOURED: &[&str] = &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// Checks that the environment means by `repo` what edt means.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY` naming the variable.
pub(super) fn check(repo: &gix::Repository) -> Result<()> {
    let given = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let same = |name: &str, path: &Path| {
        let named =
            std::env::var_os(name).map(PathBuf::from).and_then(|named| named.canonicalize().ok());
        named.is_some() && named == path.canonicalize().ok()
    };
    for name in REFUSED.iter().filter(given) {
        let harmless = match *name {
            "GIT_COMMON_DIR" => same(name, repo.common_dir()),
            "GIT_OBJECT_DIRECTORY" => same(name, repo.objects.store_ref().path()),
            _ => false,
        };
        if !harmless {
            return Err(variable(name, "which edt does not honour").into());
        }
    }
    for name in HONOURED.iter().filter(given) {
        let relative = std::env::var_os(name).is_some_and(|value| !Path::new(&value).is_absolute());
        // Without GIT_WORK_TREE the current folder is the worktree, whatever GIT_DIR names.
        let here = *name == "GIT_DIR"
            && std::env::var_os("GIT_WORK_TREE").is_none_or(|value| value.is_empty());
        if (relative || here) && !repo.workdir().is_some_and(at_root) {
            return Err(variable(
                name,
                "which Git would take from the current folder, and that is not the worktree's root",
            )
            .into());
        }
    }
    Ok(())
}

/// Checks that the environment names no other repository than `repo`, which was not opened by its word.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY` naming the variable.
pub(super) fn check_names(repo: &gix::Repository) -> Result<()> {
    for name in HONOURED.iter().chain(REFUSED) {
        let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else {
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
        let real = crate::io::whole::real;
        // A relative one means another thing in every folder.
        if !own.is_some_and(|own| {
            Path::new(&value).is_absolute() && real(&own) == real(Path::new(&value))
        }) {
            let mut finding =
                unsupported(&format!("the environment sets {name}, which means another one"));
            finding.hint =
                format!("Start the agent without {name} in its environment (`env -u {name} …`).");
            return Err(finding.into());
        }
    }
    Ok(())
}

/// Checks that the repository is the caller's own, or one that `safe.directory` names.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY`.
pub(super) fn check_owner(repo: &gix::Repository) -> Result<()> {
    match repo.git_dir_trust() {
        Trust::Full => Ok(()),
        Trust::Reduced => Err(foreign(repo.workdir().unwrap_or(repo.git_dir())).into()),
    }
}

fn at_root(root: &Path) -> bool {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    here.is_ok_and(|here| root.canonicalize().is_ok_and(|root| root == here))
}

fn variable(name: &str, why: &str) -> Finding {
    let mut finding = unsupported(&format!("the environment sets {name}, {why}"));
    finding.hint =
        format!("Repeat the call without it (`env -u {name} edt …`), from the worktree's root.");
    finding
}

fn foreign(place: &Path) -> Finding {
    let place = place.canonicalize().unwrap_or_else(|_| place.to_owned());
    Finding::new(
        Code::UnsupportedRepository,
        format!(
            "The repository at {} belongs to another user, who could make Git run programs of theirs. Nothing was touched or run.",
            place.display()
        ),
        format!(
            "If you trust that user with it, tell Git so: `git config --global --add safe.directory {}`.",
            place.display()
        ),
    )
}

/// Where the person's own configuration of Git lies beside `~/.gitconfig`, without `git`.
pub(super) fn config_home() -> Option<PathBuf> {
    let given =
        std::env::var_os("XDG_CONFIG_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    given.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")))
}

impl super::Repo {
    /// What the person's own configuration (or the system's, or the environment) says of `key`; what the repository's says does not
    /// count: it may have come with the repository.
    #[must_use]
    pub fn persons(&self, key: &str) -> Option<String> {
        let own = |meta: &gix::config::file::Metadata| {
            meta.source.kind() != gix::config::source::Kind::Repository
        };
        self.inner
            .config_snapshot()
            .plumbing()
            .string_filter(key, own)
            .map(|value| value.to_string())
    }
}
