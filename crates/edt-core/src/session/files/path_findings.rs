//! Why a path cannot be edited.

use edt_types::{Code, Finding, RepoPath};

pub(super) fn unmerged(path: &RepoPath) -> Finding {
    Finding::new(
        Code::RepositoryBusy,
        format!("{path} is unmerged in the index, or staged as a link or a submodule."),
        "The user must resolve the index entry first: `git status` shows it, `git add` or `git \
         restore --staged` resolves it.",
    )
    .nothing_changed()
    .at(path)
}

pub(super) fn sparse(path: &RepoPath) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!(
            "{path} is outside the sparse checkout: it is tracked, but not checked out in \
            this worktree."
        ),
        "Check it out first: run `git sparse-checkout add` with its directory.",
    )
    .nothing_changed()
    .at(path)
}

pub(super) fn symlink(path: &RepoPath) -> Finding {
    Finding::new(
        Code::PathThroughSymlink,
        format!("{path} is a symbolic link or goes through one."),
        "Edit the real file by its own path (`readlink -f` shows it), if it is in this worktree.",
    )
    .nothing_changed()
    .at(path)
}

pub(super) fn nested(path: &RepoPath, what: &str) -> Finding {
    Finding::new(
        Code::PathOutsideRepo,
        format!("{path} lies in {what}, which has its own history."),
        "Run edt in that repository instead (`edt -C DIR …`).",
    )
    .nothing_changed()
    .at(path)
}

pub(super) fn not_a_file(path: &RepoPath, why: &str) -> Finding {
    Finding::new(
        Code::NotAFile,
        format!("{path} cannot be edited: {why}."),
        "Name a regular file; `edt status` and `git ls-files` list them.",
    )
    .at(path)
}
