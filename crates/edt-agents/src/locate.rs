//! Finds the worktree of a path that an agent names.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use edt_io::fs;
use edt_types::path::PathProblem;
use edt_types::{Code, Finding, Result};

/// A path in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePath {
    /// The worktree's root.
    pub root: PathBuf,
    /// The path in it, as a request names it; not validated.
    pub path: Vec<u8>,
}

/// Finds the worktree of `raw`, which may be relative to `cwd`; `None` outside every worktree.
///
/// # Errors
/// `BAD_REQUEST` if the path is ambiguous: it has `..`, and the file depends on whether symbolic
/// links are resolved before `..` or after it. `PATH_IN_GIT_DIR` if it leads into a Git directory
/// of any name.
pub fn locate(cwd: &Path, raw: &str) -> Result<Option<WorktreePath>> {
    // Some agents expand these to the home directory, others use a directory of that name.
    if ["~", "$HOME", "${HOME}"].iter().any(|home| raw.starts_with(home)) {
        let message =
            format!("The path {raw:?} may mean the home directory or a directory of that name.");
        return Err(Finding::new(Code::BadRequest, message, "Write the absolute path.").into());
    }
    let named = cwd.join(raw);
    let full = resolve_as_text(&named);
    if full != without_dots(&named) && fs::real_path(&full) != fs::real_path(&resolve_links(&named))
    {
        return Err(ambiguous_path(raw).into());
    }
    if let Some(located) = in_worktree(&full) {
        return Ok(Some(located));
    }
    // The path may be a symbolic link into a worktree, or be below such a link.
    let link_target = link_target(&full);
    match in_worktree(&link_target) {
        None if link_target.ancestors().skip(1).any(is_git_directory) => {
            Err(PathProblem::GitDir.finding(raw.as_bytes()).into())
        }
        located => Ok(located),
    }
}

/// The worktrees that contain the one at `root`, the nearest first.
pub fn enclosing(root: &Path) -> impl Iterator<Item = &Path> {
    root.ancestors().skip(1).filter(|enclosing| has_repository(enclosing))
}

/// The worktree that contains `full`, and the path in it.
fn in_worktree(full: &Path) -> Option<WorktreePath> {
    let outside_git = outside_git_directory(full);
    let root = outside_git.ancestors().find(|enclosing| has_repository(enclosing))?;
    let path = full.strip_prefix(root).ok().filter(|path| !path.as_os_str().is_empty())?;
    // The real path makes one worktree one entry, so its lock is taken only once.
    Some(WorktreePath { root: fs::real_path(root), path: path.as_os_str().as_bytes().to_vec() })
}

/// Whether `directory` has a `.git`, which may be damaged or unreadable: opening it later shows
/// that. Like Git, this ignores an empty directory `.git`.
fn has_repository(directory: &Path) -> bool {
    let git = directory.join(".git");
    match git.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            !git.read_dir().is_ok_and(|mut entries| entries.next().is_none())
        }
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Whether `directory` is a Git directory of any name.
fn is_git_directory(directory: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| directory.join(name).symlink_metadata().is_ok())
}

/// The file that a write would change: the target of the last symbolic link, which may not exist.
fn link_target(full: &Path) -> PathBuf {
    let mut path = full.to_owned();
    // Linux follows as many links.
    for _ in 0..40 {
        let Ok(to) = path.read_link() else { break };
        path = resolve_links(&path.parent().unwrap_or(&path).join(to));
    }
    fs::real_path(&path)
}

/// The parent of the first `.git` in the path; without one, the parent of the file.
fn outside_git_directory(full: &Path) -> PathBuf {
    let is_git = |component: &Component<'_>| component.as_os_str().eq_ignore_ascii_case(".git");
    let mut components = full.components();
    let before: PathBuf = components.by_ref().take_while(|component| !is_git(component)).collect();
    if before == full { full.parent().unwrap_or(full).to_owned() } else { before }
}

/// Resolves `..` as most agents do: it removes the name before it.
fn resolve_as_text(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in without_dots(path).components() {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            component => resolved.push(component),
        }
    }
    resolved
}

/// Resolves `..` as the operating system does: it is the parent of the link's target.
fn resolve_links(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in without_dots(path).components() {
        match component {
            Component::ParentDir => {
                resolved = fs::real_path(&resolved);
                resolved.pop();
            }
            component => resolved.push(component),
        }
    }
    resolved
}

/// The path without `.` and repeated slashes.
fn without_dots(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

fn ambiguous_path(raw: &str) -> Finding {
    let message = format!(
        "The path {raw:?} has `..` after a symbolic link: as text it names one file, and the \
         operating system opens another."
    );
    Finding::new(Code::BadRequest, message, "Write the path without `..`.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_any_notation_is_found_in_its_worktree() {
        let scratch =
            edt_io::scratch::Scratch::outside(edt_io::Environment::Process, Path::new("/nowhere"))
                .unwrap();
        let root = scratch.path().join("repo");
        scratch.put(b"repo/.git/HEAD", b"").unwrap();
        scratch.put(b"repo/src/a.c", b"").unwrap();
        let path = |raw: &str| {
            locate(&root.join("src"), raw).unwrap().map(|located| (located.root, located.path))
        };
        let found = |path: &str| Some((root.clone(), path.as_bytes().to_vec()));
        assert_eq!(path("a.c"), found("src/a.c"));
        assert_eq!(path("./new/b.c"), found("src/new/b.c"));
        assert_eq!(path("../Makefile"), found("Makefile"));
        assert_eq!(path(root.join("x//y").to_str().unwrap()), found("x/y"));
        assert_eq!(path("../.git/config"), found(".git/config"), "must be refused, not ignored");
        assert_eq!(path("../.git"), found(".git"));
        assert_eq!(path("../../elsewhere.txt"), None);
        assert_eq!(path("/etc/hosts"), None);
    }

    #[test]
    fn links_and_git_directories_are_not_ignored() {
        use std::os::unix::fs::symlink;
        let scratch =
            edt_io::scratch::Scratch::outside(edt_io::Environment::Process, Path::new("/nowhere"))
                .unwrap();
        let top = scratch.path();
        for file in [
            "repo/.git/HEAD",
            "repo/sub/x",
            "far/deep/x",
            "bare.git/HEAD",
            "bare.git/objects/x",
            "bare.git/refs/x",
        ] {
            scratch.put(file.as_bytes(), b"").unwrap();
        }
        std::fs::create_dir(top.join("repo/sub/.git")).unwrap();
        symlink("nowhere", top.join("far/.git")).unwrap();
        symlink(top.join("far/deep"), top.join("repo/link")).unwrap();
        symlink("repo/.git/hooks/pre-commit", top.join("hook")).unwrap();
        symlink("bare.git", top.join("other")).unwrap();
        let path = |raw: &str| match locate(top, raw) {
            Ok(located) => located.map(|one| {
                format!(
                    "{} {}",
                    one.root.strip_prefix(top).unwrap().display(),
                    String::from_utf8_lossy(&one.path)
                )
            }),
            Err(found) => Some(found.into_vec()[0].code.name().to_owned()),
        };
        for (raw, expected) in [
            ("repo/sub/a.c", Some("repo sub/a.c")),
            ("repo/new/../a.c", Some("repo a.c")),
            ("repo/link/../a.c", Some("BAD_REQUEST")),
            ("far/a.c", Some("far a.c")),
            ("hook", Some("repo .git/hooks/pre-commit")),
            ("bare.git/hooks/pre-commit", Some("PATH_IN_GIT_DIR")),
            ("other/config", Some("PATH_IN_GIT_DIR")),
            ("free/a.c", None),
        ] {
            assert_eq!(path(raw).as_deref(), expected, "{raw}");
        }
    }
}
