//! The paths that `edt checkpoint` looks at.

use super::snapshot;
use crate::session::files::path_state::PathState;
use crate::session::private::uncovered::MAX_NAMED;
use edt_git::{Oid, Repo, Tracked};
use edt_io::disk::Parent;
use edt_types::{Code, Effect, Finding, RepoPath, Result, Warning, WarningCode};

/// The paths that may differ from `tree`, in order, limited to those below `only` if it is not
/// empty. Returns a warning for each directory in `only` without such a path.
pub(crate) fn candidates(
    repo: &Repo,
    tree: Oid,
    only: &[RepoPath],
) -> Result<(Vec<RepoPath>, Vec<Warning>)> {
    if !only.is_empty() && only.iter().all(|path| is_file(repo, tree, path)) {
        // A file has no paths below it. The names are complete, so the worktree is not scanned.
        let mut only = only.to_vec();
        only.sort();
        only.dedup();
        return Ok((only, Vec::new()));
    }
    let mut all: Vec<RepoPath> = snapshot::differing(repo, tree)?.into_iter().collect();
    if only.is_empty() {
        return Ok((all, Vec::new()));
    }
    let below = |path: &RepoPath, above: &RepoPath| {
        path == above
            || path
                .as_bytes()
                .strip_prefix(above.as_bytes())
                .is_some_and(|rest| rest.starts_with(b"/"))
    };
    all.retain(|path| only.iter().any(|named| below(path, named)));
    let mut warnings = Vec::new();
    for named in only {
        if all.iter().any(|path| below(path, named))
            || repo.tracked(tree, named)? != Tracked::Nothing
        {
            continue;
        }
        let (dir_path, name) = named.split();
        let failed = |error| edt_io::failed("read", &repo.root_path().join(named.text()), &error);
        let found = match repo.root().beneath(dir_path).map_err(failed)? {
            Parent::Open(dir) => dir.stat(name).map_err(failed)?,
            Parent::Missing | Parent::NotADirectory => None,
            // Reading its state reports the link.
            Parent::Symlink => {
                all.push(named.clone());
                continue;
            }
        };
        match found {
            None => return Err(not_found(named).into()),
            Some(found) if found.is_directory() => warnings.push(nothing_below(named)),
            // An ignored file that is named in full is reported.
            Some(_) => all.push(named.clone()),
        }
    }
    all.sort();
    Ok((all, warnings))
}

/// Whether there is a file at `path`, or no file where the session has one.
fn is_file(repo: &Repo, tree: Oid, path: &RepoPath) -> bool {
    let (dir_path, name) = path.split();
    let Ok(Parent::Open(dir)) = repo.root().beneath(dir_path) else { return false };
    match dir.stat(name) {
        Ok(Some(found)) => !found.is_directory(),
        Ok(None) => matches!(repo.tracked(tree, path), Ok(Tracked::File(_))),
        Err(_) => false,
    }
}

fn not_found(path: &RepoPath) -> Finding {
    Finding::new(
        Code::FileNotFound,
        format!("{path} is neither in the worktree nor in the session."),
        "Check the path with `edt status`; without a path, `edt checkpoint` records everything.",
    )
    .with_effect(Effect::NothingRecorded)
    .at(path)
}

/// Warnings about the `ignored` files, which no commit has: one for each of the first ones, and one
/// for all others.
pub(crate) fn ignored_paths(ignored: &[PathState]) -> Vec<Warning> {
    let (first, others) = ignored.split_at(ignored.len().min(MAX_NAMED));
    let mut all: Vec<Warning> = first.iter().map(|state| ignored_path(&state.path)).collect();
    if !others.is_empty() {
        let message = format!(
            "{} more paths were not recorded for the same reason. `edt status --json` lists them.",
            others.len()
        );
        all.push(Warning { code: WarningCode::LeftOut, path: None, message });
    }
    all
}

pub(crate) fn ignored_path(path: &RepoPath) -> Warning {
    Warning {
        code: WarningCode::LeftOut,
        path: Some(path.text()),
        message: "This path was not recorded: Git ignores it, or ignored its content before. Such \
            a file is committed only if the user adds it (`git add`)."
            .to_owned(),
    }
}

fn nothing_below(path: &RepoPath) -> Warning {
    Warning {
        code: WarningCode::LeftOut,
        path: Some(path.text()),
        message: "Nothing below this directory was recorded: Git ignores its files, or it is \
            empty."
            .to_owned(),
    }
}
