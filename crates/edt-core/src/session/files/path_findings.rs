//! Why a path cannot be edited.

use std::os::unix::ffi::OsStrExt as _;

use edt_git::Repo;
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

/// `PATH_THROUGH_SYMLINK`, with the path of the file itself if it is in this worktree.
#[must_use]
pub fn symlink(repo: &Repo, path: &RepoPath) -> Finding {
    let real = repo.real_root().ok().and_then(|root| {
        let file = edt_io::fs::real_path(&root.join(std::ffi::OsStr::from_bytes(path.as_bytes())));
        let below = file.strip_prefix(&root).ok()?.as_os_str().as_bytes();
        RepoPath::parse(below).ok().filter(|real| real != path)
    });
    let remedy = match &real {
        Some(real) => format!("Send its own path: {real}."),
        None => "It leads to no other file of this worktree: ask the user to change it.".to_owned(),
    };
    let finding = Finding::new(
        Code::PathThroughSymlink,
        format!("{path} is a symbolic link or goes through one."),
        remedy,
    );
    let finding = finding.nothing_changed().at(path);
    match real {
        Some(real) => finding.with("real_path", real.text()),
        None => finding,
    }
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
