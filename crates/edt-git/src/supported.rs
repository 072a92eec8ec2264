//! Which repositories edt can work in.

use std::path::{Path, PathBuf};

use edt_types::{Code, Finding, Result};

/// Extensions of `core.repositoryFormatVersion` 1 that do not affect edt, or that it honours.
const EXTENSIONS: &[&str] = &[
    "objectformat",
    "worktreeconfig",
    "partialclone",
    "preciousobjects",
    "relativeworktrees",
    "noop",
    "noop-v1",
];

pub(super) fn check_supported(repo: &gix::Repository) -> Result<()> {
    let config = repo.config_snapshot();
    let version = config.integer("core.repositoryFormatVersion").unwrap_or(0);
    if !(0..=1).contains(&version) {
        return Err(unsupported(&format!("its format version {version} is unknown")).into());
    }
    for section in config.plumbing().sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            let name = name.clone().to_ascii_lowercase();
            let value = config
                .string(format!("extensions.{name}").as_str())
                .unwrap_or_default()
                .to_string();
            let files = name == "refstorage" && value.eq_ignore_ascii_case("files");
            if !files && !EXTENSIONS.contains(&name.as_str()) {
                return Err(unsupported(&format!("it uses the extension {name} = {value}")).into());
            }
        }
    }
    Ok(())
}

/// Refuses a worktree that `core.worktree` or the environment puts into the Git directory itself:
/// its files would be hooks and configuration. A linked worktree may be in the Git directory, but
/// not where Git keeps its own files.
pub(super) fn check_outside_git_dir(repo: &gix::Repository, root: &Path) -> Result<()> {
    // The usual case: `.git` at the root.
    if repo.git_dir() == root.join(".git") && repo.common_dir() == repo.git_dir() {
        return Ok(());
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(root);
    let inside = |dir: &Path| root.strip_prefix(real(dir)).ok().map(Path::to_owned);
    let linked = repo.common_dir() != repo.git_dir();
    let git_names = ["hooks", "info", "logs", "modules", "objects", "refs", "worktrees", "edt"];
    let is_git_file = |below: &PathBuf| match below.components().next() {
        None => true,
        Some(first) => !linked || git_names.iter().any(|name| first.as_os_str() == *name),
    };
    if inside(repo.git_dir()).is_some()
        || inside(repo.common_dir()).is_some_and(|below| is_git_file(&below))
    {
        return Err(unsupported(&format!(
            "its worktree {} is inside its own Git directory",
            root.display()
        ))
        .into());
    }
    Ok(())
}

pub(super) fn unsupported(why: &str) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!("edt cannot work in this repository: {why}."),
        "Use an ordinary worktree with loose and packed refs (`git init`, `git clone`, \
         `git worktree add`).",
    )
    .nothing_changed()
}
