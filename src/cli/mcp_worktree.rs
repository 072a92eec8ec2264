//! The worktree of a call through `edt mcp`, and its bounds: the client's roots, or the repository
//! in which the server was started.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::CallDefaults;
use crate::mcp::Roots;
use edt_core::session::worktree::options::Cache;
use edt_git::Repo;
use edt_guard::policy::Policy;
use edt_io::{Environment, fs};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// The directory in which a call acts. If the client named its roots, the worktree `named` must be
/// inside one of them, or contain one. If it has none, it must be inside the repository in which
/// the server was started, one of its worktrees, or a directory that the user's `edt.toml` lists.
/// A server that was not started in a repository is bounded by its directory, unless that contains
/// the user's home directory.
///
/// # Errors
/// `BAD_REQUEST` if it is no absolute path of a directory; `PATH_OUTSIDE_REPO`.
pub(super) fn directory(
    defaults: &CallDefaults,
    cache: &Arc<Cache>,
    named: Option<PathBuf>,
    roots: &Roots,
) -> Result<PathBuf> {
    let own = fs::real_path(&defaults.start);
    let roots = match roots {
        Roots::Unsupported => None,
        // The client's roots are unknown: allow only the server's own directory.
        Roots::Unanswered => Some(vec![own.clone()]),
        Roots::Known(roots) => Some(roots.iter().map(|root| fs::real_path(root)).collect()),
    };
    let theirs = |path: &Path| {
        roots.as_ref().is_none_or(|all: &Vec<PathBuf>| {
            all.iter().any(|root| path.starts_with(root) || root.starts_with(path))
        })
    };
    let Some(named) = named else {
        let first = roots.iter().flatten().find(|root| root.is_dir());
        return match first {
            _ if theirs(&own) => Ok(own),
            Some(first) => Ok(first.clone()),
            None => Err(Finding::new(
                Code::PathOutsideRepo,
                "The client works in directories that do not exist on this machine.",
                "Let the user know that the client's roots must be directories with a repository.",
            )
            .nothing_changed()
            .into()),
        };
    };
    let real = checked(&named)?;
    if let Some(roots) = &roots {
        let hint = "The user can add its directory to the roots of the client.";
        return if theirs(&real) { Ok(real) } else { Err(outside(&real, roots, hint)) };
    }
    let bounds = bounds(defaults, cache, &own)?;
    if bounds.iter().any(|bound| real.starts_with(bound)) {
        return Ok(real);
    }
    let hint = "The user can list its directory in their own edt.toml: `[mcp] worktrees`.";
    Err(outside(&real, &bounds, hint))
}

/// The real path of a directory that may be a worktree.
fn checked(named: &Path) -> Result<PathBuf> {
    let bad = |what: &str, hint: &str| {
        let message = format!("The worktree {} is {what}.", named.shown());
        Err(Finding::new(Code::BadRequest, message, hint).nothing_changed().into())
    };
    let real = fs::real_path(named);
    if !named.is_absolute() {
        return bad("not an absolute path", "Send an absolute path, or omit `worktree`.");
    } else if !real.is_dir() {
        return bad(
            "not a directory",
            "Send the directory of a worktree, or omit `worktree`; `git worktree list` lists them.",
        );
    } else if real.components().any(|part| part.as_os_str() == ".git") {
        return bad(
            "inside a Git directory",
            "Send the directory of a worktree, or omit `worktree`.",
        );
    }
    Ok(real)
}

/// The directories of a client without roots.
fn bounds(defaults: &CallDefaults, cache: &Arc<Cache>, own: &Path) -> Result<Vec<PathBuf>> {
    let mut bounds = Vec::new();
    if let Ok(repo) = Repo::open_in(Environment::Process, own) {
        let worktrees = repo.worktrees("");
        bounds.extend(worktrees.iter().filter_map(|one| repo.worktree_root(one)));
        bounds.push(repo.real_root()?);
    } else if !contains_home(own) {
        bounds.push(own.to_owned());
    }
    let options = defaults.context("mcp", own.to_owned(), Arc::clone(cache)).options()?;
    let policy = Policy::of(options.user_policy.as_deref(), None)?;
    bounds.extend(policy.mcp_worktrees);
    Ok(bounds.iter().map(|bound| fs::real_path(bound)).collect())
}

/// Whether the user's home directory is in `directory`: a client may start servers there, or in `/`,
/// without meaning all of it.
fn contains_home(directory: &Path) -> bool {
    let home = edt_io::environment::variable("HOME").map(|home| fs::real_path(Path::new(&home)));
    directory.parent().is_none() || home.is_some_and(|home| home.starts_with(directory))
}

/// The refusal of the worktree `named`; `hint` says how the user allows it.
fn outside(named: &Path, bounds: &[PathBuf], hint: &str) -> edt_types::Refusal {
    let bounds: Vec<String> = bounds.iter().map(|bound| bound.shown()).collect();
    let hint = if bounds.is_empty() {
        hint.to_owned()
    } else {
        format!("Name a worktree in {}. {hint}", bounds.join(" or "))
    };
    Finding::new(
        Code::PathOutsideRepo,
        format!("{} is outside of the directories in which this client works.", named.shown()),
        hint,
    )
    .nothing_changed()
    .into()
}
