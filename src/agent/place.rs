//! Where a path that an agent names lies: in which worktree, and where in it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

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
#[must_use]
pub fn place(cwd: &Path, raw: &str) -> Option<Placed> {
    let named = cwd.join(raw);
    // With `..` in it a path means what the system makes of it, links included.
    let full = if has_parent(&named) { whole::real(&named) } else { plain(&named) };
    if let Some(placed) = in_worktree(&full) {
        return Some(placed);
    }
    // A folder above may be a link into a worktree.
    in_worktree(&whole::real(&full))
}

/// The worktree that holds `full`, and where.
fn in_worktree(full: &Path) -> Option<Placed> {
    let outside_git = before_git(full);
    let root = outside_git.ancestors().find(|above| above.join(".git").exists())?;
    let path = full.strip_prefix(root).ok().filter(|path| !path.as_os_str().is_empty())?;
    // One worktree has one name, however it was reached: its lock is taken once.
    Some(Placed { root: whole::real(root), path: path.as_os_str().as_bytes().to_vec() })
}

/// The folder that the Git folder lies in, if the path goes through one; else the folder that the file lies in.
fn before_git(full: &Path) -> PathBuf {
    let is_git = |part: &Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    let mut parts = full.components();
    let before: PathBuf = parts.by_ref().take_while(|part| !is_git(part)).collect();
    if before == full { full.parent().unwrap_or(full).to_owned() } else { before }
}

fn has_parent(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// The path without `.` and doubled slashes.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
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
        let at = |raw: &str| place(&root.join("src"), raw).map(|placed| (placed.root, placed.path));
        let found = |path: &str| Some((root.clone(), path.as_bytes().to_vec()));
        assert_eq!(at("a.c"), found("src/a.c"));
        assert_eq!(at("./new/b.c"), found("src/new/b.c"));
        assert_eq!(at("../Makefile"), found("Makefile"));
        assert_eq!(at(root.join("x//y").to_str().unwrap()), found("x/y"));
        assert_eq!(at("../.git/config"), found(".git/config"), "to be refused, not to be passed over");
        assert_eq!(at("../.git"), found(".git"));
        assert_eq!(at("../../elsewhere.txt"), None);
        assert_eq!(at("/etc/hosts"), None);
    }
}
