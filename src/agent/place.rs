//! Where a path that an agent names lies: in which worktree, and where in it.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::base::path::PathProblem;
use crate::base::{Code, Finding, Result};
use crate::io::whole;

/// A path in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The worktree's root.
    pub root: PathBuf,
    /// The path in it, as a request names it; not checked.
    pub path: Vec<u8>,
}

/// Where `raw` lies, seen from `cwd`; `None` if that is in no worktree.
///
/// # Errors
/// `BAD_REQUEST` if it has `..` and means two files, as who reads it resolves links first or last; `PATH_IN_GIT_DIR` if it leads into a Git
/// folder of whatever name.
pub fn place(cwd: &Path, raw: &str) -> Result<Option<Placed>> {
    // Some agents put the home in their place, others a folder of that name.
    if ["~", "$HOME", "${HOME}"].iter().any(|home| raw.starts_with(home)) {
        let message = format!("The path {raw:?} may lie in the home, or in a folder of that name.");
        return Err(Finding::new(Code::BadRequest, message, "Write the whole path.").into());
    }
    let named = cwd.join(raw);
    let full = by_text(&named);
    if full != plain(&named) && whole::real(&full) != whole::real(&by_links(&named)) {
        return Err(two_readings(raw).into());
    }
    if let Some(placed) = in_worktree(&full) {
        return Ok(Some(placed));
    }
    // It may be a link into a worktree, or lie below one.
    let target = target(&full);
    match in_worktree(&target) {
        None if target.ancestors().skip(1).any(is_git_folder) => {
            Err(PathProblem::GitDir.finding(raw.as_bytes()).into())
        }
        placed => Ok(placed),
    }
}

/// The worktrees that hold the one at `root`, nearest first.
pub fn above(root: &Path) -> impl Iterator<Item = &Path> {
    root.ancestors().skip(1).filter(|above| has_repository(above))
}

/// The worktree that holds `full`, and where.
fn in_worktree(full: &Path) -> Option<Placed> {
    let outside_git = before_git(full);
    let root = outside_git.ancestors().find(|above| has_repository(above))?;
    let path = full.strip_prefix(root).ok().filter(|path| !path.as_os_str().is_empty())?;
    // One worktree has one name, however it was reached: its lock is taken once.
    Some(Placed { root: whole::real(root), path: path.as_os_str().as_bytes().to_vec() })
}

/// Whether `folder` has a `.git`, be it damaged or unreadable: what it is shows when it is opened. An empty folder is none to Git either.
fn has_repository(folder: &Path) -> bool {
    let git = folder.join(".git");
    match git.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            !git.read_dir().is_ok_and(|mut entries| entries.next().is_none())
        }
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Whether `folder` is a Git folder of whatever name.
fn is_git_folder(folder: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).symlink_metadata().is_ok())
}

/// What would be written: where the last link leads, be there something or not.
fn target(full: &Path) -> PathBuf {
    let mut at = full.to_owned();
    // As many links as Linux follows.
    for _ in 0..40 {
        let Ok(to) = at.read_link() else { break };
        at = by_links(&at.parent().unwrap_or(&at).join(to));
    }
    whole::real(&at)
}

/// The folder that the Git folder lies in, if the path goes through one; else the folder that the file lies in.
fn before_git(full: &Path) -> PathBuf {
    let is_git = |part: &Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    let mut parts = full.components();
    let before: PathBuf = parts.by_ref().take_while(|part| !is_git(part)).collect();
    if before == full { full.parent().unwrap_or(full).to_owned() } else { before }
}

/// `..` as most agents read it: it takes the name before it away.
fn by_text(path: &Path) -> PathBuf {
    let mut text = PathBuf::new();
    for part in plain(path).components() {
        match part {
            Component::ParentDir => drop(text.pop()),
            part => text.push(part),
        }
    }
    text
}

/// `..` as the system reads it: the folder above the one that a link leads to.
fn by_links(path: &Path) -> PathBuf {
    let mut at = PathBuf::new();
    for part in plain(path).components() {
        match part {
            Component::ParentDir => {
                at = whole::real(&at);
                at.pop();
            }
            part => at.push(part),
        }
    }
    at
}

/// The path without `.` and doubled slashes.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

fn two_readings(raw: &str) -> Finding {
    let message = format!(
        "The path {raw:?} goes through a symbolic link and back with `..`: it means one file as text and another to the system."
    );
    Finding::new(Code::BadRequest, message, "Write the path without `..`.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_in_the_worktree_that_holds_it_however_it_is_written() {
        let scratch = crate::io::scratch::Scratch::outside(Path::new("/nowhere")).unwrap();
        let root = scratch.path().join("repo");
        scratch.put(b"repo/.git/HEAD", b"").unwrap();
        scratch.put(b"repo/src/a.c", b"").unwrap();
        let at = |raw: &str| {
            place(&root.join("src"), raw).unwrap().map(|placed| (placed.root, placed.path))
        };
        let found = |path: &str| Some((root.clone(), path.as_bytes().to_vec()));
        assert_eq!(at("a.c"), found("src/a.c"));
        assert_eq!(at("./new/b.c"), found("src/new/b.c"));
        assert_eq!(at("../Makefile"), found("Makefile"));
        assert_eq!(at(root.join("x//y").to_str().unwrap()), found("x/y"));
        assert_eq!(
            at("../.git/config"),
            found(".git/config"),
            "to be refused, not to be passed over"
        );
        assert_eq!(at("../.git"), found(".git"));
        assert_eq!(at("../../elsewhere.txt"), None);
        assert_eq!(at("/etc/hosts"), None);
    }

    #[test]
    fn what_stands_in_the_way_is_named_and_not_passed_over() {
        use std::os::unix::fs::symlink;
        let scratch = crate::io::scratch::Scratch::outside(Path::new("/nowhere")).unwrap();
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
        let at = |raw: &str| match place(top, raw) {
            Ok(placed) => placed.map(|one| {
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
            assert_eq!(at(raw).as_deref(), expected, "{raw}");
        }
    }
}
