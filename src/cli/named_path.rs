//! The paths of the command line. They count from the current directory, as Git's do; `:/` begins a
//! path from the worktree's root. Paths of a server's calls count from the root.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::context::Context;
use edt_io::fs;
use edt_types::path::PathProblem;
use edt_types::{Code, Finding, Outcome, RepoPath, Result};

impl Context {
    /// The file of the worktree that the caller names.
    ///
    /// # Errors
    /// `PATH_INVALID`, also for the worktree's root; `PATH_OUTSIDE_REPO`, `PATH_IN_GIT_DIR`; those
    /// of opening the repository.
    pub(super) fn path(&self, raw: &[u8]) -> Result<RepoPath> {
        match self.path_or_root(raw)? {
            // A slash at the end names a directory.
            Some(path) if !raw.ends_with(b"/") => Ok(path),
            _ => Err(PathProblem::NotPlain.finding(raw).into()),
        }
    }

    /// As [`Context::path`]; `None` for the worktree's root.
    ///
    /// # Errors
    /// As [`Context::path`].
    pub(super) fn path_or_root(&self, raw: &[u8]) -> Result<Option<RepoPath>> {
        let parsed = |path: &[u8]| match path {
            b"" => Ok(None),
            path => RepoPath::parse(path).map(Some),
        };
        let from_root = if raw.is_empty() {
            Err(PathProblem::Empty)
        } else if let Some(rest) = raw.strip_prefix(b":/") {
            parsed(without_slash(rest))
        } else if raw[0] == b'/' {
            match self.below_root(Path::new(OsStr::from_bytes(raw))) {
                Some(path) => parsed(&path),
                None => Err(PathProblem::Absolute),
            }
        } else {
            from_directory(&self.directory()?, raw).and_then(|path| parsed(&path))
        };
        from_root.map_err(|problem| problem.finding(raw).into())
    }

    /// The files and directories that `names` limit a command to; empty if one is the root.
    ///
    /// # Errors
    /// As [`Context::path`].
    pub(super) fn paths_or_all<'n>(
        &self,
        names: impl IntoIterator<Item = &'n [u8]>,
    ) -> Result<Vec<RepoPath>> {
        let paths: Vec<Option<RepoPath>> =
            names.into_iter().map(|name| self.path_or_root(name)).collect::<Result<_>>()?;
        Ok(paths.into_iter().collect::<Option<_>>().unwrap_or_default())
    }

    /// Writes the paths in hints so that they can be typed in the current directory.
    pub(super) fn explain_paths(&self, outcome: &mut Outcome) {
        let named = |one: &Finding| one.path.is_some();
        if !outcome.errors.iter().any(named)
            || self.directory().is_ok_and(|directory| directory.is_empty())
        {
            return;
        }
        for finding in outcome.errors.iter_mut().filter(|one| named(one)) {
            let path = finding.path.clone().unwrap_or_default();
            let typed = |path: &str| RepoPath::from_tree(path.as_bytes()).for_shell();
            let (from_root, from_here) = (typed(&path), typed(&format!(":/{path}")));
            finding.remedy = finding
                .remedy
                .replace(&format!(" {from_root}`"), &format!(" {from_here}`"))
                .replace(&format!(" {from_root} "), &format!(" {from_here} "));
            if finding.code == Code::FileNotFound {
                finding.remedy += " Here a path counts from the current directory; write `:/` \
                                   before a path of this answer.";
            }
        }
    }

    /// The directory from which paths count, from the worktree's root.
    fn directory(&self) -> Result<Vec<u8>> {
        if self.is_of_server() {
            return Ok(Vec::new());
        }
        let names_worktree = std::env::var_os("GIT_WORK_TREE").is_some();
        // Only what Git takes for a repository ends its search.
        let is_root = || {
            let git = self.start.join(".git");
            ["HEAD", "objects", "refs"].iter().all(|name| git.join(name).exists())
        };
        if !names_worktree && is_root() {
            return Ok(Vec::new());
        }
        let (repo, _) = self.repo()?;
        let here = fs::real_path(&self.start);
        let below = here.strip_prefix(repo.real_root()?).unwrap_or(Path::new(""));
        Ok(below.as_os_str().as_bytes().to_vec())
    }

    /// An absolute path, from the worktree's root; `None` outside.
    fn below_root(&self, absolute: &Path) -> Option<Vec<u8>> {
        let (repo, _) = self.repo().ok()?;
        let real_root = repo.real_root().ok();
        let roots = [Some(repo.root_path().to_owned()), real_root.clone()];
        let below = |root: PathBuf| absolute.strip_prefix(root).ok().map(Path::to_owned);
        // The root may be reached by a link.
        let through_link = || {
            let directory = fs::real_path(absolute.parent()?);
            Some(directory.strip_prefix(real_root?).ok()?.join(absolute.file_name()?))
        };
        let below = roots.into_iter().flatten().find_map(below).or_else(through_link)?;
        Some(without_slash(below.as_os_str().as_bytes()).to_vec())
    }
}

fn without_slash(path: &[u8]) -> &[u8] {
    path.strip_suffix(b"/").unwrap_or(path)
}

/// `path` in `directory`, without `.` and `..`, as Git reads it: links are not followed.
fn from_directory(directory: &[u8], path: &[u8]) -> std::result::Result<Vec<u8>, PathProblem> {
    let mut names: Vec<&[u8]> =
        directory.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop().ok_or(PathProblem::Parent)?),
            name => names.push(name),
        }
    }
    Ok(names.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_from_a_directory() {
        let read = |directory: &str, path: &str| {
            from_directory(directory.as_bytes(), path.as_bytes())
                .map(|path| String::from_utf8(path).unwrap())
        };
        for (directory, path, expected) in [
            ("", "a/b.c", "a/b.c"),
            ("src", "b.c", "src/b.c"),
            ("src/x", "../b.c", "src/b.c"),
            ("src/x", "../..", ""),
            ("src", "./y//z/", "src/y/z"),
        ] {
            assert_eq!(read(directory, path).as_deref(), Ok(expected), "{directory} {path}");
        }
        assert_eq!(read("src", "../../b.c"), Err(PathProblem::Parent));
    }
}
